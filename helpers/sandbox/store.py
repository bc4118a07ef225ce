"""An append-only store of dialogues: JSON Lines, one dialogue a line.

Promises (tests/test_sandbox_store.py): an append is written, flushed and synced before
it counts; a torn last line is cut off and reported, never read; a key is stored once;
one process writes at a time; a store belongs to one set of settings.

Beside `NAME.jsonl` lies `NAME.settings.json`, written before the first dialogue, which
names the settings in full, so that a refusal can say what differs.
"""

import fcntl
import hashlib
import json
import logging
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import Lock
from typing import Any

from helpers.files import write_atomically
from helpers.sandbox.dialogue import Dialogue, RecordError

log = logging.getLogger(__name__)


class SettingsChanged(RuntimeError):
    """The store was made with other settings; the message shows the difference."""


class StoreBusy(RuntimeError):
    """Another process is writing to this store."""


class DuplicateDialogue(ValueError):
    """This dialogue is already in the store."""


def settings_hash(settings: Mapping[str, Any]) -> str:
    """16 hex digits over the settings as canonical JSON."""
    text = json.dumps(settings, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def settings_diff(old: Any, new: Any, where: str = "") -> list[str]:
    """One line for each value that differs, "a.b: old -> new"."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        lines = []
        for key in sorted(set(old) | set(new)):
            name = f"{where}.{key}" if where else str(key)
            if key not in old:
                lines.append(f"{name}: (absent) -> {new[key]!r}")
            elif key not in new:
                lines.append(f"{name}: {old[key]!r} -> (absent)")
            else:
                lines += settings_diff(old[key], new[key], name)
        return lines
    return [] if old == new else [f"{where}: {old!r} -> {new!r}"]


def read_dialogues(path: Path | str) -> Iterator[Dialogue]:
    """The dialogues of a store, one at a time; of several attempts only the last.

    Raises:
        RecordError: a line (not the torn last one) cannot be read, or a key is there
            twice; the message names file and line.
    """
    path = Path(path)
    last: dict[tuple[str, int], tuple[int, int]] = {}
    for number, _, dialogue in _lines(path):
        case = dialogue.scenario_id, dialogue.repeat
        if case not in last or last[case][0] < dialogue.attempt:
            last[case] = dialogue.attempt, number
    keep = {number for _, number in last.values()}
    for number, _, dialogue in _lines(path):
        if number in keep:
            yield dialogue


def _lines(path: Path) -> Iterator[tuple[int, int, Dialogue]]:
    """(line number, byte after the line, dialogue); stops before a torn last line."""
    seen = {}
    end = 0
    with open(path, "rb") as f:
        for number, raw in enumerate(f, start=1):
            whole = raw.endswith(b"\n")
            end += len(raw)
            try:
                dialogue = Dialogue.from_json(raw.decode("utf-8"))
            except (RecordError, UnicodeDecodeError) as error:
                if not whole:
                    log.warning(
                        "%s: line %d is torn (%d bytes) and is ignored",
                        path.name,
                        number,
                        len(raw),
                    )
                    return
                raise RecordError(f"{path.name}, line {number}: {error}") from error
            if dialogue.key in seen:
                raise RecordError(
                    f"{path.name}, line {number}: dialogue {dialogue.key} is already "
                    f"on line {seen[dialogue.key]}"
                )
            seen[dialogue.key] = number
            yield number, end, dialogue


class DialogueStore:
    """Append dialogues of one set of settings; use as a context manager.

    Args:
        path: NAME.jsonl; its folder is made.
        settings: all that changes results, as JSON values.

    Raises:
        SettingsChanged: the store holds dialogues of other settings.
        StoreBusy: another process has it open.
        RecordError: it holds a line that cannot be read.
    """

    def __init__(self, path: Path | str, settings: Mapping[str, Any]):
        self.path = Path(path)
        self.settings_hash = settings_hash(settings)
        self.torn_bytes = 0
        self._cases: dict[tuple[str, int], tuple[int, bool]] = {}
        self._cards: dict[str, str] = {}
        self._lock = Lock()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = open(self.path, "ab", buffering=0)
        try:
            self._claim()
            self._check_settings(settings)
            self._recover()
        except BaseException:
            self._file.close()
            raise

    def _claim(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StoreBusy(
                f"{self.path.name} is being written by another process: "
                "wait for it, or use another output folder"
            ) from error

    def _check_settings(self, settings: Mapping[str, Any]) -> None:
        sidecar = self.path.with_suffix(".settings.json")
        plain = json.loads(json.dumps(settings, allow_nan=False))
        if sidecar.exists():
            old = json.loads(sidecar.read_text(encoding="utf-8"))
            if settings_hash(old) != self.settings_hash:
                diff = "; ".join(settings_diff(old, plain))
                raise SettingsChanged(
                    f"{self.path.name} was made with other settings ({diff}): use "
                    "another output folder, or the old settings"
                )
        elif self.path.stat().st_size:
            raise SettingsChanged(
                f"{self.path.name} has no {sidecar.name} beside it, so its settings "
                "are not known: use another output folder"
            )
        else:
            write_atomically(sidecar, json.dumps(plain, indent=1, sort_keys=True))

    def _recover(self) -> None:
        """Learn the keys; cut a torn last line so that the next append is whole."""
        whole = 0
        for number, end, dialogue in _lines(self.path):
            if dialogue.settings_hash != self.settings_hash:
                raise SettingsChanged(
                    f"{self.path.name}, line {number}: settings hash "
                    f"{dialogue.settings_hash}, not {self.settings_hash}"
                )
            self._note(dialogue)
            whole = end
        size = self.path.stat().st_size
        self.torn_bytes = size - whole
        if self.torn_bytes:
            os.truncate(self.path, whole)
        elif size:
            with open(self.path, "rb") as f:
                f.seek(-1, os.SEEK_END)
                if f.read(1) != b"\n":  # only the line end was lost
                    self._write(b"\n")

    def _note(self, dialogue: Dialogue) -> None:
        case = dialogue.scenario_id, dialogue.repeat
        failed = dialogue.failure is not None
        if case not in self._cases or self._cases[case][0] < dialogue.attempt:
            self._cases[case] = dialogue.attempt, failed
        if dialogue.card is not None:
            self._cards[dialogue.scenario_id] = dialogue.card

    def _write(self, data: bytes) -> None:
        """All of it, on disk; a write that fails part way is taken back."""
        before = self.path.stat().st_size
        try:
            left = memoryview(data)
            while left:
                left = left[self._file.write(left) :]
            os.fsync(self._file.fileno())
        except OSError:
            os.truncate(self.path, before)
            raise

    def attempt(self, scenario_id: str, repeat: int) -> tuple[int, bool] | None:
        """(last attempt, whether it failed) of a case, None if it was never run."""
        return self._cases.get((scenario_id, repeat))

    def check_card(self, scenario_id: str, card: str) -> None:
        """The card of a scenario must be the one that its stored dialogues had.

        Raises:
            SettingsChanged: it is another one.
        """
        if self._cards.get(scenario_id, card) != card:
            raise SettingsChanged(
                f"{self.path.name}: the card {scenario_id} has changed since its "
                "dialogues were stored: use another output folder, or the old card"
            )

    def append(self, dialogue: Dialogue) -> None:
        """Store one dialogue durably.

        Raises:
            DuplicateDialogue: its key is there already, or its case is done.
            SettingsChanged: it carries another settings hash.
        """
        if dialogue.settings_hash != self.settings_hash:
            raise SettingsChanged(
                f"dialogue {dialogue.key} has settings hash {dialogue.settings_hash}, "
                f"the store {self.settings_hash}"
            )
        with self._lock:
            last = self.attempt(dialogue.scenario_id, dialogue.repeat)
            if last is not None and (not last[1] or dialogue.attempt <= last[0]):
                raise DuplicateDialogue(f"dialogue {dialogue.key} is already stored")
            self._write((dialogue.to_json() + "\n").encode())
            self._note(dialogue)

    def __len__(self) -> int:
        """Number of cases (scenario, repeat), failed ones included."""
        return len(self._cases)

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> "DialogueStore":
        return self

    def __exit__(self, *_) -> None:
        self.close()
