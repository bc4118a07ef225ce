"""The figure of what the store costs, and the measurements committed for it."""

import pandas as pd
from matplotlib import pyplot as plt

from helpers.reporting.artifacts import load_artifacts
from helpers.reporting.store_figure import (
    LOOKS,
    growth,
    measured,
    measured_where,
    store_cost,
)
from helpers.sandbox.bench_store import OPERATIONS, REPEATS


def rows(**changes) -> pd.DataFrame:
    made = [
        {"dialogues": size, "operation": name, "records": size, "cpu_us": 50.0,
         "clock_us": 80.0, "bytes": 4000.0, "peak_mb": 0.0}
        for size in (10_000, 1_000) for name in OPERATIONS
    ]  # fmt: skip
    return pd.DataFrame(made).assign(**changes)


def test_growth_compares_the_smallest_with_the_largest_size():
    frame = rows()
    frame.loc[frame["dialogues"] == 10_000, "cpu_us"] = 75.0
    frame.loc[frame["dialogues"] == 10_000, "peak_mb"] = 2.0
    table = growth(frame).set_index("operation")
    assert list(table.index) == list(OPERATIONS)
    assert (table["smallest"] == 1_000).all() and (table["largest"] == 10_000).all()
    assert table["ratio"].tolist() == [1.5] * 5
    assert table["MB at largest"].tolist() == [2.0] * 5


def test_the_figure_draws_every_operation_and_the_size_of_the_file():
    figure, drawn = store_cost(rows())
    left, _, right = figure.axes
    assert len(left.lines) == len(LOOKS) and len(right.lines) == len(LOOKS) + 1
    assert right.lines[-1].get_ydata().tolist() == [40.0, 4.0]  # MB
    assert right.lines[0].get_ydata().min() == 0.1  # nothing is lost on a log axis
    assert len(drawn) == 10 and len(set(LOOKS.values())) == len(OPERATIONS)
    plt.close(figure)


def test_what_is_measured_reaches_a_million_and_does_not_grow():
    frame = measured()
    assert set(frame["operation"]) == set(OPERATIONS)
    assert frame["dialogues"].min() == 1_000 and frame["dialogues"].max() == 1_000_000
    assert (frame.groupby("operation").size() == 4).all()
    largest = frame[frame["dialogues"] == 1_000_000].set_index("operation")
    assert largest["records"].to_dict() == {
        name: 1_000_000 // (REPEATS if name.endswith("cards") else 1)
        for name in OPERATIONS
    }
    file = largest["records"] * largest["bytes"] / 1e6
    stored = ["append", "open", "scan"]
    assert (largest.loc[stored, "peak_mb"] < 0.05 * file[stored]).all()
    assert (growth(frame)["ratio"] < 2).all()
    where = measured_where()
    assert where["made by"].endswith("bench_store") and where["date"] > "2026"


def test_the_artifact_is_listed():
    row = load_artifacts().set_index("id").loc["kit_store_cost"]
    assert row["best_status"] == "new" and row["notebook"] == "07"
