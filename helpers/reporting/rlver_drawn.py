"""RLVER's Figure 1, drawn by the kit, and the printed points of Figures 4 and 7.

The two `draw_printed_*` functions fill a panel of their own with what the paper prints,
to stand beside a panel with the kit's runs. They title the panel as printed: a 7B
policy with model-played users and a tiny policy with scripted ones share no scale.

Paper: RLVER (arXiv 2507.03112) Figures 1, 4 and 7.
"""

import matplotlib.pyplot as plt
import pandas as pd

from helpers.reporting import figures as look
from helpers.reporting.rlver_printed import curve_points, map_cells

PRINTED = """7B policy, users played by DeepSeek-V3,
{n} dialogues a point. Filled: sure; open: run
inferred; cross: a guess"""

# One look a run, the same everywhere: colour and marker.
RUN_LOOK = {
    "PPO think": (look.BLUE, "o"),
    "PPO no-think": (look.SKY, "s"),
    "GRPO think": (look.RED, "D"),
    "GRPO no-think": (look.ORANGE, "^"),
}

# Figure 1: part, text, colour, (x, y, width, height).
PARTS = [
    ("Scenario", "persona, background,\nhidden intention",
     look.GREY, (0.0, 0.66, 0.25, 0.28)),
    ("Simulated user", "feels: emotion e, 0 to 100;\nthen says the next line",
     look.ORANGE, (0.345, 0.66, 0.28, 0.28)),
    ("Policy", "thinks unseen, or not;\nthen says the reply",
     look.BLUE, (0.735, 0.66, 0.255, 0.28)),
    ("End of the dialogue", "the user takes leave,\ne is 0 or below,\n"
     "or 8 replies are said", look.GREY, (0.0, 0.08, 0.25, 0.33)),
    ("Reward", "the last emotion only:\nmax(e, 0) / 100",
     look.GREEN, (0.345, 0.11, 0.28, 0.27)),
    ("PPO", "1 dialogue a prompt; a critic,\nGAE with γ = λ = 1",
     look.PINK, (0.735, 0.265, 0.255, 0.215)),
    ("GRPO", "4 dialogues a prompt;\neach against its group",
     look.PINK, (0.735, 0.015, 0.255, 0.215)),
]  # fmt: skip

# Label, its place, start and end.
ARROWS = [
    ("", (0, 0), (0.25, 0.80), (0.345, 0.80)),
    ("line", (0.668, 0.885), (0.625, 0.85), (0.735, 0.85)),
    ("reply", (0.665, 0.755), (0.735, 0.72), (0.625, 0.72)),
    ("turn by turn, until", (0.345, 0.515), (0.485, 0.66), (0.125, 0.41)),
    ("then", (0.283, 0.28), (0.25, 0.245), (0.345, 0.245)),
    ("either", (0.65, 0.28), (0.625, 0.245), (0.715, 0.245)),
    ("update", (0.872, 0.575), (0.862, 0.50), (0.862, 0.66)),
]


def framework():
    """Figure 1: the loop of a dialogue, and the way from its end to the policy."""
    figure, ax = look.blank(3.0)
    for name, text, colour, (x, y, width, height) in PARTS:
        look.box(ax, x, y, width, height, "", colour)
        middle = x + width / 2
        ax.text(middle, y + height - 0.06, name, ha="center", va="center",
                fontsize=8.5, fontweight="bold")  # fmt: skip
        ax.text(middle, y + (height - 0.08) / 2, text, ha="center", va="center",
                fontsize=7.5, linespacing=1.25)  # fmt: skip
    for name, (x, y), start, end in ARROWS:
        style = {"arrowstyle": "-|>", "lw": 1.0, "color": look.BLACK}
        style |= {"shrinkA": 0, "shrinkB": 0}
        ax.annotate("", xy=end, xytext=start, arrowprops=style)
        ax.text(x, y, name, fontsize=7, va="center")
    ax.plot([0.722, 0.715, 0.715, 0.722], [0.48, 0.48, 0.015, 0.015], lw=1,
            color=look.BLACK)  # fmt: skip
    data = pd.DataFrame(
        [(name, " ".join(text.split())) for name, text, *_ in PARTS],
        columns=["part", "text"],
    )
    return figure, data


def draw_printed_curves(ax: plt.Axes, algorithm: str) -> pd.DataFrame:
    """Figure 4, emotion: the printed points of one algorithm, in a panel of its own.

    Filled marks are sure, open ones are labels of the picture whose run is inferred, a
    cross is a guess. The steps of PPO's inner points are not known: points stand in
    their order.

    Args:
        algorithm: "PPO" or "GRPO".

    Returns:
        the rows of `curve_points` that are drawn.

    Raises:
        ValueError: another algorithm.
    """
    points = curve_points()
    points = points[points["run"].str.startswith(f"{algorithm} ")]
    if points.empty:
        raise ValueError(f"no printed curve of {algorithm!r}: PPO or GRPO")
    for run, part in points.groupby("run", sort=False):
        colour, mark = RUN_LOOK[run]
        ax.plot(part["order"], part["emotion"], "-", color=colour, lw=0.9, alpha=0.5)
        for certainty, dots in part.groupby("certainty"):
            shape = "x" if certainty == "uncertain" else mark
            fill = colour if certainty == "sure" else "white"
            ax.plot(dots["order"], dots["emotion"], shape, mec=colour, mfc=fill,
                    ms=4.5, color=colour)  # fmt: skip
        last = part.iloc[-1]
        ax.annotate(f"{run.split()[1]} {last['emotion']:.1f}",
                    (last["order"], last["emotion"]), (6, 0), va="center",
                    textcoords="offset points", fontsize=7)  # fmt: skip
    ends = points.groupby("order")["step"].first()
    ax.set_xticks(ends.index, ["" if pd.isna(s) else f"{s}" for s in ends])
    ax.set_xlim(-0.4, ends.index.max() * 1.4)
    ax.set_ylim(0, 100)
    what = "step" if ends.notna().all() else "points in order; step known at the ends"
    ax.set_xlabel(what)
    ax.set_ylabel("mean final emotion (0 to 100)")
    ax.set_title(f"{algorithm}, printed")
    note = PRINTED.format(n=points["n"].iloc[0])
    ax.text(0.98, 0.03, note, transform=ax.transAxes, ha="right", va="bottom",
            fontsize=6.3, linespacing=1.3, color="#555555")  # fmt: skip
    return points


def draw_printed_cells(ax: plt.Axes, run: str) -> pd.DataFrame:
    """Figure 7: the printed path of one run over the map of social cognition.

    A cell is the square of the printed grid that holds the mark (inferred), its number
    the training step ("?": one of two cells); a star is an end point that the text
    names.

    Args:
        run: one of RUN_LOOK.

    Returns:
        the rows of `map_cells` that are drawn.

    Raises:
        ValueError: another run.
    """
    cells = map_cells()
    cells = cells[cells["run"] == run]
    if cells.empty:
        raise ValueError(f"no printed path of {run!r}; known: {[*RUN_LOOK]}")
    colour, _ = RUN_LOOK[run]
    squares = cells.dropna(subset=["x low"])
    sides = ["x low", "x high", "y low", "y high"]
    for (left, right, low, high), same in squares.groupby(sides):
        unsure = right - left > 1  # in one of two cells
        size = right - left, high - low
        shade = {"fc": colour, "ec": colour, "alpha": 0.18, "lw": 0.8}
        ax.add_patch(plt.Rectangle((left, low), *size, **shade))
        steps = "\n".join(f"{step}{'?' * unsure}" for step in same["step"])
        ax.text(right - 0.5, (low + high) / 2, steps, ha="center", va="center",
                fontsize=6.5, linespacing=0.9)  # fmt: skip
    for end in cells.dropna(subset=["x"]).itertuples():
        ax.plot(end.x, end.y, "*", color=colour, ms=9)
        ax.annotate(f"{end.step}", (end.x, end.y), (6, 0), va="center", fontsize=6.5,
                    textcoords="offset points")  # fmt: skip
    ax.axhline(0, color=look.BLACK, lw=0.7)
    ax.axvline(0, color=look.BLACK, lw=0.7)
    ax.set_xlim(-5, 5)
    ax.set_ylim(-5, 5)
    ax.set_aspect("equal")
    ax.set_xticks(range(-5, 6, 5))
    ax.set_yticks(range(-5, 6, 5))
    ax.set_xlabel("structured to creative")
    ax.set_ylabel("solution to empathy")
    ax.set_title(f"{run}, printed")
    return cells
