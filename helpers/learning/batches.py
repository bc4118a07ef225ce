"""Rows as padded tensors, and what a model is given of them.

B rows, P tokens of prompt at the most, C of completion, L = P + C. Prompts are padded
on the left and completions on the right, as TRL lays them out, so that column P is the
first token of every completion. K turns at the most.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from helpers.learning.folding import folds, worth_folding
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
    # A dialogue that failed at its first line has no token; one keeps the softmax full.
    prompts = [row.prompt_ids or [pad_id] for row in rows]
    completions = [row.completion_ids for row in rows]
    lengths = [len(p) + len(c) for p, c in zip(prompts, completions, strict=True)]
    shifts = [max(map(len, prompts)) - len(prompt) for prompt in prompts]
    turns = _padded([row.turn_ids for row in rows], -1)
    counts = valid.gather(1, turns.clamp(min=0)) & (turns >= 0)
    positions = [r.positions or range(n) for r, n in zip(rows, lengths, strict=True)]
    batch = {
        "prompt_ids": _padded(prompts, pad_id, shifts=shifts),
        "prompt_mask": _padded([[1] * len(p) for p in prompts], 0, shifts=shifts),
        "completion_ids": _padded(completions, pad_id),
        "completion_mask": _padded([[1] * len(c) for c in completions], 0),
        "turn_ids": torch.where(counts, turns, -1),
        "tool_mask": counts.long(),
        "old_per_token_logps": _padded([r.logprobs for r in rows], 0.0, torch.float64),
        "position_ids": _padded(positions, 0, shifts=shifts),
    }
    if any(row.segments is not None for row in rows):
        segments = [r.segments or [0] * n for r, n in zip(rows, lengths, strict=True)]
        batch["segments"] = _padded(segments, 0, shifts=shifts)
    return batch


def turn_table(turns: Sequence[Sequence[float | None]]) -> tuple[Tensor, Tensor]:
    """One number a turn as (values, valid), (B, K) each; None is invalid, value 0.

    float64: two dialogues that tie on paper must tie here.
    """
    known = [[value is not None for value in row] for row in turns]
    filled = [[value or 0.0 for value in row] for row in turns]
    return _padded(filled, 0.0, torch.float64), _padded(known, False, torch.bool)


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
    if vocabulary > SMALL_VOCABULARY:
        inputs, policy = model_inputs(batch, dtype), batch["tool_mask"].bool()
        width = policy.shape[1]
        labels = inputs["input_ids"].clone()
        labels[:, :-width] = -100
        labels[:, -width:].masked_fill_(~policy, -100)
        out = model(**inputs, labels=labels, fused_lm_head=True)
        return out.log_probs[:, -width:], out.entropy[:, -width:]
    return of_tokens(policy_logps(model, batch, temperature, dtype), batch)


def policy_logps(
    model, batch: dict[str, Tensor], temperature: float, dtype: torch.dtype
) -> Tensor:
    """The distribution before each token of the policy.

    Returns:
        (N, V) log-probabilities, row after row, N tokens of the policy in the batch,
        float32 at least.
    """
    policy = batch["tool_mask"].bool()
    if not worth_folding(batch):
        logits = _logits(model, batch, dtype)[:, :-1][policy]
    else:
        parts, rows = [], []
        for fold in folds(batch):
            logits = _logits(model, fold.batch, dtype)[:, fold.before]
            parts.append(logits[fold.batch["tool_mask"].bool()])
            rows.append(fold.row_of_token())
        logits = torch.cat(parts)[torch.cat(rows).argsort(stable=True)]
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32)) / temperature
    return torch.log_softmax(logits, -1)


def _logits(model, batch: dict[str, Tensor], dtype: torch.dtype) -> Tensor:
    """(B, C + 1, V), from the last token of the prompt on: each speaks of the next."""
    keep = batch["completion_ids"].shape[1] + 1
    inputs = model_inputs(batch, dtype)
    return model(**inputs, logits_to_keep=keep, use_cache=False).logits


def of_tokens(logps: Tensor, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
    """What `token_logps` returns, from the distributions of `policy_logps`."""
    target, policy = batch["completion_ids"], batch["tool_mask"].bool()
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
    if [turn >= 0 for turn in row.turn_ids] != [bool(m) for m in row.policy_mask]:
        raise ValueError(
            f"row {number} ({row.dialogue.scenario_id}): turn_ids and policy_mask "
            "disagree on which tokens the policy sampled"
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


def _padded(rows, fill, dtype=torch.long, shifts=None) -> Tensor:
    """Lists of numbers as (B, widest, but at least 1). shifts: places left free before
    each row, none by default."""
    shifts = shifts or [0] * len(rows)
    ends = [shift + len(row) for shift, row in zip(shifts, rows, strict=True)]
    out = torch.full((len(rows), max(1, *ends)), fill, dtype=dtype)
    table = out.numpy()  # the same memory; torch converts lists more slowly
    for line, row, shift, end in zip(table, rows, shifts, ends, strict=True):
        line[shift:end] = row
    return out
