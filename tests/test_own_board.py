"""Own policies on the board: failures are counted, never scored."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.agents.emotion import EmotionRules
from helpers.agents.policies import Heuristic
from helpers.agents.roles import Outcome, RoleFailure
from helpers.agents.scripted import ScriptedDirector, ScriptedJudge, ScriptedUser
from helpers.data.scenarios import load_cards
from helpers.reporting.own_board import own_row, stack_dialogues
from helpers.sandbox.episode import RunSettings, run_one
from helpers.scoring.epmq import summarise
from helpers.scoring.replay import score_dialogues


class Failing(Heuristic):
    """Fails in its first reply."""

    def start(self, scenario_id, seed):
        raise RoleFailure("policy", Outcome.API_ERROR, "no server")


def play(policy, cards):
    user = ScriptedUser(rules=EmotionRules.unending())
    roles = user, ScriptedJudge(), ScriptedDirector()
    return [
        run_one(card, policy, *roles, RunSettings.empa(), seed=i)
        for i, card in enumerate(cards)
    ]


@pytest.fixture(scope="module")
def cards():
    return [card for card in load_cards("test") if "official30" in card.strata]


@pytest.fixture(scope="module")
def dialogues(cards):
    return play(Heuristic(), cards[:8])


def row(dialogues):
    return own_row(dialogues, "p", "rules", 200, np.random.default_rng(0))


def test_thirty_cards_are_stratified(cards):
    assert len(cards) == 30


def test_a_row_is_the_mean_of_its_dialogues(dialogues):
    got = row(dialogues)
    stacked = stack_dialogues(dialogues, "p")
    scores = score_dialogues(stacked)
    one = summarise(scores.to_dict("records"))
    assert np.isclose(got["EPM-Q"], one["EPMQ"]) and got["n"] == 8
    assert got["low"] < got["EPM-Q"] < got["high"]
    assert got["comparable"] == "with own rows" and got["failed"] == 0
    assert set(scores["ending"]) <= {"success", "collapse", "oscillation", "timeout"}
    assert (scores["kind"] == scores["ending"]).all(), "the run and the replay differ"


def test_failures_are_counted_and_left_out(dialogues, cards):
    failed = play(Failing(), cards[8:10])
    assert all(d.failure is not None for d in failed)
    got = row(dialogues + failed)
    assert (got["n"], got["failed"]) == (8, 2)
    assert got["EPM-Q"] == row(dialogues)["EPM-Q"]
    assert got["comparable"] == "no: too many failed"


def test_nothing_but_failures_has_no_score(cards):
    got = row(play(Failing(), cards[:2]))
    assert "EPM-Q" not in got and got["comparable"] == "no: too many failed"


def test_a_dialogue_without_a_judge_is_refused(dialogues):
    bare = replace(dialogues[0], initial_position=None)
    with pytest.raises(ValueError, match="it was not judged"):
        stack_dialogues([bare], "p")
