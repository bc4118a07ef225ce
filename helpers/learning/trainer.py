"""Training by dialogue: one subclass of TRL's GRPOTrainer for every method of the kit.

One step is one generation batch: `settings.dialogues` dialogues are held, every token
of the policy gets an advantage, and the policy is updated `settings.minibatches` times,
each time on another part of them. TRL keeps what it does well (clipped loss, entropy
bonus, schedule, processes, checkpoints); the kit brings the dialogues, the advantages
by turn, and the critic of PPO.

This is the only module that touches TRL's private names. There are six, and each has a
contract test: `_generate_and_score_completions` is replaced, since TRL's own decodes
every dialogue into one message, gives it one reward and runs a forward pass to learn
what the rollout knows, the log-probabilities; `_get_per_token_logps_and_entropies` is
replaced for the positions and the mask of packed rows; `_compute_loss` is extended;
`_metrics` is where TRL collects what it logs; `_buffered_inputs` and `_step` tell which
micro-batches an update has. A method may override the kit's own hooks (`earned` to
`recall`), as RAPO does in `helpers.learning.svhpo`.

Papers: RLVER, arXiv 2507.03112; MAPO, arXiv 2603.06194.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from datasets import Dataset
from huggingface_hub import constants
from torch import Tensor
from transformers import PrinterCallback, TrainerCallback
from transformers.utils.logging import disable_progress_bar
from trl import GRPOConfig, GRPOTrainer
from trl.trainer.utils import use_adapter

from helpers.agents.roles import stream
from helpers.learning.batches import collate, token_logps, turn_table
from helpers.learning.clock import Clock
from helpers.learning.credit import Credit
from helpers.learning.critic import Critic, CriticSettings, value_loss
from helpers.learning.housekeeping import Housekeeping, last_checkpoint
from helpers.learning.metrics import dialogue_metrics, facts
from helpers.learning.rewards import Reward
from helpers.learning.rows import Row, first_failure
from helpers.learning.settings import TrainerSettings, check_sizes, plan

Roll = Callable[[Sequence[str], int], list[Row]]

# Else TRL reports each trainer that is made. The environment variable of this name is
# read when huggingface_hub is imported, which may have been long ago.
constants.HF_HUB_DISABLE_TELEMETRY = True


class DialogueTrainer(GRPOTrainer):
    """Trains one policy on its own dialogues. `fit()` runs it, `curve` is its log."""

    def __init__(
        self,
        model,
        tokenizer,
        scenario_ids: Sequence[str],
        roll: Roll,
        reward: Reward,
        credit: Credit,
        settings: TrainerSettings,
        output: Path,
        critic: CriticSettings | None = None,
        callbacks: Sequence[TrainerCallback] = (),
    ):
        """
        Args:
            model: the policy, a causal language model, bare or with LoRA.
            scenario_ids: what to train on.
            roll: scenario ids, one a dialogue, and a seed -> one row each, same order.
                The seed differs between steps, not between processes, so that a group
                meets the same user in all of them.
            reward: a dialogue -> one number or None a turn.
            critic: settings of PPO's critic, made here from a copy of the policy.
            output: folder of the checkpoints.
            callbacks: of transformers, for progress.

        Raises:
            ValueError: sizes or parts do not fit together.
        """
        if credit.needs_critic != (critic is not None):
            raise ValueError(
                f"the estimator {credit.estimator!r} was given "
                f"{'a' if critic else 'no'} critic: "
                '"gae" needs critic settings, all others take none'
            )
        processes = int(os.environ.get("WORLD_SIZE", "1"))  # as every launcher sets it
        check_sizes(settings, credit, processes)
        groups = plan(scenario_ids, settings)
        super().__init__(
            model=model,
            reward_funcs=_unused,
            args=_config(settings, output, processes),
            train_dataset=Dataset.from_dict(
                {"prompt": groups, "group": list(range(len(groups)))}
            ),
            processing_class=tokenizer,
            callbacks=list(callbacks),
        )
        self.num_generations = settings.group_size  # read when the sampler is made
        self.remove_callback(PrinterCallback)
        self.settings, self.credit = settings, credit
        self.roll, self.reward = roll, reward
        self.clock = Clock(self.accelerator.device.type == "cuda")
        for name, phase in (("backward", "backward"), ("clip_grad_norm_", "optimiser")):
            function = getattr(self.accelerator, name)
            setattr(self.accelerator, name, self.clock.timed(phase, function))
        self.add_callback(Housekeeping(self))
        self.critic_settings, self.critic = critic, None
        if critic is not None:
            self.critic = Critic(self.model).to(self.accelerator.device).train()
            if settings.gradient_checkpointing:
                self.critic.body.gradient_checkpointing_enable()
            self.value_model = self.accelerator.prepare_model(self.critic)

    def create_optimizer(self, *args, **kwargs):
        """The policy's optimiser, with the critic as a group of its own."""
        fresh = self.optimizer is None
        optimizer = super().create_optimizer(*args, **kwargs)
        if self.critic is not None and fresh:
            optimizer.add_param_group(
                {
                    "params": self.critic.trained(),
                    "lr": self.critic_settings.learning_rate,
                    "weight_decay": 0.0,
                }
            )
        return optimizer

    def fit(self) -> list[dict]:
        """Train to the last step, from the newest complete checkpoint in the output
        folder if there is one; returns the curve."""
        checkpoint = last_checkpoint(self.args.output_dir)
        if checkpoint is not None:
            self.recall(checkpoint)
        disable_progress_bar()  # of writing a checkpoint
        self.train(resume_from_checkpoint=checkpoint and str(checkpoint))
        return self.curve

    @property
    def curve(self) -> list[dict]:
        """One entry a step; `metrics.GLOSSARY` explains the names."""
        return [entry for entry in self.state.log_history if "loss" in entry]

    @property
    def generation(self) -> int:
        """Number of the step in progress, from 0."""
        return self.state.global_step // self.settings.minibatches

    # -- one generation batch ----------------------------------------------------------

    def _generate_and_score_completions(self, inputs: list[dict]) -> dict[str, Tensor]:
        """Hold the dialogues and give every token its advantage."""
        device, rank = self.accelerator.device, self.accelerator.process_index
        seed = stream(self.settings.seed, f"step {self.generation}")
        with self.clock("rollout"):
            rows = self.roll([x["prompt"] for x in inputs], seed.getrandbits(31))
        if len(rows) != len(inputs):
            raise ValueError(f"{len(inputs)} rows asked for, {len(rows)} came")
        rewards, valid = turn_table(self.earned(rows))
        batch = collate(rows, valid, self.processing_class.pad_token_id)
        if "segments" in batch and self.critic and not self.credit.skip_user:
            raise ValueError(
                "packed rows hold each reply twice, so GAE cannot walk over all "
                "tokens: set skip_user, or keep the thoughts in the history"
            )
        batch["group_ids"] = torch.tensor([x["group"] for x in inputs])
        batch |= self.more(rows, valid)
        number = torch.promote_types(self.model.dtype, torch.float32)
        batch = {
            name: x.to(device, number if x.is_floating_point() else x.dtype)
            for name, x in batch.items()
        }
        everyone = {
            "rewards": self._gather(rewards.to(device)),
            "valid": self._gather(valid.to(device)),
            "group_ids": self._gather(batch["group_ids"]),
            "turn_ids": self._gather(batch["turn_ids"], fill=-1),
        }
        if not everyone["valid"].any():
            raise RuntimeError(_nothing_judged(rows, self.generation))
        if self.critic is not None:
            batch["old_values"] = self._in_parts(self._values, batch)
            everyone["values"] = self._gather(batch["old_values"])
        if self.beta:
            with self._start_of_training() as model:
                logps = self._in_parts(lambda part: self._logps(model, part)[0], batch)
            batch["ref_per_token_logps"] = logps
        given = self.credit(**everyone)
        about = self._gather(facts(rows).to(device))
        numbers = dialogue_metrics(about, everyone, given, self.credit.gamma)
        self._log(numbers | self.more_numbers())
        width = batch["turn_ids"].shape[1]
        mine = slice(rank * len(rows), (rank + 1) * len(rows)), slice(width)
        batch["advantages"] = given.advantages[mine].to(number)
        if given.returns is not None:
            batch["returns"] = given.returns[mine].to(number)
        batch["num_items_in_batch"] = (everyone["turn_ids"] >= 0).sum()
        return batch

    def _gather(self, tensor: Tensor, fill: int = 0) -> Tensor:
        """The rows of all processes, in their order, padded to a common width."""
        if tensor.dim() > 1:
            wide = self.accelerator.pad_across_processes(tensor, 1, fill)
            tensor = wide.to(tensor.dtype)  # padding turns booleans into numbers
        return self.accelerator.gather(tensor)

    def _in_parts(self, function, batch: dict[str, Tensor]) -> Tensor:
        """A function of a batch, without gradient, on as many rows as a forward pass
        of training takes."""
        size = self.args.per_device_train_batch_size
        starts = range(0, len(batch["turn_ids"]), size)
        parts = [{k: x[i : i + size] for k, x in batch.items()} for i in starts]
        with torch.no_grad():
            return torch.cat([function(part) for part in parts])

    @contextmanager
    def _start_of_training(self):
        """The policy as it was: TRL's copy, or the body without its new adapter."""
        if self.ref_model is not None:
            yield self.ref_model
            return
        model = self.accelerator.unwrap_model(self.model)
        with use_adapter(model, "ref" if "ref" in model.peft_config else None):
            yield model

    # -- one minibatch -----------------------------------------------------------------

    def _get_per_token_logps_and_entropies(
        self, model, input_ids, attention_mask, logits_to_keep, **_
    ) -> tuple[Tensor, Tensor, None]:
        """TRL asks with ids and mask alone; the minibatch in hand knows the rest."""
        return *self._logps(model, self.minibatch), None

    def _logps(self, model, batch) -> tuple[Tensor, Tensor]:
        words = self.model.config.get_text_config().vocab_size
        with self.accelerator.autocast(), self.clock("forward"):
            return token_logps(model, batch, self.temperature, self.model.dtype, words)

    def _values(self, batch) -> Tensor:
        with self.accelerator.autocast(), self.clock("forward"):
            return self.value_model(batch)

    def _compute_loss(self, model, inputs: dict[str, Tensor]) -> Tensor:
        """The policy's loss as TRL has it, and the critic's. While the critic warms up
        the policy gets no gradient at all, so that the optimiser leaves it alone."""
        self.minibatch, loss, share = inputs, 0.0, self._share(inputs)
        if self.critic is not None:
            loss = self._critic_loss(inputs, share)
        if self.critic is None or self.generation >= self.critic_settings.warmup_steps:
            policy = super()._compute_loss(model, inputs)
            loss = loss + share * policy + self.more_loss(inputs)
        if not torch.isfinite(loss):
            self._stop(loss, inputs)
        return loss

    def _share(self, inputs: dict[str, Tensor]) -> float:
        """Tokens of this micro-batch over the mean of all micro-batches of the update,
        in all processes. TRL takes the mean of their token means; by this factor it
        becomes the mean over the update's tokens, however they are split."""
        parts = self.current_gradient_accumulation_steps
        processes = self.accelerator.num_processes
        if self.loss_type != "bnpo" or parts * processes == 1:
            return 1.0
        first = self._step % self.args.steps_per_generation
        first -= first % parts
        window = self._buffered_inputs[first : first + parts]
        tokens = torch.stack([x["tool_mask"].sum() for x in window]).sum()
        every = int(self.accelerator.reduce(tokens, "sum"))
        return int(inputs["tool_mask"].sum()) * parts * processes / max(1, every)

    def _critic_loss(self, inputs, share: float) -> Tensor:
        loss, clipped = value_loss(
            self._values(inputs), inputs["old_values"], inputs["returns"],
            inputs["tool_mask"], self.critic_settings.value_clip,
        )  # fmt: skip
        both = share * torch.stack([loss, clipped.to(loss)])
        mean = self.accelerator.reduce(both.detach(), "mean")
        self._log({"critic/value_loss": mean[0], "critic/clip_share": mean[1]})
        return both[0] / self.current_gradient_accumulation_steps

    def _stop(self, loss: Tensor, inputs: dict[str, Tensor]) -> None:
        update, rank = self.state.global_step + 1, self.accelerator.process_index
        path = Path(self.args.output_dir) / f"nonfinite_update{update}_process{rank}.pt"
        path.parent.mkdir(parents=True, exist_ok=True)
        torch.save({name: x.cpu() for name, x in inputs.items()}, path)
        groups = inputs["group_ids"].unique().tolist()
        raise FloatingPointError(
            f"the loss of update {update} (step {self.generation + 1}) is "
            f"{loss.item()}; its batch is stored in {path}, scenarios "
            f"{', '.join(self.train_dataset[g]['prompt'] for g in groups)}. Resume "
            "from the last checkpoint with a lower learning_rate"
        )

    # -- what a method may add ---------------------------------------------------------

    def earned(self, rows: list[Row]) -> list[list[float | None]]:
        """The reward of each turn of each row, None without a signal."""
        return [self.reward(row.dialogue) for row in rows]

    def more(self, rows: list[Row], valid: Tensor) -> dict[str, Tensor]:
        """More entries of the batch, (B, ...) each; valid (B, K): turns that count."""
        return {}

    def more_numbers(self) -> dict[str, float]:
        """More for the log of a step, the same on every process."""
        return {}

    def more_loss(self, inputs: dict[str, Tensor]) -> Tensor | float:
        """A term beside the policy's loss, of one micro-batch."""
        return 0.0

    def keep(self, folder: Path) -> None:
        """Store in a checkpoint what transformers does not; main process only."""
        if self.critic is not None:
            self.critic.save(folder)

    def recall(self, folder: Path) -> None:
        """The inverse of `keep`; every process."""
        if self.critic is not None:
            self.critic.load(folder)

    # -- bookkeeping -------------------------------------------------------------------

    def _log(self, numbers: dict) -> None:
        """Into the mean that the next entry of the curve holds."""
        for name, value in numbers.items():
            self._metrics["train"][name].append(torch.as_tensor(value).item())

    def log(self, logs: dict, start_time: float | None = None) -> None:
        """Add the time of each phase to a training entry and hand it on."""
        if "loss" in logs:
            self._log({f"time/{k}": v for k, v in self.clock.lap().items()})
        super().log(logs, start_time)

    def create_model_card(self, *_, **__) -> None:
        """None: a checkpoint is a product of a run, described by the run's stamp."""


def _config(settings: TrainerSettings, output: Path, processes: int) -> GRPOConfig:
    config = GRPOConfig(**settings.grpo(output, processes))
    if (config.world_size, config.device.type) != (processes, settings.device):
        raise ValueError(
            f"{processes} processes on {settings.device} were asked for, there are "
            f"{config.world_size} on {config.device.type}: start them with torchrun "
            "and set `device` to what the machine has"
        )
    return config


def _unused(**_):
    raise RuntimeError("dialogues are rewarded by turn, not by reward functions")


def _nothing_judged(rows: list[Row], generation: int) -> str:
    return (
        f"step {generation + 1} has no judged turn in any dialogue{first_failure(rows)}"
        "; see to the failing role and run this again to go on from the last checkpoint"
    )
