"""A social scenario played to its end, and its record in the shape of SOTOPIA.

The agents act in turn, the first seat first. The end is SOTOPIA's: 20 turns, an agent
who leaves, or more than two turns of nothing in a row. A record is written as the
fields of SOTOPIA's `EpisodeLog`; the package itself is not needed. One thing differs:
where a rating failed SOTOPIA keeps a bare number, here `null` stands, so that no
failure can be averaged as a score. Both are read as "no rating".

Paper: SOTOPIA 2310.11667; rules and fields of its package 0.1.5 (fact sheet of RAPO,
7.1, 7.2).
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from helpers.agents.roles import RoleFailure
from helpers.agents.social import ACTIONS, Action, Said
from helpers.data.social import SocialScenario
from helpers.sandbox.dialogue import Failure, RecordError

MAX_TURNS = 20
MAX_STALE = 2
FIELDS = ("environment", "agents", "tag", "models", "messages", "reasoning", "rewards",
          "rewards_prompt")  # fmt: skip
Scores = dict[str, int]


class Player(Protocol):
    def describe(self) -> dict: ...

    def act(self, scenario: SocialScenario, seat: int, said: Said) -> Action: ...


@dataclass(frozen=True)
class SocialEpisode:
    """One talk. said: (seat, action). failure: why it broke off, or None.

    rewards: of each seat (overall, scores by dimension); None = not rated.
    """

    environment: str
    agents: tuple[str, str]
    models: tuple[str, str, str]
    said: tuple[tuple[int, Action], ...]
    failure: Failure | None = None
    tag: str = ""
    reasoning: str = ""
    rewards: tuple[tuple[float, Scores] | None, ...] = (None, None)

    def rated(self, rewards: Sequence[tuple[float, Scores] | None]) -> "SocialEpisode":
        return replace(self, rewards=tuple(rewards))


def ending(said: Said) -> str | None:
    """Why a talk is over: "leave", "stale" or "limit"; None while it goes on."""
    if said and said[-1][1].kind == "leave":
        return "leave"
    stale = 0
    for _, action in reversed(said):
        if action.kind != "none":
            break
        stale += 1
    if stale > MAX_STALE:
        return "stale"
    return "limit" if len(said) >= MAX_TURNS else None


def play(
    scenario: SocialScenario, players: Sequence[Player], names: Sequence[str],
    judge: str = "rules", tag: str = "",
) -> SocialEpisode:  # fmt: skip
    """Let two players talk; a player that fails ends the talk without a rating.

    Args:
        players: of the first and of the second seat. names: of these players, and
            judge: of who will rate, for the record.
    """
    said: list[tuple[int, Action]] = []
    failure = None
    while ending(said) is None:
        seat = len(said) % 2
        try:
            said.append((seat, players[seat].act(scenario, seat, said)))
        except RoleFailure as problem:
            failure = Failure(problem.role, problem.outcome.value, problem.detail)
            break
    models = (judge, *names)
    return SocialEpisode(
        scenario.codename, scenario.names, models, tuple(said), failure, tag
    )


def to_log(episode: SocialEpisode) -> dict:
    """The record as JSON values with the fields of SOTOPIA's EpisodeLog."""
    return {
        "environment": episode.environment,
        "agents": list(episode.agents),
        "tag": episode.tag,
        "models": list(episode.models),
        "messages": [
            [[episode.agents[seat], "Environment", _words(action)]]
            for seat, action in episode.said
        ],
        "reasoning": episode.reasoning,
        "rewards": [
            None if reward is None else [reward[0], dict(reward[1])]
            for reward in episode.rewards
        ],
        "rewards_prompt": "",
    }


def from_log(data: dict) -> SocialEpisode:
    """The inverse of `to_log` (failures are not part of SOTOPIA's shape).

    Raises: RecordError, naming the field that is missing or cannot be read.
    """
    if lost := [name for name in FIELDS if name not in data]:
        raise RecordError(f"episode: field {lost[0]!r} is missing")
    agents = tuple(data["agents"])
    if len(agents) != 2 or len(data["rewards"]) != 2:
        raise RecordError("episode: two agents and two rewards are read")
    said = []
    for turn in data["messages"]:
        for sender, _, text in turn:
            if sender in agents:
                said.append((agents.index(sender), _action(text)))
    rewards = [
        (reward[0], dict(reward[1])) if isinstance(reward, list | tuple) else None
        for reward in data["rewards"]
    ]
    return SocialEpisode(
        data["environment"], agents, tuple(data["models"]), tuple(said),
        tag=data["tag"] or "", reasoning=data["reasoning"], rewards=tuple(rewards),
    )  # fmt: skip


def to_json(episode: SocialEpisode) -> str:
    return json.dumps(to_log(episode), ensure_ascii=False, allow_nan=False)


_FORMS = {
    "none": "did nothing",
    "speak": 'said: "{}"',
    "non-verbal communication": "[non-verbal communication] {}",
    "action": "[action] {}",
    "leave": "left the conversation",
}


def _words(action: Action) -> str:
    return _FORMS[action.kind].format(action.argument)


def _action(text: str) -> Action:
    for kind in ACTIONS:
        before, brace, after = _FORMS[kind].partition("{}")
        if not brace and text == before:
            return Action(kind)
        inside = text[len(before) : len(text) - len(after) or None]
        if brace and text.startswith(before) and text.endswith(after) and inside:
            return Action(kind, inside)
    raise RecordError(f"episode: {text!r} is no action")
