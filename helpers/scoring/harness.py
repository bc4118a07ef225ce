"""Benchmarks that others wrote, run by harnesses that others keep, where installed.

The kit does not rewrite benchmarks. `lm_eval` and `lighteval` call a harness's command
and read the file that it leaves. environment.yml installs lm-eval on a GPU box;
lighteval is to be installed by hand, beside the pins. Their data sets come from a hub,
so a first call needs a network. No GPU was at hand: only the calling and the reading
are tested, with a stand-in for the command.
"""

import importlib.util
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

LM_EVAL, LIGHTEVAL = "lm-eval", "lighteval"


class HarnessError(RuntimeError):
    """A harness is not there or gave no result: the message says which, and why."""


def lm_eval(
    model: dict[str, str], task: str, out: Path, command: str = LM_EVAL
) -> dict[str, float]:
    """The metrics of one task for one model, kept in `out` and read from there again.

    Args:
        model: pretrained (folder or hub id), device, dtype, and where they are needed
            tokenizer, peft. task: of the harness, as "eq_bench". out: folder of this
            model and task. command: the harness's program.

    Returns:
        metric -> value, in the task's own units.

    Raises:
        HarnessError: no such program, it failed, or its file holds no such task.
    """
    given = ",".join(f"{key}={value}" for key, value in model.items())
    call = [command, "run", "--model", "hf", "--model_args", given, "--tasks", task,
            "--apply_chat_template", "--output_path", str(out)]  # fmt: skip
    there = shutil.which(command) is not None
    results = _results(command, task, call, out, there, "see environment.yml")
    return _metrics(results, task)


def lighteval(model: dict[str, str], task: str, out: Path) -> dict[str, float]:
    """The same by lighteval, without examples in the prompt.

    Raises: HarnessError also for an adapter: it has to be merged into its model first.
    """
    if "peft" in model:
        raise HarnessError(f"{LIGHTEVAL}: merge the adapter into its model first")
    given = f"model_name={model['pretrained']},dtype={model['dtype']}"
    given += f",tokenizer={model['tokenizer']}" if "tokenizer" in model else ""
    call = [sys.executable, "-m", LIGHTEVAL, "accelerate", given, f"{task}|0",
            "--output-dir", str(out)]  # fmt: skip
    there = importlib.util.find_spec(LIGHTEVAL) is not None
    results = _results(LIGHTEVAL, task, call, out, there, "it is not in the pins")
    # Keys are "task|examples".
    return _metrics({k.partition("|")[0]: v for k, v in results.items()}, task)


def _results(
    name: str, task: str, call: Sequence[str], out: Path, there: bool, where: str
) -> dict[str, dict]:
    """What the newest file of results in `out` holds; made first if there is none."""
    found = sorted(Path(out).rglob("results_*.json"))
    if not found:
        if not there:
            raise HarnessError(f"{name} is not installed ({where})")
        done = subprocess.run(
            call, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )
        found = sorted(Path(out).rglob("results_*.json"))
        if done.returncode or not found:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1][:200]
            raise HarnessError(f"{name}, {task}: exit {done.returncode}: {last}")
    return json.loads(found[-1].read_text(encoding="utf-8"))["results"]


def _metrics(results: dict[str, dict], task: str) -> dict[str, float]:
    if task not in results:
        held = ", ".join(results)
        raise HarnessError(f"the file of results holds {held}, not {task}")
    # Keys are "metric,filter" or "metric"; "alias" and standard errors are left out.
    named = {key.partition(",")[0]: value for key, value in results[task].items()}
    return {
        name: float(value)
        for name, value in named.items()
        if isinstance(value, int | float) and not name.endswith("_stderr")
    }
