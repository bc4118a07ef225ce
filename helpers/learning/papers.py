"""The papers' own runs as data: models and hyper-parameters, each with its source.

`data/published/paper_runs.csv` holds what the papers and their scripts state; what they
do not state is blank there and keeps the kit's value here.

A notebook at the paper profile adopts them (`Scale.paper`); a whole run as stated is
made by `python -m helpers.learning.paper_run`.
"""

from dataclasses import fields, replace

import pandas as pd

from helpers.data.published import load
from helpers.learning.recipes import Recipe
from helpers.learning.settings import TrainerSettings

METHOD = {
    "rlver_ppo": "PPO", "rlver_grpo": "GRPO", "mapo_7b": "MAPO", "mapo_32b": "MAPO",
}  # fmt: skip


def run_of(paper: str, method: str) -> str:
    """The paper's run whose settings a method takes: MAPO's are those of its baselines
    too, RLVER's are PPO's and GRPO's.

    Raises: ValueError for a paper without stated runs.
    """
    if paper == "mapo":
        return "mapo_7b"
    if paper == "rlver":
        return "rlver_grpo" if method == "GRPO" else "rlver_ppo"
    raise ValueError(f"paper {paper!r}: runs are stated for rlver and mapo")


def given(run: str) -> dict[str, str]:
    """What is stated about a run, as texts by setting; what is blank is left out.

    Raises: KeyError for an unknown name.
    """
    table = load("paper_runs")
    rows = table[(table["run"] == run) & table["given"].notna()]
    if rows.empty:
        known = ", ".join(METHOD)
        raise KeyError(f"{run!r}: no such run, or nothing is known of it; {known}")
    return dict(zip(rows["setting"], rows["given"].astype(str), strict=True))


def adopt(recipe: Recipe, run: str) -> Recipe:
    """A recipe with the trainer, critic and credit that the paper's run states.

    Number and group of dialogues, steps, policy and user stay as they are: they are the
    size of a run, which a profile decides.
    """
    stated = given(run)
    trainer, steps = recipe.trainer, recipe.trainer.steps
    same = ("schedule", "learning_rate", "weight_decay", "max_grad_norm", "temperature",
            "epsilon_low", "epsilon_high", "delta", "beta", "entropy_coef")  # fmt: skip
    kinds = {f.name: f.type for f in fields(TrainerSettings)}
    changes = {
        name: stated[name] if kinds[name] is str else float(stated[name])
        for name in same
        if name in stated
    }
    share = float(stated.get("warmup_share", 0))
    warmup = int(stated.get("warmup_steps", round(share * steps)))
    trainer = replace(trainer, **changes, warmup_steps=min(warmup, steps))
    credit, critic = recipe.credit, recipe.critic
    if critic is not None:
        rate = float(stated.get("critic_rate", critic.learning_rate))
        clip = float(stated.get("value_clip", critic.value_clip))
        critic = replace(critic, learning_rate=rate, value_clip=clip)
    known = {k: float(stated[k]) for k in ("gamma", "lam", "alpha") if k in stated}
    own = {"gae": ("gamma", "lam"), "mixed": ("gamma", "alpha")}
    names = own.get(credit.estimator, ())
    credit = replace(credit, **{k: known[k] for k in names if k in known})
    return replace(recipe, trainer=trainer, critic=critic, credit=credit)


def table() -> pd.DataFrame:
    """All stated settings, one column a run, blank where nothing is stated."""
    rows = load("paper_runs")
    order = rows["setting"].unique()
    wide = rows.pivot(index="setting", columns="run", values="given")
    return wide.loc[order, rows["run"].unique()].fillna("")
