"""Put a planned card into words.

The card speaks to the simulated user as "you"; the opening line is the user's own, in
the first person. All sentences come from `data/material`.
"""

import random

from helpers.data import needs
from helpers.data.material import FIRST, SECOND, material, render
from helpers.data.scenarios import (
    SCHEMA_VERSION,
    Memories,
    Persona,
    ReactionRules,
    Scenario,
    Situation,
    Source,
    StoryPhase,
)
from helpers.data.slots import AXES

GROWN_UP = 24
PHASES = ("A memory returns", "A pattern shows", "A look at oneself", "It breaks open")


def describe(plan, rng: random.Random) -> Scenario:
    """A plan of `helpers.data.cards` as a complete card; `rng` picks the variants."""
    hidden = plan.hidden
    people, wishes = material("people"), material("wishes")
    event = material("events")[hidden.event]
    feelings = material("feelings")
    emotion = feelings["emotions"][hidden.emotion]
    value = feelings["values"][hidden.value]
    action = feelings["actions"][hidden.action]
    wish = wishes["intentions"][plan.intention]
    threshold = wishes["thresholds"][plan.threshold]
    early = wishes["early_advice"] if hidden.wants_early_advice else None
    words = {
        name: text for name, text in plan.setting.items() if isinstance(text, str)
    } | {"value": hidden.value, "emotion": hidden.emotion}

    def you(*templates: str) -> str:
        return " ".join(render(text, words, SECOND) for text in templates)

    def one(texts: list[str]) -> str:
        return rng.choice(texts)

    levels = plan.levels

    axis = wishes["axes"][needs.dominant_axis(levels)]
    topic = you(plan.setting["about"])
    unnamed = one(wishes["unnamed"]).replace("{deed}", one(value["deeds"]))
    young = plan.age < GROWN_UP
    return Scenario(
        schema_version=SCHEMA_VERSION,
        id=plan.id,
        language="en",
        split=plan.split,
        strata=plan.strata,
        category=plan.setting["domain"],
        persona=Persona(
            name=plan.name,
            age=plan.age,
            gender=plan.gender,
            occupation=plan.occupation,
            outer=you(one(people["outer"])),
            inner=you(one(people["inner"])),
            speaking_style=one(people["speaking_style"]),
        ),
        situation=Situation(
            topic=topic[0].lower() + topic[1:],
            trigger=you(one(event["happened"])),
            circumstances=you(plan.setting["life"], one(emotion["signs"])),
            goal=you(plan.setting["goal"]),
            to_vent=you(axis["vent"], f"What {{I}} hide at first: {emotion['under']}"),
            hoped_for=you(
                one(wish["hoped_for"]), *([early["hoped_for"]] if early else [])
            ),
        ),
        memories=Memories(
            childhood=you(one(value["childhood"])),
            adolescence=you(one(emotion["youth"])),
            young_adulthood=you(one(people["too_young"] if young else event["echo"])),
            current=you(one(people["vision"][plan.setting["domain"]])),
            growth_line=you(one(people["growth_line"])),
        ),
        story_phases=tuple(
            StoryPhase(title=title, content=content)
            for title, content in zip(
                PHASES,
                (
                    you(one(emotion["memory"])),
                    you(one(event["pattern"])),
                    you(one(wish["looks"]), unnamed),
                    you(one(emotion["breaks"]), axis["need"], one(action["ready"])),
                ),
                strict=True,
            )
        ),
        opening=render(
            one(people["openings"]), words | {"clue": one(emotion["opens"])}, FIRST
        ),
        intention=plan.intention,
        needs=levels,
        priorities={name: _priority(levels[f"{name}.3"]) for name in AXES},
        threshold=plan.threshold,
        reaction_rules=ReactionRules(
            lifts=(
                you(wish["lifts"]),
                you(axis["lifts"]),
                you(threshold["lifts"]),
                you(early["lifts"])
                if early
                else you(f"After {{I}} {{have}} been heard: {action['step']}."),
            ),
            lowers=(
                you(wish["lowers"]),
                you(axis["lowers"]),
                you(threshold["lowers"]),
                you((early or wishes["patient"])["lowers"]),
            ),
        ),
        hidden=hidden,
        source=Source(name="own", id=plan.id),
    )


def _priority(level: int) -> str:
    """Item 3 of an axis asks for its priority: 0 and 1 low, 2 medium, 3 high."""
    return ("low", "low", "medium", "high")[level]
