"""Notebook 05's computation by hand: the worked example, number for number."""

import json

import matplotlib
import nbformat
import pytest
from test_advantages import FIXTURE

from helpers.paths import NOTEBOOKS

GOLD = json.loads(FIXTURE.read_text())
NOTEBOOK = NOTEBOOKS / "05_mapo.ipynb"


@pytest.fixture(scope="module")
def by_hand():
    """The names that the cells of section 5.2 leave behind, figures left out."""
    cells = nbformat.read(NOTEBOOK, 4).cells
    titles = [i for i, c in enumerate(cells) if c.source.startswith("## 5.")]
    first = next(i for i in titles if cells[i].source.startswith("## 5.2"))
    last = next(i for i in titles if i > first)
    setup = next(c.source for c in cells if "from helpers.start import" in c.source)
    imports = setup.split("\nparameters = ")[0]
    names = {"show": lambda *_: None}
    matplotlib.use("agg")
    exec(imports, names)
    for cell in cells[first:last]:
        if cell.cell_type == "code" and "write." not in cell.source:
            exec(cell.source, names)
    return names


def test_distances_rewards_and_returns(by_hand):
    for name, told in GOLD["trajectories"].items():
        for ours, theirs in (("path", "phi"), ("r", "reward"), ("G", "return_gamma")):
            assert by_hand[ours][name] == pytest.approx(told[theirs], abs=1e-9)


def test_the_three_kinds_of_credit_and_the_mix(by_hand):
    for ours, theirs in (
        ("A_outcome", GOLD["grpo_outcome"]["advantage"]),
        ("A_turn", GOLD["turn_level_mc"]["advantage"]),
        ("A_imm", GOLD["immediate"]["advantage"]),
        ("mix", GOLD["mixed"]["advantage_0p5_0p5"]),
    ):
        for name, values in theirs.items():
            assert by_hand[ours][name] == pytest.approx(values, abs=1e-9), ours


def test_the_losses(by_hand):
    for ours, theirs in (("outcome", "outcome"), ("turn part", "turn_only"),
                         ("immediate part", "imm_only"), ("mix", "mixed")):  # fmt: skip
        expected = GOLD["loss"][theirs]["token_mean"]
        assert by_hand["losses"][ours] == pytest.approx(expected, abs=1e-9)


def test_the_table_holds_all_fifteen_turns(by_hand):
    example = by_hand["example"]
    assert len(example) == 15 and not example.isna().any(axis=None)
    mean = GOLD["immediate"]["stats"]["all"]["mean"]
    assert example["reward"].mean() == pytest.approx(mean, abs=1e-9)
