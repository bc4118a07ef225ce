"""The teacher-quality test as a table: what a note in the context does to one turn.

From `helpers.learning.teacher.teacher_quality`; cases are resampled, not turns.
"""

import numpy as np
import pandas as pd

from helpers.learning.teacher import ARMS
from helpers.reporting.stats import cluster_bootstrap, paired_difference

PAIRS = (("true", "plain"), ("true", "shuffled"), ("shuffled", "plain"),
         ("empty", "plain"))  # fmt: skip


def quality_table(
    frame: pd.DataFrame, draws: int, rng: np.random.Generator, level: float = 0.95
) -> pd.DataFrame:
    """One row an arm, then one a difference of two, for each mode.

    Args:
        frame: of `teacher_quality`. draws, rng, level: of the intervals.

    Returns:
        think, arm ("true", "true - shuffled"), n (turns), cases; change, low, high
        (mean one-turn change of emotion, or its paired difference, with interval; NaN
        bounds below two cases), premature, advice (shares, or their differences).
    """
    rows = []
    for think, mode in frame.groupby("think"):
        arms = {
            arm: part.set_index(["case", "place"]) for arm, part in mode.groupby("arm")
        }
        for arm in ARMS:
            part = arms[arm]
            cases = part.index.get_level_values(0)
            mean = cluster_bootstrap(part["change"], cases, draws, rng, level)
            rows.append(_row(think, arm, mean, part))
        for one, other in PAIRS:
            a, b = arms[one], arms[other]
            gap = paired_difference(a["change"], b["change"], draws, rng, level)
            shares = a[["premature", "advice"]] - b[["premature", "advice"]]
            rows.append(_row(think, f"{one} - {other}", gap, shares))
    return pd.DataFrame(rows)


def _row(think, arm, interval, shares) -> dict:
    low, high = (np.nan if x is None else x for x in (interval.low, interval.high))
    return {
        "think": bool(think), "arm": arm, "n": interval.n, "cases": interval.clusters,
        "change": interval.estimate, "low": low, "high": high,
        "premature": shares["premature"].mean(), "advice": shares["advice"].mean(),
    }  # fmt: skip
