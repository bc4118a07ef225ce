"""A policy under test: a model behind a server.

It sees a fixed system prompt and the visible history, nothing of the card. EMPA's test
model gets the history flattened into one user message, without chat turns (released
code; the paper does not say); SAGE's and RLVER's gets chat turns.

Deviation: where the closing think tag is missing, the released RLVER code shows the
whole text to the user; here the reply has no visible part and counts as empty.

Papers: EMPA 2603.00552v1 section 3.3; RLVER 2507.03112 sections 2.3 and 3.1.
"""

from dataclasses import dataclass
from typing import Any

from helpers.agents import cards
from helpers.agents.llm import LLMClient, complete_or_fail
from helpers.agents.roles import History, Reply
from helpers.agents.templates import fingerprint, render

STYLES = ("empa", "sage", "think", "direct")
NAMES = {"en": ("Other person", "You"), "zh": ("对方", "你")}


@dataclass(frozen=True)
class LLMPolicy:
    """A `roles.Policy`.

    style: the system prompt, out of STYLES. language: "en" or "zh"; a policy is not
        shown the card, so it cannot take its language from there.
    flatten: history as one user message; None = as the style's paper does.
    """

    client: LLMClient
    style: str
    language: str
    flatten: bool | None = None
    role: str = "policy"

    def __post_init__(self):
        if self.style not in STYLES or self.language not in NAMES:
            raise ValueError(
                f"style {self.style!r}, language {self.language!r}: choose a style of "
                f"{', '.join(STYLES)} and en or zh"
            )

    @property
    def flat(self) -> bool:
        return self.style == "empa" if self.flatten is None else self.flatten

    def describe(self) -> dict[str, Any]:
        return {
            "policy": self.style,
            "language": self.language,
            "flat": self.flat,
            "model": self.client.describe(self.role),
            "prompts": fingerprint(f"policy_{self.style}", "policy_empa_turn"),
        }

    def start(self, scenario_id: str, seed: int) -> "PolicySession":
        return PolicySession(self, seed)


@dataclass(frozen=True)
class PolicySession:
    """One dialogue of an `LLMPolicy`: a `roles.PolicySession`."""

    policy: LLMPolicy
    seed: int

    def reply(self, history: History) -> Reply:
        """Answer; a cut, refused or missing answer is a RoleFailure."""
        policy = self.policy
        system = render(f"policy_{policy.style}", policy.language)
        answer = complete_or_fail(
            policy.client,
            policy.role,
            [{"role": "system", "content": system}, *self._turns(history)],
            as_role="policy",
            repeat=self.seed,
        )
        return Reply(
            answer.text,
            think=answer.think,
            prompt_tokens=answer.prompt_tokens,
            completion_tokens=answer.completion_tokens,
        )

    def _turns(self, history: History) -> list[dict[str, str]]:
        if not self.policy.flat:
            return [{"role": m.role, "content": m.content} for m in history]
        names = NAMES[self.policy.language]
        shown = cards.numbered(history, *names)
        text = render("policy_empa_turn", self.policy.language, history=shown)
        return [{"role": "user", "content": text}]
