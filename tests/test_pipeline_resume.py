"""Broken input, and runs that are killed at any moment."""

import json
import multiprocessing
import os
import random
import signal
import time

import pytest

from helpers.data import raw
from helpers.data.pipeline import (
    STAGES,
    BackendFailed,
    decontextualise,
    run_pipeline,
)
from helpers.data.pipeline_scripted import ScriptedPipeline
from helpers.data.steplog import StepError, StepLog, read_log

ONE = raw.RAW / raw.FILES[0]


def lines(n):
    return ONE.read_bytes().splitlines()[:n]


def write(path, rows):
    path.write_bytes(b"\n".join(rows) + b"\n")
    return path


def test_broken_lines_are_typed_and_the_rest_is_processed(tmp_path):
    good = json.loads(lines(1)[0])
    turn = {"role": "seeker", "text": "hm"}

    def bad(**changes):
        return json.dumps(good | changes).encode()

    rows = [
        (lines(1)[0], None),
        (b'{"id": "half", "turns": [', "bad_json"),
        (b"[1, 2]", "bad_schema"),
        (b"\xff\xfe{}", "bad_encoding"),
        (bad(id="x1").replace(b"heyy", b"h\xe9y"), "bad_encoding"),
        (json.dumps(good).encode("utf-16-le").replace(b"\n", b" "), "bad_encoding"),
        (bad(id="x2", turns=[]), "empty_dialogue"),
        (bad(id="x3", turns=[{"role": "seeker", "text": "  "}]), "empty_dialogue"),
        (bad(id="x4", turns=[turn] * 50_000), "too_long"),
        (bad(id="x5", turns=[{"text": "no role"}]), "bad_schema"),
        (bad(id="x6", turns=[{"role": "robot", "text": "hm"}]), "bad_schema"),
        (bad(id="../up", turns=[turn]), "bad_schema"),
        (bad(participants={"seeker": "A"}, id="x7"), "bad_schema"),
        (b"[" * 100_000, "bad_json"),
        (lines(1)[0], "duplicate_id"),
        (lines(2)[1], None),
    ]
    path = write(tmp_path / "in.jsonl", [row for row, _ in rows])
    read = list(raw.read_raw(path))
    assert [line.reason for line in read] == [reason for _, reason in rows]
    assert [line.number for line in read] == list(range(1, len(rows) + 1))
    for line in read:
        assert line.reason is None or line.detail.startswith(f"line {line.number}: ")
    records = decontextualise([path], tmp_path / "out", ScriptedPipeline())
    assert len(records) == len(rows)
    ends = {r["line"]: r.get("reason") for r in records.values()}
    assert ends[1] is None and ends[16] == "no_need" and ends[9] == "too_long"


def test_windows_line_ends_a_byte_mark_and_blank_lines_are_fine(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + b"\r\n\r\n".join(lines(3)))
    assert [line.reason for line in raw.read_raw(path)] == [None] * 3


def test_no_file_and_an_empty_file_are_errors(tmp_path):
    with pytest.raises(raw.RawFileError, match="no such file"):
        list(raw.read_raw(tmp_path / "none.jsonl"))
    (tmp_path / "empty.jsonl").write_bytes(b"")
    with pytest.raises(raw.RawFileError, match="holds no line"):
        list(raw.read_raw(tmp_path / "empty.jsonl"))


class Slow(ScriptedPipeline):
    """The rules, slow enough to be killed in the middle."""

    def mark(self, *args):
        time.sleep(0.02)
        return super().mark(*args)

    def compose(self, *args):
        time.sleep(0.02)
        return super().compose(*args)

    def rate(self, *args):
        time.sleep(0.02)
        return super().rate(*args)


def go(path, folder, backend):
    return run_pipeline([path], folder, backend, seed=0, test_size=5)


def names():
    return [f"{stage}.jsonl" for stage in STAGES] + ["cards.jsonl", "refused.jsonl"]


def test_kill_9_at_any_moment_resumes(tmp_path):
    path = write(tmp_path / "in.jsonl", lines(24))
    go(path, tmp_path / "whole", ScriptedPipeline())  # the analyser is loaded, too
    context = multiprocessing.get_context("fork")
    rng = random.Random(5)
    kills = 0
    for _ in range(40):
        child = context.Process(target=go, args=(path, tmp_path / "cut", Slow()))
        child.start()
        child.join(rng.uniform(0.05, 0.6))
        if child.is_alive():
            os.kill(child.pid, signal.SIGKILL)
            kills += 1
        child.join()
        if child.exitcode == 0:
            break
    assert kills >= 2 and child.exitcode == 0
    for name in names():
        whole, cut = (tmp_path / d / name for d in ("whole", "cut"))
        assert cut.read_bytes() == whole.read_bytes(), name


@pytest.mark.parametrize("stage", STAGES)
def test_a_log_torn_anywhere_is_completed(tmp_path, stage):
    path = write(tmp_path / "in.jsonl", lines(8))
    go(path, tmp_path, ScriptedPipeline())
    whole = {name: (tmp_path / name).read_bytes() for name in names()}
    log = tmp_path / f"{stage}.jsonl"
    size = len(whole[log.name])
    for at in sorted({0, 1, size - 1, *range(7, size, max(1, size // 6))}):
        log.write_bytes(whole[log.name][:at])
        go(path, tmp_path, ScriptedPipeline())
        assert {n: (tmp_path / n).read_bytes() for n in names()} == whole, at


class Counted(ScriptedPipeline):
    def __init__(self):
        self.calls = 0

    def mark(self, *args):
        self.calls += 1
        return super().mark(*args)


def test_a_finished_run_does_nothing_again(tmp_path):
    path = write(tmp_path / "in.jsonl", lines(6))
    go(path, tmp_path, ScriptedPipeline())
    again = Counted()
    go(path, tmp_path, again)
    assert again.calls == 0


def test_other_input_or_seed_is_refused_with_a_diff(tmp_path):
    path = write(tmp_path / "in.jsonl", lines(6))
    go(path, tmp_path, ScriptedPipeline())
    with pytest.raises(StepError, match="seed: 0 -> 1"):
        run_pipeline([path], tmp_path, ScriptedPipeline(), seed=1, test_size=5)
    write(path, lines(7))
    with pytest.raises(StepError, match="input: "):
        go(path, tmp_path, ScriptedPipeline())


class Flaky(ScriptedPipeline):
    """Fails on one dialogue until it is mended."""

    broken = True

    def compose(self, dialogue_id, *args):
        if self.broken and dialogue_id == "en-003":
            raise BackendFailed("no answer")
        return super().compose(dialogue_id, *args)


def test_a_failed_item_is_kept_apart_and_tried_again(tmp_path):
    path = write(tmp_path / "in.jsonl", lines(6))
    backend = Flaky()
    result = go(path, tmp_path, backend)
    failed = [r for r in result.stages[1].values() if r["outcome"] == "failed"]
    assert [r["id"] for r in failed] == ["en-003"] and "no answer" in failed[0][
        "detail"
    ]
    assert "sim-en-003" not in {card.id for card in result.cards}
    backend.broken = False
    mended = go(path, tmp_path, backend)
    assert [c.id for c in mended.cards][:2] == ["sim-en-001", "sim-en-003"]


def test_the_log_guards_itself(tmp_path):
    path = tmp_path / "log.jsonl"
    with StepLog(path, {"a": 1}) as log:
        log.append("x", "kept")
        with pytest.raises(StepError, match="already stored"):
            log.append("x", "kept")
        with pytest.raises(StepError, match="another process"):
            StepLog(path, {"a": 1})
    with pytest.raises(StepError, match="a: 1 -> 2"):
        StepLog(path, {"a": 2})
    path.write_bytes(b'{"no": "key"}\n' + path.read_bytes())
    with pytest.raises(StepError, match="line 1"):
        read_log(path)
    path.with_suffix(".settings.json").unlink()
    with pytest.raises(StepError, match=r"settings\.json"):
        StepLog(path, {"a": 1})
