"""The local model server: started, waited for, stopped with all that it started."""

import os
import re
import signal
import subprocess
import sys
import time

import fake_vllm
import psutil
import pytest

from helpers import serving
from helpers.paths import ROOT
from helpers.serving import ServerFailed, serve


@pytest.fixture
def log(tmp_path, monkeypatch):
    fake_vllm.put(tmp_path, monkeypatch)
    monkeypatch.setattr(serving, "LOOK_S", 0.05)
    monkeypatch.setattr(serving, "STOP_S", 5.0)
    return tmp_path / "logs" / "server.log"


def child_of(log, wait_s=300) -> psutil.Process:
    """The process that the server started."""
    deadline = time.monotonic() + wait_s
    while time.monotonic() < deadline:
        found = re.search(r"child: (\d+)", log.read_text()) if log.is_file() else None
        if found:
            return psutil.Process(int(found.group(1)))
        time.sleep(0.05)
    raise AssertionError("the server did not start")


def ended(process, wait_s=120) -> bool:
    """Whether it is gone, or a zombie that nobody has read yet."""
    try:
        deadline = time.monotonic() + wait_s
        while time.monotonic() < deadline:
            if process.status() == psutil.STATUS_ZOMBIE:
                return True
            time.sleep(0.05)
    except psutil.NoSuchProcess:
        return True
    return False


def test_it_is_there_inside_the_block_and_gone_after(log):
    told = []
    with serve("good", log, gpus=[1], memory=0.4, tell=told.append) as address:
        assert serving.served_models(address, "none") == ["good"]
        child = child_of(log)
        words = log.read_text()
    assert ended(child)
    assert '"--host", "127.0.0.1"' in words and "gpus: 1" in words
    assert '"--gpu-memory-utilization", "0.4"' in words
    assert told and told[0].startswith("server good: 0:0")
    with pytest.raises(serving.openai.APIConnectionError):
        serving.served_models(address, "none", timeout_s=2.0)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("dies", r"server dies: ended with exit code 1(.|\n)*no kernel for this GPU"),
        ("slow", r"server slow: no answer in 0:0\d; its last words(.|\n)*\| loading"),
        ("other", "server other: another server answers .*: it has another"),
    ],
)
def test_a_server_that_does_not_come_is_named_with_its_last_words(log, model, message):
    wait = 3.0 if model == "slow" else 60.0
    with (
        pytest.raises(ServerFailed, match=message),
        serve(model, log, wait_s=wait, tell=lambda line: None),
    ):
        raise AssertionError("not reached")
    (child,) = re.findall(r"child: (\d+)", log.read_text())
    if psutil.pid_exists(int(child)):
        assert ended(psutil.Process(int(child)))


def test_an_error_inside_stops_it_too(log):
    with (
        pytest.raises(KeyboardInterrupt),
        serve("good", log, tell=lambda line: None),
    ):
        raise KeyboardInterrupt
    assert ended(child_of(log))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child")
@pytest.mark.parametrize("word", [signal.SIGINT, signal.SIGKILL])
def test_a_driver_that_is_killed_leaves_no_server(log, word):
    script = (
        "import time; from pathlib import Path; from helpers.serving import serve\n"
        f"with serve('good', Path({str(log)!r})):\n    time.sleep(600)"
    )
    driver = subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, stderr=subprocess.DEVNULL
    )
    try:
        child = child_of(log)
        server = child.parent()
        os.kill(driver.pid, word)
    finally:
        if not log.is_file():
            driver.kill()
        driver.wait()
    assert ended(server)
    if word == signal.SIGINT:
        assert ended(child)
    else:  # vLLM ends its own processes; this stand-in does not
        child.kill()


def test_without_vllm_it_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ServerFailed, match="environment.yml"), serve("x", tmp_path):
        pass


def test_the_environment_of_kernels_is_put_back(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://before/v1")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    with serving.as_endpoint("http://127.0.0.1:9/v1", gpus=[0, 1]):
        assert os.environ["OPENAI_BASE_URL"] == "http://127.0.0.1:9/v1"
        assert os.environ["CUDA_VISIBLE_DEVICES"] == "0,1"
    assert os.environ["OPENAI_BASE_URL"] == "http://before/v1"
    assert "CUDA_VISIBLE_DEVICES" not in os.environ
