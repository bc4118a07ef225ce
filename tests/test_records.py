"""Numeric records: both log schemas, what is refused, and the files' round trip."""

import copy
import gzip
import json

import numpy as np
import pandas as pd
import pytest
from release_folder import release

from helpers.data import empa_logs, records
from helpers.data.records import (
    CASES,
    RATINGS,
    RecordError,
    main,
    parse_log,
    read_cases,
    read_ratings,
    read_release,
    write_records,
)
from helpers.scoring.rubric import IEDR_ITEMS, initial_deficit

NAME = "model/script_001_result.json"


def synthetic(turns=3):
    """An invented log in the schema of the released ones."""
    rows = [{"turn": 0, "P_t": [-3, -4, -3], "v_t": [0, 0, 0]}]
    history = []
    for turn in range(1, turns + 1):
        levels = {f"{a}_{k}_level": 0 for a in "CAP" for k in ("Prog", "Neg")}
        rows.append(
            {
                "turn": turn,
                "v_t": [1, 0, 0],
                "epm": {"E_total": 0.5 * turn, "alignment": 0.5},
                "mdep_analysis": levels | {"C_Prog_level": 1},
            }
        )
        history += [
            {"role": "actor", "content": f"line {turn}"},
            {"role": "test_model", "content": f"reply {turn}"},
        ]
    return {
        "total_turns": turns,
        "termination_reason": "Reached max turns (3), timeout",
        "script_id": "script_001",
        "history": history,
        "epj": {
            "trajectory": rows,
            "iedr_details": {"filled_iedr": dict.fromkeys(IEDR_ITEMS, 1)},
            "epm_params": {"alpha": 0.1},
            "epm_victory_analysis": None,
        },
    }


def todays(log):
    """The same log as the released code would write it now."""
    log = copy.deepcopy(log)
    del log["epj"]["epm_params"], log["epj"]["epm_victory_analysis"]
    log["termination_type"] = "MAX_TURNS"
    log["termination_reason"] = "达到最大轮数"
    return log


def test_both_schemas_give_the_same_rows():
    log = synthetic()
    case, rows = parse_log(log, NAME)
    assert parse_log(todays(log), NAME) == (case, rows)
    assert case["case"] == "001" and case["P.3"] == 1
    assert [row["turn"] for row in rows] == [1, 2, 3]
    assert rows[0]["ending"] == "timeout" and rows[0]["C_Prog"] == 1


@pytest.mark.parametrize(
    ("reason", "victory", "ending", "label"),
    [
        ("Success: Geometric Victory (near origin)", None, "success", "geometric"),
        ("anything", "positional", "success", "positional"),
        ("Failure: 5 turns (Direction Collapse)", None, "collapse", None),
        ("Failure: Vector Oscillation (total change 3)", None, "oscillation", None),
        ("失败：方向崩溃", None, "collapse", None),
        ("成功：几何胜利", None, "success", "geometric"),
        ("超时", None, "timeout", None),
    ],
)
def test_endings_in_two_languages(reason, victory, ending, label):
    log = synthetic()
    log["termination_reason"] = reason
    if victory:
        log["epj"]["epm_victory_analysis"] = {"primary_victory_type": victory}
    row = parse_log(log, NAME)[1][0]
    assert (row["ending"], row["label"]) == (ending, label)


def test_flags_mark_failed_calls_and_repeats():
    log = synthetic()
    log["history"][1]["content"] = "（错误：API调用失败 - x）"
    log["history"][2]["content"] = "（错误：API返回空响应）"
    log["history"][5]["content"] = log["history"][3]["content"]
    log["history"][3]["director_guidance"] = "API调用失败（x），继续对话"
    _, rows = parse_log(log, NAME)
    assert [row["reply_error"] for row in rows] == [1, 0, 0]
    assert [row["user_error"] for row in rows] == [0, 1, 0]
    assert [row["guidance_error"] for row in rows] == [0, 1, 0]
    assert [row["reply_repeated"] for row in rows] == [0, 0, 1]


def test_an_unrated_turn_and_a_missing_level_stay_missing():
    log = synthetic()
    rows = log["epj"]["trajectory"]
    del rows[1]["mdep_analysis"]
    rows[1]["v_t"] = [0, 0, 0]
    del rows[2]["mdep_analysis"]["A_Neg_level"]
    _, out = parse_log(log, NAME)
    assert out[0]["judged"] == 0 and out[0]["C_Prog"] is None
    assert out[1]["judged"] == 1 and out[1]["A_Neg"] is None and out[1]["A_Prog"] == 0


def damage(path, value):
    """A synthetic log with the entry at `path` replaced, or removed (value None)."""
    log = synthetic()
    *way, last = path
    place = log
    for step in way:
        place = place[step]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return log


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("epj", "epm_params"), None, "unknown schema"),
        (("epj",), [], "unknown schema"),
        (("total_turns",), "3", "total_turns is '3', not a number"),
        (("epj", "trajectory"), 7, "wrong type"),
        (("history", 3, "content"), 5, "turn 2: the reply is 5, not a text"),
        (("epj", "trajectory", 2, "v_t"), [1, 0], "turn 2: v_t has 2 values"),
        (("epj", "trajectory", 2, "v_t"), [3, 0, 0], "turn 2: v_t = .* contradicts"),
        (("epj", "trajectory", 2, "epm", "E_total"), "x", "turn 2, E_total is 'x'"),
        (("epj", "trajectory", 2, "mdep_analysis"), "good", "turn 2: a value has"),
        (
            ("epj", "trajectory", 2, "mdep_analysis"),
            {"c": 1},
            "turn 2: rated, but none",
        ),
        (("script_id",), None, "key 'script_id' is missing"),
        (("termination_reason",), "the moon rose", "unknown termination reason"),
        (("epj", "trajectory", 2), None, "turn 2 is missing"),
        (("epj", "trajectory", 3), None, "turn 3 is missing"),
        (("history", 5), None, "5 lines for 3 turns"),
        (("history", 2, "role"), "test_model", "turn 2: roles"),
        (("epj", "trajectory", 1, "epm"), None, "turn 1: key 'epm' is missing"),
        (
            ("epj", "trajectory", 2, "mdep_analysis", "P_Neg_level"),
            -3,
            "turn 2, P.Neg: level -3 is not one of -2..0",
        ),
        (
            ("epj", "trajectory", 2, "mdep_analysis", "P_Prog_level"),
            "2",
            "turn 2, P.Prog: level is '2', not a number",
        ),
        (
            ("epj", "trajectory", 2, "mdep_analysis", "C_Prog_level"),
            True,
            "turn 2, C.Prog: level is True, not a number",
        ),
        (("epj", "trajectory", 1, "mdep_analysis"), None, "turn 1 moved without"),
        (("epj", "iedr_details", "filled_iedr", "A.2"), 4, "IEDR A.2: level 4"),
        (("epj", "iedr_details", "filled_iedr", "A.2"), None, "IEDR A.2 is missing"),
    ],
)
def test_a_damaged_log_is_named(path, value, message):
    with pytest.raises(RecordError, match=message) as caught:
        parse_log(damage(path, value), NAME)
    assert NAME in str(caught.value) and "\n" not in str(caught.value)


def test_a_folder_that_is_no_clone_and_a_broken_file(tmp_path, capsys):
    assert main(["--release", str(tmp_path), "--out", str(tmp_path / "o")]) == 1
    assert "is this a clone of EMPA?" in capsys.readouterr().err
    file = tmp_path / empa_logs.LOGS / "m" / "script_001_result.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(synthetic())[:-20])
    assert main(["--release", str(tmp_path), "--out", str(tmp_path / "o")]) == 1
    assert "script_001_result.json: not readable as JSON" in capsys.readouterr().err
    assert not (tmp_path / "o").exists()


# --- the record files -----------------------------------------------------------------


@pytest.fixture
def copy_of_ratings(tmp_path):
    """Write changed ratings to a file; returns its path."""

    def write(change):
        frame = change(pd.read_csv(RATINGS, dtype={"case": str}))
        path = tmp_path / "empa_ratings.csv.gz"
        frame.to_csv(path, index=False)
        return path

    return write


def at(column, value, row=100):
    def change(frame):
        frame[column] = frame[column].astype(object)
        frame.loc[row, column] = value
        return frame

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.drop(columns="A_Neg"), "column A_Neg is missing"),
        (at("C_Prog", 3), r"claude-3.5-sonnet \d+ turn \d+: C_Prog is not one of 0..2"),
        (at("P_Neg", 1), "P_Neg is not one of -2..0"),
        (at("A_Prog", 0.5), "A_Prog is not one of 0..2"),
        (at("ending", "victory"), "unknown ending"),
        (at("judged", 0), "without a judgement"),
        (at("judged", 2), "judged is not 0 or 1"),
        (at("user_error", None), "user_error is not a number"),
        (at("C_Prog", "two"), "C_Prog is not a number"),
        (at("turn", "x"), "turn is not a number"),
        (at("E_total", None), "E_total is not a number"),
        (at("model", None), "model is empty"),
        (at("label", "banana"), "a label belongs to a success|unknown label"),
        (at("ending", "timeout"), "a label belongs to a success"),
        (lambda f: f.iloc[:0], "no rows"),
        (lambda f: f.drop(index=100), r"turn \d+: turns are not 1, 2, 3"),
        (lambda f: f.drop(index=0), "003 turn 2: turns are not 1, 2, 3"),
        (lambda f: pd.concat([f[50:], f[:50]]), "turns are not|not together"),
    ],
)
def test_a_damaged_table_is_named(copy_of_ratings, change, message):
    path = copy_of_ratings(change)
    with pytest.raises(RecordError, match=message) as caught:
        read_ratings(path)
    assert "\n" not in str(caught.value)


def test_a_cut_archive_an_absent_and_a_foreign_file(tmp_path):
    packed = RATINGS.read_bytes()
    path = tmp_path / "cut.csv.gz"
    for size in (len(packed) // 2, len(packed) - 4, 40):
        path.write_bytes(packed[:size])
        with pytest.raises(RecordError, match="cut.csv.gz is cut short or damaged"):
            read_ratings(path)
    path.write_bytes(b"no archive at all")
    with pytest.raises(RecordError, match="cut short or damaged"):
        read_ratings(path)
    with pytest.raises(RecordError, match="absent.csv.gz is absent: rebuild"):
        read_ratings(tmp_path / "absent.csv.gz")


def test_round_trip(tmp_path):
    ratings, cases = read_ratings(), read_cases()
    write_records(ratings, cases, tmp_path)
    pd.testing.assert_frame_equal(read_ratings(tmp_path / RATINGS.name), ratings)
    pd.testing.assert_frame_equal(read_cases(tmp_path / CASES.name), cases)
    first = (tmp_path / RATINGS.name).read_bytes()
    write_records(ratings, cases, tmp_path)
    assert (tmp_path / RATINGS.name).read_bytes() == first


def test_the_records_hold_numbers_and_ids_only():
    frame = read_ratings()
    texts = frame.select_dtypes(exclude=np.number)
    assert set(texts) == {"model", "case", "ending", "label"}
    assert all(frame[c].dropna().str.fullmatch(r"[a-z0-9.\-]+").all() for c in texts)


def test_counts_of_the_committed_records():
    frame = read_ratings()
    dialogues = frame.groupby(["model", "case"])
    assert (len(dialogues), len(frame), frame["model"].nunique()) == (480, 9527, 16)
    touched = dialogues[["reply_error", "user_error"]].sum().sum(axis=1) > 0
    unrated = dialogues["judged"].min() == 0
    assert touched.sum() == 98 and unrated.sum() == 38
    assert (frame["judged"] == 0).sum() == 58
    assert frame["guidance_error"].sum() == 149
    assert frame[["reply_error", "user_error"]].sum().tolist() == [86, 114]
    rated = frame[frame["judged"] == 1]
    assert rated[records.LEVELS].isna().sum().sum() == 14


def test_the_release_gives_the_committed_files(tmp_path, capsys):
    folder = release("empa")
    assert main(["--release", str(folder), "--out", str(tmp_path)]) == 0
    assert "480 dialogues, 9527 turns, 30 cases" in capsys.readouterr().out
    # The text, not the archive: zlib's bytes differ between machines.
    new = gzip.decompress((tmp_path / RATINGS.name).read_bytes())
    assert new == gzip.decompress(RATINGS.read_bytes())
    assert (tmp_path / CASES.name).read_bytes() == CASES.read_bytes()


def test_norms_of_the_release_are_those_of_the_levels():
    meta = json.loads((release("empa") / "empa/data/case_metadata.json").read_text())
    printed = {c["script_id"][-3:]: c["distance"] for c in meta["sampled_cases"]}
    for case in read_release(release("empa"))[1].to_dict("records"):
        start = initial_deficit({item: case[item] for item in IEDR_ITEMS})
        assert abs(np.linalg.norm(start) - printed[case["case"]]) <= 0.005 + 1e-9


def test_damaged_cases_are_named(tmp_path):
    path = tmp_path / "empa_cases.csv"
    frame = read_cases()
    for change, message in (
        (frame.assign(difficulty="Hardest"), "case 003: difficulty Hardest"),
        (frame.assign(**{"A.2": 7}), "case 003: A.2 7"),
        (pd.concat([frame, frame[:1]]), "a case twice"),
        (frame[:0], "no cases"),
        (frame.drop(columns="axis"), "column axis is missing"),
    ):
        change.to_csv(path, index=False)
        with pytest.raises(RecordError, match=message):
            read_cases(path)
    for damage in (b"", b"\xff\xfe\x00bad", b'a,b\n"1,2\n3'):
        path.write_bytes(damage)
        with pytest.raises(RecordError, match="is not a table|is missing"):
            read_cases(path)


def test_the_stored_work_and_projection_of_every_turn():
    """Rounded as the logs are, every stored value is met exactly."""
    from helpers.scoring.epm import round_half_even
    from helpers.scoring.replay import stack

    ratings, cases = read_ratings(), read_cases()
    dialogues = stack(ratings, cases)
    batch = dialogues.score()
    for b, row in enumerate(dialogues.frame.itertuples()):
        log = json.loads(
            (
                release("empa")
                / empa_logs.LOGS
                / row.model
                / f"script_{row.case}_result.json"
            ).read_text()
        )
        stored = [r["epm"] for r in log["epj"]["trajectory"]]
        work = round_half_even(batch.delta_energy[b, : row.turns], 2)
        along = round_half_even(batch.projection[b, 1 : row.turns + 1], 2)
        assert work.tolist() == [r["delta_E"] for r in stored[1:]], row
        assert along.tolist() == [r["projection"] for r in stored[1:]], row
