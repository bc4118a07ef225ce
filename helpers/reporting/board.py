"""EMPA's board as the README prints it: `python -m helpers.reporting.board`."""

import sys

import pandas as pd

from helpers.data.published import load
from helpers.data.records import RecordError, read_cases, read_ratings
from helpers.reporting.tables import half_up
from helpers.scoring.epmq import INDICES
from helpers.scoring.replay import board, score_dialogues, stack

COLUMNS = [*INDICES, "EPMQ"]


def as_printed(value: float) -> float:
    """A mean as the README prints it: to two places, then half-up to one."""
    return half_up(half_up(value, 2), 1)


def named(table: pd.DataFrame) -> pd.DataFrame:
    """The board with the models' printed names in front."""
    names = load("empa_models").set_index("model")["name"]
    return table.assign(model=table["model"].map(names))


def main() -> int:
    try:
        dialogues = stack(read_ratings(), read_cases())
    except RecordError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    table = named(board(score_dialogues(dialogues)))
    print(f"EMPA board recomputed from {len(dialogues.frame)} released dialogues")
    print(f"{'model':<22}" + "".join(f"{name:>7}" for name in COLUMNS))
    for row in table.to_dict("records"):
        cells = "".join(f"{as_printed(row[name]):>7.1f}" for name in COLUMNS)
        print(f"{row['model']:<22}{cells}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
