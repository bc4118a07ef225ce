"""The methods by name: one loop, one start, one budget; only the credit differs.

What a method's paper fixes stands in `METHODS`. Learning rate and entropy bonus are
tuned, for every method and mode with the same effort (`helpers.learning.tuning`), and
read from data/tuning.
"""

import os
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from helpers.learning import devices
from helpers.learning.credit import Credit
from helpers.learning.critic import CriticSettings
from helpers.learning.papers import adopt, run_of
from helpers.learning.recipes import Checks, Recipe
from helpers.learning.settings import TrainerSettings
from helpers.paths import ROOT

TUNING = ROOT / "data" / "tuning"


@dataclass(frozen=True)
class Method:
    """credit: the estimator. alone: one dialogue a scenario, as PPO needs no group."""

    credit: Credit
    alone: bool = False


# gamma 0.85 and alpha 0.5 are MAPO's (fact sheet of MAPO, 1.3, 1.4), gamma = lambda = 1
# RLVER's PPO's (fact sheet of RLVER, B3).
METHODS = {
    "GRPO": Method(Credit("outcome")),
    "PPO": Method(Credit("gae", gamma=1.0, lam=1.0), alone=True),
    "REINFORCE++": Method(Credit("reinforce_pp", gamma=0.85)),
    "turn-only": Method(Credit("turn", gamma=0.85)),
    "batch-only": Method(Credit("immediate")),
    "MAPO": Method(Credit("mixed", gamma=0.85, alpha=0.5)),
}
# RLVER's released script: critic rate 5e-6 to the actor's 1e-6, value clip 0.5.
CRITIC_RATE = 5.0
# Share of the steps at the start in which only the critic learns (the kit's own choice:
# an untrained critic tells a policy nothing).
CRITIC_START = 0.125


@dataclass(frozen=True)
class Scale:
    """How large a run is, the same for every method.

    steps: generation batches. dialogues: of each. group: dialogues of one scenario.
    minibatches: updates a step. reply_limit: tokens. policy, lora, user_model, device:
    see `Recipe`, `TrainerSettings`. engine: empty is the best that the machine has.
    save_every: steps between checkpoints. warmup: steps over which the learning rate
    rises from 0; RLVER has 50 of 350. paper: "rlver" or "mapo" takes the optimiser,
    clips and weights that the paper states (`papers`) in place of the rest.
    """

    steps: int
    dialogues: int = 32
    group: int = 4
    minibatches: int = 1
    reply_limit: int = 40
    save_every: int = 20
    policy: str = "tiny"
    lora: int = 0
    engine: str = ""
    user_model: str = ""
    device: str = "cpu"
    warmup: int = 0
    paper: str = ""


def make_recipe(
    name: str,
    scale: Scale,
    *,
    rate: float,
    entropy: float,
    seed: int,
    think: bool = False,
    user: str = "vanilla",
    rules: str = "rlver",
    reward: str = "terminal_emotion",
    epsilon_high: float = 0.2,
    credit: Credit | None = None,
    checks: Checks | None = None,
) -> Recipe:
    """The recipe of one run.

    Args:
        name: key of METHODS. rate, entropy: learning rate of AdamW and weight of the
            entropy bonus. seed: of the training. user, rules, reward: whom it trains
            with and for what. epsilon_high: upper clip of the ratio; RLVER's script
            0.2, MAPO's scripts 0.28. credit: instead of the method's own, for
            ablations.
    """
    method = METHODS[name]
    credit = credit or method.credit
    trainer = TrainerSettings(
        steps=scale.steps, learning_rate=rate, entropy_coef=entropy, seed=seed,
        dialogues=scale.dialogues, minibatches=scale.minibatches,
        group_size=1 if method.alone else scale.group,
        warmup_steps=scale.warmup,
        epsilon_high=epsilon_high, save_every=scale.save_every,
        device=scale.device, bf16=devices.has_bf16(scale.device),
        micro_batch=devices.micro_batch(
            scale.device, scale.dialogues // scale.minibatches
        ),
        gradient_checkpointing=scale.device != "cpu",
    )  # fmt: skip
    critic = None
    if credit.needs_critic:
        alone = round(CRITIC_START * scale.steps)
        critic = CriticSettings(CRITIC_RATE * rate, warmup_steps=alone)
    recipe = Recipe(
        label(name, think, user), credit, reward, trainer, critic, think,
        reply_limit=scale.reply_limit, rules=rules, user=user,
        user_model=scale.user_model, policy=scale.policy, lora=scale.lora,
        engine=scale.engine or engine_for(scale.policy, scale.device),
        checks=checks or Checks(),
    )  # fmt: skip
    return adopt(recipe, run_of(scale.paper, name)) if scale.paper else recipe


def engine_for(policy: str, device: str) -> str:
    """How replies are best sampled here: vLLM on a GPU where it is installed, a server
    of vLLM where its address is given, else transformers."""
    if policy == "tiny":
        return "decoder"
    if device == "cpu" or not find_spec("vllm"):
        return "transformers"
    return "vllm_server" if os.environ.get("VLLM_SERVER_URL") else "vllm"


def label(name: str, think: bool = False, user: str = "vanilla") -> str:
    """The name of a variant in tables and figures: "PPO, think, challenging"."""
    parts = [name, *(["think"] if think else [])]
    return ", ".join(parts + ([user] if user != "vanilla" else []))


def tuned(family: str, name: str, think: bool, folder: Path = TUNING) -> dict:
    """The chosen settings of a method: rate and entropy.

    Args:
        family: file of data/tuning, "rlver" for instance.

    Raises: LookupError, naming the command that tunes.
    """
    path = Path(folder) / f"{family}.csv"
    if path.is_file():
        rows = pd.read_csv(path)
        chosen = rows[
            (rows["method"] == name) & (rows["think"] == think) & rows["chosen"]
        ]
        if len(chosen) == 1:
            row = chosen.iloc[0]
            return {"rate": float(row["rate"]), "entropy": float(row["entropy"])}
    raise LookupError(
        f"{path.name} has no chosen row for {label(name, think)}: run python -m "
        f"helpers.learning.tuning {family}"
    )


def with_seeds(recipe: Recipe, seeds) -> list[Recipe]:
    """The same run for each training seed."""
    return [
        replace(recipe, trainer=replace(recipe.trainer, seed=seed)) for seed in seeds
    ]
