"""The client against a scripted server: outcomes and retries."""

import email.utils
import time

import pytest
from fake_llm import (
    HELLO,
    FakeClock,
    chat,
    client,
    error,
    ledger_of,
    resetting_server,
    trickling_server,
)

from helpers.agents.ledger import BudgetStop
from helpers.agents.llm import AccountProblem
from helpers.agents.llm_reply import retry_after
from helpers.agents.llm_settings import RetryPolicy
from helpers.agents.roles import Outcome, RunStopped

LEVEL = '{"level": 2}'

pytest_plugins = ["llm_plugin"]


def test_ok(server):
    server.script = [chat("Hi there")]
    llm = client(server)
    reply = llm.complete("policy", HELLO)
    assert reply.outcome is Outcome.OK
    assert (reply.text, reply.think, reply.attempts) == ("Hi there", None, 1)
    assert (reply.prompt_tokens, reply.completion_tokens) == (10, 5)
    sent = server.bodies[0]
    assert sent["model"] == "m" and sent["messages"] == HELLO
    assert (sent["temperature"], sent["max_tokens"]) == (0.5, 50)
    assert "top_p" not in sent and "response_format" not in sent
    assert llm.served() == [
        {
            "role": "policy",
            "model": "served-model-7",
            "fingerprint": "fp_1",
            "left_out": (),
            "replies": 1,
        }
    ]


def test_429_with_retry_after_in_seconds(server):
    server.script = [error(429, "slow down", {"Retry-After": "7"}), chat("ok")]
    clock = FakeClock()
    llm = client(server, clock=clock)
    reply = llm.complete("policy", HELLO)
    assert (reply.outcome, reply.attempts, clock.waits) == (Outcome.OK, 2, [7.0])
    # The refused attempt cost nothing; it stands in the ledger all the same.
    assert ledger_of(llm) == (2, 10, 5)
    assert llm.counts() == {"asked": 1, "retries": 1}


def test_429_with_retry_after_as_a_date(server):
    clock = FakeClock()
    date = email.utils.formatdate(clock.epoch() + 12, usegmt=True)
    server.script = [error(429, "slow down", {"Retry-After": date}), chat("ok")]
    assert client(server, clock=clock).complete("policy", HELLO).text == "ok"
    assert clock.waits == [12.0]


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2.5"}, 2.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:30 -0000"}, 10.0),
    ],
)
def test_retry_after(headers, seconds):
    assert retry_after(headers, 1_700_000_000.0) == seconds


def test_retry_after_beyond_the_time_limit_ends_typed(server):
    server.script = [error(429, "slow down", {"Retry-After": "3600"})]
    clock = FakeClock()
    reply = client(server, clock=clock).complete("policy", HELLO)
    assert reply.outcome is Outcome.API_ERROR and server.calls == 1
    assert clock.waits == [] and "3600 s" in reply.error


def test_retries_are_bounded_in_number(server):
    server.script = [error(500, "boom")]
    clock = FakeClock()
    llm = client(server, clock=clock, retry=RetryPolicy(attempts=4))
    reply = llm.complete("policy", HELLO)
    assert (reply.outcome, reply.attempts) == (Outcome.API_ERROR, 4)
    assert server.calls == 4 and len(clock.waits) == 3
    assert "HTTP 500" in reply.error and "after 4 attempts" in reply.error
    for wait, base in zip(clock.waits, (1, 2, 4), strict=True):
        assert base / 2 <= wait <= base
    assert ledger_of(llm) == (4, 0, 0)
    assert llm.ledger.totals()["all"]["usd"] == 0  # nothing was billed


def test_retries_are_bounded_in_time(server):
    server.script = [error(503, "later", {"Retry-After": "40"})]
    clock = FakeClock()
    reply = client(server, clock=clock, retry=RetryPolicy(99, 100)).complete(
        "policy", HELLO
    )
    assert reply.outcome is Outcome.API_ERROR
    assert clock.waits == [40.0, 40.0] and server.calls == 3


@pytest.mark.parametrize(
    ("reply", "advice"),
    [
        (error(429, "You exceeded it", code="insufficient_quota"), "quota is used up"),
        (error(429, "Insufficient balance"), "quota is used up"),
        (error(429, "x", code="429", type="insufficient_quota"), "quota is used up"),
        (
            error(429, "x", {"Retry-After": "1"}, code="insufficient_quota"),
            "quota is used up",
        ),
        (error(401, "Incorrect API key"), "check OPENAI_API_KEY"),
        (error(403, "not yours"), "check OPENAI_API_KEY"),
        (error(402, "pay"), "cannot pay"),
        (error(404, "model m does not exist"), "check the model name"),
    ],
)
def test_account_problems_stop_at_once(server, reply, advice):
    server.script = [reply]
    clock = FakeClock()
    with pytest.raises(RunStopped, match=advice) as caught:
        client(server, clock=clock).complete("policy", HELLO)
    assert isinstance(caught.value, AccountProblem)
    assert server.calls == 1 and clock.waits == []


def test_a_quota_that_refills_by_itself_is_waited_for(server):
    words = "You exceeded your current quota, please retry in 5 s"
    server.script = [error(429, words, {"Retry-After": "5"}), chat("ok")]
    assert client(server).complete("policy", HELLO).text == "ok"


@pytest.mark.parametrize("status", [408, 409, 500, 502, 503, 529])
def test_passing_errors_are_retried(server, status):
    server.script = [error(status, "x"), error(status, "x"), chat("ok")]
    reply = client(server).complete("policy", HELLO)
    assert (reply.outcome, reply.attempts) == (Outcome.OK, 3)


def test_other_refusals_are_not_retried(server):
    server.script = [error(400, "context length exceeded: 9000 tokens, limit 8192")]
    reply = client(server).complete("policy", HELLO)
    assert reply.outcome is Outcome.API_ERROR and server.calls == 1
    assert "9000 tokens" in reply.error


def test_time_out(server):
    def late(body):
        time.sleep(0.25)
        return chat("late")

    server.script = [late, chat("in time")]
    llm = client(server, settings={"timeout_s": 0.1})
    reply = llm.complete("policy", HELLO)
    assert (reply.text, reply.attempts) == ("in time", 2)
    total = llm.ledger.totals()["all"]
    assert ledger_of(llm) == (2, 10, 5)
    # Whether the lost attempt is billed cannot be known: never 0.
    assert total["attempts_with_unknown_tokens"] == 1 and total["usd"] == "unknown"


def test_reset_connection():
    with resetting_server(times=2) as base_url:
        llm = client(None, base_url=base_url)
        reply = llm.complete("policy", HELLO)
    assert (reply.text, reply.attempts) == ("hello", 3)
    assert ledger_of(llm) == (3, 10, 5)


def test_no_server_ends_typed():
    llm = client(None, base_url="http://127.0.0.1:9/v1", retry=RetryPolicy(attempts=2))
    reply = llm.complete("policy", HELLO)
    assert reply.outcome is Outcome.API_ERROR and "is it running?" in reply.error


def test_cut_reply_is_truncated_not_retried(server):
    server.script = [chat(LEVEL + " and", finish="length", usage=(10, 50))]
    llm = client(server)
    reply = llm.complete("judge", HELLO, json=True)
    assert (reply.outcome, reply.data) == (Outcome.TRUNCATED, None)
    assert server.calls == 1 and "raise max_tokens" in reply.error
    assert ledger_of(llm) == (1, 10, 50)


@pytest.mark.parametrize("text", ["", None, "   \n", "<think>only this</think>"])
def test_empty_reply_is_retried(server, text):
    server.script = [chat(text), chat("ok", usage=(10, 7))]
    llm = client(server)
    reply = llm.complete("policy", HELLO)
    assert (reply.text, reply.attempts) == ("ok", 2)
    assert ledger_of(llm) == (2, 20, 12)


def test_always_empty_ends_typed(server):
    server.script = [chat("")]
    llm = client(server, retry=RetryPolicy(attempts=3))
    reply = llm.complete("policy", HELLO)
    assert (reply.outcome, reply.attempts) == (Outcome.API_ERROR, 3)
    assert ledger_of(llm) == (3, 30, 15)


@pytest.mark.parametrize(
    "reply",
    [
        chat("", finish="content_filter"),
        chat(None, refusal="I will not"),
        error(400, "blocked", code="content_filter"),
    ],
)
def test_refused(server, reply):
    server.script = [reply]
    got = client(server).complete("policy", HELLO)
    assert got.outcome is Outcome.REFUSED and server.calls == 1 and got.error


@pytest.mark.parametrize("kind", ["html", "broken", "no choices", "list"])
def test_garbled_bodies_end_typed(server, kind):
    from werkzeug import Response

    server.script = [
        {
            "html": Response("<html>busy</html>", content_type="text/html"),
            "broken": Response('{"id": ', content_type="application/json"),
            "no choices": Response(
                '{"error": {"message": "busy"}}', content_type="application/json"
            ),
            "list": Response("[]", content_type="application/json"),
        }[kind]
    ]
    reply = client(server, retry=RetryPolicy(attempts=2)).complete("policy", HELLO)
    assert (reply.outcome, server.calls) == (Outcome.API_ERROR, 2)


def test_unknown_role(server):
    with pytest.raises(ValueError, match="no settings for role 'director'"):
        client(server).complete("director", HELLO)


def test_budget_stop_type():
    assert issubclass(BudgetStop, RunStopped)


def test_a_trickling_server_is_left_after_the_limit():
    """A byte now and then does not keep a call alive: the limit is on the whole."""
    with trickling_server(0.1) as address:
        llm = client(
            None,
            base_url=address,
            settings={"timeout_s": 0.6},
            retry=RetryPolicy(attempts=1),
        )
        start = time.perf_counter()
        got = llm.complete("policy", HELLO)
        took = time.perf_counter() - start
    assert got.outcome is Outcome.API_ERROR and "no answer within 0.6 s" in got.error
    assert took < 3, took
