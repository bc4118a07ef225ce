"""The wrong index of RLVER's released rollouts: where it starts and what it does."""

import random
import time
from dataclasses import dataclass, field

import pandas as pd
import pytest
from sandbox_fakes import broken
from world_cards import make_cards

from helpers.agents.emotion import EmotionRules
from helpers.agents.policies import Heuristic
from helpers.agents.roles import Feeling, Reply, RoleFailure, Utterance
from helpers.agents.scripted import ScriptedUser
from helpers.sandbox import indexing_fault as fault
from helpers.sandbox.episode import RunSettings, run_one
from helpers.sandbox.run import dialogue_seed

TRAINING = RunSettings.rlver_training()
USER = ScriptedUser(rules=EmotionRules.rlver_training())
POLICY = Heuristic(skill=0.8, care=0.5)


# --- by hand --------------------------------------------------------------------------


@dataclass
class Names:
    """+10 for a reply that names this user's own card, else -10. The first card's user
    takes leave in every line. `seen` keeps the history of each call by card."""

    rules: EmotionRules = field(default_factory=EmotionRules.rlver_training)
    seen: dict = field(default_factory=dict)

    def start(self, card, seed):
        return _NamesSession(self, card.id)


class _NamesSession:
    def __init__(self, user, name):
        self._user, self._name, self.emotion = user, name, 30
        user.seen[name] = []

    def opening(self):
        return Utterance(f"{self._name} opens")

    def feel(self, history):
        self._user.seen[self._name].append([m.content for m in history])
        step = 10 if self._name in history[-1].content else -10
        self.emotion += step
        return Feeling(self.emotion, step)

    def say(self, history, guidance):
        return Utterance(f"{self._name} goes on", goodbye=self._name == "t0000")


class Namer:
    def start(self, scenario_id, seed):
        self_id = scenario_id

        class Session:
            def reply(self, history):
                return Reply(f"to {self_id} after {len(history)}")

        return Session()


THREE = RunSettings(3, EmotionRules.rlver_training(), None)


def hand(pick):
    user = Names()
    batch = [(card, 0) for card in make_cards(3)]
    return fault.lock_step(batch, Namer(), user, THREE, pick), user.seen


def test_three_dialogues_by_hand():
    right, _ = hand(fault.user_of_the_dialogue)
    assert right.rewards == [0.4, 0.6, 0.6]
    assert (right.replies, right.misdirected) == ([1, 3, 3], [0, 0, 0])
    # Round 2: dialogue 1 is first in the open list and meets user 0, who is displeased
    # and takes leave for it; dialogue 2 meets user 1. Round 3: dialogue 2 meets user 0.
    # User 2 is never asked again.
    wrong, seen = hand(fault.user_at_the_position)
    assert wrong.emotions == [[30] * 3, [40] * 3, [30, 30, 40], [20, 30, 40]]
    assert wrong.rewards == [0.2, 0.3, 0.4]
    assert (wrong.replies, wrong.misdirected) == ([1, 2, 3], [0, 1, 2])
    # A user keeps its own history: its lines, and whatever reply it was handed.
    assert seen["t0000"][-1] == [
        "t0000 opens", "to t0000 after 1", "t0000 goes on", "to t0001 after 3",
        "t0000 goes on", "to t0002 after 5",
    ]  # fmt: skip
    assert len(seen["t0002"]) == 1


def test_a_reward_is_never_below_zero():
    user = Names()
    settings = RunSettings(8, user.rules, None)
    batch = [(card, 0) for card in make_cards(2, first=1)]

    class Silent:
        def start(self, scenario_id, seed):
            return self

        def reply(self, history):
            return Reply("nothing")

    done = fault.lock_step(batch, Silent(), user, settings, fault.user_of_the_dialogue)
    assert done.rewards == [0.0, 0.0] and done.replies == [3, 3]


def test_summary_by_hand():
    frame = pd.DataFrame(
        {
            "reward": [0.1, 0.2, 0.3, 0.4],
            "reward_fault": [0.1, 0.3, 0.2, 0.4],
            "replies_fault": [1, 3, 2, 4],
            "misdirected": [0, 1, 0, 2],
            "first_end": [1, 1, 2, 2],
            "corrupted": [False, True, True, False],
        }
    )
    found = fault.summary(frame)
    assert found["dialogues"] == 4 and found["first_end"] == 1
    assert found["misdirected"] == 0.3 and found["corrupted"] == 2
    assert found["mean_abs_error"] == pytest.approx(0.05)
    assert found["rank_correlation"] == pytest.approx(0.8)  # 1 - 6 * 2 / (4 * 15)
    same = fault.summary(frame.assign(reward_fault=0.5))
    assert same["rank_correlation"] is None


# --- on the scripted users ------------------------------------------------------------


def test_the_right_index_gives_what_the_sandbox_gives():
    cards = make_cards(12)
    frame = fault.compare(cards, POLICY, USER, TRAINING, seed=3)
    for card, row in zip(cards, frame.itertuples(), strict=True):
        seed = dialogue_seed(3, card.id, 0)
        alone = run_one(card, POLICY, USER, None, None, TRAINING, seed)
        assert row.reward == max(alone.final_emotion, 0) / 100
        assert row.replies == len(alone.turns)


@pytest.mark.parametrize("case", range(20))
def test_nothing_differs_before_a_dialogue_has_ended(case):
    rng = random.Random(case)
    n, seed = 1 + case % 7, rng.randrange(10**6)
    policy = Heuristic(skill=rng.random(), care=rng.random())
    batch = [(card, dialogue_seed(seed, card.id, 0)) for card in make_cards(n)]
    right, wrong = (
        fault.lock_step(batch, policy, USER, TRAINING, pick)
        for pick in (fault.user_of_the_dialogue, fault.user_at_the_position)
    )
    first = min(right.replies)
    assert right.emotions[: first + 1] == wrong.emotions[: first + 1]
    assert min(wrong.replies) == first and sum(right.misdirected) == 0
    # A dialogue is in a wrong place from the round after an earlier one has ended.
    ended = wrong.replies
    assert wrong.misdirected == [
        max(0, ended[d] - min(ended[:d], default=ended[d])) for d in range(n)
    ]
    if not any(wrong.misdirected):
        assert wrong == right


def test_one_dialogue_a_worker_is_safe_and_a_group_of_four_is_not():
    cards = make_cards(16)
    tic = time.perf_counter()
    table = fault.sweep(
        cards, POLICY, USER, TRAINING, seed=0, repeats=4, sizes=(1, 4, 64)
    ).set_index("per_worker")
    assert time.perf_counter() - tic < 6, "64 dialogues, three sizes, both ways"
    assert (table["dialogues"] == 64).all()
    alone, group, all_at_once = table.loc[1], table.loc[4], table.loc[64]
    assert alone["corrupted"] == alone["mean_abs_error"] == alone["misdirected"] == 0
    assert alone["rank_correlation"] == pytest.approx(1)
    assert group["corrupted"] > 0 and group["mean_abs_error"] > 0
    assert group["rank_correlation"] < 1
    # More dialogues in one list, more of them in a wrong place.
    assert all_at_once["misdirected"] > group["misdirected"] > 0


def test_the_same_seed_gives_the_same_frame_and_another_does_not():
    def frame(seed):
        cards = make_cards(6)
        return fault.compare(
            cards, POLICY, USER, TRAINING, seed=seed, repeats=2, per_worker=5
        )

    one = frame(1)
    pd.testing.assert_frame_equal(one, frame(1))
    assert not one["reward"].equals(frame(2)["reward"])
    assert one["worker"].tolist() == [0] * 5 + [1] * 5 + [2] * 2
    assert one.loc[one["misdirected"] > 0, "first_end"].lt(TRAINING.max_replies).all()
    assert (one["corrupted"] == (one["reward"] != one["reward_fault"])).all()


# --- errors ---------------------------------------------------------------------------


def test_wrong_calls_are_refused():
    with pytest.raises(ValueError, match="give both the same"):
        fault.compare(make_cards(1), POLICY, ScriptedUser(), TRAINING, seed=0)
    with pytest.raises(ValueError, match="0 cards x 1 repeats"):
        fault.compare([], POLICY, USER, TRAINING, seed=0)
    with pytest.raises(ValueError, match="0 a worker"):
        fault.compare(make_cards(2), POLICY, USER, TRAINING, seed=0, per_worker=0)


def test_a_failed_role_gives_no_reward():
    class Broken(Namer):
        def start(self, scenario_id, seed):
            raise broken("policy")

    with pytest.raises(RoleFailure):
        fault.compare(make_cards(2), Broken(), USER, TRAINING, seed=0)
