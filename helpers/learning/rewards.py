"""What a dialogue earned, turn by turn: functions from a record to one number a turn.

None marks a turn that carries no signal because it was not judged. A dialogue that
ended in error is None throughout: a failure is never a score, and a part of a dialogue
is not comparable with whole ones. A dialogue that ended well without ever measuring
what the reward needs is a mistake in the run's settings and raises.

`REWARDS` holds all of them by name.

Papers: RLVER, arXiv 2507.03112; MAPO, arXiv 2603.06194 (fact sheet, sections 1.2, 2.4).
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from helpers.sandbox.dialogue import Dialogue, Triple
from helpers.scoring.geometry import zone_distance

Reward = Callable[[Dialogue], list[float | None]]


def terminal_emotion(dialogue: Dialogue) -> list[float | None]:
    """RLVER: nothing until the last turn, which gets the final emotion over 100.

    Returns:
        (T,), the last in [0, 1], all others 0.

    Paper: RLVER section 2.2; the released code cuts at 0 from below.
    """
    if dialogue.failure is not None:
        return _invalid(dialogue)
    _measured(dialogue, [turn.emotion_after for turn in dialogue.turns])
    return _at_the_end(dialogue, _over_100(dialogue.final_emotion))


def emotion_steps(dialogue: Dialogue) -> list[float | None]:
    """The change of emotion in each turn over 10, the largest change that SAGE allows.

    Returns:
        (T,), each in [-1, 1].
    """
    pairs = [(turn.emotion_before, turn.emotion_after) for turn in dialogue.turns]
    steps = [None if None in pair else (pair[1] - pair[0]) / 10 for pair in pairs]
    return _measured(dialogue, steps)


def distance(dialogue: Dialogue) -> list[float | None]:
    """MAPO's incremental distance reward: how much nearer to the zone in this turn.

    Returns:
        (T,) in rubric units, positive = progress.

    Paper: MAPO, r_t = phi(P_{t-1}) - phi(P_t), phi the distance to the zone >= -1.
    """
    return _measured(dialogue, [turn.reward for turn in dialogue.turns])


def final_distance(dialogue: Dialogue) -> list[float | None]:
    """The same progress, all of it on the last turn: phi(P_0) - phi(P_T).

    Returns:
        (T,) in rubric units; all None if one turn was not judged.

    Paper: outcome reward of MAPO's GRPO baseline (fact sheet, 2.9).
    """
    steps = distance(dialogue)
    if None in steps:
        return _invalid(dialogue)
    return _at_the_end(dialogue, math.fsum(steps))


def absolute_distance(dialogue: Dialogue) -> list[float | None]:
    """Minus the distance to the zone after the turn, whatever earlier turns did.

    Returns:
        (T,) in rubric units, at most 0.

    Paper: the contrast that MAPO rejects (fact sheet, 1.2; `distance_to_goal` there).
    """
    return _measured(
        dialogue,
        [
            None if turn.position is None else -_phi(turn.position)
            for turn in dialogue.turns
        ],
    )


def increments(dialogue: Dialogue) -> list[float | None]:
    """Sum of the three increments of the turn, also beyond the zone.

    Returns:
        (T,) in rubric units; None also after a turn that was not judged.

    Paper: fact sheet of MAPO, 2.4, `v_t_last_increment` of the released code.
    """
    points = [dialogue.initial_position, *(turn.position for turn in dialogue.turns)]
    sums = [None if p is None else math.fsum(p) for p in points]
    pairs = zip(sums[:-1], sums[1:], strict=True)
    steps = [None if None in pair else pair[1] - pair[0] for pair in pairs]
    return _measured(dialogue, steps)


def potential(
    dialogue: Dialogue, gamma: float = 0.99, alpha: float = 9.0
) -> list[float | None]:
    """Potential-based form: gamma Phi(P_t) - Phi(P_{t-1}), Phi = alpha / (alpha + |P|).

    The norm is taken to the origin, so that going beyond it is punished.

    Returns:
        (T,), without unit; None also after a turn that was not judged.

    Paper: fact sheet of MAPO, 2.4, with the released script's gamma and alpha.
    """
    points = [dialogue.initial_position, *(turn.position for turn in dialogue.turns)]
    level = [None if p is None else alpha / (alpha + math.hypot(*p)) for p in points]
    pairs = zip(level[:-1], level[1:], strict=True)
    steps = [None if None in pair else gamma * pair[1] - pair[0] for pair in pairs]
    return _measured(dialogue, steps)


REWARDS: dict[str, Reward] = {
    reward.__name__: reward
    for reward in (
        terminal_emotion,
        emotion_steps,
        distance,
        final_distance,
        absolute_distance,
        increments,
        potential,
    )
}


def _measured(dialogue: Dialogue, values: Sequence) -> list[float | None]:
    """The values, all None after an error; ValueError if nothing was ever measured."""
    if dialogue.failure is not None:
        return _invalid(dialogue)
    if values and all(value is None for value in values):
        raise ValueError(
            f"dialogue {dialogue.scenario_id} (seed {dialogue.seed}) ended in "
            f"{dialogue.ending} with nothing that this reward reads: an emotion needs "
            "a user that has one, a distance needs a judge; choose another reward or "
            "give the run that role"
        )
    return list(values)


def _invalid(dialogue: Dialogue) -> list[None]:
    return [None] * len(dialogue.turns)


def _at_the_end(dialogue: Dialogue, value: float | None) -> list[float | None]:
    """Zeros, then the value; no turns, no rewards."""
    return [0.0] * (len(dialogue.turns) - 1) + [value] * bool(dialogue.turns)


def _over_100(emotion: int | None) -> float | None:
    return None if emotion is None else max(emotion, 0) / 100


def _phi(position: Triple) -> float:
    return float(zone_distance(np.array(position)))
