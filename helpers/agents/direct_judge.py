"""A judge without a rubric, played by a model: one number from 0 to 10 a reply.

EMPA compares its rubric and potential model with such a judge (Table 6); its prompt and
scale were not found, so both are the kit's own. The judge sees what EMPA's judge sees:
the condensed card, the talk before, and the exchange to rate.

Paper: EMPA 2603.00552v1 section 4.3 (fact sheet, 1.7).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from helpers.agents import cards
from helpers.agents.empa_judge import NAMES, NOTHING
from helpers.agents.levels import text_field
from helpers.agents.llm import LLMClient, ask_json
from helpers.agents.roles import History
from helpers.agents.templates import fingerprint, render
from helpers.data.scenarios import Scenario

LOW, HIGH = 0.0, 10.0


@dataclass(frozen=True)
class DirectJudge:
    """role: name of its settings in the client."""

    client: LLMClient
    role: str = "judge"

    def describe(self) -> dict[str, Any]:
        return {
            "judge": "direct",
            "model": self.client.describe(self.role),
            "prompts": fingerprint("direct_judge"),
        }

    def score(self, card: Scenario, history: History, repeat: int = 0) -> float:
        """The rating (0..10) of the reply that ends the history.

        Raises: RoleFailure when no readable answer came.
        """
        language = card.language
        names = NAMES[language]
        prompt = render(
            "direct_judge",
            language,
            card=cards.judge_card(card),
            context=cards.numbered(history[:-2], *names) or NOTHING[language],
            window=cards.numbered(history[-2:], *names),
        )
        return ask_json(
            self.client, self.role, prompt, _score, as_role="judge", repeat=repeat
        )


def _score(data: Mapping[str, Any]) -> float:
    value = data.get("score")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"score = {value!r} is not a number")
    if not isfinite(value) or not LOW <= value <= HIGH:
        raise ValueError(f"score = {value} is outside {LOW:.0f}..{HIGH:.0f}")
    text_field(data, "reason")
    return float(value)
