"""What is left of general ability: the stand-ins, the harnesses, Table 2."""

import json
import math
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from training_fakes import recipe

from helpers.agents.acts import Act
from helpers.learning import forgetting, lessons, tiny, warmup
from helpers.learning.forgetting import INSTRUCTIONS, LANGUAGE, Instruction
from helpers.learning.results import Result
from helpers.reporting import benchmarks
from helpers.reporting import forgetting_tables as tables
from helpers.scoring import harness
from helpers.scoring.harness import HarnessError

FIXTURES = Path(__file__).parent / "fixtures"
HOW = {"draws": 200, "rng": np.random.default_rng(0)}


@pytest.fixture(scope="module")
def policy():
    model, chat = tiny.load()
    return model.eval(), chat


def test_the_loss_is_that_of_the_warm_up_on_the_replies_alone(policy):
    model, chat = policy
    taught = forgetting.held_out_lessons(4, seed=3)
    for think in (False, True):
        losses = forgetting.language_losses(model, chat, taught, think)
        for (case, lesson), found in zip(taught, losses, strict=True):
            system = tiny.REASON if think else tiny.DIRECT
            row = warmup.encode(chat, lesson, system, 0.0)
            batch = warmup.collate([row], model.config.pad_token_id)
            batch["total"] = batch["weights"].sum()
            with torch.no_grad():
                assert found == pytest.approx(
                    warmup.loss(model, batch).item(), rel=1e-4
                )
            assert case


def test_untrained_weights_know_nothing(policy):
    model, chat = policy
    torch.manual_seed(0)
    raw = tiny.make_model(len(tiny.vocabulary())).eval()
    taught, asked = forgetting.held_out_lessons(4, 0), forgetting.instructions(8, 0)
    uniform = math.log(len(tiny.vocabulary()))
    assert forgetting.language_losses(raw, chat, taught, False).mean() > uniform / 2
    assert forgetting.language_losses(model, chat, taught, False).mean() < 1
    assert forgetting.followed(raw, chat, asked, False).mean() < 50
    assert forgetting.followed(model, chat, asked, False).mean() > 80


def test_an_instruction_stands_before_the_last_reply(policy):
    _, chat = policy
    talk = (lessons.Exchange("hello", "", "i am listening ."),
            lessons.Exchange("i keep crying", "", "that sounds so sad ."))  # fmt: skip
    one = Instruction("x", talk, Act("name", "sad"))
    text = chat.tokenizer.decode(forgetting._context(chat, one, tiny.DIRECT))
    assert text.endswith("<user> i keep crying | better : name sad <end> <asst>")
    assert text.count("| better") == 1 and "that sounds so sad" not in text
    assert "<asst> i am listening . <end> <user>" in text


def test_instructions_ask_for_what_was_told():
    for one in forgetting.instructions(30, seed=1):
        told = " ".join(exchange.user for exchange in one.lesson)
        kind, slot = one.wanted.kind, one.wanted.slot
        assert 2 <= len(one.lesson) <= 5
        if kind == "reflect":
            assert f"got {slot}" in told or slot in told
        assert slot or kind == "presence"


def test_measure_takes_each_policy_in_its_own_mode(tmp_path):
    starts = [Result("base", recipe("PPO"), tmp_path, 0),
              Result("base, think", recipe("PPO, think"), tmp_path, 0)]  # fmt: skip
    # The fakes' recipes are of the tiny policy, whose start is the checkout's.
    frame = forgetting.measure(starts, 4, seed=0)
    assert set(frame["test"]) == {LANGUAGE, INSTRUCTIONS}
    mean = frame[frame["test"] == LANGUAGE].groupby("label")["value"].mean()
    assert mean.nunique() == 2
    table = tables.table(frame, **HOW)
    assert (table["reading"] == "-").all() and table["difference"].isna().all()


def rows(label, test, values):
    return pd.DataFrame(
        {"label": label, "seed": 0, "test": test, "case": range(len(values)),
         "value": values}
    )  # fmt: skip


def test_forgotten_gained_and_not_told_apart():
    base = [1.0] * 10
    frame = pd.concat([
        rows("base", LANGUAGE, base),
        rows("worse", LANGUAGE, [1.5] * 10),
        rows("better", LANGUAGE, [0.5] * 10),
        rows("mixed", LANGUAGE, [0.0, 2.0] * 5),
        rows("base", INSTRUCTIONS, [100.0] * 10),
        rows("worse", INSTRUCTIONS, [0.0] * 9 + [100.0]),
    ])  # fmt: skip
    table = tables.table(frame, **HOW).set_index(["test", "label"])["reading"]
    assert table[LANGUAGE, "worse"] == table[INSTRUCTIONS, "worse"] == "forgot"
    assert table[LANGUAGE, "better"] == "gained"
    assert table[LANGUAGE, "mixed"] == "not told apart"
    said = tables.sentences(tables.table(frame, **HOW))
    assert "worse after training in 1 of 3" in said[0] and "worse +0.50" in said[0]
    assert "worse after training in 1 of 1" in said[1]


def start(tmp_path, label="base"):
    made = recipe("PPO, think" if "think" in label else "PPO")
    object.__setattr__(made, "policy", "owner/name")
    return Result(label, made, tmp_path, 0)


def put(folder, result, name="lm_eval_results.json"):
    for one in benchmarks.TABLE2:
        light = one.harness == benchmarks.LIGHTEVAL
        place = folder / one.task.replace(":", "-") / f"{result.recipe.hash}-0"
        place.mkdir(parents=True)
        source = "lighteval_results.json" if light else name
        shutil.copy(FIXTURES / source, place / "results_1.json")


def test_results_are_read_into_the_cells_of_table_2(tmp_path):
    result = start(tmp_path)
    put(tmp_path, result)
    scores, failed = benchmarks.run_all([result], tmp_path)
    assert failed == {}
    assert scores == {
        "base": {"MATH500": 25.0, "IFEval": 50.0, "LiveCodeBench v6": 12.5}
    }
    table = tables.table2(scores).set_index(["row", "column"])
    own = table.loc[("Qwen2.5-7B-Instruct", "MATH500")]
    assert (own["ours"], own["printed"], own["status"]) == (25.0, 77.8, "rerun")
    assert table["ours"].notna().sum() == 3


def test_without_results_the_printed_rows_stay():
    table = tables.table2({})
    assert len(table) == 15 and table["ours"].isna().all()
    assert set(table["status"]) == {"printed, not run"}


def test_a_harness_that_is_not_there_is_a_reason_and_no_score(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(harness.importlib.util, "find_spec", lambda name: None)
    scores, failed = benchmarks.run_all([start(tmp_path)], tmp_path)
    assert scores == {} and len(failed) == 3
    assert "not installed" in failed["base, MATH500"]
    assert "not in the pins" in failed["base, LiveCodeBench v6"]


def test_a_file_without_the_metric_is_a_reason_and_no_score(tmp_path):
    result = start(tmp_path)
    put(tmp_path, result)
    for path in tmp_path.rglob("results_1.json"):
        kept = json.loads(path.read_text())
        kept["results"] = {name: {"alias": 1} for name in kept["results"]}
        path.write_text(json.dumps(kept))
    scores, failed = benchmarks.run_all([result], tmp_path)
    assert scores == {} and len(failed) == 3


def test_lighteval_is_called_as_its_command_line_has_it(tmp_path, monkeypatch):
    seen = []

    def call(command, **how):
        seen.append(command)
        (tmp_path / "o").mkdir()
        shutil.copy(FIXTURES / "lighteval_results.json", tmp_path / "o/results_2.json")
        return type("Done", (), {"returncode": 0, "stderr": ""})

    monkeypatch.setattr(harness.importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(harness.subprocess, "run", call)
    model = {"pretrained": "owner/name", "device": "cuda", "dtype": "bfloat16"}
    task = "lcb:codegeneration_v6"
    found = harness.lighteval(model, task, tmp_path / "o")
    assert found == {"codegen_pass@1:16": 0.125}
    assert seen == [[
        sys.executable, "-m", "lighteval", "accelerate",
        "model_name=owner/name,dtype=bfloat16", "lcb:codegeneration_v6|0",
        "--output-dir", str(tmp_path / "o"),
    ]]  # fmt: skip
    harness.lighteval(model, task, tmp_path / "o")
    assert len(seen) == 1, "a kept result is read"
    with pytest.raises(HarnessError, match="merge"):
        harness.lighteval({**model, "peft": "x"}, task, tmp_path / "o")
