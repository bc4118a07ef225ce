"""Which estimator turns rewards into token advantages, and with which settings.

`Credit` is the method's name in a run: GRPO, MAPO and its halves, REINFORCE++, leave
one out, PPO's GAE. It holds plain values only, so that it can be stored, hashed and
printed beside the paper's. The arithmetic stands in `advantages`.

The statistics run over all dialogues that are handed in: the trainer hands in those of
all processes.
"""

from dataclasses import asdict, dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from helpers.learning.advantages import (
    gae,
    immediate_advantages,
    leave_one_out_advantages,
    mixed_advantages,
    outcome_advantages,
    reinforce_pp_advantages,
    spread,
    turn_advantages,
    turn_returns,
    whiten,
)

ESTIMATORS = (
    "outcome", "turn", "immediate", "mixed", "reinforce_pp", "leave_one_out", "gae",
)  # fmt: skip


class TokenCredit(NamedTuple):
    """advantages: (B, L), 0 off the policy's tokens. returns: (B, L), what a critic
    should have said, None without one."""

    advantages: Tensor
    returns: Tensor | None


@dataclass(frozen=True)
class Credit:
    """One advantage estimator with its settings.

    estimator: "outcome" GRPO, one number a dialogue; "turn" returns against the same
        turn of the group; "immediate" rewards against the batch or the group; "mixed"
        MAPO, alpha of "turn" and 1 - alpha of "immediate"; "reinforce_pp" returns
        against the batch; "leave_one_out"; "gae" PPO, with a critic.
    gamma: discount, a turn each; a token each for "gae". lam: of "gae".
    alpha: of "mixed". scope: "batch" or "group", of "immediate" and "mixed".
    ddof, eps: of the deviation; ddof None = 1 for "outcome", 0 for all others, as the
        papers' code has them. "gae" whitens with the constants of `whiten`.
    skip_user: whether "gae" jumps over the user's tokens.
    """

    estimator: str
    gamma: float = 0.85
    lam: float = 1.0
    alpha: float = 0.5
    scope: str = "batch"
    ddof: int | None = None
    eps: float = 1e-6
    skip_user: bool = True

    def __post_init__(self):
        if self.estimator not in ESTIMATORS:
            raise ValueError(
                f"estimator {self.estimator!r} is unknown; choose one of "
                f"{', '.join(ESTIMATORS)}"
            )
        if self.scope not in ("batch", "group"):
            raise ValueError(f"scope {self.scope!r}: choose batch or group")

    @property
    def compares_group(self) -> bool:
        """Whether a dialogue alone in its group would have no advantage at all."""
        alone = self.estimator == "immediate" and self.scope == "group"
        return alone or self.estimator in ("outcome", "turn", "mixed", "leave_one_out")

    @property
    def needs_critic(self) -> bool:
        return self.estimator == "gae"

    def describe(self) -> dict:
        return asdict(self)

    def __call__(
        self,
        rewards: Tensor,
        valid: Tensor,
        group_ids: Tensor,
        turn_ids: Tensor,
        values: Tensor | None = None,
    ) -> TokenCredit:
        """Advantages of every token.

        Args:
            rewards, valid: (B, K) by turns. group_ids: (B,). turn_ids: (B, L), the turn
                of each token that counts, -1 elsewhere. values: (B, L), what the critic
                expects before each token, for "gae" only.
        """
        if self.needs_critic != (values is not None):
            raise ValueError('values of a critic belong to the estimator "gae"')
        if values is not None:
            mask = turn_ids >= 0
            earned = token_rewards(rewards, valid, turn_ids)
            raw = gae(
                earned, values.to(earned), mask, self.gamma, self.lam, self.skip_user
            )
            return TokenCredit(whiten(raw, mask), (raw + values) * mask)
        by_turn = self._by_turn(rewards, valid, group_ids)
        return TokenCredit(spread(by_turn, turn_ids), None)

    def _by_turn(self, rewards, valid, group_ids) -> Tensor:
        """(B, K)."""
        batch = rewards, valid, group_ids
        ddof = self.ddof or 0
        match self.estimator:
            case "outcome":
                ddof = 1 if self.ddof is None else self.ddof
                score = outcome_advantages(*batch, ddof=ddof, eps=self.eps)
                return score.unsqueeze(1).expand(rewards.shape)
            case "leave_one_out":
                score = leave_one_out_advantages(*batch)
                return score.unsqueeze(1).expand(rewards.shape)
            case "turn":
                returns = turn_returns(rewards, valid, self.gamma)
                return turn_advantages(returns, valid, group_ids, ddof, self.eps)
            case "immediate":
                return immediate_advantages(*batch, self.scope, ddof, self.eps)
            case "mixed":
                return mixed_advantages(
                    *batch, self.gamma, self.alpha, self.scope, ddof, self.eps
                )
            case "reinforce_pp":
                return reinforce_pp_advantages(
                    rewards, valid, self.gamma, ddof, self.eps
                )


def token_rewards(rewards: Tensor, valid: Tensor, turn_ids: Tensor) -> Tensor:
    """Each turn's reward on the last of its tokens.

    Args:
        rewards, valid: (B, K). turn_ids: (B, L), -1 off the policy's tokens.

    Returns:
        (B, L).

    Raises:
        ValueError: a reward other than 0 belongs to a turn without tokens.
    """
    length, turns = turn_ids.shape[1], rewards.shape[1]
    place = torch.arange(length, device=turn_ids.device).expand_as(turn_ids)
    # A column more on each side: for tokens of no turn, and for turns of no token.
    last = turn_ids.new_full((len(turn_ids), turns + 1), length)
    last.scatter_reduce_(1, turn_ids + 1, place, "amax", include_self=False)
    last = torch.where(valid, last[:, 1:], length)
    earned = torch.where(valid, rewards, 0.0)
    lost = (last == length) & (earned != 0)
    if lost.any():
        row, turn = lost.nonzero()[0].tolist()
        raise ValueError(
            f"row {row}: turn {turn + 1} has a reward but no token of the policy"
        )
    out = rewards.new_zeros(len(rewards), length + 1).scatter_add(1, last, earned)
    return out[:, :length]
