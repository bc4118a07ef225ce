"""Benchmarks that others wrote, run by the LM Evaluation Harness where it is installed.

The kit does not rewrite benchmarks: `evaluate` calls the harness's command and reads
the file that it leaves. environment.yml installs it on a GPU box; its data sets come
from a hub, so the first call needs a network. No GPU was at hand: only the calling and
the reading are tested, with a stand-in for the command.
"""

import json
import shutil
import subprocess
from pathlib import Path

COMMAND = "lm-eval"


class HarnessError(RuntimeError):
    """The harness is not there or gave no result: the message says which, and why."""


def evaluate(
    model: dict[str, str], task: str, out: Path, command: str = COMMAND
) -> dict[str, float]:
    """The metrics of one task for one model, kept in `out` and read from there again.

    Args:
        model: arguments of the harness's "hf" model: pretrained (folder or hub id),
            and where they are needed tokenizer, peft.
        task: of the harness, as "eq_bench". out: folder of this model and task.
        command: the harness's program.

    Returns:
        metric -> value, in the task's own units.

    Raises:
        HarnessError: no such program, it failed, or its file holds no such task.
    """
    out = Path(out)
    if not (found := sorted(out.rglob("results_*.json"))):
        if shutil.which(command) is None:
            raise HarnessError(f"{command} is not installed (see environment.yml)")
        given = ",".join(f"{key}={value}" for key, value in model.items())
        done = subprocess.run(
            [command, "run", "--model", "hf", "--model_args", given, "--tasks", task,
             "--apply_chat_template", "--output_path", str(out)],
            capture_output=True, text=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        found = sorted(out.rglob("results_*.json"))
        if done.returncode or not found:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1][:200]
            raise HarnessError(f"{command}, {task}: exit {done.returncode}: {last}")
    results = json.loads(found[-1].read_text(encoding="utf-8"))["results"]
    if task not in results:
        raise HarnessError(f"{found[-1].name} holds {', '.join(results)}, not {task}")
    # Keys are "metric,filter"; "alias" and the standard errors are left out.
    named = {key.partition(",")[0]: value for key, value in results[task].items()}
    return {
        name: float(value)
        for name, value in named.items()
        if isinstance(value, int | float) and not name.endswith("_stderr")
    }
