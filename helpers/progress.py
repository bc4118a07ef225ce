"""What the driver prints: estimates, the live line, failures, the closing list."""

import json
import os
import shlex
import sys
import time
from pathlib import Path

import pandas as pd

from helpers.duration import clock
from helpers.execution import Failure
from helpers.files import write_atomically
from helpers.parameters import Notebook
from helpers.profiles import Profile
from helpers.reporting.index import counts


class Estimates:
    """Expected seconds of a notebook: measured here by earlier runs, or as usual.

    Usual times are stretched by the pace of what has run since for the first time here
    (later runs find their training done): the seconds that it took over those that are
    usual, a minute added to both so that a notebook of a few seconds does not decide.

    Args:
        profile: the profile of this run, with the usual times.
        path: JSON file, seconds by notebook by profile.
    """

    def __init__(self, profile: Profile, path: Path):
        self.profile, self.path = profile, path
        try:
            self.seconds = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):  # none yet, or torn: estimates start over
            self.seconds = {}
        self._took = self._usual = 60.0

    def text(self, notebooks: list[Notebook]) -> str:
        """'0:12 (measured before)' for the notebooks together."""
        here, usual = self.seconds.get(self.profile.name, {}), self.profile.usual
        total, new = 0.0, 0
        for notebook in notebooks:
            if notebook.name in here:
                total += here[notebook.name]
            elif notebook.number in usual:
                pace = self._took / self._usual
                total, new = total + usual[notebook.number] * pace, new + 1
            else:
                return f"no estimate (profile {self.profile.name} was never timed)"
        if not new:
            return f"{clock(total)} (measured before)"
        part = "partly measured before, " if new < len(notebooks) else ""
        pace = ", at this pace" if self._usual > 60.0 else ""
        return f"about {clock(total)} ({part}usual on two cores{pace})"

    def record(self, notebook: Notebook, seconds: float) -> None:
        """Keep the time of a notebook that ran to its end."""
        here, usual = self.seconds.setdefault(self.profile.name, {}), self.profile.usual
        if notebook.name not in here and notebook.number in usual:
            self._took += seconds
            self._usual += usual[notebook.number]
        here[notebook.name] = round(seconds, 1)
        write_atomically(self.path, json.dumps(self.seconds, indent=2) + "\n")


def live_line(label: str, cells: int, started: float):
    """A callback that keeps one line up to date on a terminal; silent in a log."""

    def show(cell: int) -> None:
        if sys.stdout.isatty():
            elapsed = clock(time.monotonic() - started)
            print(
                f"\r{label}: cell {cell}/{cells}, {elapsed}", end="\x1b[K", flush=True
            )

    return show


def end_line(text: str) -> None:
    """Print the last line of a notebook, over the live line of a terminal."""
    print(f"\r\x1b[K{text}" if sys.stdout.isatty() else text, flush=True)


def print_failure(
    failure: Failure, notebook: Notebook, output: Path, argv: list[str]
) -> None:
    """Where it stopped, why, what it said last, and the command to go on."""
    where = "before its first cell"
    if failure.cell is not None:
        where = f"in cell {failure.cell} of {len(notebook.sources)}"
        where += f": {failure.first_line}"
    print(f"FAILED: {notebook.name} {where}\n  {failure.error}")
    if failure.tail:
        print("  last output:")
    for line in failure.tail:
        print(f"    | {line}")
    print(f"  kept: {shown(output)}")
    print(f"  go on: {_go_on(argv, notebook.number)}", flush=True)


def print_list(
    notebooks: list[Notebook], estimates: Estimates, missing: list[str]
) -> None:
    """Notebooks with title, minutes and parameters; then those not built yet."""
    print(f"profile {estimates.profile.name}: {estimates.profile.purpose}")
    for notebook in notebooks:
        print(f"{notebook.name}: {notebook.title}; {estimates.text([notebook])}")
        for name, value in notebook.defaults.items():
            comment = notebook.comments.get(name, "")
            print(f"    {name} = {value!r}" + (f"  # {comment}" if comment else ""))
    print(f"not built yet: {', '.join(missing) or 'none'}")


def print_artifacts(rows: pd.DataFrame, index: Path) -> None:
    """Counts, the missing artifacts one a line, those not built by notebook."""
    print(f"artifacts: {counts(rows)}")
    for row in rows[rows["status"] == "missing"].itertuples():
        print(f"  missing: {row.id} (notebook {row.notebook})")
    unbuilt = rows[rows["status"] == "not built"].groupby("notebook").size()
    if len(unbuilt):
        each = ", ".join(f"{number}: {count}" for number, count in unbuilt.items())
        print(f"  not built, by notebook: {each}")
    print(f"index: {shown(index)}", flush=True)


def shown(path: Path) -> str:
    """A path as seen from the working directory."""
    return os.path.relpath(path)


def _go_on(argv: list[str], number: str) -> str:
    """The command given, with --from replaced."""
    kept, skip = [], False
    for word in argv:
        if skip or word.startswith("--from="):
            skip = False
        elif word == "--from":
            skip = True
        else:
            kept.append(word)
    python = Path(sys.executable)
    if python.is_relative_to(Path.cwd()):
        python = python.relative_to(Path.cwd())
    command = [str(python), "-m", "helpers.reproduce", *kept, "--from", number]
    return shlex.join(command)
