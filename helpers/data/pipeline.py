"""Real-to-Sim: from noisy dialogues to scenario cards, in three resumable stages.

Stage 1 decontextualises: personal data out, text cleaned, segments marked, features
encoded. Stage 2 recontextualises: an invented person, a crisis, memories, a causal arc
and four story phases from the features. Stage 3 rates the initial deficit (IEDR) and
keeps what passes the checks; a stratified test set is drawn from it.

Each stage reads the log of the one before and appends one outcome an item to its own
(`helpers.data.steplog`), so that a killed run goes on where it stopped. Who marks,
composes and rates is a `Backend`: rules (`helpers.data.pipeline_scripted`) or a model
(`helpers.agents.pipeline_llm`). Personal data are removed, and a crisis is recognised,
by rule before any backend sees a text.

Paper: EMPA (arXiv 2603.00552) section 3.2, Algorithm 1. Prompts, feature schema and
criteria of the paper were not released.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

from helpers.data import checks, marking
from helpers.data.marking import Features, Marks
from helpers.data.material import MATERIAL
from helpers.data.personal import find_personal, redact
from helpers.data.raw import INPUT_REASONS, Line, read_raw
from helpers.data.refining import Bench, Source
from helpers.data.sampling import stratified
from helpers.data.scenarios import Scenario, write_cards
from helpers.data.steplog import StepLog, fingerprint, read_log
from helpers.files import write_atomically

STAGES = ("1_decontextualised", "2_recontextualised", "3_validated")
REASONS = {
    1: (*INPUT_REASONS, "crisis", "no_need", "no_features"),
    2: ("not_composed",),
    3: ("schema", "contradiction", "leakage", "personal_data", "near_duplicate"),
}
REFUSAL = (
    "Speaks of suicide or self-harm: no training scenario is made of it. A person "
    "should read it."
)
HELP_LINE = (
    "If you or somebody near you is in danger, call the local emergency number or a "
    "crisis line; findahelpline.com lists one for your country."
)


class BackendFailed(RuntimeError):
    """A backend gave no usable answer; the item is tried again by the next run."""


@dataclass(frozen=True)
class Draft:
    """What stage 2 makes of a segment.

    card: its fields as JSON values; stage 3 turns them into a `Scenario`. arc: cause,
    development and association in one sentence each. supplied: features that the source
    does not say and the backend chose.
    """

    card: dict[str, Any]
    arc: dict[str, str]
    supplied: tuple[str, ...] = ()


class Backend(Protocol):
    """Who marks, composes and rates."""

    def describe(self) -> Mapping[str, Any]:
        """All that changes its results, as JSON values."""

    def mark(self, dialogue_id: str, language: str, turns: list[dict]) -> Marks:
        """Segments that need empathy, with features; `turns` hold no personal data."""

    def compose(
        self, dialogue_id: str, language: str, features: Features, seed: int
    ) -> Draft:
        """A card from features alone. Raises: BackendFailed."""

    def rate(self, card: Scenario, features: Features) -> Mapping[str, int]:
        """The nine IEDR levels, 0 to 3. Raises: BackendFailed."""


def clean(text: str) -> str:
    """A message without control characters, doubled blanks and drawn-out letters."""
    text = re.sub(r"[\x00-\x1f\x7f\u200b-\u200f\ufeff]", " ", text)
    text = re.sub(r"(\w)\1{3,}", r"\1\1", text)
    return re.sub(r"\s+", " ", text).strip()


def decontextualise(
    raw_paths: Sequence[Path], out_dir: Path, backend: Backend
) -> dict[str, dict]:
    """Stage 1. Returns the outcomes by item, "FILE:LINE"."""
    settings = {
        "stage": 1,
        "input": {Path(path).name: fingerprint(path) for path in raw_paths},
        "backend": backend.describe(),
        "rules": [marking.THRESHOLD, marking.LEAST, marking.NEIGHBOUR, marking.MAX_GAP],
        "cues": fingerprint(MATERIAL / "cues.json"),
        "presidio": version("presidio-analyzer"),
    }
    lines = ((path, line) for path in raw_paths for line in read_raw(path))
    with StepLog(Path(out_dir) / f"{STAGES[0]}.jsonl", settings) as log:
        for path, line in lines:
            key = f"{Path(path).name}:{line.number}"
            if not log.done(key):
                known = {"id": line.dialogue_id, "line": line.number}
                _store(
                    log, key, known, lambda line=line: _decontextualise(line, backend)
                )
        refused = [r for r in log.records.values() if r.get("reason") == "crisis"]
        _write_refusals(Path(out_dir) / "refused.jsonl", refused)
        return log.records


def _store(log: StepLog, key: str, known: dict, work: Callable[[], tuple]) -> None:
    """Run the work for one item and store what came of it."""
    try:
        outcome, fields = work()
    except BackendFailed as error:
        outcome, fields = "failed", {"reason": "backend", "detail": str(error)}
    log.append(key, outcome, **known, **fields)


def _rejected(reason: str, detail: str, **fields) -> tuple[str, dict]:
    return "rejected", {"reason": reason, "detail": detail, **fields}


def _decontextualise(line: Line, backend: Backend) -> tuple[str, dict]:
    if line.dialogue is None:
        return _rejected(line.reason, line.detail)
    dialogue = line.dialogue
    spans = find_personal(dialogue)
    turns = [
        {
            "role": turn.role,
            "text": clean(redact(turn.text, [s for s in spans if s.turn == number])),
        }
        for number, turn in enumerate(dialogue.turns)
    ]
    removed = {
        "language": dialogue.language,
        "removed": [asdict(span) for span in spans],
    }
    if marking.is_crisis(turns):
        return _rejected("crisis", REFUSAL, hint=HELP_LINE, **removed)
    marks = backend.mark(dialogue.id, dialogue.language, turns)
    if marks.crisis:
        return _rejected("crisis", REFUSAL, hint=HELP_LINE, **removed)
    marked = {"segments": [asdict(segment) for segment in marks.segments]}
    if not marks.segments:
        detail = "no part of it needs empathy"
        return _rejected("no_need", detail, **marked, **removed)
    best = max(range(len(marks.segments)), key=lambda i: marks.segments[i].score)
    features = marks.features[best]
    if features.missing():
        detail = f"the segment does not say: {', '.join(features.missing())}"
        return _rejected("no_features", detail, **marked, **removed)
    chosen = {"segment": asdict(marks.segments[best]), "features": features.as_json()}
    return "kept", {"turns": turns, **chosen, **marked, **removed}


def _write_refusals(path: Path, records: list[dict]) -> None:
    """The list of refused dialogues: ids, note and help line; none of their words."""
    rows = [
        {"id": r["id"], "item": r["key"], "note": r["detail"], "help": r["hint"]}
        for r in records
    ]
    write_atomically(path, "".join(json.dumps(row) + "\n" for row in rows))


def recontextualise(out_dir: Path, backend: Backend, seed: int) -> dict[str, dict]:
    """Stage 2: a draft for the strongest segment of each dialogue kept by stage 1."""
    before = Path(out_dir) / f"{STAGES[0]}.jsonl"
    settings = {
        "stage": 2,
        "seed": seed,
        "backend": backend.describe(),
        "input": fingerprint(before.with_suffix(".settings.json")),
    }
    with StepLog(Path(out_dir) / f"{STAGES[1]}.jsonl", settings) as log:
        for key, record in _kept(before):
            if not log.done(key):
                work = _composer(record, backend, seed)
                _store(log, key, {"id": record["id"]}, work)
        return log.records


def _composer(record: dict, backend: Backend, seed: int) -> Callable[[], tuple]:
    def work() -> tuple[str, dict]:
        features = Features.from_json(record["features"])
        draft = backend.compose(record["id"], record["language"], features, seed)
        return "kept", asdict(draft)

    return work


def _kept(path: Path) -> list[tuple[str, dict]]:
    return [(k, r) for k, r in read_log(path).items() if r["outcome"] == "kept"]


def refine(
    raw_paths: Sequence[Path], out_dir: Path, backend: Backend
) -> dict[str, dict]:
    """Stage 3: rate, then check against schema, source and the cards kept before."""
    out_dir = Path(out_dir)
    before = out_dir / f"{STAGES[1]}.jsonl"
    settings = {
        "stage": 3,
        "backend": backend.describe(),
        "checks": [checks.SHARED_WORDS, checks.SAME_STORY, checks.SAME_CARD],
        "input": fingerprint(before.with_suffix(".settings.json")),
    }
    marked = dict(_kept(out_dir / f"{STAGES[0]}.jsonl"))
    raw = {
        f"{Path(path).name}:{line.number}": line.dialogue
        for path in raw_paths
        for line in read_raw(path)
    }
    with StepLog(out_dir / f"{STAGES[2]}.jsonl", settings) as log:
        bench = Bench(backend.rate)
        for key, draft in _kept(before):
            source = Source.of(marked[key], raw[key])
            if not log.done(key):
                work = _checker(bench, draft, source)
                _store(log, key, {"id": draft["id"]}, work)
            stored = log.records[key]
            if stored["outcome"] == "kept":
                bench.keep(
                    Scenario.model_validate_json(json.dumps(stored["card"])), source
                )
        return log.records


def _checker(bench: Bench, draft: dict, source: Source) -> Callable[[], tuple]:
    def work() -> tuple[str, dict]:
        card, reason, detail = bench.judge(draft, source)
        if card is None:
            return _rejected(reason, detail)
        labels = tuple(f"also:{domain}" for domain in source.features.secondary)
        card = card.model_copy(update={"strata": labels})
        return "kept", {"card": card.model_dump(mode="json")}

    return work


@dataclass(frozen=True)
class Result:
    """A finished run: the outcomes of each stage, and the cards in order of input."""

    stages: tuple[dict[str, dict], dict[str, dict], dict[str, dict]]
    cards: tuple[Scenario, ...]
    test_ids: tuple[str, ...]


def run_pipeline(
    raw_paths: Sequence[Path],
    out_dir: Path,
    backend: Backend,
    *,
    seed: int,
    test_size: int,
) -> Result:
    """All three stages, the test set, and `cards.jsonl`; resumes what is there.

    test_size: cards wanted in the test set; fewer when the pool holds fewer.
    Raises: RawFileError, steplog.StepError.
    """
    out_dir = Path(out_dir)
    first = decontextualise(raw_paths, out_dir, backend)
    second = recontextualise(out_dir, backend, seed)
    third = refine(raw_paths, out_dir, backend)
    kept = [third[key]["card"] for key in first if _is_kept(third.get(key))]
    cards = [Scenario.model_validate_json(json.dumps(card)) for card in kept]
    test_ids = stratified(cards, min(test_size, len(cards)), seed)
    cards = [
        card.model_copy(update={"split": "test" if card.id in test_ids else "train"})
        for card in cards
    ]
    write_cards(out_dir / "cards.jsonl", cards)
    return Result((first, second, third), tuple(cards), tuple(test_ids))


def _is_kept(record: dict | None) -> bool:
    return record is not None and record["outcome"] == "kept"
