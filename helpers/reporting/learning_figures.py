"""RLVER's figures of training, from the kit's own runs, with the printed ones beside.

Frames of `learning_measures` in, (figure, data frame of what is drawn) out. A missing
value is a gap. Panels that hold printed values say so; all others are titled with their
`source`, an offline demo unless said otherwise: a tiny policy and scripted users share
no scale with the paper's.

Paper: RLVER (arXiv 2507.03112) Figures 2 to 7.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from helpers.agents.calibration import GROUPS
from helpers.data.published import load
from helpers.reporting import figures as look
from helpers.reporting.learning_looks import look_of
from helpers.reporting.learning_tables import variant
from helpers.reporting.rlver_drawn import draw_printed_cells, draw_printed_curves
from helpers.scoring.capabilities import CAPABILITIES

DEMO = "offline demo"
EMOTION = "final emotion (0 to 100)"
SMOOTH = 5  # steps of a running mean
FEW = 10  # uses below which a contribution is drawn open
LOGGED = {
    "reward": "reward of a dialogue",
    "entropy": "entropy (nats a token)",
    "grad_norm": "gradient norm",
    "clip_ratio/region_mean": "share of tokens clipped",
    "critic/explained_variance": "explained variance, critic",
}


def learning_curves(points: pd.DataFrame, source: str = DEMO):
    """Figure 4: emotion and reply length over training, and the printed emotion.

    A line is the mean over seeds, its band their lowest and highest. The dotted line
    with the black ring is the start.

    Args:
        points: of `curve_points`, with runs of PPO and of GRPO. source: names the runs.
    """
    printed = []
    heights = {"height_ratios": [1.15, 0.9, 1.15]}
    figure, axes = look.grid(3, 2, 6.3, gridspec_kw=heights, sharey="row")
    for column, algorithm in enumerate(("PPO", "GRPO")):
        emotion, tokens, said = axes[:, column]
        part = points[points["label"].map(variant).str.startswith(f"{algorithm} ")]
        for ax, name in ((emotion, "emotion"), (tokens, "tokens")):
            for label, runs in part.groupby("label", sort=False):
                _band(ax, label, runs, name)
                first = runs[runs["step"] == 0][name].mean()
                ax.axhline(first, color=look_of(label)[0], ls=":", lw=0.9)
                ax.plot(0, first, "o", mfc="none", mec=look.BLACK, ms=8, zorder=5)
            _steps(ax)
        emotion.set_title(f"{algorithm}, {source}")
        drawn = draw_printed_curves(said, algorithm)
        printed.append(drawn.rename(columns={"run": "label"}))
        said.set_ylabel("")
    axes[0][0].set_ylim(0, 100)
    axes[1][0].set_ylim(bottom=0)
    for row, unit in ((0, EMOTION), (1, "tokens a reply"), (2, EMOTION)):
        axes[row][0].set_ylabel(unit)
    figure.suptitle("line: mean of seeds; band: lowest to highest; ring: start",
                    fontsize=8)  # fmt: skip
    _legend(figure, points)
    return figure, _beside(points, source, *printed)


def strategy_frequency(points: pd.DataFrame, source: str = DEMO):
    """Figure 5: uses of each group of strategies in a dialogue, over training.

    Args:
        points: of `strategy_points`. source: names the runs and how they are tagged.
    """
    figure, axes, said = _by_group(points, source, "count", "uses a dialogue")
    for ax in axes:
        ax.set_ylim(0, max(1.0, 1.08 * _groups(points)["count"].max()))
    return figure, _beside(points, source, said)


def strategy_contribution(points: pd.DataFrame, source: str = DEMO):
    """Figure 6: change of the emotion after a reply that uses the group, over training.
    Unused: a gap. Open marks: fewer than FEW uses.

    Args:
        points: of `strategy_points`. source: names the runs and how they are tagged.
    """
    unit = "change of emotion (points)"
    figure, axes, said = _by_group(points, source, "change", unit)
    for ax in axes:
        ax.axhline(0, color=look.BLACK, lw=0.7)
        ax.set_ylim(-10.5, 10.5)
    return figure, _beside(points, source, said)


def _by_group(points: pd.DataFrame, source: str, column: str, unit: str):
    """One panel a group, one line a label; the sixth for the legend and the printed."""
    figure, panels = look.grid(2, 3, 4.5, sharex=True, sharey=True)
    axes = list(panels.flat)
    for ax, group in zip(axes, GROUPS, strict=False):
        part = points[points["group"] == group]
        for label, runs in part.groupby("label", sort=False):
            colour, mark, line = look_of(label)
            runs = runs.sort_values("step")
            ax.plot(runs["step"], runs[column], line, color=colour, lw=1.2)
            few = (runs["n"] < FEW) & (column == "change")
            for dots, fill in ((runs[~few], colour), (runs[few], "white")):
                ax.plot(dots["step"], dots[column], mark, mec=colour, mfc=fill, ms=4,
                        ls="none")  # fmt: skip
        ax.set_title(group)
        _steps(ax)
        ax.tick_params(labelbottom=True)
    for row in panels:
        row[0].set_ylabel(unit)
    note = panels[1][2]
    note.axis("off")
    item = "Fig. 5" if column == "count" else "Fig. 6"
    said = load("rlver_fig5_6").query("item == @item")
    text = "\n".join(
        f"{row}:\n   {column} {value:g}"
        for row, column, value in said[["row", "column", "value"]].to_numpy()
    )
    how = f"All panels: {source}.\n"
    if column == "change":
        how += f"Open: fewer than {FEW} uses.\nUnused: a gap.\n"
    note.text(0, 1, f"{how}Printed (7B policy, {item}):\n{text}",
              va="top", fontsize=7, transform=note.transAxes)  # fmt: skip
    _legend(figure, points)
    said = said.rename(columns={"row": "label", "column": "group", "value": column})
    return figure, axes[: len(GROUPS)], said[["label", "group", column, "note"]]


def _groups(points: pd.DataFrame) -> pd.DataFrame:
    return points[points["group"].isin(GROUPS)]


def cognition_paths(points: pd.DataFrame, source: str = DEMO):
    """Figure 7: the way over the map of social cognition; below, the printed way.

    Offline, own places are a formula's (`scoring.social_cognition`); the printed ones
    are a model's.

    Args:
        points: of `place_points`, at most one label a printed run. source: names the
            runs.
    """
    printed = []
    labels = list(points["label"].unique())
    figure, axes = look.grid(2, len(labels), 5.0, width=9.5)
    for column, label in enumerate(labels):
        colour, mark, line = look_of(label)
        ax, path = axes[0][column], points[points["label"] == label].sort_values("step")
        ax.plot(path["x"], path["y"], f"{mark}{line}", color=colour, ms=3.5, lw=0.9)
        there = path.dropna(subset=["x", "y"])
        ends = ((there[:1], "o", "none", -9), (there[-1:], "*", colour, 3))
        for at, shape, fill, below in ends:
            for step, x, y in at[["step", "x", "y"]].to_numpy():
                ax.plot(x, y, shape, ms=9, mfc=fill, mec=look.BLACK)
                ax.annotate(f"{step:.0f}", (x, y), (7, below), fontsize=7,
                            textcoords="offset points")  # fmt: skip
        ax.axhline(0, color=look.BLACK, lw=0.7)
        ax.axvline(0, color=look.BLACK, lw=0.7)
        ax.set(xlim=(-5, 5), ylim=(-5, 5), aspect="equal", xticks=range(-5, 6, 5),
               yticks=range(-5, 6, 5), xlabel="structured to creative")  # fmt: skip
        ax.set_title(f"{label}\n{source}")
        cells = draw_printed_cells(axes[1][column], variant(label))
        printed.append(cells.rename(columns={"run": "label"}))
        axes[1][column].set_ylabel("")
    axes[0][0].set_ylabel("solution to empathy")
    axes[1][0].set_ylabel("solution to empathy")
    return figure, _beside(points, source, *printed)


def capabilities(points: pd.DataFrame, source: str = f"{DEMO}: scripted scorer"):
    """Figures 2 and 3: the five capabilities with intervals, and what the text prints.

    Points instead of the paper's radar: six labels would hide each other there.

    Args:
        points: of `capability_points`. source: names the runs and the scorer.
    """
    figure, axes = look.grid(2, 1, 4.4, gridspec_kw={"height_ratios": [2.2, 1]},
                             sharex=True)  # fmt: skip
    (own,), (said,) = axes
    labels = list(points["label"].unique())
    for i, label in enumerate(labels):
        part = points[points["label"] == label].set_index("capability")
        part = part.loc[list(CAPABILITIES)]
        x = np.arange(len(part)) + 0.7 * ((i + 0.5) / len(labels) - 0.5)
        colour, mark, line = look_of(label)
        fill = "white" if line == "--" else colour
        error = np.abs([part["value"] - part["low"], part["high"] - part["value"]])
        own.errorbar(x, part["value"], error, fmt=mark, color=colour, mfc=fill, ms=5,
                     elinewidth=1, label=label)  # fmt: skip
        said.plot(x, part["printed"], mark, color=colour, mfc=fill, ms=5)
    for ax, title in (
        (own, source),
        (said, "printed where the text names a value (7B policy, rated by a model)"),
    ):
        ax.set_ylim(0.9, 5.1)
        ax.set_yticks(range(1, 6))
        ax.set_ylabel("score (1 to 5)")
        ax.set_title(title)
        ax.grid(axis="x", visible=False)
        for edge in range(1, len(CAPABILITIES)):
            ax.axvline(edge - 0.5, color=look.LIGHT, lw=0.8)
    said.set_xticks(range(len(CAPABILITIES)), CAPABILITIES)
    own.tick_params(labelbottom=True)
    figure.legend(*own.get_legend_handles_labels(), loc="outside lower center", ncols=6)
    return figure, points


def diagnostics(
    points: pd.DataFrame, names: Mapping[str, str] = LOGGED, source: str = DEMO
):
    """How training went: one panel a logged number, running means of SMOOTH steps.

    A line is the mean over seeds, its band their lowest and highest.

    Args:
        points: of `log_points`. names: logged name -> name and unit of its axis.
            source: names the runs.
    """
    figure, panels = look.grid(2, -(-len(names) // 2), 4.4)
    axes = list(panels.flat)
    smooth = points.copy()
    runs = smooth.groupby(["label", "seed"])
    for name in names:
        smooth[name] = runs[name].transform(
            lambda values: values.rolling(SMOOTH, min_periods=1).mean()
        )
    for ax, (name, unit) in zip(axes, names.items(), strict=False):
        for label, part in smooth.groupby("label", sort=False):
            if part[name].notna().any():
                _band(ax, label, part, name, dots=False)
        ax.set_title(unit)
        _steps(ax)
    for ax in axes[len(names) :]:
        ax.axis("off")
    figure.suptitle(
        f"{source}; running mean of {SMOOTH} steps; "
        "band: lowest to highest of the seeds",
        fontsize=8,
    )
    _legend(figure, points)
    return figure, points


def _steps(ax) -> None:
    ax.set_xlabel("step")
    ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))


def _beside(points: pd.DataFrame, source: str, *said: pd.DataFrame) -> pd.DataFrame:
    """What is drawn, own and printed, told apart by `source`."""
    printed = [part.assign(source="printed") for part in said]
    return pd.concat([points.assign(source=source), *printed], ignore_index=True)


def _legend(figure, points: pd.DataFrame) -> None:
    """One entry a label, under the panels."""
    marks = []
    for label in points["label"].unique():
        colour, mark, line = look_of(label)
        style = {"color": colour, "marker": mark, "ls": line, "ms": 4, "lw": 1.2}
        marks.append(Line2D([], [], label=label, **style))
    figure.legend(handles=marks, loc="outside lower center", ncols=6)


def _band(ax, label: str, runs: pd.DataFrame, name: str, dots: bool = True) -> None:
    """Mean over seeds as a line, lowest to highest as a band; a few marks on a line
    that has no dots."""
    colour, mark, line = look_of(label)
    by_step = runs.groupby("step")[name]
    mean, low, high = by_step.mean(), by_step.min(), by_step.max()
    ax.fill_between(mean.index, low, high, color=colour, alpha=0.18, lw=0)
    every = 1 if dots else max(1, len(mean) // 6)
    ax.plot(mean.index, mean, f"{mark}{line}", color=colour, ms=3.5, lw=1.1,
            markevery=every)  # fmt: skip
