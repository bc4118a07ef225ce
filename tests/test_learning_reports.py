"""Tables, figures, findings of training runs, on runs that scripted policies fake."""

import re

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from training_fakes import CHECKS, dialogues, fail, fake_run, fake_start, write_check

from helpers.agents.acts import Reading
from helpers.agents.calibration import acceptance, expression, mixed_set
from helpers.agents.roles import Outcome, RoleFailure
from helpers.data.scenarios import load_cards
from helpers.learning.results import scores
from helpers.learning.worlds import TEMPERS
from helpers.reporting import figures as look
from helpers.reporting import learning_cases as cases
from helpers.reporting import learning_figures as drawn
from helpers.reporting import learning_findings as said
from helpers.reporting import learning_measures as measured
from helpers.reporting import learning_tables as tables
from helpers.reporting import learning_users as users
from helpers.reporting.learning_looks import LOOKS, look_of
from helpers.reporting.rlver_drawn import RUN_LOOK
from helpers.reporting.tables import format_number
from helpers.scoring.capabilities import capability_table
from helpers.scoring.social_cognition import place
from helpers.scoring.strategies import Tagged, frequency

CARE = {"GRPO": 0.7, "GRPO, think": 0.8, "PPO": 0.6, "PPO, think": 0.9,
        "PPO, challenging": 0.4, "PPO, think, challenging": 0.8}  # fmt: skip
CARDS = {card.id: card for card in load_cards(CHECKS.split)}
HOW = {"draws": 200, "level": 0.95}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    return [fake_run(folder, label, seed, last=care - 0.1 * seed)
            for label, care in CARE.items() for seed in (0, 1)]  # fmt: skip


@pytest.fixture(scope="module")
def starts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("starts")
    return [fake_start(folder, "base"), fake_start(folder, "base, think", 0.35)]


@pytest.fixture(autouse=True)
def plain_figures():
    with plt.rc_context():
        look.theme()
        yield
    plt.close("all")


def rng():
    return np.random.default_rng(0)


def of(results, *labels):
    return [result for result in results if result.label in labels]


def printed_runs(runs):
    return [run for run in runs if "challenging" not in run.label]


# --- tables ---------------------------------------------------------------------------


def test_a_board_row_by_hand(runs, starts):
    table = tables.board(runs, starts, "vanilla", rng=rng(), **HOW).set_index("label")
    assert table.index.tolist() == ["base", "base, think", *CARE]
    row = table.loc["PPO, think"]
    pair = [[d.final_emotion for d in run.dialogues()] for run in of(runs, row.name)]
    assert row["score"] == pytest.approx(np.mean(pair))
    means = [np.mean(one) for one in pair]
    assert row["by seed"] == ", ".join(format_number(mean, 1) for mean in means)
    assert row["seed sd"] == pytest.approx(np.std(means, ddof=1))
    start = [d.final_emotion for d in starts[1].dialogues()]
    gain = np.mean(pair, axis=0) - start  # of the start that thinks, case by case
    assert row["gain"] == pytest.approx(np.mean(gain))
    assert row["gain low"] < row["gain"] < row["gain high"]
    assert row["low"] < row["score"] < row["high"]
    assert row["success"] == np.mean([e >= 100 for one in pair for e in one])
    assert row["failure"] == np.mean([e < 10 for one in pair for e in one])
    assert (row["runs"], row["n"], row["failed"]) == (2, 16, 0)
    base = table.loc[["base", "base, think"]]
    assert base[["gain", "gain low", "gain high", "seed sd"]].isna().all(axis=None)


def test_a_failed_dialogue_is_counted_and_is_no_score(tmp_path, starts):
    run = fake_run(tmp_path, "PPO", last=0.9)
    case = run.dialogues()[2].scenario_id
    fail(run, "vanilla", 2)
    row = tables.board([run], starts, "vanilla", rng=rng(), **HOW).iloc[-1]
    kept = [d for d in run.dialogues() if d.failure is None]
    assert (row["n"], row["failed"]) == (7, 1)
    assert row["score"] == pytest.approx(np.mean([d.final_emotion for d in kept]))
    before = {d.scenario_id: d.final_emotion for d in starts[0].dialogues()}
    gains = [d.final_emotion - before[d.scenario_id] for d in kept]
    assert row["gain"] == pytest.approx(np.mean(gains)) and len(gains) == 7
    other = fake_run(tmp_path, "PPO", seed=1, last=0.9)  # the case lives on by its seed
    frame = tables.by_case(scores([run, other], "vanilla"))
    assert frame[case] == other.dialogues()[2].final_emotion
    for k in range(8):
        fail(run, "vanilla", k)
    row = tables.board([run], starts, "vanilla", rng=rng(), **HOW).iloc[-1]
    assert (row["n"], row["failed"]) == (0, 8)
    assert row[["score", "low", "success", "gain"]].isna().all()


def test_a_board_refuses_what_cannot_be_compared(runs, starts):
    with pytest.raises(ValueError, match="'PPO, think' has no start that thinks"):
        tables.board(of(runs, "PPO, think"), starts[:1], "vanilla", 10, rng())
    with pytest.raises(ValueError, match="two starts of one mode"):
        tables.board(runs, [starts[0]] * 2, "vanilla", 10, rng())
    with pytest.raises(ValueError, match="'GRPO', seed 0: case .* is there twice"):
        tables.board(runs[:1] * 2, starts, "vanilla", 10, rng())


def test_pairs_are_differences_of_the_board(runs, starts):
    board = tables.board(runs, starts, "vanilla", rng=rng(), **HOW).set_index("label")
    claims = [*said.rlver_claims(), tables.Claim("base", ("PPO",), ("base",))]
    table = tables.pairs([*runs, *starts], claims, "vanilla", rng=rng(), **HOW)
    assert list(table.columns) == tables.PAIRS
    for row, claim in zip(table.itertuples(), claims, strict=True):
        more = board.loc[list(claim.more), "score"].sum()
        less = board.loc[list(claim.less), "score"].sum()
        assert row.difference == pytest.approx(more - less), row.compared
        assert row.low <= row.difference <= row.high and row.cases == 8
        assert row.verdict == tables.verdict(row.difference, row.low, row.high)
    assert table["n"].tolist() == [32, 32, 32, 32, 32, 64, 24]
    with pytest.raises(ValueError, match="no run is labelled 'DPO'"):
        tables.pairs(runs, [tables.Claim("x", ("DPO",), ("PPO",))], "vanilla", 9, rng())
    with pytest.raises(ValueError, match="as many labels on either side"):
        tables.Claim("x", ("PPO",), ("GRPO", "base"))


def test_verdicts():
    words = {(1, 0.5, 2): tables.AS_SAID, (-1, -2, -0.5): tables.AGAINST,
             (1, -1, 3): tables.OPEN, (1, 0, 3): tables.OPEN,
             (5, np.nan, np.nan): tables.BARE}  # fmt: skip
    for numbers, word in words.items():
        assert tables.verdict(*numbers) == word


def test_table_1_has_our_rows_beside_the_printed(runs, starts):
    own = tables.board(printed_runs(runs), starts, "vanilla", rng=rng(), **HOW)
    table = tables.table1(own).set_index("model")
    ours = table[table["status"] == "rerun"]
    assert [name.split(" (")[0] for name in ours.index] == [
        "base", "base, think", "PPO no-think", "PPO think", "GRPO no-think",
        "GRPO think",
    ]  # fmt: skip
    own = own.set_index("label")
    row = table.loc["PPO think"]
    for here, there in {"score": "score", "gain": "gain", "gain low": "gain low",
                        "by seed": "by seed", "tokens": "tokens"}.items():  # fmt: skip
        assert row[here] == own.loc["PPO, think", there]
    assert row["success %"] == 100 * own.loc["PPO, think", "success"]
    assert (row["failed"], row["score, printed"]) == (0, 79.2)
    base = table.loc["base, think"]
    assert base["score"] == own.loc["base, think", "score"] and base["n"] == 8
    assert np.isnan(base["score, printed"]) and np.isnan(base["gain"])
    rest = table[table["status"] != "rerun"]
    assert rest[["n", "failed", "score", "gain", "by seed"]].isna().all(axis=None)
    # Without a start that thinks there is no such row.
    some = tables.board(of(runs, "PPO"), starts[:1], "vanilla", rng=rng(), **HOW)
    assert "base, think" not in set(tables.table1(some)["model"])


# --- users ----------------------------------------------------------------------------


def test_table_3_measures_users_and_what_they_train(runs, starts):
    probes = mixed_set(load_cards("test")[:6])
    spoken = {name: starts[0].dialogues(name) for name in CHECKS.users}
    rates = users.user_rates(probes, spoken, rng=rng(), **HOW)
    ppo = [run for run in runs if run.label.startswith("PPO")]
    scored = users.user_scores(ppo, rng=rng(), **HOW)
    table = users.table3(rates, scored).set_index(["row", "column"])
    for name in ("vanilla", "challenging", "second"):
        k, n = acceptance(TEMPERS[name], probes)["all"]
        row = table.loc[name, users.ACCEPTANCE]
        assert (row["ours"], row["n"]) == (pytest.approx(100 * k / n), n)
        k, n = expression(spoken[name], TEMPERS[name].grammar)
        row = table.loc[name, users.EXPRESSION]
        assert (row["ours"], row["n"]) == (pytest.approx(100 * k / n), n)
        assert row["low"] <= row["ours"] <= row["high"]
    cell = table.loc["challenging, think", "Sentient, challenging version"]
    frame = scores(of(runs, "PPO, think, challenging"), "challenging")
    assert cell["ours"] == pytest.approx(frame["emotion"].mean())
    assert (cell["printed"], cell["n"], cell["status"]) == (44.7, 16, "rerun")
    fitted = table[table["status"] == "calibrated"]
    assert fitted.index.tolist() == [
        (user, rate) for user in ("vanilla", "challenging")
        for rate in (users.ACCEPTANCE, users.EXPRESSION)
    ]  # fmt: skip
    said_so = table["note"].astype(str).str.startswith(users.CALIBRATED)
    assert table[said_so].index.equals(fitted.index)
    assert (fitted["note"].str.len() > len(users.CALIBRATED) + 2).all()
    extra = table.loc["vanilla, no-think", "Sentient, second user"]
    assert np.isnan(extra["printed"]) and extra["item"] == "not in the paper"
    assert len(table) == 18 and table["ours"].notna().all()
    nobody = users.user_rates(probes, {"vanilla": []}, rng=rng(), **HOW)
    assert nobody["value"].isna().tolist() == [False, True] and nobody["n"].iloc[1] == 0


# --- findings -------------------------------------------------------------------------


def numbers(text):
    return re.findall(r"\d+\.\d", text)


def test_findings_say_what_the_frames_say(runs, starts):
    board = tables.board(runs, starts, "vanilla", rng=rng(), **HOW)
    pairs = tables.pairs(runs, said.rlver_claims(), "vanilla", rng=rng(), **HOW)
    steady = said.steadiness(board, [("GRPO", "PPO")])
    own = board.set_index("label")["seed sd"]
    assert steady["difference"].item() == pytest.approx(own["PPO"] - own["GRPO"])
    pairs = pd.concat([pairs, steady], ignore_index=True)
    text = said.findings(board, pairs)
    claims = [said.TRAINED, said.THINK, said.BEST, said.HARDER, said.STEADY]
    assert [line.split(":")[0] for line in text[:-1]] == claims
    held = [frame.select_dtypes("number").to_numpy(float) for frame in (board, pairs)]
    shown = {format_number(abs(x), 1) for part in held for x in part.ravel()}
    assert len(numbers(" ".join(text))) == 3 * (6 + 2 + 3 + 1) + 3
    assert set(numbers(" ".join(text))) <= shown
    assert text[-1] == said.NOTE


def test_findings_do_not_hide_what_goes_the_other_way():
    board = pd.DataFrame({"label": ["base"], "gain": [np.nan]})
    board[["gain low", "gain high"]] = np.nan
    rows = [
        ("T", "a over b", "points", 3.0, 1.0, 5.0, 9, 3, tables.AS_SAID),
        ("T", "c over d", "points", -3.25, -5.0, -1.0, 9, 3, tables.AGAINST),
        ("T", "e over f", "points", 0.5, -1.0, 2.0, 9, 3, tables.OPEN),
        ("S", "g over h", "points", -2.0, np.nan, np.nan, 9, 3, tables.BARE),
    ]
    first, second, _ = said.findings(board, pd.DataFrame(rows, columns=tables.PAIRS))
    assert first == (
        "T: shows in 1 of 3 comparisons. Shown: a over b +3.0 points (+1.0 to +5.0). "
        "Not told apart from zero: e over f +0.5 points (-1.0 to +2.0). "
        "The other way: c over d -3.3 points (-5.0 to -1.0)."
    )
    assert second == (
        "S: neither shown nor refuted, along the claim in 0 of 1. "
        "Without an interval: g over h -2.0 points."
    )


# --- points ---------------------------------------------------------------------------


def test_a_curve_has_the_same_cards_at_every_step(runs):
    points = measured.curve_points(runs)
    one = points[(points["label"] == "GRPO, think") & (points["seed"] == 1)]
    assert one["step"].tolist() == [0, 20, 40] and set(one["n"]) == {5}
    (run,) = [r for r in of(runs, "GRPO, think") if r.recipe.trainer.seed == 1]
    last = run.dialogues()[: CHECKS.curve_cards]  # of eight: the curve's five
    assert one["emotion"].iloc[-1] == np.mean([d.final_emotion for d in last])
    tokens = [np.mean([t.completion_tokens for t in d.turns]) for d in last]
    assert one["tokens"].iloc[-1] == pytest.approx(np.mean(tokens))


def test_strategies_and_places_are_counted_over_all_seeds(runs):
    pair = of(runs, "PPO, think")
    points = measured.strategy_points(pair)
    both = Tagged.of([d for run in pair for d in run.dialogues(step=20)])
    part = points[points["step"] == 20].set_index("group")
    assert part["dialogues"].unique().tolist() == [10]
    uses = sum("restating" in tags for _, tags in both.turns)
    assert uses and part.loc["Deep Empathy", "n"] >= uses
    assert "restating" not in part.index
    unused = points["n"] == 0
    assert unused.any() and (points["change"].isna() == unused).all()
    path = measured.place_points(pair).set_index("step")
    at = place(both)
    assert path.loc[20, ["x", "y"]].tolist() == [at.x, at.y]
    assert path.index.tolist() == [0, 20, 40]


def test_capabilities_with_the_printed_values_beside(runs, starts):
    points = measured.capability_points([*starts, *runs], "second", rng=rng(), **HOW)
    table = points.set_index(["label", "capability"])
    assert (table["value"].between(1, 5)).all() and set(points["failed"]) == {0}
    assert (table["low"] <= table["value"]).all()
    assert table.loc[("PPO, think", "Core Insight"), "printed"] == 3.44
    assert table.loc[("PPO", "Solution Crafting"), "printed"] == 3.77
    assert points[points["printed"].notna()]["label"].unique().tolist() == [
        "GRPO", "GRPO, think", "PPO", "PPO, think",
    ]  # fmt: skip
    spoken = [d for run in of(runs, "PPO, think") for d in run.dialogues("second")]
    by_grammar = [
        capability_table(spoken, CARDS, grammar=grammar)["Style Adaptability"].mean()
        for grammar in ("second", "first")
    ]
    value = table.loc[("PPO, think", "Style Adaptability"), "value"]
    assert value == pytest.approx(by_grammar[0]) and by_grammar[0] != by_grammar[1]
    trained = points.groupby("label")["value"].mean()
    assert trained["PPO, think"] > trained["base"]


# --- figures --------------------------------------------------------------------------


def test_a_label_looks_the_same_everywhere():
    for label in CARE:
        colour, mark, line = look_of(label)
        assert (colour, mark) == RUN_LOOK[tables.variant(label)]
        assert (line == "--") == ("challenging" in label)
    assert len(set(LOOKS.values())) == len(LOOKS)
    assert len({mark for _, mark in LOOKS.values()}) == len(LOOKS)
    with pytest.raises(ValueError, match="'DPO' has no look"):
        look_of("DPO")


def test_learning_curves_draw_means_and_ranges(runs):
    points = measured.curve_points(printed_runs(runs))
    figure, data = drawn.learning_curves(points)
    assert len(data[data["source"] == drawn.DEMO]) == 4 * 2 * 3
    assert len(data[data["source"] == "printed"]) == 2 * 9 + 2 * 8
    ax = figure.axes[0]
    assert ax.get_title() == "PPO, offline demo"
    by_step = points[points["label"] == "PPO"].groupby("step")["emotion"]
    drawn_lines = [list(line.get_ydata()) for line in ax.lines]
    assert by_step.mean().tolist() in drawn_lines
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert band.min() == by_step.min().min() and band.max() == by_step.max().max()
    titles = [one.get_title() for one in figure.axes]
    assert titles[-2:] == ["PPO, printed", "GRPO, printed"]
    assert all(one.get_xlabel() and one.get_ylabel() is not None for one in figure.axes)


def test_an_unused_strategy_is_a_gap_and_not_zero(runs):
    points = measured.strategy_points(printed_runs(runs))
    gone = (points["group"] == "Praise") & (points["label"] == "PPO")
    points.loc[gone & (points["step"] == 20), ["change", "n"]] = (np.nan, 0)
    figure, data = drawn.strategy_contribution(points)
    said_there = data[data["source"] == "printed"]
    assert said_there["change"].tolist() == [4.09, -4.0]
    ax = figure.axes[0]
    assert ax.get_title() == "Praise"
    colour, _, _ = look_of("PPO")
    own = [one for one in ax.lines if one.get_color() == colour]
    line = next(one for one in own if one.get_linestyle() == "-")
    assert np.isnan(line.get_ydata()).tolist() == [False, True, False]
    few = (points["n"] < drawn.FEW) & points["change"].notna()
    few &= points["kind"] == "group"
    opened = [y for one in figure.axes for dots in one.lines for y in dots.get_ydata()
              if dots.get_markerfacecolor() == "white" and not np.isnan(y)]  # fmt: skip
    assert few.any() and len(opened) == few.sum()
    text = " ".join(t.get_text() for t in figure.axes[5].texts)
    assert "Deep Empathy 4.09" in text and "Printed" in text and drawn.DEMO in text
    figure, _ = drawn.strategy_frequency(points)
    assert figure.axes[0].get_ylim()[0] == 0


def test_the_map_has_printed_cells_in_panels_of_their_own(runs):
    points = measured.place_points(printed_runs(runs))
    points.loc[points["step"] == 20, ["x", "y"]] = np.nan
    figure, _ = drawn.cognition_paths(points)
    titles = [ax.get_title() for ax in figure.axes]
    assert titles[0] == "GRPO\noffline demo" and titles[4] == "GRPO no-think, printed"
    assert np.isnan(figure.axes[0].lines[0].get_xdata()[1])
    assert [t.get_text() for t in figure.axes[0].texts] == ["0", "40"]


def test_capabilities_are_drawn_apart_from_the_printed(runs, starts):
    points = measured.capability_points(
        [*starts, *of(runs, "PPO", "PPO, challenging")], "vanilla", rng=rng(), **HOW
    )
    figure, _ = drawn.capabilities(points)
    own, printed = figure.axes
    assert drawn.DEMO in own.get_title() and "printed" in printed.get_title()
    values = [y for line in printed.lines for y in line.get_ydata() if y > 1]
    assert [v for v in values if not np.isnan(v)] == [3.77]


def test_a_source_replaces_the_offline_demo_in_every_title(runs, starts):
    few, name = of(runs, "PPO", "GRPO"), "users: a model"
    logged = measured.log_points(few, list(drawn.LOGGED))
    tagged = measured.strategy_points(few)
    able = measured.capability_points(starts[:1], "vanilla", rng=rng(), **HOW)
    case = cases.median_case(of(runs, "PPO"), starts[0])
    made = [
        drawn.learning_curves(measured.curve_points(few), source=name),
        drawn.strategy_frequency(tagged, source=name),
        drawn.strategy_contribution(tagged, source=name),
        drawn.cognition_paths(measured.place_points(few), source=name),
        drawn.capabilities(able, source=name),
        drawn.diagnostics(logged, source=name),
        cases.case_study(case, 1, 2, source=name),
    ]
    for figure, data in made:
        text = " ".join(t.get_text() for t in figure.findobj(plt.Text))
        assert name in text and drawn.DEMO not in text and "scripted" not in text
        assert "source" not in data or drawn.DEMO not in set(data["source"])


def test_diagnostics_leave_out_what_a_method_does_not_log(runs):
    names = list(drawn.LOGGED)
    points = measured.log_points(runs, names)
    grpo = points["label"].str.startswith("GRPO")
    assert points.loc[grpo, names[-1]].isna().all()
    assert points.loc[~grpo & (points["step"] < 3), names[-1]].isna().all()
    assert points.groupby(["label", "seed"])["step"].max().unique().tolist() == [40]
    figure, _ = drawn.diagnostics(points)
    colours = {line.get_color() for line in figure.axes[4].lines}
    assert colours == {look_of(label)[0] for label in CARE if "PPO" in label}
    reward = figure.axes[0].lines[-1].get_ydata()
    part = points[points["label"] == list(CARE)[-1]]
    smooth = part.groupby("seed")["reward"].rolling(drawn.SMOOTH, min_periods=1).mean()
    assert reward[-1] == pytest.approx(smooth.groupby("seed").last().mean())


def test_one_seed_and_two_steps_are_enough(tmp_path, starts):
    few = [fake_run(tmp_path, label, steps=2) for label in ("PPO", "GRPO")]
    board = tables.board(few, starts, "vanilla", rng=rng(), **HOW)
    assert board["seed sd"].isna().all() and board["gain"].notna().sum() == 2
    steady = said.steadiness(board, [("GRPO", "PPO")])
    assert "GRPO is steadier than PPO: nothing to judge by." in " ".join(
        said.findings(board, steady)
    )
    points = measured.curve_points(few)
    assert points["step"].tolist() == [0, 2] * 2
    drawn.learning_curves(points)
    drawn.cognition_paths(measured.place_points(few))
    drawn.strategy_contribution(measured.strategy_points(few))
    figure, _ = drawn.diagnostics(measured.log_points(few, list(drawn.LOGGED)))
    ticks = figure.axes[0].get_xticks()
    assert (ticks == ticks.round()).all()


# --- case study -----------------------------------------------------------------------


def test_the_case_is_the_median_one(runs, starts):
    pair = of(runs, "PPO, think")
    case = cases.median_case(pair, starts[1])

    def felt(result):
        return {d.scenario_id: d.final_emotion for d in result.dialogues()}

    gains = pd.DataFrame({run.recipe.trainer.seed: felt(run) for run in pair})
    gains = gains.sub(pd.Series(felt(starts[1])), axis=0)
    mean = gains.mean(axis=1)
    assert case.median == mean.median() and case.of == 8
    distance = (mean - mean.median()).abs()
    assert case.id == min(distance.index[distance == distance.min()])
    assert case.gain == gains.loc[case.id, case.seed] and case.seed == 0
    assert case.after.final_emotion - case.before.final_emotion == case.gain
    assert "PPO, think" in case.rule
    assert cases.median_case(pair[::-1], starts[1]) == case
    with pytest.raises(ValueError, match="runs of several are given"):
        cases.median_case(runs, starts[1])


def test_the_case_needs_a_dialogue_that_all_finished(tmp_path, starts):
    run = fake_run(tmp_path, "PPO, think")
    for k in range(8):
        fail(run, "vanilla", k)
    with pytest.raises(ValueError, match="no case that the start and all runs"):
        cases.median_case([run], starts[1])


def test_the_case_study_holds_every_word_and_stays_in_its_column(tmp_path, starts):
    run = fake_run(tmp_path, "PPO, think", last=1.0)
    told = dialogues(run.recipe, 1.0, "vanilla", 8)
    write_check(run.folder, run.steps, "vanilla", told)
    case = cases.median_case([run], starts[1])
    shown = ""
    for first, last in ((1, 4), (5, 9)):
        figure, data = cases.case_study(case, first, last)
        figure.canvas.draw()
        left, right, trace, _ = figure.axes
        for ax in (left, right):
            boxes = [t.get_window_extent() for t in ax.texts]
            area = ax.get_window_extent()
            assert max(box.x1 for box in boxes) <= area.x1 + 1
            assert min(box.y0 for box in boxes) >= area.y0 - 1
            lows = [b.y0 for b in boxes]
            assert lows == sorted(lows, reverse=True)
        shown += " ".join(t.get_text().strip() for t in right.texts) + " "
        length = len(case.before.turns) + 1
        assert [len(one.get_ydata()) for one in trace.lines] == [length]
    shown = re.sub(r"\s+", " ", shown)
    for turn in case.after.turns:
        assert f"Policy: {turn.reply}" in shown and f"User: {turn.user}" in shown
        assert turn.think in shown
    policy = data[(data["side"] == "after") & (data["speaker"] == "policy")]
    assert policy["text"].tolist() == [turn.reply for turn in case.after.turns]
    assert policy["emotion"].iloc[-1] == case.after.final_emotion


def test_capabilities_by_a_model_keep_what_could_not_be_read(starts):
    """A stand-in judge that fails on some dialogues: missing, never a score."""

    class Judge:
        def capabilities(self, dialogue):
            if dialogue.scenario_id.endswith("1"):
                raise RoleFailure("judge", Outcome.JUDGE_UNPARSEABLE, "no JSON")
            return dict.fromkeys(measured.CAPABILITIES, 4)

    points = measured.capability_points(
        starts[:1], "vanilla", rng=rng(), judge=Judge(), **HOW
    )
    assert (points["value"] == 4).all() and (points["failed"] > 0).all()


def test_capabilities_are_read_by_the_reader_that_is_given(starts):
    """A stand-in reader that makes no sense of anything: nothing is earned."""

    def deaf(reply, user_line):
        return Reading((), noise=True, echo=False, parts=())

    points = measured.capability_points(
        starts[:1], "vanilla", rng=rng(), reader=deaf, **HOW
    )
    assert (points["value"] == 1).all() and (points["failed"] == 0).all()
    plain = measured.capability_points(starts[:1], "vanilla", rng=rng(), **HOW)
    assert (plain["value"] > 1).any()


def test_places_by_a_model_are_its_answers_or_missing(tmp_path):
    """A stand-in judge that answers once, fails, and answers again."""
    run = fake_run(tmp_path, "PPO, think")
    before = run.dialogues(step=0)
    fail(run, "vanilla", 0)  # of the last check
    asked = []

    class Judge:
        def place(self, shares, dialogues):
            asked.append((dict(shares), [d.scenario_id for d in dialogues]))
            if len(asked) == 2:
                raise RoleFailure("judge", Outcome.JUDGE_UNPARSEABLE, "no JSON")
            return 1.5, -2.0

    path = measured.place_points([run], judge=Judge()).set_index("step")
    assert path.loc[[0, 40], ["x", "y"]].to_numpy().tolist() == [[1.5, -2.0]] * 2
    assert path.loc[20, ["x", "y"]].isna().all() and path["failed"].tolist()[-1] == 1
    shares, shown = asked[0]
    assert shown == [d.scenario_id for d in before[: measured.SHOWN]]
    used = frequency(Tagged.of(before))["share"].dropna()
    assert {name: shares[name] for name in used.index} == used.to_dict()
    assert run.dialogues()[0].scenario_id not in asked[-1][1]
    for k in range(CHECKS.curve_cards):
        fail(run, "vanilla", k)
    path = measured.place_points([run], judge=Judge()).set_index("step")
    assert path.loc[40, ["x", "y"]].isna().all() and len(asked) == 5
