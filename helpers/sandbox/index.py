"""What a store holds, without its records: the compact index that resuming needs.

Of each dialogue 8 bytes stay in memory, of each scenario its id and the hash of its
card, so that a store of 1,000,000 dialogues is opened in some ten megabytes. A line is
read only as far as its key; `Dialogue.from_json` reads the rest when it is wanted.
"""

import json
import logging
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from helpers.sandbox.dialogue import SCHEMA_VERSION, Dialogue, RecordError

log = logging.getLogger(__name__)

# One 64-bit word a case: first byte of its last line, attempt, failed, 1; 0 = not run.
ATTEMPT_BITS, MOST_REPEATS = 14, 1 << 20


class Entry(NamedTuple):
    """What the index needs of one line."""

    scenario_id: str
    repeat: int
    attempt: int
    failed: bool
    card: str | None
    settings_hash: str

    @classmethod
    def of(cls, dialogue: Dialogue) -> "Entry":
        return cls(
            dialogue.scenario_id, dialogue.repeat, dialogue.attempt,
            dialogue.failure is not None, dialogue.card, dialogue.settings_hash,
        )  # fmt: skip

    @property
    def key(self) -> tuple[str, int, int]:
        return self.scenario_id, self.repeat, self.attempt


class Last(NamedTuple):
    """The last attempt at a case; offset: first byte of its line in the file."""

    attempt: int
    failed: bool
    offset: int


class _Held:
    """One scenario: hash of its card, one word a repeat."""

    __slots__ = ("card", "words")

    def __init__(self):
        self.card, self.words = None, array("Q")


class Index:
    """Cases (scenario, repeat) of a store and where their last line begins."""

    def __init__(self):
        self._held: dict[str, _Held] = {}
        self._cases = 0
        self.lines = self.end = 0  # that were read: lines, bytes

    @classmethod
    def read(cls, path: Path) -> "Index":
        """The index of a file.

        Raises:
            RecordError: a line (not the torn last one) cannot be read, or a dialogue
                stands twice; the message names file and line.
        """
        index = cls()
        for _ in index.scan(path):
            pass
        return index

    def scan(self, path: Path) -> Iterator[tuple[int, int, bytes, Entry]]:
        """`scan` of the file; each line is noted before it is yielded."""
        for number, start, raw, entry in scan(path):
            last = self.last(entry.scenario_id, entry.repeat)
            if last is not None and entry.attempt <= last.attempt:
                raise RecordError(
                    f"{path.name}, line {number}: dialogue {entry.key} is already on "
                    f"line {_line_at(path, last.offset)}, as attempt {last.attempt}"
                )
            self.note(entry, start)
            self.lines, self.end = number, start + len(raw)
            yield number, start, raw, entry

    def last(self, scenario_id: str, repeat: int) -> Last | None:
        """The last attempt at a case, None if it was never run."""
        held = self._held.get(scenario_id)
        if held is None or repeat >= len(held.words) or not held.words[repeat]:
            return None
        word = held.words[repeat]
        attempt = word >> 2 & (1 << ATTEMPT_BITS) - 1
        return Last(attempt, bool(word & 2), word >> 2 + ATTEMPT_BITS)

    def card(self, scenario_id: str) -> str | None:
        """The hash of the card that a scenario's dialogues had, None if not known."""
        held = self._held.get(scenario_id)
        return held and held.card

    def note(self, entry: Entry, offset: int) -> None:
        """A line that begins at byte `offset`: the last attempt at its case by now."""
        held = self._held.get(entry.scenario_id)
        if held is None:
            held = self._held[entry.scenario_id] = _Held()
        if entry.card is not None:
            held.card = entry.card
        words, repeat = held.words, entry.repeat
        if repeat >= len(words):
            words.extend([0] * (repeat + 1 - len(words)))
        self._cases += not words[repeat]
        word = offset << ATTEMPT_BITS | entry.attempt
        words[repeat] = word << 2 | entry.failed << 1 | 1

    def __len__(self) -> int:
        """Number of cases, failed ones included."""
        return self._cases


def _line_at(path: Path, offset: int) -> int:
    """The number of the line that begins at byte `offset`."""
    number = 1
    with open(path, "rb") as f:
        while f.tell() < offset:
            f.readline()
            number += 1
    return number


def scan(path: Path) -> Iterator[tuple[int, int, bytes, Entry]]:
    """(line number, its first byte, the line, its entry), one line in memory at a time.

    Stops before a torn last line, with a warning.

    Raises:
        RecordError: another line cannot be read; the message names file and line.
    """
    end = 0
    with open(path, "rb") as f:
        for number, raw in enumerate(f, start=1):
            try:
                entry = read_entry(raw)
            except RecordError as error:
                if not raw.endswith(b"\n"):
                    log.warning(
                        "%s: line %d is torn (%d bytes) and is ignored",
                        path.name,
                        number,
                        len(raw),
                    )
                    return
                raise RecordError(f"{path.name}, line {number}: {error}") from error
            yield number, end, raw, entry
            end += len(raw)


def read_entry(raw: bytes) -> Entry:
    """The entry of a line, by its key fields; the turns are checked as JSON only.

    Raises:
        RecordError: not JSON, another schema, or no proper key.
    """
    try:
        data = json.loads(raw)
    except ValueError as error:  # not UTF-8 or not JSON
        raise RecordError(f"not JSON: {error}") from error
    version = data.get("schema_version") if isinstance(data, dict) else None
    if version != SCHEMA_VERSION:
        Dialogue.from_json(raw.decode("utf-8"))  # says what is wrong
    try:
        entry = Entry(
            data["scenario_id"], data["repeat"], data.get("attempt", 0),
            data.get("failure") is not None, data.get("card"), data["settings_hash"],
        )  # fmt: skip
    except KeyError as error:
        raise RecordError(f"a dialogue without {error.args[0]!r}") from error
    check_entry(entry)
    return entry


def check_entry(entry: Entry) -> None:
    """Raises: RecordError: repeat or attempt is no number that the index can hold."""
    for name, most in (("repeat", MOST_REPEATS), ("attempt", 1 << ATTEMPT_BITS)):
        value = getattr(entry, name)
        if type(value) is not int or not 0 <= value < most:
            raise RecordError(f"{name} {value!r}: not a whole number 0 to {most - 1}")
