"""Supervised learning from a good listener: the horse race's contrast to reward.

Each step the rule-made listener of `agents.policies` (it works from the visible text
alone, as the policy must) holds as many dialogues with the training user as a step of
the trained methods does; the policy then learns its replies by next-token loss, in as
many updates. So demonstrations, user turns and updates are those of the other methods;
only the teacher is another: somebody who already knows how.

The one-step oracle is no teacher here: it sees what the user hides, so that nobody can
do as it does, and a dialogue with it takes some hundred times as long.

A run lies beside the others, named by the hash of all that makes it, with the same
checks, and reads as a `results.Result`.

    python -m helpers.learning.imitation    (tunes the rate, on the grid of the others)
"""

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from helpers.agents.policies import Heuristic
from helpers.agents.roles import Message
from helpers.data.scenarios import Scenario, load_cards
from helpers.files import write_atomically
from helpers.learning import tiny, training, tuning, warmup
from helpers.learning.lessons import Exchange, thought_text
from helpers.learning.methods import TUNING
from helpers.learning.recipes import Recipe
from helpers.learning.results import Result
from helpers.learning.settings import plan
from helpers.learning.workers import DONE, claim
from helpers.learning.worlds import World, make_world
from helpers.paths import RUNS
from helpers.sandbox.dialogue import Dialogue
from helpers.sandbox.episode import run_one
from helpers.sandbox.run import dialogue_seed
from helpers.sandbox.store import settings_hash

LABEL = "supervised"


def imitate(recipe: Recipe, folder: Path) -> Result:
    """Train by imitation as long and as often as a recipe of the race would by reward.

    Args:
        recipe: gives start, cards, user and rules, steps, dialogues and updates of a
            step, learning rate, seed, mode and checks; its credit and reward are not
            used. folder: of all runs.

    Returns:
        Result with the label "supervised" (and ", think"); found or made.

    Raises: ValueError for a policy other than the tiny one.
    """
    if recipe.policy != "tiny":
        raise ValueError("imitation is written for the tiny policy only")
    recipe, own = _place(recipe, folder)
    own.mkdir(parents=True, exist_ok=True)
    if not (own / DONE).is_file():
        with claim(own) as mine:
            if not mine:
                raise RuntimeError(f"{own.name}: another process is at work on it")
            _train(recipe, own)
    return Result(recipe.label, recipe, own, recipe.trainer.steps)


def imitated(recipe: Recipe, folder: Path) -> bool:
    """Whether `imitate` would find its run."""
    return (_place(recipe, folder)[1] / DONE).is_file()


def _place(recipe: Recipe, folder: Path) -> tuple[Recipe, Path]:
    """The recipe under the name of its run, and the run's folder."""
    name = LABEL + (", think" if recipe.think else "")
    recipe = replace(recipe, label=name)
    return recipe, Path(folder) / f"imitation-{_hash(recipe)}"


def demonstrate(world: World, cards: Sequence[Scenario], seed: int) -> list[Dialogue]:
    """One dialogue a card of the good listener with the user of a world."""
    return [
        run_one(
            card, Heuristic(), world.user, world.judge, None, world.settings,
            dialogue_seed(seed, card.id, place), run_hash="demonstration",
        )
        for place, card in enumerate(cards)
    ]  # fmt: skip


def lesson(dialogue: Dialogue) -> list[Exchange]:
    """A dialogue as lines, thoughts and replies to learn."""
    history: list[Message] = []
    made = []
    for turn in dialogue.turns:
        history.append(Message("user", turn.user))
        thought = thought_text(tuple(history), turn.reply)
        made.append(Exchange(turn.user, thought, turn.reply))
        history.append(Message("assistant", turn.reply))
    return made


def _hash(recipe: Recipe) -> str:
    sources = [Path(__file__), Path(warmup.__file__)]
    sources.append(Path(__file__).parents[1] / "agents" / "policies.py")
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources))
    unused = replace(recipe, credit=type(recipe.credit)("outcome"), critic=None)
    return settings_hash({"recipe": unused.hash, "source": digest.hexdigest()})


def _train(recipe: Recipe, folder: Path) -> None:
    settings, checks = recipe.trainer, recipe.checks
    torch.manual_seed(settings.seed)
    model, chat = tiny.load()
    cards = {card.id: card for card in load_cards("train")}
    checked = load_cards(checks.split)
    world = make_world(recipe.rules, recipe.user)
    optimizer = torch.optim.AdamW(model.parameters(), settings.learning_rate)
    order = plan([*cards], replace(settings, group_size=1))
    system = tiny.REASON if recipe.think else tiny.DIRECT
    began, curve = time.monotonic(), []

    def check(step: int, users: Sequence[str], count: int) -> None:
        model.eval()
        training.check(recipe, model, chat, checked[:count], folder, step, users)

    check(0, checks.users[:1], checks.curve_cards)
    for step in range(1, settings.steps + 1):
        started = time.monotonic()
        ids = order[(step - 1) * settings.dialogues : step * settings.dialogues]
        shown = demonstrate(
            world, [cards[i] for i in ids], settings.seed * 10_000 + step
        )
        rows = [warmup.encode(chat, lesson(d), system, 0.0) for d in shown]
        losses = _update(model, optimizer, rows, settings)
        curve.append(
            {"loss": sum(losses) / len(losses),
             "calls/user": sum(len(d.turns) for d in shown),
             "tokens/policy": sum(sum(w > 0 for w in row.weights) for row in rows),
             "time/step": time.monotonic() - started}
        )  # fmt: skip
        if step % checks.every == 0 and step < settings.steps:
            check(step, checks.users[:1], checks.curve_cards)
    check(settings.steps, checks.users, checks.final_cards)
    model.save_pretrained(folder / "policy", safe_serialization=True)
    write_atomically(folder / training.CURVE, json.dumps(curve))
    seconds = round(time.monotonic() - began, 1)
    write_atomically(folder / DONE, json.dumps({"seconds": seconds}))


def _update(model, optimizer, rows, settings) -> list[float]:
    """The step's updates over its rows, each row once; their losses."""
    model.train()
    size, losses = len(rows) // settings.minibatches, []
    for at in range(0, len(rows), size):
        batch = warmup.collate(rows[at : at + size], model.config.pad_token_id)
        value = warmup.loss(model, {**batch, "total": batch["weights"].sum()})
        optimizer.zero_grad()
        value.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), settings.max_grad_norm)
        optimizer.step()
        losses.append(value.item())
    return losses


def tune(folder: Path, out: Path = TUNING):
    """The rate with the best distance on the tune cards, on the grid and with the steps
    and seed of MAPO's family; writes data/tuning/imitation.csv and returns it."""
    family = tuning.FAMILIES["mapo"]
    only_mapo = replace(family, methods=("MAPO",), thinks=(False,))
    made = [imitate(recipe, folder) for _, recipe in tuning.grid(only_mapo)]
    frame = tuning.table(only_mapo, made).assign(method=LABEL)
    out.mkdir(parents=True, exist_ok=True)
    write_atomically(
        out / "imitation.csv", frame.to_csv(index=False, float_format="%.6g")
    )
    return frame


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(tune(RUNS / "tuning").to_string(index=False))
