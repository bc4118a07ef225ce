"""How well the pipeline's first stage does, against what was planted.

Segment marking is compared turn by turn with three trivial baselines; personal data by
characters. Intervals resample dialogues: turns of one dialogue are not independent.

Paper: EMPA (arXiv 2603.00552) section 3.2 reports one figure, 91 % (N = 200), for a
manual check of the marked segments; neither data nor criteria were released.
"""

import re
from collections.abc import Callable, Iterable, Mapping

import numpy as np
import pandas as pd

from helpers.data.checks import words
from helpers.data.raw import RawDialogue
from helpers.data.truth import Truth
from helpers.reporting.stats import cluster_bootstrap

LONG = 12  # words of a long message
FEELING_WORDS = re.compile(
    r"(?i)\b(sad|angry|furious|afraid|scared|anxious|lonely|alone|tired|exhausted"
    r"|ashamed|guilty|jealous|hurt|cry|crying|cried|tears)\b"
    r"|难过|生气|孤单|害怕|心慌|累|哭"
)


def every_turn(dialogue: RawDialogue) -> set[int]:
    """Baseline: the whole dialogue needs empathy."""
    return set(range(len(dialogue.turns)))


def feeling_word(dialogue: RawDialogue) -> set[int]:
    """Baseline: a turn of the seeker that names a feeling, and the two on each side."""
    named = [
        i
        for i, turn in enumerate(dialogue.turns)
        if turn.role == "seeker" and FEELING_WORDS.search(turn.text)
    ]
    return {
        j
        for i in named
        for j in range(max(0, i - 2), min(len(dialogue.turns), i + 3))
    }


def long_message(dialogue: RawDialogue) -> set[int]:
    """Baseline: a long turn of the seeker, and what the helper says next."""
    found = set()
    for i, turn in enumerate(dialogue.turns):
        if turn.role == "seeker" and len(words(turn.text)) >= LONG:
            found |= {i, i + 1} if i + 1 < len(dialogue.turns) else {i}
    return found


BASELINES: dict[str, Callable[[RawDialogue], set[int]]] = {
    "every turn": every_turn,
    "a feeling word": feeling_word,
    "long messages": long_message,
}


def marked(record: Mapping) -> set[int]:
    """The turns that stage 1 marked in a dialogue."""
    return {
        i
        for segment in record.get("segments", ())
        for i in range(segment["first"], segment["last"] + 1)
    }


def marking_counts(
    records: Iterable[Mapping],
    dialogues: Mapping[str, RawDialogue],
    truth: Mapping[str, Truth],
    name: str = "cue rules",
) -> pd.DataFrame:
    """One row a dialogue and method: id, part, method, tp, fp, fn (turns).

    A dialogue of the kind "crisis" is left out: it is refused, not marked.
    """
    rows = []
    for record in records:
        ident = record["id"]
        if ident not in truth or truth[ident].kind == "crisis":
            continue
        methods = {name: marked(record)}
        methods |= {key: rule(dialogues[ident]) for key, rule in BASELINES.items()}
        for method, turns in methods.items():
            wanted = truth[ident].turns
            rows.append(
                {
                    "id": ident,
                    "part": truth[ident].part,
                    "method": method,
                    "tp": len(turns & wanted),
                    "fp": len(turns - wanted),
                    "fn": len(wanted - turns),
                }
            )
    return pd.DataFrame(rows)


def f1(tp, fp, fn):
    """2 tp / (2 tp + fp + fn), elementwise; NaN where nothing is marked or wanted."""
    total = 2 * np.asarray(tp, dtype=float) + fp + fn
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(total > 0, 2 * np.asarray(tp, dtype=float) / total, np.nan)


def marking_table(
    counts: pd.DataFrame, draws: int, rng: np.random.Generator, level: float
) -> pd.DataFrame:
    """Precision, recall and F1 over all turns; the lead of the first method over each.

    Returns: method, dialogues, precision, recall, F1 with low and high, lead (F1 of the
        first method less this one's) with low and high, paired by dialogue.
    """
    methods = list(dict.fromkeys(counts["method"]))
    wide = {
        method: part.set_index("id")[["tp", "fp", "fn"]].to_numpy(dtype=float)
        for method, part in counts.groupby("method", sort=False)
    }
    n = len(wide[methods[0]])
    weights = rng.multinomial(n, np.full(n, 1 / n), size=draws)
    tail = [100 * (1 - level) / 2, 100 * (1 + level) / 2]
    drawn = {m: f1(*(weights @ wide[m]).T) for m in methods}
    rows = []
    for method in methods:
        tp, fp, fn = wide[method].sum(axis=0)
        low, high = np.nanpercentile(drawn[method], tail)
        row = {
            "method": method,
            "dialogues": n,
            "precision": tp / (tp + fp),
            "recall": tp / (tp + fn),
            "F1": float(f1(tp, fp, fn)),
            "low": low,
            "high": high,
        }
        if method != methods[0]:
            lead = drawn[methods[0]] - drawn[method]
            row["lead"] = rows[0]["F1"] - row["F1"]
            row["lead low"], row["lead high"] = np.nanpercentile(lead, tail)
        rows.append(row)
    return pd.DataFrame(rows)


def personal_rows(
    records: Iterable[Mapping],
    dialogues: Mapping[str, RawDialogue],
    truth: Mapping[str, Truth],
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(planted, removed): one row a planted piece, and one a removed span.

    A piece counts as removed when every letter and digit of it is gone; a removed span
    is right when it touches a planted piece of the same turn, whatever its kind.
    """
    planted, removed = [], []
    for record in records:
        ident = record["id"]
        if ident not in truth or "removed" not in record:
            continue
        spans = record["removed"]
        for piece in truth[ident].personal:
            text = dialogues[ident].turns[piece.turn].text
            gone = all(
                any(
                    s["turn"] == piece.turn and s["start"] <= i < s["end"]
                    for s in spans
                )
                for i in range(piece.start, piece.end)
                if text[i].isalnum()
            )
            planted.append(
                {
                    "id": ident,
                    "part": truth[ident].part,
                    "kind": piece.kind,
                    "gone": gone,
                }
            )
        for s in spans:
            right = any(
                s["turn"] == p.turn and p.start < s["end"] and s["start"] < p.end
                for p in truth[ident].personal
            )
            row = {"id": ident, "part": truth[ident].part, "kind": s["kind"]}
            removed.append(row | {"right": right})
    return pd.DataFrame(planted), pd.DataFrame(removed)


def personal_table(
    planted: pd.DataFrame,
    removed: pd.DataFrame,
    draws: int,
    rng: np.random.Generator,
    level: float,
) -> pd.DataFrame:
    """By kind, by part, and in all: planted, gone, recall with interval, precision.

    Precision has no kind "speaker" of its own: a removed name does not say whose it is.
    """
    rows = []
    groups = [("all", "all")]
    groups += [("part", part) for part in dict.fromkeys(planted["part"])]
    groups += [("kind", kind) for kind in sorted(set(planted["kind"]))]
    for column, value in groups:
        own = planted if column == "all" else planted[planted[column] == value]
        cut = removed if column == "all" else removed[removed[column] == value]
        share = cluster_bootstrap(own["gone"], own["id"], draws, rng, level)
        rows.append(
            {
                "of": value,
                "planted": len(own),
                "gone": int(own["gone"].sum()),
                "recall": share.estimate,
                "low": share.low,
                "high": share.high,
                "spans removed": len(cut) if len(cut) else None,
                "precision": cut["right"].mean() if len(cut) else None,
            }
        )
    table = pd.DataFrame(rows)
    return table.astype({"spans removed": "Int64"})
