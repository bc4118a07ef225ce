"""Fixtures that several test files share."""

import signal

import nbformat
import pytest

# A suite started in the background inherits an ignored Ctrl-C, and so would the
# programs that tests start and interrupt: they would run for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)

PARAMETERS = 'PROFILE = "smoke"  # dial\nSEED = 0  # seed\nOUT_DIR = ""  # folder\n'


@pytest.fixture(scope="session")
def make_notebook():
    """Write a small notebook: a title, a parameters cell, then one cell a source."""

    def make(folder, name, *sources, parameters="", metadata=None):
        folder.mkdir(parents=True, exist_ok=True)
        tagged = nbformat.v4.new_code_cell(PARAMETERS + parameters)
        tagged.metadata["tags"] = ["parameters"]
        cells = [nbformat.v4.new_markdown_cell(f"# Title of {name}\nText."), tagged]
        cells += [nbformat.v4.new_code_cell(source) for source in sources]
        node = nbformat.v4.new_notebook(cells=cells, metadata=metadata or {})
        path = folder / f"{name}.ipynb"
        nbformat.write(node, path)
        return path

    return make
