"""Ten fields by rule, preference with the order swapped, and the form for people."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from helpers.agents.policies import Heuristic, Line
from helpers.agents.support_judge import HARBOR
from helpers.data.scenarios import load_cards
from helpers.learning.worlds import make_world
from helpers.reporting import human_preference as people
from helpers.sandbox.dialogue import Failure
from helpers.sandbox.episode import run_one
from helpers.scoring import harbor, preference, sotopia

CARDS = {card.id: card for card in load_cards("test")[:6]}
WORLD = make_world("empa", "vanilla")


def held(policy):
    return [run_one(card, policy, WORLD.user, WORLD.judge, None, WORLD.settings, 5,
                    run_hash="fake") for card in CARDS.values()]  # fmt: skip


@pytest.fixture(scope="module")
def good():
    return held(Heuristic(skill=1.0, care=1.0))


@pytest.fixture(scope="module")
def bad():
    return held(Line("you should be stronger ."))


def broken(dialogue):
    failure = Failure("user", "api_error", "made to fail")
    return replace(dialogue, ending="error", ended_by="failure", failure=failure)


def rng():
    return np.random.default_rng(0)


# --- ratings by rule ------------------------------------------------------------------


def test_fields_are_in_range_and_tell_care_from_lectures(good, bad):
    for dialogue in good + bad:
        fields = harbor.harbor(dialogue, CARDS[dialogue.scenario_id])
        assert set(fields) == {*HARBOR, "overall"} and set(harbor.RULES) == set(HARBOR)
        assert all(1 <= value <= 5 for value in fields.values())
        tens = [fields[name] for name in HARBOR]
        assert fields["overall"] == pytest.approx(sum(tens) / 10)
    one, two = (harbor.harbor_table(rows, CARDS) for rows in (good, bad))
    assert (one["overall"].to_numpy() > two["overall"].to_numpy() + 1).all()
    # The same lecture every time: hollow throughout, fresh only once in ten.
    assert (two["plain"] == 1).all() and two["fresh"].max() <= 1 + 4 / 2
    failed = harbor.harbor_table([broken(good[0])], CARDS)
    assert failed["failed"].all() and failed["overall"].isna().all()


def test_pace_needs_advice_when_it_is_wanted_early(good):
    early = next(c for c in load_cards("test") if c.hidden.wants_early_advice)
    late = next(c for c in load_cards("test") if not c.hidden.wants_early_advice)
    for card, kept_back in ((early, 1), (late, 5)):
        told = run_one(card, Line("i am listening ."), WORLD.user, WORLD.judge, None,
                       WORLD.settings, 1, run_hash="x")  # fmt: skip
        fields = harbor.harbor(told, card)
        assert fields["pace"] == kept_back and fields["step"] == 1


def test_seven_dimensions_of_a_supporter_by_rule(good, bad):
    rated = [
        [sotopia.rate_support(d, CARDS[d.scenario_id]).short() for d in rows]
        for rows in (good, bad)
    ]
    one, two = (pd.DataFrame(rows) for rows in rated)
    assert (one["overall"] > two["overall"]).all()
    assert set(one["SEC"]) | set(one["FIN"]) == {0}
    lectures = [len(dialogue.turns) for dialogue in bad]
    assert two["SOC"].tolist() == [-min(10, 2 * n) for n in lectures]
    # One sentence over and over makes sense once.
    assert two["BEL"].tolist() == [int(10 / n + 0.5) for n in lectures]
    bare = replace(good[0], initial_position=None)
    with pytest.raises(ValueError, match="judge"):
        sotopia.rate_support(bare, CARDS[bare.scenario_id])
    assert (
        set(sotopia.SUPPORT_RULES)
        == set(sotopia.SOCIAL_RULES)
        == set(sotopia.SHORT.values())
    )


# --- preference -----------------------------------------------------------------------


class Says:
    def __init__(self, *answers):
        self.answers = list(answers)

    def prefer(self, first, second, card):
        return self.answers.pop(0)


@pytest.mark.parametrize("answers, outcome", [
    (("first", "second"), "win"), (("second", "first"), "loss"),
    (("tie", "tie"), "tie"), (("first", "first"), "swayed"),
    (("second", "second"), "swayed"), (("first", "tie"), "swayed"),
])  # fmt: skip
def test_only_what_survives_the_swap_counts(good, bad, answers, outcome):
    card = CARDS[good[0].scenario_id]
    assert preference.compare(good[0], bad[0], card, Says(*answers)) == outcome
    with pytest.raises(ValueError, match="no choice"):
        preference.compare(good[0], bad[0], card, Says("A", "B"))
    with pytest.raises(ValueError, match="with the card"):
        preference.compare(good[0], bad[1], card, Says(*answers))


def test_preferences_by_rule_and_failures(good, bad):
    pairs = [*zip(good, bad, strict=True), (broken(good[0]), bad[0])]
    table = preference.preferences(pairs, CARDS, preference.RuleChooser())
    assert table["outcome"].tolist() == ["win"] * 6 + ["failed"]
    assert table["worth"].tolist()[:6] == [1.0] * 6 and np.isnan(table["worth"][6])
    same = preference.preferences(
        zip(good, good, strict=True), CARDS, preference.RuleChooser()
    )
    assert (same["outcome"] == "tie").all() and (same["worth"] == 0.5).all()
    assert set(preference.WORTH) | {"failed"} == set(preference.OUTCOMES)


# --- the form for people --------------------------------------------------------------


def test_the_form_hides_who_is_who(good, bad):
    form, key = people.blank_form({"RAPO": good, "GRPO": [broken(bad[0]), *bad[1:]]},
                                  rng())  # fmt: skip
    assert len(form) == len(key) == 5 and form["better"].isna().all()
    text = form.to_csv()
    assert "RAPO" not in text and "GRPO" not in text
    assert not any(case in text for case in CARDS), "the case is in the key only"
    lecture = "you should be stronger"
    for row, told in zip(form.to_dict("records"), key.to_dict("records"), strict=True):
        assert {told["A"], told["B"]} == {"RAPO", "GRPO"}
        shown = "A" if told["A"] == "GRPO" else "B"
        assert row[f"talk {shown}"].count(lecture) > 1
    assert key["A"].nunique() == 2, "the place is drawn"
    assert key["case"].tolist() != sorted(key["case"]), "the order is drawn"
    again, _ = people.blank_form({"RAPO": good, "GRPO": [broken(bad[0]), *bad[1:]]},
                                 rng())  # fmt: skip
    assert again.equals(form)
    with pytest.raises(ValueError, match="two are compared"):
        people.blank_form({"RAPO": good}, rng())
    with pytest.raises(ValueError, match="no case"):
        people.blank_form({"RAPO": good[:1], "GRPO": bad[1:]}, rng())


def filled(choices):
    """Forms of raters who choose "RAPO", "GRPO" or "tie" for items 1, 2, ..."""
    n = len(next(iter(choices.values())))
    key = pd.DataFrame(
        [(i + 1, f"c{i}", *(("RAPO", "GRPO") if i % 2 else ("GRPO", "RAPO")))
         for i in range(n)], columns=["item", "case", "A", "B"])  # fmt: skip
    rows = []
    for rater, said in choices.items():
        for row, choice in zip(key.to_dict("records"), said, strict=True):
            better = "tie" if choice == "tie" else "A" if row["A"] == choice else "B"
            rows.append({"item": row["item"], "rater": rater, "better": better})
    return pd.DataFrame(rows), key


def test_the_analysis_by_hand():
    form, key = filled({"r1": ["RAPO", "RAPO", "tie", "GRPO"],
                        "r2": ["RAPO", "tie", "tie", "GRPO"]})  # fmt: skip
    got = people.analyse(form, key, "RAPO", 500, rng())
    assert (got["win"], got["tie"], got["loss"]) == (3, 3, 2)
    assert (got["raters"], got["items"]) == (2, 4)
    assert got["share"] == pytest.approx((1 + 0.75 + 0.5 + 0) / 4)
    assert got["low"] < got["share"] < got["high"]
    # Alpha of (1, 1, 0, -1) and (1, 0, 0, -1): one pair differs by 1. Observed 2/8;
    # expected 2 (n sum x^2 - (sum x)^2) / (n (n - 1)) = 2 (8 * 5 - 1) / 56.
    assert got["alpha"] == pytest.approx(1 - (2 / 8) / (2 * 39 / 56))
    other = people.analyse(form, key, "GRPO", 500, rng())
    assert other["share"] == pytest.approx(1 - got["share"])
    assert (other["win"], other["loss"]) == (got["loss"], got["win"])


def test_an_unfilled_or_odd_form_is_refused(good, bad):
    form, key = people.blank_form({"RAPO": good, "GRPO": bad}, rng())
    how = {"of": "RAPO", "draws": 50, "rng": rng()}
    with pytest.raises(ValueError, match="6 of 6 rows are not filled"):
        people.analyse(form, key, **how)
    with pytest.raises(ValueError, match="not filled"):
        people.analyse(form[:0], key, **how)
    done = form.assign(rater="r", better="A")
    assert people.analyse(done, key, **how)["alpha"] is None
    for wrong, words in (
        (done.assign(better="C"), "better = 'C'"),
        (pd.concat([done, done]), "twice"),
        (done.assign(item=done["item"] + 1), "not in the key"),
        (done.assign(better=[None, *["A"] * 5]), "1 of 6"),
    ):
        with pytest.raises(ValueError, match=words):
            people.analyse(wrong, key, **how)
    with pytest.raises(ValueError, match="MAPO"):
        people.analyse(done, key, **{**how, "of": "MAPO"})
