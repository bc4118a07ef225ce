"""The contracts between the sandbox and the roles: user, judge, director, policy.

A role is made once and holds what all dialogues share (a client, prompts, rules). For
each dialogue the sandbox calls `start`, and from then on talks only to the session that
it got. A session holds the state of one dialogue and is never looked up by position, so
that the end of one dialogue cannot move another one's state (the released RLVER code
has that fault: fact sheet of RLVER, C2.1).

One turn, in the order of EMPA's Algorithm 2 with SAGE's two user functions:

    user line -> policy.reply -> judge.rate -> (potential model) -> director.guide
              -> user.feel (SAGE f_emo) -> stop rules -> user.say (SAGE f_reply)

`history` is always the visible conversation so far, oldest first, without think text;
it begins with the user's opening. Roles that are not used are None: a SAGE run has no
judge and no director, an EMPA run has a user without an emotion.

Failures. A role that has no answer raises `RoleFailure` with a typed outcome; it never
returns a default. The sandbox turns it into an ending, never into a score. What makes
every further call useless (no quota, wrong key, budget spent) raises `RunStopped`: the
run ends at once, nothing of the open dialogues is stored, and it can be resumed.

Seeds. `start` gets the seed of the dialogue. Each role derives its own stream from it
with `stream(seed, name)`, so that roles do not share random numbers and a role can be
replayed alone.

Papers: EMPA 2603.00552v1 Algorithm 2; SAGE 2505.02847 section 2.1; RLVER 2507.03112
section 2.2.
"""

import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from helpers.data.scenarios import Scenario
    from helpers.sandbox.dialogue import Dialogue


class Outcome(StrEnum):
    """How a call to a role went; every value but `OK` means that there is no answer."""

    OK = "ok"
    JUDGE_UNPARSEABLE = "judge_unparseable"
    API_ERROR = "api_error"
    TRUNCATED = "truncated"
    REFUSED = "refused"


class RoleFailure(Exception):
    """A role has no answer in this dialogue, after its own retries.

    Args:
        role: "user", "judge", "director" or "policy".
        outcome: any Outcome but OK.
        detail: what happened, in one line, without keys or paths.
    """

    def __init__(self, role: str, outcome: Outcome, detail: str):
        if outcome is Outcome.OK:
            raise ValueError("a failure cannot have the outcome ok")
        super().__init__(f"{role}: {outcome.value}: {detail}")
        self.role, self.outcome, self.detail = role, Outcome(outcome), detail


class RunStopped(Exception):
    """Every further call would fail too: stop the run and leave it resumable."""


def stream(seed: int, name: str) -> random.Random:
    """An own random stream for one role of one dialogue, the same on every machine."""
    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    return random.Random(int.from_bytes(digest[:8], "big"))


@dataclass(frozen=True, slots=True)
class Message:
    """One line of the visible conversation; role is "user" or "assistant"."""

    role: str
    content: str


History = Sequence[Message]


@dataclass(frozen=True, slots=True)
class Utterance:
    """What the user says: text, whether it takes leave, and unspoken thoughts.

    thought: named parts of the planning (SAGE: Thinking, Origin, Change), or None.
    """

    text: str
    goodbye: bool = False
    thought: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Feeling:
    """What a reply did to the user's emotion (SAGE f_emo).

    emotion: 0..100 after the reply; change: after clipping; both None for a user
        without an emotion (EMPA's actor).
    thought: named parts (SAGE: Content, TargetCompletion, Activity, Analyse), or None.
    """

    emotion: int | None
    change: int | None
    thought: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What the policy says.

    text: the visible part, without think text. think: None if the policy has none.
    tokens: counts of this call as the policy's own tokeniser or server reports them,
        None if unknown.

    A reply that was cut is a failure (`Outcome.TRUNCATED`) of a policy under test. A
    policy in training may return it: then the cut text is what was said.
    """

    text: str
    think: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """EMPA's MDEP-PR rating of the last reply.

    levels: the six fields of `helpers.scoring.rubric.MDEP_FIELDS`, each a whole number.
    evidence: reasons by field, empty for fields at level 0.
    acts: the dialogue acts that the judge read in the reply, None if it reads none.
    """

    levels: Mapping[str, int]
    evidence: Mapping[str, str] = field(default_factory=dict)
    acts: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class StatePacket:
    """What the director sees of the potential model after a turn (EMPA section 3.3).

    turn: number of rated turns. p0, position, increment: axes C, A, P.
    """

    turn: int
    p0: tuple[float, float, float]
    position: tuple[float, float, float]
    increment: tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Guidance:
    """One tool call of the director and the advice that it gives to the user.

    tool: one of EMPA's seven tools. arguments: of the tool. text: what the user is
        told, None if nothing. stop: the tool asked to end the dialogue.
    """

    tool: str
    arguments: Mapping[str, Any]
    text: str | None = None
    stop: bool = False


class UserSession(Protocol):
    """The user in one dialogue. Sees its card and the history, never the scores."""

    @property
    def emotion(self) -> int | None:
        """Emotion now (0..100), None for a user without one."""

    def opening(self) -> Utterance:
        """The first line; called once, first."""

    def feel(self, history: History) -> Feeling:
        """Take in the reply that ends the history."""

    def say(self, history: History, guidance: Guidance | None) -> Utterance:
        """The next line; called after `feel`, with the director's advice if any."""


class JudgeSession(Protocol):
    """The judge in one dialogue. Sees the card and the history, not the position."""

    def initial_levels(self) -> Mapping[str, int]:
        """The nine IEDR levels of the scenario; called once, before turn 1."""

    def rate(self, history: History) -> Judgement:
        """Rate the reply that ends the history."""


class DirectorSession(Protocol):
    """The director in one dialogue. Sees history and scores, not the policy's prompt.

    `guide` is called once after each rated turn that did not end the dialogue.
    """

    def guide(self, history: History, state: StatePacket) -> Guidance: ...


class PolicySession(Protocol):
    """The policy in one dialogue. Sees the history and nothing else."""

    def reply(self, history: History) -> Reply:
        """Answer the user line that ends the history."""


@dataclass(frozen=True, slots=True)
class Reaction:
    """How a user took one reply: its next line, its emotion after it, and the change.

    emotion 0..100, change after clipping; both None for a user without an emotion.
    """

    text: str
    emotion: int | None = None
    change: int | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """A group of replies to one user line, to be compared at once (RAPO).

    history: ends in the user line. replies: (G,), in the order shown. reactions: (G,),
    None where the judge is to see the replies alone. card: None unless the judge may
    see the person's profile.
    """

    history: History
    replies: tuple[str, ...]
    reactions: tuple[Reaction, ...] | None = None
    card: "Scenario | None" = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a generative reward model says of a Comparison, in the order shown.

    order: places 0..G-1 from best to worst, those that tie together. scores: (G,), one
    for each reply alone, None if it gives none. critique: why the better replies do
    better, as advice to who writes the next one; "" if there is nothing to say. notes:
    (G,) the same for each reply, None if it gives none.
    """

    order: tuple[tuple[int, ...], ...]
    scores: tuple[float, ...] | None
    critique: str
    notes: tuple[str, ...] | None = None


class _Described(Protocol):
    def describe(self) -> Mapping[str, Any]:
        """All that changes this role's results, as JSON values without secrets.

        For instance class, model name, base URL host, sampling settings, a hash of the
        prompts, rule settings. It goes into the settings hash of a run.
        """


class User(_Described, Protocol):
    def start(self, scenario: "Scenario", seed: int) -> UserSession: ...


class Judge(_Described, Protocol):
    def start(self, scenario: "Scenario", seed: int) -> JudgeSession: ...


class Director(_Described, Protocol):
    def start(self, scenario: "Scenario", seed: int) -> DirectorSession: ...


class Policy(_Described, Protocol):
    """A policy is told which scenario it meets only by id, for its log and its seed.

    The oracle of the gaming audit uses the id to look up the card, and says so.
    """

    def start(self, scenario_id: str, seed: int) -> PolicySession: ...


class RewardModel(_Described, Protocol):
    """RAPO's generative reward model: ranks, scores and one critique of a group."""

    def compare(self, comparison: Comparison, attempt: int) -> Verdict:
        """Compare the replies of a group; a second attempt may answer otherwise.

        Raises: RoleFailure. What it returns is checked by the caller.
        """


class ImpactJudge(_Described, Protocol):
    """RAPO's hindsight judge: which turns of a finished dialogue mattered."""

    def impacts(self, dialogue: "Dialogue", card: "Scenario") -> list[tuple[int, str]]:
        """(signed impact -2..2 of the reply on the person, reason) of each turn.

        Raises: RoleFailure.
        """
