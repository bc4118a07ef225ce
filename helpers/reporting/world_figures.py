"""Figures of the scripted world: the sandbox's cycle, one dialogue, audits.

Every function returns (figure, data frame of what is drawn).
"""

import textwrap

import numpy as np
import pandas as pd

from helpers.reporting import figures as look

# Algorithm 2 of EMPA (2603.00552): name, what it sees, what it gives.
CYCLE = [
    ("User (actor)", "card, history,\nguidance", "next line"),
    ("Model under test", "history only", "reply"),
    ("Judge", "short card, history", "progress and harm\non C, A, P"),
    ("Potential model", "levels", "step v, position P,\nenergy E"),
    ("Director", "history, P, v,\nstory stages", "one tool call:\nguidance"),
]
STOPS = [
    ("success", "enough energy, and P near the goal, from turn 12 on"),
    ("failure", "harm or stillness for several turns in a row"),
    ("director stop", "the director asks for the end, from turn 12 on"),
    ("turn limit", "turn 45"),
]
BANDS = {"F": (-8, 10), "C": (10, 40), "B": (40, 70), "A": (70, 100), "S": (100, 122)}
BAND_COLOUR = {
    "F": "#E8C9BC",
    "C": "#F6E7D8",
    "B": "#F4F4F4",
    "A": "#DCEBF5",
    "S": "#B9DCC9",
}


def algorithm_2():
    """One turn of EMPA's sandbox, and the ways in which a dialogue ends."""
    figure, ax = look.blank(3.5)
    colours = [look.ORANGE, look.GREY, look.BLUE, look.GREEN, look.PINK]
    width, gap = 0.168, 0.04
    for k, ((name, sees, gives), colour) in enumerate(zip(CYCLE, colours, strict=True)):
        x = k * (width + gap)
        look.box(ax, x, 0.70, width, 0.13, f"{k + 1}  {name}", colour, 7.6)
        ax.text(x + width / 2, 0.97, "sees", ha="center", fontsize=6.5,
                style="italic", color="#555555")  # fmt: skip
        ax.text(x + width / 2, 0.945, sees, ha="center", va="top", fontsize=7)
        ax.text(x + width / 2, 0.66, "gives", ha="center", va="center", fontsize=6.5,
                style="italic", color="#555555")  # fmt: skip
        ax.text(x + width / 2, 0.635, gives, ha="center", va="top", fontsize=7)
        if k < 4:
            _arrow(ax, (x + width, 0.765), (x + width + gap, 0.765))
    last = 4 * (width + gap) + width / 2
    ax.plot([last, last], [0.53, 0.47], color=look.PINK, lw=1.2)
    ax.plot([last, width / 2], [0.47, 0.47], color=look.PINK, lw=1.2)
    _arrow(ax, (width / 2, 0.47), (width / 2, 0.57), look.PINK)
    back = "guidance for the next line; before the first turn there is none"
    ax.text(0.5, 0.485, back, ha="center", fontsize=7)
    when = "after 4 (success, failure), after 5 (stop) or at the limit, it ends:"
    ax.text(0.0, 0.38, when, fontsize=8, fontweight="bold")
    for i, (name, rule) in enumerate(STOPS):
        y = 0.27 - i * 0.09
        look.box(ax, 0.0, y, 0.168, 0.07, name, look.GREEN if i == 0 else look.RED, 7.5)
        ax.text(0.19, y + 0.035, rule, va="center", fontsize=7.5)
    rows = [("role", i + 1, *row) for i, row in enumerate(CYCLE)]
    rows += [("ending", None, name, rule, None) for name, rule in STOPS]
    data = pd.DataFrame(
        rows, columns=["kind", "order", "name", "sees or rule", "gives"]
    )
    return figure, data.replace("\n", " ", regex=True).astype({"order": "Int64"})


def _arrow(ax, start, end, colour=look.BLACK) -> None:
    style = {
        "arrowstyle": "-|>",
        "color": colour,
        "lw": 1.0,
        "shrinkA": 0,
        "shrinkB": 0,
    }
    ax.annotate("", xy=end, xytext=start, arrowprops=style)


def one_dialogue(parts: dict[str, pd.DataFrame]):
    """What was said, and beside it the hidden state, turn by turn from top to bottom.

    Args:
        parts: title -> one row a turn with columns user, reply, emotion_before,
            emotion, distance_before, distance (to the zone, rubric points), trust
            (0..3), told (number of things that the user's line tells first).
    """
    lengths = [len(frame) for frame in parts.values()]
    figure, axes = look.grid(
        len(parts),
        3,
        0.345 * sum(lengths) + 0.75 * len(parts),
        sharey="row",
        gridspec_kw={"width_ratios": [4.6, 1.9, 1.4], "height_ratios": lengths},
    )
    top = max(f[["distance", "distance_before"]].max().max() for f in parts.values())
    for row, (title, frame) in zip(axes, parts.items(), strict=True):
        _transcript(row[0], title, frame)
        _emotion(row[1], frame)
        _distance(row[2], frame, top)
    data = [frame.assign(listener=title) for title, frame in parts.items()]
    return figure, pd.concat(data, ignore_index=True)


def _transcript(ax, title: str, frame: pd.DataFrame) -> None:
    ax.set_xlim(0, 1)
    ax.set_ylim(len(frame) + 0.5, 0.0)
    ax.axis("off")
    ax.set_title(title, loc="left")
    for turn, row in enumerate(frame.itertuples(), 1):
        ax.text(0.0, turn, str(turn), va="center", fontsize=7.5, fontweight="bold")
        said = textwrap.shorten(row.user, 74, placeholder=" ...")
        answer = textwrap.shorten(row.reply, 84, placeholder=" ...")
        ax.text(0.05, turn - 0.2, said, va="center", fontsize=6.6, color=look.RED)
        ax.text(0.05, turn + 0.2, answer, va="center", fontsize=6.6, color=look.BLUE)
        ax.axhline(turn + 0.5, color=look.LIGHT, linewidth=0.5)


def _emotion(ax, frame: pd.DataFrame) -> None:
    for letter, (low, high) in BANDS.items():
        ax.axvspan(low, high, color=BAND_COLOUR[letter], zorder=0, linewidth=0)
        ax.text((low + high) / 2, 0.28, letter, ha="center", va="center", fontsize=7)
    values = [frame["emotion_before"].iloc[0], *frame["emotion"]]
    y = np.arange(len(values))
    ax.plot(values, y, "o-", color=look.BLACK, markersize=3.5, linewidth=1)
    for turn, (before, after) in enumerate(
        zip(values[:-1], values[1:], strict=True), 1
    ):
        side = 5 if after >= before else -5
        ax.annotate(f"{after:.0f}", (after, turn), (side, -1), fontsize=6.3,
                    textcoords="offset points", va="center",
                    ha="left" if side > 0 else "right")  # fmt: skip
    ax.set_xlim(-8, 122)
    ax.set_xticks([10, 40, 70, 100])
    ax.set_xlabel("emotion (0 to 100)")
    ax.grid(axis="y", visible=False)
    ax.grid(axis="x", visible=False)


def _distance(ax, frame: pd.DataFrame, top: float) -> None:
    values = [frame["distance_before"].iloc[0], *frame["distance"]]
    y = np.arange(len(values))
    ax.plot(values, y, "s-", color=look.GREEN, markersize=3, linewidth=1)
    ax.axvline(0, color=look.BLACK, linewidth=0.8)
    for turn, row in enumerate(frame.itertuples(), 1):
        ax.text(top * 1.08, turn, "+" * int(row.told), fontsize=7, va="center")
        ax.text(top * 1.62, turn, f"{int(row.trust)}", fontsize=7, va="center")
    ax.text(top * 1.06, 0.28, "new", fontsize=6.2, va="center")
    ax.text(top * 1.5, 0.28, "trust", fontsize=6.2, va="center")
    ax.set_xlim(-1, top * 2.0)
    ax.set_xticks([0, 20, 40])
    ax.set_xlabel("distance to the zone")
    ax.tick_params(axis="y", left=False, labelleft=False)
    ax.grid(axis="y", visible=False)


def audit_picture(rows: pd.DataFrame):
    """The gaming audit: mean gain of every policy under both scores.

    Args:
        rows: score ("distance" or "emotion"), policy, n, mean, low, high.
    """
    figure, axes = look.grid(1, 2, 3.5)
    units = {
        "distance": "share of the start distance removed",
        "emotion": "change of the emotion (points)",
    }
    for ax, (score, unit) in zip(axes[0], units.items(), strict=True):
        part = rows[rows["score"] == score].sort_values("mean")
        y = np.arange(len(part))
        for place, row in zip(y, part.itertuples(), strict=True):
            colour, mark = {"oracle": (look.GREEN, "D"), "heuristic": (look.BLUE, "o")
                            }.get(row.policy, (look.ORANGE, "s"))  # fmt: skip
            ax.plot([row.low, row.high], [place, place], color=colour, linewidth=1.6)
            ax.plot(row.mean, place, mark, color=colour, markersize=4)
        ax.set_yticks(y, [name.split(":")[0] for name in part["policy"]])
        half = part.set_index("policy").loc["heuristic", "mean"] / 2
        ax.axvline(0, color=look.BLACK, linewidth=0.8)
        ax.axvline(half, color=look.BLUE, linewidth=0.8, linestyle="--")
        ax.set_xlabel(unit)
        ax.set_title(f"score: {score}")
    return figure, rows


def reader_quality(
    table: pd.DataFrame, confusion: dict[tuple[str, str], int], kinds: list[str]
):
    """The free-text reader: F1 by act for up to three groups of authors; confusions.

    Args:
        table: act, group, f1, low, high (NaN where the act does not occur).
        confusion: (labelled, read) -> count, "-" for nothing. kinds: acts in order.
    """
    figure, axes = look.grid(1, 2, 3.9, gridspec_kw={"width_ratios": [2, 3]})
    ax, right = axes[0]
    looks = [
        (look.BLUE, "o", 0.22),
        (look.ORANGE, "s", 0.0),
        (look.GREEN, "^", -0.22),
    ]
    groups = list(dict.fromkeys(table["group"]))
    for group, (colour, mark, shift) in zip(groups, looks, strict=False):
        part = table[table["group"] == group].set_index("act").reindex(kinds)
        y = np.arange(len(kinds))[::-1] + shift
        ax.hlines(y, part["low"], part["high"], color=colour, linewidth=1)
        ax.plot(part["f1"], y, mark, color=colour, markersize=3.5, label=group)
    ax.set_yticks(np.arange(len(kinds))[::-1], kinds)
    ax.set_xlim(0, 1.02)
    ax.set_xlabel("F1")
    ax.legend(loc="lower left", bbox_to_anchor=(-0.3, 1.0))
    names = [*kinds, "-"]
    grid = np.array([[confusion.get((t, r), 0) for r in names] for t in names])
    shown = np.where(np.eye(len(names), dtype=bool), 0, grid)
    right.imshow(shown, cmap="Oranges", vmin=0, vmax=max(4, shown.max()))
    for i, j in zip(*np.nonzero(grid), strict=True):
        colour = "#777777" if i == j else look.BLACK
        right.text(j, i, grid[i, j], ha="center", va="center", fontsize=6, color=colour)
    right.set_xticks(range(len(names)), names, rotation=90)
    right.set_yticks(range(len(names)), names)
    right.set_xlabel("read as")
    right.set_ylabel("labelled")
    right.grid(visible=False)
    long = [
        {"act": t, "group": "confusion", "read": r, "count": n}
        for (t, r), n in sorted(confusion.items())
    ]
    return figure, pd.concat([table, pd.DataFrame(long)], ignore_index=True)


def f1_intervals(
    true: np.ndarray,
    read: np.ndarray,
    draws: int,
    rng: np.random.Generator,
    level: float,
):
    """F1 by act and its mean over acts, with percentile intervals over sentences.

    Args:
        true, read: (sentences, acts) of 0 and 1.

    Returns:
        (acts + 1, 3) array of estimate, low, high; the last row is the mean over the
        acts that are labelled at least once. NaN where an act is labelled nowhere.
    """
    n = len(true)
    weights = rng.multinomial(n, np.full(n, 1 / n), size=draws)
    weights = np.vstack([np.ones(n, dtype=int), weights])
    hit = weights @ (true * read)
    both = weights @ true + weights @ read  # 2 hits + missed + false
    with np.errstate(invalid="ignore", divide="ignore"):
        f1 = np.where(weights @ true > 0, 2 * hit / both, np.nan)
    f1[:, true.sum(0) == 0] = np.nan
    labelled = ~np.isnan(f1[0])
    f1 = np.column_stack([f1, np.nanmean(f1[:, labelled], axis=1)])
    tail = 100 * (1 - level) / 2
    out = np.full((f1.shape[1], 3), np.nan)
    for k in range(f1.shape[1]):
        drawn = f1[1:, k][~np.isnan(f1[1:, k])]
        if len(drawn):
            out[k] = [f1[0, k], *np.percentile(drawn, [tail, 100 - tail])]
    return out
