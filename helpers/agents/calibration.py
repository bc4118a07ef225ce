"""Set the scripted user beside the published facts of the LLM-played ones.

`acceptance` repeats RLVER's Table 3 measure: contexts, each answered by one reply of
every strategy, accepted when the emotion rises. `expression` is its other measure, the
share of lines that show what was felt, counted in the text of any dialogues.
`step_table` lays the emotion steps of any dialogues beside those of the released SAGE
dialogues. `Temper.accept_at` is fitted to the acceptance; a few other numbers were set
by hand with an eye on the steps (see there). What still differs is shown.

Papers: RLVER 2507.03112 Table 3, Table 4, appendix D; SAGE 2505.02847 and its released
dialogues (fact sheet of RLVER, A10).
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from helpers.agents.acts import Act
from helpers.agents.emotion import EmotionRules
from helpers.agents.lines import GRAMMARS
from helpers.agents.policies import Heuristic, say
from helpers.agents.roles import Message, stream
from helpers.agents.scripted import ScriptedUser, Temper
from helpers.data import slots
from helpers.data.emotion_states import state
from helpers.data.scenarios import Scenario

if TYPE_CHECKING:
    from helpers.sandbox.dialogue import Dialogue

# RLVER Table 3 (printed).
ACCEPTANCE = {"vanilla": 0.524, "challenging": 0.331}

# Released SAGE dialogues, DeepSeek-V3 judge, 9,425 updates (recomputed, A10).
STEPS = (-10, -5, 5, 10)
SAGE_STEPS = {
    "all": (0.136, 0.333, 0.367, 0.163),
    "B": (0.062, 0.338, 0.381, 0.219),
    "C": (0.319, 0.461, 0.166, 0.053),
    "A": (0.003, 0.048, 0.747, 0.203),
}
SAGE_PERSISTENCE = {"rise after rise": 0.773, "fall after fall": 0.747}

# RLVER's eleven strategies (Table 4) as acts; each is one reply of the mixed set.
STRATEGIES = {
    "praise of qualities": ("affirm",),
    "praise of thoughts": ("validate",),
    "praise of actions": ("reflect", "affirm"),
    "restating": ("reflect",),
    "hidden intention": ("name",),
    "agreeing self-disclosure": ("validate", "disclose"),
    "own story": ("disclose",),
    "willing to listen": ("presence",),
    "help to vent": ("question",),
    "specific advice": ("advise",),
    "problem analysis": ("insight",),
}
# Their groups, A to E in the paper's order.
GROUPS = {
    "Praise": ("praise of qualities", "praise of thoughts", "praise of actions"),
    "Deep Empathy": ("restating", "hidden intention", "agreeing self-disclosure",
                     "own story"),
    "Emotional Venting": ("willing to listen", "help to vent"),
    "Advice Provision": ("specific advice",),
    "Problem Analysis": ("problem analysis",),
}  # fmt: skip
RIGHT_SLOT = 0.8  # share of replies whose slot is this person's own


@dataclass(frozen=True)
class Probe:
    """A context (card, seed, replies so far) and one reply to it."""

    card: Scenario
    seed: int
    prefix: tuple[str, ...]
    strategy: str
    reply: str


def mixed_set(cards: Sequence[Scenario], seed: int = 0) -> list[Probe]:
    """For each card one context of 0 to 5 turns, answered by every strategy.

    The contexts come from a listener of middling skill with a vanilla user; the same
    replies are then put to any user.
    """
    probes = []
    for card in cards:
        rng = stream(seed, f"mixed/{card.id}")
        prefix = _context(card, seed, rng.randint(0, 5))
        for strategy, kinds in STRATEGIES.items():
            acts = [_act(kind, card, rng) for kind in kinds]
            if rng.random() < 0.5 and "reflect" not in kinds:
                acts.append(_act("reflect", card, rng))  # the strategy still leads
            reply = say(*acts, rng=rng, avoid=prefix[-1] if prefix else "")
            probes.append(Probe(card, seed, prefix, strategy, reply))
    return probes


def _context(card: Scenario, seed: int, turns: int) -> tuple[str, ...]:
    user = ScriptedUser(rules=EmotionRules.unending()).start(card, seed)
    policy = Heuristic(skill=0.9, care=0.9).start(card.id, seed)
    history = [Message("user", user.opening().text)]
    for _ in range(turns):
        history.append(Message("assistant", policy.reply(history).text))
        user.feel(history)
        history.append(Message("user", user.say(history, None).text))
    return tuple(m.content for m in history if m.role == "assistant")


def _act(kind: str, card: Scenario, rng) -> Act:
    hidden, right = card.hidden, rng.random() < RIGHT_SLOT
    if kind == "insight":
        kinds = ("no_fault", "sides", "motives", "self_look")
        fits = {"NoFault": "no_fault", "Dialectic": "sides",
                "AnalyseOthers": "motives", "SelfReflect": "self_look"}  # fmt: skip
        return Act(fits.get(card.intention) if right and card.intention in fits
                   else rng.choice(kinds))  # fmt: skip
    tables = {"reflect": (hidden.event, slots.EVENTS), "name": (hidden.emotion,
              slots.EMOTIONS), "affirm": (hidden.value, slots.VALUES),
              "advise": (hidden.action, slots.ACTIONS)}  # fmt: skip
    if kind not in tables:
        return Act(kind)
    own, table = tables[kind]
    return Act(kind, own if right else rng.choice(list(table)))


def acceptance(temper: Temper, probes: Iterable[Probe]) -> dict[str, tuple[int, int]]:
    """(accepted, all) by strategy and under "all"."""
    user = ScriptedUser(temper, EmotionRules.unending())
    accepted, asked = Counter(), Counter()
    for probe in probes:
        session = user.start(probe.card, probe.seed)
        history = [Message("user", session.opening().text)]
        for text in probe.prefix:
            history.append(Message("assistant", text))
            session.feel(history)
            history.append(Message("user", session.say(history, None).text))
        _, step = session.weigh(probe.reply, history[-1].content)
        for name in (probe.strategy, "all"):
            asked[name] += 1
            accepted[name] += step > 0
    return {name: (accepted[name], asked[name]) for name in asked}


def expression(dialogues: Iterable["Dialogue"], grammar: str) -> tuple[int, int]:
    """(lines that show what was felt, all lines): RLVER's expression level, offline.

    Read from the text alone: a line shows the feeling when it holds a reaction of the
    grammar ("first" or "second") whose direction is that of the emotion's last change;
    confusion goes with either. Left out: openings, goodbyes, failed dialogues, and
    lines after no change, where the scale's end hides the direction. The paper's judge
    rates three consistencies from 0 to 10 instead (`helpers.agents.strategy_judge`).
    """
    shown = lines = 0
    for dialogue in dialogues:
        if dialogue.failure is not None:
            continue
        for before, after in pairwise(dialogue.turns):
            change = before.emotion_after - before.emotion_before
            said = {
                _DIRECTION.get(key, -1)
                for key, words in GRAMMARS[grammar].reactions.items()
                if f" , {words} , " in f" , {after.user} , "
            }
            shown += change != 0 and any(way * change >= 0 for way in said)
            lines += change != 0
    return shown, lines


_DIRECTION = {"delight": 1, "accept": 1, "noise": 0}  # of a reaction; others: -1


@dataclass(frozen=True)
class StepRow:
    """One line of the table: n steps, our shares, SAGE's (None where unpublished)."""

    what: str
    n: int
    ours: tuple[float, ...]
    sage: tuple[float, ...] | None


def step_table(dialogues: Iterable["Dialogue"]) -> list[StepRow]:
    """Emotion steps overall, by state before the step, and their persistence.

    Dialogues that failed are left out. Changes are taken after clipping, so a step that
    was cut by the scale's ends falls under no column (shares then sum to less than 1).
    """
    counts: dict[str, Counter] = {name: Counter() for name in SAGE_STEPS}
    follow: dict[str, Counter] = {name: Counter() for name in SAGE_PERSISTENCE}
    for dialogue in dialogues:
        if dialogue.failure is not None:
            continue
        before = None
        for turn in dialogue.turns:
            change = turn.emotion_after - turn.emotion_before
            counts["all"][change] += 1
            letter = state(turn.emotion_before)
            if letter in counts:
                counts[letter][change] += 1
            if before:
                name = "rise after rise" if before > 0 else "fall after fall"
                follow[name][change * before > 0] += 1
            before = change
    rows = []
    for name, counter in counts.items():
        n = sum(counter.values())
        ours = tuple(counter[s] / n if n else float("nan") for s in STEPS)
        rows.append(StepRow(name, n, ours, SAGE_STEPS[name]))
    for name, counter in follow.items():
        n = sum(counter.values())
        ours = (counter[True] / n if n else float("nan"),)
        rows.append(StepRow(name, n, ours, (SAGE_PERSISTENCE[name],)))
    return rows


def mixed_listeners() -> list[Heuristic]:
    """Twelve listeners from careless to careful, in place of SAGE's twelve models."""
    return [
        replace(Heuristic(), skill=0.7 + 0.1 * i, care=0.7 + 0.15 * j)
        for i in range(4)
        for j in range(3)
    ]
