"""The horse race as numbers: five measures, two users, intervals, paired differences.

A measure is a mean over cases of the mean over seeds within a case. A difference is
paired: the same cases, users and moods. It has two intervals: one resamples the cases
(sure for the runs that were made), one resamples cases and seeds (other seeds as well;
missing with one seed, crude with few). The verdict takes the second where there is one.

All measures come from talks of the finished policies, held by the same rules for all.
Four read the ten-turn talks with a judge beside the user; SAGE's emotion comes from
talks by SAGE's stop rules. EPM-Q of ten turns cannot stand beside EMPA's board, whose
talks have 12 to 45.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.data.scenarios import Scenario, load_cards
from helpers.learning.race import meet_again, meet_all
from helpers.learning.results import Result
from helpers.learning.worlds import TEMPERS
from helpers.reporting.learning_tables import (
    AGAINST,
    AS_SAID,
    by_case,
    interval,
    verdict,
)
from helpers.reporting.mapo_tables import seeds_and_cases
from helpers.reporting.own_board import stack_dialogues
from helpers.reporting.stats import paired_difference
from helpers.sandbox.dialogue import Dialogue
from helpers.scoring.harbor import harbor
from helpers.scoring.replay import score_dialogues
from helpers.scoring.sotopia import Rating, rate_support


@dataclass(frozen=True)
class Measure:
    """name; unit and range in words; rules of the talks that it reads."""

    name: str
    unit: str
    rules: str


MEASURES = (
    Measure("EPM-Q", "points, higher is better", "empa"),
    Measure("distance", "% of the way to the zone", "empa"),
    Measure("SAGE emotion", "final, 0 to 100", "sage"),
    Measure("SOTOPIA-style", "overall, -4.3 to 5.7", "empa"),
    Measure("EmoHarbor-style", "overall, 1 to 5", "empa"),
)
KEYS = ["label", "seed", "user", "measure"]


def talks(
    results: Sequence[Result],
    users: Sequence[str],
    counts: Mapping[str, int],
    folder: Path,
) -> dict[tuple[str, int, str, str], list[Dialogue]]:
    """The talks of every policy: (label, seed, rules, user) -> dialogues.

    Args:
        users: keys of `worlds.TEMPERS`. counts: cards by rules. folder: of new talks.

    Raises: ValueError for a run given twice.
    """
    found = {}
    meet_all(results, users, counts, folder)
    for result in results:
        for rules, count in counts.items():
            for user in users:
                key = (result.label, result.recipe.trainer.seed, rules, user)
                if key in found:
                    raise ValueError(f"{result.label!r}, seed {key[1]}: given twice")
                found[key] = meet_again(result, rules, user, count, folder)
    return found


def measure(
    held: Mapping[tuple[str, int, str, str], Sequence[Dialogue]],
) -> pd.DataFrame:
    """Every measure of every talk.

    Args:
        held: of `talks`.

    Returns:
        KEYS, case, value (NaN for a talk that failed): one row each.
    """
    cards = {card.id: card for card in load_cards("test")}
    rows = []
    for (label, seed, rules, user), dialogues in held.items():
        if rules == "sage":
            values = {"SAGE emotion": _emotions(dialogues)}
        else:
            values = _judged(dialogues, cards, TEMPERS[user].grammar)
        for name, by_talk in values.items():
            rows += [(label, seed, user, name, d.scenario_id, by_talk[i])
                     for i, d in enumerate(dialogues)]  # fmt: skip
    return pd.DataFrame(rows, columns=[*KEYS, "case", "value"])


def _emotions(dialogues: Sequence[Dialogue]) -> list[float]:
    return [np.nan if d.failure or d.final_emotion is None else float(d.final_emotion)
            for d in dialogues]  # fmt: skip


def _judged(
    dialogues: Sequence[Dialogue], cards: Mapping[str, Scenario], grammar: str
) -> dict[str, list[float]]:
    values = {m.name: [np.nan] * len(dialogues) for m in MEASURES if m.rules == "empa"}
    kept = [i for i, d in enumerate(dialogues) if d.failure is None]
    if not kept:
        return values
    stacked = stack_dialogues([dialogues[i] for i in kept], "race")
    scored = score_dialogues(stacked)
    for place, i in enumerate(kept):
        dialogue, row = dialogues[i], scored.iloc[place]
        card = cards[dialogue.scenario_id]
        rated = rate_support(dialogue, card, grammar)
        values["EPM-Q"][i] = float(row["EPMQ"])
        values["distance"][i] = _distance(dialogue)
        if isinstance(rated, Rating):
            values["SOTOPIA-style"][i] = rated.overall
        values["EmoHarbor-style"][i] = harbor(dialogue, card, grammar)["overall"]
    return values


def _distance(dialogue: Dialogue) -> float:
    from helpers.scoring.epm import zone_distance

    ends = np.array([dialogue.initial_position, dialogue.final_position])
    before, after = zone_distance(ends)
    return 100 * (before - after) / before if before > 0 else np.nan


def board(
    frame: pd.DataFrame, draws: int, rng: np.random.Generator, level: float = 0.95
) -> pd.DataFrame:
    """One row a label, user and measure: label, user, measure, runs, n, failed, cases,
    value, low, high (cases resampled), best and worst seed (means of each)."""
    rows = []
    for (measure_, user, label), part in frame.groupby(
        ["measure", "user", "label"], sort=False
    ):
        cases = by_case(part, "value")
        value, low, high = interval(cases, draws, rng, level)
        means = part.groupby("seed")["value"].mean()
        rows.append(
            {"label": label, "user": user, "measure": measure_,
             "runs": part["seed"].nunique(), "n": int(part["value"].notna().sum()),
             "failed": int(part["value"].isna().sum()), "cases": len(cases),
             "value": value, "low": low, "high": high,
             "best seed": means.max(), "worst seed": means.min()}
        )  # fmt: skip
    return pd.DataFrame(rows)


def wide(own: pd.DataFrame, spent: pd.DataFrame) -> pd.DataFrame:
    """The one table: a row a label, a column a measure and user, what it cost.

    Args:
        own: of `board`. spent: of `race_budget.totals`, one row a label.

    Returns:
        label, trained for, runs, user turns, dialogues, tokens, seconds (means over
        seeds, of training); the mean of each measure and user; mean rank (over all of
        them, 1 is best), in the order of the mean rank.
    """
    table = own.pivot(index="label", columns=["measure", "user"], values="value")
    order = list(own[["measure", "user"]].itertuples(index=False, name=None))
    table = table[list(dict.fromkeys(order))]
    ranks = table.rank(ascending=False).mean(axis=1).rename("mean rank")
    table.columns = [f"{m}, {u}" for m, u in table.columns]
    joined = spent.set_index("label").join(table, how="right").join(ranks)
    return joined.sort_values("mean rank").reset_index()


def pairs(
    frame: pd.DataFrame,
    wanted: Sequence[tuple[str, str]],
    draws: int,
    rng: np.random.Generator,
    level: float = 0.95,
) -> pd.DataFrame:
    """One row a pair of labels (more, less), user and measure.

    Pairs of which a label was not run are left out.

    Returns:
        more, less, user, measure, difference (positive: more is higher), low, high
        (cases), low too, high too (cases and seeds), runs (the fewer), cases, verdict
        ("higher", "lower", "not told apart", "no interval").
    """
    rows = []
    there = set(frame["label"])
    groups = dict(tuple(frame.groupby(["label", "user", "measure"])))
    for more, less in wanted:
        if not {more, less} <= there:
            continue
        for user in frame["user"].unique():
            for one in MEASURES:
                a, b = (groups[name, user, one.name] for name in (more, less))
                found = difference(a, b, draws, rng, level)
                rows.append({"more": more, "less": less, "user": user,
                             "measure": one.name, **found})  # fmt: skip
    return pd.DataFrame(rows)


def difference(
    a: pd.DataFrame, b: pd.DataFrame, draws: int, rng: np.random.Generator, level: float
) -> dict:
    """The last columns of `pairs` for two labels, user and measure given.

    Args:
        a, b: columns seed, case, value; b may be a start, which has one seed for all.
    """
    one, two = by_case(a, "value"), by_case(b, "value")
    found = paired_difference(one, two, draws, rng, level)
    left, right = (
        part.pivot(index="case", columns="seed", values="value") for part in (a, b)
    )
    if right.shape[1] == 1 and left.shape[1] > 1:  # a start has one seed for all
        table = left.sub(right.iloc[:, 0], axis=0)
    else:
        table = left - right
    low, high = seeds_and_cases(table, draws, rng, level)
    near = (np.nan if found.low is None else found.low,
            np.nan if found.high is None else found.high)  # fmt: skip
    ends = near if np.isnan(low) else (low, high)
    words = {AS_SAID: "higher", AGAINST: "lower"}
    said = verdict(found.estimate, *ends)
    return {"difference": found.estimate, "low": near[0], "high": near[1],
            "low too": low, "high too": high,
            "runs": min(left.shape[1], right.shape[1]), "cases": found.clusters,
            "verdict": words.get(said, said)}  # fmt: skip
