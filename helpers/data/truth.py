"""What was planted in the kit's raw dialogues: segments, personal data, duplicates.

`part` says how far a dialogue may be trusted as a test: "dev" was used to write the
rules; "heldout" and "fresh" were not, except that the misses of personal data in them
were looked at (`first_look.csv` keeps the figures of each first look).
"""

import json
from pathlib import Path
from typing import Literal

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

from helpers.data.raw import RAW

PARTS = ("dev", "heldout", "fresh")


class Planted(BaseModel):
    """One piece of personal data: characters start to end of a turn."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    turn: int
    start: int
    end: int
    kind: Literal["speaker", "name", "phone", "email", "address", "employer", "id"]
    text: str


class Truth(BaseModel):
    """One dialogue. segments: (first, last) turns that need empathy, both included."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    id: str
    part: Literal["dev", "heldout", "fresh"]
    kind: Literal["need", "none", "crisis"] = Field(alias="class")
    duplicate_of: str | None
    topic: str | None
    emotion: str | None
    segments: tuple[tuple[int, int], ...]
    personal: tuple[Planted, ...]

    @property
    def turns(self) -> set[int]:
        """The turns inside a segment."""
        return {i for first, last in self.segments for i in range(first, last + 1)}


def read_truth(path: Path = RAW / "truth.jsonl") -> dict[str, Truth]:
    """The truth by dialogue id."""
    lines = path.read_text(encoding="utf-8").splitlines()
    found = [Truth.model_validate(json.loads(line)) for line in lines]
    return {truth.id: truth for truth in found}


def first_look() -> pd.DataFrame:
    """What stage 1 reached on each part before anybody had seen its misses.

    A record of the development, not recomputed: the rules of that time are gone.
    """
    return pd.read_csv(RAW / "first_look.csv")
