"""JSON, think text and tool calls in replies: the value or a typed outcome."""

import pytest
from fake_llm import HELLO, chat, client, error, ledger_of

from helpers.agents.roles import Outcome

LEVEL = '{"level": 2}'

pytest_plugins = ["llm_plugin"]


def check_level(value):
    if value.get("level") not in (0, 1, 2):
        raise ValueError(f"level {value.get('level')!r} is not 0, 1 or 2")
    return value["level"]


@pytest.mark.parametrize(
    "reply",
    [
        chat(LEVEL),
        chat(f"Sure:\n```json\n{LEVEL}\n```"),
        chat(f'<think>0? {{"level": 0}}</think>{LEVEL}'),
        chat('{"level": 2,}'),
        chat(f"{LEVEL}\n{LEVEL}"),
        chat("｛“level”：２｝"),
        chat("", reasoning_content=f"so {LEVEL}"),
        chat(None, reasoning=LEVEL),
    ],
)
def test_json_is_found(server, reply):
    server.script = [reply]
    llm = client(server)
    got = llm.complete("judge", HELLO, json=True, check=check_level)
    assert (got.outcome, got.data) == (Outcome.OK, 2)
    assert server.bodies[0]["response_format"] == {"type": "json_object"}
    assert server.calls == 1 and ledger_of(llm) == (1, 10, 5)


@pytest.mark.parametrize(
    "text",
    [
        "two",
        '{"level": 3}',
        '{"level": 1.5}',
        '{"grade": 2}',
        '{"level": 2',
        '{"level": 1} {"level": 2}',
        '{"level": null}',
    ],
)
def test_unreadable_judgement_is_typed_after_bounded_asks(server, text):
    server.script = [chat(text)]
    llm = client(server, settings={"asks": 3})
    reply = llm.complete("judge", HELLO, json=True, check=check_level)
    assert (reply.outcome, reply.data) == (Outcome.JUDGE_UNPARSEABLE, None)
    assert (server.calls, reply.attempts) == (3, 3)
    assert ledger_of(llm) == (3, 30, 15)
    assert llm.ledger.totals()["judge"]["retries"] == 2


def test_second_ask_may_succeed(server):
    server.script = [chat("two"), error(500, "x"), chat(LEVEL)]
    llm = client(server, settings={"asks": 3})
    reply = llm.complete("judge", HELLO, json=True, check=check_level)
    assert (reply.data, reply.attempts) == (2, 3)
    assert ledger_of(llm) == (3, 20, 10)


def test_think_text_is_separated(server):
    server.script = [chat("<think>why</think>\nBecause.", reasoning_content="first")]
    reply = client(server).complete("policy", HELLO)
    assert (reply.think, reply.text) == ("first\nwhy", "Because.")


def test_tool_call_is_read(server):
    calls = [
        {
            "id": name,
            "type": "function",
            "function": {"name": name, "arguments": '{"reason": "so"}'},
        }
        for name in ("wait", "other")
    ]
    server.script = [chat(None, finish="tool_calls", tool_calls=calls)]
    tools = [{"type": "function", "function": {"name": "wait", "parameters": {}}}]
    reply = client(server).complete("judge", HELLO, json=True, tools=tools)
    assert reply.data == {"tool": "wait", "arguments": {"reason": "so"}}
    assert server.bodies[0]["tools"] == tools


def test_half_a_surrogate_pair_does_no_harm(server):
    server.script = [chat("so \ud83d sad"), chat('{"level": "\\ud83d"}')]
    llm = client(server)
    assert llm.complete("policy", HELLO).text == "so ? sad"
    reply = llm.complete("judge", HELLO, json=True)
    assert reply.outcome is Outcome.JUDGE_UNPARSEABLE


def test_a_thought_does_not_outweigh_a_refusal_in_words(server):
    """Visible words without JSON are the answer; a draft in the reasoning is none."""
    words = "I am sorry, I cannot rate this person."
    server.script = [chat(words, reasoning_content=f"Draft: {LEVEL}")]
    got = client(server).complete("judge", HELLO, json=True, check=check_level)
    assert (got.outcome, got.data) == (Outcome.JUDGE_UNPARSEABLE, None)


@pytest.mark.parametrize(
    ("finish", "outcome"),
    [
        ("max_tokens", Outcome.TRUNCATED),
        ("MAX_TOKENS", Outcome.TRUNCATED),
        ("error", Outcome.API_ERROR),
        ("abort", Outcome.API_ERROR),
        (None, Outcome.OK),
    ],
)
def test_how_a_reply_ended_decides_what_it_is(server, finish, outcome):
    server.script = [chat(LEVEL, finish=finish)]
    got = client(server).complete("policy", HELLO)
    assert got.outcome == outcome
