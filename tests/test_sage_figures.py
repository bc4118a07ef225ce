"""What the figures and tables of notebook 02 compute: intervals, points, F1, places."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from helpers.data import sage_tables
from helpers.data.published import load, wide
from helpers.data.sage_records import read_records
from helpers.data.scenarios import load_cards
from helpers.reporting import sage_board, sage_figures, world_figures
from helpers.sandbox.dialogue import Dialogue, Failure, Turn

V3 = sage_board.JUDGES["DeepSeek-V3"]


def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="module")
def records():
    return read_records()


@pytest.fixture(scope="module")
def points(records):
    return sage_board.token_points(records, load("sage_digitised"))


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


# --- tables -----------------------------------------------------------------------


def test_twelve_rows_of_table_3_are_exact_in_three_columns(records):
    board = sage_board.table3(records, wide("sage_table3"), 50, rng(), 0.95)
    exact = board[board["status"] == "exact"]
    assert (len(board), len(exact)) == (18, 12)
    assert (exact["equal"] == "yes").all()
    assert (exact["low"] < exact["score"]).all()
    assert (exact["score"] < exact["high"]).all()
    rest = board[board["status"] == "printed"]
    columns = ["n", "score", "low", "high", "success", "failure", "equal"]
    assert rest[columns].isna().all(axis=None)
    assert rest["score, printed"].notna().all()


def test_a_changed_record_is_seen_as_a_difference(records):
    one = records[(records["judge"] == V3) & (records["model"] == "gpt-4.1")].copy()
    last = one.index[one["turn"] == one["turn"].max()][:4]
    one.loc[last, "emotion"] = 0
    changed = pd.concat([records[records["model"] != "gpt-4.1"], one])
    board = sage_board.table3(changed, wide("sage_table3"), 5, rng(), 0.95)
    assert board.set_index("model").loc["GPT-4.1", "equal"] == "no"


def test_intervals_are_those_of_the_scenarios(records):
    few = records[records["judge"] == V3]
    means = sage_board.intention_means(few, 50, rng(), 0.95).set_index("intention")
    plain = sage_tables.by_intention(few)["mean"]
    assert np.allclose(means["estimate"], plain[means.index])
    assert means["scenarios"].sum() == 100 and means["n"].sum() == 1200


def test_table_1_is_exact_only_where_models_are_shared(records, points):
    table = sage_board.table1(records, points, load("sage_table1"), 50, rng(), 0.95)
    assert table["models with files"].tolist() == [6, 1, 0, 1, 0, 0]
    assert table["from files"].notna().sum() == 1
    # One swap of neighbours among six: 1 - 6 * 2 / (6 * 35).
    assert table["from files"][0] == pytest.approx(1 - 12 / 210)
    assert table["low"][0] <= table["from files"][0] <= table["high"][0]
    # Recomputed independently from the read-off points (fact sheet, A7).
    expected = [0.842, 0.915, 0.939, 0.915, 0.927, 0.927]
    assert table["from Fig. 8"].tolist() == pytest.approx(expected, abs=0.0006)


def test_spearman_shares_ranks_of_ties():
    assert sage_board.spearman([[1, 2, 3], [10, 20, 30]]) == pytest.approx(1)
    assert sage_board.spearman([[1, 2, 3], [3, 2, 1]]) == pytest.approx(-1)
    # ranks 1.5, 1.5, 3 against 1, 2, 3
    assert sage_board.spearman([[5, 5, 9], [1, 2, 3]]) == pytest.approx(0.75**0.5)


def test_read_off_points_stand_beside_files(points):
    assert len(points) == 40 and points["n"].notna().sum() == 14
    assert points["recomputed"].isna().equals(points["n"].isna())
    assert (points["recomputed"] - points["emotion"]).abs().max() <= 0.5


def test_curves_begin_at_40_and_end_at_the_score(records):
    curves = sage_board.emotion_curves(records)
    assert list(curves.index) == list(range(10)) and len(curves.columns) == 12
    assert (curves.iloc[0] == 40).all()
    score = sage_tables.leaderboard(records)["score"]
    assert np.allclose(curves.iloc[-1][score.index], score)


# --- steps ------------------------------------------------------------------------


def test_step_shares_equal_the_plain_tables(records):
    table = sage_board.step_shares(records, V3, 20, rng(), 0.95)
    share = table.set_index(["group", "step"])["share"]
    plain = sage_tables.transitions(records)
    for state in "ABC":
        for step in sage_board.STEPS:
            assert share[state, step] == pytest.approx(plain.loc[state, step])
    stays = sage_tables.persistence(records)
    assert share["rise after rise"].iloc[0] == pytest.approx(stays["positive"])
    assert share["fall after fall"].iloc[0] == pytest.approx(stays["negative"])
    assert (table["low"] <= table["share"]).all()
    assert (table["share"] <= table["high"]).all()


def dialogue(card, emotions, failure=None):
    turns, before = [], 40
    for number, emotion in enumerate(emotions, 1):
        turns.append(
            Turn(number, "u", "r", emotion_before=before, emotion_after=emotion)
        )
        before = emotion
    return Dialogue(
        scenario_id=card.id, repeat=0, seed=0, settings_hash="x", turns=tuple(turns),
        ending="error" if failure else "timeout",
        ended_by="failure" if failure else "limit", decided_turn=len(turns),
        initial_emotion=40, failure=failure,
    )  # fmt: skip


def test_own_dialogues_get_the_columns_of_the_release():
    one, two, three = load_cards("dev")[:3]
    broken = dialogue(three, [45], Failure("user", "api_error", "no answer"))
    played = [dialogue(one, [50, 45, 50]), dialogue(two, [30, 20]), broken]
    cards = {card.id: card for card in (one, two, three)}
    frame = sage_board.as_records(played, cards, "j", "m")
    assert frame["dialogue"].unique().tolist() == [one.id, two.id]
    assert frame["emotion"].tolist() == [40, 50, 45, 50, 40, 30, 20]
    assert frame["change"].isna().tolist() == [1, 0, 0, 0, 1, 0, 0]
    final = sage_tables.dialogues(frame).set_index("dialogue")
    assert final["final"].to_dict() == {one.id: 50, two.id: 20}
    assert final["turns"].to_dict() == {one.id: 4, two.id: 3}
    table = sage_board.step_shares(frame, "j", 10, rng(), 0.95)
    share = table.set_index(["group", "step"])
    assert share.loc[("B", 10), "n"].item() == 4  # 40, 50, 45 and 40 before the reply
    assert share.loc[("B", 10), "share"].item() == 0.25
    assert share.loc[("C", -10), "share"].item() == 1
    assert np.isnan(share.loc[("A", 5), "share"].item())  # nobody was there: not 0
    assert share.loc["fall after fall", "share"].item() == 0.5


# --- figures ----------------------------------------------------------------------


def test_correlations_of_figures_4_and_5():
    part = load("sage_digitised").query("item == 'Figs. 4-5'")
    eight = part.pivot(index="row", columns="column", values="value")
    _, data = sage_figures.dimensions(eight, sage_figures.BLRI, False, "score")
    found = data.attrs["pearson"]
    own = eight["Emotion"].corr(eight["Congruence"])
    assert found["Congruence"] == pytest.approx(own)
    long = eight[sage_figures.BLRI].stack()
    emotion = eight["Emotion"].loc[long.index.get_level_values(0)]
    pooled = np.corrcoef(emotion, long)[0, 1]
    assert found["pooled"] == pytest.approx(pooled)
    _, data = sage_figures.dimensions(eight, sage_figures.UTTERANCE, True, "score")
    drawn = data.set_index("model")["emotion as drawn"]
    # The values that the text names on the scale 1 to 5.
    named = {"Gemini2.5-Think": 3.64, "Claude3.7-Think": 3.45, "GPT-4o": 2.27}
    for model, value in named.items():
        assert drawn[model] == pytest.approx(value, abs=0.006)


@pytest.mark.parametrize(
    ("values", "gap", "expected"),
    [
        ([1, 10], 2, [1, 10]),
        ([5, 5], 2, [4, 6]),
        ([0, 1, 2, 30], 3, [-2, 1, 4, 30]),
    ],
)
def test_labels_are_spread_and_stay_near(values, gap, expected):
    assert sage_figures.spread(values, gap).tolist() == pytest.approx(expected)


def test_figure_9_draws_no_heights():
    nine = load("sage_fig9").set_index(["row", "column"])["value"]
    ranks = nine[:, "rank of the bar"]
    figure, data = sage_figures.repetition_order(ranks, (0.25, 0.55), 0.4)
    assert data["rank of the bar"].tolist() == list(range(1, 19))
    assert data["SSRR"].isna().all()
    widths = {round(bar.get_width(), 6) for bar in figure.axes[0].patches}
    assert widths == {0.3}, "every bar fills the axis: none says a value"


def test_one_dialogue_shows_every_turn():
    frame = pd.DataFrame(
        {
            "user": ["it is about the exam", "hmm"],
            "reply": ["what happened then ?", "time heals ."],
            "emotion_before": [40, 45],
            "emotion": [45, 35],
            "distance_before": [9.0, 8.0],
            "distance": [8.0, 10.0],
            "trust": [1, 0],
            "told": [1, 0],
        }
    )
    figure, data = world_figures.one_dialogue({"a": frame, "b": frame[:1]})
    assert data["listener"].tolist() == ["a", "a", "b"]
    words = [text.get_text() for text in figure.axes[0].texts]
    assert {"it is about the exam", "time heals ."} <= set(words)
    line = figure.axes[1].lines[0]
    assert line.get_xdata().tolist() == [40, 45, 35]


def test_algorithm_2_names_roles_and_endings():
    _, data = world_figures.algorithm_2()
    assert (data["kind"] == "role").sum() == 5
    assert (data["kind"] == "ending").sum() == 4


def test_audit_picture_keeps_the_order_of_each_score():
    rows = pd.DataFrame(
        [
            ("distance", "oracle", 3, 0.9, 0.8, 1.0),
            ("distance", "heuristic", 3, 0.6, 0.5, 0.7),
            ("distance", "parrot", 3, -2.0, -2.5, -1.5),
            ("emotion", "oracle", 3, 60.0, 60.0, 60.0),
            ("emotion", "heuristic", 3, 40.0, 35.0, 45.0),
            ("emotion", "best constant: x .", 3, -10.0, -20.0, 0.0),
        ],
        columns=["score", "policy", "n", "mean", "low", "high"],
    )
    figure, data = world_figures.audit_picture(rows)
    names = [[label.get_text() for label in ax.get_yticklabels()] for ax in figure.axes]
    assert names[0] == ["parrot", "heuristic", "oracle"]
    assert names[1] == ["best constant", "heuristic", "oracle"]
    assert data.equals(rows)


def test_f1_by_hand():
    true = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]])
    read = np.array([[1, 0, 0], [0, 1, 0], [0, 1, 1], [1, 1, 0]])
    got = world_figures.f1_intervals(true, read, 200, rng(), 0.95)
    assert got[0, 0] == pytest.approx(2 * 2 / 5)  # 2 hits, 1 missed, 0 false
    assert got[1, 0] == pytest.approx(2 * 2 / 5)  # 2 hits, 0 missed, 1 false
    assert np.isnan(got[2]).all(), "an act that is never labelled has no F1"
    assert got[3, 0] == pytest.approx(0.8)
    assert (got[[0, 1, 3], 1] <= got[[0, 1, 3], 0]).all()
    assert (got[[0, 1, 3], 0] <= got[[0, 1, 3], 2]).all()
