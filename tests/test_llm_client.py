"""Redaction, addresses and keys, threads, notebooks, overhead."""

import asyncio
import logging
import statistics
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fake_llm import HELLO, KEY, chat, client, error

from helpers.agents.llm import LLMClient
from helpers.agents.llm_reply import LLMReply
from helpers.agents.llm_settings import RoleSettings
from helpers.agents.redact import Redactor
from helpers.agents.roles import Outcome

pytest_plugins = ["llm_plugin"]


def test_no_secret_is_written_or_shown(server, tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("OTHER_TOKEN", "abcdefgh12345678")
    home = str(Path.home())
    leak = f"{KEY} abcdefgh12345678 sk-live-9f8e7d6c5b4a {home}/x Bearer a1b2c3d4e5f6g7"
    hidden = (KEY, "abcdefgh12345678", "sk-live-9f8e7d6c5b4a", "a1b2c3d4e5f6g7")
    caplog.set_level(logging.DEBUG)
    server.script = [
        chat(leak, model=KEY),
        error(400, leak),
        chat(f"not json {leak}"),
        error(401, leak),
    ]
    shown = []
    with client(server, tmp_path) as llm:
        shown.append(llm.complete("policy", HELLO))
        shown.append(llm.complete("policy", HELLO, repeat=1))
        shown.append(llm.complete("judge", HELLO, json=True))
        with pytest.raises(Exception) as caught:
            llm.complete("policy", HELLO, repeat=2)
        shown += [caught.value, llm.served(), llm.describe("policy"), llm.roles]
    files = [path.read_bytes().decode("latin-1") for path in tmp_path.iterdir()]
    assert len(files) >= 2
    logged = [r.getMessage() for r in caplog.records if r.name != "werkzeug"]
    for text in [*map(repr, shown), *map(str, shown), *files, *logged]:
        for secret in hidden:
            assert secret not in text
    assert "[redacted] [redacted] [redacted] ~/x Bearer [redacted]" == shown[0].text
    assert home + "/" not in "".join(map(repr, shown))


@pytest.mark.parametrize(
    "text",
    [
        "a task-oriented-approach1 is risk-free",
        "basic understanding of the bearer certificates",
        "the token is a kind of thing",
        "none EMPTY",
    ],
)
def test_plain_words_stay(text):
    assert Redactor(["none", "EMPTY"])(text) == text


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("https://me:hunter22@host/v1", "holds a user"),
        ("https://host/v1?key=hunter22", "holds a user"),
        ("host/v1", "must look like"),
        ("", "set OPENAI_BASE_URL"),
    ],
)
def test_bad_addresses(monkeypatch, url, words):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ValueError, match=words) as caught:
        LLMClient({}, None, base_url=url, api_key="x")
    assert "hunter22" not in str(caught.value)


def test_key_is_needed_elsewhere_only(monkeypatch, server):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ValueError, match="set OPENAI_API_KEY"):
        LLMClient({}, None, base_url="https://models.example/v1")
    server.script = [chat("ok")]
    roles = {"policy": RoleSettings("m")}
    with LLMClient(roles, None, base_url=server.base_url) as llm:
        assert llm.complete("policy", HELLO).text == "ok"


def test_concurrency_limit_a_role(server):
    running, most, lock = {"judge": 0, "policy": 0}, {"judge": 0, "policy": 0}, None
    lock = threading.Lock()

    def slow(body):
        role = body["messages"][0]["content"].split()[0]
        with lock:
            running[role] += 1
            most[role] = max(most[role], running[role])
        time.sleep(0.02)
        with lock:
            running[role] -= 1
        return chat("ok")

    server.script = [slow]
    llm = client(server, settings={"concurrency": 3})

    def ask(number):
        role = ("judge", "policy")[number % 2]
        messages = [{"role": "user", "content": f"{role} {number}"}]
        return llm.complete(role, messages).outcome

    with ThreadPoolExecutor(16) as pool:
        assert set(pool.map(ask, range(48))) == {Outcome.OK}
    assert server.calls == 48
    assert most["judge"] == most["policy"] == 3
    total = llm.ledger.totals()
    assert total["all"]["prompt_tokens"] == 480
    assert total["judge"]["attempts"] == total["policy"]["attempts"] == 24
    assert llm.counts() == {"asked": 48}


def test_works_inside_a_running_event_loop(server):
    server.script = [chat("ok")]

    async def cell():
        return client(server).complete("policy", HELLO).text

    assert asyncio.run(cell()) == "ok"


def test_overhead_of_the_kit(tmp_path, monkeypatch):
    """All but the request itself: key, cache, ledger, locks. Promised: under 5 ms."""
    llm = client(None, tmp_path, base_url="http://127.0.0.1:9/v1")
    answer = LLMReply(Outcome.OK, "x" * 2000, prompt_tokens=900, completion_tokens=400)
    monkeypatch.setattr(llm._transport, "send", lambda *_: answer)
    long = [{"role": "user", "content": "word " * 2000}]
    seconds = []
    for repeat in range(200):
        started = time.perf_counter()
        llm.complete("policy", long, repeat=repeat)
        seconds.append(time.perf_counter() - started)
    llm.close()
    assert statistics.median(seconds) < 0.005


def test_a_model_named_by_a_folder_does_not_show_the_home(server, tmp_path):
    home = str(Path.home())
    server.script = [chat("hello")]
    llm = client(server, folder=tmp_path, settings={"model": f"{home}/models/tiny"})
    llm.complete("policy", HELLO)
    assert server.bodies[0]["model"] == f"{home}/models/tiny"
    assert llm.describe("policy")["model"] == "~/models/tiny"
    assert home not in (tmp_path / "ledger.jsonl").read_text()
