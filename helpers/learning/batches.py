"""Rows as padded tensors, and what a model is given of them.

B rows, P tokens of prompt at the most, C of completion, L = P + C. Prompts are padded
on the left and completions on the right, as TRL lays them out, so that column P is the
first token of every completion. K turns at the most.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from helpers.learning.rows import Row, attention

# Above this vocabulary the logits of a batch are large (32 rows x 500 tokens x 8,192
# words are 0.5 GB in float32) and TRL's chunked head pays; below it costs time.
SMALL_VOCABULARY = 8192


def collate(rows: Sequence[Row], valid: Tensor, pad_id: int) -> dict[str, Tensor]:
    """Rows as tensors, under TRL's names where TRL has one.

    Args:
        valid: (B, K), which turns count. The tokens of the others stay as context and
            are left out of the loss: neither pushed nor counted in a mean over tokens.

    Returns:
        prompt_ids, prompt_mask (B, P); completion_ids, completion_mask, turn_ids (-1 on
        what does not count), tool_mask (1 where turn_ids is not -1),
        old_per_token_logps (B, C); position_ids (B, L); segments (B, L) if a row of the
        batch is packed.
    """
    for number, row in enumerate(rows):
        _check(number, row, valid.shape[1])
    prompts = [row.prompt_ids for row in rows]
    width = max(map(len, prompts))
    positions = [row.positions or range(_length(row)) for row in rows]
    batch = {
        "prompt_ids": _left(prompts, pad_id),
        "prompt_mask": _left([[1] * len(p) for p in prompts], 0),
        "completion_ids": _right([row.completion_ids for row in rows], pad_id),
        "completion_mask": _right([[1] * len(row.completion_ids) for row in rows], 0),
        "turn_ids": _right([row.turn_ids for row in rows], -1),
        "old_per_token_logps": _right([r.logprobs for r in rows], 0.0, torch.float64),
        "position_ids": _across(positions, prompts, width),
    }
    turns = batch["turn_ids"]
    counts = valid.gather(1, turns.clamp(min=0)) & (turns >= 0)
    batch["turn_ids"] = torch.where(counts, turns, -1)
    batch["tool_mask"] = counts.long()
    if any(row.segments is not None for row in rows):
        segments = [row.segments or [0] * _length(row) for row in rows]
        batch["segments"] = _across(segments, prompts, width)
    return batch


def turn_table(turns: Sequence[Sequence[float | None]]) -> tuple[Tensor, Tensor]:
    """One number a turn as (values, valid), (B, K) each; None is invalid, value 0.

    float64: two dialogues that tie on paper must tie here.
    """
    known = [[value is not None for value in row] for row in turns]
    filled = [[value or 0.0 for value in row] for row in turns]
    return _right(filled, 0.0, torch.float64), _right(known, False)


def model_inputs(batch: dict[str, Tensor], dtype: torch.dtype) -> dict[str, Tensor]:
    """The arguments of a forward pass over prompt and completion.

    Positions count the tokens that are there, so that a model computes what it computed
    without padding. A packed batch gets its mask as (B, 1, L, L), 0 or minus infinity
    as far as dtype goes, which every attention but flash takes.
    """
    real = torch.cat([batch["prompt_mask"], batch["completion_mask"]], 1)
    seen = real
    if "segments" in batch:
        allowed = attention(batch["segments"], real)
        seen = torch.zeros(allowed.shape, dtype=dtype, device=real.device)
        seen.masked_fill_(~allowed, torch.finfo(dtype).min)
    return {
        "input_ids": torch.cat([batch["prompt_ids"], batch["completion_ids"]], 1),
        "attention_mask": seen,
        "position_ids": batch["position_ids"],
    }


def token_logps(
    model, batch: dict[str, Tensor], temperature: float, dtype: torch.dtype, vocabulary
) -> tuple[Tensor, Tensor]:
    """Log-probability of each token of the policy, and the entropy before it.

    Args:
        model: a causal language model with TRL's fused head, or a wrapper of one.
        dtype, vocabulary: of the model (a wrapper hides them).

    Returns:
        (B, C) each, 0 off the policy's tokens, float32 at least.
    """
    inputs = model_inputs(batch, dtype)
    target, policy = batch["completion_ids"], batch["tool_mask"].bool()
    width = target.shape[1]
    if vocabulary > SMALL_VOCABULARY:
        labels = inputs["input_ids"].clone()
        labels[:, :-width] = -100
        labels[:, -width:].masked_fill_(~policy, -100)
        out = model(**inputs, labels=labels, fused_lm_head=True)
        return out.log_probs[:, -width:], out.entropy[:, -width:]
    # The logits at a token speak of the next one.
    out = model(**inputs, logits_to_keep=width + 1, use_cache=False)
    logits = out.logits[:, :-1][policy]
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32)) / temperature
    logps = torch.log_softmax(logits, -1)
    chosen = logps.gather(1, target[policy].unsqueeze(1)).squeeze(1)
    entropy = -(logps.exp() * logps).sum(1)
    empty = logps.new_zeros(policy.shape)
    return empty.masked_scatter(policy, chosen), empty.masked_scatter(policy, entropy)


def _check(number: int, row: Row, turns: int) -> None:
    width = len(row.completion_ids)
    for name in ("policy_mask", "turn_ids", "logprobs"):
        if len(getattr(row, name)) != width:
            raise ValueError(
                f"row {number} ({row.dialogue.scenario_id}): {name} has "
                f"{len(getattr(row, name))} entries for {width} tokens of completion"
            )
    if max(row.turn_ids, default=-1) >= turns:
        raise ValueError(
            f"row {number} ({row.dialogue.scenario_id}) has tokens of turn "
            f"{max(row.turn_ids) + 1}, the reward speaks of {turns} turns"
        )
    if (row.positions is None) != (row.segments is None):
        raise ValueError(f"row {number}: positions and segments come together")
    if not row.prompt_ids and width:
        raise ValueError(
            f"row {number} ({row.dialogue.scenario_id}): nothing stands before the "
            "first token, so it has no probability; begin the prompt with a start token"
        )


def _length(row: Row) -> int:
    return len(row.prompt_ids) + len(row.completion_ids)


def _right(rows, fill, dtype=None) -> Tensor:
    """Lists of numbers, filled up on the right: (B, longest, but at least 1)."""
    width = max(1, *map(len, rows))
    full = [list(row) + [fill] * (width - len(row)) for row in rows]
    return torch.tensor(full, dtype=dtype)


def _left(rows, fill) -> Tensor:
    width = max(map(len, rows))
    return torch.tensor([[fill] * (width - len(row)) + list(row) for row in rows])


def _across(rows, prompts, width) -> Tensor:
    """Lists over prompt and completion, shifted so that all completions begin at
    `width`: (B, L), 0 on padding."""
    pairs = zip(rows, prompts, strict=True)
    return _right([[0] * (width - len(p)) + list(row) for row, p in pairs], 0)
