"""What the runs of the race cost, and how far each got for it.

Costs are read from the training logs: user turns (one reply that a user took in, the
reactions to RAPO's candidates included), tokens that the policy sampled (for the
supervised contrast: tokens that it was taught), seconds of the steps on this machine
(waiting for the other core included; checks left out), dialogues.
"""

from collections.abc import Sequence

import pandas as pd

from helpers.data.scenarios import load_cards
from helpers.learning.race import BY_RANK, VERBAL
from helpers.learning.results import Result, scores
from helpers.reporting import figures as look
from helpers.reporting.race_looks import look_of

COSTS = {"user turns": "calls/user", "tokens": "tokens/policy", "seconds": "time/step"}
EARNED = {VERBAL: "distance, notes", "base": "-", "base, think": "-"}


def earned(label: str) -> str:
    """What a label was trained for, in a word."""
    name = label.split(", ")[0]
    if name == "supervised":
        return "a listener's replies"
    if name in BY_RANK:
        return "rank of replies"
    return EARNED.get(name, "distance")


def points(results: Sequence[Result]) -> pd.DataFrame:
    """Learning curves against what was spent so far.

    The score is the final emotion of the curve's cards with the first user of a run's
    checks; runs are checked by the rules of their notebook, so that only curves with
    the same `rules` stand on one scale.

    Returns:
        One row a run and checked step: label, seed, rules, step, dialogues, user turns,
        tokens, seconds (all so far), emotion, n, failed.
    """
    rows = []
    for result in results:
        if not result.steps:
            continue
        recipe, checks = result.recipe, result.recipe.checks
        cases = {c.id for c in load_cards(checks.split)[: checks.curve_cards]}
        so_far = spent_so_far(result)
        for step in result.checked:
            frame = scores([result], checks.users[0], step)
            frame = frame[frame["case"].isin(cases)]
            rows.append(
                {"label": result.label, "seed": recipe.trainer.seed,
                 "rules": checks.rules, "step": step, **so_far.loc[step].to_dict(),
                 "emotion": frame["emotion"].astype(float).mean(),
                 "n": int((~frame["failed"]).sum()),
                 "failed": int(frame["failed"].sum())}
            )  # fmt: skip
    return pd.DataFrame(rows)


def spent_so_far(result: Result) -> pd.DataFrame:
    """Indexed by step from 0: dialogues, and COSTS; NaN where a log has none."""
    curve, trainer = result.curve, result.recipe.trainer
    frame = pd.DataFrame(
        {name: curve[column].astype(float).cumsum() if column in curve else float("nan")
         for name, column in COSTS.items()}
    )  # fmt: skip
    held = trainer.dialogues
    if result.recipe.hindsight is not None and result.recipe.hindsight.dialogues:
        held = result.recipe.hindsight.dialogues
    frame.insert(
        0, "dialogues", held * pd.Series(range(1, len(frame) + 1)).astype(float)
    )
    frame.index = range(1, len(frame) + 1)
    first = pd.DataFrame(0.0, index=[0], columns=frame.columns)
    return pd.concat([first, frame])


def totals(results: Sequence[Result]) -> pd.DataFrame:
    """One row a label: label, trained for, runs; dialogues and COSTS of a whole run,
    mean over its seeds (0 for a start: nothing was spent on it)."""
    rows = []
    for result in results:
        spent = {name: 0.0 for name in ("dialogues", *COSTS)}
        if result.steps:
            spent = spent_so_far(result).iloc[-1].to_dict()
        rows.append({"label": result.label, **spent})
    frame = pd.DataFrame(rows).groupby("label", sort=False)
    table = frame.mean().reset_index()
    table.insert(1, "trained for", [earned(label) for label in table["label"]])
    table.insert(2, "runs", frame.size().to_numpy())
    return table


def picture(frame: pd.DataFrame, rules: str, demo: str):
    """The emotion against dialogues, user turns, tokens and seconds, one panel each.

    Args:
        frame: of `points`; only runs checked by `rules` are drawn.
    """
    part = frame[frame["rules"] == rules]
    costs = ["dialogues", *COSTS]
    figure, axes = look.grid(2, 2, 4.6, sharey=True)
    for ax, cost in zip(axes.flat, costs, strict=True):
        for label, own in part.groupby("label", sort=False):
            colour, mark, line = look_of(label)
            mean = own.groupby("step")[[cost, "emotion"]].mean()
            ax.plot(mean[cost], mean["emotion"], marker=mark, linestyle=line,
                    color=colour, ms=4, lw=1.1, label=label)  # fmt: skip
        ax.set_xlabel(f"{cost} spent in training")
        ax.set_ylim(0, 100)
    for row in axes:
        row[0].set_ylabel("final emotion (0 to 100)")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5)
    figure.suptitle(f"{demo}; mean of the seeds", fontsize=8)
    return figure, frame
