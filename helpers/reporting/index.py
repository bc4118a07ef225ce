"""The closing report: every artifact of the list, and what became of it."""

import json
from pathlib import Path

import pandas as pd

from helpers.files import write_atomically
from helpers.parameters import find_notebooks
from helpers.paths import NOTEBOOKS
from helpers.reporting.artifacts import load_artifacts
from helpers.reporting.tables import escape

STATES = {
    "made": "written by this run",
    "missing": "its notebook ran and did not write it, or a file of it is gone",
    "earlier": "its notebook did not run now; files of an earlier run are here",
    "not run": "its notebook never ran into this folder",
    "not built": "its notebook does not exist yet",
}


def report(
    out_dir: Path,
    ran: list[str],
    notebooks_dir: Path = NOTEBOOKS,
    artifacts: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Compare the list of artifacts with the manifests and files of a folder.

    Args:
        out_dir: folder of the artifacts.
        ran: two-digit numbers of the notebooks that ran now, failed ones too.

    Returns:
        The list with `status` (a key of STATES), `how` (exact, rerun, ...), `made_with`
        (profile and seed) and `files`; the last three are empty where nothing lies.
    """
    artifacts = load_artifacts() if artifacts is None else artifacts
    built = {path.name[:2] for path in find_notebooks(notebooks_dir)}
    manifests = {
        number: _manifest(Path(out_dir) / "manifest" / f"{number}.json")
        for number in artifacts["notebook"].unique()
    }
    rows = []
    for artifact_id, number in zip(artifacts["id"], artifacts["notebook"], strict=True):
        manifest = manifests[number]
        entry = (manifest or {}).get(artifact_id)
        files = [] if entry is None else entry["files"]
        whole = bool(files) and all((Path(out_dir) / name).is_file() for name in files)
        if number not in built:
            status = "not built"
        elif number not in ran and manifest is None:
            status = "not run"
        elif not whole:
            status = "missing"
        else:
            status = "made" if number in ran else "earlier"
        present = status in ("made", "earlier")
        rows.append(
            {
                "status": status,
                "how": entry["status"] if present else "",
                "made_with": f"{entry['profile']}, {entry['seed']}" if present else "",
                "files": " ".join(files) if present else "",
            }
        )
    return artifacts.assign(**pd.DataFrame(rows, index=artifacts.index))


def counts(rows: pd.DataFrame) -> str:
    """'24 made, 0 missing, ...' for a report."""
    found = rows["status"].value_counts()
    return ", ".join(f"{found.get(state, 0)} {state}" for state in STATES)


def write_index(out_dir: Path, rows: pd.DataFrame) -> Path:
    """Write INDEX.md: counts, one table a paper with links, then its figures."""
    lines = ["# Tables and figures", "", f"{len(rows)} artifacts: {counts(rows)}.", ""]
    lines += [f"- {state}: {meaning}" for state, meaning in STATES.items()]
    lines += ["", "How each run was made: [stamp.json](stamp.json) and `stamp/`."]
    for paper, group in rows.groupby("paper", sort=False):
        lines += ["", f"## {escape(paper)}", ""]
        lines += ["| artifact | content | status | how | profile, seed | files |"]
        lines += ["| --- | --- | --- | --- | --- | --- |"]
        for row in group.itertuples():
            links = " ".join(
                f"[{Path(name).suffix[1:]}]({name})" for name in row.files.split()
            )
            cells = (row.label, row.content, row.status, row.how, row.made_with)
            lines += [f"| {' | '.join(escape(cell) for cell in cells)} | {links} |"]
        for row in group.itertuples():
            pictures = [n for n in row.files.split() if n.endswith(".svg")]
            lines += [f"\n![{escape(row.label)}]({name})" for name in pictures]
    path = Path(out_dir) / "INDEX.md"
    write_atomically(path, "\n".join(lines) + "\n")
    return path


def _manifest(path: Path) -> dict | None:
    """Entries by id, or None where the notebook never ran into this folder."""
    if not path.is_file():
        return None
    return json.loads(path.read_text(encoding="utf-8"))["artifacts"]
