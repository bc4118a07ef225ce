"""Which turns of finished dialogues RAPO trains on: hindsight dialogue selection.

A judge, or the emotion trace, says of each turn what its reply did to the person, from
-2 to 2. The turns of the largest impact are kept; the arms that ignore the impact take
as many, so that selection is all that differs.

Paper: RAPO, arXiv 2603.15434 (fact sheet, 3.1, 9.2): a reconstruction; the paper's
scale, threshold and share of kept turns are not known.
"""

import random
from collections.abc import Sequence

from helpers.agents.roles import Message
from helpers.learning.hindsight import STRONGEST, HindsightSettings, HindsightTurn
from helpers.learning.rows import Row
from helpers.sandbox.dialogue import Dialogue

FULL_STEP = 10  # the largest change of SAGE's emotion in a turn


def trace_impacts(dialogue: Dialogue) -> list[int | None]:
    """Signed impact of each turn, -2..2, from the emotion before and after it: the
    change over half of the largest step, rounded. None where a turn has no emotion."""
    impacts = []
    for turn in dialogue.turns:
        before, after = turn.emotion_before, turn.emotion_after
        if before is None or after is None:
            impacts.append(None)
            continue
        share = round(STRONGEST * (after - before) / FULL_STEP)
        impacts.append(max(-STRONGEST, min(STRONGEST, share)))
    return impacts


def turns_of(
    row: Row, number: int, impacts: Sequence[int | None], why: Sequence[str] = ()
) -> list[HindsightTurn]:
    """All answered turns of one dialogue; none of a dialogue that failed.

    Args:
        number: of the row in its step. impacts, why: (T,) of the dialogue's turns.
    """
    dialogue = row.dialogue
    if dialogue.failure is not None:
        return []
    made, lines = [], []
    for k, turn in enumerate(dialogue.turns):
        lines.append(Message("user", turn.user))
        made.append(
            HindsightTurn(
                dialogue.scenario_id, dialogue.seed, k, tuple(lines),
                tuple(context_of(row, k)), impacts[k], why[k] if why else "", number,
            )
        )  # fmt: skip
        lines.append(Message("assistant", turn.reply))
    return made


def context_of(row: Row, turn: int) -> list[int]:
    """The ids before the first token of a turn, as the policy saw them: the trunk."""
    first, start = list(row.turn_ids).index(turn), len(row.prompt_ids)
    trunk = [
        token
        for i, token in enumerate(row.completion_ids[:first])
        if row.segments is None or row.segments[start + i] == 0
    ]
    return [*row.prompt_ids, *trunk]


def select(
    turns: Sequence[HindsightTurn],
    count: int,
    settings: HindsightSettings,
    rng: random.Random,
) -> list[HindsightTurn]:
    """As many turns as asked for, whichever the arm. With fewer there than asked for,
    turns are taken again: another group of candidates of the same turn.

    Raises: ValueError without any turn.
    """
    open_turns = [t for t in turns if t.turn + 1 >= settings.first_turn]
    if not open_turns:
        raise ValueError("no turn to select from")
    pool = rng.sample(open_turns, len(open_turns))
    if settings.select == "all":
        order = list(dict.fromkeys(t.row for t in pool))
        pool = sorted(open_turns, key=lambda t: (order.index(t.row), t.turn))
    else:
        if settings.select == "judged":
            pool.sort(key=lambda t: _merit(t, settings), reverse=True)  # stable
        pool = _thinned(pool, settings.per_dialogue)
    chosen = pool[:count]
    while len(chosen) < count:
        chosen += pool[: count - len(chosen)]
    return chosen


def is_pivotal(turn: HindsightTurn, settings: HindsightSettings) -> bool:
    return _merit(turn, settings)[0]


def _merit(turn: HindsightTurn, settings: HindsightSettings) -> tuple[bool, int]:
    if turn.impact is None:  # not known is not 0: taken last
        return False, -1
    impact = turn.impact
    sign = {"both": True, "negative": impact < 0, "positive": impact > 0}
    wanted = sign[settings.polarity]
    return wanted and abs(impact) >= settings.threshold, abs(impact)


def _thinned(pool: list[HindsightTurn], most: int | None) -> list[HindsightTurn]:
    """In order, those beyond a dialogue's limit moved to the end."""
    seen: dict[int, int] = {}
    kept, rest = [], []
    for turn in pool:
        seen[turn.row] = seen.get(turn.row, 0) + 1
        within = most is None or seen[turn.row] <= most
        (kept if within else rest).append(turn)
    return kept + rest
