"""Figures of notebook 05: credit by turn, learning curves, stability, ablations.

Frames of `mapo_credit`, `mapo_tables` and `learning_measures` in, (figure, data drawn)
out. A missing value is a gap. A line is the mean over seeds, its band their lowest and
highest. What the scripted users gave is titled as offline demo.

Paper: MAPO, arXiv 2603.06194; its own figures were not at hand.
"""

import textwrap

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from helpers.reporting import figures as look
from helpers.reporting.rlver_drawn import RUN_LOOK

DEMO = "offline demo"
DISTANCE = "way to the zone behind (%)"
SMOOTH = 5  # steps of a running mean
LOGGED = {
    "grad_norm": "gradient norm before scaling",
    "clip_ratio/region_mean": "share of tokens clipped",
    "advantage/std": "deviation of the advantages",
    "advantage/length_correlation": "correlation of advantage and length",
}
# One look a method, the same everywhere; those of RLVER's methods are RLVER's.
METHOD_LOOK = {
    "base": (look.GREY, "X"),
    "GRPO": RUN_LOOK["GRPO no-think"],
    "PPO": RUN_LOOK["PPO no-think"],
    "REINFORCE++": (look.BLUE, "h"),
    "turn-only": (look.PINK, "v"),
    "batch-only": (look.RED, "<"),
    "MAPO": (look.GREEN, "*"),
}
CREDITS = {"outcome": METHOD_LOOK["GRPO"], "mix": METHOD_LOOK["MAPO"]}


def worked_example(frame: pd.DataFrame, shown=("a0", "a1", "a2")):
    """The rewards of a group's dialogues, and what two kinds of credit make of them.

    Args:
        frame: columns dialogue, turn, reward, and those of CREDITS.
    """
    figure, axes = look.grid(1, len(shown), 2.5, sharey=True)
    for ax, name in zip(axes[0], shown, strict=True):
        part = frame[frame["dialogue"] == name]
        ax.bar(part["turn"], part["reward"], 0.55, color=look.LIGHT, label="reward")
        for credit, (colour, mark) in CREDITS.items():
            ax.plot(part["turn"], part[credit], f"{mark}-", color=colour, label=credit)
        ax.axhline(0, color=look.BLACK, lw=0.7)
        ax.set(title=f"dialogue {name}", xlabel="turn", xticks=range(1, 5))
        ax.set_xlim(0.4, 4.6)
    axes[0][0].set_ylabel("reward (units); advantage")
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center",
                  ncols=3)  # fmt: skip
    return figure, frame


def by_turn(points: pd.DataFrame):
    """Rewards and returns by turn: mean, and one deviation to either side.

    Args:
        points: of `mapo_credit.by_turn`.
    """
    samples = list(points["sample"].unique())
    figure, axes = look.grid(2, len(samples), 3.6, sharex="col", sharey="row")
    for row, kind in enumerate(("reward", "return")):
        for column, sample in enumerate(samples):
            ax = axes[row][column]
            part = points[(points["kind"] == kind) & (points["sample"] == sample)]
            low, high = part["mean"] - part["sd"], part["mean"] + part["sd"]
            ax.fill_between(part["turn"], low, high, color=look.SKY, alpha=0.4, lw=0)
            ax.plot(part["turn"], part["mean"], ".-", color=look.BLUE, lw=1)
            ax.axhline(0, color=look.BLACK, lw=0.7)
            if row == 0:
                ax.set_title(textwrap.fill(sample, 18))
        axes[row][0].set_ylabel(f"{kind} (units)")
    for ax in axes[1]:
        ax.set_xlabel("turn")
        ax.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    return figure, points


def learning_curves(points: pd.DataFrame):
    """Distance, emotion and successes over the dialogues trained on; where nobody ever
    succeeds, a line says so in place of an empty panel.

    Args:
        points: of `mapo_tables.curve_points`.
    """
    units = {"distance": DISTANCE, "emotion": "final emotion (0 to 100)",
             "passed": "EPM successes (%)"}  # fmt: skip
    told = f"{DEMO}; line: mean of seeds; band: lowest to highest"
    if not points["passed"].any():
        del units["passed"]
        told += "; no EPM success in any check"
    figure, axes = look.grid(1, len(units), 2.9)
    for ax, (name, unit) in zip(axes[0], units.items(), strict=True):
        for label, part in points.groupby("label", sort=False):
            _band(ax, label, part, "dialogues", name)
        ax.set_xlabel("dialogues trained on")
        ax.set_title(unit)
    distance = axes[0][0]
    distance.axhline(0, color=look.BLACK, lw=0.7)
    if points["distance"].min() < -100:
        # Untrained policies push users far away: linear from -100 on, compressed below.
        distance.set_yscale("symlog", linthresh=100)
        bottom, top = distance.get_ylim()
        ticks = [t for t in (-400, -200, -100, -50, 0, 50, 100) if bottom < t < top]
        distance.set_yticks(ticks, [str(t) for t in ticks])
        distance.set_ylabel("compressed below -100")
    axes[0][1].set_ylim(0, 100)
    if "passed" in units:
        axes[0][2].set_ylim(0, max(10, 1.05 * points["passed"].max()))
    figure.suptitle(told, fontsize=8)
    _legend(figure, points)
    return figure, points


def stability(points: pd.DataFrame):
    """The training log: one panel a number of LOGGED, running means of SMOOTH steps.

    Args:
        points: of `learning_measures.log_points` with LOGGED.
    """
    figure, panels = look.grid(2, 2, 4.2)
    smooth = points[points["grad_norm"] != 0].copy()  # where the policy learned
    runs = smooth.groupby(["label", "seed"])
    for ax, (name, unit) in zip(panels.flat, LOGGED.items(), strict=True):
        smooth[name] = runs[name].transform(
            lambda values: values.rolling(SMOOTH, min_periods=1).mean()
        )
        for label, part in smooth.groupby("label", sort=False):
            if part[name].notna().any():
                _band(ax, label, part, "step", name, dots=False)
        if smooth[name].isna().all():
            ax.text(0.5, 0.5, "none: all dialogues\nare equally long", ha="center",
                    va="center", transform=ax.transAxes)  # fmt: skip
            ax.set(xticks=[], yticks=[])
        ax.set(title=unit, xlabel="step")
    panels[0][0].set_yscale("log")
    panels[0][0].axhline(1, color=look.BLACK, lw=0.8, ls=":")
    figure.suptitle(
        f"{DEMO}; running mean of {SMOOTH} steps; band: lowest to highest of the "
        "seeds; dotted: where gradients are scaled down",
        fontsize=8,
    )
    _legend(figure, points)
    return figure, points


def ablations(frame: pd.DataFrame):
    """Distance of each variation with its interval; the default is a dotted line.

    Args:
        frame: of `mapo_tables.comparison`, with a column part; the rows where label is
            "MAPO" are the default.
    """
    parts = list(frame["part"].unique())
    sizes = [int((frame["part"] == part).sum()) for part in parts]
    figure, axes = look.grid(len(parts), 1, 0.8 + 0.27 * sum(sizes), sharex=True,
                             gridspec_kw={"height_ratios": sizes})  # fmt: skip
    for ax, part in zip(axes[:, 0], parts, strict=True):
        rows = frame[frame["part"] == part]
        y = np.arange(len(rows))[::-1]
        x, ends = rows["distance"], (rows["low"], rows["high"])
        error = [np.abs(x - end) for end in ends]
        ax.errorbar(x, y, xerr=error, fmt="o", ms=4, color=look.GREEN,
                    ecolor=look.BLACK, elinewidth=0.8, capsize=1.5)  # fmt: skip
        default = rows.loc[rows["default"], "distance"].iloc[0]
        ax.axvline(default, color=look.GREEN, lw=0.9, ls=":")
        ax.set_yticks(y, rows["value"])
        ax.set_ylim(-0.6, len(rows) - 0.4)
        ax.set_ylabel(part)
    axes[-1][0].set_xlabel(f"{DISTANCE}, {DEMO}")
    return figure, frame


def _band(ax, label: str, part: pd.DataFrame, x: str, name: str, dots=True) -> None:
    """Mean over seeds as a line, lowest to highest as a band."""
    colour, mark = METHOD_LOOK[label]
    by_place = part.groupby(x)[name]
    mean, low, high = by_place.mean(), by_place.min(), by_place.max()
    ax.fill_between(mean.index, low, high, color=colour, alpha=0.15, lw=0)
    every = 1 if dots else max(1, len(mean) // 6)
    ax.plot(mean.index, mean, f"{mark}-", color=colour, ms=4, lw=1.1, markevery=every)


def _legend(figure, points: pd.DataFrame) -> None:
    """One entry a label, under the panels."""
    marks = []
    for label in points["label"].unique():
        colour, mark = METHOD_LOOK[label]
        style = {"color": colour, "marker": mark, "ms": 4, "lw": 1.1}
        marks.append(Line2D([], [], label=label, **style))
    figure.legend(handles=marks, loc="outside lower center", ncols=6)
