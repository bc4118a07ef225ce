"""The pipeline's backend by rule: no model, the same result for the same seed.

It marks and rates by counting cue words, and writes cards in the kit's own sentences
(`helpers.data.card_text`), so that no wording of a source can enter a card. What a
source does not say is drawn from the kit's slots and noted as supplied. An offline
demo.
"""

import random

from helpers.data import marking, slots
from helpers.data.card_text import describe
from helpers.data.cards import Plan
from helpers.data.marking import Features, Marks
from helpers.data.material import material
from helpers.data.pipeline import Draft
from helpers.data.scenarios import Hidden, Scenario

GENDERS = ("female", "male")


class ScriptedPipeline:
    """A `pipeline.Backend`."""

    def describe(self) -> dict:
        return {"backend": "scripted", "version": 1}

    def mark(self, dialogue_id: str, language: str, turns: list[dict]) -> Marks:
        """Cue counts; see `helpers.data.marking`."""
        found = marking.segments(turns)
        return Marks(
            crisis=False,
            segments=tuple(found),
            features=tuple(marking.features(turns, segment) for segment in found),
        )

    def compose(
        self, dialogue_id: str, language: str, features: Features, seed: int
    ) -> Draft:
        """A card in English, for every source language: the scripted world is English.

        The same seed and dialogue give the same card.
        """
        rng = random.Random(f"{seed}:{dialogue_id}:compose")
        said = {
            "intention": features.intention,
            "value": features.value,
            "action": features.action,
        }
        tables = (slots.INTENTIONS, slots.VALUES, slots.ACTIONS)
        chosen = {
            name: slot or rng.choice(list(table))
            for (name, slot), table in zip(said.items(), tables, strict=True)
        }
        rational = slots.INTENTIONS[chosen["intention"]].family == "rational"
        setting = rng.choice(
            [s for s in material("settings") if s["topic"] == features.topic]
        )
        feeling = slots.EMOTIONS[features.emotion]
        clear = list(feeling.clear.first)
        rng.shuffle(clear)
        gender = rng.choice(GENDERS)
        names = material("people")
        plan = Plan(
            id=f"sim-{dialogue_id}",
            split="train",
            strata=(),
            name=f"{rng.choice(names['first_names'][gender])} "
            f"{rng.choice(names['last_names'])}",
            gender=gender,
            age=(age := rng.randint(*setting["ages"])),
            occupation=rng.choice(setting["jobs"] or _jobs(age)),
            setting=setting,
            intention=chosen["intention"],
            threshold=features.threshold,
            levels=features.levels,
            hidden=Hidden(
                topic=features.topic,
                event=features.event,
                emotion=features.emotion,
                clues=(*feeling.ambiguous.first, *clear),
                value=chosen["value"],
                action=chosen["action"],
                wants_early_advice=rational and features.early,
            ),
        )
        card = describe(plan, rng)
        arc = {
            "cause": card.situation.trigger,
            "development": card.situation.circumstances,
            "association": card.memories.adolescence,
        }
        supplied = tuple(name for name, slot in said.items() if slot is None)
        return Draft(card.model_dump(mode="json"), arc, supplied)

    def rate(self, card: Scenario, features: Features) -> dict[str, int]:
        """The levels that stage 1 counted."""
        return dict(features.levels)


def _jobs(age: int) -> list[str]:
    for band in material("people")["occupations"]:
        if band["ages"][0] <= age <= band["ages"][1]:
            return band["jobs"]
    raise ValueError(f"no occupation for age {age}: extend people.json")
