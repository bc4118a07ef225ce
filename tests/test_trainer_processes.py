"""Two processes (CPU, gloo) compute what one does, from the same dialogues.

Run by torchrun, since `accelerate launch --cpu` starts a single process here without a
word; the number of processes is checked.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from trainer_fakes import random_row, roll_of, tiny_policy, tiny_tokenizer

from helpers.learning.credit import Credit
from helpers.learning.critic import CriticSettings
from helpers.learning.rewards import REWARDS
from helpers.learning.settings import TrainerSettings
from helpers.learning.trainer import DialogueTrainer

CREDITS = (
    Credit("outcome"),
    Credit("mixed", scope="group"),
    Credit("reinforce_pp"),
    Credit("gae", gamma=0.97, lam=0.9),
)


def rows_of(rank: int, n: int):
    """Rows 0..7, or the four of one of two processes. The second four have more turns
    and other widths, and as many sampled tokens (12): a process takes its own token
    mean, and the mean of means is the mean only then."""

    def row(scenario, _):
        i = next(numbers)
        turns, reply = (2, (5, 5)) if i < 4 else (3, (3, 3))
        return random_row(f"row {i}", 0, turns, reply=reply)

    numbers = iter(range(rank * n, (rank + 1) * n))
    return row


def train(credit: Credit, folder: Path) -> dict:
    """One update from eight dialogues of a single group, which both processes share."""
    rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    model = tiny_policy()
    advantages = {}

    class Recorded(DialogueTrainer):
        def _compute_loss(self, model, inputs):
            for ids, given in zip(
                inputs["completion_ids"], inputs["advantages"], strict=True
            ):
                kept = given[given != 0].tolist()
                advantages[str(ids[ids > 0].tolist())] = kept
            return super()._compute_loss(model, inputs)

    trainer = Recorded(
        model, tiny_tokenizer(), ["s"],
        roll_of(model, row=rows_of(rank, 8 // world)),
        REWARDS["distance"], credit,
        TrainerSettings(
            steps=1, dialogues=8, group_size=8, minibatches=1, learning_rate=0.03,
            entropy_coef=0.01, save_every=1,
        ),
        folder, CriticSettings(0.02) if credit.needs_critic else None,
    )  # fmt: skip
    (entry,) = trainer.fit()
    parts = [*model.parameters(), *(trainer.critic or torch.nn.Module()).parameters()]
    return {
        "world": trainer.accelerator.num_processes,
        "advantages": advantages,
        "entry": entry,
        "weights": torch.cat([p.detach().flatten() for p in parts]),
    }  # fmt: skip


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    folder = tmp_path_factory.mktemp("two")
    environment = os.environ | {
        "ACCELERATE_USE_CPU": "true",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    launch = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2"]
    launch += ["--rdzv_backend", "c10d", "--rdzv_endpoint", "localhost:0"]
    done = subprocess.run(
        [*launch, __file__, str(folder)], env=environment, capture_output=True,
        text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return [torch.load(folder / f"{rank}.pt", weights_only=True) for rank in (0, 1)]


@pytest.mark.parametrize("credit", CREDITS, ids=lambda c: c.estimator)
def test_two_processes_are_one(two, tmp_path, credit):
    one = train(credit, tmp_path / "out")
    both = [results[credit.estimator] for results in two]
    assert [r["world"] for r in (one, *both)] == [1, 2, 2]
    assert all(len(r["advantages"]) == 4 for r in both)
    found = both[0]["advantages"] | both[1]["advantages"]
    assert found.keys() == one["advantages"].keys()
    for name, given in one["advantages"].items():
        assert found[name] == pytest.approx(given, abs=1e-12)
    for r in both:
        torch.testing.assert_close(r["weights"], one["weights"], atol=1e-9, rtol=0)
    for name, value in one["entry"].items():
        if "time" not in name:
            assert both[0]["entry"][name] == pytest.approx(value, abs=1e-6), name


if __name__ == "__main__":
    out = Path(sys.argv[1])
    results = {c.estimator: train(c, out / c.estimator) for c in CREDITS}
    torch.save(results, out / f"{os.environ['RANK']}.pt")
