"""What a wrong index does to rewards: the simulator fault of RLVER's released rollouts.

Many dialogues run in lock-step: each round, every open dialogue gets a reply and the
reply goes to a user. The released code picks that user by the *position* of the
dialogue in the list of open ones, not by the dialogue itself (fact sheet of RLVER,
C2.1). Until a dialogue ends the two are the same. After that, open dialogues talk to
other people's users, and users whose own dialogue is over go on feeling; since the
reward of a dialogue is read from its own user at the end, rewards are wrong.

Here both ways run on the kit's scripted users: an offline demo. It is the kit's own
code around this one fault; the other faults of the release are left out.

What a wrongly addressed user sees. Each user keeps its own history: its own lines, and
the replies that it was handed, whoever wrote them for whom (so does the released
simulator). It takes a stranger's reply as the answer to its own last line, changes its
own emotion and answers from its own card; the answer goes into the stranger's dialogue.
A user whose dialogue is over still answers: it takes leave again while its emotion
calls for it, and that leave ends the stranger's dialogue, too. Users beyond the end of
the open list are not asked any more and keep the emotion that they had. The policy sees
the dialogue that it is in, with whatever lines came back.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from helpers.agents.roles import Message, Policy
from helpers.agents.scripted import ScriptedUser
from helpers.data.scenarios import Scenario
from helpers.sandbox.episode import RunSettings
from helpers.sandbox.run import dialogue_seed

Pick = Callable[[int, int], int]


def user_of_the_dialogue(position: int, dialogue: int) -> int:
    """The right user: the one that the dialogue began with."""
    return dialogue


def user_at_the_position(position: int, dialogue: int) -> int:
    """The fault: the user whose number is the dialogue's place in the open list."""
    return position


@dataclass(frozen=True)
class LockStep:
    """One batch after all its dialogues have ended; lists are in dialogue order.

    rewards: max(e, 0) / 100, e the last emotion of the dialogue's own user.
    replies: number of replies. misdirected: how many of them went to another user.
    emotions: emotions[r] are all users' emotions after round r; 0 is the opening.
    """

    rewards: list[float]
    replies: list[int]
    misdirected: list[int]
    emotions: list[list[int]]


def lock_step(
    dialogues: Sequence[tuple[Scenario, int]],
    policy: Policy,
    user: ScriptedUser,
    settings: RunSettings,
    pick: Pick,
) -> LockStep:
    """Run a batch of dialogues in rounds; `pick` says who answers.

    A dialogue ends when the user who answered takes leave or is at a stop of the
    emotion rules, or at `settings.max_replies`.

    Args:
        dialogues: (card, seed), one a dialogue.
        pick: `user_of_the_dialogue` or `user_at_the_position`.

    Raises:
        ValueError: user and settings have different emotion rules.
        NotScripted, RoleFailure: from the roles; nothing is caught, and no reward is
            made up for a failed dialogue.
    """
    if user.rules != settings.emotion:
        raise ValueError(
            f"the user follows {user.rules}, the settings {settings.emotion}: give "
            "both the same"
        )
    talks = [policy.start(card.id, seed) for card, seed in dialogues]
    users = [user.start(card, seed) for card, seed in dialogues]
    openings = [Message("user", one.opening().text) for one in users]
    seen_by_policy = [[line] for line in openings]
    seen_by_user = [[line] for line in openings]
    replies, misdirected = [0] * len(users), [0] * len(users)
    emotions = [[one.emotion for one in users]]
    todo = list(range(len(users)))
    while todo:
        still = []
        for position, dialogue in enumerate(todo):
            answer = talks[dialogue].reply(tuple(seen_by_policy[dialogue]))
            reply = Message("assistant", answer.text)
            chosen = pick(position, dialogue)
            own = seen_by_user[chosen]
            own.append(reply)
            feeling = users[chosen].feel(own)
            said = users[chosen].say(own, None)
            line = Message("user", said.text)
            own.append(line)
            seen_by_policy[dialogue] += [reply, line]
            replies[dialogue] += 1
            misdirected[dialogue] += chosen != dialogue
            stop = user.rules.ending(feeling.emotion) is not None
            if not (stop or said.goodbye or replies[dialogue] >= settings.max_replies):
                still.append(dialogue)
        todo = still
        emotions.append([one.emotion for one in users])
    rewards = [max(one.emotion, 0) / 100 for one in users]
    return LockStep(rewards, replies, misdirected, emotions)


def compare(
    cards: Sequence[Scenario],
    policy: Policy,
    user: ScriptedUser,
    settings: RunSettings,
    *,
    seed: int,
    repeats: int = 1,
    per_worker: int | None = None,
) -> pd.DataFrame:
    """The same dialogues with the right and with the wrong index.

    Args:
        repeats: dialogues a card, side by side in the batch (GRPO's group).
        per_worker: dialogues that run in one batch; the fault cannot cross workers.
            None: all of them. RLVER's PPO had one a worker, its GRPO four (inferred).

    Returns:
        One row a dialogue: card, repeat, worker; reward and reward_fault (0..1);
        replies and replies_fault; misdirected (replies that went to another user);
        first_end (round in which the first dialogue of the worker ended; the fault
        begins in the next one); corrupted (the two rewards differ).

    Raises:
        ValueError: no card, or a size below 1.
    """
    jobs = [(card, repeat) for card in cards for repeat in range(repeats)]
    size = len(jobs) if per_worker is None else per_worker
    if not jobs or size < 1:
        raise ValueError(
            f"{len(cards)} cards x {repeats} repeats, {size} a worker: need at least 1"
        )
    parts = []
    for worker, start in enumerate(range(0, len(jobs), size)):
        part = jobs[start : start + size]
        batch = [(card, dialogue_seed(seed, card.id, repeat)) for card, repeat in part]
        right = lock_step(batch, policy, user, settings, user_of_the_dialogue)
        wrong = lock_step(batch, policy, user, settings, user_at_the_position)
        rows = {
            "card": [card.id for card, _ in part],
            "repeat": [repeat for _, repeat in part],
            "worker": worker,
            "reward": right.rewards,
            "reward_fault": wrong.rewards,
            "replies": right.replies,
            "replies_fault": wrong.replies,
            "misdirected": wrong.misdirected,
            "first_end": min(right.replies),
        }
        parts.append(pd.DataFrame(rows))
    frame = pd.concat(parts, ignore_index=True)
    return frame.assign(corrupted=frame["reward"] != frame["reward_fault"])


def summary(frame: pd.DataFrame) -> dict:
    """What the fault did to the dialogues of `compare`.

    Returns:
        dialogues; first_end (earliest round, over workers); misdirected (share of all
        replies); corrupted (rewards); mean_abs_error (of a reward, scale 0..1);
        rank_correlation (Spearman of right and wrong rewards; None when one of them
        does not vary).
    """
    right, wrong = frame["reward"], frame["reward_fault"]
    varied = right.nunique() > 1 and wrong.nunique() > 1
    rho = np.corrcoef(right.rank(), wrong.rank())[0, 1] if varied else None
    return {
        "dialogues": len(frame),
        "first_end": int(frame["first_end"].min()),
        "misdirected": float(frame["misdirected"].sum() / frame["replies_fault"].sum()),
        "corrupted": int(frame["corrupted"].sum()),
        "mean_abs_error": float((right - wrong).abs().mean()),
        "rank_correlation": None if rho is None else float(rho),
    }


def sweep(
    cards: Sequence[Scenario],
    policy: Policy,
    user: ScriptedUser,
    settings: RunSettings,
    *,
    seed: int,
    repeats: int,
    sizes: Iterable[int],
) -> pd.DataFrame:
    """`summary` of the same dialogues for several numbers of dialogues a worker.

    Returns: one row a size: per_worker and the columns of `summary`.
    """
    rows = []
    for size in sizes:
        frame = compare(
            cards, policy, user, settings, seed=seed, repeats=repeats, per_worker=size
        )
        rows.append({"per_worker": size, **summary(frame)})
    return pd.DataFrame(rows)
