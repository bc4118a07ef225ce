"""A run in two processes, by `accelerate launch` (CPU, gloo): done, killed, resumed."""

import json
import os
import subprocess
import sys
import time
from dataclasses import replace

import psutil
import pytest
from test_training_runs import RECIPE, SMALL, curve_without_times

from helpers.learning import processes, results, training
from helpers.learning.workers import DONE, FAILED, Job, WorkerFailed, progress, run_jobs
from helpers.paths import ROOT

CONFIG = "configs/accelerate/cpu_two_processes.yaml"
SETTINGS = replace(SMALL, steps=6, minibatches=1)
LONG = replace(RECIPE, label="two", trainer=SETTINGS)
LIMIT_S = 500  # of a busy machine; an idle one needs ten seconds


def quiet(text):
    pass


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The run, undisturbed."""
    return results.train([LONG], tmp_path_factory.mktemp("runs"), None, quiet, CONFIG)


def family(process) -> list[psutil.Process]:
    """A process with all that it started, over all sessions."""
    parent = psutil.Process(process.pid)
    return [parent, *parent.children(recursive=True)]


def test_two_processes_work_and_the_first_writes(whole):
    (result,) = whole
    assert len(result.curve) == SETTINGS.steps and result.curve["loss"].notna().all()
    assert result.checked == [0, 2, 4, 6]
    assert progress(result.folder)["step"] == SETTINGS.steps
    kept = result.folder / "checkpoints" / f"checkpoint-{SETTINGS.steps}"
    states = sorted(path.name for path in kept.glob("rng_state*"))
    assert states == ["rng_state_0.pth", "rng_state_1.pth"]
    names = {path.name for path in result.folder.iterdir()}
    assert names == {
        "recipe.json", "lock", "progress.json", "worker.log", "worker-1.log",
        "checkpoints", "checks", "policy", training.CURVE, DONE,
    }  # fmt: skip
    sizes = [len(result.dialogues(step=step)) for step in result.checked]
    assert sizes == [2, 2, 2, 3]


def test_a_killed_launch_goes_on_to_the_same_curve(whole, tmp_path):
    """SIGKILL to the launcher, to both processes and to who started them."""
    job = LONG.job(tmp_path)
    script = (
        "import json, sys; from pathlib import Path\n"
        "from helpers.learning.recipes import Recipe\n"
        "from helpers.learning.results import train\n"
        "recipe = Recipe.from_dict(json.loads(sys.argv[1]))\n"
        f"train([recipe], Path(sys.argv[2]), launch={CONFIG!r})\n"
    )
    words = [json.dumps(LONG.describe()), str(tmp_path)]
    starter = subprocess.Popen([sys.executable, "-c", script, *words], cwd=ROOT)
    deadline = time.monotonic() + LIMIT_S
    while progress(job.folder).get("step", 0) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    everyone = family(starter)
    for process in everyone:
        process.kill()
    psutil.wait_procs(everyone[1:], timeout=30)
    starter.wait()
    assert len(everyone) >= 4 and not job.done
    assert run_jobs([job], show=quiet, launch=CONFIG) == 1
    assert curve_without_times(job.folder) == curve_without_times(whole[0].folder)
    for step in (0, 2, 4, 6):
        one, two = (
            training.check_path(folder, step, "vanilla")
            for folder in (whole[0].folder, job.folder)
        )
        assert one.read_bytes() == two.read_bytes()


def test_a_launch_that_fails_is_named_with_its_last_words(tmp_path):
    """Three dialogues to two processes: refused in both, told once."""
    sizes = {**LONG.describe()["trainer"], "dialogues": 3, "group_size": 3}
    broken = {**LONG.describe(), "trainer": sizes}
    job = Job("two, odd", tmp_path / "x", broken)
    with pytest.raises(WorkerFailed, match="two, odd(.|\n)*divisible by processes = 2"):
        run_jobs([job], show=quiet, launch=CONFIG)
    assert (job.folder / FAILED).is_file() and not job.done


@pytest.mark.parametrize("gone", ["launcher", "starter"])
def test_a_process_ends_when_its_launcher_or_starter_is_gone(gone, monkeypatch):
    """Even while it waits for the others."""
    sleep = f"{sys.executable} -c 'import time; time.sleep(600)'"
    starter = subprocess.Popen(sleep, shell=True)
    wait = (
        "import sys, time; from helpers.learning import processes\n"
        "processes.LOOK_S = 0.1; processes.prepare()\n"
        "print('ready', flush=True); time.sleep(600)"
    )
    launch = (
        "import subprocess, sys\n"
        "p = subprocess.Popen([sys.executable, '-c', sys.argv[1]])\n"
        "print(p.pid, flush=True); p.wait()"
    )
    names = processes.environment(CONFIG, "cpu")[processes.STARTER].partition(":")
    environment = os.environ | {
        "WORLD_SIZE": "2", "RANK": "0", processes.STARTER: f"{names[0]}:{starter.pid}",
    }  # fmt: skip
    launcher = subprocess.Popen(
        [sys.executable, "-c", launch, wait], cwd=ROOT, env=environment,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    worker = psutil.Process(int(launcher.stdout.readline()))
    assert launcher.stdout.readline() == "ready\n"
    try:
        assert worker.is_running()
        victim = launcher if gone == "launcher" else starter
        psutil.Process(victim.pid).kill()
        victim.wait()
        ended, _ = psutil.wait_procs([worker], timeout=60)
        assert ended or not worker.is_running()
    finally:
        for process in (launcher, starter):
            process.kill()
            process.wait()


def test_how_a_run_is_started(monkeypatch):
    assert processes.launcher(CONFIG)[-2:] == ["--config_file", str(ROOT / CONFIG)]
    srun = "srun accelerate launch --config_file x.yaml"
    assert processes.launcher(srun) == srun.split()
    with pytest.raises(FileNotFoundError, match="KIT_LAUNCH=no.yaml"):
        processes.launcher("no.yaml")
    on_gpu = replace(LONG, trainer=replace(SETTINGS, device="cuda"))
    env = {processes.LAUNCH: CONFIG}
    assert processes.needed([LONG], None, env) == ""
    assert processes.needed([LONG, on_gpu], None, env) == CONFIG
    assert processes.needed([on_gpu], None, {}) == ""
    assert processes.needed([on_gpu], "", env) == ""
    monkeypatch.setenv("RANK", "3")
    assert processes.own("worker.log") == "worker-3.log"
    assert processes.own("client") == "client-3"
