"""The papers' runs as data, and the recipes and run files that come of them."""

import json
from dataclasses import replace

import pytest
import yaml

from helpers import profiles
from helpers.data.published import load
from helpers.learning import devices, methods, paper_run, papers, processes
from helpers.learning.recipes import Recipe
from helpers.learning.settings import TrainerSettings, check_sizes
from helpers.paths import ROOT

CONFIGS = sorted((ROOT / "configs" / "accelerate").glob("*.yaml"))


def test_every_stated_value_has_a_source_and_every_blank_none():
    table = load("paper_runs")
    stated = table["given"].notna()
    assert table["source"][stated].str.contains("fact sheet").all()
    assert table["source"][~stated].isna().all() and (~stated).sum() >= 8
    assert not table.duplicated(["run", "setting"]).any()
    assert table["note"][~stated].notna().all()


def test_the_data_agree_with_the_other_tables_of_the_same_facts():
    ppo, mapo = papers.given("rlver_ppo"), papers.given("mapo_7b")
    rlver = load("rlver_settings").set_index("item")
    assert float(ppo["learning_rate"]) == float(rlver["paper"]["actor learning rate"])
    assert ppo["policy"].endswith(rlver["paper"]["base model"])
    assert (
        f"learning rate {float(ppo['critic_rate']):.0e}".replace("e-06", "e-6")
        in (rlver["released script"]["critic"])
    )
    scripts = load("mapo_scripts").set_index("script").loc["test_reinforce_pp_v5.sh"]
    assert float(mapo["gamma"]) == float(scripts["gamma"])
    prompts, rollouts = int(scripts["prompts"]), int(scripts["rollouts"])
    assert int(mapo["dialogues"]) == prompts * rollouts
    assert int(mapo["minibatches"]) == prompts // int(scripts["mini"])
    assert int(mapo["replies"]) == int(scripts["max_turns"])
    with pytest.raises(KeyError, match="nothing is known"):
        papers.given("rapo")


@pytest.mark.parametrize("run", sorted(papers.METHOD))
def test_a_recipe_has_what_is_stated_and_the_kits_value_elsewhere(run):
    lora = 64 if run == "rlver_ppo" else 0
    recipe, stated = paper_run.paper_recipe(run, lora=lora), papers.given(run)
    trainer, kit = recipe.trainer, TrainerSettings(1, 1.0)
    names = ("steps", "dialogues", "group_size", "minibatches", "learning_rate",
             "weight_decay", "epsilon_high", "delta", "entropy_coef", "temperature",
             "beta", "max_grad_norm")  # fmt: skip
    for name in names:
        ours = getattr(trainer, name)
        theirs = float(stated[name]) if name in stated else getattr(kit, name)
        assert ours == theirs, name
    assert trainer.schedule == stated["schedule"] and recipe.policy == stated["policy"]
    assert trainer.device == "cuda" and trainer.gradient_checkpointing
    if "warmup_share" in stated:
        assert trainer.warmup_steps == round(0.05 * trainer.steps)
    else:
        assert trainer.warmup_steps == 50
    assert (recipe.critic is not None) == (run == "rlver_ppo")
    if recipe.critic:
        assert recipe.critic.learning_rate == 5e-6
        assert (recipe.credit.gamma, recipe.credit.lam) == (1.0, 1.0)
    if recipe.credit.estimator == "mixed":
        assert (recipe.credit.gamma, recipe.credit.alpha) == (0.85, 0.5)
    for gpus in (1, int(stated["gpus"])):
        check_sizes(replace(trainer, micro_batch=1), recipe.credit, gpus)


def test_a_notebook_at_the_paper_profile_adopts_the_papers_optimiser():
    scale = methods.Scale(steps=350, policy="x-7B", device="cuda", lora=64)
    options = dict(rate=3e-4, entropy=0.0, seed=0)
    plain = methods.make_recipe("GRPO", scale, **options)
    rlver = methods.make_recipe("GRPO", replace(scale, paper="rlver"), **options)
    assert plain.trainer.learning_rate == 3e-4 and plain.trainer.warmup_steps == 0
    assert rlver.trainer.learning_rate == 1e-6 and rlver.trainer.warmup_steps == 50
    assert rlver.trainer.entropy_coef == 0.001
    assert rlver.trainer.steps == 350 and rlver.lora == 64
    mapo = methods.make_recipe("turn-only", replace(scale, paper="mapo"), **options)
    assert (mapo.trainer.schedule, mapo.trainer.weight_decay) == ("cosine", 0.1)
    assert mapo.credit == methods.METHODS["turn-only"].credit
    ablated = methods.Credit("mixed", gamma=0.5)
    mapo = replace(scale, paper="mapo")
    kept = methods.make_recipe("MAPO", mapo, credit=ablated, **options)
    assert kept.credit == ablated and kept.trainer.weight_decay == 0.1
    with pytest.raises(ValueError, match="stated for rlver and mapo"):
        methods.make_recipe("GRPO", replace(scale, paper="rapo"), **options)


def test_the_profile_names_the_papers_models():
    assert (
        profiles.settings("04", "paper").policy == papers.given("rlver_ppo")["policy"]
    )
    assert profiles.settings("05", "paper").policy == papers.given("mapo_7b")["policy"]
    assert profiles.settings("04", "paper").steps == 350
    assert profiles.get("paper").launch == devices.WHOLE
    for name in ("smoke", "laptop", "gpu"):
        assert profiles.get(name).launch == ""
    for number in ("04", "05"):
        gpu = profiles.settings(number, "gpu")
        assert (gpu.policy, gpu.lora) == ("Qwen/Qwen2.5-1.5B-Instruct", 16)


def test_the_run_file_and_its_command(tmp_path, capsys):
    assert paper_run.main(["mapo_7b", str(tmp_path)]) == 0
    command = capsys.readouterr().out
    recipe = paper_run.paper_recipe("mapo_7b")
    folder = recipe.folder(tmp_path)
    written = json.loads((folder / "recipe.json").read_text())
    assert Recipe.from_dict(written) == recipe
    assert command.endswith(f"-m helpers.learning.training {folder}\n")
    assert devices.SPREAD in command
    argv = ["rlver_ppo", str(tmp_path), "--lora", "64", "--user-model", "deepseek-chat"]
    assert paper_run.main(argv) == 0
    assert devices.WHOLE in capsys.readouterr().out
    assert paper_run.main([]) == 0 and "schedule" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        paper_run.main(["rlver_ppo", str(tmp_path)])
    assert "give --lora 64" in capsys.readouterr().err
    with pytest.raises(ValueError, match="user and judge by rule only"):
        paper_run.paper_recipe("mapo_7b", user_model="x")


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_a_configuration_is_one_that_accelerate_reads(path):
    from accelerate.commands.config.config_args import load_config_from_file

    config = load_config_from_file(str(path))
    text = path.read_text()
    assert config.num_processes == yaml.safe_load(text)["num_processes"]
    assert ("Not run: no GPU" in text) == ("cpu" not in path.name)
    assert config.num_processes == 8 * config.num_machines or "cpu" in path.name
    kinds = {"fsdp": "FSDP", "deep": "DEEPSPEED", "ddp_": "MULTI_GPU"}
    kinds["cpu_"] = "MULTI_GPU"
    assert str(config.distributed_type).endswith(kinds[path.name[:4]])


def test_the_configurations_that_code_names_are_there():
    names = {path.name for path in CONFIGS}
    assert {"fsdp_four_nodes.yaml", "deepspeed_zero3_one_node.yaml"} < names
    for name in (devices.WHOLE, devices.SPREAD):
        assert processes.launcher(name)[-1] == str(ROOT / name)


class Spread:
    """As much of a trainer as `refuse_spread` looks at."""

    is_fsdp_enabled, is_deepspeed_enabled, critic = True, False, None


def test_what_spread_weights_cannot_do_is_refused_with_the_way_out():
    processes.refuse_spread(Spread(), vllm=True)
    with pytest.raises(ValueError, match='"vllm_server", or KIT_LAUNCH=configs'):
        processes.refuse_spread(Spread(), vllm=False)
    spread = Spread()
    spread.critic = object()
    with pytest.raises(ValueError, match="PPO's critic(.|\n)*with LoRA"):
        processes.refuse_spread(spread, vllm=True)
    spread.is_fsdp_enabled = False
    processes.refuse_spread(spread, vllm=False)


def test_the_engine_the_rows_and_the_number_format(monkeypatch):
    monkeypatch.delenv(processes.LAUNCH, raising=False)
    monkeypatch.delenv("VLLM_SERVER_URL", raising=False)
    assert methods.engine_for("tiny", "cpu") == "decoder"
    assert methods.engine_for("x", "cpu") == "transformers"
    monkeypatch.setattr(methods, "find_spec", lambda name: None)
    assert methods.engine_for("x", "cuda") == "transformers"
    monkeypatch.setattr(methods, "find_spec", lambda name: object())
    assert methods.engine_for("x", "cuda") == "vllm"
    monkeypatch.setenv("VLLM_SERVER_URL", "http://localhost:8000")
    assert methods.engine_for("x", "cuda") == "vllm_server"
    assert devices.micro_batch("cpu", 32) is None
    assert [devices.micro_batch("cuda", n) for n in (32, 6, 1)] == [4, 2, 1]
    monkeypatch.setenv(processes.LAUNCH, devices.WHOLE)
    assert devices.micro_batch("cuda", 32) == 1
    assert not devices.has_bf16("cpu")
    for there, can, expected in ((True, True, True), (True, False, False),
                                 (False, False, True)):  # fmt: skip
        monkeypatch.setattr(devices.torch.cuda, "is_available", lambda x=there: x)
        monkeypatch.setattr(
            devices.torch.cuda, "is_bf16_supported", lambda emulated, x=can: x
        )
        assert devices.has_bf16("cuda") is expected
    monkeypatch.setenv("LOCAL_RANK", "3")
    assert processes.device("cuda") == "cuda:3" and processes.device("cpu") == "cpu"


def test_the_paper_profile_says_how_runs_are_launched(monkeypatch, tmp_path):
    from helpers.start import start

    monkeypatch.setenv(processes.LAUNCH, "x")
    monkeypatch.delenv(processes.LAUNCH)
    options = {"SEED": 0, "OUT_DIR": str(tmp_path), "CARD": 0, "REPLY": ""}
    start("00_start_here", PROFILE="gpu", **options)
    assert processes.LAUNCH not in processes.os.environ
    start("00_start_here", PROFILE="paper", **options)
    assert processes.os.environ[processes.LAUNCH] == devices.WHOLE
