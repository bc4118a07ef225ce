"""What the tiny policy is taught before any reward: written by rule, in its grammar.

Two kinds of lessons. Drills: somebody tells facts in any order, the reply uses exactly
those; they teach to read and to copy. Dialogues: a scripted user and a scripted
listener; they teach how talk goes. Some turns carry a critique, a short note that names
what the reply should and should not do, and a reply that follows it; RAPO's teacher is
the policy with such a note in its context. Each reply comes with a thought (see
`helpers.learning.tiny`).

All is the kit's own and offline; the papers start from pretrained models.
"""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from helpers.agents.acts import ACTS, HARMFUL, Act
from helpers.agents.clauses import read_clauses
from helpers.agents.lines import FIRST
from helpers.agents.policies import Facts, Heuristic, say
from helpers.agents.roles import Message, Reply
from helpers.agents.scripted import ScriptedUser
from helpers.data import slots
from helpers.data.scenarios import Hidden, Scenario
from helpers.sandbox.episode import Episode, RunSettings

CRITIQUED = 0.2  # share of the turns of a lesson that carry a critique
CARING = {"NoFault": "no_fault", "Dialectic": "sides", "AnalyseOthers": "motives",
          "SelfReflect": "self_look"}  # fmt: skip


@dataclass(frozen=True)
class Exchange:
    """One user line and the reply to learn, with thought and critique (or None)."""

    user: str
    thought: str
    reply: str
    critique: str | None = None


def critique_text(better: Iterable[Act], worse: Iterable[Act]) -> str:
    """A critique in words of the tiny policy: which acts to do, and which not.

    The acts to do come with their slot words; empty lists leave their part out.
    """
    parts = []
    for name, acts in (("better", better), ("worse", worse)):
        words = [w for act in acts for w in (act.kind, act.slot) if w]
        if words:
            parts.append(f"| {name} : {' '.join(words)}")
    return " ".join(parts)


def thought_text(history: Sequence[Message], reply: str) -> str:
    """The feeling that the history shows, then the kinds of act of the reply."""
    facts = Facts.of(history)
    kinds = read_clauses(reply, "").kinds()
    return " ".join([facts.emotion or "unknown", *kinds[:4]])


def random_hidden(rng: random.Random, hidden: Hidden) -> Hidden:
    """The same card with other slots, so that no topic stands for one event."""
    emotion = rng.choice(list(slots.EMOTIONS))
    feeling = slots.EMOTIONS[emotion]
    clues = [*feeling.clear.first, rng.choice(feeling.ambiguous.first)]
    rng.shuffle(clues)
    change = {
        "emotion": emotion, "clues": tuple(clues),
        "topic": rng.choice(list(slots.TOPICS)),
        "event": rng.choice(list(slots.EVENTS)),
        "value": rng.choice(list(slots.VALUES)),
        "action": rng.choice(list(slots.ACTIONS)),
    }  # fmt: skip
    return hidden.model_copy(update=change)


def dialogue(
    rng: random.Random, card: Scenario, care: float, skill: float
) -> list[Exchange]:
    """A talk of a listener (see `Heuristic`) with the training user.

    A turn with a critique is answered by a fully caring listener, whatever `care`.
    """
    card = card.model_copy(update={"hidden": random_hidden(rng, card.hidden)})
    settings = RunSettings(6, None, None)
    episode = Episode(card, ScriptedUser(), None, None, settings, rng.getrandbits(30))
    listeners = [
        Heuristic(skill=s, care=c).start(card.id, rng.getrandbits(30))
        for s, c in ((skill, care), (1.0, 1.0))
    ]
    made = []
    while not episode.done:
        history = tuple(episode.history)
        replies = [listener.reply(history).text for listener in listeners]
        noted = rng.random() < CRITIQUED
        reply = replies[noted]
        note = _note(rng, reply) if noted else None
        made.append(
            Exchange(episode.user_line, thought_text(history, reply), reply, note)
        )
        episode.step(Reply(reply))
    return made


def drill(rng: random.Random, turns: int = 5) -> list[Exchange]:
    """Facts told in any order and replies that use them, nothing else."""
    feeling = slots.EMOTIONS[rng.choice(list(slots.EMOTIONS))]
    event = rng.choice(list(slots.EVENTS))
    news = [
        "i " + slots.EVENTS[event], *feeling.clear.first, *feeling.ambiguous.first,
        rng.choice(list(slots.VALUES.values())).first[0],
        rng.choice(list(slots.ACTIONS.values())).first[0],
        rng.choice(list(slots.INTENTIONS.values())).hints.first[0],
        rng.choice(list(slots.NEEDS.values())).first[0],
    ]  # fmt: skip
    rng.shuffle(news)
    topic = rng.choice(list(slots.TOPICS))
    opening = [FIRST.opening.format(topic=slots.TOPICS[topic]), news.pop()]
    if rng.random() < 0.2:
        opening.append(FIRST.early)
    history, made = [Message("user", " , ".join(opening))], []
    for _ in range(turns):
        reply = _use(rng, history)
        note = _note(rng, reply) if rng.random() < CRITIQUED else None
        line = history[-1].content
        made.append(Exchange(line, thought_text(history, reply), reply, note))
        said = [rng.choice([*FIRST.reactions.values(), FIRST.masked])]
        said += [news.pop() for _ in range(rng.choice((0, 1, 1, 2))) if news]
        said += [FIRST.filler] if len(said) == 1 else []
        history += [Message("assistant", reply), Message("user", " , ".join(said))]
    return made


def _use(rng: random.Random, history: list[Message]) -> str:
    """One to three acts on what is known, the rarer ones as likely as the others."""
    facts = Facts.of(history)
    known = [Act("reflect", None, facts.topic), Act("question"), Act("validate"),
             Act("presence")]  # fmt: skip
    if facts.event:
        topic = rng.choice((None, facts.topic))
        known += [Act("reflect", facts.event, topic)] * 4
    known += [Act("name", facts.emotion)] * 4 if facts.emotion else []
    known += [Act("affirm", facts.value)] * 4 if facts.value else []
    known += [Act("advise", facts.action)] * 3 if facts.action else []
    wanted = CARING.get(facts.intention or "")
    known += [Act(wanted)] * 3 if wanted else []
    acts = list(dict.fromkeys(rng.sample(known, rng.choice((1, 2, 2, 3)))))
    return say(*acts, rng=rng)


def _note(rng: random.Random, reply: str) -> str:
    acts = read_clauses(reply, "").acts
    others = [kind for kind in ACTS if kind not in {a.kind for a in acts}]
    kinds = [k for k in HARMFUL if k in others] or others
    worse = [Act(rng.choice(kinds)) for _ in range(rng.choice((0, 1, 1)))]
    return critique_text(acts, worse)
