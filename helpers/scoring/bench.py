"""How many dialogues a second the scoring does, measured on the released records.

    python -m helpers.scoring.bench
    python -m helpers.scoring.bench --clone DIR --adapter FILE.py

The first form prints the kit's rate beside that of the plain loop (`plain.py`) on the
same dialogues. The second also times the authors' own functions: DIR is a clone of
their code, and FILE.py says how to call it. It defines

    make(clone, dialogues) -> function of no argument

where `dialogues` is a list of {"p0": [C, A, P], "levels": [[six levels], ...]} and the
returned function scores all of them once and returns their EPM-Q values. The ratio is
printed only if those values agree with the kit's.
"""

import argparse
import runpy
import sys
import time
from pathlib import Path

import numpy as np

from helpers.data.records import RecordError, read_cases, read_ratings
from helpers.scoring import plain
from helpers.scoring.epmq import composite
from helpers.scoring.replay import Dialogues, score_arrays, stack

TOLERANCE = 0.01  # EPM-Q points; more than any effect of rounding


def rate(function, n: int, seconds: float = 2.0) -> float:
    """Dialogues a second: the median of as many runs as fit into `seconds` (>= 3)."""
    times, end = [], time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return n / float(np.median(times))


def as_lists(dialogues: Dialogues) -> list[dict]:
    """The same dialogues as plain Python numbers."""
    return [
        {"p0": p0.tolist(), "levels": rows[:turns].astype(int).tolist()}
        for p0, rows, turns in zip(
            dialogues.p0, dialogues.levels, dialogues.turns, strict=True
        )
    ]


def compare(dialogues: Dialogues, others: dict, seconds: float = 2.0) -> list[str]:
    """Report lines: the kit's rate, and each other function's with the ratio.

    Args:
        others: name -> function of no argument returning the EPM-Q of each dialogue.

    Raises:
        ValueError: another function's values differ from the kit's.
    """

    def kit():
        return composite(score_arrays(dialogues))["EPMQ"]

    n, ours = len(dialogues.frame), kit()
    for name, function in others.items():
        gap = np.abs(np.asarray(function(), dtype=float) - ours).max()
        if not gap <= TOLERANCE:
            raise ValueError(f"{name}: EPM-Q differs from the kit's by {gap:.3f}")
    fast = rate(kit, n, seconds)
    lines = [f"kit: {fast:,.0f} dialogues a second (EPM and EPM-Q, {n} dialogues)"]
    for name, function in others.items():
        slow = rate(function, n, seconds)
        lines.append(f"{name}: {slow:,.0f} a second; the kit is {fast / slow:.1f} x")
    return lines


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m helpers.scoring.bench")
    parser.add_argument("--clone", type=Path, help="clone of the authors' code")
    parser.add_argument("--adapter", type=Path, help="how to call it (see the module)")
    options = parser.parse_args(argv)
    if bool(options.clone) != bool(options.adapter):
        parser.error("--clone needs --adapter and the other way round")
    try:
        dialogues = stack(read_ratings(), read_cases())
        lists = as_lists(dialogues)

        def loop():
            return [plain.score(d["p0"], d["levels"])[1]["EPMQ"] for d in lists]

        others = {"plain loop": loop}
        if options.clone:
            make = runpy.run_path(str(options.adapter))["make"]
            others["authors' functions"] = make(options.clone.resolve(), lists)
        print("\n".join(compare(dialogues, others)))
    except (RecordError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
