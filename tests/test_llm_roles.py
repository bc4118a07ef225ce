"""SAGE's user and EMPA's roles on a scripted server: who sees what, and typed ends."""

import json
import re

import pytest
from fake_llm import FakeClock, FakeServer, chat, error

from helpers.agents import cards
from helpers.agents.director_tools import TEXTS, check_call, tool_schemas
from helpers.agents.emotion import EmotionRules
from helpers.agents.empa import EmpaActor, empa_settings
from helpers.agents.empa_director import EmpaDirector
from helpers.agents.empa_judge import IEDR_RANGES, MDEP_RANGES, EmpaJudge
from helpers.agents.levels import ratings, whole_number
from helpers.agents.llm import LLMClient
from helpers.agents.llm_policy import STYLES, LLMPolicy
from helpers.agents.llm_settings import RetryPolicy
from helpers.agents.roles import Guidance, Message, Outcome, RoleFailure, StatePacket
from helpers.agents.sage import SageUser, sage_settings
from helpers.agents.templates import FOLDER, fingerprint, render
from helpers.data.scenarios import (
    Memories,
    Persona,
    ReactionRules,
    Scenario,
    Situation,
    Source,
    StoryPhase,
)
from helpers.data.slots import AXES, ITEMS
from helpers.sandbox.episode import RunSettings, run_one
from helpers.scoring.rubric import IEDR_ITEMS, MDEP_FIELDS


def make_card(language: str = "en", **changes) -> Scenario:
    """A card whose every part is a word that occurs nowhere else."""
    fields = {
        "schema_version": 1,
        "id": "card-1",
        "language": language,
        "split": "dev",
        "category": "career",
        "persona": Persona(
            name="Wname", age=31, gender="female", occupation="Wjob", outer="Wouter",
            inner="Winner", speaking_style="Wstyle",
        ),
        "situation": Situation(
            topic="Wtopic", trigger="Wtrigger", circumstances="Wlife", goal="Wgoal",
            to_vent="Wvent", hoped_for="Whope",
        ),
        "memories": Memories(
            childhood="Wchild", adolescence="Wteen", young_adulthood="Wyoung",
            current="Wcurrent", growth_line="Wline",
        ),
        "story_phases": tuple(
            StoryPhase(title=f"Wtitle{i}", content=f"Wpreview{i} {'x' * 60} Wplot{i}")
            for i in range(4)
        ),
        "opening": "Wopening",
        "intention": "Praise",
        "needs": dict.fromkeys(ITEMS, 2),
        "priorities": {"C": "high", "A": "low", "P": "medium"},
        "threshold": "high",
        "reaction_rules": ReactionRules(lifts=("Wlift",), lowers=("Wlower",)),
        "hidden": None,
        "source": Source(name="own", id="card-1"),
    }  # fmt: skip
    return Scenario(**(fields | changes))


HISTORY = [
    Message("user", "U1"),
    Message("assistant", "A1"),
    Message("user", "U2"),
    Message("assistant", "A2"),
]
STATE = StatePacket(2, (-14.0, -18.0, -18.0), (-13.0, -15.0, -18.0), (1.0, 3.0, 0.0))
EMOTION = {
    "Content": "c", "TargetCompletion": "Tseen", "Activity": "Tmind",
    "Analyse": "Tfelt", "Change": 5,
}  # fmt: skip
REPLY = {"Thinking": "t", "Origin": "o", "Change": "c", "Response": "I see."}


def rating(ranges, **levels):
    """A judge's answer with the levels given, 0 elsewhere."""
    return {
        item: {"level": levels.get(item, 0), "evidence": "words", "reasoning": "so"}
        for item in ranges
    }


@pytest.fixture(scope="module")
def fake():
    server = FakeServer()
    yield server
    server.stop()


@pytest.fixture
def server(fake):
    return fake.reset()


def llm_for(server, folder=None, sage=False, **more) -> LLMClient:
    roles = empa_settings("infra", "tested")
    if sage:
        roles["user"] = sage_settings("infra")
    more = {"retry": RetryPolicy(attempts=2), "clock": FakeClock()} | more
    return LLMClient(roles, folder, base_url=server.base_url, **more)


def asked(server, number=-1) -> str:
    return "\n".join(m["content"] for m in server.bodies[number]["messages"])


def in_prompt(server, *words: str) -> set[str]:
    text = asked(server)
    return {word for word in words if word in text}


# ---- prompts and cards


def test_prompts_exist_in_both_languages_with_the_same_values():
    from string import Template

    names = {path.name.split(".")[0] for path in FOLDER.glob("*.md")}
    assert len(names) == 16
    for name in names:
        values = [
            set(Template((FOLDER / f"{name}.{lang}.md").read_text()).get_identifiers())
            for lang in ("en", "zh")
        ]
        assert values[0] == values[1], name
    assert fingerprint("sage_reply") != fingerprint("sage_emotion")


def test_render_is_strict():
    with pytest.raises(ValueError, match="missing or unused values: card"):
        render("empa_iedr", "en")
    with pytest.raises(ValueError, match="unused values: extra"):
        render("policy_sage", "en", extra=1)
    with pytest.raises(ValueError, match="no prompt policy_sage.fr.md"):
        render("policy_sage", "fr")
    assert "${x} $y" in render("empa_iedr", "en", card="${x} $y")


def test_every_json_example_in_a_prompt_names_the_fields():
    for language in ("en", "zh"):
        assert all(item in render("empa_iedr", language, card="") for item in ITEMS)
        text = (FOLDER / f"empa_mdep.{language}.md").read_text()
        assert all(field in text for field in MDEP_RANGES)
        text = (FOLDER / f"empa_director.{language}.md").read_text()
        assert all(tool in text for tool in TEXTS)


def test_rubric_ranges_agree_with_scoring():
    assert tuple(MDEP_RANGES) == MDEP_FIELDS
    assert tuple(IEDR_RANGES) == tuple(IEDR_ITEMS)


def test_missing_parts_are_left_out():
    bare = make_card(
        persona=Persona(
            name="N", age=None, gender=None, occupation=None, outer=None, inner=None,
            speaking_style=None,
        ),
        threshold=None,
        priorities=dict.fromkeys(AXES),
        reaction_rules=ReactionRules(),
    )  # fmt: skip
    for text in (cards.actor_card(bare), cards.judge_card(bare)):
        assert "None" not in text and "\n\n" not in text
        assert "threshold" not in text and "Priority" not in text


def test_imported_sage_text_is_used_as_it_is():
    card = make_card(
        "zh",
        persona=make_card().persona.model_copy(update={"notes": "全文"}),
        situation=make_card().situation.model_copy(update={"background": "背景"}),
    )
    assert cards.persona_text(card) == "全文"
    assert cards.background_text(card) == "背景"


# ---- SAGE


def test_f_emo_sees_the_number_and_the_whole_history(server):
    server.script = [chat(json.dumps(EMOTION))]
    session = SageUser.benchmark(llm_for(server, sage=True)).start(make_card(), 7)
    assert session.opening().text == "Wopening" and server.calls == 0
    feeling = session.feel(HISTORY)
    assert (feeling.emotion, feeling.change, session.emotion) == (45, 5, 45)
    assert feeling.thought["TargetCompletion"] == "Tseen"
    words = ("Wname", "Wtrigger", "Wchild", "Wlift", "Wlower", "U1", "A1", "A2")
    assert in_prompt(server, *words) == set(words)
    text = asked(server)
    assert "40, on a scale" in text and "-10 to +10" in text
    assert "sincere praise" in text and '{"role": "NPC", "content": "A2"}' in text
    assert "assistant" not in text and "Wplot0" not in text
    assert server.bodies[-1]["temperature"] == 0.5


def test_f_reply_sees_the_letter_not_the_number(server):
    server.script = [
        chat(json.dumps(EMOTION | {"Change": -7})),
        chat(json.dumps(REPLY)),
    ]
    session = SageUser.benchmark(llm_for(server, sage=True)).start(make_card(), 7)
    session.feel(HISTORY)
    said = session.say(HISTORY, None)
    assert (said.text, said.goodbye, said.thought["Origin"]) == ("I see.", False, "o")
    text = asked(server)
    assert "# Your state now\nC" in text  # 33
    assert "33" not in text
    assert "Seen from outside: Tseen\nSeen from inside: Tmind Tfelt" in text
    earlier, latest = text.split("# The last two messages")
    assert "U1" in earlier and "U2" not in earlier and "U2" in latest


@pytest.mark.parametrize(
    ("make", "change", "after"),
    [
        (SageUser.benchmark, 25, (50, 10)),
        (SageUser.benchmark, -25, (30, -10)),
        (SageUser.rlver_challenging, 25, (55, 25)),
        (SageUser.rlver_challenging, -40, (-10, -40)),
        (SageUser.rlver_vanilla, -25, (20, -10)),
    ],
)
def test_named_settings(server, make, change, after):
    server.script = [chat(json.dumps(EMOTION | {"Change": change}))]
    user = make(llm_for(server, sage=True))
    session = user.start(make_card(), 1)
    feeling = session.feel(HISTORY)
    assert (feeling.emotion, feeling.change) == after
    challenging = make == SageUser.rlver_challenging
    assert ("reserved" in asked(server)) is challenging
    assert ("-10 to +10" in asked(server)) is not challenging
    assert user.describe()["rules"]["start"] == (
        40 if make == SageUser.benchmark else 30
    )
    json.dumps(user.describe())


def test_rlver_challenging_is_the_released_rule_set():
    assert SageUser.rlver_challenging(None).rules == EmotionRules.rlver_training()
    with pytest.raises(ValueError, match="choose vanilla or challenging"):
        SageUser(None, manner="hard")


@pytest.mark.parametrize(
    ("language", "text", "goodbye"),
    [
        ("en", "Thank you. Goodbye!", True),
        ("en", "ok bye", True),
        ("en", "That was a good buy", False),
        ("zh", "谢谢你，再见", True),
        ("zh", "拜拜", True),
        ("zh", "我再想想", False),
    ],
)
def test_goodbye(server, language, text, goodbye):
    server.script = [
        chat(json.dumps(EMOTION)),
        chat(json.dumps(REPLY | {"Response": text})),
    ]
    session = SageUser.benchmark(llm_for(server, sage=True)).start(
        make_card(language), 1
    )
    session.feel(HISTORY)
    assert session.say(HISTORY, None).goodbye is goodbye


def test_opening_by_the_model(server):
    server.script = [chat('{"Response": "Hi."}')]
    session = SageUser.benchmark(llm_for(server, sage=True)).start(
        make_card(opening=None), 1
    )
    assert session.opening().text == "Hi." and "Wtrigger" in asked(server)


@pytest.mark.parametrize(
    "answer",
    [
        "no idea",
        json.dumps(EMOTION | {"Change": "much better"}),
        json.dumps(EMOTION | {"Change": None}),
        json.dumps(EMOTION | {"Change": 2.5}),
        json.dumps(EMOTION | {"Change": True}),
        json.dumps(EMOTION | {"Change": 1000}),
        json.dumps(EMOTION | {"Activity": ""}),
        json.dumps({k: v for k, v in EMOTION.items() if k != "Change"}),
        json.dumps(EMOTION)[:-4],
    ],
)
def test_unreadable_feeling_is_a_typed_failure(server, answer):
    server.script = [chat(answer)]
    session = SageUser.benchmark(llm_for(server, sage=True)).start(make_card(), 1)
    with pytest.raises(RoleFailure) as caught:
        session.feel(HISTORY)
    assert caught.value.outcome is Outcome.JUDGE_UNPARSEABLE
    assert caught.value.role == "user" and server.calls == 3
    assert session.emotion == 40  # nothing was applied


# ---- EMPA


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


CALLS = {
    "select_and_reveal_fragment": {"stage_index": 1, "reason": "r"},
    "reveal_memory": {"memory_period": "young adulthood", "reason": "r"},
    "adjust_empathy_strategy": {
        "focus_aspect": "affective", "reason": "r", "actor_guidance": "Gsoft",
    },
    "introduce_turning_point": {
        "stage_index": 2, "empathy_aspect": "", "reason": "r",
        "actor_guidance": "Gturn",
    },
    "continue_without_new_info": {"focus_suggestion": "Gstay", "reason": "r"},
    "observe_and_wait": {"observation": "o", "wait_reason": "w"},
    "end_conversation": {"reason": "done"},
}  # fmt: skip
SAID = {
    "select_and_reveal_fragment": ("Wtitle1", "Wplot1"),
    "reveal_memory": ("Wyoung",),
    "adjust_empathy_strategy": ("to be felt with", "Gsoft"),
    "introduce_turning_point": ("Wtitle2", "Wplot2", "Gturn"),
    "continue_without_new_info": ("Gstay",),
}


def tool_call(name, arguments, *more):
    calls = [(name, arguments), *more]
    return chat(
        None,
        finish="tool_calls",
        tool_calls=[
            {
                "id": f"t{i}",
                "type": "function",
                "function": {"name": n, "arguments": json.dumps(a)},
            }
            for i, (n, a) in enumerate(calls)
        ],
    )


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


# ---- whole dialogues


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
