"""The scenario card: schema, loading, writing.

A card says who the simulated user is, what happened, and what the user hopes for. Cards
lie in JSON Lines, one a line, each with its `schema_version`. The kit's own cards fill
every field; cards imported from the EMPA or SAGE releases leave what the release does
not say at None (never a guess).

Paper: EMPA (arXiv 2603.00552) section 3.2 and appendix 10, persona card; SAGE (arXiv
2505.02847) section 2.1, persona, background, goal and hidden intention.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from helpers.data import needs as needs_rule
from helpers.data import slots
from helpers.files import write_atomically
from helpers.paths import ROOT

SCHEMA_VERSION = 1
SCENARIOS = ROOT / "data" / "scenarios"
SPLITS = ("train", "tune", "dev", "test")

Split = Literal["train", "tune", "dev", "test"]
Level = Literal["low", "medium", "high"]
IntentionKey = Literal[
    "NoFault", "SelfReflect", "Dialectic", "DeepEmpathy",
    "Listen", "AnalyseOthers", "Advice", "Praise",
]  # fmt: skip
Text = Annotated[str, Field(min_length=1)]


class ScenarioError(ValueError):
    """A card that cannot be read; the message names file, line and field."""


class Part(BaseModel):
    """Base of the card's parts: immutable, and an unknown field is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Persona(Part):
    """Who speaks. `notes` holds persona text of a release that fits no other field."""

    name: Text
    age: Annotated[int, Field(ge=10, le=100)] | None
    gender: Text | None
    occupation: Text | None
    outer: Text | None
    inner: Text | None
    speaking_style: Text | None
    notes: Text | None = None


class Situation(Part):
    """What happened and where things stand.

    topic: what the talk is about; trigger: the event that makes the person write;
    circumstances: life right now; goal: what the person works towards; to_vent and
    hoped_for: EMPA's things to pour out and points hoped for; background: the whole
    scene text of SAGE.
    """

    topic: Text | None = None
    trigger: Text | None
    circumstances: Text | None
    goal: Text | None
    to_vent: Text | None = None
    hoped_for: Text | None = None
    background: Text | None = None


class Memories(Part):
    """Memories by period of life, and the line that runs through them."""

    childhood: Text | None
    adolescence: Text | None
    young_adulthood: Text | None
    current: Text | None
    growth_line: Text | None = None


class StoryPhase(Part):
    """One of the four steps of the story, released by EMPA's director."""

    title: Text
    content: Text


class ReactionRules(Part):
    """What lifts and what lowers this person; `notes` where a release says both."""

    lifts: tuple[Text, ...] = ()
    lowers: tuple[Text, ...] = ()
    notes: Text | None = None


class Hidden(Part):
    """Slot ids for the scripted world; the words are in `helpers.data.slots`.

    clues are the phrases of the training user (`slots.Clues.first`), in the order in
    which they are let slip; a second user draws from `slots` by emotion.
    """

    topic: Text
    event: Text
    emotion: Text
    clues: tuple[Text, ...]
    value: Text
    action: Text
    wants_early_advice: bool

    @field_validator("topic", "event", "emotion", "value", "action")
    @classmethod
    def _known(cls, value: str, info) -> str:
        table = getattr(slots, info.field_name.upper() + "S")
        if value not in table:
            raise ValueError(f"{value!r} is not one of {', '.join(table)}")
        return value


class Source(Part):
    """Where a card comes from."""

    name: Literal["own", "empa", "sage"]
    id: Text


class Scenario(Part):
    """One card. Levels: IEDR 0..3; unknown is None. See the module's docstring."""

    schema_version: Literal[1]
    id: Text
    language: Literal["en", "zh"]
    split: Split
    strata: tuple[Text, ...] = ()
    category: slots.Domain | None
    persona: Persona
    situation: Situation
    memories: Memories
    story_phases: tuple[StoryPhase, ...]
    opening: Text | None
    intention: IntentionKey | None
    needs: dict[str, Annotated[int, Field(ge=0, le=3)] | None]
    priorities: dict[str, Level | None]
    threshold: Level | None
    reaction_rules: ReactionRules
    hidden: Hidden | None
    source: Source

    @field_validator("needs")
    @classmethod
    def _nine_items(cls, value: dict) -> dict:
        if tuple(value) != slots.ITEMS:
            raise ValueError(f"must hold, in order, {', '.join(slots.ITEMS)}")
        return value

    @field_validator("priorities")
    @classmethod
    def _three_axes(cls, value: dict) -> dict:
        if tuple(value) != slots.AXES:
            raise ValueError(f"must hold, in order, {', '.join(slots.AXES)}")
        return value

    @property
    def family(self) -> str | None:
        """'emotional' or 'rational', by the hidden intention (SAGE)."""
        return slots.INTENTIONS[self.intention].family if self.intention else None

    @property
    def attitude(self) -> str | None:
        """'defensive' for a high threshold, else 'receptive' (EMPA Fig. 11)."""
        if self.threshold is None:
            return None
        return "defensive" if self.threshold == "high" else "receptive"

    @property
    def levels(self) -> dict[str, int] | None:
        """The nine IEDR levels, or None when any is unknown."""
        known = all(level is not None for level in self.needs.values())
        return dict(self.needs) if known else None

    @property
    def deficit_norm(self) -> float | None:
        """Length of the initial deficit, the norm of P_0 (EMPA Eq. 2)."""
        return needs_rule.deficit_norm(self.levels) if self.levels else None

    @property
    def difficulty(self) -> str | None:
        """'Easy', 'Medium', 'Hard' or 'VeryHard', by EMPA's cuts."""
        return needs_rule.difficulty(self.levels) if self.levels else None

    @property
    def dominant_axis(self) -> str | None:
        """The axis with the deepest deficit; ties go C, A, P."""
        return needs_rule.dominant_axis(self.levels) if self.levels else None


def split_path(split: str) -> Path:
    """The file of one of the kit's splits."""
    if split not in SPLITS:
        raise ScenarioError(f"no split {split!r}: choose one of {', '.join(SPLITS)}")
    return SCENARIOS / f"{split}.jsonl"


def load_cards(where: str | Path) -> list[Scenario]:
    """Read cards from a split ("train", "tune", "dev", "test") or a JSON Lines file.

    Raises: ScenarioError with file, line and field for the first bad line, for an id
    that comes twice, and for an empty file.
    """
    return list(read_cards(where))


def read_cards(where: str | Path) -> Iterator[Scenario]:
    """The cards of `load_cards` one at a time; only the ids of all are kept.

    Raises: as `load_cards`, when the bad line is reached.
    """
    path = split_path(where) if where in SPLITS else Path(where)
    if not path.is_file():
        raise ScenarioError(f"{path}: no such file; give a split or a JSON Lines file")
    seen = {}
    for number, line in _lines(path):
        card = parse_card(line, f"{path}, line {number}")
        if card.id in seen:
            raise ScenarioError(
                f"{path}, line {number}, field id: {card.id!r} is already on line "
                f"{seen[card.id]}; make ids unique"
            )
        seen[card.id] = number
        yield card
    if not seen:
        raise ScenarioError(f"{path}: holds no card")


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with open(path, encoding="utf-8", newline="\n") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield number, line
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{path}: not UTF-8 ({error.reason})") from error


def parse_card(line: str, where: str) -> Scenario:
    """One JSON line to a card; `where` names file and line in the error."""
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise ScenarioError(f"{where}: not JSON ({error}); repair the line") from error
    if not isinstance(record, dict):
        kind = type(record).__name__
        raise ScenarioError(f"{where}: a card is an object, not {kind}")
    version = record.get("schema_version")
    if version != SCHEMA_VERSION:
        raise ScenarioError(
            f"{where}, field schema_version: {version!r} is unknown here (this kit "
            f"reads {SCHEMA_VERSION}); use the kit that wrote the file"
        )
    try:
        return Scenario.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise ScenarioError(f"{where}, field {field}: {first['msg']}") from error


def card_line(card: Scenario) -> str:
    """A card as one line of JSON, without the newline."""
    return json.dumps(card.model_dump(mode="json"), ensure_ascii=False)


def card_hash(card: Scenario) -> str:
    """16 hex digits over the whole card: another content is another card."""
    return hashlib.sha256(card_line(card).encode()).hexdigest()[:16]


def validate(card: Scenario) -> list[str]:
    """Problems of content that the schema lets through, as 'id: field: what'.

    The schema knows types and ranges; this knows what a usable card needs: a way to
    open the talk, slots that agree with each other, and completeness of the kit's own.
    """
    found = []
    scene = card.situation
    if card.opening is None and scene.trigger is None and scene.background is None:
        found.append("opening: no opening, situation.trigger or situation.background")
    if card.source.name == "own":
        found += _gaps(card)
    if card.hidden is not None:
        found += _clashes(card, card.hidden)
    return [f"{card.id}: {problem}" for problem in found]


def _gaps(card: Scenario) -> Iterator[str]:
    optional = {"notes", "background", "growth_line"}
    for part in ("persona", "situation", "memories", "priorities", "needs"):
        value = getattr(card, part)
        fields = value if isinstance(value, dict) else dict(value)
        for name, content in fields.items():
            if content is None and name not in optional:
                yield f"{part}.{name}: missing in a card of the kit's own"
    for name in ("category", "opening", "intention", "threshold", "hidden"):
        if getattr(card, name) is None:
            yield f"{name}: missing in a card of the kit's own"
    for name in ("lifts", "lowers"):
        if not getattr(card.reaction_rules, name):
            yield f"reaction_rules.{name}: empty"
    if len(card.story_phases) != 4:
        yield f"story_phases: {len(card.story_phases)} phases, must be 4"


def _clashes(card: Scenario, hidden: Hidden) -> Iterator[str]:
    if card.category not in slots.TOPIC_DOMAINS[hidden.topic]:
        yield f"hidden.topic: {hidden.topic!r} does not go with {card.category!r}"
    emotion = slots.EMOTIONS[hidden.emotion]
    allowed = {*emotion.ambiguous.first, *emotion.clear.first}
    for index, clue in enumerate(hidden.clues):
        if clue not in allowed:
            yield f"hidden.clues.{index}: {clue!r} is no clue of {hidden.emotion!r}"
    if not hidden.clues:
        yield "hidden.clues: empty"


def write_cards(path: str | Path, cards: Iterable[Scenario]) -> None:
    """Write a stream of cards as JSON Lines; the file is replaced as a whole or not at
    all."""
    write_atomically(Path(path), (card_line(card) + "\n" for card in cards))
