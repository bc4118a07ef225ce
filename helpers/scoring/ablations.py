"""Offline ablations of EMPA's scoring: the released dialogues replayed by other rules.

A replay can end a dialogue earlier than it was ended, never later: what would have been
said next is not known. Such dialogues are "open".
"""

from dataclasses import replace

import numpy as np
import pandas as pd

from helpers.scoring.epm import EpmSettings
from helpers.scoring.replay import Dialogues, board, score_dialogues

RELEASED = EpmSettings.released()

# Name of the row, settings, constants. One thing changes in each row but the last.
ABLATIONS = (
    ("released", RELEASED, "released"),
    ("alpha 0.05", EpmSettings(alpha=0.05), "released"),
    ("full precision", EpmSettings(rounding="none"), "released"),
    ("moving direction", EpmSettings(v_star="moving"), "released"),
    ("printed constants", RELEASED, "paper"),
    ("min. turns 8", EpmSettings(min_turns=8), "released"),
    ("min. turns 4", EpmSettings(min_turns=4), "released"),
    ("any detector ends it", EpmSettings(failure_rule="readme"), "released"),
    ("no failure detector", EpmSettings(failure_rule="none"), "released"),
    ("no oscillation stop", EpmSettings(legacy_oscillation=False), "released"),
    ("paper as printed", EpmSettings.paper(), "paper"),
)


def cut(dialogues: Dialogues, turns: np.ndarray) -> Dialogues:
    """The same dialogues ended after `turns` (B,) turns, none longer than it was."""
    frame = dialogues.frame.assign(turns=np.minimum(dialogues.turns, turns))
    return replace(dialogues, frame=frame)


def ablate(dialogues: Dialogues, settings: EpmSettings, constants: str):
    """Verdicts under other rules, and scores of the dialogues cut at those verdicts.

    Returns:
        frame of `score_dialogues`, with `logged_turns` and EPM-Q of the cut dialogue.
    """
    first = score_dialogues(dialogues, settings, constants)
    turns = first["verdict_turn"].where(first["verdict_turn"] > 0, first["turns"])
    scores = score_dialogues(cut(dialogues, turns.to_numpy()), settings, constants)
    return scores.assign(logged_turns=dialogues.turns)


def ablation_table(dialogues: Dialogues, names: pd.Series) -> pd.DataFrame:
    """One row a rule set: endings, agreement with the logs, EPM-Q of top and bottom,
    and how the order of the models changes.

    Args:
        names: printed name of each model folder, best first.
    """
    rows, order = [], None
    for name, settings, constants in ABLATIONS:
        scores = ablate(dialogues, settings, constants)
        table = board(scores).set_index("model")["EPMQ"]
        rank = table.rank(ascending=False)
        order = rank if order is None else order
        shift = (rank - order).loc[names.index]
        moved = shift[shift != 0].index
        kind = scores["kind"].value_counts()
        same = (scores["kind"] == scores["ending"]) & (
            scores["verdict_turn"] == scores["logged_turns"]
        )
        rows.append(
            {
                "rule": name,
                "success": int(kind.get("success", 0)),
                "geometric": int((scores["verdict_label"] == "geometric").sum()),
                "collapse": int(kind.get("collapse", 0)),
                "oscillation": int(kind.get("oscillation", 0)),
                "timeout": int(kind.get("timeout", 0)),
                "open": int(kind.get("open", 0)),
                "as logged": int(same.sum()),
                "ended earlier": int((scores["turns"] < scores["logged_turns"]).sum()),
                "EPM-Q best": table.max(),
                "EPM-Q worst": table.min(),
                "rank correlation": rank.corr(order),
                "models that move": ", ".join(
                    f"{names[m]} {'down' if shift[m] > 0 else 'up'} {abs(shift[m]):.0f}"
                    for m in moved
                )
                or "none",
            }
        )
    return pd.DataFrame(rows)
