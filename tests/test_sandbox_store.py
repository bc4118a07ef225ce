"""The record and its append-only store. Runs in about 2 s."""

import errno
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from helpers.sandbox import store as store_module
from helpers.sandbox.dialogue import Dialogue, Failure, RecordError, Turn
from helpers.sandbox.store import (
    DialogueStore,
    DuplicateDialogue,
    SettingsChanged,
    StoreBusy,
    read_dialogues,
    settings_diff,
    settings_hash,
)

FIXTURES = Path(__file__).parent / "fixtures"
SETTINGS = {"policy": {"name": "p", "temperature": 1.0}, "turns": 8}
HASH = settings_hash(SETTINGS)


def dialogue(case="a", repeat=0, **changes) -> Dialogue:
    turn = Turn(
        1, "hello “you”", "réponse\nline two", emotion_before=40, emotion_after=45,
        levels={"C.Prog": 1}, position=(-3.0, -2.0, -1.0), reward=0.5,
        acts=("question",), thought={"Content": "ok"},
    )  # fmt: skip
    fields = dict(
        scenario_id=case, repeat=repeat, seed=3, settings_hash=HASH, turns=(turn,),
        ending="timeout", ended_by="limit", decided_turn=1, initial_emotion=40,
        initial_position=(-4.0, -2.0, -1.0),
    )  # fmt: skip
    return Dialogue(**fields | changes)


FAILED = dict(
    ending="error", ended_by="failure", failure=Failure("judge", "api_error", "down")
)


def test_a_record_survives_the_round_trip():
    one = dialogue(successes={"epm": 1}, closing="bye")
    assert Dialogue.from_json(one.to_json()) == one
    assert "\n" not in one.to_json()


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"ending": "fine"}, "ending 'fine'"),
        ({"ending": "error"}, "an error has a failure"),
        ({"failure": Failure("judge", "api_error", "x")}, "an error has a failure"),
        ({"turns": (Turn(2, "x"),)}, "turns are not 1, 2"),
    ],
)
def test_a_record_that_contradicts_itself_is_refused(changes, message):
    with pytest.raises(RecordError, match=message):
        dialogue(**changes)


def test_a_failure_has_no_score():
    failed = dialogue(**FAILED)
    assert failed.final_emotion is None and failed.final_position is None
    assert dialogue().final_emotion == 45
    assert dialogue().final_position == (-3.0, -2.0, -1.0)


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda d: d.update(schema_version=99), "schema version 99"),
        (lambda d: d.pop("schema_version"), "schema version None"),
        (lambda d: d.update(mood=1), "no field 'mood'"),
        (lambda d: d.pop("seed"), "seed"),
        (lambda d: d["turns"][0].update(mood=1), "no field 'mood'"),
    ],
)
def test_other_schemas_are_named(change, message):
    data = json.loads(dialogue().to_json())
    change(data)
    with pytest.raises(RecordError, match=message):
        Dialogue.from_json(json.dumps(data))


def test_fixtures_of_schema_1_load():
    loaded = list(read_dialogues(FIXTURES / "dialogues_v1.jsonl"))
    assert [d.scenario_id for d in loaded] == ["fixture-1", "fixture-2"]
    assert loaded[0].turns[0].position == (-12.0, -14.0, -13.0)
    assert loaded[1].failure.outcome == "judge_unparseable"
    assert loaded[1].final_emotion is None


def test_appended_dialogues_are_read_back(tmp_path):
    path = tmp_path / "deep" / "run.jsonl"
    with DialogueStore(path, SETTINGS) as store:
        store.append(dialogue("a"))
        store.append(dialogue("b", repeat=1))
        assert len(store) == 2
    assert [d.key for d in read_dialogues(path)] == [("a", 0, 0), ("b", 1, 0)]


def test_a_key_is_stored_once(tmp_path):
    path = tmp_path / "run.jsonl"
    with DialogueStore(path, SETTINGS) as store:
        store.append(dialogue())
        with pytest.raises(DuplicateDialogue):
            store.append(dialogue())
        with pytest.raises(DuplicateDialogue):  # done: no second attempt either
            store.append(dialogue(attempt=1))
    with DialogueStore(path, SETTINGS) as store, pytest.raises(DuplicateDialogue):
        store.append(dialogue())
    line = path.read_text()
    path.write_text(line + line)
    with pytest.raises(RecordError, match="line 2: .* already on line 1"):
        list(read_dialogues(path))


def test_a_failed_dialogue_may_be_tried_again_and_the_last_attempt_counts(tmp_path):
    path = tmp_path / "run.jsonl"
    with DialogueStore(path, SETTINGS) as store:
        store.append(dialogue(**FAILED))
        with pytest.raises(DuplicateDialogue):
            store.append(dialogue())
        store.append(dialogue(attempt=1))
        assert store.attempt("a", 0) == (1, False)
    (only,) = read_dialogues(path)
    assert only.attempt == 1 and only.failure is None


@pytest.mark.parametrize("keep", [1, 40, -3, -1])
def test_a_torn_last_line_is_cut_and_reported(tmp_path, keep, caplog):
    path = tmp_path / "run.jsonl"
    with DialogueStore(path, SETTINGS) as store:
        store.append(dialogue("a"))
        first = path.stat().st_size
        store.append(dialogue("b"))
    whole = path.read_bytes()
    torn = whole[: first + keep] if keep > 0 else whole[:keep]
    path.write_bytes(torn)
    lost_only_the_line_end = keep == -1
    known = ["a", "b"] if lost_only_the_line_end else ["a"]
    assert [d.scenario_id for d in read_dialogues(path)] == known
    with DialogueStore(path, SETTINGS) as store:
        assert store.torn_bytes == (0 if keep == -1 else len(torn) - first)
        if keep != -1:
            assert "torn" in caplog.text
            store.append(dialogue("b"))
        store.append(dialogue("c"))
    assert [d.scenario_id for d in read_dialogues(path)] == ["a", "b", "c"]


def test_a_bad_line_in_the_middle_is_an_error_with_its_place(tmp_path):
    path = tmp_path / "run.jsonl"
    with DialogueStore(path, SETTINGS) as store:
        store.append(dialogue("a"))
    path.write_bytes(b'{"half": \n' + path.read_bytes())
    with pytest.raises(RecordError, match="run.jsonl, line 1"):
        list(read_dialogues(path))
    with pytest.raises(RecordError, match="run.jsonl, line 1"):
        DialogueStore(path, SETTINGS)


def test_other_settings_are_refused_with_a_diff(tmp_path):
    path = tmp_path / "run.jsonl"
    with DialogueStore(path, SETTINGS) as store:
        store.append(dialogue())
    other = {"policy": {"name": "p", "temperature": 0.7}, "turns": 8}
    with pytest.raises(SettingsChanged, match=r"policy.temperature: 1.0 -> 0.7"):
        DialogueStore(path, other)
    assert len(list(read_dialogues(path))) == 1
    with DialogueStore(path, SETTINGS) as store:
        with pytest.raises(SettingsChanged):
            store.append(replace(dialogue("b"), settings_hash="0" * 16))


def test_a_store_without_its_settings_is_refused(tmp_path):
    path = tmp_path / "run.jsonl"
    with DialogueStore(path, SETTINGS) as store:
        store.append(dialogue())
    path.with_suffix(".settings.json").unlink()
    with pytest.raises(SettingsChanged, match="settings are not known"):
        DialogueStore(path, SETTINGS)


def test_settings_diff_names_what_came_and_went():
    assert settings_diff({"a": 1, "b": 2}, {"b": 3, "c": 4}) == [
        "a: 1 -> (absent)", "b: 2 -> 3", "c: (absent) -> 4",
    ]  # fmt: skip
    assert settings_hash({"a": 1, "b": 2}) == settings_hash({"b": 2, "a": 1})


def test_one_writer_at_a_time(tmp_path):
    path = tmp_path / "run.jsonl"
    with DialogueStore(path, SETTINGS):
        with pytest.raises(StoreBusy, match="another process"):
            DialogueStore(path, SETTINGS)
    DialogueStore(path, SETTINGS).close()


def test_a_full_disk_leaves_the_store_whole(tmp_path, monkeypatch):
    path = tmp_path / "run.jsonl"
    with DialogueStore(path, SETTINGS) as store:
        store.append(dialogue("a"))
        before = path.read_bytes()

        def full(_):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(store_module.os, "fsync", full)
        with pytest.raises(OSError):
            store.append(dialogue("b"))
        assert path.read_bytes() == before
        monkeypatch.undo()
        store.append(dialogue("b"))
    assert [d.scenario_id for d in read_dialogues(path)] == ["a", "b"]
