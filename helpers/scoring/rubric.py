"""EMPA's two rubrics as numbers: IEDR (how large the need is) and MDEP-PR (what a
reply did to it).

IEDR is rated once a scenario: nine items, level 0 to 3, whose sum of level times unit
is the initial deficit P_0 on the axes C (cognitive), A (affective), P (proactive).
MDEP-PR is rated once a turn: per axis a progress level 0..2 and a negative level
-2..0, mapped to an increment by a table (not by adding the levels).

Paper: EMPA, arXiv 2603.00552v1; items, units and the level table are in
the released configuration, and every released dialogue agrees with them.
"""

from math import isfinite
from numbers import Real

import numpy as np

AXES = ("C", "A", "P")

# Item: (unit, what level 0 to level 3 spans). Deficit of an item = -level * unit.
IEDR_ITEMS = {
    "C.1": (2, "background knowledge needed: everyday to a unique personal history"),
    "C.2": (2, "depth of the problem: on the surface to deep"),
    "C.3": (3, "priority of being understood"),
    "A.1": (2, "intensity of the emotion: calm to extreme"),
    "A.2": (4, "how hidden the emotion is: in plain sight to deep"),
    "A.3": (3, "priority of resonance"),
    "P.1": (2, "agency: high to none"),
    "P.2": (4, "hit on core values: none to crisis"),
    "P.3": (3, "priority of affirmation"),
}

MDEP_FIELDS = ("C.Prog", "C.Neg", "A.Prog", "A.Neg", "P.Prog", "P.Neg")

PROG_VALUE = {0: 0, 1: 1, 2: 3}
NEG_VALUE = {
    "C": {0: 0, -1: -2, -2: -4},
    "A": {0: 0, -1: -2, -2: -5},
    "P": {0: 0, -1: -2, -2: -5},
}

# The same table as one array: _STEP[field, level + 2] -> value, NaN where impossible.
_STEP = np.full((6, 5), np.nan)
for _i, _field in enumerate(MDEP_FIELDS):
    _axis, _kind = _field.split(".")
    _table = PROG_VALUE if _kind == "Prog" else NEG_VALUE[_axis]
    for _level, _value in _table.items():
        _STEP[_i, _level + 2] = _value


class LevelError(ValueError):
    """A rubric level is missing, not a whole number or outside its range."""


def _level(levels: dict, name: str, low: int, high: int) -> int:
    if name not in levels or levels[name] is None:
        raise LevelError(f"{name} has no level: an unrated item is not a zero")
    value = levels[name]
    if not isinstance(value, Real) or not isfinite(value) or value != int(value):
        raise LevelError(f"{name} = {value!r}: a level is a whole number")
    if not low <= value <= high:
        raise LevelError(f"{name} = {value!r} is outside {low}..{high}")
    return int(value)


def _no_strangers(levels: dict, known) -> None:
    strangers = sorted(set(levels) - set(known))
    if strangers:
        raise LevelError(f"unknown item {strangers[0]!r}; known: {', '.join(known)}")


def initial_deficit(levels: dict) -> np.ndarray:
    """IEDR levels to the initial deficit P_0.

    Args:
        levels: {"C.1": 0..3, ..., "P.3": 0..3}, all nine items.

    Returns:
        float array (3,), axes C, A, P; C in [-21, 0], A and P in [-27, 0].

    Raises:
        LevelError: an item is missing, unknown, not whole or out of range.

    Paper: EMPA and its released configuration (units 2/2/3 on C, 2/4/3 on A, P).
    """
    _no_strangers(levels, IEDR_ITEMS)
    deficit = dict.fromkeys(AXES, 0.0)
    for item, (unit, _) in IEDR_ITEMS.items():
        deficit[item[0]] -= _level(levels, item, 0, 3) * unit
    return np.array([deficit[axis] for axis in AXES])


def increment(levels: dict) -> np.ndarray:
    """MDEP-PR levels of one turn to its increment v_t.

    Args:
        levels: {"C.Prog": 0..2, "C.Neg": -2..0, ...}, all six fields.

    Returns:
        float array (3,), axes C, A, P; C in [-4, 3], A and P in [-5, 3].

    Raises:
        LevelError: a field is missing, unknown, not whole or out of range.
    """
    _no_strangers(levels, MDEP_FIELDS)
    for field in MDEP_FIELDS:
        low, high = (0, 2) if field.endswith("Prog") else (-2, 0)
        _level(levels, field, low, high)
    return increments([[levels[field] for field in MDEP_FIELDS]])[0]


def increments(levels) -> np.ndarray:
    """Many turns at once: levels (..., 6) in the order of MDEP_FIELDS to v (..., 3).

    Raises:
        LevelError: a level is missing (NaN), not whole or out of range; the message
            gives its position.
    """
    levels = np.asarray(levels, dtype=float)
    if levels.shape[-1:] != (6,):
        raise LevelError(f"levels need a last axis of 6 fields, got {levels.shape}")
    index = np.nan_to_num(levels + 2, nan=-1.0, posinf=-1.0, neginf=-1.0)
    whole = index.astype(np.int64)
    inside = (whole == index) & (whole >= 0) & (whole <= 4)
    steps = _STEP[np.arange(6), np.where(inside, whole, 0)]
    bad = ~inside | np.isnan(steps)
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        raise LevelError(
            f"{MDEP_FIELDS[where[-1]]} at {where[:-1]} is {levels[where]}: "
            "progress is 0..2, negative is -2..0, whole, and never missing"
        )
    return steps[..., 0::2] + steps[..., 1::2]
