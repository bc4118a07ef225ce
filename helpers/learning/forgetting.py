"""What a tiny policy still knows after training: the offline stand-in for benchmarks.

The papers test general ability with MATH500, IFEval and others (`benchmarks` runs them
on a model that can read). The tiny policy knows nothing but its grammar, so two small
tests of what its supervised start taught stand in, named as such:

- language: the loss on held-out lessons, drills and caring talks with test people, on
  the reply's tokens (nats a token; lower is better);
- instructions: a note in the context asks for one act on something that was told, as
  the start was taught to follow; the share of likeliest replies that do it.

Paper: stands in for RLVER (arXiv 2507.03112) Table 2.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
import torch
import torch.nn.functional as F

from helpers.agents.acts import Act
from helpers.agents.clauses import read_clauses
from helpers.agents.policies import Facts
from helpers.agents.roles import Message
from helpers.data.scenarios import load_cards
from helpers.learning import lessons, tiny
from helpers.learning.chat import ChatFormat
from helpers.learning.decoder import PrefixDecoder
from helpers.learning.results import Result
from helpers.learning.rows import attention
from helpers.learning.warmup import collate, encode
from helpers.learning.workers import side_by_side

LANGUAGE, INSTRUCTIONS = "language loss", "instructions followed %"
SKILL = 0.97  # of the listener in lessons, as in the supervised start
LIMIT = 40  # tokens of a reply


@dataclass(frozen=True)
class Instruction:
    """A talk up to a user line, and the act that a note asks for there."""

    case: str
    lesson: tuple[lessons.Exchange, ...]
    wanted: Act

    @property
    def note(self) -> str:
        return lessons.critique_text([self.wanted], [])


def held_out_lessons(count: int, seed: int) -> list[tuple[str, list]]:
    """(case, lesson): drills and caring talks with people of the test split by turns;
    the supervised start drew its talks from the train split."""
    rng, cards = random.Random(f"forgetting/{seed}"), load_cards("test")
    made = []
    for i in range(count):
        card = cards[i % len(cards)]
        if i % 2:
            made.append((f"drill {i}", lessons.drill(rng)))
        else:
            made.append((card.id, lessons.dialogue(rng, card, 1.0, SKILL)))
    return made


def instructions(count: int, seed: int) -> list[Instruction]:
    """One note a talk, after one to four exchanges with a caring listener: say back the
    event, name the feeling or praise the value that was told, or else stay."""
    rng, cards = random.Random(f"instructions/{seed}"), load_cards("test")
    made = []
    for i in range(count):
        card = cards[i % len(cards)]
        talk = lessons.dialogue(rng, card, 1.0, SKILL)
        talk = talk[: rng.randint(2, min(5, len(talk)))]
        facts = Facts.of([Message("user", exchange.user) for exchange in talk])
        known = [("reflect", facts.event), ("name", facts.emotion),
                 ("affirm", facts.value)]  # fmt: skip
        known = [pair for pair in known if pair[1]] or [("presence", None)]
        made.append(Instruction(card.id, tuple(talk), Act(*rng.choice(known))))
    return made


@torch.no_grad()
def language_losses(
    model, chat: ChatFormat, taught: Sequence[tuple[str, list]], think: bool
) -> pd.Series:
    """Mean loss of each lesson on the tokens of thought and reply, indexed by case."""
    system = tiny.REASON if think else tiny.DIRECT
    rows = [encode(chat, lesson, system, 0.0) for _, lesson in taught]
    batch = collate(rows, model.config.pad_token_id)
    ids = batch["ids"]
    seen = attention(batch["segments"], ids != model.config.pad_token_id)
    lowest = torch.finfo(model.dtype).min
    bias = torch.zeros(seen.shape, dtype=model.dtype).masked_fill(~seen, lowest)
    logits = model(
        input_ids=ids, attention_mask=bias, position_ids=batch["positions"]
    ).logits
    each = F.cross_entropy(logits[:, :-1].transpose(1, 2), ids[:, 1:], reduction="none")
    weights = batch["weights"][:, 1:]
    means = (each * weights).sum(1) / weights.sum(1)
    return pd.Series(means.tolist(), index=[case for case, _ in taught])


def followed(
    model, chat: ChatFormat, asked: Sequence[Instruction], think: bool
) -> pd.Series:
    """100 where the likeliest reply does what the note asks, else 0, by case."""
    engine = PrefixDecoder(model, chat.end_id, temperature=0.0)
    system = tiny.REASON if think else tiny.DIRECT
    contexts = [_context(chat, one, system) for one in asked]
    samples = engine.generate(range(len(asked)), contexts, LIMIT)
    hits = []
    for one, sample in zip(asked, samples, strict=True):
        ids = [i for i in sample.ids if i != chat.end_id]
        acts = read_clauses(chat.split(ids)[1], "").acts
        wanted = one.wanted
        hits.append(100.0 * any(
            (act.kind, act.slot) == (wanted.kind, wanted.slot) for act in acts
        ))  # fmt: skip
    return pd.Series(hits, index=[one.case for one in asked])


def _context(chat: ChatFormat, one: Instruction, system: str) -> list[int]:
    """The talk as the policy sees it, with the note before its last reply."""
    encode_ = chat.tokenizer.encode
    ids = chat.opening(system, one.lesson[0].user)
    for before, after in zip(one.lesson, one.lesson[1:], strict=False):
        ids += [*encode_(before.reply), chat.end_id, *chat.user_turn(after.user)]
    close = 2  # <end> <asst>: a note comes before them, as in the supervised start
    return [*ids[:-close], *encode_(one.note), *ids[-close:]]


def measure(results: Sequence[Result], count: int, seed: int) -> pd.DataFrame:
    """Both tests on the policies of tiny runs (and of a start, without steps).

    Returns:
        One row a run, test and item: label, seed, test, case, value; each policy is
        tested in its own mode, thinking or not.

    Raises:
        ValueError: a run of another policy than the tiny one.
    """
    for result in results:
        if result.recipe.policy != "tiny":
            raise ValueError(f"{result.label}: this test is for the tiny policy only")
    taught, asked = held_out_lessons(count, seed), instructions(count, seed)
    calls = [(result, taught, asked) for result in results]
    return pd.concat(side_by_side(_both_tests, calls), ignore_index=True)


def _both_tests(result: Result, taught, asked) -> pd.DataFrame:
    folder = result.folder / "policy" if result.steps else tiny.POLICY
    model, chat = tiny.load(folder)
    model.eval()
    think, parts = result.recipe.think, []
    for test, values in (
        (LANGUAGE, language_losses(model, chat, taught, think)),
        (INSTRUCTIONS, followed(model, chat, asked, think)),
    ):
        found = values.groupby(level=0, sort=False).mean()
        frame = found.rename_axis("case").rename("value").reset_index()
        frame.insert(0, "test", test)
        frame.insert(0, "seed", result.recipe.trainer.seed)
        frame.insert(0, "label", result.label)
        parts.append(frame)
    return pd.concat(parts, ignore_index=True)
