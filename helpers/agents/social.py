"""Who plays the kit's social scenarios: five players by rule, or a model.

The players by rule speak eight fixed sentences (`MOVES`), each one move of a bargain,
so that a rule can read the talk. The kit's tiny policy has no word for an offer and
cannot play here. A model speaks freely; what it says is rated by a model.

An action has SOTOPIA's five types. Paper: SOTOPIA 2310.11667 (fact sheet of RAPO, 7.2).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from helpers.agents.levels import text_field
from helpers.agents.llm import LLMClient, ask_json
from helpers.agents.templates import fingerprint, render
from helpers.data.social import SocialScenario

ACTIONS = ("none", "speak", "non-verbal communication", "action", "leave")
WORDLESS = ("none", "leave")
NOTHING = {"en": "(nothing)", "zh": "（无）"}
# A move and how it is said; {n} is an amount for the one who speaks.
MOVES = {
    "offer": "I would keep {n} and you get the rest.",
    "accept": "Agreed, let us do it that way.",
    "refuse": "That does not work for me.",
    "ask": "What do you need at least?",
    "tell": "I need {n} at least.",
    "thank": "Thank you, I see your side.",
    "threaten": "Give in, or I will make you regret it.",
    "stall": "Let us wait and see.",
}
_READ = {
    name: re.compile(re.escape(text).replace(r"\{n\}", r"(\d+)"))
    for name, text in MOVES.items()
}


@dataclass(frozen=True)
class Action:
    """What an agent does in a turn; `argument` is empty for none and leave."""

    kind: str
    argument: str = ""

    def __post_init__(self):
        if self.kind not in ACTIONS or (self.kind in WORDLESS) == bool(self.argument):
            raise ValueError(f"action {self.kind!r} with words {self.argument!r}")


Said = Sequence[tuple[int, Action]]  # (seat, action), oldest first


def say(move: str, n: int = 0) -> Action:
    return Action("speak", MOVES[move].format(n=n))


def read_move(action: Action) -> tuple[str, int | None] | None:
    """(move, amount) of an action; None for what is no move of the grammar."""
    for name, pattern in _READ.items():
        if found := pattern.fullmatch(action.argument):
            return name, int(found[1]) if found.groups() else None
    return None


def moves(said: Said) -> list[tuple[int, str, int | None]]:
    """(seat, move, amount) of every move in a talk, in order."""
    found = [(seat, read_move(action)) for seat, action in said]
    return [(seat, *move) for seat, move in found if move is not None]


def pot(scenario: SocialScenario, said: Said) -> int:
    """What there is to split by now: the bonus comes once both have told their need."""
    told = {seat for seat, move, _ in moves(said) if move == "tell"}
    return scenario.total + (scenario.bonus if len(told) == 2 else 0)


@dataclass(frozen=True)
class ScriptedPlayer:
    """A player by rule, deterministic.

    style: "open" asks, answers, offers halves and thanks; "fair" the same but keeps its
    secret; "hard" opens with its wish, gives way slowly and threatens once; "yielding"
    tells its need and takes what it is offered; "silent" does nothing.
    """

    style: str

    def __post_init__(self):
        if self.style not in STYLES:
            raise ValueError(f"style {self.style!r}: one of {', '.join(STYLES)}")

    def describe(self) -> dict[str, Any]:
        return {"player": self.style}

    def act(self, scenario: SocialScenario, seat: int, said: Said) -> Action:
        """The next action of the agent in `seat` (0 or 1)."""
        done = moves(said)
        if any(move == "accept" for _, move, _ in done):
            own = [move for who, move, _ in done if who == seat]
            polite = self.style in ("open", "fair") and "thank" not in own
            return say("thank") if polite else Action("leave")
        return STYLES[self.style](scenario, seat, done, pot(scenario, said))


def _silent(scenario, seat, done, total) -> Action:
    return Action("none")


def _open(scenario, seat, done, total) -> Action:
    return _fair(scenario, seat, done, total, tells=True)


def _fair(scenario, seat, done, total, tells=False) -> Action:
    """Ask once, tell when asked (or when it is no secret), then halve."""
    own, offered = _own(done, seat), _offered(done, seat, total)
    tells = tells or not scenario.secret[seat]
    if tells and "tell" not in own and done:
        return say("tell", scenario.least[seat])
    if "ask" not in own:
        return say("ask")
    enough = max(scenario.least[seat], int(0.45 * total))
    if offered is not None and offered >= enough:
        return say("accept")
    if own.count("offer") >= 3:
        return Action("leave")
    return say("offer", max(total // 2, scenario.least[seat]))


def _hard(scenario, seat, done, total) -> Action:
    """Start at the wish, give way by a twentieth a turn, threaten once."""
    own, offered = _own(done, seat), _offered(done, seat, total)
    times = own.count("offer")
    asks = max(scenario.wish[seat] - times * total // 20, scenario.least[seat])
    if offered is not None and offered >= asks:
        return say("accept")
    if times >= 2 and "threaten" not in own:
        return say("threaten")
    return say("offer", asks) if times < 6 else Action("leave")


def _yielding(scenario, seat, done, total) -> Action:
    """Tell the need at once and take any offer that covers it."""
    own, offered = _own(done, seat), _offered(done, seat, total)
    if "tell" not in own:
        return say("tell", scenario.least[seat])
    if offered is not None and offered >= scenario.least[seat]:
        return say("accept")
    if own.count("offer") >= 4:
        return Action("leave")
    return say("offer", scenario.least[seat])


def _own(done, seat) -> list[str]:
    return [move for who, move, _ in done if who == seat]


def _offered(done, seat, total) -> int | None:
    """What the other's last offer leaves to this seat; None without one."""
    offers = [n for who, move, n in done if move == "offer" and who != seat]
    return total - offers[-1] if offers else None


STYLES = {"open": _open, "fair": _fair, "hard": _hard, "yielding": _yielding,
          "silent": _silent}  # fmt: skip


@dataclass(frozen=True)
class LLMPlayer:
    """A model behind a server plays an agent; it sees the scene, its goal, the talk."""

    client: LLMClient
    language: str = "en"
    role: str = "policy"

    def describe(self) -> dict[str, Any]:
        return {"player": "model", "model": self.client.describe(self.role),
                "prompts": fingerprint("social_turn")}  # fmt: skip

    def act(self, scenario: SocialScenario, seat: int, said: Said) -> Action:
        """Raises: RoleFailure when no readable action comes."""
        prompt = render(
            "social_turn", self.language, who=scenario.names[seat],
            scene=scenario.scene, goal=scenario.goals[seat],
            talk=shown(scenario, said) or NOTHING[self.language],
        )  # fmt: skip
        return ask_json(
            self.client, self.role, prompt, _action, as_role="policy", repeat=len(said)
        )


def lines(scenario: SocialScenario, said: Said) -> list[tuple[str, str]]:
    """(name, what was said or done in words) of every action."""
    return [
        (scenario.names[seat], action.argument if action.kind == "speak"
         else f"[{action.kind}] {action.argument}".strip())
        for seat, action in said
    ]  # fmt: skip


def shown(scenario: SocialScenario, said: Said) -> str:
    return "\n".join(f"{who}: {text}" for who, text in lines(scenario, said))


def _action(data: dict) -> Action:
    kind = text_field(data, "action_type")
    words = text_field(data, "argument", empty=kind in WORDLESS)
    return Action(kind, "" if kind in WORDLESS else words)
