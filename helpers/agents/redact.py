"""Remove keys, tokens and home paths from text before it is written or shown."""

import os
import re
from collections.abc import Iterable
from pathlib import Path

_SECRET_NAME = re.compile(r"(?i)KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL")
_SHAPES = re.compile(
    r"\b(?:sk|pk|rk)-(?=[A-Za-z_\-]*[\d*])[A-Za-z0-9_*\-]{8,}"
    r"|\bhf_[A-Za-z0-9]{16,}|\bgh[pousr]_[A-Za-z0-9]{20,}|\bAIza[A-Za-z0-9_\-]{30,}"
    r"|\beyJ[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]{5,}"
)
_BEARER = re.compile(r"(?i)\b(bearer)\s+(?=[A-Za-z._~+/\-]*\d)[A-Za-z0-9._~+/=\-]{8,}")
_URL_USER = re.compile(r"(\b[a-z][a-z0-9+.\-]*://)[^/\s@]+@")
_SHORTEST = 8


class Redactor:
    """Replaces known secrets, things shaped like keys, and the home folder.

    Args:
        secrets: values that must never be shown (the key in use). Values of environment
            variables whose name speaks of a key, token or password are added.
    """

    def __init__(self, secrets: Iterable[str] = ()):
        named = (v for k, v in os.environ.items() if _SECRET_NAME.search(k))
        # Short values ("EMPTY", "none" for a local server) are no secrets, and
        # replacing them would damage model text.
        values = {v for v in (*secrets, *named) if len(v) >= _SHORTEST}
        self._secrets = sorted(values, key=len, reverse=True)
        home = str(Path.home())
        self._home = (
            re.compile(re.escape(home) + r"(?![\w.\-])") if len(home) > 1 else None
        )

    def __call__(self, text: str) -> str:
        """Return the text with every secret replaced by "[redacted]", home by "~"."""
        for secret in self._secrets:
            text = text.replace(secret, "[redacted]")
        text = _SHAPES.sub("[redacted]", text)
        text = _BEARER.sub(r"\1 [redacted]", text)
        text = _URL_USER.sub(r"\1", text)
        if self._home is not None:
            text = self._home.sub("~", text)
        return text
