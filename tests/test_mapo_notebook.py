"""Notebook 05's computation by hand, number for number, and what it asks of others."""

import ast
import json
import sys
from dataclasses import replace

import matplotlib
import nbformat
import pytest
import torch
from test_advantages import FIXTURE

from helpers.data.published import load
from helpers.data.scenarios import load_cards
from helpers.learning import bench, methods, results, training
from helpers.learning.recipes import Checks
from helpers.learning.results import Result
from helpers.paths import NOTEBOOKS
from helpers.reporting import benchmarks, mapo_board
from helpers.scoring.harness import HarnessError, lm_eval

GOLD = json.loads(FIXTURE.read_text())
NOTEBOOK = NOTEBOOKS / "05_mapo.ipynb"


def section(title):
    """The code cells under a heading, figures left out."""
    cells = nbformat.read(NOTEBOOK, 4).cells
    heads = [i for i, c in enumerate(cells) if c.source.startswith("## ")]
    first = next(i for i in heads if cells[i].source.startswith(f"## {title} "))
    last = next(i for i in heads if i > first)
    code = [c.source for c in cells[first:last] if c.cell_type == "code"]
    return [source for source in code if "write." not in source]


@pytest.fixture(scope="module")
def by_hand():
    """The names that the worked example leaves behind, and the rewards by hand."""
    cells = nbformat.read(NOTEBOOK, 4).cells
    setup = next(c.source for c in cells if "from helpers.start import" in c.source)
    names = {"show": lambda *_: None, "display": lambda *_: None}
    matplotlib.use("agg")
    exec(setup.split("\nparameters = ")[0], names)
    names["display"] = lambda *_: None
    for source in section("5.2"):
        exec(source, names)
    for source in section("5.5"):
        for node in ast.parse(source).body:
            if isinstance(node, ast.FunctionDef):
                exec(ast.unparse(node), names)
    return names


def near(expected):
    return pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", GOLD["trajectories"])
def test_positions_distances_rewards_and_returns(by_hand, name):
    told = GOLD["trajectories"][name]
    assert [list(p) for p in by_hand["places"][name]] == told["positions"]
    for ours, theirs in (("path", "phi"), ("r", "reward"), ("G", "return_gamma"),
                         ("G1", "return_gamma1")):  # fmt: skip
        assert by_hand[ours][name] == near(told[theirs]), ours
    rewards = by_hand["five"](by_hand["places"][name])
    assert rewards["distance"] == near(told["reward"])
    assert rewards["absolute_distance"] == near([-x for x in told["phi"][1:]])
    assert rewards["potential"] == near(told["potential_reward_gamma0p99_alpha9"])
    steps = [sum(v) for v in GOLD["input"][told["prompt"]]["rollouts"][name]["v"]]
    assert rewards["increments"] == steps
    assert sum(rewards["final_distance"]) == near(sum(told["reward"]))


def test_the_three_kinds_of_credit_and_the_mix(by_hand):
    for ours, theirs in (
        ("A_outcome", GOLD["grpo_outcome"]["advantage"]),
        ("A_turn", GOLD["turn_level_mc"]["advantage"]),
        ("A_imm", GOLD["immediate"]["advantage"]),
        ("mix", GOLD["mixed"]["advantage_0p5_0p5"]),
    ):
        for name, values in theirs.items():
            assert by_hand[ours][name] == near(values), (ours, name)


def test_means_and_deviations(by_hand):
    moments, same_turn = by_hand["moments"], by_hand["same_turn"]
    for key, told in GOLD["turn_level_mc"]["stats"].items():
        name, turn = told["members"][0], int(key[-1])
        values = same_turn[name][turn - 1]
        assert values == near(told["values"]), key
        assert moments(values) == near((told["mean"], told["std"] or 0.0)), key
    every = GOLD["immediate"]["stats"]["all"]
    assert moments(by_hand["every"]) == near((every["mean"], every["std"]))
    for told in GOLD["grpo_outcome"]["stats"].values():
        scores = [by_hand["scores"][name] for name in told["scores"]]
        assert scores == near(list(told["scores"].values()))
        assert moments(scores, ddof=1) == near((told["mean"], told["std"]))


def test_the_losses(by_hand):
    for ours, theirs in (("outcome", "outcome"), ("turn part", "turn_only"),
                         ("immediate part", "imm_only"), ("mix", "mixed")):  # fmt: skip
        told = GOLD["loss"][theirs]
        assert by_hand["losses"][ours] == near(told["token_mean"])
        for name, values in told["per_turn_token_loss"].items():
            ratios, credit = by_hand["ratio"][name], by_hand["by_turn"][ours][name]
            found = [by_hand["token_loss"](a, rho)
                     for a, rho in zip(credit, ratios, strict=True)]  # fmt: skip
            assert found == near(values), (ours, name)


def test_the_other_choices(by_hand):
    names = list(GOLD["trajectories"])
    for ours, theirs in (
        ("weights 0.4 and 0.6 (released v5)", GOLD["mixed"]["grid"]["turn0.4_imm0.6"]),
        ("immediate part within the group", GOLD["mixed"]["mixed_group_scope"]),
        ("no discount in the turn part", GOLD["turn_level_mc"]["turn_gamma1"]),
        ("turn part, deviation by n - 1", GOLD["turn_level_mc"]["turn_ddof1"]),
        ("REINFORCE++: returns within the batch",
         GOLD["immediate"]["return_batch_scope"]),
    ):  # fmt: skip
        found = by_hand["choices"][ours]
        for row, name in enumerate(names):
            assert found[row, : len(theirs[name])].tolist() == near(theirs[name]), ours


def test_the_table_and_the_sentences_are_of_all_fifteen_turns(by_hand):
    example = by_hand["example"]
    assert len(example) == 15 and not example.isna().any(axis=None)
    text = " ".join(by_hand["lines"])
    told = ["**a0, turn 3** took", "(+1.12)", "(-1.00 and -0.87)"]
    told += ["**a0, turn 4** has no other", "**b0, turn 2** changed nothing"]
    assert all(words in text for words in told), text


@pytest.mark.parametrize("alpha, name", [(1.0, "turn-only"), (0.0, "batch-only")])
def test_the_ends_of_the_ablation_are_those_methods_token_by_token(alpha, name):
    g = torch.Generator().manual_seed(0)
    rewards = torch.randn(8, 5, generator=g, dtype=torch.float64)
    valid = torch.rand(8, 5, generator=g) < 0.8
    groups = torch.arange(8) // 4
    turn_ids = torch.arange(5).repeat_interleave(3).expand(8, 15).clone()
    turn_ids[:, ::4] = -1
    batch = rewards, valid, groups, turn_ids
    own = replace(methods.METHODS["MAPO"].credit, alpha=alpha)(*batch).advantages
    other = methods.METHODS[name].credit(*batch).advantages
    assert own.abs().sum() > 0 and torch.equal(own, other)


# --- a real policy on the board -------------------------------------------------------


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """Recipes of a small random policy that is no tiny one: with adapters, whole."""
    folder = bench.random_policy(
        tmp_path_factory.mktemp("policy"), words=400, hidden_size=16,
        intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=1, max_position_embeddings=4096,
    )  # fmt: skip
    scale = methods.Scale(steps=1, reply_limit=4, policy=str(folder),
                          engine="transformers")  # fmt: skip
    checks = Checks(rules="empa")
    return {
        lora: methods.make_recipe(
            "MAPO", replace(scale, lora=lora), rate=1e-3, entropy=0.0, seed=0,
            rules="empa", reward="distance", checks=checks,
        )
        for lora in (2, 0)
    }  # fmt: skip


@pytest.mark.parametrize("lora", [2, 0])
def test_the_policy_at_the_end_of_a_run_is_loaded(real, tmp_path, lora):
    result = Result("MAPO", real[lora], tmp_path, 1)
    model, chat = training.start_policy(real[lora])
    start, _ = results.policy_of(replace(result, steps=0))
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.add_(0.05)
    model.save_pretrained(tmp_path / "policy")
    found, _ = results.policy_of(result)
    ids = torch.tensor([[3, 4, 5]])
    with torch.no_grad():
        expected, got, before = (m(ids).logits for m in (model, found, start))
    torch.testing.assert_close(got, expected)
    assert not torch.allclose(before, expected)


def test_a_real_policy_plays_on_the_board(real, tmp_path):
    cards = load_cards("test")[:1]
    result = Result("base", real[2], tmp_path, 0)
    (told,) = mapo_board.play(result, cards, tmp_path)
    assert told.scenario_id == cards[0].id and told.turns[0].reward is not None
    assert mapo_board.play(result, cards, tmp_path) == [told], "kept, and read again"


# --- benchmarks -----------------------------------------------------------------------

RESULT = {"results": {"eq_bench": {
    "alias": "eq_bench", "eqbench,none": 41.5, "eqbench_stderr,none": 2.0,
    "percent_parseable,none": 97.0,
}}}  # fmt: skip


def stand_in(folder, body):
    """A program in place of the harness; `out` is where it is told to write."""
    path = folder / "harness"
    path.write_text(
        f"#!{sys.executable}\nimport json, pathlib, sys\n"
        "out = pathlib.Path(sys.argv[sys.argv.index('--output_path') + 1])\n"
        f"{body}\n"
    )
    path.chmod(0o755)
    return str(path)


WRITE = (
    "where = out / 'some__model'; where.mkdir(parents=True)\n"
    f"(where / 'results_1.json').write_text('''{json.dumps(RESULT)}''')\n"
    "(out / 'asked.json').write_text(json.dumps(sys.argv[1:]))"
)


def test_the_harness_is_called_once_and_read(tmp_path):
    program, out = stand_in(tmp_path, WRITE), tmp_path / "out"
    model = {"pretrained": "a/b", "peft": "c"}
    found = lm_eval(model, "eq_bench", out, program)
    assert found == {"eqbench": 41.5, "percent_parseable": 97.0}
    asked = json.loads((out / "asked.json").read_text())
    assert asked[asked.index("--model_args") + 1] == "pretrained=a/b,peft=c"
    assert asked[asked.index("--tasks") + 1] == "eq_bench"
    assert lm_eval(model, "eq_bench", out, "gone") == found, "kept"
    with pytest.raises(HarnessError, match="holds eq_bench, not other"):
        lm_eval(model, "other", out, program)


def test_a_harness_that_fails_says_why(tmp_path):
    with pytest.raises(HarnessError, match="gone is not installed"):
        lm_eval({}, "eq_bench", tmp_path / "none", "gone")
    program = stand_in(tmp_path, "sys.exit('no such data set')")
    with pytest.raises(HarnessError, match="exit 1: no such data set"):
        lm_eval({}, "eq_bench", tmp_path / "none", program)


def test_what_was_not_run_is_a_row_without_a_number(real, tmp_path, monkeypatch):
    tiny = methods.make_recipe("GRPO", methods.Scale(1), rate=1e-3, entropy=0.0, seed=0)
    results = [Result("base", real[2], tmp_path, 0), Result("GRPO", tiny, tmp_path, 1)]
    monkeypatch.setattr(benchmarks, "lm_eval", lambda *_: {
        "eqbench": 41.5, "percent_parseable": 97.0})  # fmt: skip
    table = benchmarks.mapo_table(results, tmp_path)
    rows = table.set_index(["benchmark", "policy"])
    assert rows.loc[("EQ-Bench", "base"), "ours"] == 41.5
    other = rows.drop(index=("EQ-Bench", "base"))
    assert other["ours"].isna().all() and other["readable"].isna().all()
    assert "knows English" in rows.loc[("EQ-Bench", "GRPO"), "status"]
    assert "a task of neither" in rows.loc[("EmoBench", "base"), "status"]
    printed = load("mapo_printed").set_index("item").loc[["EmoBench", "EQ-Bench"]]
    assert table["printed"].dropna().tolist() == printed["value"].tolist()

    def fails(*_):
        raise HarnessError("no network")

    monkeypatch.setattr(benchmarks, "lm_eval", fails)
    table = benchmarks.mapo_table(results, tmp_path)
    row = table.set_index(["benchmark", "policy"]).loc[("EQ-Bench", "base")]
    assert row["status"] == "not run: no network" and row.isna()["ours"]


def test_the_harness_loads_base_adapters_or_the_whole_policy(real, tmp_path):
    for lora, steps, expected in (
        (2, 0, {"pretrained": real[2].policy}),
        (2, 1, {"pretrained": real[2].policy, "peft": str(tmp_path / "policy")}),
        (0, 1, {"pretrained": str(tmp_path / "policy"), "tokenizer": real[0].policy}),
    ):
        found = benchmarks.model_arguments(
            Result("x", real[lora], tmp_path, steps)
        )
        assert {k: found[k] for k in found if k not in ("device", "dtype")} == expected
