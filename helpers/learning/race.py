"""The horse race: every method from one start, with one user, on as many user turns.

The runs are those of notebooks 05 and 06: the same functions (`studies`) with the same
settings, so that they are found by their hash and not repeated. New here are the
supervised contrast, MAPO with RAPO's verbal term, and some methods with thinking.

A finished policy is then met again under rules that are the same for all, whatever it
was trained under: `meet_again` takes the dialogues of its last checks where they fit,
and else holds and keeps them; `meet_all` does so for many at once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from helpers.data.scenarios import load_cards
from helpers.learning import methods, training
from helpers.learning.imitation import imitate, imitated
from helpers.learning.recipes import Recipe
from helpers.learning.results import Result, play, played, start, train, workers_for
from helpers.learning.studies import VERBAL, Make
from helpers.learning.workers import side_by_side
from helpers.sandbox.dialogue import Dialogue

BY_DISTANCE = ("GRPO", "PPO", "turn-only", "batch-only", "MAPO")  # notebook 05
BY_RANK = ("comparative_po", "RAPO")  # notebook 06


def field(
    distance: Make, rank: Make, seeds: Sequence[int], thinking: Sequence[str]
) -> list[Recipe]:
    """Every trained recipe of the race but the supervised one, all seeds.

    Args:
        distance, rank: of `studies.mapo`, `studies.rapo`. thinking: names that run with
            thinking as well.
    """
    made = [distance(name) for name in (*BY_DISTANCE, VERBAL)]
    made += [rank(name) for name in BY_RANK]
    for name in thinking:
        made.append((rank if name in BY_RANK else distance)(name, think=True))
    return [one for recipe in made for one in methods.with_seeds(recipe, seeds)]


def run(
    recipes: Sequence[Recipe], training_dir: Path, rate: float | None, seeds
) -> list[Result]:
    """Base, supervised contrast (none with rate None) and all runs, made or found.

    Args:
        recipes: of `field`. rate: of the supervised contrast, which has MAPO's steps.
    """
    results = [start(recipes[0], training_dir)]
    if rate is not None:
        model = next(r for r in recipes if r.label == "MAPO")
        model = replace(model, trainer=replace(model.trainer, learning_rate=rate))
        taught = methods.with_seeds(model, seeds)
        new = [(r, training_dir) for r in taught if not imitated(r, training_dir)]
        side_by_side(imitate, new)
        results += [imitate(r, training_dir) for r in taught]
    if any(recipe.think for recipe in recipes):
        thinking = next(r for r in recipes if r.think)
        results.insert(1, start(thinking, training_dir, "base, think"))
    return results + train(recipes, training_dir)


def meet_again(
    result: Result, rules: str, user: str, count: int, folder: Path
) -> list[Dialogue]:
    """A finished policy with the first `count` test cards, by given rules.

    Args:
        rules: "empa" or "sage". user: key of `worlds.TEMPERS`. folder: where dialogues
            that had to be held are kept.
    """
    if _fits(result, rules, user, count):
        return result.dialogues(user)[:count]
    world = training.meet(result.recipe, rules, user, Path(folder))
    cards = load_cards("test")[:count]
    return play(result, world, cards, Path(folder), f"{rules}-{user}")


def meet_all(
    results: Sequence[Result], users: Sequence[str], counts: Mapping[str, int],
    folder: Path,
) -> None:  # fmt: skip
    """Hold what `meet_again` has to hold, several policies at once on a CPU.

    Args:
        counts: cards by rules. users, folder: of `meet_again`.
    """
    calls = [
        (result, rules, user, count, folder)
        for result in results for rules, count in counts.items() for user in users
        if not _fits(result, rules, user, count)
        and not played(result, count, folder, f"{rules}-{user}").is_file()
    ]  # fmt: skip
    side_by_side(meet_again, calls, workers_for([r.recipe for r in results]))


def _fits(result: Result, rules: str, user: str, count: int) -> bool:
    """Whether the last checks of a run were by these rules, with this user."""
    checks = result.recipe.checks
    same = checks.rules == rules and user in checks.users and checks.split == "test"
    return same and checks.final_cards >= count
