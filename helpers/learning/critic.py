"""PPO's critic: how much a dialogue is still going to earn, said before every token.

The critic is a copy of the policy's body with one number for a head. It learns with its
own rate, its own gradient limit and its own file in each checkpoint.

Paper: RLVER, arXiv 2507.03112; the released script has value clipping 0.5 and a critic
rate of five times the actor's (fact sheet, B3).
"""

import copy
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from helpers.learning.batches import model_inputs

FILE = "critic.safetensors"


@dataclass(frozen=True)
class CriticSettings:
    """How the critic learns.

    learning_rate: of AdamW, on the policy's schedule. value_clip: how far a value may
        move from what it was when the dialogue was rolled out and still be credited.
    max_grad_norm: of the critic's gradient alone. warmup_steps: generation batches at
        the start in which only the critic learns; the schedule runs on meanwhile.
    """

    learning_rate: float
    value_clip: float = 0.5
    max_grad_norm: float = 1.0
    warmup_steps: int = 0


class Critic(nn.Module):
    """The policy's body with a head of one number, which starts at 0 everywhere."""

    def __init__(self, policy):
        """policy: a causal language model, bare or with LoRA; copied, not changed.

        A policy with LoRA gives a critic with its own copy of the adapter on a frozen
        body.
        """
        super().__init__()
        if hasattr(policy, "peft_config"):
            policy = policy.get_base_model()
        self.body = copy.deepcopy(policy.base_model)
        width = policy.config.get_text_config().hidden_size
        exact = torch.promote_types(policy.dtype, torch.float32)
        self.head = nn.Linear(width, 1, dtype=exact)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        """Values of a collated batch: (B, C), before the token of each column.

        Off the policy's tokens they mean nothing, least of all in a packed row, where
        the token on the left may belong to another branch.
        """
        inputs = model_inputs(batch, self.body.dtype)
        hidden = self.body(**inputs, use_cache=False).last_hidden_state
        width = batch["completion_ids"].shape[1]
        hidden = hidden[:, -width - 1 : -1].to(self.head.weight.dtype)
        with torch.autocast(hidden.device.type, enabled=False):
            return self.head(hidden).squeeze(-1)

    def trained(self) -> list[nn.Parameter]:
        return [p for p in self.parameters() if p.requires_grad]

    def save(self, folder: Path) -> None:
        """Write the weights that learn into a checkpoint folder."""
        learn = {n: p for n, p in self.named_parameters() if p.requires_grad}
        state = {k: v.detach().contiguous().cpu() for k, v in learn.items()}
        save_file(state, Path(folder) / FILE)

    def load(self, folder: Path) -> None:
        """Read what `save` wrote.

        Raises:
            FileNotFoundError: the checkpoint has no critic.
        """
        path = Path(folder) / FILE
        if not path.exists():
            raise FileNotFoundError(
                f"{path} is missing: this checkpoint was written by a run without a "
                "critic; start PPO in an empty output folder"
            )
        learn = {n: p for n, p in self.named_parameters() if p.requires_grad}
        state = load_file(path)
        if state.keys() != learn.keys():
            raise ValueError(f"{path} holds another critic: start in an empty folder")
        self.load_state_dict(state, strict=False)  # a frozen body is the policy's


def value_loss(
    values: Tensor, old_values: Tensor, returns: Tensor, mask: Tensor, clip: float
) -> tuple[Tensor, Tensor]:
    """Half the squared error, the larger of the free and the clipped one.

    Args:
        all (B, C); mask: 1 on tokens that count. clip: in units of the return.

    Returns:
        loss: mean over the mask. clipped: share of the mask where the clip decides.

    Paper: PPO's clipped value loss as in verl.
    """
    near = old_values + (values - old_values).clamp(-clip, clip)
    free, held = (values - returns).square(), (near - returns).square()
    count = mask.sum().clamp(min=1)
    loss = 0.5 * (torch.max(free, held) * mask).sum() / count
    return loss, ((held > free) * mask).sum() / count


def explained_variance(values: Tensor, returns: Tensor, mask: Tensor) -> float:
    """1 - Var(returns - values) / Var(returns) over the mask; NaN without spread."""
    kept = mask.bool()
    target, error = returns[kept], (returns - values)[kept]
    if len(target) < 2 or target.std() == 0:
        return float("nan")
    return float(1 - error.var() / target.var())
