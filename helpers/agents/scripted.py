"""The offline roles by rule: user, judge, director. No model, no network.

One user carries both papers' states: EMPA's deficit vector and SAGE's emotion. All is a
deterministic function of (card, seed, replies). Results made with these roles are an
offline demo: they show how the methods behave, not how people do.

Papers: EMPA 2603.00552 (needs, levels, director's tools), SAGE 2505.02847 and RLVER
2507.03112 (emotion scale, vanilla and challenging users).
"""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path

from helpers.agents import act_rules, appraisal, clauses, emotion, lines, mind
from helpers.agents.acts import Reader
from helpers.agents.appraisal import appraise
from helpers.agents.clauses import read_clauses
from helpers.agents.emotion import EmotionRules
from helpers.agents.lines import GRAMMARS, line, opening
from helpers.agents.mind import AXES, Appraisal, Mind, NotScripted, Secrets
from helpers.agents.roles import (
    Feeling,
    Guidance,
    History,
    Judgement,
    StatePacket,
    Utterance,
    stream,
)
from helpers.data import slots
from helpers.data.emotion_states import state
from helpers.data.scenarios import Scenario


@cache
def rules_source() -> str:
    """Hash over the modules of the rules: no run resumes across an edit of them."""
    modules = (act_rules, appraisal, clauses, emotion, lines, mind, slots)
    files = [Path(module.__file__) for module in modules] + [Path(__file__)]
    return hashlib.sha256(b"".join(f.read_bytes() for f in files)).hexdigest()[:16]


@dataclass(frozen=True)
class Temper:
    """How a kind of user turns an appraisal into an emotion step of -10, -5, +5 or +10.

    score = weights . v_t + hit (the reply served the hidden intention) or - miss (it
    did not) - idle (no progress on any axis) + warmth (generic kindness) + shift[state]
    (the benevolence of states A and S not for idle replies) + the dialogue's own mood
    (uniform in +-0.75). Steps: +10 from delight_at, +5 from accept_at, -10 below
    hurt_at, else -5. These steps fill the released SAGE dialogues (fact sheet of RLVER,
    A10). accept_at is fitted on the train and tune cards: a fixed mixed set of replies
    is accepted about as often as RLVER's Table 3 says (`helpers.agents.calibration`).
    delight_at, hurt_at and the shift of state A were set by hand with an eye on A10 and
    then left: what still differs is shown by `calibration.step_table`. No step is
    larger than 10, so the unclipped scale of RLVER's training changes nothing here.

    weights: on C, A, P, by family of the intention. frankness: share of lines that show
    the reaction that was felt (Table 3, expression level). reserved: never reveals the
    intention (RLVER appendix D).
    """

    name: str
    grammar: str
    weights: Mapping[str, tuple[float, float, float]]
    hit: float
    miss: float
    idle: float
    warmth: float
    shift: Mapping[str, float]
    delight_at: float
    accept_at: float
    hurt_at: float
    frankness: float
    reserved: bool


_WEIGHTS = {"emotional": (0.8, 1.2, 1.0), "rational": (1.2, 0.8, 1.0)}
_SHIFT = {"S": 2.0, "A": 2.0, "B": 0.0, "C": -1.0, "F": -1.0}

VANILLA = Temper(
    name="vanilla", grammar="first", weights=_WEIGHTS, hit=1.5, miss=0.0, idle=3.0,
    warmth=1.0, shift=_SHIFT, delight_at=8.0, accept_at=-1.4, hurt_at=-9.5,
    frankness=0.786, reserved=False,
)  # fmt: skip
CHALLENGING = replace(
    VANILLA, name="challenging", miss=1.0, warmth=0.0, accept_at=-0.2, frankness=0.636,
    reserved=True,
)  # fmt: skip
# The user held out from training: other words, clues and weights.
SECOND = replace(
    VANILLA, name="second", grammar="second", hit=2.5, warmth=0.5,
    weights={"emotional": (0.6, 1.0, 1.4), "rational": (1.0, 0.6, 1.4)},
)  # fmt: skip


def change(temper: Temper, family: str, emotion: int, mood: float,
           appraisal: Appraisal) -> int:  # fmt: skip
    """The emotion step of a reply, before clipping."""
    score = sum(
        w * x for w, x in zip(temper.weights[family], appraisal.increment, strict=True)
    )
    score += temper.hit if appraisal.serves else -temper.miss
    shift = temper.shift[state(emotion)]
    if not any(appraisal.levels[f"{axis}.Prog"] for axis in AXES):
        score, shift = score - temper.idle, min(shift, 0.0)
    score += temper.warmth * appraisal.warm + shift + mood
    if score >= temper.delight_at:
        return 10
    if score >= temper.accept_at:
        return 5
    return -10 if score < temper.hurt_at else -5


@dataclass(frozen=True)
class ScriptedUser:
    """A user by rule.

    temper: VANILLA, CHALLENGING or SECOND. rules: the emotion scale. reader: the front
    end that reads the replies.
    """

    temper: Temper = VANILLA
    rules: EmotionRules = field(default_factory=EmotionRules.sage)
    reader: Reader = read_clauses

    def describe(self) -> dict:
        return {
            "role": "scripted user",
            "rules_source": rules_source(),
            "temper": asdict(self.temper),
            "rules": self.rules.describe(),
            "reader": self.reader.__name__,
        }

    def start(self, scenario: Scenario, seed: int) -> "ScriptedUserSession":
        """Raises: NotScripted when the card lacks what the rules need."""
        return ScriptedUserSession(self, scenario, seed)


class ScriptedUserSession:
    """One dialogue of a scripted user. `mind` is the hidden state, open to audits."""

    def __init__(self, user: ScriptedUser, card: Scenario, seed: int):
        self._user, self._random = user, stream(seed, f"user/{card.id}")
        self._family = card.family
        secrets = Secrets.of(card, user.temper.grammar)
        self.mind = Mind.new(secrets, user.temper.reserved)
        self.emotion = user.rules.start
        self._mood = self._random.uniform(-0.75, 0.75)
        self._reaction = "cool"

    def opening(self) -> Utterance:
        text, items = opening(GRAMMARS[self._user.temper.grammar], self.mind.secrets)
        self.mind.tell(items)
        return Utterance(text)

    def weigh(self, reply: str, user_line: str) -> tuple[Appraisal, int]:
        """What a reply would do, (appraisal, emotion step), without taking it in."""
        appraisal = appraise(self.mind, self._user.reader(reply, user_line))
        return appraisal, self._step(appraisal)

    def _step(self, appraisal: Appraisal) -> int:
        return change(
            self._user.temper, self._family, self.emotion, self._mood, appraisal
        )

    def feel(self, history: History) -> Feeling:
        reading = self._user.reader(history[-1].content, history[-2].content)
        appraisal = appraise(self.mind, reading)
        step = self._step(appraisal)
        self._reaction = _reaction(step, appraisal, reading.noise)
        self.mind.absorb(reading, appraisal)
        self.emotion, step = self._user.rules.apply(self.emotion, step)
        thought = {
            "Content": ", ".join(reading.kinds()) or "nothing",
            "TargetCompletion": "served" if appraisal.serves else "not served",
            "Analyse": "; ".join(appraisal.evidence.values()),
        }
        return Feeling(self.emotion, step, thought)

    def say(self, history: History, guidance: Guidance | None) -> Utterance:
        grammar = GRAMMARS[self._user.temper.grammar]
        rules = self._user.rules
        if self.emotion < rules.stop_below:
            return Utterance(grammar.leave["collapse"], goodbye=True)
        if rules.leave_at is not None and self.emotion >= rules.leave_at:
            return Utterance(grammar.leave["success"], goodbye=True)
        items = self.mind.next_items(guidance is not None and guidance.text is not None)
        shown = self._random.random() < self._user.temper.frankness
        text = line(grammar, self.mind, self._reaction if shown else None, items)
        self.mind.tell(items)
        return Utterance(text)


def _reaction(step: int, appraisal: Appraisal, noise: bool) -> str:
    """The key of the words in which the user reacts."""
    if noise:
        return "noise"
    if step > 0:
        return "delight" if step >= 10 else "accept"
    reasons = appraisal.evidence.values()
    if "advises before feeling" in reasons:
        return "advice"
    if "keeps back the step that was asked for" in reasons:
        return "wait"
    if appraisal.wrong:
        return "wrong"
    if "passes by the core" in reasons:
        return "unheard"
    return "hurt" if step <= -10 else "cool"


@dataclass(frozen=True)
class ScriptedJudge:
    """EMPA's judge by rule: the levels that the appraisal gives.

    It keeps its own `Mind`, learns from the user's words what has been told, and keeps
    its own count of the position, which the rules need. reserved: as the user's temper.
    """

    grammar: str = "first"
    reserved: bool = False
    reader: Reader = read_clauses

    def describe(self) -> dict:
        return {
            "role": "scripted judge",
            "rules_source": rules_source(),
            "grammar": self.grammar,
            "reserved": self.reserved,
            "reader": self.reader.__name__,
        }

    def start(self, scenario: Scenario, seed: int) -> "ScriptedJudgeSession":
        return ScriptedJudgeSession(self, scenario)


class ScriptedJudgeSession:
    def __init__(self, judge: ScriptedJudge, card: Scenario):
        self._reader, self._levels = judge.reader, card.levels
        if self._levels is None:
            raise NotScripted(f"card {card.id}: needs are missing or incomplete")
        self.mind = Mind.new(Secrets.of(card, judge.grammar), judge.reserved)

    def initial_levels(self) -> dict[str, int]:
        return dict(self._levels)

    def rate(self, history: History) -> Judgement:
        user_line, reply = history[-2].content, history[-1].content
        self.mind.hear(user_line)
        reading = self._reader(reply, user_line)
        appraisal = appraise(self.mind, reading)
        self.mind.absorb(reading, appraisal)
        return Judgement(appraisal.levels, appraisal.evidence, reading.kinds())


class ScriptedDirector:
    """EMPA's director by rule, with four of its seven tools.

    Two turns without progress: reveal a memory, which draws one more item out of the
    user. A deep axis far behind the others: shift the focus there. All axes at least
    -1: a turning point. Else continue. It never ends a dialogue: the released director
    never did either (fact sheet of EMPA, 1.3).
    """

    def describe(self) -> dict:
        return {"role": "scripted director", "version": 1}

    def start(self, scenario: Scenario, seed: int) -> "ScriptedDirectorSession":
        return ScriptedDirectorSession()


_ASPECT = {0: "cognitive", 1: "affective", 2: "motivational"}


class ScriptedDirectorSession:
    def __init__(self):
        self._still = 0

    def guide(self, history: History, state: StatePacket) -> Guidance:
        self._still = 0 if sum(state.increment) > 0 else self._still + 1
        if min(state.position) >= -1:
            arguments = {"stage_index": -1, "empathy_aspect": "", "reason": "in zone"}
            return Guidance("introduce_turning_point", arguments)
        if self._still >= 2:
            self._still = 0
            return Guidance(
                "reveal_memory",
                {"memory_period": "current", "reason": "no progress for two turns"},
                "tell one thing more about it",
            )
        worst = min(range(3), key=lambda i: state.position[i])
        if state.position[worst] < 1.5 * sum(state.position) / 3:
            aspect = _ASPECT[worst]
            arguments = {"focus_aspect": aspect, "reason": "furthest from met"}
            return Guidance("adjust_empathy_strategy", arguments)
        return Guidance(
            "continue_without_new_info",
            {"focus_suggestion": "go on", "reason": "moving"},
        )
