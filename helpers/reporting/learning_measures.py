"""Training runs as points to draw: curves, strategies, capabilities, places, logs.

One frame a figure, in long form. Checks on the way have few cards, so strategies and
places are counted over the dialogues of all seeds of a label together.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from helpers.agents.acts import Reader
from helpers.agents.clauses import read_clauses
from helpers.agents.roles import RoleFailure
from helpers.agents.strategy_judge import StrategyJudge
from helpers.data.published import load
from helpers.data.scenarios import load_cards
from helpers.learning.results import Result, scores
from helpers.learning.worlds import TEMPERS
from helpers.reporting.learning_tables import interval, variant
from helpers.sandbox.dialogue import Dialogue
from helpers.scoring.capabilities import CAPABILITIES, capability_table
from helpers.scoring.social_cognition import place
from helpers.scoring.strategies import RULE, Tagged, Tagger, contribution, frequency

SHOWN = 4  # dialogues that a model reads to place a policy


def curve_points(results: Sequence[Result]) -> pd.DataFrame:
    """Learning curves on the curve's cards, with the first user of the checks.

    Returns:
        One row a run and checked step: label, seed, step; emotion (mean final, 0..100),
        tokens (a reply); n (dialogues with a score), failed.
    """
    rows = []
    for result in results:
        cases = _curve_cases(result)
        for step in result.checked:
            frame = scores([result], result.recipe.checks.users[0], step)
            frame = frame[frame["case"].isin(cases)]
            rows.append(
                {"label": result.label, "seed": result.recipe.trainer.seed,
                 "step": step, "emotion": frame["emotion"].astype(float).mean(),
                 "tokens": frame["tokens"].astype(float).mean(),
                 "n": int((~frame["failed"]).sum()),
                 "failed": int(frame["failed"].sum())}
            )  # fmt: skip
    return pd.DataFrame(rows)


def strategy_points(results: Sequence[Result], tagger: Tagger = RULE) -> pd.DataFrame:
    """Use and effect of strategies over training, on the curve's cards.

    Returns:
        One row a label, step, and group or name outside the table: kind; count (uses a
        dialogue), share (of replies); change (mean change of the emotion right after,
        NaN where unused), n (replies that use it); dialogues, replies, failed.
    """
    rows = []
    for label, step, dialogues in _over_training(results):
        tagged = Tagged.of(dialogues, tagger)
        used, effect = frequency(tagged), contribution(tagged)
        table = used.join(effect[["change", "n"]]).query("kind != 'strategy'")
        table = table.rename_axis("group").reset_index()
        rows.append(table.assign(label=label, step=step))
    names = ["label", "step", "group", "kind", "count", "share", "change", "n",
             "dialogues", "replies", "failed"]  # fmt: skip
    return pd.concat(rows, ignore_index=True)[names]


def place_points(
    results: Sequence[Result],
    tagger: Tagger = RULE,
    judge: StrategyJudge | None = None,
) -> pd.DataFrame:
    """The place on the map of social cognition over training, on the curve's cards.

    Args:
        judge: a model that places, None for the formula. It is given the share of each
            strategy over all dialogues, and the first SHOWN dialogues to read.

    Returns:
        One row a label and step: x, y (-5..5, NaN where there is none or the model gave
        no readable answer); n (dialogues), failed.
    """
    rows = []
    for label, step, dialogues in _over_training(results):
        tagged = Tagged.of(dialogues, tagger)
        at = place(tagged)
        x, y = (at.x, at.y) if judge is None else _placed(tagged, dialogues, judge)
        rows.append((label, step, x, y, at.n, at.failed))
    frame = pd.DataFrame(rows, columns=["label", "step", "x", "y", "n", "failed"])
    return frame.astype({"x": float, "y": float})


def _placed(
    tagged: Tagged, dialogues: Sequence[Dialogue], judge: StrategyJudge
) -> tuple[float, float]:
    """(x, y) by a model; NaN where it gave no readable answer, or all failed."""
    shown = [d for d in dialogues if d.failure is None][:SHOWN]
    if not shown:
        return np.nan, np.nan
    try:
        return judge.place(frequency(tagged)["share"], shown)
    except RoleFailure:
        return np.nan, np.nan


def capability_points(
    results: Sequence[Result],
    user: str,
    draws: int,
    rng: np.random.Generator,
    level: float = 0.95,
    judge: StrategyJudge | None = None,
    reader: Reader = read_clauses,
) -> pd.DataFrame:
    """The five capabilities, from the last checks with a user.

    Args:
        results: runs and starts. user: key of `worlds.TEMPERS`. judge: a model that
            scores, None for the scripted scorer. reader: by which that scorer reads
            the replies.

    Returns:
        One row a label and capability: value (1..5, seeds averaged within a case), low,
        high (cases resampled), n (dialogues), failed; printed (a model's rating of
        another policy, where the text names it).
    """
    tables: dict[str, list[pd.DataFrame]] = {}
    for result in results:
        cards = {card.id: card for card in load_cards(result.recipe.checks.split)}
        dialogues, grammar = result.dialogues(user), TEMPERS[user].grammar
        if judge is None:
            table = capability_table(dialogues, cards, grammar=grammar, reader=reader)
        else:
            table = _judged(dialogues, judge)
        tables.setdefault(result.label, []).append(table)
    said = load("rlver_capabilities").set_index(["row", "column"])["value"]
    rows = []
    for label, parts in tables.items():
        table = pd.concat(parts)
        for name in CAPABILITIES:
            values = table[name].astype(float).groupby(table["scenario_id"]).mean()
            found = interval(values.dropna(), draws, rng, level)
            failed = int(table[name].isna().sum())
            # The text names runs with vanilla users only.
            key = (variant(label) if "challenging" not in label else "", name)
            rows.append((label, name, *found, len(table) - failed, failed,
                         said.get(key, np.nan)))  # fmt: skip
    columns = "label capability value low high n failed printed".split()
    return pd.DataFrame(rows, columns=columns)


def _judged(dialogues: Sequence[Dialogue], judge: StrategyJudge) -> pd.DataFrame:
    """`capability_table` by a model; NaN where it gave no readable answer."""
    rows = []
    for dialogue in dialogues:
        try:
            scored = judge.capabilities(dialogue) or {}
        except RoleFailure:
            scored = {}
        rows.append({"scenario_id": dialogue.scenario_id, **scored})
    return pd.DataFrame(rows, columns=["scenario_id", *CAPABILITIES])


def log_points(results: Sequence[Result], names: Sequence[str]) -> pd.DataFrame:
    """The trainer's log: label, seed, step, and `names` (`metrics.GLOSSARY`), NaN where
    a run does not log one."""
    parts = []
    for result in results:
        curve = result.curve.rename(columns={"generation": "at"})
        part = curve.reindex(columns=["at", *names]).rename(columns={"at": "step"})
        part.insert(0, "seed", result.recipe.trainer.seed)
        part.insert(0, "label", result.label)
        parts.append(part.astype(dict.fromkeys(names, float)))
    return pd.concat(parts, ignore_index=True)


def _curve_cases(result: Result) -> set[str]:
    checks = result.recipe.checks
    return {card.id for card in load_cards(checks.split)[: checks.curve_cards]}


def _over_training(
    results: Sequence[Result],
) -> Iterator[tuple[str, int, list[Dialogue]]]:
    """(label, step, dialogues of all seeds on the curve's cards), steps in order."""
    labels: dict[str, list[Result]] = {}
    for result in results:
        labels.setdefault(result.label, []).append(result)
    for label, runs in labels.items():
        for step in sorted({step for run in runs for step in run.checked}):
            dialogues = []
            for run in runs:
                if step in run.checked:
                    cases = _curve_cases(run)
                    dialogues += [d for d in run.dialogues(step=step)
                                  if d.scenario_id in cases]  # fmt: skip
            yield label, step, dialogues
