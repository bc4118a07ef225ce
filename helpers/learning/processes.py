"""One run in several processes, as `accelerate launch` starts them.

All of them hold dialogues and learn. The first alone checks, tells and writes, but for
what a checkpoint keeps of each process. The training core asks here who it is, and how
to put weights together that are spread over GPUs.

    KIT_LAUNCH=configs/accelerate/fsdp_one_node.yaml

names how runs on GPUs are started: a configuration of accelerate, or a command that
ends where the module's name follows, such as "srun accelerate launch --config_file X".
"""

import os
import shlex
import socket
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

from helpers.paths import ROOT

LAUNCH = "KIT_LAUNCH"
STARTER = "KIT_STARTER"  # host:pid of the process that started a launcher
LOOK_S = 2.0


def rank() -> int:
    return int(os.environ.get("RANK", "0"))


def world() -> int:
    """Number of processes, as every launcher sets it."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def device(kind: str) -> str:
    """The CPU, or the GPU of this process."""
    place = os.environ.get("LOCAL_RANK")
    return kind if kind == "cpu" or place is None else f"{kind}:{place}"


def own(name: str) -> str:
    """A file name of this process: the name itself in the first."""
    path = Path(name)
    return name if rank() == 0 else f"{path.stem}-{rank()}{path.suffix}"


def launcher(launch: str) -> list[str]:
    """The start of a command that runs a module in several processes.

    Args:
        launch: a configuration file of accelerate, from the project's root, or a
            command.

    Raises:
        FileNotFoundError: there is no such configuration.
    """
    if not launch.endswith((".yaml", ".yml")) or " " in launch:
        return shlex.split(launch)
    path = ROOT / launch
    if not path.is_file():
        raise FileNotFoundError(f"{LAUNCH}={launch}: there is no such file")
    accelerate = [sys.executable, "-m", "accelerate.commands.launch"]
    return [*accelerate, "--config_file", str(path)]


def environment(launch: str, device: str) -> dict[str, str]:
    """What the processes of a launcher need to know beside the usual."""
    found = {STARTER: f"{socket.gethostname()}:{os.getpid()}"}
    # `accelerate launch --cpu` starts one process whatever is asked for.
    return found | ({"ACCELERATE_USE_CPU": "true"} if device == "cpu" else {})


def prepare() -> None:
    """What a process of several needs; nothing for a single one.

    It ends when its launcher, or who started that, is gone: else it would wait for the
    others in a gather, for a day, with its GPU held. A single process looks between
    steps (`training`), where it can stop in order.

    A checkpoint can be read on the CPU: accelerate calls the places of two processes
    cpu:0 and cpu:1, names that torch does not know when it loads.
    """
    if world() == 1:
        return
    threading.Thread(target=_watch, args=(os.getppid(),), daemon=True).start()
    torch.serialization.register_package(5, lambda storage: None, _on_cpu)


def _on_cpu(storage, place: str):
    return storage if place.startswith("cpu:") else None


def _watch(parent: int) -> None:
    host, _, pid = os.environ.get(STARTER, "").rpartition(":")
    near = host == socket.gethostname() and rank() == 0
    while os.getppid() == parent and not (near and _gone(int(pid))):
        time.sleep(LOOK_S)
    print("the process that started this run is gone", file=sys.stderr, flush=True)
    os._exit(1)


def _gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    return False


def is_spread(trainer) -> bool:
    """Whether the weights are spread over the GPUs (FSDP, DeepSpeed)."""
    return trainer.is_fsdp_enabled or trainer.is_deepspeed_enabled


def refuse_spread(trainer, vllm: bool) -> None:
    """Raise ValueError for what spread weights cannot do."""
    if not is_spread(trainer):
        return
    ddp = "configs/accelerate/ddp_one_node.yaml"
    if trainer.critic is not None:
        raise ValueError(
            "PPO's critic has no place under FSDP or DeepSpeed yet: train it with LoRA "
            f"and whole copies, KIT_LAUNCH={ddp}"
        )
    if not vllm:
        raise ValueError(
            "transformers cannot generate from weights that are spread over GPUs, as "
            'dialogues of other lengths would wait for ever: take the engine "vllm" or '
            f'"vllm_server", or KIT_LAUNCH={ddp}'
        )


def save_policy(trainer, folder: Path) -> None:
    """Write the policy of a trainer as safetensors. Every process calls it: weights
    that are spread over GPUs are put together, and the first process writes."""
    accelerator = trainer.accelerator
    state = None
    if is_spread(trainer):
        state = accelerator.get_state_dict(trainer.model_wrapped)
    if accelerator.is_main_process:
        model = accelerator.unwrap_model(trainer.model)
        model.save_pretrained(folder, state_dict=state, safe_serialization=True)


def needed(recipes: Sequence, launch: str | None, env: Mapping[str, str] = os.environ):
    """How to start these runs: as given, else as KIT_LAUNCH says for runs on GPUs."""
    if launch is not None:
        return launch
    on_gpu = any(recipe.trainer.device != "cpu" for recipe in recipes)
    return env.get(LAUNCH, "") if on_gpu else ""
