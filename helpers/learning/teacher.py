"""Does the critique carry information? The policy with a note in its context, tried.

RAPO's verbal term can only teach what its teacher knows, and the teacher is the policy
that reads a critique. So before any training: at turns that mattered, the same policy
answers the same users without a note, with the critique of this turn, with that of
another turn, and with the marks of a note that says nothing. What the user's emotion
does in that one turn tells whether the words of the note move the policy, and whether
it is what they say or that they stand there. The critique is made from the first
group, as in training; the answers that are measured are drawn afresh.

Method: the kit's own (the fact sheet of the laptop world, section 4, has a prototype's
numbers); fact sheet of RAPO, 9.8.
"""

import random
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from helpers.agents.reactions import react
from helpers.data.scenarios import load_cards
from helpers.learning import training
from helpers.learning.feedback import teacher_context
from helpers.learning.methods import Scale, make_recipe
from helpers.learning.rapo import Group
from helpers.learning.recipes import Recipe
from helpers.learning.workers import side_by_side

ARMS = ("plain", "true", "shuffled", "empty")
EMPTY = "| better : | worse :"  # the marks of a note in the tiny policy's lessons


@dataclass(frozen=True)
class TeacherTest:
    """Sizes of the test. turns: pivotal ones; group: answers to each; dialogues: held
    to find them; split: of the cards; seed: of everything. reaction: whether the note
    also holds what the user would answer to one of the replies (A4)."""

    turns: int = 60
    group: int = 8
    dialogues: int = 60
    split: str = "tune"
    seed: int = 7
    reaction: bool = False


def teacher_quality(
    thinks=(False, True), test: TeacherTest | None = None, policy: Path | None = None
) -> pd.DataFrame:
    """The measure on the tiny policy, by rule, offline.

    Args:
        thinks: modes of the policy. policy: folder of weights, None = the start.

    Returns:
        Frame, one row a turn and arm: think, arm, place (number of the turn in the
        test), case, turn, impact; change (mean one-turn change of emotion over the
        group, -10..10), premature (share of replies that advise and do harm), advice
        (share of replies that advise), n (replies). Turns whose group ties have no
        critique and are left out of every arm.
    """
    test = test or TeacherTest()
    parts = side_by_side(_mode, [(think, test, policy) for think in thinks])
    return pd.concat(parts, ignore_index=True)


def _mode(think: bool, test: TeacherTest, policy: Path | None) -> pd.DataFrame:
    scale = Scale(steps=1, group=test.group)
    recipe = make_recipe(
        "RAPO", scale, rate=1e-4, entropy=0.0, seed=test.seed, think=think
    )
    model, chat = training.start_policy(recipe)
    if policy is not None:
        model, chat = training.tiny.load(policy)
    cards = {card.id: card for card in load_cards(test.split)}
    world = training.meet(recipe, recipe.rules, recipe.user, Path())
    step = training.look_back(recipe, model, chat, world, cards, Path())
    rng = random.Random(test.seed)
    ids = [list(cards)[i % len(cards)] for i in range(test.dialogues)]
    held = step.talk(ids, test.seed)
    groups = [
        group
        for group in step.look_back(held, 3 * test.turns // 2, rng)
        if group.feedback.critique
    ][: test.turns]
    shift = {id(g): o for g, o in zip(groups, [*groups[1:], groups[0]], strict=True)}
    frames = []
    for arm in ARMS:
        notes = {
            "plain": lambda group: None,
            "true": lambda group: group.feedback.critique,
            "shuffled": lambda group: shift[id(group)].feedback.critique,
            "empty": lambda group: EMPTY,
        }[arm]
        frames.append(_arm(arm, groups, notes, recipe, step, test, rng))
    return pd.concat(frames).assign(think=think)


def _arm(arm: str, groups: list[Group], notes, recipe: Recipe, step, test, rng):
    contexts = []
    for group in groups:
        note, turn, context = notes(group), group.turn, group.turn.context
        if note is not None:
            seen = group.reactions[0] if test.reaction else None
            told = step.line(turn.history[-1].content, note, seen)
            context = teacher_context(step.chat, step.system, turn, told)
        contexts += [context] * test.group
    said = step.sample(contexts, rng.getrandbits(31))
    rows = []
    for i, group in enumerate(groups):
        replies = [c.text for c in said[i * test.group : (i + 1) * test.group]]
        rows.append({"arm": arm, "place": i, **_row(group, replies, step)})
    return pd.DataFrame(rows)


def _row(group: Group, replies: list[str], step) -> dict:
    turn, world = group.turn, step.world
    card = step.cards[turn.scenario_id]
    heard = [react(world.user, card, turn.seed, turn.history, r) for r in replies]
    advised = [
        "advise" in step.reward_model.reader(r, turn.history[-1].content).kinds()
        for r in replies
    ]
    resented = [
        a and reaction.change < 0 for a, reaction in zip(advised, heard, strict=True)
    ]
    n = len(replies)
    return {
        "case": turn.scenario_id, "turn": turn.turn + 1, "impact": turn.impact,
        "change": sum(r.change for r in heard) / n,
        "premature": sum(resented) / n, "advice": sum(advised) / n, "n": n,
    }  # fmt: skip
