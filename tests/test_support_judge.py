"""RAPO's judges played by a model: what they are shown, typed failures, no defaults."""

import json
from dataclasses import replace

import pytest
from fake_llm import chat
from llm_cards import asked, llm_for, make_card
from test_social import BICYCLE, talk

from helpers.agents.roles import Outcome, RoleFailure
from helpers.agents.social import Action, say
from helpers.agents.support_judge import (
    HARBOR,
    SOTOPIA,
    TEMPLATES,
    SupportJudge,
    messages,
)
from helpers.agents.templates import FOLDER
from helpers.sandbox.dialogue import Dialogue, Failure, Turn
from helpers.scoring import harbor, preference, sotopia

pytest_plugins = ["llm_plugin"]

TALK = Dialogue("card-1", 0, 0, "x", (Turn(1, "U1", "Reply1"), Turn(2, "U2", "Reply2")),
                "timeout", "limit", 2, closing="U3")  # fmt: skip
OTHER = replace(TALK, turns=(Turn(1, "U1", "Else1"),), closing=None)
BROKEN = replace(TALK, ending="error", ended_by="failure",
                 failure=Failure("user", "refused", "no"))  # fmt: skip


def rated(levels):
    return {
        n: {"level": x, "evidence": "e", "reasoning": "r"} for n, x in levels.items()
    }


SEVEN = rated({name: high for name, (_, _, high) in SOTOPIA.items()})
TEN = rated(dict.fromkeys(HARBOR, 4))


def judge(server, *answers, **how):
    server.script = [chat(a if isinstance(a, str) else json.dumps(a)) for a in answers]
    return SupportJudge(llm_for(server), **how)


def test_prompts_name_the_fields():
    for language in ("en", "zh"):
        text = (FOLDER / f"sotopia_rate.{language}.md").read_text()
        for name, (_, low, high) in SOTOPIA.items():
            line = next(x for x in text.splitlines() if x.startswith(f"- {name}"))
            assert str(low) in line and str(high) in line
        text = (FOLDER / f"harbor_rate.{language}.md").read_text()
        assert all(f"- {name}" in text for name in HARBOR)
    said = (FOLDER / "harbor_rate.en.md").read_text()
    assert all(f"- {name}: {words}" in said for name, words in HARBOR.items())


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_supporter_on_seven_dimensions(server, language):
    rating = sotopia.rate_support(
        TALK, make_card(), judge=judge(server, SEVEN, language=language)
    )
    assert rating.overall == pytest.approx(40 / 7)
    assert "2. Supporter: Reply1" in asked(server) and "U3" in asked(server)


def test_both_seats_of_a_talk_are_rated(server):
    made = talk((0, say("ask")), (1, Action("leave")))
    second = {**SEVEN, "goal": {"level": 0, "evidence": "", "reasoning": ""}}
    one, two = sotopia.rate_social(made, BICYCLE, judge(server, SEVEN, second))
    assert (one.scores["goal"], two.scores["goal"]) == (10, 0)
    assert BICYCLE.goals[0] in asked(server, 0) and BICYCLE.goals[1] in asked(server, 1)
    assert "[leave]" in asked(server, 1)


@pytest.mark.parametrize("wrong", [
    "no", {**SEVEN, "goal": {"level": 11, "evidence": "e", "reasoning": "r"}},
    {**SEVEN, "secret": {"level": 1, "evidence": "e", "reasoning": "r"}},
    {**SEVEN, "goal": {"level": 3, "evidence": "", "reasoning": ""}},
    {k: v for k, v in SEVEN.items() if k != "goal"}, {}, [],
])  # fmt: skip
def test_a_rating_that_cannot_be_read_is_a_failure(server, wrong):
    failed = sotopia.rate_support(TALK, make_card(), judge=judge(server, wrong))
    assert failed.outcome == "judge_unparseable" and server.calls == 3
    table = sotopia.rating_table([({"case": 1}, failed)])
    assert table["overall"].isna().all() and table["failed"].all()


def test_a_failed_dialogue_is_not_sent_to_a_judge(server):
    asking = judge(server, SEVEN)
    assert sotopia.rate_support(BROKEN, make_card(), judge=asking) is BROKEN.failure
    table = harbor.harbor_table([BROKEN], {"card-1": make_card()}, asking)
    assert table["failed"].all() and table["overall"].isna().all()
    assert server.calls == 0
    with pytest.raises(ValueError, match="nothing to rate"):
        messages(BROKEN)


def test_the_form_is_filled_as_the_person(server):
    cards = {"card-1": make_card()}
    table = harbor.harbor_table([TALK, TALK], cards, judge(server, TEN))
    assert (table["overall"] == 4).all() and not table["failed"].any()
    text = asked(server)
    assert "Wname" in text and "sincere praise" in text and "Supporter: Reply2" in text
    wrong = {**TEN, "felt": {"level": 6, "evidence": "e", "reasoning": "r"}}
    table = harbor.harbor_table([TALK], cards, judge(server.reset(), wrong))
    assert table["failed"].all() and table[list(HARBOR)].isna().all(axis=None)


def test_a_preference_is_asked_in_both_orders(server):
    asking = judge(server, {"reasoning": "r", "better": "first"},
                   {"reasoning": "r", "better": "second"})  # fmt: skip
    assert preference.compare(TALK, OTHER, make_card(), asking) == "win"
    first, second = asked(server, 0), asked(server, 1)
    assert first.index("Reply1") < first.index("Else1")
    assert second.index("Else1") < second.index("Reply1")
    habit = judge(server.reset(), {"reasoning": "r", "better": "first"})
    assert preference.compare(TALK, OTHER, make_card(), habit) == "swayed"
    mute = judge(server.reset(), {"reasoning": "r", "better": "both"})
    assert preference.compare(TALK, OTHER, make_card(), mute) == "failed"
    with pytest.raises(RoleFailure) as caught:
        mute.prefer(TALK, OTHER, make_card())
    assert caught.value.outcome is Outcome.JUDGE_UNPARSEABLE


def test_prompts_are_part_of_the_description(server):
    described = judge(server, TEN).describe()
    assert len(described["prompts"]) == 12 and len(set(TEMPLATES)) == 3
