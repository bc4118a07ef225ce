"""EMPA's board from numeric records: many dialogues scored at once, a row a model.

`python -m helpers.scoring.board` prints the 16 x 10 board of the release.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from helpers.data.published import load
from helpers.data.records import LEVELS, read_cases, read_ratings
from helpers.reporting.tables import half_up
from helpers.scoring.epm import KINDS, LABELS, Batch, EpmSettings, score_batch
from helpers.scoring.epmq import INDICES, composite, indices_batch, raw_batch
from helpers.scoring.rubric import IEDR_ITEMS, increments, initial_deficit

BOARD = [*INDICES, "EPMQ"]


@dataclass(frozen=True)
class Dialogues:
    """B dialogues of up to T turns as arrays.

    frame: one row a dialogue (model, case, turns, logged ending and label, number of
        unrated turns and of error strings). p0 (B, 3); levels (B, T, 6) with 0 for an
        unrated level, as the released code counts it; v (B, T, 3); rated (B, T).
    """

    frame: pd.DataFrame
    p0: np.ndarray
    levels: np.ndarray
    v: np.ndarray
    rated: np.ndarray

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
    rated = np.zeros((len(first), T), dtype=bool)
    rated[row, turn - 1] = ratings["judged"].to_numpy() == 1
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
        rated=rated,
    )


def score_dialogues(
    dialogues: Dialogues,
    settings: EpmSettings | None = None,
    constants: str = "released",
    raw: bool = False,
) -> pd.DataFrame:
    """One row a dialogue: frame columns, the nine indices (or raw quantities), the
    dialogue's own EPM-Q, and the replayed verdict (kind, verdict_label, verdict_turn).
    """
    batch = dialogues.score(settings)
    compute = raw_batch if raw else indices_batch
    values = compute(batch, dialogues.levels, constants)
    out = dialogues.frame.assign(**values)
    if not raw:
        out["EPMQ"] = composite(values)["EPMQ"]
    out["kind"] = np.array(KINDS)[batch.kind]
    out["verdict_label"] = np.array(LABELS, dtype=object)[batch.label]
    out["verdict_turn"] = batch.turn
    return out


def board(scores: pd.DataFrame) -> pd.DataFrame:
    """Nine means, three dimensions, EPM-Q and n per model, best model first."""
    means = scores.groupby("model", sort=False)[list(INDICES)].mean()
    means = means.assign(**composite(means), n=scores.groupby("model").size())
    return means.sort_values("EPMQ", ascending=False).reset_index()


def as_printed(value: float) -> float:
    """A mean as the README prints it: to two places, then half-up to one."""
    return half_up(half_up(value, 2), 1)


def main() -> None:
    dialogues = stack(read_ratings(), read_cases())
    table = board(score_dialogues(dialogues))
    names = load("empa_models").set_index("model")["name"]
    print("EMPA board, recomputed from 480 released dialogues (30 cases a model)")
    print(f"{'model':<22}" + "".join(f"{name:>7}" for name in BOARD))
    for row in table.to_dict("records"):
        cells = "".join(f"{as_printed(row[name]):>7.1f}" for name in BOARD)
        print(f"{names[row['model']]:<22}{cells}")


if __name__ == "__main__":
    main()
