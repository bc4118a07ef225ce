"""Batched dialogues between a policy in training and its users, kept as tokens.

Tokens in, tokens out: what the engine sampled goes into the row as it is, what the user
says is tokenised once, and nothing is ever tokenised again. Each dialogue has its own
`Episode`, and so its own user; nobody is looked up by a place in a list, because
dialogues end at different turns (see `helpers.sandbox.indexing_fault` for what happens
otherwise).

Think-then-say (RLVER, 2507.03112, section 2.3). `history="stripped"` takes earlier
thoughts out of the context, as the released code does; such rows are packed (see
`helpers.learning.rows`). `history="kept"` leaves them in, which makes one plain row of
the dialogue and suits engines and trainers that know no packed rows; it deviates from
the paper in that a thought is read by all later ones.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from helpers.agents.roles import Reply
from helpers.learning.chat import ChatFormat
from helpers.learning.engines import Engine, Sample
from helpers.learning.rows import Row
from helpers.sandbox.episode import Episode

HISTORIES = ("stripped", "kept")


@dataclass(frozen=True)
class TalkSettings:
    """How the policy talks.

    system: the system text, which asks for thoughts or for a direct answer.
    reply_limit: most tokens of one reply, thought included. A reply that reaches it is
        cut there, and the end token that closes it is not trained on.
    history: "stripped" or "kept", about the thoughts of earlier turns.
    together: user steps that run at once; above 1 for users behind an API.
    """

    system: str
    reply_limit: int
    history: str = "stripped"
    together: int = 1

    def __post_init__(self):
        if self.history not in HISTORIES:
            raise ValueError(f"history {self.history!r}: one of {', '.join(HISTORIES)}")
        if self.reply_limit < 2 or self.together < 1:
            raise ValueError("reply_limit is at least 2, together at least 1")


@dataclass
class _Tokens:
    """The row of one dialogue while it grows."""

    prompt: list[int]
    past: list[int]  # the context of the next reply
    completion: list[int] = field(default_factory=list)
    mask: list[int] = field(default_factory=list)
    turns: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    segments: list[int] = field(default_factory=list)
    branched: bool = False

    def sampled(self, sample: Sample, turn: int, branch: bool) -> None:
        self._add(sample.ids, 1, turn, sample.logprobs, turn + 1 if branch else 0)
        if branch:
            self.branched = True
        else:
            self.past += sample.ids

    def told(self, ids: Sequence[int]) -> None:
        """Text that the policy did not choose, on the trunk."""
        self._add(ids, 0, -1, [0.0] * len(ids), 0)
        self.past += ids

    def _add(self, ids, mask, turn, logprobs, segment) -> None:
        n = len(ids)
        self.completion += ids
        self.mask += [mask] * n
        self.turns += [turn] * n
        self.logprobs += logprobs
        self.positions += range(len(self.past), len(self.past) + n)
        self.segments += [segment] * n

    def row(self, dialogue) -> Row:
        start = len(self.prompt)
        return Row(
            self.prompt, self.completion, self.mask, self.turns, self.logprobs,
            dialogue,
            [*range(start), *self.positions] if self.branched else None,
            [0] * start + self.segments if self.branched else None,
        )  # fmt: skip


def roll_out(
    episodes: Sequence[Episode],
    engine: Engine,
    chat: ChatFormat,
    talk: TalkSettings,
    run_hash: str = "",
) -> list[Row]:
    """Bring all dialogues to their end, side by side.

    Args:
        episodes: fresh ones, each with its own user session.
        run_hash: goes into the records.

    Returns:
        One Row an episode, in order. A dialogue that failed before the first reply has
        a row without completion tokens.

    Raises: whatever the engine raises, and RunStopped of a role.
    """
    tokens = [_open(episode, chat, talk) for episode in episodes]
    live = [i for i, episode in enumerate(episodes) if not episode.done]
    with ThreadPoolExecutor(talk.together) as pool:
        turn = 0
        while live:
            contexts = [tokens[i].past for i in live]
            samples = engine.generate(live, contexts, talk.reply_limit)
            replies = [
                _take(tokens[i], sample, turn, chat, talk)
                for i, sample in zip(live, samples, strict=True)
            ]
            steps = [episodes[i].step for i in live]
            if talk.together == 1:
                for step, reply in zip(steps, replies, strict=True):
                    step(reply)
            else:
                list(pool.map(lambda step, reply: step(reply), steps, replies))
            live = [i for i in live if not episodes[i].done]
            for i in live:
                tokens[i].told(chat.user_turn(episodes[i].user_line))
            turn += 1
    return [
        made.row(episode.record(repeat, run_hash))
        for repeat, (made, episode) in enumerate(zip(tokens, episodes, strict=True))
    ]


def _open(episode: Episode, chat: ChatFormat, talk: TalkSettings) -> _Tokens:
    if episode.done:  # the user failed before its first line
        return _Tokens([], [])
    ids = chat.opening(talk.system, episode.user_line)
    return _Tokens(ids, list(ids))


def _take(
    tokens: _Tokens, sample: Sample, turn: int, chat: ChatFormat, talk: TalkSettings
) -> Reply:
    """Put a sampled reply into the row; what the user gets to see of it."""
    ended = sample.ids[-1] == chat.end_id
    body = sample.ids[:-1] if ended else sample.ids
    thought, text, visible = chat.split(body)
    reply = Reply(text, thought, len(tokens.past), len(sample.ids))
    branch = thought is not None and talk.history == "stripped"
    tokens.sampled(sample, turn, branch)
    if branch:
        tokens.told([*visible, chat.end_id])
    elif not ended:
        tokens.told([chat.end_id])
    return reply
