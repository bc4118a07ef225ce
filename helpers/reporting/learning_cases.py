"""One case before and after training, side by side: chosen by rule, shown in full.

Paper: RLVER (arXiv 2507.03112) Figures 8 and 9; the dialogues are the kit's own.
"""

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from helpers.learning.results import Result
from helpers.reporting import figures as look
from helpers.reporting.learning_figures import DEMO
from helpers.reporting.learning_looks import look_of
from helpers.sandbox.dialogue import Dialogue

RULE = (
    "the case whose gain, with the seeds averaged, is the median gain of {label}; of "
    "its runs, the one whose gain is the median there; ties: the lowest case and seed"
)
WRAP = 45  # characters of a line of text, bold ones in a column
LINE = 0.128  # inches of one


@dataclass(frozen=True)
class Case:
    """A case with the gain that it was chosen for.

    start, label: of the two policies. gain: of the run that is shown. median: over all
    cases, seeds averaged. of: cases.
    """

    id: str
    start: str
    label: str
    seed: int
    gain: float
    median: float
    of: int
    before: Dialogue
    after: Dialogue

    @property
    def rule(self) -> str:
        return RULE.format(label=self.label)


def median_case(runs: Sequence[Result], start: Result, user: str | None = None) -> Case:
    """The case of the median gain (see RULE): no choice of the author.

    Args:
        runs: all seeds of one label, for instance the best of the board. start: of the
            same mode. user: of the last checks; the first one unless said otherwise.

    Raises:
        ValueError: runs of several labels, or no case that all of them finished.
    """
    label = runs[0].label
    if {run.label for run in runs} != {label}:
        raise ValueError("the case is that of one label; runs of several are given")
    before = {d.scenario_id: d for d in start.dialogues(user) if d.failure is None}
    after, gains = {}, {}
    for run in runs:
        for d in run.dialogues(user):
            if d.failure is None and d.scenario_id in before:
                key = (d.scenario_id, run.recipe.trainer.seed)
                after[key] = d
                gains[key] = d.final_emotion - before[d.scenario_id].final_emotion
    table = pd.Series(gains).unstack().dropna() if gains else pd.DataFrame()
    if table.empty:
        raise ValueError(f"{label}: no case that the start and all runs finished")
    case = _median(table.mean(axis=1))
    seed = _median(table.loc[case])
    median = table.mean(axis=1).median()
    return Case(
        case, start.label, label, seed, gains[case, seed], median, len(table),
        before[case], after[case, seed],
    )  # fmt: skip


def _median(values: pd.Series):
    """The index of the value closest to the median; the lowest of ties."""
    return (values - values.median()).abs().sort_index().idxmin()


def case_study(case: Case, first: int, last: int, source: str = DEMO):
    """Turns `first` to `last` of both dialogues as text, and the whole emotion traces.

    Args:
        source: names the runs.

    Returns:
        figure; data, of all turns: side, turn, speaker, text, emotion after the line.
    """
    sides = {"before": case.before, "after": case.after}
    texts = {name: _lines(d, first, last) for name, d in sides.items()}
    height = LINE * max(len(text) for text in texts.values()) + 0.1
    figure, axes = look.grid(
        2, 2, height + 1.95, sharex="row", sharey="row",
        gridspec_kw={"height_ratios": [height, 1.2]},
    )  # fmt: skip
    colours = {"before": look_of(case.start), "after": look_of(case.label)}
    for column, (name, dialogue) in enumerate(sides.items()):
        ax, trace = axes[0][column], axes[1][column]
        ax.axis("off")
        ax.set_ylim(-height, 0)
        for row, (text, style) in enumerate(texts[name]):
            ax.text(0, -row * LINE, text, va="top", fontsize=7.5, **style)
        title = "before training" if name == "before" else f"after: {case.label}"
        final = dialogue.final_emotion
        ax.set_title(f"{title}, final emotion {final}", loc="left")
        colour, mark, _ = colours[name]
        felt = [dialogue.initial_emotion, *(t.emotion_after for t in dialogue.turns)]
        trace.axvspan(first - 0.5, last + 0.5, color=look.LIGHT, alpha=0.5, lw=0)
        trace.plot(range(len(felt)), felt, f"{mark}-", color=colour, ms=4)
        trace.set_ylim(-4, 104)
        trace.set_xlabel("reply (0: opening; shaded: the text above)")
    axes[1][0].set_ylabel("emotion (0 to 100)")
    figure.suptitle(f"{source}, case {case.id}, turns {first} to {last}", fontsize=8)
    return figure, pd.concat([_rows(name, d) for name, d in sides.items()])


def _lines(dialogue: Dialogue, first: int, last: int) -> list[tuple[str, dict]]:
    """Wrapped lines with their style."""
    bold = {"fontweight": "bold"}
    grey = {"style": "italic", "color": "#666666"}
    lines: list[tuple[str, dict]] = []

    def say(text: str, style: dict) -> None:
        glued = re.sub(r" ([.,?!])", "\u00a0\\1", text)  # no line starts with a stop
        wrapped = textwrap.wrap(glued, WRAP, subsequent_indent="    ")
        lines.extend((line.replace("$", r"\$"), style) for line in wrapped)

    shown = [turn for turn in dialogue.turns if first <= turn.number <= last]
    if not shown:
        say("(the dialogue has ended)", grey)
    for turn in shown:
        say(f"{turn.number}  User: {turn.user}", {})
        if turn.think:
            say(f"    thinks: {turn.think}", grey)
        change = turn.emotion_after - turn.emotion_before
        say(f"    Policy: {turn.reply}  [{change:+d}]", bold)
    if shown and shown[-1] is dialogue.turns[-1]:
        if dialogue.closing:
            say(f"    User: {dialogue.closing}", {})
        say(f"(end: {dialogue.ending})", grey)
    return lines


def _rows(side: str, dialogue: Dialogue) -> pd.DataFrame:
    rows = []
    for turn in dialogue.turns:
        rows.append((side, turn.number, "user", turn.user, turn.emotion_before))
        if turn.think:
            rows.append((side, turn.number, "thought", turn.think, None))
        rows.append((side, turn.number, "policy", turn.reply, turn.emotion_after))
    if dialogue.closing:
        rows.append((side, len(dialogue.turns) + 1, "user", dialogue.closing,
                     dialogue.final_emotion))  # fmt: skip
    return pd.DataFrame(rows, columns=["side", "turn", "speaker", "text", "emotion"])
