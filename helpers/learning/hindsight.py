"""RAPO's choices and records: which turns matter, what a group was told about itself.

RAPO (arXiv 2603.15434) is rebuilt here from its abstract and a secondary summary; the
paper's body was not at hand. Whatever they leave open is a field of `HindsightSettings`
(fact sheet of RAPO, section 11). The order of one step, in `helpers.learning.rapo`:

    dialogues -> pivotal turns -> candidates -> reactions -> feedback -> rows

A pivotal turn is one whose reply changed the user much, as seen from the end of the
dialogue. Failed feedback leaves its group without any signal; it never becomes a rank.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from helpers.agents.roles import Message, RoleFailure
from helpers.learning.rows import Row

SELECT = ("all", "random", "judged")
POLARITY = ("both", "negative", "positive")
FEEDBACK = ("group", "candidate")
TEACHER_SEES = ("critique", "critique+reaction")
RANK_MAPS = ("linear", "scores", "borda", "centered")
DIVERGENCES = ("student_teacher", "teacher_student", "jsd")
SUPPORTS = ("auto", "full", "topk")
TEACHERS = ("live", "ema", "frozen")
ROUTES = ("all", "losers", "winners")
DECAYS = ("none", "linear")
NOTES = ("own", "shuffled", "empty")
TRAINED = ("candidates", "dialogues")
STRONGEST = 2  # of an impact, either sign


@dataclass(frozen=True)
class HindsightSettings:
    """RAPO's open choices, one field each; the A-number is the fact sheet's.

    dialogues: held a step with the policy as it is (A1: whose dialogues, how often
        refreshed). 0 with trained = "dialogues", which holds the trainer's own.
    select: A1. "judged" the turns of the largest impact, "random" as many drawn evenly,
        "all" as many as come in whole dialogues, in no order of merit.
    judge_model: A1. Who tells the impact: "" the emotion trace, else that model.
    threshold: A1. Least |impact|, of 2, of a pivotal turn. Where fewer turns than are
        needed reach it the next ones are taken, so that all arms have equal counts.
    polarity: A1. Impacts of which sign come first.
    per_dialogue: A1. Most turns of one dialogue, None = no limit; not in "all".
    first_turn: A1. Earliest turn, from 1; 2 leaves out a greeting.
    reactions: A16. Whether the reward model sees what the user would answer (URM). The
        user that answers is the one that it trains with; one turn deep (A2).
    reward_model: A2. "" by rule, else that model. shows_profile: A2, to it.
    judgings: A2. Comparisons of a group whose ranks are averaged.
    retries: asks more after an answer that cannot be used, at most 2.
    feedback: A3. One critique for the group, or a note for each candidate.
    teacher_sees: A4. What the teacher's context holds beside the student's.
    rank_map: A5. "linear" (G - rank) / (G - 1), "scores" the reward model's own of each
        reply alone, "borda" points G - rank, "centered" linear in -1..1. Ties share.
    divergence: A6. KL(student || teacher), KL(teacher || student) or Jensen-Shannon.
    support, topk: A6. "auto" is full up to a small vocabulary, else the student's topk
        words and a bucket for the rest.
    teacher, ema_rate: A7. The policy as it is, its moving average, or the start.
    weight, decay: A8. lambda, and whether it falls linearly to 0 over the run.
    route: A9. Which candidates the teacher speaks to: ranked below ("losers") or above
        ("winners") the group's mean rank, or all. A10 is `TrainerSettings.beta`.
    is_clip: most weight of a token sampled by an older policy, None = no such weight;
        only with more than one minibatch, else every weight is 1.
    note: control. "own" critique, another group's ("shuffled"), or none ("empty").
    trained: "candidates" RAPO, or "dialogues": whole dialogues with the credit of the
        recipe, and the teacher on `turns` of their turns, each against a group of
        `candidates` other replies.
    """

    dialogues: int = 16
    select: str = "judged"
    judge_model: str = ""
    threshold: int = 1
    polarity: str = "both"
    per_dialogue: int | None = 4
    first_turn: int = 1
    reactions: bool = True
    reward_model: str = ""
    shows_profile: bool = False
    judgings: int = 1
    retries: int = 2
    feedback: str = "group"
    teacher_sees: str = "critique"
    rank_map: str = "linear"
    divergence: str = "student_teacher"
    support: str = "auto"
    topk: int = 100
    teacher: str = "live"
    ema_rate: float = 0.05
    weight: float = 0.01
    decay: str = "none"
    route: str = "all"
    is_clip: float | None = 2.0
    note: str = "own"
    trained: str = "candidates"
    turns: int = 0
    candidates: int = 0

    def __post_init__(self):
        for name, known in (
            ("select", SELECT), ("polarity", POLARITY), ("feedback", FEEDBACK),
            ("teacher_sees", TEACHER_SEES), ("rank_map", RANK_MAPS),
            ("divergence", DIVERGENCES), ("support", SUPPORTS), ("teacher", TEACHERS),
            ("decay", DECAYS), ("route", ROUTES), ("note", NOTES),
            ("trained", TRAINED),
        ):  # fmt: skip
            if getattr(self, name) not in known:
                raise ValueError(
                    f"{name} {getattr(self, name)!r}: choose of {', '.join(known)}"
                )
        whole = self.trained == "dialogues"
        for name, low, high in (
            ("retries", 0, 2), ("threshold", 0, STRONGEST), ("weight", 0, 1e3),
            ("ema_rate", 0, 1), ("first_turn", 1, 1e3), ("judgings", 1, 1e3),
            ("per_dialogue", 1, 1e6), ("topk", 1, 1e9),
            ("dialogues", *((0, 0) if whole else (1, 1e6))),
            ("turns", *((1, 1e6) if whole else (0, 0))),
            ("candidates", *((2, 1e6) if whole else (0, 0))),
        ):  # fmt: skip
            value = getattr(self, name)
            if value is not None and not low <= value <= high:
                raise ValueError(f"{name} = {value} is outside {low:g}..{high:g}")
        if self.teacher_sees == "critique+reaction" and not self.reactions:
            raise ValueError("teacher_sees the reaction: set reactions=True")
        if whole and (self.feedback, self.teacher_sees) != ("group", "critique"):
            raise ValueError(
                "a dialogue's own reply is none of the candidates: with "
                'trained="dialogues" leave feedback="group", teacher_sees="critique"'
            )

    def describe(self) -> dict:
        return asdict(self)

    def weight_at(self, generation: int, steps: int) -> float:
        """lambda in a step, counted from 0."""
        left = 1 - generation / steps if self.decay == "linear" else 1.0
        return self.weight * left


# What the fact sheet (section 11) could not settle, and where the kit decides it.
OPEN_CHOICES = {
    "A1": ("dialogues, select, judge_model, threshold, polarity, per_dialogue, "
           "first_turn", "which turns are trained on, by whose judgement"),
    "A2": ("TrainerSettings.group_size, Recipe.user_model, reward_model, "
           "shows_profile, judgings", "group size, simulator, what the judge sees"),
    "A3": ("feedback", "one critique a group or a note a candidate"),
    "A4": ("teacher_sees", "what stands in the teacher's context"),
    "A5": ("rank_map", "from ranks to rewards; ties share the mean rank"),
    "A6": ("divergence, support, topk", "order of the divergence and its support"),
    "A7": ("teacher, ema_rate", "live, moving average or frozen teacher"),
    "A8": ("weight, decay", "lambda and its schedule"),
    "A9": ("route", "which candidates get the verbal term"),
    "A10": ("TrainerSettings.beta", "KL to the start"),
    "A11": ("none: a printed number", "whether +12.4 % is relative"),
    "A12": ("none: a printed number", "split, partner and judge behind 8.41"),
    "A13": ("none: a reading", "what the suggestion score measures"),
    "A14": ("Recipe.policy", "whether a supervised start precedes"),
    "A15": ("none: not trained on SOTOPIA", "whether it was trained on its tasks"),
    "A16": ("reactions", "reactions fed to the judge, or a trained user model"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class HindsightTurn:
    """A turn to train on.

    scenario_id: the person's card. seed: of the dialogue, for the same user again.
    turn: from 0. history: visible lines, ending in the user's. context: the same as
    tokens, as the policy saw them. impact: -2..2, None if unknown. why: the judge's
    reason. row: which of the step's dialogues.
    """

    scenario_id: str
    seed: int
    turn: int
    history: tuple[Message, ...]
    context: tuple[int, ...]
    impact: int | None
    why: str = ""
    row: int = 0

    @property
    def pivot(self) -> float | None:
        """0..1."""
        return None if self.impact is None else abs(self.impact) / STRONGEST

    @property
    def direction(self) -> str:
        """ "+" or "-", "" for no impact."""
        return {True: "+", False: "-"}[self.impact > 0] if self.impact else ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One reply to a turn. ids, logprobs: (N,) as sampled."""

    text: str
    thought: str | None
    ids: tuple[int, ...]
    logprobs: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class GroupFeedback:
    """What a reward model said of a group of G candidates, in their own order.

    ranks: (G,) 1 is best, ties share their mean. scores: (G,) or None. critique: for
    all. notes: (G,) or None. failure: why there is none of it; then the rest is empty.
    asks: how often the reward model was asked.
    """

    ranks: tuple[float, ...] = ()
    scores: tuple[float, ...] | None = None
    critique: str = ""
    notes: tuple[str, ...] | None = None
    failure: RoleFailure | None = None
    asks: int = 0

    @property
    def valid(self) -> bool:
        return self.failure is None


@dataclass(frozen=True, slots=True)
class HindsightRow(Row):
    """A row with what hindsight adds to it.

    earned: a candidate's reward from its rank, None without a signal. turn: the turn
    whose tokens a teacher speaks about, -1 without one. teacher_ids: the teacher's
    context before them, () without one.
    """

    earned: float | None = None
    turn: int = -1
    teacher_ids: Sequence[int] = ()
