"""The record of one pipeline stage: JSON Lines, one outcome a line, append only.

Promises (tests/test_pipeline_resume.py): a line is written, flushed and synced before
it counts; a torn last line is cut off; a finished item is never done again; a log
belongs to one set of settings; one process writes at a time. An item that failed (a
model's server was away) is tried again by the next run.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from helpers.files import write_atomically

OUTCOMES = ("kept", "rejected", "failed")


class StepError(RuntimeError):
    """A stage cannot go on with this log; the message names file and remedy."""


def read_log(path: Path) -> dict[str, dict[str, Any]]:
    """The outcomes of a stage by item; of several attempts the last.

    Raises: StepError for a line, other than a torn last one, that cannot be read.
    """
    return {record["key"]: record for _, record in _lines(Path(path))}


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(byte after the line, record) of every whole line."""
    end = 0
    with open(path, "rb") as file:
        for number, raw in enumerate(file, 1):
            if not raw.endswith(b"\n"):
                return
            end += len(raw)
            try:
                record = json.loads(raw)
                known = record["outcome"] in OUTCOMES and isinstance(record["key"], str)
            except (ValueError, KeyError, TypeError):
                known = False
            if not known:
                raise StepError(
                    f"{path.name}, line {number}: not an outcome of a stage; remove "
                    "the file to run the stage again"
                )
            yield end, record


class StepLog:
    """Append outcomes of one stage; use as a context manager.

    Args:
        path: NAME.jsonl; beside it lies NAME.settings.json.
        settings: all that changes results, as JSON values.

    Raises: StepError when the log was made with other settings, is being written by
        another process, or holds an unreadable line.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any]):
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = open(self.path, "ab", buffering=0)
        try:
            self._claim()
            self._check(json.loads(json.dumps(settings)))
            self.records = self._recover()
        except BaseException:
            self._file.close()
            raise

    def _claim(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StepError(
                f"{self.path.name} is being written by another process: wait for it, "
                "or use another folder"
            ) from error

    def _check(self, settings: dict) -> None:
        sidecar = self.path.with_suffix(".settings.json")
        if sidecar.exists():
            old = json.loads(sidecar.read_text(encoding="utf-8"))
            keys = {*old, *settings}
            odd = sorted(key for key in keys if old.get(key) != settings.get(key))
            if odd:
                shown = "; ".join(
                    f"{key}: {old.get(key)!r} -> {settings.get(key)!r}" for key in odd
                )
                raise StepError(
                    f"{self.path.name} was made with other settings ({shown}): use "
                    "another folder, or remove this one"
                )
        elif self.path.stat().st_size:
            raise StepError(
                f"{self.path.name} has no {sidecar.name}: use another folder"
            )
        else:
            text = json.dumps(settings, indent=1, sort_keys=True, ensure_ascii=False)
            write_atomically(sidecar, text + "\n")

    def _recover(self) -> dict[str, dict[str, Any]]:
        records, whole = {}, 0
        for end, record in _lines(self.path):
            records[record["key"]] = record
            whole = end
        if whole < self.path.stat().st_size:
            os.truncate(self.path, whole)
        return records

    def done(self, key: str) -> bool:
        """Whether the item needs no further work; a failed one does."""
        return key in self.records and self.records[key]["outcome"] != "failed"

    def append(self, key: str, outcome: str, **fields: Any) -> None:
        """Store one outcome durably. Raises: StepError when the item is done."""
        if self.done(key):
            raise StepError(f"{self.path.name}: {key} is already stored")
        record = {"key": key, "outcome": outcome, **fields}
        line = json.dumps(record, ensure_ascii=False)
        data = (line + "\n").encode()
        before = self.path.stat().st_size
        try:
            left = memoryview(data)
            while left:
                left = left[self._file.write(left) :]
            os.fsync(self._file.fileno())
        except OSError:
            os.truncate(self.path, before)
            raise
        self.records[key] = json.loads(line)  # as a resumed run reads it

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> "StepLog":
        return self

    def __exit__(self, *_) -> None:
        self.close()


def fingerprint(path: Path) -> str:
    """16 hex digits over a file's bytes."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()[:16]
