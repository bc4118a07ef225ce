import dataclasses

import pytest

from helpers import profiles


def test_four_profiles_and_who_plays():
    backends = {name: profiles.get(name).backend for name in profiles.PROFILES}
    assert backends == {
        "smoke": "scripted",
        "laptop": "scripted",
        "gpu": "llm",
        "paper": "llm",
    }


def test_unknown_profile_names_the_four_and_the_closest():
    with pytest.raises(ValueError, match="mean laptop") as caught:
        profiles.get("labtop")
    assert all(name in str(caught.value) for name in profiles.PROFILES)


def test_unknown_notebook():
    with pytest.raises(ValueError, match="'99_nothing'"):
        profiles.settings("99_nothing", "smoke")


def test_settings_grow_with_the_profile_and_cannot_be_changed():
    draws = [
        profiles.settings("03_empa_evaluation", name).bootstrap_draws
        for name in ("smoke", "laptop", "gpu", "paper")
    ]
    assert draws == [200, 2000, 10_000, 10_000]
    with pytest.raises(dataclasses.FrozenInstanceError):
        profiles.settings("03", "smoke").interval = 0.9


@pytest.mark.parametrize("number", profiles.SETTINGS)
@pytest.mark.parametrize("profile", profiles.PROFILES)
def test_every_setting_says_paper_source_and_why(number, profile):
    table = profiles.as_table(profiles.settings(number, profile))
    assert list(table.columns) == ["setting", "value", "paper", "source", "why"]
    assert (table[["paper", "source", "why"]].map(len) > 0).all(axis=None)


def test_a_records_notebook_is_no_offline_demo():
    assert profiles.backend("03_empa_evaluation", "smoke") == "records"
    assert profiles.backend("05_mapo", "smoke") == "scripted"


def test_scripted_results_stay_scripted_at_every_profile():
    for profile in profiles.PROFILES:
        assert profiles.backend("02_user_simulator", profile) == "scripted"
        models = profiles.settings("02", profile).user_model
        assert bool(models) == (profiles.get(profile).backend == "llm")
