"""EMPA's released dialogues scored again from their numeric records."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from helpers.data.records import LEVELS, RecordError
from helpers.scoring.epm import KINDS, LABELS, Batch, EpmSettings, score_batch
from helpers.scoring.epmq import INDICES, composite, indices_batch, raw_batch
from helpers.scoring.rubric import IEDR_ITEMS, increments, initial_deficit

# Padded turns scored at a time: few blocks, and arrays that fit the processor's cache.
CELLS = 7000


@dataclass(frozen=True)
class Dialogues:
    """B dialogues of up to T turns as arrays.

    frame: one row a dialogue (model, case, turns, logged ending and label, number of
        unrated turns and of error strings). p0 (B, 3); levels (B, T, 6) with 0 for an
        unrated level, as the released code counts it; v (B, T, 3).
    """

    frame: pd.DataFrame
    p0: np.ndarray
    levels: np.ndarray
    v: np.ndarray

    @property
    def turns(self) -> np.ndarray:
        return self.frame["turns"].to_numpy()

    def score(self, settings: EpmSettings | None = None) -> Batch:
        return score_batch(self.p0, self.v, self.turns, settings)


def stack(ratings: pd.DataFrame, cases: pd.DataFrame) -> Dialogues:
    """Rating rows to padded arrays, in the order of the rows.

    An unrated level becomes 0 here and only here, because that is what the released
    scores contain; `frame` keeps how many there are.
    """
    turn = ratings["turn"].to_numpy()
    first = np.flatnonzero(turn == 1)
    row = np.cumsum(turn == 1) - 1
    T = int(turn.max())
    given = ratings[LEVELS].to_numpy(dtype=float, na_value=np.nan)
    levels = np.zeros((len(first), T, 6))
    levels[row, turn - 1] = np.nan_to_num(given)
    unknown = sorted(set(ratings["case"]) - set(cases["case"]))
    if unknown:
        raise RecordError(f"case {unknown[0]} is rated, but not among the cases")
    deficits = {
        case["case"]: initial_deficit({item: case[item] for item in IEDR_ITEMS})
        for case in cases.to_dict("records")
    }
    frame = ratings.iloc[first][["model", "case", "ending", "label"]].copy()
    frame["label"] = frame["label"].astype(object).where(frame["label"].notna(), None)
    frame["turns"] = np.bincount(row)
    frame["unrated_turns"] = np.bincount(row, weights=1 - ratings["judged"]).astype(int)
    for flag in ("reply_error", "user_error", "guidance_error", "reply_repeated"):
        frame[flag] = np.bincount(row, weights=ratings[flag]).astype(int)
    return Dialogues(
        frame=frame.reset_index(drop=True),
        p0=np.array([deficits[case] for case in frame["case"]]),
        levels=levels,
        v=increments(levels),
    )


def score_arrays(
    dialogues: Dialogues,
    settings: EpmSettings | None = None,
    constants: str = "released",
    raw: bool = False,
) -> dict[str, np.ndarray]:
    """Nine indices (or raw quantities) and the verdict of every dialogue, each (B,).

    Works in blocks of dialogues of similar length: less padding, and the working
    arrays stay small. kind, label and turn are those of `Batch`.
    """
    compute = raw_batch if raw else indices_batch
    turns = dialogues.turns
    order = np.argsort(turns, kind="stable")
    parts, start = [], 0
    while start < len(order):
        # As many dialogues as fit, each padded to the longest of them.
        size = np.arange(1, len(order) - start + 1)
        fit = np.count_nonzero(turns[order[start:]] * size <= CELLS)
        rows = order[start : start + max(fit, 1)]
        start += len(rows)
        T = turns[rows].max()
        v, levels = dialogues.v[rows, :T], dialogues.levels[rows, :T]
        batch = score_batch(dialogues.p0[rows], v, turns[rows], settings)
        values = compute(batch, levels, constants)
        parts.append(
            values | {"kind": batch.kind, "label": batch.label, "turn": batch.turn}
        )
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    return {name: np.concatenate([p[name] for p in parts])[back] for name in parts[0]}


def score_dialogues(
    dialogues: Dialogues,
    settings: EpmSettings | None = None,
    constants: str = "released",
    raw: bool = False,
) -> pd.DataFrame:
    """One row a dialogue: frame columns, the nine indices (or raw quantities), the
    dialogue's own EPM-Q, and the replayed verdict (kind, verdict_label, verdict_turn).
    """
    values = score_arrays(dialogues, settings, constants, raw)
    kind, label, turn = (values.pop(name) for name in ("kind", "label", "turn"))
    out = dialogues.frame.assign(**values)
    if not raw:
        out["EPMQ"] = composite(values)["EPMQ"]
    out["kind"] = np.array(KINDS)[kind]
    out["verdict_label"] = np.array(LABELS, dtype=object)[label]
    out["verdict_turn"] = turn
    return out


def board(scores: pd.DataFrame) -> pd.DataFrame:
    """Nine means, three dimensions, EPM-Q and n per model, best model first."""
    means = scores.groupby("model", sort=False)[list(INDICES)].mean()
    means = means.assign(**composite(means), n=scores.groupby("model").size())
    return means.sort_values("EPMQ", ascending=False).reset_index()
