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
from helpers.agents.free_text_words import plain

ROWS = load_labelled()
HELD_OUT = [row for row in ROWS if row.part == "held-out"]
DEV = [row for row in ROWS if row.part == "dev"]


def kinds(text: str, user_line: str = "") -> list[str]:
    return [act.kind for act in read_free_text(text, user_line).acts]


def test_the_labelled_set_is_large_and_covers_every_act_in_every_style():
    assert len(ROWS) >= 300 and len({row.text for row in ROWS}) == len(ROWS)
    styles = Counter(row.style for row in ROWS)
    assert len(styles) >= 7 and min(styles.values()) >= 80
    held = {row.style for row in HELD_OUT}
    assert held == {"elder", "uncle"} and not held & {row.style for row in DEV}
    for style in styles:
        seen = {act.kind for row in ROWS if row.style == style for act in row.acts}
        assert seen == set(ACTS), f"{style} lacks {set(ACTS) - seen}"


def test_macro_f1_on_the_whole_set():
    whole = score(ROWS)
    assert whole.n == len(ROWS) and whole.macro_f1 >= 0.80
    assert all(f1 is not None for f1 in whole.f1.values())


@pytest.mark.parametrize(("style", "least"), [("elder", 0.80), ("uncle", 0.62)])
def test_a_held_out_style_is_read_worse_and_that_is_reported(style, least):
    """Styles that the cues were not built on: measured 0.87 and 0.69, dev 1.00."""
    rows = [row for row in HELD_OUT if row.style == style]
    assert len(rows) >= 80
    assert least <= score(rows).macro_f1 < score(DEV).macro_f1 - 0.05


def test_the_held_out_styles_together():
    """Measured 0.79 on 175 sentences, and 74 of 100 slots."""
    held = score(HELD_OUT)
    assert held.n >= 160 and held.macro_f1 >= 0.74 and 0.65 <= held.slots < 0.9


def test_the_blind_spots_are_where_the_docstring_says():
    right = Counter()
    for row in ROWS:
        if row.trap:
            read = set(kinds(row.text))
            right[row.trap, read == {act.kind for act in row.acts}] += 1
    assert {trap for trap, _ in right} == {"negation", "polite", "sarcasm"}
    measured = {t: right[t, True] for t in ("negation", "polite", "sarcasm")}
    assert measured == {"negation": 7, "polite": 5, "sarcasm": 3}, "see the docstring"


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
        "",
        "   ",
        "!!!",
        "xqz vvk prr lmn",
        "sad guilty blamed courage call exam angry",
        "walk call write plan ask",
        "maybe walk call write plan ask",
        "rest",
        "sorrow envy honesty loyalty",
        "lonely ignored exam friend family",
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


@pytest.mark.parametrize(
    "text",
    [
        "I see.",
        "Okay.",
        "The bus was late again this morning.",
        "It is Tuesday.",
        "I will send the file on Friday.",
        "My sister lives in Leeds.",
        "Thanks.",
        "Some people like coffee.",
        "He is the new coach.",
        "We have a meeting at noon.",
    ],
)
def test_talk_without_an_act_gives_none(text):
    assert kinds(text) == []


def test_an_apology_for_the_last_reply_tells_of_no_like_experience():
    assert kinds("I am sorry, I was too quick.") == kinds("I was wrong.") == []


def test_a_sentence_without_a_cue_is_read_by_its_form():
    assert kinds("And after that?") == ["question"]
    assert kinds("My boss fired me in the same way.") == ["disclose"]
    assert kinds("They gave the solo to another girl.") == ["reflect"]


def test_contractions_and_spoken_forms_are_written_out():
    assert plain("i can't, you're gonna see, it's ok") == (
        "i can not, you are going to see, it is ok"
    )
    assert plain("you're sad, aren't you ?") == "you are sad"


def test_negated_frames():
    assert kinds("It was not your fault.") == ["no_fault"]
    assert "dismiss" not in kinds("I am not saying that you are overreacting.")
    assert kinds("You should not be so sensitive.") == ["lecture"]


def test_typographic_apostrophes_and_case_do_not_matter():
    assert kinds("IT’S NOT YOUR FAULT") == kinds("it's not your fault") == ["no_fault"]


def test_sentences_keep_their_question_mark():
    assert sentences("So. What now? Fine") == ["so", "what now ?", "fine"]
