"""The critic: its values, its loss by hand, its file."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from reference_loop import Loop
from trainer_fakes import packed_row, random_row, tiny_policy

from helpers.learning.batches import collate
from helpers.learning.critic import Critic, explained_variance, value_loss


def unlike_zero(policy):
    """A critic whose head says something."""
    critic = Critic(policy)
    torch.nn.init.normal_(critic.head.weight)
    return critic


@pytest.mark.parametrize("row", [random_row, packed_row], ids=["plain", "packed"])
def test_a_value_is_that_of_the_state_before_the_token(row):
    policy = tiny_policy()
    critic = unlike_zero(policy)
    rows = [row("s", i, turns=3) for i in range(4)]
    batch = collate(rows, torch.ones(4, 3, dtype=torch.bool), 0)
    with torch.no_grad():
        found = critic(batch)[batch["tool_mask"].bool()]
        loop = Loop(policy, 0.0, critic)
        expected = torch.cat([loop.values(r) for r in rows])
        batch["completion_ids"][:, -1] = 5  # no value sees its own token
        again = critic(batch)[batch["tool_mask"].bool()]
    torch.testing.assert_close(found, expected, atol=1e-12, rtol=0)
    torch.testing.assert_close(again, found, atol=0, rtol=0)


def test_it_starts_at_zero_and_shares_nothing_with_the_policy():
    policy = tiny_policy()
    critic = Critic(policy)
    batch = collate([random_row("s", 1)], torch.ones(1, 9, dtype=torch.bool), 0)
    assert not critic(batch).any()
    owned = {p.data_ptr() for p in policy.parameters()}
    assert not owned & {p.data_ptr() for p in critic.parameters()}
    before = policy.model.embed_tokens.weight.clone()
    critic.body.embed_tokens.weight.data.add_(1.0)
    assert torch.equal(policy.model.embed_tokens.weight, before)


def test_with_lora_the_adapter_and_the_head_learn():
    peft = pytest.importorskip("peft")
    config = peft.LoraConfig(r=2, target_modules="all-linear", task_type="CAUSAL_LM")
    critic = Critic(peft.get_peft_model(tiny_policy(dtype=torch.float32), config))
    names = {n for n, p in critic.named_parameters() if p.requires_grad}
    assert len(critic.trained()) == len(names)
    assert {"head.weight", "head.bias"} < names
    assert all("lora_" in n for n in names - {"head.weight", "head.bias"})


def test_value_loss_by_hand():
    values = torch.tensor([[1.0, 0.0, 3.0, 9.0]])
    old = torch.tensor([[0.0, 0.0, 3.0, 9.0]])
    returns = torch.tensor([[1.0, 1.0, 2.0, 0.0]])
    mask = torch.tensor([[1, 1, 1, 0]])
    # free errors 0, 1, 1; the first value moved by 1 and is held at 0.5, error 0.25
    loss, clipped = value_loss(values, old, returns, mask, clip=0.5)
    assert loss.item() == pytest.approx(0.5 * (0.25 + 1 + 1) / 3)
    assert clipped.item() == pytest.approx(1 / 3)


def test_a_value_held_by_the_clip_is_not_pulled():
    value = torch.tensor([[1.0]], requires_grad=True)
    zero, one = torch.zeros(1, 1), torch.ones(1, 1)
    value_loss(value, zero, one, one, clip=0.5)[0].backward()
    assert value.grad.item() == 0


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_the_loss_reads_masked_tokens_only(a, b, c):
    mask = torch.tensor([[1.0, 0.0]])
    plain = value_loss(*(torch.tensor([[x, 0.0]]) for x in (1, 2, 3)), mask, 0.5)
    filled = value_loss(
        torch.tensor([[1.0, a]]), torch.tensor([[2.0, b]]), torch.tensor([[3.0, c]]),
        mask, 0.5,
    )  # fmt: skip
    assert plain == filled


def test_an_empty_mask_costs_nothing():
    x = torch.ones(1, 2)
    assert value_loss(x, x, 2 * x, torch.zeros(1, 2), 0.5)[0] == 0


def test_explained_variance():
    returns = torch.tensor([[1.0, 2.0, 3.0, 99.0]])
    mask = torch.tensor([[1, 1, 1, 0]])
    assert explained_variance(returns, returns, mask) == 1
    assert explained_variance(torch.full((1, 4), 7.0), returns, mask) == 0
    assert explained_variance(-returns, returns, mask) == pytest.approx(-3)
    assert math.isnan(explained_variance(returns, torch.ones(1, 4), mask))


def test_it_comes_back_from_its_file(tmp_path):
    critic, other = unlike_zero(tiny_policy()), Critic(tiny_policy(seed=1))
    critic.save(tmp_path)
    other.load(tmp_path)
    for a, b in zip(critic.parameters(), other.parameters(), strict=True):
        assert torch.equal(a, b)
    with pytest.raises(FileNotFoundError, match="run without a critic"):
        other.load(tmp_path / "none")
