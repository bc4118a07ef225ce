"""The potential model: hand numbers, identities, each rule on a path made for it."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from helpers.scoring.bench import as_lists
from helpers.scoring.epm import EpmSettings, score_batch, score_trajectory
from helpers.scoring.plain import score
from helpers.scoring.replay import Dialogues, score_dialogues
from helpers.scoring.rubric import increments

EXACT = EpmSettings(rounding="none")
P0 = [-3.0, 0.0, -4.0]  # length 5, goal (0.6, 0, 0.8)


def path(*steps, p0=P0, settings=EXACT):
    return score_trajectory(p0, steps, settings)


def test_hand_numbers():
    t = path([1, 1, 1], [-2, 0, 0], [0, 0, 0])
    assert np.allclose(t.delta_energy, [1.4, -1.2, 0])
    assert np.allclose(t.total_energy, [0, 1.4, 0.2, 0.2])
    assert np.allclose(t.alignment, [1.4 / 3**0.5, -0.6, 0])
    assert np.allclose(t.projection, [-5, -3.6, -4.8, -4.8])
    assert np.allclose(
        t.distance, [np.hypot(2, 3), np.hypot(1, 2), np.hypot(3, 2)] + [np.hypot(3, 2)]
    )
    assert t.P[-1].tolist() == [-4, 1, -3]
    assert (t.P.shape, t.v.shape, t.verdict.kind) == ((4, 3), (3, 3), "open")


def test_moving_direction_by_hand():
    t = path([3, 0, 0], [0, 0, 1], settings=replace(EXACT, v_star="moving"))
    # From (-3, 0, -4) the goal is (0.6, 0, 0.8); from (0, 0, -4) it is (0, 0, 1).
    assert np.allclose(t.delta_energy, [1.8, 1.0])
    assert np.allclose(t.projection, [-5, -3.2, -3.0])


def random_dialogues(n=60, longest=50, seed=5):
    rng = np.random.default_rng(seed)
    turns = rng.integers(1, longest, n)
    p0 = -rng.integers(1, 27, (n, 3)).astype(float)
    chance = rng.dirichlet([1, 1, 1], n)
    levels = np.zeros((n, longest, 6))
    for b in range(n):
        kind = rng.choice(3, (longest, 3), p=chance[b])
        levels[b, :, 0::2] = np.where(kind == 2, rng.integers(0, 3, (longest, 3)), 0)
        levels[b, :, 1::2] = np.where(kind == 0, -rng.integers(0, 3, (longest, 3)), 0)
    return p0, levels, turns


@pytest.mark.parametrize("rounding", ["logged", "none"])
@pytest.mark.parametrize("v_star", ["fixed", "moving"])
def test_a_batch_is_its_dialogues_one_by_one(rounding, v_star):
    settings = EpmSettings(rounding=rounding, v_star=v_star)
    p0, levels, turns = random_dialogues()
    v = increments(levels)
    batch = score_batch(p0, v, turns, settings)
    kinds = set()
    for b, T in enumerate(turns):
        one = score_trajectory(p0[b], v[b, :T], settings)
        assert one.verdict == batch.verdict(b)
        assert np.array_equal(one.total_energy, batch.total_energy[b, : T + 1])
        assert np.array_equal(one.projection, batch.projection[b, : T + 1])
        assert np.array_equal(one.alignment, batch.alignment[b, :T])
        kinds.add(one.verdict.kind)
    assert {"collapse", "open"} < kinds, "the random dialogues must end in several ways"


def test_energy_is_projection_under_the_fixed_direction():
    p0, levels, turns = random_dialogues(seed=6)
    batch = score_batch(p0, increments(levels), turns, EXACT)
    start = np.linalg.norm(p0, axis=1)[:, None]
    assert np.allclose(batch.total_energy, start + batch.projection, atol=1e-9)


def test_rows_after_the_end_never_matter():
    p0, levels, turns = random_dialogues(seed=7)
    v = increments(levels)
    loud = v.copy()
    loud[np.arange(v.shape[1]) >= turns[:, None]] = 1e6
    a, b = score_batch(p0, v, turns), score_batch(p0, loud, turns)
    for name in ("P", "total_energy", "alignment", "kind", "turn", "label"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name


def test_array_code_and_plain_loop_agree_on_random_dialogues():
    p0, levels, turns = random_dialogues(n=300, seed=8)
    frame = pd.DataFrame({"turns": turns})
    dialogues = Dialogues(frame, p0, levels, increments(levels))
    ours = score_dialogues(dialogues)
    for plain, row in zip(as_lists(dialogues), ours.to_dict("records"), strict=True):
        verdict, nine = score(plain["p0"], plain["levels"])
        label = row["verdict_label"] if row["kind"] == "success" else None
        assert verdict == (row["kind"], label, row["verdict_turn"] or None)
        assert all(abs(nine[k] - row[k]) < 1e-9 for k in nine), (nine, row)


# --- verdicts -------------------------------------------------------------------------


def test_success_waits_for_the_twelfth_turn_and_names_the_label():
    steps = [[0.6, 0, 0.8]] * 5 + [[0, 0, 0]] * 6
    assert path(*steps).verdict.kind == "open"
    done = path(*steps, [0, 0, 0]).verdict
    assert (done.kind, done.label, done.turn) == ("success", "geometric", 12)
    far = path(*steps, [0, 3, 0]).verdict
    assert (far.kind, far.label) == ("success", "positional")
    early = path(*steps, settings=replace(EXACT, min_turns=5)).verdict
    assert (early.kind, early.turn) == ("success", 5)


def test_alpha_chooses_the_label_only():
    steps = [[0.6, 0, 0.8]] * 5 + [[0, 0, 0]] * 6 + [[0, 0.4, 0]]
    wide = path(*steps, settings=replace(EXACT, alpha=0.1)).verdict
    narrow = path(*steps, settings=replace(EXACT, alpha=0.05)).verdict
    assert (wide.label, narrow.label) == ("geometric", "positional")
    assert (wide.kind, wide.turn) == (narrow.kind, narrow.turn)


def test_collapse_is_five_steps_back_in_a_row():
    there, back = [[0.5, 1, 0.5]], [[-1, 0, -1]]
    quiet = replace(EXACT, legacy_oscillation=False)
    assert path(*there * 8, *back * 4, settings=quiet).verdict.kind == "open"
    fifth = path(*there * 7, *back * 5, settings=quiet).verdict
    assert (fifth.kind, fifth.label, fifth.turn) == ("collapse", None, 12)
    none = replace(quiet, failure_rule="none")
    assert path(*there * 7, *back * 5, settings=none).verdict.kind == "open"


def test_readme_rule_lets_each_detector_end_it():
    # Slips back on six of eight turns, never five in a row: regression alone.
    slip = [[1, 0, 0]] * 4 + [[-2, 0, 0]] * 4 + [[1, 0, 0]] + [[-2, 0, 0]] * 3
    rules = {"code": "open", "readme": "collapse", "none": "open"}
    for rule, kind in rules.items():
        settings = replace(EXACT, failure_rule=rule, legacy_oscillation=False)
        assert path(*slip, settings=settings).verdict.kind == kind, rule


def test_oscillation_needs_the_old_detector():
    shuttle = [[1, -1, 0], [-1, 1, 0]] * 6
    p0 = [-9.0, -9.0, -9.0]
    with_it = path(*shuttle, p0=p0).verdict
    assert (with_it.kind, with_it.turn) == ("oscillation", 12)
    without = replace(EXACT, legacy_oscillation=False)
    assert path(*shuttle, p0=p0, settings=without).verdict.kind == "open"


def test_timeout_and_its_order():
    steady = [[1, -1, 0], [0, 1, -1], [-1, 0, 1]] * 20
    settings = replace(EXACT, legacy_oscillation=False, max_turns=15)
    t = path(*steady, p0=[-9.0, -9.0, -9.0], settings=settings)
    assert (t.verdict.kind, t.verdict.turn) == ("timeout", 15)


# --- settings and bad input -----------------------------------------------------------


def test_released_and_paper_settings():
    released, paper = EpmSettings.released(), EpmSettings.paper()
    assert (released.alpha, released.v_star, released.rounding) == (
        0.1,
        "fixed",
        "logged",
    )
    assert (paper.alpha, paper.v_star, paper.rounding) == (0.05, "moving", "none")
    assert released.legacy_oscillation and not paper.legacy_oscillation
    assert (released.min_turns, released.max_turns) == (12, 45)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"v_star": "still"}, "v_star = 'still'; choose one of fixed, moving"),
        ({"rounding": True}, "rounding = True"),
        ({"failure_rule": "any"}, "failure_rule"),
        ({"alpha": -0.1}, "alpha"),
        ({"alpha": float("nan")}, "alpha"),
        ({"min_turns": 46}, "min_turns"),
        ({"min_turns": 0}, "min_turns"),
        ({"min_turns": 11.5}, "whole numbers"),
        ({"alpha": "0.1"}, "alpha = '0.1'"),
        ({"alpha": True}, "alpha = True"),
        ({"legacy_oscillation": "no"}, "True or False"),
    ],
)
def test_wrong_settings(change, message):
    with pytest.raises(ValueError, match=message):
        EpmSettings(**change)


@pytest.mark.parametrize(
    ("p0", "v", "message"),
    [
        ([0, 0, 0], [[1, 1, 1]], "origin"),
        ([-1, -1, -1], [[1, np.nan, 1]], "missing judgement has no position"),
        ([np.inf, -1, -1], [[1, 1, 1]], "finite"),
    ],
)
def test_impossible_paths(p0, v, message):
    with pytest.raises(ValueError, match=message):
        score_trajectory(p0, v)


def test_wrong_shapes():
    with pytest.raises(ValueError, match="need p0"):
        score_batch(np.zeros((2, 3)), np.zeros((3, 4, 3)), [1, 1, 1])
    for wrong in (np.zeros((2, 6)), np.zeros((3, 2)), np.zeros(3)):
        with pytest.raises(ValueError, match="need p0"):
            score_trajectory([-1, -1, -1], wrong)
    with pytest.raises(ValueError, match="turns"):
        score_batch(-np.ones((1, 3)), np.zeros((1, 4, 3)), [5])


def test_a_dialogue_without_turns_is_open():
    t = score_trajectory(P0, [])
    assert t.verdict.kind == "open" and t.P.shape == (1, 3) and t.v.shape == (0, 3)
