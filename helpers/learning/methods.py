"""The methods by name: one loop, one start, one budget; only the credit differs.

What a method's paper fixes stands in `METHODS`. Learning rate and entropy bonus are
tuned, for every method and mode with the same effort (`helpers.learning.tuning`), and
read from data/tuning.

RAPO and its ladder train on candidate replies to chosen turns. Their steps are sized so
that they take as many user calls as a step of whole dialogues: half of them go into
dialogues and half into reactions, or all into dialogues where no reaction is asked for.
"""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from helpers.learning import devices
from helpers.learning.credit import Credit
from helpers.learning.critic import CriticSettings
from helpers.learning.hindsight import HindsightSettings
from helpers.learning.papers import adopt, run_of
from helpers.learning.recipes import Checks, Recipe
from helpers.learning.settings import TrainerSettings
from helpers.learning.worlds import RULES
from helpers.paths import ROOT

TUNING = ROOT / "data" / "tuning"


@dataclass(frozen=True)
class Method:
    """credit: the estimator. alone: one dialogue a scenario, as PPO needs no group.
    hindsight: RAPO's switches; its sizes are set by `make_recipe`."""

    credit: Credit
    alone: bool = False
    hindsight: HindsightSettings | None = None


# Ranks within the group: sample deviation and 1e-4 (fact sheet of RAPO, 9.4).
RANKS = Credit("outcome", eps=1e-4)
LAMBDA = 0.01  # of the verbal term; swept in notebook 06 (A8)


def _rapo(credit: Credit = RANKS, **switches) -> Method:
    given = {"weight": LAMBDA, **switches}
    return Method(credit, hindsight=HindsightSettings(**given))


# gamma 0.85 and alpha 0.5 are MAPO's (fact sheet of MAPO, 1.3, 1.4), gamma = lambda = 1
# RLVER's PPO's (fact sheet of RLVER, B3). comparative_po is arXiv 2508.09074, not TRL's
# CPOTrainer (fact sheet of RAPO, 6).
METHODS = {
    "GRPO": Method(Credit("outcome")),
    "PPO": Method(Credit("gae", gamma=1.0, lam=1.0), alone=True),
    "REINFORCE++": Method(Credit("reinforce_pp", gamma=0.85)),
    "turn-only": Method(Credit("turn", gamma=0.85)),
    "batch-only": Method(Credit("immediate")),
    "MAPO": Method(Credit("mixed", gamma=0.85, alpha=0.5)),
    "sample-wise GRPO": _rapo(
        reactions=False, select="random", weight=0.0, rank_map="scores"
    ),
    "comparative_po": _rapo(reactions=False, select="random", weight=0.0),
    "+ reactions": _rapo(select="random", weight=0.0),
    "+ distillation": _rapo(select="random"),
    "RAPO": _rapo(),
    "RAPO w/o reactions": _rapo(reactions=False),
    "RAPO w/o distillation": _rapo(weight=0.0),
    "RAPO shuffled critique": _rapo(note="shuffled"),
    "RAPO empty critique": _rapo(note="empty"),
    "MAPO + verbal": _rapo(
        Credit("mixed", gamma=0.85, alpha=0.5), trained="dialogues", dialogues=0,
        turns=8, candidates=4, per_dialogue=1,
    ),
}  # fmt: skip
LADDER = (
    "sample-wise GRPO", "comparative_po", "+ reactions", "+ distillation", "RAPO",
)  # fmt: skip
# RLVER's released script: critic rate 5e-6 to the actor's 1e-6, value clip 0.5.
CRITIC_RATE = 5.0
# Share of the steps at the start in which only the critic learns (the kit's own choice:
# an untrained critic tells a policy nothing).
CRITIC_START = 0.125


@dataclass(frozen=True)
class Scale:
    """How large a run is, the same for every method.

    steps: generation batches. dialogues: of each, or what takes as many user calls.
    group: dialogues of one scenario, or candidates of one turn. minibatches: updates a
    step. reply_limit: tokens. policy, lora, user_model, device: see `Recipe`,
    `TrainerSettings`. engine: empty is the best that the machine has. save_every: steps
    between checkpoints. warmup: steps over which the learning rate rises from 0; RLVER
    has 50 of 350. paper: "rlver" or "mapo" takes the optimiser, clips and weights that
    the paper states (`papers`) in place of the rest.
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
    hindsight: Mapping | None = None,
) -> Recipe:
    """The recipe of one run.

    Args:
        name: key of METHODS. rate, entropy: learning rate of AdamW and weight of the
            entropy bonus. seed: of the training. user, rules, reward: whom it trains
            with and for what. epsilon_high: upper clip of the ratio; RLVER's script
            0.2, MAPO's scripts 0.28. credit: instead of the method's own, for
            ablations. hindsight: changes of the method's own switches of RAPO.

    Raises: ValueError for changes to a method without such switches.
    """
    method = METHODS[name]
    own_credit = credit is not None
    credit, size, rows = credit or method.credit, method.hindsight, scale.dialogues
    if size is not None:
        size, rows = sized(replace(size, **(hindsight or {})), scale, rules)
    elif hindsight:
        raise ValueError(f"{name} trains on whole dialogues and has no hindsight")
    trainer = TrainerSettings(
        steps=scale.steps, learning_rate=rate, entropy_coef=entropy, seed=seed,
        dialogues=rows, minibatches=scale.minibatches,
        group_size=1 if method.alone else scale.group,
        warmup_steps=scale.warmup,
        epsilon_high=epsilon_high, save_every=scale.save_every,
        device=scale.device, bf16=devices.has_bf16(scale.device),
        micro_batch=devices.micro_batch(
            scale.device, rows // scale.minibatches
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
        checks=checks or Checks(), hindsight=size,
    )  # fmt: skip
    if not scale.paper:
        return recipe
    made = adopt(recipe, run_of(scale.paper, name))
    return replace(made, credit=credit) if own_credit else made


def engine_for(policy: str, device: str) -> str:
    """How replies are best sampled here: vLLM on a GPU where it is installed, a server
    of vLLM where its address is given, else transformers."""
    if policy == "tiny":
        return "decoder"
    if device == "cpu" or not find_spec("vllm"):
        return "transformers"
    return "vllm_server" if os.environ.get("VLLM_SERVER_URL") else "vllm"


def sized(
    hindsight: HindsightSettings, scale: Scale, rules: str
) -> tuple[HindsightSettings, int]:
    """RAPO's switches with the sizes of a scale, and the rows of a step.

    A step of D whole dialogues of T turns takes D T user calls at the most. With
    reactions, half of the dialogues are held and the other half of the calls goes into
    reactions, one a candidate. Without, all are held and the candidates are as many.
    Whole dialogues with a teacher give up one group of them for as many reactions.
    """
    turns, group = RULES[rules]().max_replies, scale.group
    if hindsight.trained == "dialogues":
        looked = max(1, group * turns // hindsight.candidates)
        return replace(hindsight, turns=looked), scale.dialogues - group
    unit = math.lcm(group, scale.minibatches)
    rows = max(1, scale.dialogues * turns // 2 // unit) * unit
    held = scale.dialogues if not hindsight.reactions else scale.dialogues // 2
    return replace(hindsight, dialogues=max(1, held)), rows


def ladder(scale: Scale, *, rate, entropy, seed: int, **more) -> list[Recipe]:
    """The recipes of `LADDER`, from sample-wise GRPO to RAPO: one loop with switches.

    Args:
        rate, entropy: a number for all, or one by name. more: of `make_recipe`.
    """
    made = []
    for name in LADDER:
        own = {
            key: value[name] if isinstance(value, Mapping) else value
            for key, value in (("rate", rate), ("entropy", entropy))
        }
        made.append(make_recipe(name, scale, seed=seed, **own, **more))
    return made


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
