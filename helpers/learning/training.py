"""One training run from its recipe to its folder: what a worker process does.

    python -m helpers.learning.training FOLDER...   (FOLDER/recipe.json says what to do)

The folder gets `curve.json` (the trainer's log, one entry a step), `checks/` (dialogues
with fixed cards and seeds, at the start, on the way and at the end), `policy/` (the
weights) and at last `done.json`. A run that was killed goes on from its last
checkpoint; its curve is the one of an undisturbed run. Under `accelerate launch` all
processes work on the run together (see `processes`).
"""

import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path

import torch
from transformers import TrainerCallback

from helpers.agents.clauses import read_clauses
from helpers.agents.free_text import read_free_text
from helpers.agents.reward_judge import make_judges
from helpers.agents.reward_rules import ScriptedRewardModel, english_critique
from helpers.agents.templates import render
from helpers.data.scenarios import Scenario, load_cards
from helpers.files import write_atomically
from helpers.learning import feedback, processes, tiny
from helpers.learning.chat import ChatFormat
from helpers.learning.decoder import PrefixDecoder
from helpers.learning.engines import Engine, HfEngine
from helpers.learning.hindsight import Candidate
from helpers.learning.lessons import critique_text
from helpers.learning.models import LoraSettings, load_policy
from helpers.learning.rapo import HindsightStep
from helpers.learning.recipes import Recipe
from helpers.learning.rewards import REWARDS
from helpers.learning.rollout import TalkSettings, roll_out
from helpers.learning.rows import Row
from helpers.learning.svhpo import HindsightTrainer
from helpers.learning.trainer import DialogueTrainer
from helpers.learning.vllm import MODES, SyncedVllm
from helpers.learning.workers import (
    DONE,
    FAILED,
    LOG,
    PROGRESS,
    RECIPE,
    claim,
    progress,
)  # fmt: skip
from helpers.learning.worlds import World, make_world
from helpers.sandbox.dialogue import Dialogue
from helpers.sandbox.run import dialogue_seed

CURVE = "curve.json"


class Orphaned(SystemExit):
    """The process that started this one is gone; the run goes on another time."""


def start_policy(recipe: Recipe) -> tuple[torch.nn.Module, ChatFormat]:
    """The policy before training, on the recipe's device; new adapters and heads are
    drawn from the recipe's seed."""
    torch.manual_seed(recipe.trainer.seed)
    device = processes.device(recipe.trainer.device)
    if recipe.policy == "tiny":
        model, chat = tiny.load()
        return model.to(device), chat
    lora = LoraSettings(recipe.lora, 2 * recipe.lora) if recipe.lora else None
    # A frozen body is only read: half the memory. Adapters stay in float32.
    frozen = torch.bfloat16 if lora and recipe.trainer.bf16 else torch.float32
    made = load_policy(recipe.policy, lora=lora, device=device, dtype=frozen)
    return made.model, made.chat


def talk_settings(recipe: Recipe, together: int = 1) -> TalkSettings:
    """How the policy of a recipe is asked to talk."""
    if recipe.policy == "tiny":
        system = tiny.REASON if recipe.think else tiny.DIRECT
    else:
        system = render("policy_think" if recipe.think else "policy_direct", "en")
    return TalkSettings(system, recipe.reply_limit, recipe.history, together)


def meet(recipe: Recipe, rules: str, user: str, folder: Path) -> World:
    """The world of a run. Users by rule read the tiny policy by the closed grammar that
    it speaks, and a model that speaks English by its cues."""
    reader = read_clauses if recipe.policy == "tiny" else read_free_text
    client = folder / processes.own("client")
    return make_world(rules, user, recipe.user_model, client, reader)


def make_engine(recipe: Recipe, model, chat: ChatFormat) -> Engine:
    """An engine on the weights as they are now; where vLLM has none to offer, before a
    run, transformers generates."""
    if recipe.engine == "decoder":
        return PrefixDecoder(model, chat.end_id, recipe.trainer.temperature)
    return HfEngine(model, chat.end_id, chat.tokenizer.pad_token_id,
                    recipe.trainer.temperature)  # fmt: skip


def talk(
    recipe: Recipe,
    model,
    chat: ChatFormat,
    world: World,
    cards: Sequence[Scenario],
    seed: int,
    process: int = 0,
    engine: Engine | None = None,
) -> list[Row]:
    """One dialogue a card. The seed makes users and replies; two dialogues of one card
    meet the same user in the same mood, as the rollouts of a group do, and processes
    differ in their replies only. engine: in place of the recipe's own."""
    episodes = [world.episode(card, dialogue_seed(seed, card.id, 0)) for card in cards]
    settings = talk_settings(recipe, world.together)
    with torch.random.fork_rng():
        torch.manual_seed(seed + process)
        engine = engine or make_engine(recipe, model, chat)
        return roll_out(episodes, engine, chat, settings, recipe.hash)


def try_replies(
    recipe: Recipe,
    model,
    chat: ChatFormat,
    contexts: Sequence[Sequence[int]],
    seed: int,
    process: int = 0,
    engine: Engine | None = None,
) -> list[Candidate]:
    """One reply to each context, sampled from the weights as they are now."""
    with torch.random.fork_rng():
        torch.manual_seed(seed + process)
        engine = engine or make_engine(recipe, model, chat)
        samples = engine.generate(range(len(contexts)), contexts, recipe.reply_limit)
    made = []
    for sample in samples:
        ended = sample.ids[-1] == chat.end_id
        thought, text, _ = chat.split(sample.ids[:-1] if ended else sample.ids)
        made.append(Candidate(text, thought, tuple(sample.ids), tuple(sample.logprobs)))
    return made


def look_back(
    recipe: Recipe, model, chat: ChatFormat, world: World, cards, folder: Path,
    live: Callable[[], tuple[int, Engine | None]] = lambda: (0, None),
) -> HindsightStep:  # fmt: skip
    """RAPO's step of a recipe. By rule the critique is in the words of the tiny
    policy's lessons; for a model that speaks English it is English, in a sentence.
    live: process and engine, asked for before each sampling (see `talk`)."""
    settings, tiny_words = recipe.hindsight, recipe.policy == "tiny"
    reader = read_clauses if tiny_words else read_free_text
    write = critique_text if tiny_words else english_critique
    made = make_judges(
        settings.reward_model, settings.judge_model, folder / "judges", world.together
    )

    def talk_again(ids: Sequence[str], seed: int) -> list[Row]:
        people = [cards[i] for i in ids]
        return talk(recipe, model, chat, world, people, seed, *live())

    def sample(contexts, seed: int) -> list[Candidate]:
        return try_replies(recipe, model, chat, contexts, seed, *live())

    return HindsightStep(
        settings, recipe.trainer.group_size, recipe.trainer.dialogues, talk_again,
        sample, chat, talk_settings(recipe).system, world, cards,
        made.reward_model or ScriptedRewardModel(write, reader), made.judge,
        feedback.plain_line if tiny_words else feedback.english_line, recipe.hash,
    )  # fmt: skip


def check(
    recipe: Recipe, model, chat: ChatFormat, cards, folder: Path, step: int,
    users: Sequence[str], engine: Engine | None = None,
) -> None:  # fmt: skip
    """Dialogues with fixed cards and seeds, the same for every method, into the folder
    of the run; those already stored are kept."""
    checks = recipe.checks
    for user in users:
        path = check_path(folder, step, user)
        if not path.is_file():
            world = meet(recipe, checks.rules, user, folder)
            rows = talk(recipe, model, chat, world, cards, checks.seed, engine=engine)
            write_dialogues(path, [row.dialogue for row in rows])


def check_start(recipe: Recipe, folder: Path) -> Path:
    """The last check of a recipe, on its policy before any training."""
    cards = load_cards(recipe.checks.split)[: recipe.checks.final_cards]
    model, chat = start_policy(recipe)
    check(recipe, model, chat, cards, folder, 0, recipe.checks.users)
    return folder


class Run:
    """The parts of one run, made from its recipe."""

    def __init__(self, recipe: Recipe, folder: Path):
        self.recipe, self.folder = recipe, Path(folder)
        self._started = time.monotonic()
        self._before = progress(self.folder).get("seconds", 0.0)
        self.model, self.chat = start_policy(recipe)
        self.cards = {card.id: card for card in load_cards("train")}
        self.world = meet(recipe, recipe.rules, recipe.user, self.folder)
        self.checked = load_cards(recipe.checks.split)
        parts = (
            self.model, self.chat.tokenizer, list(self.cards), self._roll(),
            REWARDS[recipe.reward], recipe.credit, recipe.trainer,
            self.folder / "checkpoints", recipe.critic, [_Watch(self)],
        )  # fmt: skip
        if recipe.hindsight is None:
            self.trainer = DialogueTrainer(*parts)
        else:
            self.trainer = HindsightTrainer(*parts, hindsight=recipe.hindsight)
        processes.refuse_spread(self.trainer, recipe.engine in MODES)
        self.vllm = None
        if recipe.engine in MODES:
            self.vllm = SyncedVllm(recipe.engine, self.trainer, self.chat.end_id)

    def _roll(self):
        """What the trainer calls for its rows."""
        fixed = self.recipe, self.model, self.chat, self.world
        if self.recipe.hindsight is not None:
            return look_back(*fixed, self.cards, self.folder, self._live)
        return lambda ids, seed: talk(
            *fixed, [self.cards[i] for i in ids], seed, *self._live()
        )

    def _live(self) -> tuple[int, Engine | None]:
        """Number of the process, and vLLM with the weights as they are now (None
        without vLLM)."""
        if self.vllm is not None:
            self.vllm.sync()
        engine = self.vllm and self.vllm.engine
        return self.trainer.accelerator.process_index, engine

    def check(self, step: int, last: bool = False) -> None:
        """A point of the learning curve, or the last check with every user."""
        checks = self.recipe.checks
        users = checks.users if last else checks.users[:1]
        cards = self.checked[: checks.final_cards if last else checks.curve_cards]
        engine = self._live()[1]  # in every process: they carry weights over together
        if processes.rank() == 0:
            check(self.recipe, self.model, self.chat, cards, self.folder, step, users,
                  engine)  # fmt: skip

    @property
    def seconds(self) -> float:
        """Spent on this run so far, by this process and those before it."""
        return round(self._before + time.monotonic() - self._started, 1)

    def tell(self, step: int, note: str) -> None:
        told = {
            "step": step, "steps": self.recipe.trainer.steps, "note": note,
            "seconds": self.seconds,
        }  # fmt: skip
        if processes.rank() == 0:
            write_atomically(self.folder / PROGRESS, json.dumps(told))

    def execute(self) -> None:
        """Train, check, keep; a finished run is left alone."""
        if (self.folder / DONE).is_file():
            return
        self.check(0)
        curve = self.trainer.fit()
        self.check(self.recipe.trainer.steps, last=True)
        processes.save_policy(self.trainer, self.folder / "policy")
        if processes.rank() == 0:
            write_atomically(self.folder / CURVE, json.dumps(curve))
            write_atomically(self.folder / DONE, json.dumps({"seconds": self.seconds}))


def check_path(folder: Path, step: int, user: str) -> Path:
    return Path(folder) / "checks" / f"{step:05d}-{user}.jsonl"


def write_dialogues(path: Path, dialogues: Sequence[Dialogue]) -> None:
    lines = [dialogue.to_json() for dialogue in dialogues]
    write_atomically(path, "\n".join(lines) + "\n")


def read_dialogues(path: Path) -> list[Dialogue]:
    """In the order in which `write_dialogues` got them: that of the cards."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [Dialogue.from_json(line) for line in lines]


class _Watch(TrainerCallback):
    """Checks on the way, tells how far the run is, and stops with its parent."""

    def __init__(self, run: Run):
        self._run, self._parent = run, os.getppid()

    def on_step_end(self, args, state, control, **kwargs):
        run, settings = self._run, self._run.recipe.trainer
        if os.getppid() != self._parent:
            raise Orphaned(1)
        if state.global_step % settings.minibatches:
            return
        step = state.global_step // settings.minibatches
        if step % run.recipe.checks.every == 0 and step < settings.steps:
            with run.trainer.clock("check"):
                run.check(step)
        note = f"step {step}/{settings.steps}"
        for entry in run.trainer.curve[-1:]:  # of the step before: logs come later
            if entry["dialogue/final_emotion"] is not None:
                note += f", final emotion {entry['dialogue/final_emotion']:.0f}"
        run.tell(step, note)


def main(folders: Sequence[str]) -> None:
    """Work through the folders given, leaving out what others hold or have done."""
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    processes.prepare()
    for folder in map(Path, folders):
        with claim(folder) if processes.rank() == 0 else nullcontext(True) as mine:
            if mine and not (folder / DONE).is_file():
                _logged(folder)
            elif not mine and processes.world() > 1:  # the others would wait
                raise SystemExit(f"{folder.name}: another process works on this run")


def _logged(folder: Path) -> None:
    """One run with what it prints in its folder; a failure is kept there and raised."""
    with open(folder / processes.own(LOG), "ab", buffering=0) as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        try:
            values = json.loads((folder / RECIPE).read_text(encoding="utf-8"))
            Run(Recipe.from_dict(values), folder).execute()
        except Exception:
            write_atomically(folder / FAILED, traceback.format_exc())
            raise


if __name__ == "__main__":
    main(sys.argv[1:])
