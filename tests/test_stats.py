"""Bootstrap over cases, paired differences, agreement of raters."""

import numpy as np
import pandas as pd
import pytest

from helpers.data.records import read_cases, read_ratings
from helpers.reporting.human_pilot import analyse, blank_form
from helpers.reporting.stats import (
    cluster_bootstrap,
    krippendorff_alpha,
    paired_difference,
)
from helpers.scoring.replay import stack


def rng(seed=0):
    return np.random.default_rng(seed)


def test_interval_agrees_with_theory():
    values = rng(1).normal(10, 2, 400)
    got = cluster_bootstrap(values, np.arange(400), 4000, rng())
    half = 1.96 * values.std(ddof=1) / 20
    assert got.estimate == values.mean()
    assert np.isclose(got.high - got.low, 2 * half, rtol=0.06)
    assert got.low < got.estimate < got.high and (got.n, got.clusters) == (400, 400)


def test_whole_clusters_are_resampled():
    # Ten copies of each case add no information: the interval must not shrink.
    values = rng(2).normal(0, 1, 30)
    one = cluster_bootstrap(values, np.arange(30), 4000, rng())
    ten = cluster_bootstrap(
        np.repeat(values, 10), np.repeat(np.arange(30), 10), 4000, rng()
    )
    assert np.isclose(one.high - one.low, ten.high - ten.low, rtol=1e-9)
    naive = cluster_bootstrap(np.repeat(values, 10), np.arange(300), 4000, rng())
    assert naive.high - naive.low < 0.5 * (ten.high - ten.low)


def test_the_seed_decides():
    values = rng(3).normal(0, 1, 20)
    a, b, c = (cluster_bootstrap(values, np.arange(20), 500, rng(s)) for s in (1, 1, 2))
    assert a == b and a != c


def test_coverage_of_the_interval():
    hits = 0
    for seed in range(300):
        values = rng(seed).normal(1.0, 1.0, 30)
        got = cluster_bootstrap(values, np.arange(30), 400, rng(seed + 1000))
        hits += got.low <= 1.0 <= got.high
    assert 0.90 <= hits / 300 <= 0.98


def test_no_interval_without_two_clusters():
    got = cluster_bootstrap([1.0, 3.0], ["a", "a"], 100, rng())
    assert (got.estimate, got.low, got.high, got.clusters) == (2.0, None, None, 1)
    assert got.excludes_zero is None


@pytest.mark.parametrize(
    ("values", "clusters", "draws", "level", "message"),
    [
        ([1.0, np.nan], ["a", "b"], 10, 0.95, "leave it out and count it"),
        ([1.0], ["a", "b"], 10, 0.95, "N values and N clusters"),
        ([], [], 10, 0.95, "N values and N clusters"),
        ([1.0, 2.0], ["a", "b"], 0, 0.95, "draws = 0"),
        ([1.0, 2.0], ["a", "b"], 10, 95, "level = 95"),
    ],
)
def test_refusals(values, clusters, draws, level, message):
    with pytest.raises(ValueError, match=message):
        cluster_bootstrap(values, clusters, draws, rng(), level)


def test_pairing_removes_what_cases_share():
    case = [f"{i}" for i in range(40)]
    hard = pd.Series(rng(4).normal(0, 10, 40), index=case)
    a = hard + 1 + rng(5).normal(0, 0.5, 40)
    got = paired_difference(a, hard, 2000, rng())
    assert got.excludes_zero and got.high - got.low < 1
    apart = cluster_bootstrap(a, case, 2000, rng())
    assert apart.high - apart.low > 4


def test_pairs_need_cases_in_common():
    with pytest.raises(ValueError, match="no case in common"):
        paired_difference(pd.Series([1.0], ["a"]), pd.Series([1.0], ["b"]), 10, rng())
    some = paired_difference(
        pd.Series([1.0, 2, 3], list("abc")), pd.Series([1.0, 1], list("bc")), 50, rng()
    )
    assert (some.estimate, some.n) == (1.5, 2)


def test_krippendorff_on_a_worked_example():
    # Three raters, interval data, one rating missing; by the pairwise definition.
    table = np.array([[1, 2, 3, 4], [1, 2, 3, 5], [2, 2, np.nan, 4]])
    units = [column[~np.isnan(column)] for column in table.T]
    n = sum(len(u) for u in units)

    def pairs(x):
        return sum(
            (a - b) ** 2 for i, a in enumerate(x) for j, b in enumerate(x) if i != j
        )

    observed = sum(pairs(u) / (len(u) - 1) for u in units) / n
    expected = pairs(np.concatenate(units)) / (n * (n - 1))
    assert np.isclose(krippendorff_alpha(table), 1 - observed / expected)


def test_krippendorff_limits():
    assert krippendorff_alpha([[1, 2, 3], [1, 2, 3]]) == 1
    assert krippendorff_alpha([[1, 2], [np.nan, np.nan]]) is None
    assert krippendorff_alpha([[2, 2], [2, 2]]) is None
    random = rng(6).integers(0, 5, (2, 4000))
    assert abs(krippendorff_alpha(random)) < 0.05


def test_rating_form_is_blank_and_can_be_analysed():
    dialogues = stack(read_ratings(), read_cases())
    form = blank_form(dialogues, rng())
    assert len(form) == 90 and form[["rater", "C", "A", "P"]].isna().all().all()
    turns = dialogues.frame.set_index(["model", "case"])["turns"]
    longest = [turns[key] for key in zip(form["model"], form["case"], strict=True)]
    assert (form["turn"].between(1, longest)).all()
    assert analyse(form.assign(rater="x"), dialogues)["alpha"].isna().all()

    one = form.assign(rater="x", C=rng(7).integers(-2, 3, 90).astype(float))
    both = pd.concat([one, one.assign(rater="y")])
    result = analyse(both, dialogues).set_index("axis")
    assert result.loc["C", "alpha"] == 1 and result.loc["C", "raters"] == 2
    assert np.isnan(result.loc["A", "alpha"])
    with pytest.raises(ValueError, match="outside -2 to 2"):
        analyse(one.assign(A=3.0), dialogues)
    with pytest.raises(ValueError, match="twice by the same rater"):
        analyse(pd.concat([one, one]), dialogues)
