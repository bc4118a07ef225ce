"""RAPO's generative reward model and hindsight judge, played by a model.

The reward model sees the talk and all replies of a group at once, each with the
reaction that it would bring about, and gives an order with ties, a score each and a
critique. The judge sees a whole dialogue and says which turns moved the person. An
answer that cannot be read, or that leaves a candidate out, counts one twice or names a
stranger, is a `RoleFailure`; it never becomes a rank. Asking again is the caller's.

Known of the paper: a judge of this kind looks back over the whole dialogue (GPT-4o, a
secondary source says), and the reward model sees (reply, reaction) pairs as a group.
Its prompts are not known; these are the kit's own.

Paper: RAPO, arXiv 2603.15434 (fact sheet, 3.1, 3.2): a reconstruction.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from helpers.agents import cards
from helpers.agents.levels import level_field, text_field
from helpers.agents.llm import LLMClient, ask_json
from helpers.agents.llm_settings import RoleSettings
from helpers.agents.roles import Comparison, ImpactJudge, RewardModel, Verdict
from helpers.agents.templates import fingerprint, render
from helpers.data.scenarios import Scenario

if TYPE_CHECKING:
    from helpers.sandbox.dialogue import Dialogue

NAMES = {"en": ("Person", "Assistant"), "zh": ("来访者", "助手")}
NOTHING = {"en": "(not shown)", "zh": "（未提供）"}
REPLY = {"en": "{n}. {reply}", "zh": "{n}. {reply}"}
REACTION = {
    "en": "   The person would answer: {text}",
    "zh": "   对方会回答：{text}",
}
SHOWN = {
    "en": "; below each what the person would answer to it",
    "zh": "；每条下面是对方听到后会说的话",
}


@dataclass(frozen=True)
class LLMRewardModel:
    """A `roles.RewardModel`: asks `client` in the settings of `role`."""

    client: LLMClient
    language: str = "en"
    role: str = "reward model"

    def describe(self) -> dict[str, Any]:
        return {
            "reward model": "RAPO",
            "language": self.language,
            "model": self.client.describe(self.role),
            "prompts": fingerprint("rapo_feedback"),
        }

    def compare(self, comparison: Comparison, attempt: int) -> Verdict:
        group, language = len(comparison.replies), self.language
        lines = []
        for place, reply in enumerate(comparison.replies):
            lines.append(REPLY[language].format(n=place + 1, reply=reply))
            if comparison.reactions is not None:
                text = comparison.reactions[place].text
                lines.append(REACTION[language].format(text=text))
        card = comparison.card
        prompt = render(
            "rapo_feedback", language,
            card=NOTHING[language] if card is None else _person(card),
            before=cards.numbered(comparison.history, *NAMES[language]),
            shown="" if comparison.reactions is None else SHOWN[language],
            replies="\n".join(lines),
        )  # fmt: skip
        return ask_json(
            self.client, self.role, prompt, lambda data: _verdict(data, group),
            as_role=self.role, repeat=attempt,
        )  # fmt: skip


@dataclass(frozen=True)
class LLMImpactJudge:
    """A `roles.ImpactJudge`: asks `client` in the settings of `role`."""

    client: LLMClient
    language: str = "en"
    role: str = "hindsight judge"

    def describe(self) -> dict[str, Any]:
        return {
            "hindsight judge": "RAPO",
            "language": self.language,
            "model": self.client.describe(self.role),
            "prompts": fingerprint("rapo_selection"),
        }

    def impacts(self, dialogue: "Dialogue", card: Scenario) -> list[tuple[int, str]]:
        user, assistant = NAMES[self.language]
        talk = []
        for turn in dialogue.turns:
            talk += [
                f"{user}: {turn.user}",
                f"{turn.number}. {assistant}: {turn.reply}",
            ]
        if dialogue.closing is not None:
            talk.append(f"{user}: {dialogue.closing}")
        count = len(dialogue.turns)
        prompt = render(
            "rapo_selection", self.language, card=_person(card), turns=count,
            talk="\n".join(talk),
        )  # fmt: skip
        return ask_json(
            self.client, self.role, prompt, lambda data: _impacts(data, count),
            as_role=self.role,
        )  # fmt: skip


class Judges(NamedTuple):
    """Either is None when no model plays it."""

    reward_model: RewardModel | None
    judge: ImpactJudge | None


def make_judges(
    reward_model: str, judge: str, folder: Path | None, together: int = 1
) -> Judges:
    """The roles by the names of their models, "" for none; one ask an attempt for the
    reward model, whose caller asks again in another order, three for the judge."""
    if not (reward_model or judge):
        return Judges(None, None)
    asks = {"reward model": (reward_model, 1), "hindsight judge": (judge, 3)}
    client = LLMClient(
        {
            role: RoleSettings(
                model=model, temperature=0.0, asks=n, concurrency=together
            )
            for role, (model, n) in asks.items()
            if model
        },
        folder,
    )
    return Judges(
        LLMRewardModel(client) if reward_model else None,
        LLMImpactJudge(client) if judge else None,
    )


def _person(card: Scenario) -> str:
    return f"{cards.persona_text(card)}\n{cards.background_text(card)}".strip()


def _verdict(data: Mapping[str, Any], group: int) -> Verdict:
    """Raises: ValueError for whatever is missing or impossible, see the module."""
    order = data.get("order")
    if not isinstance(order, list) or not all(isinstance(t, list) for t in order):
        raise ValueError("order must be a list of lists of numbers")
    numbers = [number for tied in order for number in tied]
    if any(isinstance(n, bool) or not isinstance(n, int) for n in numbers):
        raise ValueError(f"order holds something else than whole numbers: {order!r}")
    if sorted(numbers) != list(range(1, group + 1)):
        raise ValueError(f"order {order!r}: each of 1..{group} exactly once")
    scores, notes = (_by_number(data, name, group) for name in ("scores", "notes"))
    return Verdict(
        tuple(tuple(number - 1 for number in tied) for tied in order if tied),
        tuple(float(level_field(scores, key, 0, 10)) for key in scores),
        text_field(data, "critique"),
        tuple(text_field(notes, key) for key in notes),
    )


def _by_number(data: Mapping[str, Any], name: str, group: int) -> dict[str, Any]:
    """An object with the keys "1" to "G", in this order."""
    entry, keys = data.get(name), [str(n + 1) for n in range(group)]
    if not isinstance(entry, dict) or set(entry) != set(keys):
        raise ValueError(f"{name} must have exactly the keys 1..{group}")
    return {key: entry[key] for key in keys}


def _impacts(data: Mapping[str, Any], turns: int) -> list[tuple[int, str]]:
    strangers = set(data) ^ {str(n + 1) for n in range(turns)}
    if strangers:
        raise ValueError(f"turn {min(strangers)} is missing or was never there")
    read = []
    for n in range(turns):
        entry = data[str(n + 1)]
        if not isinstance(entry, dict):
            raise ValueError(f"turn {n + 1} is not an object with impact and why")
        read.append((level_field(entry, "impact", -2, 2), text_field(entry, "why")))
    return read
