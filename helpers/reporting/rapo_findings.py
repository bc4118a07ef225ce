"""What of RAPO's claims shows at this scale, in sentences made from the numbers.

A difference is told apart where its interval excludes zero: the one over cases and
seeds, or with a single seed the one over cases. What goes the other way is said as
plainly, and no sentence holds a number that is not in the frames.

Paper: RAPO, arXiv 2603.15434 (abstract and a secondary summary; no table was at hand).
"""

from collections.abc import Sequence

import pandas as pd

from helpers.reporting.mapo_tables import apart, span
from helpers.reporting.tables import format_number, signed

NOTE = (
    "A few seeds: an interval over cases and seeds is wide and still crude. Distances "
    "are those of a tiny policy with users by rule, on no scale of the paper."
)
# What the summary of the paper says of a comparison (fact sheet, 4). more, less -> said
SAID = {
    ("RAPO", "sample-wise GRPO"): "higher (+12.4 % on EmoHarbor)",
    ("RAPO", "comparative_po"): "preferred by people",
    ("RAPO", "RAPO w/o reactions"): "without them self-absorbed",
    ("RAPO", "RAPO w/o distillation"): "without it blunt advice",
}
STEPS = [
    ("comparative_po", "sample-wise GRPO"),
    ("+ reactions", "comparative_po"),
    ("+ distillation", "+ reactions"),
    ("RAPO", "+ distillation"),
]


def told(pairs: pd.DataFrame) -> pd.DataFrame:
    """The pairs with what was found, and what the paper's summary says of them.

    Args:
        pairs: of `mapo_tables.pairs`. The column verdict goes: it speaks of a paper
            that states each direction, which this one does not.
    """
    keys = zip(pairs["more"], pairs["less"], strict=True)
    return pairs.drop(columns="verdict").assign(
        found=[apart(row) for row in pairs.to_dict("records")],
        **{"said of it": [SAID.get(key, "not mentioned") for key in keys]},
    )


def of_pairs(pairs: pd.DataFrame, what: str) -> list[str]:
    """One sentence a user: every pair with its difference and what was found.

    Args:
        pairs: of `told`. what: names the comparison, "The ladder" for instance.
    """
    sentences = []
    for user, part in pairs.groupby("user", sort=False):
        found = "; ".join(
            f"{row['more']} over {row['less']} {signed(row['difference'])} "
            f"({span(row)}): {_word(row['found'])}"
            for row in part.to_dict("records")
        )
        higher = int((part["found"] == "higher").sum())
        lower = int((part["found"] == "lower").sum())
        sentences.append(
            f"{what}, {user} user, distance in percentage points: {higher} of "
            f"{len(part)} differences are told apart upwards, {lower} downwards. "
            f"{found}."
        )
    return sentences


def of_teacher(table: pd.DataFrame) -> list[str]:
    """What a critique in the context does to one turn.

    Args:
        table: of `learning.teacher.quality_table`.
    """
    sentences = []
    for think, part in table.groupby("think", sort=False):
        rows = part.set_index("arm")
        arms = ", ".join(
            f"{arm} {signed(rows.loc[arm, 'change'])}" for arm in rows.index
        )
        mode = "thinking" if think else "not thinking"
        sentences.append(
            f"Change of the emotion in one turn, {mode}, by what stands in the "
            f"context: {arms}."
        )
    return sentences


def of_sweep(frame: pd.DataFrame) -> str:
    """The best weight of the verbal term, and which are told apart from none.

    Args:
        frame: of `mapo_tables.comparison` with the label of weight 0 as reference, and
            a column weight.
    """
    best = frame.loc[frame["distance"].idxmax()]
    rest = frame[frame["weight"] > 0]
    apart_from = [
        f"{row['weight']:g} ({signed(row['difference'])})"
        for row in rest.to_dict("records")
        if apart(row) in ("higher", "lower")
    ]
    return (
        f"Weight of the verbal term: {best['weight']:g} has the highest distance "
        f"({format_number(best['distance'], 1)} %). Told apart from 0: "
        f"{', '.join(apart_from) or 'none'} of {len(rest)}."
    )


def of_transfer(frame: pd.DataFrame) -> str:
    """Distance with the user of the training and with the other.

    Args:
        frame: of `rapo_tables.transfer`.
    """
    parts = [
        f"{row['label']}, tested with {row['tested with']}: "
        f"{format_number(row['distance'], 1)} %"
        for row in frame.to_dict("records")
    ]
    return f"Trained with one user, tested with another: {'; '.join(parts)}."


def of_advice(frame: pd.DataFrame, full: str, without: Sequence[str]) -> str:
    """The claim that advice rises without self-distillation.

    Args:
        frame: of `rapo_tables.advice`. full, without: labels; what is compared.
    """
    rows = frame.set_index("label")
    parts = [
        f"{label} {format_number(rows.loc[label, 'share'], 1)} % of replies, "
        f"{format_number(rows.loc[label, 'early'], 1)} % of those before turn three"
        for label in (full, *without)
    ]
    above = rows.loc[list(without), "share low"] > rows.loc[full, "share high"]
    names = ", ".join(above.index[above]) or "none"
    return (
        f"Replies that advise: {'; '.join(parts)}. Intervals wholly above that of "
        f"{full}: {names}."
    )


def of_cost(frame: pd.DataFrame, full: str, reference: str) -> str:
    """What the full method asks for beside another, per update.

    Args:
        frame: of `rapo_tables.cost`.
    """
    rows = frame.set_index("label")
    names = [name for name in frame.columns if name.endswith(", per update")]
    parts = [
        f"{name.removesuffix(', per update')} "
        f"{format_number(rows.loc[full, name], 1)} against "
        f"{format_number(rows.loc[reference, name], 1)}"
        for name in names
    ]
    return f"Calls per update, {full} against {reference}: {'; '.join(parts)}."


def _word(found: str) -> str:
    return "without an interval" if found == "-" else found
