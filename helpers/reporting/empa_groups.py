"""Figures 9 to 14 of EMPA: EPM-Q by group of cases, as bars and as radars."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from helpers.reporting import figures as look
from helpers.reporting.empa_figures import DOMAIN
from helpers.reporting.stats import cluster_bootstrap

MECHANISM = ["C-Rout", "C-Hard", "A-Rout", "A-Hard", "P-Rout", "P-Hard"]
PERSONA = ["A-Rec", "A-Def", "C-Rec", "C-Def", "P-Rec", "P-Def"]


def mechanism_sets(cases: pd.DataFrame) -> dict[str, list[str]]:
    """Dominant axis x difficulty: Routine is Easy and Medium, Hard the other two."""
    hard = (
        cases["difficulty"]
        .isin(["Hard", "VeryHard"])
        .map({True: "Hard", False: "Rout"})
    )
    return _sets(cases["case"], cases["axis"] + "-" + hard, MECHANISM)


def domain_sets(cases: pd.DataFrame) -> dict[str, list[str]]:
    """Life domain, in the order of the paper's figure."""
    return _sets(cases["case"], cases["domain"], DOMAIN)


def _sets(case: pd.Series, group: pd.Series, order: Sequence[str]):
    return {name: sorted(case[group == name]) for name in order}


def persona_sets_released(cases: pd.DataFrame, labels: pd.DataFrame):
    """Need x threshold by the release's labels: need priority High (P: High or
    Medium); receptive is a Low or Medium threshold. A case can be in several sets."""
    table = cases.merge(labels, on="case")
    receptive = table["threshold"].isin(["Low", "Medium"])
    sets = {}
    for name in PERSONA:
        axis, kind = name.split("-")
        wanted = ["High", "Medium"] if axis == "P" else ["High"]
        chosen = table[axis].isin(wanted) & (receptive == (kind == "Rec"))
        sets[name] = sorted(table["case"][chosen])
    return sets


def persona_sets_printed(groups: pd.DataFrame) -> dict[str, list[str]]:
    """The case sets that the printed bars of Figure 11 follow (recovered)."""
    return {name: sorted(groups["case"][groups["group"] == name]) for name in PERSONA}


def group_means(
    scores: pd.DataFrame,
    sets: Mapping[str, Sequence[str]],
    names: pd.Series,
    draws: int,
    rng: np.random.Generator,
    level: float = 0.95,
) -> pd.DataFrame:
    """Mean EPM-Q of each model in each set of cases, with a bootstrap over cases.

    Returns:
        One row a model and group: model, group, n, estimate, low, high.
    """
    rows = []
    for folder, name in names.items():
        own = scores[scores["model"] == folder].set_index("case")["EPMQ"]
        for group, cases in sets.items():
            values = own.loc[list(cases)]
            interval = cluster_bootstrap(values, values.index, draws, rng, level)
            rows.append(
                {
                    "model": name,
                    "group": group,
                    "n": interval.n,
                    "estimate": interval.estimate,
                    "low": interval.low,
                    "high": interval.high,
                }
            )
    return pd.DataFrame(rows)


def group_bars(means: pd.DataFrame, other: pd.DataFrame | None = None, names=()):
    """One panel a group, one bar a model; `other` means are marked by diamonds, and
    `names` says what the two are."""
    groups = list(means["group"].unique())
    figure, axes = look.grid(2, 3, 5.6, sharex=True, sharey=True)
    for ax, group in zip(axes.flat, groups, strict=True):
        part = means[means["group"] == group].rename(columns={"model": "name"})
        marks = None
        if other is not None:
            marks = other[other["group"] == group]["estimate"].to_numpy()
        look.bars_with_intervals(ax, part, "", reference=marks)
        ax.set_title(f"{group} (n = {part['n'].iloc[0]})")
    for ax in axes[1]:
        ax.set_xlabel("EPM-Q (points)")
    if other is not None:
        bar = plt.Rectangle((0, 0), 1, 1, color=look.BLUE, label=names[0])
        style = {"marker": "D", "color": look.BLACK, "markersize": 3, "linestyle": ""}
        mark = plt.Line2D([], [], label=names[1], **style)
        figure.legend(handles=[bar, mark], loc="outside upper center", ncols=2)
    return figure, means


def group_radars(means: pd.DataFrame):
    """One radar a model over the groups; its title ends with the mean of the axes."""
    groups = list(means["group"].unique())
    table = means.pivot(index="model", columns="group", values="estimate")[groups]
    table = table.loc[means["model"].unique()]
    figure, axes = plt.subplots(
        4, 4, figsize=(look.WIDTH, 9.0), subplot_kw={"projection": "polar"}
    )
    for ax, (name, row) in zip(axes.flat, table.iterrows(), strict=True):
        look.radar(ax, row.to_numpy(), groups, 115, name)
    data = table.assign(mean=table.mean(axis=1)).reset_index()
    return figure, data
