"""Numeric records of EMPA's released dialogues.

`python -m helpers.data.records --release DIR` reads a clone of the authors' repository
(folder results/benchmark_runs/epm-bench, empa/data) and writes two small files with
numbers and ids only; no sentence of the release is stored:

  data/records/empa_ratings.csv.gz   one row a turn (16 models x 30 cases)
  data/records/empa_cases.csv        one row a case

`read_ratings` and `read_cases` read them back as tidy frames and refuse anything
impossible. Attribution and licence: data/README.md.
"""

import argparse
import gzip
import io
import json
import re
import sys
import zlib
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.files import write_atomically
from helpers.paths import RECORDS, ROOT
from helpers.scoring.rubric import IEDR_ITEMS, MDEP_FIELDS

RATINGS = RECORDS / "empa_ratings.csv.gz"
CASES = RECORDS / "empa_cases.csv"
LOGS = Path("results") / "benchmark_runs" / "epm-bench"

LEVELS = [field.replace(".", "_") for field in MDEP_FIELDS]
STORED_V = ["v_C", "v_A", "v_P"]
FLAGS = ["judged", "reply_error", "user_error", "guidance_error", "reply_repeated"]
RATING_COLUMNS = [
    "model",
    "case",
    "turn",
    *LEVELS,
    *FLAGS,
    *STORED_V,
    "E_total",
    "alignment",
    "ending",
    "label",
]
ITEMS = list(IEDR_ITEMS)
CASE_COLUMNS = ["case", *ITEMS, "axis", "difficulty", "domain", "threshold"]
ENDINGS = ("success", "collapse", "oscillation", "timeout")

# How a reply, a user line or a piece of guidance looks when the call behind it failed.
ERROR_LINE = re.compile(r"\s*（错误：")
ERROR_GUIDANCE = re.compile(r"\s*API调用失败")

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


# --- reading the release ------------------------------------------------------------


def _whole(value, low: int, high: int, where: str):
    """A level as int; None stays None (the release counts a missing level as 0)."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RecordError(f"{where}: level {value!r} is not a number")
    if value != int(value) or not low <= value <= high:
        raise RecordError(f"{where}: level {value!r} is not one of {low}..{high}")
    return int(value)


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
        RecordError: unknown schema, missing turn, impossible level; names file, turn.
    """
    epj = log.get("epj")
    if not isinstance(epj, dict) or not (
        "epm_params" in epj or "termination_type" in log
    ):
        raise RecordError(
            f"{name}: unknown schema, neither epj.epm_params nor termination_type "
            f"(keys: {', '.join(sorted(map(str, log))[:8])})"
        )
    try:
        case = str(log["script_id"]).removeprefix("script_")
        filled = epj["iedr_details"]["filled_iedr"]
        history, rows = log["history"], epj["trajectory"]
        turns = int(log["total_turns"])
        ending, label = _ending(log, name)
    except KeyError as error:
        raise RecordError(f"{name}: key {error} is missing") from None
    case_levels = {"case": case}
    for item in ITEMS:
        level = _whole(filled.get(item), 0, 3, f"{name}: IEDR {item}")
        if level is None:
            raise RecordError(f"{name}: IEDR {item} is missing")
        case_levels[item] = level
    if len(history) != 2 * turns:
        raise RecordError(f"{name}: {len(history)} lines for {turns} turns")

    out, replies = [], set()
    for turn in range(1, turns + 1):
        where = f"{name}: turn {turn}"
        if turn >= len(rows) or rows[turn].get("turn") != turn:
            raise RecordError(f"{where} is missing from the trajectory")
        row, user, reply = rows[turn], history[2 * turn - 2], history[2 * turn - 1]
        if (user.get("role"), reply.get("role")) != ("actor", "test_model"):
            raise RecordError(f"{where}: roles are not user then model")
        rated = row.get("mdep_analysis")
        levels = {}
        for field, column in zip(MDEP_FIELDS, LEVELS, strict=True):
            span = (0, 2) if field.endswith("Prog") else (-2, 0)
            value = (rated or {}).get(f"{column}_level")
            levels[column] = _whole(value, *span, f"{where}, {field}")
        try:
            stored = [float(x) for x in row["v_t"]]
            energy, alignment = row["epm"]["E_total"], row["epm"]["alignment"]
        except (KeyError, TypeError) as error:
            raise RecordError(f"{where}: key {error} is missing") from None
        if rated is None and any(stored):
            raise RecordError(f"{where} moved without a rating: v_t = {row['v_t']}")
        out.append(
            {
                "case": case,
                "turn": turn,
                **levels,
                "judged": int(rated is not None),
                "reply_error": int(bool(ERROR_LINE.match(reply["content"]))),
                "user_error": int(bool(ERROR_LINE.match(user["content"]))),
                "guidance_error": int(
                    bool(ERROR_GUIDANCE.match(reply.get("director_guidance") or ""))
                ),
                "reply_repeated": int(reply["content"] in replies),
                **dict(zip(STORED_V, stored, strict=True)),
                "E_total": energy,
                "alignment": alignment,
                "ending": ending,
                "label": label,
            }
        )
        replies.add(reply["content"])
    if len(rows) != turns + 1:
        raise RecordError(f"{name}: {len(rows) - 1} rated rows for {turns} turns")
    return case_levels, out


def read_release(release: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A clone of the authors' repository to (ratings, cases).

    Raises:
        RecordError: no logs, or any fault named by `parse_log`; also one case with
            different IEDR levels in two logs.
    """
    release = Path(release)
    # Released logs are script_NNN_result.json; today's code writes script_NNN.json.
    files = sorted((release / LOGS).glob("*/script_*.json"))
    if not files:
        raise RecordError(f"no logs under {release / LOGS}: is this a clone of EMPA?")
    rows, cases = [], {}
    for file in files:
        name = str(file.relative_to(release))
        try:
            log = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise RecordError(f"{name}: not readable as JSON ({error})") from None
        levels, turns = parse_log(log, name)
        known = cases.setdefault(levels["case"], levels)
        if known != levels:
            raise RecordError(f"{name}: IEDR levels differ from another model's log")
        rows += [{"model": file.parent.name, **turn} for turn in turns]
    ratings = pd.DataFrame(rows, columns=RATING_COLUMNS)
    ratings = ratings.astype(dict.fromkeys([*LEVELS, *STORED_V], "Int64"))
    described = _describe_cases(pd.DataFrame(cases.values()), release)
    return check_ratings(ratings, str(release)), check_cases(described, str(release))


def _describe_cases(cases: pd.DataFrame, release: Path) -> pd.DataFrame:
    data = release / "empa" / "data"
    meta = json.loads((data / "case_metadata.json").read_text(encoding="utf-8"))
    sampled = {row["script_id"]: row for row in meta["sampled_cases"]}
    for i, case in cases["case"].items():
        row = sampled[f"script_{case}"]
        card = (data / "cases" / f"script_{case}.md").read_text(encoding="utf-8")
        block = card.partition("<empathy_threshold>")[2]
        found = re.search(r"【([高中低])】", block)
        if not found:
            raise RecordError(f"script_{case}.md: no empathy threshold in the card")
        cases.loc[i, "axis"] = row["dominant_axis"]
        cases.loc[i, "difficulty"] = DIFFICULTIES[row["difficulty"]]
        cases.loc[i, "domain"] = DOMAINS[row["category"]]
        cases.loc[i, "threshold"] = THRESHOLDS[found.group(1)]
    return cases.sort_values("case", ignore_index=True)[CASE_COLUMNS]


# --- the record files ---------------------------------------------------------------


def check_ratings(ratings: pd.DataFrame, name: str) -> pd.DataFrame:
    """The frame itself, or a RecordError naming file, model, case and turn."""
    missing = [c for c in RATING_COLUMNS if c not in ratings.columns]
    if missing:
        raise RecordError(f"{name}: column {missing[0]} is missing")

    def stop(bad: np.ndarray, what: str):
        if bad.any():
            row = ratings.iloc[int(np.argmax(bad))]
            raise RecordError(f"{name}: {row.model} {row.case} turn {row.turn}: {what}")

    for column in LEVELS:
        low, high = (0, 2) if column.endswith("Prog") else (-2, 0)
        level = ratings[column].to_numpy(dtype=float, na_value=np.nan)
        real = ~np.isnan(level)
        outside = (level < low) | (level > high) | (level % 1 != 0)
        stop(real & outside, f"{column} is not one of {low}..{high}")
        stop(
            real & (ratings["judged"] == 0).to_numpy(), f"{column} without a judgement"
        )
    stop(~ratings["ending"].isin(ENDINGS).to_numpy(), "unknown ending")
    turn = ratings["turn"].to_numpy()
    dialogue = ratings["model"].to_numpy() + "/" + ratings["case"].to_numpy()
    new = np.r_[True, dialogue[1:] != dialogue[:-1]] if len(turn) else np.array([])
    expected = np.where(new, 1, np.r_[0, turn[:-1]] + 1)
    stop(turn != expected, "turns are not 1, 2, 3 ... in order: one is missing")
    if len(set(dialogue[new])) != int(new.sum()):
        raise RecordError(f"{name}: the rows of one dialogue are not together")
    return ratings


def check_cases(cases: pd.DataFrame, name: str) -> pd.DataFrame:
    """The frame itself, or a RecordError naming file, case and item."""
    missing = [c for c in CASE_COLUMNS if c not in cases.columns]
    if missing:
        raise RecordError(f"{name}: column {missing[0]} is missing")
    for item in ITEMS:
        bad = ~cases[item].isin([0, 1, 2, 3])
        if bad.any():
            raise RecordError(f"{name}: case {cases['case'][bad.argmax()]}: {item}")
    return cases


def _shown(path: Path) -> str:
    path = Path(path).resolve()
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name


def read_ratings(path: Path = RATINGS) -> pd.DataFrame:
    """One row a turn: model, case, turn, six levels (NaN = not rated), judged, error
    flags, stored v, E_total and alignment as logged, ending and label as logged.

    Raises:
        RecordError: absent, cut short, a column missing, or an impossible value.
    """
    name = _shown(path)
    text = {"model": str, "case": str, "ending": str, "label": object}
    again = "rebuild it with python -m helpers.data.records --release DIR"
    try:
        frame = pd.read_csv(path, dtype=text, compression="infer")
    except FileNotFoundError:
        raise RecordError(f"{name} is absent: {again}") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise RecordError(
            f"{name} is cut short or damaged ({error}): {again}"
        ) from None
    except (ValueError, pd.errors.ParserError) as error:
        raise RecordError(f"{name} is not a table ({error}): {again}") from None
    return check_ratings(frame, name)


def read_cases(path: Path = CASES) -> pd.DataFrame:
    """One row a case: IEDR levels, dominant axis, difficulty, domain, threshold."""
    name = _shown(path)
    try:
        return check_cases(pd.read_csv(path, dtype={"case": str}), name)
    except FileNotFoundError:
        raise RecordError(f"{name} is absent: rebuild it from the release") from None


def write_records(ratings: pd.DataFrame, cases: pd.DataFrame, folder: Path) -> None:
    """Write both files; the same frames give the same bytes."""
    folder = Path(folder)
    text = io.StringIO()
    ratings.to_csv(text, index=False, lineterminator="\n")
    packed = gzip.compress(text.getvalue().encode(), compresslevel=9, mtime=0)
    write_atomically(folder / RATINGS.name, packed)
    write_atomically(
        folder / CASES.name, cases.to_csv(index=False, lineterminator="\n")
    )


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m helpers.data.records", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--release", required=True, type=Path, help="clone of EMPA")
    parser.add_argument("--out", type=Path, default=RECORDS, help="folder to write")
    options = parser.parse_args(argv)
    try:
        ratings, cases = read_release(options.release)
    except RecordError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    write_records(ratings, cases, options.out)
    dialogues = len(ratings.drop_duplicates(["model", "case"]))
    print(f"{dialogues} dialogues, {len(ratings)} turns, {len(cases)} cases written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
