"""The hidden state of a scripted user in one dialogue: what is told, trust, position.

Both the scripted user and the scripted judge carry one (the judge reads from the user's
words what has been told, so that it may also rate a dialogue with another user).

Papers: EMPA 3.4 (position P_t, needs), SAGE 2.1 (hidden intention, emotion).
Trust and the order in which a person opens up are the kit's own.
"""

from collections import Counter
from dataclasses import dataclass, field, replace

from helpers.agents.acts import Act, Reading
from helpers.data import slots
from helpers.data.scenarios import Scenario
from helpers.scoring.rubric import NEG_VALUE, PROG_VALUE, initial_deficit

AXES = ("C", "A", "P")

# What a user may let slip, in this order, and the trust (0..3) at which it comes by
# itself. Vanilla users hint at the hidden intention; challenging users never do, and
# state no feeling, but tell the facts of their case sooner (RLVER, appendix D).
NEVER = 99
GATES = {
    "clue0": 0, "event": 0, "clue1": 0, "need0": 0, "value": 1, "intention": 1,
    "clue2": 1, "need1": 1, "action": 2, "need2": 2, "feeling": 3,
}  # fmt: skip
RESERVED_GATES = {
    "clue0": 0, "event": 0, "value": 0, "clue1": 1, "need0": 1, "action": 1,
    "clue2": 2, "need1": 2, "need2": 2, "intention": NEVER, "feeling": NEVER,
}  # fmt: skip
TRUST_STEP = {"low": 2, "medium": 3, "high": 4}


class NotScripted(ValueError):
    """The card lacks what a scripted role needs."""


@dataclass(frozen=True)
class Secrets:
    """What the card hides, in the words of one user grammar ("first" or "second")."""

    topic: str
    event: str
    emotion: str
    value: str
    action: str
    intention: str
    early: bool
    threshold: str
    needs: tuple[str, str, str]  # axes, the deepest deficit first
    p0: tuple[int, int, int]
    phrases: dict[str, str]  # item -> the words that tell it

    @classmethod
    def of(cls, card: Scenario, grammar: str) -> "Secrets":
        """Raises: NotScripted, naming card and field."""
        h, levels = card.hidden, card.levels
        for name, value in {"hidden": h, "needs": levels, "intention": card.intention,
                            "threshold": card.threshold}.items():  # fmt: skip
            if value is None:
                raise NotScripted(
                    f"card {card.id}: {name} is missing or incomplete; scripted roles "
                    "need the kit's own cards"
                )
        feeling = slots.EMOTIONS[h.emotion]
        clues = (
            h.clues
            if grammar == "first"
            else feeling.ambiguous.second + feeling.clear.second
        )
        p0 = tuple(int(x) for x in initial_deficit(levels))
        needs = tuple(sorted(AXES, key=lambda axis: p0[AXES.index(axis)]))

        def one(table) -> str:
            return getattr(table, grammar)[0]

        phrases = {
            "event": "i " + slots.EVENTS[h.event],
            **{f"clue{i}": clue for i, clue in enumerate(clues[:3])},
            **{f"need{i}": one(slots.NEEDS[axis]) for i, axis in enumerate(needs)},
            "value": one(slots.VALUES[h.value]),
            "intention": one(slots.INTENTIONS[card.intention].hints),
            "action": one(slots.ACTIONS[h.action]),
            "feeling": f"i am {feeling.word}",
        }
        return cls(
            h.topic, h.event, h.emotion, h.value, h.action, card.intention,
            h.wants_early_advice, card.threshold, needs, p0, phrases,
        )  # fmt: skip

    @property
    def ambiguous(self) -> frozenset[str]:
        """The items that fit two feelings."""
        pair = slots.EMOTIONS[self.emotion].ambiguous
        shared = {*pair.first, *pair.second}
        return frozenset(
            item for item, words in self.phrases.items() if words in shared
        )


@dataclass
class Mind:
    """State of one dialogue.

    P: position on C, A, P. trust: 0..3. told: items told so far. fresh: those told in
    the last user line. turn: number of replies taken in. paid: credits given by (kind,
    slot); paid_kind: by kind; last_paid: turn of the last credit by kind. bad: how
    often a harmful kind was met. wrong: slot kinds ("name", "affirm", ...) guessed
    wrongly. served: replies that served the hidden intention. advised: fitting advice
    was taken. parts: clauses of the last reply. promised: the item that the last
    reply's question draws out, or None.
    """

    secrets: Secrets
    reserved: bool = False
    P: tuple[int, int, int] = (0, 0, 0)
    trust: int = 0
    turn: int = 0
    told: frozenset[str] = frozenset({"topic"})
    fresh: frozenset[str] = frozenset()
    paid: Counter = field(default_factory=Counter)
    paid_kind: Counter = field(default_factory=Counter)
    last_paid: dict[str, int] = field(default_factory=dict)
    wrong: frozenset[str] = frozenset()
    bad: Counter = field(default_factory=Counter)
    served: int = 0
    advised: bool = False
    promised: str | None = None
    parts: frozenset[str] = frozenset()

    @classmethod
    def new(cls, secrets: Secrets, reserved: bool = False) -> "Mind":
        trust = 1 if secrets.threshold == "low" and not reserved else 0
        return cls(secrets, reserved, secrets.p0, trust)

    def copy(self) -> "Mind":
        """An independent copy, for looking ahead."""
        return replace(
            self,
            paid=self.paid.copy(),
            paid_kind=self.paid_kind.copy(),
            bad=self.bad.copy(),
            last_paid=dict(self.last_paid),
        )

    def clued(self) -> int:
        """0: nothing of the feeling is told; 1: only the ambiguous clue; 2: clear."""
        clues = {item for item in self.told if item.startswith("clue")}
        if "feeling" in self.told or clues - self.secrets.ambiguous:
            return 2
        return 1 if clues else 0

    def voiced(self, axis: str) -> bool:
        """The last user line hinted at the need of this axis."""
        return f"need{self.secrets.needs.index(axis)}" in self.fresh

    def empty(self) -> bool:
        """Nothing is left that this person would still tell."""
        return all(self._gate(item) == NEVER for item in self.queue())

    def half_met(self, axis: str) -> bool:
        """At most half of the initial deficit on an axis is left."""
        i = AXES.index(axis)
        return 2 * self.P[i] >= self.secrets.p0[i]

    def queue(self) -> list[str]:
        """Items not yet told, in the order in which this person opens up."""
        gates = RESERVED_GATES if self.reserved else GATES
        order = [item for item in gates if item in self.secrets.phrases]
        if self.secrets.early:
            order.insert(0, order.pop(order.index("action")))
        return [item for item in order if item not in self.told]

    def by_itself(self) -> list[str]:
        """Items that the next line tells without being asked."""
        room = (self.trust >= (2 if self.reserved else 1)) + (self.trust >= 2)
        items = [item for item in self.queue() if self._gate(item) <= self.trust]
        return items[:room]

    def if_asked(self) -> str | None:
        """The item that an open question would draw out, on top of those; or None.

        A question opens the next gate too, but not with people of a high threshold.
        """
        reach = self.trust + (self.secrets.threshold != "high")
        alone = self.by_itself()
        if len(alone) == 2:
            return None
        for item in self.queue():
            if item not in alone and self._gate(item) <= reach:
                return item
        return None

    def next_items(self, drawn: bool = False) -> list[str]:
        """What the next line will tell: the promised item first, two at most.

        Args:
            drawn: the director's advice draws one more item out, whatever the trust.
        """
        items = self.by_itself()
        if self.promised is not None:
            items = [self.promised, *(i for i in items if i != self.promised)][:2]
        if drawn:
            more = [i for i in self.queue() if i not in items and self._gate(i) < NEVER]
            items += more[:1]
        return items

    def _gate(self, item: str) -> int:
        if self.secrets.early and item == "action":
            return 0
        return (RESERVED_GATES if self.reserved else GATES)[item]

    def tell(self, items) -> None:
        """Note what a user line tells."""
        self.fresh = frozenset(items) - self.told
        self.told |= self.fresh

    def hear(self, user_line: str) -> None:
        """Note what a user line tells, from its words (for the judge)."""
        said = f" {user_line} "
        self.tell(
            item
            for item, words in self.secrets.phrases.items()
            if f" {words} " in said
        )

    def absorb(self, reading: Reading, appraisal: "Appraisal") -> None:
        """Move on by one reply."""
        self.turn += 1
        v = appraisal.increment
        self.P = tuple(p + x for p, x in zip(self.P, v, strict=True))
        gain = sum(v)
        if gain >= TRUST_STEP[self.secrets.threshold]:
            self.trust = min(3, self.trust + 1)
        elif gain < 0:
            self.trust = max(0, self.trust - 1)
        for act in appraisal.credited:
            self.paid[act.kind, act.slot] += 1
            self.paid_kind[act.kind] += 1
            self.last_paid[act.kind] = self.turn
        self.bad.update(
            k for k in reading.kinds() if k in ("platitude", "flatter", "disclose")
        )
        self.bad["noise"] += reading.noise
        self.wrong |= appraisal.wrong
        self.served += appraisal.serves
        self.advised |= appraisal.advised
        self.promised = appraisal.opens
        self.parts = frozenset(reading.parts)


@dataclass(frozen=True, slots=True)
class Appraisal:
    """What a reply does to this mind.

    levels, evidence: MDEP-PR fields. credited: acts whose credit is used up by this
    reply. wrong: slot kinds guessed wrongly. serves: the hidden intention was served.
    opens: the item that a question draws out, or None. advised: fitting advice was
    taken. warm: generic kindness, which only vanilla users feel.
    """

    levels: dict[str, int]
    evidence: dict[str, str]
    credited: tuple[Act, ...]
    wrong: frozenset[str]
    serves: bool
    opens: str | None
    advised: bool
    warm: bool

    @property
    def increment(self) -> tuple[int, int, int]:
        """v_t on C, A, P, by EMPA's level table."""
        return tuple(
            PROG_VALUE[self.levels[f"{a}.Prog"]] + NEG_VALUE[a][self.levels[f"{a}.Neg"]]
            for a in AXES
        )
