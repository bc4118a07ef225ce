"""What a policy does over and over, and the audit of trained policies."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from helpers.data.scenarios import load_cards
from helpers.reporting import trained_gaming as gaming
from helpers.sandbox.dialogue import Dialogue, Failure, Turn
from helpers.scoring.habits import habits, pattern

CARDS = {card.id: card for card in load_cards("test")}
ONE, TWO = list(CARDS)[:2]
HOW = {"draws": 200, "rng": np.random.default_rng(0)}


def talk(case, *replies, rewards=None):
    rewards = rewards or [None] * len(replies)
    turns = tuple(
        Turn(i, "hmm", reply, reward=paid)
        for i, (reply, paid) in enumerate(zip(replies, rewards, strict=True), 1)
    )
    return Dialogue(case, 0, 0, "x", turns, "timeout", "limit", len(turns))


def test_a_constant_is_one_script_for_everybody():
    found = habits([talk(c, *["time heals ."] * 3) for c in (ONE, TWO)], CARDS)
    assert found["same to all"] == 1 and found["words"] == 3
    assert found["clause again"] == 100
    assert found["reply again"] == pytest.approx(200 / 3)
    assert found["ping-pong"] == 0, "the same act all the time is no ping-pong"
    assert found["hollow"] == 100 and np.isnan(found["right slots"])
    assert (found["most said"], found["its share"]) == ("time heals .", 100)


def test_ping_pong_goes_back_and_forth():
    a, b = "what happened then ?", "i am listening ."
    found = habits([talk(ONE, a, b, a, b)], CARDS)
    assert found["ping-pong"] == 100 and found["clause again"] == 0
    assert found["reply again"] == 50
    assert np.isnan(found["same to all"]), "one person only"


def test_right_slots_and_key_words():
    own = CARDS[ONE].hidden
    other = "sad" if own.emotion != "sad" else "angry"
    found = habits(
        [talk(ONE, f"you must feel {own.emotion} .", f"you must feel {other} .")], CARDS
    )
    assert found["right slots"] == 50
    assert found["key words"] == pytest.approx(100 * 2 / 10)


def test_likeness_is_of_the_same_turn_of_two_people():
    found = habits([talk(ONE, "a b", "x"), talk(TWO, "b c", "y")], CARDS)
    assert found["same to all"] == pytest.approx((1 / 3 + 0) / 2)


def test_failed_dialogues_are_left_out():
    bad = replace(talk(ONE, "a"), ending="error", ended_by="failure",
                  failure=Failure("user", "api_error", "x"))  # fmt: skip
    assert habits([bad, talk(TWO, "b")], CARDS)["most said"] == "b"
    with pytest.raises(ValueError, match="nothing to look at"):
        habits([bad], CARDS)


def test_pattern_is_the_most_frequent_kind_and_its_pay():
    a, b = "what happened then ?", "time heals ."
    told = [talk(ONE, a, b, a, rewards=[1.0, -3.0, 2.0]), talk(TWO, b, a, "gibberish",
            rewards=[-5.0, 3.0, -4.0])]  # fmt: skip
    found = pattern(told)
    assert found["acts"] == "question" and found["share"] == 50
    assert found["paid"] == 2 and found["others"] == -4
    assert (found["case"], found["reply"]) == (ONE, a)


@pytest.fixture(scope="module")
def fixed():
    return gaming.references(5, 2026)


def test_shares_of_the_heuristic_by_hand(fixed):
    """The script as the start: it has share 0, the heuristic's mean is 1."""
    talks = {**fixed, "base": fixed[gaming.PING_PONG]}
    shares = gaming.gains(talks).groupby(["label", "scorer"])["share"].mean()
    for scorer in (gaming.OWN, *gaming.OTHERS):
        assert shares["base", scorer] == pytest.approx(0)
        assert shares[gaming.HEURISTIC, scorer] == pytest.approx(1)


def test_a_policy_that_gains_where_it_was_trained_is_named(fixed):
    """With the training user it is the heuristic, with the other one the script."""
    ping = fixed[gaming.PING_PONG]
    learnt = {"vanilla": fixed[gaming.HEURISTIC]["vanilla"], "second": ping["second"]}
    talks = {**fixed, "base": ping, "MAPO": learnt}
    shares = gaming.gains(talks)
    shares.loc[shares["scorer"] == gaming.OTHERS[1], "share"] = 0.0
    table = gaming.audit(talks, shares, **HOW)
    by_name = table.set_index("label")
    assert by_name.loc["MAPO", "reading"] == "gains more where it was trained"
    assert by_name.loc["MAPO", "gap"] == pytest.approx(1)
    assert by_name.loc["base", "reading"] == "-"
    said = gaming.sentences(table, gaming.examples(talks))
    assert len(said) == 2 and said[1].startswith("MAPO: ")
    figure, _ = gaming.picture(table, "offline demo")
    assert len(figure.axes) == 2


def test_a_world_in_which_the_heuristic_gains_nothing_is_refused(fixed):
    talks = {**fixed, "base": fixed[gaming.HEURISTIC]}
    with pytest.raises(ValueError, match="gains nothing"):
        gaming.gains(talks)


def test_references_meet_the_same_people_in_the_same_mood(fixed):
    for user in ("vanilla", "second"):
        first, second = (
            pd.Series({d.scenario_id: d.seed for d in fixed[name][user]})
            for name in (gaming.HEURISTIC, gaming.PING_PONG)
        )
        assert first.equals(second) and len(first) == 5
