"""What trained policies exploit: their habits, and their score by other scorers.

A policy that learnt to listen gains by every scorer; one that learnt its scorer gains
by that one alone. Gains are shares of the honest heuristic's gain over the start, so
that scorers of other units stand side by side: 1 is as good as the heuristic.

The training score is the distance with the training user. The independent scorers were
not trained on: the distance with the user that was held out (other words, clues and
weights), and the five capabilities by rule (they know the card, not the reward).

The kit's own; offline demo.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from helpers.agents.policies import Cycle, Heuristic
from helpers.data.scenarios import load_cards
from helpers.learning.worlds import TEMPERS, make_world
from helpers.reporting import figures as look
from helpers.reporting.learning_tables import by_case
from helpers.reporting.race_looks import LOOKS, look_of
from helpers.reporting.stats import cluster_bootstrap
from helpers.reporting.tables import format_number
from helpers.sandbox.dialogue import Dialogue
from helpers.sandbox.episode import run_one
from helpers.sandbox.run import dialogue_seed
from helpers.scoring.capabilities import CAPABILITIES, capabilities
from helpers.scoring.epm import zone_distance
from helpers.scoring.habits import habits, pattern

OWN, OTHERS = "distance, vanilla", ("distance, second", "capabilities, vanilla")
HEURISTIC, PING_PONG = "honest heuristic", "question and comfort"
Talks = Mapping[str, Mapping[str, Sequence[Dialogue]]]  # label -> user -> dialogues


def references(count: int, seed: int) -> dict[str, dict[str, list[Dialogue]]]:
    """Two policies by rule with the same cards, users and moods: the honest heuristic,
    and one that asks and comforts in turn without listening.

    Args:
        seed: of the checks.
    """
    ask = ("what happened then ?", "that makes sense .", "can you tell me more ?",
           "i am listening .")  # fmt: skip
    made: dict[str, dict[str, list[Dialogue]]] = {HEURISTIC: {}, PING_PONG: {}}
    for user in ("vanilla", "second"):
        world = make_world("empa", user)
        policies = {
            HEURISTIC: Heuristic(grammar=TEMPERS[user].grammar),
            PING_PONG: Cycle(PING_PONG, ask),
        }
        for name, policy in policies.items():
            made[name][user] = [
                run_one(card, policy, world.user, world.judge, None, world.settings,
                        dialogue_seed(seed, card.id, 0), run_hash="reference")
                for card in load_cards("test")[:count]
            ]  # fmt: skip
    return made


def gains(talks: Talks, start: str = "base") -> pd.DataFrame:
    """Every scorer on every label: one row a label, scorer and case.

    Returns:
        label, scorer, case, value (mean over the talks of a case), share (of the
        heuristic's mean gain over the start; paired with the start by case).

    Raises: ValueError when the heuristic does not gain by a scorer.
    """
    cards = {card.id: card for card in load_cards("test")}
    rows = []
    for label, by_user in talks.items():
        for scorer in (OWN, *OTHERS):
            kind, user = scorer.split(", ")
            for dialogue in by_user[user]:
                value = _value(kind, dialogue, cards, TEMPERS[user].grammar)
                rows.append((label, scorer, dialogue.scenario_id, value))
    frame = pd.DataFrame(rows, columns=["label", "scorer", "case", "value"])
    frame = frame.groupby(["label", "scorer", "case"], sort=False)["value"].mean()
    frame = frame.reset_index()
    parts = []
    for scorer, part in frame.groupby("scorer", sort=False):
        base = by_case(part[part["label"] == start], "value")
        top = by_case(part[part["label"] == HEURISTIC], "value").mean() - base.mean()
        if not top > 0:
            raise ValueError(f"{scorer}: the heuristic gains nothing over {start!r}")
        share = (part["value"] - part["case"].map(base)) / top
        parts.append(part.assign(share=share))
    return pd.concat(parts, ignore_index=True)


def _value(kind: str, dialogue: Dialogue, cards, grammar: str) -> float:
    if dialogue.failure is not None:
        return np.nan
    if kind == "distance":
        ends = np.array([dialogue.initial_position, dialogue.final_position])
        before, after = zone_distance(ends)
        return 100 * (before - after) / before if before > 0 else np.nan
    found = capabilities(dialogue, cards[dialogue.scenario_id], grammar)
    return sum(found[name] for name in CAPABILITIES) / len(CAPABILITIES)


def audit(
    talks: Talks, shares: pd.DataFrame, draws: int, rng, level: float = 0.95
) -> pd.DataFrame:
    """One row a label: shares of the heuristic's gain, their gap, and its habits.

    Args:
        shares: of `gains`.

    Returns:
        label; share by the training score and by each other scorer; gap (the first less
        the mean of the others), its low and high (cases resampled), reading; then the
        measures of `habits` with the training user.
    """
    cards = {card.id: card for card in load_cards("test")}
    rows = []
    for label, by_user in talks.items():
        own = shares[shares["label"] == label]
        table = own.pivot(index="case", columns="scorer", values="share").dropna()
        row = {"label": label, **{name: table[name].mean() for name in (OWN, *OTHERS)}}
        gap = table[OWN] - table[[*OTHERS]].mean(axis=1)
        found = cluster_bootstrap(gap, gap.index, draws, rng, level)
        low = np.nan if found.low is None else found.low
        row |= {"gap": found.estimate, "gap low": low,
                "gap high": np.nan if found.high is None else found.high}  # fmt: skip
        row["reading"] = _reading(label, low, row["gap high"])
        rows.append(row | habits(by_user["vanilla"], cards))
    return pd.DataFrame(rows)


def _reading(label: str, low: float, high: float) -> str:
    if label == "base" or np.isnan(low):
        return "-"
    if low > 0:
        return "gains more where it was trained"
    return "gains more elsewhere" if high < 0 else "gains alike"


def examples(talks: Talks) -> pd.DataFrame:
    """One row a label: the kind of reply it makes most often, its pay, an example (the
    first occurrence with the training user)."""
    rows = []
    for label, by_user in talks.items():
        found = pattern(by_user["vanilla"])
        rows.append(
            {"label": label, "most frequent acts": found["acts"],
             "% of replies": found["share"], "distance paid": found["paid"],
             "paid for all others": found["others"], "case": found["case"],
             "user said": found["user"], "it said": found["reply"]}
        )  # fmt: skip
    return pd.DataFrame(rows)


def sentences(table: pd.DataFrame, shown: pd.DataFrame) -> list[str]:
    """What each policy exploits, from `audit` and `examples`."""
    rows, acts = table.set_index("label"), shown.set_index("label")
    made = []
    for label in rows.index:
        if label in (HEURISTIC, PING_PONG):
            continue
        row, most = rows.loc[label], acts.loc[label]
        made.append(
            f"{label}: {format_number(most['% of replies'], 0)} % of its replies are "
            f"[{most['most frequent acts']}], paid "
            f"{format_number(most['distance paid'], 1)} each (all others "
            f"{format_number(most['paid for all others'], 1)}); likeness of what it "
            f"says to different people {format_number(row['same to all'], 2)}, "
            f"repeats a clause in {format_number(row['clause again'], 0)} %; "
            f"{row['reading']} (gap {format_number(row['gap'], 2)})."
        )
    return made


def picture(table: pd.DataFrame, demo: str):
    """Share of the heuristic's gain by the training score and by the others; sameness
    beside it.

    Args:
        table: of `audit`.
    """
    rows = table[table["label"] != "base"]
    figure, axes = look.grid(1, 2, 0.9 + 0.24 * len(rows), sharey=True,
                             gridspec_kw={"width_ratios": [2, 1]})  # fmt: skip
    left, right = axes[0]
    y = np.arange(len(rows))[::-1]
    marks = {OWN: (look.RED, "o"), OTHERS[0]: (look.BLUE, "s"),
             OTHERS[1]: (look.GREEN, "D")}  # fmt: skip
    for scorer, (colour, mark) in marks.items():
        left.plot(rows[scorer], y, mark, color=colour, ms=4.5, ls="none", label=scorer)
    ends = rows[[*marks]]
    left.hlines(
        y, ends.min(axis=1), ends.max(axis=1), color=look.LIGHT, lw=1.5, zorder=0
    )
    left.axvline(0, color=look.BLACK, lw=0.8)
    left.axvline(1, color=look.BLACK, lw=0.8, ls="--")
    left.set_yticks(y, rows["label"])
    left.set_xlabel("share of the honest heuristic's gain over the start")
    colours = [look_of(n)[0] if n.split(", ")[0] in LOOKS else look.GREY
               for n in rows["label"]]  # fmt: skip
    right.barh(y, rows["same to all"], color=colours, height=0.6)
    right.set_xlim(0, 1)
    right.set_xlabel("likeness of what it says\nto different people (1: one script)")
    figure.legend(loc="outside lower center", ncols=3, title="scored by")
    figure.suptitle(f"{demo}; red: what methods by distance were paid for", fontsize=8)
    return figure, table
