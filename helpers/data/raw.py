"""Raw dialogues: the record, and reading a file of them line by line.

A line that cannot be used becomes a typed rejection with its line number; the lines
after it are read all the same.

Paper: EMPA (arXiv 2603.00552) Algorithm 1, input: a corpus of raw dialogues.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from helpers.paths import ROOT

RAW = ROOT / "data" / "raw_dialogues"
FILES = ("dialogues_en.jsonl", "dialogues_zh.jsonl")
MAX_TURNS = 2000
# What can be wrong with a line before anybody reads the talk in it.
INPUT_REASONS = (
    "bad_encoding", "bad_json", "bad_schema", "empty_dialogue", "too_long",
    "duplicate_id",
)  # fmt: skip


class RawFileError(ValueError):
    """The file itself is missing or holds no line; the message says which."""


class RawTurn(BaseModel):
    """One message: who wrote it, and its text as it was typed."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    role: Literal["seeker", "helper"]
    text: str


class Participants(BaseModel):
    """The display names of the two, as a chat shows them."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    seeker: Annotated[str, Field(min_length=1)]
    helper: Annotated[str, Field(min_length=1)]


class RawDialogue(BaseModel):
    """One noisy dialogue."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    schema_version: Literal[1]
    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=80)]
    language: Literal["en", "zh"]
    participants: Participants
    turns: list[RawTurn]


@dataclass(frozen=True)
class Line:
    """One line of a raw file: a dialogue, or the reason why there is none.

    number: from 1. dialogue_id: None where it could not be read. detail: one line that
    says what is wrong and in which field.
    """

    number: int
    dialogue_id: str | None
    dialogue: RawDialogue | None
    reason: str | None = None
    detail: str | None = None


def read_raw(path: Path | str) -> Iterator[Line]:
    """Every line of a JSON Lines file, in order; blank lines are no dialogues.

    Raises: RawFileError when the file is missing or holds no line.
    """
    path = Path(path)
    if not path.is_file():
        raise RawFileError(f"{path}: no such file; give a JSON Lines file of dialogues")
    seen: dict[str, int] = {}
    number = 0
    with open(path, "rb") as file:
        for number, raw in enumerate(file, 1):
            if number == 1:
                raw = raw.removeprefix(b"\xef\xbb\xbf")
            if raw.strip():
                yield _line(number, raw, seen)
    if number == 0:
        raise RawFileError(f"{path}: holds no line")


def _line(number: int, raw: bytes, seen: dict[str, int]) -> Line:
    def rejected(reason: str, detail: str, ident: str | None = None) -> Line:
        return Line(number, ident, None, reason, f"line {number}: {detail}")

    if b"\0" in raw:
        detail = "holds zero bytes, as UTF-16 does; save the file as UTF-8"
        return rejected("bad_encoding", detail)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        detail = f"not UTF-8 at byte {error.start}; save the file as UTF-8"
        return rejected("bad_encoding", detail)
    try:
        record = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        return rejected("bad_json", f"not JSON ({error}); repair the line")
    ident = record.get("id") if isinstance(record, dict) else None
    ident = ident if isinstance(ident, str) else None
    turns = record.get("turns") if isinstance(record, dict) else None
    if isinstance(turns, list) and len(turns) > MAX_TURNS:
        detail = f"{len(turns)} turns, at most {MAX_TURNS}; cut it into dialogues"
        return rejected("too_long", detail, ident)
    try:
        dialogue = RawDialogue.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "the line"
        return rejected("bad_schema", f"field {field}: {first['msg']}", ident)
    if not any(turn.text.strip() for turn in dialogue.turns):
        return rejected("empty_dialogue", "no turn holds a word", ident)
    if dialogue.id in seen:
        detail = f"id {dialogue.id!r} is already on line {seen[dialogue.id]}"
        return rejected("duplicate_id", detail, ident)
    seen[dialogue.id] = number
    return Line(number, dialogue.id, dialogue)
