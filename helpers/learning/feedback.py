"""From a group of replies to what it learns from: ranks, a critique, a teacher's line.

The reward model sees a group at once, in a shuffled order that is undone here, so that
no candidate gains by its place. What cannot be used is asked again, twice at the most;
then the group is left without any signal. A made-up rank in the middle would be one.

Paper: RAPO, arXiv 2603.15434 (fact sheet, 3.2, 9.3, 9.8).
"""

import random
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from helpers.agents.roles import (
    Comparison,
    Outcome,
    Reaction,
    RewardModel,
    RoleFailure,
)
from helpers.agents.templates import render
from helpers.learning.chat import ChatFormat
from helpers.learning.hindsight import (
    GroupFeedback,
    HindsightSettings,
    HindsightTurn,
)


def ask(
    model: RewardModel,
    comparison: Comparison,
    settings: HindsightSettings,
    rng: random.Random,
) -> GroupFeedback:
    """The feedback on a group in its own order; invalid after too many failures.

    With several judgings ranks and scores are averaged, the first critique is kept.
    """
    heard, asks = [], 0
    for judging in range(settings.judgings):
        for again in range(settings.retries + 1):
            attempt, asks = judging * (settings.retries + 1) + again, asks + 1
            try:
                heard.append(_once(model, comparison, attempt, rng))
                break
            except RoleFailure as failure:
                last = failure
        else:
            return GroupFeedback(failure=last, asks=asks)
    first = replace(heard[0], asks=asks)
    if len(heard) == 1:
        return first
    scores = [f.scores for f in heard if f.scores is not None]
    averaged = tuple(map(fmean, zip(*scores, strict=True))) if scores else None
    ranks = tuple(map(fmean, zip(*(f.ranks for f in heard), strict=True)))
    return replace(first, ranks=ranks, scores=averaged)


def _once(model, comparison: Comparison, attempt: int, rng) -> GroupFeedback:
    """One comparison, shuffled and put back."""
    group = len(comparison.replies)
    shown = rng.sample(range(group), group)  # place -> candidate

    def shuffled(values):
        return None if values is None else tuple(values[i] for i in shown)

    verdict = model.compare(
        replace(
            comparison, replies=shuffled(comparison.replies),
            reactions=shuffled(comparison.reactions),
        ),
        attempt,
    )  # fmt: skip
    place = {candidate: at for at, candidate in enumerate(shown)}

    def back(values):
        return None if values is None else tuple(values[place[i]] for i in range(group))

    return GroupFeedback(
        back(mean_ranks(verdict.order, group)), back(verdict.scores),
        verdict.critique, back(verdict.notes),
    )  # fmt: skip


def mean_ranks(order: Sequence[Sequence[int]], group: int) -> tuple[float, ...]:
    """Ranks 1..G of places 0..G-1 from an order with ties, which share their mean rank.

    Raises:
        RoleFailure (judge_unparseable): a place is missing, double or out of range.
    """
    places = [place for tied in order for place in tied]
    for problem, found in (
        ("out of range", [p for p in places if p not in range(group)]),
        ("double", sorted({p for p in places if places.count(p) > 1})),
        ("missing", [p for p in range(group) if p not in places]),
    ):
        if found:
            detail = f"candidate {found[0]} of a group of {group} is {problem}"
            raise RoleFailure("reward model", Outcome.JUDGE_UNPARSEABLE, detail)
    ranks, above = [0.0] * group, 0
    for tied in order:
        for place in tied:
            ranks[place] = above + (len(tied) + 1) / 2
        above += len(tied)
    return tuple(ranks)


def rank_rewards(feedback: GroupFeedback, rank_map: str) -> list[float]:
    """(G,) the reward of each candidate of valid feedback; see `HindsightSettings`.

    Raises: ValueError for invalid feedback, or scores that the judge does not give.
    """
    if not feedback.valid:
        raise ValueError("failed feedback has no ranks")
    if rank_map == "scores":
        if feedback.scores is None:
            raise ValueError("this reward model gives no scores: take another rank_map")
        return list(feedback.scores)
    group = len(feedback.ranks)
    points = [group - rank for rank in feedback.ranks]
    if rank_map == "borda":
        return points
    linear = [point / (group - 1) for point in points]
    return linear if rank_map == "linear" else [2 * r - 1 for r in linear]


def lines_for_teacher(
    feedbacks: Sequence[GroupFeedback], settings: HindsightSettings, rng: random.Random
) -> list[list[str]]:
    """What the teacher of each candidate is told, groups by candidates; "" = none.

    The controls stand here: "empty" tells nothing, "shuffled" tells what was said of
    another group of the step. Who is not on the route is told nothing either.
    """
    told = []
    for feedback in feedbacks:
        own = settings.feedback == "candidate" and feedback.notes is not None
        group = len(feedback.ranks)
        told.append(list(feedback.notes) if own else [feedback.critique] * group)
    if settings.note == "empty":
        told = [[""] * len(lines) for lines in told]
    if settings.note == "shuffled":
        told = _of_another(told, rng)
    return [
        [
            line if on else ""
            for line, on in zip(lines, _route(f, settings), strict=True)
        ]
        for lines, f in zip(told, feedbacks, strict=True)
    ]


def _of_another(told: list[list[str]], rng: random.Random) -> list[list[str]]:
    """Each group the lines of the next in a shuffled round of those that have any, so
    that none keeps its own; with one such group alone there is nothing to tell."""
    having = [i for i, lines in enumerate(told) if any(lines)]
    round_ = rng.sample(having, len(having))
    moved = [[""] * len(lines) for lines in told]
    if len(round_) > 1:
        for here, there in zip(round_, [*round_[1:], round_[0]], strict=True):
            moved[here] = told[there]
    return moved


def _route(feedback: GroupFeedback, settings: HindsightSettings) -> list[bool]:
    middle = (len(feedback.ranks) + 1) / 2
    return [
        settings.route == "all"
        or (settings.route == "losers" and rank > middle)
        or (settings.route == "winners" and rank < middle)
        for rank in feedback.ranks
    ]


def teacher_context(
    chat: ChatFormat, system: str, turn: HindsightTurn, told: str
) -> tuple[int, ...]:
    """The ids before a reply with a line of hindsight at the end of the user's turn.

    Args:
        told: the whole user turn as the teacher reads it.

    Raises: ValueError when the context does not end in the user's line as it stands.
    """
    line = turn.history[-1].content
    if len(turn.history) == 1:
        old, new = chat.opening(system, line), chat.opening(system, told)
    else:
        old, new = chat.user_turn(line), chat.user_turn(told)
    kept = len(turn.context) - len(old)
    if tuple(old) != turn.context[kept:]:
        raise ValueError(
            f"card {turn.scenario_id}, turn {turn.turn + 1}: the context does not end "
            "in the user's line, so a critique has no place in it"
        )
    return (*turn.context[:kept], *new)


def plain_line(line: str, critique: str, reaction: Reaction | None) -> str:
    """A user turn as the tiny policy's lessons have it: the note after the line; the
    reaction, which the lessons do not have, between the two."""
    said = line if reaction is None else f"{line} , {reaction.text}"
    return f"{said} {critique}"


def english_line(line: str, critique: str, reaction: Reaction | None) -> str:
    """The same for a model that reads English."""
    told = render("rapo_note", "en", line=line, critique=critique)
    if reaction is None:
        return told
    return f"{told}\n{render('rapo_note_reaction', 'en', reaction=reaction.text)}"
