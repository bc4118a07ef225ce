"""The driver: what papermill does not check, and what its users trip over."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time

import nbformat
import pytest

from helpers import progress
from helpers.paths import ROOT
from helpers.profiles import get
from helpers.reporting.artifacts import load_artifacts
from helpers.reproduce import main

WRITE = """
import pandas as pd
from helpers.reporting.artifacts import Register
from helpers.paths import ROOT
register = Register("{number}", ROOT / OUT_DIR, PROFILE, SEED)
register.table("{id}", pd.DataFrame({{"a": [1]}}), "C", "new")
"""
NOTE = """
import json, os, sys, helpers
seen = {"pid": os.getpid(), "python": sys.executable, "rate": RATE, "seed": SEED}
seen |= {"environment": dict(os.environ), "out": OUT_DIR, "profile": PROFILE}
json.dump(seen, open(NOTES, "w"))
print(os.path.expanduser("~/notes"))
"""


def listed(*ids):
    rows = load_artifacts()
    return rows[rows["id"].isin(ids)]


def run(argv, folder, artifacts=None, captured=None):
    """Exit code, stdout and stderr of the driver and its kernels."""
    code = main([str(word) for word in argv], folder, artifacts)
    return (code, *captured.readouterr())


# --- wrong use: nothing starts, nothing is written --------------------------------


@pytest.fixture
def refuse(tmp_path, make_notebook, monkeypatch, capfd):
    """Run the driver on two notebooks; it must refuse without a trace."""
    folder = tmp_path / "notebooks"
    more = 'RATE = 1e-3\nSTEPS = 3\nFAST = False\nNAMES = ["a"]\n'
    make_notebook(folder, "03_board", parameters=more)
    make_notebook(folder, "05_mapo", parameters="GAMMA = 0.9\n")
    monkeypatch.setattr("helpers.reproduce.execute", lambda *a: pytest.fail("it ran"))

    def call(*argv):
        out = tmp_path / "out"
        code, printed, errors = run([*argv, "--out", out], folder, captured=capfd)
        assert (code, printed) == (2, "")
        assert not out.exists()
        return errors

    return call


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ("-p 03:STEP=3", "03_board has no parameter STEP (did you mean STEPS?)"),
        ("-p STEPS=3", "05_mapo has no parameter STEPS"),
        ("-p 03:STEPS=3.5", "03_board, STEPS: '3.5' is not a whole number"),
        ("-p 03:RATE=fast", "RATE: 'fast' is not a number"),
        ("-p 03:FAST=1", "FAST: '1' is not true or false"),
        ("-p 03:NAMES=[1]", "NAMES: '[1]' is not a list"),
        ("-p SEED", "-p SEED: write NAME=VALUE"),
        ("-p 04:SEED=1", "04:SEED: 04 is not among those to run: 03, 05"),
        ("-p PROFILE=gpu", "PROFILE is set with --profile"),
        ("-p OUT_DIR=x", "OUT_DIR is set with --out"),
        ("--only ,", "names no notebook; known: 03, 05"),
        ("--only 04", "--only 04: that notebook is not built yet; known: 03, 05"),
        ("--only 03,9", "--only 09: that notebook does not exist; known: 03, 05"),
        ("--from 06", "--from 06: that notebook is not built yet; known: 03, 05"),
        ("--only 03 --from 05", "No notebook is left to run; known: 03, 05"),
        ("--profile labtop", "did you mean laptop"),
        ("--timeout 0", "--timeout 0: give seconds above 0"),
        ("--params-file no.yaml", "no.yaml: cannot be read"),
    ],
)
def test_wrong_command_line(refuse, argv, message):
    errors = refuse(*argv.split())
    assert message in errors
    assert errors.count("\n") == 1


@pytest.mark.parametrize(
    ("yaml", "message"),
    [
        ("03:RATE: 1e-5", "write 1.0e-5"),
        ("SEED: true", "SEED: True is true or false, the notebook has a whole number"),
        ("SEED: '1'", "SEED: '1' is a text"),
        ("SEED: 1.0", "SEED: 1.0 is a number, the notebook has a whole number"),
        ("03:FAST: 1", "FAST: 1 is a whole number, the notebook has true or false"),
        ("03:NAMES: [a, 1]", "NAMES: 1 is a whole number"),
        ("- SEED", "lines of NAME: value are needed"),
        ("SEED: [", "cannot be read"),
    ],
)
def test_wrong_parameter_file(refuse, tmp_path, yaml, message):
    path = tmp_path / "given.yaml"
    path.write_text(yaml)
    errors = refuse("--params-file", path)
    assert message in errors


def test_all_problems_at_once(refuse):
    errors = refuse("--profile", "x", "-p", "03:STEP=1", "-p", "SEED=a")
    assert len(errors.splitlines()) == 4  # SEED is wrong in both notebooks


def cell(source, kind="code", tags=("parameters",)):
    made = nbformat.v4.new_code_cell(source)
    if kind == "markdown":
        made = nbformat.v4.new_markdown_cell(source)
    made.metadata["tags"] = list(tags)
    return made


GOOD = 'PROFILE = "smoke"\nSEED = 0\nOUT_DIR = ""'


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([cell(GOOD, tags=())], "0 cells tagged 'parameters'"),
        ([cell(GOOD), cell("X = 1")], "2 cells tagged 'parameters'"),
        ([cell(GOOD, "markdown")], "a code cell"),
        ([cell(GOOD + "\nX = 2 * 3")], "cell 1 (parameters): line 4: not NAME ="),
        ([cell(GOOD + "\nimport os")], "line 4: not NAME ="),
        ([cell(GOOD + "\nA = B = 1")], "line 4: not NAME ="),
        ([cell(GOOD + "\nX = (")], "line 4"),
        ([cell(GOOD + "\nX = None")], "X is None"),
        ([cell(GOOD + "\nSEED = 1")], "SEED is set twice"),
        ([cell("SEED = 0")], "PROFILE is missing"),
        ([cell(GOOD), cell("SEED = 1", tags=["injected-parameters"])], "executed copy"),
    ],
)
def test_wrong_parameters_cell(refuse, tmp_path, cells, message):
    path = tmp_path / "notebooks" / "04_rlver.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    errors = refuse()
    assert message in errors
    assert all(line.startswith("04_rlver.ipynb") for line in errors.splitlines())


@pytest.mark.parametrize("text", ["", "{", "{}", "[]", '{"cells": 1}', "\udce4"])
def test_unreadable_notebook(refuse, tmp_path, text):
    path = tmp_path / "notebooks" / "04_rlver.ipynb"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    errors = refuse()
    assert "04_rlver.ipynb: not a readable notebook" in errors
    assert errors.count("\n") == 1


def test_two_notebooks_with_one_number(refuse, tmp_path, make_notebook):
    make_notebook(tmp_path / "notebooks", "03_again")
    assert "Two notebooks have the number 03" in refuse()


def test_list_shows_defaults_and_what_is_not_built(tmp_path, make_notebook, capfd):
    make_notebook(tmp_path, "03_empa_evaluation", parameters="R = 1e-3  # speed\n")
    code, printed, _ = run(["--list", "--profile", "smoke"], tmp_path, captured=capfd)
    assert code == 0
    assert "03_empa_evaluation: Title of 03_empa_evaluation; about 0:33" in printed
    assert "R = 0.001  # speed" in printed
    assert printed.splitlines()[-1].startswith("not built yet: 00_start_here, 01_")
    assert "03_empa" not in printed.splitlines()[-1]


def test_the_command_works_from_another_folder(tmp_path):
    command = [sys.executable, "-m", "helpers.reproduce", "--only", "98"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("--only 98: that notebook does not exist")
    assert list(tmp_path.iterdir()) == []


# --- a run to the end -------------------------------------------------------------


@pytest.fixture(scope="module")
def finished(tmp_path_factory, make_notebook):
    """Two notebooks under hostile conditions: another folder, another python3 kernel,
    a notebook without metadata and one of another language."""
    base = tmp_path_factory.mktemp("a {folder}")
    folder, out = base / "notebooks", base / "out"
    r_kernel = {"name": "ir", "language": "R", "display_name": "R"}
    for name, id_, metadata in (
        ("03_board", "kit_empa_intervals", {}),
        ("05_mapo", "mapo_main", {"kernelspec": r_kernel}),
    ):
        make_notebook(
            folder,
            name,
            NOTE,
            WRITE.format(number=name[:2], id=id_),
            parameters='RATE = 1e-3\nNOTES = ""\n',
            metadata=metadata,
        )
    other_kernel = base / "jupyter" / "kernels" / "python3" / "kernel.json"
    other_kernel.parent.mkdir(parents=True)
    spec = {"argv": ["/bin/false"], "display_name": "x", "language": "python"}
    other_kernel.write_text(json.dumps(spec))
    given = base / "given.yaml"
    given.write_text(f"RATE: 2\n03:NOTES: {base}/03\n05:NOTES: {base}/05\nSEED: 4\n")
    argv = ["--profile", "smoke", "--out", out, "--params-file", given]
    argv += ["-p", "05:SEED=6", "-p", "SEED=5"]
    stdout, stderr = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_DATA_DIR", str(base / "jupyter"))
        patch.setenv("JUPYTER_PATH", str(base / "jupyter"))
        patch.setenv("JUPYTER_PREFER_ENV_PATH", "0")
        patch.setenv("TOKENIZERS_PARALLELISM", "true")
        patch.delenv("HF_HUB_OFFLINE", raising=False)
        patch.setenv("PYTHONPATH", "/elsewhere")
        patch.chdir(base)
        patch.setattr(sys, "stdout", stdout)
        patch.setattr(sys, "stderr", stderr)
        before = dict(os.environ)
        code = main(
            [str(word) for word in argv],
            folder,
            listed("kit_empa_intervals", "mapo_main", "rapo_main"),
        )
        unchanged = dict(os.environ) == before
    notes = [json.loads((base / number).read_text()) for number in ("03", "05")]
    return code, stdout.getvalue(), stderr.getvalue(), out, notes, unchanged


def test_it_ends_with_0_and_the_files(finished):
    code, _, _, out, _, _ = finished
    assert code == 0
    names = {str(p.relative_to(out)) for p in out.rglob("*") if p.is_file()}
    assert names == {
        *("INDEX.md", "stamp.json", "manifest/03.json", "manifest/05.json"),
        *("kit_empa_intervals.csv", "kit_empa_intervals.md"),
        *("mapo_main.csv", "mapo_main.md"),
        *("runs/03_board.ipynb", "runs/05_mapo.ipynb", "runs/timings.json"),
    }


def test_parameters_arrive_typed_and_addressed(finished):
    notes = finished[4]
    assert [note["seed"] for note in notes] == [5, 6]
    assert [note["rate"] for note in notes] == [2.0, 2.0]
    assert isinstance(notes[0]["rate"], float)
    assert notes[0]["profile"] == "smoke"


def test_each_notebook_has_its_own_kernel_of_this_python(finished):
    first, second = finished[4]
    assert len({first["pid"], second["pid"], os.getpid()}) == 3
    assert first["python"] == second["python"] == sys.executable


def test_kernels_are_offline_and_find_the_helpers(finished):
    environment = finished[4][0]["environment"]
    assert environment["HF_HUB_OFFLINE"] == "1"
    assert environment["HF_HUB_DISABLE_TELEMETRY"] == "1"
    assert environment["TRL_EXPERIMENTAL_SILENCE"] == "1"
    assert environment["TOKENIZERS_PARALLELISM"] == "true"  # the user's choice stays
    assert environment["PYTHONPATH"] == f"{ROOT}{os.pathsep}/elsewhere"
    assert finished[5], "the driver changed its own environment"


def test_a_log_is_short(finished):
    _, printed, errors, _, _, _ = finished
    lines = printed.splitlines()
    assert errors == ""
    assert len(lines) == 7
    assert lines[0].startswith("[1/2] 03_board: started ")
    assert "about 0:33 (usual on two cores)" in lines[0]
    assert lines[1].startswith("[1/2] 03_board: done in 0:0")
    left = re.search(
        r"; left about 0:(\d\d) \(usual on two cores, at this pace\)$", lines[1]
    )
    assert left and 19 <= int(left[1]) < 30, "(60 + a moment) / (60 + 33) of 0:30"
    assert lines[4] == "artifacts: 2 made, 0 missing, 0 earlier, 0 not run, 1 not built"
    assert lines[5] == "  not built, by notebook: 06: 1"
    assert lines[6] == "index: out/INDEX.md"


def test_stamp_and_timings(finished):
    out = finished[3]
    stamp = json.loads((out / "stamp.json").read_text())
    assert stamp["seeds"] == {"03": 5, "05": 6}
    assert stamp["parameters"]["03"]["OUT_DIR"] == "out"
    assert stamp["seconds"].keys() == {"03", "05"}
    assert (stamp["profile"], stamp["failed"]) == ("smoke", None)
    timings = out / "runs" / "timings.json"
    assert json.loads(timings.read_text())["smoke"].keys() == {"03_board", "05_mapo"}


def test_no_home_path_in_an_executed_copy(finished):
    text = (finished[3] / "runs" / "03_board.ipynb").read_text()
    assert "~/notes" in text
    assert os.path.expanduser("~/") not in text


# --- runs that stop ---------------------------------------------------------------


def test_failure_names_cell_error_output_and_the_way_on(tmp_path, make_notebook, capfd):
    folder, out = tmp_path / "notebooks", tmp_path / "out"
    make_notebook(folder, "03_board", WRITE.format(number="03", id="empa_fig6"))
    home = "import os\nHOME = os.path.expanduser('~/')"
    bad = "\n# check: board\nprint('\\x1b[31mlast words')\n"
    bad += "raise ValueError(f'no\\nrow in {HOME}x')"
    make_notebook(folder, "05_mapo", home, bad, "print('never')")
    make_notebook(folder, "06_rapo")
    (out / "manifest").mkdir(parents=True)
    stale = {"artifacts": {"mapo_main": {"status": "rerun", "files": ["INDEX.md"]}}}
    (out / "manifest" / "05.json").write_text(json.dumps(stale))
    (out / "INDEX.md").touch()
    argv = ["--profile", "smoke", "--out", out, "--from", "05", "-p", "SEED=2"]
    artifacts = listed("empa_fig6", "mapo_main", "rapo_main")
    code, printed, errors = run(argv, folder, artifacts, capfd)
    assert (code, errors) == (1, "")
    assert "03_board" not in printed and "06_rapo" not in printed
    assert "[1/2] 05_mapo: failed after" in printed
    assert "FAILED: 05_mapo in cell 4 of 5: # check: board" in printed
    assert "  ValueError: no row in ~/x\n" in printed
    assert os.path.expanduser("~/") not in printed
    assert "    | last words" in printed
    assert "never" not in printed and "\x1b" not in printed
    kept = out / "runs" / "05_mapo.ipynb"
    assert f"  kept: {os.path.relpath(kept)}" in printed
    assert "row in ~/x" in kept.read_text()
    go_on = f"--profile smoke --out {out} -p SEED=2 --from 05"
    assert f"python -m helpers.reproduce {go_on}\n" in printed
    # A manifest of an earlier run does not pass for this one.
    assert "missing: mapo_main (notebook 05)" in printed
    assert json.loads((out / "stamp.json").read_text())["failed"] == "05"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import time\ntime.sleep(10)", "the cell did not end within its limit of 1 s"),
        ("import os\nprint('bye', flush=True)\nos._exit(0)", "the kernel died"),
        ("import sys\nsys.exit(0)", "the cell ended the notebook early"),
    ],
    ids=["timeout", "kernel death", "sys.exit"],
)
def test_a_cell_that_ends_badly_is_named(
    tmp_path, make_notebook, capfd, caplog, source, message
):
    folder = tmp_path / "notebooks"
    make_notebook(folder, "03_board", source, "print('never')")
    argv = ["--profile", "smoke", "--out", tmp_path / "out"]
    argv += ["--timeout", "1"] if "sleep" in source else []
    code, printed, errors = run(argv, folder, listed("empa_fig6"), capfd)
    assert code == 1
    first_line = source.splitlines()[0]
    assert f"FAILED: 03_board in cell 3 of 4: {first_line}\n  {message}" in printed
    assert (tmp_path / "out" / "runs" / "03_board.ipynb").is_file()
    assert not (tmp_path / "out" / "runs" / "timings.json").exists()
    assert (errors, caplog.text) == ("", "")


def test_a_missing_artifact_fails_the_run(tmp_path, make_notebook, capfd):
    folder = tmp_path / "notebooks"
    make_notebook(folder, "03_board")
    argv = ["--profile", "smoke", "--out", tmp_path / "out"]
    code, printed, _ = run(argv, folder, listed("empa_fig6", "mapo_main"), capfd)
    assert code == 1
    assert "missing: empa_fig6 (notebook 03)" in printed
    assert "mapo_main" not in printed


def test_ctrl_c_ends_with_130_and_names_the_copy(tmp_path, make_notebook):
    marker = tmp_path / "running"
    source = f"open({str(marker)!r}, 'w').close()\nimport time\ntime.sleep(60)"
    make_notebook(tmp_path / "notebooks", "03_board", source)
    code = "import pathlib, sys; from helpers.reproduce import main; "
    code += "sys.exit(main(sys.argv[2:], pathlib.Path(sys.argv[1])))"
    command = [sys.executable, "-c", code, tmp_path / "notebooks"]
    command += ["--profile", "smoke", "--out", tmp_path / "out"]
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        until = time.monotonic() + 60
        while not marker.exists() and time.monotonic() < until:
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        printed, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "03_board: interrupted; kept " in printed
    assert errors == ""
    assert (tmp_path / "out" / "runs" / "03_board.ipynb").is_file()


# --- what is printed --------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_shows_the_cell_and_a_log_does_not(monkeypatch):
    terminal, log = Terminal(), io.StringIO()
    for stream in (terminal, log):
        monkeypatch.setattr(sys, "stdout", stream)
        show = progress.live_line("[1/1] 03_x", 9, time.monotonic())
        show(3)
        show(4)
        progress.end_line("[1/1] 03_x: done")
    assert terminal.getvalue().count("\r") == 3
    assert "\r[1/1] 03_x: cell 4/9, 0:00" in terminal.getvalue()
    assert terminal.getvalue().count("\n") == 1
    assert log.getvalue() == "[1/1] 03_x: done\n"


def test_estimates_say_where_they_come_from(tmp_path):
    class Named:
        def __init__(self, name):
            self.name, self.number = name, name[:2]

    a, b = Named("03_a"), Named("05_b")
    path = tmp_path / "timings.json"
    progress.Estimates(get("smoke"), path).record(a, 75.04)
    smoke = progress.Estimates(get("smoke"), path)
    assert smoke.text([a]) == "1:15 (measured before)"
    partly = "about 1:45 (partly measured before, usual on two cores)"
    assert smoke.text([a, b]) == partly
    laptop = progress.Estimates(get("laptop"), path)
    assert laptop.text([a]) == "about 0:35 (usual on two cores)"
    laptop.record(a, 70.0)  # twice the usual 35: (60 + 70) / (60 + 35) of 13:20
    assert laptop.text([b]) == "about 18:15 (usual on two cores, at this pace)"
    assert laptop.text([a]) == "1:10 (measured before)"
    laptop.record(a, 1.0)  # not the first time: its training was there
    assert laptop.text([b]) == "about 18:15 (usual on two cores, at this pace)"
    assert "never timed" in progress.Estimates(get("gpu"), path).text([a])
    assert progress.clock(3725) == "1:02:05"
