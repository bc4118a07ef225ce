"""The teacher-quality test: what it measures, and that a critique moves the policy."""

import numpy as np
import pytest

from helpers.learning.teacher import ARMS, TeacherTest, teacher_quality
from helpers.reporting.rapo_teacher import PAIRS, quality_table

TEST = TeacherTest(turns=16, group=6, dialogues=24)


@pytest.fixture(scope="module")
def measured():
    return teacher_quality((True,), TEST)


def test_every_arm_answers_the_same_turns(measured):
    keys = ["place", "case", "turn", "impact"]
    turns = [part[keys].values.tolist() for _, part in measured.groupby("arm")]
    assert len(turns) == len(ARMS) and all(t == turns[0] for t in turns)
    assert (measured["n"] == 6).all() and measured["change"].between(-10, 10).all()
    assert (measured["premature"] <= measured["advice"]).all()


def test_a_true_critique_helps_the_policy_at_that_turn(measured):
    """The start follows its notes; without that RAPO's teacher would know nothing."""
    table = quality_table(measured, 300, np.random.default_rng(0)).set_index("arm")
    assert table.loc["true - plain", "low"] > 0
    assert list(table.index) == [*ARMS, *(f"{a} - {b}" for a, b in PAIRS)]
    change = table["change"]
    gap = change["true"] - change["shuffled"]
    assert table.loc["true - shuffled", "change"] == pytest.approx(gap)
    assert (table["low"] <= change).all() and (change <= table["high"]).all()
