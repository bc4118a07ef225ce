"""SAGE's tables from the emotion records, with the intervals that it lacks.

`helpers.data.sage_tables` has the plain numbers; here they stand beside the printed
ones. Scenarios (profiles) are resampled, with all dialogues about them. Dialogues of
scripted users take the same road: `as_records` gives them the columns of the release.

Paper: SAGE (arXiv 2505.02847) Tables 1, 3 and 4, Figures 6 and 8.
"""

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from helpers.data.sage_tables import (
    MAX_TURNS,
    PRINTED_NAMES,
    V3,
    dialogues,
    leaderboard,
    updates,
)
from helpers.data.scenarios import Scenario
from helpers.reporting.stats import cluster_bootstrap
from helpers.reporting.tables import half_up
from helpers.sandbox.dialogue import Dialogue

# Judge folders of the release by the name that Table 1 and Figure 8 print.
JUDGES = {
    "DeepSeek-V3": V3,
    "GPT-4o": "gpt-4o-2024-0806",
    "Gemini2.5": "gemini-2.5-flash-nothink",
    "Gemini2.5-Think": None,
}
STEPS = (-10, -5, 5, 10)
STATES = {"B": "B: 40 to 69", "C": "C: 10 to 39", "A": "A: 70 to 99"}


def table3(
    records: pd.DataFrame,
    printed: pd.DataFrame,
    draws: int,
    rng: np.random.Generator,
    level: float,
) -> pd.DataFrame:
    """Table 3, in printed order: recomputed where a result file exists.

    Args:
        printed: rows by model with columns score, success, failure, rank.

    Returns:
        rank, model, n, score (mean final emotion, not rounded), low, high, success,
        failure (<NA> without a file), the three printed values, equal ("yes" when all
        three are, after half-up rounding; missing without a file), status ("exact" or
        "printed").
    """
    ours = leaderboard(records)
    final = dialogues(records[records["judge"] == V3])
    names = final["model"].map(PRINTED_NAMES)
    rows = []
    for model, said in printed.iterrows():
        row = {"rank": int(said["rank"]), "model": model}
        row |= dict.fromkeys(("n", "score", "low", "high", "success", "failure"))
        row |= {f"{k}, printed": said[k] for k in ("score", "success", "failure")}
        row |= {"equal": None, "status": "printed"}
        if model in ours.index:
            own = final[names == model]
            mean = cluster_bootstrap(own["final"], own["dialogue"], draws, rng, level)
            got = ours.loc[model]
            row |= {"n": int(got["n"]), "score": got["score"], "low": mean.low}
            row |= {"high": mean.high, "status": "exact"}
            row |= {k: int(got[k]) for k in ("success", "failure")}
            same = half_up(got["score"], 1) == said["score"]
            same &= all(got[k] == said[k] for k in ("success", "failure"))
            row["equal"] = "yes" if same else "no"
        rows.append(row)
    table = pd.DataFrame(rows)
    table = table.astype({"score": float, "low": float, "high": float})
    whole = ["n", "success", "failure", "success, printed", "failure, printed"]
    return table.astype(dict.fromkeys(whole, "Int64"))


def token_points(records: pd.DataFrame, digitised: pd.DataFrame) -> pd.DataFrame:
    """Figures 6 and 8: one row a judge and model.

    Args:
        digitised: value table with rows "<model>, judge <judge>" and columns emotion
            and tokens (thousand).

    Returns:
        judge, model, tokens (thousand, read off), emotion (read off), recomputed (NaN
        without a result file), n (<NA> likewise).
    """
    part = digitised[digitised["row"].str.contains(", judge ")]
    wide = part.pivot(index="row", columns="column", values="value")
    final = dialogues(records)
    rows = []
    for name in part["row"].unique():
        model, judge = name.split(", judge ")
        own = final[
            (final["judge"] == JUDGES[judge])
            & (final["model"].map(PRINTED_NAMES) == model)
        ]["final"]
        rows.append(
            {
                "judge": judge,
                "model": model,
                "tokens": wide.loc[name, "tokens (thousand)"],
                "emotion": wide.loc[name, "emotion"],
                "recomputed": own.mean() if len(own) else float("nan"),
                "n": len(own) or None,
            }
        )
    return pd.DataFrame(rows).astype({"n": "Int64"})


def table1(
    records: pd.DataFrame,
    points: pd.DataFrame,
    printed: pd.DataFrame,
    draws: int,
    rng: np.random.Generator,
    level: float,
) -> pd.DataFrame:
    """Table 1: rank correlation (Spearman) of two judges' model means, six pairs.

    Args:
        points: of `token_points`. printed: value table with the judges as row, column.

    Returns:
        judge, other; n files (models that both judged), from files, low, high (NaN
        below three models); from Fig. 8 (all models, read off); printed; status.
    """
    read = points.pivot(index="model", columns="judge", values="emotion")
    rows = []
    for said in printed.itertuples():
        judge, other = said.row, said.column
        n, rho, low, high = _judge_pair(
            records, JUDGES[judge], JUDGES[other], draws, rng, level
        )
        row = {"judge": judge, "other": other, "models with files": n}
        row |= {"from files": rho, "low": low, "high": high}
        row["from Fig. 8"] = spearman(read[[judge, other]].to_numpy().T)
        row |= {"models in Fig. 8": len(read), "printed": said.value}
        row["status"] = "printed" if np.isnan(rho) else f"exact, on {n} models"
        rows.append(row)
    return pd.DataFrame(rows)


def _judge_pair(records, one, other, draws, rng, level):
    """(shared models, rho, low, high); whole scenarios are resampled."""
    final = dialogues(records[records["judge"].isin([one, other])])
    final = final.assign(model=final["model"].map(PRINTED_NAMES))
    cells = final.pivot(index="dialogue", columns=["judge", "model"], values="final")
    shared = sorted(
        set.intersection(
            *(set(final.loc[final["judge"] == j, "model"]) for j in (one, other))
        )
    )
    nothing = float("nan")
    if len(shared) < 3:
        return len(shared), nothing, nothing, nothing
    blocks = np.stack([cells[judge][shared].to_numpy(float) for judge in (one, other)])
    if np.isnan(blocks).any():
        raise ValueError(f"judges {one} and {other} did not rate the same scenarios")
    size = blocks.shape[1]
    weights = rng.multinomial(size, np.full(size, 1 / size), size=draws) / size
    means = np.einsum("ds,jsm->djm", weights, blocks)
    tail = 100 * (1 - level) / 2
    low, high = np.percentile([spearman(m) for m in means], [tail, 100 - tail])
    return len(shared), spearman(blocks.mean(1)), float(low), float(high)


def spearman(pair) -> float:
    """Spearman correlation of two rows; ties share their mean rank."""
    ranks = pd.DataFrame(np.asarray(pair, dtype=float)).rank(axis=1).to_numpy()
    return float(np.corrcoef(ranks)[0, 1])


def intention_means(
    records: pd.DataFrame,
    draws: int,
    rng: np.random.Generator,
    level: float,
    judge: str = V3,
) -> pd.DataFrame:
    """Mean final emotion by hidden intention over all models, best first: intention,
    scenarios, n (dialogues), estimate, low, high."""
    final = dialogues(records[records["judge"] == judge])
    rows = []
    for intention, part in final.groupby("intention"):
        mean = cluster_bootstrap(part["final"], part["dialogue"], draws, rng, level)
        row = {"intention": intention, "scenarios": mean.clusters, "n": mean.n}
        rows.append(
            row | {"estimate": mean.estimate, "low": mean.low, "high": mean.high}
        )
    return pd.DataFrame(rows).sort_values("estimate", ascending=False)


def emotion_curves(records: pd.DataFrame, judge: str = V3) -> pd.DataFrame:
    """Mean emotion by reply (0 is the opening) and model (printed names); a dialogue
    that has ended keeps its last value."""
    one = records[records["judge"] == judge]
    table = one.pivot(index=["model", "dialogue"], columns="turn", values="emotion")
    table = table.reindex(columns=range(MAX_TURNS)).ffill(axis=1)
    return table.groupby("model").mean().rename(index=PRINTED_NAMES).T


def step_shares(
    records: pd.DataFrame,
    judge: str,
    draws: int,
    rng: np.random.Generator,
    level: float,
) -> pd.DataFrame:
    """How the emotion moves: share of each step, overall and by the state before it,
    and how often the direction stays.

    Returns:
        group ("all", A, B, C, "rise after rise", "fall after fall"), step (-10, -5, 5,
        10; <NA> for the last two groups), n (replies), share, low, high.
    """
    moves = updates(records, judge)
    change = moves["change"].astype(float)
    groups = {"all": moves.index == moves.index}
    groups |= {s: moves["state_before"] == s for s in STATES}
    rows = []
    for name, chosen in groups.items():
        for step in STEPS:
            hit, where = change[chosen] == step, moves["dialogue"][chosen]
            rows.append(_share(name, step, hit, where, draws, rng, level))
    before = moves["change_before"].astype(float)
    for name, sign in (("rise after rise", 1), ("fall after fall", -1)):
        chosen = before * sign > 0
        hit, where = change[chosen] * sign > 0, moves["dialogue"][chosen]
        rows.append(_share(name, None, hit, where, draws, rng, level))
    return pd.DataFrame(rows).astype({"step": "Int64"})


def _share(group, step, hit, where, draws, rng, level) -> dict:
    row = {"group": group, "step": step, "n": len(hit)}
    if not len(hit):
        return row | dict.fromkeys(("share", "low", "high"), float("nan"))
    mean = cluster_bootstrap(hit, where, draws, rng, level)
    return row | {"share": mean.estimate, "low": mean.low, "high": mean.high}


def as_records(
    played: Iterable[Dialogue], cards: Mapping[str, Scenario], judge: str, model: str
) -> pd.DataFrame:
    """Dialogues of the sandbox with the columns of `sage_records.read_records`.

    Failed dialogues are left out: a failure is not a score. The change is the one after
    the ends of the scale, where the release notes the simulator's own number.
    """
    rows = []
    for dialogue in played:
        if dialogue.failure is not None:
            continue
        key = dialogue.scenario_id
        head = (judge, model, key, cards[key].intention)
        rows.append((*head, 0, dialogue.initial_emotion, None, False))
        for turn in dialogue.turns:
            change = turn.emotion_after - turn.emotion_before
            rows.append((*head, turn.number, turn.emotion_after, change, False))
    names = ["judge", "model", "dialogue", "intention", "turn", "emotion", "change"]
    frame = pd.DataFrame(rows, columns=[*names, "goodbye"])
    return frame.astype({"change": "Int64"})
