"""One budget for many clients in many processes."""

import json
import os
import subprocess
import sys

import pytest
from fake_llm import HELLO, FakeServer, chat, client

from helpers.agents.ledger import Budget, BudgetStop, Price
from helpers.agents.llm_settings import RoleSettings
from helpers.agents.run_budget import (
    FILE,
    LIMITS,
    RunLedger,
    in_environment,
    run_ledger,
    spent,
)
from helpers.paths import ROOT

PRICES = {"m": Price(1.0, 2.0)}


@pytest.fixture(scope="module")
def server():
    made = FakeServer()
    yield made
    made.stop()


@pytest.fixture(autouse=True)
def script(server):
    server.reset().script = [chat("hello", usage=(10, 5))]


def test_two_clients_share_the_budget(server, tmp_path):
    with in_environment(Budget(max_attempts=3), tmp_path / "spent.jsonl"):
        one, other = (client(server, tmp_path / name) for name in "ab")
        one.complete("policy", HELLO, repeat=1)
        other.complete("policy", HELLO, repeat=2)
        one.complete("policy", HELLO, repeat=2)
        with pytest.raises(BudgetStop, match="3 of 3 attempts"):
            other.complete("policy", HELLO, repeat=3)
        assert other.ledger.totals()["all"]["attempts"] == 1
    assert server.calls == 3
    after = client(server)  # outside there is no budget
    after.complete("policy", HELLO, repeat=9)
    assert server.calls == 4


def test_a_reply_from_the_cache_costs_nothing(server, tmp_path):
    with in_environment(Budget(max_attempts=1), tmp_path / "spent.jsonl"):
        llm = client(server, tmp_path / "a")
        for _ in range(3):
            assert llm.complete("policy", HELLO).text == "hello"


def test_what_other_processes_spend_counts(tmp_path):
    """Four processes write 40 lines each, at the same time: none is lost or cut."""
    path = tmp_path / "spent.jsonl"
    script = (
        "import sys; from pathlib import Path\n"
        "from helpers.agents.ledger import Budget, Ledger\n"
        "from helpers.agents.run_budget import RunLedger\n"
        "own, run = Ledger(None, {}), RunLedger(Path(sys.argv[1]), {}, Budget())\n"
        "for i in range(40):\n"
        "    run.append(own.record(role='user', model='m' * 200, base_url='', "
        "status='ok', attempt=1, request='', seconds=0, billed=True, usage=(2, 1)))"
    )
    command = [sys.executable, "-c", script, str(path)]
    processes = [subprocess.Popen(command, cwd=ROOT) for _ in range(4)]
    assert [process.wait() for process in processes] == [0] * 4
    ledger = RunLedger(path, {}, Budget(max_tokens=480))
    ledger.catch_up()
    ledger.catch_up()  # nothing is counted twice
    assert ledger.totals()["all"]["attempts"] == 160
    with pytest.raises(BudgetStop, match="480 of 480 tokens"):
        ledger.check_budget()
    assert spent(path, {})["prompt_tokens"] == 320
    assert spent(path, {})["usd"] == "unknown"
    assert spent(tmp_path / "none", {})["attempts"] == 0


def test_a_line_that_is_being_written_waits(tmp_path):
    path = tmp_path / "spent.jsonl"
    ledger = RunLedger(path, PRICES, Budget())
    row = {
        "role": "user", "attempt": 1, "prompt_tokens": 1, "completion_tokens": 1,
        "billed": True, "usd": 0.5,
    }  # fmt: skip
    text = json.dumps(row)
    path.write_text(text[:10])
    ledger.catch_up()
    assert ledger.totals()["all"]["attempts"] == 0
    path.write_text(text + "\n")
    ledger.catch_up()
    assert ledger.totals()["all"]["usd"] == 0.5


def test_a_budget_in_dollars_needs_prices(server, tmp_path):
    with (
        in_environment(Budget(max_usd=1.0), tmp_path / "spent.jsonl"),
        pytest.raises(ValueError, match="needs a price for 'm'"),
    ):
        client(server, settings=vars(RoleSettings("m")))


def test_the_environment_is_read_and_put_back(tmp_path, monkeypatch):
    for name in (FILE, *LIMITS.values()):
        monkeypatch.delenv(name, raising=False)
    assert run_ledger(PRICES) is None
    with in_environment(Budget(), tmp_path / "x"):
        assert run_ledger(PRICES) is None
    with in_environment(Budget(2.5, 100, 7), tmp_path / "x"):
        assert run_ledger(PRICES)._budget == Budget(2.5, 100, 7)
    assert not {FILE, *LIMITS.values()} & set(os.environ)
