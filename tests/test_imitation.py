"""Supervised learning from a good listener: what is shown, learnt and kept."""

import json
from dataclasses import replace

import pandas as pd
import pytest
import torch

from helpers.agents.roles import Message
from helpers.data.scenarios import load_cards
from helpers.learning import imitation, methods, results, tiny
from helpers.learning.lessons import thought_text
from helpers.learning.recipes import Checks
from helpers.learning.worlds import make_world

CHECKS = Checks(rules="empa", every=1, curve_cards=2, final_cards=2, users=("vanilla",))


def recipe(**change):
    how = {"rate": 1e-3, "entropy": 0.0, "seed": 0} | change
    scale = methods.Scale(2, dialogues=4, group=2, minibatches=2)
    return methods.make_recipe(
        "MAPO", scale, rules="empa", reward="distance", checks=CHECKS, **how
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return imitation.imitate(recipe(), tmp_path_factory.mktemp("runs"))


def test_it_reads_as_a_run_of_the_race(made):
    assert (made.label, made.steps, made.checked) == ("supervised", 2, [0, 1, 2])
    assert made.curve["calls/user"].tolist() == [40, 40]
    assert (made.curve["tokens/policy"] > 0).all() and made.seconds >= 0
    frame = results.scores([made], "vanilla")
    assert len(frame) == 2 and frame["distance"].notna().all()


def test_it_learns_what_it_was_shown(made):
    """The loss on the demonstrations falls: the weights are other ones than before."""
    model, _ = tiny.load(made.folder / "policy")
    before, _ = tiny.load()
    moved = [not torch.equal(a, b) for a, b in
             zip(model.parameters(), before.parameters(), strict=True)]  # fmt: skip
    assert all(moved)
    assert made.curve["loss"].iloc[-1] < made.curve["loss"].iloc[0]


def test_a_finished_one_is_found_and_another_rate_is_another_run(made):
    stamp = (made.folder / "curve.json").stat().st_mtime_ns
    again = imitation.imitate(recipe(), made.folder.parent)
    assert again.folder == made.folder
    assert (made.folder / "curve.json").stat().st_mtime_ns == stamp
    for change in ({"rate": 2e-3}, {"seed": 1}, {"think": True}):
        assert imitation._hash(recipe(**change)) != imitation._hash(recipe())
    # The reward's credit is not used, so it does not make another run.
    other = replace(recipe(), credit=methods.METHODS["GRPO"].credit)
    assert imitation._hash(other) == imitation._hash(recipe())


def test_a_lesson_is_the_dialogue_with_its_thoughts():
    world = make_world("empa", "vanilla")
    shown = imitation.demonstrate(world, load_cards("train")[:1], 0)[0]
    lesson = imitation.lesson(shown)
    assert [(x.user, x.reply) for x in lesson] == [
        (turn.user, turn.reply) for turn in shown.turns
    ]
    first = shown.turns[0]
    assert lesson[0].thought == thought_text([Message("user", first.user)], first.reply)
    assert all(x.critique is None for x in lesson)


def test_other_policies_are_refused(tmp_path):
    with pytest.raises(ValueError, match="tiny policy only"):
        imitation.imitate(replace(recipe(), policy="owner/name"), tmp_path)


def test_tuning_takes_the_grid_of_the_others(tmp_path, monkeypatch):
    family = imitation.tuning.FAMILIES["mapo"]
    small = replace(family, rates=(1e-4, 2e-4), scale=replace(family.scale, steps=1))
    monkeypatch.setitem(imitation.tuning.FAMILIES, "mapo", small)
    seen = []

    def imitate(recipe, folder):
        seen.append(recipe)
        return recipe

    def table(given, made):
        assert given.methods == ("MAPO",) and made == seen
        return pd.DataFrame({"method": ["MAPO"] * 2, "chosen": [True, False]})

    monkeypatch.setattr(imitation, "imitate", imitate)
    monkeypatch.setattr(imitation.tuning, "table", table)
    frame = imitation.tune(tmp_path, tmp_path)
    assert [r.trainer.learning_rate for r in seen] == [1e-4, 2e-4]
    assert set(frame["method"]) == {"supervised"}
    assert json.dumps((tmp_path / "imitation.csv").read_text()).count("supervised") == 2
