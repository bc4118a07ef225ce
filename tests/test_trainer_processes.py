"""Two processes (CPU, gloo) compute what one does, from the same dialogues.

Three steps of eight dialogues. The second process has the longer ones, and in the last
step only failed ones, so that the processes have other widths, other numbers of turns
and other numbers of tokens, once none at all. The number of processes is checked, since
some launchers start a single one without a word.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from trainer_fakes import random_row, roll_of, tiny_policy, tiny_tokenizer

from helpers.learning import processes
from helpers.learning.credit import Credit
from helpers.learning.critic import CriticSettings
from helpers.learning.rewards import REWARDS
from helpers.learning.settings import TrainerSettings
from helpers.learning.trainer import DialogueTrainer
from helpers.paths import ROOT

CREDITS = (
    Credit("outcome"),
    Credit("mixed", scope="group"),
    Credit("reinforce_pp"),
    Credit("gae", gamma=0.97, lam=0.9),
)
CONFIG = ROOT / "configs" / "accelerate" / "cpu_two_processes.yaml"
STEPS = 3
OF_TRL = {"entropy", "policy_loss"}  # the mean of the processes' means, not of tokens


def rolls_of(model, rank: int, n: int):
    """Rows 0..7 of a step, or the four of one of two processes."""
    calls = []

    def row(scenario, _):
        number = rank * n + len(calls) % n
        step = len(calls) // n
        calls.append(number)
        late = number >= 4
        reply = (9, 14) if late else (1, 3)
        return random_row(
            f"row {number}", step, 4 if late else 1 + number % 2,
            failed=late and step == STEPS - 1, reply=reply,
        )  # fmt: skip

    return roll_of(model, row=row)


def train(credit: Credit, folder: Path) -> dict:
    """Three updates; the eight dialogues of each are one group of both processes. With
    PPO the critic alone learns in the first."""
    rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    model = tiny_policy()
    advantages = {}

    class Recorded(DialogueTrainer):
        def _compute_loss(self, model, inputs):
            for ids, given in zip(
                inputs["completion_ids"], inputs["advantages"], strict=True
            ):
                name = f"{self.generation}: {ids[ids > 0].tolist()}"
                advantages[name] = given[given != 0].tolist()
            return super()._compute_loss(model, inputs)

    trainer = Recorded(
        model, tiny_tokenizer(), ["s"], rolls_of(model, rank, 8 // world),
        REWARDS["distance"], credit,
        TrainerSettings(
            steps=STEPS, dialogues=8, group_size=8, minibatches=1, micro_batch=2,
            learning_rate=0.03, entropy_coef=0.01, save_every=2,
        ),
        folder,
        CriticSettings(0.02, warmup_steps=1) if credit.needs_critic else None,
    )  # fmt: skip
    curve = trainer.fit()
    parts = [*model.parameters(), *(trainer.critic or torch.nn.Module()).parameters()]
    return {
        "world": trainer.accelerator.num_processes,
        "advantages": advantages,
        "curve": curve,
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
    launch = [sys.executable, "-m", "accelerate.commands.launch"]
    launch += ["--config_file", str(CONFIG), __file__, str(folder)]
    process = subprocess.Popen(
        launch, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True,
    )  # fmt: skip
    try:  # a hang is a failure
        printed = process.communicate(timeout=500)[0]
    finally:
        if process.poll() is None:
            process.kill()  # both processes end with it
    assert process.returncode == 0, printed[-3000:]
    return [torch.load(folder / f"{rank}.pt", weights_only=True) for rank in (0, 1)]


@pytest.mark.parametrize("credit", CREDITS, ids=lambda c: c.estimator)
def test_two_processes_are_one(two, tmp_path, credit):
    one = train(credit, tmp_path / "out")
    both = [results[credit.estimator] for results in two]
    assert [r["world"] for r in (one, *both)] == [1, 2, 2]
    assert all(len(r["advantages"]) == 4 * STEPS for r in both)
    found = both[0]["advantages"] | both[1]["advantages"]
    assert found.keys() == one["advantages"].keys()
    # The weights of a critic differ by rounding, and so does what it expects.
    exact = 1e-9 if credit.needs_critic else 1e-12
    for name, given in one["advantages"].items():
        assert found[name] == pytest.approx(given, abs=exact), name
    for r in both:
        torch.testing.assert_close(r["weights"], one["weights"], atol=1e-9, rtol=0)
    for alone, shared in zip(one["curve"], both[0]["curve"], strict=True):
        assert shared.keys() == alone.keys()
        for name in alone.keys() - OF_TRL:
            if "time" not in name:
                near = pytest.approx(alone[name], abs=1e-6, nan_ok=True)
                assert shared[name] == near, name


def test_the_second_process_has_another_load(two):
    """Else equal results would say little."""
    lengths = [
        [len(name.split(",")) for name in results["outcome"]["advantages"]]
        for results in two
    ]
    assert max(lengths[0]) < min(lengths[1])


if __name__ == "__main__":
    processes.prepare()
    out = Path(sys.argv[1])
    results = {c.estimator: train(c, out / c.estimator) for c in CREDITS}
    torch.save(results, out / f"{os.environ['RANK']}.pt")
