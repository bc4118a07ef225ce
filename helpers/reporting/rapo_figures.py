"""Figures of notebook 06: ladder, curves, sweep, advice, teacher, preference.

Frames of `rapo_tables`, `mapo_tables` and `learning.teacher` in, (figure, data drawn)
out. A missing value is a gap. What the scripted users gave is titled offline demo.

Paper: RAPO, arXiv 2603.15434; its own figures were not at hand.
"""

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from helpers.reporting import figures as look

DISTANCE = "way to the zone behind (%)"
# One look a method, the same everywhere.
LOOKS = {
    "base": (look.GREY, "X"),
    "sample-wise GRPO": (look.ORANGE, "^"),
    "comparative_po": (look.SKY, "s"),
    "+ reactions": (look.BLUE, "v"),
    "+ distillation": (look.PINK, "D"),
    "RAPO": (look.GREEN, "*"),
}
PANELS = {
    "distance": DISTANCE,
    "harbor": "ten fields (1 to 5)",
    "sotopia": "seven dimensions, mean",
}
OUTCOME_LOOK = {"win": (look.GREEN, ""), "tie": (look.LIGHT, ""),
                "swayed": (look.YELLOW, ".."), "loss": (look.RED, "//")}  # fmt: skip


def ladder(frame: pd.DataFrame, source: str):
    """Three panels of one row a method, each with its interval.

    Args:
        frame: label, measure (keys of PANELS), value, low, high.
    """
    labels = list(frame["label"].unique())
    figure, axes = look.grid(1, len(PANELS), 0.9 + 0.26 * len(labels), sharey=True)
    for ax, (name, unit) in zip(axes[0], PANELS.items(), strict=True):
        rows = frame[frame["measure"] == name].set_index("label").reindex(labels)
        for y, label in enumerate(reversed(labels)):
            colour, mark = LOOKS.get(label, (look.BLACK, "o"))
            _whisker(ax, rows.loc[label], y, colour, mark)
        ax.set_title(unit)
        ax.set_ylim(-0.6, len(labels) - 0.4)
    axes[0][0].set_yticks(range(len(labels)), reversed(labels))
    figure.suptitle(f"{source}; whiskers: interval over cases", fontsize=8)
    return figure, frame


def learning_curves(points: pd.DataFrame, source: str):
    """Distance over the user calls spent, mean of seeds and their range.

    Args:
        points: of `rapo_tables.curve_points`.
    """
    figure, axes = look.grid(1, 1, 3.0)
    ax = axes[0][0]
    marks = []
    for label, part in points.groupby("label", sort=False):
        colour, mark = LOOKS.get(label, (look.BLACK, "o"))
        steps = part.groupby("step")
        x, y = steps["calls"].mean(), steps["distance"].mean()
        ends = steps["distance"].agg(["min", "max"])
        ax.fill_between(x, ends["min"], ends["max"], color=colour, alpha=0.13, lw=0)
        ax.plot(x, y, f"{mark}-", color=colour, ms=4, lw=1.1)
        style = {"color": colour, "marker": mark, "ms": 4, "lw": 1.1}
        marks.append(Line2D([], [], label=label, **style))
    ax.axhline(0, color=look.BLACK, lw=0.7)
    ax.set(xlabel="user calls in training", ylabel=DISTANCE)
    ax.set_title(f"{source}; line: mean of seeds, band: lowest to highest")
    figure.legend(handles=marks, loc="outside lower center", ncols=3)
    return figure, points


def sweep(frame: pd.DataFrame, source: str):
    """Distance by the weight of the verbal term; 0 has a place of its own at the left.

    Args:
        frame: weight, distance, low, high.
    """
    rows = frame.sort_values("weight").reset_index(drop=True)
    figure, axes = look.grid(1, 1, 2.4, width=4.5)
    ax = axes[0][0]
    for i, row in rows.iterrows():
        _whisker(ax, row.rename({"distance": "value"}), i, look.GREEN, "*", flat=False)
    ax.plot(rows.index, rows["distance"], "-", color=look.GREEN, lw=0.8, alpha=0.6)
    ax.set_xticks(rows.index, [f"{w:g}" for w in rows["weight"]])
    ax.set(xlabel="weight of the verbal term (lambda)", ylabel=DISTANCE)
    ax.set_title(f"{source}; whiskers: interval over cases")
    return figure, frame


def advice(frame: pd.DataFrame, source: str):
    """Replies that advise: of all, and of those before turn three.

    Args:
        frame: of `rapo_tables.advice`.
    """
    n = len(frame)
    figure, axes = look.grid(1, 2, 0.9 + 0.24 * n, sharey=True)
    titles = {"share": "all replies (%)", "early": "replies before turn three (%)"}
    for ax, (name, title) in zip(axes[0], titles.items(), strict=True):
        rows = frame.rename(columns={"label": "name"}).drop(columns=["share", "early"])
        ends = {f"{name} low": "low", f"{name} high": "high"}
        rows = rows.rename(columns=ends).assign(estimate=frame[name])
        look.bars_with_intervals(ax, rows, "that advise", look.ORANGE)
        ax.set_title(title)
        ax.set_xlim(left=0)
    figure.suptitle(f"{source}; whiskers: interval over cases", fontsize=8)
    return figure, frame


def teacher(table: pd.DataFrame, source: str):
    """Change of the emotion in one turn by what stands in the context.

    Args:
        table: of `learning.teacher.quality_table`: think, arm, change, low, high.
    """
    modes = list(table["think"].unique())
    figure, axes = look.grid(1, len(modes), 2.2, width=3.2 * len(modes), sharey=True)
    for ax, think in zip(axes[0], modes, strict=True):
        rows = table[table["think"] == think].rename(
            columns={"arm": "name", "change": "estimate"}
        )
        look.bars_with_intervals(ax, rows, "change of the emotion, one turn", look.SKY)
        ax.axvline(0, color=look.BLACK, lw=0.7)
        ax.set_title("thinking" if think else "not thinking")
    figure.suptitle(f"{source}; whiskers: interval over people", fontsize=8)
    return figure, table


def preference(frame: pd.DataFrame, source: str):
    """Wins, ties, swayed answers and losses of each comparison, in per cent.

    Args:
        frame: of `rapo_tables.preference_table`.
    """
    figure, axes = look.grid(1, 1, 1.1 + 0.35 * len(frame))
    ax = axes[0][0]
    y = np.arange(len(frame))[::-1]
    total = frame[list(OUTCOME_LOOK)].sum(axis=1)
    left = np.zeros(len(frame))
    for name, (colour, hatch) in OUTCOME_LOOK.items():
        width = (100 * frame[name] / total).to_numpy(float)
        ax.barh(y, width, 0.6, left=left, color=colour, hatch=hatch, label=name,
                edgecolor="white")  # fmt: skip
        left += width
    ax.set_yticks(y, [f"{row.compared}\n(n = {n})" for row, n in
                      zip(frame.itertuples(), total, strict=True)])  # fmt: skip
    ax.set(xlim=(0, 100), xlabel=f"pairs (%), {source}")
    ax.grid(axis="y", visible=False)
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure, frame


def _whisker(ax, row, place: float, colour: str, mark: str, flat: bool = True) -> None:
    """A marker with its interval, lying or standing; nothing for a missing value."""
    value = float(row["value"])
    if np.isnan(value):
        return
    ends = [[value - row["low"]], [row["high"] - value]]
    error = None if np.isnan(ends).any() else np.abs(ends)
    x, y = (value, place) if flat else (place, value)
    bars = {"xerr" if flat else "yerr": error}
    ax.errorbar(x, y, **bars, fmt=mark, ms=5, color=colour, ecolor=look.BLACK,
                elinewidth=0.8, capsize=1.5)  # fmt: skip
