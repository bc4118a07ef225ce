"""Rows of one's own on EMPA's board: stored dialogues scored by the released rules.

A dialogue that failed has no score. It is left out and counted; with more than
`FAILED_LIMIT` of failures a row is not comparable.
"""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from helpers.reporting.stats import cluster_bootstrap
from helpers.sandbox.dialogue import Dialogue
from helpers.scoring.replay import Dialogues, board, score_dialogues
from helpers.scoring.rubric import MDEP_FIELDS, increments

FAILED_LIMIT = 0.05
EPM = ("epm", "limit")  # endings that are EMPA's; an emotion's success is another one


def stack_dialogues(dialogues: Iterable[Dialogue], name: str) -> Dialogues:
    """Stored dialogues of one policy as arrays; failed ones are left out.

    Raises:
        ValueError: no dialogue is left, or one without a judge's levels.
    """
    kept = [d for d in dialogues if d.failure is None]
    if not kept:
        raise ValueError(f"{name}: no dialogue without a failure")
    T = max(len(d.turns) for d in kept)
    levels = np.zeros((len(kept), T, 6))
    for b, dialogue in enumerate(kept):
        for t, turn in enumerate(dialogue.turns):
            if turn.levels is None or dialogue.initial_position is None:
                raise ValueError(f"{name}, {dialogue.scenario_id}: it was not judged")
            levels[b, t] = [turn.levels[field] for field in MDEP_FIELDS]
    frame = pd.DataFrame(
        {
            "model": name,
            "case": [d.scenario_id for d in kept],
            "ending": [d.ending if d.ended_by in EPM else "other" for d in kept],
            "turns": [len(d.turns) for d in kept],
        }
    )
    p0 = np.array([d.initial_position for d in kept], dtype=float)
    return Dialogues(frame, p0, levels, increments(levels))


def own_row(
    dialogues: Iterable[Dialogue],
    name: str,
    judge: str,
    draws: int,
    rng: np.random.Generator,
    level: float = 0.95,
) -> dict:
    """One row: policy, judge, n used and failed, EPM-Q with interval, dimensions,
    successes (as the run recorded them), and with what it is comparable."""
    dialogues = list(dialogues)
    failed = sum(d.failure is not None for d in dialogues)
    row = {"model": name, "judge": judge, "n": len(dialogues) - failed}
    row["failed"] = failed
    complete = failed <= FAILED_LIMIT * len(dialogues) and failed < len(dialogues)
    row["comparable"] = "with own rows" if complete else "no: too many failed"
    if failed == len(dialogues):
        return row
    scores = score_dialogues(stack_dialogues(dialogues, name))
    mean = cluster_bootstrap(scores["EPMQ"], scores["case"], draws, rng, level)
    total = board(scores).iloc[0]
    row |= {"EPM-Q": mean.estimate, "low": mean.low, "high": mean.high}
    row |= {key: total[key] for key in ("Outcome", "Efficiency", "Stability")}
    row["success"] = int((scores["ending"] == "success").sum())
    row["mean turns"] = scores["turns"].mean()
    return row
