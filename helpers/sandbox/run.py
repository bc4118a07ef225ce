"""Many dialogues at once, in threads, into an append-only store; resumable.

Longest first, so that the last one to end is not one that began late. A killed run
loses at most the dialogues in flight; running it again makes only what is missing.
"""

import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from helpers.agents.roles import Director, Judge, Policy, User
from helpers.data.scenarios import Scenario, card_hash
from helpers.sandbox.dialogue import Dialogue
from helpers.sandbox.episode import RunSettings, run_description, run_one
from helpers.sandbox.store import DialogueStore


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
    scenarios: Sequence[Scenario],
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
            that ended in error again, as the next attempt. length: longest first.
        progress: called with (done, total) after each dialogue.

    Returns:
        RunReport; a finished run makes no calls.

    Raises:
        SettingsChanged, StoreBusy: from the store. RunStopped: after the dialogues
        that had already ended are stored. Any other error of a role is a fault of the
        program and stops the run as well.
    """
    described = run_description(policy, user, judge, director, settings, base_seed)
    with DialogueStore(path, described) as store:
        todo = _todo(scenarios, repeats, store, retry_failed)
        todo.sort(key=lambda job: -length(job[0]))  # stable: ties keep their order
        total = len({s.id for s in scenarios}) * repeats

        def run(job) -> Dialogue:
            scenario, repeat, attempt = job
            seed = dialogue_seed(base_seed, scenario.id, repeat)
            return run_one(
                scenario, policy, user, judge, director, settings, seed,
                repeat=repeat, attempt=attempt, run_hash=store.settings_hash,
            )  # fmt: skip

        made = failed = 0
        for dialogue in _in_threads(run, todo, workers):
            store.append(dialogue)
            made += 1
            failed += dialogue.failure is not None
            if progress is not None:
                progress(total - len(todo) + made, total)
    return RunReport(made, total - len(todo), failed)


def _todo(scenarios, repeats, store, retry_failed) -> list[tuple[Scenario, int, int]]:
    jobs, seen = [], set()
    for scenario in scenarios:
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
    return jobs


def _in_threads(run: Callable, jobs: Sequence, workers: int):
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
            for job in waiting:
                running.add(pool.submit(run, job))
                if len(running) >= workers:
                    return

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
