"""What a policy does over and over: repetition, sameness, length, key words.

A policy that games its score talks alike to everybody. These measures read the text
alone; none of them is a score, and none was used in training.

The kit's own; offline the acts are read by the closed grammar (an offline demo).
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from helpers.agents.acts import Reader, Reading
from helpers.agents.clauses import read_clauses
from helpers.data import slots
from helpers.data.scenarios import Scenario
from helpers.sandbox.dialogue import Dialogue
from helpers.scoring.capabilities import HOLLOW

KEYWORDS = frozenset(
    word
    for table in (slots.EMOTIONS, slots.EVENTS, slots.VALUES, slots.ACTIONS)
    for key in table
    for word in key.split()
)
MEASURES = {
    "words": "words of a reply, mean",
    "same to all": "likeness (shared words over all words) of replies to two people at "
    "the same turn, mean; 1 is one script for everybody",
    "clause again": "% of replies after the first with a clause of the reply before",
    "reply again": "% of replies that were said before in the dialogue, word for word",
    "ping-pong": "% of replies from the third on with the acts of the reply two "
    "before, and not those of the one before",
    "key words": "% of words that are a feeling, event, value or action of the grammar",
    "right slots": "% of acts with such a word whose word is this person's own",
    "hollow": "% of replies that lecture, flatter, dismiss, soothe or make no sense",
    "most said": "the reply said most often",
    "its share": "% of all replies that are just this one",
}


@dataclass(frozen=True)
class _Talk:
    case: str
    replies: tuple[str, ...]
    readings: tuple[Reading, ...]


def habits(
    dialogues: Iterable[Dialogue],
    cards: Mapping[str, Scenario],
    reader: Reader = read_clauses,
) -> dict[str, float | str]:
    """The MEASURES of one policy over its dialogues; failed ones are left out.

    Args:
        cards: by id.

    Returns:
        By name; NaN where there is nothing to count.

    Raises:
        ValueError: no dialogue is left.
    """
    talks = []
    for dialogue in dialogues:
        if dialogue.failure is None:
            said = [(t.reply, t.user) for t in dialogue.turns]
            readings = tuple(reader(*pair) for pair in said)
            replies = tuple(reply for reply, _ in said)
            talks.append(_Talk(dialogue.scenario_id, replies, readings))
    if not talks:
        raise ValueError("no dialogue without a failure: nothing to look at")
    words = [w for t in talks for reply in t.replies for w in reply.split()]
    said = Counter(reply for t in talks for reply in t.replies)
    most, times = said.most_common(1)[0]
    return {
        "words": len(words) / said.total(),
        "same to all": _sameness(talks),
        "clause again": _percent(
            bool(set(a.parts) & set(b.parts))
            for t in talks
            for a, b in zip(t.readings, t.readings[1:], strict=False)
        ),
        "reply again": _percent(
            reply in t.replies[:i] for t in talks for i, reply in enumerate(t.replies)
        ),
        "ping-pong": _percent(
            a.kinds() == c.kinds() != b.kinds()
            for t in talks
            for a, b, c in zip(t.readings, t.readings[1:], t.readings[2:], strict=False)
        ),
        "key words": _percent(word in KEYWORDS for word in words),
        "right slots": _percent(
            act.slot == _own(act.kind, cards[t.case])
            for t in talks
            for reading in t.readings
            for act in reading.acts
            if act.slot
        ),
        "hollow": _percent(
            reading.noise or bool(HOLLOW & set(reading.kinds()))
            for t in talks
            for reading in t.readings
        ),
        "most said": most,
        "its share": 100 * times / said.total(),
    }


def pattern(
    dialogues: Iterable[Dialogue], reader: Reader = read_clauses
) -> dict[str, object]:
    """The kind of reply that a policy makes most often, and what it is paid for it.

    Returns:
        acts (kinds in order, "no sense" for noise), share (% of the replies), paid
        (mean reward of these turns), others (mean reward of all other turns), user,
        reply (its first occurrence), case. paid and others are NaN without a judge.
    """
    seen: dict[str, list] = {}
    for dialogue in dialogues:
        if dialogue.failure is None:
            for turn in dialogue.turns:
                reading = reader(turn.reply, turn.user)
                acts = " + ".join(reading.kinds()) or "no sense"
                seen.setdefault(acts, []).append((turn, dialogue.scenario_id))
    acts = max(seen, key=lambda name: len(seen[name]))
    own = seen.pop(acts)
    rest = [pair for pairs in seen.values() for pair in pairs]
    first, case = own[0]
    return {
        "acts": acts,
        "share": 100 * len(own) / (len(own) + len(rest)),
        "paid": _reward(own),
        "others": _reward(rest),
        "user": first.user,
        "reply": first.reply,
        "case": case,
    }


def _reward(pairs) -> float:
    paid = [turn.reward for turn, _ in pairs if turn.reward is not None]
    return float(np.mean(paid)) if paid else np.nan


def _own(kind: str, card: Scenario) -> str | None:
    hidden = card.hidden
    return {"reflect": hidden.event, "name": hidden.emotion, "affirm": hidden.value,
            "advise": hidden.action}.get(kind)  # fmt: skip


def _percent(flags: Iterable[bool]) -> float:
    flags = list(flags)
    return 100 * sum(flags) / len(flags) if flags else np.nan


def _sameness(talks: list[_Talk]) -> float:
    """Each talk is set beside the next one with another person."""
    found = []
    for i, one in enumerate(talks):
        others = [*talks[i + 1 :], *talks[:i]]
        other = next((t for t in others if t.case != one.case), None)
        if other is None:
            continue
        for a, b in zip(one.replies, other.replies, strict=False):
            left, right = set(a.split()), set(b.split())
            if left | right:
                found.append(len(left & right) / len(left | right))
    return float(np.mean(found)) if found else np.nan
