"""Where things lie, whatever the working directory.

The project is installed in place (``-e .``), so the root is this file's grandparent.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = ROOT / "notebooks"
PUBLISHED = ROOT / "data" / "published"
RECORDS = ROOT / "data" / "records"
FIGURES = ROOT / "figures"
RUNS = ROOT / "runs"
