"""Audit, second half: claims of EMPA's text, what its indices reward, its tools. One
function a statement of empa_claims.csv; each returns (what the records show, verdict).
"""

import numpy as np
import pandas as pd

from helpers.reporting.empa_evidence import (
    UNTESTED,
    Evidence,
    listed,
    text,
    verdict,
)
from helpers.scoring.epmq import INDICES
from helpers.scoring.replay import board

# --- claims of the text -------------------------------------------------------------


def _change(table: pd.DataFrame, model: str, before: str, after: str) -> float:
    return table.loc[model, after] - table.loc[model, before]


def t_ahard(e: Evidence):
    drops = pd.Series(
        {
            m: -_change(e.mechanism, m, "A-Rout", "A-Hard")
            for m in ("Seed 2.0", "Kimi k2")
        }
    )
    return f"drop in points: {listed(drops)}", verdict(drops.between(15, 25).all())


def t_top(e: Evidence):
    low = e.mechanism.iloc[:3][["A-Rout", "A-Hard"]].min(axis=1)
    return f"lower of the two: {listed(low)}", verdict((low > 100).all())


def t_adef90(e: Evidence):
    others = e.persona.loc[e.paper_models, "A-Def"].iloc[3:]
    above = others[others >= 90]
    return f"at 90 or above: {listed(above)}", verdict(above.empty)


def t_adef20(e: Evidence):
    fall = pd.Series(
        {m: _change(e.persona, m, "A-Rec", "A-Def") for m in ("Seed 2.0", "Kimi k2")}
    )
    return f"change in points: {listed(fall)}", verdict((fall < -20).all())


def t_pdef(e: Evidence):
    low = e.persona.loc[e.paper_models, "P-Def"].nsmallest(5).iloc[::-1]
    found = f"{listed(low)} (test: below 5); EPM-Q cannot be negative"
    return found, verdict((low < 5).all())


def t_gap(e: Evidence):
    top = e.domain.iloc[:9]
    gap = (top.max() - top.min()).sort_values()
    holds = gap.index[0] == "Health" and gap.index[-1] == "Values"
    return f"gaps: {listed(gap)}", verdict(holds)


def t_negative(e: Evidence):
    mean = e.raw.groupby("model", sort=False)["Etot"].mean().loc[e.paper_models]
    negative = mean[mean < 0]
    holds = list(negative.index) == ["Llama 3.1 8B"]
    return f"mean E below 0: {listed(negative)}", verdict(holds)


def t_rdi(e: Evidence):
    raw = e.raw.groupby("model")["RDI"].mean()["Llama 3.1 8B"]
    index = e.scores.groupby("model")["RDI"].mean()["Llama 3.1 8B"]
    found = (
        f"raw RDI {text(raw)} % (test: within 5 of 0); "
        f"only the clipped index is small: {text(index)}"
    )
    return found, verdict(abs(raw) < 5)


def t_timeout(e: Evidence):
    own = e.scores[e.scores["model"] == "Seed 2.0"]["ending"]
    return f"{(own == 'timeout').sum()} timeouts in 30", verdict(
        (own == "timeout").any()
    )


def t_tau(e: Evidence):
    mean = e.raw.groupby("model")["Tau"].mean().loc[e.paper_models].nlargest(7)
    holds = "GPT-4o" in mean.index[:3]
    return f"mean tau (test: among the top three): {listed(mean, 2)}", verdict(holds)


def t_kimi(e: Evidence):
    spread = e.raw.groupby("model")["Etot"].std(ddof=1).nlargest(5)
    holds = spread["Kimi k2"] > 1.1 * spread.drop("Kimi k2").max()
    found = f"largest SD of E (test: 1.1 x the next): {listed(spread, 2)}"
    return found, verdict(holds)


def _lowest(table: pd.DataFrame, model: str) -> tuple[str, float]:
    return table.loc[model].idxmin(), table.loc[model].min()


def t_notch(e: Evidence):
    group, value = _lowest(e.mechanism, "Qwen 3 235B")
    found = f"lowest group {group} {text(value)}; A-Hard {text(_at(e, 'A-Hard'))}"
    return found, verdict(group == "A-Hard")


def _at(e: Evidence, group: str) -> float:
    return e.mechanism.loc["Qwen 3 235B", group]


def t_doubao(e: Evidence):
    row = e.domain.loc["Doubao 1.5"].sort_values()
    found = f"{listed(row)} (test: both below 5)"
    return found, verdict((row[["Values", "Relations"]] < 5).all())


def t_seed16(e: Evidence):
    row = e.persona.loc["Seed 1.6", ["C-Def", "A-Def", "P-Def"]]
    found = f"{listed(row)} (test: 5 above both others)"
    return found, verdict(row["C-Def"] > row.drop("C-Def").max() + 5)


def t_arec(e: Evidence):
    row = e.persona.loc["Doubao 1.5"].sort_values(ascending=False)
    return listed(row), verdict(row.index[0] == "A-Rec")


# --- what the indices reward --------------------------------------------------------


def d_straight(e: Evidence):
    own = e.scores[e.scores["model"] == "Qwen 3 8B"]
    mean, wins = own[list(INDICES)].mean(), int((own["ending"] == "success").sum())
    total = board(own)["EPMQ"][0]
    found = (
        f"Qwen 3 8B, {wins} successes in {len(own)}: {text(0.2 / 3 * mean['Tau'])} of "
        f"its {text(total)} points are Tau (index {text(mean['Tau'])}), "
        f"{text(0.4 / 3 * mean['Align'])} are Align"
    )
    return found, verdict(wins == 0 and mean["Tau"] > 50)


def d_levels(e: Evidence):
    own = (e.scores["model"] == "Seed 1.6").to_numpy()
    level = e.dialogues.levels[own].sum((1, 2)).mean()
    step = e.dialogues.v[own].sum((1, 2)).mean()
    found = (
        f"Seed 1.6, mean per dialogue: levels {text(level)}, increments {text(step)}"
    )
    return found, verdict(level > 0 > step)


def d_overshoot(e: Evidence):
    batch = e.dialogues.score()
    crossed = (np.round(batch.projection, 2) >= 0)[:, 1:12].any(1)
    early = pd.Series(crossed).groupby(e.scores["model"].to_numpy()).sum().nlargest(5)
    found = f"dialogues that crossed the goal before turn 12: {listed(early, 0)}"
    return found, verdict(early.max() > 0)


def d_redundant(e: Evidence):
    turns = e.raw["turns"]
    gap = (e.raw["Sproj"] - e.raw["Rho"] * turns / (turns + 1)).abs().max()
    found = f"S_proj = rho x T/(T + 1) within {text(gap, 4)} in every dialogue"
    return found, verdict(gap < 0.01)


def d_return(e: Evidence):
    T = e.dialogues.turns
    end = e.dialogues.score().P[np.arange(len(T)), T]
    back = int((end == e.dialogues.p0).all(1).sum())
    return f"occurs in {back} of {len(T)} logged dialogues", verdict(back > 0)


def _tools(e: Evidence):
    return "seen by those who ran the tools; the kit holds no code of theirs", UNTESTED


c_visualize = c_compare = c_evaluate = _tools
