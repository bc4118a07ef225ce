"""The horse race as one picture: every method, every measure, both users."""

import numpy as np
import pandas as pd

from helpers.reporting import figures as look
from helpers.reporting.race_looks import look_of
from helpers.reporting.race_scores import MEASURES


def picture(own: pd.DataFrame, order: list[str], demo: str):
    """A row a method, best mean rank on top; a panel a measure. Full marks: the user of
    the training; open marks: the user that was held out. Bars: interval over cases; the
    dotted line is the start.

    Args:
        own: of `race_scores.board`. order: labels, best first.
    """
    names = [m.name for m in MEASURES]
    figure, axes = look.grid(1, len(names), 1.1 + 0.27 * len(order), sharey=True)
    y = dict(zip(order, np.arange(len(order))[::-1], strict=True))
    users = list(dict.fromkeys(own["user"]))
    for ax, one in zip(axes[0], MEASURES, strict=True):
        part = own[own["measure"] == one.name]
        for place, user in enumerate(users):
            for row in part[part["user"] == user].to_dict("records"):
                colour, mark, _ = look_of(row["label"])
                at = y[row["label"]] + (0.17 if place == 0 else -0.17)
                ax.plot([row["low"], row["high"]], [at, at], color=colour, lw=1.1)
                ax.plot(row["value"], at, mark, ms=4.5, color=colour, mew=1,
                        mfc=colour if place == 0 else "white")  # fmt: skip
        base = part[(part["label"] == "base") & (part["user"] == users[0])]
        ax.axvline(base["value"].iloc[0], color=look.BLACK, lw=0.8, ls=":")
        ax.set_title(one.name, fontsize=7.5)
        ax.set_xlabel(one.unit.replace(", ", ",\n"), fontsize=7)
        for at in range(0, len(order), 2):
            ax.axhspan(at - 0.5, at + 0.5, color="#F5F5F5", zorder=0, lw=0)
        ax.grid(axis="y", visible=False)
    axes[0][0].set_yticks([*y.values()], [*y])
    axes[0][0].set_ylim(-0.6, len(order) - 0.4)
    held = f"; open: the {users[1]} user, held out" if len(users) > 1 else ""
    figure.suptitle(
        f"{demo}; full: the {users[0]} user of the training{held}; dotted: the start",
        fontsize=8,
    )
    return figure, own
