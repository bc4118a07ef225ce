"""Small vector arithmetic of the potential model: lengths, distances, rounding."""

import numpy as np

ZONE_EPSILON = 1.0


def zone_distance(P: np.ndarray) -> np.ndarray:
    """Distance to the zone where every axis is at least -1: (..., 3) -> (...)."""
    return norm(np.minimum(P + ZONE_EPSILON, 0.0))


def dot(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Inner product over the last axis of 3 (written out: a short axis sums slowly)."""
    return x[..., 0] * y[..., 0] + x[..., 1] * y[..., 1] + x[..., 2] * y[..., 2]


def norm(x: np.ndarray) -> np.ndarray:
    """Euclidean length over the last axis of 3: (..., 3) -> (...)."""
    return np.sqrt(dot(x, x))


def round_half_even(x: np.ndarray, digits: int) -> np.ndarray:
    """Round as Python's `round` does; the released logs were written with it.

    NumPy scales, rounds and scales back, so a value just below a tie can go up.
    """
    scale = 10.0**digits
    scaled = x * scale
    whole = np.rint(scaled)
    ties = np.abs(scaled - whole) > 0.5 - 1e-6
    rounded = whole / scale
    if ties.any():
        rounded[ties] = [round(value, digits) for value in x[ties].tolist()]
    return rounded


def safe_divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)
