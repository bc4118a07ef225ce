"""SOTOPIA's seven dimensions: ratings that are whole or not there, and their mean.

A rating has all seven scores, whole numbers in their ranges, or it is a `Failure`: no
default, no empty list (the released evaluator prints an error and returns one). The
overall score is the plain mean of the seven raw scores, from -30/7 to 40/7, as in the
released code. Both seats of an episode are rated.

Two scorers by rule, an offline demo and the kit's own, not SOTOPIA's judge:
`rate_social` for the talks of `helpers.agents.social`, where what was agreed can be
read, and `rate_support` for the supporter of an emotional-support dialogue. Their rules
stand in SOCIAL_RULES and SUPPORT_RULES. A model rates by `agents.support_judge`.

Paper: SOTOPIA 2310.11667; package 0.1.5 (fact sheet of RAPO, 7.1).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from helpers.agents.acts import Reader
from helpers.agents.clauses import read_clauses
from helpers.agents.levels import level_field
from helpers.agents.roles import RoleFailure
from helpers.agents.social import lines, moves, pot
from helpers.agents.support_judge import SOTOPIA, SupportJudge, messages
from helpers.data.scenarios import Scenario
from helpers.data.social import SocialScenario
from helpers.sandbox.dialogue import Dialogue, Failure
from helpers.sandbox.social import SocialEpisode
from helpers.scoring.capabilities import OPEN_TO_ALL, look_at, share_of
from helpers.scoring.geometry import zone_distance

SHORT = {name: short for name, (short, _, _) in SOTOPIA.items()}
# What the rules pay, in words; `rate_social` and `rate_support` compute exactly this.
SOCIAL_RULES = {
    "BEL": "10, less 2 for each sentence said before, less 3 for each that is no move, "
    "accepts nothing or offers more than there is; 0 for who says nothing",
    "REL": "2 for a deal, 1 for each thanks (2 at most), -3 for each threat of either",
    "KNO": "10 for the other's least amount when it was asked for, 5 unasked",
    "SEC": "-10 for telling the own least amount where it is a secret",
    "SOC": "-3 for each own threat",
    "FIN": "5 times the way of the share from least (0) to wish (1); 0 without deal",
    "GOAL": "10 times the same way, from 0 to 1; 0 without deal",
}
SUPPORT_RULES = {
    "BEL": "10 times the share of replies that make sense and repeat no earlier one",
    "REL": "change of the person's emotion over the dialogue, a point for ten",
    "KNO": "10 times what the person told after the opening, of eight items",
    "SEC": "0: the supporter has no secret here",
    "SOC": "-2 for each reply that lectures or dismisses",
    "FIN": "0: nothing of material worth changes hands here",
    "GOAL": "the way to the zone that is behind at the end, a point for ten percent",
}


@dataclass(frozen=True)
class Rating:
    """Seven scores by field of SOTOPIA.

    Raises: ValueError when one is missing, unknown, not whole or out of range.
    """

    scores: Mapping[str, int]

    def __post_init__(self):
        if odd := set(self.scores) ^ set(SOTOPIA):
            raise ValueError(f"{min(odd)!r} is missing or unknown: all seven are rated")
        for name, (_, low, high) in SOTOPIA.items():
            level_field(self.scores, name, low, high)

    @property
    def overall(self) -> float:
        """Plain mean of the seven raw scores."""
        return sum(self.scores.values()) / len(SOTOPIA)

    def short(self) -> dict[str, float]:
        """The scores by short name, and "overall"."""
        named = {SHORT[name]: self.scores[name] for name in SOTOPIA}
        return named | {"overall": self.overall}


def rate_social(
    episode: SocialEpisode, scenario: SocialScenario, judge: SupportJudge | None = None
) -> tuple[Rating | Failure, Rating | Failure]:
    """Both seats of a talk, by rule or by a model.

    Returns:
        One entry a seat; both are the failure of a talk that broke off.

    Raises: ValueError for another scenario.
    """
    if episode.environment != scenario.codename:
        raise ValueError(f"talk of {episode.environment} with {scenario.codename}")
    if episode.failure is not None:
        return episode.failure, episode.failure
    if judge is None:
        return _by_rule(episode, scenario, 0), _by_rule(episode, scenario, 1)
    talk = lines(scenario, episode.said)
    asked = [
        _asked(judge, scenario.scene, name, goal, talk)
        for name, goal in zip(scenario.names, scenario.goals, strict=True)
    ]
    return asked[0], asked[1]


def rate_support(
    dialogue: Dialogue, card: Scenario, grammar: str = "first",
    reader: Reader = read_clauses, judge: SupportJudge | None = None,
) -> Rating | Failure:  # fmt: skip
    """The supporter of a dialogue, by rule or by a model.

    The person is played by a rule or a model and is not under test, so that only this
    seat is rated. By rule a dialogue needs a judged position and an emotion.

    Args:
        grammar, reader: see `capabilities`.

    Raises: ValueError for another card, or a dialogue without reply, position or
        emotion.
    """
    if dialogue.failure is not None:
        return dialogue.failure
    if judge is not None:
        scene = "A person in need and a supporter talk in writing."
        goal = "Support the person so that the person feels understood and lighter."
        talk = [("Person" if i % 2 == 0 else "Supporter", text)
                for i, text in enumerate(_texts(dialogue))]  # fmt: skip
        return _asked(judge, scene, "Supporter", goal, talk)
    looks = look_at(dialogue, card, grammar, reader)
    covered = _covered(dialogue)
    if covered is None or not looks:
        raise ValueError(f"dialogue {card.id}: needs replies, and a judge of them")
    replies = [turn.reply for turn in dialogue.turns]
    sense = share_of(
        not look.reading.noise and reply not in replies[:i]
        for i, (look, reply) in enumerate(zip(looks, replies, strict=True))
    )
    rise = dialogue.final_emotion - looks[0].turn.emotion_before
    rude = sum(bool({"lecture", "dismiss"} & {*look.reading.kinds()}) for look in looks)
    return _made(
        BEL=10 * sense, REL=rise / 10, SEC=0, SOC=-2 * rude, FIN=0, GOAL=10 * covered,
        KNO=10 * sum(len(look.new) for look in looks[1:]) / OPEN_TO_ALL,
    )  # fmt: skip


def rating_table(rated: Iterable[tuple[Mapping, Rating | Failure]]) -> pd.DataFrame:
    """One row a rating: what names it, the seven scores by short name, overall, failed.

    Args:
        rated: (columns that name the row, rating). A failure has NaN, never a score.
    """
    rows = []
    for keys, rating in rated:
        failed = isinstance(rating, Failure)
        scores = {} if failed else rating.short()
        rows.append({**keys, **scores, "failed": failed})
    frame = pd.DataFrame(rows)
    for name in (*SHORT.values(), "overall"):
        frame[name] = frame.get(name, pd.Series(dtype=float)).astype(float)
    return frame


def _by_rule(episode: SocialEpisode, scenario: SocialScenario, seat: int) -> Rating:
    done = moves(episode.said)
    own = [move for who, move, _ in done if who == seat]
    other = [move for who, move, _ in done if who != seat]
    share = _agreed(episode, scenario, seat)
    least, wish = scenario.least[seat], scenario.wish[seat]
    way = 0.0 if share is None else (share - least) / (wish - least)
    threats, thanks = own.count("threaten"), (own + other).count("thank")
    told = 10 if "ask" in own else 5
    return _made(
        BEL=_believable(episode, scenario, seat),
        REL=2 * (share is not None) + min(2, thanks)
        - 3 * (threats + other.count("threaten")),
        KNO=told if "tell" in other else 0,
        SEC=-10 if scenario.secret[seat] and "tell" in own else 0,
        SOC=-3 * threats, FIN=5 * way, GOAL=10 * way,
    )  # fmt: skip


def agreed(episode: SocialEpisode, scenario: SocialScenario) -> tuple | None:
    """(share of the first, of the second) of the deal; None without one."""
    shares = [_agreed(episode, scenario, seat) for seat in (0, 1)]
    return None if None in shares else tuple(shares)


def _agreed(episode, scenario, seat) -> int | None:
    offer, said = None, episode.said
    for i, (who, move, n) in _placed(said):
        if move == "offer":
            offer = who, n
        elif move == "accept" and offer is not None and offer[0] != who:
            total = pot(scenario, said[:i])
            kept = min(offer[1], total)
            return kept if offer[0] == seat else total - kept
    return None


def _placed(said) -> list[tuple[int, tuple]]:
    """(index in the talk, move) of every move."""
    found = []
    for i, pair in enumerate(said):
        found += [(i, move) for move in moves([pair])]
    return found


def _believable(episode, scenario, seat) -> int:
    own = [a.argument for who, a in episode.said if who == seat and a.argument]
    if not own:
        return 0
    odd, offer = 0, None
    for i, (who, action) in enumerate(episode.said):
        move = next(iter(moves([(who, action)])), None)
        if who == seat and action.argument:
            odd += move is None
            if move is not None and move[1] == "accept":
                odd += offer is None or offer == seat
            if move is not None and move[1] == "offer":
                odd += move[2] > pot(scenario, episode.said[:i])
        if move is not None and move[1] == "offer":
            offer = who
    return 10 - 2 * (len(own) - len(set(own))) - 3 * odd


def _made(**scores: float) -> Rating:
    """A rating from raw numbers by short name: rounded half up, kept in range."""
    whole = {}
    for name, (short, low, high) in SOTOPIA.items():
        whole[name] = int(min(high, max(low, (scores[short] + 0.5) // 1)))
    return Rating(whole)


def _covered(dialogue: Dialogue) -> float | None:
    """Share of the starting distance to the zone that is behind at the end."""
    start, end = dialogue.initial_position, dialogue.final_position
    if start is None or end is None:
        return None
    before, after = zone_distance(np.array([start, end]))
    return (before - after) / before if before > 0 else 1.0


def _texts(dialogue: Dialogue) -> Sequence[str]:
    return [message.content for message in messages(dialogue)]


def _asked(judge: SupportJudge, scene, name, goal, talk) -> Rating | Failure:
    try:
        read = judge.sotopia(scene, name, goal, talk)
    except RoleFailure as problem:
        return Failure(problem.role, problem.outcome.value, problem.detail)
    return Rating({field: entry["level"] for field, entry in read.items()})
