"""Finished training runs as tables: a board, paired comparisons.

A label names a method: "PPO", "PPO, think", "PPO, think, challenging" (trained with the
challenging user). Its runs differ by their seed only. Every number is a mean over cases
of the mean over seeds within a case; its interval resamples the cases. The interval so
tells how sure a number is for these runs; how runs with other seeds may differ is shown
by the means of all seeds, which stand beside.

Paper: RLVER (arXiv 2507.03112) Table 1.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from helpers.learning.results import Result, scores
from helpers.reporting import rlver_printed as printed
from helpers.reporting.stats import cluster_bootstrap, paired_difference
from helpers.reporting.tables import format_number

PAIRS = ["claim", "compared", "unit", "difference", "low", "high", "n", "cases",
         "verdict"]  # fmt: skip
AS_SAID, AGAINST = "as the paper says", "the other way"
OPEN, BARE = "not told apart", "no interval"


def variant(label: str) -> str:
    """The printed run of a label, whatever user it trained with: "PPO, think" and
    "PPO, think, challenging" are "PPO think"; "base, think" is "base think"."""
    name, *rest = label.split(", ")
    return f"{name} {'think' if 'think' in rest else 'no-think'}"


def by_case(frame: pd.DataFrame, column: str = "emotion") -> pd.Series:
    """Mean over the seeds within each case; what is missing is left out."""
    values = frame[column].astype(float)
    return values.groupby(frame["case"]).mean().dropna()


def interval(values: pd.Series, draws: int, rng, level: float) -> tuple:
    """(mean, low, high) of one value a case; NaN where there is none."""
    if values.empty:
        return (np.nan,) * 3
    mean = cluster_bootstrap(values, values.index, draws, rng, level)
    return mean.estimate, _number(mean.low), _number(mean.high)


def board(
    results: Sequence[Result],
    starts: Sequence[Result],
    user: str,
    draws: int,
    rng: np.random.Generator,
    level: float = 0.95,
) -> pd.DataFrame:
    """One row a label, the starts first: the last checks with that user.

    Args:
        results: all runs, of any labels and seeds. starts: the policy before training,
            one a mode (thinking or not). draws, rng, level: of the intervals.

    Returns:
        label, user; runs (seeds), n (dialogues with a score), failed (without); score
        (mean final emotion, 0..100), low, high; success, failure (shares, 0..1);
        tokens (a reply, thoughts included); gain over the start of the same mode, gain
        low, gain high (paired by case, NaN for starts); by seed (mean of each, in the
        order of the seeds), seed sd (sample deviation of these, NaN for one).

    Raises:
        ValueError: a mode without a start or with two, or a run given twice.
    """
    own = {start.recipe.think: start.label for start in starts}
    if len(own) < len(starts):
        raise ValueError("two starts of one mode: give one that thinks, one that not")
    frame = _scores([*starts, *results], user)
    base = {think: by_case(frame[frame["label"] == own[think]]) for think in own}
    modes = {r.label: r.recipe.think for r in results}
    if lost := [label for label, think in modes.items() if think not in base]:
        raise ValueError(f"{lost[0]!r} has no start that thinks as it does")
    rows = []
    for label, part in frame.groupby("label", sort=False):
        cases, seeds = by_case(part), part["emotion"].groupby(part["seed"]).mean()
        score, low, high = interval(cases, draws, rng, level)
        row = {"label": label, "user": user, "runs": len(seeds),
               "n": int((~part["failed"]).sum()), "failed": int(part["failed"].sum()),
               "score": score, "low": low, "high": high}  # fmt: skip
        for name in ("success", "failure", "tokens"):
            row[name] = by_case(part, name).mean()
        gain = _difference(cases, base.get(modes.get(label)), draws, rng, level)
        row |= dict(zip(("gain", "gain low", "gain high"), gain, strict=True))
        row["by seed"] = ", ".join(format_number(mean, 1) for mean in seeds)
        row["seed sd"] = seeds.std()
        rows.append(row)
    return pd.DataFrame(rows)


def table1(own: pd.DataFrame) -> pd.DataFrame:
    """Table 1: rows of `board` beside the printed ones.

    The printed base is set beside the start without thinking; a start with thinking has
    a row of its own, without printed numbers. The gain is over the start of the same
    mode, and paired; the printed one is over the one printed base.

    Args:
        own: of `board`, without runs trained with another user.

    Returns:
        the columns of `rlver_printed.table1`, with failed, tokens, gain low, gain high,
        by seed.
    """
    names = own["label"].map(variant)
    own = own.assign(variant=names.replace("base no-think", "base"))
    extra = own["variant"] == "base think"
    table = printed.table1(own[~extra])
    keys = table["model"].where(~table["model"].str.startswith("base "), "base")
    more = own.set_index("variant").reindex(keys)
    table["gain"] = more["gain"].array
    places = (("n", ["failed"]), ("failure %", ["tokens"]),
              ("gain", ["gain low", "gain high", "by seed"]))  # fmt: skip
    for after, columns in places:
        for name in reversed(columns):
            values = more[name].astype("Int64") if name == "failed" else more[name]
            table.insert(table.columns.get_loc(after) + 1, name, values.array)
    thinking = own[extra].assign(
        **{"model": "base, think", "status": "rerun",
           "success %": 100 * own["success"], "failure %": 100 * own["failure"]}
    )  # fmt: skip
    added = thinking.reindex(columns=table.columns).astype(table.dtypes)
    at = table.index[keys == "base"][0] + 1
    parts = [part for part in (table[:at], added, table[at:]) if len(part)]
    return pd.concat(parts, ignore_index=True)


@dataclass(frozen=True)
class Claim:
    """A comparison whose direction a paper states: `more` scores higher than `less`.

    text: the claim. more, less: labels, as many of each; their scores are summed, so
    that (a, d) over (b, c) asks whether a - b is larger than c - d. compared: names the
    comparison; empty: the two labels.
    """

    text: str
    more: tuple[str, ...]
    less: tuple[str, ...]
    compared: str = ""

    def __post_init__(self):
        if len(self.more) != len(self.less):
            raise ValueError(f"{self.text}: needs as many labels on either side")

    @property
    def name(self) -> str:
        return self.compared or f"{' + '.join(self.more)} over {' + '.join(self.less)}"


def pairs(
    results: Sequence[Result],
    claims: Iterable[Claim],
    user: str,
    draws: int,
    rng: np.random.Generator,
    level: float = 0.95,
) -> pd.DataFrame:
    """One row a claim: the difference in final emotion, paired by case.

    Args:
        results: runs and starts that the claims name. user: of the last checks.

    Returns:
        PAIRS: claim, compared, unit; difference, low, high (positive: as claimed); n
        (dialogues), cases; verdict (`verdict`).

    Raises:
        ValueError: a label without runs, or a run given twice.
    """
    frame = _scores(results, user)
    parts = dict(tuple(frame.groupby("label")))
    rows = []
    for claim in claims:
        labels = (*claim.more, *claim.less)
        if lost := [label for label in labels if label not in parts]:
            raise ValueError(f"{claim.text}: no run is labelled {lost[0]!r}")
        cases = pd.DataFrame({name: by_case(parts[name]) for name in labels}).dropna()
        more, less = cases[[*claim.more]].sum(axis=1), cases[[*claim.less]].sum(axis=1)
        found = _difference(more, less, draws, rng, level)
        n = sum(int((~parts[name]["failed"]).sum()) for name in labels)
        rows.append((claim.text, claim.name, "points", *found, n, len(cases),
                     verdict(*found)))  # fmt: skip
    return pd.DataFrame(rows, columns=PAIRS)


def verdict(difference: float, low: float, high: float) -> str:
    """What an interval says of a difference that a paper expects to be positive."""
    if np.isnan(difference) or np.isnan(low):
        return BARE
    return AS_SAID if low > 0 else AGAINST if high < 0 else OPEN


def _scores(results: Sequence[Result], user: str) -> pd.DataFrame:
    frame = scores(results, user)
    twice = frame.duplicated(["label", "seed", "case"])
    if twice.any():
        label, seed, case = frame.loc[twice, ["label", "seed", "case"]].iloc[0]
        raise ValueError(f"{label!r}, seed {seed}: case {case} is there twice")
    return frame.astype({"emotion": float})


def _difference(a, b, draws: int, rng, level: float) -> tuple:
    """(difference, low, high) of a - b, NaN where there is nothing to pair."""
    if b is None or a.index.intersection(b.index).empty:
        return (np.nan,) * 3
    found = paired_difference(a, b, draws, rng, level)
    return found.estimate, _number(found.low), _number(found.high)


def _number(value: float | None) -> float:
    return np.nan if value is None else value
