"""RAPO's generative reward model by rule: ranks and a critique without a model.

With reactions it goes by what the replies did: by the change of emotion. Without them
it has only the replies, and counts acts that look good: such a judge likes whoever says
much that sounds kind, whether it is true of this person or not. That is the mismatch
that RAPO's paper ascribes to rubrics (fact sheet, section 2), and the weakness of this
offline stand-in for a rubric as well.

The critique contrasts the best replies of the group with the worst: the acts to do,
with their words, and one harmful kind of act to leave, without any word. That is the
form of the notes in the tiny policy's lessons: a word after "worse" it would copy.
`lessons.critique_text` writes it so; `english_critique` writes sentences.

Paper: RAPO, arXiv 2603.15434 (fact sheet, 3.2, 9.3): a reconstruction.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from helpers.agents.acts import ACTS, HARMFUL, Act, Reader, Reading
from helpers.agents.clauses import read_clauses
from helpers.agents.roles import Comparison, Outcome, RoleFailure, Verdict
from helpers.agents.scripted import rules_source

MOST_ACTS = 3  # to do, in a critique
Write = Callable[[Iterable[Act], Iterable[Act]], str]


def english_critique(better: Iterable[Act], worse: Iterable[Act]) -> str:
    """A critique in plain sentences; empty lists leave their part out."""
    parts = []
    for start, acts in (("What helps here", better), ("What does not", worse)):
        told = []
        for act in acts:
            what = ACTS[act.kind].partition(" [")[0]
            told.append(f"a reply that {what}" + (f" ({act.slot})" if act.slot else ""))
        if told:
            parts.append(f"{start}: {'; '.join(told)}.")
    return " ".join(parts)


@dataclass(frozen=True)
class ScriptedRewardModel:
    """A `roles.RewardModel` by rule.

    write: (acts to do, acts to leave) -> critique. reader: reads the replies.
    """

    write: Write
    reader: Reader = read_clauses

    def describe(self) -> dict:
        return {
            "role": "scripted reward model",
            "rules_source": rules_source(),
            "write": self.write.__name__,
            "reader": self.reader.__name__,
        }

    def compare(self, comparison: Comparison, attempt: int) -> Verdict:
        """Raises: RoleFailure where reactions carry no emotion to go by."""
        line = comparison.history[-1].content
        read = [self.reader(reply, line) for reply in comparison.replies]
        if comparison.reactions is None:
            scores = [good_looks(reading) for reading in read]
        else:
            scores = [reaction.change for reaction in comparison.reactions]
            if None in scores:
                raise RoleFailure(
                    "reward model", Outcome.JUDGE_UNPARSEABLE,
                    "a user without an emotion: reactions cannot be ranked by rule",
                )  # fmt: skip
        scores = [float(score) for score in scores]
        order = tuple(
            tuple(i for i, score in enumerate(scores) if score == level)
            for level in sorted(set(scores), reverse=True)
        )
        better, worse = contrast(read, scores)
        notes = tuple(
            self.write(better, [act for act in worse if act.kind in reading.kinds()])
            for reading in read
        )
        return Verdict(order, tuple(scores), self.write(better, worse), notes)


def good_looks(reading: Reading) -> int:
    """A rubric on the reply alone: kinds of acts, minus those that harm whenever they
    come; advice may be what is wanted."""
    kinds = reading.kinds()
    harmful = sum(kind in HARMFUL and kind != "advise" for kind in kinds)
    return len(kinds) - 2 * harmful - 2 * reading.noise


def contrast(
    read: Sequence[Reading], scores: Sequence[float]
) -> tuple[list[Act], list[Act]]:
    """Acts that speak for a reply of this group, and the kind of act against one.

    An act is held to do good by how the replies with it scored beside the group's mean:
    the best replies' acts above it, best first; of the worst replies' acts below it the
    worst that is harmful in kind and not among the first. Nothing in a group that ties.
    """
    mean, best, worst = fmean(scores), max(scores), min(scores)
    if best == worst:
        return [], []

    def merit(act: Act) -> float:
        pairs = zip(read, scores, strict=True)
        return fmean(s for reading, s in pairs if act in reading.acts) - mean

    def acts_at(level: float) -> list[Act]:
        pairs = zip(read, scores, strict=True)
        found = [act for reading, s in pairs if s == level for act in reading.acts]
        return list(dict.fromkeys(found))

    better = sorted((a for a in acts_at(best) if merit(a) > 0), key=lambda a: -merit(a))
    better = better[:MOST_ACTS]
    praised = {act.kind for act in better}
    kinds = [
        act.kind
        for act in sorted((a for a in acts_at(worst) if merit(a) < 0), key=merit)
        if act.kind in HARMFUL and act.kind not in praised
    ]
    return better, [Act(kind) for kind in kinds[:1]]
