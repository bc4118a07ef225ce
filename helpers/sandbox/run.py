"""Many dialogues at once, in threads, into an append-only store; resumable.

Longest first, so that the last one to end is not one that began late. A killed run
loses at most the dialogues in flight; running it again makes only what is missing.

Scenarios may be a stream (`scenarios.read_cards`): at most `WINDOW` of them are held at
once, beside the ids of all.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice

from helpers.agents.roles import Director, Judge, Policy, User
from helpers.data.scenarios import Scenario, card_hash
from helpers.sandbox.dialogue import Dialogue
from helpers.sandbox.episode import RunSettings, run_description, run_one
from helpers.sandbox.store import DialogueStore

WINDOW = 1000  # scenarios that are sorted, longest first, and held at once
Job = tuple[Scenario, int, int]  # scenario, repeat, attempt


def dialogue_seed(base_seed: int, scenario_id: str, repeat: int) -> int:
    """The seed of one dialogue; it depends on nothing else in the run."""
    text = f"{base_seed}/{scenario_id}/{repeat}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big")


@dataclass(frozen=True)
class RunReport:
    """What a run did: dialogues made now, already there before, ended in error now."""

    made: int
    already: int
    failed: int


def expected_length(scenario: Scenario) -> float:
    """A deep deficit takes long; unknown needs count as the longest."""
    norm = scenario.deficit_norm
    return float("inf") if norm is None else norm


def run_many(
    scenarios: Iterable[Scenario],
    policy: Policy,
    user: User,
    judge: Judge | None,
    director: Director | None,
    settings: RunSettings,
    *,
    base_seed: int,
    path,
    repeats: int = 1,
    workers: int = 1,
    retry_failed: bool = False,
    length: Callable[[Scenario], float] = expected_length,
    progress: Callable[[int, int], None] | None = None,
) -> RunReport:
    """Run every (scenario, repeat) that the store does not hold yet.

    Args:
        path: NAME.jsonl of the store. workers: threads. retry_failed: run dialogues
            that ended in error again, as the next attempt. length: longest first,
            among `WINDOW` scenarios.
        progress: called with (done, total) after each dialogue; of a stream without a
            length, total counts what has been read so far.

    Returns:
        RunReport; a finished run makes no calls.

    Raises:
        SettingsChanged, StoreBusy: from the store. RunStopped: after the dialogues
        that had already ended are stored. Any other error of a role, or of a scenario
        beyond the first window, is a fault of the program and stops the run as well.
    """
    roles = policy, user, judge, director
    described = run_description(*roles, settings, base_seed)
    known = len(scenarios) * repeats if isinstance(scenarios, Sized) else 0
    found, made, failed = Counter(), 0, 0
    with DialogueStore(path, described) as store:
        jobs = missing(scenarios, repeats, store, retry_failed, length, found)
        for dialogue in run_jobs(jobs, *roles, settings, base_seed, store, workers):
            made += 1
            failed += dialogue.failure is not None
            if progress is not None:
                progress(found["already"] + made, max(known, found["cases"]))
    return RunReport(made, found["already"], failed)


def missing(
    scenarios: Iterable[Scenario],
    repeats: int,
    store: DialogueStore,
    retry_failed: bool = False,
    length: Callable[[Scenario], float] = expected_length,
    found: Counter | None = None,
) -> Iterator[Job]:
    """The jobs that the store does not hold yet, longest first in each window.

    Args:
        found: "cases" and those "already" there are counted into it as they are read.

    Raises:
        ValueError: a scenario is given twice. SettingsChanged: its card has changed.
    """
    found, seen, stream = Counter() if found is None else found, set(), iter(scenarios)
    while window := list(islice(stream, WINDOW)):
        jobs = []
        for scenario in window:
            if scenario.id in seen:
                raise ValueError(f"scenario {scenario.id} is given twice")
            seen.add(scenario.id)
            store.check_card(scenario.id, card_hash(scenario))
            for repeat in range(repeats):
                last = store.attempt(scenario.id, repeat)
                if last is None:
                    jobs.append((scenario, repeat, 0))
                elif last[1] and retry_failed:
                    jobs.append((scenario, repeat, last[0] + 1))
        jobs.sort(key=lambda job: -length(job[0]))  # stable: ties keep their order
        found["cases"] += len(window) * repeats
        found["already"] += len(window) * repeats - len(jobs)
        yield from jobs


def run_jobs(
    jobs: Iterable[Job],
    policy: Policy,
    user: User,
    judge: Judge | None,
    director: Director | None,
    settings: RunSettings,
    base_seed: int,
    store: DialogueStore,
    workers: int = 1,
) -> Iterator[Dialogue]:
    """Run jobs, `workers` at once; each dialogue is stored before it is yielded."""

    def run(job: Job) -> Dialogue:
        scenario, repeat, attempt = job
        seed = dialogue_seed(base_seed, scenario.id, repeat)
        return run_one(
            scenario, policy, user, judge, director, settings, seed,
            repeat=repeat, attempt=attempt, run_hash=store.settings_hash,
        )  # fmt: skip

    for dialogue in _in_threads(run, jobs, workers):
        store.append(dialogue)
        yield dialogue


def _in_threads(run: Callable, jobs: Iterable[Job], workers: int) -> Iterator:
    """Results as they come; at most `workers` jobs are open, so memory stays flat.

    After an error no new job starts; those in flight are waited for and yielded first.
    """
    if workers == 1:
        yield from map(run, jobs)
        return
    waiting = iter(jobs)
    error: BaseException | None = None
    with ThreadPoolExecutor(workers) as pool:
        running: set[Future] = set()

        def refill() -> None:
            nonlocal error
            try:
                for job in islice(waiting, workers - len(running)):
                    running.add(pool.submit(run, job))
            except Exception as stopped:  # the stream of jobs itself failed
                error = stopped

        refill()
        while running:
            ready, running = wait(running, return_when=FIRST_COMPLETED)
            for future in ready:
                if future.exception() is not None:
                    error = error or future.exception()
                else:
                    yield future.result()
            if error is None:
                refill()
    if error is not None:
        raise error
