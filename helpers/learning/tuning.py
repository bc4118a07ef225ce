"""The same tuning effort for every method, on the tune split, written down.

    python -m helpers.learning.tuning rlver

Each method and mode gets the same grid (learning rate x entropy bonus), the same steps,
one seed that no later run uses, and is judged by its mean score on the tune cards after
training. The best value is chosen; a tie goes to the smaller rate, then the smaller
bonus. Nothing is chosen on test cards. All runs go into data/tuning/<family>.csv.
"""

import argparse
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from helpers.files import write_atomically
from helpers.learning.methods import LADDER, TUNING, Scale, make_recipe
from helpers.learning.recipes import Checks, Recipe
from helpers.learning.results import Result, scores, train
from helpers.paths import RUNS

SEED = 100  # of the tuning runs only
CHECKS = Checks(split="tune", every=1000, curve_cards=1, final_cards=40,
                users=("vanilla",))  # fmt: skip


@dataclass(frozen=True)
class Family:
    """One comparison: who is tuned, over what, for which score.

    score: column of `results.scores`. more: further arguments of `make_recipe`.
    judged_by: rules of the dialogues that are scored.
    """

    methods: tuple[str, ...]
    thinks: tuple[bool, ...]
    rates: tuple[float, ...]
    entropies: tuple[float, ...]
    scale: Scale
    score: str = "emotion"
    more: tuple[tuple[str, str | float], ...] = ()
    judged_by: str = "sage"


RATES, ENTROPIES = (7.5e-5, 1.5e-4, 3e-4, 6e-4, 1.2e-3), (0.001,)
FAMILIES = {
    "rlver": Family(("GRPO", "PPO"), (False, True), RATES, ENTROPIES, Scale(steps=16)),
    "mapo": Family(
        ("GRPO", "PPO", "REINFORCE++", "turn-only", "batch-only", "MAPO"), (False,),
        RATES, ENTROPIES, Scale(steps=16, minibatches=2), "distance",
        (("rules", "empa"), ("reward", "distance"), ("epsilon_high", 0.28)), "empa",
    ),
    "rapo": Family(
        ("GRPO", *LADDER), (False,), (3.75e-5, *RATES), ENTROPIES,
        Scale(8, 24, minibatches=2),
        "distance", (("rules", "empa"), ("epsilon_high", 0.28)), "empa",
    ),
}  # fmt: skip


def grid(family: Family) -> list[tuple[dict, Recipe]]:
    """Every run of a family with the values that it tries."""
    made = []
    for name in family.methods:
        for think in family.thinks:
            for rate in family.rates:
                for entropy in family.entropies:
                    values = {"method": name, "think": think, "rate": rate,
                              "entropy": entropy}  # fmt: skip
                    recipe = make_recipe(
                        name, family.scale, rate=rate, entropy=entropy, seed=SEED,
                        think=think, checks=replace(CHECKS, rules=family.judged_by),
                        **dict(family.more),
                    )  # fmt: skip
                    made.append((values, recipe))
    return made


def table(family: Family, results: list[Result]) -> pd.DataFrame:
    """One row a run: the values, steps, dialogues (of RAPO, whose steps hold fewer:
    those that take as many user calls), n cards, score, chosen."""
    rows = []
    for (values, recipe), result in zip(grid(family), results, strict=True):
        found = scores([result], CHECKS.users[0])
        kept = found.loc[~found["failed"], family.score].dropna()
        steps = recipe.trainer.steps
        rows.append(
            {**values, "steps": steps, "dialogues": steps * family.scale.dialogues,
             "seed": SEED, "n": len(kept), "score": kept.mean()}
        )  # fmt: skip
    frame = pd.DataFrame(rows)
    order = frame.sort_values(
        ["score", "rate", "entropy"], ascending=[False, True, True]
    )
    best = order.groupby(["method", "think"], sort=False).head(1).index
    return frame.assign(chosen=frame.index.isin(best), measured=family.score)


def tune(name: str, training: Path, out: Path = TUNING, workers=None) -> pd.DataFrame:
    """Run a family's grid and write its table."""
    family = FAMILIES[name]
    results = train([recipe for _, recipe in grid(family)], training, workers)
    made = table(family, results)
    write_atomically(out / f"{name}.csv", made.to_csv(index=False, float_format="%.6g"))
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description="Tune the methods of a family alike.")
    parser.add_argument("family", choices=FAMILIES)
    parser.add_argument("--workers", type=int)
    arguments = parser.parse_args()
    made = tune(arguments.family, RUNS / "tuning", workers=arguments.workers)
    print(made.to_string(index=False))


if __name__ == "__main__":
    main()
