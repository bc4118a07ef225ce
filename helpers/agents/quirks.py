"""What a server does not accept, learned once per (base URL, model).

Servers that speak the OpenAI protocol differ: some want ``max_completion_tokens`` in
place of ``max_tokens``, some refuse any ``temperature`` or ``response_format``. A
refusal that names such a parameter is remembered in a file; later requests, also of
later processes, leave it out. A refusal of a *value* ("max_tokens is too large") is no
quirk: it stays an error, since the setting itself is wrong.
"""

import json
import os
import re
import tempfile
import threading
from pathlib import Path
from typing import Any

LIMIT, NEW_LIMIT = "max_tokens", "max_completion_tokens"
SCHEMA = 1
_UNSUPPORTED = re.compile(
    r"unsupported|not support|n't support|unrecogni[sz]ed|unknown|unexpected"
    r"|extra inputs|not permitted|not allowed|not accepted|unavailable|deprecated"
    r"|only the default|only \S+ is allowed|must be 1\b"
    r"|use ['\"`]?max_completion_tokens",
    re.IGNORECASE,
)


class Quirks:
    """Thread-safe store of learned refusals.

    Args:
        path: JSON file, replaced atomically; None keeps the knowledge in memory.
    """

    def __init__(self, path: Path | None):
        self._path = path
        self._lock = threading.Lock()
        self._dropped: dict[str, list[str]] = {}
        if path is not None and path.exists():
            try:
                stored = json.loads(path.read_text(encoding="utf-8"))
                self._dropped = {k: list(v) for k, v in stored["refused"].items()}
            except (json.JSONDecodeError, KeyError, AttributeError) as problem:
                raise ValueError(
                    f"{path.name} is not a record of server quirks ({problem}): "
                    "delete it, it is learned again"
                ) from None

    def refused(self, base_url: str, model: str) -> tuple[str, ...]:
        """Parameters this server refuses for this model, in the order learned."""
        with self._lock:
            return tuple(self._dropped.get(f"{base_url} {model}", ()))

    def adapt(self, params: dict[str, Any], refused: tuple[str, ...]) -> dict[str, Any]:
        """The request parameters with what is refused renamed or left out."""
        adapted = dict(params)
        if LIMIT in refused and LIMIT in adapted:
            adapted[NEW_LIMIT] = adapted.pop(LIMIT)
        for name in refused:
            adapted.pop(name, None)
        return adapted

    def learn(self, base_url: str, model: str, names: list[str]) -> None:
        """Remember that these parameters are refused."""
        with self._lock:
            known = self._dropped.setdefault(f"{base_url} {model}", [])
            known.extend(name for name in names if name not in known)
            if self._path is not None:
                self._write()

    def _write(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=self._path.parent, delete=False
        ) as new:
            json.dump({"schema": SCHEMA, "refused": self._dropped}, new, indent=1)
        os.replace(new.name, self._path)


def refused_parameters(
    status: int | None, message: str, param: str | None, sent: dict[str, Any]
) -> list[str]:
    """Which of the parameters sent does this error refuse as a whole?

    Args:
        status: HTTP status; only 400 and 422 can be a refusal.
        message: the server's words, with the error code.
        param: the ``param`` field of the error, if any.
        sent: the optional parameters of the request.

    Returns:
        Names out of ``sent``, empty when the error is something else.
    """
    if status not in (400, 422):
        return []
    named = [
        name
        for name in sent
        if name == (param or "").split(".")[0]
        or re.search(rf"(?<![\w]){re.escape(name)}(?![\w])", message)
    ]
    if LIMIT in named and NEW_LIMIT in named:
        named.remove(NEW_LIMIT)
    # The kit always sends the same plain response_format, so any complaint about it
    # means that this server has no such mode.
    return [
        name
        for name in named
        if name == "response_format" or _UNSUPPORTED.search(message)
    ]
