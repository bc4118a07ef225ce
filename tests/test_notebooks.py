"""Every notebook: how it is written, and that it runs at the smoke profile."""

import io
import re
import tokenize

import nbformat
import pandas as pd
import papermill
import pytest

from helpers.paths import NOTEBOOKS
from helpers.reporting.artifacts import load_artifacts
from helpers.reproduce import main

CHAPTERS = sorted(NOTEBOOKS.glob("*.ipynb"))
SOLUTIONS = sorted((NOTEBOOKS / "solutions").glob("*.ipynb"))
ALL = CHAPTERS + SOLUTIONS
each = pytest.mark.parametrize("path", ALL, ids=lambda p: p.stem)
each_chapter = pytest.mark.parametrize("path", CHAPTERS, ids=lambda p: p.stem)


def cells(path, kind):
    return [c for c in nbformat.read(path, 4).cells if c.cell_type == kind]


def test_there_are_notebooks():
    assert [p.stem[:2] for p in CHAPTERS] == sorted({p.stem[:2] for p in CHAPTERS})
    assert {p.stem[:2] for p in SOLUTIONS} <= {p.stem[:2] for p in CHAPTERS}
    assert CHAPTERS and SOLUTIONS


@each
def test_it_is_committed_clean(path):
    node = nbformat.read(path, 4)
    nbformat.validate(node)
    assert node.metadata.kernelspec.name == "python3"
    assert set(node.metadata) <= {"kernelspec", "language_info"}
    for cell in node.cells:
        assert not cell.get("outputs") and cell.get("execution_count") is None
        assert set(cell.metadata) <= {"tags"}, cell.metadata


@each
def test_cells_are_short_and_plain(path):
    for cell in nbformat.read(path, 4).cells:
        lines = cell.source.splitlines()
        assert len(lines) <= 40, f"{len(lines)} lines: {lines[0]}"
        if cell.cell_type == "code":
            assert all(len(line) <= 88 for line in lines), lines[0]
            assert not re.search(r"^\s*[!%]|pip install", cell.source, re.M), lines[0]
            assert not re.search(r"['\"](/|~/|[A-Z]:\\)", cell.source), lines[0]


@each
def test_parameters_are_literals_with_comments(path):
    tagged = [
        c for c in cells(path, "code") if "parameters" in c.metadata.get("tags", [])
    ]
    assert len(tagged) == 1
    source = tagged[0].source
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    commented = {t.start[0] for t in tokens if t.type == tokenize.COMMENT}
    assert commented == set(range(1, len(source.splitlines()) + 1))
    if path in CHAPTERS:
        for name in ("PROFILE", "SEED", "OUT_DIR"):
            assert re.search(rf"^{name} = ", source, re.M), name


@each_chapter
def test_order_of_a_chapter(path):
    nodes = nbformat.read(path, 4).cells
    number = path.stem[:2]
    assert nodes[0].source.startswith(f"# {number} · ")
    for word in (
        "**Paper:**",
        "**Question.**",
        "**Reads**",
        "**Writes**",
        "**Minutes**",
    ):
        assert word in nodes[0].source, word
    assert nodes[1].source.startswith("**You will**")
    assert 3 <= nodes[1].source.count("\n- ") <= 5
    assert "parameters" in nodes[2].metadata.get("tags", [])
    assert "start(" in nodes[3].source
    assert nodes[-1].source.startswith("## Exercises")
    assert f"solutions/{number}_solutions.ipynb" in nodes[-1].source
    titles = re.findall(
        rf"^## {int(number)}\.(\d+)",
        "\n".join(n.source for n in nodes if n.cell_type == "markdown"),
        re.M,
    )
    assert titles == [str(i) for i in range(len(titles))], titles


@each
def test_checks_assert_with_effect(path):
    checks = [c.source for c in cells(path, "code") if "# check:" in c.source]
    assert checks, "no check cell"
    for source in checks:
        assert source.startswith("# check:") and "assert " in source
        assert not re.search(r"assert (True|1)\b", source)


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    """All notebooks at the smoke profile through the driver; the folder it filled."""
    out = tmp_path_factory.mktemp("smoke")
    assert main(["--profile", "smoke", "--out", str(out)]) == 0
    return out


def test_the_driver_runs_them_all(smoke):
    built = {p.stem[:2] for p in CHAPTERS}
    rows = load_artifacts()
    for row in rows[rows["notebook"].isin(built)].to_dict("records"):
        assert (smoke / f"{row['id']}.csv").is_file(), row["id"]
        assert (smoke / f"{row['id']}.md").is_file(), row["id"]
    assert (smoke / "INDEX.md").is_file() and (smoke / "stamp.json").is_file()


def test_a_second_run_writes_the_same_tables(smoke, tmp_path):
    assert main(["--profile", "smoke", "--only", "03", "--out", str(tmp_path)]) == 0
    for path in tmp_path.glob("*.csv"):
        assert path.read_bytes() == (smoke / path.name).read_bytes(), path.name


def test_tables_say_how_they_were_made(smoke):
    for path in smoke.glob("*_*.md"):
        text = path.read_text()
        assert "How made: notebook " in text and "profile smoke, seed 0" in text


def test_figures_have_pictures_and_captions(smoke):
    for path in smoke.glob("*.png"):
        assert path.with_suffix(".svg").stat().st_size > 5000, path.name
        caption = path.with_suffix(".md").read_text().splitlines()[0]
        assert len(caption) > 40, path.name
        assert len(pd.read_csv(path.with_suffix(".csv"))) > 1, path.name


@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda p: p.stem)
def test_solutions_run(path, tmp_path):
    papermill.execute_notebook(
        path, tmp_path / "out.ipynb", kernel_name="python3", progress_bar=False
    )
