"""Many training runs as worker processes, with a live line each, cached and resumable.

A run lives in a folder of its own, named by the hash of its recipe. A finished one is
never repeated; one that was killed goes on from its last checkpoint. One thread a
process and as many processes as cores: tiny models get slower with more threads.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from helpers.files import write_atomically
from helpers.paths import ROOT
from helpers.progress import clock

RECIPE, PROGRESS, DONE, LOG = "recipe.json", "progress.json", "done.json", "worker.log"
BAR = 24


class WorkerFailed(RuntimeError):
    """A worker ended without its result; the message holds its last words."""


@dataclass(frozen=True)
class Job:
    """One run. label: for its line. folder: of the run. recipe: JSON values."""

    label: str
    folder: Path
    recipe: dict

    @property
    def done(self) -> bool:
        return (self.folder / DONE).is_file()


def run_jobs(jobs: Sequence[Job], workers: int | None = None, show=None) -> int:
    """Bring every job to its end; how many had to be run.

    Args:
        workers: processes at once; None = one a core.
        show: called with the text of the live lines; None shows them in a notebook or
            prints one line when a run ends.

    Raises:
        WorkerFailed: a worker failed. The others are stopped; all go on where they
            were when the same call is made again.
    """
    waiting = [
        job for job in {job.folder: job for job in jobs}.values() if not job.done
    ]
    total, running = len(waiting), {}
    board = _Board(waiting, show)
    try:
        while waiting or running:
            while waiting and len(running) < (workers or os.cpu_count() or 1):
                job = waiting.pop(0)
                running[job] = _start(job)
            time.sleep(0.3)
            for job, process in list(running.items()):
                if process.poll() is not None:
                    del running[job]
                    _check(job, process.returncode)
                    board.ended(job)
            board.update(list(running))
    finally:
        for process in running.values():
            process.terminate()
        for process in running.values():
            process.wait()
    return total


def _start(job: Job) -> subprocess.Popen:
    job.folder.mkdir(parents=True, exist_ok=True)
    write_atomically(job.folder / RECIPE, json.dumps(job.recipe, indent=1) + "\n")
    environment = {
        **os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1",
        "TRL_EXPERIMENTAL_SILENCE": "1", "TOKENIZERS_PARALLELISM": "false",
    }  # fmt: skip
    with open(job.folder / LOG, "ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "helpers.learning.training", str(job.folder)],
            cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT,
        )  # fmt: skip


def _check(job: Job, code: int) -> None:
    if job.done:
        return
    lines = (
        (job.folder / LOG).read_text(encoding="utf-8", errors="replace").splitlines()
    )
    tail = "\n".join(f"    | {line}" for line in lines[-12:])
    raise WorkerFailed(
        f"{job.label}: its process ended with code {code}; it said last:\n{tail}\n"
        f"  all of it: {os.path.relpath(job.folder / LOG)}; run the cell again to go on"
    )


def progress(folder: Path) -> dict:
    """What a run last told about itself: step, steps, note; empty before that."""
    try:
        return json.loads((folder / PROGRESS).read_text(encoding="utf-8"))
    except (OSError, ValueError):  # not there yet
        return {}


class _Board:
    """The live lines of the running jobs and the time that is left."""

    def __init__(self, jobs: Sequence[Job], show):
        self._jobs, self._show = list(jobs), show
        self._started, self._finished = time.monotonic(), 0
        self._handle, self._last = None, ""
        self._begun = sum(_share(job) for job in jobs)

    def ended(self, job: Job) -> None:
        self._finished += 1
        if self._show is None and not _in_notebook():
            spent = clock(time.monotonic() - self._started)
            count = f"{self._finished}/{len(self._jobs)}"
            print(f"{count} {job.label}: {_note(job)} ({spent})", flush=True)

    def update(self, running: Sequence[Job]) -> None:
        text = "\n".join([self._head(), *(_line(job) for job in running)])
        if text == self._last:
            return
        self._last = text
        if self._show is not None:
            self._show(text)
        elif _in_notebook():
            from IPython.display import Markdown, display

            shown = Markdown(f"```text\n{text}\n```")
            if self._handle is None:
                self._handle = display(shown, display_id=True)
            else:
                self._handle.update(shown)

    def _head(self) -> str:
        spent = time.monotonic() - self._started
        made = sum(_share(job) for job in self._jobs) - self._begun
        left = len(self._jobs) - self._begun - made
        rest = f", about {clock(spent / made * left)} left" if made > 0.05 else ""
        return f"{self._finished} of {len(self._jobs)} runs done, {clock(spent)}{rest}"


def _share(job: Job) -> float:
    if job.done:
        return 1.0
    told = progress(job.folder)
    return told["step"] / told["steps"] if told else 0.0


def _note(job: Job) -> str:
    return progress(job.folder).get("note", "")


def _line(job: Job) -> str:
    full = round(BAR * _share(job))
    return f"{'#' * full}{'.' * (BAR - full)} {job.label}: {_note(job) or 'starting'}"


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    return (
        shell is not None and getattr(shell.get_ipython(), "kernel", None) is not None
    )
