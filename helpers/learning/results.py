"""What training runs left behind as frames: curves, checks, scores by card and seed."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from transformers.utils import logging

from helpers.data.scenarios import Scenario, load_cards
from helpers.learning import processes
from helpers.learning.chat import ChatFormat
from helpers.learning.recipes import Recipe
from helpers.learning.training import (
    CURVE,
    check_path,
    check_start,
    read_dialogues,
    start_policy,
    talk,
    write_dialogues,
)
from helpers.learning.workers import DONE, run_jobs, side_by_side
from helpers.learning.worlds import World
from helpers.sandbox.dialogue import Dialogue
from helpers.scoring.epm import zone_distance


@dataclass(frozen=True)
class Result:
    """A finished run, or the start of a recipe without a run (`label` "base")."""

    label: str
    recipe: Recipe
    folder: Path
    steps: int

    def dialogues(self, user: str | None = None, step: int | None = None):
        """The dialogues of a check: of the last one, with the first user, unless said
        otherwise."""
        user = user or self.recipe.checks.users[0]
        step = self.steps if step is None else step
        return read_dialogues(check_path(self.folder, step, user))

    @property
    def curve(self) -> pd.DataFrame:
        """The trainer's log, one row a step (`metrics.GLOSSARY` explains the names)."""
        entries = json.loads((self.folder / CURVE).read_text(encoding="utf-8"))
        frame = pd.DataFrame(entries)
        frame.insert(0, "generation", range(1, len(frame) + 1))
        return frame

    @property
    def checked(self) -> list[int]:
        """The steps with a check, in order."""
        user = self.recipe.checks.users[0]
        every = range(0, self.steps + 1)
        return [s for s in every if check_path(self.folder, s, user).is_file()]

    @property
    def seconds(self) -> float:
        return json.loads((self.folder / DONE).read_text(encoding="utf-8"))["seconds"]


def train(
    recipes: Sequence[Recipe], training: Path, workers: int | None = None, show=None,
    launch: str | None = None,
) -> list[Result]:  # fmt: skip
    """Run what is not yet there, as worker processes; results in the given order.

    Args:
        training: the folder of all runs. workers, show: see `workers.run_jobs`; on a
            GPU one worker unless said otherwise. launch: how to start runs of several
            processes; None: as KIT_LAUNCH says, for runs on GPUs.
    """
    launch = processes.needed(recipes, launch)
    # The longest first, so that at the end no worker waits long for another.
    ordered = sorted(recipes, key=_size, reverse=True)
    jobs = [recipe.job(training) for recipe in ordered]
    run_jobs(jobs, workers or workers_for(recipes), show, launch)
    return [Result(r.label, r, r.folder(training), r.trainer.steps) for r in recipes]


def _size(recipe: Recipe) -> tuple[bool, int]:
    return recipe.think, recipe.trainer.steps * recipe.trainer.dialogues


def workers_for(recipes: Sequence[Recipe]) -> int | None:
    """One on a GPU, else None: as many as there are cores."""
    return 1 if any(r.trainer.device != "cpu" for r in recipes) else None


def start(recipe: Recipe, training: Path, label: str = "base") -> Result:
    """The policy of a recipe before training, checked as a finished run is."""
    folder = Path(training) / f"start-{recipe.hash}"
    return Result(label, recipe, check_start(recipe, folder), 0)


def starts(recipes: Mapping[str, Recipe], training: Path) -> list[Result]:
    """`start` of several recipes by label, at once on a CPU."""
    calls = [(recipe, training, label) for label, recipe in recipes.items()]
    return side_by_side(start, calls, workers_for(list(recipes.values())))


def policy_of(result: Result) -> tuple[torch.nn.Module, ChatFormat]:
    """The policy at the end of a run, or before it for a result without steps."""
    logging.disable_progress_bar()  # one would be drawn for each policy
    model, chat = start_policy(result.recipe)
    if result.steps:
        folder = result.folder / "policy"
        if result.recipe.lora:
            model.load_adapter(folder, "default")
        else:
            model = type(model).from_pretrained(folder, use_safetensors=True)
    return model.to(result.recipe.trainer.device), chat


def play(
    result: Result, world: World, cards: Sequence[Scenario], folder: Path, name: str
) -> list[Dialogue]:
    """One dialogue a card with `policy_of` a result, in any world; kept in `folder`,
    and read from there the next time.

    Args:
        name: of the world, part of the file's name.
    """
    path = played(result, len(cards), folder, name)
    if not path.is_file():
        recipe, (model, chat) = result.recipe, policy_of(result)
        rows = talk(recipe, model, chat, world, cards, recipe.checks.seed)
        write_dialogues(path, [row.dialogue for row in rows])
    return read_dialogues(path)


def played(result: Result, count: int, folder: Path, name: str) -> Path:
    """Where `play` keeps the dialogues with so many cards."""
    file = f"{result.folder.name}-{result.steps}-{name}-{count}.jsonl"
    return Path(folder) / file


def scores(results: Sequence[Result], user: str, step: int | None = None):
    """One row a dialogue of the checks with that user.

    Returns:
        Frame with label, seed (of the training), case, intention; emotion (0..100),
        success and failure by SAGE's thresholds; distance (percent of the way from P_0
        to the zone that is behind, negative: further away) and passed (EPM's success),
        missing without a judge; turns, tokens (a reply, mean); failed (the dialogue
        ended in error; then the numbers are missing).
    """
    rows = []
    for result in results:
        cards = {c.id: c for c in load_cards(result.recipe.checks.split)}
        for dialogue in result.dialogues(user, step):
            intention = cards[dialogue.scenario_id].intention
            rows.append(
                {"label": result.label, "seed": result.recipe.trainer.seed,
                 "case": dialogue.scenario_id, "intention": intention,
                 **_numbers(dialogue)}
            )  # fmt: skip
    return pd.DataFrame(rows)


def _numbers(dialogue: Dialogue) -> dict:
    emotion = dialogue.final_emotion
    lengths = [t.completion_tokens for t in dialogue.turns if t.completion_tokens]
    known = dialogue.failure is None
    felt = known and emotion is not None
    return {
        "emotion": emotion, "turns": len(dialogue.turns),
        "success": emotion >= 100 if felt else None,
        "failure": emotion < 10 if felt else None,
        "distance": _distance(dialogue),
        "passed": "epm" in dialogue.successes if dialogue.final_position else None,
        "tokens": sum(lengths) / len(lengths) if lengths else None,
        "failed": not known,
    }  # fmt: skip


def _distance(dialogue: Dialogue) -> float | None:
    """Percent of the starting distance to the zone that is gone at the end; None
    without a judge, and for who began in the zone."""
    if dialogue.final_position is None or dialogue.initial_position is None:
        return None
    ends = np.array([dialogue.initial_position, dialogue.final_position])
    before, after = zone_distance(ends)
    return 100 * (before - after) / before if before > 0 else None
