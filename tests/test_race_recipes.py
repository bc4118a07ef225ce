"""Notebook 07 takes the runs of notebooks 04, 05 and 06: their recipes are the same."""

import json
from dataclasses import replace

import pytest

from helpers import profiles
from helpers.agents.clauses import read_clauses
from helpers.agents.free_text import read_free_text
from helpers.learning import methods, race
from helpers.learning.credit import Credit
from helpers.learning.recipes import Checks
from helpers.learning.tuning import FAMILIES
from helpers.paths import NOTEBOOKS

PROFILES = ("smoke", "laptop", "gpu", "paper")


def notebook_recipe(number: str, profile: str):
    """The function `recipe` of a notebook's own cell, with its parameters' defaults."""
    paths = sorted(NOTEBOOKS.glob(f"{number}_*.ipynb"))
    if not paths:
        pytest.skip(f"notebook {number} is not there yet")
    cells = json.loads(paths[0].read_text(encoding="utf-8"))["cells"]
    source = next(
        text for text in ("".join(cell["source"]) for cell in cells)
        if "\ndef recipe(" in text
    )  # fmt: skip
    names = {
        "PROFILE": profile, "FAMILIES": FAMILIES, "SEED": 0, "SEEDS": 0,
        "POLICY": "", "USER_MODEL": "", "JUDGE_MODEL": "",
        "settings": profiles.settings(number, profile), "methods": methods,
        "Checks": Checks, "Credit": Credit, "replace": replace,
        "read_clauses": read_clauses, "read_free_text": read_free_text,
    }  # fmt: skip
    exec(source, names)
    return names["recipe"]


@pytest.mark.parametrize("profile", PROFILES)
def test_the_runs_of_notebook_05_are_found(profile):
    theirs = notebook_recipe("05", profile)
    paper = "mapo" if profile == "paper" else ""
    ours = race.by_distance(profiles.settings("05", profile), 0, paper=paper)
    for name in race.BY_DISTANCE:
        assert ours(name).describe() == theirs(name).describe(), name


@pytest.mark.parametrize("profile", PROFILES)
def test_the_runs_of_notebook_06_are_found(profile):
    settings = profiles.settings("06", profile)
    theirs = notebook_recipe("06", profile)
    ours = race.by_rank(settings, settings.steps, 0)
    for name in race.BY_RANK:
        try:
            expected = theirs(name).describe()
        except LookupError:
            pytest.skip("data/tuning has no rapo.csv yet")
        assert ours(name).describe() == expected, name


@pytest.mark.parametrize("profile", PROFILES)
def test_the_runs_of_notebook_04_are_found(profile):
    theirs = notebook_recipe("04", profile)
    paper = "rlver" if profile == "paper" else ""
    ours = race.by_emotion(profiles.settings("04", profile), 0, paper=paper)
    for user in ("vanilla", "challenging"):
        expected = theirs("PPO", False, user).describe()
        assert ours("PPO", user).describe() == expected, user
    for name in ("PPO", "GRPO"):
        expected = theirs(name, True, "vanilla").describe()
        assert ours(name, "vanilla", True).describe() == expected, name
