"""Make the kit's own scenario cards from its own words.

    python -m helpers.data.cards            writes data/scenarios/*.jsonl
    python -m helpers.data.cards --check    regenerates and compares byte for byte

A card is planned first (who, which domain, event, feeling, intention, how large the
need), then put into words. The plan deals every quantity from a shuffled deck, so that
all values occur about equally often in every split and none can be guessed from
another. Persons differ between all cards of all splits. 30 test cards follow the
official EMPA cases in domain, threshold, dominant axis and difficulty.

Paper: EMPA (arXiv 2603.00552) appendix 10 for the fields of a persona card and Fig. 6
for the strata; SAGE (arXiv 2505.02847) Table 4 for the intentions.
"""

import argparse
import itertools
import random
import sys
from dataclasses import dataclass

from helpers.data import needs, slots
from helpers.data.card_text import describe
from helpers.data.material import material
from helpers.data.scenarios import (
    Hidden,
    Scenario,
    ScenarioError,
    card_line,
    split_path,
    validate,
    write_cards,
)
from helpers.data.strata import official_30_strata

SEED = 7
SIZES = {"train": 240, "tune": 60, "dev": 60, "test": 100}

# How many of the authors' 395 scripts have level 0, 1, 2, 3 in each item (EMPA fact
# sheet, from the predecessor's report); levels of a card are drawn from these.
LEVEL_COUNTS = {
    "C.1": (4, 8, 154, 229),
    "C.2": (0, 0, 57, 338),
    "C.3": (0, 85, 175, 135),
    "A.1": (2, 32, 200, 161),
    "A.2": (37, 26, 305, 27),
    "A.3": (3, 79, 68, 245),
    "P.1": (111, 55, 187, 42),
    "P.2": (0, 4, 56, 335),
    "P.3": (33, 135, 176, 51),
}
# Dealt to the cards outside the official strata. C and VeryHard exclude each other: C
# ends at -21, and three axes of 21 stay below the cut.
STRATA = tuple(
    (axis, grade)
    for axis, grade in itertools.product(slots.AXES, needs.DIFFICULTIES)
    if (axis, grade) != ("C", "VeryHard")
)
THRESHOLDS = ("low", "low", "medium", "medium", "medium", "high", "high", "high")
GENDERS = ("female",) * 12 + ("male",) * 12 + ("nonbinary",)
# Two of five rational users want a step at once: a fifth of all users.
EARLY = (True, False, True, False, False)


@dataclass(frozen=True)
class Plan:
    """Everything about a card that is decided before a word is written."""

    id: str
    split: str
    strata: tuple[str, ...]
    name: str
    gender: str
    age: int
    occupation: str
    setting: dict
    intention: str
    threshold: str
    levels: dict[str, int]
    hidden: Hidden


def deck(values, count: int, rng: random.Random) -> list:
    """`count` values, each as often as the others (within one), in random order."""
    cards = list(itertools.islice(itertools.cycle(values), count))
    rng.shuffle(cards)
    return cards


def draw_levels(axis: str, grade: str, rng: random.Random) -> dict[str, int]:
    """Nine levels with the wanted dominant axis and difficulty, by rejection."""
    while True:
        levels = {
            item: rng.choices(range(4), weights=counts)[0]
            for item, counts in LEVEL_COUNTS.items()
        }
        if needs.dominant_axis(levels) == axis and needs.difficulty(levels) == grade:
            return levels


def people(seed: int) -> dict[str, list[str]]:
    """Full names by gender, shuffled; dealing from one list keeps persons apart."""
    names = material("people")
    dealt = {}
    for gender, firsts in names["first_names"].items():
        pairs = itertools.product(firsts, names["last_names"])
        dealt[gender] = [f"{first} {last}" for first, last in pairs]
        random.Random(f"{seed}:names:{gender}").shuffle(dealt[gender])
    return dealt


def _occupation(age: int, rng: random.Random) -> str:
    for band in material("people")["occupations"]:
        if band["ages"][0] <= age <= band["ages"][1]:
            return rng.choice(band["jobs"])
    raise ValueError(f"no occupation for age {age}: extend people.json")


def _clues(emotion: str, rng: random.Random) -> tuple[str, ...]:
    """The ambiguous clue first, then the clear ones."""
    feeling = slots.EMOTIONS[emotion]
    clear = list(feeling.clear.first)
    rng.shuffle(clear)
    return (*feeling.ambiguous.first, *clear)


def plan_split(split: str, names: dict[str, list[str]], seed: int) -> list[Plan]:
    """The plans of one split; takes the persons it uses off `names`."""
    rng = random.Random(f"{seed}:{split}")
    count = SIZES[split]
    official = official_30_strata() if split == "test" else []
    rest = count - len(official)
    frames = [
        (row.domain, row.threshold, row.axis, row.difficulty, ("official30",))
        for row in official
    ] + [
        (domain, threshold, axis, grade, ())
        for domain, threshold, (axis, grade) in zip(
            deck(slots.DOMAINS, rest, rng),
            deck(THRESHOLDS, rest, rng),
            deck(STRATA, rest, rng),
            strict=True,
        )
    ]
    dealt = {
        name: deck(getattr(slots, name), count, rng)
        for name in ("EVENTS", "EMOTIONS", "VALUES", "ACTIONS", "INTENTIONS")
    }
    genders = deck(GENDERS, count, rng)
    settings = {}
    for domain in slots.DOMAINS:
        fitting = [one for one in material("settings") if one["domain"] == domain]
        rng.shuffle(fitting)
        settings[domain] = itertools.cycle(fitting)
    early = itertools.cycle(EARLY)
    plans = []
    for index, (domain, threshold, axis, grade, strata) in enumerate(frames):
        setting = next(settings[domain])
        age = rng.randint(*setting["ages"])
        intention = dealt["INTENTIONS"][index]
        rational = slots.INTENTIONS[intention].family == "rational"
        emotion = dealt["EMOTIONS"][index]
        plans.append(
            Plan(
                id=f"{split}-{index + 1:03d}",
                split=split,
                strata=strata,
                name=names[genders[index]].pop(),
                gender=genders[index],
                age=age,
                occupation=rng.choice(setting["jobs"])
                if setting["jobs"]
                else _occupation(age, rng),
                setting=setting,
                intention=intention,
                threshold=threshold,
                levels=draw_levels(axis, grade, rng),
                hidden=Hidden(
                    topic=setting["topic"],
                    event=dealt["EVENTS"][index],
                    emotion=emotion,
                    clues=_clues(emotion, rng),
                    value=dealt["VALUES"][index],
                    action=dealt["ACTIONS"][index],
                    wants_early_advice=rational and next(early),
                ),
            )
        )
    return plans


def generate(seed: int = SEED) -> dict[str, list[Scenario]]:
    """All four splits. Raises ScenarioError if a card does not pass `validate`."""
    names = people(seed)
    splits = {}
    for split in SIZES:
        rng = random.Random(f"{seed}:{split}:words")
        cards = [describe(plan, rng) for plan in plan_split(split, names, seed)]
        problems = [problem for card in cards for problem in validate(card)]
        if problems:
            raise ScenarioError(problems[0])
        splits[split] = cards
    return splits


def differences(splits: dict[str, list[Scenario]]) -> list[str]:
    """Where the files on disk differ from the given cards; empty when they do not."""
    found = []
    for split, cards in splits.items():
        path = split_path(split)
        made = "".join(card_line(card) + "\n" for card in cards).encode()
        if not path.is_file():
            found.append(f"{path}: missing; run python -m helpers.data.cards")
        elif made != (kept := path.read_bytes()):
            pairs = itertools.zip_longest(made.splitlines(), kept.splitlines())
            line = next((n for n, (a, b) in enumerate(pairs, 1) if a != b), "last")
            found.append(f"{path}, line {line}: differs from the generator")
    return found


def main() -> int:
    """Write the cards, or compare them."""
    parser = argparse.ArgumentParser(description="The kit's own scenario cards")
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    arguments = parser.parse_args()
    splits = generate()
    if arguments.check:
        found = differences(splits)
        print("\n".join(found) or "the cards are what the generator makes")
        return 1 if found else 0
    for split, cards in splits.items():
        write_cards(split_path(split), cards)
        print(f"{split_path(split)}: {len(cards)} cards")
    return 0


if __name__ == "__main__":
    sys.exit(main())
