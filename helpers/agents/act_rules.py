"""What each act does to a person: one function an act, setting marks.

A mark is (field, level, reason) on EMPA's six MDEP-PR fields. `Marks` keeps the largest
progress and the worst negative of a reply, and counts the credit that is used up. What
closes which loophole is told in `helpers.agents.appraisal`.

The sizes of the credits are a choice: they were raised until the one-step oracle gained
about as much energy a turn as the best model of EMPA's logs (3.47, fact sheet 3.3), so
that EMPA's full deficits can be met within ten turns on most cards up to Medium.
"""

from helpers.agents.acts import INSIGHT, Act, Reading
from helpers.agents.mind import Mind
from helpers.scoring.rubric import MDEP_FIELDS

PATIENCE = 3  # replies before a user who wants advice early turns impatient
# How often an act is paid within a dialogue, whatever its slot.
CAPS = {
    "reflect": 4, "question": 3, "name": 3, "validate": 6, "presence": 3,
    "disclose": 1, "affirm": 4, "no_fault": 3, "sides": 3, "motives": 3,
    "self_look": 3, "advise": 4, "tie": 6,
}  # fmt: skip
SLOT_CAP = 2
INSIGHT_FOR = {"sides": "Dialectic", "motives": "AnalyseOthers",
               "self_look": "SelfReflect"}  # fmt: skip


class Marks:
    """Collects marks and the side results of one reply."""

    def __init__(self, mind: Mind, reading: Reading):
        self.mind, self.reading, self.hidden = mind, reading, mind.secrets
        self.levels = dict.fromkeys(MDEP_FIELDS, 0)
        self.evidence: dict[str, str] = {}
        self.credited: list[Act] = []
        self.wrong: set[str] = set()
        self.heard = False  # something of this person's own was taken up rightly
        self.serves = self.advised = self.warm = False
        self.opens: str | None = None

    def up(self, axis: str, level: int, why: str) -> None:
        name = f"{axis}.Prog"
        if level > self.levels[name]:
            self.levels[name], self.evidence[name] = level, why

    def down(self, axes: str, level: int, why: str) -> None:
        for axis in axes:
            name = f"{axis}.Neg"
            if level < self.levels[name]:
                self.levels[name], self.evidence[name] = level, why

    def credit(self, act: Act, gap: int = 1) -> int:
        """How often this act and slot were paid before, or -1 if it earns no more.

        gap: turns that must lie between two credits of the kind.
        """
        mind = self.mind
        times = mind.paid[act.kind, act.slot]
        last = mind.last_paid.get(act.kind)
        recent = last is not None and mind.turn + 1 - last < gap
        spent = mind.paid_kind[act.kind] >= CAPS[act.kind]
        full = act.slot is not None and times >= SLOT_CAP
        now = any((a.kind, a.slot) == (act.kind, act.slot) for a in self.credited)
        if recent or spent or full or now:
            return -1
        self.credited.append(act)
        return times


def reflect(m: Marks, act: Act) -> None:
    told = m.mind.told
    if act.topic is not None and act.topic != m.hidden.topic:
        m.down("C", -1, "names another topic")
        return
    if act.slot is None:
        if act.topic and m.credit(Act("reflect", f"topic:{act.topic}")) == 0:
            m.heard = True  # once: after that the bare topic says nothing
            m.up("C", 1, "sees what it is about")
    elif act.slot != m.hidden.event:
        m.wrong.add("reflect")
        m.down("C", -2, "tells a story that is not theirs")
    elif "event" in told:
        m.heard = True
        times = m.credit(act, gap=2)
        if times >= 0:
            full = times == 0 or m.mind.voiced("C")
            m.up("C", 2 if full else 1, "says back what happened")


def name(m: Marks, act: Act) -> None:
    mind, high = m.mind, m.hidden.threshold == "high"
    named = {a.slot for a in m.reading.of("name")}
    if len(named) > 1:
        m.down("A", -2, "offers several feelings to choose from")
        return
    if act.slot != m.hidden.emotion:
        m.wrong.add("name")
        worse = high or "feeling" in mind.told or mind.clued() == 2
        m.down("A", -2 if worse else -1, "names a feeling that is not there")
        return
    if "name" in mind.wrong or not mind.clued():
        return
    m.heard = True
    times = m.credit(act, gap=2)
    if times >= 0:
        felt = mind.clued() == 2 and times == 0
        m.up("A", 2 if felt else 1, "puts the feeling into words")
        knows = "event" in mind.told and _right(m, "reflect")
        if m.hidden.intention == "DeepEmpathy" and (knows or "intention" in mind.told):
            m.serves = True


def affirm(m: Marks, act: Act) -> None:
    if len({a.slot for a in m.reading.of("affirm")}) > 1:
        m.down("P", -2, "piles up praise")
        return
    if act.slot != m.hidden.value:
        m.wrong.add("affirm")
        m.down("P", -1, "praises what was not shown")
        return
    if "affirm" in m.mind.wrong or "value" not in m.mind.told:
        return
    m.heard = True
    tied = "event" in m.mind.told and _right(m, "reflect")
    times = m.credit(act, gap=2)
    if times >= 0:
        praise = m.hidden.intention == "Praise"
        full = times == 0 or tied or praise or m.mind.voiced("P")
        m.up("P", 2 if full else 1, "sees what was shown")
        m.serves |= praise


def insight(m: Marks) -> None:
    for act in m.reading.acts:
        if act.kind == "no_fault":
            _no_fault(m, act)
        elif act.kind in INSIGHT:
            if m.hidden.intention != INSIGHT_FOR[act.kind]:
                m.down("C", -1, "explains where none was asked for")
                m.down("A", -1, "takes another side")
            elif m.mind.trust >= 1 and (times := m.credit(act, gap=2)) >= 0:
                m.heard = m.serves = True
                m.up("C", 2 if times < 2 else 1, "opens a view that was looked for")
                grows = act.kind == "self_look" and times == 0
                m.up("P", 2 if grows else 1, "helps to move on")
            else:
                m.heard = True


def _no_fault(m: Marks, act: Act) -> None:
    if m.hidden.intention == "SelfReflect":
        m.down("P", -1, "takes the own part away")
        return
    wanted = m.hidden.intention == "NoFault"
    if not (m.heard or wanted):
        return
    times = m.credit(act, gap=2)
    if times >= 0 and (wanted or times == 0):
        tied = "event" in m.mind.told and _right(m, "reflect")
        full = (wanted and times < 2) or m.mind.voiced("P") or tied
        m.up("P", 2 if full else 1, "lifts the blame")
        m.serves |= wanted


def advise(m: Marks, act: Act) -> None:
    mind, hidden = m.mind, m.hidden
    if len({a.slot for a in m.reading.of("advise")} - {None}) > 1:
        m.down("P", -2, "heaps up suggestions")
        return
    if not (hidden.early or mind.half_met("A")):
        m.down("A", -2 if hidden.threshold == "high" else -1, "advises before feeling")
        m.down("P", -1, "premature advice")
        return
    if act.slot != hidden.action:
        why = "advice that fits anyone" if act.slot is None else "advice that fits not"
        m.wrong |= set() if act.slot is None else {"advise"}
        m.down("P", -1, why)
        return
    if "advise" in mind.wrong or "action" not in mind.told:
        return
    m.advised = True
    times = m.credit(act, gap=2)
    if times >= 0:
        seeks = hidden.intention == "Advice"
        m.heard |= seeks or hidden.early
        tied = "value" in mind.told and _right(m, "affirm")
        m.up("P", 2 if times == 0 or seeks or tied else 1, "a step that fits")
        m.serves |= seeks


def _right(m: Marks, kind: str) -> bool:
    """The reply has this act with this person's own slot."""
    own = {"reflect": m.hidden.event, "name": m.hidden.emotion,
           "affirm": m.hidden.value}  # fmt: skip
    return any(act.slot == own[kind] for act in m.reading.of(kind))


# Which told items make a slot known; ties pay C only between known things.
_KNOWN = {"reflect": ("event",), "name": ("clue1", "clue2", "feeling"),
          "affirm": ("value",)}  # fmt: skip
_PAIRS = (("reflect", "name"), ("reflect", "affirm"), ("name", "affirm"))


def ties(m: Marks) -> None:
    """Two things of this person's own in one reply make a connection."""
    mind = m.mind
    known = {
        kind
        for kind, items in _KNOWN.items()
        if mind.told & set(items) and kind not in mind.wrong and _right(m, kind)
    }
    for one, other in _PAIRS:
        if one in known and other in known:
            times = m.credit(Act("tie", f"{one}+{other}"))
            if times >= 0:
                m.up("C", 2 if times == 0 else 1, "ties together what was told")
                if other == "affirm" and times == 0:
                    m.up("P", 2, "finds the strength in the story")
    fresh = {kind for kind in known if mind.fresh & set(_KNOWN[kind])}
    if fresh:
        m.up("C", 1, "takes up what was just told")


def question(m: Marks) -> None:
    if not m.reading.of("question"):
        return
    mind = m.mind
    item = mind.if_asked()
    waits = m.hidden.early and not mind.advised and mind.turn >= PATIENCE
    shut = m.hidden.threshold == "high" and mind.trust == 0 and mind.turn > 0
    if item is None or waits or shut:
        asked_in_vain = mind.paid["question", None] > 0 or mind.turn > 0
        if asked_in_vain and not m.heard:
            m.down("C", -1, "asks on without taking anything up")
        return
    m.opens = item
    if m.credit(Act("question")) >= 0:
        m.up("C", 1, "helps to go on")
        if m.hidden.intention == "Listen":
            m.up("A", 1, "leaves room")
            m.serves = True


def comfort(m: Marks) -> None:
    mind, reading, high = m.mind, m.reading, m.hidden.threshold == "high"
    fresh_feeling = mind.voiced("A") or any(
        item.startswith("clue") or item == "feeling" for item in mind.fresh
    )
    for act in reading.acts:
        if act.kind == "validate":
            if m.heard:
                if m.credit(act) >= 0:
                    m.up("A", 2 if fresh_feeling else 1, "makes sense of it")
                    m.up("P", 1, "stands by the reaction")
            elif high:
                m.down("A", -1, "agrees without having heard")
            else:
                m.warm = True
        elif act.kind == "presence":
            listens = m.hidden.intention == "Listen"
            times = m.credit(act, gap=2 if listens else 3)
            if times >= 0:
                full = mind.voiced("A") or (listens and mind.fresh)
                m.up("A", 2 if full else 1, "stays")
                m.warm = True
                m.serves |= listens and not reading.of("advise")
        elif act.kind == "disclose":
            if mind.bad["disclose"]:
                m.down("C", -1, "talks about oneself again")
            elif high and mind.trust == 0:
                m.down("C", -1, "talks about oneself")
            elif m.credit(act) >= 0:
                m.up("A", 1, "has been there")


def harm(m: Marks) -> None:
    for kind in m.reading.kinds():
        if kind == "lecture":
            m.down("AP", -2, "lectures")
        elif kind == "dismiss":
            m.down("A", -2, "makes it small")
            m.down("CP", -1, "makes it small")
        elif kind in ("platitude", "flatter"):
            again = m.mind.bad[kind] > 0
            worse, why = again and kind == "flatter", "a phrase for anyone"
            m.down("A", -2 if again else -1, why)
            m.down("P", -2 if worse else -1, why)
            m.down("C", -1, why)
            m.warm |= not again
