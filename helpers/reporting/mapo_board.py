"""Trained policies under EMPA's own rules: EPM-Q and success, by dominant axis.

The 30 test cards that are stratified as the official ones, 12 to 45 turns, with the
rule that a collapse ends a dialogue: the rows stand beside those of notebook 03. The
policies were trained on dialogues of ten turns, so most of such a dialogue is new to
them. No training happens here.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.agents.acts import Reader
from helpers.agents.clauses import read_clauses
from helpers.agents.emotion import EmotionRules
from helpers.agents.free_text import read_free_text
from helpers.agents.scripted import ScriptedDirector, ScriptedJudge, ScriptedUser
from helpers.data.scenarios import Scenario, load_cards
from helpers.learning import results
from helpers.learning.results import Result
from helpers.reporting.own_board import own_row
from helpers.sandbox.dialogue import Dialogue
from helpers.sandbox.episode import Episode, RunSettings

JUDGE = "rules of the kit (offline demo)"
AXES = {"C": "cognitive", "A": "affective", "P": "proactive"}


class Official:
    """EMPA's sandbox by rule, with its director: who `training.talk` talks with."""

    together = 1

    def __init__(self, reader: Reader = read_clauses):
        """reader: what user and judge read replies with."""
        self._roles = (
            ScriptedUser(rules=EmotionRules.unending(), reader=reader),
            ScriptedJudge(reader=reader), ScriptedDirector(),
        )  # fmt: skip

    def episode(self, card: Scenario, seed: int) -> Episode:
        return Episode(card, *self._roles, RunSettings.empa(), seed)


def official_cards(each: int) -> list[Scenario]:
    """Up to `each` of the stratified test cards of every dominant axis."""
    cards = [card for card in load_cards("test") if "official30" in card.strata]
    return [
        card
        for axis in AXES
        for card in [c for c in cards if c.dominant_axis == axis][:each]
    ]


def play(result: Result, cards: Sequence[Scenario], folder: Path) -> list[Dialogue]:
    """One dialogue a card with a run's policy, kept in `folder`."""
    tiny = result.recipe.policy == "tiny"
    world = Official(read_clauses if tiny else read_free_text)
    return results.play(result, world, cards, folder, "official")


def board(
    played: Mapping[str, Iterable[Dialogue]],
    cards: Sequence[Scenario],
    draws: int,
    rng: np.random.Generator,
    level: float = 0.95,
) -> pd.DataFrame:
    """EPM-Q and successes of each policy, over all cards and by dominant axis.

    Args:
        played: label -> dialogues of all its seeds. cards: those that were played.

    Returns:
        The columns of `own_board.own_row` with `axis` after `model`; intervals resample
        the cards, so that a card of several seeds is one cluster. "success %" is of n.
    """
    axis = {card.id: card.dominant_axis for card in cards}
    rows = []
    for label, dialogues in played.items():
        dialogues = list(dialogues)
        for name in ("all", *AXES):
            own = [d for d in dialogues if name in ("all", axis[d.scenario_id])]
            row = own_row(own, label, JUDGE, draws, rng, level)
            rows.append({"model": label, "axis": AXES.get(name, name), **row})
    frame = pd.DataFrame(rows)
    frame["success %"] = 100 * frame["success"] / frame["n"]
    return frame
