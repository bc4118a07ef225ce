"""Before a run with models spends anything: can it run, how long, what may it cost?

    python -m helpers.preflight --profile gpu [options of helpers.reproduce]

Looks at the machine, the policies, the endpoint and its model names, prices and
budget; prints what will run with the arithmetic of each estimate; and refuses what is
known to fail, with what to do. The driver does the same before its first notebook.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from helpers import profiles
from helpers.agents.ledger import Budget, Price
from helpers.duration import clock
from helpers.endpoint import MODELS, Ask, Report, cost, names_of, served
from helpers.machine import GB, Machine
from helpers.planning import COUNTED, Training, parameters, plan
from helpers.serving import served_models

VLLM_SHARE = 0.3  # of the GPU (helpers.learning.vllm)
ROOM = 4 * GB  # activations, logits and fragments with checkpointing: an assumption
ADAPTERS = 0.0008  # share of the weights that one rank of all-linear adapters adds


def look(
    profile: str,
    values: Mapping[str, Mapping[str, Any]],
    machine: Machine,
    prices: Mapping[str, Price],
    budget: Budget,
    ledger: Path,
    *,
    serve: str = "",
    ask: Ask = served_models,
    environment: Mapping[str, str] = os.environ,
) -> Report:
    """The report of a run.

    Args:
        values: the notebooks to run, their parameters by number.
        ledger: what the run has spent before (`run_budget`).
        serve: the model of a server that the driver is going to start here.
        ask: address and key -> the model names of that server.
    """
    report = Report(machine.lines())
    trained, calls = [], []
    for number, given in values.items():
        if number in profiles.SETTINGS:
            runs, asked = plan(number, profiles.settings(number, profile), given)
            trained, calls = trained + runs, calls + asked
        if set(MODELS) & set(given) and number not in COUNTED:
            report.lines.append(f"{number}: calls of its judges are not counted here")
    processes = _processes(profile, environment)
    for training in trained:
        _training(report, training, machine, processes, environment, bool(serve))
    names = names_of(profile, values)
    if serve:
        report.lines.append(f"endpoint: vllm serve {serve}, started here")
        if not machine.vllm:
            report.refuse(
                "vllm",
                "--serve needs vLLM: make the environment of environment.yml, or "
                "start a server elsewhere and set OPENAI_BASE_URL",
            )
        known = [serve]
    else:
        known = served(report, names, ask, environment)
    for name, where in sorted(names.items()) if known is not None else ():
        if name not in known:
            there = ", ".join(sorted(known)[:8]) or "nothing"
            hint = profiles.suggestion(name, known)
            report.refuse(
                name,
                f"the endpoint does not serve {name!r}{hint}, which {where} asks for; "
                f"it serves {there}. Name one of these, as -p {where}=NAME",
            )
    cost(report, calls, prices, budget, ledger, own=bool(serve))
    if machine.disk < (need := _disk(trained)):
        report.refuse(
            "disk",
            f"disk: some {need / GB:.0f} GB are needed for checkpoints, "
            f"{machine.disk / GB:.0f} GB are free: make room, or run fewer seeds",
        )
    return report


def _processes(profile: str, environment: Mapping[str, str]) -> int:
    """Processes of a training run: eight where it is launched on a node."""
    launched = environment.get("KIT_LAUNCH") or profiles.get(profile).launch
    return 8 if launched else 1


# -- the machine and the policies ------------------------------------------------------


def memory_needed(training: Training, weights: float, total: float, vllm: bool):
    """Bytes of one GPU, and the arithmetic. weights: their number; total: of the GPU.

    LoRA: a frozen body in 16 bits, adapters with gradient and two moments in 32. All
    weights: 32 bits of each of the four. A critic is a second model of the same kind.
    """
    each, how = 16 * weights, "16 bytes a weight (weights, gradient, two moments)"
    if training.lora:
        adapters = ADAPTERS * training.lora * weights
        each = 2 * weights + 16 * adapters
        how = f"2 bytes a weight and adapters of rank {training.lora}"
    models = 2 if training.critics else 1
    share = VLLM_SHARE * total if vllm else 0.0
    text = (
        f"{models} x {each / GB:.1f} GB ({how}) + {share / GB:.1f} for vLLM + "
        f"{ROOM / GB:.0f} to work in"
    )
    return models * each + share + ROOM, text


def _training(
    report: Report, training: Training, machine: Machine, processes: int,
    environment: Mapping[str, str], shared: bool,
) -> None:  # fmt: skip
    """What runs, on what, how long; refusals of what the machine cannot do."""
    weights, source = parameters(training.policy)
    size = "unknown size" if weights is None else f"{weights / 1e9:.2g} B by {source}"
    engine = "vLLM" if machine.vllm else "transformers (vLLM is not installed: slower)"
    report.lines.append(
        f"{training.notebook}: {training.runs} runs ({training.what}), "
        f"{training.steps} steps x {training.dialogues} dialogues; {training.policy} "
        f"({size}), {f'LoRA {training.lora}' if training.lora else 'all weights'}; "
        f"replies by {engine}"
    )
    where = training.notebook
    if not machine.gpus:
        report.refuse(
            where,
            f"{where} trains on cuda, and there is no GPU here ({machine.why}): run "
            "the laptop profile, or on a machine with one",
        )
        return
    if processes > len(machine.gpus):
        report.refuse(
            f"{where} processes",
            f"{where} is launched as {processes} processes, here are "
            f"{len(machine.gpus)} GPUs: set KIT_LAUNCH to a configuration of as many "
            "(a copy of configs/accelerate/ddp_one_node.yaml), or take PROFILE=gpu",
        )
    if weights is not None:
        gpu = min(machine.gpus, key=lambda one: one.free)
        need, how = memory_needed(training, weights, gpu.total, machine.vllm)
        report.lines.append(f"    memory of a GPU, estimate: {how}")
        if need > gpu.free:
            report.refuse(
                f"{where} memory",
                f"{where} needs some {need / GB:.0f} GB of a GPU's memory, "
                f"{gpu.free / GB:.0f} are free: take a smaller policy "
                f"(-p {where}:POLICY=NAME), a larger GPU"
                + (", or a server elsewhere" if shared else ""),
            )
        timed = training.seconds(gpu.name, weights)
        if timed is None:
            report.lines.append(f"    time: no estimate for {gpu.name}")
        else:
            text = timed[1] + (f" / {processes} processes" if processes > 1 else "")
            spent_s = clock(timed[0] / processes)
            report.lines.append(f"    time, estimate: {spent_s} = {text}")
    if not _at_hand(training.policy) and environment.get("HF_HUB_OFFLINE") == "1":
        report.refuse(
            training.policy,
            f"{training.policy} is not on this machine and the hub is switched off: "
            f"fetch it once with HF_HUB_OFFLINE=0 hf download {training.policy}, or "
            "give a folder",
        )


def _at_hand(policy: str) -> bool:
    """Whether a policy needs no network: a folder, a package, or in the hub's cache."""
    from huggingface_hub import try_to_load_from_cache

    if policy in ("tiny", "smollm2") or Path(policy).is_dir():
        return True
    if policy.count("/") != 1:
        return False
    return isinstance(try_to_load_from_cache(policy, "config.json"), str)


def _disk(trained: Sequence[Training]) -> float:
    """Bytes of checkpoints: two a run of what learns with its moments; the policy."""
    total = 0.0
    for training in trained:
        weights = parameters(training.policy)[0] or 0.0
        learn = weights * (ADAPTERS * training.lora if training.lora else 1.0)
        models = 1 + training.critics / training.runs
        total += training.runs * (2 * 12 * learn * models + 4 * learn)
    return total


def main(argv: Sequence[str] | None = None) -> int:
    """The driver's checks alone."""
    from helpers.reproduce import main as reproduce  # it imports this module

    argv = sys.argv[1:] if argv is None else argv
    return reproduce([*argv, "--check"])


if __name__ == "__main__":
    sys.exit(main())
