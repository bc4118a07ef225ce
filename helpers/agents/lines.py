"""What a scripted user says: two grammars over the same hidden state.

`FIRST` is the user of training; `SECOND`, with other words, other clues (the second set
of `helpers.data.slots`) and another order of speech, is held out from it. Lines are
lower case, words and commas separated by spaces.
"""

from dataclasses import dataclass

from helpers.agents.mind import Mind, Secrets
from helpers.data import slots


@dataclass(frozen=True)
class Grammar:
    """One user's way of speaking.

    slots: which clue set it draws from. opening: of the topic. reactions: by strength
    of the appraisal, "delight" to "hurt", plus reproaches by cause. masked: what a user
    says who does not show what was felt. filler: when there is nothing more to tell.
    leave: goodbye when all is well, and when it is not. tell_first: the news come
    before the reaction.
    """

    slots: str
    opening: str
    early: str
    reactions: dict[str, str]
    masked: str
    filler: str
    leave: dict[str, str]
    tell_first: bool = False


FIRST = Grammar(
    slots="first",
    opening="it is about the {topic}",
    early=slots.EARLY_ADVICE.first[0],
    reactions={
        "delight": "yes exactly",
        "accept": "yes maybe",
        "cool": "hmm",
        "hurt": "no",
        "noise": "what do you mean",
        "advice": "i do not want tips",
        "wait": "i need one step today",
        "unheard": "you do not listen",
        "wrong": "no not that",
    },
    masked="ok",
    filler="it is still hard",
    leave={"success": "thank you , goodbye", "collapse": "no more , goodbye"},
)

SECOND = Grammar(
    slots="second",
    opening="the {topic} is on my mind",
    early=slots.EARLY_ADVICE.second[0],
    reactions={
        "delight": "that is just how it feels",
        "accept": "right , go on",
        "cool": "if you say so",
        "hurt": "ouch",
        "noise": "come again",
        "advice": "spare me the tips",
        "wait": "i must decide before noon",
        "unheard": "are you even with me",
        "wrong": "you have that wrong",
    },
    masked="fine",
    filler="it weighs on me",
    leave={"success": "thanks , take care", "collapse": "enough , bye"},
    tell_first=True,
)
GRAMMARS = {"first": FIRST, "second": SECOND}
GOODBYES = ("goodbye", "bye", "take care")


def opening(grammar: Grammar, secrets: Secrets) -> tuple[str, list[str]]:
    """The first line and the items that it tells."""
    parts = [grammar.opening.format(topic=slots.TOPICS[secrets.topic])]
    parts.append(secrets.phrases["clue0"])
    if secrets.early:
        parts.append(grammar.early)
    return " , ".join(parts), ["clue0"]


def line(grammar: Grammar, mind: Mind, reaction: str | None, items) -> str:
    """A later line.

    Args:
        reaction: key of `Grammar.reactions`, or None when the user does not show it.
        items: what this line tells, in order.
    """
    said = grammar.masked if reaction is None else grammar.reactions[reaction]
    news = [mind.secrets.phrases[item] for item in items] or [grammar.filler]
    return " , ".join([*news, said] if grammar.tell_first else [said, *news])


def words(name: str) -> list[str]:
    """The words of one user's grammar ("first" or "second"), clues included, sorted."""
    g = GRAMMARS[name]
    tables = (slots.VALUES, slots.ACTIONS, slots.NEEDS)
    phrases = [getattr(c, name) for table in tables for c in table.values()]
    for feeling in slots.EMOTIONS.values():
        phrases += [getattr(feeling.clear, name), getattr(feeling.ambiguous, name)]
        phrases.append((f"i am {feeling.word}",))
    phrases += [getattr(i.hints, name) for i in slots.INTENTIONS.values()]
    phrases += [tuple(f"i {words}" for words in slots.EVENTS.values())]
    phrases += [tuple(slots.TOPICS.values()), tuple(g.reactions.values())]
    phrases += [tuple(g.leave.values())]
    phrases += [(g.opening.replace("{topic}", ""), g.early, g.masked, g.filler, ",")]
    return sorted({w for group in phrases for text in group for w in text.split()})
