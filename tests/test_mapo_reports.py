"""Notebook 05's tables, figures and sentences: hand numbers, and fake finished runs."""

import re
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from training_fakes import write_check

from helpers.agents.emotion import EmotionRules
from helpers.agents.policies import Heuristic
from helpers.agents.scripted import ScriptedDirector, ScriptedJudge, ScriptedUser
from helpers.data.published import load, wide
from helpers.data.scenarios import load_cards
from helpers.learning import methods, results, tuning
from helpers.learning.credit import Credit
from helpers.learning.recipes import Checks
from helpers.learning.settings import TrainerSettings
from helpers.learning.worlds import RULES, TEMPERS
from helpers.profiles import PROFILES, backend
from helpers.profiles import settings as settings_of
from helpers.reporting import mapo_board, mapo_credit, mapo_figures
from helpers.reporting import mapo_findings as found
from helpers.reporting import mapo_tables as tables
from helpers.reporting.learning_tables import AGAINST, AS_SAID, BARE, OPEN
from helpers.reporting.stats import paired_difference
from helpers.sandbox.dialogue import Failure
from helpers.sandbox.episode import RunSettings, run_one
from helpers.sandbox.run import dialogue_seed

HOW = {"draws": 100, "level": 0.95}
CHECKS = Checks(rules="empa", every=2, curve_cards=3, final_cards=5,
                users=("vanilla", "second"))  # fmt: skip
ROLES = (ScriptedUser(rules=EmotionRules.unending()), ScriptedJudge(),
         ScriptedDirector())  # fmt: skip
SCALE = methods.Scale(steps=4, dialogues=8, group=4, minibatches=2)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def rng():
    return np.random.default_rng(0)


def recipe(name, seed=0, label=None):
    made = methods.make_recipe(
        name, SCALE, rate=1e-3, entropy=0.0, seed=seed, rules="empa",
        reward="distance", epsilon_high=0.28, checks=CHECKS,
    )  # fmt: skip
    return replace(made, label=label or name)


def dialogues(care, user, n, seed=0):
    """Judged dialogues of a listener of that care."""
    rules = RULES["empa"]()
    temper = TEMPERS[user]
    roles = ScriptedUser(temper, rules.emotion), ScriptedJudge(temper.grammar)
    policy = Heuristic(skill=0.9, care=care)
    return [
        run_one(card, policy, *roles, None, rules, dialogue_seed(seed, card.id, 0),
                run_hash="fake")
        for card in load_cards("test")[:n]
    ]  # fmt: skip


def fake(folder, name, seed, last, label=None):
    """A finished run whose care rises to `last`."""
    made = recipe(name, seed, label)
    result = results.Result(made.label, made, folder / f"{made.label}-{seed}", 4)
    for step in (0, 2):
        care = 0.1 + (last - 0.1) * step / 4
        write_check(result.folder, step, "vanilla", dialogues(care, "vanilla", 3, seed))
    for user in CHECKS.users:
        write_check(result.folder, 4, user, dialogues(last, user, 5, seed))
    return result


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    care = {"GRPO": 0.4, "batch-only": 0.5, "MAPO": 0.9}
    return [fake(folder, n, s, c) for n, c in care.items() for s in (0, 1)]


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    made = recipe("GRPO", label="base")
    result = results.Result("base", made, tmp_path_factory.mktemp("base"), 0)
    for user in CHECKS.users:
        write_check(result.folder, 0, user, dialogues(0.1, user, 5))
    return result


# --- variance and credit --------------------------------------------------------------


def test_variance_explained_by_hand():
    x = torch.tensor([[2.0, 0.0, 0.5], [1.0, 1.0, 9.0]]).double()
    valid = torch.tensor([[True, True, True], [True, True, False]])
    # Means 1.5, 0.5, 0.5 about 0.9: 2 (.36) + 2 (.16) + .16 of 2.2 in all.
    got = mapo_credit.explained_by_turn(x, valid)
    assert got == pytest.approx((0.72 + 0.32 + 0.16) / 2.2)
    by_number = torch.arange(3.0).double().expand(2, 3)
    assert mapo_credit.explained_by_turn(by_number, valid) == pytest.approx(1)
    assert np.isnan(mapo_credit.explained_by_turn(x * 0, valid))
    assert np.isnan(mapo_credit.explained_by_turn(x, valid & False))


@given(st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_variance_explained_is_a_share_and_reads_valid_entries_only(seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(6, 4, generator=g, dtype=torch.float64)
    valid = torch.rand(6, 4, generator=g) < 0.7
    spoilt = torch.where(valid, x, torch.nan)
    got = mapo_credit.explained_by_turn(spoilt, valid)
    assert np.isnan(got) or 0 <= got <= 1 + 1e-12
    assert got == pytest.approx(
        mapo_credit.explained_by_turn(3 * x - 7, valid), nan_ok=True
    ), "it has no unit and no origin"


def test_released_dialogues_are_what_the_records_say():
    everything, *models = mapo_credit.released_turns()
    assert len(models) == 16 and everything.rewards.shape == (480, 45)
    assert everything.groups.unique().numel() == 30
    assert int(everything.valid.sum()) == sum(int(m.valid.sum()) for m in models)
    # 9,527 turns, of which 58 were not rated (notebook 03, section 3.13).
    assert int(everything.valid.sum()) == 9469
    one = everything.first(12)
    assert one.rewards.shape == (480, 12)
    table = mapo_credit.variance_table([everything, *models])
    shares = table.filter(like="%")
    assert ((shares >= 0) & (shares <= 100)).all(axis=None)
    n = int(everything.valid.sum())
    assert table["by chance, %"][0] == pytest.approx(100 * 44 / (n - 1))


def test_who_is_praised_by_hand():
    # Two dialogues of one scenario: the better one does harm in its second turn.
    rewards = torch.tensor([[4.0, -1.0], [0.0, 1.0]]).double()
    sample = mapo_credit.Turns("x", rewards, torch.ones(2, 2).bool(), torch.zeros(2))
    sample = replace(sample, groups=torch.zeros(2, dtype=torch.long))
    table = mapo_credit.credit_table(
        sample, {"GRPO": Credit("outcome"), "batch-only": Credit("immediate")}
    ).set_index("credit")
    grpo, batch = table.loc["GRPO"], table.loc["batch-only"]
    assert (grpo["harmful"], grpo["helpful"]) == (1, 2)
    assert grpo["harmful turns praised, %"] == 100
    assert grpo["helpful turns blamed, %"] == 50  # the second dialogue's only gain
    assert batch["harmful turns praised, %"] == 0
    assert batch["helpful turns blamed, %"] == 0
    assert np.isnan(grpo["correlation with length"]), "both are equally long"


def test_length_is_noticed():
    rewards = torch.tensor([[3.0, 1.0, 1.0], [1.0, 0.0, 0.0]]).double()
    valid = torch.tensor([[True, True, True], [True, False, False]])
    groups = torch.zeros(2, dtype=torch.long)
    sample = mapo_credit.Turns("x", rewards, valid, groups)
    table = mapo_credit.credit_table(sample, {"GRPO": Credit("outcome")})
    assert table["correlation with length"][0] == pytest.approx(1)


def test_a_failed_dialogue_is_no_turn():
    told = dialogues(0.5, "vanilla", 2)
    failure = Failure("user", "api_error", "made to fail")
    told[1] = replace(told[1], ending="error", ended_by="failure", failure=failure)
    sample = mapo_credit.own_turns("own", told)
    assert sample.valid.any(1).tolist() == [True, False]
    assert mapo_credit.variance_table([sample])["dialogues"][0] == 1


# --- intervals ------------------------------------------------------------------------


def test_seeds_and_cases_cover_the_mean_and_widen_with_the_seeds():
    cases = pd.DataFrame({0: np.arange(10.0), 1: np.arange(10.0)})
    low, high = tables.seeds_and_cases(cases, 2000, rng(), 0.95)
    narrow = paired_difference(cases[0], cases[0] * 0, 2000, rng(), 0.95)
    assert (low, high) == pytest.approx((narrow.low, narrow.high), abs=0.35)
    apart = cases + pd.Series({0: -20.0, 1: 20.0})
    wide = tables.seeds_and_cases(apart, 2000, rng(), 0.95)
    assert wide[0] < -10 and wide[1] > 18
    for one in (cases[[0]], cases[:1]):
        assert np.isnan(tables.seeds_and_cases(one, 10, rng(), 0.95)).all()


def test_a_missing_cell_is_left_out_and_not_zero():
    cases = pd.DataFrame({0: [5.0, 5.0, np.nan], 1: [5.0, np.nan, 5.0]})
    low, high = tables.seeds_and_cases(cases, 500, rng(), 0.95)
    assert low == high == 5


def test_verdicts_take_the_wider_interval():
    row = {"difference": 2.0, "diff low": 1.0, "diff high": 3.0}
    assert tables.said({**row, "low too": np.nan, "high too": np.nan}) == AS_SAID
    assert tables.said({**row, "low too": -1.0, "high too": 5.0}) == OPEN
    lower = {"difference": -2.0, "diff low": -3.0, "diff high": -1.0}
    lower |= {"low too": -4.0, "high too": -0.5}
    assert tables.said(lower) == AGAINST and tables.apart(lower) == "lower"
    assert tables.said({**lower, "difference": np.nan}) == BARE


# --- tables of runs -------------------------------------------------------------------


def test_a_row_of_the_comparison_by_hand(runs, base):
    table = tables.comparison([base, *runs], "vanilla", "GRPO", rng=rng(), **HOW)
    assert table["label"].tolist() == ["base", "GRPO", "batch-only", "MAPO"]
    row = table.set_index("label").loc["MAPO"]
    scored = results.scores([r for r in runs if r.label == "MAPO"], "vanilla")
    means = scored.groupby("seed")["distance"].mean()
    assert row["by seed"] == ", ".join(f"{m:.1f}" for m in means)
    expected = scored.groupby("case")["distance"].mean().mean()
    assert row["distance"] == pytest.approx(expected)
    assert (row["runs"], row["n"], row["failed"]) == (2, 10, 0)
    grpo = table.set_index("label").loc["GRPO"]
    assert row["difference"] == pytest.approx(row["distance"] - grpo["distance"])
    assert np.isnan(grpo["difference"]) and row["low too"] <= row["high too"]
    assert row["diff low"] <= row["difference"] <= row["diff high"]
    assert row["passed"] == pytest.approx(100 * scored["passed"].mean())
    with pytest.raises(ValueError, match="'PPO', which is compared"):
        tables.comparison(runs, "vanilla", "PPO", rng=rng(), **HOW)
    with pytest.raises(ValueError, match="is there twice"):
        tables.comparison([*runs, runs[0]], "vanilla", "GRPO", rng=rng(), **HOW)


def test_pairs_are_the_differences_of_the_comparison(runs):
    pairs = tables.pairs(runs, [("MAPO", "GRPO")], CHECKS.users, rng=rng(), **HOW)
    assert pairs["user"].tolist() == ["vanilla", "second"]
    for row in pairs.itertuples():
        table = tables.comparison(runs, row.user, "GRPO", rng=rng(), **HOW)
        own = table.set_index("label").loc["MAPO", "difference"]
        assert row.difference == pytest.approx(own) and row.cases == 5
    with pytest.raises(ValueError, match="no run is labelled 'PPO'"):
        tables.pairs(runs, [("MAPO", "PPO")], ["vanilla"], rng=rng(), **HOW)


def test_curves_have_the_same_cards_at_every_step(runs):
    points = tables.curve_points(runs)
    one = points[(points["label"] == "MAPO") & (points["seed"] == 1)]
    assert one["step"].tolist() == [0, 2, 4] and set(one["n"]) == {3}
    assert one["dialogues"].tolist() == [0, 16, 32]
    (run,) = [r for r in runs if r.label == "MAPO" and r.recipe.trainer.seed == 1]
    cases = [c.id for c in load_cards("test")[:3]]
    last = results.scores([run], "vanilla").set_index("case").loc[cases]
    assert one["distance"].iloc[-1] == pytest.approx(last["distance"].mean())


def test_when_a_curve_gets_there():
    curve = pd.Series([-50.0, 0.0, 40.0, 30.0], index=[0, 100, 200, 300])
    assert tables.first_crossing(curve, -50.0) == 0
    assert tables.first_crossing(curve, 10.0) == 125
    assert tables.first_crossing(curve, 40.0) == 200
    assert np.isnan(tables.first_crossing(curve, 41.0))
    gap = pd.Series([np.nan, 10.0], index=[0, 100])
    assert np.isnan(tables.first_crossing(gap, 20.0))


def test_reach_is_about_the_references_last_value():
    rows = [("GRPO", 0, 0, 0.0), ("GRPO", 0, 100, 30.0), ("GRPO", 0, 200, 20.0),
            ("MAPO", 0, 0, 0.0), ("MAPO", 0, 100, 10.0), ("MAPO", 0, 200, 50.0),
            ("MAPO", 1, 0, 0.0), ("MAPO", 1, 100, 20.0), ("MAPO", 1, 200, 60.0),
            ("PPO", 0, 0, -9.0), ("PPO", 0, 200, 19.0)]  # fmt: skip
    points = pd.DataFrame(rows, columns=["label", "seed", "dialogues", "distance"])
    table = tables.reach(points).set_index("label")
    assert set(table["target"]) == {20} and set(table["of"]) == {200}
    assert table.loc["GRPO", "dialogues"] == pytest.approx(200 / 3)
    assert table.loc["MAPO", "dialogues"] == 112.5  # 15 at 100, 55 at 200
    assert np.isnan(table.loc["PPO", "dialogues"])
    text = found.of_reach(table.reset_index())
    assert "MAPO after 112 of 200 dialogues" in text and "never by PPO" in text


def test_printed_gains_stand_beside_the_papers_method_only(runs, base):
    table = tables.comparison([base, *runs], "vanilla", "GRPO", rng=rng(), **HOW)
    main = tables.main_table(table, tables.reach(tables.curve_points(runs)))
    printed = main.set_index("label").filter(like="printed")
    assert printed.loc["MAPO"].tolist() == [43.2, 4.0, 3.5]
    assert printed.drop("MAPO").isna().all(axis=None)
    assert len(main) == len(table) and "dialogues to GRPO's end" in main


def test_stability_by_hand():
    names = list(mapo_figures.LOGGED)
    rows = [("a", 0, 1, 0.5, 0.1, 1.0, np.nan), ("a", 0, 2, 1.5, 0.3, 1.0, np.nan),
            ("a", 1, 1, 0.7, 0.2, 0.4, np.nan),
            ("a", 1, 2, 0.0, 0.0, 9.0, np.nan),  # a critic that learned alone
            ("b", 0, 1, np.nan, 0.2, 0.4, 0.5)]  # fmt: skip
    points = pd.DataFrame(rows, columns=["label", "seed", "step", *names])
    table = tables.stability(points).set_index("label")
    a = table.loc["a"]
    assert (a["runs"], a["steps"], a["gradient norm, median"]) == (2, 3, 0.7)
    assert a["largest"] == 1.5 and a["advantage sd"] == pytest.approx(0.8)
    assert a["above 1, % of steps"] == pytest.approx(100 / 3)
    assert a["clipped, % of tokens"] == pytest.approx(20)
    assert np.isnan(a["length correlation"])
    assert table.loc["b", "length correlation"] == 0.5
    assert np.isnan(table.loc["b", "largest"]), "nothing logged is no zero"


# --- sentences ------------------------------------------------------------------------


def numbers(text):
    return {
        float(x) for x in re.findall(r"(?<![\w.])-?\d+\.\d+", text.replace("+", ""))
    }


def test_sentences_hold_the_tables_numbers_only(runs):
    pairs = tables.pairs(
        runs, [("MAPO", "GRPO"), ("MAPO", "batch-only")], CHECKS.users, rng=rng(), **HOW
    )
    told = found.of_pairs(pairs)
    assert len(told) == 2 and "second user" in told[1]
    known = {round(x, 1) for x in pairs.filter(regex="diff|too").to_numpy().ravel()}
    for value in numbers(" ".join(told)):
        assert min(abs(value - x) for x in known) < 0.051, value


def test_sentences_do_not_hide_what_goes_the_other_way():
    row = {"more": "MAPO", "less": "GRPO", "user": "vanilla", "difference": -3.25,
           "diff low": -5.0, "diff high": -1.0, "low too": np.nan, "high too": np.nan,
           "runs": 1, "cases": 9, "verdict": AGAINST}  # fmt: skip
    other = {**row, "less": "PPO", "difference": 1.0, "low too": -2.0, "high too": 4.0,
             "verdict": OPEN}  # fmt: skip
    (text,) = found.of_pairs(pd.DataFrame([row, other]))
    assert text == (
        "Distance with the vanilla user, percentage points: as the paper says in 0 of "
        "2 comparisons. MAPO over GRPO -3.3 (-5.0 to -1.0): told apart, the other way; "
        "MAPO over PPO +1.0 (-2.0 to +4.0): not told apart."
    )
    table = pd.DataFrame(
        {"sample": ["x", "y"], "rewards, %": [5.0, 1.0],
         "returns, gamma 0.85, %": [2.0, 9.0], "by chance, %": [1.0, 1.0]}
    )  # fmt: skip
    assert found.of_variance(table).startswith(
        "The turn's number explains more of the returns (gamma 0.85) than of the "
        "rewards in 1 of 2 samples"
    )
    steady = pd.DataFrame(
        {"label": ["MAPO", "batch-only"], "gradient norm, median": [0.4, 0.3],
         "largest": [2.0, 1.0]}
    )  # fmt: skip
    assert "largest is MAPO's; that of batch-only is 0.50 times" in found.of_stability(
        steady
    )


def test_the_sentence_of_the_board_has_the_rows_over_all_cards():
    table = pd.DataFrame(
        {"model": ["base", "base", "MAPO", "bad"], "axis": ["all", "cognitive", "all",
         "all"], "n": [30, 10, 29, 0], "EPM-Q": [11.25, 99.0, 20.0, np.nan],
         "success": [0, 9, 3, np.nan]}
    )  # fmt: skip
    assert found.of_board(table) == (
        "EPM-Q on EMPA's board, with successes: MAPO 20.0 (3 of 29), base 11.3 (0 of "
        "30), bad \N{EN DASH} (\N{EN DASH} of 0)."
    )


def test_sentences_of_ablations_name_the_best_and_what_is_told_apart():
    frame = pd.DataFrame(
        {"part": ["alpha"] * 3, "value": ["0", "0.5", "1"],
         "distance": [9.0, 12.0, 14.0], "default": [False, True, False],
         "difference": [-3.0, np.nan, 2.0],
         "apart": ["lower", "-", OPEN]}
    )  # fmt: skip
    assert found.of_ablations(frame) == [
        "alpha: 1 is highest (14.0 %), the default 0.5 has 12.0 %. Told apart from it: "
        "0 (-3.0) of 2."
    ]


# --- figures --------------------------------------------------------------------------


def test_a_method_has_one_look():
    looks = mapo_figures.METHOD_LOOK
    assert {*tuning.FAMILIES["mapo"].methods, "base"} == set(looks)
    assert len(set(looks.values())) == len(looks)
    assert len({colour for colour, _ in looks.values()}) == len(looks)


def test_learning_curves_draw_means_and_ranges(runs):
    points = tables.curve_points(runs)
    figure, data = mapo_figures.learning_curves(points)
    assert len(data) == 3 * 2 * 3
    emotion = figure.axes[1]
    mean = points[points["label"] == "MAPO"].groupby("step")["emotion"].mean()
    assert mean.tolist() in [list(line.get_ydata()) for line in emotion.lines]
    assert all(ax.get_xlabel() == "dialogues trained on" for ax in figure.axes)


def test_where_nobody_succeeds_a_line_says_so_in_place_of_an_empty_panel(runs):
    points = tables.curve_points(runs)
    for successes, panels in ((0.0, 2), (5.0, 3)):
        figure, _ = mapo_figures.learning_curves(points.assign(passed=successes))
        assert len(figure.axes) == panels
        said = "no EPM success in any check" in figure.get_suptitle()
        assert said == (not successes)


def test_a_panel_without_numbers_says_so():
    rows = [(label, 0, k, 0.5, 0.1, 1.0, np.nan)
            for label in ("GRPO", "MAPO") for k in (1, 2, 3)]  # fmt: skip
    points = pd.DataFrame(rows, columns=["label", "seed", "step", *mapo_figures.LOGGED])
    figure, _ = mapo_figures.stability(points)
    panel = figure.axes[3]
    assert not panel.lines and "equally long" in panel.texts[0].get_text()


def test_steps_without_learning_are_not_drawn():
    rows = [("PPO", 0, k, norm, 0.1, 1.0, np.nan)
            for k, norm in ((1, 0.0), (2, 0.2), (3, 0.4))]  # fmt: skip
    points = pd.DataFrame(rows, columns=["label", "seed", "step", *mapo_figures.LOGGED])
    figure, _ = mapo_figures.stability(points)
    line = figure.axes[0].lines[0]
    assert list(line.get_xdata()) == [2, 3]
    assert list(line.get_ydata()) == pytest.approx([0.2, 0.3])


def test_ablations_are_drawn_with_their_default():
    frame = pd.DataFrame(
        {"part": ["alpha", "alpha", "scope", "scope"], "value": ["0", "0.5", "b", "g"],
         "default": [False, True, True, False], "distance": [1.0, 2.0, 2.0, 3.0],
         "low": [0.0, 1.0, 1.0, np.nan], "high": [2.0, 3.0, 3.0, np.nan]}
    )  # fmt: skip
    figure, _ = mapo_figures.ablations(frame)
    assert [ax.get_ylabel() for ax in figure.axes] == ["alpha", "scope"]
    assert [ax.lines[-1].get_xdata()[0] for ax in figure.axes] == [2.0, 2.0]


# --- board ----------------------------------------------------------------------------


def test_the_board_has_all_axes_and_counts_what_failed():
    cards = mapo_board.official_cards(2)
    assert [c.dominant_axis for c in cards] == ["C", "C", "A", "A", "P", "P"]
    assert len(mapo_board.official_cards(99)) == 30
    told = [
        run_one(card, Heuristic(), *ROLES, RunSettings.empa(), seed=i)
        for i, card in enumerate(cards)
    ]
    failure = Failure("user", "api_error", "made to fail")
    told[0] = replace(told[0], ending="error", ended_by="failure", failure=failure)
    table = mapo_board.board({"x": told}, cards, rng=rng(), **HOW).set_index("axis")
    assert table["n"].to_dict() == {
        "all": 5, "cognitive": 1, "affective": 2, "proactive": 2
    }  # fmt: skip
    assert table["failed"].to_dict()["cognitive"] == 1
    assert table.loc["all", "comparable"].startswith("no")
    row = table.loc["affective"]
    assert row["success %"] == 100 * row["success"] / row["n"]


# --- tuning, settings and printed facts -----------------------------------------------


def test_every_method_is_tuned_alike_by_the_measure_of_the_comparison():
    grid = tuning.grid(tuning.FAMILIES["mapo"])
    made = pd.DataFrame([values for values, _ in grid])
    compared = {"GRPO", "PPO", "REINFORCE++", "turn-only", "batch-only", "MAPO"}
    assert set(made["method"]) == compared
    assert made.groupby("method").size().nunique() == 1
    for _, one in grid:
        assert (one.rules, one.reward, one.checks.rules) == ("empa", "distance", "empa")
        assert one.checks.split == "tune" and one.trainer.epsilon_high == 0.28
    checks = {one.checks.rules for _, one in tuning.grid(tuning.FAMILIES["rlver"])}
    assert checks == {"sage"}


def test_what_the_kit_is_said_to_do_is_what_its_settings_are():
    kit = load("mapo_settings").set_index("item")["kit"]
    laptop = settings_of("05", "laptop")
    assert kit["gamma"].startswith(f"{laptop.gamma:g}, a step a turn")
    assert kit["alpha (weight of the turn part)"] == f"{laptop.alpha:g}"
    assert kit["scope of the immediate part"] == laptop.scope
    trainer = TrainerSettings(1, 1e-3)
    clip = f"{trainer.epsilon_low:g} below, {laptop.epsilon_high:g} above"
    assert kit["clip"] == clip and float(kit["dual clip"]) == trainer.delta
    assert float(kit["eps"].split(",")[0]) == Credit("mixed").eps
    groups = laptop.dialogues // laptop.group
    dialogues = f"{laptop.dialogues}: {groups} scenarios x {laptop.group}"
    assert kit["dialogues a step"] == dialogues
    assert int(kit["updates a step"]) == laptop.updates
    replies = RULES["empa"]().max_replies
    assert kit["replies a dialogue"].startswith(f"{replies}, no early end")
    family = tuning.FAMILIES["mapo"]
    assert family.scale.minibatches == laptop.updates
    assert family.scale.dialogues == laptop.dialogues
    assert [f"{e:g}" for e in family.entropies] == [kit["entropy bonus"].split(",")[0]]
    tried = [float(x) for x in re.findall(r"[\d.]+(?:e-\d+)?", kit["learning rate"])]
    assert tuple(tried) == family.rates
    ppo = methods.METHODS["PPO"].credit
    assert ppo.gamma == ppo.lam == 1 and "gamma = lambda = 1" in kit["PPO"]
    assert methods.METHODS["MAPO"].credit == Credit(
        "mixed", gamma=laptop.gamma, alpha=laptop.alpha, scope=laptop.scope
    )


def test_smoke_is_small_and_real_policies_train_only_above_laptop():
    smoke = settings_of("05", "smoke")
    assert smoke.steps <= 2 and smoke.dialogues == 8
    for name in PROFILES:
        tiny = settings_of("05", name).policy == "tiny"
        assert tiny == (PROFILES[name].backend == "scripted")
        assert backend("05", name) == "scripted", "users and judge are rules"


def test_printed_numbers_keep_both_sides_of_a_contradiction():
    table = load("mapo_printed").set_index(["item", "row", "column"])["value"]
    gain = "gain of the dialogue score"
    assert table["EMPA", "7B base", f"{gain}, largest"] == 43.2
    assert table["EMPA", "Qwen2.5-7B", gain] == 42.5
    after = table["EMPA", "Qwen3-32B", "score after training"]
    before = table["EMPA", "Qwen3-32B", "score before training"]
    assert before == pytest.approx(after - table["EMPA", "Qwen3-32B", gain])
    board = wide("empa_readme_board")["EPMQ"]
    names = {"Claude 3.5 Sonnet": "Claude 3.5 Sonnet", "Qwen3-32B": "Qwen 3 32B",
             "Qwen3-8B": "Qwen 3 8B", "Qwen3-235B": "Qwen 3 235B"}  # fmt: skip
    for ours, theirs in names.items():
        assert table["README board", ours, "EPM-Q"] == board[theirs]


def test_scripts_and_notes():
    scripts = load("mapo_scripts")
    assert len(scripts) == 17 and scripts["script"].is_unique
    stated = scripts[scripts["differs"].fillna("").str.contains("weights")]
    assert stated["script"].tolist() == ["test_reinforce_pp_v5.sh"]
    notes = load("mapo_notes")
    assert notes["id"].is_unique and notes.notna().all(axis=None)
    assert {"name", "namesake", "overlap", "gain", "base"} <= set(notes["id"])
