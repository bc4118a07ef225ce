"""One step of RAPO: hold dialogues, look back, try other replies, hear what they do.

    1 dialogues with the policy as it is
    2 the turns that mattered (`selection.select`)
    3 a group of candidate replies to each, from the same policy and context
    4 the reaction that each would bring about (`agents.reactions`)
    5 ranks and a critique from all (reply, reaction) pairs of a group at once
    6 rows to train on: candidates with their reward and their teacher's context

`HindsightStep` is what the trainer calls `roll`; `report` says what the last step cost
and found. One user call is one reply taken in and answered, in a dialogue or as a
reaction, so that methods can be compared at equal calls.

With `trained = "dialogues"` the rows are the dialogues themselves, under whatever
credit the recipe has, and the groups only give the notes of their teachers.

Paper: RAPO, arXiv 2603.15434: a reconstruction (see `helpers.learning.hindsight`).
"""

import random
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

from helpers.agents.reactions import react
from helpers.agents.roles import (
    Comparison,
    ImpactJudge,
    Reaction,
    RewardModel,
    RoleFailure,
    stream,
)
from helpers.data.scenarios import Scenario
from helpers.learning import feedback, selection
from helpers.learning.chat import ChatFormat
from helpers.learning.hindsight import (
    Candidate,
    GroupFeedback,
    HindsightRow,
    HindsightSettings,
    HindsightTurn,
)
from helpers.learning.rows import Row, first_failure
from helpers.learning.worlds import World
from helpers.sandbox.dialogue import Dialogue, Failure, Turn

Talk = Callable[[Sequence[str], int], list[Row]]
Sample = Callable[[Sequence[Sequence[int]], int], list[Candidate]]
Line = Callable[[str, str, Reaction | None], str]


@dataclass(frozen=True)
class Group:
    """A turn, its candidates and what came of them; reactions None = not asked for."""

    turn: HindsightTurn
    candidates: tuple[Candidate, ...]
    reactions: tuple[Reaction, ...] | None
    feedback: GroupFeedback


@dataclass(frozen=True)
class Report:
    """What one step did on one process: its dialogues, and counts to be summed."""

    held: list[Row]
    counts: dict[str, float]

    @staticmethod
    def numbers(total: Mapping[str, float]) -> dict[str, float]:
        """The log's entries from counts summed over processes; NaN = nothing to say."""

        def share(name: str, of: str) -> float:
            return total[name] / total[of] if total[of] else float("nan")

        reactions = total["reactions"]
        return {
            "calls/user": total["heard"] + reactions,
            "calls/reactions": reactions,
            "calls/reward_model": total["asked"],
            "calls/judge": total["judged"],
            "hindsight/turns": total["turns"],
            "hindsight/pivotal_share": share("pivotal", "turns"),
            "hindsight/invalid_share": share("invalid", "groups"),
            "hindsight/tied_share": share("tied", "ranked"),
            "hindsight/critique_share": share("told", "groups"),
            "hindsight/mean_change": share("change", "felt"),
        }


@dataclass
class HindsightStep:
    """Makes the rows of a generation batch.

    settings: RAPO's. group: candidates of a turn. rows: of the whole batch, over all
    processes. talk: cards' ids and a seed -> dialogues, in order. sample: contexts and
    a seed -> candidates. line: (user line, critique, reaction) -> the user turn as the
    teacher reads it. reward_model: compares groups. judge: tells impacts, None = the
    emotion trace. world: whose user reacts.
    """

    settings: HindsightSettings
    group: int
    rows: int
    talk: Talk
    sample: Sample
    chat: ChatFormat
    system: str
    world: World
    cards: Mapping[str, Scenario]
    reward_model: RewardModel
    judge: ImpactJudge | None = None
    line: Line = feedback.plain_line
    run_hash: str = ""
    report: Report | None = field(default=None, init=False)

    def __call__(self, ids: Sequence[str], seed: int) -> list[HindsightRow]:
        """Rows in the order of ids: those of a group side by side.

        Raises: RuntimeError when no dialogue has a turn to learn from.
        """
        whole = self.settings.trained == "dialogues"
        rng, share = stream(seed, "hindsight"), len(ids) / self.rows
        wanted = self.settings.turns * share if whole else len(ids) / self.group
        held = self._hold(ids, share, seed)
        groups = self.look_back(held, round(wanted), rng)
        told = feedback.lines_for_teacher(
            [group.feedback for group in groups], self.settings, rng
        )
        self.report = Report(held, self._counts(held, groups, told))
        if whole:
            return self._taught_dialogues(held, groups, told)
        pairs = zip(groups, told, strict=True)
        return [row for group, lines in pairs for row in self._rows(group, lines)]

    def _hold(self, ids: Sequence[str], share: float, seed: int) -> list[Row]:
        """Dialogues with the scenarios of the batch, each of them once if there are
        enough: a group of candidates needs no second dialogue with its person."""
        if self.settings.trained == "dialogues":
            return self.talk(ids, seed)
        people = list(dict.fromkeys(ids))
        count = round(self.settings.dialogues * share)
        return self.talk([people[i % len(people)] for i in range(count)], seed)

    def look_back(self, held: Sequence[Row], count: int, rng: random.Random):
        """Groups with their feedback on the turns of some dialogues that mattered.

        Returns: list of Group.
        """
        turns = [
            turn for n, row in enumerate(held) for turn in self._judged(row, n)
        ]  # fmt: skip
        if not turns:
            raise RuntimeError(
                f"no dialogue of the step has a turn to learn from{first_failure(held)}"
            )
        chosen = selection.select(turns, count, self.settings, rng)
        size = self.settings.candidates or self.group
        contexts = [turn.context for turn in chosen for _ in range(size)]
        said = self.sample(contexts, rng.getrandbits(31))
        groups = [
            (turn, tuple(said[i * size : (i + 1) * size]))
            for i, turn in enumerate(chosen)
        ]
        return [
            Group(turn, candidates, *heard)
            for (turn, candidates), heard in zip(
                groups, self._heard(groups, rng), strict=True
            )
        ]

    def _judged(self, row: Row, number: int) -> list[HindsightTurn]:
        dialogue = row.dialogue
        if dialogue.failure is not None or not dialogue.turns:
            return []
        if self.judge is None or self.settings.select != "judged":
            impacts = selection.trace_impacts(dialogue)
            return selection.turns_of(row, number, impacts)
        try:
            said = self.judge.impacts(dialogue, self.cards[dialogue.scenario_id])
        except RoleFailure as failure:  # unknown impacts: taken last, never as 0
            said = [(None, failure.detail)] * len(dialogue.turns)
        impacts, why = zip(*said, strict=True)
        return selection.turns_of(row, number, impacts, why)

    def _heard(self, groups, rng: random.Random):
        """(reactions, feedback) of each group, groups side by side if users may be."""
        seeds = [rng.getrandbits(31) for _ in groups]
        if self.world.together == 1:
            return [self._hear(*g, s) for g, s in zip(groups, seeds, strict=True)]
        with ThreadPoolExecutor(self.world.together) as pool:
            turns, candidates = zip(*groups, strict=True)
            return list(pool.map(self._hear, turns, candidates, seeds))

    def _hear(self, turn: HindsightTurn, candidates, seed: int):
        card, settings = self.cards[turn.scenario_id], self.settings
        replies = tuple(candidate.text for candidate in candidates)
        reactions: list[Reaction] | None = [] if settings.reactions else None
        if reactions is not None:
            try:
                reactions += map(partial(self.react, turn), replies)
            except RoleFailure as failure:
                return tuple(reactions), GroupFeedback(failure=failure)
        shown = card if settings.shows_profile else None
        heard = None if reactions is None else tuple(reactions)
        comparison = Comparison(turn.history, replies, heard, shown)
        rng = random.Random(seed)
        return heard, feedback.ask(self.reward_model, comparison, settings, rng)

    def react(self, turn: HindsightTurn, reply: str) -> Reaction:
        """What the user of the dialogue would answer to this reply at this turn."""
        card = self.cards[turn.scenario_id]
        return react(self.world.user, card, turn.seed, turn.history, reply)

    # -- rows --------------------------------------------------------------------------

    def _rows(self, group: Group, lines: Sequence[str]) -> list[HindsightRow]:
        size, valid = len(group.candidates), group.feedback.valid
        rewards: Sequence[float | None] = [None] * size
        if valid:
            rewards = feedback.rank_rewards(group.feedback, self.settings.rank_map)
        reactions = [*(group.reactions or ()), *[None] * size][:size]
        lines = lines or [""] * size  # invalid: nothing was said
        return [
            self._row(group, i, candidate, *parts)
            for i, (candidate, *parts) in enumerate(
                zip(group.candidates, reactions, rewards, lines, strict=True)
            )
        ]

    def _row(self, group: Group, place, candidate, reaction, earned, line):
        turn, n = group.turn, len(candidate.ids)
        taught = bool(line) and group.feedback.valid
        return HindsightRow(
            turn.context, candidate.ids, [1] * n, [0] * n, candidate.logprobs,
            self._record(group, place, candidate, reaction),
            earned=earned, turn=0 if taught else -1,
            teacher_ids=self._context(turn, line, reaction) if taught else (),
        )  # fmt: skip

    def _context(self, turn, line: str, reaction: Reaction | None) -> tuple[int, ...]:
        seen = reaction if self.settings.teacher_sees == "critique+reaction" else None
        told = self.line(turn.history[-1].content, line, seen)
        return feedback.teacher_context(self.chat, self.system, turn, told)

    def _record(self, group: Group, place, candidate, reaction) -> Dialogue:
        """One turn as a dialogue of its own, so that rows are alike."""
        turn, failure = group.turn, group.feedback.failure
        after = None if reaction is None else reaction.emotion
        before = None if after is None else after - reaction.change
        return Dialogue(
            turn.scenario_id, place, turn.seed, self.run_hash,
            (Turn(
                1, turn.history[-1].content, candidate.text, candidate.thought,
                emotion_before=before, emotion_after=after,
                completion_tokens=len(candidate.ids),
                outcome=failure.outcome.value if failure else "ok",
            ),),
            "error" if failure else "timeout", "failure" if failure else "limit", 1,
            closing=reaction and reaction.text, initial_emotion=before,
            failure=failure
            and Failure(failure.role, failure.outcome.value, failure.detail),
        )  # fmt: skip

    def _taught_dialogues(self, held, groups, told) -> list[HindsightRow]:
        """The dialogues as rows, with a teacher on the turn that was looked back at
        (the first, if there are several in a dialogue)."""
        notes = {}
        for group, lines in zip(groups, told, strict=True):
            line = next((line for line in lines if line), "")
            if line and group.feedback.valid:
                notes.setdefault(group.turn.row, (group, line))
        made = []
        for number, row in enumerate(held):
            fields = {name: getattr(row, name) for name in Row.__dataclass_fields__}
            if number in notes:
                group, line = notes[number]
                fields["turn"] = group.turn.turn
                fields["teacher_ids"] = self._context(group.turn, line, None)
            made.append(HindsightRow(**fields))
        return made

    # -- what it cost ------------------------------------------------------------------

    def _counts(self, held, groups: Sequence[Group], told) -> dict[str, float]:
        """Counts of `Report`; a call of the reward model counts each time it is put."""
        settings = self.settings
        changes = [
            reaction.change
            for group in groups
            for reaction in group.reactions or ()
            if reaction.change is not None
        ]
        ranked = [group.feedback.ranks for group in groups if group.feedback.valid]
        judged = self.judge is not None and settings.select == "judged"
        asked = sum(group.feedback.asks for group in groups)
        return {
            "heard": sum(len(row.dialogue.turns) for row in held),
            "reactions": sum(len(group.reactions or ()) for group in groups),
            "asked": asked,
            "judged": sum(bool(r.dialogue.turns) for r in held) if judged else 0,
            "turns": len({(g.turn.row, g.turn.turn) for g in groups}),
            "groups": len(groups),
            "pivotal": sum(
                {
                    (g.turn.row, g.turn.turn): selection.is_pivotal(g.turn, settings)
                    for g in groups
                }.values()
            ),
            "invalid": len(groups) - len(ranked),
            "ranked": len(ranked),
            "tied": sum(len(set(ranks)) == 1 for ranks in ranked),
            "told": sum(any(lines) for lines in told),
            "felt": len(changes),
            "change": sum(changes),
        }
