"""From a method's name to token advantages."""

from dataclasses import FrozenInstanceError

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from naive_credit import gae, mixed, outcome, whitened

from helpers.learning import advantages as adv
from helpers.learning.credit import ESTIMATORS, Credit, token_rewards

REWARDS = torch.tensor(
    [[1.0, 2.0, 0.5], [0.0, 1.0, 0.0], [3.0, -1.0, 0.0], [2.0, 0.0, 1.0]],
    dtype=torch.float64,
)
VALID = torch.tensor([[1, 1, 1], [1, 1, 0], [1, 1, 0], [1, 1, 1]]).bool()
GROUPS = torch.tensor([7, 7, 3, 3])
TURN_IDS = torch.tensor(
    [
        [0, 0, -1, 1, -1, 2, -1],
        [0, -1, 1, 1, 1, -1, -1],
        [0, 0, 0, -1, 1, -1, -1],
        [0, -1, 1, -1, 2, 2, 2],
    ]
)
LISTS = [
    [float(x) for x, v in zip(r, m, strict=True) if v]
    for r, m in zip(REWARDS, VALID, strict=True)
]
VALUES = torch.linspace(-1, 1, TURN_IDS.numel(), dtype=torch.float64).view(
    TURN_IDS.shape
)


def tokens(credit, values=None, rewards=REWARDS):
    return credit(rewards, VALID, GROUPS, TURN_IDS, values)


def at_turns(given):
    """Back to one number a turn, which all of its tokens must share."""
    table = []
    for row, ids in zip(given.tolist(), TURN_IDS.tolist(), strict=True):
        turns = []
        for turn in range(max(ids) + 1):
            (value,) = {x for x, t in zip(row, ids, strict=True) if t == turn}
            turns.append(value)
        assert not any(x for x, t in zip(row, ids, strict=True) if t < 0)
        table.append(turns)
    return table


def test_outcome_is_grpo():
    found = at_turns(tokens(Credit("outcome")).advantages)
    expected = outcome(LISTS, GROUPS.tolist())
    for row, x in zip(found, expected, strict=True):
        assert row == pytest.approx([x] * len(row), abs=1e-12)


def test_mixed_is_mapo():
    found = at_turns(tokens(Credit("mixed", gamma=0.85, alpha=0.3)).advantages)
    for row, x in zip(found, mixed(LISTS, GROUPS.tolist(), 0.85, 0.3), strict=True):
        assert row == pytest.approx(x, abs=1e-12)


def test_settings_reach_the_functions():
    returns = adv.turn_returns(REWARDS, VALID, 0.5)
    b = REWARDS, VALID, GROUPS

    def every(by_dialogue):
        return by_dialogue[:, None].expand(4, 3)

    cases = {
        Credit("turn", gamma=0.5, ddof=1): adv.turn_advantages(returns, *b[1:], ddof=1),
        Credit("immediate", scope="group", eps=0.1): adv.immediate_advantages(
            *b, scope="group", eps=0.1
        ),
        Credit("mixed", gamma=0.5, alpha=0.2, scope="group", ddof=1, eps=0.1):
            adv.mixed_advantages(*b, 0.5, 0.2, "group", 1, 0.1),
        Credit("reinforce_pp", gamma=0.5): adv.reinforce_pp_advantages(*b[:2], 0.5),
        Credit("leave_one_out"): every(adv.leave_one_out_advantages(*b)),
        Credit("outcome", ddof=0): every(adv.outcome_advantages(*b, ddof=0)),
    }  # fmt: skip
    assert {credit.estimator for credit in cases} | {"gae"} == set(ESTIMATORS)
    for credit, by_turn in cases.items():
        expected = adv.spread(by_turn, TURN_IDS)
        assert torch.equal(tokens(credit).advantages, expected), credit
        assert tokens(credit).returns is None


def test_gae_by_hand():
    credit = Credit("gae", gamma=0.9, lam=0.8)
    found = tokens(credit, VALUES)
    raw, returns = [], []
    for row, ids, value in zip(LISTS, TURN_IDS.tolist(), VALUES.tolist(), strict=True):
        said = [(t, v) for t, v in zip(ids, value, strict=True) if t >= 0]
        last = [
            i + 1 == len(said) or said[i + 1][0] != t for i, (t, _) in enumerate(said)
        ]
        at = [row[t] * end for (t, _), end in zip(said, last, strict=True)]
        raw.append(gae(at, [v for _, v in said], 0.9, 0.8))
        returns += [a + v for a, (_, v) in zip(raw[-1], said, strict=True)]
    mask = TURN_IDS >= 0
    flat = [x for row in whitened(raw) for x in row]
    assert found.advantages[mask].tolist() == pytest.approx(flat, abs=1e-12)
    assert found.returns[mask].tolist() == pytest.approx(returns, abs=1e-12)
    assert not found.advantages[~mask].any() and not found.returns[~mask].any()


@pytest.mark.parametrize("skip_user", [True, False])
def test_a_terminal_reward_without_discount_is_the_return_of_every_token(skip_user):
    terminal = torch.tensor(
        [[0.0, 0, 0.7], [0, 0.2, 0], [0, 0.4, 0], [0, 0, 1.0]]
    ).double()
    credit = Credit("gae", gamma=1.0, lam=1.0, skip_user=skip_user)
    found = tokens(credit, VALUES, terminal)
    each = torch.tensor([0.7, 0.2, 0.4, 1.0]).double()[:, None].expand(TURN_IDS.shape)
    mask = TURN_IDS >= 0
    torch.testing.assert_close(found.returns[mask], each[mask])


@pytest.mark.parametrize("estimator", ESTIMATORS)
@given(order=st.permutations(range(4)))
def test_permuting_dialogues_permutes_advantages(estimator, order):
    credit, order = Credit(estimator), list(order)
    values = VALUES if estimator == "gae" else None
    straight = tokens(credit, values).advantages
    turned = credit(
        REWARDS[order], VALID[order], GROUPS[order], TURN_IDS[order],
        None if values is None else values[order],
    ).advantages  # fmt: skip
    torch.testing.assert_close(turned, straight[order], atol=1e-12, rtol=0)


def test_a_reward_lands_on_the_last_token_of_its_turn():
    found = token_rewards(REWARDS, VALID, TURN_IDS)
    assert found[0].tolist() == [0, 1, 0, 2, 0, 0.5, 0]
    assert found[1].tolist() == [0, 0, 0, 0, 1, 0, 0]
    assert found[3].tolist() == [2, 0, 0, 0, 0, 0, 1]


def test_an_invalid_turn_earns_nothing_even_if_it_has_a_number():
    valid, ids = VALID.clone(), TURN_IDS.clone()
    valid[0, 2] = False
    ids[0, ids[0] == 2] = -1
    assert token_rewards(REWARDS, valid, ids)[0].sum() == 3


def test_a_reward_without_a_token_is_an_error():
    ids = TURN_IDS.clone()
    ids[3, ids[3] == 2] = -1
    with pytest.raises(ValueError, match="row 3: turn 3 has a reward but no token"):
        token_rewards(REWARDS, VALID, ids)


def test_wrong_settings_say_what_is_right():
    with pytest.raises(ValueError, match="grpo.*outcome, turn, immediate"):
        Credit("grpo")
    with pytest.raises(ValueError, match="batch or group"):
        Credit("mixed", scope="all")
    with pytest.raises(ValueError, match="gae"):
        tokens(Credit("mixed"), VALUES)
    with pytest.raises(ValueError, match="gae"):
        tokens(Credit("gae"))
    with pytest.raises(FrozenInstanceError):
        Credit("mixed").gamma = 1.0


def test_it_describes_itself_in_plain_values():
    said = Credit("outcome").describe()
    assert Credit(**said) == Credit("outcome") and said["estimator"] == "outcome"
