"""What a trainer needs at each update and each checkpoint: critic, files, clock."""

from pathlib import Path

import torch
from transformers import TrainerCallback

COMPLETE = "complete"  # the last file of a checkpoint


def last_checkpoint(folder: Path) -> Path | None:
    """The newest checkpoint that was written to its end, None if there is none."""
    done = [path.parent for path in Path(folder).glob(f"checkpoint-*/{COMPLETE}")]
    return max(done, key=lambda path: int(path.name.split("-")[1]), default=None)


class Housekeeping(TrainerCallback):
    """Of a `trainer.DialogueTrainer`."""

    def __init__(self, trainer):
        self.trainer = trainer

    def on_train_begin(self, *_, **__):
        self.trainer.clock.lap()

    def on_pre_optimizer_step(self, *_, **__):
        trainer = self.trainer
        trainer.clock.push("optimiser")
        if trainer.critic is not None:
            limit = trainer.critic_settings.max_grad_norm
            norm = torch.nn.utils.clip_grad_norm_(trainer.critic.trained(), limit)
            trainer._log({"critic/grad_norm": norm})

    def on_optimizer_step(self, *_, **__):
        self.trainer.clock.pop()
        if self.trainer.critic is not None:
            self.trainer.critic.zero_grad()  # transformers clears the policy's alone

    def on_save(self, args, state, *_, **__):
        trainer = self.trainer
        folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        trainer.accelerator.wait_for_everyone()
        if trainer.accelerator.is_main_process:
            trainer.keep(folder)
            (folder / COMPLETE).touch()
        trainer.clock.lap()  # writing is no part of a step
