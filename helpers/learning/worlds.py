"""Who a policy talks with and by which rules, by name, so that a recipe can say it.

Rules: "rlver" is RLVER's training (8 replies, start 30, stop at 0), "sage" SAGE's
benchmark (9 scored replies, start 40, stop below 10 or at 100), "empa" the offline
world of EMPA's distance (a judge beside the user, 10 replies, no emotion stop).

Users: "vanilla", "challenging" and "second" are by rule, or vanilla and challenging by
the model behind an endpoint. "easy" and "too hard" are the ends of a scale of
difficulty (notebook 07) and by rule only; a mixed set of replies is accepted by them in
about three of four and one of fourteen cases, set by hand on the train cards.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from helpers.agents.acts import Reader
from helpers.agents.clauses import read_clauses
from helpers.agents.llm import LLMClient
from helpers.agents.roles import Judge, User
from helpers.agents.sage import SageUser, sage_settings
from helpers.agents.scripted import (
    CHALLENGING,
    SECOND,
    VANILLA,
    ScriptedJudge,
    ScriptedUser,
)
from helpers.data.scenarios import Scenario
from helpers.sandbox.episode import Episode, RunSettings

EASY = replace(
    VANILLA, name="easy", accept_at=-4.0, idle=1.0, warmth=2.0, frankness=0.9
)
TOO_HARD = replace(
    CHALLENGING, name="too hard", accept_at=3.0, miss=2.0, frankness=0.4
)  # fmt: skip
TEMPERS = {
    temper.name: temper for temper in (VANILLA, CHALLENGING, SECOND, EASY, TOO_HARD)
}
DIFFICULTY = ("easy", "vanilla", "challenging", "too hard")
RULES = {
    "rlver": RunSettings.rlver_training,
    "sage": RunSettings.sage,
    "empa": RunSettings.laptop_empa,
}


@dataclass(frozen=True)
class World:
    """Roles and stop rules of all dialogues of a run; `together` as in TalkSettings."""

    user: User
    judge: Judge | None
    settings: RunSettings
    together: int = 1

    def episode(self, card: Scenario, seed: int) -> Episode:
        return Episode(card, self.user, self.judge, None, self.settings, seed)


def make_world(
    rules: str,
    user: str,
    model: str = "",
    folder: Path | None = None,
    reader: Reader = read_clauses,
) -> World:
    """The World of that name.

    Args:
        rules: key of RULES. user: key of TEMPERS, played by rule when `model` is empty,
            else by that model (vanilla or challenging). folder: for the client's cache
            and ledger. reader: what a user and judge by rule read replies with.

    Raises: ValueError for a name that is not known, or rules that need a scripted judge
        with a user played by a model.
    """
    if rules not in RULES or user not in TEMPERS:
        raise ValueError(
            f"rules {rules!r}, user {user!r}: choose of {', '.join(RULES)} and of "
            f"{', '.join(TEMPERS)}"
        )
    settings = RULES[rules]()
    if not model:
        temper = TEMPERS[user]
        judge = ScriptedJudge(temper.grammar, temper.reserved, reader)
        return World(
            ScriptedUser(temper, settings.emotion, reader),
            judge if settings.epm else None,
            settings,
        )
    if settings.epm or user not in ("vanilla", "challenging"):
        raise ValueError(f"rules {rules!r} with user {user!r} are played by rule only")
    role = sage_settings(model)
    client = LLMClient({"user": role}, folder)
    emotion = settings.emotion
    if (
        rules == "rlver"
    ):  # RLVER's vanilla simulator clips, its challenging one does not
        emotion = replace(emotion, clip=10 if user == "vanilla" else None)
    settings = replace(settings, emotion=emotion)
    return World(SageUser(client, emotion, user), None, settings, role.concurrency)
