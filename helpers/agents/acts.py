"""Dialogue acts: what a reply does, as both front ends report it.

A front end (`clauses` for the closed grammar of the tiny policy, `free_text` for free
English) turns a reply into a `Reading`; the appraisal sees only the reading. The acts
follow the strategies that SAGE (appendix C) and RLVER (Table 4) count, plus the ones
that EMPA's MDEP-PR rubric punishes.
"""

from collections.abc import Callable
from dataclasses import dataclass

# kind: what it is. The slot it may carry stands in brackets.
ACTS = {
    "reflect": "says back what happened [event, topic]",
    "question": "asks the person to go on",
    "name": "puts a feeling into words [emotion]",
    "validate": "says that the feeling makes sense",
    "presence": "offers to listen or to stay",
    "disclose": "tells of a like experience of one's own",
    "affirm": "praises something the person really showed [value]",
    "flatter": "praises without a ground",
    "no_fault": "says that it was not the person's fault",
    "sides": "weighs more than one side",
    "motives": "explains why the others may have acted so",
    "self_look": "invites the person to look at the own part",
    "advise": "suggests something to do [action]",
    "lecture": "tells the person how to be",
    "platitude": "comforts with a phrase that fits anyone",
    "dismiss": "makes the matter small or sends the person away",
}
INSIGHT = ("sides", "motives", "self_look")
# Kinds that mostly do harm; advice does when it comes early.
HARMFUL = ("advise", "lecture", "platitude", "dismiss", "flatter")


@dataclass(frozen=True, slots=True)
class Act:
    """One act. slot: event, emotion, value or action id; topic: only for reflect."""

    kind: str
    slot: str | None = None
    topic: str | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """What a front end found in a reply.

    acts: in order of appearance, each once. noise: some part of the reply is not
    language that the front end takes for a sentence. echo: the reply mostly repeats the
    user's own line. parts: the reply's clauses in normal form, to spot repetition.
    """

    acts: tuple[Act, ...]
    noise: bool
    echo: bool
    parts: tuple[str, ...]

    def of(self, kind: str) -> list[Act]:
        return [act for act in self.acts if act.kind == kind]

    def kinds(self) -> tuple[str, ...]:
        """The kinds of the acts, each once, in order."""
        return tuple(dict.fromkeys(act.kind for act in self.acts))


# (reply, the user line that it answers) -> Reading
Reader = Callable[[str, str], Reading]
