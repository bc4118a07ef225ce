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
import sys
import zlib
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.data.empa_logs import (
    DIFFICULTIES,
    DOMAINS,
    ITEMS,
    LEVELS,
    LOGS,
    STORED_V,
    THRESHOLDS,
    RecordError,
    describe_cases,
    parse_log,
)
from helpers.files import write_atomically
from helpers.paths import RECORDS, ROOT

RATINGS = RECORDS / "empa_ratings.csv.gz"
CASES = RECORDS / "empa_cases.csv"

FLAGS = ["reply_error", "user_error", "guidance_error", "reply_repeated"]
RATING_COLUMNS = [
    "model",
    "case",
    "turn",
    *LEVELS,
    "judged",
    *FLAGS,
    *STORED_V,
    "E_total",
    "alignment",
    "ending",
    "label",
]
NUMBERS = RATING_COLUMNS[2:-2]
CASE_COLUMNS = ["case", *ITEMS, "axis", "difficulty", "domain", "threshold"]
ENDINGS = ("success", "collapse", "oscillation", "timeout")
AGAIN = "rebuild it with python -m helpers.data.records --release DIR"


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
    described = describe_cases(pd.DataFrame(cases.values()), release)[CASE_COLUMNS]
    return check_ratings(ratings, str(release)), check_cases(described, str(release))


def check_ratings(ratings: pd.DataFrame, name: str) -> pd.DataFrame:
    """The frame itself, or a RecordError naming file, model, case and turn."""
    missing = [c for c in RATING_COLUMNS if c not in ratings.columns]
    if missing:
        raise RecordError(f"{name}: column {missing[0]} is missing")
    if ratings.empty:
        raise RecordError(f"{name}: no rows: {AGAIN}")

    def stop(bad, what: str):
        bad = np.asarray(bad, dtype=bool)
        if bad.any():
            row = ratings.iloc[int(np.argmax(bad))]
            raise RecordError(f"{name}: {row.model} {row.case} turn {row.turn}: {what}")

    for column in ("model", "case"):
        stop(ratings[column].isna(), f"{column} is empty")
    values = {}
    for column in NUMBERS:
        number = pd.to_numeric(ratings[column], errors="coerce")
        values[column] = number.to_numpy(dtype=float, na_value=np.nan)
        if column not in LEVELS:
            stop(~np.isfinite(values[column]), f"{column} is not a number")
        else:
            stop(number.isna() & ratings[column].notna(), f"{column} is not a number")
    for column in ("judged", *FLAGS):
        stop(~np.isin(values[column], (0, 1)), f"{column} is not 0 or 1")
    for column in LEVELS:
        low, high = (0, 2) if column.endswith("Prog") else (-2, 0)
        level, unrated = values[column], values["judged"] == 0
        wrong = ~np.isnan(level) & ~np.isin(level, np.arange(low, high + 1))
        stop(wrong, f"{column} is not one of {low}..{high}")
        stop(~np.isnan(level) & unrated, f"{column} without a judgement")
    success = (ratings["ending"] == "success").to_numpy()
    stop(~ratings["ending"].isin(ENDINGS), "unknown ending")
    labelled = ratings["label"].isin(["geometric", "positional"]).to_numpy()
    stop(labelled != success, "a label belongs to a success, and only to it")
    stop(~labelled & ratings["label"].notna(), "unknown label")

    turn = values["turn"]
    dialogue = ratings["model"].to_numpy() + "/" + ratings["case"].to_numpy()
    new = np.r_[True, dialogue[1:] != dialogue[:-1]]
    expected = np.where(new, 1, np.r_[0, turn[:-1]] + 1)
    stop(turn != expected, "turns are not 1, 2, 3 ... in order: one is missing")
    if len(set(dialogue[new])) != int(new.sum()):
        raise RecordError(f"{name}: the rows of one dialogue are not together")
    ending = (ratings["ending"] + ratings["label"].fillna("").astype(str)).to_numpy()
    changed = np.concatenate([[False], ending[1:] != ending[:-1]])
    stop(~new & changed, "the ending changes on the way")
    return ratings


def check_cases(cases: pd.DataFrame, name: str) -> pd.DataFrame:
    """The frame itself, or a RecordError naming file, case and column."""
    missing = [c for c in CASE_COLUMNS if c not in cases.columns]
    if missing:
        raise RecordError(f"{name}: column {missing[0]} is missing")
    if cases.empty or cases["case"].duplicated().any():
        raise RecordError(f"{name}: no cases, or a case twice")
    allowed = dict.fromkeys(ITEMS, [0, 1, 2, 3])
    allowed |= {"axis": list("CAP"), "difficulty": list(DIFFICULTIES.values())}
    allowed |= {"domain": list(DOMAINS.values())}
    allowed |= {"threshold": list(THRESHOLDS.values())}
    for column, known in allowed.items():
        bad = ~cases[column].isin(known)
        if bad.any():
            row = cases[bad].iloc[0]
            raise RecordError(f"{name}: case {row['case']}: {column} {row[column]}")
    return cases


def _shown(path: Path) -> str:
    path = Path(path).resolve()
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name


def _read(path: Path, text: dict) -> tuple[pd.DataFrame, str]:
    name = _shown(path)
    try:
        return pd.read_csv(path, dtype=text, compression="infer"), name
    except FileNotFoundError:
        raise RecordError(f"{name} is absent: {AGAIN}") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise RecordError(
            f"{name} is cut short or damaged ({error}): {AGAIN}"
        ) from None
    except (ValueError, OSError) as error:  # parser and encoding errors are ValueErrors
        reason = " ".join(str(error).split())
        raise RecordError(f"{name} is not a table ({reason}): {AGAIN}") from None


def read_ratings(path: Path = RATINGS) -> pd.DataFrame:
    """One row a turn: model, case, turn, six levels (NaN = not rated), judged, error
    flags, stored v, E_total and alignment as logged, ending and label as logged.

    Raises:
        RecordError: absent, cut short, a column missing, or an impossible value.
    """
    text = {"model": str, "case": str, "ending": str, "label": object}
    return check_ratings(*_read(path, text))


def read_cases(path: Path = CASES) -> pd.DataFrame:
    """One row a case: IEDR levels, dominant axis, difficulty, domain, threshold.

    Raises:
        RecordError: as `read_ratings`.
    """
    return check_cases(*_read(path, {"case": str}))


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
