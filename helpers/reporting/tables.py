"""Numbers as text: one rounding rule (half-up) and one Markdown table.

Python and NumPy round half to even on the binary value, so 2.675 becomes 2.67 and two
tables made from the same numbers can differ in the last digit. Published tables are
rounded half-up on the decimal value; so are the kit's.
"""

from decimal import ROUND_HALF_UP, Decimal
from math import isfinite
from numbers import Integral, Real

import pandas as pd

MISSING = "–"


def half_up(value, digits: int):
    """Round half-up in decimal; a missing value stays None.

    Args:
        value: a number, None or NaN.
        digits: decimal places to keep.

    Returns:
        float, or None when the value is missing.
    """
    if value is None or pd.isna(value):
        return None
    value = float(value)
    if not isfinite(value) or abs(value) >= 1e15:  # no digits after the point are known
        return value
    step = Decimal(1).scaleb(-digits)
    rounded = Decimal(repr(value)).quantize(step, rounding=ROUND_HALF_UP)
    return float(rounded) + 0.0  # no negative zero


def format_number(value, digits: int = 2) -> str:
    """A number as text with exactly `digits` places; missing values are a dash."""
    rounded = half_up(value, digits)
    return MISSING if rounded is None else f"{rounded:.{digits}f}"


def signed(value, digits: int = 1) -> str:
    """The same with a sign where it is above 0: of a difference."""
    text = format_number(value, digits)
    return f"+{text}" if value > 0 else text


def escape(text: str) -> str:
    """Text as inert Markdown table content: no pipes, line breaks or HTML."""
    for mark, safe in (
        ("&", "&amp;"),
        ("<", "&lt;"),
        (">", "&gt;"),
        ("|", "\\|"),
        ("`", "\\`"),
        ("\r", " "),
        ("\n", " "),
    ):
        text = text.replace(mark, safe)
    return text


def _cell(value, digits: int) -> str:
    if isinstance(value, str):
        return escape(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or pd.isna(value):
        return MISSING
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        return format_number(value, digits)
    return escape(str(value))


def to_markdown(frame: pd.DataFrame, digits: int = 2) -> str:
    """A frame as a Markdown table: text left, numbers right and rounded half-up.

    The index is not shown: call `reset_index()` first when it carries names.
    """
    numeric = [pd.api.types.is_numeric_dtype(frame[name]) for name in frame.columns]
    lines = [
        "| " + " | ".join(escape(str(name)) for name in frame.columns) + " |",
        "| " + " | ".join("---:" if n else "---" for n in numeric) + " |",
    ]
    for row in frame.itertuples(index=False, name=None):
        lines.append("| " + " | ".join(_cell(value, digits) for value in row) + " |")
    return "\n".join(lines) + "\n"
