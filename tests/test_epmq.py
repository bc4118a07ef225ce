"""EPM-Q: hand numbers for both sets of constants, and what it refuses."""

import numpy as np
import pytest

from helpers.scoring.epm import EpmSettings, score_trajectory
from helpers.scoring.epmq import DIMENSIONS, INDICES, indices, raw, summarise
from helpers.scoring.rubric import MDEP_FIELDS, increments

LEVELS = [[1, 0, 2, 0, 0, 0], [0, 0, 0, -1, 0, 0]]  # steps (1, 3, 0), (0, -2, 0)
P0 = [-3.0, -5.0, -1.0]


def nine(constants, settings=None, levels=LEVELS):
    path = score_trajectory(P0, increments(levels), settings)
    return indices(path, levels, constants)


def test_released_by_hand():
    got = nine("released")
    r0 = np.hypot(2, 4)
    goal = np.round(np.array([3, 5, 1]) / 35**0.5, 4)
    work = np.round([goal @ [1, 3, 0], goal @ [0, -2, 0]], 2)
    energy = round(float(goal @ [1, 1, 0]), 2)
    assert np.isclose(got["RDI"], (100 * (r0 - np.hypot(1, 3)) / r0 + 100) / 2)
    assert np.isclose(got["Etot"], 100 * energy / (1.2 * r0))
    assert np.isclose(got["Snet"], 100 * 2 / (1.5 * r0))
    assert np.isclose(got["Rho"], 100 * energy / 2 / 2.5)
    assert np.isclose(got["Sproj"], 100 * work.sum() / 3 / 2.5)
    tortuosity = (10**0.5 + 2) / 2**0.5
    assert np.isclose(got["Tau"], 100 * max(0, (3 - tortuosity) / 2))
    assert np.isclose(got["Rpos"], 100 / 3)
    cosine = np.round(goal @ [1, 3, 0] / 10**0.5, 4) + np.round(-goal[1], 4)
    assert np.isclose(got["Align"], (cosine / 3 + 1) / 2 * 100)
    assert np.isclose(got["Pen"], 100 * (3 - 1 / 3) / 3)


def test_paper_by_hand():
    got = nine("paper", EpmSettings(rounding="none"))
    r0 = 35**0.5
    goal = np.array([3, 5, 1]) / r0
    energy = goal @ [1, 1, 0]
    end = np.sqrt(4 + 16 + 1)
    assert np.isclose(got["RDI"], (100 * (r0 - end) / r0 + 100) / 2, atol=1e-4)
    assert np.isclose(got["Etot"], 100 * energy / r0, atol=1e-4)
    assert np.isclose(got["Snet"], 100 * 2 / (1.2 * r0), atol=1e-4)
    assert np.isclose(got["Rho"], 100 * energy / 2 / 12**0.5)
    assert np.isclose(got["Sproj"], got["Rho"])
    assert np.isclose(got["Rpos"], 50)
    assert np.isclose(got["Pen"], 100 * (3 - 1 / 2) / 3)


def test_levels_may_be_dictionaries():
    rows = [dict(zip(MDEP_FIELDS, row, strict=True)) for row in LEVELS]
    path = score_trajectory(P0, increments(LEVELS))
    assert indices(path, rows) == indices(path, LEVELS)
    del rows[1]["A.Neg"]
    with pytest.raises(ValueError, match="turn 2 has no level A.Neg"):
        indices(path, rows)


def test_a_path_back_to_its_start():
    # Released: the fault that gives full marks. Paper: no direction, no marks.
    levels = [[0, 0, 0, -1, 0, 0], [1, 0, 1, 0, 0, 0], [0, 0, 1, 0, 0, 0]]
    levels[1][0] = 0
    path = score_trajectory(P0, increments(levels))
    assert path.P[-1].tolist() == P0
    assert indices(path, levels, "released")["Tau"] == 100
    assert indices(path, levels, "paper")["Tau"] == 0


def test_indices_stay_in_their_range():
    for levels in ([[2, 0, 2, 0, 2, 0]] * 12, [[0, -2, 0, -2, 0, -2]] * 12):
        got = nine("released", levels=levels)
        assert all(0 <= got[k] <= 100 for k in ("RDI", "Tau", "Rpos", "Align", "Pen"))
        assert all(got[k] >= 0 for k in ("Etot", "Snet", "Rho", "Sproj"))
    assert np.isclose(
        nine("released", levels=[[2, 0, 2, 0, 2, 0]] * 12)["Rpos"], 1200 / 13
    )


def test_raw_keeps_what_the_index_clips():
    path = score_trajectory(P0, increments([[0, -2, 0, -2, 0, -2]] * 12))
    assert raw(path, [[0, -2, 0, -2, 0, -2]] * 12)["RDI"] < -100
    assert nine("released", levels=[[0, -2, 0, -2, 0, -2]] * 12)["RDI"] == 0


def test_summary_weighs_dimensions():
    row = {name: float(i) for i, name in enumerate(INDICES)}
    total = summarise([row, row])
    assert (total["Outcome"], total["Efficiency"], total["Stability"]) == (1, 4, 7)
    assert np.isclose(total["EPMQ"], 0.4 * 1 + 0.2 * 4 + 0.4 * 7)
    assert total["n"] == 2
    assert sum(weight for _, weight in DIMENSIONS.values()) == 1


@pytest.mark.parametrize(
    ("levels", "constants", "message"),
    [
        (LEVELS[:1], "released", "1 rows of levels for 2 turns"),
        (
            [[1, 0, 2, 0, 0, np.nan], LEVELS[1]],
            "released",
            "turn 1 has an unrated level",
        ),
        (LEVELS, "printed", "choose released or paper"),
        ([[3, 0, 2, 0, 0, 0], LEVELS[1]], "released", "C.Prog"),
        ([row[:5] for row in LEVELS], "released", "6 fields a turn"),
    ],
)
def test_refusals(levels, constants, message):
    path = score_trajectory(P0, increments(LEVELS))
    with pytest.raises(ValueError, match=message):
        indices(path, levels, constants)


def test_failures_are_not_averaged():
    good = nine("released")
    with pytest.raises(ValueError, match="RDI of dialogue 1 is missing"):
        summarise([good, good | {"RDI": float("nan")}])
    with pytest.raises(ValueError, match="Tau of dialogue 0 is missing or not finite"):
        summarise([good | {"Tau": float("inf")}])
    with pytest.raises(ValueError, match="Pen of dialogue 0"):
        summarise([{k: v for k, v in good.items() if k != "Pen"}])
    with pytest.raises(ValueError, match="no dialogue"):
        summarise([])
    with pytest.raises(ValueError, match="without turns"):
        indices(score_trajectory(P0, []), [])


def test_a_start_at_the_goal_has_no_indices():
    path = score_trajectory([-1.0, -1, 0], [[1, 1, 0]])
    with pytest.raises(ValueError, match="starts at the goal"):
        indices(path, [[1, 0, 1, 0, 0, 0]])
