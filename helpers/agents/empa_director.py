"""EMPA's director, played by a model that calls one of seven tools a turn.

The director sees the history, the position of the potential model with its thresholds,
the story stages as 60-character previews, which stages and memories are out, and the
card's priorities. It does not see the policy's prompt or the whole card. The first tool
call counts; a call with impossible arguments is `judge_unparseable`, after the asks of
the role's settings. (The released code hands the error text to the actor as guidance.)

Paper: EMPA 2603.00552v1 section 3.3 and the released code (fact sheet, 1.2, 1.3, 2.5).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers.agents import cards
from helpers.agents.director_tools import check_call, tool_schemas
from helpers.agents.llm import LLMClient, ask_json
from helpers.agents.roles import Guidance, History, StatePacket
from helpers.agents.templates import fingerprint, render
from helpers.data.scenarios import Scenario
from helpers.scoring.epm import EpmSettings, zone_distance

PREVIEW_CHARS = 60
NAMES = {"en": ("Person", "Netizen"), "zh": ("人物", "网友")}
WORDS = {
    "en": {
        "out": "released",
        "held": "not yet released",
        "none": "(none)",
        "stage": "Bring in this part of your story, in your own words",
        "memory": "Something from your past comes to mind; let it show",
        "deeper": "You have touched on this memory before; go deeper into it",
        "focus": "Let this need show more",
        "keep": "Bring nothing new; stay with",
        "advice": "How",
        "cognitive": "to be understood",
        "affective": "to be felt with",
        "motivational": "to be affirmed",
    },
    "zh": {
        "out": "已透露",
        "held": "未透露",
        "none": "（无）",
        "stage": "用自己的话讲出这段经历",
        "memory": "想起过去的事，让它自然流露",
        "deeper": "这段记忆已经提过，说得更深一些",
        "focus": "更多表现出这种需要",
        "keep": "不加入新内容，继续聚焦",
        "advice": "方式",
        "cognitive": "被理解",
        "affective": "情感共鸣",
        "motivational": "被肯定",
    },
}


@dataclass(frozen=True)
class EmpaDirector:
    """A `roles.Director`.

    memory: "period" releases the memory of the period asked for (the paper's intent);
        "released" hands over the whole experience whatever the period, as the released
        code does.
    epm: thresholds and turn limits that are shown to the director.
    """

    client: LLMClient
    memory: str = "period"
    epm: EpmSettings = EpmSettings.released()
    role: str = "director"

    def __post_init__(self):
        if self.memory not in ("period", "released"):
            raise ValueError(f"memory {self.memory!r}: choose period or released")

    def describe(self) -> dict[str, Any]:
        return {
            "director": "EMPA",
            "memory": self.memory,
            "alpha": self.epm.alpha,
            "turns": [self.epm.min_turns, self.epm.max_turns],
            "model": self.client.describe(self.role),
            "prompts": fingerprint("empa_director"),
        }

    def start(self, scenario: Scenario, seed: int) -> "DirectorSession":
        return DirectorSession(self, scenario, seed)


class DirectorSession:
    """One dialogue of an `EmpaDirector`: a `roles.DirectorSession`.

    Holds which stages and memories are out.
    """

    def __init__(self, director: EmpaDirector, card: Scenario, seed: int):
        self._director = director
        self._card = card
        self._seed = seed
        self._stages: set[int] = set()
        self._periods: set[str] = set()
        self._words = WORDS[card.language]

    def guide(self, history: History, state: StatePacket) -> Guidance:
        """One tool call, and what it tells the actor."""
        language = self._card.language
        epm = self._director.epm
        n_stages = len(self._card.story_phases)
        prompt = render(
            "empa_director",
            language,
            history=cards.numbered(history, *NAMES[language]),
            state=state_text(state, epm),
            priorities=cards.priorities_text(self._card) or self._words["none"],
            stages=self._stage_list(),
            memories=self._memory_list(),
            min_turns=epm.min_turns,
        )
        tool, arguments = ask_json(
            self._director.client,
            self._director.role,
            prompt,
            lambda data: check_call(data, n_stages),
            as_role="director",
            tools=tool_schemas(n_stages),
            repeat=self._seed,
        )
        stop = tool == "end_conversation" and state.turn >= epm.min_turns
        return Guidance(tool, arguments, self._text(tool, arguments), stop)

    def _text(self, tool: str, arguments: Mapping[str, Any]) -> str | None:
        """What the actor is told; None for the tools that give no direction."""
        words = self._words
        parts: list[str] = []
        if (index := arguments.get("stage_index", -1)) >= 0:
            self._stages.add(index)
            phase = self._card.story_phases[index]
            parts.append(f"{words['stage']}: {phase.title}\n{phase.content}")
        if tool == "reveal_memory":
            parts.append(self._memory(arguments["memory_period"]))
        aspect = arguments.get("focus_aspect") or arguments.get("empathy_aspect")
        if aspect:
            parts.append(f"{words['focus']}: {words[aspect]}")
        if tool == "continue_without_new_info":
            parts.append(f"{words['keep']}: {arguments['focus_suggestion']}")
        if advice := arguments.get("actor_guidance"):
            parts.append(f"{words['advice']}: {advice}")
        return "\n".join(parts) or None

    def _memory(self, period: str) -> str:
        if period in self._periods:
            return f"{self._words['deeper']}: {self._label(period)}"
        self._periods.add(period)
        whole = self._director.memory == "released"
        text = (
            cards.experience_text(self._card)
            if whole
            else cards.memory_text(self._card, period)
        )
        return f"{self._words['memory']}: {text or self._label(period)}"

    def _label(self, period: str) -> str:
        return cards.LABELS[period][("en", "zh").index(self._card.language)]

    def _flag(self, out: bool) -> str:
        return self._words["out" if out else "held"]

    def _stage_list(self) -> str:
        lines = [
            f"{index}. {phase.title}: {phase.content[:PREVIEW_CHARS]} "
            f"[{self._flag(index in self._stages)}]"
            for index, phase in enumerate(self._card.story_phases)
        ]
        return "\n".join(lines) or self._words["none"]

    def _memory_list(self) -> str:
        return "\n".join(
            f"{period}: {self._flag(period in self._periods)}"
            for period in cards.PERIODS
        )


def state_text(state: StatePacket, epm: EpmSettings) -> str:
    """Position, step and energy with the thresholds they are held against.

    Uses E_total = ||P_0|| + P_t . v*_0, exact for the fixed direction.
    """
    p0, position, step = (
        np.array(x, dtype=float) for x in (state.p0, state.position, state.increment)
    )
    deficit = float(np.linalg.norm(p0))
    goal = -p0 / deficit if deficit else np.zeros(3)
    start, now = float(zone_distance(p0)), float(zone_distance(position))
    covered = f"{100 * (1 - now / start):.0f} %" if start else "n/a"
    length = float(np.linalg.norm(step))
    work = float(step @ goal)
    alignment = f"{work / length:.2f}" if length else "n/a"
    projection = float(position @ goal)
    radius = epm.alpha * deficit
    return "\n".join(
        (
            f"turn {state.turn} (end possible from {epm.min_turns}, limit "
            f"{epm.max_turns})",
            f"start {_axes(p0)}, now {_axes(position)}, last step {_axes(step)}",
            f"distance to the zone {now:.1f} of {start:.1f} (covered: {covered})",
            f"energy of the last turn {work:.2f}, alignment {alignment}",
            f"total energy {deficit + projection:.2f} (needs {deficit:.2f})",
            f"projection {projection:.2f} (needs {-radius:.2f}), norm "
            f"{float(np.linalg.norm(position)):.2f} (needs {radius:.2f})",
        )
    )


def _axes(vector: np.ndarray) -> str:
    return "C {:g} A {:g} P {:g}".format(*vector)
