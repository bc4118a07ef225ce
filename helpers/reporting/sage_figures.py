"""Figures of SAGE (arXiv 2505.02847), redrawn from printed and read-off points; where
result files exist, the means recomputed from the released records stand beside them.

Every function returns (figure, data frame of what is drawn).
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from helpers.reporting import figures as look
from helpers.reporting.sage_board import STATES, STEPS

BLRI = ["Empathic understanding", "Level of regard", "Congruence", "Unconditionality"]
UTTERANCE = ["Natural flow", "Attentiveness", "Depth of connection"]
LOOKS = [(look.BLUE, "o"), (look.ORANGE, "s"), (look.GREEN, "^"), (look.PINK, "D")]
START = 40  # emotion of every dialogue before the first reply
STEP_LOOK = [(look.GREY, ""), (look.BLUE, "//"), (look.ORANGE, "..")]


def dimensions(points: pd.DataFrame, names: list[str], to_five: bool, unit: str):
    """Figures 4 and 5: dimensions that a judge rated beside the emotion, 8 models.

    Args:
        points: models x columns, with Emotion (0..100) and `names`.
        to_five: bring the emotion to the scale 1..5 (1 + e / 25), as the paper does.

    Returns:
        figure, data (points and the emotion as drawn); in `data.attrs["pearson"]` the
        correlation by dimension and "pooled" over models and dimensions.
    """
    data = points.sort_values("Emotion", ascending=False).reset_index(names="model")
    scale = 1 + data["Emotion"] / 25 if to_five else data["Emotion"]
    data.insert(1, "emotion as drawn", scale)
    figure, axes = look.grid(1, 2, 3.2, gridspec_kw={"width_ratios": [3, 2]})
    ax, right = axes[0]
    y = np.arange(len(data))[::-1]
    ax.hlines(y, data[names].min(axis=1), data[names].max(axis=1), color=look.LIGHT)
    ax.plot(scale, y, "|", color=look.BLACK, markersize=13, mew=2, label="emotion")
    pearson = {}
    for name, (colour, mark) in zip(names, LOOKS, strict=False):
        ax.plot(data[name], y, mark, color=colour, markersize=4.5, label=name)
        right.plot(scale, data[name], mark, color=colour, markersize=4)
        pearson[name] = float(np.corrcoef(scale, data[name])[0, 1])
    ax.set_yticks(y, data["model"])
    ax.set_xlabel(unit)
    ax.set_title("eight models, by emotion")
    ax.grid(axis="y", visible=False)
    stacked = data[names].to_numpy().ravel(order="F")
    pooled = np.corrcoef(np.tile(scale, len(names)), stacked)[0, 1]
    pearson["pooled"] = float(pooled)
    right.set_xlabel("emotion (same scale)")
    right.set_ylabel(unit)
    right.set_title(f"all points: Pearson {pooled:.2f}")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=5)
    data.attrs["pearson"] = pearson
    return figure, data


def emotion_and_tokens(points: pd.DataFrame, named: pd.DataFrame, curves: pd.DataFrame):
    """Figure 6: emotion against tokens for one judge, and emotion by reply.

    Args:
        points: rows of `sage_board.token_points` of one judge. named: model, tokens,
            emotion for models whose tokens the text names (the emotion is printed).
        curves: of `sage_board.emotion_curves`.

    Returns:
        figure, data: the points; the curves in long form under panel "by reply".
    """
    figure, axes = look.grid(1, 2, 3.7, gridspec_kw={"width_ratios": [6, 5]})
    ax, right = axes[0]
    _token_panel(ax, points)
    ax.plot(named["tokens"], named["emotion"], "D", color=look.ORANGE, markersize=4)
    _labels(ax, pd.concat([points, named]), 14.2)
    ax.set_xlim(0, 20.5)
    ax.set_ylim(10, 88)
    ax.set_title("emotion and length")
    colours = dict.fromkeys(curves.columns, look.SKY)
    order = curves.iloc[-1].sort_values()
    for name in order.index:
        right.plot(curves.index, curves[name], "-", color=colours[name], linewidth=1)
    ends = spread(order.to_numpy(), 4.2)
    for name, end, value in zip(order.index, ends, order, strict=True):
        last = curves.index[-1]
        right.plot([last, last + 0.6], [value, end], color=look.LIGHT, linewidth=0.6)
        right.text(last + 0.7, end, f"{name} {value:.0f}", va="center", fontsize=6.3)
    right.axhline(START, color=look.GREY, linestyle="--", linewidth=0.8)
    right.set_xlim(0, 16.5)
    right.set_xticks(range(0, 10, 3))
    right.set_ylim(10, 88)
    right.set_xlabel("reply")
    right.set_ylabel("mean emotion (0 to 100)")
    right.set_title("emotion by reply, 12 models")
    long = curves.rename_axis("reply").reset_index().melt("reply", var_name="model")
    long = long.rename(columns={"value": "emotion"}).assign(panel="by reply")
    both = pd.concat(
        [points.assign(panel="tokens"), named.assign(panel="tokens"), long]
    )
    return figure, both.reset_index(drop=True)


def four_judges(points: pd.DataFrame):
    """Figure 8: emotion against tokens under four judges, ten models each."""
    figure, axes = look.grid(2, 2, 5.6, sharex=True, sharey=True)
    for ax, (judge, part) in zip(axes.flat, points.groupby("judge"), strict=True):
        _token_panel(ax, part)
        _labels(ax, part, 10.6)
        n = int(part["n"].notna().sum())
        ax.set_title(f"judge {judge} ({n} of {len(part)} recomputed)")
        ax.set_xlim(0, 14.6)
        ax.set_ylim(8, 95)
        ax.label_outer()
    return figure, points


def _token_panel(ax, part: pd.DataFrame) -> None:
    known = part[part["n"].notna()]
    ax.plot(
        part["tokens"], part["emotion"], "o", mfc="white", mec=look.GREY, markersize=6
    )
    ax.plot(known["tokens"], known["recomputed"], "o", color=look.BLUE, markersize=3)
    ax.axhline(START, color=look.GREY, linestyle="--", linewidth=0.8)
    ax.set_xlabel("tokens of the model in a dialogue (thousand)")
    ax.set_ylabel("mean final emotion (0 to 100)")


def _labels(ax, part: pd.DataFrame, column: float) -> None:
    """Names in a column at x = `column`, each tied to its point by a thin line."""
    ordered = part.sort_values("emotion")
    places = spread(ordered["emotion"].to_numpy(), 4.8)
    for (_, row), place in zip(ordered.iterrows(), places, strict=True):
        x, y = row["tokens"], row["emotion"]
        ax.plot([x, column], [y, place], color="#BBBBBB", lw=0.5, zorder=1)
        ax.text(
            column + 0.1,
            place,
            row["model"],
            fontsize=6.3,
            va="center",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6},
        )


def spread(values, gap: float) -> np.ndarray:
    """Ascending positions near `values` (ascending), at least `gap` apart."""
    blocks: list[list[float]] = []  # [centre, size]
    for value in np.asarray(values, dtype=float):
        blocks.append([value, 1])
        while len(blocks) > 1:
            (c0, n0), (c1, n1) = blocks[-2:]
            if c1 - c0 >= gap * (n0 + n1) / 2:
                break
            blocks[-2:] = [[(c0 * n0 + c1 * n1) / (n0 + n1), n0 + n1]]
    return np.concatenate([c + gap * (np.arange(n) - (n - 1) / 2) for c, n in blocks])


def cognition_map(points: pd.DataFrame):
    """Figure 7: where a judge put 11 models; x structured to creative, y solution to
    empathy, both -5 to 5."""
    figure, axes = look.grid(1, 1, 4.0, width=5.2)
    ax = axes[0][0]
    ax.axhline(0, color=look.BLACK, linewidth=0.8)
    ax.axvline(0, color=look.BLACK, linewidth=0.8)
    ax.plot(points["x"], points["y"], "o", color=look.BLUE, markersize=5)
    for name, row in points.iterrows():
        left = row["x"] > 3
        ax.annotate(
            name,
            (row["x"], row["y"]),
            (-5 if left else 5, 4),
            textcoords="offset points",
            fontsize=7,
            ha="right" if left else "left",
        )
    quadrants = {
        (-4.9, 4.75): ("structured, empathy", "left"),
        (4.9, 4.75): ("creative, empathy: nobody", "right"),
        (-4.9, -4.75): ("structured, solution", "left"),
        (4.9, -4.75): ("creative, solution", "right"),
    }
    for (x, y), (text, side) in quadrants.items():
        ax.text(x, y, text, ha=side, va="center", fontsize=7, color="#555555",
                style="italic")  # fmt: skip
    ax.set_xlim(-5, 5)
    ax.set_ylim(-5.2, 5.2)
    ax.set_xlabel("interaction style: structured to creative (no unit)")
    ax.set_ylabel("interaction focus: solution to empathy (no unit)")
    return figure, points.reset_index(names="model")


def repetition_order(ranks: pd.Series, axis: tuple[float, float], threshold: float):
    """Figure 9: the order of the bars, highest first. Their heights are not known, so
    none is drawn.

    Args:
        ranks: rank (1 = highest) by model. axis: lowest and highest tick (SSRR).
    """
    figure, axes = look.grid(1, 1, 3.4, width=5.2)
    ax = axes[0][0]
    ordered = ranks.sort_values()
    y = np.arange(len(ordered))[::-1]
    ax.barh(y, axis[1] - axis[0], left=axis[0], color="white", edgecolor=look.LIGHT,
            height=0.7, hatch="//")  # fmt: skip
    ax.axvline(threshold, color=look.RED, linewidth=1.2)
    ax.text(threshold, len(y) - 0.3, f"threshold {threshold}", fontsize=7,
            color=look.RED, ha="center", va="bottom")  # fmt: skip
    ax.text(
        (threshold + axis[1]) / 2,
        len(y) / 2,
        "height of the bars\nnot known",
        ha="center",
        va="center",
        fontsize=9,
        bbox={"facecolor": "white", "edgecolor": look.GREY},
    )
    ax.set_yticks(y, [f"{name}  {int(rank)}" for name, rank in ordered.items()])
    ax.set_xlim(*axis)
    ax.set_ylim(-0.7, len(y) + 0.7)
    ax.set_xlabel("axis of the printed figure: SSRR (no unit)")
    ax.grid(axis="y", visible=False)
    data = ordered.rename("rank of the bar").rename_axis("model").reset_index()
    return figure, data.assign(SSRR=float("nan"))


def transitions(shares: dict[str, pd.DataFrame], means: pd.DataFrame):
    """Emotion steps by state under two judges, persistence, and means by intention.

    Args:
        shares: name -> frame of `sage_board.step_shares`.
        means: of `sage_board.intention_means`.

    Returns:
        figure, data: the shares in long form with column source.
    """
    figure, panels = _step_figure(shares)
    ax = panels[-1]
    named = means.rename(columns={"intention": "name"})
    look.bars_with_intervals(ax, named, "mean final emotion (0 to 100)")
    ax.axvline(START, color=look.BLACK, linestyle="--", linewidth=0.8)
    ax.set_title("by hidden intention, judge DeepSeek-V3")
    return figure, _long(shares)


def steps_beside(shares: dict[str, pd.DataFrame], accepted: pd.DataFrame):
    """Steps of scripted users beside SAGE's, and accepted replies by strategy.

    Args:
        shares: as in `transitions`; the first is SAGE's.
        accepted: strategy, and one column of shares (0..1) a kind of user.

    Returns:
        figure, data: the shares in long form with column source.
    """
    figure, panels = _step_figure(shares)
    ax = panels[-1]
    y = np.arange(len(accepted))[::-1]
    kinds = [name for name in accepted.columns if name != "strategy"]
    ax.hlines(y, accepted[kinds].min(axis=1), accepted[kinds].max(axis=1),
              color=look.LIGHT)  # fmt: skip
    for kind, (colour, mark) in zip(kinds, LOOKS, strict=False):
        ax.plot(accepted[kind], y, mark, color=colour, markersize=4, label=kind)
    ax.set_yticks(y, accepted["strategy"])
    ax.set_xlim(0, 1)
    ax.set_xlabel("share of replies accepted")
    ax.set_title("accepted replies, by strategy")
    ax.legend(loc="upper left", bbox_to_anchor=(0.0, -0.2), ncols=2)
    ax.grid(axis="y", visible=False)
    return figure, _long(shares)


def _step_figure(shares: dict[str, pd.DataFrame]):
    """Panels of `step_shares` for several sources; returns (figure, its five axes)."""
    figure = plt.figure(figsize=(look.WIDTH, 4.7))
    rows = figure.add_gridspec(2, 1, height_ratios=[1, 1.15])
    top = rows[0].subgridspec(1, 3)
    low = rows[1].subgridspec(1, 2, width_ratios=[1, 2])
    panels = [figure.add_subplot(part) for part in (*top, *low)]
    for ax, state in zip(panels, ("C", "B", "A"), strict=False):
        _bars(ax, shares, [(state, step) for step in STEPS])
        ax.set_xticks(range(4), [f"{step:+d}" for step in STEPS])
        ax.set_title(f"state {STATES[state]}")
        ax.set_ylim(0, 1)
        ax.set_xlabel("change by the reply (points)")
    panels[0].set_ylabel("share of replies")
    handles = panels[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=3)
    persistence = [("rise after rise", None), ("fall after fall", None)]
    _bars(panels[3], shares, persistence)
    panels[3].set_xticks(range(2), ["rise after\na rise", "fall after\na fall"])
    panels[3].set_ylim(0, 1)
    panels[3].set_ylabel("share of replies")
    panels[3].set_title("direction stays")
    return figure, panels


def _bars(ax, shares: dict[str, pd.DataFrame], cells) -> None:
    width = 0.8 / len(shares)
    for i, (source, table) in enumerate(shares.items()):
        colour, hatch = STEP_LOOK[i]
        picked = []
        for group, step in cells:
            same = table["step"].isna() if step is None else table["step"] == step
            picked.append(table[(table["group"] == group) & same].iloc[0])
        rows = pd.DataFrame(picked)
        x = np.arange(len(rows)) + (i - (len(shares) - 1) / 2) * width
        share = rows["share"].to_numpy(float)
        ax.bar(x, share, width, color=colour, hatch=hatch, label=source,
               edgecolor="white", linewidth=0)  # fmt: skip
        error = np.abs([share - rows["low"], rows["high"] - share]).astype(float)
        ax.errorbar(x, share, error, fmt="none", ecolor=look.BLACK, elinewidth=0.8)
    ax.grid(axis="x", visible=False)


def _long(shares: dict[str, pd.DataFrame]) -> pd.DataFrame:
    parts = [table.assign(source=source) for source, table in shares.items()]
    return pd.concat(parts, ignore_index=True)
