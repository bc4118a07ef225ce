"""MAPO's two other benchmarks: the kit's policies beside the few printed numbers.

EQ-Bench runs through the LM Evaluation Harness with a real policy (profiles gpu and
paper); EmoBench is not among the harness's tasks. What was not run stays as a row
without numbers, with the reason. The tiny policy knows some 270 words and cannot be
asked.

Paper: MAPO, arXiv 2603.06194 (abstracts); EQ-Bench, arXiv 2312.06281; EmoBench, arXiv
2402.12071.
"""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from helpers.data.published import load
from helpers.learning.models import SMOLLM2, smollm2
from helpers.learning.results import Result
from helpers.scoring.harness import HarnessError, evaluate

HARNESS = {"EQ-Bench": "eq_bench", "EmoBench": ""}  # task; empty: there is none
NO_TASK = "not run: lm-eval 0.4.13 has no such task"
TINY = "not run: needs a policy that knows English (gpu, paper)"
SCORE, READABLE = "eqbench", "percent_parseable"


def table(results: Sequence[Result], folder: Path) -> pd.DataFrame:
    """One row a benchmark and policy, then the printed numbers.

    Args:
        results: starts and runs, one of each label. folder: for the harness's files.

    Returns:
        benchmark, policy, ours (its own units; an answer that cannot be read counts 0,
        as in the harness), readable (%), printed, what (is printed), status.
    """
    rows = []
    for benchmark, task in HARNESS.items():
        for result in results:
            row = {"benchmark": benchmark, "policy": result.label}
            if not task:
                rows.append({**row, "status": NO_TASK})
            elif result.recipe.policy == "tiny":
                rows.append({**row, "status": TINY})
            else:
                rows.append({**row, **_run(result, task, folder)})
    printed = load("mapo_printed")
    for row in printed[printed["item"].isin(HARNESS)].itertuples():
        rows.append(
            {"benchmark": row.item, "policy": f"MAPO: {row.row}",
             "printed": row.value, "what": row.column, "status": "printed"}
        )  # fmt: skip
    columns = ["benchmark", "policy", "ours", "readable", "printed", "what", "status"]
    frame = pd.DataFrame(rows, columns=columns)
    return frame.astype({"ours": float, "readable": float, "printed": float})


def _run(result: Result, task: str, folder: Path) -> dict:
    try:
        out = folder / task / f"{result.recipe.hash}-{result.steps}"
        found = evaluate(model_arguments(result), task, out)
    except HarnessError as error:
        return {"status": f"not run: {error}"}
    return {"ours": found[SCORE], "readable": found[READABLE], "status": "rerun"}


def model_arguments(result: Result) -> dict[str, str]:
    """How the harness loads the policy at the end of a run, or the start of one."""
    recipe, trained = result.recipe, str(result.folder / "policy")
    base = str(smollm2()) if recipe.policy == SMOLLM2 else recipe.policy
    given = {"pretrained": base, "device": recipe.trainer.device, "dtype": "bfloat16"}
    if result.steps and recipe.lora:
        given["peft"] = trained
    elif result.steps:
        given |= {"pretrained": trained, "tokenizer": base}
    return given
