"""RLVER's printed numbers: that they fit together, and what is made of them."""

import re

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from release_folder import release

from helpers.agents import calibration
from helpers.agents.scripted import CHALLENGING, VANILLA
from helpers.data.importers import import_sage
from helpers.data.published import load, wide
from helpers.data.sage_records import read_records
from helpers.learning import tiny
from helpers.learning.worlds import make_world
from helpers.paths import ROOT
from helpers.reporting import figures as look
from helpers.reporting import rlver_drawn as drawn
from helpers.reporting import rlver_printed as printed
from helpers.sandbox.episode import RunSettings


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def records():
    return read_records()


# --- the numbers fit together ---------------------------------------------------------


def test_table_1_agrees_with_the_board_of_the_repository():
    here, board = wide("rlver_table1"), wide("sage_readme_board")
    pairs = {
        "Gemini2.5-Pro-0605": "Gemini2.5-Pro-Preview-0605",
        "GPT-4o-0326": "GPT-4o-0326",
        "GPT-4.1-0414": "GPT-4.1",
        "Gemini2.5-Flash-Think-0520": "Gemini2.5-Flash-Think-0520",
        "o3-0416": "o3",
    }
    for ours, theirs in pairs.items():
        for name in ("score", "success", "failure"):
            assert here.loc[ours, f"Sentient {name}"] == board.loc[theirs, name], ours
    assert here.shape == (10, 6) and here.notna().all(axis=None)


def test_table_3_agrees_with_table_1_and_with_what_the_users_were_fitted_to():
    one, three = wide("rlver_table1"), wide("rlver_table3")
    for think in ("no-think", "think"):
        score = one.loc[f"PPO {think}", "Sentient score"]
        assert three.loc[f"vanilla, {think}", "Sentient"] == score
    for temper in (VANILLA, CHALLENGING):
        row = three.loc[temper.name]
        accepted = calibration.ACCEPTANCE[temper.name]
        assert row["strategy acceptance rate"] == pytest.approx(100 * accepted)
        level = row["emotion and need expression level"]
        assert level == pytest.approx(100 * temper.frankness)


def test_unknown_values_are_absent():
    known = load("rlver_capabilities")
    assert not {"Dialogue Guidance", "Style Adaptability"} & set(known["column"])
    assert printed.BASE not in set(known["row"]) and known["n"].isna().all()
    chat = load("rlver_table1").query("column.str.startswith('Chit-chat')")
    assert chat["n"].isna().all()
    settings = load("rlver_settings").set_index("item")
    assert settings.loc[["critic", "clip", "KL"], "paper"].isna().all()
    assert settings["released script"].notna().all() and settings.index.is_unique


def test_disagreements_and_traps_say_all_five_things():
    for name, rows in (("rlver_disagreements", 16), ("rlver_traps", 10)):
        table = load(name)
        assert len(table) == rows and table["id"].is_unique, name
        assert table.notna().all(axis=None), name
    index = load("rlver_traps").set_index("id").loc["index", "kit"]
    assert (ROOT / re.search(r"\S+\.py", index)[0]).is_file(), index


def test_what_the_kit_is_said_to_do_is_what_its_settings_are():
    kit = load("rlver_disagreements").set_index("id")["kit"]
    train, test = RunSettings.rlver_training(), RunSettings.sage()
    assert f"trains with {train.max_replies} replies" in kit["turns"]
    assert f"{test.max_replies} scored replies" in kit["turns"]
    start = f"trains from {train.emotion.start}, evaluates from {test.emotion.start}"
    assert start == kit["start"]
    assert (train.emotion.clip, test.emotion.clip) == (None, 10)
    clips = [make_world("rlver", user, "a-model").settings.emotion.clip
             for user in ("vanilla", "challenging")]  # fmt: skip
    assert clips == [10, None]
    assert "10 in evaluation; in training 10 for a vanilla user" in kit["clip"]
    assert "none for a challenging one" in kit["clip"]
    _, chat = tiny.load()
    unclosed = chat.tokenizer.encode("You feel sad.", add_special_tokens=False)
    thought, shown, visible = chat.split(unclosed)
    assert thought is None and shown and visible == unclosed
    assert "without a closing think tag is shown whole" in kit["format"]


# --- tables ---------------------------------------------------------------------------


def own(**changes):
    rows = [
        ("base", 20.0, 0.0, 0.8, 64, 18.0, 22.0),
        ("PPO think", 50.0, 0.25, 0.125, 64, 45.0, 55.0),
    ]
    frame = pd.DataFrame(rows, columns=printed.OURS)
    for column, value in changes.items():
        frame.loc[1, column] = value
    return frame


def test_table_1_with_our_rows_beside():
    table = printed.table1(own()).set_index("model")
    row = table.loc["PPO think"]
    assert (row["success %"], row["failure %"], row["gain"]) == (25, 12.5, 30)
    assert row["score, printed"] == 79.2
    assert row["gain, printed"] == pytest.approx(79.2 - 13.3)
    assert table.index[table["status"] == "rerun"].tolist() == [
        f"base (printed: {printed.BASE})", "PPO think",
    ]  # fmt: skip
    rest = table[table["status"] != "rerun"]
    assert (
        rest[["n", "score", "low", "high", "success %", "gain"]].isna().all(axis=None)
    )
    assert table["score, printed"].notna().all()


def test_table_1_without_a_run_and_with_a_failed_one():
    table = printed.table1()
    assert (table["status"] == "printed, not run").all() and table["n"].isna().all()
    # All dialogues failed: it was run, and there is no score.
    failed = printed.table1(own(score=None)).set_index("model").loc["PPO think"]
    assert failed["status"] == "rerun" and pd.isna(failed["score"])


def test_table_1_refuses_what_it_cannot_place():
    with pytest.raises(ValueError, match="no printed row for .*'DPO'"):
        printed.table1(own(variant="DPO"))
    with pytest.raises(ValueError, match="'base'. twice"):
        printed.table1(own(variant="base"))
    with pytest.raises(ValueError, match="no column 'low'"):
        printed.table1(own().drop(columns="low"))
    with pytest.raises(ValueError, match="shares within 0..1"):
        printed.table1(own(success=25.0))


def test_tables_2_and_3_with_our_cells_beside():
    ours = pd.DataFrame(
        [("vanilla", "strategy acceptance rate", 53.0, 50.0, 56.0, 1100)],
        columns=printed.CELL,
    )
    table = printed.beside("rlver_table3", ours)
    done = table[table["status"] == "rerun"]
    assert done[["row", "ours", "printed", "n"]].values.tolist() == [
        ["vanilla", 53.0, 52.4, 1100]
    ]
    assert len(table) == 12 and table["printed"].notna().all()
    two = printed.beside("rlver_table2")
    assert (two["status"] == "printed, not run").all() and two["ours"].isna().all()
    with pytest.raises(ValueError, match="no printed row"):
        printed.beside("rlver_table2", ours)


def test_table_4_has_the_strategies_that_the_users_were_probed_with():
    table = printed.table4()
    assert table["strategy"].tolist() == list(calibration.STRATEGIES)
    assert table.groupby("group").size().to_dict() == dict(A=3, B=4, C=2, D=1, E=1)


def test_table_5_is_counted_where_it_can_be(records):
    table = printed.table5(records)
    assert (table["test"] == table["test, printed"]).all()
    assert table["train"].isna().all() and (table["equal"] == "yes").all()
    assert table["status"].unique().tolist() == ["exact (test), printed (train)"]
    assert table[["test, printed", "train, printed"]].sum().tolist() == [100, 500]
    beside = load("sage_table4").query("paper == 'RLVER'").set_index("row")["value"]
    train = table.set_index("intention")["train, printed"]
    assert train.to_dict() == beside.to_dict()
    few = records[records["intention"] != "Praise"]
    changed = printed.table5(few).set_index("intention")
    assert changed.loc["Praise", "test"] == 0
    assert changed["equal"].to_dict()["Praise"] == "no"


def test_table_5_is_exact_with_the_training_profiles(records):
    path = release("sage") / "RLVER" / "data" / "train_profile.jsonl"
    table = printed.table5(records, import_sage(path, "train"))
    assert (table["train"] == table["train, printed"]).all()
    assert (table["equal"] == "yes").all() and (table["status"] == "exact").all()


# --- points ---------------------------------------------------------------------------


def test_curve_points_say_how_sure_they_are():
    points = printed.curve_points()
    assert points.groupby("run").size().to_dict() == {
        "PPO think": 9, "PPO no-think": 9, "GRPO think": 8, "GRPO no-think": 8,
    }  # fmt: skip
    start = points[points["order"] == 0]
    assert start["emotion"].nunique() == 1 and (start["certainty"] == "sure").all()
    named = load("rlver_fig4").query("source_kind == 'text'")["value"]
    assert sorted(named) == [56.7, 79.7, 83.8]
    grpo = points[points["run"].str.startswith("GRPO")]
    assert (grpo["step"] == 30 * grpo["order"]).all()
    ppo = points[points["run"].str.startswith("PPO")]
    assert set(ppo["step"].dropna()) == {0, 350}
    assert set(points["certainty"]) == {"sure", "likely", "uncertain"}


def test_map_cells_are_cells_of_the_grid():
    cells = printed.map_cells()
    width = cells["x high"] - cells["x low"]
    assert (width.dropna() == 1).sum() == len(width.dropna()) - 1
    assert ((cells["y high"] - cells["y low"]).dropna() == 1).all()
    assert cells[["x low", "y low"]].min().min() >= -5
    assert cells[["x high", "y high"]].max().max() <= 5
    assert (cells["x"].notna() == cells["x low"].isna()).all()
    assert cells.groupby("run")["step"].max().to_dict() == {
        "PPO think": 350, "PPO no-think": 350, "GRPO think": 210, "GRPO no-think": 210,
    }  # fmt: skip
    # Every run starts in the cell that holds the base model's place.
    base = wide("rlver_fig7").loc[printed.BASE]
    start = cells[cells["step"] == 0]
    assert start["x low"].le(base["x"]).all() and start["x high"].ge(base["x"]).all()
    assert start["y low"].le(base["y"]).all() and start["y high"].ge(base["y"]).all()


# --- figures --------------------------------------------------------------------------


def test_the_framework_keeps_its_text_inside_the_boxes():
    with plt.rc_context():
        look.theme()
        figure, data = drawn.framework()
        figure.canvas.draw()
    ax = figure.axes[0]
    boxes = {
        part[0]: patch for part, patch in zip(drawn.PARTS, ax.patches, strict=False)
    }
    words = {text.get_text(): text for text in ax.texts}
    for name, text, *_ in drawn.PARTS:
        box = boxes[name].get_window_extent()
        for inside in (words[name], words[text]):
            extent = inside.get_window_extent()
            assert box.x0 <= extent.x0 and extent.x1 <= box.x1, name
            assert box.y0 <= extent.y0 and extent.y1 <= box.y1, name
    assert data["part"].tolist() == [part[0] for part in drawn.PARTS]


@pytest.mark.parametrize("algorithm", ["PPO", "GRPO"])
def test_printed_curves_are_drawn_as_read_and_named_as_printed(algorithm):
    _, axes = look.grid(1, 1, 3)
    ax = axes[0][0]
    data = drawn.draw_printed_curves(ax, algorithm)
    for run, part in data.groupby("run"):
        colour, _ = drawn.RUN_LOOK[run]
        lines = [x for x in ax.lines if x.get_color() == colour]
        whole = next(x for x in lines if len(x.get_ydata()) == len(part))
        assert list(whole.get_ydata()) == part["emotion"].tolist()
    assert "printed" in ax.get_title() and drawn.PRINTED.format(n=30) in {
        text.get_text() for text in ax.texts
    }
    with pytest.raises(ValueError, match="PPO or GRPO"):
        drawn.draw_printed_curves(ax, "DPO")


@pytest.mark.parametrize("run", list(drawn.RUN_LOOK))
def test_printed_paths_show_every_checkpoint(run):
    _, axes = look.grid(1, 1, 3)
    ax = axes[0][0]
    data = drawn.draw_printed_cells(ax, run)
    shown = " ".join(text.get_text() for text in ax.texts).replace("?", "").split()
    assert sorted(map(int, shown)) == data["step"].tolist()
    assert "printed" in ax.get_title()
    with pytest.raises(ValueError, match="known: "):
        drawn.draw_printed_cells(ax, "DPO think")
