"""General ability after training, by harnesses that others keep, for RLVER's Table 2.

Nothing is scored here. lm-eval (environment.yml) runs through `scoring.harness`;
LiveCodeBench is a task of lighteval only, which is to be installed by hand, beside the
pins: `lighteval` makes the command, runs it and reads its file. Which tasks exist was
looked up in the packages, lm-eval 0.4.13 and lighteval 0.13.0; EmoBench is in neither,
and EQ-Bench stands in notebook 05's table.

Offline `learning.forgetting` stands in, for the tiny policy only.

Paper: RLVER (arXiv 2507.03112) Table 2.
"""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from helpers.learning.results import Result
from helpers.reporting.mapo_benchmarks import model_arguments
from helpers.scoring.harness import HarnessError, evaluate

LM_EVAL, LIGHTEVAL = "lm-eval", "lighteval"


@dataclass(frozen=True)
class Benchmark:
    """A benchmark and where it runs.

    name: as printed. harness, task, metric: where it is and what of it is read, a share
    of 1; empty where no harness has it.
    """

    name: str
    harness: str
    task: str
    metric: str
    note: str = ""


BENCHMARKS = (
    Benchmark("MATH500", LM_EVAL, "hendrycks_math500", "exact_match"),
    Benchmark("IFEval", LM_EVAL, "ifeval", "prompt_level_strict_acc"),
    Benchmark(
        "LiveCodeBench v6",
        LIGHTEVAL,
        "lcb:codegeneration_v6",
        "codegen_pass@1:16",
        "runs what the model writes: use a container",
    ),
    Benchmark("EQ-Bench", LM_EVAL, "eq_bench", "eqbench", "in notebook 05"),
    Benchmark("EmoBench", "", "", "", "in neither harness"),
)
TABLE2 = BENCHMARKS[:3]


def run_all(
    results: Sequence[Result], folder: Path
) -> tuple[dict[str, dict[str, float]], dict[str, str]]:
    """Table 2's benchmarks on the policies of runs and starts, the first of each label.

    Returns:
        scores: label -> benchmark -> percent. failed: "label, benchmark" -> why there
        is no score; a failure is never a score.
    """
    scores: dict[str, dict[str, float]] = {}
    failed: dict[str, str] = {}
    for result in {r.label: r for r in reversed(results)}.values():
        name = f"{result.recipe.hash}-{result.steps}"
        for one in TABLE2:
            run = evaluate if one.harness == LM_EVAL else lighteval
            out = Path(folder) / one.task.replace(":", "-") / name
            try:
                found = run(model_arguments(result), one.task, out)
                value = 100 * found[one.metric]
            except HarnessError as error:
                failed[f"{result.label}, {one.name}"] = str(error)
            except KeyError:
                failed[f"{result.label}, {one.name}"] = f"no {one.metric} in {out.name}"
            else:
                scores.setdefault(result.label, {})[one.name] = value
    return scores, failed


def lighteval_command(model: dict[str, str], task: str, out: Path) -> list[str]:
    """The command line of lighteval for one task, without examples in the prompt.

    Args: as `harness.evaluate`.

    Raises: HarnessError for an adapter: it has to be merged into its model first.
    """
    if "peft" in model:
        raise HarnessError(f"{LIGHTEVAL}: merge the adapter into its model first")
    given = f"model_name={model['pretrained']},dtype={model['dtype']}"
    return [
        *(sys.executable, "-m", LIGHTEVAL, "accelerate", given, f"{task}|0"),
        *("--output-dir", str(out)),
    ]


def lighteval(model: dict[str, str], task: str, out: Path) -> dict[str, float]:
    """The metrics of one task by lighteval, kept in `out` and read from there again.

    Args, returns, raises: as `harness.evaluate`.
    """
    command = lighteval_command(model, task, out)
    found = sorted(Path(out).rglob("results_*.json"))
    if not found:
        if importlib.util.find_spec(LIGHTEVAL) is None:
            raise HarnessError(f"{LIGHTEVAL} is not installed; it is not in the pins")
        done = subprocess.run(
            command, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )
        found = sorted(Path(out).rglob("results_*.json"))
        if done.returncode or not found:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1][:200]
            raise HarnessError(f"{LIGHTEVAL}, {task}: exit {done.returncode}: {last}")
    results = json.loads(found[-1].read_text(encoding="utf-8"))["results"]
    by_task = {name.partition("|")[0]: values for name, values in results.items()}
    if task not in by_task:
        raise HarnessError(f"{found[-1].name} holds {', '.join(results)}, not {task}")
    return {
        name: float(value)
        for name, value in by_task[task].items()
        if isinstance(value, int | float) and not name.endswith("_stderr")
    }
