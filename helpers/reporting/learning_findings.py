"""Which claims of RLVER show at this scale, in sentences made from the numbers.

A claim shows where the interval of its difference excludes zero on the paper's side. It
is said as plainly when it goes the other way, when it cannot be told, and when there is
no interval. No sentence holds a number that is not in the frames.

Paper: RLVER (arXiv 2507.03112) sections 3.2 to 3.7.
"""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from helpers.reporting.learning_tables import (
    AGAINST,
    AS_SAID,
    BARE,
    OPEN,
    PAIRS,
    Claim,
    verdict,
)
from helpers.reporting.tables import format_number, signed

TRAINED = "Training raises the final emotion over the start"
THINK = "Thinking beats not thinking"
BEST = "PPO with thinking is the best of all"
STEADY = "GRPO is steadier than PPO"
HARDER = "The challenging user costs a policy that does not think more"
NOTE = (
    "Intervals resample the cases, with the seeds averaged within a case: they hold "
    "for the runs that were made and do not cover other seeds."
)
SAID = {
    AS_SAID: "shown", OPEN: "not told apart from zero", AGAINST: "the other way",
    BARE: "without an interval",
}  # fmt: skip


def rlver_claims() -> list[Claim]:
    """RLVER's claims about scores, for runs labelled as `learning_tables` says."""
    best, others = "PPO, think", ("PPO", "GRPO", "GRPO, think")
    return [
        *(Claim(THINK, (f"{name}, think",), (name,)) for name in ("PPO", "GRPO")),
        *(Claim(BEST, (best,), (other,)) for other in others),
        Claim(
            HARDER,
            ("PPO", "PPO, think, challenging"),
            ("PPO, challenging", "PPO, think"),
            "loss of PPO beyond the loss of PPO, think",
        ),
    ]


def steadiness(
    board: pd.DataFrame, compared: Iterable[tuple[str, str]]
) -> pd.DataFrame:
    """Deviation over seeds of the second label minus that of the first (the steadier
    one, as claimed): rows of `learning_tables.PAIRS`. A few seeds give no interval."""
    rows = []
    own = board.set_index("label")
    for steady, other in compared:
        gap = own.loc[other, "seed sd"] - own.loc[steady, "seed sd"]
        sizes = (format_number(own.loc[name, "seed sd"], 1) for name in (other, steady))
        text = f"{steady} over {other} (deviation over seeds {' less '.join(sizes)})"
        n = int(own.loc[[steady, other], "n"].sum())
        found = (gap, np.nan, np.nan)
        rows.append((STEADY, text, "points", *found, n, pd.NA, verdict(*found)))
    return pd.DataFrame(rows, columns=PAIRS)


def findings(board: pd.DataFrame, pairs: pd.DataFrame) -> list[str]:
    """One sentence a claim, and how to read the intervals.

    Args:
        board: of `learning_tables.board`: its gains are the first claim.
        pairs: rows of `learning_tables.PAIRS`.
    """
    gains = board[board["gain"].notna()]
    columns = ["gain", "gain low", "gain high"]
    trained = pd.DataFrame(
        {"claim": TRAINED, "compared": gains["label"], "unit": "points",
         "difference": gains["gain"], "low": gains["gain low"],
         "high": gains["gain high"],
         "verdict": [verdict(*row) for row in gains[columns].to_numpy(float)]}
    )  # fmt: skip
    claims = [
        *([(TRAINED, trained)] if len(trained) else []),
        *pairs.groupby("claim", sort=False),
    ]
    return [*(_sentence(claim, rows) for claim, rows in claims), NOTE]


def _sentence(claim: str, rows: pd.DataFrame) -> str:
    shown = int((rows["verdict"] == AS_SAID).sum())
    tested = int((rows["verdict"] != BARE).sum())
    if tested:
        head = f"shows in {shown} of {tested} comparisons"
    elif rows["difference"].isna().all():
        head = "nothing to judge by"
    else:
        along = int((rows["difference"] > 0).sum())
        head = f"neither shown nor refuted, along the claim in {along} of {len(rows)}"
    parts = []
    for kind, words in SAID.items():
        found = [_number(row) for row in rows[rows["verdict"] == kind].itertuples()]
        if found:
            parts.append(f"{words}: {'; '.join(found)}")
    return f"{claim}: {head}. " + ". ".join(p[0].upper() + p[1:] for p in parts) + "."


def _number(row) -> str:
    text = f"{row.compared} {signed(row.difference)} {row.unit}"
    if row.verdict == BARE:
        return text
    return f"{text} ({signed(row.low)} to {signed(row.high)})"
