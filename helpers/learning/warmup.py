"""The supervised start of the tiny policy: makes `data/policy`.

    python -m helpers.learning.warmup [--out DIR] [--steps N M] [--seed S]

First it learns to read and to speak from drills and caring dialogues; then a short
second part skews it to what a base model does: advice and platitudes, little listening.
Thinking and direct replies are learnt side by side, told apart by the system word.

The weights are deterministic on one machine. Processors differ in the last bits, so
another machine makes slightly other weights, and tests compare losses, not bytes.
"""

import argparse
import json
import math
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

import torch
import torch.nn.functional as F

from helpers.agents.scripted import rules_source
from helpers.data.scenarios import load_cards
from helpers.files import write_atomically
from helpers.learning import lessons, tiny
from helpers.learning.chat import ChatFormat
from helpers.learning.rows import attention

REPORT = "warmup.json"


@dataclass(frozen=True)
class WarmupSettings:
    """Sizes of the supervised start.

    steps: of the two parts. batch: lessons a step. lr: peak of the learning rate; it
    falls as a cosine to a twentieth over both parts. told: weight of the user's tokens
    in the loss (1 on the policy's own). skew: shares of (care, skill) in the second
    part; the first has drills for one half and careful listeners for the other.
    """

    steps: tuple[int, int] = (600, 120)
    batch: int = 16
    lr: float = 3e-3
    warmup: int = 50
    told: float = 0.3
    seed: int = 0
    first: tuple[tuple[float, float, float], ...] = ((0.7, 1.0, 0.97), (0.3, 0.7, 0.97))
    skew: tuple[tuple[float, float, float], ...] = (
        (0.55, 0.10, 0.97), (0.30, 0.50, 0.97), (0.15, 1.00, 0.97),
    )  # fmt: skip


@dataclass
class _Ids:
    """Tokens of one lesson with their places, branches and loss weights."""

    ids: list[int]
    positions: list[int]
    segments: list[int]
    weights: list[float]
    past: int = 0

    def add(self, ids: Sequence[int], weight: float, segment: int = 0) -> None:
        """On the trunk, or on a branch whose tokens so far are the last ones."""
        on_branch = sum(1 for s in self.segments if s == segment) if segment else 0
        start = self.past + on_branch
        self.ids += ids
        self.positions += range(start, start + len(ids))
        self.segments += [segment] * len(ids)
        self.weights += [weight] * len(ids)
        if not segment:
            self.past += len(ids)


def encode(
    chat: ChatFormat, lesson: Sequence[lessons.Exchange], system: str, told: float
) -> _Ids:
    """A lesson as a packed row: thoughts and critiques stand on branches of their own,
    replies on the trunk, as a rollout with stripped history would have it."""
    tokenizer = chat.tokenizer
    row = _Ids([], [], [], [])
    row.add(tokenizer.encode(system, add_special_tokens=False), 0.0)
    for number, exchange in enumerate(lesson, 1):
        start = chat.user_turn(exchange.user)
        close = 2  # <end> <asst>: a critique comes before them
        row.add(start[:-close], told)
        reply = tokenizer.encode(exchange.reply) + [chat.end_id]
        thought = []
        if system == tiny.REASON:
            thought = tokenizer.encode(f"<think> {exchange.thought} </think>")
        if exchange.critique is not None:
            row.add(tokenizer.encode(exchange.critique), 0.0, number)
        if exchange.critique is not None or thought:
            if exchange.critique is None:
                row.add(start[-close:], told)
            else:
                row.add(start[-close:], 0.0, number)
            row.add(thought + reply, 1.0, number)
            if exchange.critique is not None:
                row.add(start[-close:], 0.0)
            row.add(reply, 0.0)
        else:
            row.add(start[-close:], told)
            row.add(reply, 1.0)
    return row


def collate(rows: Sequence[_Ids], pad: int) -> dict[str, torch.Tensor]:
    """Rows as (B, L) tensors, padded on the right."""

    def stack(name: str, fill) -> torch.Tensor:
        width = max(len(r.ids) for r in rows)
        return torch.tensor(
            [getattr(r, name) + [fill] * (width - len(r.ids)) for r in rows]
        )

    return {
        "ids": stack("ids", pad), "positions": stack("positions", 0),
        "segments": stack("segments", 0), "weights": stack("weights", 0.0),
    }  # fmt: skip


def loss(model, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """Weighted sum of the next-token loss over the batch's `total` weight.

    The first token of a branch follows the trunk token before it, which is the token
    that stands before it in the row; a trunk token behind a branch has weight 0.
    """
    ids = batch["ids"]
    mask = attention(batch["segments"], ids != model.config.pad_token_id)
    lowest = torch.finfo(model.dtype).min
    bias = torch.zeros(mask.shape, dtype=model.dtype).masked_fill(~mask, lowest)
    logits = model(
        input_ids=ids, attention_mask=bias, position_ids=batch["positions"]
    ).logits
    weights = batch["weights"][:, 1:]
    each = F.cross_entropy(
        logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten(), reduction="none"
    )
    return (each * weights.flatten()).sum() / batch["total"]


def batches(settings: WarmupSettings, chat: ChatFormat) -> Iterator[list[dict]]:
    """One batch a step, the same for a seed on every machine, cut into a part of short
    and one of long rows: padding and masks are what costs."""
    rng = random.Random(settings.seed)
    cards = load_cards("train")
    for step in range(sum(settings.steps)):
        skewed = step >= settings.steps[0]
        styles = settings.skew if skewed else settings.first
        rows = []
        for i in range(settings.batch):
            if not skewed and i % 2:
                lesson = lessons.drill(rng)
            else:
                _, care, skill = rng.choices(styles, [s[0] for s in styles])[0]
                lesson = lessons.dialogue(rng, rng.choice(cards), care, skill)
            system = tiny.REASON if i % 4 < 2 else tiny.DIRECT
            rows.append(encode(chat, lesson, system, settings.told))
        rows.sort(key=lambda row: len(row.ids))
        half, pad = len(rows) // 2, tiny.MARKS.index("<pad>")
        parts = [collate(part, pad) for part in (rows[:half], rows[half:])]
        total = sum(part["weights"].sum() for part in parts)
        yield [{**part, "total": total} for part in parts]


def train(
    settings: WarmupSettings, most: int | None = None, show=None
) -> tuple[torch.nn.Module, list[float]]:
    """The model and the loss of each step.

    Args:
        most: stop after so many steps. show: called with (step, loss).
    """
    torch.manual_seed(settings.seed)
    chat = ChatFormat(tiny.make_tokenizer())
    model = tiny.make_model(len(tiny.vocabulary()))
    total = sum(settings.steps)
    optimizer = torch.optim.AdamW(model.parameters(), settings.lr, weight_decay=0.01)

    def rate(step: int) -> float:
        rise = min(1.0, (step + 1) / settings.warmup)
        return rise * (0.05 + 0.475 * (1 + math.cos(math.pi * step / total)))

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    losses = []
    for step, batch in enumerate(batches(settings, chat)):
        if most is not None and step >= most:
            break
        optimizer.zero_grad()
        value = 0.0
        for part in batch:
            share = loss(model, part)
            share.backward()
            value += share.item()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(value)
        if show is not None:
            show(step, losses[-1])
    return model.eval(), losses


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the tiny policy's start.")
    parser.add_argument("--out", type=Path, default=tiny.POLICY)
    parser.add_argument("--steps", type=int, nargs=2)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    change = {"steps": tuple(arguments.steps)} if arguments.steps else {}
    settings = WarmupSettings(seed=arguments.seed, **change)
    started, total = time.monotonic(), sum(settings.steps)

    def show(step: int, value: float) -> None:
        if step % 50 == 0 or step == total - 1:
            spent = time.monotonic() - started
            left = spent / (step + 1) * (total - step - 1)
            print(
                f"step {step}/{total} loss {value:.4f}, {left:.0f} s left", flush=True
            )

    model, losses = train(settings, show=show)
    arguments.out.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(arguments.out)
    report = {
        "made_by": "python -m helpers.learning.warmup",
        "settings": asdict(settings),
        "rules": rules_source(),
        "versions": {name: version(name) for name in ("torch", "transformers")},
        "seconds": round(time.monotonic() - started),
        "first_losses": losses[:10],
        "losses": {step: losses[step] for step in range(0, total, 50)}
        | {total - 1: losses[-1]},
    }
    path = arguments.out / REPORT
    write_atomically(path, json.dumps(report, indent=1) + "\n")
    print(f"written: {path.parent}; check it with notebook 04")


if __name__ == "__main__":
    main()
