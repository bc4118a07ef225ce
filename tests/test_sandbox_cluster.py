"""Stores of several machines: merging, and Ray tasks over shards.

The driver is tested with a stand-in for Ray, and (where Ray is installed) on a local
cluster of two nodes, one of which is killed half-way. About 5 s, 30 s with Ray.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from ray_two_nodes import CASES, SHARD
from sandbox_fakes import Calls, FakePolicy, FakeUser, broken, stopped
from test_sandbox_store import FAILED, SETTINGS, dialogue
from world_cards import make_cards

from helpers.agents.roles import RunStopped
from helpers.sandbox import cluster
from helpers.sandbox.cluster import RayMissing, run_cluster
from helpers.sandbox.episode import RunSettings
from helpers.sandbox.merge import ConflictingDialogues, Merged, merge_stores
from helpers.sandbox.run import run_many
from helpers.sandbox.store import (
    DialogueStore,
    SettingsChanged,
    StoreBusy,
    read_dialogues,
    settings_path,
)

TESTS = Path(__file__).parent
TURNS = RunSettings(2, None, None)


def lines(path) -> list[bytes]:
    return sorted(Path(path).read_bytes().splitlines())


# Merging


def part(path, *dialogues, settings=SETTINGS) -> Path:
    with DialogueStore(path, settings) as store:
        for one in dialogues:
            store.append(one)
    return path


def test_merging_keeps_each_dialogue_once_and_can_be_repeated(tmp_path):
    a = part(tmp_path / "a.jsonl", dialogue("x"), dialogue("y"))
    b = part(tmp_path / "b.jsonl", dialogue("y"), dialogue("y", 1), dialogue("z"))
    whole = tmp_path / "all.jsonl"
    assert merge_stores(whole, [a, b]) == Merged(added=4, failed=0, already=1)
    before = whole.read_bytes()
    assert merge_stores(whole, [b, a]) == Merged(0, 0, 5)
    assert whole.read_bytes() == before and len(lines(a)) == 2
    with DialogueStore(whole, SETTINGS) as store:
        assert len(store) == 4 and store.attempt("y", 1) == (0, False)


@pytest.mark.parametrize("cut", [1, 60, -1])
def test_a_torn_last_line_of_a_part_is_left_out(tmp_path, cut, caplog):
    a = part(tmp_path / "a.jsonl", dialogue("x"))
    whole_lines = a.stat().st_size
    part(a, dialogue("y"))
    data = a.read_bytes()
    a.write_bytes(data[: whole_lines + cut] if cut > 0 else data[:cut])
    b = part(tmp_path / "b.jsonl", dialogue("z"))
    target = tmp_path / "all.jsonl"
    merge_stores(target, [a, b])
    known = ["x", "y", "z"] if cut == -1 else ["x", "z"]  # -1: only the line end
    assert [d.scenario_id for d in read_dialogues(target)] == known
    assert ("torn" in caplog.text) == (cut != -1)


OTHER = dict(seed=4)  # the same key, another content
AGAIN = dict(attempt=1)


@pytest.mark.parametrize(
    "first, second, kept",
    [
        (FAILED, FAILED | OTHER, (0, True)),  # two failures: the first
        (FAILED, AGAIN, (1, False)),  # a later attempt
        (FAILED, FAILED | AGAIN, (1, True)),
        (AGAIN, FAILED, (1, False)),  # superseded
        ({}, OTHER, None),
        ({}, FAILED, None),  # never a choice by outcome
        (FAILED, {}, None),
        ({}, AGAIN, None),
        (AGAIN, {}, None),
        ({}, FAILED | AGAIN, None),
    ],
)
def test_two_results_of_one_dialogue_are_an_error_and_failures_are_not(
    tmp_path, first, second, kept
):
    a = part(tmp_path / "a.jsonl", dialogue("x", **first))
    b = part(tmp_path / "b.jsonl", dialogue("w"), dialogue("x", **second))
    target = tmp_path / "all.jsonl"
    if kept is None:
        with pytest.raises(ConflictingDialogues, match="b.jsonl, line 2: all.jsonl"):
            merge_stores(target, [a, b])
    else:
        merge_stores(target, [a, b])
    (x,) = [d for d in read_dialogues(target) if d.scenario_id == "x"]
    assert (x.attempt, x.failure is not None) == (
        kept or (dialogue(**first).attempt, "failure" in first)
    )
    assert x.seed == 3


def test_what_does_not_belong_together_is_not_merged(tmp_path):
    a = part(tmp_path / "a.jsonl", dialogue("x", card="c1"))
    target = tmp_path / "all.jsonl"
    merge_stores(target, [a])
    b = part(tmp_path / "b.jsonl", dialogue("x", 1, card="c2"))
    with pytest.raises(SettingsChanged, match="the card x has changed"):
        merge_stores(target, [b])
    other = SETTINGS | {"turns": 9}
    c = part(tmp_path / "c.jsonl", settings=other)
    with pytest.raises(SettingsChanged, match="turns: 8 -> 9"):
        merge_stores(target, [c])
    foreign = json.loads(dialogue("y").to_json()) | {"settings_hash": "0" * 16}
    a.write_text(json.dumps(foreign) + "\n")
    with pytest.raises(SettingsChanged, match="settings hash 0000"):
        merge_stores(target, [a])
    with DialogueStore(b, SETTINGS), pytest.raises(StoreBusy, match="b.jsonl"):
        merge_stores(tmp_path / "new.jsonl", [b])
    settings_path(b).unlink()
    with pytest.raises(SettingsChanged, match="copy both files"):
        merge_stores(target, [b])
    with pytest.raises(ValueError, match="no stores"):
        merge_stores(target, [])
    assert len(lines(target)) == 1


# The driver, with a stand-in for Ray


class LostMachine(BaseException):
    """Ends a task as a machine that goes away does: nothing is cleaned up by it."""


class StandIn(SimpleNamespace):
    """Ray's calls, one task after the other, when they are waited for."""

    def __init__(self, cpus=1):
        super().__init__(open=[], most=0, up=False, options={}, cpus=cpus)

    def is_initialized(self):
        return self.up

    def init(self, address=None):
        self.up = True

    def shutdown(self):
        self.up = False

    def cluster_resources(self):
        return {"CPU": self.cpus}

    def remote(self, **options):
        self.options = options

        def wrap(function):
            def remote(*args):
                self.open.append(object())
                self.most = max(self.most, len(self.open))
                self.calls[self.open[-1]] = function, args
                return self.open[-1]

            return SimpleNamespace(remote=remote)

        self.calls = {}
        return wrap

    def wait(self, open_ones):
        self.open.remove(open_ones[-1])  # any order
        return open_ones[-1:], open_ones[:-1]

    def get(self, ref):
        function, args = self.calls[ref]
        for _ in range(self.options["max_retries"] + 1):
            try:
                return function(*args)
            except LostMachine:
                continue
        raise RuntimeError("lost too often")


@pytest.fixture
def ray(monkeypatch):
    made = StandIn()
    monkeypatch.setitem(sys.modules, "ray", made)
    return made


def drive(folder, cards, policy=None, **more):
    roles = policy or FakePolicy(), FakeUser(), None, None
    options = dict(base_seed=1, folder=folder, shard=3) | more
    return run_cluster(iter(cards), lambda: roles, TURNS, **options)


def alone(path, cards, **more) -> list[bytes]:
    run_many(
        cards, FakePolicy(), FakeUser(), None, None, TURNS, base_seed=1, path=path,
        **more,
    )  # fmt: skip
    return lines(path)


def test_shards_give_the_store_of_one_machine(tmp_path, ray):
    cards, seen = make_cards(10), []
    report = drive(tmp_path, cards, repeats=2, progress=lambda *done: seen.append(done))
    assert (report.made, report.already, report.failed) == (20, 0, 0)
    assert lines(tmp_path / cluster.STORE) == alone(
        tmp_path / "one.jsonl", cards, repeats=2
    )
    assert not list((tmp_path / cluster.SHARDS).iterdir()) and not ray.up
    assert ray.most == 2, "at most two tasks a processor are given out"
    assert seen[-1] == (20, 20) and len(seen) == 7
    assert StoreBusy in ray.options["retry_exceptions"]
    again = drive(tmp_path, cards, repeats=2)
    assert (again.made, again.already) == (0, 20)


def test_a_lost_machine_loses_nothing_and_doubles_nothing(tmp_path, ray):
    calls = Calls(at={7: LostMachine(), 8: LostMachine(), 12: LostMachine()})
    report = drive(tmp_path, make_cards(10), FakePolicy(calls))
    assert report.made == 10
    # Beside the three lost calls, one reply of a dialogue that was broken off.
    assert calls.count == 20 + 3 + 1, "what a shard held was run again"
    stored = lines(tmp_path / cluster.STORE)
    assert stored == alone(tmp_path / "one.jsonl", make_cards(10))


def test_a_driver_that_was_killed_merges_what_lies_there(tmp_path, ray):
    cards = make_cards(10)
    killed = FakePolicy(Calls(at={9: KeyboardInterrupt()}))
    with pytest.raises(KeyboardInterrupt):
        drive(tmp_path, cards, killed, repeats=2)
    left = list((tmp_path / cluster.SHARDS).glob("*.jsonl"))
    assert [len(lines(path)) for path in left] == [1]  # and three are merged
    again = drive(tmp_path, cards, repeats=2)
    assert (again.made, again.already) == (16, 4)
    assert lines(tmp_path / cluster.STORE) == alone(
        tmp_path / "one.jsonl", cards, repeats=2
    )


def test_an_error_of_a_task_stops_the_run_and_keeps_what_is_made(tmp_path, ray):
    ray.cpus, cards = 2, make_cards(20)
    policy = FakePolicy(Calls(at={5: stopped()}))
    with pytest.raises(RunStopped, match="no quota"):
        drive(tmp_path, cards, policy)
    # Four tasks were given out; the one that stopped had made two dialogues.
    assert len(list(read_dialogues(tmp_path / cluster.STORE))) == 3 * 3 + 2
    assert drive(tmp_path, cards).made == 9


def test_failed_dialogues_are_run_again_only_on_request(tmp_path, ray):
    cards = make_cards(5)
    report = drive(tmp_path, cards, FakePolicy(Calls(at={3: broken("policy")})))
    assert (report.made, report.failed) == (5, 1)
    assert drive(tmp_path, cards).made == 0
    again = drive(tmp_path, cards, retry_failed=True)
    assert (again.made, again.failed, again.already) == (1, 0, 4)
    stored = list(read_dialogues(tmp_path / cluster.STORE))
    assert len(stored) == 5 and not any(d.failure for d in stored)


def test_a_task_waits_for_a_shard_that_is_still_held(tmp_path, ray, monkeypatch):
    path, roles = tmp_path / "s.jsonl", (FakePolicy(), FakeUser(), None, None)
    jobs = [(card, 0, 0) for card in make_cards(2)]
    held = DialogueStore(path, SETTINGS)
    monkeypatch.setattr(cluster, "PATIENCE", 0.2)
    args = jobs, lambda: roles, TURNS, 1, path, SETTINGS
    with pytest.raises(StoreBusy):
        cluster.run_shard(*args)
    monkeypatch.setattr(cluster, "PATIENCE", 60)
    timer = threading.Timer(0.7, held.close)
    timer.start()
    cluster.run_shard(*args)
    timer.join()
    assert len(lines(path)) == 2


def test_without_ray_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(RayMissing, match="pip install ray.*environment.yml"):
        drive(tmp_path, make_cards(1))


# A cluster of two nodes


def two_nodes(folder) -> tuple[int, str]:
    """Exit code and output of `ray_two_nodes.py`."""
    paths = os.pathsep.join([str(TESTS.parent), str(TESTS)])  # for the nodes too
    process = subprocess.Popen(
        [sys.executable, TESTS / "ray_two_nodes.py", folder], text=True,
        env={**os.environ, "PYTHONPATH": paths, "RAY_USAGE_STATS_ENABLED": "0"},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    try:
        output, _ = process.communicate(timeout=300)
    except subprocess.TimeoutExpired:
        output = "no end after 300 s"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # the nodes, whatever is left
    return process.wait(), output


def test_a_node_killed_half_way_loses_nothing_and_doubles_nothing(tmp_path):
    pytest.importorskip("ray", reason="Ray is not installed (environment.yml has it)")
    for _ in range(3):  # Ray gives a node 15 s: too little on a busy machine
        code, output = two_nodes(tmp_path)
        if (tmp_path / "started").exists():
            break
    else:
        pytest.skip(f"Ray's nodes do not start here: {output.strip()[-300:]}")
    assert code == 0, output[-3000:]
    told, by_node = json.loads((tmp_path / "told.json").read_text()), {}
    for node, case in map(str.split, (tmp_path / "notes.txt").open()):
        by_node.setdefault(node, set()).add(case)
    stored, cards = lines(tmp_path / cluster.STORE), make_cards(CASES)
    assert told["made"] == len(stored) == CASES
    assert stored == alone(tmp_path / "one.jsonl", cards)
    assert not list((tmp_path / cluster.SHARDS).iterdir())
    # The kill came amid a shard, and what that shard had stored was not run again.
    assert len(by_node) == 2 and 2 <= len(told["at_kill"]) < SHARD
    on_second = by_node.pop(told["second"])
    (on_first,) = by_node.values()
    assert on_first | on_second == {card.id for card in cards}
    assert len(on_first & on_second) <= 1
