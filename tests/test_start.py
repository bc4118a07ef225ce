import json
import random
import sys

import matplotlib
import numpy as np
import pytest

from helpers import start as module
from helpers.start import start

NAME = "03_empa_evaluation"


@pytest.fixture
def begin(tmp_path, make_notebook, monkeypatch):
    make_notebook(tmp_path, NAME, parameters="RATE = 1e-3\nCASES = [1, 2]\n")
    monkeypatch.setattr(module, "FIGURES", tmp_path / "figures")
    given = {"PROFILE": "smoke", "SEED": 3, "OUT_DIR": "", "RATE": 1, "CASES": [3]}

    def call(**changes):
        wanted = {k: v for k, v in (given | changes).items() if v is not None}
        return start(NAME, notebooks_dir=tmp_path, **wanted)

    return call


def test_a_run_holds_what_a_notebook_needs(begin, tmp_path):
    run = begin()
    assert run.profile.name == "smoke"
    assert run.settings.bootstrap_draws == 200
    assert run.out_dir == tmp_path / "figures" / "smoke"
    assert run.register.out_dir == run.out_dir
    assert run.register.backend == "records"
    assert run.rng.random() == np.random.default_rng(3).random()
    stamp = json.loads((run.out_dir / "stamp" / "03.json").read_text())
    assert stamp["parameters"]["RATE"] == 1.0
    assert stamp["seeds"] == 3
    assert (run.out_dir / "manifest" / "03.json").is_file()


def test_one_seed_gives_the_same_numbers_everywhere(begin):
    drawn = []
    for seed in (5, 5, 6):
        run = begin(SEED=seed)
        drawn.append((random.random(), np.random.random(), run.rng.random()))
    assert drawn[0] == drawn[1]
    assert all(a != b for a, b in zip(drawn[1], drawn[2], strict=True))


def test_torch_is_seeded_when_it_is_there(begin, monkeypatch):
    seeds = []
    fake = type("Torch", (), {"manual_seed": staticmethod(seeds.append)})
    monkeypatch.setitem(sys.modules, "torch", fake)
    begin(SEED=4)
    assert seeds == [4]


def test_a_relative_folder_starts_at_the_project_root(begin, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "ROOT", tmp_path / "project")
    assert begin(OUT_DIR="figures/x").out_dir == tmp_path / "project" / "figures" / "x"
    assert begin(OUT_DIR=str(tmp_path / "y")).out_dir == tmp_path / "y"


def test_folders_of_figures_share_what_runs_store(begin, tmp_path):
    runs = begin().run_dir
    assert begin(OUT_DIR=str(tmp_path / "figures" / "smoke_seeds5")).run_dir == runs
    elsewhere = begin(OUT_DIR=str(tmp_path / "y")).run_dir
    assert elsewhere == tmp_path / "y" / "runs" != runs


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"SEDE": 1}, "no parameter SEDE .did you mean SEED"),
        ({"SEED": True}, "SEED: True is true or false"),
        ({"SEED": -1}, "SEED: -1 is not within"),
        ({"RATE": "1e-5"}, "write 1.0e-5"),
        ({"CASES": ["a"]}, "CASES: 'a' is a text"),
        ({"RATE": None}, "not given RATE"),
        ({"PROFILE": "smok"}, "mean smoke"),
    ],
)
def test_wrong_parameters_stop_with_one_line_and_no_file(
    begin, tmp_path, changes, message
):
    with pytest.raises(ValueError, match=message) as caught:
        begin(**changes)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "figures").exists()


def test_a_window_backend_is_replaced_and_inline_stays(begin):
    before = matplotlib.rcParams._get("backend")
    inline = "module://matplotlib_inline.backend_inline"
    try:
        matplotlib.rcParams["backend"] = inline
        begin()
        assert matplotlib.get_backend(auto_select=False) == inline
        matplotlib.rcParams["backend"] = "tkagg"
        begin()
        assert matplotlib.get_backend(auto_select=False).lower() == "agg"
    finally:
        matplotlib.rcParams["backend"] = before
