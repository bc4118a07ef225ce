"""EMPA's perturbation tables and figure, from the kit's pairs, beside the printed ones.

A difference is perturbed minus original, so a score that notices falls. Intervals
resample the cases, as several pairs may share one. The effect size is the mean
difference over its deviation (paired d). Own and printed numbers come from other cards,
talks and judges: compare signs and order, not sizes.

Paper: EMPA, arXiv 2603.00552v1, Tables 5 and 6, Figure 5.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from helpers.data.published import load
from helpers.reporting import figures as look
from helpers.reporting.stats import cluster_bootstrap
from helpers.reporting.tables import format_number, signed
from helpers.scoring.perturbations import COMPONENTS, FLIP, SYCOPHANCY, TIE

TABLE5 = {"EPM": "dE", "alignment": "alignment"}
TABLE6 = {
    (FLIP, "EPM"): "Persona Flip, EPM",
    (FLIP, "rubric only"): "Persona Flip, Rubric-only (no physics)",
    (FLIP, "direct judge"): "Persona Flip, LLM judge, no rubric",
    (SYCOPHANCY, "EPM"): "Sycophancy, EPM",
    (SYCOPHANCY, "rubric only"): "Sycophancy, Rubric-only",
    (SYCOPHANCY, "direct judge"): "Sycophancy, LLM judge",
}
CONTRADICTION = (
    "The paper contradicts itself: its section 4.3 gives four numbers of the direct "
    "judge's rows in Table 6 to the magnitude-only score instead. Both stand here."
)
NAMED = {FLIP: look.BLUE, "pure empathy": look.ORANGE, "slogans": look.RED,
         "jargon": look.PINK}  # fmt: skip
MARKS = {"pure empathy": "o", "slogans": "s", "jargon": "^"}


def summary(part: pd.DataFrame, draws: int, rng, level: float = 0.95) -> dict:
    """Differences of one set and component in numbers.

    Returns:
        n, cases, failed; mean, low, high (cases resampled); median; falls and ties in
        % of n; effect size (NaN without spread). NaN where there is nothing.
    """
    kept = part.dropna(subset="difference")
    d = kept["difference"].where(kept["difference"].abs() > TIE, 0.0)
    row = {"n": len(d), "cases": kept["case"].nunique(), "failed": len(part) - len(d)}
    if d.empty:
        return row
    found = cluster_bootstrap(d, kept["case"], draws, rng, level)
    spread = d.std()
    return row | {
        "mean": found.estimate,
        "low": np.nan if found.low is None else found.low,
        "high": np.nan if found.high is None else found.high,
        "median": d.median(),
        "falls %": 100 * (d < 0).mean(),
        "ties %": 100 * (d == 0).mean(),
        "effect size": d.mean() / spread if spread > 0 else np.nan,
    }


def table5(scored: pd.DataFrame, draws: int, rng, level: float = 0.95) -> pd.DataFrame:
    """Table 5: EPM's two numbers on both sets, and the flips averaged by case first.

    Args:
        scored: of `perturbations.score_pairs`.
    """
    rows = []
    for kind in (FLIP, SYCOPHANCY):
        for component, name in TABLE5.items():
            part = _part(scored, kind, component)
            own = summary(part, draws, rng, level)
            rows.append({"set": f"{kind}, {name}", **own})
    flips = _part(scored, FLIP, "EPM")
    by_case = flips.groupby("case", as_index=False)["difference"].mean()
    rows.append({"set": f"{FLIP} by case, dE", **summary(by_case, draws, rng, level)})
    said = {"mean": "mean", "median": "median", "falls %": "Pr(d<0) %",
            "low": "CI low", "high": "CI high"}  # fmt: skip
    return _beside(pd.DataFrame(rows), "empa_table5", "set", said)


def table6(scored: pd.DataFrame, draws: int, rng, level: float = 0.95) -> pd.DataFrame:
    """Table 6: every component on both sets; `printed as` names the paper's row."""
    rows = []
    for kind in (FLIP, SYCOPHANCY):
        for component in COMPONENTS:
            if component == "alignment":
                continue
            own = summary(_part(scored, kind, component), draws, rng, level)
            name = TABLE6.get((kind, component), "")
            rows.append(
                {"set": kind, "component": component, **own, "printed as": name}
            )
    said = {"mean": "mean", "median": "median", "falls %": "Pr(d<0) %",
            "ties %": "ties %"}  # fmt: skip
    return _beside(pd.DataFrame(rows), "empa_table6", "printed as", said)


def _part(scored: pd.DataFrame, kind: str, component: str) -> pd.DataFrame:
    return scored[(scored["kind"] == kind) & (scored["component"] == component)]


def _beside(own: pd.DataFrame, name: str, key: str, said: Mapping[str, str]):
    """Printed values by row name, as columns "<ours>, printed"."""
    printed = load(name)
    table = printed.pivot(index="row", columns="column", values="value")
    counts = printed.groupby("row")["n"].first()
    known = own[key].isin(table.index)
    own = own.copy()
    own["n, printed"] = own[key].map(counts).astype("Int64")
    for ours, theirs in said.items():
        values = table[theirs].reindex(own[key])
        own[f"{ours}, printed"] = values.to_numpy(float)
    for count in ("n", "cases", "failed"):
        own[count] = own[count].astype("Int64")
    return own.assign(
        status=np.where(known, "rerun + printed", "rerun; not in the paper")
    )


def swap_table(scored: Mapping[str, Sequence[pd.DataFrame]]) -> pd.DataFrame:
    """Judges beside each other, and each beside its own repeats.

    Args:
        scored: judge -> frames of `score_pairs` on the same pairs, one a repeat.

    Returns:
        One row a judge, set and component: n (pairs with a value in every repeat),
        failed (values missing, over all repeats); difference (mean over repeats and
        pairs), falls (% of the pairs whose mean difference is below 0); repeat sd
        (mean over pairs of the sample deviation over repeats; NaN for one repeat);
        agreement (% of pairs whose mean difference has the sign of the first judge's).
    """
    first: dict[tuple, pd.Series] = {}
    rows = []
    for judge, frames in scored.items():
        for (kind, component), _ in frames[0].groupby(
            ["kind", "component"], sort=False
        ):
            table = pd.DataFrame(
                {i: f[(f["kind"] == kind) & (f["component"] == component)]
                 .set_index("pair")["difference"] for i, f in enumerate(frames)}
            )  # fmt: skip
            whole = table.dropna()
            mean = whole.mean(axis=1).where(lambda x: x.abs() > TIE, 0.0)
            own = first.setdefault((kind, component), np.sign(mean))
            both = own.index.intersection(mean.index)
            rows.append(
                {"judge": judge, "set": kind, "component": component, "n": len(whole),
                 "failed": int(table.isna().sum().sum()), "difference": mean.mean(),
                 "falls %": 100 * (mean < 0).mean() if len(mean) else np.nan,
                 "repeat sd": whole.std(axis=1).mean() if len(frames) > 1 else np.nan,
                 "sign as the first judge %": 100
                 * (np.sign(mean[both]) == own[both]).mean() if len(both) else np.nan}
            )  # fmt: skip
    return pd.DataFrame(rows)


def figure5(scored: pd.DataFrame, demo: str):
    """Figure 5: (a) energy before and after the flip by turn, (b) mean size of the
    change by component, in deviations of the original score, (c) change of the step's
    size against change of the energy under sycophancy.

    Args:
        demo: where the judgements come from, for the title.
    """
    figure, axes = look.grid(1, 3, 2.9, gridspec_kw={"width_ratios": [1, 1.15, 1]})
    left, middle, right = axes[0]
    flips = _part(scored, FLIP, "EPM").dropna(subset="difference")
    by_turn = flips.groupby("turn")[["original", "perturbed"]]
    mean, sd = by_turn.mean(), by_turn.std()
    for name, colour, mark in (
        ("original", look.BLUE, "o"), ("perturbed", look.RED, "s"),
    ):  # fmt: skip
        low, high = mean[name] - sd[name], mean[name] + sd[name]
        left.fill_between(mean.index, low, high, color=colour, alpha=0.15, lw=0)
        label = "as it was" if name == "original" else "need inverted"
        left.plot(mean.index, mean[name], f"{mark}-", color=colour, ms=3.5, lw=1,
                  label=label)  # fmt: skip
    left.axhline(0, color=look.BLACK, lw=0.8)
    left.set(title=f"(a) persona flip, n = {len(flips)}", xlabel="turn",
             ylabel="energy of the reply (rubric units)")  # fmt: skip
    left.legend(loc="lower left")
    sizes = _sizes(scored)
    y = np.arange(len(sizes))[::-1]
    for kind, shift, colour, hatch in (
        (FLIP, 0.2, look.BLUE, ""), (SYCOPHANCY, -0.2, look.ORANGE, "//"),
    ):  # fmt: skip
        middle.barh(y + shift, sizes[kind], 0.38, color=colour, hatch=hatch, label=kind)
    middle.set_yticks(y, [name.replace(" ", "\n") for name in sizes.index])
    middle.set(title="(b) mean size of the change",
               xlabel="in deviations of the original score")  # fmt: skip
    middle.legend(loc="lower right")
    middle.grid(axis="y", visible=False)
    wide = _part(scored, SYCOPHANCY, "EPM").merge(
        _part(scored, SYCOPHANCY, "magnitude only"), on=["pair", "variant"],
        suffixes=("", " size"),
    )  # fmt: skip
    for variant, part in wide.groupby("variant", sort=False):
        right.plot(part["difference size"], part["difference"], MARKS[variant],
                   color=NAMED[variant], ms=3.5, alpha=0.7, label=variant)  # fmt: skip
    right.axhline(0, color=look.BLACK, lw=0.8)
    right.axvline(0, color=look.BLACK, lw=0.8)
    right.set(title=f"(c) sycophancy, n = {len(wide)}",
              xlabel="change of the step's size |v|",
              ylabel="change of the energy")  # fmt: skip
    right.set_ylim(top=4)
    right.legend(loc="upper left")
    figure.suptitle(demo, fontsize=8)
    data = [
        scored.assign(panel="pairs"),
        sizes.reset_index().melt("component", var_name="kind", value_name="difference")
        .assign(panel="b"),
    ]  # fmt: skip
    return figure, pd.concat(data, ignore_index=True)


def _sizes(scored: pd.DataFrame) -> pd.DataFrame:
    """Mean |difference| over the deviation of the originals, by component and set: so
    that scales of other units can stand side by side. NaN without spread."""
    order = [c for c in COMPONENTS if c != "alignment"]
    found = {
        kind: {
            name: part["difference"].abs().mean() / part["original"].std()
            if part["original"].std() > 0 else np.nan
            for name in order
            for part in [_part(scored, kind, name)]
        }
        for kind in (FLIP, SYCOPHANCY)
    }  # fmt: skip
    return pd.DataFrame(found).rename_axis("component")


def findings(table: pd.DataFrame) -> list[str]:
    """What the components do, in sentences made from `table6`."""
    rows = table.set_index(["set", "component"])
    sentences = []
    for kind in (FLIP, SYCOPHANCY):
        parts = []
        for component in rows.loc[kind].index:
            own = rows.loc[(kind, component)]
            if not own["n"]:
                continue
            text = f"{component} {signed(own['mean'], 2)} ({signed(own['low'], 2)} to "
            text += f"{signed(own['high'], 2)}; falls in {_percent(own['falls %'])}, "
            parts.append(text + f"ties in {_percent(own['ties %'])})")
        sentences.append(f"{kind}: {'; '.join(parts)}.")
        epm, rubric = rows.loc[(kind, "EPM")], rows.loc[(kind, "rubric only")]
        ours = _order(epm["falls %"], rubric["falls %"])
        theirs = _order(epm["falls %, printed"], rubric["falls %, printed"])
        sentences.append(
            f"{kind}: here EPM falls {ours} the rubric alone, in print {theirs} it."
        )
    return [*sentences, CONTRADICTION]


def _order(a: float, b: float) -> str:
    if a == b:
        return "as often as"
    return "more often than" if a > b else "less often than"


def _percent(value: float) -> str:
    return f"{format_number(value, 1)} %"
