"""The kit's own words for scenario cards, and how a template becomes a sentence.

The words lie in `data/material/*.json`. Templates speak of the person as {I}, {me},
{my}, {mine}, {myself}, {am}, {was}, {have}, so that one text serves the card (second
person) and the person's own lines (first person).
"""

import json
import re
from functools import cache

from helpers.paths import ROOT

MATERIAL = ROOT / "data" / "material"
FILES = ("settings", "events", "feelings", "wishes", "people")

FIRST = {
    "I": "I",
    "me": "me",
    "my": "my",
    "mine": "mine",
    "myself": "myself",
    "am": "am",
    "was": "was",
    "have": "have",
}
SECOND = {
    "I": "you",
    "me": "you",
    "my": "your",
    "mine": "yours",
    "myself": "yourself",
    "am": "are",
    "was": "were",
    "have": "have",
}


@cache
def material(name: str) -> dict | list:
    """One file of the material: settings, events, feelings, wishes or people."""
    if name not in FILES:
        raise ValueError(f"no material {name!r}; there is {', '.join(FILES)}")
    return json.loads((MATERIAL / f"{name}.json").read_text(encoding="utf-8"))


def render(template: str, words: dict[str, str], person: dict[str, str]) -> str:
    """Fill a template: the setting's words first, then the pronouns, then capitals.

    A word may hold pronouns itself ("{my} manager"). Raises KeyError for a slot that
    neither `words` nor the pronouns know.
    """
    filled = template
    for table in (words, person):
        known = {**{name: f"{{{name}}}" for name in SECOND}, **table}
        filled = filled.format_map(known)
    return re.sub(
        r"(^|[.!?]\s+)([a-z])", lambda m: m.group(1) + m.group(2).upper(), filled
    )
