"""How a dialogue ends: the rules of EMPA's released code and of its predecessor.

Order of the rules at one turn: success, failure, timeout, oscillation.

Paper: EMPA, arXiv 2603.00552v1, equation 5 and Algorithm 2; numbers and detectors are
those of the released code, the oscillation rule that of the code behind the logs.
"""

from typing import TYPE_CHECKING

import numpy as np

from helpers.scoring.geometry import norm, round_half_even, zone_distance

if TYPE_CHECKING:
    from helpers.scoring.epm import EpmSettings

KINDS = ("open", "success", "collapse", "oscillation", "timeout")
LABELS = (None, "geometric", "positional")

COLLAPSE_WINDOW = 5
STAGNATION_WINDOW = 5
STAGNATION_SD = 0.5
REGRESSION_WINDOW = 8
REGRESSION_SHARE = 0.7
REGRESSION_SUM = -1.0
OSCILLATION_WINDOW = 12


def _slide(combine, x: np.ndarray, size: int) -> np.ndarray:
    """`combine` over every window of `size` turns: (B, T) -> (B, T - size + 1)."""
    n = x.shape[1] - size + 1
    out = x[:, :n]
    for k in range(1, size):
        out = combine(out, x[:, k : k + n])
    return out


def _at_end(flags: np.ndarray, size: int) -> np.ndarray:
    """Window flags placed at the turn at which each window ends: (B, T)."""
    return np.pad(flags, ((0, 0), (size - 1, 0)))


def verdicts(P, v, delta, total, projection, norm0, turns, s: "EpmSettings"):
    """First turn at which a rule fires, in the order of the code: success, failure,
    timeout, oscillation. All (B, T) arrays below are indexed by turn - 1."""
    B, T = delta.shape
    if T == 0:
        nothing = np.zeros(B, dtype=np.int64)
        return nothing, nothing, nothing
    number = np.arange(1, T + 1)
    allowed = (number >= s.min_turns) & (number <= turns[:, None])
    length = norm(P[:, 1:])
    energy, along = total[:, 1:], projection[:, 1:]
    need_energy, radius = norm0, s.alpha * norm0
    if s.rounding == "logged":
        # What the logs keep, and what their verdicts were taken from.
        energy, along, length, delta, need_energy, radius = (
            round_half_even(x, 2)
            for x in (energy, along, length, delta, need_energy, radius)
        )

    geometric = length <= radius[:, None]
    positional = along >= -radius[:, None]
    success = allowed & (energy >= need_energy[:, None]) & (geometric | positional)
    collapse = allowed & _failure(delta, length, s)
    timeout = np.broadcast_to(number == s.max_turns, (B, T)) & allowed
    oscillation = np.zeros((B, T), dtype=bool)
    if s.legacy_oscillation:
        oscillation = allowed & _oscillation(P, v)

    fired = np.select(
        [success, collapse, timeout, oscillation],
        [KINDS.index(k) for k in ("success", "collapse", "timeout", "oscillation")],
        0,
    )
    over = (fired > 0).any(1)
    first = (fired > 0).argmax(1)
    rows = np.arange(B)
    kind = np.where(over, fired[rows, first], 0)
    label = np.where(geometric[rows, first], 1, 2) * (kind == KINDS.index("success"))
    return kind, label, np.where(over, first + 1, 0)


def _failure(delta, length, s: "EpmSettings") -> np.ndarray:
    """Directional collapse, stagnation and persistent regression, combined."""
    nothing = np.zeros(delta.shape, dtype=bool)
    if s.failure_rule == "none":
        return nothing
    T = delta.shape[1]
    below = delta < 0
    collapse = stagnation = regression = nothing
    if T >= COLLAPSE_WINDOW:
        run = _slide(np.logical_and, below, COLLAPSE_WINDOW)
        collapse = _at_end(run, COLLAPSE_WINDOW)
    if T >= REGRESSION_WINDOW:
        many = _slide(np.add, below.astype(np.int8), REGRESSION_WINDOW) > (
            REGRESSION_SHARE * REGRESSION_WINDOW
        )
        deep = _slide(np.add, delta, REGRESSION_WINDOW) < REGRESSION_SUM
        regression = _at_end(many & deep, REGRESSION_WINDOW)
    if T >= STAGNATION_WINDOW:
        size = STAGNATION_WINDOW
        mean = _slide(np.add, length, size) / size
        n = mean.shape[1]
        square = sum((length[:, k : k + n] - mean) ** 2 for k in range(size))
        still = square < STAGNATION_SD**2 * (size - 1)
        stagnation = _at_end(still, size)
    if s.failure_rule == "readme":
        return collapse | stagnation | regression
    return collapse | (stagnation & regression)


def _oscillation(P, v) -> np.ndarray:
    """The detector of the predecessor code: the last 12 points stay in one place."""
    size = OSCILLATION_WINDOW
    n = v.shape[1] - size + 1
    if n < 1:
        return np.zeros(v.shape[:2], dtype=bool)
    far = zone_distance(P[:, 1:])
    spread = _slide(np.maximum, far, size) - _slide(np.minimum, far, size)
    hover = (spread < 2) & (_slide(np.add, far, size) > size)
    net = _taxi(P[:, size:] - P[:, 1 : n + 1])
    # net <= moved, so this also covers "moved less than 3" of the predecessor code.
    return _at_end(hover | (net < 3), size)


def _taxi(x: np.ndarray) -> np.ndarray:
    x = np.abs(x)
    return x[..., 0] + x[..., 1] + x[..., 2]
