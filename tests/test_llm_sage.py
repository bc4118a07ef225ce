"""SAGE's user: what its two steps see, its named settings, typed failures."""

import json

import pytest
from fake_llm import chat
from llm_cards import (
    EMOTION,
    HISTORY,
    REPLY,
    asked,
    in_prompt,
    llm_for,
    make_card,
)

from helpers.agents.emotion import EmotionRules
from helpers.agents.roles import Outcome, RoleFailure
from helpers.agents.sage import GOODBYE, SageUser

pytest_plugins = ["llm_plugin"]


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


@pytest.mark.parametrize(
    ("said", "leaves"),
    [
        ("Goodbye.", True),
        ("Thanks for listening, goodbye!", True),
        ("Okay, bye for now.", True),
        ("That helped. Bye!", True),
        ("I never got to say goodbye to my dad.", False),
        ("The goodbye party was awful.", False),
        ("We said bye at the station.", False),
    ],
)
def test_only_a_leave_taking_ends_the_talk(said, leaves):
    assert (GOODBYE["en"].search(said) is not None) == leaves
