"""The card: schema, loading with clear errors, writing, needs, slots."""

import json
import os
from pathlib import Path

import pytest

from helpers.data import needs, slots
from helpers.data.scenarios import (
    SPLITS,
    Scenario,
    ScenarioError,
    card_line,
    load_cards,
    parse_card,
    split_path,
    validate,
    write_cards,
)
from helpers.data.strata import official_30_strata

FIXTURE = Path(__file__).parent / "fixtures" / "cards_schema1.jsonl"


@pytest.fixture
def record() -> dict:
    """A complete card as a plain dict, free to spoil."""
    return json.loads(FIXTURE.read_text(encoding="utf-8").splitlines()[0])


def spoil(record: dict, path: str, value) -> str:
    """The record as a line, with the field at a dotted path replaced."""
    *parents, last = path.split("/")
    target = record
    for parent in parents:
        target = target[parent]
    target[last] = value
    return json.dumps(record)


def test_a_file_of_schema_1_still_loads():
    own, bare = load_cards(FIXTURE)
    assert own.persona.name == "Test Person"
    assert own.hidden.emotion == "ashamed"
    assert bare.hidden is None and bare.levels is None
    assert (bare.difficulty, bare.dominant_axis, bare.attitude, bare.family) == (
        None, None, None, None,
    )  # fmt: skip


def test_round_trip_and_atomic_write(tmp_path, monkeypatch):
    cards = load_cards(FIXTURE)
    path = tmp_path / "cards.jsonl"
    write_cards(path, cards)
    assert load_cards(path) == cards
    before = path.read_bytes()

    def full(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="disk full"):
        write_cards(path, cards[:1])
    assert path.read_bytes() == before
    assert [item.name for item in tmp_path.iterdir()] == ["cards.jsonl"]


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        ("persona/age", "31", "persona.age"),
        ("persona/age", 3, "persona.age"),
        ("persona/name", "", "persona.name"),
        ("persona/nickname", "x", "persona.nickname"),
        ("threshold", "huge", "threshold"),
        ("intention", "Flattery", "intention"),
        ("category", "sports", "category"),
        ("needs/C.1", 4, "needs.C.1"),
        ("needs/C.1", 1.5, "needs.C.1"),
        ("needs", {"C.1": 1}, "needs"),
        ("priorities", {"C": "low"}, "priorities"),
        ("hidden/emotion", "hungry", "hidden.emotion"),
        ("hidden/wants_early_advice", "no", "hidden.wants_early_advice"),
        ("source/name", "web", "source.name"),
        ("split", "holdout", "split"),
    ],
)
def test_a_bad_field_is_named(record, path, value, field):
    line = spoil(record, path, value)
    with pytest.raises(ScenarioError, match=r"cards\.jsonl, line 7, field ") as caught:
        parse_card(line, "cards.jsonl, line 7")
    assert f"field {field}:" in str(caught.value)


@pytest.mark.parametrize("version", [0, 2, None, "1"])
def test_an_unknown_version_is_refused(record, version):
    with pytest.raises(ScenarioError, match="field schema_version"):
        parse_card(spoil(record, "schema_version", version), "f, line 1")


def test_broken_files_name_the_line(tmp_path):
    path = tmp_path / "bad.jsonl"
    good = FIXTURE.read_text(encoding="utf-8").splitlines()[0]
    path.write_text(good + "\n" + good[:50] + "\n")
    with pytest.raises(ScenarioError, match=r"bad\.jsonl, line 2: not JSON"):
        load_cards(path)
    path.write_text(good + "\n\n" + good + "\n")
    with pytest.raises(ScenarioError, match=r"line 3, field id: .* line 1"):
        load_cards(path)
    path.write_text("[1]\n")
    with pytest.raises(ScenarioError, match="a card is an object, not list"):
        load_cards(path)
    path.write_text("\n")
    with pytest.raises(ScenarioError, match="holds no card"):
        load_cards(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ScenarioError, match="not UTF-8"):
        load_cards(path)
    with pytest.raises(ScenarioError, match="no such file"):
        load_cards(tmp_path / "absent.jsonl")
    with pytest.raises(ScenarioError, match="train, tune, dev, test"):
        split_path("holdout")
    assert {split_path(split).stem for split in SPLITS} == set(SPLITS)


def test_validate_names_card_and_field(record):
    assert validate(Scenario.model_validate_json(json.dumps(record))) == []
    record["category"] = "health"
    record["opening"] = None
    record["story_phases"] = record["story_phases"][:3]
    record["hidden"]["clues"][1] = "i keep crying"
    record["persona"]["occupation"] = None
    record["reaction_rules"]["lifts"] = []
    problems = validate(Scenario.model_validate_json(json.dumps(record)))
    fields = [problem.split(": ")[:2] for problem in problems]
    assert fields == [
        ["old-001", "persona.occupation"],
        ["old-001", "opening"],
        ["old-001", "reaction_rules.lifts"],
        ["old-001", "story_phases"],
        ["old-001", "hidden.topic"],
        ["old-001", "hidden.clues.1"],
    ]


def test_a_card_is_immutable(record):
    card = Scenario.model_validate_json(json.dumps(record))
    with pytest.raises(ValueError, match="frozen"):
        card.threshold = "low"
    assert card_line(card).count("\n") == 0


def test_needs_agree_with_the_official_cases():
    rows = official_30_strata()
    assert len(rows) == 30
    for row in rows:
        assert needs.dominant_axis(row.levels) == row.axis, row.case
        assert needs.difficulty(row.levels) == row.difficulty, row.case
    norms = [needs.deficit_norm(row.levels) for row in rows]
    assert round(min(norms), 2) == 21.68 and round(max(norms), 2) == 39.77
    assert round(sum(norms) / 30, 2) == 32.19


def test_difficulty_cuts_on_hand_numbers(monkeypatch):
    for norm, grade in (
        (27.79, "Easy"), (27.80, "Medium"), (32.32, "Medium"), (32.33, "Hard"),
        (36.84, "Hard"), (36.85, "VeryHard"),
    ):  # fmt: skip
        monkeypatch.setattr(needs, "deficit_norm", lambda _, norm=norm: norm)
        assert needs.difficulty({}) == grade


def test_slots_are_complete_and_the_two_users_share_no_clue():
    sizes = {
        "TOPICS": 8, "EVENTS": 12, "EMOTIONS": 8, "VALUES": 6, "ACTIONS": 6,
        "INTENTIONS": 8,
    }  # fmt: skip
    for name, size in sizes.items():
        assert len(getattr(slots, name)) == size, name
    assert set(slots.TOPIC_DOMAINS) == set(slots.TOPICS)
    covered = {domain for some in slots.TOPIC_DOMAINS.values() for domain in some}
    assert covered == set(slots.DOMAINS)
    for word, emotion in slots.EMOTIONS.items():
        pair = slots.EMOTIONS[emotion.pair]
        assert pair.pair == word and pair.ambiguous == emotion.ambiguous
    clues = [e.ambiguous for e in slots.EMOTIONS.values()]
    clues += [e.clear for e in slots.EMOTIONS.values()]
    clues += [i.hints for i in slots.INTENTIONS.values()]
    for table in (slots.VALUES, slots.ACTIONS, slots.NEEDS):
        clues += table.values()
    first = {phrase for clue in clues for phrase in clue.first}
    second = {phrase for clue in clues for phrase in clue.second}
    assert not first & second
    assert len(second) >= len(first)
    for phrase in first | second:
        assert phrase == phrase.lower() and phrase.replace(" ", "").isalpha(), phrase
    clear = [p for e in slots.EMOTIONS.values() for p in e.clear.first]
    assert len(clear) == len(set(clear)), "a clear clue fits one emotion only"
