"""RAPO's reward model and hindsight judge by a model: shown, read, refused."""

import json

import pytest
from fake_llm import chat
from llm_cards import asked, llm_for, make_card

from helpers.agents.reward_judge import LLMImpactJudge, LLMRewardModel, make_judges
from helpers.agents.roles import Comparison, Message, Outcome, Reaction, RoleFailure
from helpers.sandbox.dialogue import Dialogue, Turn

pytest_plugins = ["llm_plugin"]

TALK = (Message("user", "Uone"), Message("assistant", "Aone"), Message("user", "Utwo"))
GROUP = Comparison(
    TALK, ("Rfirst", "Rsecond", "Rthird"), tuple(Reaction(f"E{i}") for i in range(3))
)
GOOD = {
    "order": [[2], [1, 3]], "scores": {"1": 4, "2": 9, "3": 4},
    "critique": "Stay with the feeling.",
    "notes": {"1": "too fast", "2": "just so", "3": "too cold"},
}  # fmt: skip
HELD = Dialogue(
    "card-1", 0, 0, "x", (Turn(1, "Uone", "Aone"), Turn(2, "Utwo", "Atwo")),
    "timeout", "limit", 2, closing="Ulast",
)  # fmt: skip
IMPACTS = {"1": {"impact": -2, "why": "hurt"}, "2": {"impact": 0, "why": "routine"}}


def made(kind, server, value, **how):
    server.script = [chat(value if isinstance(value, str) else json.dumps(value))]
    return kind(llm_for(server), role="judge", **how)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_group_is_shown_at_once_with_its_reactions(server, language):
    model = made(LLMRewardModel, server, GOOD, language=language)
    verdict = model.compare(GROUP, 0)
    text = asked(server)
    words = ["Uone", "Aone", "Utwo", "1. Rfirst", "E0", "2. Rsecond", "E2"]
    places = [text.index(word) for word in words]
    assert places == sorted(places) and "Wname" not in text
    assert verdict.order == ((1,), (0, 2)) and verdict.scores == (4.0, 9.0, 4.0)
    assert verdict.critique == "Stay with the feeling."
    assert verdict.notes == ("too fast", "just so", "too cold")


def test_without_reactions_none_is_shown_and_a_card_only_if_given(server):
    model = made(LLMRewardModel, server, GOOD)
    model.compare(Comparison(TALK, GROUP.replies, None, make_card()), 0)
    text = asked(server)
    assert "E0" not in text and "Wname" in text


@pytest.mark.parametrize(
    "change",
    [
        {"order": [[2], [1]]}, {"order": [[2], [1, 3], [3]]},
        {"order": [[2], [1, 3], [4]]}, {"order": [2, 1, 3]}, {"order": [["2"], [1, 3]]},
        {"order": [[True], [2, 3]]}, {"scores": {"1": 4, "2": 9}}, {"critique": " "},
        {"scores": {"1": 4, "2": 90, "3": 4}}, {"notes": ["a", "b", "c"]},
    ],
)  # fmt: skip
def test_an_order_with_a_candidate_missing_double_or_strange_is_a_failure(
    server, change
):
    model = made(LLMRewardModel, server, GOOD | change)
    with pytest.raises(RoleFailure) as caught:
        model.compare(GROUP, 0)
    assert caught.value.outcome is Outcome.JUDGE_UNPARSEABLE


def test_words_around_the_answer_are_read_past_and_prose_alone_is_a_failure(server):
    fenced = f"Here it is:\n```json\n{json.dumps(GOOD)}\n```"
    assert made(LLMRewardModel, server, fenced).compare(GROUP, 0).order[0] == (1,)
    model = made(LLMRewardModel, server.reset(), "The second is best.")
    with pytest.raises(RoleFailure):
        model.compare(GROUP, 0)


def test_another_attempt_is_another_question(server):
    model = made(LLMRewardModel, server, GOOD)
    for attempt in (0, 0, 1):
        model.compare(GROUP, attempt)
    assert server.calls == 2


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_hindsight_judge_sees_the_whole_dialogue(server, language):
    judge = made(LLMImpactJudge, server, IMPACTS, language=language)
    assert judge.impacts(HELD, make_card()) == [(-2, "hurt"), (0, "routine")]
    text = asked(server)
    words = ["Wname", "Uone", "Aone", "Utwo", "Atwo", "Ulast"]
    assert [text.index(w) for w in words] == sorted(text.index(w) for w in words)


@pytest.mark.parametrize(
    "value",
    [
        {"1": IMPACTS["1"]}, IMPACTS | {"3": IMPACTS["2"]}, IMPACTS | {"2": 0},
        IMPACTS | {"2": {"impact": 3, "why": "x"}},
        IMPACTS | {"2": {"impact": 1, "why": ""}},
    ],
)  # fmt: skip
def test_impacts_that_leave_a_turn_out_are_a_failure(server, value):
    with pytest.raises(RoleFailure, match="hindsight judge|judge"):
        made(LLMImpactJudge, server, value).impacts(HELD, make_card())


def test_judges_are_made_only_for_models_that_are_named(server, monkeypatch):
    assert make_judges("", "", None) == (None, None)
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    both = make_judges("m", "n", None)
    assert both.reward_model.client is both.judge.client
    assert make_judges("m", "", None).judge is None
    described = both.reward_model.describe()
    assert described["model"]["model"] == "m" and described["prompts"]
    assert both.judge.describe()["model"]["model"] == "n"
