"""RAPO's comparison as tables: ladder, transfer, advice, cost, curves.

A label names a method; its runs differ by their seed. Every measure is a mean over
cases of the mean over seeds within a case; intervals resample cases, those of
differences cases and seeds as well (`mapo_tables`). The distance is the percentage of
the way from a user's start to the zone that is behind at the end.

Two ratings in the style of the paper's benchmarks stand beside (`rapo_ratings`), and
the paper's two printed numbers, which share no scale with them.

Paper: RAPO, arXiv 2603.15434 (abstract and a secondary summary).
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.agents.calibration import GROUPS
from helpers.data.published import load
from helpers.learning.results import Result
from helpers.learning.tuning import FAMILIES, grid
from helpers.reporting import mapo_tables
from helpers.reporting.learning_tables import by_case, interval
from helpers.scoring.strategies import RULE, Tagged, Tagger, early_advice

EARLY = 3  # advice before this turn is early (fact sheet, 9.7)
ADVICE = {*GROUPS["Advice Provision"]}
CALLS = {"calls/user": "user", "calls/reactions": "reactions among them",
         "calls/reward_model": "reward model", "calls/judge": "judge"}  # fmt: skip


def main_table(compared: pd.DataFrame, rated: pd.DataFrame) -> pd.DataFrame:
    """The ladder: distance and its difference, both ratings, and what is printed.

    Args:
        compared: of `mapo_tables.comparison`. rated: of `rapo_ratings.measures` with
            "harbor", "sotopia" and "GOAL".
    """
    table = compared.copy()
    names = {"harbor": "ten fields (1 to 5)", "sotopia": "seven dimensions, mean",
             "GOAL": "GOAL (0 to 10)"}  # fmt: skip
    for name, title in names.items():
        rows = rated[rated["measure"] == name].set_index("label")
        for column, suffix in (("value", ""), ("low", " low"), ("high", " high")):
            table[title + suffix] = table["label"].map(rows[column])
    known = load("rapo_printed")
    for item, column in known[["item", "column"]].drop_duplicates().to_numpy():
        if item not in ("EmoHarbor", "SOTOPIA"):
            continue
        cells = known[(known["item"] == item) & (known["column"] == column)]
        values = cells.set_index("row")["value"]
        table[f"{item}: {column} (printed)"] = table["label"].map(values)
    table["status"] = "rerun; printed where known"
    unrun = {"label": "PPO", "status": "not run here: notebooks 05 and 07"}
    table = pd.concat([table, pd.DataFrame([unrun])], ignore_index=True)
    return table.astype(dict.fromkeys(("runs", "n", "failed"), "Int64"))


def advice(
    results: Sequence[Result], user: str, draws: int, rng, level: float = 0.95,
    tagger: Tagger = RULE,
) -> pd.DataFrame:  # fmt: skip
    """How often a policy suggests something, and how often before turn three.

    Returns:
        One row a label: share (of replies that advise, %), low, high; early (of the
        replies before turn EARLY, those that advise, %), early low, early high; of all
        advice, early (%; NaN without any); replies, dialogues, failed. Shares are means
        over dialogues; "of all advice" counts replies.
    """
    labels: dict[str, list[Result]] = {}
    for result in results:
        labels.setdefault(result.label, []).append(result)
    rows = []
    for label, runs in labels.items():
        dialogues = [d for run in runs for d in run.dialogues(user)]
        tagged = Tagged.of(dialogues, tagger)
        cases = [d.scenario_id for d in dialogues if d.failure is None]
        share, early = [], []
        for case, turns in zip(cases, tagged.dialogues, strict=True):
            flags = [(turn.number, bool(ADVICE & {*tags})) for turn, tags in turns]
            for into, last in ((share, np.inf), (early, EARLY)):
                said = [flag for number, flag in flags if number < last]
                into.append((case, np.mean(said) if said else np.nan))
        row = {"label": label}
        for name, values in (("share", share), ("early", early)):
            frame = pd.DataFrame(values, columns=["case", "value"])
            found = interval(by_case(frame, "value"), draws, rng, level)
            ends = (name, f"{name} low", f"{name} high")
            row |= {k: 100 * x for k, x in zip(ends, found, strict=True)}
        of_all = early_advice(tagged, EARLY).share_of_advice
        row["of all advice, early"] = np.nan if of_all is None else 100 * of_all
        row |= {"replies": len(tagged.turns), "dialogues": len(tagged.dialogues),
                "failed": tagged.failed}  # fmt: skip
        rows.append(row)
    return pd.DataFrame(rows)


def transfer(
    results: Sequence[Result], users: Sequence[str], reference: str, draws: int, rng,
    level: float = 0.95,
) -> pd.DataFrame:  # fmt: skip
    """Trained with one user, tested with each: the columns of `comparison`, and
    "trained with" before them.

    Args:
        results: runs, and the start (`label` "base"); reference: label compared with.
    """
    with_user = {r.label: "-" if r.steps == 0 else r.recipe.user for r in results}
    parts = [
        mapo_tables.comparison(results, user, reference, draws, rng, level)
        for user in users
    ]
    table = pd.concat(parts, ignore_index=True)
    table.insert(1, "trained with", table["label"].map(with_user))
    return table.rename(columns={"user": "tested with"})


def cost(results: Sequence[Result]) -> pd.DataFrame:
    """Calls of each label, per update and per run, from the training logs.

    A call is one request to a role: a user's answer to a reply, one comparison of a
    group, one look back over a dialogue. Offline the roles are rules, and the calls are
    what a model in their place would be asked. Extra forwards are passes of the teacher
    for an update; none where lambda is 0.

    Returns:
        label, runs, updates (of a run), then for each kind of call its mean number per
        update and per run, teacher passes per update, seconds (of a run).
    """
    rows = []
    labels: dict[str, list[Result]] = {}
    for result in results:
        labels.setdefault(result.label, []).append(result)
    for label, runs in labels.items():
        trainer, hindsight = runs[0].recipe.trainer, runs[0].recipe.hindsight
        updates = trainer.steps * trainer.minibatches
        teacher = hindsight is not None and hindsight.weight > 0
        row = {"label": label, "runs": len(runs), "updates": updates}
        for column, name in CALLS.items():
            totals = [
                run.curve[column].sum() if column in run.curve else np.nan
                for run in runs
            ]
            row[f"{name}, per update"] = np.mean(totals) / updates
            row[f"{name}, per run"] = np.mean(totals)
        row["teacher passes, per update"] = int(teacher)
        row["teacher passes, per run"] = int(teacher) * updates
        row["seconds"] = np.mean([run.seconds for run in runs])
        rows.append(row)
    return pd.DataFrame(rows)


def calls_so_far(result: Result) -> pd.Series:
    """User calls up to each step (dialogues and reactions), by step; 0 at step 0."""
    total = result.curve["calls/user"].cumsum()
    return pd.Series([0.0, *total], index=range(len(total) + 1))


def curve_points(results: Sequence[Result]) -> pd.DataFrame:
    """`mapo_tables.curve_points` with a column calls: user calls up to the step."""
    points = mapo_tables.curve_points(results)
    spent = {(r.label, r.recipe.trainer.seed): calls_so_far(r) for r in results}
    keys = zip(points["label"], points["seed"], points["step"], strict=True)
    points["calls"] = [spent[label, seed][step] for label, seed, step in keys]
    return points.drop(columns="dialogues")


def tuning_table(path: Path) -> pd.DataFrame:
    """The tuning of the ladder; where it was not run its rows stay, without a score."""
    if path.is_file():
        return pd.read_csv(path)
    rows = [values for values, _ in grid(FAMILIES["rapo"])]
    return pd.DataFrame(rows).assign(score=np.nan, chosen=False)
