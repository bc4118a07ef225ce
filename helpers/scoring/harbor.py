"""EmoHarbor-style, not EmoHarbor: a talk rated by the person who was supported.

EmoHarbor (known from its abstract only) splits the simulated user into three roles that
live through the talk and then rate it on ten dimensions of personalised support. The
names of its roles and dimensions are not known, and none are invented for it. The kit's
own stand-in has three roles too: *appraise* (what a reply does to the feeling: the
user's `feel`), *speak* (the next line: the user's `say`), *rate* (the form of ten
fields at the end: here). Fields and scale, 1 to 5, are the kit's own
(`agents.support_judge.HARBOR`).

By rule, an offline demo: each field is 1 + 4 * part, with a part in 0..1 as RULES says.
"Own" is what the card hides of this person. A model fills the form through
`SupportJudge.harbor`.

Papers: EmoHarbor 2601.01530 (abstract); RAPO 2603.15434 (fact sheet, 5 and 9.6).
"""

from collections.abc import Iterable, Mapping

import pandas as pd

from helpers.agents.acts import Reader
from helpers.agents.clauses import read_clauses
from helpers.agents.mind import Secrets
from helpers.agents.roles import RoleFailure
from helpers.agents.support_judge import HARBOR, SupportJudge
from helpers.data.scenarios import Scenario
from helpers.sandbox.dialogue import Dialogue
from helpers.scoring.capabilities import (
    OPEN_TO_ALL,
    SERVES,
    look_at,
    right,
    share_of,
)

RULES = {
    "heard": "of the events and topics said back, those that are own",
    "felt": "of the feelings named, those that are own",
    "valued": "of the values praised, those that are own",
    "hope": "replies that serve the hidden intention; two are enough",
    "pace": "of the advice, what comes at turn three or later (wanted early: at any "
    "turn, and none at all is 0; else none at all is 1)",
    "step": "of the advice, the own step",
    "room": "items told after the opening, of eight",
    "plain": "replies without lecture, flattery, dismissal, stock phrase or nonsense",
    "fresh": "replies without a clause that was said before",
    "lighter": "way of the emotion from its start towards 100",
}
EARLY = 3


def harbor(
    dialogue: Dialogue,
    card: Scenario,
    grammar: str = "first",
    reader: Reader = read_clauses,
) -> dict[str, float] | None:
    """The ten fields of one dialogue by rule, each in 1..5, and "overall", their mean.

    Returns: None for a dialogue that failed: that is no score.

    Raises: as `capabilities`.
    """
    if dialogue.failure is not None or not dialogue.turns:
        return None
    looks = look_at(dialogue, card, grammar, reader)
    secrets = Secrets.of(card, grammar)
    wanted = SERVES[secrets.intention]
    advice = [(look, act) for look in looks for act in look.fit + look.off
              if act.kind == "advise"]  # fmt: skip
    serving = sum(any(act.kind in wanted for act in look.fit) for look in looks)
    in_time = share_of(secrets.early or look.turn.number >= EARLY for look, _ in advice)
    said: set[str] = set()
    repeats = []
    for look in looks:
        repeats.append(bool(said & {*look.reading.parts}))
        said |= {*look.reading.parts}
    first, last = looks[0].turn.emotion_before, looks[-1].turn.emotion_after
    parts = {
        "heard": right(looks, "reflect"),
        "felt": right(looks, "name"),
        "valued": right(looks, "affirm"),
        "hope": min(1, serving / 2),
        "pace": in_time if advice else float(not secrets.early),
        "step": share_of(act in look.fit for look, act in advice),
        "room": min(1, sum(len(look.new) for look in looks[1:]) / OPEN_TO_ALL),
        "plain": 1 - share_of(look.hollow for look in looks),
        "fresh": 1 - share_of(repeats),
        "lighter": min(1, max(0, (last - first) / (100 - first))),
    }
    return _with_mean({name: 1 + 4 * parts[name] for name in HARBOR})


def harbor_table(
    dialogues: Iterable[Dialogue],
    cards: Mapping[str, Scenario],
    judge: SupportJudge | None = None,
    **how,
) -> pd.DataFrame:
    """One row a dialogue: case, the ten fields, overall, failed; NaN where failed.

    Args:
        cards: by id. judge: a model that fills the form, None for the rule. how:
            grammar and reader of the rule.
    """
    rows = []
    for dialogue in dialogues:
        card = cards[dialogue.scenario_id]
        if judge is None:
            fields = harbor(dialogue, card, **how)
        else:
            fields = _asked(judge, dialogue, card)
        rows.append({"case": card.id, **(fields or {}), "failed": fields is None})
    return pd.DataFrame(rows, columns=["case", *HARBOR, "overall", "failed"])


def _asked(judge: SupportJudge, dialogue: Dialogue, card: Scenario) -> dict | None:
    if dialogue.failure is not None or not dialogue.turns:
        return None
    try:
        return _with_mean(judge.harbor(dialogue, card))
    except RoleFailure:
        return None


def _with_mean(fields: Mapping[str, float]) -> dict[str, float]:
    return {**fields, "overall": sum(fields.values()) / len(fields)}
