"""Figure: what the store costs a dialogue, from a thousand to a million of them.

    figure, data = store_cost(measured())

The measurements are committed (`data/measured/store_cost.csv`, made once by
`python -m helpers.sandbox.bench_store`; the JSON file beside it says where and when).
"""

import json

import pandas as pd

from helpers.paths import ROOT
from helpers.reporting import figures as look

MEASURED = ROOT / "data" / "measured"
LOOKS = {
    "append": (look.RED, "o", "-"),
    "open": (look.BLUE, "s", "-"),
    "scan": (look.GREEN, "^", "-"),
    "write cards": (look.ORANGE, "D", "--"),
    "read cards": (look.PINK, "v", "--"),
}
NAMES = {"open": "open (resume)", "scan": "read and count"}
PANELS = {
    "cpu_us": "processor time, µs a record",
    "clock_us": "time on the clock, µs a record",
    "peak_mb": "memory, MB",
}


def measured() -> pd.DataFrame:
    """One row a size and operation: dialogues, records, cpu_us, clock_us, bytes,
    peak_mb (columns of `bench_store`)."""
    return pd.read_csv(MEASURED / "store_cost.csv")


def measured_where() -> dict:
    """How, when and on what they were measured."""
    return json.loads((MEASURED / "store_cost.json").read_text(encoding="utf-8"))


def growth(rows: pd.DataFrame) -> pd.DataFrame:
    """One row an operation: the smallest and the largest size, the processor time of a
    record at each, their ratio, and the memory at the largest (MB)."""
    ordered = rows.sort_values("dialogues", kind="stable")
    by_operation = ordered.groupby("operation", sort=False)
    first, last = by_operation.first(), by_operation.last()
    table = pd.DataFrame(
        {
            "smallest": first["dialogues"],
            "largest": last["dialogues"],
            "us at smallest": first["cpu_us"],
            "us at largest": last["cpu_us"],
            "ratio": last["cpu_us"] / first["cpu_us"],
            "MB at largest": last["peak_mb"],
        }
    )
    return table.reset_index()


def store_cost(rows: pd.DataFrame):
    """Times and memory against the number of dialogues in the store.

    The grey line is the size of the file: what holding the records would take at least.
    Memory below 0.1 MB is drawn at 0.1.

    Args:
        rows: of `measured`.

    Returns:
        (figure, the rows drawn).
    """
    figure, axes = look.grid(1, 3, 2.9)
    for ax, (column, label) in zip(axes[0], PANELS.items(), strict=True):
        for operation, (colour, marker, line) in LOOKS.items():
            part = rows[rows["operation"] == operation]
            ax.plot(part["dialogues"], part[column].clip(lower=0.1), color=colour,
                    marker=marker, ls=line, ms=4, lw=1.1,
                    label=NAMES.get(operation, operation))  # fmt: skip
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlabel("dialogues in the store")
        ax.set_ylabel(label)
    for ax in axes[0][:2]:
        ax.set_ylim(10, 20_000)
    stored = rows[rows["operation"] == "append"]
    axes[0][2].plot(stored["dialogues"], stored["dialogues"] * stored["bytes"] / 1e6,
                    color=look.GREY, lw=1.1, label="size of the file")  # fmt: skip
    handles, labels = axes[0][2].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    return figure, rows
