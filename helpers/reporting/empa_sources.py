"""Audit, first half: where paper, README, code and logs of EMPA differ, and how far the
released numbers can be recomputed. One function a statement of empa_claims.csv; each
returns (what the records show, verdict)."""

import numpy as np
import pandas as pd

from helpers.data.published import load
from helpers.data.records import STORED_V
from helpers.reporting.board import as_printed
from helpers.reporting.empa_evidence import (
    CONFIRMED,
    DIFFERS,
    UNTESTED,
    Evidence,
    text,
    verdict,
)
from helpers.scoring.epm import EpmSettings, norm
from helpers.scoring.replay import board, score_dialogues

# --- sources that differ ------------------------------------------------------------


def _replay(e: Evidence, settings: EpmSettings) -> tuple[pd.DataFrame, int]:
    scores = score_dialogues(e.dialogues, settings)
    same = (scores["kind"] == scores["ending"]) & (
        scores["verdict_turn"] == scores["turns"]
    )
    return scores, int(same.sum())


def direction(e: Evidence):
    _, fixed = _replay(e, EpmSettings.released())
    _, moving = _replay(e, EpmSettings(v_star="moving"))
    found = f"endings replayed: {fixed} of 480 with the fixed, {moving} with the moving"
    return found, DIFFERS


def process(e: Evidence):
    success = e.scores["label"].isin(["geometric", "positional"])
    hit = (e.scores["verdict_label"] == e.scores["label"])[success].sum()
    return f"the code's rule gives {hit} of {success.sum()} labels of success", DIFFERS


def alpha(e: Evidence):
    counts = []
    for value in (0.10, 0.05):
        scores, same = _replay(e, EpmSettings(alpha=value))
        geometric = int((scores["verdict_label"] == "geometric").sum())
        counts.append(f"{value:.2f}: {same} endings, {geometric} geometric labels")
    logged = int((e.scores["label"] == "geometric").sum())
    return f"{'; '.join(counts)} (logged: {logged})", DIFFERS


def failure(e: Evidence):
    counts = []
    for rule in ("code", "readme"):
        settings = EpmSettings(failure_rule=rule)
        counts.append(f"{rule}: {_replay(e, settings)[1]}")
    return f"endings replayed of 480: {', '.join(counts)}", DIFFERS


def oscillation(e: Evidence):
    settings = EpmSettings(legacy_oscillation=False)
    logged = int((e.scores["ending"] == "oscillation").sum())
    found = f"{logged} logged endings; {_replay(e, settings)[1]} of 480 without it"
    return found, DIFFERS


def constants(e: Evidence):
    printed = load("empa_table7").query("column == 'EPMQ'").set_index("row")["value"]
    gaps = {}
    for name in ("released", "paper"):
        table = board(score_dialogues(e.dialogues, constants=name))
        names = load("empa_models").set_index("model")["name"]
        ours = table.set_index(table["model"].map(names))["EPMQ"].loc[printed.index]
        gaps[name] = (ours - printed).abs().max(), ours.iloc[0]
    found = "; ".join(
        f"{name}: {printed.index[0]} {text(top, 2)}, "
        f"largest gap to Table 7 {text(gap, 2)}"
        for name, (gap, top) in gaps.items()
    )
    return found, DIFFERS


def radius(e: Evidence):
    zone = e.raw.drop_duplicates("case")["r0"].mean()
    return (
        f"mean over the 30 cases: norm {text(norm(_p0(e)).mean(), 2)}, "
        f"distance to the zone {text(zone, 2)}"
    ), DIFFERS


def _p0(e: Evidence) -> np.ndarray:
    first = ~e.dialogues.frame["case"].duplicated()
    return e.dialogues.p0[first.to_numpy()]


def snet(e: Evidence):
    sums = e.dialogues.v.sum((1, 2)), e.dialogues.levels.sum((1, 2))
    return (
        f"mean per dialogue: increments {text(sums[0].mean())}, levels "
        f"{text(sums[1].mean())}; Table 7 follows the levels"
    ), DIFFERS


def weights(e: Evidence):
    table = board(e.scores).set_index("model")
    printed = load("empa_table7").query("column == 'EPMQ'").set_index("row")["value"]
    gaps = []
    for weight in ((0.4, 0.2, 0.4), (0.4, 0.3, 0.3)):
        parts = table[["Outcome", "Efficiency", "Stability"]].loc[printed.index]
        gaps.append(text((parts @ np.array(weight) - printed).abs().max(), 2))
    return (
        f"largest gap to Table 7: {gaps[0]} with the first, {gaps[1]} with the last",
        (DIFFERS),
    )


def models(e: Evidence):
    return f"{e.scores['model'].nunique()} models in the logs", DIFFERS


def scenarios(e: Evidence):
    return f"{e.cases['case'].nunique()} cases in the logs of every model", DIFFERS


def cuts(e: Evidence):
    length = norm(_p0(e))
    case = e.dialogues.frame["case"].drop_duplicates()
    difficulty = e.cases.set_index("case")["difficulty"].loc[case].to_numpy()
    order = np.array(["Easy", "Medium", "Hard", "VeryHard"])
    parts = []
    for name, bounds in (("paper", (27.80, 32.32, 36.84)), ("README", (27, 32, 36))):
        wrong = case[order[np.searchsorted(bounds, length)] != difficulty]
        which = f" ({', '.join(wrong)})" if len(wrong) else ""
        parts.append(f"{name} cuts misplace {len(wrong)} of 30{which}")
    return "; ".join(parts), DIFFERS


def share_hard(e: Evidence):
    count = e.cases["difficulty"].value_counts()
    hard = 100 * (count["Hard"] + count["VeryHard"]) / 30
    medium = hard + 100 * count["Medium"] / 30
    found = f"Hard and VeryHard: {text(hard)} %; with Medium: {text(medium)} %"
    return found, verdict(abs(hard - 86.7) < 0.05)


def decoding(e: Evidence):
    return "the logs keep no decoding settings", UNTESTED


# --- recomputation ------------------------------------------------------------------


def _inside(e: Evidence):
    batch = e.dialogues.score()
    return batch, batch.inside


def levels(e: Evidence):
    _, inside = _inside(e)
    gap = np.abs(e.dialogues.v[inside] - e.ratings[STORED_V].to_numpy(float)).max()
    judged = int((e.ratings["judged"] == 1).sum())
    return f"largest difference {text(gap, 0)} on {judged} rated turns", verdict(
        gap == 0
    )


def energy(e: Evidence):
    batch, inside = _inside(e)
    gap = np.abs(batch.total_energy[:, 1:][inside] - e.ratings["E_total"]).max()
    found = f"largest difference {text(gap, 4)} on {len(e.ratings)} turns"
    return found, verdict(gap < 0.005 + 1e-9)


def alignment(e: Evidence):
    batch, inside = _inside(e)
    gap = np.abs(batch.alignment[inside] - e.ratings["alignment"]).max()
    found = f"largest difference {text(gap, 6)} on {len(e.ratings)} turns"
    return found, verdict(gap < 5e-5 + 1e-9)


def endings(e: Evidence):
    _, same = _replay(e, EpmSettings.released())
    count = e.scores["ending"].value_counts()
    found = f"{same} of {len(e.scores)} at the same turn: " + ", ".join(
        f"{n} {name}" for name, n in count.items()
    )
    return found, verdict(same == len(e.scores))


def precision(e: Evidence):
    _, same = _replay(e, EpmSettings(rounding="none"))
    return f"{same} of {len(e.scores)} at the same turn", verdict(same == 480)


def identity(e: Evidence):
    batch = e.dialogues.score(EpmSettings(rounding="none"))
    start = norm(e.dialogues.p0)[:, None]
    gap = np.abs(batch.total_energy - start - batch.projection).max()
    return f"largest difference {gap:.0e} on {len(e.ratings)} turns", verdict(
        gap < 1e-9
    )


def moving(e: Evidence):
    batch = e.dialogues.score(EpmSettings.paper())
    final = batch.total_energy[:, -1] >= norm(e.dialogues.p0)
    fixed = np.round(e.dialogues.score().projection[:, -1], 2) >= 0
    found = (
        f"energy reaches the norm of P_0 at the last turn in {final.sum()} dialogues "
        f"(fixed direction: {fixed.sum()})"
    )
    return found, verdict(final.sum() == fixed.sum())


def readme_cells(e: Evidence):
    table = board(e.scores).set_index("model")
    printed = load("empa_readme_board")
    wrong = []
    for cell in printed.itertuples():
        ours = table.loc[cell.row, cell.column]
        if as_printed(ours) != cell.value:
            wrong.append(f"{cell.row} {cell.column}: {text(ours, 4)}, {cell.value}")
    found = f"{len(printed) - len(wrong)} of {len(printed)} equal"
    if wrong:
        found += f" (ours, printed: {'; '.join(wrong)})"
    return found, f"{CONFIRMED} but for {len(wrong)}" if wrong else CONFIRMED


def table7_cells(e: Evidence):
    table = board(e.scores).set_index("model")
    printed = load("empa_table7")
    gaps = [abs(table.loc[c.row, c.column] - c.value) for c in printed.itertuples()]
    found = f"largest difference {text(max(gaps), 4)} on {len(gaps)} cells"
    return found, verdict(max(gaps) <= 0.005)
