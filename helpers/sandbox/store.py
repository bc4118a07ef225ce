"""An append-only store of dialogues: JSON Lines, one dialogue a line.

Promises (tests/test_sandbox_store.py): an append is written, flushed and synced before
it counts; a torn last line is cut off and reported, never read; a key is stored once;
one process writes at a time; a store belongs to one set of settings. No function here
holds more than one record, and the cost of a dialogue does not grow with the store
(`python -m helpers.sandbox.bench_store` measures it): memory holds only the index.

Beside `NAME.jsonl` lies `NAME.settings.json`, written before the first dialogue, which
names the settings in full, so that a refusal can say what differs.
"""

import fcntl
import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from threading import Lock
from typing import Any

from helpers.files import write_atomically
from helpers.sandbox.dialogue import Dialogue, RecordError
from helpers.sandbox.index import Entry, Index, Last, check_entry


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
    index = Index.read(path)
    with open(path, "rb") as f:
        for number, raw in enumerate(f, start=1):
            if number > index.lines:  # torn, or written since
                return
            try:
                dialogue = Dialogue.from_json(raw.decode("utf-8"))
            except (RecordError, UnicodeDecodeError) as error:
                raise RecordError(f"{path.name}, line {number}: {error}") from error
            last = index.last(dialogue.scenario_id, dialogue.repeat)
            if dialogue.attempt == last.attempt:
                yield dialogue


def tally(dialogues: Iterable[Dialogue]) -> dict[str, Any]:
    """Counts over a stream: dialogues, turns, endings by name, and the mean of the
    final emotion over those that have one (None if none has: a failure is no score)."""
    endings, turns, emotion, scored = Counter(), 0, 0.0, 0
    for dialogue in dialogues:
        endings[dialogue.ending] += 1
        turns += len(dialogue.turns)
        if dialogue.final_emotion is not None:
            emotion += dialogue.final_emotion
            scored += 1
    return {
        "dialogues": endings.total(),
        "turns": turns,
        "endings": dict(endings),
        "final_emotion": emotion / scored if scored else None,
    }


def claim(file, name: str) -> None:
    """Lock an open file of a store until it is closed.

    Raises:
        StoreBusy: another process holds it.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise StoreBusy(
            f"{name} is being written by another process: wait for it, or use another "
            "output folder"
        ) from error


def settings_path(path: Path) -> Path:
    """Where the settings of a store lie."""
    return Path(path).with_suffix(".settings.json")


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
        self._index = Index()
        self._lock = Lock()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = open(self.path, "ab", buffering=0)
        try:
            claim(self._file, self.path.name)
            self._check_settings(settings)
            self._recover()
        except BaseException:
            self._file.close()
            raise

    def _check_settings(self, settings: Mapping[str, Any]) -> None:
        sidecar = settings_path(self.path)
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
        for number, _, _, entry in self._index.scan(self.path):
            if entry.settings_hash != self.settings_hash:
                raise SettingsChanged(
                    f"{self.path.name}, line {number}: settings hash "
                    f"{entry.settings_hash}, not {self.settings_hash}"
                )
        size, whole = self.path.stat().st_size, self._index.end
        self.torn_bytes = size - whole
        if self.torn_bytes:
            os.truncate(self.path, whole)
        elif size and self.line(size - 1) != b"\n":  # only the line end was lost
            self._write(b"\n")

    def _write(self, data: bytes, sync: bool = True) -> int:
        """All of it, on disk; a write that fails part way is taken back. Where it
        begins."""
        before = self.path.stat().st_size
        try:
            left = memoryview(data)
            while left:
                left = left[self._file.write(left) :]
            if sync:
                self.sync()
        except OSError:
            os.truncate(self.path, before)
            raise
        return before

    def sync(self) -> None:
        """Wait until all lines are on the disk."""
        os.fsync(self._file.fileno())

    def line(self, offset: int) -> bytes:
        """The rest of the line from byte `offset` on, with its end."""
        with open(self.path, "rb") as f:
            f.seek(offset)
            return f.readline()

    def last(self, scenario_id: str, repeat: int) -> Last | None:
        """The last attempt at a case and where it stands, None if it was never run."""
        return self._index.last(scenario_id, repeat)

    def attempt(self, scenario_id: str, repeat: int) -> tuple[int, bool] | None:
        """(last attempt, whether it failed) of a case, None if it was never run."""
        last = self.last(scenario_id, repeat)
        return last and last[:2]

    def check_card(self, scenario_id: str, card: str) -> None:
        """The card of a scenario must be the one that its stored dialogues had.

        Raises:
            SettingsChanged: it is another one.
        """
        if self._index.card(scenario_id) not in (None, card):
            raise SettingsChanged(
                f"{self.path.name}: the card {scenario_id} has changed since its "
                "dialogues were stored: use another output folder, or the old card"
            )

    def append(self, dialogue: Dialogue) -> None:
        """Store one dialogue durably.

        Raises:
            DuplicateDialogue: its key is there already, or its case is done.
            SettingsChanged: it carries another settings hash.
            RecordError: its repeat or attempt is out of range.
        """
        self.append_line(dialogue.to_json().encode() + b"\n", Entry.of(dialogue))

    def append_line(self, raw: bytes, entry: Entry, sync: bool = True) -> None:
        """Store a line as another store has it; the same errors as `append`.

        Args:
            raw: with its end. sync: False to call `sync` after many of them.
        """
        check_entry(entry)
        if entry.settings_hash != self.settings_hash:
            raise SettingsChanged(
                f"dialogue {entry.key} has settings hash {entry.settings_hash}, "
                f"the store {self.settings_hash}"
            )
        with self._lock:
            last = self.last(entry.scenario_id, entry.repeat)
            if last is not None and (not last.failed or entry.attempt <= last.attempt):
                raise DuplicateDialogue(f"dialogue {entry.key} is already stored")
            self._index.note(entry, self._write(raw, sync))

    def __len__(self) -> int:
        """Number of cases (scenario, repeat), failed ones included."""
        return len(self._index)

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> "DialogueStore":
        return self

    def __exit__(self, *_) -> None:
        self.close()
