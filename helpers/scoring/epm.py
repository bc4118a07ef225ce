"""EPM, EMPA's potential model: a path through (C, A, P) space, its energy, its verdict.

P_t = P_{t-1} + v_t starts at the initial deficit P_0 (negative axes) and should reach
the origin. The work of a turn is dE_t = v_t . v*, the part of the step that points at
the goal, and alignment is dE_t / ||v_t||. Quantities of a state (P, distance,
projection, total energy) have T + 1 rows, row 0 being the start; quantities of a step
(v, alignment, dE) have T rows.

Everything is array work over many dialogues at once (`score_batch`); one dialogue
(`score_trajectory`) is a batch of one.

Paper: EMPA, arXiv 2603.00552v1, section 3.4, equations 2 to 5. The paper and the
released code differ; `EmpaSettings.released` and `.paper` name both (see the notebook
03 and its fidelity audit).
"""

from dataclasses import dataclass, replace

import numpy as np

KINDS = ("open", "success", "collapse", "oscillation", "timeout")
LABELS = (None, "geometric", "positional")

COLLAPSE_WINDOW = 5
STAGNATION_WINDOW = 5
STAGNATION_SD = 0.5
REGRESSION_WINDOW = 8
REGRESSION_SHARE = 0.7
REGRESSION_SUM = -1.0
OSCILLATION_WINDOW = 12
ZONE_EPSILON = 1.0


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
        if not self.alpha >= 0:
            raise ValueError(f"EpmSettings.alpha = {self.alpha!r} must be 0 or more")
        if not 1 <= self.min_turns <= self.max_turns:
            raise ValueError(
                f"EpmSettings needs 1 <= min_turns <= max_turns, got "
                f"{self.min_turns} and {self.max_turns}"
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

    def with_(self, **changes) -> "EpmSettings":
        """A copy with some switches changed."""
        return replace(self, **changes)


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


def zone_distance(P: np.ndarray) -> np.ndarray:
    """Distance to the zone where every axis is at least -1: (..., 3) -> (...)."""
    return norm(np.minimum(P + ZONE_EPSILON, 0.0))


def dot(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Inner product over the last axis of 3 (written out: a short axis sums slowly)."""
    return x[..., 0] * y[..., 0] + x[..., 1] * y[..., 1] + x[..., 2] * y[..., 2]


def norm(x: np.ndarray) -> np.ndarray:
    """Euclidean length over the last axis of 3: (..., 3) -> (...)."""
    return np.sqrt(dot(x, x))


def _safe_divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)


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
        goal = np.round(goal, 4) if logged else goal
        delta = dot(v, goal[:, None])
        projection = dot(P, goal[:, None])
    else:
        before = norm(P[:, :-1])
        delta = -_safe_divide(dot(v, P[:, :-1]), before)
        projection = np.empty(P.shape[:2])
        projection[:, 0] = -norm0
        projection[:, 1:] = -_safe_divide(dot(P[:, 1:], P[:, :-1]), before)
    total = np.zeros(P.shape[:2])
    np.cumsum(delta, axis=1, out=total[:, 1:])

    kind, label, turn = _verdicts(P, v, delta, total, projection, norm0, turns, s)
    return Batch(
        turns=turns,
        inside=inside,
        P=P,
        v=v,
        alignment=_safe_divide(delta, norm(v)),
        delta_energy=delta,
        total_energy=total,
        distance=zone_distance(P),
        projection=projection,
        kind=kind,
        label=label,
        turn=turn,
    )


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


def _verdicts(P, v, delta, total, projection, norm0, turns, s: EpmSettings):
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
        energy, along, length = (np.round(x, 2) for x in (energy, along, length))
        delta = np.round(delta, 2)
        need_energy, radius = np.round(need_energy, 2), np.round(radius, 2)

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


def _failure(delta, length, s: EpmSettings) -> np.ndarray:
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
    moved = _slide(np.add, _taxi(v), size)
    far = zone_distance(P[:, 1:])
    spread = _slide(np.maximum, far, size) - _slide(np.minimum, far, size)
    hover = (spread < 2) & (_slide(np.add, far, size) > size)
    net = _taxi(P[:, size:] - P[:, 1 : n + 1])
    return _at_end((moved < 3) | hover | ((moved >= 3) & (net < 3)), size)


def _taxi(x: np.ndarray) -> np.ndarray:
    x = np.abs(x)
    return x[..., 0] + x[..., 1] + x[..., 2]


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
    v = np.asarray(increments, dtype=float).reshape(-1, 3)
    b = score_batch(np.reshape(p0, (1, -1)), v[None], [len(v)], settings)
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
