"""Users compared: how often they accept a reply, how plainly they speak, and what
training with them makes of a policy.

The scripted users were set so that the first two come out near the printed values
(`agents.scripted`): these cells of Table 3 are a calibration, not a finding.

Paper: RLVER (arXiv 2507.03112) Table 3 and section 3.4.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from helpers.agents.calibration import Probe, acceptance, expression
from helpers.learning.results import Result, scores
from helpers.learning.worlds import TEMPERS
from helpers.reporting.learning_tables import by_case, interval
from helpers.reporting.rlver_printed import CELL, beside
from helpers.reporting.stats import cluster_bootstrap
from helpers.sandbox.dialogue import Dialogue

ACCEPTANCE = "strategy acceptance rate"
EXPRESSION = "emotion and need expression level"
CALIBRATED = "set by calibration to the printed value"
BENCHMARK = {"vanilla": "Sentient", "challenging": "Sentient, challenging version"}


def user_rates(
    probes: Iterable[Probe],
    spoken: Mapping[str, Iterable[Dialogue]],
    draws: int,
    rng: np.random.Generator,
    level: float = 0.95,
) -> pd.DataFrame:
    """Acceptance rate and expression level of each user, in percent.

    Args:
        probes: of `calibration.mixed_set`, the same for all users. spoken: dialogues by
            the user who spoke in them, a key of `worlds.TEMPERS`.

    Returns:
        rlver_printed.CELL: row (user), column, value, low, high (cards resampled), n
        (replies or lines).
    """
    probes, rows = list(probes), []
    for user, dialogues in spoken.items():
        accepted = _accepted(user, probes)
        shown = [
            (d.scenario_id, *expression([d], TEMPERS[user].grammar)) for d in dialogues
        ]
        for column, counts in ((ACCEPTANCE, accepted), (EXPRESSION, shown)):
            rows.append((user, column, *_percent(counts, draws, rng, level)))
    return pd.DataFrame(rows, columns=CELL)


def user_scores(
    results: Sequence[Result], draws: int, rng: np.random.Generator, level: float = 0.95
) -> pd.DataFrame:
    """Mean final emotion of runs by the user they trained with, under each user.

    Args:
        results: runs of one algorithm (the paper's are PPO).

    Returns:
        rlver_printed.CELL: row ("vanilla, think"), column (benchmark), value, low, high
        (cases resampled, seeds averaged), n (dialogues).
    """
    groups: dict[str, list[Result]] = {}
    for result in results:
        mode = "think" if result.recipe.think else "no-think"
        groups.setdefault(f"{result.recipe.user}, {mode}", []).append(result)
    rows = []
    for row, group in groups.items():
        for user in group[0].recipe.checks.users:
            frame = scores(group, user)
            found = interval(by_case(frame), draws, rng, level)
            column = BENCHMARK.get(user, f"Sentient, {user} user")
            rows.append((row, column, *found, int((~frame["failed"]).sum())))
    return pd.DataFrame(rows, columns=CELL)


def table3(rates: pd.DataFrame, scored: pd.DataFrame) -> pd.DataFrame:
    """Table 3: `user_rates` and `user_scores` beside the printed values.

    Cells that the paper does not have (the second user) follow, without a printed
    value. Columns as of `rlver_printed.beside`; the rates of the users have the status
    "calibrated" and say so in the note.
    """
    own = pd.concat([rates, scored], ignore_index=True)
    said = beside("rlver_table3")[["row", "column"]].apply(tuple, axis=1)
    known = own[["row", "column"]].apply(tuple, axis=1).isin(said)
    table = beside("rlver_table3", own[known])
    rate = table["column"].isin([ACCEPTANCE, EXPRESSION]) & (table["status"] == "rerun")
    table.loc[rate, "status"] = "calibrated"
    table.loc[rate, "note"] = CALIBRATED + "; " + table["note"]
    rest = own[~known].rename(columns={"value": "ours"})
    rest = rest.assign(item="not in the paper", status="rerun")
    if rest.empty:
        return table
    added = rest.reindex(columns=table.columns).astype(table.dtypes)
    return pd.concat([table, added], ignore_index=True)


def _accepted(user: str, probes: Sequence[Probe]) -> list[tuple[str, int, int]]:
    """(card, accepted, replies) by card."""
    cards: dict[str, list[Probe]] = {}
    for probe in probes:
        cards.setdefault(probe.card.id, []).append(probe)
    return [(card, *acceptance(TEMPERS[user], part)["all"])
            for card, part in cards.items()]  # fmt: skip


def _percent(counts: Sequence[tuple[str, int, int]], draws, rng, level) -> tuple:
    """(value, low, high, n) of the share over all, whole cards resampled."""
    hits, cards = [], []
    for card, part, whole in counts:
        hits += [100.0] * part + [0.0] * (whole - part)
        cards += [card] * whole
    if not hits:
        return np.nan, np.nan, np.nan, 0
    mean = cluster_bootstrap(hits, cards, draws, rng, level)
    return mean.estimate, mean.low, mean.high, mean.n
