"""RLVER's printed numbers as frames, with the kit's own results merged beside them.

Only numbers of `data/published/rlver_*.csv` stand in the printed columns. A row that
the kit did not run keeps its printed value, missing values beside it, and the status
"printed, not run". At the laptop profile the own rows come from another policy, other
users and another judge: read directions, not differences.

Paper: RLVER (arXiv 2507.03112) Tables 1 to 5, Figures 4 and 7.
"""

from collections.abc import Iterable

import pandas as pd

from helpers.agents.calibration import STRATEGIES
from helpers.data.published import load, wide
from helpers.data.sage_tables import intention_counts
from helpers.data.scenarios import Scenario
from helpers.data.slots import INTENTIONS

BASE = "Qwen2.5-7B-Instruct"
VARIANTS = ["PPO no-think", "PPO think", "GRPO no-think", "GRPO think"]
OURS = ["variant", "score", "success", "failure", "n", "low", "high"]
CELL = ["row", "column", "value", "low", "high", "n"]


def table1(ours: pd.DataFrame | None = None) -> pd.DataFrame:
    """Table 1: the printed boards, and our dialogues with held-out users beside.

    Args:
        ours: columns OURS. variant: one of VARIANTS, or "base" for the policy before
            training; score: mean final emotion (0..100), low and high: its interval;
            success and failure: shares (0..1) of n dialogues. None: nothing was run.

    Returns:
        model; n, score, low, high, success %, failure %, gain (score minus that of the
        base), all NaN where not run; the same of the Sentient benchmark and the
        Chit-chat columns as printed; status ("rerun" or "printed, not run").

    Raises:
        ValueError: a missing column, an unknown or repeated variant, or a share that
            is not within 0..1.
    """
    said = wide("rlver_table1")
    own = _own(ours, OURS, ["variant"], {(name,) for name in ("base", *VARIANTS)})
    shares = own[["success", "failure"]]
    if ((shares < 0) | (shares > 1)).any(axis=None):
        raise ValueError(f"success and failure are shares within 0..1, not {ours}")
    own = own.rename(index={"base": BASE})
    status = _status(said.index.isin(own.index))
    own = own.reindex(said.index)
    table = pd.DataFrame({"model": said.index}, index=said.index)
    table.loc[BASE, "model"] = f"base (printed: {BASE})"
    table["n"] = own["n"].astype("Int64")
    table[["score", "low", "high"]] = own[["score", "low", "high"]]
    for name in ("success", "failure"):
        table[f"{name} %"] = 100 * own[name]
    table["gain"] = table["score"] - table.loc[BASE, "score"]
    for name in ("score", "success", "failure"):
        table[f"{name}, printed"] = said[f"Sentient {name}"]
    table["gain, printed"] = table["score, printed"] - said.loc[BASE, "Sentient score"]
    for name in ("score", "success", "failure"):
        table[f"chit-chat {name}, printed"] = said[f"Chit-chat {name}"]
    return table.assign(status=status).reset_index(drop=True)


def beside(name: str, ours: pd.DataFrame | None = None) -> pd.DataFrame:
    """A file of printed values in long form, with our values beside.

    Serves Table 2 (general ability), Table 3 (users) and the five capabilities.

    Args:
        name: of a value table in data/published, for instance "rlver_table3".
        ours: columns CELL; row and column as in the file, value in the printed unit.
            None: nothing was run.

    Returns:
        item, row, column; n, ours, low, high (NaN where not run); printed; note;
        status ("rerun" or "printed, not run"). In printed order.

    Raises:
        ValueError: a missing column, or a cell that the file does not hold or that is
            given twice.
    """
    said = load(name)
    cells = set(zip(said["row"], said["column"], strict=True))
    own = _own(ours, CELL, ["row", "column"], cells)
    cell = pd.MultiIndex.from_frame(said[["row", "column"]])
    status = _status(cell.isin(own.index))
    own = own.reindex(cell)
    table = said[["item", "row", "column"]].copy()
    table["n"] = own["n"].astype("Int64").array
    table[["ours", "low", "high"]] = own[["value", "low", "high"]].to_numpy()
    table["printed"], table["note"] = said["value"], said["note"]
    return table.assign(status=status)


def _status(run: Iterable[bool]) -> list[str]:
    return ["rerun" if one else "printed, not run" for one in run]


def _own(ours, columns: list[str], keys: list[str], known: set) -> pd.DataFrame:
    """Our rows as numbers, checked and indexed by `keys`."""
    if ours is None:
        ours = pd.DataFrame(columns=columns)
    for column in columns:
        if column not in ours:
            raise ValueError(f"our results have no column {column!r}; need {columns}")
    for cell in ours[keys].itertuples(index=False, name=None):
        if cell not in known:
            raise ValueError(f"no printed row for {cell}; known: {sorted(known)}")
    if ours.duplicated(keys).any():
        twice = ours.loc[ours.duplicated(keys), keys].iloc[0].tolist()
        raise ValueError(f"our results hold {twice} twice")
    return ours.set_index(keys)[[c for c in columns if c not in keys]].astype(float)


def table4() -> pd.DataFrame:
    """Table 4: the eleven strategies in five groups, in the kit's words, and the acts
    by which a reply of the scripted world shows each (`agents.calibration`)."""
    table = load("rlver_table4")
    acts = table["strategy"].map(STRATEGIES)
    return table.assign(acts=[" + ".join(kinds) for kinds in acts])


def table5(
    records: pd.DataFrame, train_cards: Iterable[Scenario] | None = None
) -> pd.DataFrame:
    """Table 5: scenarios of each hidden intention, counted and printed.

    The 100 test profiles are those of SAGE, so their counts follow from its records.
    The kit holds no records of the 500 training profiles: they are counted when the
    caller has imported them from a clone, and printed otherwise.

    Args:
        records: of `sage_records.read_records`.
        train_cards: `importers.import_sage(".../train_profile.jsonl", "train")`.

    Returns:
        intention, family, test, train (counts; <NA> when not counted), the two as
        printed, equal ("yes" or "no", over what is counted), status ("exact", or
        "exact (test), printed (train)").
    """
    said = wide("rlver_table5")
    table = pd.DataFrame({"intention": said.index}, index=said.index)
    table["family"] = [INTENTIONS[key].family for key in said.index]
    counted = {"test": intention_counts(records)}
    if train_cards is not None:
        counted["train"] = pd.Series([c.intention for c in train_cards]).value_counts()
    equal = pd.Series(True, index=said.index)
    for split in ("test", "train"):
        table[split] = pd.Series(pd.NA, index=said.index, dtype="Int64")
        if split in counted:
            table[split] = counted[split].reindex(said.index, fill_value=0)
            equal &= table[split] == said[split]
        table[f"{split}, printed"] = said[split].astype(int)
    table["equal"] = equal.map({True: "yes", False: "no"})
    table["status"] = "exact" if len(counted) == 2 else "exact (test), printed (train)"
    return table.reset_index(drop=True)


def curve_points() -> pd.DataFrame:
    """Figure 4, emotion: one row a printed point, in order.

    Returns:
        run; order (0, 1, ... within the run); step (<NA> where it is not known);
        emotion; n (dialogues); certainty: "sure" (named in the text, or shared by all
        runs), "likely" (label of the picture, series inferred) or "uncertain". Labels
        whose run is not known are left out.
    """
    said = load("rlver_fig4")
    part = said[(said["item"] == "Fig. 4, emotion") & said["row"].isin(VARIANTS)]
    step = part["column"].str.extract(r"step (\d+)")[0].astype("Int64")
    table = pd.DataFrame({"run": part["row"], "step": step, "emotion": part["value"]})
    table.insert(1, "order", table.groupby("run").cumcount())
    table["n"] = part["n"].astype(int)
    table["certainty"] = part["note"].str.split(":").str[0]
    return table.reset_index(drop=True)


def map_cells() -> pd.DataFrame:
    """Figure 7: one row a run and checkpoint: run, step, x low, x high, y low, y high
    (the cell, inferred from the picture), x, y (named in the text, else NaN)."""
    said = load("rlver_fig7")
    part = said[(said["item"] == "Fig. 7") & (said["row"] != BASE)]
    table = part.pivot(index="row", columns="column", values="value")
    table = table.loc[part["row"].unique()].rename_axis(columns=None)
    names = table.index.str.split(", step ")
    table.insert(0, "run", names.str[0])
    table.insert(1, "step", names.str[1].astype(int))
    order = ["run", "step", "x low", "x high", "y low", "y high", "x", "y"]
    return table[order].reset_index(drop=True)
