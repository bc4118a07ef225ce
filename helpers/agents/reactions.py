"""The user's reaction to a reply that was not said in the dialogue: one turn, no more.

RAPO asks what each of several replies would do to the user. The user is brought to the
turn once more: a fresh session with the dialogue's own seed goes through the same lines
(a model behind an endpoint answers them from its cache, at no further cost), then takes
in the reply. So all candidates of a turn meet the same user in the same mood, and a
candidate that repeats what was really said gets what really came back.

Paper: RAPO, arXiv 2603.15434, generative hindsight feedback (fact sheet, 3.2, 9.3).
"""

from helpers.agents.roles import History, Message, Reaction, User
from helpers.data.scenarios import Scenario


def react(
    user: User, card: Scenario, seed: int, history: History, reply: str
) -> Reaction:
    """What a reply to the last line of a history brings about.

    Args:
        seed: of the dialogue, as its user was started with. history: visible lines of
            that dialogue up to a user line.

    Raises:
        RoleFailure: of the user. ValueError: the user does not repeat its own lines, so
        that this would be another user's reaction.
    """
    session = user.start(card, seed)
    said = session.opening()
    for end in range(2, len(history), 2):
        _same(said.text, history[end - 2], card.id)
        session.feel(history[:end])
        said = session.say(history[:end], None)
    _same(said.text, history[-1], card.id)
    whole = (*history, Message("assistant", reply))
    feeling = session.feel(whole)
    said = session.say(whole, None)
    return Reaction(said.text, feeling.emotion, feeling.change)


def _same(said: str, line: Message, card: str) -> None:
    if said != line.content:
        raise ValueError(
            f"card {card}: the user said {line.content!r} in the dialogue and "
            f"{said!r} when it was repeated; reactions need a user that answers the "
            "same lines in the same way (a model: with its reply cache)"
        )
