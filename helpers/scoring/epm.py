"""EPM, EMPA's potential model: a path through (C, A, P) space, its energy, its verdict.

P_t = P_{t-1} + v_t starts at the initial deficit P_0 (negative axes) and should reach
the origin. The work of a turn is dE_t = v_t . v*, the part of the step that points at
the goal, and alignment is dE_t / ||v_t||. Quantities of a state (P, distance,
projection, total energy) have T + 1 rows, row 0 being the start; quantities of a step
(v, alignment, dE) have T rows.

Everything is array work over many dialogues at once (`score_batch`); one dialogue
(`score_trajectory`) is a batch of one.

Paper: EMPA, arXiv 2603.00552v1, equations 2 to 5. The paper and the
released code differ; `EmpaSettings.released` and `.paper` name both (see the notebook
03 and its fidelity audit).
"""

from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np

from helpers.scoring.geometry import (
    dot,
    norm,
    round_half_even,
    safe_divide,
    zone_distance,
)
from helpers.scoring.verdicts import KINDS, LABELS, verdicts


def _is(kind, value) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


@dataclass(frozen=True)
class EpmSettings:
    """Every switch of the potential model.

    alpha: radius of the goal as a share of ||P_0||; it decides only the label of a
        success under the fixed direction.
    v_star: "fixed" = -P_0/||P_0|| (released code and logs); "moving" =
        -P_{t-1}/||P_{t-1}|| (paper, equation 3).
    min_turns, max_turns: no verdict before the one, a timeout at the other.
    legacy_oscillation: the detector that made 11 of the released endings and that the
        released code no longer has.
    rounding: "logged" repeats the precision of the released logs (v* to 4 places;
        thresholds and compared values to 2); "none" compares full precision.
    failure_rule: "code" = collapse or (stagnation and regression); "readme" = each
        detector ends the dialogue by itself; "none" = no failure detector.
    """

    alpha: float = 0.10
    v_star: str = "fixed"
    min_turns: int = 12
    max_turns: int = 45
    legacy_oscillation: bool = True
    rounding: str = "logged"
    failure_rule: str = "code"

    def __post_init__(self):
        choices = {
            "v_star": ("fixed", "moving"),
            "rounding": ("logged", "none"),
            "failure_rule": ("code", "readme", "none"),
        }
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise ValueError(
                    f"EpmSettings.{name} = {getattr(self, name)!r}; "
                    f"choose one of {', '.join(allowed)}"
                )
        if not (_is(Real, self.alpha) and self.alpha >= 0):
            raise ValueError(f"EpmSettings.alpha = {self.alpha!r} must be 0 or more")
        if not isinstance(self.legacy_oscillation, bool):
            raise ValueError(
                f"EpmSettings.legacy_oscillation = {self.legacy_oscillation!r}: "
                "True or False"
            )
        whole = _is(Integral, self.min_turns) and _is(Integral, self.max_turns)
        if not whole or not 1 <= self.min_turns <= self.max_turns:
            raise ValueError(
                f"EpmSettings needs whole numbers 1 <= min_turns <= max_turns, got "
                f"{self.min_turns!r} and {self.max_turns!r}"
            )

    @classmethod
    def released(cls) -> "EpmSettings":
        """What made the released logs, and so the paper's tables."""
        return cls()

    @classmethod
    def paper(cls) -> "EpmSettings":
        """The paper's equations as printed.

        The paper gives the moving direction but no number for any threshold or turn
        limit, and none for its tau_align; alpha and the limits are therefore the
        README's (0.05; 12 and 45), and the second success condition stays the released
        positional one, measured along the moving direction.
        """
        return cls(
            alpha=0.05, v_star="moving", legacy_oscillation=False, rounding="none"
        )


@dataclass(frozen=True)
class Verdict:
    """How a dialogue ends: kind, label of a success, turn (None while open)."""

    kind: str
    label: str | None
    turn: int | None


@dataclass(frozen=True)
class Trajectory:
    """One scored dialogue of T turns.

    P (T+1, 3) position; v (T, 3) increments; alignment (T,) cosine, 0 for a turn that
    moved nothing; delta_energy (T,) and total_energy (T+1,) work; distance (T+1,)
    to the zone in which every axis is at least -1; projection (T+1,) of P on v*;
    verdict. Units are those of the rubric.
    """

    P: np.ndarray
    v: np.ndarray
    alignment: np.ndarray
    delta_energy: np.ndarray
    total_energy: np.ndarray
    distance: np.ndarray
    projection: np.ndarray
    verdict: Verdict


@dataclass(frozen=True)
class Batch:
    """B scored dialogues, padded to T turns; `inside` (B, T) marks the real turns.

    After a dialogue's last turn, v, alignment and delta_energy are 0 and the state
    stays where it was. kind, label (indices into KINDS, LABELS) and turn (0 = none)
    are (B,) integers.
    """

    turns: np.ndarray
    inside: np.ndarray
    P: np.ndarray
    v: np.ndarray
    alignment: np.ndarray
    delta_energy: np.ndarray
    total_energy: np.ndarray
    distance: np.ndarray
    projection: np.ndarray
    kind: np.ndarray
    label: np.ndarray
    turn: np.ndarray

    def verdict(self, i: int) -> Verdict:
        turn = int(self.turn[i])
        return Verdict(KINDS[self.kind[i]], LABELS[self.label[i]], turn or None)


def score_batch(p0, v, turns, settings: EpmSettings | None = None) -> Batch:
    """Score many dialogues at once.

    Args:
        p0: (B, 3) initial deficits.
        v: (B, T, 3) increments; rows from turns[b] on are ignored.
        turns: (B,) number of turns of each dialogue.
        settings: default `EpmSettings.released()`.

    Returns:
        Batch.

    Raises:
        ValueError: shapes disagree, a value is not finite, or P_0 is the origin.

    Paper: EMPA equations 2 to 5; detectors as in the released code.
    """
    s = settings or EpmSettings.released()
    p0 = np.asarray(p0, dtype=float)
    v = np.asarray(v, dtype=float)
    turns = np.asarray(turns, dtype=np.int64)
    if v.ndim != 3 or p0.shape != (len(v), 3) or v.shape[2] != 3:
        raise ValueError(f"need p0 (B, 3) and v (B, T, 3), got {p0.shape}, {v.shape}")
    if turns.shape != (len(v),) or (turns < 0).any() or (turns > v.shape[1]).any():
        raise ValueError(f"turns needs B whole numbers in 0..{v.shape[1]}")
    inside = np.arange(v.shape[1]) < turns[:, None]
    # Kept as three contiguous planes behind (B, T, 3) views: several times faster.
    v = np.moveaxis(np.where(inside, np.moveaxis(v, 2, 0), 0.0), 0, 2)
    if not (np.isfinite(p0).all() and np.isfinite(v).all()):
        raise ValueError("p0 and v must be finite: a missing judgement has no position")
    norm0 = norm(p0)
    if not norm0.all():
        raise ValueError("P_0 is the origin: without a deficit there is no direction")

    P = np.moveaxis(np.empty((3, len(v), v.shape[1] + 1)), 0, 2)
    P[:, 0] = 0.0
    np.cumsum(v, axis=1, out=P[:, 1:])
    P += p0[:, None]

    logged = s.rounding == "logged"
    if s.v_star == "fixed":
        goal = -p0 / norm0[:, None]
        goal = round_half_even(goal, 4) if logged else goal
        delta = dot(v, goal[:, None])
        projection = dot(P, goal[:, None])
    else:
        before = norm(P[:, :-1])
        delta = -safe_divide(dot(v, P[:, :-1]), before)
        projection = np.empty(P.shape[:2])
        projection[:, 0] = -norm0
        projection[:, 1:] = -safe_divide(dot(P[:, 1:], P[:, :-1]), before)
    total = np.zeros(P.shape[:2])
    np.cumsum(delta, axis=1, out=total[:, 1:])

    kind, label, turn = verdicts(P, v, delta, total, projection, norm0, turns, s)
    return Batch(
        turns=turns,
        inside=inside,
        P=P,
        v=v,
        alignment=safe_divide(delta, norm(v)),
        delta_energy=delta,
        total_energy=total,
        distance=zone_distance(P),
        projection=projection,
        kind=kind,
        label=label,
        turn=turn,
    )


def score_trajectory(p0, increments, settings: EpmSettings | None = None) -> Trajectory:
    """Score one dialogue.

    Args:
        p0: (3,) initial deficit, for instance from `rubric.initial_deficit`.
        increments: (T, 3) increments, one a turn, from `rubric.increment`.
        settings: default `EpmSettings.released()`.

    Returns:
        Trajectory; its verdict is "open" when no rule fires within the T turns.

    Raises:
        ValueError: wrong shapes, values that are not finite, or no deficit.
    """
    v = np.asarray(increments, dtype=float)
    v = v.reshape(0, 3) if v.size == 0 else v
    if v.ndim != 2 or v.shape[1] != 3 or np.shape(p0) != (3,):
        raise ValueError(
            f"need p0 (3,) and increments (T, 3): {np.shape(p0)}, {v.shape}"
        )
    b = score_batch(np.reshape(p0, (1, 3)), v[None], [len(v)], settings)
    return Trajectory(
        P=b.P[0],
        v=b.v[0],
        alignment=b.alignment[0],
        delta_energy=b.delta_energy[0],
        total_energy=b.total_energy[0],
        distance=b.distance[0],
        projection=b.projection[0],
        verdict=b.verdict(0),
    )
