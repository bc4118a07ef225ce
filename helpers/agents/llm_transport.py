"""One attempt: send a request, and say in types what came back.

An attempt ends as an `LLMReply` or as a `Failure`; nothing of the openai package's
exceptions gets further than this module.
"""

import json
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import openai

from helpers.agents.llm_reply import (
    LLMReply,
    is_empty,
    is_policy_refusal,
    may_retry,
    one_line,
    read_completion,
    retry_after,
    stop_advice,
)
from helpers.agents.llm_settings import Clock, RoleSettings
from helpers.agents.quirks import Quirks, refused_parameters
from helpers.agents.redact import Redactor
from helpers.agents.roles import Outcome

GRACE_S = 0.5  # the client's own time-out comes first for a silent server


@dataclass(frozen=True)
class Failure:
    """A failed attempt.

    status: for the ledger ("http_500", "timeout", "connection", "empty"...).
    billed: whether the attempt costs money, None if it cannot be known.
    again: a further attempt may help. wait: seconds that the server asks to wait.
    stop: every further call would fail too. reply: what came, for its token counts.
    """

    status: str
    error: str
    billed: bool | None
    again: bool = True
    wait: float | None = None
    outcome: Outcome = Outcome.API_ERROR
    stop: bool = False
    reply: LLMReply | None = None


class Transport:
    """Sends requests to one server; thread-safe.

    Args:
        base_url, key: see `llm_settings`.
        quirks: what the server refuses; learned here.
        redact: applied to everything that comes from the server.
        clock: read for a Retry-After date.
    """

    def __init__(
        self, base_url: str, key: str, quirks: Quirks, redact: Redactor, clock: Clock
    ):
        self.base_url = base_url
        self._quirks = quirks
        self._redact = redact
        self._clock = clock
        self._openai = openai.OpenAI(base_url=base_url, api_key=key, max_retries=0)

    def send(
        self,
        settings: RoleSettings,
        messages: list[dict[str, str]],
        params: dict[str, Any],
        timeout_s: float,
        wants_json: bool,
    ) -> LLMReply | Failure:
        """One attempt; a refused parameter is left out and the request sent again.

        Refusals are answered before a model runs, so they cost nothing and are no
        attempt of their own; each parameter can be refused only once.
        """
        model = self._redact(settings.model)  # as it may be written down
        while True:
            refused = self._quirks.refused(self.base_url, model)
            sent = self._quirks.adapt(params, refused)
            try:
                raw = _within(
                    timeout_s,
                    partial(
                        self._openai.chat.completions.create,
                        model=settings.model,
                        messages=messages,
                        timeout=timeout_s,
                        **sent,
                    ),
                )
            except openai.APIStatusError as problem:
                words = _words(problem)
                names = refused_parameters(
                    problem.status_code, words, problem.param, sent
                )
                if not names:
                    return self._status_failure(problem, words)
                self._quirks.learn(self.base_url, model, names)
            except (openai.APITimeoutError, TimeoutError):
                return Failure("timeout", f"no answer within {timeout_s:.3g} s", None)
            except openai.APIConnectionError as problem:
                cause = one_line(self._redact(str(problem.__cause__ or problem)))
                error = f"no connection to {self.base_url} ({cause}): is it running?"
                return Failure("connection", error, None)
            except (openai.APIResponseValidationError, json.JSONDecodeError):
                error = f"{self.base_url} sent something that is not JSON"
                return Failure("unreadable", error, None)
            else:
                return self._received(raw, refused, wants_json)

    def close(self) -> None:
        self._openai.close()

    def _received(
        self, raw: Any, refused: tuple[str, ...], wants_json: bool
    ) -> LLMReply | Failure:
        reply = read_completion(raw, self._redact)
        if reply is None:
            said = getattr(raw, "error", None) or raw
            error = one_line(self._redact(f"no chat completion: {said}"))
            return Failure("unreadable", error, None)
        if is_empty(reply, wants_json):
            return Failure("empty", "empty reply", True, reply=reply)
        return replace(reply, refused=refused)

    def _status_failure(self, problem: openai.APIStatusError, words: str) -> Failure:
        status = problem.status_code
        wait = retry_after(problem.response.headers, self._clock.epoch())
        said = one_line(self._redact(words))
        failure = Failure(
            f"http_{status}",
            f"HTTP {status} from {self.base_url}: {said}",
            billed=False,
            again=may_retry(status),
            wait=wait,
        )
        if is_policy_refusal(status, words):
            return replace(failure, again=False, outcome=Outcome.REFUSED)
        if advice := stop_advice(status, words, wait is not None):
            error = f"{advice} ({failure.error})"
            return replace(failure, again=False, stop=True, error=error)
        return failure


def _within(seconds: float, call: Callable[[], Any]) -> Any:
    """The result of a call, or TimeoutError after so many seconds in all.

    The client's own time-out starts anew with every byte, so that a server that sends
    one now and then would hold a call for ever. The thread left behind ends with the
    server's answer, and never keeps the process alive.
    """
    box: queue.SimpleQueue = queue.SimpleQueue()

    def run() -> None:
        try:
            box.put((call(), None))
        except BaseException as error:
            box.put((None, error))

    threading.Thread(target=run, daemon=True).start()
    try:
        value, error = box.get(timeout=seconds + GRACE_S)
    except queue.Empty:
        raise TimeoutError from None
    if error is not None:
        raise error
    return value


def _words(problem: openai.APIStatusError) -> str:
    """Code, type and message of an error, as one text."""
    body = problem.body if isinstance(problem.body, dict) else {}
    said = body.get("message") or body.get("detail") or problem.message
    parts = (problem.code, problem.type, said)
    return " ".join(str(part) for part in parts if part)
