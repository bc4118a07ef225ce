"""One dialogue: `RunSettings` says when it stops, `Episode` steps through it.

An episode holds its roles' sessions, so a batched rollout may step many of them side by
side, whichever end first. `run_one` drives one with a policy.

The potential model comes from `helpers.scoring` (pure arithmetic, imports nothing of
this package): the stop rules need it while the dialogue runs.

Papers: EMPA 2603.00552 Algorithm 2; SAGE 2505.02847 appendix G; RLVER 2507.03112 2.2.
"""

from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from helpers.agents.emotion import EmotionRules
from helpers.agents.roles import (
    Director,
    Guidance,
    Judge,
    Message,
    Policy,
    Reply,
    RoleFailure,
    StatePacket,
    User,
)
from helpers.data.scenarios import Scenario, card_hash
from helpers.sandbox.dialogue import Dialogue, Failure, Turn
from helpers.sandbox.store import settings_hash
from helpers.scoring.epm import EpmSettings, score_trajectory, zone_distance
from helpers.scoring.rubric import increment, initial_deficit


@dataclass(frozen=True)
class RunSettings:
    """When a dialogue stops.

    max_replies: scored replies; SAGE's 10 user turns score 9 (fact sheet of RLVER, A2).
    emotion: SAGE's scale and stop rules, None to ignore the emotion.
    epm: EMPA's verdict rules, None without a judge.
    latch_success: a success, of either kind, is noted and the dialogue goes on to its
        limit (a laptop simplification); False = it ends there, as in the papers.
    min_director_stop: the director cannot end a dialogue before this turn (EMPA 12).
    """

    max_replies: int
    emotion: EmotionRules | None
    epm: EpmSettings | None
    latch_success: bool = False
    min_director_stop: int = 12

    @classmethod
    def laptop(cls, max_replies: int = 10) -> "RunSettings":
        """Both states at once. Named simplifications of the offline profile: EPM
        verdicts from turn 4 on (EMPA 12), success latched, no failure detector of EPM.
        A collapse of the emotion ends the dialogue."""
        epm = _laptop_epm(max_replies)
        return cls(max_replies, EmotionRules.latched(), epm, latch_success=True)

    @classmethod
    def laptop_empa(cls, max_replies: int = 10) -> "RunSettings":
        """The same without emotion stops: every dialogue has `max_replies` turns, so
        that no policy escapes losses of position by ending early."""
        epm = _laptop_epm(max_replies)
        return cls(max_replies, EmotionRules.unending(), epm, latch_success=True)

    @classmethod
    def sage(cls) -> "RunSettings":
        """SAGE's benchmark."""
        return cls(9, EmotionRules.sage(), None)

    @classmethod
    def rlver_training(cls) -> "RunSettings":
        """RLVER's training rollouts: 8 replies, stop at emotion 0 or below."""
        return cls(8, EmotionRules.rlver_training(), None)

    @classmethod
    def empa(cls) -> "RunSettings":
        """EMPA as its logs were made: 12 to 45 turns, a judgement every turn."""
        return cls(45, None, EpmSettings.released())

    def describe(self) -> dict:
        return asdict(self)


def _laptop_epm(max_replies: int) -> EpmSettings:
    return EpmSettings(
        min_turns=4, max_turns=max_replies, legacy_oscillation=False, rounding="none",
        failure_rule="none",
    )  # fmt: skip


class Episode:
    """One dialogue in progress.

    `episode.user_line` is what to answer; `step(reply)` takes the answer in. When
    `episode.done`, `record(...)` gives the dialogue. A `RoleFailure` of any role ends
    the episode in error; nothing else is caught.
    """

    def __init__(
        self,
        scenario: Scenario,
        user: User,
        judge: Judge | None,
        director: Director | None,
        settings: RunSettings,
        seed: int,
    ):
        if (judge is None) != (settings.epm is None):
            raise ValueError("a judge and the epm settings come together")
        if director is not None and judge is None:
            raise ValueError("a director needs a judge: it works on the position")
        self.scenario, self.settings, self.seed = scenario, settings, seed
        self.history: list[Message] = []
        self.turns: list[Turn] = []
        self.ending: tuple[str, str, int] | None = None  # (ending, ended_by, turn)
        self.closing: str | None = None
        self.failure: Failure | None = None
        self.successes: dict[str, int] = {}
        self._guidance: Guidance | None = None
        self._p0 = self._position = self._levels = self._emotion0 = None
        self._steps: list[np.ndarray] = []
        try:
            self._user = user.start(scenario, seed)
            self._judge = judge.start(scenario, seed) if judge else None
            self._director = director.start(scenario, seed) if director else None
            self._emotion0 = self._user.emotion
            _same_start(self._emotion0, settings.emotion)
            if self._judge:
                self._levels = dict(self._judge.initial_levels())
                self._p0 = self._position = initial_deficit(self._levels)
            self.history.append(Message("user", self._user.opening().text))
        except RoleFailure as failure:
            self.fail(failure)

    @property
    def done(self) -> bool:
        return self.ending is not None

    @property
    def user_line(self) -> str:
        return self.history[-1].content

    @property
    def emotion(self) -> int | None:
        return self._user.emotion

    @property
    def position(self) -> np.ndarray | None:
        """P_t (3,), None without a judge."""
        return self._position

    def fail(self, failure: RoleFailure) -> None:
        """End in error; the turn in progress is kept with what it has."""
        number = len(self.turns) + 1
        self.failure = Failure(failure.role, failure.outcome.value, failure.detail)
        self._note_epm_success()
        if self.history:
            last = self.history[-1]
            if last.role == "user" and failure.role != "user":
                turn = Turn(number, last.content, outcome=failure.outcome.value)
                self.turns.append(turn)
            elif last.role == "assistant" and len(self.turns) < len(self.history) // 2:
                user, reply = self.history[-2].content, last.content
                turn = Turn(number, user, reply, outcome=failure.outcome.value)
                self.turns.append(turn)
        self.ending = "error", "failure", len(self.turns)

    def step(self, reply: Reply) -> None:
        """Take a reply in: judge, potential model, director, feeling, next line."""
        if self.done:
            raise RuntimeError("this dialogue has ended")
        self.history.append(Message("assistant", reply.text))
        try:
            self._step(reply)
        except RoleFailure as failure:
            self.fail(failure)

    def _step(self, reply: Reply) -> None:
        number = len(self.turns) + 1
        before, shown = self._user.emotion, self._guidance
        rating = self._judge.rate(self.history) if self._judge else None
        verdict = packet = reward = None
        if rating is not None:
            step = _increment(tuple(sorted(rating.levels.items())))
            old, new = self._position, self._position + step
            self._steps.append(step)
            self._position = new
            reward = float(np.subtract(*zone_distance(np.stack((old, new)))))
            packet = StatePacket(number, tuple(self._p0), tuple(new), tuple(step))
            verdict = self._epm_verdict()
        feeling = self._user.feel(self.history)
        turn = Turn(
            number=number,
            user=self.history[-2].content,
            reply=reply.text,
            think=reply.think,
            guidance=None if shown is None else _plain(shown),
            thought=feeling.thought,
            emotion_before=before,
            emotion_after=feeling.emotion,
            levels=rating and dict(rating.levels),
            evidence=rating and dict(rating.evidence),
            acts=rating and rating.acts,
            position=packet and tuple(float(x) for x in packet.position),
            reward=reward,
            prompt_tokens=reply.prompt_tokens,
            completion_tokens=reply.completion_tokens,
        )
        self.turns.append(turn)
        self.ending = self._stop(number, feeling.emotion, verdict)
        if not self.done:
            self._next_line(number, packet)

    def _epm_verdict(self) -> str | None:
        epm, latch = self.settings.epm, self.settings.latch_success
        fails = epm.failure_rule != "none" or epm.legacy_oscillation
        # A success that only is noted, where nothing else fires, can wait for the end.
        if (latch and not fails) or len(self._steps) < epm.min_turns:
            return None
        verdict = score_trajectory(self._p0, self._steps, epm).verdict
        return None if verdict.kind in ("open", "timeout") else verdict.kind

    def _note_epm_success(self) -> None:
        """A latched success of EPM, with its turn, by one look at all turns."""
        epm = self.settings.epm
        if epm is not None and self.settings.latch_success and self._steps:
            verdict = score_trajectory(self._p0, self._steps, epm).verdict
            if verdict.kind == "success":
                self.successes.setdefault("epm", verdict.turn)

    def _stop(self, number, emotion, verdict) -> tuple[str, str, int] | None:
        """The first rule that fires: EPM, emotion, limit."""
        s = self.settings
        fired = [] if verdict is None else [(verdict, "epm", number)]
        if s.emotion is not None and emotion is not None:
            ending = s.emotion.ending(emotion)
            fired += [(ending, "emotion", number)] if ending else []
        for ending, by, turn in fired:
            if ending == "success":
                self.successes.setdefault(by, turn)
        if s.latch_success:
            fired = [f for f in fired if f[0] != "success"]
        if fired:
            return self._latched() or fired[0]
        if number >= s.max_replies:
            return self._latched() or ("timeout", "limit", number)
        return None

    def _latched(self) -> tuple[str, str, int] | None:
        """The earliest success so far, EPM's before the emotion's."""
        self._note_epm_success()
        if not self.successes:
            return None
        by = min(("epm", "emotion"), key=lambda k: self.successes.get(k, 10**6))
        return "success", by, self.successes[by]

    def _next_line(self, number: int, packet: StatePacket | None) -> None:
        self._guidance = None
        if self._director:
            self._guidance = self._director.guide(self.history, packet)
            if self._guidance.stop and number >= self.settings.min_director_stop:
                self.ending = self._latched() or ("timeout", "director", number)
                return
        said = self._user.say(self.history, self._guidance)
        self.history.append(Message("user", said.text))
        if said.goodbye:
            self.closing = said.text
            self.ending = self._latched() or ("goodbye", "user", number)

    def record(self, repeat: int, settings_hash: str, attempt: int = 0) -> Dialogue:
        """The finished dialogue.

        Raises: RuntimeError while it is not done.
        """
        if self.ending is None:
            raise RuntimeError("this dialogue has not ended")
        ending, ended_by, turn = self.ending
        return Dialogue(
            scenario_id=self.scenario.id,
            repeat=repeat,
            seed=self.seed,
            settings_hash=settings_hash,
            turns=tuple(self.turns),
            ending=ending,
            ended_by=ended_by,
            decided_turn=turn,
            attempt=attempt,
            successes=dict(self.successes),
            closing=self.closing,
            card=card_hash(self.scenario),
            initial_emotion=self._emotion0,
            initial_levels=self._levels,
            initial_position=None
            if self._p0 is None
            else tuple(float(x) for x in self._p0),
            failure=self.failure,
        )


def _same_start(emotion: int | None, rules: EmotionRules | None) -> None:
    if rules is not None and emotion != rules.start:
        raise ValueError(
            f"the user starts at emotion {emotion}, the run settings at {rules.start}: "
            "give both the same EmotionRules"
        )


@lru_cache(maxsize=1024)
def _increment(levels: tuple[tuple[str, int], ...]) -> np.ndarray:
    """`rubric.increment` of (field, level) pairs; each combination is made once."""
    step = increment(dict(levels))
    step.flags.writeable = False
    return step


def _plain(guidance: Guidance) -> dict[str, Any]:
    return {
        "tool": guidance.tool,
        "arguments": dict(guidance.arguments),
        "text": guidance.text,
    }


def run_one(
    scenario: Scenario,
    policy: Policy,
    user: User,
    judge: Judge | None,
    director: Director | None,
    settings: RunSettings,
    seed: int,
    *,
    repeat: int = 0,
    attempt: int = 0,
    run_hash: str | None = None,
) -> Dialogue:
    """One dialogue to its end.

    Args:
        seed: of this dialogue. repeat, attempt, run_hash: go into the record; run_hash
            defaults to the hash of `run_description`.

    Returns:
        Dialogue; a role that failed makes it end in "error".

    Raises:
        RunStopped: further calls are useless; nothing is to be stored.
    """
    episode = Episode(scenario, user, judge, director, settings, seed)
    session = None
    while not episode.done:
        try:
            session = session or policy.start(scenario.id, seed)
            reply = session.reply(tuple(episode.history))
        except RoleFailure as failure:
            episode.fail(failure)
        else:
            episode.step(reply)
    if run_hash is None:
        described = run_description(policy, user, judge, director, settings, seed)
        run_hash = settings_hash(described)
    return episode.record(repeat, run_hash, attempt)


def run_description(policy, user, judge, director, settings, base_seed) -> dict:
    """All that changes the results of a run, as JSON values."""
    roles = {"policy": policy, "user": user, "judge": judge, "director": director}
    described = {k: r and dict(r.describe()) for k, r in roles.items()}
    return {**described, "stop": settings.describe(), "base_seed": base_seed}
