"""Notebook 07 takes the runs of notebooks 04, 05 and 06: their recipes are the same."""

import ast
import json
from functools import partial

import pytest

from helpers import profiles
from helpers.learning import race, studies
from helpers.paths import NOTEBOOKS

PROFILES = ("smoke", "laptop", "gpu", "paper")


def made(number: str, profile: str, *names: str):
    """What a notebook's own lines give these names, with its parameters' defaults."""
    (path,) = NOTEBOOKS.glob(f"{number}_*.ipynb")
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    known = {
        "PROFILE": profile, "SEED": 0, "POLICY": "", "USER_MODEL": "",
        "JUDGE_MODEL": "", "studies": studies, "profiles": profiles, "partial": partial,
        "settings": profiles.settings(number, profile),
    }  # fmt: skip
    for cell in cells:
        if cell["cell_type"] != "code":
            continue
        for line in ast.parse("".join(cell["source"])).body:
            target = line.targets[0] if isinstance(line, ast.Assign) else None
            if getattr(target, "id", None) in {*names, "sizes", "paper", "steps"}:
                exec(compile(ast.Module([line], []), str(path), "exec"), known)
        if all(name in known for name in names):
            return [known[name] for name in names]
    raise AssertionError(f"{path.name} does not make {names}")


@pytest.mark.parametrize("profile", PROFILES)
def test_the_runs_of_notebook_05_are_found(profile):
    (theirs,), (ours,) = (
        made("05", profile, "recipe"),
        made("07", profile, "by_distance"),
    )
    for name in race.BY_DISTANCE:
        assert ours(name).describe() == theirs(name).describe(), name


@pytest.mark.parametrize("profile", PROFILES)
def test_the_runs_of_notebook_06_differ_in_their_steps_alone(profile):
    (theirs,), (ours,) = made("06", profile, "recipe"), made("07", profile, "by_rank")
    five, six = (profiles.settings(n, profile) for n in ("05", "06"))
    for name in race.BY_RANK:
        mine = ours(name)
        assert mine.describe() == theirs(name, steps=mine.trainer.steps).describe()
        turns = mine.trainer.steps * six.dialogues
        most = five.steps * five.dialogues
        assert most - six.dialogues < turns <= most, "the budget of notebook 05"


@pytest.mark.parametrize("profile", PROFILES)
def test_the_runs_of_notebook_04_are_found(profile):
    (theirs,), (ours,) = (
        made("04", profile, "recipe"),
        made("07", profile, "by_emotion"),
    )
    for user in ("vanilla", "challenging"):
        expected = theirs("PPO", False, user).describe()
        assert ours("PPO", user=user).describe() == expected, user
    for name in ("PPO", "GRPO"):
        assert ours(name, True).describe() == theirs(name, True).describe(), name
