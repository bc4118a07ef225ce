"""The kit's own social scenarios: two people, one thing to split, different wishes.

Nine of them in data/social/scenarios.jsonl, three each of negotiation, competition and
collaboration (the kinds that RAPO's abstract names for SOTOPIA). They are small on
purpose: what was agreed is a number, so that a rule can rate a talk offline. They are
not SOTOPIA's 90 scenarios.

Paper: SOTOPIA 2310.11667 for the shape (scene, two private goals, relationship).
"""

import json
from dataclasses import dataclass, fields
from pathlib import Path

from helpers.paths import ROOT

SOCIAL = ROOT / "data" / "social" / "scenarios.jsonl"
KINDS = ("negotiation", "competition", "collaboration")
RELATIONSHIPS = ("stranger", "know by name", "acquaintance", "friend", "romantic",
                 "family")  # fmt: skip


@dataclass(frozen=True)
class SocialScenario:
    """One scenario; pairs hold the value of the first and the second agent.

    scene: what both know. total: what is to be split, in `unit`; bonus: what is added
    once both have told what they need at least. least: below it a deal is worth
    nothing to the agent; wish: all that the agent hopes for. secret: whether `least`
    is to be kept. relationship: index of RELATIONSHIPS, as in SOTOPIA.
    """

    codename: str
    kind: str
    scene: str
    total: int
    bonus: int
    unit: str
    names: tuple[str, str]
    goals: tuple[str, str]
    least: tuple[int, int]
    wish: tuple[int, int]
    secret: tuple[bool, bool]
    relationship: int

    def __post_init__(self):
        known = self.kind in KINDS and 0 <= self.relationship < len(RELATIONSHIPS)
        pairs = zip(self.least, self.wish, strict=True)
        sound = all(0 < low < high <= self.total for low, high in pairs)
        if not known or not sound or sum(self.least) > self.total:
            raise ValueError(f"social scenario {self.codename}: kind or amounts")


def load_social(path: Path = SOCIAL) -> list[SocialScenario]:
    """All scenarios of a file.

    Raises: ValueError, naming the line, for a missing or unknown field, or amounts
        that allow no deal.
    """
    made = []
    names = {field.name for field in fields(SocialScenario)}
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        data = json.loads(line)
        if odd := names ^ set(data):
            raise ValueError(f"{path.name} line {number}: field {min(odd)!r}")
        pairs = {k: tuple(v) for k, v in data.items() if isinstance(v, list)}
        made.append(SocialScenario(**{**data, **pairs}))
    return made
