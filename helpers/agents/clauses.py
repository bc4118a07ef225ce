"""The closed grammar of the tiny policy: clause templates, renderer, exact parser.

A reply is one or more clauses, each closed by " ." or " ?". A clause that is not
exactly a template with known slot words counts as noise; so a list of slot words is
noise, and keyword stuffing earns nothing. Paraphrase is therefore impossible in this
grammar: what is learned in it is what to say when, not how to put it (free English:
`helpers.agents.free_text`).
"""

from helpers.agents.acts import Act, Reading
from helpers.data import slots

# kind -> templates; {event}, {topic}, {emotion}, {value}, {action} are slots.
TEMPLATES: dict[str, tuple[str, ...]] = {
    "reflect": ("you {event} .", "you {event} at the {topic} .",
                "the {topic} is a lot ."),
    "question": ("what happened then ?", "what was the hardest part ?",
                 "can you tell me more ?"),
    "name": ("you must feel {emotion} .", "that sounds so {emotion} ."),
    "validate": ("that makes sense .", "anyone would feel that ."),
    "presence": ("i am here with you .", "i am listening ."),
    "disclose": ("i felt that once too .",),
    "affirm": ("you showed real {value} .", "i admire your {value} ."),
    "flatter": ("you are so amazing .",),
    "no_fault": ("it was not your fault .",),
    "sides": ("there are two sides here .",),
    "motives": ("maybe they were scared too .",),
    "self_look": ("which part was yours ?",),
    "advise": ("you could try to {action} .", "maybe {action} a little .",
               "you could do something ."),
    "lecture": ("you should be stronger .", "you must not complain ."),
    "platitude": ("it will all be fine .", "time heals ."),
    "dismiss": ("it is not a big thing .", "others have it worse ."),
}  # fmt: skip
MAX_CLAUSES = 4


def _fill() -> dict[str, Act]:
    table = {}
    for kind, templates in TEMPLATES.items():
        for template in templates:
            for act, words in _choices(kind, template):
                table[template.format(**words)] = act
    return table


def _choices(kind: str, template: str):
    if "{event}" in template and "{topic}" in template:
        for event, phrase in slots.EVENTS.items():
            for topic, word in slots.TOPICS.items():
                yield Act(kind, event, topic), {"event": phrase, "topic": word}
    elif "{event}" in template:
        for event, phrase in slots.EVENTS.items():
            yield Act(kind, event), {"event": phrase}
    elif "{topic}" in template:
        for topic, word in slots.TOPICS.items():
            yield Act(kind, None, topic), {"topic": word}
    elif "{" in template:
        name = template[template.index("{") + 1 : template.index("}")]
        for key in getattr(slots, name.upper() + "S"):
            yield Act(kind, key), {name: key}
    else:
        yield Act(kind), {}


CLAUSES: dict[str, Act] = _fill()  # clause text -> act
_SAID: dict[Act, tuple[str, ...]] = {}
for _text, _act in CLAUSES.items():
    _SAID[_act] = (*_SAID.get(_act, ()), _text)


def ways_to_say(act: Act) -> tuple[str, ...]:
    """All clauses of an act.

    Raises:
        KeyError: the grammar cannot say it (for instance a value that is not a slot).
    """
    return _SAID[act]


def split_clauses(reply: str) -> list[str]:
    """Cut after each "." or "?"; a rest without an end mark is a part of its own."""
    parts, current = [], []
    for word in reply.split():
        current.append(word)
        if word in (".", "?"):
            parts.append(" ".join(current))
            current = []
    if current:
        parts.append(" ".join(current))
    return parts


def read_clauses(reply: str, user_line: str) -> Reading:
    """Exact reading of a reply in the closed grammar.

    Args:
        reply: words separated by spaces, each clause with its end mark.
        user_line: not needed here; a repeated user line is no clause and so noise.

    Returns:
        Reading; an empty reply is noise.
    """
    parts = split_clauses(reply)
    acts = [CLAUSES.get(part) for part in parts]
    known = tuple(dict.fromkeys(act for act in acts if act is not None))
    return Reading(known, not parts or None in acts, False, tuple(parts))


def words() -> list[str]:
    """The words of the policy's side of the grammar, sorted."""
    return sorted({word for clause in CLAUSES for word in clause.split()})
