"""The horse race: every method from one start, with one user, on as many user turns.

The runs are those of notebooks 05 and 06: the same functions (`studies`) with the same
settings, so that they are found by their hash and not repeated. New here are the
supervised contrast, MAPO with RAPO's verbal term, and some methods with thinking.

A finished policy is then met again under rules that are the same for all, whatever it
was trained under: `meet_again` takes the dialogues of its last checks where they fit,
and else holds and keeps them.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from helpers.data.scenarios import load_cards
from helpers.learning import methods, training
from helpers.learning.imitation import imitate
from helpers.learning.recipes import Recipe
from helpers.learning.results import Result, play, start, train
from helpers.learning.studies import VERBAL, Make
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
        results += [imitate(r, training_dir) for r in methods.with_seeds(model, seeds)]
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
    checks = result.recipe.checks
    fits = checks.rules == rules and user in checks.users and checks.split == "test"
    if fits and checks.final_cards >= count:
        return result.dialogues(user)[:count]
    world = training.meet(result.recipe, rules, user, Path(folder))
    name = f"{rules}-{user}"
    return play(result, world, load_cards("test")[:count], Path(folder), name)
