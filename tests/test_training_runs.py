"""Runs from recipe to folder, as worker processes: cached, resumable, told live."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
import torch

from helpers.learning import results, tiny, training, workers
from helpers.learning.chat import ChatFormat
from helpers.learning.credit import Credit
from helpers.learning.critic import CriticSettings
from helpers.learning.hindsight import HindsightSettings
from helpers.learning.recipes import Checks, Recipe
from helpers.learning.settings import TrainerSettings
from helpers.learning.workers import DONE, Job, WorkerFailed, progress, run_jobs
from helpers.paths import ROOT

SMALL = TrainerSettings(
    steps=3, learning_rate=1e-3, dialogues=4, group_size=2, minibatches=1, save_every=1
)
CHECKS = Checks(split="tune", every=2, curve_cards=2, final_cards=3, users=("vanilla",))
RECIPE = Recipe(
    "GRPO", Credit("outcome"), "emotion_steps", SMALL, reply_limit=16, checks=CHECKS
)
PPO = replace(
    RECIPE, label="PPO", credit=Credit("gae", gamma=1.0), critic=CriticSettings(1e-3),
    think=True, trainer=replace(SMALL, group_size=1),
)  # fmt: skip


@pytest.mark.parametrize("recipe", [RECIPE, PPO])
def test_a_recipe_survives_json_with_its_hash(recipe):
    again = Recipe.from_dict(json.loads(json.dumps(recipe.describe())))
    assert again == recipe and again.hash == recipe.hash


def test_the_label_is_no_part_of_the_hash_and_every_setting_is():
    assert replace(RECIPE, label="x").hash == RECIPE.hash
    others = [
        replace(RECIPE, think=True), replace(RECIPE, user="challenging"),
        replace(RECIPE, credit=Credit("turn")), replace(RECIPE, history="kept"),
        replace(RECIPE, trainer=replace(SMALL, seed=1)),
        replace(RECIPE, checks=replace(CHECKS, seed=1)), replace(RECIPE, rules="empa"),
        # A source of the same name as a setting must not stand in for it.
        replace(RECIPE, user_model="m"),
        replace(RECIPE, user_model="m", user="challenging"),
    ]  # fmt: skip
    assert len({r.hash for r in (RECIPE, *others)}) == 1 + len(others)


def test_every_setting_counts_too_with_hindsight_and_with_a_user_by_a_model():
    """A hash of sources under the name of a setting would hide that setting."""
    looks = [
        HindsightSettings(), HindsightSettings(weight=0.5),
        HindsightSettings(select="random"), HindsightSettings(reward_model="m"),
    ]  # fmt: skip
    asked = replace(RECIPE, user_model="m")
    made = [replace(RECIPE, hindsight=one) for one in looks]
    made += [asked, replace(asked, user="challenging"), RECIPE]
    made += [replace(RECIPE, rules="sage")]
    assert len({r.hash for r in made}) == len(made)


@pytest.mark.parametrize(
    "wrong", [{"reward": "joy"}, {"rules": "none"}, {"user": "x"}, {"engine": "y"}]
)
def test_unknown_names_are_refused_before_anything_runs(wrong):
    with pytest.raises(ValueError, match="choose of"):
        replace(RECIPE, **wrong)


@pytest.mark.parametrize("recipe", [RECIPE, PPO])
def test_a_run_leaves_curve_checks_policy_and_done(recipe, tmp_path):
    folder = recipe.folder(tmp_path)
    training.Run(recipe, folder).execute()
    result = results.Result(recipe.label, recipe, folder, 3)
    assert len(result.curve) == 3 and result.curve["loss"].notna().all()
    assert result.checked == [0, 2, 3]
    assert [len(result.dialogues(step=s)) for s in (0, 2, 3)] == [2, 2, 3]
    assert result.seconds > 0 and progress(folder)["step"] == 3
    assert (folder / "policy" / "model.safetensors").is_file()
    table = results.scores([result], "vanilla")
    assert len(table) == 3 and not table["failed"].any()
    before = torch.cat([p.flatten() for p in tiny.load()[0].parameters()])
    after = torch.cat(
        [p.flatten() for p in tiny.load(folder / "policy")[0].parameters()]
    )
    assert not torch.equal(before, after)


def test_the_start_is_checked_with_the_same_cards_and_users(tmp_path):
    base = results.start(RECIPE, tmp_path)
    assert [d.scenario_id for d in base.dialogues()] == [
        "tune-001",
        "tune-002",
        "tune-003",
    ]
    assert base.steps == 0 and base.label == "base"


def test_processes_meet_the_same_users_and_reply_each_in_its_own_way(tmp_path):
    run = training.Run(RECIPE, tmp_path)
    cards = [run.cards["train-001"]] * 2
    talks = [
        training.talk(RECIPE, run.model, run.chat, run.world, cards, 5, process)
        for process in (0, 1)
    ]
    first, second = ([row.dialogue for row in rows] for rows in talks)
    assert {d.seed for d in first} == {d.seed for d in second}
    assert len({d.turns[0].user for d in first + second}) == 1
    assert [d.turns[0].reply for d in first] != [d.turns[0].reply for d in second]


def curve_without_times(folder):
    entries = json.loads((folder / training.CURVE).read_text())
    skip = ("time/", "step_time", "train_")
    return [{k: v for k, v in e.items() if not k.startswith(skip)} for e in entries]


def test_a_killed_run_goes_on_to_the_same_curve(tmp_path):
    """kill -9 in the middle, then again: same curve, same checks, nothing twice."""
    recipe = replace(RECIPE, trainer=replace(SMALL, steps=6))
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    training.Run(recipe, whole).execute()
    cut.mkdir()
    (cut / "recipe.json").write_text(json.dumps(recipe.describe()))
    command = [sys.executable, "-m", "helpers.learning.training", str(cut)]
    process = subprocess.Popen(command, cwd=ROOT)
    deadline = time.monotonic() + 120
    while progress(cut).get("step", 0) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (cut / DONE).exists()
    training.Run(recipe, cut).execute()
    assert curve_without_times(cut) == curve_without_times(whole)
    for step in (0, 2, 4, 6):
        one, two = (training.check_path(f, step, "vanilla") for f in (whole, cut))
        assert one.read_bytes() == two.read_bytes()


def test_jobs_run_as_processes_once_and_say_how_far_they_are(tmp_path):
    recipes = [RECIPE, replace(RECIPE, trainer=replace(SMALL, seed=1)), RECIPE]
    seen = []
    made = results.train(recipes, tmp_path, workers=2, show=seen.append)
    assert [r.folder for r in made] == [r.folder(tmp_path) for r in recipes]
    assert "runs done" in seen[-1] and any("GRPO" in text for text in seen)
    jobs = [r.job(tmp_path) for r in recipes]
    assert run_jobs(jobs, show=seen.append) == 0  # all there: nothing is repeated


def test_a_failed_worker_is_named_with_its_last_words(tmp_path):
    broken = {**RECIPE.describe(), "reward": "joy"}
    job = Job("GRPO, seed 0", tmp_path / "x", broken)
    with pytest.raises(WorkerFailed, match="GRPO, seed 0(.|\n)*joy"):
        run_jobs([job], show=lambda text: None)
    assert not job.done


def test_a_worker_ends_when_its_parent_is_gone(tmp_path):
    """The middle process starts a worker and is killed: the worker must not go on."""
    recipe = replace(RECIPE, trainer=replace(SMALL, steps=2000))
    (tmp_path / "recipe.json").write_text(json.dumps(recipe.describe()))
    script = (
        "import subprocess, sys, time\n"
        "p = subprocess.Popen([sys.executable, '-m', 'helpers.learning.training', "
        f"{str(tmp_path)!r}])\nprint(p.pid, flush=True)\ntime.sleep(600)"
    )
    middle = subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    worker = int(middle.stdout.readline())
    deadline = time.monotonic() + 120
    while not progress(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.05)
    middle.kill()
    middle.wait()
    while time.monotonic() < deadline:
        try:
            os.kill(worker, 0)
        except ProcessLookupError:
            break
        time.sleep(0.1)
    else:
        os.kill(worker, signal.SIGKILL)
        pytest.fail("the worker went on without its parent")


def test_the_same_seed_gives_the_same_dialogues(tmp_path):
    model, chat = tiny.load()
    world = training.make_world("rlver", "vanilla")
    cards = training.load_cards("tune")[:3]
    one, two = (
        training.talk(RECIPE, model, chat, world, cards, seed=5) for _ in range(2)
    )
    assert [r.completion_ids for r in one] == [r.completion_ids for r in two]
    assert isinstance(chat, ChatFormat)


def test_a_run_that_another_call_holds_is_waited_for(tmp_path, monkeypatch):
    job = RECIPE.job(tmp_path)
    looks = []

    def work(jobs, most, board, launch):
        looks.append(len(jobs))
        if len(looks) == 2:  # by now the other call has finished it
            (job.folder / DONE).write_text("{}")
        return [0]

    monkeypatch.setattr(workers, "_work", work)
    monkeypatch.setattr(workers, "PATIENCE", 0.0)
    assert run_jobs([job], show=lambda text: None) == 1 and looks == [1, 1]


def test_a_folder_is_held_by_one_process_at_a_time(tmp_path):
    with workers.claim(tmp_path) as mine:
        assert mine
        with workers.claim(tmp_path) as other:
            assert not other
    with workers.claim(tmp_path) as again:
        assert again


def test_a_group_of_one_is_refused_with_the_fix_before_any_model():
    with pytest.raises(ValueError, match="give 2 or more"):
        replace(RECIPE, trainer=replace(SMALL, group_size=1))
    with pytest.raises(ValueError, match="not divisible"):
        replace(SMALL, group_size=3)


def test_starts_side_by_side_are_those_made_one_by_one(tmp_path):
    asked = {"base": RECIPE, "base, think": replace(RECIPE, think=True)}
    both = results.starts(asked, tmp_path / "both")
    alone = [results.start(r, tmp_path / "alone", label) for label, r in asked.items()]
    assert [one.label for one in both] == list(asked)
    assert [b.dialogues() for b in both] == [a.dialogues() for a in alone]


def test_the_longest_runs_are_begun_first(tmp_path, monkeypatch):
    begun = []
    monkeypatch.setattr(
        results, "run_jobs", lambda jobs, *rest: begun.extend(j.label for j in jobs)
    )
    long = replace(RECIPE, label="long", trainer=replace(SMALL, steps=9))
    results.train([RECIPE, long, replace(RECIPE, label="slow", think=True)], tmp_path)
    assert begun == ["slow", "long", "GRPO"]
