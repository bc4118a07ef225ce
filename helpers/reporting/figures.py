"""One look for every figure: theme, palette, markers, and the shapes used often.

Figures are made at their printed width (7 inches, text width of a page) with 8-point
text, so that they stay legible in a column and on a slide. Colours are the colour-blind
safe palette of Okabe and Ito; a marker or a hatch says the same thing a second time.
"""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns

WIDTH = 7.0  # inches

BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PINK = (
    "#000000",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#F0E442",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
)
GREY = "#8A8A8A"
LIGHT = "#DDDDDD"

AXIS_COLOUR = {"C": BLUE, "A": ORANGE, "P": GREEN}
AXIS_NAME = {"C": "cognitive", "A": "affective", "P": "proactive"}
ENDING_COLOUR = {
    "success, geometric": GREEN,
    "success, positional": SKY,
    "collapse": RED,
    "oscillation": PINK,
    "timeout": GREY,
}
ENDING_HATCH = {
    "success, geometric": "..",
    "success, positional": "",
    "collapse": "//",
    "oscillation": "xx",
    "timeout": "\\\\",
}


def theme() -> None:
    """Set the look of all figures that follow."""
    sns.set_theme(
        context="paper",
        style="whitegrid",
        rc={
            "font.size": 8,
            "axes.titlesize": 8.5,
            "axes.labelsize": 8,
            "xtick.labelsize": 7.5,
            "ytick.labelsize": 7.5,
            "legend.fontsize": 7.5,
            "figure.dpi": 120,
            "axes.edgecolor": "#444444",
            "grid.color": "#E4E4E4",
            "grid.linewidth": 0.6,
            "axes.titleweight": "bold",
            "hatch.linewidth": 0.6,
            "figure.constrained_layout.use": True,
            "legend.frameon": False,
        },
    )


def grid(rows: int, columns: int, height: float, width: float = WIDTH, **kwargs):
    """A figure of rows x columns panels; returns (figure, array of axes)."""
    return plt.subplots(rows, columns, figsize=(width, height), squeeze=False, **kwargs)


def bars_with_intervals(
    ax, frame: pd.DataFrame, label: str, colour: str = BLUE, reference=None
) -> None:
    """Horizontal bars, one a row of `frame`, first row on top.

    Args:
        frame: columns name, estimate, low, high (NaN low or high: no whisker).
        label: name and unit of the x axis.
        reference: x positions to mark with a small black diamond, one a row, or None.
    """
    y = np.arange(len(frame))[::-1]
    ax.barh(y, frame["estimate"], color=colour, height=0.72)
    low = (frame["estimate"] - frame["low"]).to_numpy(dtype=float)
    high = (frame["high"] - frame["estimate"]).to_numpy(dtype=float)
    real = ~np.isnan(low)
    ax.errorbar(
        frame["estimate"][real],
        y[real],
        xerr=[low[real], high[real]],
        fmt="none",
        ecolor=BLACK,
        elinewidth=0.8,
        capsize=1.5,
    )
    if reference is not None:
        ax.plot(reference, y, "D", color=BLACK, markersize=2.6, linestyle="none")
    ax.set_yticks(y, frame["name"])
    ax.set_ylim(-0.6, len(frame) - 0.4)
    ax.set_xlabel(label)
    ax.grid(axis="y", visible=False)


def radar(ax, values: Sequence[float], names: Sequence[str], top: float, title: str):
    """One radar, its title followed by the mean of its axes; `ax` is a polar axis."""
    angle = np.linspace(0, 2 * np.pi, len(values), endpoint=False)
    closed = np.r_[angle, angle[0]]
    ax.set_theta_offset(np.pi / 2)
    ax.set_theta_direction(-1)
    ax.fill(closed, np.r_[values, values[0]], color=SKY, alpha=0.35, linewidth=0)
    ax.plot(closed, np.r_[values, values[0]], color=BLUE, linewidth=1.1)
    ax.plot(angle, values, "o", color=BLUE, markersize=2)
    ax.set_ylim(0, top)
    ax.set_yticks([50, 100], ["50", "100"], fontsize=5.5, color=GREY)
    ax.set_rlabel_position(30)
    ax.set_xticks(angle, names, fontsize=6)
    ax.tick_params(axis="x", pad=-2)
    ax.grid(color="#CFCFCF", linewidth=0.5)
    ax.spines["polar"].set_visible(False)
    ax.set_title(f"{title}\nmean of axes {np.mean(values):.0f}", pad=7)


def box(ax, x, y, width, height, text: str, colour: str, size: float = 8) -> None:
    """A rounded box with text in it, for drawn diagrams (axes coordinates 0..1)."""
    ax.add_patch(
        plt.matplotlib.patches.FancyBboxPatch(
            (x, y),
            width,
            height,
            boxstyle="round,pad=0,rounding_size=0.015",
            facecolor=colour + "22",
            edgecolor=colour,
            linewidth=1,
        )
    )
    ax.text(
        x + width / 2, y + height / 2, text, ha="center", va="center", fontsize=size
    )


def blank(height: float, width: float = WIDTH):
    """An empty canvas with coordinates 0..1, for drawn diagrams."""
    figure, ax = plt.subplots(figsize=(width, height))
    ax.set_xlim(-0.01, 1.01)
    ax.set_ylim(-0.02, 1.02)
    ax.axis("off")
    return figure, ax
