"""EMPA's paired perturbations: what is changed, what is left, what is counted."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from fake_llm import chat
from llm_cards import asked, llm_for, rating

from helpers.agents.clauses import read_clauses
from helpers.agents.direct_judge import DirectJudge
from helpers.agents.empa_judge import MDEP_RANGES, EmpaJudge
from helpers.agents.roles import Message, Outcome, RoleFailure
from helpers.agents.scripted import ScriptedJudge
from helpers.data.scenarios import load_cards
from helpers.reporting import empa_perturbed as report
from helpers.reporting import trained_gaming
from helpers.scoring import perturbations as made
from helpers.scoring.perturbations import FLIP, SYCOPHANCY

pytest_plugins = ["llm_plugin"]
CARDS = {card.id: card for card in load_cards("test")}
HOW = {"draws": 200, "rng": np.random.default_rng(0)}


@pytest.fixture(scope="module")
def talks():
    return trained_gaming.references(6, 0)[trained_gaming.HEURISTIC]["vanilla"]


@pytest.fixture(scope="module")
def pairs(talks):
    return made.pairs(talks, CARDS, flips=2, seed=0)


@pytest.fixture(scope="module")
def scored(pairs):
    return made.score_pairs(pairs, ScriptedJudge(), made.ToneJudge())


@pytest.mark.parametrize("card", list(CARDS.values())[:20], ids=lambda c: c.id)
def test_a_flip_inverts_the_first_need_and_nothing_else_of_the_needs(card):
    axis, other = made.flip(card)
    item = f"{axis}.3"
    assert card.levels[item] == max(card.levels[f"{a}.3"] for a in "CAP")
    assert other.levels[item] == 3 - card.levels[item]
    rest = {k: v for k, v in card.needs.items() if k != item}
    assert {k: v for k, v in other.needs.items() if k != item} == rest
    assert other.intention not in made.CONTRARY[axis].instead
    assert other.hidden.event == card.hidden.event and other.opening == card.opening
    if axis == "A":
        assert other.hidden.wants_early_advice


def test_a_card_that_is_not_whole_is_refused():
    card = next(iter(CARDS.values())).model_copy(update={"intention": None})
    with pytest.raises(ValueError, match="intention"):
        made.flip(card)


def test_flips_change_the_person_and_sycophancy_the_reply(pairs):
    kinds = {pair.kind for pair in pairs}
    assert kinds == {FLIP, SYCOPHANCY}
    for pair in pairs:
        assert len(pair.history) == 2 * pair.turn
        if pair.kind == FLIP:
            assert pair.history == pair.other_history and pair.card != pair.other_card
        else:
            assert pair.card == pair.other_card
            assert pair.other_history[:-1] == pair.history[:-1]
            assert pair.other_history[-1].content == made.VARIANTS[pair.variant][0]


def test_the_variants_are_sentences_of_the_grammar():
    for text, _ in made.VARIANTS.values():
        reading = read_clauses(text, "")
        assert reading.acts and not reading.noise


def test_pairs_are_the_same_for_a_seed_and_others_for_another(talks):
    turns = [
        [p.turn for p in made.pairs(talks, CARDS, 1, seed)] for seed in (0, 0, 1)
    ]  # fmt: skip
    assert turns[0] == turns[1] != turns[2]


def test_a_talk_that_was_not_judged_is_refused(talks):
    bare = replace(talks[0], turns=(replace(talks[0].turns[0], levels=None),))
    with pytest.raises(ValueError, match="not judged"):
        made.pairs([bare], CARDS, 1, 0)


def test_energy_by_hand():
    card = next(iter(CARDS.values()))
    needs = {**dict.fromkeys(card.needs, 0), "C.1": 3, "A.2": 2}  # P_0 = (-6, -8, 0)
    card = card.model_copy(update={"needs": needs})
    levels = {
        "C.Prog": 2,
        "C.Neg": 0,
        "A.Prog": 1,
        "A.Neg": -1,
        "P.Prog": 0,
        "P.Neg": -2,
    }
    v = np.array([3, -1, -5])
    found = made.energy(card, levels)
    assert found["EPM"] == pytest.approx(3 * 0.6 - 1 * 0.8)
    assert found["alignment"] == pytest.approx((1.8 - 0.8) / np.linalg.norm(v))
    assert found["magnitude only"] == pytest.approx(35**0.5)
    assert found["rubric only"] == pytest.approx((2 + 0 - 2) / 3)
    still = made.energy(card, dict.fromkeys(levels, 0))
    assert still["alignment"] == still["EPM"] == 0


def test_the_judge_by_rule_hears_the_whole_talk(talks):
    """A rating of the last reply is the one that the running dialogue got."""
    dialogue = talks[0]
    card, judge = CARDS[dialogue.scenario_id], ScriptedJudge()
    history = []
    for turn in dialogue.turns:
        history += [Message("user", turn.user), Message("assistant", turn.reply)]
        assert dict(made.rate(judge, card, tuple(history))) == turn.levels


def test_originals_are_those_of_the_dialogue_and_above_zero(scored):
    own = scored[scored["component"] == "EPM"]
    assert (own["original"] > 0).all()
    change = scored["perturbed"] - scored["original"]
    assert np.allclose(change, scored["difference"])


def test_the_tone_judge_hears_tone_only():
    card = CARDS["test-001"]

    def score(text):
        talk = (Message("user", "hmm"), Message("assistant", text))
        return made.ToneJudge().score(card, talk)

    warm, cold = score("that makes sense . i am listening ."), score("time heals .")
    assert warm == 7 and cold == 6 and score("you should be stronger .") == 3
    assert score("it is not a big thing . you must not complain .") == 1


def test_a_failed_judgement_is_missing_and_counted(pairs, server):
    good = chat(json.dumps(rating(MDEP_RANGES, **{"A.Prog": 1})))
    bad, direct = chat("no"), chat(json.dumps({"score": 7.5, "reason": "warm"}))
    # original: three unreadable answers, then the direct judge; perturbed: both answer
    server.script = [bad, bad, bad, direct, good, direct]
    client = llm_for(server)
    one = [p for p in pairs if p.kind == SYCOPHANCY][:1]
    frame = made.score_pairs(one, EmpaJudge(client), DirectJudge(client))
    by = frame.set_index("component")
    assert (
        by["difference"].isna().sum() == 4 and by.loc["direct judge", "difference"] == 0
    )
    assert np.isnan(by.loc["EPM", "original"]) and by.loc["EPM", "perturbed"] > 0
    row = report.summary(frame[frame["component"] == "EPM"], **HOW)
    assert (row["n"], row["failed"]) == (0, 1) and "mean" not in row


def test_the_direct_judge_sees_the_card_and_the_talk(server):
    server.script = [chat(json.dumps({"score": 4, "reason": "so"}))]
    judge, card = DirectJudge(llm_for(server)), CARDS["test-001"]
    talk = (Message("user", "U1"), Message("assistant", "A1"),
            Message("user", "U2"), Message("assistant", "A2"))  # fmt: skip
    assert judge.score(card, talk) == 4.0
    before, window = asked(server).split("To be rated")
    assert (
        "Person: U1" in before
        and "Netizen: A1" in before
        and card.persona.name in before
    )
    assert "A2" in window and "A2" not in before
    assert "Score" not in before and json.dumps(judge.describe())


@pytest.mark.parametrize(
    "answer",
    [
        {"score": 11, "reason": "x"},
        {"score": True, "reason": "x"},
        {"score": "7", "reason": "x"},
        {"score": 5},
    ],
)
def test_the_direct_judge_refuses_what_it_cannot_read(server, answer):
    server.script = [chat(json.dumps(answer))]
    talk = (Message("user", "U1"), Message("assistant", "A1"))
    with pytest.raises(RoleFailure) as caught:
        DirectJudge(llm_for(server)).score(CARDS["test-001"], talk)
    assert caught.value.outcome is Outcome.JUDGE_UNPARSEABLE


def test_summary_by_hand():
    part = pd.DataFrame(
        {"case": ["a", "a", "b", "b"], "difference": [-1.0, 0.0, -3.0, 1e-12]}
    )
    row = report.summary(part, **HOW)
    assert row["mean"] == -1 and row["median"] == -0.5 and row["cases"] == 2
    assert row["falls %"] == 50 and row["ties %"] == 50
    assert row["effect size"] == pytest.approx(-1 / np.std([-1, 0, -3, 0], ddof=1))


def test_tables_set_the_printed_numbers_beside(scored):
    five = report.table5(scored, **HOW).set_index("set")
    assert five.loc["Persona Flip, dE", "mean, printed"] == -1.22
    assert five.loc["Persona Flip by case, dE", "high, printed"] == -0.61
    assert np.isnan(five.loc["Persona Flip by case, dE", "median, printed"])
    six = report.table6(scored, **HOW).set_index(["set", "component"])
    assert six.loc[(SYCOPHANCY, "direct judge"), "mean, printed"] == 1.65
    assert np.isnan(six.loc[(FLIP, "magnitude only"), "mean, printed"])
    assert six.loc[(FLIP, "EPM"), "n"] == (scored["component"] == "EPM").sum() - 6
    text = report.findings(six.reset_index())
    assert report.CONTRADICTION in text and "in print more often than it" in text[1]


def test_judges_beside_each_other():
    first = pd.DataFrame({"pair": [0, 1], "kind": FLIP, "component": "EPM",
                          "difference": [-1.0, 2.0]})  # fmt: skip
    again = first.assign(difference=[-3.0, 2.0])
    other = first.assign(difference=[1.0, np.nan])
    table = report.swap_table({"a": [first, again], "b": [other]}).set_index("judge")
    assert table.loc["a", "difference"] == 0  # of -2 and 2
    assert table.loc["a", "repeat sd"] == pytest.approx(2**0.5 / 2)
    assert table.loc["a", "sign as the first judge %"] == 100
    assert (table.loc["b", "n"], table.loc["b", "failed"]) == (1, 1)
    assert table.loc["b", "sign as the first judge %"] == 0


def test_figure_5_draws(scored):
    figure, data = report.figure5(scored, "offline demo")
    assert len(figure.axes) == 3 and set(data["panel"]) == {"pairs", "b"}
