"""The ledger, prices and the budget."""

from pathlib import Path

import pytest
from fake_llm import HELLO, chat, client, error

from helpers.agents.ledger import Budget, BudgetStop, Ledger, load_prices, read_ledger
from helpers.agents.llm import PRICES

pytest_plugins = ["llm_plugin"]


def prices(folder: Path) -> Path:
    path = folder / "prices.csv"
    path.write_text(
        "model,input_usd,output_usd,date,source\nm,2.0,10.0,2026-01-01,test\n"
    )
    return path


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
