"""Emotion per turn of the dialogues that the SAGE authors released: numbers only.

    python -m helpers.data.sage_records --release DIR

reads `SAGE/dataset/<judge>_based_simulator/<model>_result.jsonl` of a clone and writes
`data/records/sage_emotions.csv.gz`; no text is kept, ids are hashed. The same clone
gives the same bytes.

Columns, one row a user turn: judge, model (as the release names them), dialogue (hash
of the profile id), intention (key), turn (0 is the opening), emotion (0..100, after the
turn), change (the simulator's signed number; empty at turn 0), goodbye (0 or 1).

Source: Tencent/digitalhuman, SAGE (arXiv 2505.02847), MIT licence.
"""

import argparse
import csv
import gzip
import hashlib
import io
import json
import zlib
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from helpers.data.intentions import MARKS, UnknownIntention, intention_key
from helpers.files import write_atomically
from helpers.paths import RECORDS

PATH = RECORDS / "sage_emotions.csv.gz"
MAGIC = "# sage_emotions, schema "
SCHEMA = 1
COLUMNS = (
    "judge",
    "model",
    "dialogue",
    "intention",
    "turn",
    "emotion",
    "change",
    "goodbye",
)
# The words on which the released loop ends a dialogue.
GOODBYES = ("再见", "拜拜")


class RecordError(ValueError):
    """A record file that cannot be read; names file, line and column."""


def read_release(release_dir: str | Path) -> Iterator[tuple]:
    """Rows in the order of COLUMNS, by judge, model and place in the file."""
    root = Path(release_dir) / "SAGE" / "dataset"
    paths = sorted(root.glob("*_based_simulator/*_result.jsonl"))
    if not paths:
        raise RecordError(f"{root}: no *_based_simulator/*_result.jsonl in this clone")
    for path in paths:
        judge = path.parent.name.removesuffix("_based_simulator")
        model = path.name.removesuffix("_result.jsonl")
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    where = f"{path}, line {number}"
                    for row in _turns(line, where):
                        yield (judge, model, *row)


def _turns(line: str, where: str) -> list[tuple]:
    try:
        record = json.loads(line)
        name = hashlib.sha256(record["id"].encode()).hexdigest()[:10]
        intention = intention_key(record["task"])
        users = [item for item in record["history"] if item["role"] == "user"]
        return [
            (
                name,
                intention,
                turn,
                item["emotion-point"],
                item["planning"]["change"] if turn else "",
                int(any(word in item["content"] for word in GOODBYES)),
            )
            for turn, item in enumerate(users)
        ]
    except json.JSONDecodeError as error:
        raise RecordError(f"{where}: not JSON ({error})") from error
    except KeyError as error:
        raise RecordError(f"{where}, field {error.args[0]}: missing") from error
    except UnknownIntention as error:
        raise RecordError(f"{where}, field task: {error}") from error


def write_records(rows: Iterator[tuple], path: str | Path = PATH) -> None:
    """Write rows; the file is replaced as a whole, and holds no time stamp."""
    text = io.StringIO()
    text.write(f"{MAGIC}{SCHEMA}\n")
    table = csv.writer(text, lineterminator="\n")
    table.writerow(COLUMNS)
    table.writerows(rows)
    write_atomically(Path(path), gzip.compress(text.getvalue().encode(), 9, mtime=0))


def read_records(path: str | Path = PATH) -> pd.DataFrame:
    """The record file as a tidy frame, one row a user turn (COLUMNS; change is Int64,
    <NA> at turn 0; goodbye is bool).

    Raises: RecordError for a missing or damaged file, an unknown schema, a missing
    column and a value out of range, with the line.
    """
    path = Path(path)
    try:
        lines = gzip.decompress(path.read_bytes()).decode("utf-8").splitlines()
    except FileNotFoundError as error:
        advice = "python -m helpers.data.sage_records --release DIR makes it"
        raise RecordError(f"{path}: no such file; {advice}") from error
    except (EOFError, OSError, zlib.error, UnicodeDecodeError) as error:
        advice = "fetch it again or rebuild it"
        raise RecordError(f"{path}: damaged gzip ({error}); {advice}") from error
    first = lines[0] if lines else ""
    if first != f"{MAGIC}{SCHEMA}":
        raise RecordError(
            f"{path}, line 1: expected '{MAGIC}{SCHEMA}', found {first[:40]!r}; "
            "rebuild the file with this version of the kit"
        )
    header = lines[1].split(",") if len(lines) > 1 else []
    for column in COLUMNS:
        if column not in header:
            raise RecordError(f"{path}, line 2, column {column}: missing")
    rows = [_typed(row, path, number) for number, row in _rows(lines, header, path)]
    if not rows:
        raise RecordError(f"{path}: holds no row")
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame.astype({"change": "Int64", "goodbye": bool})


def _rows(lines, header, path) -> Iterator[tuple[int, dict[str, str]]]:
    for number, cells in enumerate(csv.reader(lines[2:]), 3):
        if len(cells) != len(header):
            what = f"{len(cells)} cells, the header has {len(header)}"
            raise RecordError(f"{path}, line {number}: {what}")
        yield number, dict(zip(header, cells, strict=True))


def _typed(row: dict[str, str], path: Path, number: int) -> tuple:
    def bad(column: str, rule: str) -> RecordError:
        found = f"{row[column]!r} is not {rule}"
        return RecordError(f"{path}, line {number}, column {column}: {found}")

    def whole(column: str, low: int, high: int) -> int:
        try:
            value = int(row[column])
        except ValueError:
            value = low - 1
        if not low <= value <= high:
            raise bad(column, f"a whole number in {low}..{high}")
        return value

    if row["intention"] not in MARKS.values():
        raise bad("intention", "one of the eight keys")
    turn = whole("turn", 0, 99)
    if turn == 0 and row["change"]:
        raise bad("change", "empty at turn 0")
    return (
        row["judge"],
        row["model"],
        row["dialogue"],
        row["intention"],
        turn,
        whole("emotion", 0, 100),
        whole("change", -100, 100) if turn else None,
        whole("goodbye", 0, 1),
    )


def main() -> None:
    """Build the record file from a clone."""
    parser = argparse.ArgumentParser(description="SAGE dialogues to numbers")
    parser.add_argument("--release", required=True, help="root of the clone")
    parser.add_argument("--out", default=str(PATH), help="file to write")
    arguments = parser.parse_args()
    try:
        write_records(read_release(arguments.release), arguments.out)
        frame = read_records(arguments.out)
    except RecordError as error:
        raise SystemExit(str(error)) from error
    dialogues = frame[["judge", "model", "dialogue"]].drop_duplicates()
    print(f"{arguments.out}: {len(dialogues)} dialogues, {len(frame)} turns")


if __name__ == "__main__":
    main()
