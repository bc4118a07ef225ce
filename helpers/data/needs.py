"""From IEDR levels to difficulty and dominant axis.

Paper: EMPA (arXiv 2603.00552), initial deficit; units as in the released
configuration; cuts mu - sigma, mu, mu + sigma of the authors' pool of 395 scripts.
"""

import math

from helpers.data.slots import AXES, ITEMS

UNITS = {
    "C.1": 2, "C.2": 2, "C.3": 3,
    "A.1": 2, "A.2": 4, "A.3": 3,
    "P.1": 2, "P.2": 4, "P.3": 3,
}  # fmt: skip
CUTS = (27.80, 32.32, 36.84)
DIFFICULTIES = ("Easy", "Medium", "Hard", "VeryHard")


# The single place that waits for `helpers.scoring.rubric.initial_deficit`; the rule is
# the same (deficit = - sum of level x unit), the return type is plain floats.
def initial_deficit(levels: dict[str, int]) -> tuple[float, float, float]:
    """P_0 on C, A, P from the nine levels {"C.1": 0..3, ..., "P.3": 0..3}."""
    return tuple(
        -float(sum(levels[item] * UNITS[item] for item in ITEMS if item[0] == axis))
        for axis in AXES
    )


def deficit_norm(levels: dict[str, int]) -> float:
    """Euclidean length of P_0."""
    return math.hypot(*initial_deficit(levels))


def difficulty(levels: dict[str, int]) -> str:
    """Easy below 27.80, Medium to 32.32, Hard to 36.84, VeryHard above."""
    norm = deficit_norm(levels)
    if norm < CUTS[0]:
        return "Easy"
    return DIFFICULTIES[1 + sum(norm > cut for cut in CUTS[1:])]


def dominant_axis(levels: dict[str, int]) -> str:
    """The axis with the deepest deficit; ties go to C, then A, then P."""
    deficit = initial_deficit(levels)
    return AXES[deficit.index(min(deficit))]
