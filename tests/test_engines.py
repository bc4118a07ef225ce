"""Engines: what was sampled, from which distribution, and what is left as it was."""

import pytest
import torch
from peft import LoraConfig, get_peft_model
from transformers import (
    GenerationConfig,
    LlamaConfig,
    LlamaForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
)

from helpers.learning.engines import HfEngine, Sample, VllmEngine

PAD, END, VOCAB, POSITIONS = 0, 2, 12, 64
CONTEXTS = [[3, 4, 5, 6, 7], [8], [9, 1, 0, 0, 3, 5, 8, 8, 11], [4, 4], [10, 3, 2, 7]]
KEYS = [7, 3, 11, 0, 5]
FAMILIES = {
    "qwen2": (Qwen2Config, Qwen2ForCausalLM),
    "llama": (LlamaConfig, LlamaForCausalLM),
}


def make(family="llama", seed=0, **options):
    config, model = FAMILIES[family]
    torch.manual_seed(seed)
    return model(
        config(
            vocab_size=VOCAB,
            hidden_size=32,
            intermediate_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=POSITIONS,
            initializer_range=0.4,  # far from uniform
            pad_token_id=PAD,
            eos_token_id=END,
            **options,
        )
    ).eval()


def sample(model, contexts=CONTEXTS, limit=12, seed=0, **options):
    torch.manual_seed(seed)
    engine = HfEngine(model, END, PAD, **options)
    return engine.generate(range(len(contexts)), contexts, limit)


def forward(model, context, ids, temperature=1.0):
    """Log-probs of the reply in one plain pass without padding or cache."""
    row = torch.tensor([[*context, *ids]])
    with torch.no_grad():
        scores = torch.log_softmax(model(input_ids=row).logits[0] / temperature, -1)
    at = torch.arange(len(context) - 1, row.shape[1] - 1)
    return scores[at, row[0, at + 1]]


def off(logprobs, wanted):
    assert len(logprobs) == len(wanted)
    return (torch.tensor(logprobs) - wanted).abs().max()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("temperature", [1.0, 0.5])
@pytest.mark.parametrize("batch_tokens", [10_000, 40, 1])
def test_logprobs_are_those_of_the_forward_pass(family, temperature, batch_tokens):
    model = make(family)
    found = sample(model, temperature=temperature, batch_tokens=batch_tokens)
    assert len(found) == len(CONTEXTS)
    for context, (ids, logprobs) in zip(CONTEXTS, found, strict=True):
        assert off(logprobs, forward(model, context, ids, temperature)) < 2e-5


def test_a_reply_ends_with_its_end_token_or_at_the_limit():
    found = [r for seed in range(8) for r in sample(make(), limit=6, seed=seed)]
    ended = [END in reply.ids for reply in found]
    assert any(ended) and not all(ended)
    for (ids, logprobs), end in zip(found, ended, strict=True):
        assert len(ids) == len(logprobs)
        assert ids.index(END) == len(ids) - 1 if end else len(ids) == 6
    assert any(PAD in reply.ids for reply in found), "padding is a token like others"


@pytest.mark.parametrize("temperature", [1.0, 2.0])
def test_draws_follow_the_distribution(temperature):
    model, n = make(), 4000
    found = sample(model, [[3, 4]] * n, limit=1, temperature=temperature)
    counts = torch.bincount(torch.tensor([r.ids[0] for r in found]), minlength=VOCAB)
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([[3, 4]])).logits[0, -1]
    chance = torch.softmax(logits / temperature, -1)
    sigma = (n * chance * (1 - chance)).sqrt()
    assert ((counts - n * chance).abs() < 5 * sigma + 1).all()


def test_the_models_shipped_defaults_do_not_matter():
    plain, shipped = make(), make()
    shipped.generation_config = GenerationConfig(
        do_sample=False,
        top_k=1,
        repetition_penalty=3.0,
        suppress_tokens=[3, 4],
        min_new_tokens=5,
        eos_token_id=[END, 5],
    )
    kept = shipped.generation_config
    assert sample(shipped) == sample(plain)
    assert shipped.generation_config is kept and kept.top_k == 1


def test_it_samples_without_dropout_or_gradient_and_sets_the_mode_back():
    model = make(attention_dropout=0.5).train()
    modes = []
    model.register_forward_hook(
        lambda module, *_: modes.append((module.training, torch.is_grad_enabled()))
    )
    found = sample(model)
    assert set(modes) == {(False, False)} and model.training
    assert found == sample(make())
    with pytest.raises(IndexError):  # a token that the model does not have
        sample(model, [[VOCAB + 5]])
    assert model.training and torch.is_grad_enabled()


def test_adapters_take_part_and_the_wrappers_defaults_do_not():
    torch.manual_seed(1)
    settings = LoraConfig(r=2, target_modules="all-linear", task_type="CAUSAL_LM")
    model = get_peft_model(make(), settings)
    for name, weight in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=0.5)
    model.generation_config = GenerationConfig(top_k=1)  # as a trainer leaves it
    model.eval()
    base, kept = model.get_base_model(), model.get_base_model().generation_config
    found = sample(model)
    assert found != sample(make()) and base.generation_config is kept
    for context, (ids, logprobs) in zip(CONTEXTS, found, strict=True):
        assert off(logprobs, forward(model, context, ids)) < 2e-5
        with model.disable_adapter():
            assert off(logprobs, forward(model, context, ids)) > 1e-2


def test_a_seed_repeats_and_nothing_to_do_is_nothing():
    assert sample(make(), seed=4) == sample(make(), seed=4)
    assert sample(make(), seed=4) != sample(make(), seed=5)
    assert HfEngine(make(), END, PAD).generate([], [], 4) == []


@pytest.mark.parametrize("budget", [1, 20, 33, 10_000])
def test_batches_hold_each_dialogue_once_within_the_budget(budget):
    lengths, limit = [5, 1, 9, 2, 4, 9], 6
    engine = HfEngine(make(), END, PAD, batch_tokens=budget)
    batches = list(engine._batches(lengths, limit))
    assert sorted(k for batch in batches for k in batch) == list(range(6))
    for batch in batches:
        tokens = len(batch) * (max(lengths[k] for k in batch) + limit)
        assert tokens <= budget or len(batch) == 1


def test_what_cannot_be_sampled_is_refused_by_name():
    engine = HfEngine(make(), END, PAD)
    with pytest.raises(ValueError, match="temperature 0"):
        HfEngine(make(), END, PAD, temperature=0.0)
    with pytest.raises(ValueError, match="at most 0 tokens"):
        engine.generate(KEYS, CONTEXTS, 0)
    with pytest.raises(ValueError, match="dialogue 3: its context"):
        engine.generate([7, 3], [[4], []], 5)
    with pytest.raises(ValueError, match=f"dialogue 9: 60 .* {POSITIONS} positions"):
        engine.generate([2, 9], [[4], [4] * 60], 5)
    with pytest.raises(ValueError):
        engine.generate([2], CONTEXTS, 5)
    assert engine.generate([9], [[4] * 60], 4)[0].ids


def test_vllm_replies_are_checked():
    engine = VllmEngine(lambda contexts, limit: ([[4, 2], [5]], [[-1.0, -2.0], [0.0]]))
    assert engine.generate([1, 6], [[3], [4]], 2) == [
        Sample([4, 2], [-1.0, -2.0]),
        Sample([5], [0.0]),
    ]
    for ids, logprobs, message in [
        ([[4, 2], [5, 5, 5]], [[-1.0, -2.0], [-1.0] * 3], "dialogue 6: .* limit of 2"),
        ([[4, 2], [5]], [[-1.0, -2.0], []], "dialogue 6: vLLM gave 1 tokens and 0"),
        ([[4, 2], [5]], [[-1.0, None], [-1.0]], "dialogue 1: .* no finite"),
        ([[4, 2], [5]], [[-1.0, float("nan")], [-1.0]], "dialogue 1: .* no finite"),
        ([[4, 2]], [[-1.0, -2.0]], "shorter"),
        ([[4, 2], [5]], [[-1.0, -2.0]], "shorter"),
    ]:
        engine = VllmEngine(lambda *_, out=(ids, logprobs): out)
        with pytest.raises(ValueError, match=message):
            engine.generate([1, 6], [[3], [4]], 2)
