"""The free-text reader on the labelled sentences. About 1 s."""

from collections import Counter

import pytest

from helpers.agents.acts import ACTS, Act
from helpers.agents.free_text import (
    LABELLED,
    confusion,
    load_labelled,
    read_free_text,
    score,
    sentences,
)

ROWS = load_labelled()
HELD_OUT = [row for row in ROWS if row.part == "held-out"]


def kinds(text: str, user_line: str = "") -> list[str]:
    return [act.kind for act in read_free_text(text, user_line).acts]


def test_the_labelled_set_is_large_and_covers_every_act_in_every_style():
    assert len(ROWS) >= 300 and len({row.text for row in ROWS}) == len(ROWS)
    styles = Counter(row.style for row in ROWS)
    assert len(styles) >= 3 and min(styles.values()) >= 80
    for style in styles:
        seen = {act.kind for row in ROWS if row.style == style for act in row.acts}
        assert seen == set(ACTS), f"{style} lacks {set(ACTS) - seen}"


def test_macro_f1_on_the_whole_set():
    whole = score(ROWS)
    assert whole.n == len(ROWS) and whole.macro_f1 >= 0.80
    assert all(f1 is not None for f1 in whole.f1.values())


def test_the_held_out_style_is_read_worse_and_that_is_reported():
    """A style that the cues were not built on: measured 0.67, against 0.99 on dev."""
    held, dev = score(HELD_OUT), score([row for row in ROWS if row.part == "dev"])
    assert len(HELD_OUT) >= 80
    assert 0.55 <= held.macro_f1 < dev.macro_f1


def test_the_blind_spots_are_where_the_docstring_says():
    right = Counter()
    for row in ROWS:
        if row.trap:
            read = set(kinds(row.text))
            right[row.trap, read == {act.kind for act in row.acts}] += 1
    assert {trap for trap, _ in right} == {"negation", "polite", "sarcasm"}
    measured = {t: right[t, True] for t in ("negation", "polite", "sarcasm")}
    assert measured == {"negation": 7, "polite": 2, "sarcasm": 2}, "see the docstring"


def test_the_confusion_table_accounts_for_every_label():
    table = confusion(ROWS)
    for kind in ACTS:
        labelled = sum(kind in {act.kind for act in row.acts} for row in ROWS)
        assert sum(n for (true, _), n in table.items() if true == kind) == labelled
    assert table["reflect", "reflect"] > table["reflect", "-"]


def test_scores_by_hand(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(
        "id,style,part,trap,acts,text\n"
        "1,s,dev,,name:sad,You must feel sad.\n"  # read rightly
        "2,s,dev,,lecture,Stop whining.\n"  # read rightly
        "3,s,dev,,lecture,You must feel sad.\n"  # missed, and a false name
        "4,s,dev,,dismiss,The cat sat on the mat.\n"  # missed
    )
    scores = score(load_labelled(path))
    assert scores.f1["name"] == 2 / 3 and scores.f1["lecture"] == 2 / 3
    assert scores.f1["dismiss"] == 0 and scores.f1["advise"] is None
    assert scores.macro_f1 == pytest.approx((2 / 3 + 2 / 3 + 0) / 3)
    assert scores.slots == 1


def test_an_unknown_label_is_named(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("id,style,part,trap,acts,text\n1,s,dev,,hug:sad,x\n")
    with pytest.raises(ValueError, match="line 2: no act 'hug:sad'"):
        load_labelled(path)
    assert LABELLED.name == "acts.csv"


def test_several_acts_and_slots_of_one_reply():
    reading = read_free_text(
        "So they blamed you for the exam. You must be really sad! What happened next?",
        "it is about the exam",
    )
    assert reading.acts == (
        Act("reflect", "blamed", "exam"), Act("name", "sad"), Act("question"),
    )  # fmt: skip
    assert not reading.noise and not reading.echo and len(reading.parts) == 3


@pytest.mark.parametrize(
    "text",
    [
        "", "   ", "!!!", "xqz vvk prr lmn", "sad guilty blamed courage call exam angry",
        "walk call write plan ask", "maybe walk call write plan ask", "rest",
        "sorrow envy honesty loyalty", "lonely ignored exam friend family",
    ],
)
def test_what_is_no_language_is_noise(text):
    reading = read_free_text(text, "")
    assert reading.noise and not reading.acts


def test_an_echo_of_the_user_is_seen_and_a_short_answer_is_none():
    line = "it is about the exam , i got blamed , i keep crying"
    assert read_free_text(line, line).echo
    assert read_free_text("It is about the exam, i got blamed.", line).echo
    assert not read_free_text("So you got blamed at the exam.", line).echo
    assert not read_free_text("I see.", line).echo


def test_negated_frames():
    assert kinds("It was not your fault.") == ["no_fault"]
    assert "dismiss" not in kinds("I am not saying that you are overreacting.")
    assert kinds("You should not be so sensitive.") == ["lecture"]


def test_typographic_apostrophes_and_case_do_not_matter():
    assert kinds("IT’S NOT YOUR FAULT") == kinds("it's not your fault") == ["no_fault"]


def test_sentences_keep_their_question_mark():
    assert sentences("So. What now? Fine") == ["so", "what now ?", "fine"]
