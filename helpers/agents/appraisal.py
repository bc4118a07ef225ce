"""The rules of the scripted world: what each act of a reply does to this person.

Each act sets marks, (field, level, reason), on EMPA's six MDEP-PR fields; an axis gets
its largest progress and its worst negative. Rules that close known loopholes:

- credit is capped for each act, for each slot (twice), and within a dialogue;
- a question is paid only when it draws something new out;
- what has not been told cannot be named for credit: a lucky guess is worth nothing, a
  wrong one costs, and after a wrong guess the right word is worth nothing;
- insight (two sides, motives of others, one's own part) counts only for the person who
  came for it, and reads as blame or distance to the others;
- comfort counts when the same reply shows that the person was heard ("grounded");
- a clause repeated from the last reply, an echo of the user, more than four acts, two
  feelings or two values in one reply all cost.

Advice is premature until half of the affective deficit is met, except for people who
want it early; from these, advice withheld after the third reply costs as well.

The rules are the kit's own; the fields, their meaning and the levels are EMPA's
(2603.00552 section 3.4; fact sheet 1.5), the intentions SAGE's (2505.02847 Table 4).
"""

from helpers.agents import act_rules
from helpers.agents.act_rules import PATIENCE, Marks
from helpers.agents.acts import Reading
from helpers.agents.mind import Appraisal, Mind

MAX_ACTS = 4


def appraise(mind: Mind, reading: Reading) -> Appraisal:
    """Rate a reply; the mind is not changed (`Mind.absorb` does that)."""
    m = Marks(mind, reading)
    for act in reading.acts:
        if act.kind == "reflect":
            act_rules.reflect(m, act)
        elif act.kind == "name":
            act_rules.name(m, act)
        elif act.kind == "affirm":
            act_rules.affirm(m, act)
    act_rules.insight(m)
    for act in reading.acts:
        if act.kind == "advise":
            act_rules.advise(m, act)
    act_rules.ties(m)
    act_rules.question(m)
    act_rules.comfort(m)
    act_rules.harm(m)
    _form(m)
    _needs_answered(m)
    return Appraisal(
        m.levels, m.evidence, tuple(m.credited), frozenset(m.wrong),
        m.serves and mind.served < 4, m.opens, m.advised, m.warm,
    )  # fmt: skip


def _form(m: Marks) -> None:
    reading, mind = m.reading, m.mind
    if reading.noise:
        m.down("C", -2, "makes no sense")
        m.down("AP", -2 if mind.bad["noise"] else -1, "makes no sense")
    if reading.echo:
        m.down("C", -1, "repeats the words")
        m.down("A", -1, "repeats the words")
    if len(reading.acts) > MAX_ACTS:
        m.down("CA", -1, "too much at once")
    if mind.parts & set(reading.parts):
        m.down("A", -1, "says the same again")


def _needs_answered(m: Marks) -> None:
    """What the reply leaves out."""
    mind, hidden = m.mind, m.hidden
    stays = bool({"presence", "validate"} & set(m.reading.kinds()))
    present = m.heard or m.opens or (hidden.intention == "Listen" and m.serves)
    present = present or (stays and mind.empty())  # all is told: staying is enough
    if not present and not (hidden.threshold == "low" and m.warm and mind.turn < 2):
        m.down("C", -1, "passes by the core")
    if hidden.early and not (mind.advised or m.advised) and mind.turn >= PATIENCE:
        m.down("CP", -1, "keeps back the step that was asked for")


def is_premature(mind: Mind, reading: Reading) -> bool:
    """Advice to a person who is not ready for it (RAPO counts these)."""
    ready = mind.secrets.early or mind.half_met("A")
    return bool(reading.of("advise")) and not ready
