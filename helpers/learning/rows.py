"""A dialogue as training tokens: ids, policy mask, turn ids, and who may see what.

One dialogue is one row. The tokens are those that the policy saw and sampled, put end
to end and never tokenised again.

Thoughts that are stripped from the history (RLVER: only the text after the closing tag
enters later turns) make two branches after each user line: what was sampled, thought
and reply, which is trained on and which nothing later sees; and the reply alone, which
is the history of all later turns. Both stand in the same row:

    prompt | thought reply | reply user-line | thought reply | reply user-line | ...
    trunk  | branch 1      | trunk           | branch 2      | trunk

`segments` says which (0 trunk, t branch of turn t), `positions` counts as if only the
own past stood there. With the mask of `attention` a causal model computes for each
sampled token exactly what it computed when it sampled it, in one pass.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from helpers.sandbox.dialogue import Dialogue


@dataclass(frozen=True, slots=True)
class Row:
    """One dialogue of L = P + C tokens.

    prompt_ids: (P,) all before the first token that the policy chose.
    completion_ids, policy_mask, turn_ids, logprobs: (C,) each. policy_mask: 1 on tokens
        that the policy sampled. turn_ids: 0..T-1 there, -1 elsewhere. logprobs: natural
        log, as sampled, 0.0 off the mask.
    dialogue: what was said and felt.
    positions, segments: (L,) as above; both None for a plain row, in which every token
        sees all tokens before it.
    """

    prompt_ids: Sequence[int]
    completion_ids: Sequence[int]
    policy_mask: Sequence[int]
    turn_ids: Sequence[int]
    logprobs: Sequence[float]
    dialogue: Dialogue
    positions: Sequence[int] | None = None
    segments: Sequence[int] | None = None


def attention(segments: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
    """Who sees whom: (B, 1, L, L), True where token i (third axis) may see token j.

    Args:
        segments: (B, L) whole numbers, 0 trunk. real: (B, L), 0 on padding.

    A padding token sees itself, so that no row of the softmax is empty.
    """
    length = segments.shape[1]
    own = segments.unsqueeze(2) == segments.unsqueeze(1)
    seen = (own | (segments == 0).unsqueeze(1)) & real.bool().unsqueeze(1)
    seen &= torch.ones(length, length, dtype=torch.bool, device=seen.device).tril()
    seen |= torch.eye(length, dtype=torch.bool, device=seen.device)
    return seen.unsqueeze(1)


def first_failure(rows: Sequence[Row]) -> str:
    """ ": role: detail" of the first dialogue that ended in error, "" without one."""
    failures = [row.dialogue.failure for row in rows if row.dialogue.failure]
    return f": {failures[0].role}: {failures[0].detail}" if failures else ""
