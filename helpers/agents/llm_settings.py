"""Settings of the LLM client: who plays a role, how to retry, where the server is."""

import random
import time
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlsplit

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_NOT_SENT = ("model", "asks", "timeout_s", "concurrency")


@dataclass(frozen=True)
class RoleSettings:
    """Which model plays a role, and how it is sampled; None = the server's default.

    asks: how often a JSON request is put until the reply can be read.
    timeout_s: seconds for one attempt. concurrency: requests of this role at a time.
    """

    model: str
    temperature: float | None = None
    top_p: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    asks: int = 1
    timeout_s: float = 120.0
    concurrency: int = 8

    def sampling(self) -> dict[str, Any]:
        """The sampling settings that are sent."""
        return {
            name: value
            for name, value in asdict(self).items()
            if name not in _NOT_SENT and value is not None
        }


@dataclass(frozen=True)
class RetryPolicy:
    """Attempts for one request, and seconds in which the last of them may start."""

    attempts: int = 6
    seconds: float = 600.0
    first_wait_s: float = 1.0
    longest_wait_s: float = 60.0

    def backoff(self, attempt: int) -> float:
        """Seconds to wait after a failed attempt: doubling, with jitter."""
        wait = min(self.longest_wait_s, self.first_wait_s * 2 ** (attempt - 1))
        return wait * random.uniform(0.5, 1.0)


class Clock:
    """Time, as one object, so that tests need not wait."""

    now = staticmethod(time.monotonic)
    epoch = staticmethod(time.time)
    sleep = staticmethod(time.sleep)


def server_address(url: str | None) -> str:
    """The base URL, checked, without a slash at its end.

    Raises:
        ValueError: none given, not a web address, or a secret inside it.
    """
    if not url:
        raise ValueError(
            "no server: set OPENAI_BASE_URL (for instance http://localhost:8000/v1), "
            "or use the laptop profile, which needs none"
        )
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("OPENAI_BASE_URL must look like https://host/v1")
    if parts.username or parts.password or parts.query:
        raise ValueError(
            "OPENAI_BASE_URL holds a user, password or query: give the secret in "
            "OPENAI_API_KEY"
        )
    return url.rstrip("/")


def server_key(key: str | None, url: str) -> str:
    """The key; a server on this machine needs none.

    Raises:
        ValueError: no key for a server elsewhere.
    """
    if key:
        return key
    host = urlsplit(url).hostname
    if host in _LOOPBACK:
        return "none"
    raise ValueError(f"no key for {host}: set OPENAI_API_KEY")
