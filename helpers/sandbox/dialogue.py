"""The record that flows: `Turn`, `Dialogue`.

A record holds what happened and nothing that can be computed from it or that differs
between two runs with the same seed (no clock times), so that two such runs leave the
same records. Stored as JSON Lines by `helpers.sandbox.store`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from helpers.agents.roles import Outcome

SCHEMA_VERSION = 1
ENDINGS = ("success", "collapse", "oscillation", "goodbye", "timeout", "error")
ENDED_BY = ("emotion", "epm", "user", "director", "limit", "failure")

Triple = tuple[float, float, float]


class RecordError(ValueError):
    """A record does not have the shape that this version of the kit reads."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One exchange: a user line, the reply to it, and what the reply did.

    number: 1..T. user, reply, think: text; reply is None if there was no answer.
    guidance: tool and arguments of the director's advice for this user line.
    thought: the user's unspoken thoughts about the reply (SAGE f_emo).
    emotion_before, emotion_after: 0..100. levels, evidence, acts: the judge's rating.
    position: P_t after the reply, axes C, A, P. reward: MAPO's incremental distance,
        phi(P_{t-1}) - phi(P_t) with phi the distance to the zone, in rubric units.
    prompt_tokens, completion_tokens: of the reply. outcome: of the whole turn.

    None = not there: the role is not used, or the turn failed before it.
    """

    number: int
    user: str
    reply: str | None = None
    think: str | None = None
    guidance: Mapping[str, Any] | None = None
    thought: Mapping[str, str] | None = None
    emotion_before: int | None = None
    emotion_after: int | None = None
    levels: Mapping[str, int] | None = None
    evidence: Mapping[str, str] | None = None
    acts: tuple[str, ...] | None = None
    position: Triple | None = None
    reward: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    outcome: str = Outcome.OK.value


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a dialogue ended in error: role, typed outcome, one line of detail."""

    role: str
    outcome: str
    detail: str


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One dialogue; `key` is what makes it one of its kind in a store.

    repeat: 0, 1, ... of the same scenario. attempt: 0; higher when a dialogue that
        ended in error was run again. seed: of this dialogue. card: hash of the
        scenario card, None in records from before it was kept. closing: a user line
        after the last reply, None if the dialogue ended before it.
    successes: first turn of success by "epm" and by "emotion"; absent = not reached.
    initial_levels, initial_position: IEDR levels and P_0, None without a judge.
    ending, ended_by: which rule decided, and whose it is. decided_turn: the turn at
        which it fired; smaller than the number of turns when success is latched.
    """

    scenario_id: str
    repeat: int
    seed: int
    settings_hash: str
    turns: tuple[Turn, ...]
    ending: str
    ended_by: str
    decided_turn: int
    attempt: int = 0
    successes: Mapping[str, int] = field(default_factory=dict)
    closing: str | None = None
    card: str | None = None
    initial_emotion: int | None = None
    initial_levels: Mapping[str, int] | None = None
    initial_position: Triple | None = None
    failure: Failure | None = None
    schema_version: int = SCHEMA_VERSION

    def __post_init__(self):
        if self.ending not in ENDINGS or self.ended_by not in ENDED_BY:
            raise RecordError(
                f"dialogue {self.scenario_id}: ending {self.ending!r} by "
                f"{self.ended_by!r}; known: {', '.join(ENDINGS)}; {', '.join(ENDED_BY)}"
            )
        if (self.ending == "error") != (self.failure is not None):
            raise RecordError(
                f"dialogue {self.scenario_id}: an error has a failure, and only it"
            )
        if [t.number for t in self.turns] != list(range(1, len(self.turns) + 1)):
            raise RecordError(f"dialogue {self.scenario_id}: turns are not 1, 2, ...")

    @property
    def key(self) -> tuple[str, int, int]:
        return self.scenario_id, self.repeat, self.attempt

    @property
    def final_emotion(self) -> int | None:
        """e_T; None for a failed dialogue: a failure is not a score."""
        if self.failure is not None:
            return None
        return self.turns[-1].emotion_after if self.turns else self.initial_emotion

    @property
    def final_position(self) -> Triple | None:
        """P_T; None for a failed dialogue or one without a judge."""
        if self.failure is not None:
            return None
        return self.turns[-1].position if self.turns else self.initial_position

    def to_json(self) -> str:
        """One line of JSON, without the line end."""
        data = _plain(self)
        data["turns"] = [_plain(turn) for turn in self.turns]
        data["failure"] = self.failure and _plain(self.failure)
        return json.dumps(
            data, ensure_ascii=False, allow_nan=False, separators=(",", ":")
        )

    @classmethod
    def from_json(cls, line: str) -> "Dialogue":
        """The inverse of `to_json`.

        Raises:
            RecordError: not JSON, another schema, an unknown or a missing field.
        """
        try:
            data = json.loads(line)
        except json.JSONDecodeError as error:
            raise RecordError(f"not JSON: {error}") from error
        if not isinstance(data, dict):
            raise RecordError(f"a dialogue is a JSON object, not {type(data).__name__}")
        version = data.get("schema_version")
        if version != SCHEMA_VERSION:
            raise RecordError(
                f"schema version {version!r}; this kit reads {SCHEMA_VERSION}: "
                "use the version of the kit that wrote the file"
            )
        data["turns"] = tuple(_turn(t) for t in data.get("turns", ()))
        data["initial_position"] = _triple(data.get("initial_position"))
        if data.get("failure") is not None:
            data["failure"] = _make(Failure, data["failure"])
        return _make(cls, data)


def _plain(record) -> dict:
    """The fields of a record (not those of records in it) by name."""
    return {f.name: getattr(record, f.name) for f in fields(record)}


def _turn(data: dict) -> Turn:
    data = dict(data, position=_triple(data.get("position")))
    if data.get("acts") is not None:
        data["acts"] = tuple(data["acts"])
    return _make(Turn, data)


def _triple(value) -> Triple | None:
    return None if value is None else tuple(value)


def _make(cls, data: dict):
    """A record from a dict whose keys are checked by name."""
    strangers = sorted(set(data) - {f.name for f in fields(cls)})
    if strangers:
        raise RecordError(f"{cls.__name__} has no field {strangers[0]!r}")
    try:
        return cls(**data)
    except TypeError as error:
        raise RecordError(str(error)) from error
