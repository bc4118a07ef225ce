"""EMPA's human pilot: a blank form for raters and the analysis of filled ones.

The paper reports a pilot (appendix 11) in which people rate replies in the first
person, as the persona, on C, A and P; it gives no scale and no agreement number. The
scale of -2 to 2 is the kit's own choice. No ratings are shipped.
"""

import numpy as np
import pandas as pd

from helpers.reporting.stats import krippendorff_alpha
from helpers.scoring.replay import Dialogues
from helpers.scoring.rubric import AXES

SCALE = (-2, 2)


def blank_form(dialogues: Dialogues, rng: np.random.Generator) -> pd.DataFrame:
    """One dialogue a case, drawn at random, and one early, middle and late turn of it.

    Returns:
        One row an item: item, model, case, turn, and empty columns rater, C, A, P.
    """
    rows = []
    for case, group in dialogues.frame.groupby("case"):
        chosen = group.iloc[rng.integers(len(group))]
        for part in (1 / 6, 3 / 6, 5 / 6):
            turn = 1 + int(part * chosen["turns"])
            rows.append({"model": chosen["model"], "case": case, "turn": turn})
    form = pd.DataFrame(rows)
    form.insert(0, "item", np.arange(1, len(form) + 1))
    form["rater"] = None
    for axis in AXES:
        form[axis] = np.nan
    return form


def analyse(filled: pd.DataFrame, dialogues: Dialogues) -> pd.DataFrame:
    """Agreement among raters and with the judge, per axis.

    Args:
        filled: the forms of all raters, one below the other.
        dialogues: the released dialogues, for the judge's increments.

    Returns:
        Per axis: raters, items, Krippendorff's alpha (interval), and the rank
        correlation of the raters' mean with the judge's increment; None where it
        cannot be computed.

    Raises:
        ValueError: a rating outside SCALE, or an item rated twice by one rater.
    """
    ratings = filled[list(AXES)].to_numpy(dtype=float)
    if (np.abs(ratings[~np.isnan(ratings)]) > SCALE[1]).any():
        raise ValueError(f"a rating is outside {SCALE[0]} to {SCALE[1]}")
    if filled.duplicated(["rater", "item"]).any():
        raise ValueError("an item is rated twice by the same rater")
    frame = dialogues.frame.reset_index().set_index(["model", "case"])["index"]
    rows = []
    for k, axis in enumerate(AXES):
        table = filled.pivot(index="rater", columns="item", values=axis)
        mean = filled.groupby("item")[axis].mean().rename("people")
        place = filled.drop_duplicates("item").set_index("item")
        judge = [
            dialogues.v[frame[row["model"], row["case"]], row["turn"] - 1, k]
            for _, row in place.iterrows()
        ]
        both = pd.DataFrame({"people": mean, "judge": pd.Series(judge, place.index)})
        both = both.dropna().rank()
        enough = len(both) > 2 and (both.nunique() > 1).all()
        rows.append(
            {
                "axis": axis,
                "raters": len(table),
                "items": int(table.notna().any().sum()),
                "alpha": krippendorff_alpha(table),
                "correlation with judge": both["people"].corr(both["judge"])
                if enough
                else None,
            }
        )
    return pd.DataFrame(rows)
