"""A folded batch gives what its plain rows give, with less to compute."""

import random

import pytest
import torch
from trainer_fakes import WORDS, tiny_policy

from helpers.learning import batches, folding
from helpers.learning.rows import Row


def candidates(seed: int, contexts: int = 20, shuffled: bool = True) -> list[Row]:
    """One to four replies to each context; one row has none, as after a failure."""
    rng = random.Random(seed)

    def words(n: int) -> list[int]:
        return [rng.randrange(3, WORDS) for _ in range(n)]

    rows = [Row([], [], [], [], [], None)]
    for _ in range(contexts):
        context = words(rng.randint(5, 60))
        for _ in range(rng.randint(1, 4)):
            n = rng.randint(1, 9)
            rows.append(Row(context, words(n), [1] * n, [0] * n, [0.0] * n, None))
    if shuffled:
        rng.shuffle(rows)
    return rows


def collated(rows: list[Row]) -> dict[str, torch.Tensor]:
    return batches.collate(rows, torch.ones(len(rows), 1, dtype=torch.bool), 0)


def with_gradient(monkeypatch, batch, fold: bool):
    model = tiny_policy()
    passes = []
    model.register_forward_hook(
        lambda _, args, kwargs, out: passes.append(kwargs["input_ids"].numel()),
        with_kwargs=True,
    )
    if not fold:
        monkeypatch.setattr(batches, "worth_folding", lambda batch: False)
    logps = batches.policy_logps(model, batch, 1.0, model.dtype)
    monkeypatch.undo()
    chosen, entropy = batches.of_tokens(logps, batch)
    weight = torch.linspace(-1, 1, chosen.numel()).view_as(chosen)
    (chosen * weight + entropy).sum().backward()
    gradient = torch.cat([p.grad.flatten() for p in model.parameters()])
    return logps.detach(), gradient, sum(passes)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("shuffled", [True, False])
def test_folded_is_plain_with_gradients(monkeypatch, seed, shuffled):
    batch = collated(candidates(seed, shuffled=shuffled))
    assert folding.worth_folding(batch)
    folded, gradient, cost = with_gradient(monkeypatch, batch, True)
    plain, expected, plain_cost = with_gradient(monkeypatch, batch, False)
    torch.testing.assert_close(folded, plain, atol=1e-12, rtol=0)
    torch.testing.assert_close(gradient, expected, atol=1e-11, rtol=0)
    assert cost < 0.7 * plain_cost


def test_each_row_stands_in_one_fold():
    batch = collated(candidates(5))
    rows = torch.cat([fold.rows.flatten() for fold in folding.folds(batch)])
    assert sorted(rows[rows >= 0].tolist()) == list(range(len(batch["prompt_ids"])))


def test_dialogues_and_packed_rows_are_left_alone():
    short = [Row([3, 4], [5] * 9, [1] * 9, [0] * 9, [0.0] * 9, None)]
    assert not folding.worth_folding(collated(short))
    batch = collated(candidates(0))
    assert not folding.worth_folding({**batch, "segments": batch["position_ids"]})


def test_processes_go_through_the_model_equally_often(monkeypatch):
    batch = collated(candidates(0))
    monkeypatch.setattr(folding.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(folding.distributed, "get_world_size", lambda: 2)
    assert not folding.worth_folding(batch)
    monkeypatch.setattr(folding.distributed, "get_world_size", lambda: 1)
    assert folding.worth_folding(batch)
