"""What the trainer does, in plain PyTorch: no TRL, no padding, no masks, no batches.

Each dialogue is run on its own; in a packed row each turn is run on its own, behind the
history that its policy saw. Slow and short: the trainer must do the same.
"""

from dataclasses import dataclass, field

import torch
from torch.optim import AdamW

from helpers.learning.rows import Row


@dataclass
class Loop:
    """policy, critic (with a `body` and a `head`), and the settings of the loss.

    losses, gradients: what each update had, the gradients before clipping.
    """

    policy: torch.nn.Module
    lr: float
    critic: torch.nn.Module | None = None
    critic_lr: float = 0.0
    low: float = 0.2
    high: float = 0.28
    delta: float = 10.0
    entropy_coef: float = 0.0
    max_norm: float = 1.0
    value_clip: float = 0.5
    losses: list = field(default_factory=list)
    gradients: list = field(default_factory=list)

    def __post_init__(self):
        self.parts = [list(self.policy.parameters())]
        if self.critic is not None:
            self.parts.append(list(self.critic.parameters()))
        rates = (self.lr, self.critic_lr)[: len(self.parts)]
        pairs = zip(self.parts, rates, strict=True)
        self.optimizers = [AdamW(part, rate, weight_decay=0.0) for part, rate in pairs]

    def update(self, rows, advantages, old_values=None, returns=None, policy=True):
        """One minibatch. advantages, old_values, returns: a list of numbers a row, one
        a sampled token. policy: False while the critic warms up."""
        tokens = sum(map(len, advantages))
        loss = doubles([0.0]).sum()
        for i, row in enumerate(rows if policy else []):
            loss = loss - self.gain(row, doubles(advantages[i])).sum() / tokens
        for i, row in enumerate(rows if self.critic else []):
            target, before = doubles(returns[i]), doubles(old_values[i])
            loss = loss + self.error(row, target, before).sum() / tokens
        for optimizer in self.optimizers:
            optimizer.zero_grad()
        loss.backward()
        grads = [p.grad for part in self.parts for p in part]
        every = zip(grads, sum(self.parts, []), strict=True)
        self.gradients.append([g.clone() if g is not None else 0 * p for g, p in every])
        for parameters, optimizer in zip(self.parts, self.optimizers, strict=True):
            torch.nn.utils.clip_grad_norm_(parameters, self.max_norm)
            optimizer.step()
        self.losses.append(loss.item())

    def gain(self, row: Row, given):
        """The clipped gain of each sampled token, and its share of the entropy."""
        logp, entropy = self.of_tokens(row)
        old = [p for p, m in zip(row.logprobs, row.policy_mask, strict=True) if m]
        ratio = (logp - doubles(old)).exp()
        clipped = ratio.clamp(1 - self.low, 1 + self.high)
        gain = torch.min(ratio.clamp(max=self.delta) * given, clipped * given)
        return gain + self.entropy_coef * entropy

    def error(self, row: Row, target, before):
        """Half the squared error of each value, the larger of free and clipped."""
        value = self.values(row)
        near = before + (value - before).clamp(-self.value_clip, self.value_clip)
        return 0.5 * torch.max((value - target) ** 2, (near - target) ** 2)

    def of_tokens(self, row: Row):
        """Log-probability and entropy of each sampled token, in order."""
        logps, entropies = {}, {}
        for ids, places in pieces(row):
            table = torch.log_softmax(self.policy(torch.tensor([ids])).logits[0], -1)
            for token, place in places.items():
                before = table[place - 1]
                logps[token] = before[ids[place]]
                entropies[token] = -(before.exp() * before).sum()
        return in_order(logps), in_order(entropies)

    def values(self, row: Row):
        """The critic's value before each sampled token, in order."""
        out = {}
        for ids, places in pieces(row):
            hidden = self.critic.body(torch.tensor([ids])).last_hidden_state[0]
            for token, place in places.items():
                out[token] = self.critic.head(hidden[place - 1])[0]
        return in_order(out)


def pieces(row: Row):
    """(ids, {sampled token of the row: its place in ids}) of each run of the model: one
    for a plain row; for a packed one, the trunk, and each branch behind its part of the
    trunk."""
    ids, start = [*row.prompt_ids, *row.completion_ids], len(row.prompt_ids)
    sampled = [start + i for i, m in enumerate(row.policy_mask) if m]
    segments = row.segments or [0] * len(ids)
    for part in sorted({segments[i] for i in sampled}):
        own = [i for i, segment in enumerate(segments) if segment == part]
        trunk = [i for i in range(own[0]) if segments[i] == 0]
        seen = trunk + own if part else own
        yield [ids[i] for i in seen], {i: seen.index(i) for i in sampled if i in own}


def in_order(found: dict):
    return torch.stack([found[token] for token in sorted(found)])


def doubles(numbers):
    return torch.tensor(numbers, dtype=torch.float64)
