"""Intervals and agreement: cluster bootstrap over cases, paired differences, raters.

Dialogues about one case are not independent, so cases are resampled, not dialogues.
Intervals are percentile intervals. Fewer than two clusters give no interval.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Interval:
    """A mean with its interval; low and high are None when there is none."""

    estimate: float
    low: float | None
    high: float | None
    n: int
    clusters: int

    @property
    def excludes_zero(self) -> bool | None:
        """Whether a difference is one; None without an interval."""
        return None if self.low is None else self.low > 0 or self.high < 0


def cluster_bootstrap(
    values, clusters, draws: int, rng: np.random.Generator, level: float = 0.95
) -> Interval:
    """Mean of `values` with a percentile interval; whole clusters are resampled.

    Args:
        values: (N,) numbers, none missing: failures are left out and counted before.
        clusters: (N,) labels, for instance the case of each dialogue.
        draws: number of resamples.
        rng: generator; the same seed gives the same interval.
        level: coverage in (0, 1).

    Raises:
        ValueError: a missing value, lengths that differ, nothing to average, or a
            level or number of draws that makes no sense.
    """
    values = np.asarray(values, dtype=float)
    if values.ndim != 1 or len(values) != len(clusters) or not len(values):
        raise ValueError(f"need N values and N clusters, got {values.shape} and others")
    if np.isnan(values).any():
        raise ValueError(
            "a missing value cannot be averaged: leave it out and count it"
        )
    if draws < 1 or not 0 < level < 1:
        raise ValueError(f"draws = {draws}, level = {level}: need >= 1 and within 0..1")
    code, names = pd.factorize(np.asarray(clusters))
    sums = np.bincount(code, weights=values)
    sizes = np.bincount(code)
    mean, n = float(values.mean()), len(names)
    if n < 2:
        return Interval(mean, None, None, len(values), n)
    weights = rng.multinomial(n, np.full(n, 1 / n), size=draws)
    means = (weights @ sums) / (weights @ sizes)
    tail = 100 * (1 - level) / 2
    low, high = np.percentile(means, [tail, 100 - tail])
    return Interval(mean, float(low), float(high), len(values), n)


def paired_difference(
    a: pd.Series,
    b: pd.Series,
    draws: int,
    rng: np.random.Generator,
    level: float = 0.95,
) -> Interval:
    """Mean of a - b over the cases both have, with its interval.

    Args:
        a, b: one value a case (or a repeat of it), indexed by case or by (case, ...);
            the first index level is the cluster.

    Raises:
        ValueError: no case in common, or a missing value.
    """
    both = pd.concat([a, b], axis=1, join="inner", keys=["a", "b"])
    if both.empty:
        raise ValueError("no case in common: nothing can be paired")
    difference = both["a"] - both["b"]
    cases = difference.index.get_level_values(0)
    return cluster_bootstrap(difference, cases, draws, rng, level)


def krippendorff_alpha(ratings) -> float | None:
    """Krippendorff's alpha for interval data: 1 is full agreement, 0 chance.

    Args:
        ratings: (raters, items), NaN where a rater did not rate an item.

    Returns:
        alpha, or None when no item has two ratings or all ratings are equal.
    """
    table = np.asarray(ratings, dtype=float)
    counts = (~np.isnan(table)).sum(0)
    table = table[:, counts >= 2]
    counts = counts[counts >= 2]
    if not len(counts):
        return None
    # Sum of squared differences of all ordered pairs: 2 (n sum x^2 - (sum x)^2).
    within = 2 * (counts * np.nansum(table**2, 0) - np.nansum(table, 0) ** 2)
    observed = (within / (counts - 1)).sum() / counts.sum()
    pooled = table[~np.isnan(table)]
    n = len(pooled)
    expected = 2 * (n * (pooled**2).sum() - pooled.sum() ** 2) / (n * (n - 1))
    return None if expected == 0 else float(1 - observed / expected)
