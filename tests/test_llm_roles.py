"""Policies and whole dialogues on a scripted server; failures end typed."""

import json

import pytest
from fake_llm import chat, error
from llm_cards import (
    CALLS,
    EMOTION,
    HISTORY,
    REPLY,
    asked,
    llm_for,
    make_card,
    rating,
    tool_call,
)

from helpers.agents.empa import EmpaActor, empa_settings
from helpers.agents.empa_director import EmpaDirector
from helpers.agents.empa_judge import MDEP_RANGES, EmpaJudge
from helpers.agents.llm_policy import STYLES, LLMPolicy
from helpers.agents.roles import Outcome, RoleFailure
from helpers.agents.sage import SageUser
from helpers.sandbox.episode import RunSettings, run_one

pytest_plugins = ["llm_plugin"]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_policy_sees_the_history_only(server, style, language):
    server.script = [chat("<think>hm</think>I hear you.")]
    llm = llm_for(server)
    policy = LLMPolicy(llm, style, language)
    reply = policy.start("card-1", 5).reply(HISTORY[:3])
    assert (reply.text, reply.think) == ("I hear you.", "hm")
    assert (reply.prompt_tokens, reply.completion_tokens) == (10, 5)
    roles = [m["role"] for m in server.bodies[-1]["messages"]]
    if style == "empa":
        assert roles == ["system", "user"] and "U2" in asked(server)
    else:
        assert roles == ["system", "user", "assistant", "user"]
    body = server.bodies[-1]
    assert (body["top_p"], body["presence_penalty"]) == (0.8, 1.5)
    assert body["max_tokens"] == 8192 and "frequency_penalty" not in body
    json.dumps(policy.describe())


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (chat("cut", finish="length"), Outcome.TRUNCATED),
        (chat("", finish="content_filter"), Outcome.REFUSED),
        (chat("<think>no end"), Outcome.API_ERROR),
        (error(500, "x"), Outcome.API_ERROR),
    ],
)
def test_policy_failures_are_typed(server, reply, outcome):
    server.script = [reply]
    with pytest.raises(RoleFailure) as caught:
        LLMPolicy(llm_for(server), "sage", "en").start("c", 1).reply(HISTORY[:1])
    assert (caught.value.role, caught.value.outcome) == ("policy", outcome)


def test_settings_by_source():
    released = empa_settings("infra", "tested", "released")["policy"]
    assert (released.max_tokens, released.frequency_penalty) == (2500, 0.7)
    with pytest.raises(ValueError, match="choose paper or released"):
        empa_settings("infra", "tested", "best")


def world(judge=None, change=10):
    """One function that answers for every role, by what the prompt asks for."""
    judge = judge or json.dumps(rating(MDEP_RANGES, **{"A.Prog": 2, "C.Prog": 2}))

    def answer(body):
        text = "\n".join(m["content"] for m in body["messages"])
        if "tools" in body:
            return tool_call("observe_and_wait", CALLS["observe_and_wait"])
        if "C.Prog" in text:
            return chat(judge)
        if "TargetCompletion" in text:
            return chat(json.dumps(EMOTION | {"Change": change}))
        if "Origin" in text:
            return chat(json.dumps(REPLY))
        return chat("Words.")

    return answer


def sage_dialogue(llm):
    policy = LLMPolicy(llm, "sage", "en")
    user = SageUser.benchmark(llm)
    return run_one(make_card(), policy, user, None, None, RunSettings.sage(), 11)


def empa_dialogue(llm):
    return run_one(
        make_card(),
        LLMPolicy(llm, "empa", "en"),
        EmpaActor(llm),
        EmpaJudge(llm),
        EmpaDirector(llm),
        RunSettings.empa(),
        11,
    )


def test_sage_dialogue_to_success_and_again_without_calls(server, tmp_path):
    server.script = [world()]
    with llm_for(server, tmp_path, sage=True) as llm:
        dialogue = sage_dialogue(llm)
    assert (dialogue.ending, dialogue.final_emotion) == ("success", 100)
    assert [turn.emotion_after for turn in dialogue.turns] == [50, 60, 70, 80, 90, 100]
    calls = server.calls
    with llm_for(server, tmp_path, sage=True) as llm:
        assert sage_dialogue(llm) == dialogue
    assert server.calls == calls


def test_sage_dialogue_to_collapse(server):
    server.script = [world(change=-10)]
    dialogue = sage_dialogue(llm_for(server, sage=True))
    assert (dialogue.ending, dialogue.final_emotion) == ("collapse", 0)


def test_empa_dialogue_to_success_and_again_without_calls(server, tmp_path):
    server.script = [world(json.dumps(rating(MDEP_RANGES, **dict.fromkeys(
        ("C.Prog", "A.Prog", "P.Prog"), 2))))]  # fmt: skip
    with llm_for(server, tmp_path) as llm:
        dialogue = empa_dialogue(llm)
        roles = set(llm.ledger.totals())
    assert (dialogue.ending, len(dialogue.turns)) == ("success", 12)
    assert roles == {"user", "judge", "director", "policy", "all"}
    calls = server.calls
    with llm_for(server, tmp_path) as llm:
        assert empa_dialogue(llm) == dialogue
        assert llm.ledger.totals()["all"]["attempts"] == calls
    assert server.calls == calls


def test_failed_judgement_ends_the_dialogue_without_a_score(server):
    server.script = [world(judge="I would rather not say.")]
    dialogue = empa_dialogue(llm_for(server))
    assert (dialogue.ending, dialogue.failure.role) == ("error", "judge")
    assert dialogue.failure.outcome == "judge_unparseable"
    assert dialogue.final_position is None
    assert [turn.levels for turn in dialogue.turns] == [None]
