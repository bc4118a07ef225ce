"""RAPO's human preference: a blank form for raters, its key, and the analysis.

The paper reports that people prefer its policy in pairs; rates, number of samples,
raters and agreement are not known. Nothing is shipped but the form. A rater sees two
talks with one person, A and B, and writes A, B or tie. Which policy is which stands in
the key only, which is kept apart; order of the rows and of the two talks is drawn.

Paper: RAPO, arXiv 2603.15434 (secondary summary).
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from helpers.agents.support_judge import messages
from helpers.reporting.stats import cluster_bootstrap, krippendorff_alpha
from helpers.sandbox.dialogue import Dialogue

CHOICES = ("A", "B", "tie")


def blank_form(
    dialogues: Mapping[str, Sequence[Dialogue]], rng: np.random.Generator
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """One item a case that both policies have, in drawn order.

    Args:
        dialogues: exactly two policies, label -> dialogues, at most one a case.
        rng: draws which talk is A and the order of the items.

    Returns:
        (form, key). form: item, talk A, talk B, and empty columns rater and better.
        key: item, case, A, B (labels).

    Raises: ValueError for another number of policies, or no case in common.
    """
    if len(dialogues) != 2:
        raise ValueError(f"{len(dialogues)} policies: two are compared")
    talks = {
        label: {d.scenario_id: d for d in rows if d.failure is None and d.turns}
        for label, rows in dialogues.items()
    }
    cases = sorted(set.intersection(*(set(rows) for rows in talks.values())))
    if not cases:
        raise ValueError("no case that both policies finished")
    form, key = [], []
    for item, place in enumerate(rng.permutation(len(cases)), 1):
        case = cases[place]
        a, b = rng.permutation(list(talks))
        form.append((item, _text(talks[a][case]), _text(talks[b][case])))
        key.append((item, case, a, b))
    sheet = pd.DataFrame(form, columns=["item", "talk A", "talk B"])
    sheet["rater"], sheet["better"] = None, None
    return sheet, pd.DataFrame(key, columns=["item", "case", "A", "B"])


def analyse(
    filled: pd.DataFrame,
    key: pd.DataFrame,
    of: str,
    draws: int,
    rng: np.random.Generator,
    level: float = 0.95,
) -> dict[str, float | int | None]:
    """Wins of a policy with an interval, and the agreement of the raters.

    Args:
        filled: the forms of all raters, one below the other. of: label whose wins are
            counted. draws, rng, level: of the interval; items are resampled.

    Returns:
        raters, items, win, tie, loss (counts of answers), share (wins and half the
        ties; mean over items of the mean over raters), low, high (None for one item),
        alpha (Krippendorff, of loss, tie, win as -1, 0, 1; None where it cannot be).

    Raises:
        ValueError: an unfilled form, a choice out of CHOICES, an item rated twice by
            one rater, an item or label that the key does not know.
    """
    blank = filled[["rater", "better"]].isna().any(axis=1)
    if filled.empty or blank.any():
        raise ValueError(f"{int(blank.sum())} of {len(filled)} rows are not filled in")
    if strange := set(filled["better"]) - set(CHOICES):
        raise ValueError(f"better = {strange.pop()!r}: one of {', '.join(CHOICES)}")
    if filled.duplicated(["rater", "item"]).any():
        raise ValueError("an item is rated twice by the same rater")
    if lost := set(filled["item"]) - set(key["item"]):
        raise ValueError(f"item {lost.pop()} is not in the key")
    rows = filled.merge(key, on="item")
    if not ((rows["A"] == of) | (rows["B"] == of)).all():
        raise ValueError(f"{of!r} is not in every pair of the key")
    chosen = [row[row["better"]] if row["better"] != "tie" else None
              for row in rows.to_dict("records")]  # fmt: skip
    rows["result"] = [0 if c is None else 1 if c == of else -1 for c in chosen]
    worth = (rows["result"] + 1) / 2
    by_item = worth.groupby(rows["item"]).mean()
    share = cluster_bootstrap(by_item, by_item.index, draws, rng, level)
    table = rows.pivot(index="rater", columns="item", values="result")
    counts = rows["result"].value_counts()
    return {
        "raters": rows["rater"].nunique(), "items": len(by_item),
        "win": int(counts.get(1, 0)), "tie": int(counts.get(0, 0)),
        "loss": int(counts.get(-1, 0)), "share": share.estimate,
        "low": share.low, "high": share.high, "alpha": krippendorff_alpha(table),
    }  # fmt: skip


def _text(dialogue: Dialogue) -> str:
    names = {"user": "Person", "assistant": "Supporter"}
    return "\n".join(f"{names[m.role]}: {m.content}" for m in messages(dialogue))
