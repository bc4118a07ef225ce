"""Stage 1 by rule: which part of a dialogue needs empathy, and what features it has.

A message scores by its cues and a little by its neighbours'; a run of messages above
the threshold is a segment. All of it is a stand-in for EMPA's LLM judge.

Paper: EMPA (arXiv 2603.00552) Algorithm 1, stage 1.
"""

from dataclasses import asdict, dataclass, field

from helpers.data import cues, slots

THRESHOLD = 1.0  # a smoothed message at least so high belongs to a segment
LEAST = 2.5  # what the messages of a segment must add up to
NEIGHBOUR = 0.35
MAX_GAP = 3  # turns that a segment may bridge


@dataclass(frozen=True)
class Segment:
    """Turns first to last (both included) of a dialogue, and the sum of its scores."""

    first: int
    last: int
    score: float


@dataclass(frozen=True)
class Features:
    """What a segment says, as slots of the kit's world; None is not said.

    levels: the nine IEDR items. early: wants a step at once. threshold: empathy
    threshold. secondary: domains besides the first. age: as the person states it.
    """

    topic: str | None
    event: str | None
    emotion: str | None
    value: str | None
    action: str | None
    intention: str | None
    early: bool
    threshold: str
    levels: dict[str, int | None]
    secondary: tuple[str, ...] = field(default=())

    def missing(self) -> list[str]:
        """The features without which no card can be made."""
        wanted = ("topic", "event", "emotion")
        return [name for name in wanted if getattr(self, name) is None]

    def as_json(self) -> dict:
        return asdict(self) | {"secondary": list(self.secondary)}

    @classmethod
    def from_json(cls, record: dict) -> "Features":
        return cls(**record | {"secondary": tuple(record["secondary"])})


@dataclass(frozen=True)
class Marks:
    """What stage 1 found in a dialogue. crisis: somebody's life is at risk."""

    crisis: bool
    segments: tuple[Segment, ...]
    features: tuple[Features, ...]


def is_crisis(turns: list[dict]) -> bool:
    """Whether the seeker speaks of ending their life or of harming themselves."""
    return any(cues.hits("crisis", t["text"]) for t in turns if t["role"] == "seeker")


def segments(turns: list[dict]) -> list[Segment]:
    """Runs of messages that need empathy.

    Args:
        turns: {"role", "text"}, personal data already removed.
    """
    seeker = [i for i, turn in enumerate(turns) if turn["role"] == "seeker"]
    own = [cues.need(turns[i]["text"]) for i in seeker]
    cut = [bool(cues.hits("shift", turns[i]["text"])) for i in seeker]
    smooth = []
    for at, score in enumerate(own):
        around = own[max(0, at - 1) : at] + own[at + 1 : at + 2]
        smooth.append(score + NEIGHBOUR * sum(max(0.0, x) for x in around))
    found: list[list] = []
    for at, turn in enumerate(seeker):
        if smooth[at] < THRESHOLD or cut[at]:
            continue
        near = found and turn - found[-1][1] <= MAX_GAP
        if near and not any(c for c, j in zip(cut, seeker, strict=True)
                            if found[-1][1] < j < turn):  # fmt: skip
            found[-1][1] = turn
            found[-1][2] += own[at]
        else:
            found.append([turn, turn, own[at]])
    return [Segment(a, b, round(s, 2)) for a, b, s in found if s >= LEAST]


def features(turns: list[dict], segment: Segment) -> Features:
    """The features of one segment; the topic may also come from the talk around it."""
    inside = [
        turn["text"]
        for turn in turns[segment.first : segment.last + 1]
        if turn["role"] == "seeker"
    ]
    text = "\n".join(inside)
    topics = cues.count("topics", text)
    topic = cues.strongest(topics)
    if topic is None:
        around = "\n".join(t["text"] for t in turns if t["role"] == "seeker")
        topic = cues.strongest(cues.count("topics", around))
    everyone = {d for t, n in topics.items() if n for d in slots.TOPIC_DOMAINS[t]}
    own = set(slots.TOPIC_DOMAINS[topic]) if topic else set()
    guarded, open_ = cues.hits("guarded", text), cues.hits("open", text)
    return Features(
        topic=topic,
        event=cues.strongest(cues.count("events", text)),
        emotion=cues.strongest(cues.count("emotions", text)),
        value=cues.strongest(cues.count("values", text)),
        action=cues.strongest(cues.count("actions", text)),
        intention=cues.strongest(cues.count("intentions", text)),
        early=bool(cues.hits("early", text)),
        threshold="high" if guarded > open_ else "low" if open_ > guarded else "medium",
        levels=levels(text),
        secondary=tuple(d for d in slots.DOMAINS if d in everyone - own),
    )


def levels(text: str) -> dict[str, int]:
    """The nine IEDR levels of a person's words: 1 and the number of cues, at most 3.

    No item is 0: what was marked needs empathy. The rule is not fitted to EMPA's pool.
    """
    counted = cues.count("items", text)
    return {item: min(3, 1 + counted[item]) for item in slots.ITEMS}
