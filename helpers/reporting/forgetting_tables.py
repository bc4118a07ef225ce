"""What training cost in general ability: the offline stand-ins, and RLVER's Table 2.

Differences from the start of the same mode are paired by item. Offline nothing here is
MATH500, LiveCodeBench or IFEval: those rows stay as printed until a GPU box runs them.

Paper: RLVER (arXiv 2507.03112) Table 2.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from helpers.learning.forgetting import INSTRUCTIONS, LANGUAGE
from helpers.reporting.learning_tables import by_case, interval, variant
from helpers.reporting.rlver_printed import BASE, CELL, beside
from helpers.reporting.stats import paired_difference
from helpers.reporting.tables import format_number, signed


def table(
    frame: pd.DataFrame, draws: int, rng: np.random.Generator, level: float = 0.95
) -> pd.DataFrame:
    """One row a label and test: test, label, runs, n (items), value, low, high;
    difference from the start of the same mode, its low and high; reading.

    Args:
        frame: of `forgetting.measure`, with the starts "base" and, if some runs think,
            "base, think".
    """
    rows = []
    for (test, label), part in frame.groupby(["test", "label"], sort=False):
        own = by_case(part, "value")
        value, low, high = interval(own, draws, rng, level)
        row = {"test": test, "label": label, "runs": part["seed"].nunique(),
               "n": len(own), "value": value, "low": low, "high": high}  # fmt: skip
        start = "base, think" if label.endswith(", think") else "base"
        row |= {"difference": np.nan, "diff low": np.nan, "diff high": np.nan,
                "reading": "-"}  # fmt: skip
        if label != start:
            base = frame[(frame["test"] == test) & (frame["label"] == start)]
            found = paired_difference(own, by_case(base, "value"), draws, rng, level)
            row["difference"] = found.estimate
            if found.low is not None:
                row |= {"diff low": found.low, "diff high": found.high}
                row["reading"] = _reading(test, found.low, found.high)
        rows.append(row)
    return pd.DataFrame(rows).sort_values("test", kind="stable", ignore_index=True)


def _reading(test: str, low: float, high: float) -> str:
    worse, better = (low > 0, high < 0) if test == LANGUAGE else (high < 0, low > 0)
    return "forgot" if worse else "gained" if better else "not told apart"


def sentences(found: pd.DataFrame) -> list[str]:
    """Who forgot what, one sentence a test, from `table`."""
    made = []
    for test in (LANGUAGE, INSTRUCTIONS):
        rows = found[(found["test"] == test) & (found["reading"] != "-")]
        parts = [
            f"{row['label']} {signed(row['difference'], 2)} "
            f"({signed(row['diff low'], 2)} to {signed(row['diff high'], 2)})"
            for row in rows[rows["reading"] == "forgot"].to_dict("records")
        ]
        start = found[(found["test"] == test) & (found["label"] == "base")]["value"]
        made.append(
            f"{test[0].upper()}{test[1:]}, {format_number(start.iloc[0], 2)} at the "
            f"start: worse after training in {len(parts)} of {len(rows)} cases"
            + (f": {'; '.join(parts)}." if parts else ".")
        )
    return made


def table2(scores: Mapping[str, Mapping[str, float]]) -> pd.DataFrame:
    """RLVER's Table 2, with what a harness measured beside the printed values.

    Args:
        scores: label ("base", "PPO, think") -> benchmark -> percent, of
            `benchmarks.run_all`; empty when nothing was run. Printed are PPO and GRPO
            with and without thinking; other labels have no row and are left out.
    """
    said = {(r, c) for r, c in beside("rlver_table2")[["row", "column"]].to_numpy()}
    cells = []
    for label, by_name in scores.items():
        row = BASE if label == "base" else variant(label)
        own = {name: value for name, value in by_name.items() if (row, name) in said}
        cells += [(row, name, value, *[np.nan] * 3) for name, value in own.items()]
    return beside("rlver_table2", pd.DataFrame(cells, columns=CELL) if cells else None)
