"""Advantages by loops over plain numbers, to compare the trainer's with."""

import math


def outcome(rewards, groups):
    """GRPO: z of the summed reward with the sample deviation, one number a dialogue."""
    totals = [sum(r) for r in rewards]
    out = []
    for total, group in zip(totals, groups, strict=True):
        peers = [t for t, g in zip(totals, groups, strict=True) if g == group]
        mean = sum(peers) / len(peers)
        std = math.sqrt(sum((t - mean) ** 2 for t in peers) / (len(peers) - 1))
        out.append((total - mean) / (std + 1e-6))
    return out


def mixed(rewards, groups, gamma, alpha):
    """MAPO: one number a turn."""
    returns = [
        [sum(gamma ** (k - t) * r[k] for k in range(t, len(r))) for t in range(len(r))]
        for r in rewards
    ]
    every = [x for r in rewards for x in r]

    def z(x, peers):
        mean = sum(peers) / len(peers)
        std = math.sqrt(sum((p - mean) ** 2 for p in peers) / len(peers))
        return (x - mean) / (std + 1e-6) if std > 1e-12 else 0.0

    return [
        [
            alpha
            * z(
                returns[i][t],
                [
                    r[t]
                    for r, g in zip(returns, groups, strict=True)
                    if g == groups[i] and t < len(r)
                ],
            )
            + (1 - alpha) * z(rewards[i][t], every)
            for t in range(len(rewards[i]))
        ]
        for i in range(len(rewards))
    ]


def gae(rewards, values, gamma, lam):
    """PPO over one dialogue's sampled tokens: advantages, not whitened."""
    out, after = [0.0] * len(values), 0.0
    for t in reversed(range(len(values))):
        following = values[t + 1] if t + 1 < len(values) else 0.0
        after = rewards[t] + gamma * following - values[t] + gamma * lam * after
        out[t] = after
    return out


def whitened(rows):
    every = [x for row in rows for x in row]
    mean = sum(every) / len(every)
    var = sum((x - mean) ** 2 for x in every) / (len(every) - 1)
    return [[(x - mean) / math.sqrt(var + 1e-8) for x in row] for row in rows]
