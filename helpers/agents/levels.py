"""Fields of a model's JSON answer: the checked value or ValueError, never a default."""

import re
from collections.abc import Mapping
from typing import Any

_WHOLE = re.compile(r"[+-]?\d{1,4}")


def whole_number(data: Mapping[str, Any], name: str) -> int:
    """An integer field; "+5" and 5.0 are read as 5, anything else is refused."""
    value = _present(data, name)
    if isinstance(value, str):
        plain = value.strip().replace("\u2212", "-")
        if _WHOLE.fullmatch(plain):
            return int(plain)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{name} = {value!r} is not a whole number")
    return value


def level_field(data: Mapping[str, Any], name: str, low: int, high: int) -> int:
    """An integer field within low..high; outside is refused, not clipped."""
    value = whole_number(data, name)
    if not low <= value <= high:
        raise ValueError(f"{name} = {value} is outside {low}..{high}")
    return value


def text_field(data: Mapping[str, Any], name: str, empty: bool = False) -> str:
    """A string field, stripped; `empty` allows one without text."""
    value = _present(data, name)
    if not isinstance(value, str) or not (empty or value.strip()):
        raise ValueError(f"{name} = {value!r} is not text")
    return value.strip()


def ratings(
    data: Mapping[str, Any],
    ranges: Mapping[str, tuple[int, int]],
    evidence_for_nonzero: bool,
) -> dict[str, dict[str, Any]]:
    """Read {item: {"level", "evidence", "reasoning"}} for exactly the items of ranges.

    Args:
        ranges: (lowest, highest) level by item.
        evidence_for_nonzero: a level other than 0 without evidence is refused.

    Raises:
        ValueError: names the first item and field that is missing or impossible.
    """
    strangers = sorted(set(data) - set(ranges))
    if strangers:
        raise ValueError(f"unknown item {strangers[0]!r}")
    read = {}
    for item, (low, high) in ranges.items():
        entry = _present(data, item)
        if not isinstance(entry, dict):
            raise ValueError(f"{item} is not an object with level and evidence")
        try:
            level = level_field(entry, "level", low, high)
            empty = not (evidence_for_nonzero and level)
            read[item] = {
                "level": level,
                "evidence": text_field(entry, "evidence", empty),
                "reasoning": text_field(entry, "reasoning", empty=True),
            }
        except ValueError as problem:
            raise ValueError(f"{item}: {problem}") from None
    return read


def _present(data: Mapping[str, Any], name: str) -> Any:
    if name not in data:
        raise ValueError(f"{name} is missing")
    return data[name]
