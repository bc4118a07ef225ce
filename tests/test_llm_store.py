"""Cache, ledger, budget, redaction, threads: what a run leaves on disk."""

import asyncio
import json
import logging
import random
import signal
import statistics
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fake_llm import HELLO, KEY, FakeServer, chat, client, error

from helpers.agents.ledger import Budget, BudgetStop, Ledger, load_prices, read_ledger
from helpers.agents.llm import PRICES, LLMClient
from helpers.agents.llm_cache import ReplyCache, cache_key
from helpers.agents.llm_reply import LLMReply
from helpers.agents.llm_settings import RetryPolicy, RoleSettings
from helpers.agents.quirks import Quirks
from helpers.agents.redact import Redactor
from helpers.agents.roles import Outcome


@pytest.fixture(scope="module")
def fake():
    server = FakeServer()
    yield server
    server.stop()


@pytest.fixture
def server(fake):
    return fake.reset()


def prices(folder: Path) -> Path:
    path = folder / "prices.csv"
    path.write_text(
        "model,input_usd,output_usd,date,source\nm,2.0,10.0,2026-01-01,test\n"
    )
    return path


def test_rerunning_makes_no_calls(server, tmp_path):
    server.script = [chat('{"level": 1}')]
    for _ in range(2):
        with client(server, tmp_path) as llm:
            for repeat in range(5):
                reply = llm.complete("judge", HELLO, json=True, repeat=repeat)
                assert reply.data == {"level": 1}
    assert server.calls == 5
    assert reply.cached and reply.attempts == 0
    assert llm.counts() == {"cached": 5} and llm.progress() == "cached 5"
    assert llm.served()[0]["model"] == "served-model-7"
    assert len(read_ledger(tmp_path / "ledger.jsonl")) == 5


def test_key_holds_what_changes_a_reply():
    base = {
        "model": "m",
        "base_url": "http://a/v1",
        "messages": HELLO,
        "params": {"temperature": 0.5},
        "repeat": 0,
    }
    others = [
        {"model": "n"},
        {"base_url": "http://b/v1"},
        {"messages": [{"role": "user", "content": "Hello!"}]},
        {"messages": [{"role": "system", "content": "Hello"}]},
        {"params": {"temperature": 0.6}},
        {"params": {"temperature": 0.5, "max_tokens": 5}},
        {"params": {"temperature": 0.5, "response_format": {"type": "json_object"}}},
        {"repeat": 1},
    ]
    keys = [cache_key(**base)] + [cache_key(**(base | other)) for other in others]
    assert len(set(keys)) == len(keys)
    assert keys[0] == cache_key(**base)


@pytest.mark.parametrize(
    "bad",
    [
        error(400, "no"),
        chat("cut", finish="length"),
        chat("no", finish="content_filter"),
        chat("not json"),
    ],
)
def test_only_usable_replies_are_cached(server, tmp_path, bad):
    server.script = [bad, chat('{"level": 1}')]
    with client(server, tmp_path) as llm:
        assert llm.complete("judge", HELLO, json=True).outcome is not Outcome.OK
        assert len(llm.cache) == 0
        assert llm.complete("judge", HELLO, json=True).data == {"level": 1}
        assert len(llm.cache) == 1


def test_a_cached_reply_meets_the_check_of_today(server, tmp_path):
    def strict(value):
        if value["level"] > 1:
            raise ValueError("level above 1")
        return value

    server.script = [chat('{"level": 2}'), chat('{"level": 1}')]
    with client(server, tmp_path) as llm:
        assert llm.complete("judge", HELLO, json=True).data == {"level": 2}
        again = llm.complete("judge", HELLO, json=True, check=strict)
    assert (again.data, server.calls) == ({"level": 1}, 2)


def test_not_a_cache_file(tmp_path):
    (tmp_path / "cache.sqlite").write_text("this is no database, " * 100)
    with pytest.raises(ValueError, match="cache.sqlite is not a reply cache"):
        ReplyCache(tmp_path / "cache.sqlite")


def test_not_a_quirks_file(tmp_path):
    (tmp_path / "quirks.json").write_text("[")
    with pytest.raises(ValueError, match="delete it"):
        Quirks(tmp_path / "quirks.json")


_KILLED = """
import sys
sys.path.insert(0, sys.argv[3])
from pathlib import Path
from fake_llm import HELLO, client
llm = client(None, Path(sys.argv[1]), base_url=sys.argv[2])
for repeat in range(100000):
    llm.complete("policy", HELLO, repeat=repeat)
    print(repeat, flush=True)
"""


def test_kill_at_a_random_moment_loses_nothing(server, tmp_path):
    """Killed three times: what was reported done is in the cache, nothing is torn."""
    server.script = [chat("ok")]
    tests = str(Path(__file__).parent)
    arguments = [str(tmp_path), server.base_url, tests]
    for _ in range(3):
        worker = subprocess.Popen(
            [sys.executable, "-c", _KILLED, *arguments],
            stdout=subprocess.PIPE,
            cwd=Path(tests).parent,
        )
        done = [worker.stdout.readline() for _ in range(20)]
        time.sleep(random.uniform(0, 0.1))
        worker.send_signal(signal.SIGKILL)
        done += worker.stdout.readlines()
        worker.wait()
    last = max(int(line) for line in done if line.endswith(b"\n"))
    before = server.calls
    with client(server, tmp_path) as llm:
        for repeat in range(last + 1):
            assert llm.complete("policy", HELLO, repeat=repeat).cached
    assert server.calls == before
    rows = read_ledger(tmp_path / "ledger.jsonl")
    assert last < len(rows) <= server.calls


def test_torn_last_line_of_the_ledger(server, tmp_path):
    path = tmp_path / "ledger.jsonl"
    server.script = [chat("ok")]
    with client(server, tmp_path) as llm:
        llm.complete("policy", HELLO)
    whole = path.read_bytes()
    path.write_bytes(whole + whole[: len(whole) // 2])
    assert len(read_ledger(path)) == 1
    with client(server, tmp_path) as llm:
        assert llm.ledger.totals()["all"]["attempts"] == 1
        llm.complete("policy", HELLO, repeat=1)
    assert len(read_ledger(path)) == 2


def test_broken_ledger_line_names_the_place(tmp_path):
    path = tmp_path / "ledger.jsonl"
    path.write_text('{"schema": 1}\nnot json\n{"schema": 1}\n')
    with pytest.raises(ValueError, match="ledger.jsonl, line 2: not JSON"):
        read_ledger(path)
    path.write_text('{"schema": 99}\n')
    with pytest.raises(ValueError, match="line 1: schema 99"):
        read_ledger(path)


def test_cost_to_the_token(server, tmp_path):
    server.script = [
        error(500, "x"),
        chat("", usage=(100, 0)),
        chat("ok", usage=(100, 20)),
        chat('{"a": 1', usage=(50, 3)),
        chat('{"a": 1}', usage=(50, 4)),
    ]
    with client(server, tmp_path, prices=prices(tmp_path), settings={"asks": 2}) as llm:
        llm.complete("policy", HELLO)
        llm.complete("judge", HELLO, json=True)
    total = llm.ledger.totals()
    assert total["policy"]["attempts"] == 3 and total["policy"]["retries"] == 2
    assert total["policy"]["prompt_tokens"] == 200
    assert total["judge"]["completion_tokens"] == 7
    assert total["all"]["usd"] == pytest.approx((300 * 2 + 27 * 10) / 1e6)
    rows = read_ledger(tmp_path / "ledger.jsonl")
    assert [row["status"] for row in rows] == ["http_500", "empty", "ok", "ok", "ok"]
    assert [row["billed"] for row in rows] == [False, True, True, True, True]
    assert [row["attempt"] for row in rows] == [1, 2, 3, 1, 2]
    assert Ledger(tmp_path / "ledger.jsonl", {}).totals() == total


def test_unknown_price_is_unknown(server):
    server.script = [chat("ok")]
    llm = client(server)
    llm.complete("policy", HELLO)
    assert llm.ledger.totals()["all"]["usd"] == "unknown"


def test_missing_usage_is_unknown(server, tmp_path):
    server.script = [chat("ok", usage=None)]
    llm = client(server, prices=prices(tmp_path))
    reply = llm.complete("policy", HELLO)
    assert reply.prompt_tokens is None
    total = llm.ledger.totals()["all"]
    assert total["usd"] == "unknown" and total["attempts_with_unknown_tokens"] == 1


def test_bad_price_names_the_place(tmp_path):
    path = tmp_path / "prices.csv"
    path.write_text("model,input_usd,output_usd,date,source\nm,cheap,1,2026,x\n")
    with pytest.raises(ValueError, match="prices.csv, row of 'm'"):
        load_prices(path)


def test_own_price_file_loads():
    assert isinstance(load_prices(PRICES), dict)


@pytest.mark.parametrize(
    ("budget", "calls"),
    [
        (Budget(max_attempts=3), 3),
        (Budget(max_tokens=40), 3),  # 15 tokens a call: 15, 30, 45
        (Budget(max_usd=0.00014), 2),  # 10 * 2 + 5 * 10 = 70 millionths a call
    ],
)
def test_budget_stop_leaves_a_resumable_run(server, tmp_path, budget, calls):
    server.script = [chat("ok")]
    more = {"prices": prices(tmp_path)}
    with client(server, tmp_path, budget=budget, **more) as llm:
        with pytest.raises(BudgetStop, match="raise the budget"):
            for repeat in range(10):
                llm.complete("policy", HELLO, repeat=repeat)
    assert server.calls == calls
    with client(server, tmp_path, budget=budget, **more) as llm:
        for repeat in range(calls):
            assert llm.complete("policy", HELLO, repeat=repeat).cached
        with pytest.raises(BudgetStop):  # the ledger remembers
            llm.complete("policy", HELLO, repeat=calls)
    with client(server, tmp_path, **more) as llm:
        for repeat in range(10):
            llm.complete("policy", HELLO, repeat=repeat)
    assert server.calls == 10


def test_budget_stops_retries_too(server):
    server.script = [error(500, "x")]
    llm = client(server, budget=Budget(max_attempts=2))
    with pytest.raises(BudgetStop):
        llm.complete("policy", HELLO)
    assert server.calls == 2


def test_budget_that_cannot_be_kept_is_refused(server):
    with pytest.raises(ValueError, match="needs a price for 'm'"):
        client(server, budget=Budget(max_usd=1.0))
    server.script = [chat("ok", usage=None)]
    llm = client(server, budget=Budget(max_tokens=1000))
    llm.complete("policy", HELLO)
    with pytest.raises(BudgetStop, match="no token usage"):
        llm.complete("policy", HELLO, repeat=1)


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


def test_equal_requests_at_the_same_time_are_asked_once(server, tmp_path):
    def slow(body):
        time.sleep(0.05)
        return chat("ok")

    server.script = [slow]
    with client(server, tmp_path) as llm, ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda _: llm.complete("policy", HELLO), range(8)))
    assert server.calls == 1
    assert sum(reply.cached for reply in replies) == 7
    assert not llm.cache._key_locks


def test_two_clients_share_a_folder(server, tmp_path):
    server.script = [chat("ok")]
    with client(server, tmp_path) as one, client(server, tmp_path) as two:
        one.complete("policy", HELLO)
        assert two.complete("policy", HELLO).cached
        two.complete("policy", HELLO, repeat=1)
        assert one.complete("policy", HELLO, repeat=1).cached
    assert len(read_ledger(tmp_path / "ledger.jsonl")) == 2


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


def test_a_failed_call_can_be_retried_later(server, tmp_path):
    server.script = [error(500, "x"), chat("ok")]
    with client(server, tmp_path, retry=RetryPolicy(attempts=1)) as llm:
        assert llm.complete("policy", HELLO).outcome is Outcome.API_ERROR
        assert llm.complete("policy", HELLO).text == "ok"
    lines = (tmp_path / "ledger.jsonl").read_text().splitlines()
    assert [json.loads(line)["status"] for line in lines] == ["http_500", "ok"]
