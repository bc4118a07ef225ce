"""Bring the stores of several machines together: nothing lost, nothing twice.

A dialogue that stands in several stores is kept once. Two failed records of one attempt
are the same thing (a failure is no score): the first is kept. Two different results of
one dialogue are an error, since a choice between them could be a choice by score: the
machines ran something else, or a role does not answer the same to the same seed and
the same dialogue was given out twice.

    merge_stores("all.jsonl", ["a/run.jsonl", "b/run.jsonl"])

The parts are left as they are. Doing it again, or after a crash, changes nothing.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from helpers.sandbox.index import scan
from helpers.sandbox.store import DialogueStore, SettingsChanged, claim, settings_path


class ConflictingDialogues(ValueError):
    """Two stores hold different results of the same dialogue."""


@dataclass(frozen=True)
class Merged:
    """Lines that were added, of them those of failed dialogues, and lines that were
    there already (or are superseded)."""

    added: int
    failed: int
    already: int


def merge(store: DialogueStore, part: Path) -> Merged:
    """Copy into `store` what `part` holds and it does not; on disk when it returns.

    Memory holds one line. A torn last line of the part is left out with a warning.

    Raises:
        ConflictingDialogues: both hold the same dialogue with different results.
        SettingsChanged: the part was made with other settings, or another card.
        StoreBusy: the part is being written.
        RecordError: it holds a line that cannot be read.
    """
    added = failed = already = 0
    with open(part, "rb") as lock:
        claim(lock, part.name)
        for number, _, raw, entry in scan(part):
            if entry.card is not None:
                store.check_card(entry.scenario_id, entry.card)
            last = store.last(entry.scenario_id, entry.repeat)
            if last is None or (last.failed and entry.attempt > last.attempt):
                whole = raw if raw.endswith(b"\n") else raw + b"\n"
                store.append_line(whole, entry, sync=False)
                added += 1
                failed += entry.failed
                continue
            superseded = entry.failed and (last.failed or entry.attempt < last.attempt)
            if not superseded and raw.rstrip() != store.line(last.offset).rstrip():
                raise ConflictingDialogues(
                    f"{part.name}, line {number}: {store.path.name} holds another "
                    f"result of dialogue {entry.key}: keep one of the two stores"
                )
            already += 1
    store.sync()
    return Merged(added, failed, already)


def merge_stores(target: Path | str, parts: Iterable[Path | str]) -> Merged:
    """Merge stores into the one at `target`, which is made if it is not there.

    Raises: as `merge`; ValueError without parts.
    """
    paths = [Path(part) for part in parts]
    if not paths:
        raise ValueError("no stores to merge")
    for path in paths:
        if not settings_path(path).is_file():
            raise SettingsChanged(
                f"{path.name} has no {settings_path(path).name} beside it, so its "
                "settings are not known: copy both files of a store"
            )
    settings = json.loads(settings_path(paths[0]).read_text(encoding="utf-8"))
    with DialogueStore(target, settings) as store:
        done = [merge(store, path) for path in paths]
    columns = zip(*((d.added, d.failed, d.already) for d in done), strict=True)
    return Merged(*map(sum, columns))
