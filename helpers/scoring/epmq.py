"""EPM-Q, EMPA's nine indices and their composite.

Outcome (RDI, Etot, Snet), Efficiency (Rho, Sproj, Tau) and Stability (Rpos, Align,
Pen) are each the plain mean of three dataset means; EPM-Q weighs them 0.4, 0.2, 0.4.
"released" is what the released code computes and what Table 7 and the README print;
"paper" takes the constants of the paper's appendix as printed. They give different
scores (notebook 03).

Paper: EMPA, arXiv 2603.00552v1, appendix 9, equations 15 and 16, Tables 8 to 10.
"""

from dataclasses import dataclass

import numpy as np

from helpers.scoring.epm import Batch, Trajectory, norm, round_half_even
from helpers.scoring.rubric import MDEP_FIELDS, increments

INDICES = ("RDI", "Etot", "Snet", "Rho", "Sproj", "Tau", "Rpos", "Align", "Pen")
DIMENSIONS = {
    "Outcome": (INDICES[0:3], 0.4),
    "Efficiency": (INDICES[3:6], 0.2),
    "Stability": (INDICES[6:9], 0.4),
}


@dataclass(frozen=True)
class Constants:
    """Where the two versions differ.

    radius: r0 and the distance of RDI: "zone" (distance to the zone, every axis >= -1)
        or "norm" (||P||).
    energy, net: divisors of Etot and Snet, in units of r0.
    net_of: Snet sums raw "levels" or "increments".
    rate: the step per turn that counts as 100 for Rho and Sproj.
    start_row: 1 when the means of Sproj, Rpos, Align and Pen also count the start, a
        row of zeros, as a turn; 0 when they do not.
    rounded: work with the 2 and 4 decimal places that the released logs keep.
    """

    radius: str
    energy: float
    net: float
    net_of: str
    rate: float
    start_row: int
    rounded: bool


CONSTANTS = {
    "released": Constants("zone", 1.2, 1.5, "levels", 2.5, 1, True),
    "paper": Constants("norm", 1.0, 1.2, "increments", 12**0.5, 0, False),
}


def phi(x, worst: float, best: float):
    """Linear map of [worst, best] to [0, 100], clipped (EMPA Table 10)."""
    return 100 * np.clip((x - worst) / (best - worst), 0, 1)


def raw_batch(batch: Batch, levels, constants: str = "released") -> dict:
    """The nine quantities before they are mapped to 0..100, each (B,).

    RDI percent of the start distance removed; Etot energy; Snet net level (or
    increment) sum; Rho energy a turn; Sproj mean work a turn; Tau path over
    displacement; Rpos percent of turns forward; Align mean cosine; Pen mean size of
    the negative levels a turn. "r0" is the start radius.

    Args:
        batch: from `epm.score_batch`.
        levels: (B, T, 6) MDEP-PR levels in the order of rubric.MDEP_FIELDS.
        constants: "released" or "paper".

    Raises:
        ValueError: unknown constants, wrong shape, a missing level on a real turn, a
            dialogue without turns, or one that starts at the goal (r0 = 0).
    """
    if constants not in CONSTANTS:
        raise ValueError(f"constants = {constants!r}; choose released or paper")
    c = CONSTANTS[constants]
    levels = np.asarray(levels, dtype=float)
    if levels.shape != (*batch.v.shape[:2], 6):
        raise ValueError(f"levels must be {(*batch.v.shape[:2], 6)}: {levels.shape}")
    if not batch.turns.all():
        raise ValueError("a dialogue without turns has no indices")
    prog, harm = levels[..., 0::2], levels[..., 1::2]
    harm = harm[..., 0] + harm[..., 1] + harm[..., 2]
    level_sum = prog[..., 0] + prog[..., 1] + prog[..., 2] + harm
    level_sum = np.where(batch.inside, level_sum, 0.0)
    negative = np.where(batch.inside, -harm, 0.0)
    if np.isnan(level_sum).any():
        b, t = np.argwhere(np.isnan(level_sum))[0]
        raise ValueError(
            f"dialogue {b}, turn {t + 1} has an unrated level: it cannot be scored"
        )
    delta, alignment = batch.delta_energy, batch.alignment
    energy = batch.total_energy[:, -1]
    if c.rounded:
        delta, energy = round_half_even(delta, 2), round_half_even(energy, 2)
        alignment = round_half_even(alignment, 4)
    turns = batch.turns
    rows = turns + c.start_row
    start, end = batch.P[:, 0], batch.P[:, -1]
    if c.radius == "zone":
        r0, r1 = batch.distance[:, 0], batch.distance[:, -1]
    else:
        r0, r1 = norm(start) + 1e-6, norm(end)
    if not r0.all():
        raise ValueError("a dialogue that starts at the goal has no distance to remove")
    net = level_sum if c.net_of == "levels" else batch.v.sum(-1)
    straight = norm(end - start)
    path = norm(batch.v).sum(1)
    # A path that comes back to its start has no direction. The released code calls
    # that a tortuosity of 0 and so gives full marks; it never occurs in its logs.
    back = 0.0 if constants == "released" else np.inf
    with np.errstate(divide="ignore", invalid="ignore"):
        tau = np.where(straight > 0, path / straight, back)
    return {
        "r0": r0,
        "RDI": 100 * (r0 - r1) / r0,
        "Etot": energy,
        "Snet": net.sum(1),
        "Rho": energy / turns,
        "Sproj": delta.sum(1) / rows,
        "Tau": np.maximum(tau, 1.0),
        "Rpos": 100 * (delta > 0).sum(1) / rows,
        "Align": alignment.sum(1) / rows,
        "Pen": negative.sum(1) / rows,
    }


def indices_batch(batch: Batch, levels, constants: str = "released") -> dict:
    """The nine indices of many dialogues, each (B,), 100 = the reference level.

    RDI, Tau, Rpos, Align and Pen lie in 0..100; Etot, Snet, Rho and Sproj start at 0
    and have no upper bound. Arguments and errors as in `raw_batch`.
    """
    raw = raw_batch(batch, levels, constants)
    c = CONSTANTS[constants]
    r0 = raw["r0"]
    return {
        "RDI": phi(raw["RDI"], -100, 100),
        "Etot": 100 * np.maximum(raw["Etot"], 0) / (c.energy * r0),
        "Snet": 100 * np.maximum(raw["Snet"], 0) / (c.net * r0),
        "Rho": 100 * np.maximum(raw["Rho"], 0) / c.rate,
        "Sproj": 100 * np.maximum(raw["Sproj"], 0) / c.rate,
        "Tau": phi(raw["Tau"], 3, 1),
        "Rpos": raw["Rpos"],
        "Align": phi(raw["Align"], -1, 1),
        "Pen": phi(raw["Pen"], 3, 0),
    }


def indices(trajectory: Trajectory, levels, constants: str = "released") -> dict:
    """The nine indices of one dialogue.

    Args:
        trajectory: from `epm.score_trajectory`.
        levels: (T, 6) levels in the order of rubric.MDEP_FIELDS, or a list of T
            dictionaries with those keys.
        constants: "released" or "paper".

    Returns:
        dict with RDI, Etot, Snet, Rho, Sproj, Tau, Rpos, Align, Pen (floats).

    All turns count: cut a trajectory at its verdict first if it goes on after it.

    Raises:
        ValueError: see `raw_batch`; also a dictionary without a field, or a level that
            the rubric does not have.
    """
    return {
        k: float(x[0]) for k, x in _one(indices_batch, trajectory, levels, constants)
    }


def raw(trajectory: Trajectory, levels, constants: str = "released") -> dict:
    """The nine quantities of one dialogue before the map to 0..100, and r0."""
    return {k: float(x[0]) for k, x in _one(raw_batch, trajectory, levels, constants)}


def _one(function, t: Trajectory, levels, constants: str):
    rows = []
    for turn, row in enumerate(levels, start=1):
        if isinstance(row, dict):
            missing = [field for field in MDEP_FIELDS if field not in row]
            if missing:
                raise ValueError(f"turn {turn} has no level {missing[0]}")
            row = [row[field] for field in MDEP_FIELDS]
        rows.append(row)
    n = len(t.v)
    if len(rows) != n:
        raise ValueError(f"{len(rows)} rows of levels for {n} turns")
    batch = Batch(
        turns=np.array([n]),
        inside=np.ones((1, n), dtype=bool),
        kind=np.zeros(1, int),
        label=np.zeros(1, int),
        turn=np.zeros(1, int),
        **{
            name: getattr(t, name)[None]
            for name in (
                "P",
                "v",
                "alignment",
                "delta_energy",
                "total_energy",
                "distance",
                "projection",
            )
        },
    )
    levels = np.array(rows, dtype=float)
    levels = levels.reshape(0, 6) if n == 0 else levels
    if levels.shape != (n, 6):
        raise ValueError(f"levels need 6 fields a turn, got {levels.shape}")
    if not np.isnan(levels).any():
        increments(levels)  # raises for a level that the rubric does not have
    levels = levels[None]
    return function(batch, levels, constants).items()


def composite(means: dict) -> dict:
    """Dimensions and EPM-Q from nine means (scalars or arrays).

    Paper: EMPA equations 15 and 16.
    """
    parts = {
        name: sum(means[i] for i in members) / len(members)
        for name, (members, _) in DIMENSIONS.items()
    }
    total = sum(parts[name] * weight for name, (_, weight) in DIMENSIONS.items())
    return {**parts, "EPMQ": total}


def summarise(list_of_indices) -> dict:
    """Means over dialogues, the three dimensions and EPM-Q.

    Args:
        list_of_indices: dictionaries from `indices`, at least one.

    Returns:
        dict with the nine means, Outcome, Efficiency, Stability, EPMQ and n.

    Raises:
        ValueError: the list is empty, or an index is missing or not finite: a dialogue
            that failed is left out by the caller and counted, never averaged.
    """
    rows = list(list_of_indices)
    if not rows:
        raise ValueError("no dialogue to summarise")
    means = {}
    for name in INDICES:
        column = np.array([row.get(name, np.nan) for row in rows], dtype=float)
        if not np.isfinite(column).all():
            first = int((~np.isfinite(column)).argmax())
            raise ValueError(f"{name} of dialogue {first} is missing or not finite")
        means[name] = float(column.mean())
    return {**means, **composite(means), "n": len(rows)}
