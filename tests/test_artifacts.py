import json
import re

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from helpers import files
from helpers.reporting import artifacts
from helpers.reporting.artifacts import Register, load_artifacts
from helpers.reporting.index import counts, report, write_index

FRAME = pd.DataFrame({"model": ["a", "b"], "score": [1 / 3, 2.675]})


@pytest.fixture
def register(tmp_path):
    return Register("03_empa_evaluation", tmp_path, "smoke", 7)


def content(folder):
    return {path.name: path.read_bytes() for path in folder.glob("*.*")}


def labels(paper, kind, numbers):
    return {f"{paper}_{kind}{number}" for number in numbers}


# --- the list ---------------------------------------------------------------------


def test_every_numbered_table_and_figure_is_listed():
    ids = set(load_artifacts()["id"])
    assert ids >= labels("empa", "fig", range(1, 17)) | labels("empa", "alg", (1, 2))
    assert ids >= labels("empa", "table", range(5, 11)) | {"empa_app11"}
    assert ids >= labels("sage", "fig", range(4, 11)) | labels("sage", "table", "1234")
    assert ids >= labels("rlver", "fig", range(1, 10))
    assert ids >= labels("rlver", "table", range(1, 6))
    assert ids >= {"empa_readme_board", "mapo_main", "mapo_ablations", "mapo_stability"}
    assert ids >= {"rapo_main", "rapo_ablation", "rapo_strategy_share"}
    assert ids >= {"kit_horse_race", "kit_fidelity_audit", "kit_gaming_audit"}


def test_ids_follow_paper_and_label_and_invent_no_number():
    rows = load_artifacts()
    for row in rows.itertuples():
        label = row.label.lower().replace("table ", "table").replace("fig. ", "fig")
        label = label.replace("alg. ", "alg").replace("app. ", "app").split()
        assert row.id == row.id.lower()
        assert row.id.startswith(f"{row.paper.lower()}_{label[0]}")
    unnumbered = rows[rows["paper"].isin(["MAPO", "RAPO", "kit"])]
    assert not unnumbered["id"].str.contains(r"\d").any()


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("id", "empa_fig1", "line 3: id 'empa_fig1'"),
        ("best_status", "proved", "line 3: best_status 'proved'"),
        ("notebook", "3", "line 3: notebook '3'"),
        ("also", "4", "line 3: also '4'"),
    ],
)
def test_a_wrong_list_names_line_and_field(tmp_path, column, value, message):
    rows = load_artifacts().set_index("id").loc[["empa_fig1", "empa_fig2"]]
    rows = rows.reset_index()
    rows.loc[1, column] = value
    rows.to_csv(tmp_path / "artifacts.csv", index=False)
    with pytest.raises(ValueError, match=message):
        load_artifacts(tmp_path / "artifacts.csv")


# --- the writer -------------------------------------------------------------------


def test_table_keeps_precision_in_csv_and_rounds_half_up_in_markdown(register):
    shown = register.table("empa_table7", FRAME, "Board", "exact", note="A note.")
    written = content(register.out_dir)
    assert set(written) == {"empa_table7.csv", "empa_table7.md"}
    csv = "model,score\na,0.3333333333333333\nb,2.675\n"
    assert written["empa_table7.csv"] == csv.encode()
    markdown = written["empa_table7.md"].decode()
    assert markdown == shown.markdown
    assert markdown.startswith("**Board**\n")
    assert "| b | 2.68 |" in markdown
    assert "\nA note.\n" in markdown
    how = "notebook 03, profile smoke, seed 7; exact: recomputed from released records"
    assert how in markdown


def test_figure_files_are_the_same_bytes_each_time(tmp_path):
    runs = []
    for name in ("a", "b"):
        register = Register("03_x", tmp_path / name, "smoke", 0)
        figure, (left, right) = plt.subplots(1, 2)
        left.plot([1, 2], label="line")
        left.legend()
        left.add_patch(plt.Circle((0, 0), 1, clip_on=True))
        figure.colorbar(right.imshow(np.eye(3)))
        shown = register.figure("empa_fig6", figure, FRAME, "Cases", "exact")
        assert not plt.fignum_exists(figure.number)
        runs.append(content(register.out_dir))
    assert set(runs[0]) == {f"empa_fig6.{kind}" for kind in ("csv", "md", "png", "svg")}
    assert runs[0] == runs[1]
    assert b"<dc:date>" not in runs[0]["empa_fig6.svg"]
    assert shown.png == runs[0]["empa_fig6.png"]
    assert "(empa_fig6.svg)" in runs[0]["empa_fig6.md"].decode()


def test_text_is_data(register):
    frame = pd.DataFrame({"a|b": ["<script>x</script>|\nnext"]})
    register.table("empa_table8", frame, "<b>C</b>\n# no", "drawn", note="<i>|</i>")
    markdown = content(register.out_dir)["empa_table8.md"].decode()
    assert "<" not in markdown
    assert "\n# no" not in markdown
    assert "| a\\|b |" in markdown
    assert r"&lt;/script&gt;\| next |" in markdown


def test_scripted_runs_are_labelled_and_fixed_inputs_are_not(tmp_path):
    register = Register("04_x", tmp_path, "laptop", 0, "scripted")
    rerun = register.table("rlver_table1", FRAME, "Runs", "rerun").markdown
    fixed = register.table("rlver_table5", FRAME, "Counts", "exact").markdown
    assert rerun.startswith("**offline demo: Runs**")
    assert "scripted roles" in rerun
    assert fixed.startswith("**Counts**")


@pytest.mark.parametrize(
    ("artifact_id", "frame", "status", "message"),
    [
        ("empa_fgi6", FRAME, "exact", "Unknown artifact 'empa_fgi6'.*empa_fig6"),
        ("sage_table3", FRAME, "exact", "belongs to notebook 02, not 03"),
        ("empa_fig6", FRAME, "perfect", "unknown status 'perfect'"),
        ("empa_fig6", FRAME[:0], "exact", "empa_fig6: the frame is empty"),
    ],
)
def test_wrong_use_is_one_clear_error(register, artifact_id, frame, status, message):
    with pytest.raises(ValueError, match=message) as caught:
        register.table(artifact_id, frame, "C", status)
    assert "\n" not in str(caught.value)
    assert content(register.out_dir) == {}


def test_unknown_backend(tmp_path):
    with pytest.raises(ValueError, match="'gpt'"):
        Register("03_x", tmp_path, "smoke", 0, backend="gpt")


def test_a_failure_half_way_leaves_the_old_file_whole(register, monkeypatch):
    register.table("empa_table7", FRAME, "Board", "exact")
    before = content(register.out_dir)

    class FullDisk:
        def __init__(self, stream):
            self.stream = stream

        def __enter__(self):
            return self

        def __exit__(self, *error):
            self.stream.close()

        def write(self, data):
            self.stream.write(data[:10])
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(
        files, "open", lambda *a: FullDisk(open(*a)), raising=False
    )  # fmt: skip
    with pytest.raises(OSError, match="No space"):
        register.table("empa_table7", FRAME * 2, "Board", "exact")
    assert content(register.out_dir) == before
    assert [p for p in register.out_dir.rglob("*") if p.name.startswith(".")] == []


def test_an_error_while_rendering_writes_nothing(register, monkeypatch):
    def broken(*_):
        raise RuntimeError("no table")

    monkeypatch.setattr(artifacts, "to_markdown", broken)
    with pytest.raises(RuntimeError):
        register.table("empa_table7", FRAME, "Board", "exact")
    assert content(register.out_dir) == {}


def test_manifest_starts_afresh(register):
    register.table("empa_table7", FRAME, "Board", "exact")
    manifest = register.out_dir / "manifest" / "03.json"
    entry = json.loads(manifest.read_text())["artifacts"]["empa_table7"]
    assert entry["status"] == "exact"
    assert (entry["caption"], entry["profile"], entry["seed"]) == ("Board", "smoke", 7)
    written = register.written()
    assert written.to_dict("list") == {
        "id": ["empa_table7"],
        "status": ["exact"],
        "files": ["empa_table7.csv empa_table7.md"],
    }
    again = Register("03_x", register.out_dir, "smoke", 7)
    assert json.loads(manifest.read_text())["artifacts"] == {}
    assert list(again.written().columns) == list(written.columns)


# --- the closing report -----------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    """Notebooks 02 to 04 exist; 03 and 04 ran into `out` once."""
    for name in ("02_a", "03_b", "04_c"):
        (tmp_path / f"{name}.ipynb").touch()
    three = Register("03_b", tmp_path / "out", "smoke", 0)
    three.table("empa_table7", FRAME, "Board", "exact")
    three.table("empa_table8", FRAME, "Board", "drawn")
    figure = plt.figure()
    three.figure("empa_fig6", figure, FRAME, "Cases", "exact")
    Register("04_c", tmp_path / "out", "laptop", 1).table(
        "rlver_table5", FRAME, "Counts", "exact"
    )
    (tmp_path / "out" / "empa_table8.csv").unlink()
    return tmp_path


def test_report_tells_five_states_apart(folder):
    rows = report(folder / "out", ["03"], folder).set_index("id")
    assert rows.loc["empa_table7", "status"] == "made"
    assert rows.loc["empa_table7", "files"] == "empa_table7.csv empa_table7.md"
    assert rows.loc["empa_table8", "status"] == "missing"  # a file is gone
    assert rows.loc["empa_fig7", "status"] == "missing"  # never written
    assert rows.loc["rlver_table5", "status"] == "earlier"
    assert rows.loc["rlver_table5", "made_with"] == "laptop, 1"
    assert rows.loc["sage_table3", "status"] == "not run"
    assert rows.loc["kit_horse_race", "status"] == "not built"
    assert len(rows) == len(load_artifacts())


def test_index_counts_and_links(folder):
    rows = report(folder / "out", ["03"], folder)
    path = write_index(folder / "out", rows)
    text = path.read_text()
    assert re.match(r"2 made, \d+ missing, 1 earlier,", counts(rows))
    assert counts(rows) in text.split("\n## ")[0]
    assert "[csv](empa_table7.csv) [md](empa_table7.md)" in text
    assert "![Fig. 6](empa_fig6.svg)" in text.split("## EMPA")[1].split("## SAGE")[0]
    targets = [part.split(")")[0] for part in text.split("](")[1:]]
    targets.remove("stamp.json")
    assert targets and all((folder / "out" / name).is_file() for name in targets)
