"""Roles for the sandbox tests: fixed texts and latency, chosen failures, counters."""

import threading
import time
from dataclasses import dataclass, field

from helpers.agents.roles import (
    Feeling,
    Judgement,
    Outcome,
    Reply,
    RoleFailure,
    RunStopped,
    Utterance,
)
from helpers.scoring.rubric import MDEP_FIELDS


@dataclass
class Calls:
    """Counts calls over all sessions; raises what `at` holds at a call number."""

    at: dict[int, Exception] = field(default_factory=dict)
    latency: float = 0.0
    count: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self) -> None:
        with self.lock:
            self.count += 1
            number = self.count
        if self.latency:
            time.sleep(self.latency)
        if number in self.at:
            raise self.at[number]


@dataclass
class FakeUser:
    """Emotion goes up by `rise` a reply; the dialogue of card i takes `turns[id]`."""

    calls: Calls = field(default_factory=Calls)
    rise: int = 5
    turns: dict[str, int] = field(default_factory=dict)
    text: str = "line"

    def describe(self):
        return {"user": "fake", "rise": self.rise}

    def start(self, scenario, seed):
        return _UserSession(self, scenario.id, self.turns.get(scenario.id))


class _UserSession:
    def __init__(self, user, scenario_id, turns):
        self._user, self._id, self._turns = user, scenario_id, turns
        self.emotion, self.seen = 40, 0

    def opening(self):
        self._user.calls()
        return Utterance(f"{self._id} opens")

    def feel(self, history):
        self._user.calls()
        self.seen += 1
        self.emotion = min(100, self.emotion + self._user.rise)
        return Feeling(self.emotion, self._user.rise)

    def say(self, history, guidance):
        self._user.calls()
        leave = self._turns is not None and self.seen >= self._turns
        text = f"{self._id} {self._user.text} {self.seen}"
        return Utterance(text, goodbye=leave)


@dataclass
class FakeJudge:
    """Gives +3 on `axis` a turn."""

    calls: Calls = field(default_factory=Calls)
    axis: str = "C"

    def describe(self):
        return {"judge": "fake", "axis": self.axis}

    def start(self, scenario, seed):
        self.levels = scenario.levels
        return _JudgeSession(self, scenario)


class _JudgeSession:
    def __init__(self, judge, scenario):
        self._judge, self._levels = judge, scenario.levels

    def initial_levels(self):
        return self._levels

    def rate(self, history):
        self._judge.calls()
        levels = dict.fromkeys(MDEP_FIELDS, 0) | {f"{self._judge.axis}.Prog": 2}
        return Judgement(levels, {f"{self._judge.axis}.Prog": "fake"})


@dataclass
class FakePolicy:
    """Answers with the scenario's own id, so that a mix-up between dialogues shows."""

    calls: Calls = field(default_factory=Calls)
    text: str = "answer"
    setting: int = 0

    def describe(self):
        return {"policy": "fake", "setting": self.setting}

    def start(self, scenario_id, seed):
        return _PolicySession(self, scenario_id)


class _PolicySession:
    def __init__(self, policy, scenario_id):
        self._policy, self._id = policy, scenario_id

    def reply(self, history):
        self._policy.calls()
        return Reply(f"{self._id} {self._policy.text} {len(history)}")


def broken(role: str, outcome: Outcome = Outcome.API_ERROR) -> RoleFailure:
    return RoleFailure(role, outcome, "made to fail")


def stopped() -> RunStopped:
    return RunStopped("no quota")
