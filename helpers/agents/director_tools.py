"""The seven tools of EMPA's director: schemas for the server, and a strict check.

Paper: EMPA 2603.00552v1 section 3.3 names the families; names and arguments are those
of the released code (fact sheet, 1.3), with `young_adulthood` in one word.
"""

from collections.abc import Mapping
from typing import Any

from helpers.agents.cards import PERIODS
from helpers.agents.levels import level_field, text_field

ASPECTS = ("motivational", "affective", "cognitive")
# Tool: (required texts, optional texts); other arguments are handled by name below.
TEXTS = {
    "select_and_reveal_fragment": (("reason",), ("actor_guidance",)),
    "reveal_memory": (("reason",), ()),
    "adjust_empathy_strategy": (("reason", "actor_guidance"), ()),
    "introduce_turning_point": (("reason",), ("actor_guidance",)),
    "continue_without_new_info": (("focus_suggestion", "reason"), ()),
    "observe_and_wait": (("observation", "wait_reason"), ()),
    "end_conversation": (("reason",), ()),
}
FIRST_STAGE = {"select_and_reveal_fragment": 0, "introduce_turning_point": -1}


def check_call(data: Mapping[str, Any], n_stages: int) -> tuple[str, dict[str, Any]]:
    """Read {"tool", "arguments"}; return both, with only the tool's own arguments.

    Raises:
        ValueError: unknown tool, or an argument missing or impossible.
    """
    tool = text_field(data, "tool")
    if tool not in TEXTS:
        raise ValueError(f"unknown tool {tool!r}; known: {', '.join(TEXTS)}")
    given = data.get("arguments")
    if not isinstance(given, dict):
        raise ValueError(f"{tool}: arguments are missing")
    required, optional = TEXTS[tool]
    read: dict[str, Any] = {}
    try:
        if tool in FIRST_STAGE:
            first = FIRST_STAGE[tool]
            read["stage_index"] = level_field(given, "stage_index", first, n_stages - 1)
        if tool == "reveal_memory":
            read["memory_period"] = _choice(given, "memory_period", PERIODS)
        if tool == "adjust_empathy_strategy":
            read["focus_aspect"] = _choice(given, "focus_aspect", ASPECTS)
        if tool == "introduce_turning_point":
            read["empathy_aspect"] = _choice(given, "empathy_aspect", (*ASPECTS, ""))
        read |= {name: text_field(given, name) for name in required}
        read |= {
            name: text_field(given, name, empty=True)
            for name in optional
            if given.get(name) is not None
        }
    except ValueError as problem:
        raise ValueError(f"{tool}: {problem}") from None
    return tool, read


def tool_schemas(n_stages: int) -> list[dict[str, Any]]:
    """The tools in the server's format; no stage tool for a card without stages."""
    return [
        _schema(tool, n_stages)
        for tool in TEXTS
        if n_stages > FIRST_STAGE.get(tool, -1)
    ]


def _schema(tool: str, n_stages: int) -> dict[str, Any]:
    required, optional = TEXTS[tool]
    properties: dict[str, Any] = {
        name: {"type": "string"} for name in (*required, *optional)
    }
    extra: dict[str, Any] = {}
    if tool in FIRST_STAGE:
        extra["stage_index"] = {
            "type": "integer",
            "minimum": FIRST_STAGE[tool],
            "maximum": n_stages - 1,
        }
    if tool == "reveal_memory":
        extra["memory_period"] = {"type": "string", "enum": list(PERIODS)}
    if tool == "adjust_empathy_strategy":
        extra["focus_aspect"] = {"type": "string", "enum": list(ASPECTS)}
    if tool == "introduce_turning_point":
        extra["empathy_aspect"] = {"type": "string", "enum": [*ASPECTS, ""]}
    return {
        "type": "function",
        "function": {
            "name": tool,
            "parameters": {
                "type": "object",
                "properties": extra | properties,
                "required": [*extra, *required],
            },
        },
    }


def _choice(given: Mapping[str, Any], name: str, choices: tuple[str, ...]) -> str:
    value = text_field(given, name, empty="" in choices)
    value = value.replace(" ", "_")
    if value not in choices:
        raise ValueError(f"{name} = {value!r}; choose one of {', '.join(choices)}")
    return value
