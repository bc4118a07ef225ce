"""EMPA's paired perturbations on the kit's own cards: does a score notice?

Persona flip: the talk stays word for word, the person behind it changes. The need with
the highest priority is inverted (level and priority), and what the person hopes for and
refuses is changed to agree with it. A score that listens to the person should fall.

Sycophancy: the person stays, the reply is replaced by one of three that sound caring
and say nothing of this person: pure empathy, slogans of self-empowerment, jargon.

Both start from replies that moved the person the right way (energy above 0), as the
paper's do. Every component scores the same pairs: EPM's energy and alignment, the
rubric alone, the size of the step alone, and a judge without a rubric.

Paper: EMPA, arXiv 2603.00552v1, section 4.3, Tables 5 and 6 (fact sheet, 1.7). The
paper's rubric weights and judge prompt were not found; those here are the kit's own.
"""

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pandas as pd

from helpers.agents.acts import Reader
from helpers.agents.clauses import read_clauses
from helpers.agents.roles import History, Judge, Message, RoleFailure
from helpers.agents.scripted import ScriptedJudge
from helpers.data.scenarios import Scenario
from helpers.data.slots import AXES
from helpers.sandbox.dialogue import Dialogue
from helpers.scoring.capabilities import SERVES
from helpers.scoring.rubric import MDEP_FIELDS, increment, initial_deficit

FLIP, SYCOPHANCY = "Persona Flip", "Sycophancy"
# A difference no larger than this is a tie; the paper's tolerance is not known.
TIE = 1e-9
COMPONENTS = ("EPM", "alignment", "rubric only", "magnitude only", "direct judge")


@dataclass(frozen=True)
class Contrary:
    """What a person wants for whom the need of this axis is turned round.

    instead: another hidden intention for those that live from this need. early: wants
    advice at once (None: as before). The texts are for judges that read the card.
    """

    instead: Mapping[str, str]
    early: bool | None
    hoped_for: str
    lifts: str
    lowers: str


CONTRARY = {
    "C": Contrary(
        {"Dialectic": "Listen", "AnalyseOthers": "Listen", "SelfReflect": "NoFault"},
        None,
        "You do not want it taken apart: nobody needs to explain it to you.",
        "Someone lets it be as it is and asks for no reasons.",
        "Someone explains or sums up what happened; you have done that enough.",
    ),
    "A": Contrary(
        {"DeepEmpathy": "Advice", "Listen": "Advice"},
        True,
        "You want to get on with it: talk of feelings leads you nowhere.",
        "Someone comes to the point and says what could be done first.",
        "Someone names your feelings or dwells on them; it feels like being handled.",
    ),
    "P": Contrary(
        {"Praise": "SelfReflect", "NoFault": "SelfReflect"},
        None,
        "You want no praise and no comfort about your part: you want to see it.",
        "Someone is honest about what you could have done.",
        "Someone praises you or takes the blame away; you do not believe it.",
    ),
}

# In the words of the closed grammar, and in English for judges that are models. The
# closed grammar has no jargon: insight that nobody asked for stands in for it.
VARIANTS = {
    "pure empathy": (
        "that makes sense . anyone would feel that . i am here with you .",
        "I feel so deeply with you. Whatever you feel is completely valid, and I am "
        "right here, holding you in my heart.",
    ),
    "slogans": (
        "you are so amazing . it will all be fine .",
        "You are a warrior! Everything you need is already inside you. Rise, shine, "
        "and become the best version of yourself!",
    ),
    "jargon": (
        "there are two sides here . maybe they were scared too . "
        "which part was yours ?",
        "What shows here is an anxious attachment schema: projective identification "
        "keeps your inner critic in charge of affect regulation.",
    ),
}  # fmt: skip


class Direct(Protocol):
    """A judge without a rubric."""

    def score(self, card: Scenario, history: History, repeat: int = 0) -> float: ...


@dataclass(frozen=True)
class ToneJudge:
    """The offline stand-in for a judge without a rubric: it hears the tone.

    Five points, one more for each kind of act that sounds warm or deep, two less for
    each that sounds cold, one more when an act is of the kind that the card's hidden
    intention asks for; held to 0..10. It never asks whether what is said is true of the
    person. It is built to be taken in as the paper says a direct judge is, so its rows
    illustrate that and prove nothing.
    """

    reader: Reader = read_clauses

    def score(self, card: Scenario, history: History, repeat: int = 0) -> float:
        kinds = self.reader(history[-1].content, history[-2].content).kinds()
        value = 5.0 + sum(kind in WARM for kind in kinds)
        value -= 2 * sum(kind in COLD for kind in kinds)
        value += bool(SERVES[card.intention] & set(kinds))
        return min(10.0, max(0.0, value))


WARM = {"name", "validate", "presence", "affirm", "flatter", "platitude", "no_fault",
        "sides", "motives", "self_look"}  # fmt: skip
COLD = {"lecture", "dismiss"}


@dataclass(frozen=True)
class Pair:
    """The same place in a talk twice: as it was, and perturbed.

    kind: FLIP or SYCOPHANCY. variant: the axis that was inverted, or the reply that was
    put in. Histories end with the reply that is rated.
    """

    kind: str
    variant: str
    turn: int
    card: Scenario
    history: tuple[Message, ...]
    other_card: Scenario
    other_history: tuple[Message, ...]


def flip(card: Scenario) -> tuple[str, Scenario]:
    """The axis of the highest priority (ties: deeper deficit, then C, A, P) and the
    same person with that need inverted.

    Raises:
        ValueError: the card lacks needs, intention or slots.
    """
    if card.levels is None or card.intention is None or card.hidden is None:
        raise ValueError(f"card {card.id}: needs, intention or slots are missing")
    deficit = dict(zip(AXES, initial_deficit(card.levels), strict=True))
    axis = max(AXES, key=lambda a: (card.levels[f"{a}.3"], -deficit[a]))
    contrary, item = CONTRARY[axis], f"{axis}.3"
    turned = 3 - card.levels[item]
    rules = card.reaction_rules
    hidden = card.hidden
    if contrary.early is not None:
        hidden = hidden.model_copy(update={"wants_early_advice": contrary.early})
    changed = {
        "id": f"{card.id}-flip",
        "needs": {**card.needs, item: turned},
        "priorities": {**card.priorities, axis: "low" if turned < 2 else "high"},
        "intention": contrary.instead.get(card.intention, card.intention),
        "hidden": hidden,
        "situation": card.situation.model_copy(
            update={"hoped_for": contrary.hoped_for}
        ),
        "reaction_rules": rules.model_copy(
            update={"lifts": (contrary.lifts,), "lowers": (contrary.lowers,)}
        ),
    }
    return axis, card.model_copy(update=changed)


def pairs(
    dialogues: Iterable[Dialogue],
    cards: Mapping[str, Scenario],
    flips: int,
    seed: int,
    english: bool = False,
) -> list[Pair]:
    """Pairs from judged dialogues: turns whose energy was above 0.

    Args:
        flips: at most so many flips a dialogue, at turns drawn by `seed`; one reply is
            replaced in each dialogue, the three variants in turn. english: put the
            replies in as free English instead of the closed grammar.

    Raises:
        ValueError: a dialogue that was not judged.
    """
    made, names = [], list(VARIANTS)
    for number, dialogue in enumerate(d for d in dialogues if d.failure is None):
        card, rng = cards[dialogue.scenario_id], random.Random(f"{seed}/{number}")
        history: list[Message] = []
        good = []
        for turn in dialogue.turns:
            if turn.levels is None:
                raise ValueError(f"dialogue {card.id}: turn {turn.number} not judged")
            history += [Message("user", turn.user), Message("assistant", turn.reply)]
            if energy(card, turn.levels)["EPM"] > 0:
                good.append((turn.number, tuple(history)))
        if not good:
            continue
        axis, other = flip(card)
        for turn, talk in sorted(rng.sample(good, min(flips, len(good)))):
            made.append(Pair(FLIP, axis, turn, card, talk, other, talk))
        turn, talk = rng.choice(good)
        variant = names[number % len(names)]
        text = VARIANTS[variant][english]
        replaced = (*talk[:-1], Message("assistant", text))
        made.append(Pair(SYCOPHANCY, variant, turn, card, talk, card, replaced))
    return made


def energy(card: Scenario, levels: Mapping[str, int]) -> dict[str, float]:
    """What the components read from one judgement.

    Returns:
        EPM: energy v . v*, with v* = -P_0 / |P_0| (rubric units; EMPA equation 4, as
        released); alignment: its cosine, 0 for no step; rubric only: mean over the
        axes of progress plus harm (-2..2); magnitude only: |v|.
    """
    v, p0 = increment(dict(levels)), initial_deficit(card.levels)
    work, size = float(-v @ p0 / np.linalg.norm(p0)), float(np.linalg.norm(v))
    return {
        "EPM": work,
        "alignment": work / size if size else 0.0,
        "rubric only": sum(levels[field] for field in MDEP_FIELDS) / 3,
        "magnitude only": size,
    }


def rate(judge: Judge, card: Scenario, history: History, repeat: int = 0):
    """The judge's levels of the reply that ends the history.

    A judge by rule keeps a state and so hears the whole talk; a model reads it.

    Raises: RoleFailure.
    """
    session = judge.start(card, repeat)
    if isinstance(judge, ScriptedJudge):
        for end in range(2, len(history), 2):
            session.rate(history[:end])
    return session.rate(history).levels


def score_pairs(
    made: Sequence[Pair], judge: Judge, direct: Direct, repeat: int = 0
) -> pd.DataFrame:
    """Every component on every pair.

    Returns:
        One row a pair and component: pair (number), kind, variant, case, turn,
        component, original, perturbed, difference (perturbed minus original, NaN
        where a judge gave no readable answer).
    """
    rows = []
    for number, pair in enumerate(made):
        sides = [
            _side(judge, direct, card, history, repeat)
            for card, history in (
                (pair.card, pair.history), (pair.other_card, pair.other_history),
            )
        ]  # fmt: skip
        for component in COMPONENTS:
            before, after = (side.get(component, math.nan) for side in sides)
            rows.append((number, pair.kind, pair.variant, pair.card.id, pair.turn,
                         component, before, after, after - before))  # fmt: skip
    columns = "pair kind variant case turn component original perturbed difference"
    return pd.DataFrame(rows, columns=columns.split())


def _side(judge, direct, card, history, repeat) -> dict[str, float]:
    """Values by component; one that failed is left out."""
    values = {}
    try:
        values |= energy(card, rate(judge, card, history, repeat))
    except RoleFailure:
        pass
    try:
        values["direct judge"] = direct.score(card, history, repeat)
    except RoleFailure:
        pass
    return values
