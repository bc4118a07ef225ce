"""SAGE emotion records: the printed tables come out, and damaged files say where."""

import gzip
import json
from collections import Counter

import pytest
from release_folder import release

from helpers.data import sage_records, sage_tables
from helpers.data.published import load
from helpers.data.sage_records import (
    PATH,
    RecordError,
    read_records,
    read_release,
    write_records,
)
from helpers.reporting.tables import half_up

RECORDS = read_records()


def test_leaderboard_equals_the_printed_rows():
    """All 12 models with released files, three columns each, after half-up."""
    printed = load("sage_table3").pivot(index="row", columns="column", values="value")
    board = sage_tables.leaderboard(RECORDS)
    assert len(board) == 12 and set(board["n"]) == {100}
    for name, row in board.iterrows():
        assert half_up(row["score"], 1) == printed.loc[name, "score"], name
        assert row["success"] == printed.loc[name, "success"], name
        assert row["failure"] == printed.loc[name, "failure"], name
    assert list(board.index) == [name for name in printed.sort_values("rank").index
                                 if name in board.index]  # fmt: skip


def test_leaderboard_notices_a_changed_number():
    spoilt = RECORDS.copy()
    last = spoilt[(spoilt["model"] == "gpt-4.1") & (spoilt["emotion"] >= 100)].index[0]
    spoilt.loc[last, "emotion"] = 50
    board = sage_tables.leaderboard(spoilt)
    assert board.loc["GPT-4.1", "success"] == 34
    assert half_up(board.loc["GPT-4.1", "score"], 1) == 67.7


def test_means_by_intention():
    """Calibration facts of the fact sheet, section A10."""
    means = sage_tables.by_intention(RECORDS)["mean"]
    assert {key: half_up(value, 1) for key, value in means.items()} == {
        "Praise": 57.9, "Dialectic": 48.1, "Listen": 47.0, "NoFault": 46.1,
        "Advice": 42.8, "DeepEmpathy": 39.6, "SelfReflect": 38.5, "AnalyseOthers": 25.3,
    }  # fmt: skip
    assert (
        half_up(sage_tables.by_intention(RECORDS).loc["Listen", "gpt-4.5"], 1) == 57.1
    )


def test_intention_counts_equal_table_4():
    printed = load("sage_table4").query("paper == 'SAGE'").set_index("row")["value"]
    assert sage_tables.intention_counts(RECORDS).to_dict() == printed.to_dict()


def test_change_values_and_persistence():
    shares = sage_tables.change_shares(RECORDS)
    rated = RECORDS[(RECORDS["judge"] == sage_tables.V3) & (RECORDS["turn"] > 0)]
    assert len(rated) == 9425
    assert {step: half_up(100 * shares[step], 1) for step in (-10, -5, 5, 10)} == {
        -10: 13.6, -5: 33.3, 5: 36.7, 10: 16.3,
    }  # fmt: skip
    assert half_up(100 * shares[shares.index > 0].sum(), 1) == 53.0
    other = sage_tables.change_shares(RECORDS, "gpt-4o-2024-0806")
    assert half_up(100 * other[5], 1) == 41.8
    kept = sage_tables.persistence(RECORDS)
    assert {name: half_up(share, 3) for name, share in kept.items()} == {
        "positive": 0.773, "negative": 0.747,
    }  # fmt: skip


def test_transitions_by_state():
    table = sage_tables.transitions(RECORDS)
    expected = {
        "B": (0.062, 0.338, 0.381, 0.219),
        "C": (0.319, 0.461, 0.166, 0.053),
        "A": (0.003, 0.048, 0.747, 0.203),
    }
    for letter, shares in expected.items():
        ours = tuple(half_up(table.loc[letter, step], 3) for step in (-10, -5, 5, 10))
        assert ours == pytest.approx(shares, abs=0.0011), letter


def test_endings_and_turns():
    table = sage_tables.dialogues(RECORDS)
    v3 = table[table["judge"] == sage_tables.V3]
    assert len(table) == 1900 and len(v3) == 1200
    assert Counter(v3["ending"]) == {
        "timeout": 589, "failure": 445, "success": 165, "goodbye": 1,
    }  # fmt: skip
    turns = v3.groupby("model")["turns"].mean()
    assert half_up(turns["qwen2.5-72b"], 1) == 7.4
    assert half_up(turns["gpt-4.1"], 1) == 9.5
    assert (RECORDS.loc[RECORDS["turn"] == 0, "emotion"] == 40).all()


def test_judge_correlation_only_where_files_exist():
    table = sage_tables.judge_correlations(RECORDS).set_index(["judge", "other"])
    pair = table.loc[(sage_tables.V3, "gpt-4o-2024-0806")]
    assert (pair["n"], half_up(pair["spearman"], 3)) == (6, 0.943)
    assert table["spearman"].isna().sum() == 2, "one shared model gives no correlation"


def test_state_letters():
    letters = [sage_tables.state(e) for e in (0, 9, 10, 39, 40, 69, 70, 99, 100)]
    assert "".join(letters) == "FFCCBBAAS"


def test_unknown_judge_or_model_is_an_error():
    with pytest.raises(ValueError, match="no records of judge 'gpt-5'"):
        sage_tables.leaderboard(RECORDS, "gpt-5")
    strange = RECORDS.replace({"model": {"gpt-4.1": "gpt-9"}})
    with pytest.raises(ValueError, match="'gpt-9' has no name"):
        sage_tables.leaderboard(strange)


def test_the_shipped_file_is_what_the_release_gives(tmp_path):
    rows = list(read_release(release("sage")))
    for name in ("one", "two"):
        write_records(iter(rows), tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    made = gzip.decompress((tmp_path / "one").read_bytes())
    assert made == gzip.decompress(PATH.read_bytes())
    assert made.isascii(), "ids and numbers only"


LINE = "judge,model,0123456789,Advice,{turn},{emotion},{change},0\n"
HEAD = "# sage_emotions, schema 1\n" + ",".join(sage_records.COLUMNS) + "\n"


def packed(tmp_path, text: str):
    path = tmp_path / "r.csv.gz"
    path.write_bytes(gzip.compress(text.encode()))
    return path


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD.replace("schema 1", "schema 9"), "line 1: expected .* found"),
        (HEAD.replace("emotion,", ""), "line 2, column emotion: missing"),
        (HEAD, "holds no row"),
        (HEAD + LINE.format(turn=0, emotion=101, change=""), "line 3, column emotion"),
        (HEAD + LINE.format(turn=0, emotion="", change=""), "line 3, column emotion"),
        (HEAD + LINE.format(turn=0, emotion=40, change=5), "line 3, column change"),
        (HEAD + LINE.format(turn=1, emotion=40, change=""), "line 3, column change"),
        (HEAD + LINE.format(turn=1.5, emotion=40, change=5), "line 3, column turn"),
        (HEAD + LINE.format(turn=0, emotion=40, change="").replace("Advice", "Tips"),
         "line 3, column intention"),
        (HEAD + "a,b\n", "line 3: 2 cells"),
        ("", "line 1: expected"),
    ],
)  # fmt: skip
def test_a_damaged_table_names_line_and_column(tmp_path, text, message):
    with pytest.raises(RecordError, match=r"r\.csv\.gz.*" + message):
        read_records(packed(tmp_path, text))


def test_a_damaged_archive(tmp_path):
    path = packed(tmp_path, HEAD + LINE.format(turn=0, emotion=40, change=""))
    assert len(read_records(path)) == 1
    whole = path.read_bytes()
    for broken in (whole[:-12], whole[:20], b"", b"no gzip", whole[:-8] + bytes(8)):
        path.write_bytes(broken)
        with pytest.raises(RecordError, match=r"r\.csv\.gz"):
            read_records(path)
    with pytest.raises(RecordError, match="--release DIR makes it"):
        read_records(tmp_path / "absent.csv.gz")


def dialogue(**changes) -> str:
    user = {"role": "user", "content": "甲", "emotion-point": 40}
    rated = {**user, "emotion-point": 45, "planning": {"change": 5}, "content": "再见"}
    record = {"id": "x", "task": "建议", "history": [user, rated]}
    return json.dumps({**record, **changes})


def test_a_clone_is_read_and_its_faults_are_placed(tmp_path):
    folder = tmp_path / "SAGE" / "dataset" / "j_based_simulator"
    with pytest.raises(RecordError, match="in this clone"):
        list(read_release(tmp_path))
    folder.mkdir(parents=True)
    path = folder / "m_result.jsonl"
    path.write_text(dialogue() + "\n")
    first, second = read_release(tmp_path)
    assert first[:2] == ("j", "m") and len(first[2]) == 10
    assert first[3:] == ("Advice", 0, 40, "", 0)
    assert second[3:] == ("Advice", 1, 45, 5, 1)
    for line, message in (
        (dialogue(task="?"), "line 2, field task"),
        (dialogue(history=[{"role": "user"}]), "line 2, field emotion-point: missing"),
        (dialogue()[:9], "line 2: not JSON"),
    ):
        path.write_text(dialogue() + "\n" + line + "\n")
        with pytest.raises(RecordError, match=message):
            list(read_release(tmp_path))
