"""Figures 1, 2 and 4 of EMPA, drawn by the kit: two diagrams and one storyboard.

The diagrams hold the kit's own words. The storyboard is plotted from the numeric record
of one released dialogue; the paper's own example is not identified.
"""

import numpy as np
import pandas as pd

from helpers.reporting import figures as look
from helpers.scoring.epm import Trajectory
from helpers.scoring.rubric import IEDR_ITEMS, NEG_VALUE, PROG_VALUE

ASSUMPTIONS = [
    ("what counts", "a task that is done or not", "a person who feels understood"),
    ("the user", "states the goal, does not change", "hides the need, changes by turn"),
    ("evidence", "the last state of the world", "the whole path of the talk"),
    ("a good turn", "any step, order matters little", "the right step for now"),
    ("harm", "wasted steps", "steps away, hard to take back"),
]


def assumptions():
    """Figure 1: what agent evaluation assumes, and what empathy asks for."""
    figure, ax = look.blank(2.6)
    ax.text(0.36, 0.95, "agent benchmark", ha="center", fontweight="bold")
    ax.text(0.80, 0.95, "empathic dialogue", ha="center", fontweight="bold")
    for i, (topic, agent, empathy) in enumerate(ASSUMPTIONS):
        y = 0.75 - i * 0.18
        ax.text(0.0, y + 0.07, topic, va="center", fontsize=8, style="italic")
        look.box(ax, 0.17, y, 0.38, 0.14, agent, look.GREY)
        look.box(ax, 0.60, y, 0.40, 0.14, empathy, look.BLUE)
    data = pd.DataFrame(ASSUMPTIONS, columns=["topic", "agent benchmark", "empathy"])
    return figure, data


AXES = {
    "C": ("Cognitive", "to be understood", "names what is really at stake"),
    "A": ("Affective", "to be felt with", "meets the feeling, said or not"),
    "P": ("Proactive", "to be strengthened", "gives back worth and a next step"),
}


def axes_of_need():
    """Figure 4: the three axes, their IEDR items and the steps a turn can take."""
    figure, ax = look.blank(2.7)
    rows = []
    for k, (axis, (name, need, progress)) in enumerate(AXES.items()):
        x, colour = k * 0.345, look.AXIS_COLOUR[axis]
        items = {i: spec for i, spec in IEDR_ITEMS.items() if i[0] == axis}
        worst = -sum(3 * unit for unit, _ in items.values())
        steps = sorted(
            {p + n for p in PROG_VALUE.values() for n in NEG_VALUE[axis].values()}
        )
        look.box(ax, x, 0.82, 0.31, 0.16, f"{axis}  {name}\n{need}", colour, 8.5)
        listed = "\n".join(
            f"{i}: {text.split(':')[0]} (x{unit})" for i, (unit, text) in items.items()
        )
        look.box(ax, x, 0.43, 0.31, 0.32, listed, colour, 6.8)
        look.box(ax, x, 0.22, 0.31, 0.14, f"a good turn\n{progress}", colour, 7.2)
        text = f"start: −{-worst} to 0\none turn: −{-steps[0]} to +{steps[-1]}"
        look.box(ax, x, 0.0, 0.31, 0.15, text, colour, 7.5)
        rows += [(axis, name, i, unit, text) for i, (unit, text) in items.items()]
    data = pd.DataFrame(rows, columns=["axis", "name", "item", "unit", "meaning"])
    return figure, data


def storyboard(t: Trajectory, levels: np.ndarray, title: str):
    """Figure 2: one dialogue, judged by a sum of levels and by direction.

    Args:
        t: the scored dialogue of T turns.
        levels: (T, 6) levels of its turns.
        title: model and case.
    """
    T = len(t.v)
    turn = np.arange(1, T + 1)
    figure, axes = look.grid(1, 2, 2.7, gridspec_kw={"width_ratios": [3, 2]})
    ax = axes[0][0]
    scalar = np.r_[0, levels.sum(1).cumsum()]
    ax.plot(
        np.r_[0, turn],
        scalar,
        "s-",
        color=look.ORANGE,
        markersize=3,
        label="scalar: sum of levels so far",
    )
    ax.plot(
        np.r_[0, turn],
        t.total_energy,
        "o-",
        color=look.BLUE,
        markersize=3,
        label="directional: energy so far",
    )
    need = -t.projection[0]
    ax.axhline(need, color=look.BLACK, linewidth=0.8, linestyle="--")
    ax.text(0.5, need - 1, "energy needed for success", va="top", fontsize=7)
    ax.axhline(0, color=look.BLACK, linewidth=0.6)
    ax.set_xlabel("turn")
    ax.set_ylabel("levels, or rubric points")
    ax.set_title(title)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_ylim(min(t.total_energy.min(), 0) - 6, max(scalar.max(), need) + 22)
    ax.legend(loc="upper left")
    ax = axes[0][1]
    A, P = t.P[:, 1], t.P[:, 2]
    ax.plot(A, P, "-", color=look.BLUE, linewidth=0.8)
    points = ax.scatter(A, P, c=np.arange(T + 1), cmap="cividis", s=14, zorder=3)
    ax.plot(0, 0, "*", color=look.BLACK, markersize=9)
    ax.annotate(
        "start", (A[0], P[0]), xytext=(6, -10), textcoords="offset points", fontsize=7
    )
    ax.set_xlabel("A (affective), points")
    ax.set_ylabel("P (proactive), points")
    ax.set_title("path; the star is the goal")
    figure.colorbar(points, ax=ax, label="turn")
    data = pd.DataFrame(t.P, columns=["C", "A", "P"])
    data.insert(0, "turn", np.arange(T + 1))
    return figure, data.assign(energy=t.total_energy, level_sum=scalar)
