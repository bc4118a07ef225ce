"""EMPA's judge, played by a model: IEDR before the talk, MDEP-PR after every reply.

The judge sees the condensed card and the history, never the story stages, the position
or the director's guidance. It answers with a level, evidence and reasoning an item: 27
fields for IEDR, 18 for MDEP-PR. A missing item, a level outside its range or a level
other than 0 without evidence is `judge_unparseable`, after the asks of the role's
settings. The released code stores all zeros instead.

Paper: EMPA 2603.00552v1 sections 3.3, 3.4 and the released code (fact sheet, 1.2, 1.5).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from helpers.agents import cards
from helpers.agents.levels import ratings
from helpers.agents.llm import LLMClient, ask_json
from helpers.agents.roles import History, Judgement
from helpers.agents.templates import fingerprint, render
from helpers.data.scenarios import Scenario
from helpers.data.slots import AXES, ITEMS

IEDR_RANGES = dict.fromkeys(ITEMS, (0, 3))
MDEP_RANGES = {
    f"{axis}.{kind}": limits
    for axis in AXES
    for kind, limits in (("Prog", (0, 2)), ("Neg", (-2, 0)))
}
NAMES = {"en": ("Person", "Netizen"), "zh": ("人物", "网友")}
NOTHING = {"en": "(this is the first exchange)", "zh": "（这是第一轮）"}


@dataclass(frozen=True)
class EmpaJudge:
    """A `roles.Judge`.

    initial: where the nine IEDR levels come from. "card" takes them from the card (the
        released runs read a precomputed table) and asks the model when the card has
        none; "model" always asks. All dialogues of a scenario share one estimate.
    """

    client: LLMClient
    initial: str = "card"
    role: str = "judge"
    iedr_role: str = "judge_iedr"

    def __post_init__(self):
        if self.initial not in ("card", "model"):
            raise ValueError(f"initial {self.initial!r}: choose card or model")

    def describe(self) -> dict[str, Any]:
        return {
            "judge": "EMPA",
            "initial": self.initial,
            "model": self.client.describe(self.role),
            "model_iedr": self.client.describe(self.iedr_role),
            "prompts": fingerprint("empa_iedr", "empa_mdep"),
        }

    def start(self, scenario: Scenario, seed: int) -> "JudgeSession":
        return JudgeSession(self, scenario, seed)


class JudgeSession:
    """One dialogue of an `EmpaJudge`: a `roles.JudgeSession`."""

    def __init__(self, judge: EmpaJudge, card: Scenario, seed: int):
        self._judge = judge
        self._card = card
        self._seed = seed

    def initial_levels(self) -> Mapping[str, int]:
        """The nine levels; raises RoleFailure when the model's cannot be read."""
        if self._judge.initial == "card" and self._card.levels is not None:
            return self._card.levels
        read = self.initial_ratings()
        return {item: rating["level"] for item, rating in read.items()}

    def initial_ratings(self) -> Mapping[str, Mapping[str, Any]]:
        """The model's 27 fields: level, evidence and reasoning by item."""
        prompt = self._prompt("empa_iedr")
        return self._ask(self._judge.iedr_role, prompt, IEDR_RANGES, repeat=0)

    def rate(self, history: History) -> Judgement:
        """Rate the reply that ends the history (window K = 1)."""
        language = self._card.language
        before, window = history[:-2], history[-2:]
        names = NAMES[language]
        prompt = self._prompt(
            "empa_mdep",
            context=cards.numbered(before, *names) or NOTHING[language],
            window=cards.numbered(window, *names),
        )
        read = self._ask(self._judge.role, prompt, MDEP_RANGES, repeat=self._seed)
        return Judgement(
            levels={item: rating["level"] for item, rating in read.items()},
            evidence={
                item: f"{rating['evidence']}\n{rating['reasoning']}".strip()
                for item, rating in read.items()
                if rating["level"]
            },
        )

    def _prompt(self, template: str, **values: str) -> str:
        card = cards.judge_card(self._card)
        return render(template, self._card.language, card=card, **values)

    def _ask(self, role: str, prompt: str, ranges, repeat: int):
        """One user message, no system message, as in the released code."""
        return ask_json(
            self._judge.client,
            role,
            prompt,
            lambda data: ratings(data, ranges, ranges is MDEP_RANGES),
            as_role="judge",
            repeat=repeat,
        )
