"""Importers: label formats on small own examples, counts on the releases."""

import json
from collections import Counter

import pytest
from release_folder import release

from helpers.data import importers
from helpers.data.importers import ImportReport, import_empa, import_sage
from helpers.data.intentions import MARKS, UnknownIntention, intention_key
from helpers.data.scenarios import ScenarioError, load_cards, validate, write_cards
from helpers.data.strata import official_30_strata

# Label dresses as they occur; the texts after the label are the kit's own.
DRESSES = {
    "[优先级：高] 甲": "high",
    "[优先级-中] 甲": "medium",
    "[优先级低] 甲": "low",
    "[优先级【中】 + 甲]": "medium",
    "[优先级等级：高] 甲": "high",
    "[高优先级] 甲": "high",
    "[中等优先级 | 甲]": "medium",
    "[低优先级 - 甲]": "low",
    "[中级] 甲": "medium",
    "[高 + 甲]": "high",
    "[高。甲]": "high",
    "【高】甲": "high",
    "【最高优先级】甲": "high",
    "【优先级：极高】甲": "high",
    "【中优】甲": "medium",
    "高优先级 + 甲": "high",
    "最低。甲": "low",
    "较高优先级 + 甲": "high",
    "中等，甲": "medium",
    "高（甲）": "high",
    "优先级【低】，甲": "low",
    "优先级：中。甲": "medium",
    "高 | 甲": "high",
    "低 - 甲": "low",
}


def read_lines(*texts: str):
    report = ImportReport()
    lines = [
        f"  - {axis}共情：{text}" for axis, text in zip("情动认", texts, strict=True)
    ]
    named = [
        line.replace("情共", "情感共")
        .replace("动共", "动机共")
        .replace("认共", "认知共")
        for line in lines
    ]
    block = "当下共情需求优先级：\n" + "\n".join(named)
    return importers._priorities("case", block, report), report


@pytest.mark.parametrize(("text", "level"), DRESSES.items())
def test_priority_labels(text, level):
    levels, report = read_lines(text, "[高] 乙", "[低] 丙")
    assert levels == {"C": "low", "A": level, "P": "high"}
    assert report.unparsed == [] and report.labels.total() == 3


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[核心优先级] 甲", "no label"),
        ("其次。甲", "no label"),
        ("高兴的时候甲", "no label"),
        ("中午想有人陪，甲", "no label"),
        ("【中高】甲", "between two levels"),
    ],
)
def test_what_is_not_a_level_is_reported_not_guessed(text, reason):
    levels, report = read_lines("[高] 甲", text, "[低] 丙")
    assert levels["P"] is None
    (case, axis, line, why) = report.unparsed[0]
    assert (case, axis) == ("case", "P") and text in line and reason in why


def test_an_order_is_no_level():
    report = ImportReport()
    block = "当下共情需求优先级：情感共情 > 认知共情 > 动机共情。"
    assert set(importers._priorities("x", block, report).values()) == {None}
    assert [entry[1] for entry in report.unparsed] == ["C", "A", "P"]


def test_empa_release_counts():
    cards, report = import_empa(release("empa"))
    assert len(cards) == 1010 and len({card.id for card in cards}) == 1010
    assert Counter(card.threshold for card in cards) == {
        "medium": 540, "high": 401, "low": 69,
    }  # fmt: skip
    assert {card.persona.gender for card in cards} == {"female"}
    ages = [card.persona.age for card in cards]
    assert (min(ages), max(ages), round(sum(ages) / 1010, 1)) == (16, 34, 25.4)
    assert len({card.persona.name for card in cards}) == 194
    assert {len(card.story_phases) for card in cards} == {4}
    assert report.missing == [("script_398", "memories.growth_line")]
    reasons = Counter(entry[3] for entry in report.unparsed)
    assert reasons == {
        "no label high, medium or low": 73,
        "an order, not levels": 72,
        "between two levels": 1,
    }
    read = sum(
        level is not None for card in cards for level in card.priorities.values()
    )
    assert read == report.labels.total() == 3 * 1010 - 146
    assert [problem for card in cards for problem in validate(card)] == []


def test_empa_official_cases_stay_out_of_training():
    cards, _ = import_empa(release("empa"))
    official = [card for card in cards if "official30" in card.strata]
    rows = official_30_strata()
    assert [card.source.id for card in official] == [f"script_{r.case}" for r in rows]
    for card, row in zip(official, rows, strict=True):
        assert (card.split, card.threshold) == ("test", row.threshold)
        assert (card.category, card.difficulty) == (row.domain, row.difficulty)
    rest = [card for card in cards if not card.strata]
    assert all(card.levels is None for card in rest)
    assert {(card.split, card.category) for card in rest} == {("train", None)}


def test_empa_cards_round_trip_in_the_reader_s_folder(tmp_path):
    cards, _ = import_empa(release("empa"))
    write_cards(tmp_path / "empa.jsonl", cards[:40])
    assert load_cards(tmp_path / "empa.jsonl") == cards[:40]


def test_empa_errors(tmp_path):
    with pytest.raises(ScenarioError, match="root of an EMPA clone"):
        import_empa(tmp_path)
    data = tmp_path / "empa" / "data"
    (data / "cases").mkdir(parents=True)
    (data / "scenarios").mkdir()
    story = {"剧本编号": "script_001", "故事的经过": {}}
    (data / "scenarios" / "character_stories.json").write_text(json.dumps([story]))
    with pytest.raises(ScenarioError, match="script_001 has a case or a story"):
        import_empa(tmp_path)
    (data / "cases" / "script_001.md").write_text("no blocks here")
    with pytest.raises(ScenarioError, match=r"script_001\.md: no <character_info>"):
        import_empa(tmp_path)


@pytest.mark.parametrize(
    ("file", "split", "count", "openings", "counts"),
    [
        ("RLVER/data/train_profile.jsonl", "train", 500, 0,
         (66, 66, 66, 64, 63, 60, 58, 57)),
        ("RLVER/data/test_profile.jsonl", "test", 100, 100,
         (11, 13, 12, 13, 12, 11, 15, 13)),
        ("SAGE/profile/simulator_profile.jsonl", "test", 100, 0,
         (11, 13, 12, 13, 12, 11, 15, 13)),
    ],
)  # fmt: skip
def test_sage_release_counts(file, split, count, openings, counts):
    cards = import_sage(release("sage") / file, split)
    keys = (
        "NoFault", "SelfReflect", "Dialectic", "DeepEmpathy", "Listen",
        "AnalyseOthers", "Advice", "Praise",
    )  # fmt: skip
    assert len(cards) == count
    assert Counter(card.intention for card in cards) == dict(
        zip(keys, counts, strict=True)
    )
    assert sum(card.opening is not None for card in cards) == openings
    assert all(card.persona.age and card.persona.gender for card in cards)
    assert all(card.persona.occupation for card in cards)
    assert [problem for card in cards for problem in validate(card)] == []
    assert {card.situation.topic for card in cards} == {None}


def own_profile(**changes) -> str:
    profile = {
        "id": "p1", "player": "* 姓名：甲\n* 年龄：30岁\n* 性别：女性\n* 职业：乙",
        "scene": "丙", "main_cha": "丁", "cha_group": ["戊"], "task": "建议",
    }  # fmt: skip
    return json.dumps({**profile, **changes}, ensure_ascii=False)


def test_sage_topic_and_first_talk_are_optional(tmp_path):
    path = tmp_path / "profiles.jsonl"
    path.write_text(
        own_profile() + "\n" + own_profile(id="p2", topic="己", first_talk="庚")
    )
    bare, full = import_sage(path, "train")
    assert (bare.situation.topic, bare.opening) == (None, None)
    assert (full.situation.topic, full.opening) == ("己", "庚")
    assert (bare.intention, bare.family) == ("Advice", "rational")


def test_sage_errors_name_line_and_field(tmp_path):
    path = tmp_path / "profiles.jsonl"
    for line, field in (
        (own_profile(task="无"), "field task: .* no known intention"),
        (own_profile().replace('"scene"', '"scen"'), "field scene: missing"),
        (own_profile(player="无"), "field 姓名: missing"),
        (own_profile()[:20], "not JSON"),
    ):
        path.write_text(own_profile() + "\n" + line + "\n")
        with pytest.raises(ScenarioError, match=rf"profiles\.jsonl, line 2.*{field}"):
            import_sage(path, "train")
    with pytest.raises(ScenarioError, match="no such file"):
        import_sage(tmp_path / "absent.jsonl", "train")


def test_intention_marks():
    assert len(set(MARKS.values())) == 8
    for mark, key in MARKS.items():
        assert intention_key(f"甲{mark}乙") == key
    with pytest.raises(UnknownIntention, match="several: DeepEmpathy, Listen"):
        intention_key("共情倾听")
