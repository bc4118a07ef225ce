"""Social scenarios: the bargain by rule, SOTOPIA's record, end rule and ratings."""

import json
from dataclasses import replace

import pytest
from fake_llm import chat
from hypothesis import given
from hypothesis import strategies as st
from llm_cards import asked, llm_for

from helpers.agents.roles import Outcome, RoleFailure
from helpers.agents.social import (
    MOVES,
    STYLES,
    Action,
    LLMPlayer,
    ScriptedPlayer,
    moves,
    read_move,
    say,
)
from helpers.agents.support_judge import SOTOPIA
from helpers.data.social import KINDS, SOCIAL, load_social
from helpers.sandbox import social
from helpers.sandbox.dialogue import Failure, RecordError
from helpers.scoring import sotopia

pytest_plugins = ["llm_plugin"]
SCENARIOS = {scenario.codename: scenario for scenario in load_social()}
BICYCLE, MOVING = SCENARIOS["used-bicycle"], SCENARIOS["moving-day"]
BEST = {name: high for name, (_, _, high) in SOTOPIA.items()}
WORST = {name: low for name, (_, low, _) in SOTOPIA.items()}


def talk(*said, scenario=BICYCLE):
    """An episode from (seat, action) pairs."""
    return social.SocialEpisode(
        scenario.codename, scenario.names, ("r", "a", "b"), said
    )


def test_scenarios_are_three_of_each_kind_and_differ(tmp_path):
    kinds = [scenario.kind for scenario in SCENARIOS.values()]
    assert sorted(kinds) == sorted(3 * KINDS) and len(SCENARIOS) == 9
    names = [name for scenario in SCENARIOS.values() for name in scenario.names]
    assert len(set(names)) == 18
    first = json.loads(SOCIAL.read_text().splitlines()[0])
    for wrong, words in (
        ({**first, "least": [90, 90]}, "amounts"),
        ({**first, "kind": "war"}, "kind"),
        ({**first, "colour": 1}, "line 1: field 'colour'"),
        ({k: v for k, v in first.items() if k != "wish"}, "line 1: field 'wish'"),
    ):
        path = tmp_path / "wrong.jsonl"
        path.write_text(json.dumps(wrong) + "\n")
        with pytest.raises(ValueError, match=words):
            load_social(path)


@given(st.sampled_from(sorted(MOVES)), st.integers(0, 10**6))
def test_every_move_is_read_back(move, n):
    takes = "{n}" in MOVES[move]
    assert read_move(say(move, n)) == (move, n if takes else None)
    assert read_move(Action("speak", say(move, n).argument + " Or so.")) is None


def test_actions_hold_words_or_none():
    for kind, words in (("speak", ""), ("leave", "bye"), ("shout", "hey")):
        with pytest.raises(ValueError, match="action"):
            Action(kind, words)
    with pytest.raises(ValueError, match="style"):
        ScriptedPlayer("sly")


# --- the end and the record -----------------------------------------------------------


def test_the_end_is_sotopias():
    none, words, leave = Action("none"), say("ask"), Action("leave")
    assert social.ending([]) is None
    assert social.ending([(0, words), (1, leave)]) == "leave"
    assert social.ending([(0, words), (1, none), (0, none)]) is None
    assert social.ending([(0, none), (1, none), (0, none)]) == "stale"
    assert social.ending([(i % 2, words) for i in range(19)]) is None
    assert social.ending([(i % 2, words) for i in range(20)]) == "limit"


@pytest.mark.parametrize("first", STYLES)
@pytest.mark.parametrize("second", STYLES)
def test_every_pair_ends_by_rule_and_its_record_comes_back(first, second):
    for scenario in SCENARIOS.values():
        players = ScriptedPlayer(first), ScriptedPlayer(second)
        made = social.play(scenario, players, (first, second), tag="t")
        assert social.ending(made.said) is not None and made.failure is None
        ratings = sotopia.rate_social(made, scenario)
        scored = made.rated([(r.overall, dict(r.scores)) for r in ratings])
        data = json.loads(social.to_json(scored))
        assert set(data) == set(social.FIELDS)
        assert social.from_log(data) == scored
        shares = sotopia.agreed(made, scenario)
        if shares is not None:
            assert sum(shares) in (scenario.total, scenario.total + scenario.bonus)


def test_a_failed_rating_is_null_and_a_bare_number_is_none():
    said = ((0, say("ask")), (1, Action("action", "shrugs")), (0, Action("leave")))
    made = talk(*said).rated([(1.0, BEST), None])
    data = json.loads(social.to_json(made))
    assert data["rewards"] == [[1.0, BEST], None]
    assert social.from_log({**data, "rewards": [0.0, None]}).rewards == (None, None)
    assert social.from_log(data).said == said
    for name in social.FIELDS:
        with pytest.raises(RecordError, match=name):
            social.from_log({k: v for k, v in data.items() if k != name})
    with pytest.raises(RecordError, match="no action"):
        social.from_log({**data, "messages": [[[made.agents[0], "E", "said hello"]]]})


def test_a_player_that_fails_gives_no_rating():
    class Broken:
        def act(self, scenario, seat, said):
            raise RoleFailure("policy", Outcome.REFUSED, "no")

    made = social.play(BICYCLE, (ScriptedPlayer("hard"), Broken()), ("hard", "x"))
    assert len(made.said) == 1 and made.failure.outcome == "refused"
    rated = sotopia.rate_social(made, BICYCLE)
    assert rated == (made.failure, made.failure)
    table = sotopia.rating_table([({"seat": 1}, r) for r in rated])
    assert table["failed"].all() and table[["GOAL", "overall"]].isna().all(axis=None)


# --- ratings --------------------------------------------------------------------------


def test_overall_is_the_plain_mean():
    assert sotopia.Rating(BEST).overall == pytest.approx(5.714286, abs=1e-6)
    assert sotopia.Rating(WORST).overall == pytest.approx(-4.285714, abs=1e-6)


@pytest.mark.parametrize("name", SOTOPIA)
def test_a_rating_is_whole_or_not_there(name):
    _, low, high = SOTOPIA[name]
    for wrong in (low - 1, high + 1, 0.5, None, "much", True):
        with pytest.raises(ValueError, match=name):
            sotopia.Rating({**BEST, name: wrong})
    with pytest.raises(ValueError, match=name):
        sotopia.Rating({k: v for k, v in BEST.items() if k != name})
    with pytest.raises(ValueError, match="charm"):
        sotopia.Rating({**BEST, "charm": 1})


def test_a_deal_by_hand():
    """120 to split; the first needs 40, wishes 80; the second 45 and 85."""
    made = talk((0, say("ask")), (1, say("tell", 45)), (0, say("offer", 70)),
                (1, say("threaten")), (0, say("offer", 70)), (1, say("accept")),
                (0, say("thank")), (1, Action("leave")))  # fmt: skip
    first, second = sotopia.rate_social(made, BICYCLE)
    assert sotopia.agreed(made, BICYCLE) == (70, 50)
    # Way (70 - 40) / 40 = 0.75 and (50 - 45) / 40 = 0.125; half up.
    assert first.short() == {
        "BEL": 8, "REL": 2 + 1 - 3, "KNO": 10, "SEC": 0, "SOC": 0, "FIN": 4,
        "GOAL": 8, "overall": pytest.approx(30 / 7),
    }  # fmt: skip
    assert second.short() == {
        "BEL": 10, "REL": 0, "KNO": 0, "SEC": -10, "SOC": -3, "FIN": 1, "GOAL": 1,
        "overall": pytest.approx(-1 / 7),
    }  # fmt: skip


def test_nonsense_lowers_believability_and_a_deal_below_the_least_costs():
    made = talk((0, say("accept")), (1, say("offer", 115)), (0, say("accept")),
                (1, Action("speak", "Moo.")), (0, Action("leave")))  # fmt: skip
    first, second = sotopia.rate_social(made, BICYCLE)
    # Accepting nothing (3) and saying the same again (2); one sentence that is none.
    assert first.scores["believability"] == 5 and second.scores["believability"] == 7
    assert sotopia.agreed(made, BICYCLE) == (5, 115)
    assert first.scores["financial_and_material_benefits"] == -4
    assert first.scores["goal"] == 0 and second.scores["goal"] == 10


def test_the_bonus_comes_when_both_have_told():
    told = (0, say("tell", 5)), (1, say("tell", 6))
    deal = (0, say("offer", 8)), (1, say("accept")), (0, Action("leave"))
    assert sotopia.agreed(talk(*told, *deal, scenario=MOVING), MOVING) == (8, 8)
    assert sotopia.agreed(talk(told[0], *deal, scenario=MOVING), MOVING) == (8, 4)
    with pytest.raises(ValueError, match="moving-day"):
        sotopia.rate_social(talk(*deal), MOVING)


# --- models ---------------------------------------------------------------------------


def test_a_model_plays_and_sees_its_own_goal_only(server):
    server.script = [
        chat('{"action_type": "speak", "argument": "Hello."}'),
        chat('```json\n{"action_type": "action", "argument": "waves",}\n```'),
        chat('{"action_type": "leave", "argument": ""}'),
    ]
    player = LLMPlayer(llm_for(server), role="policy")
    made = social.play(BICYCLE, (player, player), ("m", "m"))
    kinds = [action.kind for _, action in made.said]
    assert kinds == ["speak", "action", "leave"] and not moves(made.said)
    text = asked(server, 1)
    assert BICYCLE.goals[1] in text and BICYCLE.goals[0] not in text
    assert f"{BICYCLE.names[0]}: Hello." in text
    json.dumps(player.describe())


@pytest.mark.parametrize(
    "answer",
    ["hello", '{"action_type": "sing", "argument": "la"}',
     '{"action_type": "speak", "argument": ""}', '{"argument": "x"}'],
)  # fmt: skip
def test_an_unreadable_action_ends_the_talk_without_rating(server, answer):
    server.script = [chat(answer)]
    player = LLMPlayer(llm_for(server))
    made = social.play(BICYCLE, (player, player), ("m", "m"))
    assert isinstance(made.failure, Failure) and made.said == ()


def test_a_record_needs_two_agents():
    data = json.loads(social.to_json(talk((0, Action("leave")))))
    with pytest.raises(RecordError, match="two agents"):
        social.from_log({**data, "agents": ["one"]})
    assert replace(talk(), tag="x").tag == "x"
