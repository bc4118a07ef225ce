"""RAPO's comparison as tables: ladder, controls, transfer, advice, cost, preference.

A label names a method; its runs differ by their seed. Every measure is a mean over
cases of the mean over seeds within a case; intervals resample cases, those of
differences cases and seeds as well (`mapo_tables`). The distance is the percentage of
the way from a user's start to the zone that is behind at the end.

Two ratings are in the style of the paper's benchmarks and are neither of them: the ten
fields of `scoring.harbor` (1 to 5) and the seven dimensions of `scoring.sotopia`. The
paper's two printed numbers stand beside and share no scale with them.

Paper: RAPO, arXiv 2603.15434 (abstract and a secondary summary).
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from helpers.agents.acts import Reader
from helpers.agents.calibration import GROUPS
from helpers.agents.clauses import read_clauses
from helpers.agents.support_judge import HARBOR, SupportJudge
from helpers.data.published import load
from helpers.data.scenarios import load_cards
from helpers.data.social import load_social
from helpers.learning.results import Result
from helpers.learning.worlds import TEMPERS
from helpers.reporting import mapo_tables
from helpers.reporting.learning_tables import by_case, interval
from helpers.reporting.stats import cluster_bootstrap
from helpers.sandbox.social import Player, play
from helpers.scoring.harbor import harbor_table
from helpers.scoring.preference import OUTCOMES, Chooser, preferences
from helpers.scoring.sotopia import SHORT, rate_social, rate_support, rating_table
from helpers.scoring.strategies import RULE, Tagged, Tagger, early_advice

EARLY = 3  # advice before this turn is early (fact sheet, 9.7)
ADVICE = {*GROUPS["Advice Provision"]}
CALLS = {"calls/user": "user, in dialogues", "calls/reactions": "user, reactions",
         "calls/reward_model": "reward model", "calls/judge": "judge"}  # fmt: skip


def ratings(
    results: Sequence[Result], user: str, judge: SupportJudge | None = None,
    reader: Reader = read_clauses,
) -> pd.DataFrame:  # fmt: skip
    """One row a dialogue of the last checks: both ratings.

    Returns:
        label, seed, case; the ten fields and "harbor" (their mean, 1..5); the seven
        dimensions by short name and "sotopia" (their mean, -30/7..40/7); failed harbor,
        failed sotopia. A failure has NaN.
    """
    parts = []
    for result in results:
        cards = {card.id: card for card in load_cards(result.recipe.checks.split)}
        dialogues, how = result.dialogues(user), {"grammar": TEMPERS[user].grammar}
        ten = harbor_table(dialogues, cards, judge, reader=reader, **how)
        ten = ten.rename(columns={"overall": "harbor", "failed": "failed harbor"})
        how |= {"reader": reader, "judge": judge}
        marks = [rate_support(d, cards[d.scenario_id], **how) for d in dialogues]
        seven = rating_table(({}, mark) for mark in marks)
        seven = seven.rename(columns={"overall": "sotopia", "failed": "failed sotopia"})
        part = pd.concat([ten, seven], axis=1)
        part.insert(0, "seed", result.recipe.trainer.seed)
        part.insert(0, "label", result.label)
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def measures(
    frame: pd.DataFrame, names: Sequence[str], draws: int, rng, level: float = 0.95
) -> pd.DataFrame:
    """Long form: label, measure, value, low, high, n, failed; one row a label and name.

    Args:
        frame: of `ratings`, or with columns label, case and `names`.
    """
    rows = []
    for label, part in frame.groupby("label", sort=False):
        for name in names:
            found = interval(by_case(part, name), draws, rng, level)
            n = int(part[name].notna().sum())
            rows.append((label, name, *found, n, len(part) - n))
    columns = ["label", "measure", "value", "low", "high", "n", "failed"]
    return pd.DataFrame(rows, columns=columns)


def main_table(compared: pd.DataFrame, rated: pd.DataFrame) -> pd.DataFrame:
    """The ladder: distance and its difference, both ratings, and what is printed.

    Args:
        compared: of `mapo_tables.comparison`. rated: of `measures` with "harbor",
            "sotopia" and "GOAL".
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
    return table.assign(status="rerun; printed where known")


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
        row["seconds"] = np.mean([run.seconds for run in runs])
        rows.append(row)
    return pd.DataFrame(rows)


def calls_so_far(result: Result) -> pd.Series:
    """User calls up to each step (dialogues and reactions), by step; 0 at step 0."""
    curve = result.curve
    names = [n for n in ("calls/user", "calls/reactions") if n in curve]
    total = curve[names].fillna(0).sum(axis=1).cumsum()
    return pd.Series([0.0, *total], index=range(len(total) + 1))


def curve_points(results: Sequence[Result]) -> pd.DataFrame:
    """`mapo_tables.curve_points` with a column calls: user calls up to the step."""
    points = mapo_tables.curve_points(results)
    spent = {(r.label, r.recipe.trainer.seed): calls_so_far(r) for r in results}
    keys = zip(points["label"], points["seed"], points["step"], strict=True)
    points["calls"] = [spent[label, seed][step] for label, seed, step in keys]
    return points.drop(columns="dialogues")


def preference_table(
    pairs: Mapping[str, tuple[Sequence[Result], Sequence[Result]]], user: str,
    chooser: Chooser, draws: int, rng, level: float = 0.95,
) -> pd.DataFrame:  # fmt: skip
    """Wins of one policy over another, seed by seed on the same cards.

    Args:
        pairs: name -> (runs of the one, runs of the other), in the order of the seeds.

    Returns:
        One row a name: compared; win, tie, loss, swayed, failed (counts); share (wins
        and half of ties and swayed, %), low, high (cases resampled; NaN without).
    """
    rows = []
    for name, (ones, others) in pairs.items():
        parts = []
        for one, other in zip(ones, others, strict=True):
            cards = {card.id: card for card in load_cards(one.recipe.checks.split)}
            both = zip(one.dialogues(user), other.dialogues(user), strict=True)
            parts.append(preferences(both, cards, chooser))
        frame = pd.concat(parts, ignore_index=True)
        counts = frame["outcome"].value_counts()
        found = interval(by_case(frame, "worth"), draws, rng, level)
        rows.append({"compared": name,
                     **{o: int(counts.get(o, 0)) for o in OUTCOMES},
                     **dict(zip(("share", "low", "high"),
                                (100 * x for x in found), strict=True))})  # fmt: skip
    return pd.DataFrame(rows)


def social_board(
    players: Mapping[str, Player], draws: int, rng, level: float = 0.95,
    judge: SupportJudge | None = None,
) -> pd.DataFrame:  # fmt: skip
    """Every player with every player, both seats, on the kit's social scenarios.

    Returns:
        One row a player and kind of scenario ("all" too): the seven dimensions by
        short name, overall with low and high (scenarios resampled), n, failed.
    """
    scenarios = load_social()
    rated = []
    for scenario in scenarios:
        for first, one in players.items():
            for second, other in players.items():
                episode = play(scenario, (one, other), (first, second))
                marks = rate_social(episode, scenario, judge)
                for name, mark in zip((first, second), marks, strict=True):
                    keys = {"player": name, "kind": scenario.kind}
                    rated.append((keys | {"scenario": scenario.codename}, mark))
    table = rating_table(rated)
    rows = []
    for name, own in table.groupby("player", sort=False):
        for kind in ("all", *dict.fromkeys(table["kind"])):
            part = own if kind == "all" else own[own["kind"] == kind]
            kept = part[~part["failed"]]
            row = {"player": name, "kind": kind, **kept[[*SHORT.values()]].mean()}
            mean = None
            if len(kept):
                values = kept["overall"], kept["scenario"]
                mean = cluster_bootstrap(*values, draws, rng, level)
            row |= {"overall": getattr(mean, "estimate", np.nan),
                    "low": getattr(mean, "low", np.nan),
                    "high": getattr(mean, "high", np.nan),
                    "n": len(kept), "failed": int(part["failed"].sum())}  # fmt: skip
            rows.append(row)
    return pd.DataFrame(rows)


FIELDS = (*HARBOR, "harbor")
SEVEN = (*SHORT.values(), "sotopia")
