"""Cue words of the scripted pipeline: what in a chat hints at a feeling, an event, ...

The words lie in `data/material/cues.json`, English and Chinese in one table, each entry
a regular expression. Counting them is a stand-in for EMPA's LLM judge: an offline demo.

Paper: EMPA (arXiv 2603.00552) Algorithm 1, stage 1: mark segments, encode features. The
paper's feature schema F was not released; these features are the kit's own.
"""

import json
import re
from collections import Counter
from functools import cache

from helpers.data.material import MATERIAL

TABLES = ("emotions", "events", "topics", "values", "actions", "intentions", "items")
LONG = 12  # words of a message
FLAGS = ("guarded", "open", "early", "calm", "shift", "crisis")


@cache
def _cues() -> dict:
    path = MATERIAL / "cues.json"
    words = json.loads(path.read_text(encoding="utf-8"))
    if set(words) != {*TABLES, *FLAGS}:
        odd = ", ".join(sorted(set(words) ^ {*TABLES, *FLAGS}))
        raise ValueError(f"{path}: missing or unknown tables: {odd}")
    return {
        name: {slot: _compiled(entries) for slot, entries in table.items()}
        if name in TABLES
        else _compiled(table)
        for name, table in words.items()
    }


def _compiled(entries: list[str]) -> re.Pattern:
    """One pattern for all entries; upper case counts only where a cue shouts (MY)."""
    loud = [entry for entry in entries if entry.startswith("MY ")]
    quiet = [entry for entry in entries if entry not in loud]
    parts = [f"(?i:{entry})" for entry in quiet]
    parts += [f"(?:{entry})" for entry in loud]
    return re.compile("|".join(parts), re.MULTILINE)


def count(table: str, text: str) -> Counter:
    """How many cues of each slot of a table are in the text; slots without are 0."""
    return Counter(
        {slot: _hits(pattern, text) for slot, pattern in _cues()[table].items()}
    )


def hits(flag: str, text: str) -> int:
    """How many cues of a flag are in the text."""
    return _hits(_cues()[flag], text)


def _hits(pattern: re.Pattern, text: str) -> int:
    return sum(1 for _ in pattern.finditer(text))


def need(text: str) -> float:
    """How much one message hints at a need: feelings, events and worth, less the calm.

    Each kind of cue adds 1, a second cue of the kind a half, a long message a quarter;
    jokes and business take a half away.
    """
    kinds = (
        sum(count("emotions", text).values()),
        sum(count("events", text).values()),
        sum(count("items", text)[item] for item in ("A.1", "P.1", "P.2", "C.3")),
    )
    raised = sum(1.0 + 0.5 * (n > 1) for n in kinds if n)
    raised += 0.25 * (len(text.split()) >= LONG)
    return raised - 0.5 * bool(hits("calm", text))


def strongest(counts: Counter) -> str | None:
    """The slot with most cues (the first of the table on a tie); None without any."""
    slot, most = max(counts.items(), key=lambda pair: pair[1])
    return slot if most else None
