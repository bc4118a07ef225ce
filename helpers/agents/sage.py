"""SAGE's user, played by a model: two reasoning steps a turn.

f_emo (`feel`): from the persona, background, purpose, emotion value and whole history,
what the reply does to the emotion. f_reply (`say`): from the same material, the state
letter and the thoughts of f_emo, the next line.

SAGE's scored agent is this user: the score of a policy is its final emotion. An answer
that cannot be read is a `RoleFailure`, never a change of 0.

Deviation: the steps answer in JSON with the paper's field names; the released code
splits labelled text, takes the first number that it finds, and retries for ever.

Papers: SAGE 2505.02847 section 2.1 and appendix G; RLVER 2507.03112 section 3.4 and
appendices D, E.1. Fact sheet of RLVER, A1 to A4, B4, B5.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any

from helpers.agents import cards
from helpers.agents.emotion import EmotionRules
from helpers.agents.levels import level_field, text_field
from helpers.agents.llm import LLMClient, ask_json
from helpers.agents.llm_settings import RoleSettings
from helpers.agents.roles import Feeling, Guidance, History, Message, Utterance
from helpers.agents.templates import fingerprint, render
from helpers.data.emotion_states import state
from helpers.data.scenarios import Scenario

TEMPERATURE = 0.5  # not stated by SAGE; the value in RLVER's simulator source
SCALE = 100  # no change can be larger than the scale, clipped or not
EMOTION_FIELDS = ("Content", "TargetCompletion", "Activity", "Analyse")
REPLY_FIELDS = ("Thinking", "Origin", "Change", "Response")
GOODBYE = {
    # A leave-taking stands alone between stops; "to say goodbye to my dad" is none.
    "en": re.compile(
        r"(?:^|[.!?,;:]\s*)(?:(?:ok(?:ay)?|well|and|so),?\s+)?"
        r"(?:good[ -]?bye|bye(?:[ -]bye)?)"
        r"(?:\s+(?:now|then|for now|everyone))?\s*(?:[.!?,;]|$)",
        re.IGNORECASE,
    ),
    "zh": re.compile(r"再见|拜拜"),
}
PURPOSE = {
    "en": "A heart-to-heart: you open up by telling concrete events, and you want your "
    "own emotional need to be met. You never tell your hidden intention.",
    "zh": "谈心：通过讲具体的事情敞开心扉，满足自己的情感需要。绝不说出隐藏意图。",
}
NAMES = {
    "en": {"user": "you", "assistant": "NPC"},
    "zh": {"user": "你", "assistant": "NPC"},
}
RANGE = {"en": " from -{0} to +{0}", "zh": "，范围 -{0} 到 +{0}"}
NOTHING = {"en": "(nothing yet)", "zh": "（暂无）"}
TEMPLATES = ("sage_opening", "sage_emotion", "sage_reply")


def sage_settings(model: str, **changes: Any) -> RoleSettings:
    """Settings for the user role. The default judge of the paper is DeepSeek-V3."""
    ours = {"model": model, "temperature": TEMPERATURE, "asks": 3}
    return RoleSettings(**(ours | changes))


@dataclass(frozen=True)
class SageUser:
    """A `roles.User`. manner: "vanilla" or "challenging" (RLVER section 3.4)."""

    client: LLMClient
    rules: EmotionRules = field(default_factory=EmotionRules.sage)
    manner: str = "vanilla"
    role: str = "user"

    def __post_init__(self):
        if self.manner not in ("vanilla", "challenging"):
            raise ValueError(f"manner {self.manner!r}: choose vanilla or challenging")

    @classmethod
    def benchmark(cls, client: LLMClient) -> "SageUser":
        """SAGE's benchmark: start 40, change within +-10, vanilla."""
        return cls(client)

    @classmethod
    def rlver_challenging(cls, client: LLMClient) -> "SageUser":
        """The training simulator that RLVER released: start 30, change not clipped."""
        return cls(client, EmotionRules.rlver_training(), "challenging")

    @classmethod
    def rlver_vanilla(cls, client: LLMClient) -> "SageUser":
        """RLVER's vanilla training simulator: start 30, change within +-10.

        Inferred: its module is not released, the numbers come from compiled leftovers.
        """
        rules = EmotionRules(start=30, clip=10, stop_below=1, stop_at=None)
        return cls(client, rules, "vanilla")

    def describe(self) -> dict[str, Any]:
        return {
            "user": "SAGE",
            "manner": self.manner,
            "rules": self.rules.describe(),
            "model": self.client.describe(self.role),
            "prompts": fingerprint(*TEMPLATES, f"sage_manner_{self.manner}"),
        }

    def start(self, scenario: Scenario, seed: int) -> "SageSession":
        return SageSession(self, scenario, seed)


class SageSession:
    """One dialogue of a `SageUser`: a `roles.UserSession`."""

    def __init__(self, user: SageUser, card: Scenario, seed: int):
        self._user = user
        self._card = card
        self._seed = seed
        self._emotion = user.rules.start
        self._planning: dict[str, str] | None = None
        self._common = {
            "purpose": PURPOSE[card.language],
            "persona": cards.persona_text(card),
            "background": cards.background_text(card),
        }

    @property
    def emotion(self) -> int:
        return self._emotion

    def opening(self) -> Utterance:
        """The card's first line; without one, the model opens (no planning)."""
        if self._card.opening is not None:
            return Utterance(self._card.opening)
        data = self._ask("sage_opening", ("Response",))
        return Utterance(data["Response"])

    def feel(self, history: History) -> Feeling:
        """f_emo: the number goes in, a clipped whole-number change comes out."""
        clip = self._user.rules.clip
        language = self._card.language
        data = self._ask(
            "sage_emotion",
            EMOTION_FIELDS,
            number="Change",
            emotion=self._emotion,
            history=self._shown(history),
            manner=self._manner(),
            range="" if clip is None else RANGE[language].format(clip),
        )
        change = data.pop("Change")
        self._emotion, change = self._user.rules.apply(self._emotion, change)
        self._planning = data
        return Feeling(self._emotion, change, data)

    def say(self, history: History, guidance: Guidance | None) -> Utterance:
        """f_reply: sees the state letter, not the number. SAGE has no director."""
        if self._planning is None:
            raise RuntimeError("say comes after feel: there is no planning yet")
        thoughts = self._planning
        data = self._ask(
            "sage_reply",
            REPLY_FIELDS,
            earlier=self._shown(history[:-2]),
            latest=self._shown(history[-2:]),
            objective=thoughts["TargetCompletion"],
            subjective=f"{thoughts['Activity']} {thoughts['Analyse']}",
            state=state(self._emotion),
            manner=self._manner(),
        )
        said = data.pop("Response")
        goodbye = GOODBYE[self._card.language].search(said) is not None
        return Utterance(said, goodbye, data)

    def _manner(self) -> str:
        return render(f"sage_manner_{self._user.manner}", self._card.language)

    def _shown(self, history: History) -> str:
        """The history as a JSON list, roles renamed as in the paper."""
        names = NAMES[self._card.language]
        if not history:
            return NOTHING[self._card.language]
        return json.dumps([_renamed(m, names) for m in history], ensure_ascii=False)

    def _ask(
        self, template: str, texts: tuple[str, ...], number: str | None = None, **values
    ) -> dict[str, Any]:
        """Put one step; every field asked for is there, or RoleFailure is raised."""

        def check(data: dict) -> dict[str, Any]:
            found: dict[str, Any] = {name: text_field(data, name) for name in texts}
            if number is not None:
                found[number] = level_field(data, number, -SCALE, SCALE)
            return found

        prompt = render(template, self._card.language, **self._common, **values)
        return ask_json(
            self._user.client,
            self._user.role,
            prompt,
            check,
            as_role="user",
            repeat=self._seed,
        )


def _renamed(message: Message, names: dict[str, str]) -> dict[str, str]:
    return {"role": names[message.role], "content": message.content}
