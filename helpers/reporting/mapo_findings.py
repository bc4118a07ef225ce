"""What of MAPO's claims shows at this scale, in sentences made from the numbers.

A difference is told apart where its interval excludes zero: the one over cases and
seeds, or with a single seed the one over cases. What goes the other way is said as
plainly. No sentence holds a number that is not in the frames.

Paper: MAPO, arXiv 2603.06194 (abstracts and secondary readings).
"""

import pandas as pd

from helpers.reporting.learning_tables import AGAINST, AS_SAID, BARE, OPEN
from helpers.reporting.mapo_tables import span
from helpers.reporting.tables import format_number, signed

WORDS = {AS_SAID: "told apart, as the paper says", AGAINST: "told apart, the other way",
         OPEN: "not told apart", BARE: "without an interval"}  # fmt: skip
NOTE = (
    "A few seeds: an interval over cases and seeds is wide and still crude. Distances "
    "are those of a tiny policy with users by rule, on no scale of the paper."
)


def of_pairs(pairs: pd.DataFrame) -> list[str]:
    """One sentence a user: every pair with its difference and verdict.

    Args:
        pairs: of `mapo_tables.pairs`, of MAPO over the others.
    """
    sentences = []
    for user, part in pairs.groupby("user", sort=False):
        shown = int((part["verdict"] == AS_SAID).sum())
        found = "; ".join(
            f"{row['more']} over {row['less']} {signed(row['difference'])} "
            f"({span(row)}): {WORDS[row['verdict']]}"
            for row in part.to_dict("records")
        )
        sentences.append(
            f"Distance with the {user} user, percentage points: as the paper says in "
            f"{shown} of {len(part)} comparisons. {found}."
        )
    return sentences


def of_reach(reached: pd.DataFrame, reference: str = "GRPO") -> str:
    """How many dialogues each method needs for what the reference has at its end.

    Args:
        reached: of `mapo_tables.reach`.
    """
    target, whole = reached[["target", "of"]].iloc[0]
    there = reached[reached["dialogues"].notna() & (reached["label"] != reference)]
    never = reached.loc[reached["dialogues"].isna(), "label"]
    text = f"{reference}'s last distance ({format_number(target, 1)} %) is reached"
    if len(there):
        parts = [f"{row.label} after {row.dialogues:,.0f}"
                 for row in there.sort_values("dialogues").itertuples()]  # fmt: skip
        text += f" by {', '.join(parts)} of {whole:,.0f} dialogues"
    else:
        text += " by no other method"
    return text + (f"; never by {', '.join(never)}." if len(never) else ".")


def of_variance(table: pd.DataFrame) -> str:
    """The claim that the turn's number explains returns more than rewards.

    Args:
        table: of `mapo_credit.variance_table`.
    """
    name = next(c for c in table.columns if c.startswith("returns, "))
    holds = table[name] > table["rewards, %"]
    gamma = name.removeprefix("returns, ").removesuffix(", %")
    parts = [
        f"{row['sample']} {format_number(row['rewards, %'], 1)} and "
        f"{format_number(row[name], 1)} %"
        for _, row in table.iterrows()
    ]
    return (
        f"The turn's number explains more of the returns ({gamma}) than of the rewards "
        f"in {int(holds.sum())} of {len(table)} samples (rewards, then returns): "
        f"{'; '.join(parts)}."
    )


def of_credit(table: pd.DataFrame) -> str:
    """How often harm is praised, by GRPO's credit and by MAPO's.

    Args:
        table: of `mapo_credit.credit_table`, one or several samples.
    """
    wide = table.pivot(index="sample", columns="credit",
                       values="harmful turns praised, %")  # fmt: skip
    parts = [
        f"{sample}: GRPO {format_number(row['GRPO'], 1)} %, "
        f"MAPO {format_number(row['MAPO'], 1)} %"
        for sample, row in wide.iterrows()
    ]
    return f"Harmful turns that the credit praises: {'; '.join(parts)}."


def of_stability(table: pd.DataFrame) -> str:
    """The claim that batch-only normalisation makes gradients explode.

    Args:
        table: of `mapo_tables.stability`.
    """
    rows = table.set_index("label")
    parts = [
        f"{label} {format_number(rows.loc[label, 'gradient norm, median'], 2)} and "
        f"{format_number(rows.loc[label, 'largest'], 2)}"
        for label in rows.index
    ]
    top = rows["largest"].idxmax()
    ratio = rows.loc["batch-only", "largest"] / rows.loc["MAPO", "largest"]
    return (
        f"Gradient norm, median and largest: {'; '.join(parts)}. The largest is "
        f"{top}'s; that of batch-only is {format_number(ratio, 2)} times MAPO's."
    )


def of_board(table: pd.DataFrame) -> str:
    """EPM-Q and successes of each policy over all cards, the highest first.

    Args:
        table: of `mapo_board.board`.
    """
    rows = table[table["axis"] == "all"].sort_values("EPM-Q", ascending=False)
    parts = [
        f"{row['model']} {format_number(row['EPM-Q'], 1)} "
        f"({format_number(row['success'], 0)} of {row['n']})"
        for row in rows.to_dict("records")
    ]
    return f"EPM-Q on EMPA's board, with successes: {', '.join(parts)}."


def of_ablations(frame: pd.DataFrame) -> list[str]:
    """One sentence a part: the best value, and which ones are told apart.

    Args:
        frame: of `mapo_tables.comparison`, with columns part, value, default (bool)
            and apart (`mapo_tables.apart`).
    """
    sentences = []
    for part, rows in frame.groupby("part", sort=False):
        best = rows.loc[rows["distance"].idxmax()]
        default = rows[rows["default"]].iloc[0]
        others = rows[~rows["default"]]
        apart = [
            f"{row.value} ({signed(row.difference)})"
            for row in others.itertuples()
            if row.apart in ("higher", "lower")
        ]
        sentences.append(
            f"{part}: {best['value']} is highest ({format_number(best['distance'], 1)} "
            f"%), the default {default['value']} has "
            f"{format_number(default['distance'], 1)} %. Told apart from it: "
            f"{', '.join(apart) or 'none'} of {len(others)}."
        )
    return sentences
