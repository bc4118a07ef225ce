"""What a finding of the fidelity audit may look at, and how it words a number."""

from dataclasses import dataclass

import pandas as pd

from helpers.data.published import load
from helpers.reporting.tables import format_number
from helpers.scoring.replay import Dialogues

CONFIRMED, CONTRADICTED = "confirmed", "contradicted"
DIFFERS, UNTESTED = "sources differ", "not testable from the records"


@dataclass(frozen=True)
class Evidence:
    """Frames of the released dialogues; models by printed name, best first.

    ratings: one row a turn; dialogues, scores, raw: one row a dialogue; cases: one row
    a case; mechanism, domain, persona: mean EPM-Q, models x groups (persona: the case
    sets behind the printed bars).
    """

    ratings: pd.DataFrame
    dialogues: Dialogues
    cases: pd.DataFrame
    scores: pd.DataFrame
    raw: pd.DataFrame
    mechanism: pd.DataFrame
    domain: pd.DataFrame
    persona: pd.DataFrame

    @property
    def paper_models(self) -> list[str]:
        """The 14 models of Table 7, best first."""
        models = load("empa_models")
        return list(models["name"][models["in_table7"] == 1])


def text(x: float, digits: int = 1) -> str:
    """A number as the audit prints it."""
    return format_number(x, digits)


def listed(values: pd.Series, digits: int = 1) -> str:
    """Named numbers as one phrase; "none" when there are none."""
    return ", ".join(f"{k} {text(x, digits)}" for k, x in values.items()) or "none"


def verdict(holds: bool) -> str:
    """The verdict on a statement that the records can test."""
    return CONFIRMED if holds else CONTRADICTED
