"""Which strategies a policy uses, how often, and what follows them.

RLVER counts eleven strategies in five groups (`agents.calibration.GROUPS`). Two taggers
say which of them a reply uses. `RuleTagger` is a rule on the dialogue acts that a front
end reads, exact on the closed grammar: an offline demo, not the paper's judge.
`agents.strategy_judge.StrategyJudge` asks a model, as the paper does.

The rule takes an act for a strategy only where that is plain. It is blind to two: the
grammar cannot praise an action apart from a quality, and its questions count as
questions, though some of them help to vent (`agents.calibration` has to put some reply
for each and takes these). Acts that the paper's table has no place for are counted
under names of their own (`OUTSIDE`).

Papers: RLVER 2507.03112 Table 4, Figures 5 and 6 (fact sheet, B10, E11); SAGE
2505.02847 appendix C.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Protocol

import pandas as pd

from helpers.agents.acts import INSIGHT, Reader, Reading
from helpers.agents.calibration import GROUPS, STRATEGIES
from helpers.agents.clauses import read_clauses
from helpers.sandbox.dialogue import Dialogue, Turn

OF_ACT = {
    "affirm": "praise of qualities",
    "validate": "praise of thoughts",
    "reflect": "restating",
    "name": "hidden intention",
    "disclose": "own story",  # beside "validate": agreeing self-disclosure
    "presence": "willing to listen",
    "advise": "specific advice",
    **dict.fromkeys(INSIGHT, "problem analysis"),
    "question": "question",
    "no_fault": "lifting of blame",
    "platitude": "platitude or lecture",
    "lecture": "platitude or lecture",
    "flatter": "flattery",
    "dismiss": "dismissal",
}
OUTSIDE = (*dict.fromkeys(n for n in OF_ACT.values() if n not in STRATEGIES), "none")
# Rows of the tables: name -> (kind, the tags that it counts).
ROWS = {
    **{group: ("group", members) for group, members in GROUPS.items()},
    **{name: ("strategy", (name,)) for name in STRATEGIES},
    **{name: ("outside", (name,)) for name in OUTSIDE},
}
Tags = tuple[str, ...]


class Tagger(Protocol):
    """Says which strategies each reply of a dialogue uses."""

    blind: tuple[str, ...]  # strategies that it cannot see: missing, not 0

    def tag(self, dialogue: Dialogue) -> list[Tags | None]:
        """One entry a turn; None where the reply could not be tagged."""


@dataclass(frozen=True)
class RuleTagger:
    """Tags by rule on the acts that `reader` finds. Offline demo."""

    reader: Reader = read_clauses
    blind: ClassVar = ("praise of actions", "help to vent")

    def tag(self, dialogue: Dialogue) -> list[Tags | None]:
        return [
            None
            if turn.reply is None
            else strategies_of(self.reader(turn.reply, turn.user))
            for turn in dialogue.turns
        ]


RULE = RuleTagger()


def strategies_of(reading: Reading) -> Tags:
    """The strategies of a reply, each once; ("none",) when no act was read in it."""
    kinds = reading.kinds()
    tags = [OF_ACT[kind] for kind in kinds]
    if "disclose" in kinds and "validate" in kinds:
        tags[kinds.index("disclose")] = "agreeing self-disclosure"
    return tuple(dict.fromkeys(tags)) or ("none",)


@dataclass(frozen=True)
class Tagged:
    """A set of dialogues, tagged once: what all the tables are counted from.

    dialogues: the replies that count, by dialogue. failed: dialogues that ended in
    error, left out as a whole. untagged: replies of the others without tags. blind:
    of the tagger.
    """

    dialogues: tuple[tuple[tuple[Turn, Tags], ...], ...]
    failed: int
    untagged: int
    blind: Tags

    @classmethod
    def of(cls, dialogues: Iterable[Dialogue], tagger: Tagger = RULE) -> "Tagged":
        kept, failed, untagged = [], 0, 0
        for dialogue in dialogues:
            if dialogue.failure is not None:
                failed += 1
                continue
            pairs = zip(dialogue.turns, tagger.tag(dialogue), strict=True)
            tagged = tuple((turn, tags) for turn, tags in pairs if tags is not None)
            untagged += len(dialogue.turns) - len(tagged)
            kept.append(tagged)
        return cls(tuple(kept), failed, untagged, tagger.blind)

    @property
    def turns(self) -> list[tuple[Turn, Tags]]:
        return [pair for dialogue in self.dialogues for pair in dialogue]


def frequency(tagged: Tagged) -> pd.DataFrame:
    """How often each strategy is used, in both readings of the paper's unit.

    Returns:
        One row a group, strategy and name outside the table, by name: kind; share (of
        replies that use it, 0..1); count (uses a dialogue; a strategy counts once a
        reply, a group once for each of its strategies); replies and dialogues (what
        they are taken over); failed (dialogues left out); untagged (replies left out).
        A share or count is NaN where nothing was tagged, and for a strategy that the
        tagger is blind to; a group counts those of its strategies that it sees.
    """
    turns, n = tagged.turns, len(tagged.dialogues)
    rows = []
    for name, (kind, members) in ROWS.items():
        uses = [sum(tag in members for tag in tags) for _, tags in turns]
        seen = turns and not set(members) <= set(tagged.blind)
        share = sum(use > 0 for use in uses) / len(turns) if seen else float("nan")
        count = sum(uses) / n if seen else float("nan")
        rows.append(
            (name, kind, share, count, len(turns), n, tagged.failed, tagged.untagged)
        )
    columns = "name kind share count replies dialogues failed untagged".split()
    return pd.DataFrame(rows, columns=columns).set_index("name")


def contribution(tagged: Tagged) -> pd.DataFrame:
    """SC(s): mean change of the emotion right after the replies that use s.

    Returns:
        One row a group, strategy and name outside the table, by name: kind; change
        (points, after clipping; NaN when s was never used); n (replies that use s);
        failed (dialogues left out); left_out (other replies without tags or without
        an emotion before and after).

    Paper: RLVER Figure 6; the same as SAGE's SE(s).
    """
    steps = [
        (tags, turn.emotion_after - turn.emotion_before)
        for turn, tags in tagged.turns
        if None not in (turn.emotion_before, turn.emotion_after)
    ]
    left_out = tagged.untagged + len(tagged.turns) - len(steps)
    rows = []
    for name, (kind, members) in ROWS.items():
        changes = [step for tags, step in steps if set(tags) & set(members)]
        mean = sum(changes) / len(changes) if changes else float("nan")
        rows.append((name, kind, mean, len(changes), tagged.failed, left_out))
    columns = "name kind change n failed left_out".split()
    return pd.DataFrame(rows, columns=columns).set_index("name")


@dataclass(frozen=True)
class EarlyAdvice:
    """Counts of replies: all that advise, those of them that come early, all early."""

    advising: int
    early_advising: int
    early: int

    @property
    def share_of_advice(self) -> float | None:
        """Of the replies that advise, those that come early; None without any."""
        return self.early_advising / self.advising if self.advising else None

    @property
    def share_of_early_replies(self) -> float | None:
        """Of the early replies, those that advise; None without any."""
        return self.early_advising / self.early if self.early else None


def early_advice(tagged: Tagged, before: int = 3) -> EarlyAdvice:
    """Advice before turn `before`; 1 is the first reply.

    Whether it was too early for this very person: `agents.appraisal.is_premature`.
    """
    turns = tagged.turns
    advising = [
        turn for turn, tags in turns if set(tags) & set(GROUPS["Advice Provision"])
    ]
    return EarlyAdvice(
        advising=len(advising),
        early_advising=sum(turn.number < before for turn in advising),
        early=sum(turn.number < before for turn, _ in turns),
    )
