"""Rows with a context in common: the context is computed once, with little padding.

RAPO's candidates are short, their contexts long, and several answer the same one. Such
a batch is folded into fewer rows, each of one context with its candidates as branches
behind it (the mask of `helpers.learning.rows`), and contexts of like length go through
the model together. What comes out is what the plain rows give, to rounding; a test
compares both, with gradients.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, distributed

CONTEXTS = 8  # in one forward pass: enough to fill a core, few enough to be alike
LONG = 2  # fold when prompts are so many times as wide as completions


@dataclass(frozen=True)
class Fold:
    """U contexts with up to G rows of C columns behind each.

    batch: of packed rows, as `batches.collate` gives. before: (G C,) where the logits
        of each column stand among those kept, the first of which is that of the last
        token of the prompt. rows: (U, G) numbers of the plain rows, -1 for none.
    """

    batch: dict[str, Tensor]
    before: Tensor
    rows: Tensor

    def row_of_token(self) -> Tensor:
        """(N,) number of the plain row of each of the policy's tokens, in order."""
        policy = self.batch["tool_mask"].bool()
        width = policy.shape[1] // self.rows.shape[1]
        return self.rows.repeat_interleave(width, 1)[policy]


def worth_folding(batch: dict[str, Tensor]) -> bool:
    """Whether prompts are long beside completions, and rows are not packed already.

    Never in one of several processes: DDP and FSDP wait for each other at each forward
    pass, and the number of folds is each one's own.
    """
    several = distributed.is_available() and distributed.is_initialized()
    if several and distributed.get_world_size() > 1:
        return False
    prompt, completion = batch["prompt_ids"].shape[1], batch["completion_ids"].shape[1]
    return "segments" not in batch and prompt >= LONG * completion


def folds(batch: dict[str, Tensor]) -> Iterator[Fold]:
    """The rows of a batch, folded, longest contexts first.

    Args:
        batch: prompt_ids, prompt_mask (B, P), completion_ids, completion_mask,
            tool_mask (B, C) and position_ids (B, P + C), as `batches.collate` gives.
    """
    both = torch.cat([batch["prompt_ids"], batch["prompt_mask"]], 1)
    contexts, of = both.unique(dim=0, return_inverse=True)
    ids, real = contexts.chunk(2, 1)
    order = real.sum(1).argsort(descending=True, stable=True)
    for part in order.split(CONTEXTS):
        width = int(real[part].sum(1).max())
        yield _fold(batch, ids[part, -width:], real[part, -width:], part, of)


def _fold(batch, ids: Tensor, real: Tensor, part: Tensor, of: Tensor) -> Fold:
    """ids, real: (U, P) of the contexts. part: their numbers; of: (B,) each row's."""
    mine = [(of == number).nonzero()[:, 0] for number in part]
    rows = torch.nn.utils.rnn.pad_sequence(mine, True, -1)
    (contexts, branches), width = rows.shape, batch["completion_ids"].shape[1]
    there = (rows >= 0).unsqueeze(2)

    def placed(name: str) -> Tensor:
        table = batch[name][:, -width:]
        return (table[rows.clamp(min=0)] * there).reshape(contexts, -1)

    zero = torch.zeros_like(real)
    branch = torch.arange(1, branches + 1, device=ids.device).repeat_interleave(width)
    folded = {
        "prompt_ids": ids,
        "prompt_mask": real,
        "position_ids": torch.cat(
            [(real.cumsum(1) - 1).clamp(min=0), placed("position_ids")], 1
        ),
        "segments": torch.cat([zero, branch.expand(contexts, -1)], 1),
        **{n: placed(n) for n in ("completion_ids", "completion_mask", "tool_mask")},
    }
    before = torch.arange(branches * width, device=ids.device)
    before[::width] = 0
    return Fold(folded, before, rows)
