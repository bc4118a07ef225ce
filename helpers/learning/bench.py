"""How fast a training step is, and beside TRL's own step on as many tokens.

    python -m helpers.learning.bench [--device cpu|cuda] [--steps N] [--dialogues N]
                                     [--minutes M] [--engine E] [--out FILE.json]

What is compared stands in `helpers.learning.speed`. Both steps run in this process by
turns, each after a step that does not count, and the table shows medians, so that a
busy machine slows both. On the CPU the policy is the tiny one. On cuda it has random
weights, the shape of Qwen2.5-0.5B and bf16 autocast, nothing is downloaded, and no
round begins that would not end within `--minutes`: not run, no GPU.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # or constructing a trainer reports to TRL
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")

import pandas as pd
import torch
from tokenizers import Tokenizer
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from helpers.files import write_atomically
from helpers.learning import tiny, training
from helpers.learning.batches import collate, token_logps
from helpers.learning.methods import Scale, make_recipe
from helpers.learning.recipes import Checks, Recipe
from helpers.learning.speed import PARTS, Measured, Step, measure

LEARNING = ("forward", "backward", "optimiser", "own")
OVERHEAD = ("rollout", "optimiser", "own")  # all but generation, user and both passes
SHOWN = ("generation", "forward", "backward")
MOST_OVERHEAD, LEAST_RATIO = 0.15, 0.9
RATE = 1e-5  # of learning; no effect on the speed


# What is timed, as changes of `make_recipe`: the tiny policy with thoughts too, a large
# one with every kind of step that the kit has.
TINY = [("GRPO", {}), ("GRPO", {"think": True}), ("PPO", {"think": True})]
LARGE = [
    ("GRPO", {}),
    ("PPO", {}),
    ("MAPO", {"rules": "empa", "reward": "distance"}),
    ("RAPO", {"rules": "empa", "hindsight": {"select": "random"}}),
]


def cases(scale: Scale) -> list[Recipe]:
    """The recipes that are timed with a policy."""
    checks = Checks(every=sys.maxsize)
    return [
        make_recipe(name, scale, rate=RATE, entropy=0.0, seed=0, checks=checks, **more)
        for name, more in (TINY if scale.policy == "tiny" else LARGE)
    ]


def shares(step: Step, parts: Sequence[str]) -> float:
    """Share of a step that some of its parts take."""
    return sum(step[part] for part in parts) / step["step"]


def table(made: dict[str, Measured]) -> pd.DataFrame:
    """Medians over the rounds, one column a case; missing where there is no such step.

    A ratio is the kit's tokens a second over the stock step's in the same round. The
    learning part is the step without generation, user and rollout.
    """
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
            **{f"share {p}": _median(shares(k, [p]) for k in kit) for p in SHOWN},
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
    tokenizer of whole words; the shape is that of Qwen2.5-0.5B unless `sizes` differ
    (as a Llama: transformers puts another tokenizer in front of a saved Qwen2).
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
    config = LlamaConfig(
        vocab_size=words, tie_word_embeddings=True, bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id,
        **{**shape, **sizes},
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def precision(recipe: Recipe, dialogues: int = 2) -> Step:
    """The mean surprise of the policy's tokens in nats, which is a loss, in a few
    dialogues: by bf16 autocast on the recipe's device, by float32 on the CPU."""
    model, chat = training.start_policy(recipe)
    world = training.meet(recipe, recipe.rules, recipe.user, Path())
    cards = training.load_cards("train")[:dialogues]
    rows = training.talk(recipe, model, chat, world, cards, seed=0)
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
    parser.add_argument("--dialogues", type=int, help="of a step; cpu 64, cuda 32")
    parser.add_argument(
        "--minutes", type=float, default=9.0, help="at the most, on cuda"
    )
    parser.add_argument("--engine", default="transformers", help="on cuda; or vllm")
    parser.add_argument("--out", type=Path, help="JSON file for all numbers")
    options = parser.parse_args(argv)
    on_cpu = options.device == "cpu"
    if not on_cpu and not torch.cuda.is_available():
        parser.error("torch finds no CUDA device here: not run")
    with tempfile.TemporaryDirectory() as scratch:
        scale = Scale(steps=2, dialogues=options.dialogues or (64 if on_cpu else 32))
        until = None
        if on_cpu:
            torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
        else:
            until = time.monotonic() + 60 * options.minutes
            torch.set_num_threads(os.cpu_count() or 1)  # of float32 on the CPU
            policy = str(random_policy(Path(scratch)))
            scale = replace(scale, policy=policy, engine=options.engine,
                            reply_limit=64, device="cuda")  # fmt: skip
        recipes = cases(scale)
        load = [os.getloadavg()[0]]
        gap = precision(recipes[0])
        show = partial(print, flush=True)
        made = measure(recipes, options.steps, show, until)
    load.append(os.getloadavg()[0])
    frame = table(made)
    device = "cpu" if on_cpu else torch.cuda.get_device_name()
    machine = (
        f"{device}, {os.cpu_count()} cores, {torch.get_num_threads()} threads "
        f"of torch, load {load[0]:.1f} before and {load[1]:.1f} after"
    )
    print(f"\n{machine}\n{frame.map(_short).to_string()}\n")
    shown = ", ".join(f"{k} {v:.6f}" for k, v in gap.items())
    print(f"loss on one batch (surprise, nats a token; float32 on the CPU): {shown}")
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
