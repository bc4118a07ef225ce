"""What the machine at hand can do for training: number format, rows at a time.

A recipe that is planned on a machine without a GPU is the one of a machine with a
current GPU, so that plans and folders agree.
"""

import math
import os

import torch

from helpers.learning.processes import LAUNCH

# Whole copies: for LoRA, and for PPO, whose critic is not spread; else spread weights.
WHOLE = "configs/accelerate/ddp_one_node.yaml"
SPREAD = "configs/accelerate/fsdp_one_node.yaml"
ROWS = 4  # of a forward pass on one GPU


def has_bf16(device: str) -> bool:
    """Whether to train with bf16 autocast: on GPUs that compute in it (Ampere and
    later), else float32. float16 needs scaled losses, which the kit does not do."""
    if device == "cpu":
        return False
    return not torch.cuda.is_available() or torch.cuda.is_bf16_supported(False)


def micro_batch(device: str, minibatch: int) -> int | None:
    """Rows of a forward pass; None is a whole minibatch. The loss is the same."""
    if device == "cpu":
        return None
    return 1 if os.environ.get(LAUNCH) else math.gcd(ROWS, minibatch)
