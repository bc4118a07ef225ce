"""The words of the scripted world: what a card's `hidden` section may say.

A card names slot ids; this table turns an id into English. The scripted users, the tiny
policy's grammar and the free-text reader all read the same table, so that no word lives
in two places. Clue words come in two sets: `FIRST` belongs to the user met in training,
`SECOND` to the user that is held out from it. All texts are lower case and free of
punctuation, because the tiny policy splits on spaces.

Source: EMPA (needs on the axes C, A, P) and SAGE (eight hidden intentions); the slots
themselves are the kit's own.
"""

from dataclasses import dataclass
from typing import Literal

AXES = ("C", "A", "P")
ITEMS = tuple(f"{axis}.{number}" for axis in AXES for number in (1, 2, 3))
DOMAINS = ("leisure", "health", "life", "values", "relations", "career")
LEVELS = ("low", "medium", "high")
Domain = Literal["leisure", "health", "life", "values", "relations", "career"]


@dataclass(frozen=True)
class Clues:
    """What a user says around a slot, in two sets that share no phrase.

    first: phrases of the training user; second: phrases of the held-out user.
    """

    first: tuple[str, ...]
    second: tuple[str, ...]


@dataclass(frozen=True)
class Emotion:
    """A feeling that stays hidden behind clues until the user trusts the listener.

    pair: the other emotion that the ambiguous clue fits as well.
    ambiguous: one clue a set, shared by the pair; clear: clues that fit this one only.
    """

    word: str
    pair: str
    ambiguous: Clues
    clear: Clues


@dataclass(frozen=True)
class Intention:
    """One of SAGE's eight hidden intentions (G Table 4, R Table 5).

    family: "emotional" or "rational"; purpose: the instruction to a simulated user, in
    the second person; hints: what a user lets slip about it.
    """

    family: Literal["emotional", "rational"]
    purpose: str
    hints: Clues


# Topics: what the talk is about ("it is about the exam"), and the domains it may fill.
TOPICS: dict[str, str] = {
    "exam": "exam",
    "job": "job",
    "breakup": "breakup",
    "friend": "friend",
    "family": "family",
    "illness": "illness",
    "money": "money",
    "club": "club",
}
TOPIC_DOMAINS: dict[str, tuple[Domain, ...]] = {
    "exam": ("career",),
    "job": ("career", "values"),
    "breakup": ("relations",),
    "friend": ("relations", "values"),
    "family": ("life", "relations", "values"),
    "illness": ("health",),
    "money": ("life", "values"),
    "club": ("leisure",),
}

# Events: what happened, for every topic alike ("i got blamed", "you got blamed").
EVENTS: dict[str, str] = {
    "ignored": "got ignored",
    "blamed": "got blamed",
    "excluded": "got excluded",
    "compared": "got compared",
    "replaced": "got replaced",
    "deceived": "got deceived",
    "rejected": "got rejected",
    "mocked": "got mocked",
    "abandoned": "got abandoned",
    "pressured": "got pressured",
    "criticised": "got criticised",
    "forgotten": "got forgotten",
}


def _pair(one: str, other: str, first: str, second: str) -> dict[str, dict]:
    shared = Clues((first,), (second,))
    return {
        one: {"pair": other, "ambiguous": shared},
        other: {"pair": one, "ambiguous": shared},
    }


_PAIRS = {
    **_pair("ashamed", "guilty", "i avoid everyone now", "i cross the street to hide"),
    **_pair("sad", "exhausted", "i stay in bed all day", "my curtains are still shut"),
    **_pair("anxious", "angry", "i can not sleep at night", "my jaw is tight"),
    **_pair("lonely", "jealous", "i look at their photos", "i scroll through smiles"),
}
_CLEAR = {
    "ashamed": Clues(
        ("i can not look at them", "i want to disappear"),
        ("my face burns when i think of it", "i would rather be invisible"),
    ),
    "guilty": Clues(
        ("i keep saying sorry", "i should have seen it"),
        ("i owe them something", "it replays with me at fault"),
    ),
    "sad": Clues(
        ("i keep crying", "it hurts inside"),
        ("tears come at the sink", "there is a hole in my chest"),
    ),
    "exhausted": Clues(
        ("my body feels heavy", "i have no strength left"),
        ("my battery is flat", "even the stairs are too much"),
    ),
    "anxious": Clues(
        ("my heart races", "i think of the worst"),
        ("my stomach turns over", "every ring makes me jump"),
    ),
    "angry": Clues(
        ("i want to shout", "it is so unfair"),
        ("i slammed the door twice", "my blood boils"),
    ),
    "lonely": Clues(
        ("nobody calls me", "i eat alone"),
        ("my phone stays silent", "the flat is too quiet"),
    ),
    "jealous": Clues(
        ("they have what i want", "i count what they get"),
        ("why is it never my turn", "their luck stings"),
    ),
}
EMOTIONS: dict[str, Emotion] = {
    word: Emotion(word=word, clear=clear, **_PAIRS[word])
    for word, clear in _CLEAR.items()
}

# Values: what a person has shown in the past ("you showed courage").
VALUES: dict[str, Clues] = {
    "courage": Clues(("i still went alone",), ("i walked in with shaking knees",)),
    "honesty": Clues(("i told the truth",), ("i did not hide a thing",)),
    "patience": Clues(("i waited and stayed calm",), ("i held my tongue for weeks",)),
    "loyalty": Clues(("i stayed when others left",), ("i never took the easy exit",)),
    "kindness": Clues(("i cooked for them anyway",), ("i carried their bags too",)),
    "effort": Clues(("i tried again each night",), ("i gave it every weekend",)),
}

# Fitting actions: the one small step that suits this person ("you could try to call").
ACTIONS: dict[str, Clues] = {
    "call": Clues(("i saved their number",), ("my thumb is on the green button",)),
    "write": Clues(("i keep a notebook",), ("there is paper on my desk",)),
    "rest": Clues(("i have a day off",), ("sunday is empty for once",)),
    "walk": Clues(("a park is close",), ("the river is down the road",)),
    "plan": Clues(("next week is open",), ("my calendar has gaps",)),
    "ask": Clues(("my sister offered help",), ("a neighbour said knock any time",)),
}

INTENTIONS: dict[str, Intention] = {
    "NoFault": Intention(
        "emotional",
        "You hope to hear that none of this was your fault.",
        Clues(("was it me",), ("did i cause this",)),
    ),
    "SelfReflect": Intention(
        "rational",
        "You hope to be helped to look at your own part and to grow from it.",
        Clues(("what can i learn",), ("which part is mine",)),
    ),
    "Dialectic": Intention(
        "rational",
        "You hope to weigh the matter from more than one side, fairly.",
        Clues(("i see two sides",), ("it is not black and white",)),
    ),
    "DeepEmpathy": Intention(
        "emotional",
        "You hope that someone feels what lies under your words, beyond kind phrases.",
        Clues(("nobody feels this with me",), ("no one reaches that deep",)),
    ),
    "Listen": Intention(
        "emotional",
        "You hope to let it all out while someone pays close attention.",
        Clues(("let me just talk",), ("i have to get it out",)),
    ),
    "AnalyseOthers": Intention(
        "rational",
        "You hope to understand why the other people acted as they did.",
        Clues(("why did they do that",), ("what goes on in their head",)),
    ),
    "Advice": Intention(
        "rational",
        "You hope for advice that truly fits your case.",
        Clues(("what should i do",), ("which way do i go",)),
    ),
    "Praise": Intention(
        "emotional",
        "You hope for sincere praise of something that you really did.",
        Clues(("did i do well",), ("does it count for anything",)),
    ),
}

# Needs, one hint an axis: to be understood (C), felt with (A), affirmed (P).
NEEDS: dict[str, Clues] = {
    "C": Clues(("nobody gets it",), ("no one sees the whole picture",)),
    "A": Clues(("it just hurts",), ("the ache will not go",)),
    "P": Clues(("maybe i am no good",), ("perhaps i am not enough",)),
}

# Said early by the users for whom advice at once is right.
EARLY_ADVICE = Clues(("i need one step today",), ("i must decide before noon",))
