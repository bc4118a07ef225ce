"""Scripted policies: an honest heuristic, an oracle, and the ones that try to game.

All speak the closed grammar. Every policy but the oracle sees the visible history only.
The oracle sees the hidden state: it replays the user beside the dialogue, which works
because a scripted user is a function of card, seed and replies.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from helpers.agents.acts import Act
from helpers.agents.clauses import CLAUSES, ways_to_say
from helpers.agents.mind import Secrets
from helpers.agents.roles import History, Message, Reply, stream
from helpers.agents.scripted import ScriptedUser, ScriptedUserSession
from helpers.data import slots
from helpers.data.scenarios import Scenario


def say(*acts: Act, rng: random.Random, avoid: str = "") -> str:
    """The acts as clauses, each in a wording that `avoid` does not hold if it can."""
    clauses = []
    for act in acts:
        ways = [way for way in ways_to_say(act) if way not in avoid]
        clauses.append(rng.choice(ways or ways_to_say(act)))
    return " ".join(clauses)


def last_reply(history: History) -> str:
    """The policy's own last reply, or "" before the first."""
    return history[-2].content if len(history) > 2 else ""


@dataclass(frozen=True)
class Line:
    """A policy that answers every time with the same words ("" is silence)."""

    text: str

    def describe(self) -> dict:
        return {"policy": "constant", "text": self.text}

    def start(self, scenario_id: str, seed: int) -> "Line":
        return self

    def reply(self, history: History) -> Reply:
        return Reply(self.text)


@dataclass(frozen=True)
class Cycle:
    """Answers with given replies in turn, over and over (an open-loop script)."""

    name: str
    replies: tuple[str, ...]

    def describe(self) -> dict:
        return {"policy": self.name, "replies": list(self.replies)}

    def start(self, scenario_id: str, seed: int) -> "Cycle":
        return self

    def reply(self, history: History) -> Reply:
        return Reply(self.replies[(len(history) // 2) % len(self.replies)])


@dataclass(frozen=True)
class Parrot:
    """Gives the user's own words back."""

    def describe(self) -> dict:
        return {"policy": "parrot"}

    def start(self, scenario_id: str, seed: int) -> "Parrot":
        return self

    def reply(self, history: History) -> Reply:
        return Reply(history[-1].content)


@dataclass(frozen=True)
class RandomClauses:
    """One to three clauses at random (`clauses`), or as many loose words (`words`)."""

    unit: str = "clauses"

    def describe(self) -> dict:
        return {"policy": f"random {self.unit}"}

    def start(self, scenario_id: str, seed: int) -> "_RandomSession":
        return _RandomSession(self.unit, stream(seed, "policy"))


@dataclass
class _RandomSession:
    unit: str
    rng: random.Random

    def reply(self, history: History) -> Reply:
        n = self.rng.randint(1, 3)
        if self.unit == "clauses":
            return Reply(" ".join(self.rng.choice(list(CLAUSES)) for _ in range(n)))
        pool = sorted({word for clause in CLAUSES for word in clause.split()})
        return Reply(" ".join(self.rng.choice(pool) for _ in range(6 * n)))


@dataclass
class Facts:
    """What the text of the user has told so far, by the words of one grammar."""

    topic: str | None = None
    event: str | None = None
    emotion: str | None = None
    pair: frozenset[str] = frozenset()
    value: str | None = None
    action: str | None = None
    intention: str | None = None
    early: bool = False

    @classmethod
    def of(cls, history: History, grammar: str = "first") -> "Facts":
        text = " , ".join(m.content for m in history if m.role == "user")
        parts = {part.strip() for part in text.split(",")}

        def told(table) -> str | None:
            for key, clues in table.items():
                phrases = getattr(clues, "hints", clues)
                if parts & set(getattr(phrases, grammar)):
                    return key
            return None

        facts = cls(
            value=told(slots.VALUES),
            action=told(slots.ACTIONS),
            intention=told(slots.INTENTIONS),
            early=bool(parts & set(getattr(slots.EARLY_ADVICE, grammar))),
        )
        opening = history[0].content.split()
        facts.topic = next((t for t in slots.TOPICS if t in opening), None)
        facts.event = next(
            (k for k, words in slots.EVENTS.items() if f"i {words}" in parts), None
        )
        for word, feeling in slots.EMOTIONS.items():
            clear = {*getattr(feeling.clear, grammar), f"i am {feeling.word}"}
            if parts & clear:
                facts.emotion = word
            if parts & set(getattr(feeling.ambiguous, grammar)):
                facts.pair = frozenset((word, feeling.pair))
        return facts


_WANTED_ACT = {
    "NoFault": "no_fault", "Dialectic": "sides", "AnalyseOthers": "motives",
    "SelfReflect": "self_look",
}  # fmt: skip


@dataclass(frozen=True)
class Heuristic:
    """A careful listener that works from the text alone.

    It asks until it knows something, says back what it heard, names a feeling only when
    the clue is clear, praises what was shown, and advises when asked to or late.

    skill: probability that a slot word is right; below 1 it slips to a wrong one.
    care: probability of a caring reply; otherwise it advises, lectures or comforts with
    a phrase. With skill = care = 1 it is the honest heuristic of the gaming audit.
    """

    skill: float = 1.0
    care: float = 1.0
    grammar: str = "first"

    def describe(self) -> dict:
        return {
            "policy": "heuristic", "skill": self.skill, "care": self.care,
            "grammar": self.grammar,
        }  # fmt: skip

    def start(self, scenario_id: str, seed: int) -> "HeuristicSession":
        return HeuristicSession(self, stream(seed, "policy"))


class HeuristicSession:
    def __init__(self, policy: Heuristic, rng: random.Random):
        self._policy, self._rng = policy, rng
        self._last: dict[tuple, int] = {}
        self._count: dict[tuple, int] = {}
        self._turn = 0

    def reply(self, history: History) -> Reply:
        self._turn += 1
        if self._rng.random() >= self._policy.care:
            acts = [self._careless()]
        else:
            facts = Facts.of(history, self._policy.grammar)
            acts = [self._slip(act) for act in self._plan(facts)]
        return Reply(say(*acts, rng=self._rng, avoid=last_reply(history)))

    def _due(self, kind: str, slot: str | None = None, most: int = 2) -> bool:
        key = (kind, slot)
        rested = self._turn - self._last.get(key, -9) >= 2
        return rested and self._count.get(key, 0) < most

    def _use(self, plan: list, kind: str, slot=None, topic=None) -> None:
        plan.append(Act(kind, slot, topic))
        key = (kind, slot)
        self._last[key] = self._turn
        self._count[key] = self._count.get(key, 0) + 1

    def _plan(self, f: Facts) -> list[Act]:
        """At most four acts: two things known of this person, one for the hidden need,
        one of comfort, and a question while something is still unknown."""
        plan: list[Act] = []
        known = [(kind, slot) for kind, slot in (("reflect", f.event),
                 ("name", f.emotion), ("affirm", f.value)) if slot]  # fmt: skip
        known.sort(key=lambda key: (self._count.get(key, 0), self._last.get(key, 0)))
        for kind, slot in known[:2]:
            if self._count.get((kind, slot), 0) < 4:
                self._use(plan, kind, slot, f.topic if kind == "reflect" else None)
        if self._turn == 1 and f.topic:
            self._use(plan, "reflect", None, f.topic)
        wanted = _WANTED_ACT.get(f.intention or "")
        if wanted and self._due(wanted):
            self._use(plan, wanted)
        soothed = self._count.get(("name", f.emotion), 0) >= 2 and self._turn >= 5
        if f.action and (f.early or soothed) and self._due("advise", f.action):
            self._use(plan, "advise", f.action)
        if plan and len(plan) < 4 and self._count.get(("validate", None), 0) < 6:
            self._use(plan, "validate")
        if len(known) < 3 and len(plan) < 4:
            self._use(plan, "question")
        if len(plan) < 2 and (not plan or self._due("presence")):
            self._use(plan, "presence")
        return plan[:4]

    def _slip(self, act: Act) -> Act:
        if act.slot is None or self._rng.random() < self._policy.skill:
            return act
        table = {"reflect": slots.EVENTS, "name": slots.EMOTIONS,
                 "affirm": slots.VALUES, "advise": slots.ACTIONS}[act.kind]  # fmt: skip
        return Act(act.kind, self._rng.choice(list(table)), act.topic)

    def _careless(self) -> Act:
        kind = self._rng.choice(("advise", "advise", "lecture", "platitude", "dismiss"))
        if kind == "advise":
            return Act(kind, self._rng.choice((None, *slots.ACTIONS)))
        return Act(kind)


@dataclass(frozen=True)
class Oracle:
    """Sees the hidden state and takes the clauses that help most, one turn ahead.

    Args:
        cards: by id, to replay the user. user: the user that it will meet.

    No director may be in the dialogue: the replay does not know its advice.
    """

    cards: Mapping[str, Scenario]
    user: ScriptedUser

    def describe(self) -> dict:
        return {"policy": "oracle", "user": self.user.describe()}

    def start(self, scenario_id: str, seed: int) -> "OracleSession":
        return OracleSession(self.user.start(self.cards[scenario_id], seed))


class OracleSession:
    def __init__(self, shadow: ScriptedUserSession):
        self._shadow = shadow
        self._clauses = true_clauses(shadow.mind.secrets)
        self._history: list[Message] = []

    def reply(self, history: History) -> Reply:
        if len(history) == 1:
            self._shadow.opening()
        else:
            self._shadow.feel(history[:-1])
            self._shadow.say(history[:-1], None)
        line = history[-1].content
        best, best_value = "", -1e9
        for _ in range(4):
            options = [f"{best} {c}".strip() for c in self._clauses if c not in best]
            value, text = max((self._value(o, line), o) for o in options)
            if value <= best_value:
                break
            best, best_value = text, value
        return Reply(best)

    def _value(self, reply: str, line: str) -> float:
        mind = self._shadow.mind
        appraisal, step = self._shadow.weigh(reply, line)
        v = appraisal.increment
        p0 = mind.secrets.p0
        norm = sum(x * x for x in p0) ** 0.5
        along = -sum(a * b for a, b in zip(v, p0, strict=True)) / norm
        unused = 0.05 * len(appraisal.credited)
        opens = 0.5 if appraisal.opens else 0.0
        return along + 0.2 * step + opens - unused


def true_clauses(secrets: Secrets) -> Sequence[str]:
    """Every clause that is true of this person, and all clauses without a slot."""
    right = {
        "reflect": (secrets.event, None), "name": (secrets.emotion,),
        "affirm": (secrets.value,), "advise": (secrets.action, None),
    }  # fmt: skip
    return [
        clause
        for clause, act in CLAUSES.items()
        if act.slot in right.get(act.kind, (None,))
        and act.topic in (None, secrets.topic)
    ]
