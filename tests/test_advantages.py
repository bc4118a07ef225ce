"""Credit: the worked example of MAPO's fact sheet, hand numbers, properties, and the
same estimators once more in plain Python."""

import json
import statistics as plain
from math import nan
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.learning import advantages as adv
from helpers.learning.groups import statistics
from helpers.scoring.geometry import zone_distance

FIXTURE = Path(__file__).parent / "fixtures" / "mapo_worked_example.json"
GOLD = json.loads(FIXTURE.read_text())
NAMES = list(GOLD["trajectories"])
GAMMA = GOLD["settings"]["gamma"]


@pytest.fixture(autouse=True, scope="module")
def double():
    """Hand numbers in float64, without changing the default for other test files."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


# The worked example -----------------------------------------------------------------


def table(rows):
    """{name: numbers a turn} to (B, K), NaN beyond a dialogue's end and for null."""
    out = torch.full((len(NAMES), 4), nan)
    for b, name in enumerate(NAMES):
        for k, value in enumerate(rows[name]):
            out[b, k] = nan if value is None else value
    return out


def column(numbers):
    return torch.tensor([numbers[name] for name in NAMES])


def same(got, expected, of=""):
    """Within 1e-9, with NaN where NaN is expected."""
    torch.testing.assert_close(
        got, expected, rtol=0, atol=1e-9, equal_nan=True, msg=lambda m: f"{of}: {m}"
    )


class Example:
    """Rewards worked out anew from the integers of the example, and their parts."""

    def __init__(self):
        self.phi, rewards = {}, {}
        for rows in GOLD["input"].values():
            for name, run in rows["rollouts"].items():
                path = torch.tensor([rows["P0"], *run["v"]]).double().cumsum(0)
                self.phi[name] = torch.from_numpy(zone_distance(path.numpy()))
                rewards[name] = (self.phi[name][:-1] - self.phi[name][1:]).tolist()
        self.rewards = table(rewards)
        self.valid = ~self.rewards.isnan()
        prompts = [GOLD["trajectories"][name]["prompt"] for name in NAMES]
        self.ids = torch.tensor([{"A": 7, "B": -3}[p] for p in prompts])
        self.returns = adv.turn_returns(self.rewards, self.valid, GAMMA)
        self.turn = adv.turn_advantages(self.returns, self.valid, self.ids)
        self.imm = adv.immediate_advantages(self.rewards, self.valid, self.ids)
        self.alone = (
            statistics(self.returns, self.valid, self.ids, "turn").count == 1
        ) & self.valid
        tokens = table({n: GOLD["trajectories"][n]["token_len"] for n in NAMES})
        self.tokens = tokens.nan_to_num().long()

    def at_turns(self, got):
        """Zero at turns that were not reached, which the example leaves out: NaN."""
        assert torch.equal(got[~self.valid], torch.zeros_like(got[~self.valid]))
        return torch.where(self.valid, got, nan)

    def mixed(self, **kwargs):
        got = adv.mixed_advantages(self.rewards, self.valid, self.ids, **kwargs)
        return self.at_turns(got)


@pytest.fixture(scope="module")
def example(double):
    return Example()


def test_example_distances_rewards_and_returns(example):
    for name in NAMES:
        same(example.phi[name], torch.tensor(GOLD["trajectories"][name]["phi"]))
    rows = {
        key: table({name: GOLD["trajectories"][name][key] for name in NAMES})
        for key in ("reward", "return_gamma", "return_gamma1")
    }
    same(example.rewards, rows["reward"])
    same(example.at_turns(example.returns), rows["return_gamma"])
    undiscounted = adv.turn_returns(example.rewards, example.valid, 1.0)
    same(example.at_turns(undiscounted), rows["return_gamma1"])


def test_example_outcome(example):
    x, gold = example, GOLD["grpo_outcome"]
    outcome = adv.outcome_advantages(x.rewards, x.valid, x.ids)
    same(outcome, column(gold["advantage"]))
    population = adv.outcome_advantages(x.rewards, x.valid, x.ids, ddof=0)
    same(population, column(gold["outcome_population_std"]))
    known = torch.ones(len(NAMES), 1, dtype=torch.bool)
    last = [row[ok][-1] for row, ok in zip(x.rewards, x.valid, strict=True)]
    for key, score in {
        "outcome_terminal_state": [-x.phi[name][-1] for name in NAMES],
        "outcome_last_increment": last,
        "outcome_mean_reward": x.rewards.nanmean(1).tolist(),
    }.items():
        score = torch.tensor(score).unsqueeze(1)
        same(adv.outcome_advantages(score, known, x.ids), column(gold[key]))
    total = x.rewards.nansum(1, keepdim=True)
    mean, std, _ = statistics(total, known, x.ids, "group", ddof=1)
    for b, name in enumerate(NAMES):
        stats = gold["stats"][GOLD["trajectories"][name]["prompt"]]
        same(
            torch.stack([total[b, 0], mean[b, 0], std[b, 0]]),
            torch.tensor([stats["scores"][name], stats["mean"], stats["std"]]),
        )


def test_example_turn_level(example):
    x, gold = example, GOLD["turn_level_mc"]
    same(x.at_turns(x.turn), table(gold["advantage"]))
    one = adv.turn_returns(x.rewards, x.valid, 1.0)
    everywhere = torch.ones_like(x.valid)
    padded = adv.turn_advantages(x.returns, everywhere, x.ids)
    for key, got in {
        "turn_gamma1": adv.turn_advantages(one, x.valid, x.ids),
        "turn_ddof1": adv.turn_advantages(x.returns, x.valid, x.ids, ddof=1),
        "turn_immediate_reward_repo_grpo_multiturn": adv.turn_advantages(
            x.rewards, x.valid, x.ids
        ),
        "turn_padded_zero_return": torch.where(x.valid, padded, 0.0),
        "turn_singleton_raw": torch.where(x.alone, x.returns / (1 + 1e-6), x.turn),
    }.items():
        same(x.at_turns(got), table(gold[key]))
    masked = x.at_turns(x.turn).masked_fill(x.alone, nan)
    same(masked, table(gold["turn_singleton_mask"]))


@pytest.mark.parametrize("key", ["stats", "padded_stats"])
def test_example_turn_statistics(example, key):
    x = example
    valid = x.valid if key == "stats" else torch.ones_like(x.valid)
    mean, std, count = statistics(x.returns, valid, x.ids, "turn")
    for place, gold in GOLD["turn_level_mc"][key].items():
        prompt, k = place.split("/turn")
        for b, name in enumerate(NAMES):
            if GOLD["trajectories"][name]["prompt"] == prompt and valid[b, int(k) - 1]:
                got = torch.stack([s[b, int(k) - 1] for s in (mean, std, count)])
                spread = gold["std"] or 0.0  # the example gives none to a group of one
                same(got, torch.tensor([gold["mean"], spread, gold["n"]]))


def test_example_immediate_and_batch(example):
    x, gold = example, GOLD["immediate"]
    for key, got in {
        "advantage": x.imm,
        "imm_group_scope": adv.immediate_advantages(
            x.rewards, x.valid, x.ids, scope="group"
        ),
        "imm_ddof1": adv.immediate_advantages(x.rewards, x.valid, x.ids, ddof=1),
        "return_batch_scope": adv.reinforce_pp_advantages(x.rewards, x.valid, GAMMA),
        # So named in the example; by the fact sheet's 2.3 that version has rewards here.
        "return_prompt_scope_repo_v2": adv.immediate_advantages(
            x.returns, x.valid, x.ids, scope="group"
        ),
    }.items():
        same(x.at_turns(got), table(gold[key]))
    for key, values, scope in (
        ("stats", x.rewards, "batch"),
        ("group_stats", x.rewards, "group"),
        ("return_batch_stats", x.returns, "batch"),
        ("return_prompt_stats", x.returns, "group"),
    ):
        mean, std, count = statistics(values, x.valid, x.ids, scope)
        for b, name in enumerate(NAMES):
            place = "all" if scope == "batch" else GOLD["trajectories"][name]["prompt"]
            expected = [float(gold[key][place][s]) for s in ("mean", "std", "n")]
            got = torch.stack([mean[b, 0], std[b, 0], count[b, 0]])
            same(got, torch.tensor(expected))


def test_example_weighted_by_tokens(example):
    """What the docstring of `immediate_advantages` says about verl's weighting."""
    x, gold = example, GOLD["immediate"]
    turn_ids = torch.full((len(NAMES), 60), -1)
    for b in range(len(NAMES)):
        ids = torch.arange(4).repeat_interleave(x.tokens[b])
        turn_ids[b, : len(ids)] = ids
    rewards, mask = adv.spread(x.rewards, turn_ids), turn_ids >= 0
    got = adv.immediate_advantages(rewards, mask, x.ids)
    expected = adv.spread(table(gold["imm_token_weighted"]), turn_ids)
    same(got, expected)
    mean, std, count = statistics(rewards, mask, None, "batch")
    stats = gold["token_weighted_stats"]["all"]
    same(mean[0, 0], torch.tensor(stats["mean"]))
    same(std[0, 0], torch.tensor(stats["std"]))
    assert count[0, 0] == stats["n"] == x.tokens.sum()


def test_example_mix(example):
    x, gold = example, GOLD["mixed"]
    same(x.mixed(), table(gold["advantage_0p5_0p5"]))
    same(x.mixed(scope="group"), table(gold["mixed_group_scope"]))
    for key, rows in gold["grid"].items():
        alpha = float(key.removeprefix("turn").split("_")[0])
        same(x.mixed(alpha=alpha), table(rows))
    masked = x.mixed().masked_fill(x.alone, nan)
    same(masked, table(gold["mixed_singleton_mask"]))
    raw = torch.where(x.alone, x.returns / (1 + 1e-6), x.turn)
    same(x.at_turns((raw + x.imm) / 2), table(gold["mixed_singleton_raw"]))


@pytest.mark.parametrize("arm", ["mixed", "outcome", "turn_only", "imm_only"])
def test_example_loss(example, arm):
    """The clipped objective, written out: what these advantages do to a loss."""
    x, gold, s = example, GOLD["loss"][arm], GOLD["settings"]
    outcome = adv.outcome_advantages(x.rewards, x.valid, x.ids).unsqueeze(1)
    a = {
        "mixed": x.mixed(),
        "outcome": torch.where(x.valid, outcome, nan),
        "turn_only": x.mixed(alpha=1.0),
        "imm_only": x.mixed(alpha=0.0),
    }[arm]
    ratio = table(s["ratio"])
    clipped = ratio.clamp(1 - s["clip_low"], 1 + s["clip_high"])
    loss = torch.maximum(-a * ratio, -a * clipped)
    loss = torch.where(a < 0, torch.minimum(loss, -a * s["dual_clip_c"]), loss)
    same(loss, table(gold["per_turn_token_loss"]))
    weighted = torch.where(x.valid, loss * x.tokens, 0.0)
    same(weighted.sum() / x.tokens.sum(), torch.tensor(gold["token_mean"]))
    by_dialogue = (weighted.sum(1) / x.tokens.sum(1)).mean()
    same(by_dialogue, torch.tensor(gold["seq_mean_token_mean"]))
    same(loss[x.valid].mean(), torch.tensor(gold["turn_mean"]))


# Hand numbers -----------------------------------------------------------------------

T, F = True, False


def test_an_invalid_turn_spends_no_discount_step():
    rewards = torch.tensor([[1.0, nan, 2.0, 4.0], [nan, 3.0, nan, nan]])
    valid = torch.tensor([[T, F, T, T], [F, T, F, F]])
    returns = adv.turn_returns(rewards, valid, 0.5)
    # 1 + 0.5 (2 + 0.5 * 4): the turn in between does not make it 0.25.
    assert returns.tolist() == [[3.0, 0.0, 4.0, 4.0], [0.0, 3.0, 0.0, 0.0]]


def test_outcome_and_leave_one_out_by_hand():
    rewards = torch.tensor([[1.0, 2.0], [5.0, nan], [4.0, nan], [nan, nan], [9.0, 1.0]])
    valid = ~rewards.isnan()
    ids = torch.tensor([5, 5, 5, 5, -(2**62)])
    got = adv.outcome_advantages(rewards, valid, ids, eps=0.0)
    # Scores 3, 5, 4: mean 4, sample deviation 1. No valid turn, and alone: 0.
    assert got.tolist() == [-1.0, 1.0, 0.0, 0.0, 0.0]
    loo = adv.leave_one_out_advantages(rewards, valid, ids)
    assert loo.tolist() == [-1.5, 1.5, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("ddof", [0, 1])
def test_equal_members_get_exactly_nothing(dtype, ddof):
    # Three times 0.1 sums to 0.30000000000000004: a plain mean leaves a last bit.
    rewards = torch.full((3, 1), 0.1, dtype=dtype)
    valid, ids = torch.ones(3, 1, dtype=torch.bool), torch.zeros(3, dtype=torch.long)
    for eps in (0.0, 1e-6):
        for f in (adv.outcome_advantages, adv.turn_advantages):
            got = f(rewards, valid, ids, ddof=ddof, eps=eps)
            assert got.dtype == dtype and not got.any()
    assert not adv.whiten(rewards, valid, ddof=ddof, eps=0.0).any()


def test_whiten_by_hand():
    x, mask = torch.tensor([[1.0, 9.0, 3.0], [5.0, nan, nan]]), torch.eye(2, 3)
    mask[0, 2], mask[1, 0], mask[1, 1] = 1, 1, 0
    # 1, 3, 5: mean 3, sample variance 4, population variance 8/3.
    got = adv.whiten(x, mask, eps=0.0)
    assert got.tolist() == [[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    assert adv.whiten(x, mask, eps=5.0)[0, 0] == pytest.approx(-2 / 3)
    assert adv.whiten(x, mask, ddof=0, eps=0.0)[1, 0] == pytest.approx(1.5**0.5)
    one = torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    assert not adv.whiten(x, one).any() and not adv.whiten(x, 0 * one).any()


RANKS_4, RANKS_8 = [1.1616, 0.3872], [1.4285, 1.0203, 0.6122, 0.2041]


@pytest.mark.parametrize(
    "ddof, upper", [(1, RANKS_4), (0, [1.3416, 0.4472]), (1, RANKS_8)]
)
def test_rank_oracles(ddof, upper):
    """Fact sheet of RAPO, 9.9; printed to four digits."""
    n = 2 * len(upper)
    ranks, ids = torch.arange(1, n + 1), torch.zeros(n, dtype=torch.long)
    got = adv.rank_advantages(ranks, ids, ddof=ddof, eps=1e-4 if ddof else 0.0)
    expected = torch.tensor(upper + [-a for a in reversed(upper)])
    torch.testing.assert_close(got, expected, rtol=0, atol=6e-5)


def test_rank_rewards_by_hand():
    ids = torch.tensor([4, 9, 4, 9, 4, 9, 4, 1])
    ranks = torch.tensor([1.0, 1.0, 4.0, 1.0, 2.0, 3.0, 3.0, 1.0])
    got = adv.rank_rewards(ranks, ids)
    expected = [1, 0.75, 0, 0.75, 2 / 3, 0, 1 / 3, nan]
    same(got, torch.tensor(expected))
    dense = torch.where(ranks == 3.0, torch.where(ids == 9, 2.0, ranks), ranks)
    same(adv.rank_rewards(dense, ids), got)  # ties numbered 1, 1, 2
    with pytest.raises(ValueError, match=r"\(2,\) is 5.0, outside 1..size"):
        adv.rank_rewards(ranks.masked_fill(ranks == 4, 5.0), ids)


def test_ranks_without_signal():
    ids = torch.tensor([0, 0, 0, 1, 1, 1, 2])
    ranks = torch.tensor([1.0, nan, 2.0, 1.0, 1.0, 1.0, 1.0])
    rewards = adv.rank_rewards(ranks, ids)
    assert rewards[:3].isnan().all() and rewards[6].isnan()
    assert rewards[3:6].tolist() == [0.5, 0.5, 0.5]
    assert not adv.rank_advantages(ranks, ids).any()


def test_gae_by_hand():
    mask = torch.tensor([[1, 0, 1, 0, 0]])
    rewards = torch.tensor([[0.0, 0.0, 1.0, nan, 0.0]])
    values = torch.tensor([[0.5, 0.9, 0.25, nan, 7.0]])
    got = adv.gae(rewards, values, mask, 0.5, 0.5)
    # 1 - .25 = .75 at the end; (.5 * .25 - .5) + .25 * .75 before it.
    assert got.tolist() == [[-0.1875, 0.0, 0.75, 0.0, 0.0]]
    walk = adv.gae(rewards, values, mask, 0.5, 0.5, skip_user=False)
    # On the user token (.5 * .25 - .9) + .25 * .75 = -.5875, before it (.5 * .9 - .5)
    # + .25 * -.5875.
    same(walk, torch.tensor([[-0.196875, -0.5875, 0.75, 0.0, 0.0]]))


def test_spread():
    values = torch.tensor([[1.0, 2.0], [3.0, nan]])
    ids = torch.tensor([[-1, 0, 0, 1], [0, -1, -1, -1]])
    got = adv.spread(values, ids)
    assert got.tolist() == [[0.0, 1.0, 1.0, 2.0], [3.0, 0.0, 0.0, 0.0]]
    with pytest.raises(ValueError, match=r"\(0, 3\) is 2, outside -1..1"):
        adv.spread(values, torch.tensor([[0, 0, 1, 2], [0, 0, 0, 0]]))


def test_mistakes_are_named():
    rewards, valid = torch.ones(3, 2), torch.ones(3, 2, dtype=torch.bool)
    ids = torch.zeros(3, dtype=torch.long)
    with pytest.raises(ValueError, match=r"entry \(2, 1\) is nan, yet the mask"):
        spoilt = torch.tensor([[1.0, 1.0], [1.0, 1.0], [1.0, nan]])
        adv.outcome_advantages(spoilt, valid, ids)
    with pytest.raises(ValueError, match=r"group_ids is \(2,\), expected \(3,\)"):
        adv.turn_advantages(rewards, valid, ids[:2])
    with pytest.raises(ValueError, match=r"the mask is \(3,\), expected \(3, 2\)"):
        adv.turn_returns(rewards, valid[:, 0], 1.0)
    with pytest.raises(TypeError, match="float32 or float64"):
        adv.turn_returns(rewards.bfloat16(), valid, 1.0)
    with pytest.raises(ValueError, match='scope = .turn.: choose "batch"'):
        adv.immediate_advantages(rewards, valid, ids, scope="turn")
    with pytest.raises(ValueError, match="ddof = 2"):
        adv.turn_advantages(rewards, valid, ids, ddof=2)
    for call in (
        lambda: adv.turn_returns(rewards, valid, 1.5),
        lambda: adv.mixed_advantages(rewards, valid, ids, alpha=-0.1),
        lambda: adv.gae(rewards, rewards, valid, 1.0, nan),
    ):
        with pytest.raises(ValueError, match=r"outside \[0, 1\]"):
            call()


# Properties -------------------------------------------------------------------------

ESTIMATORS = {
    "outcome": adv.outcome_advantages,
    "leave one out": adv.leave_one_out_advantages,
    "turn": adv.turn_advantages,
    "immediate, batch": adv.immediate_advantages,
    "immediate, group": lambda r, v, g: adv.immediate_advantages(r, v, g, "group"),
    "mixed": adv.mixed_advantages,
    "mixed, group, ddof 1": lambda r, v, g: adv.mixed_advantages(
        r, v, g, gamma=0.5, alpha=0.3, scope="group", ddof=1
    ),
    "reinforce++": lambda r, v, g: adv.reinforce_pp_advantages(r, v, 0.85),
    "returns": lambda r, v, g: adv.turn_returns(r, v, 0.85),
    "whiten": lambda r, v, g: adv.whiten(r, v),
    "gae": lambda r, v, g: adv.gae(r, r, v, 0.9, 0.8),
}
SETTINGS = settings(derandomize=True, deadline=None, max_examples=50)
IDS = [-(2**63), -7, 0, 3, 2**63 - 1]  # any whole numbers


def holds(*cases):
    """A property, tried on the same cases every time."""
    return lambda test: SETTINGS(given(*cases)(test))


@st.composite
def batches(draw, most=7):
    """Rewards (B, K) with NaN where invalid, valid (B, K), group ids (B,)."""
    b, k = draw(st.integers(1, most)), draw(st.integers(1, 5))
    # Eighths, so that ties are frequent and exact.
    reward = st.one_of(st.none(), st.integers(-40, 40).map(lambda n: n / 8))
    flat = draw(st.lists(reward, min_size=b * k, max_size=b * k))
    rewards = torch.tensor([nan if x is None else x for x in flat]).reshape(b, k)
    ids = draw(st.lists(st.sampled_from(IDS), min_size=b, max_size=b))
    return rewards.double(), ~rewards.isnan(), torch.tensor(ids)


@holds(batches(), st.randoms(use_true_random=False))
def test_permuting_dialogues_permutes_advantages(batch, random):
    rewards, valid, ids = batch
    order = torch.tensor(random.sample(range(len(ids)), len(ids)))
    for name, estimate in ESTIMATORS.items():
        got = estimate(rewards[order], valid[order], ids[order])
        same(got, estimate(rewards, valid, ids)[order], name)


@holds(batches())
def test_invalid_entries_change_nothing(batch):
    rewards, valid, ids = batch
    for name, estimate in ESTIMATORS.items():
        expected = estimate(rewards, valid, ids)
        assert expected.isfinite().all(), name
        for junk in (1e6, float("inf")):
            got = estimate(rewards.masked_fill(~valid, junk), valid, ids)
            assert torch.equal(got, expected), name
        off = ~valid if expected.ndim == 2 else ~valid.any(1)
        assert not expected[off].any(), name


@holds(batches())
def test_a_dialogue_without_a_valid_turn_enters_no_statistic(batch):
    rewards, valid, ids = batch
    kept = valid.any(1)
    for name, estimate in ESTIMATORS.items():
        got = estimate(rewards[kept], valid[kept], ids[kept])
        same(got, estimate(rewards, valid, ids)[kept], name)


@holds(batches(), st.sampled_from(["batch", "group"]), st.sampled_from([0, 1]))
def test_the_ends_of_the_mix_are_its_parts_bit_for_bit(batch, scope, ddof):
    rewards, valid, ids = batch
    mix = {
        alpha: adv.mixed_advantages(
            rewards, valid, ids, alpha=alpha, scope=scope, ddof=ddof
        ).view(torch.int64)
        for alpha in (0, 1)
    }
    returns = adv.turn_returns(rewards, valid, 0.85)
    turn = adv.turn_advantages(returns, valid, ids, ddof)
    immediate = adv.immediate_advantages(rewards, valid, ids, scope, ddof)
    assert torch.equal(mix[1], turn.view(torch.int64))
    assert torch.equal(mix[0], immediate.view(torch.int64))


@holds(batches(), st.sampled_from([0, 1]))
def test_turn_one_without_discount_is_the_outcome(batch, ddof):
    rewards, valid, ids = batch
    rewards[:, 0], valid[:, 0] = rewards[:, 0].nan_to_num(), True
    returns = adv.turn_returns(rewards, valid, 1.0)
    turn = adv.turn_advantages(returns, valid, ids, ddof=ddof)
    outcome = adv.outcome_advantages(rewards, valid, ids, ddof=ddof)
    torch.testing.assert_close(turn[:, 0], outcome, rtol=0, atol=1e-9)


@holds(
    st.lists(st.integers(-40, 40), min_size=6, max_size=6),
    st.lists(st.integers(1, 40), min_size=6, max_size=6),
)
def test_groups_of_two_get_plus_and_minus_one(low, gap):
    low, gap = torch.tensor(low).double(), torch.tensor(gap).double()
    values = torch.stack([low, low + gap]).reshape(2, 6)
    valid, ids = torch.ones(2, 6, dtype=torch.bool), torch.tensor([8, 8])
    got = adv.turn_advantages(values, valid, ids)
    expected = torch.tensor([[-1.0], [1.0]]).expand(2, 6)
    torch.testing.assert_close(got, expected, rtol=0, atol=3e-6)


@holds(
    st.lists(st.floats(0, 50), min_size=2, max_size=9), st.sampled_from([0.0, 0.85, 1])
)
def test_returns_telescope(phi, gamma):
    """Fact sheet of MAPO, 1.6 (b) and (c)."""
    last, phi = len(phi) - 1, torch.tensor(phi).double()
    rewards = (phi[:-1] - phi[1:]).unsqueeze(0)
    got = adv.turn_returns(rewards, torch.ones(1, last, dtype=torch.bool), gamma)[0]
    for t in range(1, last + 1):
        later = sum(gamma ** (j - t) * phi[j] for j in range(t, last))
        expected = phi[t - 1] - (1 - gamma) * later - gamma ** (last - t) * phi[last]
        assert got[t - 1] == pytest.approx(expected.item(), abs=1e-9)
        if gamma == 1:
            assert got[t - 1] == pytest.approx((phi[t - 1] - phi[last]).item())


@holds(batches())
def test_advantages_of_a_group_sum_to_nothing(batch):
    rewards, valid, ids = batch
    turn = adv.turn_advantages(rewards, valid, ids)
    outcome = adv.outcome_advantages(rewards, valid, ids)
    for group in set(ids.tolist()):
        assert turn[ids == group].sum(0).abs().max() < 1e-9
        assert outcome[ids == group].sum().abs() < 1e-9


@holds(st.permutations(range(1, 6)), st.permutations(range(1, 6)))
def test_ranks_without_ties_give_every_group_the_same_set(first, second):
    ids = torch.tensor([11, -4]).repeat(5)
    ranks = torch.tensor([first, second]).T.reshape(-1)
    got = adv.rank_advantages(ranks, ids)
    sets = [got[ids == i].sort().values for i in (11, -4)]
    torch.testing.assert_close(*sets, rtol=0, atol=1e-12)
    assert torch.equal(ranks[ids == 11].argsort(), got[ids == 11].argsort().flip(0))


# The same in plain Python -----------------------------------------------------------


def z(x, members, ddof, eps):
    if len(members) < 2 or len(set(members)) == 1:
        return 0.0
    deviation = plain.stdev(members) if ddof else plain.pstdev(members)
    return (x - plain.fmean(members)) / (deviation + eps)


def naive_mix(rewards, valid, ids, gamma, alpha, scope, ddof, eps):
    """(returns, turn, mixed), each rows of numbers, one entry after the other."""
    rows, turns = range(len(ids)), range(len(rewards[0]))
    returns = [[0.0 for _ in turns] for _ in rows]
    for i in rows:
        steps = [k for k in turns if valid[i][k]]
        for at, k in enumerate(steps):
            returns[i][k] = sum(
                gamma**n * rewards[i][j] for n, j in enumerate(steps[at:])
            )
    turn, mixed = [[[0.0 for _ in turns] for _ in rows] for _ in range(2)]
    for i in rows:
        for k in turns:
            if not valid[i][k]:
                continue
            peers = [j for j in rows if ids[j] == ids[i]]
            column = [returns[j][k] for j in peers if valid[j][k]]
            pool = rows if scope == "batch" else peers
            now = [rewards[j][m] for j in pool for m in turns if valid[j][m]]
            turn[i][k] = z(returns[i][k], column, ddof, eps)
            imm = z(rewards[i][k], now, ddof, eps)
            mixed[i][k] = alpha * turn[i][k] + (1 - alpha) * imm
    return returns, turn, mixed


@holds(
    batches(),
    st.sampled_from([0.0, 0.85, 1.0]),
    st.sampled_from([0.0, 0.4, 1.0]),
    st.sampled_from(["batch", "group"]),
    st.sampled_from([0, 1]),
)
def test_turn_estimators_agree_with_loops(batch, gamma, alpha, scope, ddof):
    rewards, valid, ids = batch
    # eps of a tenth: next to 1e-6 a last bit of a tied return would be an advantage.
    knobs = dict(gamma=gamma, alpha=alpha, scope=scope, ddof=ddof, eps=0.1)
    lists = rewards.tolist(), valid.tolist(), ids.tolist()
    returns, turn, mixed = (torch.tensor(x) for x in naive_mix(*lists, **knobs))
    same(adv.turn_returns(rewards, valid, gamma), returns)
    same(adv.turn_advantages(returns, valid, ids, ddof, 0.1), turn)
    same(adv.mixed_advantages(rewards, valid, ids, **knobs), mixed)


@holds(batches(), st.sampled_from([0, 1]))
def test_outcome_estimators_agree_with_loops(batch, ddof):
    rewards, valid, ids = batch
    rows = zip(rewards.tolist(), valid.tolist(), strict=True)
    score = [
        sum(x for x, ok in zip(r, v, strict=True) if ok) if any(v) else None
        for r, v in rows
    ]
    outcome, loo = [0.0] * len(score), [0.0] * len(score)
    for i, group in enumerate(ids.tolist()):
        peers = [
            s
            for s, g in zip(score, ids.tolist(), strict=True)
            if g == group and s is not None
        ]
        if score[i] is not None and len(peers) > 1:
            outcome[i] = z(score[i], peers, ddof, 1e-6)
            loo[i] = score[i] - (sum(peers) - score[i]) / (len(peers) - 1)
    same(adv.outcome_advantages(rewards, valid, ids, ddof), torch.tensor(outcome))
    same(adv.leave_one_out_advantages(rewards, valid, ids), torch.tensor(loo))


def naive_gae(rewards, values, mask, gamma, lam, skip_user):
    out = [[0.0] * len(row) for row in rewards]
    for r, v, m, a in zip(rewards, values, mask, out, strict=True):
        steps = [t for t, on in enumerate(m) if on]
        if not skip_user and steps:
            steps = list(range(steps[-1] + 1))
        later, next_value = 0.0, 0.0
        for t in reversed(steps):
            reward = r[t] if m[t] else 0.0
            later = reward + gamma * next_value - v[t] + gamma * lam * later
            a[t], next_value = later, v[t]
    return out


@pytest.mark.parametrize("skip_user", [True, False])
@pytest.mark.parametrize("gamma, lam", [(1, 1), (0.99, 0.95), (1, 0), (0, 1)])
@pytest.mark.parametrize("length", [1, 2, 33, 64])
def test_gae_agrees_with_loops(length, gamma, lam, skip_user):
    torch.manual_seed(length)
    rewards, values = torch.randn(2, 6, length).unbind()
    mask = torch.rand(6, length) < 0.6
    mask[0] = False
    lists = rewards.tolist(), values.tolist(), mask.tolist()
    expected = torch.tensor(naive_gae(*lists, gamma, lam, skip_user))
    got = adv.gae(rewards, values, mask, gamma, lam, skip_user)
    same(got, expected)
    for kind in (torch.float32, torch.float64):
        typed = adv.gae(rewards.to(kind), values.to(kind), mask, gamma, lam, skip_user)
        assert typed.dtype == kind
        torch.testing.assert_close(typed, expected.to(kind), rtol=1e-4, atol=1e-5)


@holds(
    st.lists(st.lists(st.booleans(), min_size=12, max_size=12), min_size=1, max_size=4),
    st.floats(-5, 5),
    st.booleans(),
)
def test_gae_without_discount_returns_the_reward_everywhere(mask, reward, skip_user):
    mask = torch.tensor(mask)
    rewards, values = torch.zeros(mask.shape), torch.randn(mask.shape)
    for b, row in enumerate(mask):
        if row.any():
            rewards[b, row.nonzero()[-1]] = reward
    returns = adv.gae(rewards, values, mask, 1.0, 1.0, skip_user) + values
    expected = torch.full_like(returns, reward)[mask]
    torch.testing.assert_close(returns[mask], expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("junk", [1e6, nan])
def test_what_gae_does_not_read(junk):
    torch.manual_seed(0)
    rewards, values = torch.randn(2, 5, 20).unbind()
    mask = torch.rand(5, 20) < 0.5
    mask[:, 15:] = False
    behind = mask.flip(1).cumsum(1).flip(1) == 0
    for skip_user, unread in ((True, ~mask), (False, behind)):
        clean = adv.gae(rewards, values, mask, 0.9, 0.9, skip_user)
        spoilt = adv.gae(
            rewards.masked_fill(~mask, junk),
            values.masked_fill(unread, junk),
            mask,
            0.9,
            0.9,
            skip_user,
        )
        assert torch.equal(clean, spoilt) and not clean[unread].any()
    # A user token in between does matter to the fork's walk.
    between = ~mask & ~behind
    shifted = adv.gae(rewards, values + between, mask, 0.9, 0.9, skip_user=False)
    assert not torch.allclose(shifted[mask], clean[mask])
