"""Cards for the tests of the scripted world, drawn on the kit's schema."""

import random

from helpers.data import slots
from helpers.data.scenarios import (
    Hidden,
    Memories,
    Persona,
    ReactionRules,
    Scenario,
    Situation,
    Source,
)


def make_card(number: int, **changes) -> Scenario:
    """A valid card; the same number gives the same card. changes: `hidden` fields,
    `intention`, `threshold`, `levels`."""
    r = random.Random(f"card {number}")
    topic = r.choice(list(slots.TOPICS))
    emotion = changes.get("emotion", r.choice(list(slots.EMOTIONS)))
    feeling = slots.EMOTIONS[emotion]
    hidden = {
        "topic": topic,
        "event": r.choice(list(slots.EVENTS)),
        "emotion": emotion,
        "clues": (*feeling.ambiguous.first, *feeling.clear.first),
        "value": r.choice(list(slots.VALUES)),
        "action": r.choice(list(slots.ACTIONS)),
        "wants_early_advice": r.random() < 0.2,
    }
    levels = {item: r.choice((1, 2, 2, 3)) for item in slots.ITEMS}
    intention = changes.pop("intention", r.choice(list(slots.INTENTIONS)))
    threshold = changes.pop("threshold", r.choice(slots.LEVELS))
    levels.update(changes.pop("levels", {}))
    hidden.update(changes)
    return Scenario(
        schema_version=1,
        id=f"t{number:04d}",
        language="en",
        split="dev",
        category=slots.TOPIC_DOMAINS[hidden["topic"]][0],
        persona=Persona(
            name="Sam", age=30, gender=None, occupation=None, outer=None, inner=None,
            speaking_style=None,
        ),
        situation=Situation(trigger="It went wrong.", circumstances=None, goal=None),
        memories=Memories(
            childhood=None, adolescence=None, young_adulthood=None, current=None
        ),
        story_phases=(),
        opening=None,
        intention=intention,
        needs=levels,
        priorities={axis: r.choice(slots.LEVELS) for axis in slots.AXES},
        threshold=threshold,
        reaction_rules=ReactionRules(),
        hidden=Hidden(**hidden),
        source=Source(name="own", id=f"t{number:04d}"),
    )  # fmt: skip


def make_cards(n: int, first: int = 0) -> list[Scenario]:
    return [make_card(first + i) for i in range(n)]
