"""Bad replies: the expected value or a typed error, never a default."""

import json

import pytest

from helpers.agents.json_repair import JsonProblem, read_json, split_think

VALUE = {"level": 2, "note": "fine, really", "list": [1, -2]}
PLAIN = json.dumps(VALUE)

GOOD = {
    "plain": PLAIN,
    "fenced": f"Here it is:\n```json\n{PLAIN}\n```\nHope this helps.",
    "fence without language": f"```\n{PLAIN}\n```",
    "after think text": f'<think>maybe {{"level": 0}}?</think>\n{PLAIN}',
    "closing think tag alone": f'so {{"level": 0}} then</think>{PLAIN}',
    "prose with a brace": "Use { and } with care. " + PLAIN,
    "trailing commas": '{"level": 2, "note": "fine, really", "list": [1, -2,], }',
    "the same twice": f"{PLAIN}\nThat is:\n{PLAIN}",
    "full width": "｛“level”：２，“note”：“fine, really”，“list”：［１，－２］｝",
    "full width, ASCII quotes": (
        '｛"level"：2，"note"："fine, really"，"list"：[1，-2]｝'
    ),
    "in a list of one": f"[{PLAIN}]",
    "white space": "\n\t" + json.dumps(VALUE, indent=4) + "\n",
}

BAD = {
    "nothing": ("", "none"),
    "prose": ("I would say two.", "none"),
    "cut in a string": ('{"level": 2, "note": "fi', "cut"),
    "cut after a field": ('{"level": 2, "note": "fine",', "cut"),
    "cut after an inner object": ('{"C.1": {"level": 2}, "C.2": {"lev', "cut"),
    "inside a cut thought": ('<think>so {"level": 2}', "none"),
    "two that differ": ('{"level": 1} or {"level": 2}', "ambiguous"),
    "field twice": ('{"level": 1, "level": 2}', "ambiguous"),
    "field twice, other type": ('{"level": 1, "level": true}', "ambiguous"),
    "missing comma": ('{"level": 2 "note": "x"}', "broken"),
    "missing value": ('{"level": , "note": "x"}', "broken"),
    "double comma": ('{"level": 2,, "note": "x"}', "broken"),
    "crossed brackets": ('{"list": [1, 2}', "broken"),
    "not a number": ('{"level": NaN}', "broken"),
    "bare word": ('{"level": two}', "broken"),
    "quote in a string": ('{"note": "he said "no" to me"}', "broken"),
    "inner object of a broken one": ('{"a": {"level": 2}, b: 3}', "broken"),
    "too long": ('{"a": 1}' + " " * 400_001 + "x", "long"),
}


@pytest.mark.parametrize("name", GOOD)
def test_expected_value(name):
    assert read_json(GOOD[name]) == VALUE


@pytest.mark.parametrize("name", BAD)
def test_typed_error(name):
    text, kind = BAD[name]
    with pytest.raises(JsonProblem) as caught:
        read_json(text)
    assert caught.value.kind == kind


@pytest.mark.parametrize("cut", range(1, len(PLAIN)))
def test_every_cut_is_an_error(cut):
    with pytest.raises(JsonProblem):
        read_json(PLAIN[:cut])


def test_full_width_text_inside_strings_is_kept():
    text = '{"note": "他说：“不，不是”，然后｛走｝了"}'
    assert read_json(text) == {"note": "他说：“不，不是”，然后｛走｝了"}


def test_ascii_quotes_inside_full_width_strings_are_kept():
    assert read_json('｛“note”：“he said "no"”｝') == {"note": 'he said "no"'}


def test_escapes_and_line_breaks_in_strings():
    text = '{"note": "a \\"b\\" \\\\ {c", "more": "x\ny"}'
    assert read_json(text) == {"note": 'a "b" \\ {c', "more": "x\ny"}


def _level(value: dict) -> int:
    if set(value) != {"level"}:
        raise ValueError(f"fields {sorted(value)}, asked for level")
    return value["level"]


def test_check_gives_the_value():
    assert read_json('{"level": 1}', _level) == 1


def test_check_selects_among_several():
    assert read_json('Template: {"field": 0}. Answer: {"level": 2}', _level) == 2
    with pytest.raises(JsonProblem) as caught:
        read_json('{"level": 1} {"level": 2} {"field": 0}', _level)
    assert caught.value.kind == "ambiguous"


def test_failed_check_is_typed():
    with pytest.raises(JsonProblem, match="asked for level") as caught:
        read_json('{"grade": 1}', _level)
    assert caught.value.kind == "invalid"


def test_many_braces_stay_quick():
    with pytest.raises(JsonProblem):
        read_json('{"' * 100_000)
    with pytest.raises(JsonProblem):
        read_json('{"a":' * 50_000 + "1" + "}" * 50_000)


def test_split_think():
    assert split_think("<think>a</think>b") == ("a", "b")
    assert split_think("<think>a</think>b<think>c</think>d") == ("a\nc", "bd")
    assert split_think("a</think>b") == ("a", "b")
    assert split_think("<think>a") == ("a", "")
    assert split_think("b") == ("", "b")


def test_signed_numbers_as_people_write_them():
    assert read_json('{"Change": +5}') == {"Change": 5}
    assert read_json('{"Change": \u22125}') == {"Change": -5}
    assert read_json('{"said": "+5 \u2212 3"}') == {"said": "+5 \u2212 3"}
