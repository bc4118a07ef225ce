"""EMPA's actor, played by a model, and the settings of all its roles.

The actor sees its whole card (experience and story trigger included), the numbered
history and the last guidance; it never sees a story stage before the director releases
it, and never a score.

Deviation: the released code tests the guidance for key words to see whether it carries
something new; here the director's tool says so. Lengths in English are words, chosen
to take about as long to read as the paper's numbers of Chinese characters.

Paper: EMPA 2603.00552v1 section 3.3, Algorithm 2 and the released code (fact sheet,
1.2, 1.3, 2.3, 2.4).
"""

from dataclasses import dataclass
from typing import Any

from helpers.agents import cards
from helpers.agents.llm import LLMClient, complete_or_fail
from helpers.agents.llm_settings import RoleSettings
from helpers.agents.roles import Feeling, Guidance, History, Utterance
from helpers.agents.templates import fingerprint, render
from helpers.data.scenarios import Scenario

# Tools whose guidance carries new plot or memory: the actor then writes more.
NEW_MATERIAL = (
    "select_and_reveal_fragment",
    "reveal_memory",
    "introduce_turning_point",
)
LENGTHS = {
    "zh": {"short": "20 到 50 个字", "long": "60 到 100 个字"},
    "en": {"short": "15 to 35 words", "long": "45 to 75 words"},
}
NAMES = {"en": ("You", "Netizen"), "zh": ("你", "网友")}
NO_GUIDANCE = {"en": "(none: go on as you like)", "zh": "（无，按你的想法继续）"}
TEMPLATES = ("empa_actor_system", "empa_actor_opening", "empa_actor_turn")


def empa_settings(
    infra_model: str, policy_model: str, decoding: str = "paper"
) -> dict[str, RoleSettings]:
    """Settings by role: user, judge, judge_iedr, director, policy.

    The roles of the sandbox are sampled as in the released code (the paper gives no
    numbers for them): temperature 0.7, both penalties 0.7, time-out 120 s, three tries
    for a judgement. Paper: all of them were Gemini 2.5 Pro.

    Args:
        decoding: of the policy. "paper": temperature 0.7, top-p 0.8, presence penalty
            1.5, 8,192 tokens (note of Table 7). "released": 0.7, both penalties 0.7,
            2,500 tokens.
    """
    infra = {
        "model": infra_model,
        "temperature": 0.7,
        "frequency_penalty": 0.7,
        "presence_penalty": 0.7,
    }
    own = {
        "paper": {"top_p": 0.8, "presence_penalty": 1.5, "max_tokens": 8192},
        "released": {
            "frequency_penalty": 0.7,
            "presence_penalty": 0.7,
            "max_tokens": 2500,
        },
    }
    if decoding not in own:
        raise ValueError(f"decoding {decoding!r}: choose paper or released")
    return {
        "user": RoleSettings(**infra, max_tokens=2500),
        "judge": RoleSettings(**infra, max_tokens=6000, asks=3),
        "judge_iedr": RoleSettings(**infra, max_tokens=8000, asks=3),
        "director": RoleSettings(**infra, max_tokens=4000, asks=3),
        "policy": RoleSettings(model=policy_model, temperature=0.7, **own[decoding]),
    }


@dataclass(frozen=True)
class EmpaActor:
    """A `roles.User` without an emotion."""

    client: LLMClient
    role: str = "user"

    def describe(self) -> dict[str, Any]:
        return {
            "user": "EMPA actor",
            "model": self.client.describe(self.role),
            "prompts": fingerprint(*TEMPLATES),
        }

    def start(self, scenario: Scenario, seed: int) -> "ActorSession":
        return ActorSession(self, scenario, seed)


class ActorSession:
    """One dialogue of an `EmpaActor`: a `roles.UserSession`."""

    emotion = None

    def __init__(self, actor: EmpaActor, card: Scenario, seed: int):
        self._actor = actor
        self._card = card
        self._seed = seed

    def opening(self) -> Utterance:
        """The first line, written from the card; there is no guidance before turn 1."""
        return self._write("empa_actor_opening", "short")

    def feel(self, history: History) -> Feeling:
        """EMPA's actor keeps no emotion."""
        return Feeling(None, None)

    def say(self, history: History, guidance: Guidance | None) -> Utterance:
        """The next line; longer when the guidance brings new plot or memory."""
        language = self._card.language
        new = guidance is not None and guidance.tool in NEW_MATERIAL
        return self._write(
            "empa_actor_turn",
            "long" if new else "short",
            history=cards.numbered(history, *NAMES[language]),
            guidance=(guidance and guidance.text) or NO_GUIDANCE[language],
        )

    def _write(self, template: str, length: str, **values: str) -> Utterance:
        language = self._card.language
        words = LENGTHS[language][length]
        system = render(
            "empa_actor_system", language, card=cards.actor_card(self._card)
        )
        messages = [
            {"role": "system", "content": system},
            {
                "role": "user",
                "content": render(template, language, length=words, **values),
            },
        ]
        reply = complete_or_fail(
            self._actor.client,
            self._actor.role,
            messages,
            as_role="user",
            repeat=self._seed,
        )
        return Utterance(reply.text)
