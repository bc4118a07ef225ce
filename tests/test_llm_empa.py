"""EMPA's actor, judge and director: who sees what, impossible answers."""

import json
import re

import pytest
from fake_llm import chat, error
from llm_cards import (
    CALLS,
    HISTORY,
    SAID,
    STATE,
    asked,
    in_prompt,
    llm_for,
    make_card,
    rating,
    tool_call,
)

from helpers.agents import cards
from helpers.agents.director_tools import TEXTS, check_call, tool_schemas
from helpers.agents.empa import EmpaActor
from helpers.agents.empa_director import EmpaDirector
from helpers.agents.empa_judge import IEDR_RANGES, MDEP_RANGES, EmpaJudge
from helpers.agents.levels import ratings, whole_number
from helpers.agents.roles import Guidance, Outcome, RoleFailure, StatePacket
from helpers.data.scenarios import (
    Memories,
)
from helpers.data.slots import ITEMS
from helpers.scoring.rubric import MDEP_FIELDS

pytest_plugins = ["llm_plugin"]


def test_actor_sees_card_history_guidance_not_stages(server):
    server.script = [chat("First."), chat("Next.")]
    session = EmpaActor(llm_for(server)).start(make_card(), 3)
    assert session.emotion is None
    assert session.opening().text == "First."
    assert "15 to 35 words" in asked(server) and "Wtrigger" in asked(server)
    guidance = Guidance("adjust_empathy_strategy", {}, "Gtext")
    assert session.say(HISTORY, guidance).text == "Next."
    body = server.bodies[-1]
    assert [m["role"] for m in body["messages"]] == ["system", "user"]
    assert "Wname" in body["messages"][0]["content"]
    words = ("Wtrigger", "Wchild", "Wline", "Wvent", "Gtext", "1. You: U1", "A2")
    assert in_prompt(server, *words) == set(words)
    assert not in_prompt(server, "Wplot0", "Wtitle0", "C.1", "-14")
    assert "15 to 35 words" in asked(server)
    assert session.feel(HISTORY).emotion is None


@pytest.mark.parametrize("tool", list(TEXTS))
def test_actor_writes_more_on_new_material(server, tool):
    server.script = [chat("Next.")]
    session = EmpaActor(llm_for(server)).start(make_card("zh"), 3)
    session.say(HISTORY, Guidance(tool, {}, "text"))
    new = tool in (
        "select_and_reveal_fragment", "reveal_memory", "introduce_turning_point",
    )  # fmt: skip
    assert ("60 到 100 个字" in asked(server)) is new
    assert ("20 到 50 个字" in asked(server)) is not new


def test_judge_rates_with_evidence(server):
    answer = rating(MDEP_RANGES, **{"A.Prog": 2, "P.Neg": -1})
    server.script = [chat(json.dumps(answer))]
    judgement = EmpaJudge(llm_for(server)).start(make_card(), 1).rate(HISTORY)
    assert judgement.levels == dict.fromkeys(MDEP_FIELDS, 0) | {
        "A.Prog": 2,
        "P.Neg": -1,
    }
    assert judgement.evidence == {"A.Prog": "words\nso", "P.Neg": "words\nso"}
    body = server.bodies[-1]
    assert [m["role"] for m in body["messages"]] == ["user"]
    assert body["response_format"] == {"type": "json_object"}
    assert (body["temperature"], body["max_tokens"]) == (0.7, 6000)
    assert in_prompt(server, "Wname", "Wvent", "Wline", "high") == {
        "Wname", "Wvent", "Wline", "high",
    }  # fmt: skip
    assert not in_prompt(server, "Wplot0", "Wpreview0", "Wtrigger", "Wchild", "-14")
    context, window = asked(server).split("# To be rated")
    assert "A1" in context and "A2" not in context and "A2" in window


def test_judge_gets_300_characters_of_experience_without_a_growth_line():
    memories = Memories(
        childhood="Wchild " + "y" * 400 + " Wend", adolescence=None,
        young_adulthood=None, current=None,
    )  # fmt: skip
    text = cards.judge_card(make_card(memories=memories))
    assert "Wchild" in text and "Wend" not in text


def test_iedr_from_the_card_or_the_model(server):
    answer = rating(IEDR_RANGES, **{"C.1": 3})
    server.script = [chat(json.dumps(answer))]
    llm = llm_for(server)
    card = make_card()
    assert EmpaJudge(llm).start(card, 1).initial_levels() == dict.fromkeys(ITEMS, 2)
    assert server.calls == 0
    session = EmpaJudge(llm, initial="model").start(card, 1)
    assert session.initial_levels() == dict.fromkeys(ITEMS, 0) | {"C.1": 3}
    fields = [list(item) for item in session.initial_ratings().values()]
    assert sum(map(len, fields)) == 27
    # One estimate a scenario: another dialogue of it takes the same one.
    EmpaJudge(llm, initial="model").start(card, 2).initial_levels()
    assert server.calls == 1 and server.bodies[0]["max_tokens"] == 8000
    unknown = make_card(needs=dict.fromkeys(ITEMS))
    EmpaJudge(llm).start(unknown, 1).initial_levels()
    with pytest.raises(ValueError, match="choose card or model"):
        EmpaJudge(llm, initial="guess")


def _broken_ratings():
    good = rating(MDEP_RANGES)
    no_field = {k: v for k, v in good.items() if k != "P.Neg"}
    return {
        "field missing": no_field,
        "level too high": good | rating({"C.Prog": 0}, **{"C.Prog": 3}),
        "level too low": good | rating({"C.Neg": 0}, **{"C.Neg": -3}),
        "wrong sign": good | rating({"C.Neg": 0}, **{"C.Neg": 1}),
        "half a level": good | rating({"C.Prog": 0}, **{"C.Prog": 0.5}),
        "null": good | rating({"C.Prog": 0}, **{"C.Prog": None}),
        "true": good | rating({"C.Prog": 0}, **{"C.Prog": True}),
        "word": good | rating({"C.Prog": 0}, **{"C.Prog": "high"}),
        "no evidence": good
        | {"C.Prog": {"level": 1, "evidence": " ", "reasoning": ""}},
        "no reasoning": good | {"C.Prog": {"level": 0, "evidence": ""}},
        "bare level": good | {"C.Prog": 1},
        "unknown item": good | {"X.Prog": {}},
    }


@pytest.mark.parametrize("name", list(_broken_ratings()))
def test_impossible_judgement_is_typed_not_clamped(server, name):
    server.script = [chat(json.dumps(_broken_ratings()[name]))]
    session = EmpaJudge(llm_for(server)).start(make_card(), 1)
    with pytest.raises(RoleFailure) as caught:
        session.rate(HISTORY)
    assert caught.value.outcome is Outcome.JUDGE_UNPARSEABLE
    assert caught.value.role == "judge" and server.calls == 3


def test_levels_as_text_or_whole_floats_are_read():
    data = rating(MDEP_RANGES, **{"C.Prog": "+2", "C.Neg": -1.0})
    read = ratings(data, MDEP_RANGES, True)
    assert (read["C.Prog"]["level"], read["C.Neg"]["level"]) == (2, -1)
    with pytest.raises(ValueError, match="Change is missing"):
        whole_number({}, "Change")


@pytest.mark.parametrize("tool", list(CALLS))
@pytest.mark.parametrize("native", [True, False])
def test_director_tools(server, tool, native):
    """The same guidance from a tool call and, on a server without tools, from text."""
    if native:
        other = ("end_conversation", {"reason": "second call"})
        server.script = [tool_call(tool, CALLS[tool], other)]
    else:
        text = json.dumps({"tool": tool, "arguments": CALLS[tool]})
        server.script = [
            lambda body: (
                error(400, "'tools' is not supported", param="tools")
                if "tools" in body
                else chat(text)
            )
        ]
    guidance = EmpaDirector(llm_for(server)).start(make_card(), 1).guide(HISTORY, STATE)
    assert guidance.tool == tool and guidance.stop is False
    if tool in SAID:
        assert all(word in guidance.text for word in SAID[tool])
        assert "Wchild" not in guidance.text
    else:
        assert guidance.text is None


def test_director_sees_state_and_previews_not_plots(server):
    server.script = [
        tool_call("select_and_reveal_fragment", CALLS["select_and_reveal_fragment"]),
        tool_call("observe_and_wait", CALLS["observe_and_wait"]),
    ]
    session = EmpaDirector(llm_for(server)).start(make_card(), 1)
    session.guide(HISTORY, STATE)
    words = ("U1", "A2", "Wpreview1", "Priority of resonance (affective): low")
    assert in_prompt(server, *words) == set(words)
    hidden = ("Wplot1", "Wname", "Wtrigger", "Wchild", "companion")
    assert not in_prompt(server, *hidden)
    text = asked(server)
    assert (
        "start C -14 A -18 P -18, now C -13 A -15 P -18, last step C 1 A 3 P 0" in text
    )
    # By hand: ||P_0|| = sqrt(14^2 + 18^2 + 18^2) = 29.0517, v* = -P_0 / ||P_0||;
    # dE = (14 + 54) / 29.0517 = 2.34; P . v* = -(182 + 270 + 324) / 29.0517 = -26.71.
    assert "energy of the last turn 2.34, alignment 0.74" in text
    assert "total energy 2.34 (needs 29.05)" in text
    assert "projection -26.71 (needs -2.91)" in text
    assert "[not yet released]" in text and "[released]" not in text
    assert len(server.bodies[-1]["tools"]) == 7
    session.guide(HISTORY, STATE)
    assert re.search(r"1\. Wtitle1: .*\[released\]", asked(server))


def test_memory_once_then_deeper(server):
    server.script = [tool_call("reveal_memory", CALLS["reveal_memory"])]
    llm = llm_for(server)
    session = EmpaDirector(llm).start(make_card(), 1)
    first = session.guide(HISTORY, STATE).text
    second = session.guide(HISTORY[:2], STATE).text
    assert "Wyoung" in first and "Wyoung" not in second and "go deeper" in second
    whole = EmpaDirector(llm, memory="released").start(make_card(), 1)
    text = whole.guide(HISTORY, STATE).text
    assert "Wyoung" in text and "Wchild" in text


def test_end_only_from_turn_12(server):
    server.script = [tool_call("end_conversation", {"reason": "done"})]
    session = EmpaDirector(llm_for(server)).start(make_card(), 1)
    late = StatePacket(12, STATE.p0, STATE.position, STATE.increment)
    assert session.guide(HISTORY, STATE).stop is False
    assert session.guide(HISTORY, late).stop is True


@pytest.mark.parametrize(
    ("tool", "change"),
    [
        ("select_and_reveal_fragment", {"stage_index": 4}),
        ("select_and_reveal_fragment", {"stage_index": -1}),
        ("introduce_turning_point", {"stage_index": -2}),
        ("reveal_memory", {"memory_period": "old age"}),
        ("adjust_empathy_strategy", {"focus_aspect": "physical"}),
        ("adjust_empathy_strategy", {"actor_guidance": ""}),
        ("observe_and_wait", {"wait_reason": None}),
        ("introduce_memory", {}),
    ],
)
def test_impossible_tool_call_is_typed(server, tool, change):
    server.script = [tool_call(tool, CALLS.get(tool, {}) | change)]
    session = EmpaDirector(llm_for(server)).start(make_card(), 1)
    with pytest.raises(RoleFailure) as caught:
        session.guide(HISTORY, STATE)
    assert (caught.value.role, server.calls) == ("director", 3)
    assert caught.value.outcome is Outcome.JUDGE_UNPARSEABLE


def test_no_stage_tool_without_stages():
    names = {schema["function"]["name"] for schema in tool_schemas(0)}
    assert names == set(TEXTS) - {"select_and_reveal_fragment"}
    call = {"tool": "introduce_turning_point", "arguments": {
        "stage_index": -1, "empathy_aspect": "cognitive", "reason": "r"}}  # fmt: skip
    assert check_call(call, 0)[1]["stage_index"] == -1
