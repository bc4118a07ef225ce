"""Rollouts with vLLM, with a stand-in for TRL's class: the real one needs a GPU."""

import inspect
from dataclasses import replace
from importlib.util import find_spec

import pytest
from test_training_runs import RECIPE
from trl.generation.vllm_client import VLLMClient
from trl.generation.vllm_generation import VLLMGeneration

from helpers.learning import methods, results, training, vllm
from helpers.learning.engines import HfEngine


class StandIn:
    """TRL's VLLMGeneration as the kit uses it, on the live weights."""

    def __init__(self, **options):
        self.__dict__.update(options)
        self.synced, self.limits = 0, []

    def sync_weights(self):
        self.synced += 1

    def sampled(self, prompts, limit):
        self.limits.append(limit)
        (end,) = self.generation_kwargs["stop_token_ids"]
        pad = self.processing_class.pad_token_id
        engine = HfEngine(self.model, end, pad, self.temperature)
        made = engine.generate(range(len(prompts)), prompts, limit)
        return [s.ids for s in made], [[[x] for x in s.logprobs] for s in made]

    def generate(self, prompts, images, num_generations):
        assert images is None and num_generations == 1
        return prompts, *self.sampled(prompts, self.max_completion_length), None


class Client:
    """TRL's VLLMClient: a server that any process may ask."""

    mode = "processed_logprobs"

    def __init__(self, address):
        assert address == "http://localhost:1"

    def get_server_info(self):
        return {"model_config": {"logprobs_mode": self.mode}}

    def generate(self, prompts, temperature, max_tokens, generation_kwargs):
        run = Client.run.vllm._vllm
        assert temperature == run.temperature
        assert generation_kwargs == run.generation_kwargs
        ids, logprobs = run.sampled(prompts, max_tokens)
        return {"completion_ids": ids, "logprobs": logprobs}


@pytest.fixture
def stand_in(monkeypatch):
    monkeypatch.setattr(vllm, "VLLMGeneration", StandIn)
    monkeypatch.setattr(vllm, "VLLMClient", Client)
    monkeypatch.delenv(vllm.SERVER, raising=False)


@pytest.mark.parametrize("engine", vllm.MODES)
def test_a_run_with_vllm_syncs_once_an_update_and_learns(
    stand_in, engine, tmp_path, monkeypatch
):
    if engine == "vllm_server":
        monkeypatch.setenv(vllm.SERVER, "http://localhost:1")
    recipe = replace(RECIPE, engine=engine)
    run = Client.run = training.Run(recipe, tmp_path)
    before = [p.clone() for p in run.model.parameters()]
    run.execute()
    made = run.vllm._vllm
    assert made.mode == vllm.MODES[engine] and made.model is run.trainer.model
    # Steps 0, 1, 2 and the last check; two checks of step 0 and 2 share a sync.
    assert made.synced == 4 and set(made.limits) == {recipe.reply_limit}
    after = run.model.parameters()
    assert any((a != b).any() for a, b in zip(before, after, strict=True))
    curve = results.Result("", recipe, tmp_path, 3).curve
    assert curve["loss"].notna().all()


def test_a_server_without_the_temperature_in_its_numbers_is_refused(
    stand_in, tmp_path, monkeypatch
):
    monkeypatch.setenv(vllm.SERVER, "http://localhost:1")
    monkeypatch.setattr(Client, "mode", "raw_logprobs")
    with pytest.raises(ValueError, match="--logprobs-mode processed_logprobs"):
        training.Run(replace(RECIPE, engine="vllm_server"), tmp_path)


def test_the_server_needs_an_address(stand_in, tmp_path):
    with pytest.raises(ValueError, match="VLLM_SERVER_URL"):
        training.Run(replace(RECIPE, engine="vllm_server"), tmp_path)


@pytest.mark.skipif(find_spec("vllm") is not None, reason="vLLM is installed")
def test_without_vllm_the_error_says_so(tmp_path):
    with pytest.raises(ImportError, match="vLLM is not available"):
        training.Run(replace(RECIPE, engine="vllm"), tmp_path)


@pytest.mark.parametrize(
    ("policy", "device", "there", "engine"),
    [
        ("tiny", "cuda", True, "decoder"), ("some/model", "cuda", True, "vllm"),
        ("some/model", "cuda", False, "transformers"),
        ("some/model", "cpu", True, "transformers"),
    ],
)  # fmt: skip
def test_the_engine_follows_policy_and_machine(
    monkeypatch, policy, device, there, engine
):
    monkeypatch.setattr(methods, "find_spec", lambda _: object() if there else None)
    assert methods.engine_for(policy, device) == engine


@pytest.mark.parametrize(
    "function",
    [VLLMGeneration.__init__, VLLMClient.generate],
    ids=["colocate", "server"],
)
def test_trl_asks_for_the_whole_distribution_where_nothing_is_said(function):
    """And for the sampled token's log-probability alone; after the temperature."""
    given = inspect.signature(function).parameters
    whole = {"top_p": 1.0, "top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0}
    assert {name: given[name].default for name in whole} == whole
    assert given["logprobs"].default == 0
    source = inspect.getsource(VLLMGeneration)
    assert 'logprobs_mode="processed_logprobs"' in source
