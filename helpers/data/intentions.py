"""From the intention text of the SAGE and RLVER releases to the kit's eight keys.

The releases state the hidden intention as one of eight Chinese sentences. One word of
each is enough to tell them apart, so that no sentence is kept here.

Paper: SAGE (arXiv 2505.02847) Table 4; RLVER (arXiv 2507.03112) Table 5.
"""

MARKS = {
    "没有错": "NoFault",
    "自我反思": "SelfReflect",
    "辩证": "Dialectic",
    "共情": "DeepEmpathy",
    "倾听": "Listen",
    "其他人物": "AnalyseOthers",
    "建议": "Advice",
    "夸奖": "Praise",
}


class UnknownIntention(ValueError):
    """A task text that holds none, or more than one, of the eight marks."""


def intention_key(task: str) -> str:
    """The key of a task text, for instance 'Advice'.

    Raises: UnknownIntention unless exactly one mark is in the text.
    """
    found = [key for mark, key in MARKS.items() if mark in task]
    if len(found) != 1:
        what = "no known intention" if not found else f"several: {', '.join(found)}"
        raise UnknownIntention(f"task text of {len(task)} characters holds {what}")
    return found[0]
