"""ESConv as raw dialogues, read through `datasets`; nothing of it is shipped.

ESConv's licence (CC BY-NC 4.0) forbids to pass its text on inside this kit, so a
reader loads it from the hub, on a machine with a network. The stages then treat it as
any other file of raw dialogues. The corpus names no speakers: the participants are
"seeker" and "helper", and names of people in the text are found by the other rules.

Corpus: Liu et al., Towards Emotional Support Dialog Systems (2021). The field names
(`dialog`, `speaker`, `text`; "usr" and "sys") are those of the hub's copy; a row in
another shape is an error with its number.
"""

import json
from pathlib import Path
from typing import Any

from helpers.data.raw import RawDialogue
from helpers.files import write_atomically

NAME = "thu-coai/esconv"
ROLES = {"usr": "seeker", "sys": "helper", "seeker": "seeker", "supporter": "helper"}


class NoCorpus(RuntimeError):
    """The corpus cannot be loaded; the message says what to do."""


def load_esconv(path: Path | str, split: str = "test", limit: int | None = None) -> int:
    """Load a split from the hub and write it as raw dialogues.

    Args:
        path: JSON Lines file to write, in a folder that git ignores.
        limit: only the first so many dialogues.

    Returns: the number of dialogues written.
    Raises: NoCorpus without a network; ValueError for a row in an unknown shape.
    """
    from datasets import load_dataset

    try:
        rows = load_dataset(NAME, split=split)
    except (OSError, ValueError) as error:
        raise NoCorpus(
            f"{NAME} cannot be loaded ({type(error).__name__}): it needs a network "
            "and HF_HUB_OFFLINE=0"
        ) from error
    count = len(rows) if limit is None else min(limit, len(rows))
    lines = [to_raw(rows[i], split, i).model_dump_json() for i in range(count)]
    write_atomically(Path(path), "".join(line + "\n" for line in lines))
    return count


def to_raw(row: dict[str, Any], split: str, number: int) -> RawDialogue:
    """One row of the corpus as a raw dialogue. Raises: ValueError."""
    where = f"{NAME}, {split}, row {number}"
    try:
        record = json.loads(row["text"]) if set(row) == {"text"} else row
        turns = [
            {"role": ROLES[turn["speaker"]], "text": turn["text"].strip()}
            for turn in record["dialog"]
        ]
    except (KeyError, TypeError, AttributeError, json.JSONDecodeError) as error:
        raise ValueError(
            f"{where}: no dialogue in the known shape ({type(error).__name__} {error})"
        ) from error
    return RawDialogue.model_validate(
        {
            "schema_version": 1,
            "id": f"esconv-{split}-{number:04d}",
            "language": "en",
            "participants": {"seeker": "seeker", "helper": "helper"},
            "turns": turns,
        }
    )
