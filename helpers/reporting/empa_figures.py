"""Figures 6, 7, 8, 15 and 16 of EMPA from the released records.

Each function takes frames of `helpers.scoring.replay` and returns (figure, data): the
picture and the numbers drawn in it. Nothing is scored here.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.ticker import MaxNLocator

from helpers.reporting import figures as look

ENDINGS = list(look.ENDING_COLOUR)
DIFFICULTY = ["Easy", "Medium", "Hard", "VeryHard"]
DOMAIN = ["Leisure", "Health", "Life", "Values", "Relations", "Career"]
LEVEL = ["Low", "Medium", "High"]

RAW_PANELS = {
    "RDI": "RDI: distance\nremoved (%)",
    "Etot": "E: total energy\n(points)",
    "Snet": "S: net level\nsum (levels)",
    "Snet/turn": "S / T, drawn as ρ\n(levels a turn)",
    "Etot/turn": "E / T, the ρ of the\ntext (points a turn)",
    "Sproj": "mean work\n(points a turn)",
    "Tau": "τ: path over\ndisplacement",
    "Rpos": "turns\nforward (%)",
    "Align": "mean cosine\n(no unit)",
    "Pen": "penalty\n(levels a turn)",
}


def ending_of(scores: pd.DataFrame) -> pd.Series:
    """The replayed ending with the label of a success: one of ENDINGS."""
    label = scores["verdict_label"].map(
        lambda x: f", {x}" if isinstance(x, str) else ""
    )
    return scores["kind"] + label


def case_structure(cases: pd.DataFrame, labels: pd.DataFrame):
    """Figure 6: the 30 cases by axis, difficulty, domain, threshold and priorities."""
    panels = [
        ("dominant axis", cases["axis"], list("CAP")),
        ("difficulty", cases["difficulty"], DIFFICULTY),
        ("life domain", cases["domain"], DOMAIN),
        ("threshold", cases["threshold"], LEVEL),
    ]
    figure, axes = look.grid(
        1, 5, 2.6, sharey=True, gridspec_kw={"width_ratios": [3, 4, 6, 3, 3.6]}
    )
    counts = []
    for ax, (name, column, order) in zip(axes[0], panels, strict=False):
        number = column.value_counts().reindex(order, fill_value=0)
        colours = [look.AXIS_COLOUR.get(x, look.BLUE) for x in order]
        marks = ax.bar(range(len(order)), number, color=colours, width=0.75)
        ax.bar_label(marks, fontsize=7)
        turned = 0 if name == "dominant axis" else 90
        ax.set_xticks(range(len(order)), order, rotation=turned)
        ax.set_title(name)
        counts += [(name, item, int(n)) for item, n in number.items()]
    ax, bottom = axes[0][4], np.zeros(3)
    shades = {"Low": "#CFE3F1", "Medium": "#6FB1DC", "High": look.BLUE}
    for level in LEVEL:
        number = [int((labels[axis] == level).sum()) for axis in "CAP"]
        ax.bar(list("CAP"), number, bottom=bottom, color=shades[level], label=level)
        for x, (n, b) in enumerate(zip(number, bottom, strict=True)):
            if n:
                shade = "white" if level == "High" else "black"
                ax.text(x, b + n / 2, n, ha="center", va="center", size=7, color=shade)
        bottom += number
        counts += [
            (f"priority {axis}", level, n)
            for axis, n in zip("CAP", number, strict=True)
        ]
    ax.set_title("priority of need")
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), handlelength=0.8)
    axes[0][0].set_ylabel("cases (of 30)")
    axes[0][0].set_ylim(0, 33)
    for ax in axes[0]:
        ax.grid(axis="x", visible=False)
    return figure, pd.DataFrame(counts, columns=["panel", "item", "cases"])


def outcome_stack(scores: pd.DataFrame, names: pd.Series):
    """Figure 7: how the 30 dialogues of each model end."""
    table = pd.crosstab(scores["model"], ending_of(scores)).reindex(
        index=names.index, columns=ENDINGS, fill_value=0
    )
    figure, axes = look.grid(1, 1, 3.6)
    ax, left = axes[0][0], np.zeros(len(table))
    y = np.arange(len(table))[::-1]
    for ending in ENDINGS:
        n = table[ending].to_numpy()
        ax.barh(
            y,
            n,
            left=left,
            height=0.75,
            color=look.ENDING_COLOUR[ending],
            hatch=look.ENDING_HATCH[ending],
            edgecolor="white",
            linewidth=0.5,
            label=ending,
        )
        for yy, k, x in zip(y, n, left, strict=True):
            if k:
                ax.text(
                    x + k / 2,
                    yy,
                    k,
                    ha="center",
                    va="center",
                    fontsize=7,
                    bbox={"fc": "white", "ec": "none", "alpha": 0.75, "pad": 0.6},
                )
        left += n
    ax.set_yticks(y, names)
    ax.set_xlim(0, 30)
    ax.set_xlabel("dialogues (30 cases a model)")
    ax.grid(visible=False)
    figure.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=5)
    return figure, table.rename(index=names).rename_axis("model").reset_index()


def raw_metrics(raw: pd.DataFrame, names: pd.Series):
    """Figure 8: raw metrics, mean and sample SD over the 30 cases of each model."""
    raw = raw.assign(
        **{"Snet/turn": raw["Snet"] / raw["turns"], "Etot/turn": raw["Rho"]}
    )
    grouped = raw.groupby("model")[list(RAW_PANELS)]
    mean, sd = grouped.mean().loc[names.index], grouped.std(ddof=1).loc[names.index]
    figure, axes = look.grid(2, 5, 5.6, sharey=True)
    y = np.arange(len(names))[::-1]
    for ax, (column, title) in zip(axes.flat, RAW_PANELS.items(), strict=True):
        ax.errorbar(
            mean[column],
            y,
            xerr=sd[column],
            fmt="o",
            color=look.BLUE,
            ecolor=look.SKY,
            markersize=3,
            elinewidth=1.4,
        )
        if mean[column].min() < 0:
            ax.axvline(0, color=look.BLACK, linewidth=0.6)
        ax.set_title(title, fontsize=7.5)
        ax.xaxis.set_major_locator(MaxNLocator(4))
        ax.set_yticks(y, names, fontsize=7)
    long = mean.stack().rename("mean").to_frame().join(sd.stack().rename("SD"))
    long = long.rename_axis(["model", "metric"]).reset_index()
    return figure, long.assign(n=30, model=long["model"].map(names))


VIEWS = (("C", "A"), ("C", "P"), ("A", "P"), ("turn", "distance"))
SPAN = {"C": (-62, 32), "A": (-110, 32)}  # of x; the y axes are all like A


def trajectory_grid(dialogues, batch, scores: pd.DataFrame, names: pd.Series):
    """Figure 15: all paths of each model in four views, coloured by ending."""
    figure, axes = look.grid(8, 8, 8.4, sharex=False)
    ending = ending_of(scores).to_numpy()
    model = dialogues.frame["model"].to_numpy()
    for i, (folder, name) in enumerate(names.items()):
        row, first = i % 8, 4 * (i // 8)
        for j, (x, y) in enumerate(VIEWS):
            ax = axes[row][first + j]
            for b in np.flatnonzero(model == folder):
                T = dialogues.turns[b]
                P = batch.P[b, : T + 1]
                if x == "turn":
                    xy = np.arange(T + 1), batch.distance[b, : T + 1]
                else:
                    xy = P[:, "CAP".index(x)], P[:, "CAP".index(y)]
                colour = look.ENDING_COLOUR[ending[b]]
                # As pixels also in the SVG: ten thousand points would weigh megabytes.
                ax.plot(*xy, color=colour, linewidth=0.7, alpha=0.7, rasterized=True)
            if x == "turn":
                ax.set_xlim(0, 46)
                ax.set_ylim(0, 130)
            else:
                ax.set_xlim(*SPAN[x])
                ax.set_ylim(*SPAN["A"])
                ax.plot(0, 0, "*", color=look.BLACK, markersize=4, zorder=3)
                ax.axhline(0, color=look.BLACK, linewidth=0.4)
                ax.axvline(0, color=look.BLACK, linewidth=0.4)
            ax.tick_params(labelsize=6, pad=0)
            if row < 7:
                ax.set_xticklabels([])
            else:
                ax.set_xlabel(x, fontsize=7)
            if row == 0:
                ax.set_title(
                    "to the zone" if x == "turn" else f"{y} (up), {x}", fontsize=7
                )
            if j == 0:
                ax.set_ylabel(name.replace(" ", "\n", 1), fontsize=7)
            elif x != "turn":
                ax.set_yticklabels([])
    handles = [
        plt.Line2D([], [], color=look.ENDING_COLOUR[e], label=e) for e in ENDINGS
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=5)
    rows = np.repeat(np.arange(len(model)), dialogues.turns + 1)
    step = np.concatenate([np.arange(T + 1) for T in dialogues.turns])
    data = dialogues.frame.loc[rows, ["model", "case"]].reset_index(drop=True)
    data["turn"] = step
    data[["C", "A", "P"]] = batch.P[rows, step]
    data["zone_distance"] = batch.distance[rows, step]
    return figure, data


def case_heat_maps(scores: pd.DataFrame, cases: pd.DataFrame, names: pd.Series):
    """Figure 16: case x model, once as ending and once as EPM-Q."""
    order = cases.sort_values(["axis", "case"])["case"]
    scores = scores.assign(code=ending_of(scores).map(ENDINGS.index))
    shape = {"index": "case", "columns": "model"}
    ending = scores.pivot(**shape, values="code").loc[order, names.index]
    quality = scores.pivot(**shape, values="EPMQ").loc[order, names.index]
    figure, axes = look.grid(1, 2, 5.4, sharey=True)
    colours = ListedColormap([look.ENDING_COLOUR[e] for e in ENDINGS])
    axis = cases.set_index("case")["axis"]
    left = axes[0][0].pcolormesh(
        ending,
        cmap=colours,
        norm=BoundaryNorm(np.arange(6) - 0.5, 5),
        edgecolors="white",
        linewidth=0.5,
    )
    right = axes[0][1].pcolormesh(
        quality, cmap="cividis", vmin=0, vmax=120, edgecolors="white", linewidth=0.5
    )
    for ax, title in zip(
        axes[0], ("how it ended", "EPM-Q of the dialogue"), strict=True
    ):
        ax.set_title(title)
        ax.set_xticks(np.arange(len(names)) + 0.5, names, rotation=90)
        ax.set_yticks(
            np.arange(30) + 0.5, [f"{axis[c]} {c}" for c in order], fontsize=6.5
        )
        ax.grid(visible=False)
    axes[0][0].invert_yaxis()
    axes[0][0].set_ylabel("dominant axis and case")
    bar = figure.colorbar(left, ax=axes[0][0], location="bottom", ticks=range(5))
    bar.ax.set_xticklabels([e.replace(", ", "\n") for e in ENDINGS], fontsize=6.5)
    figure.colorbar(right, ax=axes[0][1], location="bottom", label="EPM-Q (points)")
    data = scores.assign(outcome=ending_of(scores))[
        ["case", "model", "outcome", "EPMQ"]
    ]
    return figure, data.assign(model=data["model"].map(names))
