"""What in the released dialogues is not dialogue: error strings, gaps, repetitions."""

import numpy as np
import pandas as pd

from helpers.data.records import LEVELS
from helpers.scoring.replay import board


def quality_table(
    ratings: pd.DataFrame, scores: pd.DataFrame, names: pd.Series
) -> pd.DataFrame:
    """Per model: faults, and EPM-Q with and without the dialogues they touch.

    A dialogue is touched when the text of a failed call stands in it as a reply or as a
    user line, and was rated like speech.

    Args:
        ratings: one row a turn. scores: one row a dialogue, with EPMQ.
        names: printed name of each model folder, best first.
    """
    judged = ratings["judged"] == 1
    gaps = ratings[LEVELS].isna().sum(axis=1).where(judged, 0)
    counts = (
        ratings.assign(
            unrated=(~judged).astype(int),
            gaps=gaps,
            harshest=(ratings["reply_error"] == 1)
            & (ratings[["C_Neg", "A_Neg", "P_Neg"]] == -1).all(axis=1),
        )
        .groupby("model")[
            [
                "reply_error",
                "user_error",
                "harshest",
                "guidance_error",
                "unrated",
                "gaps",
                "reply_repeated",
            ]
        ]
        .sum()
    )
    touched = (scores["reply_error"] > 0) | (scores["user_error"] > 0)
    clean = board(scores[~touched]).set_index("model")
    every = board(scores).set_index("model")
    table = pd.DataFrame(
        {
            "model": names,
            "touched": touched.groupby(scores["model"]).sum(),
            "error replies": counts["reply_error"],
            "error user lines": counts["user_error"],
            "error replies rated -1 on all axes": counts["harshest"],
            "error guidance": counts["guidance_error"],
            "unrated turns": counts["unrated"],
            "missing levels": counts["gaps"],
            "repeated replies": counts["reply_repeated"],
            "EPM-Q, all": every["EPMQ"],
            "EPM-Q, untouched": clean["EPMQ"],
            "n untouched": clean["n"],
        }
    ).loc[names.index]
    table["difference"] = table["EPM-Q, untouched"] - table["EPM-Q, all"]
    table["rank, all"] = table["EPM-Q, all"].rank(ascending=False).astype(int)
    table["rank, untouched"] = (
        table["EPM-Q, untouched"].rank(ascending=False).astype(int)
    )
    total = {name: np.nan for name in table} | {
        name: table[name].sum() for name in table.columns[1:9]
    }
    total |= {"model": "all models", "n untouched": table["n untouched"].sum()}
    out = pd.concat([table, pd.DataFrame([total])], ignore_index=True)
    whole = [*table.columns[1:9], "n untouched", "rank, all", "rank, untouched"]
    return out.astype(dict.fromkeys(whole, "Int64"))
