"""Scalar-verbal hybrid policy optimisation: RAPO's loss on the dialogue trainer.

    L = L_scalar + lambda L_verbal
    L_scalar: GRPO on the ranks of a group, clipped, as the trainer has it
    L_verbal = (1/B) sum_i m_i mean_t w_t D(pi(.|x, y_<t), sg pi_T(.|x + note, y_<t))

x the context of a reply y that the policy sampled, m_i whether a teacher speaks to row
i, D of `helpers.learning.distillation`, sg no gradient. The teacher pi_T is the policy
itself with a note of hindsight in its context; it reads the same tokens, and what it
would have said instead is what the policy learns. Without a note the two are the same
and the term is 0. Its gradient adds to that of the ranks: nothing is mixed into rewards
or advantages, and the clip does not touch it.

Not for models split over devices by parameters: the teacher is the policy's own module.

Paper: RAPO, arXiv 2603.15434 (fact sheet, 3.3, 9.4): a reconstruction.
"""

import copy
from contextlib import nullcontext
from pathlib import Path

import torch
from peft import PeftModel
from safetensors.torch import load_model, save_model
from torch import Tensor
from transformers import TrainerCallback

from helpers.learning.batches import (
    SMALL_VOCABULARY,
    collate,
    of_tokens,
    policy_logps,
)
from helpers.learning.distillation import divergence, on_top
from helpers.learning.hindsight import HindsightRow, HindsightSettings
from helpers.learning.metrics import FACTS, facts
from helpers.learning.trainer import DialogueTrainer

AVERAGE = "teacher.safetensors"  # in a checkpoint, of a teacher that is an average
TAUGHT = (
    "prompt_ids", "prompt_mask", "completion_ids", "completion_mask", "tool_mask",
    "position_ids",
)  # fmt: skip


class HindsightTrainer(DialogueTrainer):
    """Trains on the rows of a `HindsightStep`, given as `roll`.

    Args:
        hindsight: what of it is switched on. Others as of `DialogueTrainer`.
    """

    def __init__(self, *args, hindsight: HindsightSettings, **kwargs):
        super().__init__(*args, **kwargs)
        self.hindsight, self.student, self.average = hindsight, None, None
        if hindsight.teacher != "live" and hindsight.weight:
            model = self.accelerator.unwrap_model(self.model)
            if not isinstance(model, PeftModel):
                self.average = copy.deepcopy(model).eval().requires_grad_(False)
            elif hindsight.teacher == "ema":
                raise ValueError(
                    "the average of an adapter's factors is not the average of what "
                    'they do: with LoRA take a "live" or a "frozen" teacher'
                )
            self.add_callback(_Average(self))

    @property
    def weight(self) -> float:
        """lambda of the step in progress."""
        return self.hindsight.weight_at(self.generation, self.settings.steps)

    # -- one generation batch ----------------------------------------------------------

    def earned(self, rows: list[HindsightRow]) -> list[list[float | None]]:
        if self.hindsight.trained == "dialogues":
            return super().earned(rows)
        return [[row.earned] for row in rows]

    def more(self, rows: list[HindsightRow], valid: Tensor) -> dict[str, Tensor]:
        """The teacher's rows: for each row the tokens of the turn it speaks about,
        after its own context. A row without a teacher has none of them."""
        taught = [
            bool(row.teacher_ids) and bool(valid[i, row.turn])
            for i, row in enumerate(rows)
        ]
        pad = self.processing_class.pad_token_id
        pairs = zip(rows, taught, strict=True)
        made = [teacher_row(row) if on else _nothing(row) for row, on in pairs]
        batch = collate(made, torch.ones(len(rows), 1, dtype=torch.bool), pad)
        turns = [row.turn if on else -1 for row, on in zip(rows, taught, strict=True)]
        entries = {f"teacher_{name}": batch[name] for name in TAUGHT}
        return {**entries, "taught_turn": torch.tensor(turns)}

    def more_numbers(self) -> dict[str, float]:
        """What the step counted, summed over the processes, and facts of the dialogues
        that were held."""
        report, device = self.roll.report, self.accelerator.device
        sums = torch.tensor(list(report.counts.values()), dtype=torch.float64)
        sums = self.accelerator.reduce(sums.to(device), "sum").tolist()
        numbers = report.numbers(dict(zip(report.counts, sums, strict=True)))
        held = self._gather(facts(report.held).to(device))
        column = dict(zip(FACTS, held.unbind(1), strict=True))
        if self.hindsight.trained == "candidates":
            numbers |= {
                "dialogue/failed": column["failed"].sum().item(),
                **{
                    f"dialogue/{name}": column[name].nanmean().item()
                    for name in ("final_emotion", "success", "turns")
                },
            }
        return numbers

    # -- one micro-batch ---------------------------------------------------------------

    def _logps(self, model, batch) -> tuple[Tensor, Tensor]:
        """In a pass with gradient keep the distributions, which the verbal term needs
        once more."""
        if not (torch.is_grad_enabled() and self.weight):
            return super()._logps(model, batch)
        with self.accelerator.autocast(), self.clock("forward"):
            dtype = self.model.dtype
            self.student = policy_logps(model, batch, self.temperature, dtype)
            return of_tokens(self.student, batch)

    def more_loss(self, inputs: dict[str, Tensor]) -> Tensor | float:
        """lambda L_verbal, divided for the accumulation of gradients."""
        taught = inputs["taught_turn"] >= 0
        share, weight = taught.double().mean(), self.weight
        numbers = {"verbal/weight": weight, "verbal/share": share, "verbal/loss": 0.0,
                   "verbal/log_ratio": torch.nan}  # fmt: skip
        loss = 0.0
        if weight and taught.any():
            loss, numbers["verbal/log_ratio"] = self._verbal(inputs, taught)
            numbers["verbal/loss"] = loss.detach()
            loss = weight * loss / self.current_gradient_accumulation_steps
        self.student = None
        self._log(numbers)
        return loss

    def _verbal(self, inputs, taught: Tensor) -> tuple[Tensor, Tensor]:
        """L_verbal, and the mean over its tokens of what the teacher would rather have
        said of them than the student, log pi_T - log pi."""
        policy = inputs["tool_mask"].bool()
        about = policy & (inputs["turn_ids"] == inputs["taught_turn"].unsqueeze(1))
        student = self.student[about[policy]]
        batch = {name: inputs[f"teacher_{name}"][taught] for name in TAUGHT}
        with torch.no_grad(), self.accelerator.autocast(), self.clock("forward"):
            with self._teacher() as model:
                dtype = self.model.dtype
                teacher = policy_logps(model, batch, self.temperature, dtype)
        each = self.distance(student, teacher)
        said = inputs["completion_ids"][about].unsqueeze(1)
        chosen = student.detach().gather(1, said).squeeze(1)
        if self.hindsight.is_clip is not None and self.settings.minibatches > 1:
            ratio = (chosen - inputs["old_per_token_logps"][about]).exp()
            each = each * ratio.clamp(max=self.hindsight.is_clip)
        row = about.nonzero()[:, 0]
        sums = each.new_zeros(len(about)).index_add(0, row, each)
        loss = (sums / about.sum(1).clamp(min=1)).mean()
        return loss, (teacher.gather(1, said).squeeze(1) - chosen).mean()

    def distance(self, student: Tensor, teacher: Tensor) -> Tensor:
        """(N,) D of each token; (N, V) log-probabilities."""
        hindsight, words = self.hindsight, student.shape[-1]
        full = hindsight.support == "full" or (
            hindsight.support == "auto" and words <= SMALL_VOCABULARY
        )
        if not full:
            student, teacher = on_top(student, teacher, hindsight.topk)
        return divergence(student, teacher, hindsight.divergence)

    def _teacher(self):
        """A context that gives the teacher's weights."""
        if self.hindsight.teacher == "live":
            return nullcontext(self.accelerator.unwrap_model(self.model))
        if self.average is not None:
            return nullcontext(self.average)
        return self._start_of_training()  # LoRA: the body without its new adapter

    # -- a teacher with weights of its own ---------------------------------------------

    def follow(self) -> None:
        """After an update: the average goes a step towards the policy."""
        if self.hindsight.teacher == "ema":
            model = self.accelerator.unwrap_model(self.model)
            pairs = zip(self.average.parameters(), model.parameters(), strict=True)
            with torch.no_grad():
                for old, new in pairs:
                    old.lerp_(new, self.hindsight.ema_rate)

    def keep(self, folder: Path) -> None:
        super().keep(folder)
        if self.average is not None and self.hindsight.teacher == "ema":
            save_model(self.average, str(folder / AVERAGE))

    def recall(self, folder: Path) -> None:
        super().recall(folder)
        if self.average is not None and self.hindsight.teacher == "ema":
            load_model(self.average, str(folder / AVERAGE))


def teacher_row(row: HindsightRow) -> HindsightRow:
    """The tokens of the turn that the teacher speaks about, after its own context."""
    places = [i for i, turn in enumerate(row.turn_ids) if turn == row.turn]
    n = len(places)
    return HindsightRow(
        row.teacher_ids, [row.completion_ids[i] for i in places], [1] * n, [0] * n,
        [0.0] * n, row.dialogue,
    )  # fmt: skip


def _nothing(row: HindsightRow) -> HindsightRow:
    return HindsightRow([], [], [], [], [], row.dialogue)


class _Average(TrainerCallback):
    def __init__(self, trainer: HindsightTrainer):
        self.trainer = trainer

    def on_optimizer_step(self, *_, **__):
        self.trainer.follow()
