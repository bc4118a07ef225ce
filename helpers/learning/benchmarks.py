"""General ability after training, by the harnesses that others keep.

Nothing is scored here: a command is made for lm-eval (in `environment.yml`) or for
lighteval (to be installed by hand), run as a process of its own, and the results file
that it leaves is read. Which tasks exist was looked up in the packages themselves,
lm-eval 0.4.13 and lighteval 0.13.0; EmoBench is in neither, so it stays missing.

Offline `helpers.learning.forgetting` stands in, for the tiny policy only.

Paper: RLVER (arXiv 2507.03112) Table 2; EQ-Bench and EmoBench: MAPO (2603.06194).
"""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from helpers.learning.results import Result

LM_EVAL, LIGHTEVAL = "lm_eval", "lighteval"


@dataclass(frozen=True)
class Benchmark:
    """A column of a table and the task that fills it.

    name: as printed. harness, task, metric: where it is and what of it is read; empty
    where no harness has it. factor: from the harness's unit to the printed one.
    """

    name: str
    harness: str
    task: str
    metric: str
    factor: float = 100.0
    note: str = ""


BENCHMARKS = (
    Benchmark("MATH500", LM_EVAL, "hendrycks_math500", "exact_match"),
    Benchmark("IFEval", LM_EVAL, "ifeval", "prompt_level_strict_acc"),
    Benchmark("EQ-Bench", LM_EVAL, "eq_bench", "eqbench", 1.0, "version 2.1"),
    Benchmark("LiveCodeBench v6", LIGHTEVAL, "lcb:codegeneration_v6",
              "codegen_pass@1:16", note="runs the model's code: use a container"),
    Benchmark("EmoBench", "", "", "", note="in neither harness"),
)  # fmt: skip


class BenchmarkFailed(RuntimeError):
    """A harness is absent, ended in error, or left no readable result."""


def of_harness(harness: str) -> list[Benchmark]:
    return [b for b in BENCHMARKS if b.harness == harness]


def command(
    harness: str, model: str, out: Path, adapter: str = "", limit: int = 0
) -> list[str]:
    """The command line that runs a harness's benchmarks on one model.

    Args:
        model: a folder or hub id. adapter: folder of a LoRA adapter on it, or empty.
        limit: items a task, 0 for all.

    Raises: ValueError for an unknown harness, or an adapter where it takes none.
    """
    tasks = [b.task for b in of_harness(harness)]
    if not tasks:
        raise ValueError(f"harness {harness!r}: choose {LM_EVAL} or {LIGHTEVAL}")
    if harness == LM_EVAL:
        with_adapter = f",peft={adapter}" if adapter else ""
        made = [sys.executable, "-m", "lm_eval", "run", "--model", "hf",
                "--model_args", f"pretrained={model},dtype=bfloat16{with_adapter}",
                "--tasks", ",".join(tasks), "--apply_chat_template",
                "--batch_size", "auto", "--output_path", str(out)]  # fmt: skip
        return made + (["--limit", str(limit)] if limit else [])
    if adapter:
        raise ValueError("lighteval takes no adapter here: merge it into the model")
    names = ",".join(f"{task}|0" for task in tasks)
    made = [sys.executable, "-m", "lighteval", "accelerate", f"model_name={model}",
            names, "--output-dir", str(out)]  # fmt: skip
    return made + (["--max-samples", str(limit)] if limit else [])


def read_results(path: Path) -> dict[str, float]:
    """Printed unit by benchmark name, from a results file of either harness.

    A benchmark that the file does not hold is left out; lm-eval marks a metric with its
    filter ("exact_match,none"), lighteval a task with its shots ("task|0").

    Raises: BenchmarkFailed, when it is no results file or a value is no number.
    """
    try:
        tasks = json.loads(Path(path).read_text(encoding="utf-8"))["results"]
        by_task = {name.split("|")[0]: dict(values) for name, values in tasks.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BenchmarkFailed(f"{path}: no results of a harness ({error})") from error
    found = {}
    for benchmark in BENCHMARKS:
        values = by_task.get(benchmark.task, {})
        by_metric = {name.split(",")[0]: value for name, value in values.items()}
        if benchmark.metric in by_metric:
            value = by_metric[benchmark.metric]
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise BenchmarkFailed(f"{path}: {benchmark.name} is {value!r}")
            found[benchmark.name] = benchmark.factor * value
    return found


def run(
    model: str, out: Path, adapter: str = "", harnesses: Sequence[str] = (LM_EVAL,)
) -> dict[str, float]:
    """Scores of one model, from the newest results files in `out`, or by running.

    Raises: BenchmarkFailed, with the last lines that the harness wrote.
    """
    found: dict[str, float] = {}
    for harness in harnesses:
        folder = Path(out) / harness
        if not _newest(folder):
            if importlib.util.find_spec(harness) is None:
                raise BenchmarkFailed(f"{harness} is not installed: environment.yml")
            done = subprocess.run(
                command(harness, model, folder, adapter), capture_output=True, text=True
            )
            if done.returncode or not _newest(folder):
                last = "\n".join((done.stdout + done.stderr).splitlines()[-8:])
                raise BenchmarkFailed(f"{harness} on {model} gave no result:\n{last}")
        found |= read_results(_newest(folder))
    return found


def run_all(
    results: Sequence[Result], out: Path, harnesses: Sequence[str] = (LM_EVAL,)
) -> Mapping[str, dict[str, float]]:
    """`run` on the policies of runs and starts (one of each label), by label."""
    found: dict[str, dict[str, float]] = {}
    for result in results:
        if result.label not in found:
            recipe, own = result.recipe, str(result.folder / "policy")
            trained = bool(result.steps)
            adapter = own if trained and recipe.lora else ""
            model = own if trained and not recipe.lora else recipe.policy
            name = f"{recipe.hash}-{result.steps}"
            found[result.label] = run(model, Path(out) / name, adapter, harnesses)
    return found


def _newest(folder: Path) -> Path | None:
    files = sorted(
        Path(folder).rglob("results_*.json"), key=lambda p: p.stat().st_mtime
    )
    return files[-1] if files else None
