"""How fast a training step is: where its seconds go, and beside TRL's own step.

    python -m helpers.learning.bench [--device cpu|cuda] [--steps N] [--dialogues N]
                                     [--out FILE.json]

The kit's step is the one of a training run: many dialogues of several turns with the
user by rule, then the updates. The stock step is an unchanged, single-turn GRPOTrainer
with the same model, rows, updates and settings, and with as many tokens: its replies
are as long as what the policy samples in a dialogue of the kit on average, its prompts
as long as the rest of the row. It has no user, no padding and no thoughts to hide.

Both run in this process by turns, each after a step that does not count, and a table
shows medians: a busy machine slows both. On the CPU the policy is the tiny one. On cuda
it has random weights, the shape of Qwen2.5-0.5B and bf16 autocast: not run, no GPU.
"""

import argparse
import json
import os
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from unittest.mock import patch

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # or constructing a trainer reports to TRL
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")

import pandas as pd
import torch
from datasets import Dataset
from tokenizers import Tokenizer
from transformers import (
    PreTrainedTokenizerFast,
    PrinterCallback,
    Qwen2Config,
    Qwen2ForCausalLM,
    TrainerCallback,
)
from trl import GRPOConfig, GRPOTrainer

from helpers.files import write_atomically
from helpers.learning import tiny, training
from helpers.learning.batches import collate, token_logps
from helpers.learning.clock import Clock
from helpers.learning.decoder import PrefixDecoder
from helpers.learning.engines import HfEngine
from helpers.learning.methods import Scale, make_recipe
from helpers.learning.recipes import Checks, Recipe
from helpers.learning.rows import Row
from helpers.sandbox.episode import Episode

PARTS = ("generation", "user", "rollout", "forward", "backward", "optimiser", "own")
LEARNING = ("forward", "backward", "optimiser", "own")
OVERHEAD = ("rollout", "optimiser", "own")  # all but generation, user and both passes
MOST_OVERHEAD, LEAST_RATIO = 0.15, 0.9
TOLERANCE = 0.03  # between the tokens of the kit's step and of the stock step
RATE = 1e-5  # of learning; no effect on the speed

Step = dict[str, float]  # seconds of each part and of the "step"; tokens, sampled


@dataclass
class Measured:
    """One case: what each counted step took, in the order of the rounds.

    kit: the kit's steps. stock: TRL's, empty for PPO. plain: the kit's dialogues once
    more with transformers generation instead of the kit's decoder, else empty.
    """

    kit: list[Step] = field(default_factory=list)
    stock: list[Step] = field(default_factory=list)
    plain: list[Step] = field(default_factory=list)


class UnequalTokens(RuntimeError):
    """The two steps that are compared do not have the same number of tokens."""


def cases(scale: Scale) -> list[Recipe]:
    """GRPO, GRPO with thoughts and PPO with thoughts; GRPO and PPO on cuda."""
    talks = ((False, True), (True,)) if scale.policy == "tiny" else ((False,), (False,))
    checks = Checks(every=sys.maxsize)
    return [
        make_recipe(name, scale, rate=RATE, entropy=0.0, seed=0, think=think,
                    checks=checks)
        for name, thinks in zip(("GRPO", "PPO"), talks, strict=True)
        for think in thinks
    ]  # fmt: skip


def measure(recipes: Sequence[Recipe], rounds: int, show=None) -> dict[str, Measured]:
    """Every case once a round.

    Args:
        recipes: their labels name the cases.
        show: called with a line of progress.

    Raises:
        UnequalTokens: kit and stock step differ by more than TOLERANCE.
    """
    made = {recipe.label: Measured() for recipe in recipes}
    for number in range(rounds):
        for recipe in recipes:
            of_case = made[recipe.label]
            recipe = replace(recipe, trainer=replace(recipe.trainer, seed=number))
            with tempfile.TemporaryDirectory() as folder:
                run, kit = kit_step(recipe, Path(folder))
                of_case.kit.append(kit)
                if recipe.engine == "decoder":
                    of_case.plain.append(plain_rollout(run))
                if recipe.critic is None:
                    of_case.stock.append(stock_step(run, kit))
            if show is not None:
                show(f"{recipe.label}: round {number + 1} of {rounds}")
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
        (Episode, "__init__", "user"), (Episode, "step", "user"),
    ):  # fmt: skip
        entry = run.trainer.fit(resume=False)[-1]
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


def shares(step: Step, parts: Sequence[str]) -> float:
    """Share of a step that some of its parts take."""
    return sum(step[part] for part in parts) / step["step"]


def table(made: dict[str, Measured]) -> pd.DataFrame:
    """Medians over the rounds, one column a case; missing where there is no such
    step. Ratios are of tokens a second, made in each round and then averaged so."""
    columns = {}
    for label, case in made.items():
        kit, stock, plain = case.kit, case.stock, case.plain
        pairs = list(zip(kit, stock, strict=False))
        whole = [k["tokens"] / k["step"] / _rate(s, "tokens") for k, s in pairs]
        columns[label] = {
            "counted steps": len(kit),
            "tokens a step": _median(k["tokens"] for k in kit),
            "sampled tokens a step": _median(k["sampled"] for k in kit),
            **{f"s {p}": _median(k[p] for k in kit) for p in (*PARTS, "step")},
            "overhead share": _median(shares(k, OVERHEAD) for k in kit),
            "own share": _median(shares(k, ["own"]) for k in kit),
            "tokens / s": _median(_rate(k, "tokens") for k in kit),
            "sampled / s": _median(_rate(k, "sampled") for k in kit),
            "stock: s step": _median(s["step"] for s in stock),
            "stock: s generation": _median(s["generation"] for s in stock),
            "stock: tokens / s": _median(_rate(s, "tokens") for s in stock),
            "ratio, whole step": _median(whole),
            "ratio, lowest round": min(whole, default=None),
            "ratio, learning part": _median(
                k["tokens"] / (shares(k, LEARNING) * k["step"])
                / (s["tokens"] / (s["step"] - s["generation"]))
                for k, s in pairs
            ),
            "generation: sampled / s": _median(_spoken(k) for k in kit),
            "the same by transformers": _median(_spoken(p) for p in plain),
            "stock generation: sampled / s": _median(_spoken(s) for s in stock),
        }  # fmt: skip
    return pd.DataFrame(columns)


def _rate(step: Step, tokens: str) -> float:
    return step[tokens] / step["step"]


def _spoken(step: Step) -> float:
    return step["sampled"] / step["generation"]


def _median(values) -> float | None:
    values = list(values)
    return float(pd.Series(values).median()) if values else None


def verdicts(frame: pd.DataFrame) -> list[str]:
    """Whether the project's two bounds hold, one line a case and bound."""
    lines = []
    for label, column in frame.items():
        for name, bound, holds in (
            ("overhead share", f"at most {MOST_OVERHEAD}", MOST_OVERHEAD.__ge__),
            ("ratio, whole step", f"at least {LEAST_RATIO}", LEAST_RATIO.__le__),
        ):
            value = column[name]
            if not pd.isna(value):
                verdict = "holds" if holds(value) else "does not hold"
                lines.append(f"{label}: {name} {value:.3f}, {bound}: {verdict}")
    return lines


def random_policy(folder: Path, words: int = 151_936, **sizes: int) -> Path:
    """A model of random weights that only its size makes like a real one, with a
    tokenizer of whole words; the shape is that of Qwen2.5-0.5B unless `sizes` differ.
    """
    small = tiny.make_tokenizer()
    spec = json.loads(small.backend_tokenizer.to_str())
    known = spec["model"]["vocab"]
    known |= {f"word{i}": i for i in range(len(known), words)}
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(spec)),
        unk_token=small.unk_token, pad_token=small.pad_token, eos_token=small.eos_token,
        clean_up_tokenization_spaces=False,
    )  # fmt: skip
    tokenizer.chat_template = tiny.TEMPLATE
    shape = {
        "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24,
        "num_attention_heads": 14, "num_key_value_heads": 2,
        "max_position_embeddings": 32_768,
    }  # fmt: skip
    config = Qwen2Config(
        vocab_size=words, tie_word_embeddings=True, bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id,
        **{**shape, **sizes},
    )  # fmt: skip
    Qwen2ForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def precision(recipe: Recipe, dialogues: int = 2) -> Step:
    """The mean surprise (nats) of the policy's tokens, by bf16 autocast on the recipe's
    device and by float32 on the CPU, for one small batch of dialogues."""
    model, chat = training.start_policy(recipe)
    world = training.meet(recipe, recipe.rules, recipe.user, Path())
    cards = training.load_cards("train")[:dialogues]
    rows: list[Row] = training.talk(recipe, model, chat, world, cards, seed=0)
    turns = torch.ones(len(rows), max(len(r.dialogue.turns) for r in rows)).bool()
    batch = collate(rows, turns, chat.tokenizer.pad_token_id)
    found = {}
    for name, device in (("bf16", recipe.trainer.device), ("float32", "cpu")):
        model = model.to(device)
        here = {k: x.to(device) for k, x in batch.items()}
        with (
            torch.no_grad(),
            torch.autocast(device, torch.bfloat16, enabled=name == "bf16"),
        ):
            logps, _ = token_logps(model, here, 1.0, model.dtype, vocabulary=0)
        found[name] = float(-logps.sum() / here["tool_mask"].sum())
    return found


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m helpers.learning.bench")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--steps", type=int, default=5, help="counted, of each case")
    parser.add_argument("--dialogues", type=int, default=64)
    parser.add_argument("--out", type=Path, help="JSON file for all numbers")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as scratch:
        scale = Scale(steps=2, dialogues=options.dialogues)
        if options.device == "cpu":
            torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
        else:
            policy = str(random_policy(Path(scratch)))
            scale = replace(scale, policy=policy, engine="transformers",
                            reply_limit=128, device="cuda")  # fmt: skip
        recipes = cases(scale)
        load = [os.getloadavg()[0]]
        made = measure(recipes, options.steps, lambda line: print(line, flush=True))
        gap = precision(recipes[0])
    load.append(os.getloadavg()[0])
    frame = table(made)
    machine = (
        f"{options.device}, {os.cpu_count()} cores, {torch.get_num_threads()} threads "
        f"of torch, load {load[0]:.1f} before and {load[1]:.1f} after"
    )
    print(f"\n{machine}\n{frame.map(_short).to_string()}\n")
    print("surprise, nats a token:", ", ".join(f"{k} {v:.6f}" for k, v in gap.items()))
    print("\n".join(verdicts(frame)))
    if options.out:
        report = {
            "made_by": "python -m helpers.learning.bench", "machine": machine,
            "versions": {n: version(n) for n in ("torch", "transformers", "trl")},
            "recipes": {recipe.label: recipe.describe() for recipe in recipes},
            "steps": {label: asdict(case) for label, case in made.items()},
            "medians": json.loads(frame.to_json()), "precision": gap,
        }  # fmt: skip
        options.out.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(options.out, json.dumps(report, indent=1) + "\n")


def _short(value) -> str:
    return "-" if pd.isna(value) else f"{value:.4g}"


if __name__ == "__main__":
    main()
