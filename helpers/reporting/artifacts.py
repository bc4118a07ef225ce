"""The register of tables and figures, and the one writer that makes their files.

`data/published/artifacts.csv` lists every artifact of the kit once. A notebook hands a
result to its `Register`, which writes the files and notes them in a manifest; the
closing report (`helpers/reporting/index.py`) compares the manifests with the list.
"""

import io
import json
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from helpers.files import write_atomically
from helpers.paths import PUBLISHED
from helpers.profiles import suggestion
from helpers.reporting.tables import escape, to_markdown

ARTIFACTS = PUBLISHED / "artifacts.csv"

# What a status promises, and for a fixed input where its numbers come from.
STATUSES = {
    "exact": "recomputed from released records",
    "rerun": "made by the kit's own runs",
    "drawn": "a definition or diagram, drawn by the kit",
    "printed": "printed numbers only, from data/published",
    "people": "needs human raters; no numbers",
    "new": "an analysis of the kit's own",
}
BACKENDS = {
    "records": "numeric records of the released runs",
    "scripted": "the kit's scripted roles, no model",
    "llm": "models behind an endpoint",
    "labelled": "sentences written and labelled for the kit",
}


def load_artifacts(path: Path = ARTIFACTS) -> pd.DataFrame:
    """The list of artifacts, checked: one row an id, all columns text.

    Raises:
        ValueError: a repeated id, an unknown status or a notebook not of two digits.
    """
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    for column, wrong, advice in (
        ("id", rows["id"].duplicated(), "each id stands once"),
        ("best_status", ~rows["best_status"].isin(STATUSES), f"one of {[*STATUSES]}"),
        ("notebook", ~rows["notebook"].str.fullmatch(r"\d\d"), "two digits, as 03"),
        ("also", ~rows["also"].str.fullmatch(r"(\d\d( \d\d)*)?"), "as '04 07'"),
    ):
        if wrong.any():
            line = wrong.idxmax() + 2  # the header is line 1
            value = rows[column][wrong.idxmax()]
            raise ValueError(f"{path.name} line {line}: {column} {value!r}: {advice}")
    return rows


@dataclass(frozen=True)
class Written:
    """The files of one artifact; shows itself as the last line of a notebook cell."""

    artifact_id: str
    files: tuple[str, ...]
    markdown: str
    png: bytes | None = None

    def _ipython_display_(self) -> None:
        from IPython.display import Image, Markdown, display

        if self.png is not None:
            display(Image(self.png))
        display(Markdown(self.markdown))


class Register:
    """Writes the artifacts of one notebook and keeps the notebook's manifest.

    Args:
        notebook: its name or two-digit number.
        out_dir: folder of the artifacts; the manifest is `manifest/NN.json` in it.
        profile, seed: noted with each artifact.
        backend: where the numbers of reruns come from: records, scripted or llm.

    A new Register starts an empty manifest, so that a file left by an earlier run never
    counts as made by this one.
    """

    def __init__(
        self,
        notebook: str,
        out_dir: Path,
        profile: str,
        seed: int,
        backend: str = "records",
        artifacts: pd.DataFrame | None = None,
    ):
        self.notebook = notebook[:2]
        self.out_dir = Path(out_dir)
        self.profile, self.seed, self.backend = profile, seed, _known(backend)
        artifacts = load_artifacts() if artifacts is None else artifacts
        self._owners = dict(zip(artifacts["id"], artifacts["notebook"], strict=True))
        self._entries: dict[str, dict] = {}
        self._save_manifest()

    def table(
        self,
        artifact_id: str,
        frame: pd.DataFrame,
        caption: str,
        status: str,
        digits: int = 2,
        note: str = "",
        backend: str = "",
    ) -> Written:
        """Write `<id>.csv` (full precision) and `<id>.md` (rounded half-up).

        backend: where these numbers come from, if not where the notebook's do.

        Raises:
            ValueError: the id, its notebook or the status is wrong, or no rows.
        """
        self._check(artifact_id, frame, status)
        body = to_markdown(frame, digits)
        contents = {"csv": _csv(frame)}
        backend = _known(backend or self.backend)
        return self._write(artifact_id, contents, body, caption, status, note, backend)

    def figure(
        self,
        artifact_id: str,
        figure: Figure,
        data: pd.DataFrame,
        caption: str,
        status: str,
        note: str = "",
        backend: str = "",
    ) -> Written:
        """Write `<id>.csv` (the data drawn), `<id>.svg`, `<id>.png` and `<id>.md`.

        The figure is closed: the returned object shows it. Arguments and errors as of
        `table`.
        """
        self._check(artifact_id, data, status)
        contents = {"csv": _csv(data)}
        # Laid out and measured once: doing it for each format takes most of the time.
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        area = figure.get_tightbbox().padded(0.04)
        with matplotlib.rc_context({"svg.hashsalt": artifact_id}):
            for kind, metadata in (("svg", {"Date": None}), ("png", {})):
                stream = io.BytesIO()
                figure.savefig(stream, format=kind, metadata=metadata, bbox_inches=area)
                contents[kind] = stream.getvalue()
        plt.close(figure)
        body = f"![{artifact_id}]({artifact_id}.svg)\n"
        backend = _known(backend or self.backend)
        return self._write(artifact_id, contents, body, caption, status, note, backend)

    def written(self) -> pd.DataFrame:
        """What this notebook wrote so far: id, status, files."""
        rows = [
            {"id": key, "status": entry["status"], "files": " ".join(entry["files"])}
            for key, entry in self._entries.items()
        ]
        return pd.DataFrame(rows, columns=["id", "status", "files"])

    def _check(self, artifact_id: str, frame: pd.DataFrame, status: str) -> None:
        owner = self._owners.get(artifact_id)
        if owner is None:
            raise ValueError(
                f"Unknown artifact {artifact_id!r}"
                f"{suggestion(artifact_id, self._owners)}: add it to {ARTIFACTS.name}"
            )
        if owner != self.notebook:
            raise ValueError(
                f"Artifact {artifact_id} belongs to notebook {owner}, "
                f"not {self.notebook}: one notebook writes an artifact"
            )
        if status not in STATUSES:
            raise ValueError(
                f"{artifact_id}: unknown status {status!r}: one of {[*STATUSES]}"
            )
        if frame.empty:
            raise ValueError(
                f"{artifact_id}: the frame is empty; a row that was not run stays, "
                "with missing values"
            )

    def _write(
        self,
        artifact_id: str,
        contents: dict[str, bytes],
        body: str,
        caption: str,
        status: str,
        note: str,
        backend: str,
    ) -> Written:
        caption = escape(caption)
        source = ""
        if status in ("rerun", "new"):
            source = f"; input: {BACKENDS[backend]}"
            if backend == "scripted":
                caption = f"offline demo: {caption}"
        made = (
            f"How made: notebook {self.notebook}, profile {self.profile}, "
            f"seed {self.seed}; {status}: {STATUSES[status]}{source}."
        )
        parts = [f"**{caption}**\n", body]
        parts += [escape(note) + "\n"] if note else []
        markdown = "\n".join([*parts, made + "\n"])
        contents = {**contents, "md": markdown.encode("utf-8")}
        # Everything is rendered by now: an error above leaves the old files whole.
        for suffix, content in contents.items():
            write_atomically(self.out_dir / f"{artifact_id}.{suffix}", content)
        files = tuple(f"{artifact_id}.{suffix}" for suffix in contents)
        self._entries[artifact_id] = {
            "status": status,
            "files": list(files),
            "caption": caption,
            "profile": self.profile,
            "seed": self.seed,
        }
        self._save_manifest()
        png = contents.get("png")
        # In a notebook the picture itself stands in for the link to its file.
        shown = markdown if png is None else markdown.replace(body, "")
        return Written(artifact_id, files, shown, png)

    def _save_manifest(self) -> None:
        manifest = {"notebook": self.notebook, "artifacts": self._entries}
        path = self.out_dir / "manifest" / f"{self.notebook}.json"
        write_atomically(path, json.dumps(manifest, indent=2) + "\n")


def _known(backend: str) -> str:
    if backend not in BACKENDS:
        raise ValueError(f"Unknown backend {backend!r}: one of {[*BACKENDS]}")
    return backend


def _csv(frame: pd.DataFrame) -> bytes:
    return frame.to_csv(index=False, lineterminator="\n").encode("utf-8")
