"""Rewards of a dialogue, by hand and against the worked example of MAPO."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from trainer_fakes import dialogue

from helpers.learning.rewards import (
    REWARDS,
    absolute_distance,
    distance,
    emotion_steps,
    final_distance,
    increments,
    potential,
    terminal_emotion,
)

EXAMPLE = json.loads(
    (Path(__file__).parent / "fixtures" / "mapo_worked_example.json").read_text()
)
PLAIN = dialogue("s", 0, [40, 45, 30, 70], [1.0, -2.5, 0.25])


def of_example(name):
    """A dialogue with the positions of the example; its rewards as the sandbox has
    them."""
    t = EXAMPLE["trajectories"][name]
    record = dialogue("s", 0, [50] * (t["turns"] + 1), t["reward"])
    first, *rest = (tuple(p) for p in t["positions"])
    turns = [
        replace(turn, position=p) for turn, p in zip(record.turns, rest, strict=True)
    ]
    return t, replace(record, turns=tuple(turns), initial_position=first)


def test_by_hand():
    assert terminal_emotion(PLAIN) == [0, 0, 0.7]
    assert emotion_steps(PLAIN) == [0.5, -1.5, 4.0]
    assert distance(PLAIN) == [1.0, -2.5, 0.25]
    assert final_distance(PLAIN) == [0, 0, -1.25]


def test_an_emotion_below_zero_earns_nothing():
    assert terminal_emotion(dialogue("s", 0, [30, -4], [0.0])) == [0]


@pytest.mark.parametrize("name", EXAMPLE["trajectories"])
def test_the_worked_example(name):
    t, record = of_example(name)
    assert distance(record) == t["reward"]
    assert absolute_distance(record) == pytest.approx(
        [-x for x in t["phi"][1:]], abs=1e-9
    )
    assert potential(record) == pytest.approx(
        t["potential_reward_gamma0p99_alpha9"], abs=1e-9
    )
    first, *rest = t["positions"]
    moved = [sum(b) - sum(a) for a, b in zip([first, *rest], rest, strict=False)]
    assert increments(record) == pytest.approx(moved, abs=1e-9)
    total = t["phi"][0] - t["phi"][-1]
    assert final_distance(record)[-1] == pytest.approx(total, abs=1e-9), "telescopes"


@pytest.mark.parametrize("name", REWARDS)
def test_a_failed_dialogue_has_no_number(name):
    failed = dialogue("s", 0, [40, 45, 30, 70], [1.0, -2.5, 0.25], failed=True)
    assert REWARDS[name](failed) == [None] * 3
    assert REWARDS[name](replace(failed, turns=())) == []


def test_a_turn_that_was_not_judged_is_missing():
    t, record = of_example("a0")
    unjudged = replace(record.turns[1], reward=None, position=None, emotion_after=None)
    record = replace(record, turns=(record.turns[0], unjudged, *record.turns[2:]))
    assert [x is None for x in distance(record)] == [False, True, False, False]
    assert [x is None for x in absolute_distance(record)] == [False, True, False, False]
    assert [x is None for x in potential(record)] == [False, True, True, False]
    assert [x is None for x in increments(record)] == [False, True, True, False]
    assert final_distance(record) == [None] * 4, "the sum is not known"
    assert [x is None for x in emotion_steps(record)][:2] == [False, True]


@pytest.mark.parametrize("name", REWARDS)
def test_a_reward_that_was_never_measured_is_a_mistake(name):
    bare = dialogue("s07", 3, [40, 45], [None])
    turns = tuple(
        replace(t, emotion_before=None, emotion_after=None) for t in bare.turns
    )
    with pytest.raises(ValueError, match=r"dialogue s07 \(seed 3\).*needs a judge"):
        REWARDS[name](replace(bare, turns=turns, initial_emotion=None))
