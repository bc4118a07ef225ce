"""The checks before a run with models: what they say, what they refuse and advise."""

import io
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import fake_vllm
import pytest
from test_driver import listed

from helpers import machine, planning, preflight, profiles, serving
from helpers.agents.ledger import Budget, Price
from helpers.learning import methods, race, results, studies, vllm
from helpers.learning.worlds import DIFFICULTY
from helpers.machine import GB, Gpu, Machine
from helpers.parameters import find_notebooks, inspect
from helpers.paths import NOTEBOOKS, ROOT
from helpers.reproduce import main

BIG = Machine((Gpu("NVIDIA H200", 141 * GB, 140 * GB),), True, 100 * GB, 1e13, True, 16)
ADDRESS = "http://localhost:9/v1"
ENVIRONMENT = {"OPENAI_BASE_URL": ADDRESS, "HF_HUB_OFFLINE": "0"}
PRICES = {"deepseek-chat": Price(1.0, 2.0)}


def values_of(*numbers, **changes):
    """The notebooks' own parameters, with changes where they have them."""
    values = {}
    for path in find_notebooks(NOTEBOOKS):
        if path.name[:2] in numbers:
            found, problems = inspect(path)
            assert not problems
            own = {k: v for k, v in changes.items() if k in found.defaults}
            values[path.name[:2]] = found.defaults | own
    return values


def look(*numbers, tmp_path, served=("deepseek-chat",), profile="gpu", **options):
    options = {
        "machine": BIG, "prices": PRICES, "budget": Budget(),
        "ledger": tmp_path / "spent.jsonl", "environment": ENVIRONMENT,
        "ask": lambda address, key: list(served), **options,
    }  # fmt: skip
    given = options.pop("values", None) or values_of(*numbers)
    return preflight.look(profile, given, **options)


def test_all_is_well_and_the_arithmetic_is_shown(tmp_path):
    report = look("04", tmp_path=tmp_path)
    assert report.refusals == []
    text = "\n".join(report.lines)
    assert "GPUs: NVIDIA H200, 140 of 141 GB free" in text and "bf16 autocast" in text
    assert "04: 6 runs (PPO and GRPO" in text and "1.5 B by its name" in text
    s = profiles.settings("04", "gpu")
    (training,), (calls,) = planning.plan("04", s, values_of("04")["04"])
    per_run = s.steps * s.dialogues + training.checks
    assert calls.number == 6 * per_run * 8 * 2
    assert f"= {calls.number:,} calls at most" in text
    usd = calls.number * (calls.read * 1.0 + calls.written * 2.0) / 1e6
    assert f"about USD {usd:,.2f}" in text and "no budget" in text
    seconds, how = training.seconds("NVIDIA H200", 1.5e9)
    assert how in text and seconds > 3600


def test_no_key_for_a_server_elsewhere(tmp_path):
    far = {"OPENAI_BASE_URL": "https://api.example.com/v1"}
    (refusal,) = look("02", tmp_path=tmp_path, environment=far).refusals[:1]
    assert refusal == "no key for api.example.com: set OPENAI_API_KEY"


def test_no_server_at_all(tmp_path):
    (refusal,) = look("01", tmp_path=tmp_path, environment={},
                      values=values_of("01", INFRA_MODEL="m")).refusals  # fmt: skip
    assert "set OPENAI_BASE_URL" in refusal and "--serve MODEL" in refusal


def test_a_model_that_is_not_served_is_named_with_the_parameter(tmp_path):
    report = look("04", tmp_path=tmp_path, served=("deepseek-chat-v3", "other"))
    (refusal,) = report.refusals
    assert "does not serve 'deepseek-chat' (did you mean deepseek-chat-v3?)" in refusal
    assert "it serves deepseek-chat-v3, other" in refusal
    assert "-p 04:USER_MODEL=NAME" in refusal


@pytest.mark.parametrize(
    ("status", "message"),
    [(401, "refuses the key"), (403, "refuses the key"), (500, "does not list")],
)
def test_an_endpoint_that_refuses(httpserver, tmp_path, status, message):
    httpserver.expect_request("/v1/models").respond_with_json(
        {"error": {"message": "no"}}, status=status
    )
    key = "sk-test-0123456789abcdef"
    environment = {
        "OPENAI_BASE_URL": httpserver.url_for("/v1"), "OPENAI_API_KEY": key,
    }  # fmt: skip
    report = look("04", tmp_path=tmp_path, environment=environment,
                  ask=serving.served_models)  # fmt: skip
    assert any(message in text for text in report.refusals)
    assert key not in "\n".join(report.lines + report.refusals)


def test_an_endpoint_that_serves_it_and_one_without_a_list(httpserver, tmp_path):
    environment = ENVIRONMENT | {"OPENAI_BASE_URL": httpserver.url_for("/v1")}
    options = dict(environment=environment, ask=serving.served_models)
    listed_models = {"object": "list", "data": [{"id": "deepseek-chat"}]}
    httpserver.expect_ordered_request("/v1/models").respond_with_json(listed_models)
    assert look("04", tmp_path=tmp_path, **options).refusals == []
    httpserver.expect_ordered_request("/v1/models").respond_with_data("", status=404)
    report = look("04", tmp_path=tmp_path, **options)
    assert report.refusals == []
    assert any("their names are not checked" in line for line in report.lines)


def test_an_endpoint_that_is_not_there(tmp_path):
    (refusal,) = look("04", tmp_path=tmp_path, ask=serving.served_models).refusals
    assert refusal.startswith(f"no connection to {ADDRESS}: is the server running")


def test_a_machine_without_a_gpu(tmp_path):
    bare = replace(BIG, gpus=(), why="this torch is built without CUDA")
    (refusal,) = look("05", tmp_path=tmp_path, machine=bare).refusals
    assert "05 trains on cuda, and there is no GPU here (this torch" in refusal


def test_too_little_memory(tmp_path):
    small = replace(BIG, gpus=(Gpu("NVIDIA L4", 24 * GB, 23 * GB),))
    values = values_of("05", POLICY="Qwen/Qwen2.5-7B-Instruct")
    (refusal,) = look(tmp_path=tmp_path, machine=small, values=values).refusals
    # two bodies of 14 GB, adapters of rank 16, 0.3 of 24 GB for vLLM, 4 GB to work in
    adapters = 16 * preflight.ADAPTERS * 16 * 7e9
    need = (2 * (14e9 + adapters) + 7.2e9 + 4e9) / 1e9
    assert f"05 needs some {need:.0f} GB of a GPU's memory, 23 are free" in refusal
    assert "-p 05:POLICY=NAME" in refusal
    fits = look("05", tmp_path=tmp_path, machine=small)
    assert fits.refusals == []


def test_all_weights_need_sixteen_bytes_each(tmp_path):
    training = planning.Training("05", "", 1, 1, 8, 10, 512, 0, "x-7B", lora=0)
    need, how = preflight.memory_needed(training, 7e9, 80e9, vllm=False)
    assert need == 16 * 7e9 + preflight.ROOM and "1 x 112.0 GB" in how


def test_too_little_disk(tmp_path):
    full = replace(BIG, disk=1e6)
    (refusal,) = look("05", tmp_path=tmp_path, machine=full).refusals
    assert refusal.startswith("disk: some ") and "make room" in refusal


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        (Budget(max_usd=0.5), "--budget-usd 0.5 is too small"),
        (Budget(max_tokens=1000), "--budget-tokens 1,000 is too small"),
        (Budget(max_attempts=10), "--budget-calls 10 is too small"),
    ],
)
def test_a_budget_that_is_too_small(tmp_path, budget, message):
    (refusal,) = look("04", tmp_path=tmp_path, budget=budget).refusals
    assert message in refusal and "--anyway" in refusal
    large = Budget(*(None if x is None else 1e12 for x in vars(budget).values()))
    assert look("04", tmp_path=tmp_path, budget=large).refusals == []


def test_an_unknown_price_is_said_and_never_nought(tmp_path):
    report = look("04", tmp_path=tmp_path, prices={})
    text = "\n".join(report.lines)
    assert "price unknown of deepseek-chat" in text
    assert "USD" not in text.split("price")[1]
    assert report.refusals == []
    budget = Budget(max_usd=1e9)
    (refusal,) = look("04", tmp_path=tmp_path, prices={}, budget=budget).refusals
    assert refusal.startswith("a budget in USD cannot be kept: no price of deepseek")


def test_a_policy_that_is_not_here_while_the_hub_is_off(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    environment = ENVIRONMENT | {"HF_HUB_OFFLINE": "1"}
    values = values_of("05", POLICY="nobody/none-1B")
    (refusal,) = look(tmp_path=tmp_path, values=values,
                      environment=environment).refusals  # fmt: skip
    assert "HF_HUB_OFFLINE=0 hf download nobody/none-1B" in refusal
    values = values_of("05", POLICY=str(tmp_path))
    assert look(tmp_path=tmp_path, values=values, environment=environment).lines


def test_the_paper_profile_needs_as_many_gpus_as_processes(tmp_path):
    report = look("05", tmp_path=tmp_path, profile="paper")
    (refusal,) = report.refusals
    assert "launched as 8 processes, here are 1 GPUs" in refusal
    node = replace(BIG, gpus=BIG.gpus * 8)
    assert look("05", tmp_path=tmp_path, profile="paper", machine=node).refusals == []


def test_constants_are_those_of_the_core():
    assert preflight.VLLM_SHARE == vllm.MEMORY
    for profile in ("gpu", "paper"):
        for number in ("04", "05", "06"):
            given = profiles.settings(number, profile)
            assert methods.engine_for(given.policy, "cpu") == "transformers"
            assert given.device == "cuda" and given.lora > 0


@pytest.mark.parametrize("number", ["04", "05", "06"])
def test_planned_runs_are_those_that_the_notebook_starts(number, tmp_path, monkeypatch):
    """The notebook's own code up to its training cell, at the gpu profile: its recipes
    are counted in place of being run."""
    import nbformat

    seen = []

    class Stop(Exception):
        pass

    def train(recipes, *_, **__):
        seen.extend({r.hash: r for r in recipes}.values())
        raise Stop

    monkeypatch.setattr(results, "train", train)
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    (path,) = (p for p in find_notebooks(NOTEBOOKS) if p.name[:2] == number)
    cells = [c.source for c in nbformat.read(path, 4).cells if c.cell_type == "code"]
    marks = "recipe = studies.", "results.train("
    with_recipes = [c for c in cells if any(mark in c for mark in marks)]
    scope = _scope(number)
    with pytest.raises(Stop):
        for source in [*with_recipes_between(cells, with_recipes)]:
            exec(source, scope)
    s = profiles.settings(number, "gpu")
    trained, _ = planning.plan(number, s, values_of(number)[number])
    counted = sum(t.runs for t in trained)
    assert len(seen) <= counted <= len(seen) + 2, (len(seen), counted)


def test_planned_runs_of_the_race_are_those_that_no_notebook_had():
    of = {n: profiles.settings(n, "gpu") for n in ("04", "05", "06", "07")}
    distance, rank = studies.mapo(of["05"], 0), studies.rapo(of["06"], 0)
    thinking = of["07"].thinking.split(",")
    field = race.field(distance, rank, range(of["05"].seeds), thinking)
    known = {r.hash for name in race.BY_DISTANCE
             for r in methods.with_seeds(distance(name), range(of["05"].seeds))}
    users = len(DIFFICULTY) - len({"vanilla", "challenging"})
    values = values_of("07")["07"] | {"PROFILE": "gpu"}
    trained, _ = planning.plan("07", of["07"], values)
    assert [t.runs for t in trained] == [
        len({r.hash for r in field} - known), users * of["07"].difficulty_seeds
    ]  # fmt: skip


def with_recipes_between(cells, chosen):
    """The chosen cells and those that define what they use (plans, variants)."""
    first, last = cells.index(chosen[0]), cells.index(chosen[-1])
    for source in cells[first : last + 1]:
        if source in chosen or "tried = {" in source:
            yield source


def _scope(number):
    """What the notebook has imported and set by then."""
    import dataclasses

    import pandas as pd

    from helpers.learning.tuning import FAMILIES

    s = profiles.settings(number, "gpu")
    scope = {
        "methods": methods, "results": results, "replace": dataclasses.replace,
        "studies": studies, "FAMILIES": FAMILIES, "settings": s, "pd": pd,
        "show": lambda *_: None, "training_dir": None,
        "released": ["distance", "absolute_distance", "increments", "potential",
                     "final_distance"],
        "run": SimpleNamespace(run_dir=Path("x")),
    }  # fmt: skip
    return scope | values_of(number)[number] | {"PROFILE": "gpu"}


# -- in the driver ---------------------------------------------------------------------


@pytest.fixture
def driver(tmp_path, make_notebook, monkeypatch):
    """The driver at gpu on a machine that is faked, with one notebook that asks."""
    monkeypatch.setattr(machine, "probe", lambda folder: BIG)
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    marker = tmp_path / "ran"
    source = (
        f"import os, pathlib\npathlib.Path({str(marker)!r}).write_text("
        "os.environ['OPENAI_BASE_URL'] + ' ' + INFRA_MODEL + ' ' + "
        "os.environ.get('KIT_BUDGET_CALLS', ''))"
    )
    folder = tmp_path / "notebooks"
    make_notebook(folder, "01_data", source, parameters='INFRA_MODEL = ""\n')

    def run(*words):
        argv = ["--profile", "gpu", "--out", str(tmp_path / "out"), *words]
        return main(argv, folder, listed("kit_pipeline_funnel"))

    return run, marker


def test_the_driver_refuses_before_the_first_notebook(driver, capsys):
    run, marker = driver
    assert run("-p", "INFRA_MODEL=m") == 2
    printed = capsys.readouterr().out
    assert "REFUSED: no server: set OPENAI_BASE_URL" in printed
    assert not marker.exists()


def test_the_checks_alone_run_nothing(driver, capsys):
    run, marker = driver
    assert run("--check") == 0
    assert "GPUs: NVIDIA H200" in capsys.readouterr().out and not marker.exists()
    assert main(["--profile", "smoke", "--check"]) == 0
    assert "nothing is spent" in capsys.readouterr().out


def test_the_driver_starts_and_stops_a_server(driver, capsys, tmp_path, monkeypatch):
    run, marker = driver
    fake_vllm.put(tmp_path, monkeypatch)
    monkeypatch.setattr(serving, "LOOK_S", 0.05)
    run("--serve", "good", "--budget-calls", "9000")
    address, model, calls = marker.read_text().split()
    assert address.startswith("http://127.0.0.1:")
    assert (model, calls) == ("good", "9000")
    assert "endpoint: vllm serve good, started here" in capsys.readouterr().out
    with pytest.raises(serving.openai.APIConnectionError):
        serving.served_models(address, "none", timeout_s=2.0)


def test_a_server_that_dies_ends_the_run_with_its_words(
    driver, capsys, tmp_path, monkeypatch
):
    run, marker = driver
    fake_vllm.put(tmp_path, monkeypatch)
    assert run("--serve", "dies") == 1
    assert "no kernel for this GPU" in capsys.readouterr().out and not marker.exists()


def test_the_module_is_the_driver_with_its_checks_only(monkeypatch):
    seen = []
    monkeypatch.setattr("helpers.reproduce.main", lambda argv: seen.append(argv) or 0)
    assert preflight.main(["--profile", "gpu"]) == 0
    assert seen == [["--profile", "gpu", "--check"]]


# -- what the README says --------------------------------------------------------------


def hours(number, profile, gpu, processes=1):
    given = profiles.settings(number, profile)
    values = values_of(number)[number] | {"PROFILE": profile}
    trained, _ = planning.plan(number, given, values)
    each = (one.seconds(gpu, planning.parameters(one.policy)[0])[0] for one in trained)
    total = sum(each) / processes / 3600
    return f"{total:.0f}" if total >= 10 else f"{total:.1f}"


def test_the_readme_has_the_estimates_that_the_preflight_makes():
    text = " ".join((ROOT / "README.md").read_text().split())
    for number in ("04", "05", "06", "07"):
        made = [hours(number, "gpu", gpu) for gpu in ("H200", "A100", "L4")]
        assert f"{number} {' / '.join(made)}" in text, (number, made)
        assert f"{number} {hours(number, 'paper', 'H100', 8)}" in text, number
    for profile in ("gpu", "paper"):
        given = profiles.settings("04", profile)
        _, (calls,) = planning.plan("04", given, values_of("04")["04"])
        tokens = calls.tokens / 1e6
        size = f"{tokens:.0f} million" if tokens < 1000 else f"{tokens / 1000:.1f} bill"
        assert f"{calls.number:,} calls, {size}" in text, profile
