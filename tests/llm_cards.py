"""A card of marked words, and scripted answers, for the tests of the LLM roles."""

import json

from fake_llm import FakeClock, chat

from helpers.agents.empa import empa_settings
from helpers.agents.llm import LLMClient
from helpers.agents.llm_settings import RetryPolicy
from helpers.agents.roles import Message, StatePacket
from helpers.agents.sage import sage_settings
from helpers.data.scenarios import (
    Memories,
    Persona,
    ReactionRules,
    Scenario,
    Situation,
    Source,
    StoryPhase,
)
from helpers.data.slots import ITEMS


def make_card(language: str = "en", **changes) -> Scenario:
    """A card whose every part is a word that occurs nowhere else."""
    fields = {
        "schema_version": 1,
        "id": "card-1",
        "language": language,
        "split": "dev",
        "category": "career",
        "persona": Persona(
            name="Wname", age=31, gender="female", occupation="Wjob", outer="Wouter",
            inner="Winner", speaking_style="Wstyle",
        ),
        "situation": Situation(
            topic="Wtopic", trigger="Wtrigger", circumstances="Wlife", goal="Wgoal",
            to_vent="Wvent", hoped_for="Whope",
        ),
        "memories": Memories(
            childhood="Wchild", adolescence="Wteen", young_adulthood="Wyoung",
            current="Wcurrent", growth_line="Wline",
        ),
        "story_phases": tuple(
            StoryPhase(title=f"Wtitle{i}", content=f"Wpreview{i} {'x' * 60} Wplot{i}")
            for i in range(4)
        ),
        "opening": "Wopening",
        "intention": "Praise",
        "needs": dict.fromkeys(ITEMS, 2),
        "priorities": {"C": "high", "A": "low", "P": "medium"},
        "threshold": "high",
        "reaction_rules": ReactionRules(lifts=("Wlift",), lowers=("Wlower",)),
        "hidden": None,
        "source": Source(name="own", id="card-1"),
    }  # fmt: skip
    return Scenario(**(fields | changes))


HISTORY = [
    Message("user", "U1"),
    Message("assistant", "A1"),
    Message("user", "U2"),
    Message("assistant", "A2"),
]
STATE = StatePacket(2, (-14.0, -18.0, -18.0), (-13.0, -15.0, -18.0), (1.0, 3.0, 0.0))
EMOTION = {
    "Content": "c", "TargetCompletion": "Tseen", "Activity": "Tmind",
    "Analyse": "Tfelt", "Change": 5,
}  # fmt: skip
REPLY = {"Thinking": "t", "Origin": "o", "Change": "c", "Response": "I see."}


def rating(ranges, **levels):
    """A judge's answer with the levels given, 0 elsewhere."""
    return {
        item: {"level": levels.get(item, 0), "evidence": "words", "reasoning": "so"}
        for item in ranges
    }


def llm_for(server, folder=None, sage=False, **more) -> LLMClient:
    roles = empa_settings("infra", "tested")
    if sage:
        roles["user"] = sage_settings("infra")
    more = {"retry": RetryPolicy(attempts=2), "clock": FakeClock()} | more
    return LLMClient(roles, folder, base_url=server.base_url, **more)


def asked(server, number=-1) -> str:
    return "\n".join(m["content"] for m in server.bodies[number]["messages"])


def in_prompt(server, *words: str) -> set[str]:
    text = asked(server)
    return {word for word in words if word in text}


CALLS = {
    "select_and_reveal_fragment": {"stage_index": 1, "reason": "r"},
    "reveal_memory": {"memory_period": "young adulthood", "reason": "r"},
    "adjust_empathy_strategy": {
        "focus_aspect": "affective", "reason": "r", "actor_guidance": "Gsoft",
    },
    "introduce_turning_point": {
        "stage_index": 2, "empathy_aspect": "", "reason": "r",
        "actor_guidance": "Gturn",
    },
    "continue_without_new_info": {"focus_suggestion": "Gstay", "reason": "r"},
    "observe_and_wait": {"observation": "o", "wait_reason": "w"},
    "end_conversation": {"reason": "done"},
}  # fmt: skip
SAID = {
    "select_and_reveal_fragment": ("Wtitle1", "Wplot1"),
    "reveal_memory": ("Wyoung",),
    "adjust_empathy_strategy": ("to be felt with", "Gsoft"),
    "introduce_turning_point": ("Wtitle2", "Wplot2", "Gturn"),
    "continue_without_new_info": ("Gstay",),
}


def tool_call(name, arguments, *more):
    calls = [(name, arguments), *more]
    return chat(
        None,
        finish="tool_calls",
        tool_calls=[
            {
                "id": f"t{i}",
                "type": "function",
                "function": {"name": n, "arguments": json.dumps(a)},
            }
            for i, (n, a) in enumerate(calls)
        ],
    )
