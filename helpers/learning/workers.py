"""Many training runs in worker processes, with a live line each, cached and resumable.

A run lives in a folder of its own, named by the hash of its recipe. A finished one is
never repeated; one that was killed goes on from its last checkpoint. Each worker takes
the next run that nobody holds, by a lock that the system frees when its holder dies.
One thread a process and as many processes as cores: tiny models get slower with more.
On Linux without a GPU the workers are copies of a process that has imported all they
need (`prepare_workers`), so that they begin at once.
A run on several GPUs is one worker of several processes, started by a launcher
(`helpers.learning.processes`), and such runs come one after another.
"""

import fcntl
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import forkserver, get_context
from pathlib import Path
from typing import TypeVar

import torch
from transformers.utils import logging

from helpers.duration import clock
from helpers.environment import changed
from helpers.files import write_atomically
from helpers.learning import processes
from helpers.paths import ROOT

T = TypeVar("T")
RECIPE, PROGRESS, DONE = "recipe.json", "progress.json", "done.json"
LOG, FAILED = "worker.log", "failed.txt"
BAR = 24
PATIENCE = 5.0  # seconds between looks at runs that another call works on
END_S = 40.0  # for a worker to end when it is told to; a launcher takes up to 30
WORK = "helpers.learning.training"  # what a worker runs
QUIET = {
    "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TRL_EXPERIMENTAL_SILENCE": "1",
    "TOKENIZERS_PARALLELISM": "false",
}  # fmt: skip


class WorkerFailed(RuntimeError):
    """A run ended without its result; the message holds its last words."""


@dataclass(frozen=True)
class Job:
    """One run. label: for its line. folder: of the run. recipe: JSON values."""

    label: str
    folder: Path
    recipe: dict

    @property
    def done(self) -> bool:
        return (self.folder / DONE).is_file()


def run_jobs(
    jobs: Sequence[Job], workers: int | None = None, show=None, launch: str = ""
) -> int:
    """Bring every job to its end; how many were not there yet.

    Args:
        workers: processes at once; None = one a core.
        show: called with the text of the live lines; None shows them in a notebook or
            prints one line when a run ends.
        launch: how to start a run of several processes (`processes.launcher`); then
            one run at a time.

    Raises:
        WorkerFailed: a run failed. The others are stopped; all go on where they were
            when the same call is made again.
    """
    missing = [
        job for job in {job.folder: job for job in jobs}.values() if not job.done
    ]
    if not missing:
        return 0
    for job in missing:
        job.folder.mkdir(parents=True, exist_ok=True)
        (job.folder / FAILED).unlink(missing_ok=True)
        text = json.dumps({"label": job.label, **job.recipe}, indent=1) + "\n"
        write_atomically(job.folder / RECIPE, text)
    board = _Board(missing, show)
    while waiting := [job for job in missing if not job.done]:
        if launch:
            waiting, workers = waiting[:1], 1
        codes = _work(waiting, workers or os.cpu_count() or 1, board, launch)
        if any(codes) or any((job.folder / FAILED).is_file() for job in waiting):
            raise WorkerFailed(_last_words(waiting, codes))
        if any(not job.done for job in waiting):
            time.sleep(PATIENCE)  # another call holds the rest: look again
    board.update()
    return len(missing)


def prepare_workers() -> None:
    """Begin to import what workers need, beside what the caller does next.

    A kernel has threads and cannot be copied itself. Neither can a process that has
    looked for a GPU, or one with the libraries of macOS: there, workers start afresh.
    """
    if _context().get_start_method() == "forkserver":
        with changed(QUIET):
            forkserver.ensure_running()


def _context():
    if sys.platform != "linux" or torch.cuda.is_available():
        return get_context("spawn")
    context = get_context("forkserver")
    context.set_forkserver_preload([WORK])
    return context


def side_by_side(
    function: Callable[..., T], calls: Sequence[tuple], workers: int | None = None
) -> list[T]:
    """`function(*call)` for each call, in processes of one thread each; what they
    return. A single call, or one worker, needs no process and is done here.

    Args:
        function: of a module. workers: processes at once; None = one a core.

    Raises: the first error of a call.
    """
    workers = min(len(calls), workers or os.cpu_count() or 1)
    if workers < 2:
        return [function(*call) for call in calls]
    prepare_workers()
    with ProcessPoolExecutor(workers, _context(), _alone) as pool:
        return list(pool.map(function, *zip(*calls, strict=True)))


def _alone() -> None:
    """One thread, and no bars of its own among the notebook's lines."""
    torch.set_num_threads(1)
    logging.disable_progress_bar()


def _work(
    jobs: Sequence[Job], most: int, board: "_Board", launch: str = ""
) -> list[int]:
    """Start workers on these jobs and wait for them; their exit codes. The first that
    fails stops the others."""
    started = [_start(jobs, launch) for _ in range(min(len(jobs), most))]
    try:
        while any(process.exitcode is None for process in started):
            time.sleep(0.3)
            board.update()
            if any(process.exitcode not in (None, 0) for process in started):
                break
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.join(END_S)
            if process.exitcode is None:
                process.kill()
                process.join()
    return [process.exitcode for process in started]


class _Launcher(subprocess.Popen):
    """A process of another program, with the words of `multiprocessing`."""

    @property
    def exitcode(self) -> int | None:
        return self.poll()

    def join(self, timeout: float | None = None) -> None:
        with suppress(subprocess.TimeoutExpired):
            self.wait(timeout)


def _start(jobs: Sequence[Job], launch: str):
    folders, log = [str(job.folder) for job in jobs], _common_log(jobs)
    if not launch:
        process = _context().Process(target=_worker, args=(folders, log))
        prepare_workers()
        with changed(QUIET):
            process.start()
        return process
    device = jobs[0].recipe["trainer"]["device"]
    environment = {**os.environ, **QUIET, **processes.environment(launch, device)}
    with open(log, "ab") as file:
        return _Launcher(
            [*processes.launcher(launch), "-m", WORK, *folders],
            cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=file,
            stderr=file,
        )  # fmt: skip


def _worker(folders: Sequence[str], log: Path) -> None:
    """What a process of `multiprocessing` does; what it prints goes into the log."""
    os.chdir(ROOT)
    with open(log, "ab", buffering=0) as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    import_module(WORK).main(folders)


def _common_log(jobs: Sequence[Job]) -> Path:
    """Where workers write before they have a run."""
    return jobs[0].folder.parent / LOG


@contextmanager
def claim(folder: Path):
    """Hold a run's folder; gives False at once when another process holds it."""
    with open(folder / "lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def _last_words(jobs: Sequence[Job], codes: Sequence[int]) -> str:
    failed = [job for job in jobs if (job.folder / FAILED).is_file()]
    begun = [job for job in jobs if not job.done and _told(job)]
    where = (failed or sorted(begun, key=_told)[-1:] or jobs[:1])[0]
    paths = [where.folder / FAILED, where.folder / LOG, _common_log(jobs)]
    path = next(path for path in paths if path.is_file())
    lines = path.read_text("utf-8", "replace").splitlines()
    tail = "\n".join(f"    | {line}" for line in lines[-12:])
    return (
        f"{where.label}: ended without a result (exit codes {codes}); last words:\n"
        f"{tail}\n  all of it: {os.path.relpath(path)}; run this again to go on"
    )


def _told(job: Job) -> float:
    """When a run last told about itself; 0 for never."""
    path = job.folder / PROGRESS
    return path.stat().st_mtime if path.is_file() else 0.0


def progress(folder: Path) -> dict:
    """What a run last told about itself: step, steps, note; empty before that."""
    try:
        return json.loads((folder / PROGRESS).read_text(encoding="utf-8"))
    except (OSError, ValueError):  # not there yet
        return {}


class _Board:
    """The live lines of the runs in progress and the time that is left."""

    def __init__(self, jobs: Sequence[Job], show):
        self._jobs, self._show, self._ended = list(jobs), show, set()
        self._started, self._wall = time.monotonic(), time.time()
        self._handle, self._last = None, ""
        self._begun = sum(_share(job) for job in jobs)

    def update(self) -> None:
        fresh = [j for j in self._jobs if j.done and j.folder not in self._ended]
        self._ended |= {job.folder for job in fresh}
        if self._show is None and not _in_notebook():
            for job in fresh:
                spent = clock(time.monotonic() - self._started)
                count = f"{len(self._ended)}/{len(self._jobs)}"
                print(f"{count} {job.label}: {_note(job)} ({spent})", flush=True)
            return
        live = [j for j in self._jobs if not j.done and _told(j) >= self._wall]
        text = "\n".join([self._head(), *(_line(job) for job in live)])
        if text == self._last:
            return
        self._last = text
        if self._show is not None:
            self._show(text)
            return
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
        done = f"{len(self._ended)} of {len(self._jobs)} runs done"
        return f"{done}, {clock(spent)}{rest}"


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
