"""A whole run as its paper states it: the run file, and the command that trains it.

    python -m helpers.learning.paper_run                   # what is stated, as a table
    python -m helpers.learning.paper_run mapo_7b [FOLDER] [--policy P] [--lora 16]
    python -m helpers.learning.paper_run rlver_ppo --user-model deepseek-chat

The second form writes FOLDER/<hash>/recipe.json and prints the command: give it to each
machine of several with its --machine_rank, or to a scheduler. It goes on from its last
checkpoint when it is given again.
"""

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from helpers.files import write_atomically
from helpers.learning import devices
from helpers.learning.methods import Scale, make_recipe
from helpers.learning.papers import METHOD, adopt, given, table
from helpers.learning.processes import launcher
from helpers.learning.recipes import Recipe
from helpers.learning.workers import RECIPE
from helpers.paths import RUNS

# Tokens of a reply where no source states them: MAPO's 25,000 for all, over 15 turns.
REPLY_LIMIT = 1700


def paper_recipe(
    run: str, user_model: str = "", policy: str = "", lora: int = 0, seed: int = 0
) -> Recipe:
    """The whole run as stated, on GPUs.

    Args:
        user_model: the endpoint's name for the user; empty: users by rule, which the
            papers do not have. policy, lora: instead of the paper's model, and rank.

    Raises:
        ValueError: MAPO with a user by a model, whose judge the trainer cannot ask yet.
    """
    stated, name = given(run), METHOD[run]
    mapo = name == "MAPO"
    if mapo and user_model:
        raise ValueError(
            f"{run}: training with EMPA's distance has user and judge by rule only; "
            "leave the user's model out"
        )
    scale = Scale(
        steps=int(stated["steps"]), dialogues=int(stated["dialogues"]),
        group=int(stated["group_size"]), minibatches=int(stated["minibatches"]),
        reply_limit=int(stated.get("reply_limit", REPLY_LIMIT)), save_every=5,
        policy=policy or stated["policy"], lora=lora, device="cuda",
        user_model=user_model,
    )  # fmt: skip
    made = make_recipe(
        name, scale, rate=float(stated["learning_rate"]), entropy=0.0, seed=seed,
        rules="empa" if mapo else "rlver",
        reward="distance" if mapo else "terminal_emotion",
    )  # fmt: skip
    return replace(adopt(made, run), label=run)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m helpers.learning.paper_run")
    parser.add_argument("run", nargs="?", choices=sorted(METHOD))
    parser.add_argument(
        "folder", nargs="?", type=Path, default=RUNS / "paper" / "training"
    )
    parser.add_argument("--user-model", default="")
    parser.add_argument("--policy", default="")
    parser.add_argument("--lora", type=int, default=0)
    parser.add_argument("--config", help="of accelerate; else as the run needs")
    options = parser.parse_args(argv)
    if options.run is None:
        print(table().to_string())
        return 0
    recipe = paper_recipe(options.run, options.user_model, options.policy, options.lora)
    whole = recipe.lora or recipe.critic
    if recipe.critic and not recipe.lora:
        parser.error(
            f"{options.run}: PPO's critic is a second model that is not spread over "
            "GPUs yet, so that all weights of both need some 224 GB a GPU at 7B: give "
            "--lora 64, for instance"
        )
    folder = recipe.folder(options.folder)
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(recipe.describe(), indent=1) + "\n"
    write_atomically(folder / RECIPE, text)
    config = options.config or (devices.WHOLE if whole else devices.SPREAD)
    command = [*launcher(config), "-m", "helpers.learning.training", folder]
    print(shlex.join(map(str, command)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
