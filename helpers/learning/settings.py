"""How long, on how much and how fast a policy learns; wrong sizes are refused here.

`TrainerSettings` holds plain values only, so that a run can be stored, hashed and
printed beside the paper's. Everything in this module can be called before a model is
loaded.
"""

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from helpers.learning.credit import Credit

# How long a process waits for the slowest, which may hold its dialogues with a user
# behind an endpoint, or check the policy alone.
PATIENCE_S = 24 * 3600


@dataclass(frozen=True)
class TrainerSettings:
    """How long, on how much, and how fast the policy learns.

    steps: generation batches. dialogues: in each, over all processes. group_size:
        dialogues of one scenario in it; 1 for PPO. minibatches: updates a step.
    micro_batch: rows a forward pass; None = a whole minibatch of the process.
    learning_rate, schedule (as transformers names it), warmup_steps, weight_decay: of
        AdamW. max_grad_norm: gradients are scaled down to it.
    epsilon_low, epsilon_high: a ratio is clipped to 1 - low .. 1 + high. delta: no
        ratio counts for more, even with a negative advantage (dual clip). beta: weight
        of the KL to the start. entropy_coef: weight of the entropy bonus.
    loss_type: TRL's name. "bnpo" is here the mean over the policy's tokens of an
        update, the token mean of the papers' code, whatever the number of processes and
        micro-batches; a long reply weighs more than a short one.
    temperature: of the sampling, by which the logits are divided here too.
    save_every: steps between checkpoints, None = never; the last two are kept.
    device: "cpu" or "cuda". bf16: autocast. gradient_checkpointing: less memory.
    """

    steps: int
    learning_rate: float
    dialogues: int = 64
    group_size: int = 8
    minibatches: int = 2
    micro_batch: int | None = None
    schedule: str = "constant_with_warmup"
    warmup_steps: int = 0
    weight_decay: float = 0.0
    max_grad_norm: float = 1.0
    epsilon_low: float = 0.2
    epsilon_high: float = 0.28
    delta: float | None = 10.0
    beta: float = 0.0
    entropy_coef: float = 0.0
    loss_type: str = "bnpo"
    temperature: float = 1.0
    seed: int = 0
    save_every: int | None = None
    device: str = "cpu"
    bf16: bool = False
    gradient_checkpointing: bool = False

    def __post_init__(self):
        for name, least in (
            ("steps", 1), ("dialogues", 2), ("group_size", 1), ("minibatches", 1),
        ):  # fmt: skip
            if getattr(self, name) < least:
                raise ValueError(
                    f"{name} = {getattr(self, name)}: give {least} or more"
                )
        _divides("dialogues", self.dialogues, "group_size", self.group_size)
        _divides("dialogues", self.dialogues, "minibatches", self.minibatches)
        minibatch = self.dialogues // self.minibatches
        if self.micro_batch is not None:
            _divides(
                "dialogues / minibatches", minibatch, "micro_batch", self.micro_batch
            )

    def describe(self) -> dict:
        return asdict(self)

    def grpo(self, output: Path, processes: int) -> dict:
        """The same under the names of TRL's GRPOConfig, for one of the processes."""
        rows = self.dialogues // self.minibatches // processes
        micro = self.micro_batch or rows
        return {
            "output_dir": str(output),
            "seed": self.seed,
            "max_steps": self.steps * self.minibatches,
            "per_device_train_batch_size": micro,
            "gradient_accumulation_steps": rows // micro,
            "steps_per_generation": self.minibatches * (rows // micro),
            "num_generations": self.dialogues,  # TRL refuses 1; the trainer corrects it
            "shuffle_dataset": False,
            "remove_unused_columns": False,
            "learning_rate": self.learning_rate,
            "lr_scheduler_type": self.schedule,
            "warmup_steps": self.warmup_steps * self.minibatches,
            "weight_decay": self.weight_decay,
            "max_grad_norm": self.max_grad_norm,
            "epsilon": self.epsilon_low,
            "epsilon_high": self.epsilon_high,
            "delta": self.delta,
            "beta": self.beta,
            "entropy_coef": self.entropy_coef,
            "loss_type": self.loss_type,
            "temperature": self.temperature,
            "use_cpu": self.device == "cpu",
            "bf16": self.bf16,
            "disable_dropout": True,  # or no ratio to the sampling would start at 1
            "gradient_checkpointing": self.gradient_checkpointing,
            "dataloader_pin_memory": self.device != "cpu",
            "ddp_find_unused_parameters": False,
            "ddp_timeout": PATIENCE_S,
            "save_strategy": "no" if self.save_every is None else "steps",
            "save_steps": (self.save_every or 1) * self.minibatches,
            "save_total_limit": 2,
            "logging_steps": self.minibatches,
            "logging_nan_inf_filter": False,
            "report_to": "none",
            "disable_tqdm": True,
        }


def check_sizes(settings: TrainerSettings, credit: Credit, processes: int = 1) -> None:
    """What can be known to fail before a model is loaded.

    Raises:
        ValueError: with what to change.
    """
    if credit.compares_group and settings.group_size == 1:
        raise ValueError(
            f"group_size = 1 leaves {credit.estimator!r} nothing to compare a dialogue "
            "with, so every advantage is 0: give 2 or more (the papers 4 or 8), or an "
            'estimator that needs no group, as "gae" or "reinforce_pp"'
        )
    share = settings.dialogues // settings.minibatches
    _divides("dialogues / minibatches", share, "processes", processes)
    if settings.micro_batch is not None:
        share //= processes
        _divides("rows of a process", share, "micro_batch", settings.micro_batch)


def _divides(whole: str, size: int, part: str, by: int) -> None:
    if by < 1 or size % by:
        near = [n for n in range(1, size + 1) if size % n == 0]
        raise ValueError(
            f"{whole} = {size} is not divisible by {part} = {by}: choose {part} among "
            f"{', '.join(map(str, near))}, or change {whole}"
        )


def plan(scenario_ids: Sequence[str], settings: TrainerSettings) -> list[str]:
    """The scenario of every group of every step, shuffled anew each time round.

    The whole run is laid out at the start, so that a resumed run meets the scenarios
    that an undisturbed one meets.
    """
    if not scenario_ids:
        raise ValueError("no scenarios to train on")
    order, groups = [], settings.steps * settings.dialogues // settings.group_size
    rng = random.Random(settings.seed)
    while len(order) < groups:
        order += rng.sample(list(scenario_ids), len(scenario_ids))
    return order[:groups]
