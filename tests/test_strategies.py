"""Strategies, expression level, five capabilities, the map of social cognition."""

from dataclasses import dataclass, replace
from functools import cache
from math import log
from random import Random

import pytest
from world_cards import make_card, make_cards

from helpers.agents.acts import ACTS
from helpers.agents.audit import gamers
from helpers.agents.calibration import (
    GROUPS,
    STRATEGIES,
    expression,
    mixed_set,
)
from helpers.agents.clauses import CLAUSES, read_clauses
from helpers.agents.free_text import read_free_text
from helpers.agents.lines import GRAMMARS
from helpers.agents.mind import NotScripted, Secrets
from helpers.agents.policies import Heuristic, Line
from helpers.agents.scripted import CHALLENGING, SECOND, VANILLA, ScriptedUser
from helpers.sandbox.dialogue import Dialogue, Failure, Turn
from helpers.sandbox.episode import RunSettings, run_one
from helpers.sandbox.run import dialogue_seed
from helpers.scoring.capabilities import CAPABILITIES, capabilities, capability_table
from helpers.scoring.social_cognition import place
from helpers.scoring.strategies import (
    OF_ACT,
    OUTSIDE,
    RULE,
    RuleTagger,
    Tagged,
    contribution,
    early_advice,
    frequency,
    strategies_of,
)

CARDS = {card.id: card for card in make_cards(16)}
ASHAMED = make_card(
    7, topic="exam", event="blamed", emotion="sad", value="courage", action="call",
    intention="DeepEmpathy", wants_early_advice=False,
)  # fmt: skip


def talk(*turns, card="t0007", **fields) -> Dialogue:
    """A dialogue of (reply, emotion before, emotion after[, user line])."""
    made = tuple(
        Turn(i, line[0] if line else "it is hard", reply, emotion_before=before,
             emotion_after=after)
        for i, (reply, before, after, *line) in enumerate(turns, 1)
    )  # fmt: skip
    ending = {"ending": "timeout", "ended_by": "limit", "decided_turn": len(made)}
    return Dialogue(card, 0, 0, "x", made, **(ending | fields))


def failed(dialogue: Dialogue) -> Dialogue:
    failure = Failure("user", "api_error", "made to fail")
    return replace(dialogue, ending="error", ended_by="failure", failure=failure)


@cache
def play(policy, temper=VANILLA) -> list[Dialogue]:
    user, rules = ScriptedUser(temper), RunSettings.sage()
    return [
        run_one(card, policy, user, None, None, rules, dialogue_seed(1, card.id, 0),
                run_hash="x")
        for card in CARDS.values()
    ]  # fmt: skip


ONE = talk(
    ("you got blamed at the exam . you must feel sad .", 40, 50),
    ("that makes sense . i felt that once too .", 50, 55),
    ("you could try to call . maybe rest a little .", 55, 45),
)
TWO = talk(("what happened then ?", 40, 45))


# Tags


def test_every_act_has_a_name_and_every_name_a_row():
    assert set(OF_ACT) == set(ACTS)
    assert tuple(n for members in GROUPS.values() for n in members) == (*STRATEGIES,)
    assert not set(OUTSIDE) & set(STRATEGIES)
    unseen = set(STRATEGIES) - set(OF_ACT.values()) - {"agreeing self-disclosure"}
    assert unseen == set(RULE.blind)


def test_tags_of_replies():
    def tags(reply):
        return strategies_of(read_clauses(reply, "x"))

    assert tags("i felt that once too .") == ("own story",)
    assert tags("i felt that once too . that makes sense .") == (
        "agreeing self-disclosure", "praise of thoughts",
    )  # fmt: skip
    assert tags("time heals . you should be stronger .") == ("platitude or lecture",)
    assert tags("") == tags("exam sad .") == ("none",)


def test_the_calibration_set_is_read_as_what_it_was_made_for():
    for probe in mixed_set(list(CARDS.values())):
        tags = strategies_of(read_clauses(probe.reply, ""))
        blame = "lifting of blame" in tags  # one of the calibration's insights
        if probe.strategy not in RULE.blind and not blame:
            assert probe.strategy in tags, probe


# Frequency and contribution


def test_frequency_by_hand():
    table = frequency(Tagged.of([ONE, failed(ONE), TWO]))
    shares = {"Deep Empathy": 2, "Praise": 1, "Advice Provision": 1, "question": 1,
              "Emotional Venting": 0, "none": 0, "restating": 1}  # fmt: skip
    for name, replies in shares.items():
        assert table.loc[name, "share"] == replies / 4, name
    assert table.loc["Deep Empathy", "count"] == 3 / 2
    assert table.loc["Advice Provision", "count"] == 1 / 2  # two steps, one strategy
    assert table.loc["agreeing self-disclosure", "count"] == 1 / 2
    assert set(table["failed"]) == {1} and set(table["untagged"]) == {0}
    assert set(table["replies"]) == {4} and set(table["dialogues"]) == {2}


def test_what_is_not_known_is_missing_and_not_zero():
    table = frequency(Tagged.of([ONE]))
    assert table.loc[list(RULE.blind), ["share", "count"]].isna().all(axis=None)
    assert table.loc["Praise", "share"] == 1 / 3  # by the strategies that are seen
    nothing = frequency(Tagged.of([failed(ONE)]))
    assert nothing[["share", "count"]].isna().all(axis=None)
    assert contribution(Tagged.of([]))["change"].isna().all()


def test_contribution_by_hand():
    table = contribution(Tagged.of([ONE, failed(ONE), TWO]))
    changes = {"Deep Empathy": 7.5, "hidden intention": 10, "Praise": 5,
               "Advice Provision": -10, "question": 5}  # fmt: skip
    for name, change in changes.items():
        assert table.loc[name, "change"] == change, name
    assert table.loc["Deep Empathy", "n"] == 2
    unused = table.loc["Emotional Venting"]
    assert unused["n"] == 0 and unused["change"] != unused["change"]
    assert set(table["failed"]) == {1}


def test_turns_without_tags_or_emotion_are_left_out_and_counted():
    @dataclass
    class Tags:
        blind = ()

        def tag(self, dialogue):
            return [None, *[("restating",)] * (len(dialogue.turns) - 1)]

    table = frequency(Tagged.of([ONE], Tags()))
    assert set(table["untagged"]) == {1} and set(table["replies"]) == {2}
    assert table.loc["restating", "share"] == 1
    assert table.loc["help to vent", "share"] == 0  # this tagger would have seen it
    mute = talk(("i am listening .", None, None), ("i am listening .", 40, 45))
    table = contribution(Tagged.of([mute]))
    assert tuple(table.loc["willing to listen", ["change", "n"]]) == (5, 1)
    assert set(table["left_out"]) == {1}
    assert set(contribution(Tagged.of([ONE], Tags()))["left_out"]) == {1}


def test_free_english_needs_the_other_reader():
    said = talk(("You could call your sister tonight.", 40, 35))
    assert frequency(Tagged.of([said])).loc["none", "share"] == 1
    free = frequency(Tagged.of([said], RuleTagger(read_free_text)))
    assert free.loc["specific advice", "share"] == 1


def test_early_advice_by_hand():
    advice = ("maybe rest a little .", 40, 35)
    kind = ("i am listening .", 40, 45)
    some = [talk(advice, kind, advice, advice), talk(kind), failed(ONE)]
    found = early_advice(Tagged.of(some))
    assert (found.advising, found.early_advising, found.early) == (3, 1, 3)
    assert found.share_of_advice == found.share_of_early_replies == 1 / 3
    assert early_advice(Tagged.of([])).share_of_advice is None
    assert early_advice(Tagged.of([TWO])).share_of_early_replies == 0


def test_in_the_world_advice_costs_and_empathy_pays():
    table = contribution(Tagged.of(play(Heuristic(0.8, 0.6))))
    assert table.loc["Advice Provision", "change"] < 0
    assert table.loc["platitude or lecture", "change"] < 0
    assert table.loc["Deep Empathy", "change"] > 2


# Expression level


@pytest.mark.parametrize("temper", [VANILLA, CHALLENGING, SECOND], ids=lambda t: t.name)
def test_expression_is_measured_from_the_text(temper):
    def level(frankness):
        kind = replace(temper, frankness=frankness, weights=temper.weights)
        user, rules = ScriptedUser(kind), RunSettings.sage()
        return expression(
            (run_one(card, Heuristic(0.9, 0.85), user, None, None, rules, seed,
                     run_hash="x") for card in CARDS.values() for seed in range(4)),
            temper.grammar,
        )  # fmt: skip

    shown, lines = level(temper.frankness)
    error = (temper.frankness * (1 - temper.frankness) / lines) ** 0.5
    assert lines > 200 and abs(shown / lines - temper.frankness) < 3.5 * error
    shown, lines = level(1.0)
    assert shown == lines
    assert level(0.0)[0] == 0


def test_expression_by_hand():
    said = talk(
        ("x", 40, 45, "it is about the exam , yes maybe"),  # an opening: not counted
        ("x", 45, 40, "yes maybe , i keep crying"),  # rose, and shows it
        ("x", 40, 35, "yes exactly , it hurts inside"),  # fell, and says the contrary
        ("x", 35, 35, "ok , it is still hard"),  # fell, and hides it
        ("x", 35, 40, "no , it is still hard"),  # no change: not counted
        ("x", 40, 45, "what do you mean , it is still hard"),  # rose, confused
    )
    assert expression([said, failed(said)], "first") == (2, 4)


@pytest.mark.parametrize("name", GRAMMARS)
def test_no_news_reads_like_a_reaction(name):
    reactions = set(GRAMMARS[name].reactions.values())
    for card in CARDS.values():
        assert not reactions & set(Secrets.of(card, name).phrases.values())
    assert GRAMMARS[name].masked not in reactions
    assert GRAMMARS[name].filler not in reactions


# Five capabilities


def test_capabilities_by_hand():
    known = "it is about the exam , i got blamed , i keep crying"
    good = talk(
        ("you got blamed . you must feel sad . that makes sense .", 40, 50, known),
        ("you got blamed . you showed real courage .", 50, 60,
         "yes , i still went alone"),
        ("you showed real courage . you could try to call .", 60, 70,
         "i saved their number"),
        ("i am here with you .", 70, 70, "yes , nobody feels this with me"),
    )  # fmt: skip
    assert capabilities(good, ASHAMED) == pytest.approx({
        "Empathic Depth": 1 + 4 * (1 + 1 / 4 + 1) / 3,
        "Core Insight": 1 + 4 * (1 + 1 + 1) / 3,
        "Solution Crafting": 1 + 4 * 3 / 3,
        "Dialogue Guidance": 1 + 4 * (3 / 8 + 3 / 4 + 30 / 60) / 3,
        # due: event and feeling, value, intention (not answered); 2 of 3 repeat
        "Style Adaptability": 1 + 4 * (2 / 3) * (2 - 2 / 3) / 2,
    })  # fmt: skip
    flawed = replace(good, turns=(
        *good.turns[:2],
        replace(good.turns[2], reply="you could try to call . maybe rest a little ."),
        replace(good.turns[3], reply="time heals ."),
    ))  # fmt: skip
    after = capabilities(flawed, ASHAMED)
    assert after["Solution Crafting"] == 1  # two steps offered: none is this person's
    assert after["Empathic Depth"] == pytest.approx(1 + 4 * 0.75 * (1 + 1 / 4 + 1) / 3)


def test_capabilities_rule_by_rule():
    def score(name, *turns, card=ASHAMED):
        return capabilities(talk(*turns), card)[name]

    early = make_card(
        7, topic="exam", action="call", intention="Advice", wants_early_advice=True
    )
    at_once = ("you could try to call .", 40, 45)
    assert score("Solution Crafting", at_once) == 1
    assert score("Solution Crafting", at_once, card=early) == 1 + 4 * 2 / 3
    stays = [("i am listening .", 90, 100), ("i am listening .", 100, 100)]
    falls = [("i am listening .", 90, 100), ("i am listening .", 100, 95)]
    assert score("Dialogue Guidance", *stays) == pytest.approx(1 + 4 * 2 / 3)
    assert score("Dialogue Guidance", *falls) == pytest.approx(
        1 + 4 * (1 / 2 + 1 / 2) / 3
    )
    right, wrong = "you got blamed at the exam .", "you got blamed at the money ."
    assert score("Core Insight", (right, 40, 45)) == pytest.approx(1 + 4 / 3)
    assert score("Core Insight", (wrong, 40, 45)) == 1
    assert score("Core Insight", ("the exam is a lot .", 40, 45)) == 1  # not the event


def test_constants_and_gamers_do_not_pass_for_a_listener():
    listener = capability_table(play(Heuristic()), CARDS)[list(CAPABILITIES)].mean()
    assert (listener > 3.3).all()
    lines = {
        "lecture": Line("you should be stronger ."),
        "naming": Line("you must feel sad ."),
        "comfort": Line("i am here with you . that makes sense ."),
    }
    for name, policy in (gamers() | lines).items():
        table = capability_table(play(policy), CARDS)[list(CAPABILITIES)].mean()
        assert (table < 2.2).all() and (table < listener - 1).all(), (name, table)


def test_more_care_and_skill_score_higher():
    ladder = [
        capability_table(play(Heuristic(s, s)), CARDS)[list(CAPABILITIES)].mean().mean()
        for s in (0.2, 0.6, 0.8, 0.9, 1.0)
    ]
    assert ladder == sorted(ladder) and ladder[-1] - ladder[0] > 2


WRONG = {"got blamed": "got mocked", "sad": "angry", "courage": "effort",
         "to call": "to walk"}  # fmt: skip
OWN = ("you got blamed .", "you must feel sad .", "you showed real courage .",
       "you could try to call .", "that makes sense .")  # fmt: skip


def any_talk(r: Random) -> Dialogue:
    """A dialogue with card ASHAMED: any clauses, any path of the emotion."""
    phrases = sorted(Secrets.of(ASHAMED, "first").phrases.values())
    turns, emotion = [], 40
    for _ in range(r.randint(1, 6)):
        clauses = r.choice((OWN, sorted(CLAUSES)))
        reply = " ".join(r.choices(clauses, k=r.randint(0, 4)))
        after = emotion + r.choice((-5, 5))
        line = " , ".join(["yes", *r.sample(phrases, r.randint(0, 2))])
        turns.append((reply, emotion, after, line))
        emotion = after
    return talk(*turns)


def with_turn(dialogue, at, **changes) -> Dialogue:
    turns = list(dialogue.turns)
    turns[at] = replace(turns[at], **changes)
    return replace(dialogue, turns=tuple(turns))


def test_capabilities_are_bounded_and_monotone():
    """A true act made wrong everywhere, or a hollow clause added anywhere, raises no
    score; a rise in place of a fall lowers none. 300 dialogues."""
    seen = set()
    for seed in range(300):
        r = Random(seed)
        dialogue = any_talk(r)
        before = capabilities(dialogue, ASHAMED)
        seen.update(before.values())
        assert tuple(before) == CAPABILITIES
        assert all(1 <= score <= 5 for score in before.values())
        wrong = hollow = higher = dialogue
        at = r.randrange(len(dialogue.turns))
        for i, turn in enumerate(dialogue.turns):
            reply = turn.reply
            for own, other in WRONG.items():
                reply = reply.replace(own, other)
            wrong = with_turn(wrong, i, reply=reply)
            if i == at:
                more = r.choice(("time heals .", "you should be stronger ."))
                hollow = with_turn(hollow, i, reply=f"{turn.reply} {more}")
            low, high = turn.emotion_before, turn.emotion_after
            if i >= at:  # the path from this turn on, 10 points higher
                higher = with_turn(higher, i, emotion_before=low + 10 * (i > at),
                                   emotion_after=high + 10)  # fmt: skip
        for worse, better in (
            (wrong, dialogue),
            (hollow, dialogue),
            (dialogue, higher),
        ):
            low, high = (capabilities(d, ASHAMED) for d in (worse, better))
            assert all(low[n] <= high[n] + 1e-12 for n in CAPABILITIES), seed
    assert len(seen) > 100


def test_failures_are_no_scores_and_errors_speak():
    assert capabilities(failed(ONE), ASHAMED) is None
    table = capability_table([failed(ONE), ONE], {"t0007": ASHAMED})
    assert table[list(CAPABILITIES)].isna().all(axis=1).tolist() == [True, False]
    with pytest.raises(ValueError, match="dialogue t0007 with the card t0001"):
        capabilities(ONE, make_card(1))
    with pytest.raises(ValueError, match="needs a user with an emotion"):
        capabilities(talk(("i am listening .", None, None)), ASHAMED)
    with pytest.raises(NotScripted, match="hidden"):
        capabilities(ONE, ASHAMED.model_copy(update={"hidden": None}))


# The map


def where(dialogues):
    return place(Tagged.of(dialogues))


def test_place_by_hand():
    found = where([ONE, failed(ONE)])
    # uses: restating, hidden intention; praise of thoughts, agreeing; advice
    shares = (1 / 5, 3 / 5, 1 / 5)
    evenness = -sum(p * log(p) for p in shares) / log(5)
    assert found.y == pytest.approx(5 * (4 - 1) / 5)
    assert found.x == pytest.approx(5 * (2 * (evenness + 1) / 2 - 1))  # nothing shared
    assert (found.n, found.failed, found.untagged) == (1, 1, 0)


def test_corners_of_the_map():
    advice = where(play(Line("maybe rest a little .")))
    assert (advice.x, advice.y) == (-5, -5)
    comfort = where(play(Line("i am listening .")))
    assert (comfort.x, comfort.y) == (-5, 5)
    empty = where(play(Line("time heals .")))
    assert empty.x is empty.y is None and empty.n == len(CARDS)
    once = where([talk(("i am listening .", 40, 45))])
    assert once.x is None and once.y == 5
    apart = [talk(("i am listening .", 40, 45)), TWO]
    assert where(apart).x is None  # no step from one dialogue to the next
    listener, careless = where(play(Heuristic())), where(play(Heuristic(1.0, 0.2)))
    assert listener.y > 2 > careless.y


def test_places_are_on_the_map():
    r = Random(0)
    found = [where([any_talk(r) for _ in range(r.randint(0, 4))]) for _ in range(100)]
    assert all(v is None or -5 <= v <= 5 for at in found for v in (at.x, at.y))
    assert len({at.x for at in found}) > 50
