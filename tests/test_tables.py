"""Half-up rounding, numbers as text, Markdown tables, atomic files."""

import numpy as np
import pandas as pd
import pytest

from helpers.files import write_atomically
from helpers.reporting.tables import escape, format_number, half_up, to_markdown


@pytest.mark.parametrize(
    ("value", "digits", "rounded"),
    [
        (2.675, 2, 2.68),
        (0.125, 2, 0.13),
        (-0.125, 2, -0.13),
        (38.55, 1, 38.6),
        (2.5, 0, 3.0),
        (1e20, 2, 1e20),
        (1e27, 2, 1e27),
        (float("inf"), 2, float("inf")),
        (np.float64(1.005), 2, 1.01),
        (7, 1, 7.0),
        (None, 2, None),
        (float("nan"), 2, None),
    ],
)
def test_half_up(value, digits, rounded):
    assert half_up(value, digits) == rounded


def test_format():
    assert format_number(1.0, 2) == "1.00"
    assert format_number(-0.001, 2) == "0.00"
    assert format_number(None, 2) == "–" == format_number(np.nan, 0)


def test_markdown_aligns_rounds_and_disarms_text():
    frame = pd.DataFrame(
        {
            "a|b": ["x|y", "<b>\nz"],
            "n": [1, 2],
            "v": [0.125, np.nan],
            "ok": [True, False],
        }
    )
    lines = to_markdown(frame).splitlines()
    assert lines[0] == "| a\\|b | n | v | ok |"
    assert lines[2] == "| x\\|y | 1 | 0.13 | yes |"
    assert lines[3] == "| &lt;b&gt; z | 2 | – | no |"
    assert len(lines) == 4
    assert "<" not in escape("<script>") and "\n" not in escape("a\nb")


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "deep" / "a.txt"
    write_atomically(path, "old\n")
    assert path.read_text() == "old\n"

    def fail(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="no space"):
        write_atomically(path, "new\n")
    assert path.read_text() == "old\n"
    assert [p.name for p in path.parent.iterdir()] == ["a.txt"]
