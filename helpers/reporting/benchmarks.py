"""General ability after training, by harnesses that others keep: real policies only.

RLVER's Table 2 (MATH500, LiveCodeBench, IFEval) and MAPO's two other benchmarks
(EQ-Bench, EmoBench) beside the printed numbers. Nothing is scored here:
`scoring.harness` runs lm-eval and lighteval. Which tasks exist was looked up in the
packages, lm-eval 0.4.13 and lighteval 0.13.0. What was not run stays blank, with the
reason: the tiny policy knows some 270 words and cannot be asked, and offline
`learning.forgetting` stands in for it.

Papers: RLVER, arXiv 2507.03112, Table 2; MAPO, arXiv 2603.06194 (abstracts); EQ-Bench,
arXiv 2312.06281; EmoBench, arXiv 2402.12071.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from helpers.data.published import load
from helpers.learning.models import SMOLLM2, smollm2
from helpers.learning.results import Result
from helpers.scoring.harness import (
    LIGHTEVAL,
    LM_EVAL,
    HarnessError,
    lighteval,
    lm_eval,
)


@dataclass(frozen=True)
class Benchmark:
    """A benchmark and where it runs.

    name: as printed. harness, task, metric: where it is and what of it is read; empty
    where no harness has it.
    """

    name: str
    harness: str = ""
    task: str = ""
    metric: str = ""

    def measure(self, result: Result, folder: Path) -> dict[str, float]:
        """The metrics for the policy of a run or a start, kept in `folder`.

        Raises: HarnessError, also without the metric that is read.
        """
        run = lm_eval if self.harness == LM_EVAL else lighteval
        name = f"{result.recipe.hash}-{result.steps}"
        out = Path(folder) / self.task.replace(":", "-") / name
        found = run(model_arguments(result), self.task, out)
        if self.metric not in found:
            raise HarnessError(f"{self.task} gave no {self.metric}")
        return found


# The metrics of Table 2 are shares of 1. LiveCodeBench runs what the model writes: use
# a container.
TABLE2 = (
    Benchmark("MATH500", LM_EVAL, "hendrycks_math500", "exact_match"),
    Benchmark("IFEval", LM_EVAL, "ifeval", "prompt_level_strict_acc"),
    Benchmark(
        "LiveCodeBench v6", LIGHTEVAL, "lcb:codegeneration_v6", "codegen_pass@1:16"
    ),
)
MAPO = (
    Benchmark("EQ-Bench", LM_EVAL, "eq_bench", "eqbench"),
    Benchmark("EmoBench"),
)
READABLE = "percent_parseable"
NO_TASK = "not run: a task of neither lm-eval 0.4.13 nor lighteval 0.13.0"
TINY = "not run: needs a policy that knows English (gpu, paper)"


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
        for one in TABLE2:
            try:
                found = one.measure(result, folder)
            except HarnessError as error:
                failed[f"{result.label}, {one.name}"] = str(error)
            else:
                scores.setdefault(result.label, {})[one.name] = 100 * found[one.metric]
    return scores, failed


def mapo_table(results: Sequence[Result], folder: Path) -> pd.DataFrame:
    """MAPO's two: one row a benchmark and policy, then the printed numbers.

    Args:
        results: starts and runs, one of each label. folder: for the harness's files.

    Returns:
        benchmark, policy, ours (its own units; an answer that cannot be read counts 0,
        as in the harness), readable (%), printed, what (is printed), status.
    """
    rows = []
    for one in MAPO:
        for result in results:
            row = {"benchmark": one.name, "policy": result.label}
            if not one.harness:
                row["status"] = NO_TASK
            elif result.recipe.policy == "tiny":
                row["status"] = TINY
            else:
                try:
                    found = one.measure(result, folder)
                    row |= {"ours": found[one.metric], "readable": found[READABLE],
                            "status": "rerun"}  # fmt: skip
                except HarnessError as error:
                    row["status"] = f"not run: {error}"
            rows.append(row)
    printed = load("mapo_printed")
    for row in printed[printed["item"].isin([one.name for one in MAPO])].itertuples():
        rows.append(
            {"benchmark": row.item, "policy": f"MAPO: {row.row}",
             "printed": row.value, "what": row.column, "status": "printed"}
        )  # fmt: skip
    columns = ["benchmark", "policy", "ours", "readable", "printed", "what", "status"]
    frame = pd.DataFrame(rows, columns=columns)
    return frame.astype({"ours": float, "readable": float, "printed": float})


def model_arguments(result: Result) -> dict[str, str]:
    """How a harness loads the policy at the end of a run, or the start of one."""
    recipe, trained = result.recipe, str(result.folder / "policy")
    base = str(smollm2()) if recipe.policy == SMOLLM2 else recipe.policy
    given = {"pretrained": base, "device": recipe.trainer.device, "dtype": "bfloat16"}
    if result.steps and recipe.lora:
        given["peft"] = trained
    elif result.steps:
        given |= {"pretrained": trained, "tokenizer": base}
    return given
