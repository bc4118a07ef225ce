"""From IEDR levels to difficulty and dominant axis.

Paper: EMPA (arXiv 2603.00552), Fig. 6; the cuts are mu - sigma, mu and mu + sigma of
the authors' pool of 395 scripts.
"""

import numpy as np

from helpers.data.slots import AXES
from helpers.scoring.rubric import initial_deficit

CUTS = (27.80, 32.32, 36.84)
DIFFICULTIES = ("Easy", "Medium", "Hard", "VeryHard")


def deficit_norm(levels: dict[str, int]) -> float:
    """Euclidean length of P_0."""
    return float(np.linalg.norm(initial_deficit(levels)))


def difficulty(levels: dict[str, int]) -> str:
    """Easy below 27.80, Medium to 32.32, Hard to 36.84, VeryHard above."""
    norm = deficit_norm(levels)
    if norm < CUTS[0]:
        return "Easy"
    return DIFFICULTIES[1 + sum(norm > cut for cut in CUTS[1:])]


def dominant_axis(levels: dict[str, int]) -> str:
    """The axis with the deepest deficit; ties go to C, then A, then P."""
    deficit = initial_deficit(levels)
    return AXES[int(np.argmin(deficit))]
