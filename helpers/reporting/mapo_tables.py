"""MAPO's comparison as tables: who moves users nearer to the zone, how far, how soon.

A label names a method or a variation; its runs differ by their seed only. A measure is
a mean over cases of the mean over seeds within a case. A difference is paired: same
cases, same users, same moods. It has two intervals: one resamples the cases (sure for
the runs that were made), one resamples cases and seeds (other seeds as well; missing
with one seed, crude with few). The verdict takes the second where there is one.

The distance is the percentage of the way from a user's start to the zone that is behind
at the end; below zero the user ended further away.

Paper: MAPO, arXiv 2603.06194.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from helpers.data.published import load
from helpers.data.scenarios import load_cards
from helpers.learning.results import Result, scores
from helpers.reporting.learning_tables import (
    AGAINST,
    AS_SAID,
    BARE,
    OPEN,
    by_case,
    interval,
    verdict,
)
from helpers.reporting.stats import paired_difference
from helpers.reporting.tables import format_number, signed

BENCHMARKS = {
    "EMPA": "gain of the dialogue score, largest",
    "EmoBench": "gain, largest",
    "EQ-Bench": "gain, largest",
}


def comparison(
    results: Sequence[Result],
    user: str,
    reference: str,
    draws: int,
    rng: np.random.Generator,
    level: float = 0.95,
) -> pd.DataFrame:
    """One row a label, in the given order: the last checks with that user.

    Args:
        results: runs, and the start if it is to have a row. reference: label that the
            others are compared with.

    Returns:
        label, user, runs, n (dialogues with a score), failed; distance (%), low, high;
        by seed; emotion (0..100), passed (% with EPM's success), tokens (a reply);
        difference (of the distance from the reference), its low and high (cases), low
        too, high too (cases and seeds).

    Raises:
        ValueError: a run given twice, or no run of the reference.
    """
    frame = _scores(results, user)
    parts = dict(tuple(frame.groupby("label", sort=False)))
    if reference not in parts:
        raise ValueError(f"no run is labelled {reference!r}, which is compared with")
    rows = []
    for label, part in parts.items():
        values = interval(by_case(part, "distance"), draws, rng, level)
        row = {"label": label, "user": user, "runs": part["seed"].nunique(),
               "n": int(part["distance"].notna().sum()),
               "failed": int(part["failed"].sum()),
               **dict(zip(("distance", "low", "high"), values, strict=True)),
               "by seed": _by_seed(part),
               "emotion": by_case(part, "emotion").mean(),
               "passed": 100 * by_case(part, "passed").mean(),
               "tokens": by_case(part, "tokens").mean()}  # fmt: skip
        if label != reference:
            row |= difference(part, parts[reference], draws, rng, level)
        rows.append(row)
    return pd.DataFrame(rows)


def difference(a, b, draws: int, rng: np.random.Generator, level: float) -> dict:
    """Distance of the scores a minus that of b, with both intervals (NaN where none).

    Args:
        a, b: rows of `results.scores`, each of one label.
    """
    one, two = by_case(a, "distance"), by_case(b, "distance")
    found = paired_difference(one, two, draws, rng, level)
    low, high = seeds_and_cases(_square(a) - _square(b), draws, rng, level)
    return {"difference": found.estimate,
            "diff low": np.nan if found.low is None else found.low,
            "diff high": np.nan if found.high is None else found.high,
            "low too": low, "high too": high}  # fmt: skip


def seeds_and_cases(
    differences: pd.DataFrame, draws: int, rng: np.random.Generator, level: float
) -> tuple[float, float]:
    """Percentile interval of a mean when rows (cases) and columns (seeds) are both
    drawn anew; NaN without two of each. Missing cells are left out.

    Args:
        differences: one row a case, one column a seed.
    """
    table = differences.dropna(how="all").dropna(how="all", axis=1)
    cases, seeds = table.shape
    if min(cases, seeds) < 2:
        return np.nan, np.nan
    x = table.to_numpy(float)
    there = ~np.isnan(x)
    of_cases = rng.multinomial(cases, np.full(cases, 1 / cases), size=draws)
    of_seeds = rng.multinomial(seeds, np.full(seeds, 1 / seeds), size=draws)
    total = ((of_cases @ np.where(there, x, 0.0)) * of_seeds).sum(1)
    count = ((of_cases @ there) * of_seeds).sum(1)
    tail = 100 * (1 - level) / 2
    means = total[count > 0] / count[count > 0]
    low, high = np.percentile(means, [tail, 100 - tail])
    return float(low), float(high)


def pairs(
    results: Sequence[Result],
    wanted: Sequence[tuple[str, str]],
    users: Sequence[str],
    draws: int,
    rng: np.random.Generator,
    level: float = 0.95,
) -> pd.DataFrame:
    """One row a pair of labels (more, less) and user: the difference of the distance.

    Returns:
        more, less, user, then the columns of `difference`, runs (the fewer of both),
        cases, verdict: "as the paper says" when the interval lies above 0.
    """
    rows = []
    for user in users:
        frame = _scores(results, user)
        parts = dict(tuple(frame.groupby("label", sort=False)))
        for more, less in wanted:
            if lost := {more, less} - set(parts):
                raise ValueError(f"no run is labelled {min(lost)!r}")
            a, b = parts[more], parts[less]
            found = difference(a, b, draws, rng, level)
            shared = by_case(a, "distance").index.intersection(
                by_case(b, "distance").index
            )
            rows.append(
                {"more": more, "less": less, "user": user, **found,
                 "runs": min(a["seed"].nunique(), b["seed"].nunique()),
                 "cases": len(shared), "verdict": said(found)}
            )  # fmt: skip
    return pd.DataFrame(rows)


def said(found) -> str:
    """`learning_tables.verdict` of a difference, by its wider interval."""
    narrow = found["diff low"], found["diff high"]
    wide = found["low too"], found["high too"]
    return verdict(found["difference"], *(narrow if np.isnan(wide[0]) else wide))


def span(found) -> str:
    """The interval that `said` goes by."""
    wide = not np.isnan(found["low too"])
    ends = ("low too", "high too") if wide else ("diff low", "diff high")
    return " to ".join(signed(found[end]) for end in ends)


def apart(found) -> str:
    """A difference from a default in words: higher, lower, not told apart, or "-"."""
    words = {AS_SAID: "higher", AGAINST: "lower", OPEN: OPEN, BARE: "-"}
    return words[said(found)]


def curve_points(results: Sequence[Result]) -> pd.DataFrame:
    """Learning curves on the curve's cards, with the first user of the checks.

    Returns:
        One row a run and checked step: label, seed, step, dialogues (trained on so
        far), distance, emotion, passed (%), n, failed.
    """
    rows = []
    for result in results:
        recipe, checks = result.recipe, result.recipe.checks
        cases = {c.id for c in load_cards(checks.split)[: checks.curve_cards]}
        for step in result.checked:
            frame = scores([result], checks.users[0], step)
            frame = frame[frame["case"].isin(cases)]
            rows.append(
                {"label": result.label, "seed": recipe.trainer.seed, "step": step,
                 "dialogues": step * recipe.trainer.dialogues,
                 "distance": frame["distance"].astype(float).mean(),
                 "emotion": frame["emotion"].astype(float).mean(),
                 "passed": 100 * frame["passed"].astype(float).mean(),
                 "n": int(frame["distance"].notna().sum()),
                 "failed": int(frame["failed"].sum())}
            )  # fmt: skip
    return pd.DataFrame(rows)


def reach(points: pd.DataFrame, reference: str = "GRPO") -> pd.DataFrame:
    """Training dialogues until a label first has the reference's last distance.

    On the mean curve of its seeds, straight between two checks; NaN where the curve
    never gets there. The reference itself may have been there before its end.

    Args:
        points: of `curve_points`.

    Returns:
        One row a label: label, target (distance, %), dialogues, of (dialogues of the
        whole run).
    """
    mean = points.groupby(["label", "dialogues"], sort=False)["distance"].mean()
    curves = {label: mean[label].sort_index() for label in points["label"].unique()}
    target = curves[reference].iloc[-1]
    rows = [
        (label, target, first_crossing(curve, target), curve.index[-1])
        for label, curve in curves.items()
    ]
    return pd.DataFrame(rows, columns=["label", "target", "dialogues", "of"])


def first_crossing(curve: pd.Series, target: float) -> float:
    """Where a curve (value by place, places rising) first has a value: NaN if never."""
    x, y = curve.index.to_numpy(float), curve.to_numpy(float)
    reached = np.flatnonzero(y >= target)
    if not len(reached):
        return np.nan
    i = reached[0]
    if i == 0:
        return float(x[0])
    share = (target - y[i - 1]) / (y[i] - y[i - 1])
    return float(x[i - 1] + share * (x[i] - x[i - 1]))


def main_table(compared: pd.DataFrame, reached: pd.DataFrame) -> pd.DataFrame:
    """The comparison, when each method got as far as GRPO, and what is printed.

    Of the paper's table only the largest gains of its own method are known; all other
    printed cells stay blank. They share no scale with the kit's distance.

    Args:
        compared: of `comparison`. reached: of `reach`.
    """
    table = compared.merge(reached[["label", "dialogues"]], on="label", how="left")
    table = table.rename(columns={"dialogues": "dialogues to GRPO's end"})
    known = load("mapo_printed").set_index(["item", "column"])["value"]
    for name, column in BENCHMARKS.items():
        value = known.get((name, column), np.nan)
        if isinstance(value, pd.Series):
            value = value.iloc[0]
        table[f"{name}, largest gain printed"] = np.where(
            table["label"] == "MAPO", value, np.nan
        )
    return table.assign(status="rerun; printed where known")


def stability(points: pd.DataFrame) -> pd.DataFrame:
    """The training log of each label in a row: the steps of all seeds in which the
    policy learned (PPO's critic learns alone at first: gradient norm 0).

    Args:
        points: of `learning_measures.log_points` with `mapo_figures.LOGGED`.

    Returns:
        label, runs, steps; gradient norm (median, largest, % of steps above 1, where
        it is scaled down); clipped (% of tokens); advantage sd; length correlation
        (mean; NaN where all dialogues are equally long).
    """
    rows = []
    for label, part in points.groupby("label", sort=False):
        part = part[part["grad_norm"] != 0]
        norm = part["grad_norm"].dropna()
        rows.append(
            {"label": label, "runs": part["seed"].nunique(), "steps": len(norm),
             "gradient norm, median": norm.median(), "largest": norm.max(),
             "above 1, % of steps": 100 * (norm > 1).mean() if len(norm) else np.nan,
             "clipped, % of tokens": 100 * part["clip_ratio/region_mean"].mean(),
             "advantage sd": part["advantage/std"].mean(),
             "length correlation": part["advantage/length_correlation"].mean()}
        )  # fmt: skip
    return pd.DataFrame(rows)


def _by_seed(part: pd.DataFrame) -> str:
    means = part["distance"].astype(float).groupby(part["seed"]).mean()
    return ", ".join(format_number(mean, 1) for mean in means)


def _square(part: pd.DataFrame) -> pd.DataFrame:
    """The distance, one row a case, one column a seed."""
    return part.pivot(index="case", columns="seed", values="distance").astype(float)


def _scores(results: Sequence[Result], user: str) -> pd.DataFrame:
    frame = scores(results, user)
    twice = frame.duplicated(["label", "seed", "case"])
    if twice.any():
        label, seed, case = frame.loc[twice, ["label", "seed", "case"]].iloc[0]
        raise ValueError(f"{label!r}, seed {seed}: case {case} is there twice")
    return frame
