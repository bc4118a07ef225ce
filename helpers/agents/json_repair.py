"""Read the JSON object in a model's reply: the expected value or a typed error.

Models wrap JSON in fences and prose, write it twice, leave trailing commas, use
full-width punctuation, or are cut off. What can be read without guessing is read;
the rest raises `JsonProblem`. Nothing is completed, clamped or filled in, so a failed
judgement can never become a score.
"""

import json
import re
from collections.abc import Callable
from typing import Any

MAX_CHARS = 400_000
_OPENER = re.compile(r'[{｛]\s*["“”＂}｝]')
_OUTSIDE = str.maketrans(
    "｛｝［］，：－０１２３４５６７８９．　", "{}[],:-0123456789. "
)
_CLOSES = {"}": "{", "]": "["}
_WIDE_OPEN, _WIDE_CLOSE = "“”＂", "”＂"
_THINK = re.compile(r"<think(?:ing)?>(.*?)</think(?:ing)?>", re.DOTALL)
_THINK_OPEN = re.compile(r"<think(?:ing)?>")
_THINK_CLOSE = re.compile(r"</think(?:ing)?>")


class JsonProblem(ValueError):
    """No JSON object could be read.

    kind: "none" (no object in the text), "cut" (it does not end), "broken" (not JSON
    even after repair), "ambiguous" (several objects that differ), "invalid" (JSON, but
    not what was asked for), "long" (more text than is searched).
    """

    def __init__(self, kind: str, detail: str):
        super().__init__(f"{kind}: {detail}")
        self.kind = kind


def split_think(text: str) -> tuple[str, str]:
    """Separate think text from the answer.

    Handles ``<think>...</think>``, a closing tag alone (the template opened the block)
    and an opening tag alone (cut inside the thought: there is no answer).

    Returns:
        (think, answer), both stripped.
    """
    thoughts = _THINK.findall(text)
    rest = _THINK.sub("", text)
    if close := list(_THINK_CLOSE.finditer(rest)):
        thoughts.append(rest[: close[-1].start()])
        rest = rest[close[-1].end() :]
    if opened := _THINK_OPEN.search(rest):
        thoughts.append(rest[opened.end() :])
        rest = rest[: opened.start()]
    return "\n".join(part.strip() for part in thoughts).strip(), rest.strip()


def read_json(text: str, check: Callable[[dict], Any] | None = None) -> Any:
    """Return the one JSON object in a text.

    Args:
        text: a model's answer; prose and fences around the object are ignored, think
            text is skipped.
        check: called with the object; returns the value wanted, or raises ValueError
            when the object is not what was asked for. With several objects in the text
            the check selects: exactly one distinct value must pass.

    Raises:
        JsonProblem: see its kinds.
    """
    answer = split_think(text)[1]
    if len(answer) > MAX_CHARS:
        raise JsonProblem("long", f"{len(answer)} characters, limit {MAX_CHARS}")
    found = _objects(answer)
    if not found:
        raise JsonProblem("none", "no JSON object in the reply")
    good: dict[str, Any] = {}
    refusal = None
    for value in found:
        try:
            result = value if check is None else check(value)
        except ValueError as problem:
            refusal = refusal or problem
            continue
        good.setdefault(json.dumps(value, sort_keys=True), result)
    if not good:
        raise JsonProblem("invalid", str(refusal))
    if len(good) > 1:
        raise JsonProblem("ambiguous", f"{len(good)} objects that differ")
    return next(iter(good.values()))


def _objects(text: str) -> list[dict]:
    """Every top-level object; inner objects of a broken one never count."""
    found = []
    at = 0
    while opener := _OPENER.search(text, at):
        normal, at = _normalise(text, opener.start())
        found.append(_loads(normal))
    return found


def _normalise(text: str, start: int) -> tuple[str, int]:
    """Copy one object to ASCII punctuation, without trailing commas.

    Returns:
        (JSON text, index after its end).

    Raises:
        JsonProblem: "cut" when the object does not end, "broken" when brackets cross.
    """
    out: list[str] = []
    stack: list[str] = []
    at = start
    while at < len(text):
        char = text[at].translate(_OUTSIDE)
        if char == '"':
            at = _copy_string(text, at, '"', out)
            continue
        if char in _WIDE_OPEN:
            at = _copy_string(text, at, _WIDE_CLOSE, out)
            continue
        if char in "{[":
            stack.append(char)
        elif char in _CLOSES:
            if stack.pop() != _CLOSES[char]:
                raise JsonProblem("broken", f"bracket {char!r} closes another one")
            _drop_trailing_comma(out)
        if char == "+" and text[at + 1 : at + 2].isdigit():
            char = ""  # "+5": SAGE asks for a signed number
        out.append("-" if char == "\u2212" else char)
        at += 1
        if not stack:
            return "".join(out), at
    raise JsonProblem("cut", "the JSON object does not end")


def _copy_string(text: str, at: int, closers: str, out: list[str]) -> int:
    """Copy the string that opens at ``at``; return the index after its end."""
    out.append('"')
    at += 1
    while at < len(text):
        char = text[at]
        if char in closers:
            out.append('"')
            return at + 1
        if char == "\\" and at + 1 < len(text):
            out.append(text[at : at + 2])
            at += 2
            continue
        out.append('\\"' if char == '"' else char)
        at += 1
    raise JsonProblem("cut", "a string in the JSON object does not end")


def _drop_trailing_comma(out: list[str]) -> None:
    last = len(out) - 1
    while last >= 0 and out[last].isspace():
        last -= 1
    if last >= 0 and out[last] == ",":
        del out[last]


def _loads(normal: str) -> dict:
    try:
        value = json.loads(
            normal,
            strict=False,  # models put raw line breaks into strings
            object_pairs_hook=_unique_pairs,
            parse_constant=_no_constant,
        )
        json.dumps(value, ensure_ascii=False).encode()
        return value
    except UnicodeEncodeError:
        raise JsonProblem("broken", "half of a surrogate pair in a string") from None
    except json.JSONDecodeError as problem:
        raise JsonProblem("broken", f"{problem.msg} at {problem.pos}") from None
    except RecursionError:
        raise JsonProblem("broken", "nested too deeply") from None


def _unique_pairs(pairs: list[tuple[str, Any]]) -> dict:
    value = dict(pairs)
    for key, item in pairs:
        if value[key] != item or type(value[key]) is not type(item):
            raise JsonProblem("ambiguous", f"field {key!r} occurs twice and differs")
    return value


def _no_constant(name: str) -> None:
    raise JsonProblem("broken", f"{name} is not JSON")
