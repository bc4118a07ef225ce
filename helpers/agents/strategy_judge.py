"""The judge of RLVER's and SAGE's analyses, played by a model.

Four questions, one prompt each: which strategies a reply uses, five capabilities of a
whole dialogue, the place of a policy on the map of social cognition, and how well a
user's line expresses what was felt. An answer that cannot be read is a `RoleFailure`
(`judge_unparseable`) after the asks of the role's settings; where a list of items is
judged, the failed ones are None. Offline stand-ins: `helpers.scoring.strategies`,
`capabilities`, `social_cognition`; `helpers.agents.calibration.expression`.

Known of the papers: DeepSeek-V3 tags strategies; the map is three answers averaged, by
Gemini 2.5 Pro in SAGE; DeepSeek-R1 rates expression. Judge, sample and repeats of the
capabilities are not given. Deviations: SAGE first has a model describe the assistant
from each of 20 dialogues, here the dialogues go into the one prompt; the rubrics'
steps 2 to 4 are the kit's own.

Papers: RLVER 2507.03112 sections 3.3 and 3.4, appendices C to E; SAGE 2505.02847
sections 4.2, appendices C, E, F (fact sheet, A8, A9, B5, B8, B10).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

from helpers.agents import cards
from helpers.agents.calibration import GROUPS
from helpers.agents.levels import level_field, ratings, text_field
from helpers.agents.llm import LLMClient, ask_json
from helpers.agents.roles import Message, RoleFailure
from helpers.agents.templates import fingerprint, render
from helpers.data.scenarios import Scenario

if TYPE_CHECKING:
    from helpers.sandbox.dialogue import Dialogue

TEMPLATES = (
    "rlver_strategies", "rlver_capabilities", "rlver_expression", "sage_coordinate",
)  # fmt: skip
# Strategies by the code that the prompt gives them: "A1" to "E1".
CODES = {
    f"{letter}{number}": name
    for letter, members in zip("ABCDE", GROUPS.values(), strict=True)
    for number, name in enumerate(members, 1)
}
CAPABILITIES = (
    "Empathic Depth",
    "Core Insight",
    "Solution Crafting",
    "Dialogue Guidance",
    "Style Adaptability",
)
EXPRESSION = ("attitude", "thoughts", "needs", "overall")
NAMES = {"en": ("Person", "Assistant"), "zh": ("来访者", "助手")}
NOTHING = {"en": "(nothing)", "zh": "（无）"}
REACH = 5  # the map goes from -5 to 5


@dataclass(frozen=True)
class StrategyJudge:
    """Asks `client` in the settings of `role`; prompts in `language`, "en" or "zh".

    It tags as `helpers.scoring.strategies.Tagger` asks for.
    """

    client: LLMClient
    language: str = "en"
    role: str = "judge"
    blind: ClassVar = ()

    def describe(self) -> dict[str, Any]:
        return {
            "judge": "RLVER analyses",
            "language": self.language,
            "model": self.client.describe(self.role),
            "prompts": fingerprint(*TEMPLATES),
        }

    def tag(self, dialogue: "Dialogue") -> list[tuple[str, ...] | None]:
        """Names of the strategies of each reply, ("none",) for a reply without any;
        None where there is no reply or no readable answer."""
        history, tags = [], []
        for turn in dialogue.turns:
            history.append(Message("user", turn.user))
            if turn.reply is None:
                tags.append(None)
                continue
            tags.append(_or_none(self._strategies, tuple(history), turn.reply))
            history.append(Message("assistant", turn.reply))
        return tags

    def _strategies(self, before: tuple[Message, ...], reply: str) -> tuple[str, ...]:
        codes = self._ask("rlver_strategies", _codes, before=self._shown(before),
                          reply=reply)  # fmt: skip
        return tuple(CODES[code] for code in codes) or ("none",)

    def capabilities(self, dialogue: "Dialogue") -> dict[str, int] | None:
        """The five scores, each 1..5; None for a dialogue that failed.

        Raises: RoleFailure.
        """
        if dialogue.failure is not None:
            return None
        ranges = dict.fromkeys(CAPABILITIES, (1, 5))
        read = self._ask(
            "rlver_capabilities",
            lambda data: ratings(data, ranges, evidence_for_nonzero=True),
            talk=self._talk(dialogue),
        )
        return {name: rating["level"] for name, rating in read.items()}

    def place(
        self,
        shares: Mapping[str, float],
        dialogues: Iterable["Dialogue"],
        repeats: int = 3,
    ) -> tuple[float, float]:
        """(x, y) of a policy on the map, each -5..5, the mean of `repeats` answers.

        Args:
            shares: of replies by strategy, 0..1. dialogues: samples (SAGE takes as
                many successes as failures); failed ones are left out.

        Raises:
            RoleFailure: any of the answers cannot be had.
            ValueError: no dialogue to show.
        """
        talks = [self._talk(d) for d in dialogues if d.failure is None]
        if not talks:
            raise ValueError("no dialogue to place a policy by: all failed, or none")
        told = [f"{n}: {100 * s:.0f} %" for n, s in shares.items() if s == s]
        values = {"shares": "\n".join(told), "talks": "\n\n".join(talks)}
        places = [
            self._ask("sage_coordinate", _place, repeat=repeat, **values)
            for repeat in range(repeats)
        ]
        x, y = (sum(axis) / repeats for axis in zip(*places, strict=True))
        return x, y

    def expression(
        self, dialogue: "Dialogue", card: Scenario
    ) -> list[dict[str, int] | None]:
        """Four ratings 0..10 for each user line that follows unspoken thoughts.

        The paper reports a percentage, presumably ten times the mean "overall".

        Returns: one entry a line; None where no readable answer came.
        """
        return [
            _or_none(self._expression, before.thought, after.user, card)
            for before, after in pairwise(dialogue.turns)
            if before.thought
        ]

    def _expression(self, thought, line, card) -> dict[str, int]:
        return self._ask(
            "rlver_expression",
            lambda data: {name: level_field(data, name, 0, 10) for name in EXPRESSION},
            card=cards.background_text(card),
            thoughts="\n".join(f"{name}: {text}" for name, text in thought.items()),
            line=line,
        )

    def _talk(self, dialogue: "Dialogue") -> str:
        talk = []
        for turn in dialogue.turns:
            talk += [Message("user", turn.user), Message("assistant", turn.reply)]
        if dialogue.closing is not None:
            talk.append(Message("user", dialogue.closing))
        return self._shown(talk)

    def _shown(self, history) -> str:
        language = self.language
        return cards.numbered(history, *NAMES[language]) or NOTHING[language]

    def _ask(self, template: str, check: Callable, repeat: int = 0, **values) -> Any:
        prompt = render(template, self.language, **values)
        return ask_json(
            self.client, self.role, prompt, check, as_role="judge", repeat=repeat
        )


def _or_none(ask: Callable, *args) -> Any:
    """An answer about one item of many; None when it cannot be had."""
    try:
        return ask(*args)
    except RoleFailure:
        return None


def _codes(data: Mapping[str, Any]) -> list[str]:
    codes = data.get("codes")
    if not isinstance(codes, list):
        raise ValueError("codes must be a list")
    strangers = [code for code in codes if code not in (*CODES,)]
    if strangers or len(set(codes)) < len(codes):
        raise ValueError(f"codes {codes!r}: each once, out of {', '.join(CODES)}")
    return codes


def _place(data: Mapping[str, Any]) -> tuple[float, float]:
    text_field(data, "portrait")
    place = []
    for axis in ("x", "y"):
        value = data.get(axis)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"{axis} = {value!r} is not a number")
        if not -REACH <= value <= REACH:
            raise ValueError(f"{axis} = {value} is outside -{REACH}..{REACH}")
        place.append(float(value))
    return place[0], place[1]
