"""A model server on this machine for the length of a run: started, waited for, stopped.

    with serve("Qwen/Qwen2.5-7B-Instruct", log=Path("runs/server.log")) as address:
        ...  # address is http://127.0.0.1:PORT/v1

The server is `vllm serve`. It answers when the weights are loaded, which takes minutes;
until then a line says how long it has been and what its log said last. Whatever ends
the block, an error or Ctrl-C included, ends the server and all that it started; on
Linux it also ends when the driver is killed.
"""

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import openai

from helpers.environment import changed
from helpers.progress import clock, end_line, shown

START_S = 1800.0  # for loading; a 70B model from a slow disk takes long
LOOK_S = 1.0
STOP_S = 20.0
TAIL_LINES = 12
PR_SET_PDEATHSIG = 1


class ServerFailed(RuntimeError):
    """The server cannot be started, or did not answer; with its last words."""


@contextmanager
def serve(
    model: str,
    log: Path,
    *,
    gpus: Sequence[int] | None = None,
    memory: float = 0.9,
    options: Sequence[str] = (),
    wait_s: float = START_S,
    tell: Callable[[str], None] | None = None,
) -> Iterator[str]:
    """The address of a local server with this model.

    Args:
        model: a folder or hub id, and the name to ask for.
        log: file for what the server prints.
        gpus: numbers of the GPUs that it may use; None: all. memory: share of each that
            it takes. options: further words for `vllm serve`.
        wait_s: seconds until it must answer.
        tell: called with a line of progress; None prints it.

    Raises:
        ServerFailed: no vLLM, no answer in time, or the server ended.
    """
    program = shutil.which("vllm")
    if program is None:
        raise ServerFailed(
            "vllm is not installed here: make the environment of environment.yml, or "
            "start a server elsewhere and set OPENAI_BASE_URL"
        )
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [program, "serve", model, "--host", "127.0.0.1", "--port", str(port)]
    command += ["--served-model-name", model]
    command += ["--gpu-memory-utilization", str(memory), *options]
    environment = dict(os.environ)
    if gpus is not None:
        environment["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, gpus))
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "wb") as output:
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=output,
            stderr=output, start_new_session=True, preexec_fn=_end_with_parent,
        )  # fmt: skip
    address = f"http://127.0.0.1:{port}/v1"
    try:
        _wait(process, address, model, log, wait_s, tell or _print)
        yield address
    finally:
        _stop(process)


def as_endpoint(address: str, gpus: Sequence[int] | None = None):
    """Kernels started inside find this server, and these GPUs, in their environment."""
    changes = {"OPENAI_BASE_URL": address}
    if gpus is not None:
        changes["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, gpus))
    return changed(changes)


def served_models(address: str, key: str, timeout_s: float = 10.0) -> list[str]:
    """The names that a server gives its models (GET /models).

    Raises: errors of the openai package.
    """
    asked = openai.OpenAI(
        base_url=address, api_key=key, max_retries=0, timeout=timeout_s
    )
    with asked:
        return [model.id for model in asked.models.list()]


def _wait(process, address: str, model: str, log: Path, wait_s: float, tell) -> None:
    started = time.monotonic()
    while True:
        spent = time.monotonic() - started
        if process.poll() is not None:
            why = f"ended with exit code {process.returncode}"
            raise ServerFailed(_words(model, why, log))
        if spent > wait_s:
            raise ServerFailed(_words(model, f"no answer in {clock(wait_s)}", log))
        last = (_tail(log) or ["starting"])[-1].strip()[:60]
        tell(f"server {model}: {clock(spent)}, {last}")
        try:
            names = served_models(address, "none", timeout_s=5.0)
        except openai.OpenAIError:  # not there yet, or still loading
            time.sleep(LOOK_S)
            continue
        if model not in names:
            why = f"another server answers at {address}: it has {', '.join(names)}"
            raise ServerFailed(_words(model, why, log))
        if tell is _print:
            end_line(f"server {model}: ready after {clock(spent)}")
        return


def _print(line: str) -> None:
    """One line that is kept up to date on a terminal; nothing in a log."""
    if sys.stdout.isatty():
        print(f"\r{line}", end="\x1b[K", flush=True)


def _words(model: str, why: str, log: Path) -> str:
    tail = "\n".join(f"    | {line}" for line in _tail(log)[-TAIL_LINES:])
    return f"server {model}: {why}; its last words:\n{tail}\n  all of it: {shown(log)}"


def _tail(log: Path) -> list[str]:
    with open(log, "rb") as stream:
        stream.seek(max(0, os.fstat(stream.fileno()).st_size - 20_000))
        return stream.read().decode("utf-8", "replace").splitlines()


def _stop(process: subprocess.Popen) -> None:
    """End the server and its own processes: politely, then for sure."""
    for word in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, word)
        except ProcessLookupError:  # the whole group is gone
            break
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            continue
    process.wait()


def _end_with_parent() -> None:
    """In the new process: Linux ends it when the driver is killed."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
