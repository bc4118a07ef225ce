"""Figures of the Real-to-Sim pipeline: funnel, deficits, coverage, and the overview.

Paper: EMPA (arXiv 2603.00552) Algorithm 1 and Fig. 3 (the overview is drawn anew from
the text, not copied).
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from helpers.data import slots
from helpers.data.cards import LEVEL_COUNTS
from helpers.data.scenarios import Scenario
from helpers.reporting import figures
from helpers.reporting.figures import BLACK, BLUE, GREEN, GREY, ORANGE, RED, SKY

# Length of the initial deficit over EMPA's pool of 395 scripts: mean and SD (paper,
# appendix 7.1; confirmed by the predecessor's report).
POOL_MEAN, POOL_SD = 32.32, 4.52
STEP_NAMES = ("decontextualise", "recontextualise", "refine and validate")


def funnel_table(stages: Sequence[Mapping[str, Mapping]]) -> pd.DataFrame:
    """One row for what a stage takes in, each reason of a loss, and what it keeps."""
    rows = []
    for number, (name, records) in enumerate(zip(STEP_NAMES, stages, strict=True), 1):
        lost = Counter(r["reason"] for r in records.values() if r["outcome"] != "kept")
        rows.append({"stage": number, "step": name, "what": "in", "n": len(records)})
        rows += [
            {"stage": number, "step": name, "what": reason, "n": n}
            for reason, n in sorted(lost.items(), key=lambda pair: (-pair[1], pair[0]))
        ]
        kept = len(records) - sum(lost.values())
        rows.append({"stage": number, "step": name, "what": "kept", "n": kept})
    return pd.DataFrame(rows)


def funnel(table: pd.DataFrame):
    """Bars of what goes in, is lost by reason, and is kept, stage after stage."""
    figure, axes = figures.grid(1, 1, 0.26 * len(table) + 0.9)
    ax = axes[0][0]
    y = np.arange(len(table))[::-1]
    look = {"in": (GREY, ""), "kept": (GREEN, "..")}
    for position, row in zip(y, table.itertuples(), strict=True):
        colour, hatch = look.get(row.what, (RED, "//"))
        ax.barh(
            position, row.n, color=colour, hatch=hatch, height=0.7, edgecolor="white"
        )
        ax.text(row.n + 0.8, position, str(row.n), va="center", fontsize=7.5)
    ax.set_yticks(
        y, [f"{r.stage} {r.what.replace('_', ' ')}" for r in table.itertuples()]
    )
    ax.set_xlabel("dialogues (stage 1) or cards (stages 2, 3)")
    ax.set_ylim(-0.6, len(table) - 0.4)
    ax.grid(axis="y", visible=False)
    ends = table.index[table["what"] == "kept"][:-1]
    for end in ends:
        ax.axhline(y[end] - 0.5, color=BLACK, linewidth=0.6)
    return figure


def deficit_table(cards: Sequence[Scenario]) -> pd.DataFrame:
    """Share of each IEDR level, item by item: the new cards and EMPA's pool of 395."""
    rows = []
    for item in slots.ITEMS:
        own = Counter(card.needs[item] for card in cards)
        pool = LEVEL_COUNTS[item]
        for level in range(4):
            rows.append(
                {
                    "item": item,
                    "level": level,
                    "new cards": own[level] / len(cards),
                    "pool of 395": pool[level] / sum(pool),
                }
            )
    return pd.DataFrame(rows)


def deficits(cards: Sequence[Scenario], table: pd.DataFrame):
    """Left: lengths of the initial deficit; right: mean level of each item."""
    figure, axes = figures.grid(1, 2, 2.7, gridspec_kw={"width_ratios": [1, 1.2]})
    left, right = axes[0]
    norms = [card.deficit_norm for card in cards]
    left.hist(norms, bins=np.arange(10, 48, 2), color=SKY, edgecolor="white")
    top = left.get_ylim()[1]
    left.axvline(np.mean(norms), color=BLUE, linewidth=1.4)
    left.text(np.mean(norms) + 0.5, top * 0.95, "new", color=BLUE, fontsize=7.5)
    low, high = POOL_MEAN - POOL_SD, POOL_MEAN + POOL_SD
    left.axvspan(low, high, color=ORANGE, alpha=0.2)
    left.axvline(POOL_MEAN, color=ORANGE, linewidth=1.4, linestyle="--")
    left.text(POOL_MEAN + 0.5, top * 0.95, "pool", color=ORANGE, fontsize=7.5)
    left.set_xlabel("length of the initial deficit (rubric points)")
    left.set_ylabel("cards")
    left.set_title(f"n = {len(cards)} new; pool: mean, SD")
    x = np.arange(len(slots.ITEMS))
    for name, mark, colour in (
        ("new cards", "o", BLUE),
        ("pool of 395", "D", ORANGE),
    ):
        means = (
            (table["level"] * table[name])
            .groupby(table["item"], sort=False)
            .sum()
            .to_numpy()
        )
        right.plot(x, means, mark, color=colour, label=name, markersize=4.5)
    right.set_xticks(x, slots.ITEMS)
    right.set_ylim(-0.1, 3.1)
    right.set_ylabel("mean IEDR level (0 to 3)")
    right.set_title("item by item")
    right.legend(loc="lower left", ncols=2)
    return figure


def coverage_map(table: pd.DataFrame):
    """Heat map of counts: domains by axis, difficulty and intention."""
    columns = [c for c in table.columns if c != "domain"]
    groups = [c.split(" ")[0] for c in columns]
    widths = [groups.count(name) for name in dict.fromkeys(groups)]
    figure, axes = figures.grid(
        1, len(widths), 2.6, gridspec_kw={"width_ratios": widths}, sharey=True
    )
    top = max(1, int(table[columns].to_numpy().max()))
    for ax, name in zip(axes[0], dict.fromkeys(groups), strict=True):
        own = [c for c in columns if c.startswith(f"{name} ")]
        values = table[own].to_numpy()
        ax.imshow(values, cmap="Blues", vmin=0, vmax=top, aspect="auto")
        for (i, j), value in np.ndenumerate(values):
            colour = "white" if value > 0.6 * top else (RED if value == 0 else BLACK)
            ax.text(
                j, i, str(value), ha="center", va="center", color=colour, fontsize=7
            )
        names = [c.removeprefix(f"{name} ") for c in own]
        ax.set_xticks(range(len(own)), names, rotation=40, ha="right")
        ax.set_title(name)
        ax.grid(visible=False)
    axes[0][0].set_yticks(range(len(table)), table["domain"])
    return figure


OVERVIEW = (
    ("1 decontextualise", "chats in; personal data out;\nsegments marked", BLUE),
    ("2 recontextualise", "persona, crisis, memories,\ncausal arc, four phases", BLUE),
    ("3 refine, validate", "checks, coverage,\ninitial deficit (IEDR)", BLUE),
    ("scenario card", "persona and needs\non the axes C, A, P", ORANGE),
    ("user and policy talk", "the user plays the card;\nthe director guides", GREEN),
    ("judge rates each turn", "levels become a step\nof the position P", GREEN),
    ("potential model", "energy, distance, verdict;\nnine indices, EPM-Q", RED),
)


def overview():
    """EMPA's framework in seven boxes; returns (figure, table of the boxes)."""
    figure, ax = figures.blank(2.9)
    width, height = 0.22, 0.3
    places = [(0.0, 0.66), (0.26, 0.66), (0.52, 0.66), (0.78, 0.66)]
    places += [(0.78, 0.16), (0.45, 0.16), (0.12, 0.16)]
    for (x, y), (title, text, colour) in zip(places, OVERVIEW, strict=True):
        figures.box(ax, x, y, width, height, f"{title}\n\n{text}", colour, 6.6)
    arrow = {"arrowstyle": "->", "color": BLACK, "linewidth": 0.9}
    middle = 0.66 + height / 2
    for x, _ in places[:3]:
        ax.annotate("", (x + 0.26, middle), (x + width, middle), arrowprops=arrow)
    ax.annotate("", (0.89, 0.16 + height), (0.89, 0.66), arrowprops=arrow)
    low = 0.16 + height / 2
    ax.annotate("", (0.45 + width, low), (0.78, low), arrowprops=arrow)
    ax.annotate("", (0.12 + width, low), (0.45, low), arrowprops=arrow)
    ax.annotate("", (0.89, 0.15), (0.56, 0.15), arrowprops=arrow | {
        "connectionstyle": "bar,fraction=0.12"
    })  # fmt: skip
    ax.text(0.725, 0.085, "12 to 45 turns", ha="center", fontsize=6.6)
    ax.text(0.0, 0.99, "Real-to-Sim (notebook 01)", fontsize=7.5, color=BLUE)
    ax.text(0.0, 0.5, "sandbox (02, 03) and score (03)", fontsize=7.5, color=GREEN)
    rows = [
        {"step": title, "what": text.replace("\n", " ")} for title, text, _ in OVERVIEW
    ]
    return figure, pd.DataFrame(rows)
