"""Read the cards of the EMPA and the SAGE/RLVER releases from a reader's own clone.

The text stays in memory (or where the reader writes it): the kit ships none of it.
What a card does not say in a known form stays None and is listed in a report; nothing
is guessed.

Sources: EMPA-Benchmark-EPMSandbox, `empa/data` (CC BY-NC 4.0); Tencent/digitalhuman,
`SAGE/profile` and `RLVER/data` (MIT).
"""

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from helpers.data.intentions import UnknownIntention, intention_key
from helpers.data.scenarios import (
    SCHEMA_VERSION,
    Memories,
    Persona,
    ReactionRules,
    Scenario,
    ScenarioError,
    Situation,
    Source,
    Split,
    StoryPhase,
)
from helpers.data.slots import AXES, ITEMS
from helpers.data.strata import official_30_strata

AXIS_WORDS = {"情感": "A", "动机": "P", "认知": "C"}
LEVEL_WORDS = {"高": "high", "中": "medium", "低": "low"}
GENDERS = {"女": "female", "女性": "female", "男": "male", "男性": "male"}

# "- label (remark): text"
_FIELD_LINE = re.compile(
    r"\s*[-*]*\s*([^\s#：:，。（）]{2,14})(?:（[^）]*）)?\s*[：:]\s*(.*)"
)
# One line per axis: "<axis word>empathy: ...", with any bullet or number before it.
_AXIS_LINE = re.compile(r"[\s\-*\d.、]*(情感|动机|认知)共-?情\**\s*[：:]\s*(.+)")
# The label that opens such a line, in all its dress: [优先级：高], 【中级】 ...
_LABEL = re.compile(
    r"[\[【(（]*\s*(?:优先级(?:等级)?\s*[：:\-【]*\s*)?"
    r"(?P<degree>[最极较]?)(?P<level>[高中低])(?P<mixed>[高中低]?)"
    r"(?:等优先级|优先级|优先|优|等|级)?\s*(?=[\]】)）(（+|，,。：:\-\s])"
)


@dataclass
class ImportReport:
    """What an import could not read.

    unparsed: (case id, axis or None, line, reason) of every priority line without a
    known label; missing: (case id, field) of every other empty field; labels: how many
    labels of each dress were read (level words written as `*`).
    """

    unparsed: list[tuple[str, str | None, str, str]] = field(default_factory=list)
    missing: list[tuple[str, str]] = field(default_factory=list)
    labels: Counter = field(default_factory=Counter)


def import_empa(release_dir: str | Path) -> tuple[list[Scenario], ImportReport]:
    """All cases of a clone of the EMPA repository, joined with their stories.

    Returns: (cards in order of the case number, report). The 30 official cases carry
    the needs of `official_30_strata` and the split "test"; the others have no levels
    and the split "train". Cards name no hidden intention: EMPA has none.
    Raises: ScenarioError for a missing file, a case without story, or a story without
    case.
    """
    data = Path(release_dir) / "empa" / "data"
    stories = _stories(data / "scenarios" / "character_stories.json")
    paths = {path.stem: path for path in (data / "cases").glob("script_*.md")}
    for case in sorted(set(paths) ^ set(stories)):
        raise ScenarioError(f"{data}: {case} has a case or a story, but not both")
    official = {row.case: row for row in official_30_strata()}
    report = ImportReport()
    cards = [
        _empa_card(
            case,
            paths[case],
            stories[case],
            official.get(case.removeprefix("script_")),
            report,
        )
        for case in sorted(paths, key=lambda name: int(name.split("_")[1]))
    ]
    return cards, report


def _stories(path: Path) -> dict[str, tuple[StoryPhase, ...]]:
    if not path.is_file():
        raise ScenarioError(f"{path}: no such file; give the root of an EMPA clone")
    return {
        entry["剧本编号"]: tuple(
            StoryPhase(title=phase["标题"], content=phase["内容"])
            for phase in entry["故事的经过"].values()
        )
        for entry in json.loads(path.read_text(encoding="utf-8"))
    }


def _empa_card(case, path, phases, official, report: ImportReport) -> Scenario:
    text = path.read_text(encoding="utf-8")
    who = _labelled(_block(text, "character_info", path))
    profile_block = _block(text, "psychological_profile", path)
    profile = _labelled(profile_block)
    past = _labelled(_block(text, "experience", path))
    trigger = _labelled(_block(text, "scenario", path)).get("故事的起因")
    threshold = re.findall(r"【([高中低])】", _block(text, "empathy_threshold", path))
    values = {
        "persona.name": who.get("姓名"),
        "persona.age": _age(who.get("年龄", "")),
        "persona.gender": GENDERS.get(who.get("性别")),
        "persona.outer": who.get("社交性格"),
        "persona.inner": who.get("内核性格"),
        "situation.topic": _heading(profile_block, "聊天话题"),
        "situation.trigger": trigger,
        "situation.circumstances": past.get("现在的情况"),
        "situation.goal": past.get("现在的人生主线目标"),
        "situation.to_vent": profile.get("想要找人倾诉的想法与内容"),
        "situation.hoped_for": profile.get("倾诉中想要获得的共情点"),
        "memories.childhood": past.get("童年经历"),
        "memories.adolescence": past.get("少年经历"),
        "memories.young_adulthood": past.get("青年经历"),
        "memories.growth_line": past.get("隐形成长主线脉络"),
        "reaction_rules.notes": profile.get("人物共情阈值"),
        "threshold": LEVEL_WORDS[threshold[0]] if len(threshold) == 1 else None,
    }
    report.missing += [(case, name) for name, value in values.items() if value is None]
    part = {
        name: {
            key.split(".")[1]: value
            for key, value in values.items()
            if key.startswith(name + ".")
        }
        for name in ("persona", "situation", "memories", "reaction_rules")
    }
    return Scenario(
        schema_version=SCHEMA_VERSION,
        id=f"empa-{case}",
        language="zh",
        split="test" if official else "train",
        strata=("official30",) if official else (),
        category=official.domain if official else None,
        persona=Persona(occupation=None, speaking_style=None, **part["persona"]),
        situation=Situation(**part["situation"]),
        memories=Memories(current=past.get("现在的人生愿景与动力"), **part["memories"]),
        story_phases=phases,
        opening=None,
        intention=None,
        needs=dict(official.levels) if official else dict.fromkeys(ITEMS),
        priorities=_priorities(case, profile_block, report),
        threshold=values["threshold"],
        reaction_rules=ReactionRules(**part["reaction_rules"]),
        hidden=None,
        source=Source(name="empa", id=case),
    )


def _block(text: str, tag: str, path: Path) -> str:
    match = re.search(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
    if match is None:
        raise ScenarioError(f"{path}: no <{tag}> block; is this an EMPA case?")
    return match.group(1)


def _labelled(block: str) -> dict[str, str]:
    """`label: text` lines; a text runs on until the next label or heading."""
    found, label = {}, None
    for line in block.splitlines():
        match = _FIELD_LINE.match(line)
        if match and match.group(1) not in found:
            label = match.group(1)
            found[label] = match.group(2).strip()
        elif line.lstrip().startswith("#"):
            label = None
        elif label and line.strip():
            found[label] = f"{found[label]}\n{line.strip()}".strip()
    return {name: text for name, text in found.items() if text}


def _age(text: str) -> int | None:
    match = re.fullmatch(r"(\d+)\s*岁?", text)
    return int(match.group(1)) if match else None


def _heading(block: str, title: str) -> str | None:
    match = re.search(rf"#+\s*{title}\s*\n(.*?)(?=\n\s*#|\Z)", block, re.DOTALL)
    return (match.group(1).strip() or None) if match else None


def _priorities(case: str, block: str, report: ImportReport) -> dict[str, str | None]:
    """Per axis low, medium or high where a line opens with such a label."""
    text = block.split("当下共情需求优先级", 1)[-1]
    levels: dict[str, str | None] = dict.fromkeys(AXES)
    lines = [(line, _AXIS_LINE.match(line)) for line in text.splitlines()]
    matched = [(line, match) for line, match in lines if match]
    if len(matched) < len(AXES):
        one_line = " ".join(text.split())
        for axis in AXES:
            report.unparsed.append((case, axis, one_line, "an order, not levels"))
        return levels
    for line, match in matched:
        axis = AXIS_WORDS[match.group(1)]
        label = _LABEL.match(match.group(2))
        if label is None:
            reason = "no label high, medium or low"
            report.unparsed.append((case, axis, line.strip(), reason))
        elif label["mixed"]:
            report.unparsed.append((case, axis, line.strip(), "between two levels"))
        else:
            levels[axis] = LEVEL_WORDS[label["level"]]
            report.labels[re.sub("[高中低]", "*", label.group(0).strip())] += 1
    return levels


def import_sage(profile_jsonl: str | Path, split: Split) -> list[Scenario]:
    """Profiles of SAGE or RLVER, one a line; `topic` and `first_talk` may be absent.

    split: "train" for RLVER's training profiles, "test" for the 100 of the benchmark.
    Raises: ScenarioError with file, line and field.
    """
    path = Path(profile_jsonl)
    if not path.is_file():
        raise ScenarioError(f"{path}: no such file; give a SAGE or RLVER profile file")
    cards = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        where = f"{path}, line {number}"
        try:
            record = json.loads(line)
            cards.append(_sage_card(record, split))
        except json.JSONDecodeError as error:
            raise ScenarioError(f"{where}: not JSON ({error})") from error
        except KeyError as error:
            raise ScenarioError(f"{where}, field {error.args[0]}: missing") from error
        except UnknownIntention as error:
            raise ScenarioError(f"{where}, field task: {error}") from error
    return cards


def _sage_card(record: dict, split: Split) -> Scenario:
    who = _labelled(record["player"])
    return Scenario(
        schema_version=SCHEMA_VERSION,
        id=f"sage-{record['id']}",
        language="zh",
        split=split,
        category=None,
        persona=Persona(
            name=who["姓名"],
            age=_age(who.get("年龄", "")),
            gender=GENDERS.get(who.get("性别")),
            occupation=who.get("职业"),
            outer=None,
            inner=f"{record['main_cha']}：{'、'.join(record['cha_group'])}",
            speaking_style=None,
            notes=record["player"],
        ),
        situation=Situation(
            topic=record.get("topic"),
            trigger=None,
            circumstances=None,
            goal=None,
            background=record["scene"],
        ),
        memories=Memories(
            childhood=None, adolescence=None, young_adulthood=None, current=None
        ),
        story_phases=(),
        opening=record.get("first_talk"),
        intention=intention_key(record["task"]),
        needs=dict.fromkeys(ITEMS),
        priorities=dict.fromkeys(AXES),
        threshold=None,
        reaction_rules=ReactionRules(),
        hidden=None,
        source=Source(name="sage", id=record["id"]),
    )
