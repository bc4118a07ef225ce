"""The judges of RAPO's evaluation, played by a model: two ratings and a preference.

`sotopia` rates one person of a talk on SOTOPIA's seven dimensions. `harbor` fills, in
the voice of the person who was supported, the kit's own form of ten fields: its place
is that of EmoHarbor's last role, but names, scale and words are the kit's own, since
the benchmark's are not known. `prefer` compares two talks with one person.

An answer that cannot be read is a `RoleFailure` (`judge_unparseable`) after the asks of
the role's settings, never a number and never a tie. The rules that stand in offline:
`helpers.scoring.sotopia`, `harbor`, `preference`.

Papers: SOTOPIA 2310.11667 (dimensions and ranges as in its released code); EmoHarbor
2601.01530 (idea only); RAPO 2603.15434 (fact sheet, 5, 7.1, 9.6).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from helpers.agents import cards
from helpers.agents.levels import ratings, text_field
from helpers.agents.llm import LLMClient, ask_json
from helpers.agents.roles import Message
from helpers.agents.templates import fingerprint, render
from helpers.data.scenarios import Scenario

if TYPE_CHECKING:
    from helpers.sandbox.dialogue import Dialogue

TEMPLATES = ("sotopia_rate", "harbor_rate", "pair_prefer")
# Field of SOTOPIA's records: (short name, lowest, highest).
SOTOPIA = {
    "believability": ("BEL", 0, 10),
    "relationship": ("REL", -5, 5),
    "knowledge": ("KNO", 0, 10),
    "secret": ("SEC", -10, 0),
    "social_rules": ("SOC", -10, 0),
    "financial_and_material_benefits": ("FIN", -5, 5),
    "goal": ("GOAL", 0, 10),
}
# The kit's own ten fields, 1 to 5, as the supported person would put them.
HARBOR = {
    "heard": "what happened to me was said back right",
    "felt": "my feeling was found, and in the right words",
    "valued": "what I hold dear was seen",
    "hope": "I got what I came for",
    "pace": "advice came when I was ready, neither too early nor too late",
    "step": "the step that was suggested fits me",
    "room": "I had room and told more than I had meant to",
    "plain": "no lectures, no stock phrases, no flattery",
    "fresh": "nothing was said twice in the same words",
    "lighter": "I feel lighter than before",
}
HARBOR_RANGE = (1, 5)
CHOICES = ("first", "second", "tie")
NAMES = {"en": ("Person", "Supporter"), "zh": ("来访者", "支持者")}


@dataclass(frozen=True)
class SupportJudge:
    """Asks `client` in the settings of `role`; prompts in `language`, "en" or "zh"."""

    client: LLMClient
    language: str = "en"
    role: str = "judge"

    def describe(self) -> dict[str, Any]:
        return {
            "judge": "RAPO evaluation",
            "language": self.language,
            "model": self.client.describe(self.role),
            "prompts": fingerprint(*TEMPLATES),
        }

    def sotopia(
        self, scene: str, name: str, goal: str, lines: Sequence[tuple[str, str]]
    ) -> dict[str, dict[str, Any]]:
        """Rate `name` in a talk.

        Args:
            scene: what all know. goal: of the one who is rated. lines: (speaker, text).

        Returns:
            level, evidence and reasoning by field of SOTOPIA.

        Raises: RoleFailure.
        """
        ranges = {field: (low, high) for field, (_, low, high) in SOTOPIA.items()}
        numbered = enumerate(lines, 1)
        talk = "\n".join(f"{i}. {who}: {said}" for i, (who, said) in numbered)
        return self._ask(
            "sotopia_rate",
            lambda data: ratings(data, ranges, evidence_for_nonzero=True),
            scene=scene, who=name, goal=goal, talk=talk,
        )  # fmt: skip

    def harbor(self, dialogue: "Dialogue", card: Scenario) -> dict[str, int]:
        """The ten fields, each 1..5, as the person of the card fills them in.

        Raises: RoleFailure; ValueError for a dialogue that failed.
        """
        ranges = dict.fromkeys(HARBOR, HARBOR_RANGE)
        read = self._ask(
            "harbor_rate",
            lambda data: ratings(data, ranges, evidence_for_nonzero=True),
            persona=cards.persona_text(card), background=cards.background_text(card),
            talk=self.talk(dialogue),
        )  # fmt: skip
        return {name: rating["level"] for name, rating in read.items()}

    def prefer(self, first: "Dialogue", second: "Dialogue", card: Scenario) -> str:
        """Which of two talks with one person supported it better: out of CHOICES.

        Raises: RoleFailure; ValueError for a dialogue that failed.
        """
        return self._ask(
            "pair_prefer", _choice, background=cards.background_text(card),
            first=self.talk(first), second=self.talk(second),
        )  # fmt: skip

    def talk(self, dialogue: "Dialogue") -> str:
        """A dialogue as numbered lines."""
        return cards.numbered(messages(dialogue), *NAMES[self.language])

    def _ask(self, template: str, check: Callable, **values) -> Any:
        prompt = render(template, self.language, **values)
        return ask_json(
            self.client, self.role, prompt, check, as_role="judge"
        )


def messages(dialogue: "Dialogue") -> list[Message]:
    """The visible lines of a dialogue.

    Raises: ValueError for a dialogue that ended in error or has no reply: there is
        nothing to rate in it.
    """
    if dialogue.failure is not None or not dialogue.turns:
        raise ValueError(f"dialogue {dialogue.scenario_id} failed: nothing to rate")
    said = []
    for turn in dialogue.turns:
        said += [Message("user", turn.user), Message("assistant", turn.reply)]
    if dialogue.closing is not None:
        said.append(Message("user", dialogue.closing))
    return said


def _choice(data: dict) -> str:
    text_field(data, "reasoning")
    choice = data.get("better")
    if choice not in CHOICES:
        raise ValueError(f"better = {choice!r}: one of {', '.join(CHOICES)}")
    return choice
