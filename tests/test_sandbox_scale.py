"""Streams of scenarios, and stores that are larger than memory. About 10 s."""

import csv
import json
import subprocess
import sys
import time
import tracemalloc
from dataclasses import replace
from statistics import median

import pytest
from sandbox_fakes import Calls, FakePolicy, FakeUser
from test_sandbox_store import FAILED, SETTINGS, dialogue
from world_cards import make_card, make_cards

from helpers.data.scenarios import (
    ScenarioError,
    card_line,
    load_cards,
    read_cards,
    write_cards,
)
from helpers.paths import ROOT
from helpers.sandbox import bench_store
from helpers.sandbox import run as run_module
from helpers.sandbox import store as store_module
from helpers.sandbox.dialogue import RecordError
from helpers.sandbox.episode import RunSettings
from helpers.sandbox.index import Index, scan
from helpers.sandbox.run import run_many
from helpers.sandbox.store import DialogueStore, read_dialogues, settings_hash, tally

N, REPEATS, LARGE = 20_000, 10, bench_store.SETTINGS  # the large store: dialogues, of
# each scenario, its settings
ONE_TURN = RunSettings(1, None, None)


def play(scenarios, path, policy=None, **more):
    return run_many(
        scenarios, policy or FakePolicy(), FakeUser(), None, None, ONE_TURN,
        base_seed=1, path=path, **more,
    )  # fmt: skip


# Runs over a stream


@pytest.mark.parametrize("workers", [1, 3])
def test_a_stream_of_scenarios_is_read_window_by_window(tmp_path, monkeypatch, workers):
    """No card of a window is made before the jobs of the last one have begun."""
    monkeypatch.setattr(run_module, "WINDOW", 4)
    ahead, calls = [], Calls()

    def stream():
        for i in range(10):
            ahead.append(i - calls.count)
            yield make_card(i)

    seen, path = [], tmp_path / "run.jsonl"
    report = play(
        stream(), path, FakePolicy(calls), workers=workers, repeats=2,
        progress=lambda *done: seen.append(done),
    )  # fmt: skip
    assert (report.made, report.already) == (20, 0) and seen[-1] == (20, 20)
    assert max(ahead) <= 3, "read ahead of the dialogues"
    again = play(make_cards(12), path, repeats=2)
    assert (again.made, again.already) == (4, 20)
    assert len({d.key for d in read_dialogues(path)}) == 24


@pytest.mark.parametrize("workers", [1, 3])
def test_a_stream_that_breaks_loses_no_dialogue_that_ran(
    tmp_path, monkeypatch, workers
):
    monkeypatch.setattr(run_module, "WINDOW", 4)
    calls, path = Calls(latency=0.002), tmp_path / "run.jsonl"

    def stream():
        yield from make_cards(6)
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="disk is gone"):
        play(stream(), path, FakePolicy(calls), workers=workers)
    assert len(list(read_dialogues(path))) == calls.count == 4
    with pytest.raises(ValueError, match="t0001 is given twice"):
        play([*make_cards(5), make_card(1)], path, workers=workers)


def test_the_longest_starts_first_in_each_window(tmp_path, monkeypatch):
    monkeypatch.setattr(run_module, "WINDOW", 5)
    cards, path = make_cards(10), tmp_path / "run.jsonl"
    play(iter(cards), path)
    norms = {card.id: card.deficit_norm for card in cards}
    told = [norms[d.scenario_id] for d in read_dialogues(path)]
    assert told[:5] == sorted(told[:5], reverse=True)
    assert told[5:] == sorted(told[5:], reverse=True)
    assert sorted(told[:5]) == sorted(norms[card.id] for card in cards[:5])


# A large store


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """(a store of N dialogues, seconds of processor of each hundred appends)."""
    path, times = tmp_path_factory.mktemp("large") / "run.jsonl", []
    made = dialogue(settings_hash=settings_hash(LARGE))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store_module.os, "fsync", lambda _: None)  # waits, costs nothing
        with DialogueStore(path, LARGE) as store:
            for number in range(N):
                if number % 100 == 0:
                    times.append(time.process_time())
                case, repeat = divmod(number, REPEATS)
                name = f"case-{case:06d}"
                store.append(replace(made, scenario_id=name, repeat=repeat))
    return path, [b - a for a, b in zip(times, times[1:], strict=False)]


def test_an_append_costs_the_same_however_large_the_store_is(large):
    _, seconds = large
    tenth = len(seconds) // 10
    first, last = median(seconds[:tenth]), median(seconds[-tenth:])
    assert last < 3 * first, f"{1e4 * first:.0f} -> {1e4 * last:.0f} us a dialogue"


@pytest.mark.parametrize("operation", ["open", "scan"])
def test_a_large_store_is_opened_and_read_with_its_keys_only_in_memory(
    large, operation
):
    """Peak memory of a process that does it; a dict with a tuple a dialogue takes 8."""
    path, _ = large
    command = [sys.executable, "-m", "helpers.sandbox.bench_store", "--one"]
    done = subprocess.run(
        [*command, operation, str(path), str(N)], cwd=ROOT, capture_output=True,
        check=True,
    )  # fmt: skip
    assert json.loads(done.stdout)["peak_mb"] < 5


def test_a_large_store_knows_what_it_holds(large):
    path, _ = large
    with DialogueStore(path, LARGE) as store:
        assert store.attempt("case-000007", 3) == (0, False)
        assert store.attempt("case-000007", 10) is None
        assert store.attempt(f"case-{N:06d}", 0) is None
        assert len(store) == N
        for number, start, raw, entry in scan(path):
            if number % 997 == 0:
                last = store.last(entry.scenario_id, entry.repeat)
                assert last == (0, False, start) and store.line(start) == raw


# The index and the counts


def test_the_index_of_a_store_that_grew_is_that_of_a_store_read_anew(tmp_path):
    path = tmp_path / "run.jsonl"
    with DialogueStore(path, SETTINGS) as store:
        store.append(dialogue("b", 2, **FAILED))
        store.append(dialogue("b", 0))
        store.append(dialogue("b", 2, attempt=5))
        seen = [store.last("b", repeat) for repeat in range(4)]
    anew = Index.read(path)
    assert [anew.last("b", repeat) for repeat in range(4)] == seen
    assert seen[1] is None and seen[3] is None and len(anew) == 2
    assert [last and last[:2] for last in seen] == [
        (0, False), None, (5, False), None,
    ]  # fmt: skip


@pytest.mark.parametrize(
    "field, value",
    [("repeat", -1), ("repeat", 1 << 20), ("repeat", True), ("attempt", 1 << 14)],
)
def test_numbers_that_the_index_cannot_hold_are_refused(tmp_path, field, value):
    path = tmp_path / "run.jsonl"
    with DialogueStore(path, SETTINGS) as store:
        with pytest.raises(RecordError, match=f"{field} {value}"):
            store.append(dialogue(**{field: value}))
        store.append(dialogue())
    record = json.loads(path.read_text()) | {field: value}
    path.write_text(json.dumps(record) + "\n")
    with pytest.raises(RecordError, match=f"line 1: {field} {value}"):
        DialogueStore(path, SETTINGS)


def test_an_earlier_attempt_after_a_later_one_is_refused(tmp_path):
    path = tmp_path / "run.jsonl"
    with DialogueStore(path, SETTINGS) as store:
        store.append(dialogue("a"))
        store.append(dialogue("b", **FAILED))
        store.append(dialogue("b", attempt=1))
    one, two, three = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(one + three + two)
    with pytest.raises(RecordError, match="line 3: .* line 2, as attempt 1"):
        list(read_dialogues(path))


def test_a_dialogue_that_is_stored_while_others_are_read_waits_its_turn(tmp_path):
    path = tmp_path / "run.jsonl"
    with DialogueStore(path, SETTINGS) as store:
        store.append(dialogue("a"))
        reader = read_dialogues(path)
        assert next(reader).scenario_id == "a"
        store.append(dialogue("b"))
        assert list(reader) == []
    assert len(list(read_dialogues(path))) == 2


def test_counts_of_a_stream():
    none = dialogue(**FAILED)
    one, two = dialogue(initial_emotion=1), dialogue(turns=(), ending="success")
    assert tally([one, two, none]) == {
        "dialogues": 3, "turns": 2, "final_emotion": (45 + 40) / 2,
        "endings": {"timeout": 1, "success": 1, "error": 1},
    }  # fmt: skip
    assert tally([none])["final_emotion"] is None
    assert tally([])["dialogues"] == 0


# Cards


def peak_of(function) -> tuple[float, object]:
    """Most memory that a call takes beyond what was held before, MB, and its result."""
    tracemalloc.start()
    try:
        result = function()
        return tracemalloc.get_traced_memory()[1] / 1e6, result
    finally:
        tracemalloc.stop()


def test_cards_are_written_and_read_one_at_a_time(tmp_path):
    path = tmp_path / "cards.jsonl"
    n, one = 400, load_cards("tune")[0]
    stream = (one.model_copy(update={"id": f"c{i}"}) for i in range(n))
    wrote, _ = peak_of(lambda: write_cards(path, stream))
    size = path.stat().st_size / 1e6
    read, count = peak_of(lambda: sum(1 for _ in read_cards(path)))
    held, cards = peak_of(lambda: load_cards(path))
    assert count == len(cards) == n and cards == list(read_cards(path))
    assert wrote < size / 3 and read < held / 5, (wrote, read, held, size)


def test_a_stream_of_cards_stops_at_the_first_bad_line(tmp_path):
    path, good = tmp_path / "cards.jsonl", make_cards(2)
    path.write_text("".join(card_line(c) + "\n" for c in [*good, good[0]]))
    cards = read_cards(path)
    assert [next(cards), next(cards)] == good
    with pytest.raises(ScenarioError, match="line 3, field id: .* already on line 1"):
        next(cards)

    def broken():
        yield good[0]
        raise OSError("no more")

    before = path.read_bytes()
    with pytest.raises(OSError, match="no more"):
        write_cards(path, broken())
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


# The benchmark


def test_the_benchmark_writes_a_row_for_each_operation_and_size(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(bench_store, "OPERATIONS", ("append", "scan"))
    out = tmp_path / "cost.csv"
    options = ["--sizes", "300,100", "--out", str(out), "--folder", str(tmp_path)]
    assert bench_store.main(options) == 0
    rows = list(csv.DictReader(out.open()))
    assert [(r["dialogues"], r["operation"], r["records"]) for r in rows] == [
        (size, name, size) for size in ("100", "300") for name in ("append", "scan")
    ]
    assert all(float(r["clock_us"]) > 0 and float(r["bytes"]) > 1000 for r in rows)
    assert "300 scan" in capsys.readouterr().out
    made = json.loads(out.with_suffix(".json").read_text())
    assert made["cpus"] >= 1 and "bench_store" in made["made by"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["cost.csv", "cost.json"]


def test_the_benchmark_measures_cards(tmp_path):
    for operation in ("write cards", "read cards"):
        row = bench_store.measure(operation, tmp_path / "bench.jsonl", 120)
        assert row["records"] == 12 and row["bytes"] > 1000 and row["cpu_us"] > 0
    assert len(load_cards(tmp_path / "cards.jsonl")) == 12
