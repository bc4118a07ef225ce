"""The numbers that the README quotes are those of the committed long run."""

import pandas as pd
import pytest

from helpers.paths import ROOT

LONG = ROOT / "figures" / "laptop_seeds5"
COLUMNS = (("EPM-Q", "vanilla"), ("EPM-Q", "second"), ("SAGE emotion", "vanilla"))
PAIRS = {
    "kit_mapo_pairs": ("GRPO", "PPO", "REINFORCE++", "turn-only", "batch-only"),
    "kit_rapo_pairs": (
        "sample-wise GRPO", "comparative_po", "+ distillation", "RAPO shuffled critique"
    ),
}  # fmt: skip


def of_race() -> list[str]:
    """The rows of the race, best mean rank first."""
    board = pd.read_csv(LONG / "kit_race_board.csv")
    board = board.set_index(["label", "measure", "user"])
    rows = []
    for label in pd.read_csv(LONG / "kit_horse_race.csv")["label"]:
        cells = [board.loc[(label, *column)] for column in COLUMNS]
        numbers = [f"{c['value']:.1f} [{c['low']:.1f}, {c['high']:.1f}]" for c in cells]
        rows.append(f"| {' | '.join([label, *numbers])} |")
    return rows


def of_pairs() -> list[str]:
    """The rows of MAPO and RAPO over others, with the user of the training."""
    rows = []
    for name, others in PAIRS.items():
        pairs = pd.read_csv(LONG / f"{name}.csv")
        pairs = pairs[pairs["user"] == "vanilla"].set_index(["more", "less"])
        method = "MAPO" if "mapo" in name else "RAPO"
        for other in others:
            row = pairs.loc[(method, other)]
            rows.append(
                f"| {method} over {other} | {row['difference']:+.1f} "
                f"[{row['low too']:.1f}, {row['high too']:.1f}] |"
            )
    return rows


@pytest.mark.parametrize("row", [*of_race(), *of_pairs()])
def test_a_row_is_that_of_the_long_run(row):
    assert row in (ROOT / "README.md").read_text(encoding="utf-8").splitlines()


def test_five_seeds_each():
    runs = pd.read_csv(LONG / "kit_race_board.csv").set_index("label")["runs"]
    trained = runs[~runs.index.str.startswith("base")]
    assert (trained == 5).all()
