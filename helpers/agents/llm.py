"""A client for any OpenAI-compatible server: typed, cached, counted, bounded.

`LLMClient.complete` asks for one reply and returns an `LLMReply` with a typed outcome;
it never raises for a single failed request. `RunStopped` (its kinds: `BudgetStop`,
`AccountProblem`) means that every further call would fail: the run ends and can be
resumed, since finished replies are in the cache.

The interface is synchronous, so it works in a notebook, where an event loop already
runs; many dialogues run in threads. One client serves one server; give roles that live
on different servers different clients.
"""

import os
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from helpers.agents.ledger import Budget, Ledger, load_prices
from helpers.agents.llm_cache import ReplyCache, cache_key
from helpers.agents.llm_reply import LLMReply, with_data
from helpers.agents.llm_settings import (
    Clock,
    RetryPolicy,
    RoleSettings,
    server_address,
    server_key,
)
from helpers.agents.llm_transport import Failure, Transport
from helpers.agents.quirks import Quirks
from helpers.agents.redact import Redactor
from helpers.agents.roles import Outcome, RoleFailure, RunStopped
from helpers.agents.run_budget import run_ledger
from helpers.paths import ROOT

PRICES = ROOT / "data" / "prices.csv"
Messages = list[dict[str, str]]
Check = Callable[[dict], Any]


class AccountProblem(RunStopped):
    """Key, quota, model name or address are wrong: every further call would fail."""


@dataclass(frozen=True)
class _Request:
    role: str
    settings: RoleSettings
    messages: Messages
    params: dict[str, Any]
    key: str
    wants_json: bool
    check: Check | None


class LLMClient:
    """See the module's docstring.

    Args:
        roles: settings by role name.
        folder: holds cache.sqlite, ledger.jsonl and quirks.json; None = in memory.
        base_url, api_key: default to OPENAI_BASE_URL and OPENAI_API_KEY. A server on
            this machine needs no key.
        budget: of this client; None = no limit; see `ledger.Budget`. A budget of the
            whole run is in the environment (`run_budget`).

    Raises:
        ValueError: no address or key, an address with a password in it, or a budget in
            USD for a model without a price.
    """

    def __init__(
        self,
        roles: Mapping[str, RoleSettings],
        folder: Path | None,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        retry: RetryPolicy | None = None,
        budget: Budget | None = None,
        prices: Path = PRICES,
        clock: Clock | None = None,
    ):
        self.roles = dict(roles)
        self.base_url = server_address(base_url or os.environ.get("OPENAI_BASE_URL"))
        key = server_key(api_key or os.environ.get("OPENAI_API_KEY"), self.base_url)
        known = load_prices(prices)
        self.ledger = Ledger(_in(folder, "ledger.jsonl"), known, budget)
        self._run = run_ledger(known)
        for ledger in (self.ledger, self._run):
            for settings in self.roles.values() if ledger else ():
                ledger.check_model(settings.model)
        self.cache = ReplyCache(_in(folder, "cache.sqlite"))
        self.quirks = Quirks(_in(folder, "quirks.json"))
        self._retry = retry or RetryPolicy()
        self._clock = clock or Clock()
        self._redact = Redactor([key])
        self._transport = Transport(
            self.base_url, key, self.quirks, self._redact, self._clock
        )
        self._slots = {
            role: threading.BoundedSemaphore(settings.concurrency)
            for role, settings in self.roles.items()
        }
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._served: Counter[tuple[Any, ...]] = Counter()

    def complete(
        self,
        role: str,
        messages: Messages,
        *,
        json: bool = False,
        check: Check | None = None,
        tools: list[dict[str, Any]] | None = None,
        repeat: int = 0,
    ) -> LLMReply:
        """Ask for one reply, or take it from the cache.

        Args:
            role: a name out of `roles`.
            messages: chat messages, {"role", "content"}.
            json: the reply must hold one JSON object; `data` is its value.
            check: for a JSON request, returns the value wanted or raises ValueError.
            tools: function tools offered, in the server's format; a tool call is read
                as {"tool": name, "arguments": {...}}, and counts as the JSON reply.
            repeat: index of the repetition, part of the cache key.

        Raises:
            RunStopped: budget spent, key or quota refused.
            ValueError: unknown role.
        """
        settings = self._settings(role)
        params = settings.sampling()
        if tools:
            params["tools"] = tools
        elif json:
            params["response_format"] = {"type": "json_object"}
        key = cache_key(
            model=settings.model,
            base_url=self.base_url,
            messages=messages,
            params=params,
            repeat=repeat,
        )
        request = _Request(role, settings, messages, params, key, json, check)
        with self.cache.one_at_a_time(key):
            reply = self._remembered(request)
            if reply is None:
                with self._slots[role]:
                    reply = self._ask(request)
                if reply.outcome is Outcome.OK:
                    self.cache.put(key, reply.stored())
        self._count(role, reply)
        return reply

    def counts(self) -> dict[str, int]:
        """Requests so far: asked, cached, retries, and one count for each failure."""
        with self._lock:
            return dict(self._counts)

    def progress(self) -> str:
        """The counts as one line, for a print now and then."""
        return ", ".join(f"{name} {n}" for name, n in sorted(self.counts().items()))

    def served(self) -> list[dict[str, Any]]:
        """What the server says it ran: role, model, fingerprint, number of replies.

        left_out: parameters that the server refuses, so that the sampling settings
        asked for are not the ones in force.
        """
        with self._lock:
            rows = sorted(self._served.items(), key=str)
        names = ("role", "model", "fingerprint", "left_out")
        return [dict(zip(names, key, strict=True), replies=n) for key, n in rows]

    def describe(self, role: str) -> dict[str, Any]:
        """What changes this role's results, for the settings hash of a run."""
        settings = self._settings(role)
        # A model may be named by a folder of this machine.
        shown = {"model": self._redact(settings.model), "base_url": self.base_url}
        return shown | settings.sampling() | {"asks": settings.asks}

    def close(self) -> None:
        self._transport.close()
        self.cache.close()
        self.ledger.close()

    def __enter__(self) -> "LLMClient":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def _settings(self, role: str) -> RoleSettings:
        if role not in self.roles:
            known = ", ".join(self.roles)
            raise ValueError(f"no settings for role {role!r}; given: {known}")
        return self.roles[role]

    def _remembered(self, request: _Request) -> LLMReply | None:
        """The stored reply; None when new, or when it fails today's check."""
        fields = self.cache.get(request.key)
        if fields is None:
            return None
        reply = LLMReply.from_cache(fields)
        if request.wants_json:
            reply = with_data(reply, request.check)
        return reply if reply.outcome is Outcome.OK else None

    def _ask(self, request: _Request) -> LLMReply:
        """Put the request until it can be read, at most `asks` times."""
        spent = 0
        for _ in range(request.settings.asks if request.wants_json else 1):
            reply = self._call(request, spent)
            spent = reply.attempts
            if request.wants_json and reply.outcome is Outcome.OK:
                reply = with_data(reply, request.check)
            if reply.outcome is not Outcome.JUDGE_UNPARSEABLE:
                break
        return reply

    def _call(self, request: _Request, spent: int) -> LLMReply:
        """Put the request until a reply arrives, within the retry policy.

        Args:
            spent: attempts made for this request before.
        """
        deadline = self._clock.now() + self._retry.seconds
        for attempt in range(1, self._retry.attempts + 1):
            number = spent + attempt
            result = self._attempt(request, number, deadline - self._clock.now())
            if isinstance(result, LLMReply):
                return replace(result, attempts=number)
            wait = result.wait
            if wait is None:
                wait = self._retry.backoff(attempt)
            too_late = self._clock.now() + wait >= deadline
            if not result.again or attempt == self._retry.attempts or too_late:
                break
            self._clock.sleep(wait)
        error = result.error
        if result.again and too_late:
            error += f"; waiting {wait:.0f} s more would pass the time limit"
        if attempt > 1:
            error += f" (after {attempt} attempts)"
        return LLMReply(result.outcome, error=error, attempts=number)

    def _attempt(
        self, request: _Request, number: int, left_s: float
    ) -> LLMReply | Failure:
        """One attempt, in the ledger whatever came of it."""
        self.ledger.check_budget()
        if self._run is not None:
            self._run.check_budget()
        settings = request.settings
        started = self._clock.now()
        result = self._transport.send(
            settings,
            request.messages,
            request.params,
            min(settings.timeout_s, left_s),
            request.wants_json,
        )
        failed = isinstance(result, Failure)
        reply = result.reply if failed else result
        row = self.ledger.record(
            role=request.role,
            model=self._redact(settings.model),
            base_url=self.base_url,
            status=result.status if failed else result.outcome.value,
            attempt=number,
            request=request.key,
            seconds=self._clock.now() - started,
            billed=result.billed if failed else True,
            usage=(reply.prompt_tokens, reply.completion_tokens) if reply else None,
            served=reply.served_model if reply else None,
        )
        if self._run is not None:
            self._run.append(row)
        if failed and result.stop:
            raise AccountProblem(result.error)
        return result

    def _count(self, role: str, reply: LLMReply) -> None:
        with self._lock:
            self._counts["cached" if reply.cached else "asked"] += 1
            if reply.attempts > 1:
                self._counts["retries"] += reply.attempts - 1
            if reply.outcome is Outcome.OK:
                ran = reply.served_model, reply.fingerprint, reply.refused
                self._served[role, *ran] += 1
            else:
                self._counts[reply.outcome.value] += 1


def complete_or_fail(
    client: LLMClient, role: str, messages: Messages, *, as_role: str, **request: Any
) -> LLMReply:
    """`client.complete`, where only a usable reply counts.

    Args:
        role: whose settings are used. as_role: the role named in the failure.

    Raises:
        RoleFailure: the reply has another outcome than OK.
    """
    reply = client.complete(role, messages, **request)
    if reply.outcome is not Outcome.OK:
        raise RoleFailure(as_role, reply.outcome, reply.error or "no reason given")
    return reply


def ask_json(
    client: LLMClient, role: str, prompt: str, check: Check, *, as_role: str,
    **request: Any,
) -> Any:  # fmt: skip
    """What `check` made of the JSON answer to one user message.

    Args, raises: as `complete_or_fail`. check: data -> value; a ValueError asks again.
    """
    messages = [{"role": "user", "content": prompt}]
    return complete_or_fail(
        client, role, messages, as_role=as_role, json=True, check=check, **request
    ).data


def _in(folder: Path | None, name: str) -> Path | None:
    return None if folder is None else Path(folder) / name
