"""Numbers that others printed, each with its source.

`data/published/*.csv` hold them, one row a value: paper, version, item (table, figure
or file), row, column, value, n, source_kind (text, figure read-off, repository, fact
sheet) and a note. Nothing here is computed by the kit.
"""

from pathlib import Path

import pandas as pd

from helpers.paths import PUBLISHED

VALUE_COLUMNS = [
    "paper",
    "version",
    "item",
    "row",
    "column",
    "value",
    "n",
    "source_kind",
    "note",
]
SOURCE_KINDS = ("text", "figure read-off", "repository", "fact sheet")


class PublishedError(ValueError):
    """A file of printed numbers is absent or malformed."""


def load(name: str, folder: Path = PUBLISHED) -> pd.DataFrame:
    """One file of data/published as a frame; `case` and `model` columns stay text.

    Raises:
        PublishedError: no such file (the known ones are listed), or a value table
            with a wrong column, a source kind that is not one of SOURCE_KINDS, or the
            same cell twice.
    """
    path = Path(folder) / f"{name}.csv"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in Path(folder).glob("*.csv")))
        raise PublishedError(f"no published table {name!r}; known: {known}")
    frame = pd.read_csv(path, dtype={"case": str, "model": str, "row": str})
    if "value" in frame.columns:
        missing = [c for c in VALUE_COLUMNS if c not in frame.columns]
        if missing:
            raise PublishedError(f"{path.name}: column {missing[0]} is missing")
        strange = set(frame["source_kind"]) - set(SOURCE_KINDS)
        if strange:
            raise PublishedError(f"{path.name}: unknown source kind {strange.pop()!r}")
        twice = frame.duplicated(["paper", "item", "row", "column"])
        if twice.any():
            cell = frame[twice].iloc[0]
            raise PublishedError(f"{path.name}: {cell['row']}/{cell['column']} twice")
    return frame


def wide(name: str) -> pd.DataFrame:
    """A value table as rows x columns in printed order, numbers only."""
    frame = load(name)
    table = frame.pivot(index="row", columns="column", values="value")
    return table.loc[frame["row"].unique(), frame["column"].unique()]
