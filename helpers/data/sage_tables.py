"""The SAGE tables and calibration facts, recomputed from the emotion records.

Every function takes the frame of `sage_records.read_records`. A score is the emotion
at the end of a dialogue; success is >= 100, failure is < 10 (states S and F).

Paper: SAGE (arXiv 2505.02847) Tables 1, 3 and 4.
"""

from itertools import combinations

import pandas as pd

from helpers.data.emotion_states import state

V3 = "deepseek-v3-2024-1227"
MAX_TURNS = 10

# File stem of the release to the name printed in Table 3. The release spells GPT-4o's
# date in two ways.
PRINTED_NAMES = {
    "gpt-4.1": "GPT-4.1",
    "gpt-4.5": "GPT-4.5-Preview",
    "claude3.7-think": "Claude3.7-Think",
    "claude3.7": "Claude3.7",
    "deepseek-v3-0324": "DeepSeek-V3-0324",
    "deepseek-v3-1227": "DeepSeek-V3",
    "openai-o4mini": "o4-mini",
    "llama3.3-70b": "Llama3.3-70B",
    "gemini2.0-flash": "Gemini2.0-Flash",
    "gpt-4o-0806": "GPT-4o",
    "gpt-4o-0808": "GPT-4o",
    "openai-o1": "o1",
    "qwen2.5-72b": "Qwen2.5-72B",
}


def dialogues(records: pd.DataFrame) -> pd.DataFrame:
    """One row a dialogue: judge, model, dialogue, intention, turns, final, goodbye,
    ending ("success", "failure", "timeout", "goodbye", or "open" for none of these).

    turns counts user turns, the opening included; final is the last emotion.
    """
    keys = ["judge", "model", "dialogue", "intention"]
    last = records.sort_values("turn", kind="stable").groupby(keys, sort=False).tail(1)
    table = last.rename(columns={"emotion": "final"}).reset_index(drop=True)
    table["turns"] = table["turn"] + 1
    table["ending"] = [
        _ending(row.final, row.turns, row.goodbye) for row in table.itertuples()
    ]
    return table[[*keys, "turns", "final", "goodbye", "ending"]]


def _ending(final: int, turns: int, goodbye: bool) -> str:
    if final >= 100:
        return "success"
    if final < 10:
        return "failure"
    if goodbye:
        return "goodbye"
    return "timeout" if turns >= MAX_TURNS else "open"


def leaderboard(records: pd.DataFrame, judge: str = V3) -> pd.DataFrame:
    """Table 3: index = printed model name, best first; n, score (mean final emotion,
    not rounded), success and failure (counts).

    Raises: ValueError for a judge without records or a model without printed name.
    """
    table = dialogues(records[records["judge"] == judge])
    if table.empty:
        known = ", ".join(sorted(records["judge"].unique()))
        raise ValueError(f"no records of judge {judge!r}; the records hold {known}")
    unknown = sorted(set(table["model"]) - set(PRINTED_NAMES))
    if unknown:
        raise ValueError(f"model {unknown[0]!r} has no name in PRINTED_NAMES: add it")
    table = table.assign(model=table["model"].map(PRINTED_NAMES))
    groups = table.groupby("model")
    board = pd.DataFrame(
        {
            "n": groups.size(),
            "score": groups["final"].mean(),
            "success": groups["ending"].agg(lambda ending: (ending == "success").sum()),
            "failure": groups["ending"].agg(lambda ending: (ending == "failure").sum()),
        }
    )
    return board.sort_values("score", ascending=False)


def by_intention(records: pd.DataFrame, judge: str = V3) -> pd.DataFrame:
    """Mean final emotion: index = intention, one column a model (release names), and
    "mean" over the dialogues of all models; best first.
    """
    table = dialogues(records[records["judge"] == judge])
    means = table.pivot_table(index="intention", columns="model", values="final")
    means["mean"] = table.groupby("intention")["final"].mean()
    return means.sort_values("mean", ascending=False)


def intention_counts(records: pd.DataFrame, judge: str = V3) -> pd.Series:
    """Table 4: number of scenarios of each intention."""
    one = records.loc[records["judge"] == judge, ["dialogue", "intention"]]
    return one.drop_duplicates()["intention"].value_counts()


def updates(records: pd.DataFrame, judge: str) -> pd.DataFrame:
    """One row a rated reply, with the state before it and the change before that."""
    one = records[records["judge"] == judge].sort_values(
        ["model", "dialogue", "turn"], kind="stable"
    )
    groups = one.groupby(["model", "dialogue"], sort=False)
    one = one.assign(
        state_before=groups["emotion"].shift().map(state, na_action="ignore"),
        change_before=groups["change"].shift(),
    )
    return one[one["turn"] > 0]


def change_shares(records: pd.DataFrame, judge: str = V3) -> pd.Series:
    """Share of every change value over all rated replies, by value."""
    return updates(records, judge)["change"].value_counts(normalize=True).sort_index()


def transitions(records: pd.DataFrame, judge: str = V3) -> pd.DataFrame:
    """Share of change values (columns) by the state before the reply (rows)."""
    moves = updates(records, judge)
    return pd.crosstab(moves["state_before"], moves["change"], normalize="index")


def persistence(records: pd.DataFrame, judge: str = V3) -> dict[str, float]:
    """Share of positive changes after a positive one, of negative after a negative."""
    moves = updates(records, judge).dropna(subset=["change_before"])
    after_up = moves[moves["change_before"] > 0]
    after_down = moves[moves["change_before"] < 0]
    return {
        "positive": float((after_up["change"] > 0).mean()),
        "negative": float((after_down["change"] < 0).mean()),
    }


def judge_correlations(records: pd.DataFrame) -> pd.DataFrame:
    """Table 1 on the records at hand: Spearman correlation of model means, one row a
    pair of judges with n shared models; NaN below three shared models.
    """
    table = dialogues(records)
    names = table["model"].map(PRINTED_NAMES)
    means = table.assign(model=names).pivot_table(
        index="model", columns="judge", values="final"
    )
    rows = []
    for one, other in combinations(means.columns, 2):
        shared = means[[one, other]].dropna()
        ranks = shared.rank()
        rho = ranks[one].corr(ranks[other]) if len(shared) > 2 else float("nan")
        rows.append({"judge": one, "other": other, "n": len(shared), "spearman": rho})
    return pd.DataFrame(rows)
