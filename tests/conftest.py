"""Fixtures that several test files share."""

import nbformat
import pytest

PARAMETERS = 'PROFILE = "smoke"  # dial\nSEED = 0  # seed\nOUT_DIR = ""  # folder\n'


@pytest.fixture
def make_notebook(tmp_path):
    """Write a small notebook: a title, a parameters cell, then one cell a source."""

    def make(name, *sources, parameters="", metadata=None):
        cells = [
            nbformat.v4.new_markdown_cell(f"# {name}\nA fixture."),
            nbformat.v4.new_code_cell(
                PARAMETERS + parameters, metadata={"tags": ["parameters"]}
            ),
            *(nbformat.v4.new_code_cell(source) for source in sources),
        ]
        folder = tmp_path / "notebooks"
        folder.mkdir(exist_ok=True)
        node = nbformat.v4.new_notebook(cells=cells, metadata=metadata or {})
        path = folder / f"{name}.ipynb"
        nbformat.write(node, path)
        return path

    return make
