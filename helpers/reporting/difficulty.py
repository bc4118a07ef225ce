"""Does a user that is neither too easy nor too hard teach most (an inverted U)?

The same method is trained with four users; each is placed by the rate at which it
accepts one mixed set of replies, and every trained policy meets the same test users.
The inverted U is called shown where the best of the inner users beats both ends with
paired intervals that exclude zero.

Paper: RLVER (arXiv 2507.03112) section 3.4 and Table 3, which has two of the users.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from helpers.agents.calibration import Probe
from helpers.learning.results import Result, scores
from helpers.learning.worlds import DIFFICULTY
from helpers.reporting import figures as look
from helpers.reporting.learning_tables import AS_SAID, by_case, interval, verdict
from helpers.reporting.learning_users import ACCEPTANCE, user_rates
from helpers.reporting.stats import paired_difference
from helpers.reporting.tables import format_number, signed

MARKS = {"vanilla": (look.BLUE, "o"), "challenging": (look.RED, "s"),
         "second": (look.GREEN, "D")}  # fmt: skip


def table(
    results: Sequence[Result],
    base: Result,
    probes: Sequence[Probe],
    draws: int,
    rng: np.random.Generator,
    level: float = 0.95,
) -> pd.DataFrame:
    """One row a training user and test user.

    Args:
        results: runs of one method with the users of DIFFICULTY. base: their start.
        probes: of `calibration.mixed_set`.

    Returns:
        trained with ("nobody" for the start), acceptance % with its interval, runs,
        user (met in the test), n, failed, score (mean final emotion, 0..100), low, high
        (cases resampled), by seed.
    """
    rates = user_rates(probes, {user: [] for user in DIFFICULTY}, draws, rng, level)
    rates = rates[rates["column"] == ACCEPTANCE].set_index("row")
    groups = {"nobody": [base]}
    for user in DIFFICULTY:
        groups[user] = [r for r in results if r.recipe.user == user]
    rows = []
    for trained, group in groups.items():
        rate = rates.reindex([trained]).iloc[0]
        for user in base.recipe.checks.users:
            if not group:
                continue
            frame = scores(group, user)
            score, low, high = interval(by_case(frame), draws, rng, level)
            seeds = frame["emotion"].astype(float).groupby(frame["seed"]).mean()
            rows.append(
                {"trained with": trained, "acceptance %": rate["value"],
                 "acceptance low": rate["low"], "acceptance high": rate["high"],
                 "runs": len(group), "user": user,
                 "n": int((~frame["failed"]).sum()),
                 "failed": int(frame["failed"].sum()), "score": score, "low": low,
                 "high": high,
                 "by seed": ", ".join(format_number(mean, 1) for mean in seeds)}
            )  # fmt: skip
    return pd.DataFrame(rows)


def inverted_u(
    results: Sequence[Result],
    users: Sequence[str],
    draws: int,
    rng,
    level: float = 0.95,
) -> pd.DataFrame:
    """One row a test user and end: the best inner training user against that end.

    Returns:
        user, best inner (by mean score), end, difference, low, high (cases), shown
        (the interval lies above 0).
    """
    rows = []
    ends, inner = (DIFFICULTY[0], DIFFICULTY[-1]), DIFFICULTY[1:-1]
    for user in users:
        groups = {name: [r for r in results if r.recipe.user == name]
                  for name in DIFFICULTY}  # fmt: skip
        cases = {name: by_case(scores(group, user)) for name, group in groups.items()}
        best = max(inner, key=lambda name: cases[name].mean())
        for end in ends:
            found = paired_difference(cases[best], cases[end], draws, rng, level)
            low = np.nan if found.low is None else found.low
            high = np.nan if found.high is None else found.high
            said = verdict(found.estimate, low, high)
            rows.append((user, best, end, found.estimate, low, high, said == AS_SAID))
    columns = "user,best inner,end,difference,low,high,shown".split(",")
    return pd.DataFrame(rows, columns=columns)


def sentences(found: pd.DataFrame) -> list[str]:
    """Whether the inverted U appears, one sentence a test user, from `inverted_u`."""
    made = []
    for user, rows in found.groupby("user", sort=False):
        parts = [
            f"{row['best inner']} less {row['end']} {signed(row['difference'])} "
            f"({signed(row['low'])} to {signed(row['high'])})"
            for row in rows.to_dict("records")
        ]
        head = "appears" if rows["shown"].all() else "does not appear"
        made.append(
            f"Tested with the {user} user, the inverted U {head}: {'; '.join(parts)}."
        )
    return made


def picture(frame: pd.DataFrame, demo: str):
    """Score against the training user's acceptance rate, one line a test user.

    Args:
        frame: of `table`.
    """
    figure, axes = look.grid(1, 1, 3.0, width=5.0)
    ax = axes[0][0]
    trained = frame[frame["trained with"] != "nobody"]
    for user, part in trained.groupby("user", sort=False):
        colour, mark = MARKS[user]
        part = part.sort_values("acceptance %")
        error = [part["score"] - part["low"], part["high"] - part["score"]]
        style = {"color": colour, "marker": mark, "ms": 5, "lw": 1.1, "capsize": 2}
        ax.errorbar(
            part["acceptance %"], part["score"], np.abs(error), label=user, **style
        )
        start = frame[(frame["trained with"] == "nobody") & (frame["user"] == user)]
        ax.axhline(start["score"].iloc[0], color=colour, lw=0.8, ls=":")
    names = trained.drop_duplicates("trained with")
    for row in names.to_dict("records"):
        ax.annotate(row["trained with"], (row["acceptance %"], 97), ha="center",
                    fontsize=7.5, va="top")  # fmt: skip
    ax.set(xlim=(-6, 106), ylim=(0, 100), ylabel="final emotion (0 to 100)")
    ax.set_xlabel("replies that the training user accepts (% of a mixed set)")
    figure.legend(loc="outside right center", title="tested with")
    figure.suptitle(f"{demo}; dotted: before training", fontsize=8)
    return figure, frame
