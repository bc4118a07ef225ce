"""Finished training runs without training: scripted policies fill the checks."""

import json
from dataclasses import replace
from pathlib import Path

from helpers.agents.policies import Heuristic
from helpers.agents.scripted import ScriptedUser
from helpers.data.scenarios import load_cards
from helpers.files import write_atomically
from helpers.learning.credit import Credit
from helpers.learning.critic import CriticSettings
from helpers.learning.recipes import Checks, Recipe
from helpers.learning.results import Result
from helpers.learning.settings import TrainerSettings
from helpers.learning.training import CURVE, check_path
from helpers.learning.workers import DONE
from helpers.learning.worlds import RULES, TEMPERS
from helpers.sandbox.dialogue import Dialogue, Failure
from helpers.sandbox.episode import run_one
from helpers.sandbox.run import dialogue_seed

CHECKS = Checks(every=20, curve_cards=5, final_cards=8)


def recipe(label: str, seed: int = 0, steps: int = 40, checks=CHECKS) -> Recipe:
    ppo = label.startswith("PPO")
    return Recipe(
        label, Credit("gae" if ppo else "outcome"), "terminal_emotion",
        TrainerSettings(steps, 1e-3, seed=seed),
        CriticSettings(1e-3) if ppo else None, think=", think" in label,
        user="challenging" if "challenging" in label else "vanilla", checks=checks,
    )  # fmt: skip


def dialogues(made: Recipe, care: float, user: str, n: int) -> list[Dialogue]:
    """n dialogues of a listener of that care, with tokens and thoughts."""
    settings = RULES[made.checks.rules]()
    policy = Heuristic(skill=0.9, care=care)
    rows = []
    for card in load_cards(made.checks.split)[:n]:
        seed = dialogue_seed(made.trainer.seed, card.id, 0)
        told = run_one(card, policy, ScriptedUser(TEMPERS[user], settings.emotion),
                       None, None, settings, seed, run_hash="fake")  # fmt: skip
        turns = tuple(
            replace(turn, completion_tokens=len(turn.reply.split()) + 3 * made.think,
                    think="feels sad about exam" if made.think else None)
            for turn in told.turns
        )  # fmt: skip
        rows.append(replace(told, turns=turns))
    return rows


def write_check(folder: Path, step: int, user: str, rows) -> None:
    path = check_path(folder, step, user)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, "\n".join(row.to_json() for row in rows) + "\n")


def fake_run(folder: Path, label: str, seed: int = 0, first=0.2, last=0.8, steps=40,
             checks=CHECKS) -> Result:  # fmt: skip
    """A run whose care rises from `first` to `last`, with all that a run leaves."""
    made = recipe(label, seed, steps, checks)
    folder = Path(folder) / f"{label}-{seed}"
    for step in range(0, steps, checks.every):
        care = first + (last - first) * step / steps
        rows = dialogues(made, care, checks.users[0], checks.curve_cards)
        write_check(folder, step, checks.users[0], rows)
    for user in checks.users:
        rows = dialogues(made, last, user, checks.final_cards)
        write_check(folder, steps, user, rows)
    curve = [
        {"step": 2 * k, "reward": 0.3 + 0.05 * seed + (last - first) * k / steps,
         "entropy": 2 / k + first, "grad_norm": last + 0.1 * (k % 3),
         "clip_ratio/region_mean": 0.01 * (k % 4),
         **({"critic/explained_variance": None if k < 3 else 1 - 2 / k}
            if made.critic else {})}
        for k in range(1, steps + 1)
    ]  # fmt: skip
    write_atomically(folder / CURVE, json.dumps(curve))
    write_atomically(folder / DONE, json.dumps({"seconds": 1.0}))
    return Result(label, made, folder, steps)


def fake_start(folder: Path, label: str, care: float = 0.2, checks=CHECKS) -> Result:
    """The policy before training, as `results.start` gives it."""
    made = recipe("PPO, think" if "think" in label else "PPO", checks=checks)
    folder = Path(folder) / label
    for user in checks.users:
        rows = dialogues(made, care, user, checks.final_cards)
        write_check(folder, 0, user, rows)
    return Result(label, made, folder, 0)


def fail(result: Result, user: str, case: int) -> None:
    """Make one dialogue of the last check end in error."""
    rows = result.dialogues(user)
    failure = Failure("user", "api_error", "made to fail")
    rows[case] = replace(rows[case], ending="error", ended_by="failure",
                         failure=failure)  # fmt: skip
    write_check(result.folder, result.steps, user, rows)
