"""The judge of RLVER's analyses: what it is shown, what it returns, typed failures."""

import json
from dataclasses import replace

import pytest
from fake_llm import chat
from llm_cards import asked, llm_for, make_card

from helpers.agents.calibration import STRATEGIES
from helpers.agents.ledger import Budget
from helpers.agents.roles import Outcome, RoleFailure, RunStopped
from helpers.agents.strategy_judge import (
    CAPABILITIES,
    CODES,
    EXPRESSION,
    TEMPLATES,
    StrategyJudge,
)
from helpers.agents.templates import FOLDER
from helpers.sandbox.dialogue import Dialogue, Failure, Turn
from helpers.scoring.strategies import Tagged, contribution, frequency

pytest_plugins = ["llm_plugin"]

THOUGHT = {"Activity": "Tmind", "Analyse": "Tfelt"}
TALK = Dialogue(
    "card-1", 0, 0, "x",
    (
        Turn(1, "U1", "Reply1", thought=THOUGHT, emotion_before=40, emotion_after=50),
        Turn(2, "U2", "Reply2", thought=THOUGHT, emotion_before=50, emotion_after=45),
        Turn(3, "U3", "Reply3", emotion_before=45, emotion_after=50),
    ),
    "timeout", "limit", 3, closing="U4",
)  # fmt: skip
BROKEN = replace(
    TALK, ending="error", ended_by="failure", failure=Failure("user", "refused", "no")
)
LEVELS = dict(zip(CAPABILITIES, (1, 2, 3, 4, 5), strict=True))
RATED = {
    name: {"level": level, "evidence": "words", "reasoning": "so"}
    for name, level in LEVELS.items()
}
AT = {"portrait": "A friend.", "x": -2.5, "y": 3}


def answers(*values):
    return [chat(v if isinstance(v, str) else json.dumps(v)) for v in values]


def judge(server, *values, **how) -> StrategyJudge:
    server.script = answers(*values)
    return StrategyJudge(llm_for(server), **how)


def test_codes_name_the_eleven_strategies_and_prompts_show_them():
    assert list(CODES.values()) == list(STRATEGIES)
    assert list(CODES) == "A1 A2 A3 B1 B2 B3 B4 C1 C2 D1 E1".split()
    for language in ("en", "zh"):
        text = (FOLDER / f"rlver_strategies.{language}.md").read_text()
        assert all(f"- {code} " in text for code in CODES)
        text = (FOLDER / f"rlver_capabilities.{language}.md").read_text()
        assert all(f"- {name}" in text for name in CAPABILITIES)
        text = (FOLDER / f"rlver_expression.{language}.md").read_text()
        assert all(f"- {name}" in text for name in EXPRESSION)


def test_each_reply_is_tagged_with_what_went_before(server):
    tags = judge(server, {"codes": ["B1", "D1"]}, {"codes": []}, {"codes": ["E1"]})
    assert tags.tag(TALK) == [
        ("restating", "specific advice"), ("none",), ("problem analysis",),
    ]  # fmt: skip
    assert server.calls == 3
    before, rest = asked(server, 1).split("# The reply to sort")
    assert "1. Person: U1\n2. Assistant: Reply1\n3. Person: U2" in before
    assert "Reply2" in rest and "Reply2" not in before and "Reply3" not in rest
    json.dumps(tags.describe())


def test_an_unreadable_tag_is_missing_and_the_tables_count_it(server):
    refusing = judge(
        server, {"codes": ["B1"]}, {"codes": ["Z9"]}, {"codes": ["Z9"]},
        {"codes": ["Z9"]}, {"codes": ["B1"]},
    )  # fmt: skip
    tagged = Tagged.of([TALK, BROKEN], refusing)
    assert [tags for _, tags in tagged.turns] == [("restating",)] * 2
    table = frequency(tagged)
    assert table.loc["restating", "share"] == 1
    assert table.loc["help to vent", "share"] == 0
    assert set(table["untagged"]) == set(table["failed"]) == {1}
    assert contribution(tagged).loc["restating", "change"] == 7.5


@pytest.mark.parametrize(
    "answer",
    [
        "B1",
        {"codes": "B1"},
        {"codes": ["B1", "B1"]},
        {"codes": ["restating"]},
        {"codes": [["B1"]]},
        {"codes": [1]},
        {"tags": ["B1"]},
    ],
)
def test_tags_that_cannot_be_read(server, answer):
    assert judge(server, answer).tag(TALK) == [None, None, None]


def test_a_stopped_run_is_not_taken_for_a_missing_tag(server):
    server.script = answers({"codes": ["B1"]})
    stopping = StrategyJudge(llm_for(server, budget=Budget(max_attempts=1)))
    with pytest.raises(RunStopped):
        stopping.tag(TALK)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_capabilities_of_the_whole_talk(server, language):
    rating = judge(server, RATED, language=language)
    assert rating.capabilities(TALK) == LEVELS
    text = asked(server)
    assert all(word in text for word in ("U1", "Reply1", "Reply3", "7. ", "U4"))
    assert ("Assistant: Reply1" in text) is (language == "en")
    assert rating.capabilities(BROKEN) is None and server.calls == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"Core Insight": {"level": 6, "evidence": "e", "reasoning": "r"}},
        {"Core Insight": {"level": 0, "evidence": "e", "reasoning": "r"}},
        {"Core Insight": {"level": 2.5, "evidence": "e", "reasoning": "r"}},
        {"Core Insight": {"level": 2, "evidence": "", "reasoning": "r"}},
        {"Core Insight": 3},
        {"Warmth": {"level": 3, "evidence": "e", "reasoning": "r"}},
    ],
)
def test_capabilities_that_cannot_be_read_are_a_typed_failure(server, wrong):
    with pytest.raises(RoleFailure) as caught:
        judge(server, RATED | wrong).capabilities(TALK)
    assert caught.value.outcome is Outcome.JUDGE_UNPARSEABLE
    assert caught.value.role == "judge" and server.calls == 3
    missing = {k: v for k, v in RATED.items() if k != "Style Adaptability"}
    with pytest.raises(RoleFailure, match="Style Adaptability is missing"):
        judge(server.reset(), missing).capabilities(TALK)


def test_place_is_the_mean_of_three_answers(server):
    shares = {"restating": 0.25, "help to vent": float("nan")}
    placing = judge(server, AT, AT | {"x": -2, "y": 4}, AT | {"x": -1.5, "y": 3.5})
    assert placing.place(shares, [TALK, BROKEN]) == (-2.0, 3.5)
    assert server.calls == 3
    text = asked(server)
    assert "restating: 25 %" in text and "help to vent" not in text
    assert text.count("Person: U1") == 1
    assert placing.place(shares, [TALK]) == (-2.0, 3.5) and server.calls == 3
    with pytest.raises(ValueError, match="no dialogue"):
        placing.place(shares, [BROKEN])


@pytest.mark.parametrize(
    "wrong", [{"x": 5.5}, {"y": "high"}, {"y": True}, {"x": None}, {"portrait": ""}]
)
def test_a_place_off_the_map_is_a_typed_failure(server, wrong):
    with pytest.raises(RoleFailure) as caught:
        judge(server, AT, AT | wrong).place({"restating": 1.0}, [TALK])
    assert caught.value.outcome is Outcome.JUDGE_UNPARSEABLE


def test_expression_rates_the_line_against_the_thoughts_before_it(server):
    full = dict(zip(EXPRESSION, (10, 7, 0, 6), strict=True))
    rating = judge(server, full, full | {"overall": 11})
    assert rating.expression(TALK, make_card()) == [full, None]
    text = asked(server, 0)
    assert "Activity: Tmind\nAnalyse: Tfelt" in text and "# The line\nU2" in text
    assert "sincere praise" in text and "Reply1" not in text


def test_prompts_are_part_of_the_description(server):
    described = judge(server, AT).describe()
    assert described["language"] == "en" and len(described["prompts"]) == 12
    assert len(TEMPLATES) == len(set(TEMPLATES)) == 4
