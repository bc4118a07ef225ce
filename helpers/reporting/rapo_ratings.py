"""What judges say of RAPO's policies: two ratings, preference, social talks, teacher.

The ten fields of `scoring.harbor` and the seven dimensions of `scoring.sotopia` are in
the style of the paper's benchmarks and are neither of them. Offline both are rules; a
`SupportJudge` puts a model in their place. A failed rating is NaN and counted.

Paper: RAPO, arXiv 2603.15434 (fact sheet, 9.6).
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from helpers.agents.acts import Reader
from helpers.agents.clauses import read_clauses
from helpers.agents.support_judge import HARBOR, SupportJudge
from helpers.data.scenarios import load_cards
from helpers.data.social import load_social
from helpers.learning.results import Result
from helpers.learning.worlds import TEMPERS
from helpers.reporting.learning_tables import by_case, interval
from helpers.reporting.stats import cluster_bootstrap, paired_difference
from helpers.sandbox.social import Player, play
from helpers.scoring.harbor import harbor_table
from helpers.scoring.preference import OUTCOMES, Chooser, preferences
from helpers.scoring.sotopia import SHORT, rate_social, rate_support, rating_table

FIELDS = (*HARBOR, "harbor")
SEVEN = (*SHORT.values(), "sotopia")


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


def teacher_table(
    frame: pd.DataFrame, draws: int, rng, level: float = 0.95
) -> pd.DataFrame:
    """Does a critique in the context move the policy, and is it what it says?

    Args:
        frame: of `learning.teacher.teacher_quality`: think, arm, case, change,
            premature.

    Returns:
        One row a mode and arm: think, arm, n (turns); change (of the emotion in one
        turn), low, high; premature (% of replies); true minus it, its low and high
        (paired by person; NaN for "true" itself).
    """
    rows = []
    for think, part in frame.groupby("think", sort=False):
        of = {arm: rows_ for arm, rows_ in part.groupby("arm", sort=False)}
        for arm, own in of.items():
            change = by_case(own, "change")
            row = {"think": think, "arm": arm, "n": len(own)}
            found = interval(change, draws, rng, level)
            row |= dict(zip(("change", "low", "high"), found, strict=True))
            row["premature"] = 100 * by_case(own, "premature").mean()
            if arm != "true":
                true = by_case(of["true"], "change")
                gap = paired_difference(true, change, draws, rng, level)
                row |= {"true minus it": gap.estimate, "gap low": gap.low,
                        "gap high": gap.high}  # fmt: skip
            rows.append(row)
    table = pd.DataFrame(rows)
    return table.astype({"gap low": float, "gap high": float})
