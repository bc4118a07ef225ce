"""Notebook 06's tables, figures and sentences: hand numbers and fake finished runs."""

import json
import re
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from training_fakes import fail, write_check

from helpers.agents.policies import Heuristic
from helpers.agents.scripted import ScriptedJudge, ScriptedUser
from helpers.agents.social import ScriptedPlayer
from helpers.data.published import load
from helpers.data.scenarios import load_cards
from helpers.files import write_atomically
from helpers.learning import hindsight, methods, results, tuning
from helpers.learning.recipes import Checks
from helpers.learning.training import CURVE
from helpers.learning.workers import DONE
from helpers.learning.worlds import RULES, TEMPERS
from helpers.profiles import PROFILES, backend
from helpers.profiles import settings as settings_of
from helpers.reporting import mapo_tables, rapo_figures, rapo_ratings, rapo_tables
from helpers.reporting import rapo_findings as found
from helpers.sandbox.episode import run_one
from helpers.sandbox.run import dialogue_seed
from helpers.scoring.preference import RuleChooser

USERS = ("vanilla", "second")
CHECKS = Checks(rules="empa", every=2, curve_cards=2, final_cards=4, users=USERS)
SCALE = methods.Scale(steps=4, dialogues=8, group=4, minibatches=2)
HOW = {"draws": 100, "level": 0.95}
CARE = {"sample-wise GRPO": 0.2, "comparative_po": 0.4, "RAPO": 0.95}


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def rng():
    return np.random.default_rng(0)


def dialogues(care, user, n, seed):
    rules, temper = RULES["empa"](), TEMPERS[user]
    roles = ScriptedUser(temper, rules.emotion), ScriptedJudge(temper.grammar)
    return [
        run_one(card, Heuristic(skill=0.9, care=care), *roles, None, rules,
                dialogue_seed(seed, card.id, 0), run_hash="fake")
        for card in load_cards("test")[:n]
    ]  # fmt: skip


def fake(folder, name, seed, care, user="vanilla"):
    """A finished run whose checks hold a listener of that care."""
    made = methods.make_recipe(
        name, SCALE, rate=1e-3, entropy=0.0, seed=seed, rules="empa", user=user,
        checks=CHECKS,
    )  # fmt: skip
    run = results.Result(made.label, made, folder / f"{made.label}-{seed}", 4)
    for step in (0, 2):
        write_check(run.folder, step, "vanilla", dialogues(0.1, "vanilla", 2, seed))
    for who in USERS:
        write_check(run.folder, 4, who, dialogues(care, who, 4, seed))
    reacts = made.hindsight is not None and made.hindsight.reactions
    curve = [
        {"step": k, "calls/user": 80.0, "calls/reward_model": 10.0, "calls/judge": 0.0,
         "calls/reactions": 40.0 if reacts else 0.0}
        for k in range(4)
    ]  # fmt: skip
    write_atomically(run.folder / CURVE, json.dumps(curve))
    write_atomically(run.folder / DONE, json.dumps({"seconds": 2.0}))
    return run


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    return [fake(folder, n, s, c) for n, c in CARE.items() for s in (0, 1)]


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    folder = tmp_path_factory.mktemp("base")
    made = methods.make_recipe(
        "GRPO", SCALE, rate=1e-3, entropy=0.0, seed=0, rules="empa", checks=CHECKS
    )
    for user in USERS:
        write_check(folder, 0, user, dialogues(0.1, user, 4, 0))
    return results.Result("base", made, folder, 0)


# --- what is printed, and the open choices --------------------------------------------


def test_two_numbers_are_known_and_no_other_cell_is_filled():
    printed = load("rapo_printed")
    known = printed.set_index("item")["value"]
    assert known.to_dict() == {"EmoHarbor": 12.4, "SOTOPIA": 8.41}
    sought = load("rapo_not_found")
    assert "value" not in sought and len(sought) == 8
    for frame in (printed, sought):
        assert (frame["source_kind"] == "fact sheet").all()
        assert frame["note"].notna().all()


def test_every_open_choice_is_a_setting_of_the_core():
    choices = load("rapo_choices").set_index("choice")
    assert list(choices.index) == [f"A{i}" for i in range(1, 17)]
    assert not choices.isna().any(axis=None)
    fields = hindsight.HindsightSettings.__dataclass_fields__
    for number, row in choices.iterrows():
        assert row["setting"] == hindsight.OPEN_CHOICES[number][0], number
        for name in row["setting"].split(", "):
            assert name in fields or "." in name or name.startswith("none:"), name


def test_the_ladder_is_that_of_the_training():
    steps = [pair[0] for pair in found.STEPS]
    assert ["sample-wise GRPO", *steps] == list(methods.LADDER)
    labels = {label for pair in found.SAID for label in pair}
    assert labels <= set(methods.METHODS)
    assert set(methods.LADDER) < set(rapo_figures.LOOKS)


# --- tables ---------------------------------------------------------------------------


def test_ratings_hold_every_dialogue_and_failures_are_missing(runs, base, tmp_path):
    broken = fake(tmp_path, "RAPO", 7, 0.9)
    fail(broken, "vanilla", 1)
    frame = rapo_ratings.ratings([base, *runs, broken], "vanilla")
    assert len(frame) == 4 * 8
    bad = frame[frame["failed harbor"] | frame["failed sotopia"]]
    assert len(bad) == 1 and bad["seed"].item() == 7
    assert bad[[*rapo_ratings.FIELDS, *rapo_ratings.SEVEN]].isna().all(axis=None)
    good = frame.drop(bad.index)
    assert good["harbor"].between(1, 5).all()
    assert good["sotopia"].between(-30 / 7, 40 / 7).all()
    long = rapo_ratings.measures(frame, ["harbor", "GOAL"], rng=rng(), **HOW)
    assert len(long) == 2 * 4 and (long["low"] <= long["value"]).all()
    row = long[(long["label"] == "RAPO") & (long["measure"] == "harbor")].iloc[0]
    assert (row["n"], row["failed"]) == (11, 1)
    part = good[good["label"] == "RAPO"]
    assert row["value"] == pytest.approx(part.groupby("case")["harbor"].mean().mean())
    means = long[long["measure"] == "harbor"].set_index("label")["value"]
    assert means["RAPO"] > means["base"]


def test_the_main_table_has_two_printed_cells(runs, base):
    compared = mapo_tables.comparison(
        [base, *runs], "vanilla", "sample-wise GRPO", rng=rng(), **HOW
    )
    frame = rapo_ratings.ratings([base, *runs], "vanilla")
    rated = rapo_ratings.measures(
        frame, ["harbor", "sotopia", "GOAL"], rng=rng(), **HOW
    )
    table = rapo_tables.main_table(compared, rated).set_index("label")
    printed = table.filter(like="(printed)")
    assert printed.notna().sum().sum() == 2
    assert sorted(printed.loc["RAPO"]) == [8.41, 12.4]
    assert table.loc["PPO", "status"].startswith("not run")
    assert table.loc["PPO"].drop("status").isna().all()
    harbor = rated[rated["measure"] == "harbor"].set_index("label")["value"]
    assert table.loc["base", "ten fields (1 to 5)"] == harbor["base"]


def test_shares_of_advice_by_hand(tmp_path):
    run = fake(tmp_path, "RAPO", 0, 0.9)
    said = ["you could try to call .", "i am listening ."]
    rows = []
    for k, d in enumerate(dialogues(0.9, "vanilla", 2, 0)):
        turns = tuple(
            replace(t, reply=said[0] if t.number in (1 + k, 9) else said[1])
            for t in d.turns
        )
        rows.append(replace(d, turns=turns))
    lengths = [len(d.turns) for d in rows]
    write_check(run.folder, 4, "vanilla", rows)
    row = rapo_tables.advice([run], "vanilla", rng=rng(), **HOW).iloc[0]
    times = [1 + (n >= 9) for n in lengths]
    shares = [100 * k / n for k, n in zip(times, lengths, strict=True)]
    assert row["share"] == pytest.approx(np.mean(shares))
    assert row["early"] == 50 and row["early low"] == row["early high"] == 50
    assert row["of all advice, early"] == pytest.approx(100 * 2 / sum(times))
    assert row["replies"] == sum(lengths) and row["dialogues"] == 2


def test_no_advice_has_no_early_part(tmp_path):
    run = fake(tmp_path, "RAPO", 0, 0.9)
    mute = []
    for d in dialogues(0.9, "vanilla", 2, 0):
        turns = tuple(replace(turn, reply="i am listening .") for turn in d.turns)
        mute.append(replace(d, turns=turns))
    write_check(run.folder, 4, "vanilla", mute)
    fail(run, "vanilla", 1)
    row = rapo_tables.advice([run], "vanilla", rng=rng(), **HOW).iloc[0]
    assert row["share"] == 0 and np.isnan(row["of all advice, early"])
    assert (row["dialogues"], row["failed"]) == (1, 1)


def test_transfer_says_who_trained_whom(runs, base, tmp_path):
    other = fake(tmp_path, "RAPO", 0, 0.9, user="second")
    table = rapo_tables.transfer([base, *runs, other], USERS, "RAPO", rng=rng(), **HOW)
    assert list(table["tested with"].unique()) == list(USERS)
    by = table.set_index(["label", "tested with"])["trained with"]
    assert by["base", "vanilla"] == "-" and by["RAPO", "second"] == "vanilla"
    assert by["RAPO, second", "vanilla"] == "second"
    assert found.of_transfer(table).count(" %") == len(table)


def test_cost_by_hand(runs):
    table = rapo_tables.cost(runs).set_index("label")
    assert table.loc["RAPO", "updates"] == 8
    assert table.loc["RAPO", "user, per run"] == 320
    assert table.loc["RAPO", "user, per update"] == 40
    assert table.loc["RAPO", "reactions among them, per update"] == 20
    assert table.loc["comparative_po", "reactions among them, per run"] == 0
    assert table.loc["RAPO", "teacher passes, per run"] == 8
    assert table.loc["comparative_po", "teacher passes, per run"] == 0
    text = found.of_cost(table.reset_index(), "RAPO", "comparative_po")
    assert "reward model 5.0 against 5.0" in text
    assert list(rapo_tables.calls_so_far(runs[0])) == [0, 80, 160, 240, 320]


def test_curves_stand_over_calls(runs):
    points = rapo_tables.curve_points(runs)
    assert set(points["calls"]) == {0, 160, 320} and "dialogues" not in points
    figure, data = rapo_figures.learning_curves(points, "offline demo")
    assert data is points and "offline demo" in figure.axes[0].get_title()


def test_preference_pairs_seed_by_seed(runs):
    of = {label: [r for r in runs if r.label == label] for label in CARE}
    pairs = {"good": (of["RAPO"], of["sample-wise GRPO"]),
             "same": (of["RAPO"], of["RAPO"])}  # fmt: skip
    table = rapo_ratings.preference_table(
        pairs, "vanilla", RuleChooser(), rng=rng(), **HOW
    ).set_index("compared")
    counts = table[["win", "tie", "loss", "swayed", "failed"]]
    assert (counts.sum(axis=1) == 8).all()
    assert table.loc["same", "tie"] == 8 and table.loc["same", "share"] == 50
    assert table.loc["good", "win"] > table.loc["good", "loss"]
    with pytest.raises(ValueError):
        rapo_ratings.preference_table(
            {"odd": (of["RAPO"], of["RAPO"][:1])}, "vanilla", RuleChooser(), rng=rng(),
            **HOW,
        )  # fmt: skip
    figure, _ = rapo_figures.preference(table.reset_index(), "by rule")
    widths = [p.get_width() for p in figure.axes[0].patches]
    assert sum(widths) == pytest.approx(200)


def test_the_social_board_counts_both_seats():
    players = {style: ScriptedPlayer(style) for style in ("fair", "hard")}
    table = rapo_ratings.social_board(players, rng=rng(), **HOW)
    whole = table[table["kind"] == "all"].set_index("player")
    assert (whole["n"] == 9 * 4).all() and (table["failed"] == 0).all()
    assert (whole["low"] < whole["overall"]).all()
    assert whole.loc["hard", "SOC"] < whole.loc["fair", "SOC"] == 0
    one = rapo_ratings.social_board({"fair": ScriptedPlayer("fair")}, rng=rng(), **HOW)
    assert (one[one["kind"] == "all"]["n"] == 18).all()


def test_the_teacher_table_by_hand():
    rows = [
        (False, arm, case, change, 0.5 if arm == "plain" else 0.0)
        for arm, changes in {
            "plain": (-4, -2),
            "true": (2, 0),
            "empty": (-4, -2),
        }.items()
        for case, change in zip(("a", "b"), changes, strict=True)
    ]
    frame = pd.DataFrame(rows, columns=["think", "arm", "case", "change", "premature"])
    table = rapo_ratings.teacher_table(frame, rng=rng(), **HOW).set_index("arm")
    assert table["change"].to_dict() == {"plain": -3, "true": 1, "empty": -3}
    assert table.loc["plain", "true minus it"] == 4
    assert (table.loc["plain", "gap low"], table.loc["plain", "gap high"]) == (2, 6)
    assert np.isnan(table.loc["true", "true minus it"])
    assert table.loc["plain", "premature"] == 50
    text = found.of_teacher(table.reset_index())
    assert text == [
        "Change of the emotion in one turn, not thinking, by what stands in the "
        "context: plain -3.0, true +1.0, empty -3.0."
    ]
    figure, _ = rapo_figures.teacher(table.reset_index(), "offline demo")
    assert len(figure.axes) == 1


def test_tuning_that_was_not_run_keeps_its_rows(tmp_path):
    table = rapo_tables.tuning_table(tmp_path / "rapo.csv")
    assert len(table) == len(tuning.grid(tuning.FAMILIES["rapo"]))
    assert table["score"].isna().all() and not table["chosen"].any()
    table.assign(score=1.0).to_csv(tmp_path / "rapo.csv", index=False)
    assert (rapo_tables.tuning_table(tmp_path / "rapo.csv")["score"] == 1).all()


# --- sentences ------------------------------------------------------------------------


def pair(
    more="RAPO", less="comparative_po", difference=5.0, low=1.0, high=9.0, user="u"
):
    return {"more": more, "less": less, "user": user, "difference": difference,
            "diff low": low, "diff high": high, "low too": np.nan, "high too": np.nan,
            "runs": 1, "cases": 4, "verdict": "x"}  # fmt: skip


def test_pairs_are_told_as_they_fall():
    frame = pd.DataFrame([
        pair(), pair(less="sample-wise GRPO", difference=-5.0, low=-9.0, high=-1.0),
        pair(less="RAPO shuffled critique", low=-1.0),
    ])  # fmt: skip
    told = found.told(frame)
    assert told["found"].tolist() == ["higher", "lower", "not told apart"]
    assert told["said of it"].tolist() == [
        "preferred by people", "higher (+12.4 % on EmoHarbor)", "not mentioned",
    ]  # fmt: skip
    assert "verdict" not in told
    [text] = found.of_pairs(told, "The ladder")
    assert "1 of 3 differences are told apart upwards, 1 downwards" in text
    assert "RAPO over sample-wise GRPO -5.0 (-9.0 to -1.0): lower" in text
    wide = pd.DataFrame([pair() | {"low too": -3.0, "high too": 12.0}])
    [text] = found.of_pairs(found.told(wide), "Controls")
    assert "(-3.0 to +12.0): not told apart" in text


def test_sweep_and_advice_are_told_as_they_fall():
    swept = pd.DataFrame([pair(low=np.nan, high=np.nan), pair(), pair(low=-1.0)])
    swept = swept.assign(weight=[0.0, 0.01, 1.0], distance=[10.0, 15.0, 12.0])
    assert found.of_sweep(swept) == (
        "Weight of the verbal term: 0.01 has the highest distance (15.0 %). Told apart "
        "from 0: 0.01 (+5.0) of 2."
    )
    shares = pd.DataFrame(
        {"label": ["RAPO", "a", "b"], "share": [5.0, 20.0, 6.0],
         "share low": [2.0, 15.0, 3.0], "share high": [8.0, 25.0, 9.0],
         "early": [0.0, np.nan, 1.0]}
    )  # fmt: skip
    text = found.of_advice(shares, "RAPO", ["a", "b"])
    assert text.endswith("Intervals wholly above that of RAPO: a.")
    assert "a 20.0 % of replies, – % of those" in text


# --- figures and settings -------------------------------------------------------------


def test_figures_draw_gaps_for_what_is_missing():
    frame = pd.DataFrame(
        [(label, name, value, value - 1, value + 1)
         for label, value in (("base", np.nan), ("RAPO", 2.0), ("other", 3.0))
         for name in rapo_figures.PANELS],
        columns=["label", "measure", "value", "low", "high"],
    )  # fmt: skip
    figure, data = rapo_figures.ladder(frame, "offline demo")
    assert data is frame and len(figure.axes) == 3
    assert all(len(ax.containers) == 2 for ax in figure.axes)
    swept = pd.DataFrame({"weight": [1.0, 0.0], "distance": [5.0, 3.0],
                          "low": [4.0, np.nan], "high": [6.0, np.nan]})  # fmt: skip
    figure, _ = rapo_figures.sweep(swept, "offline demo")
    assert [t.get_text() for t in figure.axes[0].get_xticklabels()] == ["0", "1"]


def test_settings_train_at_equal_calls_at_every_profile():
    for profile in PROFILES:
        values = settings_of("06", profile)
        assert values.dialogues % values.group == 0
        assert values.dialogues % values.updates == 0 and values.seeds >= 1
        assert methods.LAMBDA in values.weights and 0 not in values.weights
        assert backend("06", profile) == "scripted"
        assert bool(values.rate) or values.policy == "tiny"
        assert re.fullmatch(r"tiny|\w+/[\w.\-]+", values.policy)
