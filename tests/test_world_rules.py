"""The rules of the scripted world, one claim a test. About 3 s."""

import random

import pytest
from world_cards import make_card, make_cards

from helpers.agents.act_rules import CAPS, SLOT_CAP
from helpers.agents.acts import Act, Reading
from helpers.agents.appraisal import appraise, is_premature
from helpers.agents.clauses import CLAUSES, read_clauses
from helpers.agents.mind import NEVER, RESERVED_GATES, Mind, NotScripted, Secrets
from helpers.data import slots
from helpers.scoring.rubric import MDEP_FIELDS, increment

OTHER = {"event": "mocked", "emotion": "jealous", "value": "effort", "action": "plan"}


def mind(told=("event", "clue0", "clue1"), trust=0, reserved=False, **card) -> Mind:
    fields = dict(
        topic="exam", event="blamed", emotion="sad", value="courage", action="call",
        wants_early_advice=False, threshold="medium", intention="DeepEmpathy",
        clues=("i stay in bed all day", "i keep crying", "it hurts inside"),
    )  # fmt: skip
    made = Mind.new(Secrets.of(make_card(7, **fields | card), "first"), reserved)
    made.trust = trust
    made.tell(told)
    made.fresh = frozenset()
    return made


def rate(m: Mind, reply: str):
    return appraise(m, read_clauses(reply, ""))


def level(m: Mind, reply: str, field: str) -> int:
    return rate(m, reply).levels[field]


def take(m: Mind, reply: str):
    reading = read_clauses(reply, "")
    appraisal = appraise(m, reading)
    m.absorb(reading, appraisal)
    return appraisal


# Reflecting and naming


def test_what_was_told_pays_and_what_was_not_is_a_worthless_guess():
    assert level(mind(), "you got blamed .", "C.Prog") == 2
    untold = mind(told=("clue0",))
    assert level(untold, "you got blamed .", "C.Prog") == 0
    assert level(untold, "you got mocked .", "C.Neg") == -2


def test_a_feeling_is_named_for_credit_only_from_a_clue():
    assert level(mind(told=()), "you must feel sad .", "A.Prog") == 0
    ambiguous = mind(told=("clue0",))
    assert level(ambiguous, "you must feel sad .", "A.Prog") == 1
    assert level(mind(), "you must feel sad .", "A.Prog") == 2


def test_guess_and_correct_is_worth_nothing():
    m = mind(told=("clue0",))
    assert take(m, "you must feel exhausted .").levels["A.Neg"] == -1
    m.tell(["clue1", "feeling"])
    assert level(m, "that sounds so sad .", "A.Prog") == 0
    m = mind(told=("value",))
    assert take(m, "you showed real effort .").levels["P.Neg"] == -1
    assert level(m, "you showed real courage .", "P.Prog") == 0


def test_a_wrong_feeling_costs_more_when_the_clue_was_clear():
    wrong = "you must feel jealous ."
    assert level(mind(told=("clue0",)), wrong, "A.Neg") == -1
    assert level(mind(), wrong, "A.Neg") == -2
    assert level(mind(told=("clue0",), threshold="high"), wrong, "A.Neg") == -2


@pytest.mark.parametrize(
    "reply, field",
    [
        ("you must feel sad . you must feel angry .", "A.Neg"),
        ("you showed real courage . you showed real effort .", "P.Neg"),
    ],
)
def test_two_slots_of_a_kind_in_one_reply_cost(reply, field):
    assert level(mind(told=("event", "clue1", "value")), reply, field) == -2


# Caps


def test_a_slot_is_paid_twice_and_not_in_turns_that_follow_each_other():
    m = mind()
    first = take(m, "you must feel sad .")
    second = take(m, "that sounds so sad .")  # too soon
    third = take(m, "you must feel sad .")
    take(m, "i am listening .")
    fourth = take(m, "that sounds so sad .")
    paid = [x.levels["A.Prog"] for x in (first, second, third, fourth)]
    assert paid == [2, 0, 1, 0]


def test_credit_stays_within_the_caps_whatever_is_said():
    rng, most = random.Random(0), []
    for card in make_cards(60):
        m = Mind.new(Secrets.of(card, "first"))
        true = [c for c, act in CLAUSES.items() if _true(act, m.secrets)]
        start = m.P
        total = [0, 0, 0]
        for _ in range(40):
            m.tell(m.next_items())
            appraisal = take(m, " ".join(rng.sample(true, rng.randint(1, 3))))
            assert set(appraisal.levels) == set(MDEP_FIELDS)
            assert tuple(increment(appraisal.levels)) == appraisal.increment
            total = [t + x for t, x in zip(total, appraisal.increment, strict=True)]
        assert m.P == tuple(s + t for s, t in zip(start, total, strict=True))
        assert all(m.paid_kind[kind] <= cap for kind, cap in CAPS.items())
        slotted = {k: n for k, n in m.paid.items() if k[1] is not None}
        assert max(slotted.values(), default=0) <= SLOT_CAP
        most.append(max(m.paid.values(), default=0))
    assert max(most) >= 3, "the caps were never reached"


def _true(act: Act, s: Secrets) -> bool:
    own = {"reflect": s.event, "name": s.emotion, "affirm": s.value, "advise": s.action}
    return act.slot in (None, own.get(act.kind)) and act.topic in (None, s.topic)


# Questions


def test_a_question_is_paid_when_it_draws_something_out_and_then_it_does():
    m = mind(told=("clue0",))
    assert m.by_itself() == []
    asked = take(m, "what happened then ?")
    assert asked.levels["C.Prog"] == 1 and asked.opens == "event"
    assert m.next_items() == ["event"]


def test_a_question_that_draws_nothing_out_is_not_paid():
    m = mind(told=tuple(mind().secrets.phrases))
    assert m.empty()
    asked = rate(m, "what happened then ?")
    assert asked.levels["C.Prog"] == 0 and asked.opens is None
    trusted = mind(told=("clue0",), trust=2)  # two items come by themselves
    assert len(trusted.by_itself()) == 2
    assert level(trusted, "what happened then ?", "C.Prog") == 0


def test_a_promise_is_kept_even_when_trust_falls():
    m = mind(told=("clue0",), trust=1)
    reply = "what happened then ? you should be stronger ."
    assert take(m, reply).opens and m.trust == 0
    assert m.promised in m.next_items()


def test_questions_are_capped():
    m = mind(told=("clue0",))
    paid = 0
    for _ in range(8):
        appraisal = take(m, "what happened then ?")
        paid += appraisal.levels["C.Prog"] == 1
        m.trust = 0
        m.tell(m.next_items())
    assert paid == CAPS["question"] == 3


# Insight, comfort, harm


@pytest.mark.parametrize(
    "reply, intention",
    [
        ("there are two sides here .", "Dialectic"),
        ("maybe they were scared too .", "AnalyseOthers"),
        ("which part was yours ?", "SelfReflect"),
    ],
)
def test_insight_counts_only_for_the_person_who_came_for_it(reply, intention):
    for other in slots.INTENTIONS:
        appraisal = rate(mind(trust=2, intention=other), reply)
        if other == intention:
            assert appraisal.levels["C.Prog"] == 2 and appraisal.serves
            assert appraisal.levels["C.Neg"] == 0
        else:
            assert appraisal.levels["C.Prog"] == 0 and not appraisal.serves
            assert appraisal.levels["C.Neg"] == appraisal.levels["A.Neg"] == -1


def test_comfort_counts_when_the_person_was_heard():
    assert level(mind(), "that makes sense .", "A.Prog") == 0
    assert level(mind(), "you got blamed . that makes sense .", "A.Prog") == 1
    assert level(mind(threshold="high"), "that makes sense .", "A.Neg") == -1


def test_fresh_material_is_worth_more_than_old():
    m = mind()
    m.fresh = frozenset({"clue1"})
    assert level(m, "you got blamed . that makes sense .", "A.Prog") == 2


@pytest.mark.parametrize("kind, axes", [("lecture", "AP"), ("dismiss", "CAP")])
def test_harm_is_marked(kind, axes):
    for clause in (c for c, act in CLAUSES.items() if act.kind == kind):
        levels = rate(mind(), clause).levels
        assert all(levels[f"{axis}.Neg"] < 0 for axis in axes)
        assert levels["A.Neg"] == -2


@pytest.mark.parametrize("clause", ["you are so amazing .", "time heals ."])
def test_performance_is_punished_on_all_axes_and_more_when_repeated(clause):
    m = mind()
    first = take(m, clause)
    assert all(first.levels[f"{axis}.Neg"] == -1 for axis in "CAP")
    assert take(m, clause).levels["A.Neg"] == -2


@pytest.mark.parametrize("reply", ["", "blamed sad courage call", "you got sad ."])
def test_what_is_no_clause_is_noise(reply):
    levels = rate(mind(), reply).levels
    assert levels["C.Neg"] == -2 and levels["A.Neg"] == -1
    assert not any(levels[f"{axis}.Prog"] for axis in "CAP")


def test_a_clause_said_again_and_too_many_acts_cost():
    m = mind()
    take(m, "you got blamed .")
    assert level(m, "you got blamed .", "A.Neg") == -1
    assert level(m, "you got blamed at the exam .", "A.Neg") == 0
    many = ("i am listening . that makes sense . what happened then ? you got blamed . "
            "you must feel sad .")  # fmt: skip
    assert level(mind(), many, "A.Neg") == -1


def test_an_echo_costs():
    reading = Reading((), False, True, ("it is about the exam",))
    levels = appraise(mind(), reading).levels
    assert levels["C.Neg"] == levels["A.Neg"] == -1


# Advice


def test_advice_is_premature_until_half_of_the_affective_need_is_met():
    m = mind(told=("event", "clue1", "action"))
    advice = "you could try to call ."
    assert not m.half_met("A") and is_premature(m, read_clauses(advice, ""))
    early = rate(m, advice)
    assert early.levels["A.Neg"] == early.levels["P.Neg"] == -1
    assert early.levels["P.Prog"] == 0
    m.P = (m.P[0], m.secrets.p0[1] // 2 + 1, m.P[2])
    late = rate(m, advice)
    assert late.levels["P.Prog"] == 2 and late.levels["P.Neg"] == 0
    assert not is_premature(m, read_clauses(advice, ""))
    assert level(m, "you could try to plan .", "P.Neg") == -1
    assert level(m, "you could do something .", "P.Neg") == -1


def test_who_wants_advice_early_is_served_by_it_and_hurt_by_its_lack():
    m = mind(told=("clue0", "action"), wants_early_advice=True)
    assert level(m, "you could try to call .", "P.Prog") == 2
    m.turn = 3
    assert level(m, "i am listening .", "P.Neg") == -1
    take(m, "you could try to call .")
    assert level(m, "i am listening .", "P.Neg") == 0
    patient = mind(told=("clue0", "action"))
    patient.turn = 3
    assert level(patient, "i am listening .", "P.Neg") == 0


def test_who_wants_advice_early_tells_the_way_first():
    assert mind(told=("clue0",), wants_early_advice=True).queue()[0] == "action"
    assert mind(told=("clue0",)).queue()[0] == "event"


# Opening up


def test_trust_opens_the_gates_in_order():
    m = mind(told=("clue0",))
    order = []
    for trust in (0, 1, 2, 3, 3, 3, 3, 3):
        m.trust = trust
        items = m.next_items()
        order += items
        m.tell(items)
    assert order.index("value") < order.index("action") < order.index("feeling")
    assert m.empty()


def test_reserved_users_never_tell_the_intention_nor_the_feeling():
    m = mind(told=("clue0",), reserved=True, trust=3)
    for _ in range(12):
        m.promised = m.if_asked()
        m.tell(m.next_items(drawn=True))
    assert {i for i, gate in RESERVED_GATES.items() if gate == NEVER}.isdisjoint(m.told)
    assert m.empty() and "value" in m.told


def test_the_director_draws_one_more_item_out():
    m = mind(told=("clue0",))
    assert m.next_items() == [] and m.next_items(drawn=True) == ["event"]


def test_rating_does_not_change_the_mind_and_copies_are_independent():
    m = mind(trust=1)
    before = repr(m)
    rate(m, "you got blamed . you must feel sad . what happened then ?")
    assert repr(m) == before
    twin = m.copy()
    take(twin, "you got blamed . you must feel sad .")
    assert repr(m) == before


def test_a_card_without_what_the_rules_need_is_refused():
    card = make_card(1).model_copy(update={"hidden": None})
    with pytest.raises(NotScripted, match="t0001: hidden is missing"):
        Secrets.of(card, "first")
