"""Reading EMPA's released logs: one dialogue to numbers, both log schemas.

Nothing but numbers, ids and flags leaves this module. A log that is not what it should
be is a RecordError that names file and turn.
"""

import json
import re
from math import isfinite
from numbers import Real
from pathlib import Path

import pandas as pd

from helpers.scoring.rubric import IEDR_ITEMS, MDEP_FIELDS, increment

LOGS = Path("results") / "benchmark_runs" / "epm-bench"
LEVELS = [field.replace(".", "_") for field in MDEP_FIELDS]
STORED_V = ["v_C", "v_A", "v_P"]
ITEMS = list(IEDR_ITEMS)

# How a reply, a user line or a piece of guidance looks when the call behind it failed.
ERROR_LINE = re.compile(r"\s*（错误：")
ERROR_GUIDANCE = re.compile(r"API调用失败")

# Reasons as the two code bases word them: (pattern, ending, label).
REASONS = (
    (r"Geometric|几何", "success", "geometric"),
    (r"Positional|位置", "success", "positional"),
    (r"Collapse|崩溃|坍塌", "collapse", None),
    (r"Oscillation|震荡|振荡", "oscillation", None),
    (r"max turns|MAX_TURNS|timeout|超时|最大轮", "timeout", None),
)
DOMAINS = {
    "休闲娱乐": "Leisure",
    "身心健康": "Health",
    "生活状况": "Life",
    "观念认同": "Values",
    "人际关系": "Relations",
    "生涯发展": "Career",
}
DIFFICULTIES = {"较易": "Easy", "中等": "Medium", "困难": "Hard", "极难": "VeryHard"}
THRESHOLDS = {"低": "Low", "中": "Medium", "高": "High"}


class RecordError(ValueError):
    """A log or a record file is not what it should be; says which and where."""


def _number(value, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not isfinite(value):
        raise RecordError(f"{where} is {value!r}, not a number")
    return value


def _whole(value, low: int, high: int, where: str):
    """A level as int; None stays None (the release counts a missing level as 0)."""
    if value is None:
        return None
    _number(value, f"{where}: level")
    if value != int(value) or not low <= value <= high:
        raise RecordError(f"{where}: level {value!r} is not one of {low}..{high}")
    return int(value)


def _text(value, where: str) -> str:
    if not isinstance(value, str):
        raise RecordError(f"{where} is {value!r}, not a text")
    return value


def _ending(log: dict, name: str) -> tuple[str, str | None]:
    """Ending and label, from the victory analysis first, then the worded reason."""
    victory = (log["epj"].get("epm_victory_analysis") or {}).get("primary_victory_type")
    if victory in ("geometric", "positional"):
        return "success", victory
    reason = f"{log.get('termination_type', '')} {log['termination_reason']}"
    for pattern, ending, label in REASONS:
        if re.search(pattern, reason):
            return ending, label
    raise RecordError(f"{name}: unknown termination reason {reason.strip()[:80]!r}")


def parse_log(log: dict, name: str) -> tuple[dict, list[dict]]:
    """One released dialogue to its case levels and one row a turn.

    Two schemas exist: the released logs (with epj.epm_params) and what the released
    code writes today (termination_type instead, four decimal places).

    Raises:
        RecordError: unknown schema, missing turn, impossible level, or any value of
            another type than the schema has; names file and turn.
    """
    epj = log.get("epj") if isinstance(log, dict) else None
    if not isinstance(epj, dict) or not (
        "epm_params" in epj or "termination_type" in log
    ):
        keys = ", ".join(sorted(map(str, log))[:8]) if isinstance(log, dict) else "none"
        raise RecordError(
            f"{name}: unknown schema, neither epj.epm_params nor termination_type "
            f"(keys: {keys})"
        )
    where = name
    try:
        case = _text(log["script_id"], f"{name}: script_id").removeprefix("script_")
        levels = {"case": case}
        for item in ITEMS:
            level = epj["iedr_details"]["filled_iedr"].get(item)
            levels[item] = _whole(level, 0, 3, f"{name}: IEDR {item}")
            if level is None:
                raise RecordError(f"{name}: IEDR {item} is missing")
        history, rows = log["history"], epj["trajectory"]
        turns = int(_number(log["total_turns"], f"{name}: total_turns"))
        ending, label = _ending(log, name)
        if len(history) != 2 * turns:
            raise RecordError(f"{name}: {len(history)} lines for {turns} turns")
        out, replies = [], set()
        for turn in range(1, turns + 1):
            where = f"{name}: turn {turn}"
            if turn >= len(rows) or rows[turn].get("turn") != turn:
                raise RecordError(f"{where} is missing from the trajectory")
            lines = history[2 * turn - 2 : 2 * turn]
            out.append(
                {"case": case, "turn": turn}
                | _rating(rows[turn], where)
                | _flags(*lines, replies, where)
                | {"ending": ending, "label": label}
            )
        if len(rows) != turns + 1:
            raise RecordError(f"{name}: {len(rows) - 1} rated rows for {turns} turns")
    except KeyError as error:
        raise RecordError(f"{where}: key {error} is missing") from None
    except (TypeError, AttributeError) as error:
        raise RecordError(f"{where}: a value has the wrong type ({error})") from None
    return levels, out


def _rating(row: dict, where: str) -> dict:
    """Levels, stored increment, energy and alignment of one trajectory row."""
    rated = row.get("mdep_analysis")
    levels = {}
    for field, column in zip(MDEP_FIELDS, LEVELS, strict=True):
        span = (0, 2) if field.endswith("Prog") else (-2, 0)
        level = (rated or {}).get(f"{column}_level")
        levels[column] = _whole(level, *span, f"{where}, {field}")
    if rated is not None and not any(x is not None for x in levels.values()):
        raise RecordError(f"{where}: rated, but none of its six levels is there")
    stored = [_number(x, f"{where}, v_t") for x in row["v_t"]]
    if len(stored) != 3:
        raise RecordError(f"{where}: v_t has {len(stored)} values")
    if rated is None and any(stored):
        raise RecordError(f"{where} moved without a rating: v_t = {stored}")
    # The release counts a missing level as 0; so does the increment it stored.
    pairs = zip(MDEP_FIELDS, levels.values(), strict=True)
    expected = increment({field: level or 0 for field, level in pairs})
    if expected.tolist() != stored:
        raise RecordError(f"{where}: v_t = {stored} contradicts its levels")
    return {
        **levels,
        "judged": int(rated is not None),
        **dict(zip(STORED_V, stored, strict=True)),
        "E_total": _number(row["epm"]["E_total"], f"{where}, E_total"),
        "alignment": _number(row["epm"]["alignment"], f"{where}, alignment"),
    }


def _flags(user: dict, reply: dict, replies: set[str], where: str) -> dict:
    """What kind of text the two lines of a turn are; notes the reply in `replies`."""
    if (user.get("role"), reply.get("role")) != ("actor", "test_model"):
        raise RecordError(f"{where}: roles are not user then model")
    said = _text(reply["content"], f"{where}: the reply")
    heard = _text(user["content"], f"{where}: the user line")
    guidance = reply.get("director_guidance") or ""
    flags = {
        "reply_error": int(bool(ERROR_LINE.match(said))),
        "user_error": int(bool(ERROR_LINE.match(heard))),
        "guidance_error": int(bool(ERROR_GUIDANCE.search(guidance))),
        "reply_repeated": int(said in replies),
    }
    replies.add(said)
    return flags


def describe_cases(cases: pd.DataFrame, release: Path) -> pd.DataFrame:
    """Cases with axis, difficulty, domain (metadata) and threshold (the card's label).

    Raises:
        RecordError: metadata or card absent, or without what is wanted of it.
    """
    data = Path(release) / "empa" / "data"
    rows = []
    try:
        meta = json.loads((data / "case_metadata.json").read_text(encoding="utf-8"))
        sampled = {row["script_id"]: row for row in meta["sampled_cases"]}
        for case in cases["case"]:
            row = sampled[f"script_{case}"]
            card = (data / "cases" / f"script_{case}.md").read_text(encoding="utf-8")
            block = card.partition("<empathy_threshold>")[2]
            found = re.search(r"【([高中低])】", block)
            if not found:
                raise RecordError(f"script_{case}.md: no empathy threshold in the card")
            rows.append(
                {
                    "axis": row["dominant_axis"],
                    "difficulty": DIFFICULTIES[row["difficulty"]],
                    "domain": DOMAINS[row["category"]],
                    "threshold": THRESHOLDS[found.group(1)],
                }
            )
    except OSError as error:
        raise RecordError(f"{error.filename}: not readable") from None
    except (KeyError, TypeError) as error:
        raise RecordError(f"case_metadata.json: key {error} is missing") from None
    described = cases.assign(**pd.DataFrame(rows, index=cases.index))
    return described.sort_values("case", ignore_index=True)
