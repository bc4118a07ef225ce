"""Seconds of a training step by its parts, and of TRL's own step on as many tokens.

The kit's step is the one of a training run: many dialogues of several turns with the
user by rule, then the updates. The stock step is an unchanged, single-turn GRPOTrainer
with the same model, rows, updates and settings, and with as many tokens: its replies
are as long as what the policy samples in a dialogue of the kit on average, its prompts
as long as the rest of the row (user lines, and with thoughts the replies once more, see
`helpers.learning.rows`). So it has no user, no padding and no packed rows.
"""

import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from unittest.mock import patch

from datasets import Dataset
from transformers import PrinterCallback, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from helpers.learning import training
from helpers.learning.clock import Clock
from helpers.learning.decoder import PrefixDecoder
from helpers.learning.engines import HfEngine, VllmEngine
from helpers.learning.recipes import Recipe
from helpers.sandbox.episode import Episode

PARTS = ("generation", "user", "rollout", "forward", "backward", "optimiser", "own")
TOLERANCE = 0.03  # between the tokens of the kit's step and of the stock step

Step = dict[str, float]  # seconds of each part and of the "step"; tokens, sampled


@dataclass
class Measured:
    """One case: what each counted step took, in the order of the rounds.

    kit: the kit's steps. stock: TRL's, empty for PPO and RAPO. plain: rollouts like the
    kit's with transformers generation, empty where the kit's step has no other.
    """

    kit: list[Step] = field(default_factory=list)
    stock: list[Step] = field(default_factory=list)
    plain: list[Step] = field(default_factory=list)


class UnequalTokens(RuntimeError):
    """The two steps that are compared do not have the same number of tokens."""


def measure(
    recipes: Sequence[Recipe], rounds: int, show=None, until: float | None = None
) -> dict[str, Measured]:
    """Every case once a round.

    Args:
        recipes: their labels name the cases.
        show: called with a line of progress.
        until: of time.monotonic; after the first, no round begins that would end later
            than this if it took as long as the one before.

    Raises:
        UnequalTokens: kit and stock step differ by more than TOLERANCE.
    """
    made = {recipe.label: Measured() for recipe in recipes}
    for number in range(rounds):
        began = time.monotonic()
        for recipe in recipes:
            of_case = made[recipe.label]
            recipe = replace(recipe, trainer=replace(recipe.trainer, seed=number))
            with tempfile.TemporaryDirectory() as folder:
                run, kit = kit_step(recipe, Path(folder))
                of_case.kit.append(kit)
                if recipe.engine == "decoder":
                    of_case.plain.append(plain_rollout(run))
                if recipe.critic is None and recipe.hindsight is None:
                    of_case.stock.append(stock_step(run, kit))
            if show is not None:
                show(f"{recipe.label}: round {number + 1} of {rounds}")
        now = time.monotonic()
        if until is not None and 2 * now - began > until:
            break
    return made


def kit_step(recipe: Recipe, folder: Path) -> tuple[training.Run, Step]:
    """A run of two steps, of which the second counts."""
    trainer = replace(recipe.trainer, steps=2, save_every=None)
    recipe = replace(recipe, trainer=trainer)
    run = training.Run(recipe, folder)
    clock = run.trainer.clock
    with _timed(
        clock,
        (PrefixDecoder, "generate", "generation"), (HfEngine, "generate", "generation"),
        (VllmEngine, "generate", "generation"),
        (Episode, "__init__", "user"), (Episode, "step", "user"),
    ):  # fmt: skip
        entry = run.trainer.fit()[-1]
    times = {k: entry.get(f"time/{k}", 0.0) for k in (*PARTS, "step")}
    return run, {
        **times, "tokens": entry["tokens/all"], "sampled": entry["tokens/policy"],
    }  # fmt: skip


def plain_rollout(run: training.Run) -> Step:
    """Dialogues of one step with transformers generation."""
    recipe = replace(run.recipe, engine="transformers")
    clock = Clock(recipe.trainer.device == "cuda")
    cards = list(run.cards.values())[: recipe.trainer.dialogues]
    with _timed(clock, (HfEngine, "generate", "generation")):
        rows = training.talk(recipe, run.model, run.chat, run.world, cards, seed=0)
    sampled = sum(sum(row.policy_mask) for row in rows)
    return {"generation": clock.lap()["generation"], "sampled": sampled}


class _Laps(TrainerCallback):
    """Seconds of each step of a trainer that is left as it is."""

    def __init__(self, clock: Clock):
        self.clock, self.laps = clock, []

    def on_train_begin(self, *_, **__):
        self.clock.lap()

    def on_log(self, args, state, control, logs, **__):
        if "loss" in logs:
            self.laps.append({**self.clock.lap(), **logs})


def stock_step(run: training.Run, kit: Step) -> Step:
    """TRL's GRPOTrainer on a fresh policy, two steps of which the second counts."""
    recipe = run.recipe
    rows = recipe.trainer.dialogues
    reply = round(kit["sampled"] / rows)
    prompt = round(kit["tokens"] / rows) - reply
    model, chat = training.start_policy(recipe)
    laps = _Laps(Clock(recipe.trainer.device == "cuda"))
    trainer = GRPOTrainer(
        model=model,
        reward_funcs=_variety,
        args=_stock_config(run.trainer.args, recipe, reply),
        train_dataset=_prompts(chat.tokenizer, 2 * rows, prompt),
        processing_class=chat.tokenizer,
        callbacks=[laps],
    )
    trainer.remove_callback(PrinterCallback)
    with _timed(laps.clock, (model, "generate", "generation")):
        trainer.train()
    first, last = laps.laps
    step = {
        "generation": last["generation"], "step": last["step"],
        "tokens": last["num_tokens"] - first["num_tokens"],
        "sampled": last["completions/mean_length"] * rows,
    }  # fmt: skip
    for name in ("tokens", "sampled"):
        if abs(step[name] / kit[name] - 1) > TOLERANCE:
            raise UnequalTokens(
                f"{recipe.label}: {name} of a step are {kit[name]:.0f} in the kit and "
                f"{step[name]:.0f} in the stock step: take more dialogues"
            )
    return step


def _stock_config(kit: GRPOConfig, recipe: Recipe, reply: int) -> GRPOConfig:
    """The kit's own settings, with generation by TRL."""
    return replace(
        kit,
        num_generations=recipe.trainer.group_size,
        generation_batch_size=None,  # derived anew from the rest
        max_completion_length=reply,
        generation_kwargs={"min_new_tokens": reply},
    )


def _prompts(tokenizer, count: int, length: int) -> Dataset:
    """Prompts of `length` tokens each: random words of a vocabulary of whole words."""
    words = [word for word in tokenizer.get_vocab() if "<" not in word]
    rng = random.Random(0)
    texts = [" ".join(rng.choices(words, k=length)) for _ in range(count)]
    return Dataset.from_dict({"prompt": texts})


def _variety(completions, **_) -> list[float]:
    """A reward that costs next to nothing: the share of words that differ."""
    return [len(set(c.split())) / max(1, len(c.split())) for c in completions]


@contextmanager
def _timed(clock: Clock, *places) -> Iterator[None]:
    """Let the clock count calls of (owner, method name, phase)."""
    with ExitStack() as stack:
        for owner, name, phase in places:
            function = clock.timed(phase, getattr(owner, name))
            stack.enter_context(patch.object(owner, name, function))
        yield
