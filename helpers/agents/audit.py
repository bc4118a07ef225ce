"""The gaming audit: can a policy score well in the scripted world without listening?

Every policy meets the same users under both scores, each with its own paper's rules:
EMPA's distance (all turns are played) and SAGE's emotion (the dialogue may end early).
A sound world ranks oracle over honest heuristic over everything else, and pays the best
constant reply less than half of what the heuristic earns. If it does not, the rules of
`helpers.agents.act_rules` are at fault, not the audit.

The dialogues are played here without the sandbox: the position is the scripted user's
own, which is the scripted judge's too (tests/test_gaming.py compares with
`helpers.sandbox.episode.run_one`). Offline demo: the users are scripted.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from helpers.agents.acts import Reader
from helpers.agents.clauses import CLAUSES, TEMPLATES, read_clauses
from helpers.agents.emotion import EmotionRules
from helpers.agents.policies import (
    Cycle,
    Heuristic,
    Line,
    Oracle,
    Parrot,
    RandomClauses,
)
from helpers.agents.roles import Message, Policy
from helpers.agents.scripted import VANILLA, ScriptedUser, ScriptedUserSession, Temper
from helpers.data import slots
from helpers.data.scenarios import Scenario
from helpers.scoring.epm import zone_distance

# Rules of the emotion and number of replies: EMPA's distance over a fixed length,
# SAGE's benchmark.
PLAY = {
    "distance": (EmotionRules.unending(), 10),
    "emotion": (EmotionRules.sage(), 9),
}

BEAM = 6


@dataclass(frozen=True)
class Arena:
    """Whom the policies meet: kind of user, front end, dialogue seed."""

    temper: Temper = VANILLA
    reader: Reader = read_clauses
    seed: int = 0

    def user(self, score: str) -> ScriptedUser:
        return ScriptedUser(self.temper, PLAY[score][0], self.reader)

    def play(self, score: str, policy: Policy, card: Scenario) -> ScriptedUserSession:
        """One dialogue by the rules of a score; the user as it is at the end."""
        rules, replies = PLAY[score]
        session = self.user(score).start(card, self.seed)
        speaker = policy.start(card.id, self.seed)
        history = [Message("user", session.opening().text)]
        for left in range(replies - 1, -1, -1):
            history.append(Message("assistant", speaker.reply(history).text))
            session.feel(history)
            if rules.ending(session.emotion) or not left:
                break
            history.append(Message("user", session.say(history, None).text))
        return session

    def gain(self, score: str, policy: Policy, card: Scenario) -> float:
        """"distance": share of the initial zone distance that is gone at the end (1 =
        all of it, negative = further away). "emotion": final minus initial emotion."""
        end = self.play(score, policy, card)
        if score == "emotion":
            return float(end.emotion - PLAY[score][0].start)
        first, last = zone_distance(np.array([end.mind.secrets.p0, end.mind.P], float))
        return float(1 - last / first)

    def gains(self, score: str, policy: Policy, cards: Sequence[Scenario]):
        """(n,) gains, one a card."""
        return np.array([self.gain(score, policy, card) for card in cards])


def best_constant(arena: Arena, score: str, cards: Sequence[Scenario]) -> str:
    """The constant reply that earns most: all single clauses, then the best of them
    (`BEAM`) each extended by every clause without a slot, then once more."""

    def mean(text: str) -> float:
        return float(arena.gains(score, Line(text), cards).mean())

    free = [text for table in TEMPLATES.values() for text in table if "{" not in text]
    ranked = sorted(((mean(text), text) for text in CLAUSES), reverse=True)
    best = ranked[0]
    for _ in range(2):
        longer = {f"{t} {c}" for _, t in ranked[:BEAM] for c in free if c not in t}
        ranked = sorted(((mean(text), text) for text in longer), reverse=True)
        best = max(best, ranked[0])
    return best[1]


def gamers() -> dict[str, Policy]:
    """Policies that do not listen, by name."""
    everything = [*slots.EVENTS, *slots.EMOTIONS, *slots.VALUES, *slots.ACTIONS]
    feelings = " ".join(f"you must feel {e} ." for e in slots.EMOTIONS)
    with_slots = [text for text, act in CLAUSES.items() if act.slot and not act.topic]
    return {
        "silence": Line(""),
        "random words": RandomClauses("words"),
        "random clauses": RandomClauses(),
        "parrot": Parrot(),
        "flattery": Line("you are so amazing ."),
        "advice only": Cycle(
            "advice only",
            tuple(f"you could try to {action} ." for action in slots.ACTIONS),
        ),
        "question only": Cycle("question only", TEMPLATES["question"]),
        "slot words": Line(" ".join(everything)),
        "all feelings": Line(feelings),
        "every slot in a clause": Line(" ".join(with_slots)),
        "question and comfort": Cycle(
            "question and comfort",
            ("what happened then ?", "that makes sense .", "can you tell me more ?",
             "i am listening ."),
        ),
    }  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One policy under one score: mean gain over n cards, 95 % bootstrap interval."""

    score: str
    policy: str
    n: int
    mean: float
    low: float
    high: float


def interval(values: np.ndarray, draws: int = 2000) -> tuple[float, float]:
    """95 % percentile bootstrap interval of the mean over cards (seed 0)."""
    rng = np.random.default_rng(0)
    picks = rng.integers(0, len(values), (draws, len(values)))
    low, high = np.percentile(values[picks].mean(1), (2.5, 97.5))
    return float(low), float(high)


def audit(
    arena: Arena, cards: Sequence[Scenario], search_cards: Sequence[Scenario]
) -> list[Row]:
    """The table of the audit, best first within each score.

    Args:
        cards: on which every policy is measured. search_cards: other cards, on which
            the best constant is looked for.
    """
    rows = []
    for score in PLAY:
        constant = best_constant(arena, score, search_cards)
        policies = {
            "oracle": Oracle({card.id: card for card in cards}, arena.user(score)),
            "heuristic": Heuristic(grammar=arena.temper.grammar),
            f"best constant: {constant}": Line(constant),
            **gamers(),
        }
        table = []
        for name, policy in policies.items():
            gains = arena.gains(score, policy, cards)
            low, high = interval(gains)
            table.append(Row(score, name, len(gains), float(gains.mean()), low, high))
        rows += sorted(table, key=lambda row: -row.mean)
    return rows


def violations(rows: Sequence[Row]) -> list[str]:
    """Where the world can be gamed; an empty list is the claim of the audit."""
    found = []
    for score in PLAY:
        mean = {row.policy: row.mean for row in rows if row.score == score}
        if not mean["oracle"] > mean["heuristic"]:
            found.append(f"{score}: the oracle is not above the heuristic")
        for name, value in mean.items():
            if name in ("oracle", "heuristic"):
                continue
            if value >= mean["heuristic"]:
                found.append(f"{score}: {name} is not below the heuristic")
            if name.startswith("best constant") and value >= mean["heuristic"] / 2:
                found.append(f"{score}: {name} earns half of the heuristic's gain")
    return found
