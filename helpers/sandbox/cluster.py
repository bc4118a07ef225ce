"""Many dialogues over several machines, as Ray tasks, into one store.

Ray schedules and repeats lost tasks; the kit only cuts the work into shards:

    report = run_cluster(read_cards("big.jsonl"), make_roles, settings, base_seed=1,
                         folder="/shared/run", address="auto")

A shard is a list of missing dialogues with a small store of its own in `folder`, which
all machines see under the same path. A task whose machine is lost is run again by Ray
and goes on from what its store holds. The driver merges every shard that ends into
`dialogues.jsonl` and removes it; killed and started again, it merges what lies there
and runs what is missing. Nothing here holds all scenarios or dialogues.

`pip install ray` is only needed here (environment.yml has the pin): on one machine
`run.run_many` does the same in threads.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path

from helpers.agents.roles import Director, Judge, Policy, User
from helpers.data.scenarios import Scenario
from helpers.sandbox.episode import RunSettings, run_description
from helpers.sandbox.merge import Merged, merge
from helpers.sandbox.run import Job, RunReport, missing, run_jobs
from helpers.sandbox.store import DialogueStore, StoreBusy, settings_path

STORE, SHARDS = "dialogues.jsonl", "shards"
PATIENCE = 20.0  # seconds that a task waits for a shard which a lost one still holds

Roles = tuple[Policy, User, Judge | None, Director | None]


class RayMissing(RuntimeError):
    """Ray is not installed."""


def run_cluster(
    scenarios: Iterable[Scenario],
    make_roles: Callable[[], Roles],
    settings: RunSettings,
    *,
    base_seed: int,
    folder: Path | str,
    repeats: int = 1,
    retry_failed: bool = False,
    shard: int = 200,
    workers: int = 1,
    cpus: float = 1,
    retries: int = 3,
    address: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> RunReport:
    """Run every (scenario, repeat) that `folder/dialogues.jsonl` does not hold yet.

    Args:
        make_roles: gives (policy, user, judge, director); called in each task, so that
            connections and models are made where they are used.
        folder: seen by all machines under this path; one driver at a time.
        shard: dialogues of a task. workers: threads of a task. cpus: of a task, for
            Ray's scheduling. retries: of a task whose machine is lost.
        address: of the cluster, as for `ray.init`; None = the one in use, or this
            machine alone.
        repeats, retry_failed, base_seed, progress: as for `run.run_many`; progress is
            called after each shard.

    Returns:
        RunReport; "failed" counts dialogues that ended in error.

    Raises:
        RayMissing: with what to install. SettingsChanged, StoreBusy: from the stores.
        The first error of a task, after all that had been made is merged.
    """
    ray = _ray()
    folder = Path(folder).resolve()
    described = run_description(*make_roles(), settings, base_seed)
    (folder / SHARDS).mkdir(parents=True, exist_ok=True)
    started = not ray.is_initialized()
    if started:
        ray.init(address=address)
    try:
        task = ray.remote(
            num_cpus=cpus, max_retries=retries, retry_exceptions=[StoreBusy]
        )(run_shard)
        with DialogueStore(folder / STORE, described) as store:
            for left in sorted((folder / SHARDS).glob("*.jsonl")):
                _take_in(store, left)  # of a driver that was killed
            found = Counter()
            jobs = missing(scenarios, repeats, store, retry_failed, found=found)
            made = failed = number = 0
            running, error = {}, None
            while True:
                while error is None and len(running) < _most(ray, cpus):
                    if not (part := list(islice(jobs, shard))):
                        break
                    path = folder / SHARDS / f"{number:06d}.jsonl"
                    number += 1
                    running[task.remote(
                        part, make_roles, settings, base_seed, path, described, workers
                    )] = path  # fmt: skip
                if not running:
                    break
                (ready, *_), _ = ray.wait(list(running))
                path = running.pop(ready)
                try:
                    ray.get(ready)
                except Exception as stopped:
                    error = error or stopped
                if path.exists():  # not if the task never began
                    merged = _take_in(store, path)
                    made, failed = made + merged.added, failed + merged.failed
                if progress is not None:
                    progress(found["already"] + made, found["cases"])
    finally:
        if started:
            ray.shutdown()
    if error is not None:
        raise error
    return RunReport(made, found["already"], failed)


def run_shard(
    jobs: list[Job],
    make_roles: Callable[[], Roles],
    settings: RunSettings,
    base_seed: int,
    path: Path,
    described: dict,
    workers: int = 1,
) -> None:
    """One task: run the jobs that the shard's store does not hold yet.

    Raises:
        StoreBusy: another task still holds the store, after `PATIENCE` seconds.
    """
    end = time.monotonic() + PATIENCE
    while True:
        try:
            store = DialogueStore(path, described)
            break
        except StoreBusy:
            if time.monotonic() > end:
                raise
            time.sleep(0.5)
    with store:
        todo = [j for j in jobs if store.last(j[0].id, j[1]) is None]
        for _ in run_jobs(todo, *make_roles(), settings, base_seed, store, workers):
            pass


def _take_in(store: DialogueStore, path: Path) -> Merged:
    """Merge a shard and remove it."""
    merged = merge(store, path)
    path.unlink()
    settings_path(path).unlink(missing_ok=True)
    return merged


def _most(ray, cpus: float) -> int:
    """Tasks given out at once: two for each that can run, so that none waits for the
    driver and no more scenarios are held than that."""
    return 2 * max(1, int(ray.cluster_resources().get("CPU", 1) / (cpus or 1)))


def _ray():
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise RayMissing(
            "several machines need Ray: pip install ray (the pin is in "
            "environment.yml), or use helpers.sandbox.run.run_many on this one"
        ) from error
    return ray
