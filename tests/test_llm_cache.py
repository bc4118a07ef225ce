"""The cache: what is kept, for whom, and after a kill."""

import json
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fake_llm import HELLO, chat, client, error

from helpers.agents.ledger import read_ledger
from helpers.agents.llm_cache import ReplyCache, cache_key
from helpers.agents.llm_settings import RetryPolicy
from helpers.agents.roles import Outcome

pytest_plugins = ["llm_plugin"]


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


def test_a_failed_call_can_be_retried_later(server, tmp_path):
    server.script = [error(500, "x"), chat("ok")]
    with client(server, tmp_path, retry=RetryPolicy(attempts=1)) as llm:
        assert llm.complete("policy", HELLO).outcome is Outcome.API_ERROR
        assert llm.complete("policy", HELLO).text == "ok"
    lines = (tmp_path / "ledger.jsonl").read_text().splitlines()
    assert [json.loads(line)["status"] for line in lines] == ["http_500", "ok"]
