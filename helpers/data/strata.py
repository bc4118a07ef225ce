"""The 30 official EMPA cases as numbers: needs, threshold, domain and stratum.

They say how a test set of the kit should be spread over domains, thresholds, dominant
axes and difficulties. Case ids and levels only; no text.

Paper: EMPA (arXiv 2603.00552) Fig. 6; levels from the released logs (identical in all
16 models), domain, axis and difficulty from the released case metadata.
"""

import csv
from dataclasses import dataclass

from helpers.data.slots import DOMAINS, ITEMS
from helpers.paths import RECORDS

CASES = RECORDS / "empa_cases.csv"


@dataclass(frozen=True)
class Stratum:
    """One official case: id, nine IEDR levels, and the labels given to it."""

    case: str
    levels: dict[str, int]
    axis: str
    difficulty: str
    domain: str
    threshold: str


def official_30_strata() -> list[Stratum]:
    """The 30 official cases, in order of case number."""
    with CASES.open(encoding="utf-8", newline="") as file:
        return [_stratum(row) for row in csv.DictReader(file)]


def _stratum(row: dict[str, str]) -> Stratum:
    domain = row["domain"].lower()
    if domain not in DOMAINS:
        raise ValueError(f"{CASES}: case {row['case']}, unknown domain {domain!r}")
    return Stratum(
        case=row["case"],
        levels={item: int(row[item]) for item in ITEMS},
        axis=row["axis"],
        difficulty=row["difficulty"],
        domain=domain,
        threshold=row["threshold"].lower(),
    )
