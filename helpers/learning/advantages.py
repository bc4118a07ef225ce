"""Credit: who gets how much of what a dialogue earned, as pure functions on tensors.

Turn tensors are (B, K), B dialogues by K turns, token tensors (B, L). Results have the
dtype of the input, float32 or float64. Build rewards in float64: two dialogues that
tie on paper differ by 1e-6 in float32, and next to eps = 1e-6 that is an advantage.

One set of rules holds for every estimator:

- `valid` (B, K) is True where the turn was reached and judged. What stands elsewhere
  is never read, may be NaN, and gets 0. A valid entry that is not finite is an error.
- A dialogue without a valid turn gets 0 and enters no statistic.
- A deviation divides by n - ddof, and eps is added to it. Alone in its group, or in a
  group whose members are all equal: exactly 0, whatever eps.
- group_ids (B,) are any whole numbers: one a scenario, never a position.

An invalid turn still has tokens. Here its turn advantage is 0, and an outcome advantage
covers them like the rest of the dialogue; the trainer leaves them out of the loss
(`batches.collate`).

Where sources differ. ddof: population (0) in the worked table of MAPO's code note,
sample (1) in verl's and TRL's GRPO. eps: 1e-6 verl, 1e-4 TRL, the papers unknown. A
group of one: MAPO's code note masks the tokens or keeps the raw value; verl keeps the
raw value; here 0.

Paper: MAPO (later MICA), arXiv 2603.06194; RLVER, arXiv 2507.03112; RAPO, arXiv
2603.15434. MAPO's released code leaves its estimators out and its equations were not at
hand: the forms here come from secondary readings, gathered in its fact sheet.
"""

from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import pad

from helpers.learning.groups import (
    readable,
    refuse,
    same_shape,
    standardised,
    statistics,
)


def turn_returns(rewards: Tensor, valid: Tensor, gamma: float) -> Tensor:
    """Discounted sum of the rewards from each turn to the end, no bootstrapping.

    Discounting is by turn, whatever its number of tokens. An invalid turn carries no
    reward and spends no discount step: with one between two valid turns, the first
    still sees the second at gamma, not at gamma squared.

    Args:
        rewards: (B, K). valid: (B, K). gamma: in [0, 1].

    Returns:
        (B, K), 0 at invalid turns.

    Paper: fact sheet of MAPO, 1.3; gamma is 0.85 in most released scripts of v4 and all
    of v5, and unknown in the paper.
    """
    _fraction(gamma=gamma)
    valid = readable(rewards, valid)
    returns = torch.zeros_like(rewards)
    later = rewards.new_zeros(len(rewards))
    for k in reversed(range(rewards.shape[1])):
        later = torch.where(valid[:, k], rewards[:, k] + gamma * later, later)
        returns[:, k] = torch.where(valid[:, k], later, 0.0)
    return returns


def outcome_advantages(
    rewards: Tensor, valid: Tensor, group_ids: Tensor, ddof: int = 1, eps: float = 1e-6
) -> Tensor:
    """GRPO: a dialogue's summed reward against its group, one number a dialogue.

    A turn that could not be judged is missing from the sum. To leave out a dialogue
    with such a turn, mark its whole row invalid. A terminal reward is a single column.

    Args:
        rewards: (B, K). valid: (B, K). group_ids: (B,).

    Returns:
        (B,), to be given to every token of the dialogue.

    Paper: GRPO as in verl (sample deviation, 1e-6); fact sheets of RLVER, B4, and MAPO.
    """
    score, known = _scores(rewards, valid)
    return standardised(score, known, group_ids, "group", ddof, eps).squeeze(1)


def leave_one_out_advantages(
    rewards: Tensor, valid: Tensor, group_ids: Tensor
) -> Tensor:
    """A dialogue's summed reward minus the mean of the others in its group.

    Args and Returns as in `outcome_advantages`; no deviation is divided by.

    Paper: RLOO, arXiv 2402.14740.
    """
    score, known = _scores(rewards, valid)
    mean, _, n = statistics(score, known, group_ids, "group")
    # x minus the mean of the other n - 1 is (x - mean) n / (n - 1).
    result = torch.where(n > 1, (score - mean) * n / (n - 1), 0.0)
    return result.squeeze(1).to(rewards.dtype)


def turn_advantages(
    returns: Tensor, valid: Tensor, group_ids: Tensor, ddof: int = 0, eps: float = 1e-6
) -> Tensor:
    """Delayed credit: a turn's return against the same turn of the group's dialogues.

    A dialogue that ended before a turn is absent from that turn's statistics, so late
    turns have small groups; a group of two gives +-1 however small the gap.

    Args:
        returns: (B, K) of `turn_returns`; rewards instead give grpo_multiturn of MAPO's
            code note. valid: (B, K). group_ids: (B,).

    Returns:
        (B, K).

    Paper: fact sheet of MAPO, 1.4, A^turn.
    """
    return standardised(returns, valid, group_ids, "turn", ddof, eps)


def immediate_advantages(
    rewards: Tensor,
    valid: Tensor,
    group_ids: Tensor,
    scope: Literal["batch", "group"] = "batch",
    ddof: int = 0,
    eps: float = 1e-6,
) -> Tensor:
    """Immediate credit: a turn's reward against all turns of the batch or its group.

    Each turn counts once. verl's whitening weighs a turn by its tokens; for that give
    this function tokens (`spread` rewards, mask) in place of turns.

    Args:
        rewards: (B, K). valid: (B, K). group_ids: (B,).
        scope: "batch" as MAPO's v1 names it, "group" as readings of v2 and v3 do.

    Returns:
        (B, K).

    Paper: fact sheet of MAPO, 1.4, A^imm; "group" is also v2 of its code note (2.3).
    """
    if scope not in ("batch", "group"):
        raise ValueError(f'scope = {scope!r}: choose "batch" or "group"')
    return standardised(rewards, valid, group_ids, scope, ddof, eps)


def mixed_advantages(
    rewards: Tensor,
    valid: Tensor,
    group_ids: Tensor,
    gamma: float = 0.85,
    alpha: float = 0.5,
    scope: Literal["batch", "group"] = "batch",
    ddof: int = 0,
    eps: float = 1e-6,
) -> Tensor:
    """MAPO: alpha times the turn part plus 1 - alpha times the immediate part.

    alpha 1 and 0 give one part alone, bit for bit. The mix is not whitened again: no
    source reports that it is.

    Args:
        rewards: (B, K). valid: (B, K). group_ids: (B,). alpha: in [0, 1].

    Returns:
        (B, K).

    Paper: fact sheet of MAPO, 1.4; alpha 0.5 from one secondary note, 0.4 in the one
    released script that states it.
    """
    _fraction(alpha=alpha)
    returns = turn_returns(rewards, valid, gamma)
    turn = turn_advantages(returns, valid, group_ids, ddof, eps)
    immediate = immediate_advantages(rewards, valid, group_ids, scope, ddof, eps)
    return alpha * turn + (1 - alpha) * immediate


def reinforce_pp_advantages(
    rewards: Tensor, valid: Tensor, gamma: float, ddof: int = 0, eps: float = 1e-6
) -> Tensor:
    """REINFORCE++ by turns: a turn's return against all turns of the batch.

    Args:
        rewards: (B, K). valid: (B, K). gamma: in [0, 1].

    Returns:
        (B, K).

    Paper: fact sheet of MAPO, section 4; verl's own whitens over tokens, so that long
    turns weigh more.
    """
    returns = turn_returns(rewards, valid, gamma)
    return standardised(returns, valid, None, "batch", ddof, eps)


def rank_rewards(ranks: Tensor, group_ids: Tensor) -> Tensor:
    """Ranks inside a group to rewards: best 1, worst 0, evenly spaced between.

    Tied candidates share the mean of the places that they take, whether ties are
    numbered 1, 1, 3 or 1, 1, 2.

    Args:
        ranks: (B,), 1 = best, NaN where missing. group_ids: (B,).

    Returns:
        (B,) in [0, 1]. NaN in the whole group if one rank is missing, since a place
        then has no meaning, and in a group of one.

    Raises:
        ValueError: a rank lies outside 1..size of its group.

    Paper: fact sheet of RAPO, 9.3, r = (G - rank) / (G - 1): a reconstruction, the map
    of the paper is unknown.
    """
    ranks = ranks if ranks.is_floating_point() else ranks.double()
    same_shape(group_ids, ranks.shape, "group_ids")
    same = group_ids.unsqueeze(1) == group_ids
    size = same.sum(1)
    missing = ranks.isnan()
    outside = ~missing & ((ranks < 1) | (ranks > size))
    refuse(outside, ranks, "outside 1..size of its group")
    ahead = (same & (ranks < ranks.unsqueeze(1))).sum(1)
    level = (same & (ranks == ranks.unsqueeze(1))).sum(1)
    place = ahead + (level + 1).to(ranks.dtype) / 2
    known = (size > 1) & ~(same & missing).any(1)
    reward = (size - place) / (size - 1)
    return torch.where(known, reward, torch.nan)


def rank_advantages(
    ranks: Tensor, group_ids: Tensor, ddof: int = 1, eps: float = 1e-4
) -> Tensor:
    """Ranks to advantages inside each group.

    Without ties every group of one size gets the same set of numbers, so no group is
    silent and none says how hard its scenario was. All tied, one missing rank, or a
    group of one: 0 throughout the group.

    Args:
        ranks: (B,), 1 = best, NaN where missing. group_ids: (B,).

    Returns:
        (B,).

    Paper: fact sheet of RAPO, 9.4 and 9.9; ddof and eps of TRL's GRPO.
    """
    rewards = rank_rewards(ranks, group_ids).unsqueeze(1)
    known = ~rewards.isnan()
    return standardised(rewards, known, group_ids, "group", ddof, eps).squeeze(1)


def gae(
    rewards: Tensor,
    values: Tensor,
    mask: Tensor,
    gamma: float,
    lam: float,
    skip_user: bool = True,
) -> Tensor:
    """Generalised advantage estimates over the tokens of a dialogue.

    The dialogue ends with its last policy token: the value after it is 0, and nothing
    that stands behind it (padding, a last user line) is read. The critic's target is
    the result plus `values`.

    Args:
        rewards: (B, L), read on policy tokens only. values: (B, L) of the critic.
        mask: (B, L), 1 on policy tokens. gamma, lam: in [0, 1], a step each token.
        skip_user: True jumps from a policy token to the next one, over user tokens,
            whose values are not read (present verl). False takes a step on every token
            (RLVER's released fork) and returns estimates on user tokens too. With
            gamma = lam = 1 both are the sum of later rewards minus the value.

    Returns:
        (B, L), computed in float64; 0 wherever no step is taken.

    Paper: GAE, arXiv 1506.02438; fact sheet of RLVER, B3 and B4 (gamma = lam = 1).
    """
    _fraction(gamma=gamma, lam=lam)
    mask = readable(rewards, mask)
    steps = mask if skip_user else mask.flip(1).cumsum(1).flip(1) > 0
    readable(values, steps)
    length = mask.shape[1]
    # Steps packed to the left; all else lands in column `length`, which is cut off.
    place = torch.where(steps, steps.cumsum(1) - 1, length)

    def packed(x):
        row = x.new_zeros(len(x), length + 1, dtype=torch.float64)
        return row.scatter(1, place, x.double())[:, :length]

    value = packed(values)
    reward = packed(torch.where(mask, rewards, 0.0))
    total = reward + gamma * pad(value[:, 1:], (0, 1)) - value
    # A_t = d_t + c A_{t+1} by doubling: each round sums twice as many steps ahead, so
    # log2(L) operations on (B, L) replace a loop over L.
    reach = 1
    while reach < length:
        ahead = (gamma * lam) ** reach * total[:, reach:]
        total = total + pad(ahead, (0, reach))
        reach *= 2
    return pad(total, (0, 1)).gather(1, place).to(rewards.dtype)


def whiten(x: Tensor, mask: Tensor, ddof: int = 1, eps: float = 1e-8) -> Tensor:
    """Mean 0 and deviation 1 over the masked entries: PPO's last step.

    eps is added to the variance here, as verl does; all other functions of this module
    add theirs to the deviation.

    Args:
        x: (B, L). mask: (B, L), 1 on policy tokens.

    Returns:
        (B, L), 0 off the mask, and 0 throughout if all masked entries are equal.

    Paper: verl's masked_whiten (sample variance, 1e-8), used by RLVER.
    """
    mean, std, _ = statistics(x, mask, None, "batch", ddof)
    scale = torch.rsqrt(std.square() + eps)
    return torch.where(std > 0, (x - mean) * scale, 0.0).to(x.dtype)


def spread(turn_values: Tensor, turn_ids: Tensor) -> Tensor:
    """Every token gets the number of its turn.

    Args:
        turn_values: (B, K). turn_ids: (B, L) whole numbers, -1 off the policy's tokens.

    Returns:
        (B, L), 0 where turn_ids is -1.

    Raises:
        ValueError: a turn id is not one of -1..K-1.
    """
    last = turn_values.shape[1] - 1
    refuse((turn_ids < -1) | (turn_ids > last), turn_ids, f"outside -1..{last}")
    values = turn_values.gather(1, turn_ids.long().clamp(min=0))
    return torch.where(turn_ids >= 0, values, 0.0)


def _scores(rewards, valid) -> tuple[Tensor, Tensor]:
    """Sum of the valid rewards (B, 1), and whether there is one (B, 1)."""
    valid = readable(rewards, valid)
    kept = torch.where(valid, rewards, 0.0)
    return kept.sum(1, keepdim=True), valid.any(1, keepdim=True)


def _fraction(**named) -> None:
    for name, value in named.items():
        if not 0 <= value <= 1:
            raise ValueError(f"{name} = {value} is outside [0, 1]")
