"""Which of two dialogues with one person is better: asked twice, the order swapped.

A judge that says "the first" both times has told nothing but its habit. Only an answer
that survives the swap counts: a win, a loss, or a tie said twice. Answers that
contradict each other are "swayed": counted apart, and as half a win in the share, as
ties are. A pair with a failed dialogue or a failed answer is "failed" and in no share.

By rule (offline demo) the kit's own ten fields are compared (`harbor`); a model answers
through `agents.support_judge.SupportJudge.prefer`.

Paper: RAPO 2603.15434 reports pairwise human preference; rates, raters and agreement
are not known (fact sheet, 4 and 9.6). This stands in for people, it does not replace
them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

import pandas as pd

from helpers.agents.acts import Reader
from helpers.agents.clauses import read_clauses
from helpers.agents.roles import RoleFailure
from helpers.agents.support_judge import CHOICES
from helpers.data.scenarios import Scenario
from helpers.sandbox.dialogue import Dialogue
from helpers.scoring.harbor import harbor

OUTCOMES = ("win", "tie", "loss", "swayed", "failed")
WORTH = {"win": 1.0, "tie": 0.5, "swayed": 0.5, "loss": 0.0}
_SWAPPED = {"first": "second", "second": "first", "tie": "tie"}


class Chooser(Protocol):
    def prefer(self, first: Dialogue, second: Dialogue, card: Scenario) -> str:
        """One of CHOICES; raises RoleFailure when there is no answer."""


@dataclass(frozen=True)
class RuleChooser:
    """Prefers the dialogue with the higher mean of the ten fields, by `margin` points.

    It has no habit of place, so that it is never swayed.
    """

    grammar: str = "first"
    reader: Reader = read_clauses
    margin: float = 0.1

    def prefer(self, first: Dialogue, second: Dialogue, card: Scenario) -> str:
        a, b = (
            harbor(dialogue, card, self.grammar, self.reader)["overall"]
            for dialogue in (first, second)
        )
        if abs(a - b) < self.margin:
            return "tie"
        return "first" if a > b else "second"


def compare(a: Dialogue, b: Dialogue, card: Scenario, chooser: Chooser) -> str:
    """The outcome for `a` against `b`, out of OUTCOMES; two calls to the chooser.

    Raises: ValueError when the dialogues are not both with the person of the card, or
        the chooser says something else than CHOICES.
    """
    if {a.scenario_id, b.scenario_id} != {card.id}:
        raise ValueError(f"{a.scenario_id}, {b.scenario_id} with the card {card.id}")
    if any(d.failure is not None or not d.turns for d in (a, b)):
        return "failed"
    try:
        said = chooser.prefer(a, b, card), chooser.prefer(b, a, card)
    except RoleFailure:
        return "failed"
    if strange := set(said) - set(CHOICES):
        raise ValueError(f"{strange.pop()!r} is no choice")
    if said[0] != _SWAPPED[said[1]]:
        return "swayed"
    return {"first": "win", "second": "loss", "tie": "tie"}[said[0]]


def preferences(
    pairs: Iterable[tuple[Dialogue, Dialogue]],
    cards: Mapping[str, Scenario],
    chooser: Chooser,
) -> pd.DataFrame:
    """One row a pair: case, outcome (for the first of the pair) and worth (NaN where
    failed)."""
    rows = []
    for a, b in pairs:
        outcome = compare(a, b, cards[a.scenario_id], chooser)
        rows.append((a.scenario_id, outcome, WORTH.get(outcome)))
    frame = pd.DataFrame(rows, columns=["case", "outcome", "worth"])
    return frame.astype({"worth": float})
