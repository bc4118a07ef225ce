"""What the store costs a dialogue as it grows to a million, and the cards beside it.

    python -m helpers.sandbox.bench_store
    python -m helpers.sandbox.bench_store --sizes 1000,10000 --out cost.csv

One store grows from size to size. At each size these are measured, each in a process of
its own, so that its peak of memory is its own:

    append      one dialogue, written, flushed and synced: median of the last `LATE`
    open        the whole store, as a run that resumes does
    scan        every dialogue read and counted (`store.tally`)
    write cards, read cards   a stream of scenarios, one to ten dialogues

Of up to 10,000 records all but appending is done `PASSES` times; the best time counts.
The dialogues are copies, under other names, of scripted ones of four turns. Two times
are given: of the processor, and of the clock, where appending waits for the disk. The
largest default size takes 4 GB of disk and about ten minutes.
"""

import argparse
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from statistics import median

from helpers.agents.policies import Heuristic
from helpers.agents.scripted import ScriptedDirector, ScriptedJudge, ScriptedUser
from helpers.data.scenarios import Scenario, load_cards, read_cards, write_cards
from helpers.files import write_atomically
from helpers.paths import ROOT
from helpers.sandbox.dialogue import Dialogue
from helpers.sandbox.episode import RunSettings, run_one
from helpers.sandbox.index import Entry
from helpers.sandbox.store import DialogueStore, read_dialogues, settings_hash, tally

SIZES = (1_000, 10_000, 100_000, 1_000_000)
REPEATS = 10  # dialogues of a scenario
LATE = 1_000  # appends that are synced one by one and timed, at each size
PASSES = 5
SETTINGS = {"made by": "bench_store"}
OPERATIONS = ("append", "open", "scan", "write cards", "read cards")
Times = tuple[float, float]  # seconds of the processor, of the clock


def dialogues(start: int, end: int) -> Iterator[Dialogue]:
    """Number start to end - 1 of an endless series of dialogues."""
    rules = RunSettings.laptop_empa(4)
    roles = Heuristic(), ScriptedUser(rules=rules.emotion), ScriptedJudge()
    name = settings_hash(SETTINGS)
    made = [
        run_one(card, *roles, ScriptedDirector(), rules, seed=1, run_hash=name)
        for card in load_cards("test")[:20]
    ]
    for number in range(start, end):
        scenario, repeat = divmod(number, REPEATS)
        yield replace(
            made[scenario % len(made)], scenario_id=f"bench-{scenario:06d}",
            repeat=repeat, seed=number, card=f"{scenario:016x}",
        )  # fmt: skip


def cards(n: int) -> Iterator[Scenario]:
    """The kit's test cards again and again, under other names."""
    for number, card in enumerate(islice(cycle(load_cards("test")), n)):
        yield card.model_copy(update={"id": f"bench-{number:06d}"})


def append(path: Path, size: int) -> Times:
    """Let the store grow to `size`; the times of one of its last appends."""
    with DialogueStore(path, SETTINGS) as store:
        late = max(len(store), size - min(LATE, size // 10))
        for dialogue in dialogues(len(store), late):
            line = dialogue.to_json().encode() + b"\n"
            store.append_line(line, Entry.of(dialogue), sync=False)
        store.sync()
        spent = [timed(partial(store.append, one)) for one in dialogues(late, size)]
    return tuple(map(median, zip(*spent, strict=True)))


def timed(function: Callable[[], object]) -> Times:
    cpu, clock = time.process_time(), time.perf_counter()
    function()
    return time.process_time() - cpu, time.perf_counter() - clock


def best(function: Callable[[], object], records: int) -> Times:
    """The times of one record in the best of several calls."""
    spent = [timed(function) for _ in range(PASSES if records <= 10_000 else 1)]
    return tuple(min(column) / records for column in zip(*spent, strict=True))


def memory() -> float:
    """The highest memory of this process so far, MB (Linux counts in KiB)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(operation: str, path: Path, size: int) -> dict:
    """One row: microseconds (of processor and clock) and bytes a record, and peak of
    memory in MB beyond what the process held before."""
    scenes, n = path.with_name("cards.jsonl"), size // REPEATS
    file, records = (scenes, n) if operation.endswith("cards") else (path, size)
    calls = {
        "append": lambda: append(path, size),
        "open": lambda: best(lambda: DialogueStore(path, SETTINGS).close(), size),
        "scan": lambda: best(lambda: tally(read_dialogues(path)), size),
        "write cards": lambda: best(lambda: write_cards(scenes, cards(n)), n),
        "read cards": lambda: best(lambda: sum(1 for _ in read_cards(scenes)), n),
    }
    before = memory()
    cpu, clock = calls[operation]()
    return {
        "dialogues": size,
        "operation": operation,
        "records": records,
        "cpu_us": round(1e6 * cpu, 1),
        "clock_us": round(1e6 * clock, 1),
        "bytes": round(file.stat().st_size / records, 1),
        "peak_mb": round(memory() - before, 1),
    }


def run(sizes: list[int], folder: Path) -> list[dict]:
    """All rows, smallest size first; prints each."""
    rows, path = [], folder / "bench.jsonl"
    for size in sorted(sizes):
        for operation in OPERATIONS:
            command = [sys.executable, "-m", "helpers.sandbox.bench_store"]
            done = subprocess.run(
                [*command, "--one", operation, str(path), str(size)],
                cwd=ROOT, capture_output=True, text=True,
            )  # fmt: skip
            if done.returncode:
                raise RuntimeError(f"{operation} at {size}: {done.stderr[-2000:]}")
            row = json.loads(done.stdout)
            rows.append(row)
            print(
                f"{size:>9,} {operation:<11} {row['cpu_us']:6.1f} us of processor, "
                f"{row['clock_us']:7.1f} us, {row['bytes']:,.0f} bytes a record; "
                f"{row['peak_mb']:5.1f} MB",
                flush=True,
            )
    return rows


def machine() -> dict:
    """How, where and when it was measured; nothing that names the machine."""
    return {
        "made by": "python -m helpers.sandbox.bench_store",
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpus": os.cpu_count(),
        "load": round(os.getloadavg()[2], 1),
        "note": "load: processes at work over the last 15 minutes, this one included",
    }


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m helpers.sandbox.bench_store")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--out", type=Path, help="CSV; a JSON file is put beside it")
    parser.add_argument("--folder", type=Path, help="where the store may grow")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.one:
        operation, path, size = options.one
        print(json.dumps(measure(operation, Path(path), int(size))))
        return 0
    sizes = [int(size) for size in options.sizes.split(",")]
    if min(sizes) < 100:
        parser.error("--sizes: 100 dialogues or more")
    folder = Path(tempfile.mkdtemp(prefix="store-", dir=options.folder))
    try:
        rows = run(sizes, folder)
    finally:
        shutil.rmtree(folder)
    if options.out:
        lines = [rows[0], *(row.values() for row in rows)]
        text = "".join(",".join(map(str, line)) + "\n" for line in lines)
        write_atomically(options.out, text)
        where = json.dumps(machine(), indent=1) + "\n"
        write_atomically(options.out.with_suffix(".json"), where)
    return 0


if __name__ == "__main__":
    sys.exit(main())
