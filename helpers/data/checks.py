"""What a finished card must pass: no contradiction, no source wording, no double.

Paper: EMPA (arXiv 2603.00552) Algorithm 1, stage 3, Validate(s, Q). The criteria Q were
not released; these are the kit's own.
"""

import re
from collections.abc import Iterable, Iterator

from helpers.data import slots
from helpers.data.marking import Features
from helpers.data.scenarios import Scenario, validate

SHARED_WORDS = 8  # so many words in a row, shared with the source, reject a card
SAME_STORY = 0.5  # share of the shorter text's 3-word runs that two sources share
SAME_CARD = 0.5  # Jaccard index of the 4-word runs of two cards
PRIORITY = ("low", "low", "medium", "high")


def words(text: str) -> list[str]:
    """Lower-case words without punctuation; a Chinese character is a word."""
    return re.findall(r"[\u4e00-\u9fff]|[^\W_]+(?:['’][^\W_]+)*", text.lower())


def runs(text: str, length: int) -> set[tuple[str, ...]]:
    """All runs of `length` words of a text."""
    own = words(text)
    return {tuple(own[i : i + length]) for i in range(len(own) - length + 1)}


def card_texts(card: Scenario) -> Iterator[str]:
    """Every text of a card that a role may read, sentence holder by sentence holder."""
    parts = (card.persona, card.situation, card.memories)
    for part in parts:
        yield from (v for _, v in part if isinstance(v, str))
    for phase in card.story_phases:
        yield from (phase.title, phase.content)
    yield from card.reaction_rules.lifts
    yield from card.reaction_rules.lowers
    if card.reaction_rules.notes:
        yield card.reaction_rules.notes
    if card.opening:
        yield card.opening


def shared_run(card: Scenario, source: Iterable[str]) -> str | None:
    """The first run of eight words that the card shares with its source, or None.

    source: the raw messages; a run may not cross from one message into the next.
    """
    known = set().union(*(runs(text, SHARED_WORDS) for text in source))
    for text in card_texts(card):
        own = words(text)
        for i in range(len(own) - SHARED_WORDS + 1):
            run = tuple(own[i : i + SHARED_WORDS])
            if run in known:
                return " ".join(run)
    return None


def personal_value(card: Scenario, values: Iterable[str]) -> bool:
    """Whether any removed value stands in the card (as whole words, any case)."""
    text = " | ".join(" ".join(words(part)) for part in card_texts(card))
    for value in values:
        plain = " ".join(words(value))
        if plain and re.search(rf"(?<!\w){re.escape(plain)}(?!\w)", text):
            return True
    return False


def same_story(one: str, other: str) -> bool:
    """Whether two source texts tell the same story in the same words."""
    a, b = runs(one, 3), runs(other, 3)
    if not a or not b:
        return False
    return len(a & b) / min(len(a), len(b)) >= SAME_STORY


def card_runs(card: Scenario) -> set[tuple[str, ...]]:
    """The 4-word runs of a card, for `same_card`."""
    return set().union(*(runs(text, 4) for text in card_texts(card)))


def same_card(a: set, b: set) -> bool:
    """Whether two cards, by their runs, are nearly the same text."""
    return bool(a and b) and len(a & b) / len(a | b) >= SAME_CARD


def contradictions(card: Scenario, features: Features) -> list[str]:
    """What in a card does not go together, with itself or with its source."""
    found = list(validate(card))
    job, age = (card.persona.occupation or "").lower(), card.persona.age
    if age is not None and "retired" in job and age < 50:
        found.append(f"persona: {job} at {age}")
    if age is not None and "pupil" in job and age > 20:
        found.append(f"persona: {job} at {age}")
    for axis in slots.AXES:
        level = card.needs[f"{axis}.3"]
        if level is not None and card.priorities[axis] != PRIORITY[level]:
            found.append(f"priorities.{axis}: {card.priorities[axis]}, level {level}")
    both = {*card.reaction_rules.lifts} & {*card.reaction_rules.lowers}
    found += [
        f"reaction_rules: lifts and lowers alike: {text}" for text in sorted(both)
    ]
    if card.hidden is not None:
        if card.hidden.wants_early_advice and card.family == "emotional":
            found.append("hidden: wants advice at once, with an emotional intention")
        for name in ("topic", "event", "emotion"):
            said, card_says = getattr(features, name), getattr(card.hidden, name)
            if said is not None and said != card_says:
                found.append(f"hidden.{name}: {card_says}, but the source says {said}")
    return found
