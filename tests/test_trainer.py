"""The trainer against a plain loop, its masks, its sizes, resuming and stopping."""

import inspect
import math
import re

import pytest
import torch
import trl
from huggingface_hub import constants
from huggingface_hub.utils import _telemetry
from naive_credit import gae, mixed, outcome, whitened
from reference_loop import Loop
from trainer_fakes import (
    SCENARIOS,
    WORDS,
    packed_row,
    random_row,
    roll_of,
    tiny_policy,
    tiny_tokenizer,
)
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    Qwen3Config,
    Qwen3ForCausalLM,
    Trainer,
)
from trl import GRPOTrainer
from trl.trainer.utils import add_fused_lm_head

from helpers.learning import batches
from helpers.learning.credit import Credit
from helpers.learning.critic import Critic, CriticSettings
from helpers.learning.housekeeping import last_checkpoint
from helpers.learning.metrics import GLOSSARY
from helpers.learning.rewards import REWARDS
from helpers.learning.settings import TrainerSettings, check_sizes, plan
from helpers.learning.trainer import DialogueTrainer

GRPO, MAPO = Credit("outcome"), Credit("mixed")
PPO = Credit("gae", gamma=0.97, lam=0.9)


class Recorded(DialogueTrainer):
    """Keeps what each minibatch was and what came of it."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.seen, self.losses, self.gradients = [], [], []

    def _compute_loss(self, model, inputs):
        loss = super()._compute_loss(model, inputs)
        self.seen.append(inputs)
        self.losses.append(loss.item())
        return loss

    def training_step(self, *args, **kwargs):
        result = super().training_step(*args, **kwargs)
        self.gradients.append([grad_of(p) for p in parameters(self)])
        return result


def grad_of(p):
    return torch.zeros_like(p) if p.grad is None else p.grad.clone()


def parameters(trainer):
    """Of the policy, then of the critic if there is one; those that learn."""
    critic = trainer.critic.parameters() if trainer.critic else []
    return [p for p in (*trainer.model.parameters(), *critic) if p.requires_grad]


def build(tmp_path, credit=MAPO, critic=None, model=None, roll=None, **options):
    """A trainer of 2 steps x 8 dialogues x 2 minibatches on a new tiny policy."""
    model = model or tiny_policy()
    reward = options.pop("reward", "distance")
    settings = TrainerSettings(
        **{
            "steps": 2, "dialogues": 8, "group_size": 1 if critic else 4,
            "learning_rate": 0.03, "entropy_coef": 0.01, **options,
        }
    )  # fmt: skip
    return Recorded(
        model, tiny_tokenizer(), SCENARIOS, roll or roll_of(model), REWARDS[reward],
        credit, settings, tmp_path / "out", critic,
    )  # fmt: skip


def ids_of(inputs, i):
    """The tokens of row i of a minibatch, without padding."""
    prompt = inputs["prompt_ids"][i][inputs["prompt_mask"][i].bool()].tolist()
    reply = inputs["completion_ids"][i][inputs["completion_mask"][i].bool()].tolist()
    return tuple(prompt + reply)


def replay(trainer, log, loop, credit, warm=0):
    """The same rows through the plain loop, minibatch by minibatch."""
    rewards_of = REWARDS["distance"]
    minibatches = iter(trainer.seen)
    for step, rows in enumerate(log):
        where = {(*r.prompt_ids, *r.completion_ids): i for i, r in enumerate(rows)}
        rewards = [rewards_of(row.dialogue) for row in rows]
        size = trainer.settings.group_size
        groups = [i // size for i in range(len(rows))]
        turns = [[t for t in row.turn_ids if t >= 0] for row in rows]
        values = returns = None
        if credit.estimator == "outcome":
            totals = outcome(rewards, groups)
            given = [[a] * len(t) for a, t in zip(totals, turns, strict=True)]
        elif credit.estimator == "mixed":
            by_turn = mixed(rewards, groups, credit.gamma, credit.alpha)
            given = [[by_turn[i][t] for t in turns[i]] for i in range(len(rows))]
        else:
            with torch.no_grad():
                values = [loop.values(row).tolist() for row in rows]
            raw = []
            for reward, said, value in zip(rewards, turns, values, strict=True):
                last = [
                    i + 1 == len(said) or said[i + 1] != t for i, t in enumerate(said)
                ]
                at = [reward[t] * end for t, end in zip(said, last, strict=True)]
                raw.append(gae(at, value, credit.gamma, credit.lam))
            returns = [
                [a + v for a, v in zip(*pair, strict=True)]
                for pair in zip(raw, values, strict=True)
            ]
            given = whitened(raw)
        for _ in range(trainer.settings.minibatches):
            inputs = next(minibatches)
            chosen = [where[ids_of(inputs, i)] for i in range(len(inputs["turn_ids"]))]

            def of(table, chosen=chosen):
                return table and [table[i] for i in chosen]

            loop.update(of(rows), of(given), of(values), of(returns), step >= warm)


@pytest.mark.parametrize("row", [random_row, packed_row], ids=["plain", "packed"])
@pytest.mark.parametrize("credit", [GRPO, MAPO, PPO], ids=lambda c: c.estimator)
def test_agrees_with_a_plain_loop(tmp_path, credit, row):
    critic = CriticSettings(0.02, value_clip=0.05, warmup_steps=1)
    critic = critic if credit is PPO else None
    log, model = [], tiny_policy()
    trainer = build(tmp_path, credit, critic, model, roll_of(model, log, row))
    twin = tiny_policy()
    loop = Loop(
        twin, 0.03, Critic(twin) if critic else None, 0.02, entropy_coef=0.01,
        value_clip=0.05,
    )  # fmt: skip
    trainer.fit()
    replay(trainer, log, loop, credit, warm=1 if critic else 0)
    assert len(loop.losses) == 4
    assert trainer.losses == pytest.approx(loop.losses, abs=1e-10)
    assert any(entry.get("clip_ratio/region_mean") for entry in trainer.curve)
    twins = [p for part in loop.parts for p in part]
    for ours, theirs in zip(
        [*trainer.gradients, parameters(trainer)], [*loop.gradients, twins], strict=True
    ):
        for a, b in zip(ours, theirs, strict=True):
            torch.testing.assert_close(a, b, atol=1e-9, rtol=0)
    moved = zip(tiny_policy().parameters(), model.parameters(), strict=True)
    assert all(not torch.equal(a, b) for a, b in moved)


@pytest.mark.parametrize("credit", [MAPO, PPO], ids=lambda c: c.estimator)
def test_masked_tokens_never_matter(tmp_path, credit):
    critic = CriticSettings(0.01) if credit is PPO else None
    trainer = build(tmp_path, credit, critic)
    trainer.fit()
    inputs = dict(trainer.seen[0])
    before = trainer._compute_loss(trainer.model, inputs)
    off = inputs["tool_mask"] == 0
    assert (off & inputs["completion_mask"].bool()).any()
    for name in ("advantages", "old_values", "returns", "old_per_token_logps"):
        if name in inputs:
            inputs[name] = inputs[name].masked_fill(off, 1e6)
    assert trainer._compute_loss(trainer.model, inputs).item() == before.item()


@pytest.mark.parametrize("kind", ["qwen2", "qwen3", "gpt2"])
@pytest.mark.parametrize("head", ["logits", "chunked"])
def test_packed_rows_give_the_log_probabilities_of_single_turns(kind, head):
    """gpt2 has absolute positions: they must count as if only the past stood there."""
    policy = of_kind(kind)
    single = head == "chunked" or kind != "gpt2"  # something computes in float32
    tolerance = 1e-5 if single else 1e-12
    add_fused_lm_head(policy, outputs=("log_probs", "entropy"))
    rows = [packed_row("s", i, turns=4) for i in range(5)] + [random_row("s", 9)]
    batch = batches.collate(rows, torch.ones(6, 4, dtype=torch.bool), 0)
    words = 10**6 if head == "chunked" else WORDS
    with torch.no_grad():
        found = batches.token_logps(policy, batch, 1.0, policy.dtype, words)
        expected = [Loop(policy, 0.0).of_tokens(row) for row in rows]
    for i in range(len(rows)):
        here = batch["tool_mask"][i].bool()
        for ours, theirs in zip(found, expected[i], strict=True):
            given = theirs.to(ours[i].dtype)
            torch.testing.assert_close(ours[i][here], given, atol=tolerance, rtol=0)
            assert not ours[i][~here].any()


def of_kind(kind):
    if kind == "gpt2":
        config = GPT2Config(
            vocab_size=WORDS, n_embd=16, n_layer=2, n_head=2, n_positions=128,
            bos_token_id=None, eos_token_id=2,
        )  # fmt: skip
        return GPT2LMHeadModel(config).eval().double()
    if kind == "qwen3":
        config = Qwen3Config(
            vocab_size=WORDS, hidden_size=16, intermediate_size=32, head_dim=8,
            num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1,
            bos_token_id=None, eos_token_id=2,
        )  # fmt: skip
        return Qwen3ForCausalLM(config).float()
    return tiny_policy(dtype=torch.float32)


def test_packed_rows_agree_to_the_last_digits_in_double_precision():
    policy = tiny_policy()  # with a norm that keeps double precision
    rows = [packed_row("s", i, turns=4) for i in range(5)]
    batch = batches.collate(rows, torch.ones(5, 4, dtype=torch.bool), 0)
    with torch.no_grad():
        found = batches.token_logps(policy, batch, 1.0, policy.dtype, WORDS)[0]
        expected = torch.cat([Loop(policy, 0.0).of_tokens(row)[0] for row in rows])
    kept = found[batch["tool_mask"].bool()]
    torch.testing.assert_close(kept, expected, atol=1e-12, rtol=0)


def test_failed_dialogues_and_turns_carry_nothing(tmp_path):
    """Their tokens are not counted, and the others are as if they were not there."""

    def change(rows):
        rows[0] = random_row("s00", 1, turns=3, failed=True)
        return rows

    model, log = tiny_policy(), []
    trainer = build(
        tmp_path, GRPO, None, model, roll_of(model, log, change=change), steps=1
    )
    curve = trainer.fit()
    assert curve[0]["dialogue/failed"] == 1
    failed = next(r for r in log[0] if r.dialogue.failure)
    tokens = (*failed.prompt_ids, *failed.completion_ids)
    found = 0
    for inputs in trainer.seen:
        for i in range(len(inputs["turn_ids"])):
            if ids_of(inputs, i) == tokens:
                found += 1
                assert not inputs["tool_mask"][i].any()
                assert not inputs["advantages"][i].any()
    assert found == 1
    others = [sum(REWARDS["distance"](r.dialogue)) for r in log[0][1:4]]
    by_hand = outcome([[x] for x in others], [0, 0, 0])
    given = {
        ids_of(x, i): x["advantages"][i].max() + x["advantages"][i].min()
        for x in trainer.seen
        for i in range(len(x["turn_ids"]))
    }
    for row, expected in zip(log[0][1:4], by_hand, strict=True):
        assert given[(*row.prompt_ids, *row.completion_ids)].item() == pytest.approx(
            expected
        )


def test_a_dialogue_without_a_token_does_no_harm(tmp_path):
    def change(rows):
        record = random_row("s00", 1, turns=1, failed=True).dialogue
        empty = random_row("s00", 1)
        rows[0] = type(empty)([], [], [], [], [], record)
        return rows

    model = tiny_policy()
    trainer = build(
        tmp_path, PPO, CriticSettings(0.01), model, roll_of(model, change=change)
    )
    trainer.fit()
    assert all(map(math.isfinite, trainer.losses))
    assert all(p.isfinite().all() for p in model.parameters())


def test_a_step_in_which_nothing_was_judged_stops(tmp_path):
    model = tiny_policy()
    failing = roll_of(model, row=lambda s, seed: random_row(s, seed, failed=True))
    with pytest.raises(RuntimeError, match="step 1 has no judged.*user: no answer"):
        build(tmp_path, roll=failing, model=model).fit()


@pytest.mark.parametrize("credit", [MAPO, PPO], ids=lambda c: c.estimator)
def test_a_resumed_run_has_the_curve_of_an_undisturbed_one(tmp_path, credit):
    critic = CriticSettings(0.01, warmup_steps=1) if credit is PPO else None
    options = {
        "credit": credit,
        "critic": critic,
        "save_every": 1,
        "steps": 5,
        "warmup_steps": 2,
    }
    whole = build(tmp_path / "a", **options)
    whole.fit()

    class Killed(Exception):
        pass

    model, calls = tiny_policy(), []
    inner = roll_of(model)

    def dies(scenario_ids, seed):
        calls.append(seed)
        if len(calls) == 4:
            raise Killed
        return inner(scenario_ids, seed)

    with pytest.raises(Killed):
        build(tmp_path / "b", model=model, roll=dies, **options).fit()
    half = tmp_path / "b" / "out" / "checkpoint-8"
    half.mkdir()  # a checkpoint whose writing was cut off is not one
    assert last_checkpoint(tmp_path / "b" / "out").name == "checkpoint-6"
    model = tiny_policy(seed=5)  # its weights come from the checkpoint
    resumed = build(tmp_path / "b", model=model, **options)
    resumed.fit()
    assert len(resumed.curve) == 5
    assert stripped(resumed.curve) == stripped(whole.curve)
    for a, b in zip(model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(a, b)
    if critic:
        for a, b in zip(
            resumed.critic.parameters(), whole.critic.parameters(), strict=True
        ):
            assert torch.equal(a, b)
    again = build(tmp_path / "b", **options)
    assert stripped(again.fit()) == stripped(whole.curve), "nothing left to do"


def stripped(curve):
    return [
        {
            k: v
            for k, v in entry.items()
            if not k.startswith("time/") and k != "step_time"
        }
        for entry in curve
    ]


def test_the_critic_alone_learns_while_it_warms_up(tmp_path):
    model = tiny_policy()
    before = [p.clone() for p in model.parameters()]
    critic = CriticSettings(0.01, warmup_steps=2)
    trainer = build(tmp_path, PPO, critic, model, steps=2)
    start = [p.clone() for p in trainer.critic.parameters()]
    trainer.fit()
    assert all(
        torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True)
    )
    moved = zip(start, trainer.critic.parameters(), strict=True)
    assert all(not torch.equal(a, b) for a, b in moved)


def test_packed_rows_and_a_walk_over_all_tokens_exclude_each_other(tmp_path):
    model = tiny_policy()
    walk = Credit("gae", skip_user=False)
    trainer = build(
        tmp_path, walk, CriticSettings(0.1), model, roll_of(model, row=packed_row)
    )
    with pytest.raises(ValueError, match="set skip_user"):
        trainer.fit()


def test_gradient_checkpointing_changes_nothing_but_memory(tmp_path):
    losses = []
    for name, less in (("a", False), ("b", True)):
        trainer = build(
            tmp_path / name, PPO, CriticSettings(0.01), gradient_checkpointing=less
        )
        trainer.fit()
        assert trainer.model.is_gradient_checkpointing == less
        assert trainer.critic.body.is_gradient_checkpointing == less
        losses.append(trainer.losses)
    assert losses[0] == pytest.approx(losses[1], abs=1e-12)


def test_a_loss_that_is_no_number_stops_with_its_batch(tmp_path):
    model = tiny_policy()
    inner = roll_of(model)

    def poisoned(scenario_ids, seed):
        rows = inner(scenario_ids, seed)
        if trainer.generation == 1:
            model.lm_head.weight.data[0, 0] = math.nan
        return rows

    trainer = build(tmp_path, model=model, roll=poisoned)
    with pytest.raises(
        FloatingPointError, match=r"update 3 \(step 2\).*scenarios s"
    ) as e:
        trainer.fit()
    path = re.search(r"stored in (\S+),", str(e.value)).group(1)
    stored = torch.load(path, weights_only=True)
    assert stored["completion_ids"].shape[0] == 4 and "advantages" in stored


@pytest.mark.parametrize(
    "sizes, message",
    [
        (
            {"dialogues": 10},
            "divisible by group_size = 4: choose group_size among 1, 2",
        ),
        ({"minibatches": 3}, "dialogues = 8 is not divisible by minibatches = 3"),
        (
            {"micro_batch": 3},
            "divisible by micro_batch = 3: choose micro_batch among 1, 2, 4",
        ),
        ({"group_size": 1}, "group_size = 1 leaves 'mixed' nothing to compare"),
        ({"steps": 0}, "steps = 0: give 1 or more"),
        ({"device": "cuda"}, "1 processes on cuda were asked for"),
    ],
)
def test_wrong_sizes_are_refused_with_the_fix(tmp_path, sizes, message):
    if "device" in sizes and torch.cuda.is_available():
        pytest.skip("this machine has what is asked for")
    with pytest.raises(ValueError, match=re.escape(message)):
        build(tmp_path, **sizes)


def test_sizes_are_known_to_fail_before_a_model_is_loaded():
    settings = TrainerSettings(steps=1, learning_rate=1.0, dialogues=8, group_size=2)
    check_sizes(settings, MAPO, processes=2)
    with pytest.raises(
        ValueError, match="processes = 3: choose processes among 1, 2, 4"
    ):
        check_sizes(settings, MAPO, processes=3)
    alone = TrainerSettings(steps=1, learning_rate=1.0, dialogues=8, group_size=1)
    for estimator in ("gae", "reinforce_pp", "immediate"):
        check_sizes(alone, Credit(estimator))
    with pytest.raises(ValueError, match="gae.*reinforce_pp"):
        check_sizes(alone, Credit("immediate", scope="group"))


def test_critic_and_estimator_come_together(tmp_path):
    with pytest.raises(ValueError, match="'gae' was given no critic"):
        build(tmp_path, PPO, None, group_size=4)
    with pytest.raises(ValueError, match="'mixed' was given a critic"):
        build(tmp_path, MAPO, CriticSettings(0.1), group_size=4)


def test_micro_batches_change_memory_not_tokens(tmp_path):
    whole, parts = (
        build(tmp_path / "a", steps=1, minibatches=1),
        build(tmp_path / "b", steps=1, minibatches=1, micro_batch=2),
    )
    whole.fit(), parts.fit()
    assert len(whole.seen) == 1 and len(parts.seen) == 4
    rows = [
        sorted(ids_of(x, i) for x in t.seen for i in range(len(x["turn_ids"])))
        for t in (whole, parts)
    ]
    assert rows[0] == rows[1]
    assert whole.curve[0]["advantage/std"] == parts.curve[0]["advantage/std"]
    assert parts.curve[0]["loss"] == pytest.approx(whole.curve[0]["loss"], abs=1e-7)
    pairs = zip(whole.model.parameters(), parts.model.parameters(), strict=True)
    for one, other in pairs:  # a mean over the update's tokens, not a mean of means
        torch.testing.assert_close(other, one, atol=1e-9, rtol=0)


def test_the_plan_goes_round_all_scenarios_and_prolongs_itself():
    settings = TrainerSettings(steps=5, learning_rate=1.0, dialogues=8, group_size=2)
    order = plan(SCENARIOS, settings)
    assert len(order) == 20 and sorted(order[:12]) == SCENARIOS
    assert order[:12] != SCENARIOS
    longer = TrainerSettings(steps=9, learning_rate=1.0, dialogues=8, group_size=2)
    assert plan(SCENARIOS, longer)[:20] == order


def test_groups_are_occurrences_not_names(tmp_path):
    """A scenario that comes twice in a step is two groups."""
    trainer = build(tmp_path, steps=1)
    trainer.train_dataset = trainer.train_dataset.map(lambda row: {"prompt": "s00"})
    trainer.fit()
    groups = torch.cat([x["group_ids"] for x in trainer.seen])
    assert sorted(groups.tolist()) == [0] * 4 + [1] * 4


def test_seeds_differ_between_steps_and_repeat_between_runs(tmp_path):
    seeds = {"a": [], "b": []}
    for name, got in seeds.items():
        model = tiny_policy()
        inner = roll_of(model)

        def roll(scenario_ids, seed, got=got, inner=inner):
            got.append(seed)
            return inner(scenario_ids, seed)

        build(tmp_path / name, model=model, roll=roll, steps=3).fit()
    assert seeds["a"] == seeds["b"] and len(set(seeds["a"])) == 3


def test_every_number_of_the_curve_is_explained(tmp_path):
    for credit, critic in ((MAPO, None), (PPO, CriticSettings(0.01))):
        entry = build(tmp_path / credit.estimator, credit, critic).fit()[-1]
        names = {re.sub(r"^turn_\d+/", "turn_K/", name) for name in entry}
        assert names <= set(GLOSSARY)
        assert (
            "turn_K/return_std" in names and entry["time/step"] > entry["time/own"] > 0
        )
        parts = ("own", "rollout", "forward", "backward", "optimiser")
        assert sum(entry[f"time/{p}"] for p in parts) == pytest.approx(
            entry["time/step"]
        )
        assert ("critic/explained_variance" in names) == (critic is not None)


def test_the_kl_term_starts_at_zero_and_grows(tmp_path):
    folder = tmp_path / "start"
    tiny_policy().save_pretrained(folder)
    model = type(tiny_policy()).from_pretrained(folder, dtype=torch.float64)
    curve = build(tmp_path, model=model, beta=0.1, steps=3).fit()
    assert curve[0]["kl"] >= 0 and curve[-1]["kl"] > 1e-3


def test_lora_trains_the_adapter_alone_with_kl_and_critic(tmp_path):
    peft = pytest.importorskip("peft")
    base = tiny_policy(dtype=torch.float32)
    frozen = base.model.layers[0].mlp.up_proj.weight
    before = frozen.clone()
    config = peft.LoraConfig(r=2, target_modules="all-linear", task_type="CAUSAL_LM")
    model = peft.get_peft_model(base, config)
    trainer = build(
        tmp_path, PPO, CriticSettings(0.01), model, beta=0.1, steps=2, save_every=1
    )  # fmt: skip
    curve = trainer.fit()
    assert torch.equal(frozen, before) and curve[-1]["kl"] > 0
    checkpoint = last_checkpoint(tmp_path / "out")
    assert (checkpoint / "adapter_model.safetensors").exists()
    assert (checkpoint / "critic.safetensors").exists()


# -- what this relies on in TRL --------------------------------------------------------


def test_nothing_of_trl_is_overridden_by_accident():
    ours = {n for n in vars(DialogueTrainer) if not n.startswith("__")}
    replaced = {n for n in ours if hasattr(GRPOTrainer, n)}
    assert replaced - {"_abc_impl"} == {
        "_generate_and_score_completions", "_get_per_token_logps_and_entropies",
        "_compute_loss", "create_optimizer", "create_model_card", "log",
    }  # fmt: skip


def test_contract_trl_calls_the_replaced_methods_as_expected():
    assert trl.__version__ == "1.16.0", "read the changed methods, then change the pin"
    takes = inspect.signature(GRPOTrainer._get_per_token_logps_and_entropies).parameters
    assert list(takes)[:5] == [
        "self",
        "model",
        "input_ids",
        "attention_mask",
        "logits_to_keep",
    ]
    loss = inspect.getsource(GRPOTrainer._compute_loss)
    for name in (
        "advantages",
        "old_per_token_logps",
        "tool_mask",
        "num_items_in_batch",
    ):
        assert f'inputs["{name}"]' in loss or f'inputs.get("{name}")' in loss, name
    assert "_generate_and_score_completions(generation_batch)" in inspect.getsource(
        GRPOTrainer._prepare_inputs
    )
    assert "self._metrics[mode]" in inspect.getsource(GRPOTrainer.log)
    assert "create_model_card" in inspect.getsource(GRPOTrainer._save_checkpoint)
    prepare = inspect.getsource(GRPOTrainer._prepare_inputs)
    of_step = "self._buffered_inputs[self._step % self.args.steps_per_generation]"
    assert of_step in prepare
    sampler = inspect.getsource(GRPOTrainer._get_train_sampler)
    assert "mini_repeat_count=self.num_generations" in sampler


def test_contract_transformers_asks_the_callbacks_around_the_update():
    source = inspect.getsource(Trainer._run_epoch)
    order = [source.index(x) for x in (
        "_clip_grad_norm", "on_pre_optimizer_step", "self.optimizer.step()",
        "on_optimizer_step", "model.zero_grad()",
    )]  # fmt: skip
    assert order == sorted(order)
    assert "self.accelerator.clip_grad_norm_" in inspect.getsource(
        Trainer._clip_grad_norm
    )


def test_no_telemetry(tmp_path, monkeypatch):
    sent = []
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(
        _telemetry, "_TELEMETRY_QUEUE", type("Q", (), {"put": sent.append})
    )
    build(tmp_path)
    assert sent == []
