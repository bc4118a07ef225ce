"""RLVER's five core capabilities for a scripted dialogue: a scorer by rule.

The paper lets a model rate whole dialogues from 1 to 5 (`agents.strategy_judge` does).
This is the kit's own stand-in for runs without a model: an offline demo, not the
paper's number and not on its scale. It works on the acts that a front end reads, the
card's hidden slots and the emotion path. Every capability is
1 + 4 * (1 - share of hollow replies) * part, with a part in 0..1:

Empathic Depth, the mean of three shares. Of the feelings named, those that are this
person's. Of the replies, those that comfort (validate, stay, disclose) while they take
up something of this person's own. Of the values praised, those that this person showed.

Core Insight, the mean of three. Of the events said back (and topics that are wrong),
those that are this person's. The replies that tie two own things (event, feeling,
value) together; two are enough for all of it. Of the acts that serve the hidden
intention and the insights that nobody asked for, those that serve.

Solution Crafting. Of all advice, what is this person's own step and comes in time (from
turn three on, or at any turn when it is wanted early), and of that, for equal weights:
what is there; what stands beside another own thing; what was followed by a rise. A
dialogue without advice has 1, as in the paper's rubric.

Dialogue Guidance, the mean of three. Items that the person told after the opening, of
the eight that any kind of user can tell. Of the replies, those followed by a rise. The
way of the emotion from its start towards 100.

Style Adaptability. Of the lines that tell an event, a clear sign of the feeling, a
value or the intention for the first time, those that the next reply answers with the
fitting act; half of that is kept only for the share of replies that repeat no clause of
the reply before.

A hollow reply lectures, flatters, dismisses, comforts with a phrase or makes no sense.
An own thing is an act with the slot that the card hides, in a reply that names no
second slot of its kind (who offers every feeling names none). Own things count whether
or not the person told them yet; guesses lower the shares of right ones. A rise is a
rise of the emotion, or staying at 100. A share of nothing is 0: what was never done
earns nothing.

Paper: RLVER 2507.03112 section 3.3, appendices C and E.3 (fact sheet, B8): names and
range; the rules are the kit's own.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import pandas as pd

from helpers.agents.act_rules import INSIGHT_FOR
from helpers.agents.acts import INSIGHT, Act, Reader, Reading
from helpers.agents.clauses import read_clauses
from helpers.agents.mind import Mind, Secrets
from helpers.agents.strategy_judge import CAPABILITIES
from helpers.data.scenarios import Scenario
from helpers.sandbox.dialogue import Dialogue, Turn

HOLLOW = {"lecture", "flatter", "dismiss", "platitude"}
COMFORT = {"validate", "presence", "disclose"}
OPEN_TO_ALL = 8  # items that vanilla and challenging users can tell after the opening
SERVES = {intention: {kind} for kind, intention in INSIGHT_FOR.items()} | {
    "NoFault": {"no_fault"}, "Praise": {"affirm"}, "DeepEmpathy": {"name"},
    "Listen": {"presence", "question"}, "Advice": {"advise"},
}  # fmt: skip
_TAKEN_UP_BY = {"event": "reflect", "feeling": "name", "value": "affirm"}


@dataclass(frozen=True)
class Look:
    """One reply.

    fit, off: acts that are true of this person, or need no slot, and acts that are not;
    a bare topic that is right is in neither. new: items that the line before told for
    the first time; due: kinds of act that would take them up.
    """

    turn: Turn
    reading: Reading
    fit: tuple[Act, ...]
    off: tuple[Act, ...]
    new: frozenset[str]
    due: frozenset[str]

    @property
    def own(self) -> set[str]:
        """Kinds of the own things in it, advice not among them."""
        return {act.kind for act in self.fit} & set(_TAKEN_UP_BY.values())

    @property
    def hollow(self) -> bool:
        return self.reading.noise or bool(HOLLOW & set(self.reading.kinds()))

    @property
    def rose(self) -> bool:
        before, after = self.turn.emotion_before, self.turn.emotion_after
        return after > before or after == 100


def capabilities(
    dialogue: Dialogue,
    card: Scenario,
    grammar: str = "first",
    reader: Reader = read_clauses,
) -> dict[str, float] | None:
    """The five scores of one dialogue, each in 1..5.

    Args:
        card: of this dialogue. grammar: of the user who spoke, "first" or "second".

    Returns:
        By name; None for a dialogue that failed or has no reply: that is no score.

    Raises:
        NotScripted: the card lacks what the rules need.
        ValueError: another card, or a user without an emotion.
    """
    _same(dialogue, card)
    if dialogue.failure is not None or not dialogue.turns:
        return None
    secrets = Secrets.of(card, grammar)
    looks = look_at(dialogue, card, grammar, reader)
    parts = {
        "Empathic Depth": _depth(looks),
        "Core Insight": _insight(looks, SERVES[secrets.intention]),
        "Solution Crafting": _solution(looks, secrets.early),
        "Dialogue Guidance": _guidance(looks),
        "Style Adaptability": _style(looks),
    }
    sound = 1 - share_of(look.hollow for look in looks)
    return {name: 1 + 4 * sound * parts[name] for name in CAPABILITIES}


def capability_table(
    dialogues: Iterable[Dialogue], cards: Mapping[str, Scenario], **how
) -> pd.DataFrame:
    """One row a dialogue: scenario_id, repeat and the five scores; NaN where failed.

    Args:
        cards: by id. how: grammar and reader, as for `capabilities`.
    """
    rows = [
        {"scenario_id": d.scenario_id, "repeat": d.repeat}
        | (capabilities(d, cards[d.scenario_id], **how) or {})
        for d in dialogues
    ]
    return pd.DataFrame(rows, columns=["scenario_id", "repeat", *CAPABILITIES])


def look_at(
    dialogue: Dialogue,
    card: Scenario,
    grammar: str = "first",
    reader: Reader = read_clauses,
) -> list[Look]:
    """Every reply of a dialogue with what it gets right; arguments and errors as of
    `capabilities`."""
    _same(dialogue, card)
    if any(turn.emotion_after is None for turn in dialogue.turns):
        raise ValueError(f"dialogue {card.id}: needs a user with an emotion")
    mind = Mind.new(Secrets.of(card, grammar))
    return [_look(turn, mind, reader) for turn in dialogue.turns]


def _same(dialogue: Dialogue, card: Scenario) -> None:
    if dialogue.scenario_id != card.id:
        raise ValueError(f"dialogue {dialogue.scenario_id} with the card {card.id}")


def _look(turn: Turn, mind: Mind, reader: Reader) -> Look:
    hidden, before = mind.secrets, mind.told
    mind.hear(turn.user)
    new = mind.told - before
    due = set(SERVES[hidden.intention]) if "intention" in new else set()
    for item in new - hidden.ambiguous:
        told = "feeling" if item.startswith("clue") else item
        if told in _TAKEN_UP_BY:
            due.add(_TAKEN_UP_BY[told])
    reading = reader(turn.reply, turn.user)
    fit, off = [], []
    for act in reading.acts:
        if act == Act("reflect", None, hidden.topic):
            continue
        own = act.slot == _own_slot(act.kind, hidden)
        on_topic = act.topic in (None, hidden.topic)
        slots = {other.slot for other in reading.of(act.kind)} - {None}
        (fit if own and on_topic and len(slots) < 2 else off).append(act)
    return Look(turn, reading, tuple(fit), tuple(off), new, frozenset(due))


def _own_slot(kind: str, hidden: Secrets) -> str | None:
    return {"reflect": hidden.event, "name": hidden.emotion, "affirm": hidden.value,
            "advise": hidden.action}.get(kind)  # fmt: skip


def share_of(flags: Iterable[bool]) -> float:
    """Of the flags, those that are set; 0 of none."""
    flags = list(flags)
    return sum(flags) / len(flags) if flags else 0.0


def right(looks: list[Look], kind: str) -> float:
    """Of the acts of a kind, those that are true of this person."""
    fit = sum(act.kind == kind for look in looks for act in look.fit)
    off = sum(act.kind == kind for look in looks for act in look.off)
    return fit / (fit + off) if fit else 0.0


def _depth(looks: list[Look]) -> float:
    grounded = share_of(
        bool(look.own and COMFORT & set(look.reading.kinds())) for look in looks
    )
    return (right(looks, "name") + grounded + right(looks, "affirm")) / 3


def _insight(looks: list[Look], wanted: set[str]) -> float:
    ties = sum(len(look.own) > 1 for look in looks)
    kinds = [act.kind for look in looks for act in look.fit]
    serving = share_of(k in wanted for k in kinds if k in wanted or k in INSIGHT)
    return (right(looks, "reflect") + min(1, ties / 2) + serving) / 3


def _solution(looks: list[Look], early: bool) -> float:
    acts = [(look, act) for look in looks for act in look.fit + look.off]
    advice = [(look, act) for look, act in acts if act.kind == "advise"]
    points = sum(
        1 + bool(look.own) + look.rose
        for look, act in advice
        if act in look.fit and (early or look.turn.number >= 3)
    )
    return points / (3 * len(advice)) if advice else 0.0


def _guidance(looks: list[Look]) -> float:
    first, last = looks[0].turn.emotion_before, looks[-1].turn.emotion_after
    way = min(1.0, max(0.0, (last - first) / (100 - first)))
    opened = min(1.0, sum(len(look.new) for look in looks[1:]) / OPEN_TO_ALL)
    return (opened + share_of(look.rose for look in looks) + way) / 3


def _style(looks: list[Look]) -> float:
    answered = share_of(
        any(act.kind in look.due for act in look.fit) for look in looks if look.due
    )
    repeats = share_of(
        bool(set(one.reading.parts) & set(other.reading.parts))
        for one, other in pairwise(looks)
    )
    return answered * (2 - repeats) / 2
