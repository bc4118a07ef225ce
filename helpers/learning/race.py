"""The horse race: every method from one start, with one user, on as many user turns.

The runs are those of notebooks 05 and 06: the same functions with the same settings, so
that they are found by their hash and not repeated. New here are the supervised
contrast, MAPO with RAPO's verbal term, and some methods with thinking.

A finished policy is then met again under rules that are the same for all, whatever it
was trained under: `meet_again` takes the dialogues of its last checks where they fit,
and else holds and keeps them.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from peft import set_peft_model_state_dict
from safetensors.torch import load_file

from helpers.data.scenarios import load_cards
from helpers.files import write_atomically
from helpers.learning import methods, tiny, training
from helpers.learning.credit import Credit
from helpers.learning.imitation import imitate
from helpers.learning.recipes import Checks, Recipe
from helpers.learning.results import Result, start, train
from helpers.sandbox.dialogue import Dialogue

BY_DISTANCE = ("GRPO", "PPO", "turn-only", "batch-only", "MAPO")  # notebook 05
BY_RANK = ("comparative_po", "RAPO")  # notebook 06
VERBAL = "MAPO + verbal"
# Whom the checks of a family meet, and by which rules it trains and is checked.
USERS = ("vanilla", "second")

Make = Callable[..., Recipe]  # (name, think=False) -> the recipe of the first seed


def by_distance(settings, seed: int, policy: str = "", paper: str = "") -> Make:
    """Notebook 05's recipes: EMPA's distance as reward, a judge beside the user.

    Args:
        settings: of notebook 05. seed: the first. policy: instead of the settings'.
        paper: see `methods.Scale`; "mapo" at the profile paper.
    """
    scale = replace(_scale(settings, policy), paper=paper)
    own = Credit("mixed", settings.gamma, alpha=settings.alpha, scope=settings.scope)

    def make(name: str, think: bool = False) -> Recipe:
        mixed = name in ("MAPO", VERBAL)
        credit = own if mixed else methods.METHODS[name].credit
        return methods.make_recipe(
            name, scale, **_chosen("mapo", settings, scale, name), seed=seed,
            think=think, rules="empa", reward="distance", credit=credit,
            epsilon_high=settings.epsilon_high, checks=_judged_checks(settings),
        )  # fmt: skip

    return make


def by_rank(settings, steps: int, seed: int, policy: str = "") -> Make:
    """Notebook 06's recipes: ranks of candidate replies to the turns that mattered.

    Args: as `by_distance`, with the settings of notebook 06. steps: of the race; where
        notebook 06 has others, its runs spent another budget and are not taken.
    """
    scale = _scale(settings, policy)
    engine = "decoder" if scale.policy == "tiny" else "transformers"
    scale = replace(scale, steps=steps, save_every=settings.check_every, engine=engine)
    asked = {}
    if settings.judge_model:
        asked = dict.fromkeys(("reward_model", "judge_model"), settings.judge_model)

    def make(name: str, think: bool = False) -> Recipe:
        return methods.make_recipe(
            name, scale, **_chosen("rapo", settings, scale, name), seed=seed,
            think=think, rules="empa", checks=_judged_checks(settings),
            epsilon_high=settings.epsilon_high, hindsight=asked or None,
        )  # fmt: skip

    return make


def by_emotion(
    settings, seed: int, policy: str = "", paper: str = ""
) -> Callable[..., Recipe]:
    """Notebook 04's recipes: the last emotion as reward.

    Args: as `by_distance`, with the settings of notebook 04; paper "rlver".

    Returns: function (name, user it trains with, think=False) -> the recipe of the
        first seed.
    """
    scale = replace(
        _scale(settings, policy), save_every=settings.check_every, paper=paper,
        user_model=settings.user_model,
    )  # fmt: skip
    users = ("vanilla", "challenging", *(() if settings.user_model else ("second",)))
    checks = Checks(
        every=settings.check_every, curve_cards=settings.curve_cards,
        final_cards=settings.final_cards, users=users,
    )  # fmt: skip

    def make(name: str, user: str, think: bool = False) -> Recipe:
        return methods.make_recipe(
            name, scale, **_chosen("rlver", settings, scale, name, think), seed=seed,
            think=think, user=user, checks=checks,
        )  # fmt: skip

    return make


def _judged_checks(settings) -> Checks:
    """Checks of notebooks 05 and 06."""
    return Checks(
        rules="empa", every=settings.check_every, curve_cards=settings.curve_cards,
        final_cards=settings.final_cards, users=USERS,
    )  # fmt: skip


def _scale(settings, policy: str) -> methods.Scale:
    own = policy or settings.policy
    return methods.Scale(
        steps=settings.steps, dialogues=settings.dialogues, group=settings.group,
        minibatches=getattr(settings, "updates", 1), reply_limit=settings.reply_limit,
        policy=own, lora=settings.lora or (8 if policy else 0), device=settings.device,
        engine=methods.engine_for(own, settings.device),
    )  # fmt: skip


def _chosen(
    family: str, settings, scale: methods.Scale, name: str, think: bool = False
) -> dict:
    """Rate and entropy as tuned for the tiny policy. Runs of the race with thinking
    take those without; MAPO with the verbal term, never tuned itself, takes MAPO's."""
    if scale.policy != "tiny" or settings.rate:
        return {"rate": settings.rate or 1e-4, "entropy": settings.entropy}
    return methods.tuned(family, "MAPO" if name == VERBAL else name, think)


def field(
    distance: Make, rank: Make, seeds: Sequence[int], thinking: Sequence[str]
) -> list[Recipe]:
    """Every trained recipe of the race but the supervised one, all seeds.

    Args:
        distance, rank: of `by_distance`, `by_rank`. thinking: names that run with
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
    path = Path(folder) / f"{result.folder.name}-{rules}-{user}-{count}.jsonl"
    if not path.is_file():
        recipe = result.recipe
        model, chat = _policy(result)
        world = training.meet(recipe, rules, user, Path(folder))
        cards = load_cards("test")[:count]
        rows = training.talk(recipe, model, chat, world, cards, checks.seed)
        text = "\n".join(row.dialogue.to_json() for row in rows)
        write_atomically(path, text + "\n")
    return [Dialogue.from_json(line) for line in path.read_text("utf-8").splitlines()]


def _policy(result: Result):
    """(model, chat) at the end of a run, or at its start without steps."""
    recipe, folder = result.recipe, result.folder / "policy"
    if not result.steps:
        return training.start_policy(recipe)
    if recipe.policy == "tiny":
        return tiny.load(folder)
    model, chat = training.start_policy(recipe)
    weights = {}
    for path in sorted(folder.glob("*.safetensors")):
        weights |= load_file(path, device=str(recipe.trainer.device))
    if recipe.lora:
        set_peft_model_state_dict(model, weights)
    else:
        model.load_state_dict(weights)
    return model, chat
