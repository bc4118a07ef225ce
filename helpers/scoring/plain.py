"""EPM and EPM-Q one dialogue and one turn at a time, in plain Python.

The same equations as `epm` and `epmq` under the released settings, written the way one
would work them out on paper. Tests hold the array code against this one, and the bench
uses it as the loop that the array code replaces.

Paper: EMPA, arXiv 2603.00552v1, equations 2 to 5 and appendix 9; constants and
detectors of the released code.
"""

from math import hypot, sqrt

from helpers.scoring.epmq import composite
from helpers.scoring.rubric import AXES, NEG_VALUE, PROG_VALUE


def zone(P) -> float:
    """Distance to the zone in which every axis is at least -1."""
    return hypot(*(-1 - x for x in P if x < -1))


def score(p0, levels, alpha: float = 0.10, min_turns: int = 12, max_turns: int = 45):
    """One dialogue under the released rules.

    Args:
        p0: three numbers, the initial deficit.
        levels: one row of six levels a turn (Prog and Neg of C, A, P).

    Returns:
        (kind, label, turn), nine indices with EPMQ.
    """
    r0 = hypot(*p0)
    goal = [round(-x / r0, 4) for x in p0]
    need, radius = round(r0, 2), round(alpha * r0, 2)
    path, works, cosines, zones = [list(p0)], [], [], [zone(p0)]
    energy, verdict = 0.0, ("open", None, None)
    for turn, row in enumerate(levels, start=1):
        v = [
            PROG_VALUE[row[2 * k]] + NEG_VALUE[axis][row[2 * k + 1]]
            for k, axis in enumerate(AXES)
        ]
        work = sum(a * b for a, b in zip(v, goal, strict=True))
        size = hypot(*v)
        path.append([a + b for a, b in zip(path[-1], v, strict=True)])
        works.append(work)
        cosines.append(work / size if size else 0.0)
        zones.append(zone(path[-1]))
        energy += work
        if verdict[0] == "open" and turn >= min_turns:
            verdict = _verdict(
                path, works, zones, energy, goal, need, radius, max_turns
            )
    return verdict, _indices(levels, path, works, cosines, zones, energy)


def _deviation(x) -> float:
    mean = sum(x) / len(x)
    return sqrt(sum((y - mean) ** 2 for y in x) / (len(x) - 1))


def _verdict(path, works, zones, energy, goal, need, radius, max_turns):
    turn = len(works)
    along = sum(a * b for a, b in zip(path[-1], goal, strict=True))
    near = round(hypot(*path[-1]), 2) <= radius
    if round(energy, 2) >= need and (near or round(along, 2) >= -radius):
        return "success", "geometric" if near else "positional", turn
    logged = [round(work, 2) for work in works]
    collapse = all(work < 0 for work in logged[-5:])
    still = _deviation([round(hypot(*P), 2) for P in path[-5:]]) < 0.5
    back = sum(work < 0 for work in logged[-8:]) > 5.6 and sum(logged[-8:]) < -1.0
    if collapse or (still and back):
        return "collapse", None, turn
    if turn == max_turns:
        return "timeout", None, turn
    window = path[-12:]
    steps = zip(path[-13:-1], path[-12:], strict=True)
    moved = sum(abs(b - a) for P, Q in steps for a, b in zip(P, Q, strict=True))
    net = sum(abs(b - a) for a, b in zip(window[0], window[-1], strict=True))
    near = zones[-12:]
    hover = max(near) - min(near) < 2 and sum(near) / 12 > 1
    if moved < 3 or hover or net < 3:
        return "oscillation", None, turn
    return "open", None, None


def _indices(levels, path, works, cosines, zones, energy) -> dict:
    turns, rows = len(works), len(works) + 1  # the start counts as a row of zeros
    works = [round(work, 2) for work in works]
    energy, r0 = round(energy, 2), zones[0]
    walked = sum(
        hypot(*(b - a for a, b in zip(P, Q, strict=True)))
        for P, Q in zip(path, path[1:], strict=False)
    )
    straight = hypot(*(b - a for a, b in zip(path[0], path[-1], strict=True)))
    tau = max(walked / straight, 1) if straight else 1
    penalty = sum(-row[k] for row in levels for k in (1, 3, 5)) / rows
    nine = {
        "RDI": min(max((100 * (r0 - zones[-1]) / r0 + 100) / 2, 0), 100),
        "Etot": 100 * max(energy, 0) / (1.2 * r0),
        "Snet": 100 * max(sum(map(sum, levels)), 0) / (1.5 * r0),
        "Rho": 100 * max(energy / turns, 0) / 2.5,
        "Sproj": 100 * max(sum(works) / rows, 0) / 2.5,
        "Tau": min(max((3 - tau) / 2, 0), 1) * 100,
        "Rpos": 100 * sum(work > 0 for work in works) / rows,
        "Align": (sum(round(c, 4) for c in cosines) / rows + 1) / 2 * 100,
        "Pen": max(0, (3 - penalty) / 3 * 100),
    }
    return nine | {"EPMQ": composite(nine)["EPMQ"]}
