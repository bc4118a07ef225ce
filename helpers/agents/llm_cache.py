"""Replies on disk: the same request is never paid for twice.

One SQLite file in write-ahead mode: safe across threads and processes, and whole after
a kill at any moment. Only complete, usable replies are put here by the client; errors,
cut and unreadable replies are not, so that a later run asks again.
"""

import hashlib
import json
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

KEY_VERSION = 1


def cache_key(
    *,
    model: str,
    base_url: str,
    messages: list[dict[str, str]],
    params: dict[str, Any],
    repeat: int,
) -> str:
    """Hash of everything that can change a reply.

    Args:
        params: sampling settings, response format and tools as *asked for*, before a
            server's quirks are applied.
        repeat: index of the repetition; the same request with another index is a new
            sample.
    """
    request = [KEY_VERSION, model, base_url, messages, params, repeat]
    text = json.dumps(request, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class ReplyCache:
    """Key -> reply fields, and one lock a key so that twins wait for each other.

    Args:
        path: the SQLite file; None keeps the replies in memory.

    Raises:
        ValueError: the file is not a cache of the kit.
    """

    def __init__(self, path: Path | None):
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._waiting: Counter[str] = Counter()
        self._key_locks: dict[str, threading.Lock] = {}
        self._db = sqlite3.connect(
            path or ":memory:",
            timeout=30,
            check_same_thread=False,
            isolation_level=None,
        )
        try:
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT)"
            )
        except sqlite3.DatabaseError as problem:
            self._db.close()
            raise ValueError(
                f"{path.name} is not a reply cache ({problem}): delete it, the replies "
                "are asked for again"
            ) from None

    def get(self, key: str) -> dict[str, Any] | None:
        """The stored reply fields, None when the request is new."""
        with self._lock:
            row = self._db.execute(
                "SELECT reply FROM replies WHERE key = ?", (key,)
            ).fetchone()
        return None if row is None else json.loads(row[0])

    def put(self, key: str, reply: dict[str, Any]) -> None:
        """Store a usable reply; it is durable against a kill when this returns."""
        text = json.dumps(reply)
        with self._lock:
            self._db.execute(
                "INSERT OR REPLACE INTO replies VALUES (?, ?)", (key, text)
            )

    @contextmanager
    def one_at_a_time(self, key: str) -> Iterator[None]:
        """Hold this key, so that the second of two equal requests finds the reply."""
        with self._lock:
            self._waiting[key] += 1
            lock = self._key_locks.setdefault(key, threading.Lock())
        try:
            with lock:
                yield
        finally:
            with self._lock:
                self._waiting[key] -= 1
                if not self._waiting[key]:
                    del self._waiting[key], self._key_locks[key]

    def __len__(self) -> int:
        with self._lock:
            return self._db.execute("SELECT count(*) FROM replies").fetchone()[0]

    def close(self) -> None:
        with self._lock:
            self._db.close()
