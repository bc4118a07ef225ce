"""Where a clone of the authors' releases lies, for the tests that read one."""

import os
from pathlib import Path

import pytest

from helpers.paths import ROOT


def release(name: str) -> Path:
    """The folder `name` ("empa" or "sage") of KIT_RELEASES; skips when absent."""
    default = ROOT.parent / "shared" / "releases"
    folder = Path(os.environ.get("KIT_RELEASES", default)) / name
    if not folder.is_dir():
        pytest.skip(
            f"no release at {folder}: set KIT_RELEASES to a folder with {name}/"
        )
    return folder
