"""How often a policy names right what the user has told: event, feeling, value, action.

The check of the supervised start, and of what training does to it. Only acts count that
name a slot which the history shows; a guess about what was not told is another matter.
"""

from collections.abc import Iterable

import pandas as pd

from helpers.agents.clauses import read_clauses
from helpers.agents.policies import Facts
from helpers.agents.roles import Message
from helpers.sandbox.dialogue import Dialogue

SLOT_OF = {"reflect": "event", "name": "emotion", "affirm": "value", "advise": "action"}


def reading(dialogues: Iterable[Dialogue], grammar: str = "first") -> pd.DataFrame:
    """Rows event, emotion, value, action: right (share of n, None without any), n."""
    counts = {slot: [0, 0] for slot in SLOT_OF.values()}
    for dialogue in dialogues:
        history = []
        for turn in dialogue.turns:
            history.append(Message("user", turn.user))
            facts = Facts.of(history, grammar)
            for act in read_clauses(turn.reply or "", turn.user).acts:
                slot = SLOT_OF.get(act.kind)
                known = slot and getattr(facts, slot)
                if known and act.slot:
                    counts[slot][0] += act.slot == known
                    counts[slot][1] += 1
            history.append(Message("assistant", turn.reply or ""))
    rows = [
        {"told": slot, "right": right / n if n else None, "n": n}
        for slot, (right, n) in counts.items()
    ]
    return pd.DataFrame(rows).set_index("told")
