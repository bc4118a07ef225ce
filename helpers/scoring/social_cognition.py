"""A place on SAGE's map of social cognition, by a formula: an offline demo.

In the papers a model reads profiles and strategy shares and assigns the place (printed
range -1..1, drawn as -5..5; `agents.strategy_judge` asks a model too). The kit's own
stand-in takes the axes' names at their word; its numbers are no papers' positions.

y, solution (-5) to empathy (+5): 5 * (E - S) / (E + S), with E the uses of Praise, Deep
Empathy and Emotional Venting, S those of Advice Provision and Problem Analysis. What
stands outside the paper's table moves nothing.

x, structured (-5) to creative (+5): 5 * (2 * D - 1), with D the mean of two shares:
evenness, the entropy of the five groups' uses over its maximum ln 5; and change, the
mean Jaccard distance between the tags of a reply and of the next (1: nothing shared).

Papers: SAGE 2505.02847 section 4.2, appendices E and F; RLVER 2507.03112 Figure 7 (fact
sheet, A8, B11, E10).
"""

from dataclasses import dataclass
from itertools import pairwise
from math import log

from helpers.agents.calibration import GROUPS
from helpers.scoring.strategies import Tagged

EMPATHIC = ("Praise", "Deep Empathy", "Emotional Venting")
REACH = 5.0


@dataclass(frozen=True)
class Place:
    """x, y: in -5..5, None when no strategy was used, x also without two replies in a
    row. n: dialogues counted. failed: dialogues left out. untagged: replies left out.
    """

    x: float | None
    y: float | None
    n: int
    failed: int
    untagged: int


def place(tagged: Tagged) -> Place:
    """Where a policy stands by its dialogues, tagged by rule or by a model."""
    tags = [tag for _, used in tagged.turns for tag in used]
    uses = {
        group: sum(tag in members for tag in tags) for group, members in GROUPS.items()
    }
    total, x, y = sum(uses.values()), None, None
    steps = [
        1 - len(set(one) & set(other)) / len(set(one) | set(other))
        for dialogue in tagged.dialogues
        for (_, one), (_, other) in pairwise(dialogue)
    ]
    if total:
        y = REACH * (2 * sum(uses[group] for group in EMPATHIC) / total - 1)
    if total and steps:
        shares = [use / total for use in uses.values() if use]
        evenness = -sum(p * log(p) for p in shares) / log(len(GROUPS))
        x = REACH * (evenness + sum(steps) / len(steps) - 1)
    return Place(x, y, len(tagged.dialogues), tagged.failed, tagged.untagged)
