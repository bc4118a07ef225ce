"""Coverage of a set of cards, and a test set sampled by strata as EMPA's.

Paper: EMPA (arXiv 2603.00552) Algorithm 1, stage 3, and Fig. 6: 30 test cases, spread
over dominant axes 10/10/10, difficulties 4/10/11/5 and domains 5 each.
"""

import random
from collections import Counter
from collections.abc import Sequence

import pandas as pd

from helpers.data import needs, slots
from helpers.data.scenarios import Scenario
from helpers.data.strata import official_30_strata

MARGINS = {
    "axis": slots.AXES,
    "difficulty": needs.DIFFICULTIES,
    "domain": slots.DOMAINS,
}


def stratum(card: Scenario) -> dict[str, str]:
    """A card's place in each margin."""
    return {
        "axis": card.dominant_axis,
        "difficulty": card.difficulty,
        "domain": card.category,
    }


def official_shares() -> dict[str, Counter]:
    """How many of the 30 official cases stand in each place of each margin."""
    cases = official_30_strata()
    return {name: Counter(getattr(case, name) for case in cases) for name in MARGINS}


def stratified(cards: Sequence[Scenario], size: int, seed: int) -> list[str]:
    """Ids of a test set whose margins follow the official 30.

    Cards are taken one by one; each time the one whose strata are furthest below the
    wanted counts, ties at random. Where the pool lacks a stratum the gap stays.

    Raises: ValueError when the pool holds fewer cards than `size`.
    """
    if size > len(cards):
        raise ValueError(f"{size} test cards from a pool of {len(cards)}: take fewer")
    rng = random.Random(f"{seed}:test set")
    wanted = {
        name: {place: n * size / 30 for place, n in shares.items()}
        for name, shares in official_shares().items()
    }
    rest = sorted(cards, key=lambda card: card.id)
    rng.shuffle(rest)
    have = {name: Counter() for name in MARGINS}
    chosen = []
    for _ in range(size):

        def gain(card: Scenario) -> float:
            places = stratum(card)
            return sum(
                wanted[name].get(place, 0.0) - have[name][place]
                for name, place in places.items()
            )

        best = max(rest, key=gain)
        rest.remove(best)
        chosen.append(best.id)
        for name, place in stratum(best).items():
            have[name][place] += 1
    return sorted(chosen)


def margins(cards: Sequence[Scenario], test_ids: Sequence[str]) -> pd.DataFrame:
    """Counts by margin: in all cards, in the test set, and wanted in the test set."""
    rows = []
    places = {card.id: stratum(card) for card in cards}
    for name, values in MARGINS.items():
        shares = official_shares()[name]
        for value in values:
            rows.append(
                {
                    "margin": name,
                    "stratum": value,
                    "all cards": sum(p[name] == value for p in places.values()),
                    "test set": sum(places[i][name] == value for i in test_ids),
                    "wanted": shares[value] * len(test_ids) / 30,
                }
            )
    return pd.DataFrame(rows)


def coverage(cards: Sequence[Scenario]) -> pd.DataFrame:
    """Cards by domain (rows) and axis, difficulty and intention (columns)."""
    columns = (
        [("axis", axis) for axis in slots.AXES]
        + [("difficulty", grade) for grade in needs.DIFFICULTIES]
        + [("intention", key) for key in slots.INTENTIONS]
    )
    table = []
    for domain in slots.DOMAINS:
        own = [card for card in cards if card.category == domain]
        row = {"domain": domain}
        for kind, value in columns:
            row[f"{kind} {value}"] = sum(
                (card.intention if kind == "intention" else stratum(card)[kind])
                == value
                for card in own
            )
        table.append(row)
    return pd.DataFrame(table)


def gaps(cards: Sequence[Scenario]) -> list[tuple[str, str]]:
    """(domain, intention) pairs that no card covers, in a fixed order."""
    have = {(card.category, card.intention) for card in cards}
    every = [(d, i) for d in slots.DOMAINS for i in slots.INTENTIONS]
    return [pair for pair in every if pair not in have]
