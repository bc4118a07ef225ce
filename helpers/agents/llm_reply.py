"""From a server's answer to a typed reply, and from an error to what to do about it."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from openai.types.chat import ChatCompletion

from helpers.agents.json_repair import JsonProblem, read_json, split_think
from helpers.agents.roles import Outcome

_QUOTA = re.compile(
    r"insufficient_quota|exceeded your current quota|insufficient balance|billing"
    r"|credit balance|out of credits|payment required",
    re.IGNORECASE,
)
_POLICY = re.compile(
    r"content_filter|content_policy|content management policy|safety|data_inspection"
    r"|moderation",
    re.IGNORECASE,
)
_RETRY_STATUS = (408, 409, 425, 429)
_ADVICE = {
    401: "the key is not accepted: check OPENAI_API_KEY",
    402: "the account cannot pay: check its balance",
    403: "the key may not use this model: check OPENAI_API_KEY and its rights",
    404: "no such model or path: check the model name and OPENAI_BASE_URL",
}


@dataclass(frozen=True, slots=True)
class LLMReply:
    """One finished request.

    outcome: OK, or why there is no usable answer; then `error` says it in one line.
    text: the answer without think text. think: the thought, None if there is none.
    data: the checked JSON value of a JSON request, None unless the outcome is OK.
    prompt_tokens, completion_tokens: of the last attempt as the server counts them,
        None if it does not say.
    served_model, fingerprint: what the server says it ran, None if it does not say.
    refused: parameters that this server refuses and that were left out or renamed.
    attempts: requests that this reply took; 0 when it came from the cache.
    """

    outcome: Outcome
    text: str = ""
    think: str | None = None
    data: Any = None
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    served_model: str | None = None
    fingerprint: str | None = None
    refused: tuple[str, ...] = ()
    attempts: int = 0
    cached: bool = False
    error: str | None = None

    def stored(self) -> dict[str, Any]:
        """The fields that go into the cache; `data` is read again from the text."""
        names = "text think finish_reason prompt_tokens completion_tokens"
        names += " served_model fingerprint"
        fields = {name: getattr(self, name) for name in names.split()}
        return fields | {"refused": list(self.refused)}

    @classmethod
    def from_cache(cls, fields: Mapping[str, Any]) -> "LLMReply":
        refused = tuple(fields["refused"])
        return cls(Outcome.OK, cached=True, **{**fields, "refused": refused})


def read_completion(completion: Any, redact: Callable[[str], str]) -> LLMReply | None:
    """Read a chat completion; None when the server sent no answer at all.

    Reasoning may come in a field of its own (two names are in use) or inside the text.
    The first tool call, if any, becomes the text: one JSON object.
    """
    if not isinstance(completion, ChatCompletion) or not completion.choices:
        return None
    choice = completion.choices[0]
    message = choice.message
    extra = message.model_extra or {}
    field = extra.get("reasoning_content") or extra.get("reasoning")
    inline, answer = split_think(_clean(message.content or "", redact))
    parts = [_clean(field, redact)] if isinstance(field, str) else []
    think = "\n".join([*parts, *([inline] if inline else [])]).strip() or None
    calls = [call.function for call in message.tool_calls or [] if call.function]
    if calls:
        name = json.dumps(_clean(calls[0].name, redact))
        arguments = _clean(calls[0].arguments, redact)
        answer = f'{{"tool": {name}, "arguments": {arguments}}}'
    usage = completion.usage
    reply = LLMReply(
        outcome=Outcome.OK,
        text=answer,
        think=think,
        finish_reason=choice.finish_reason,
        prompt_tokens=usage.prompt_tokens if usage else None,
        completion_tokens=usage.completion_tokens if usage else None,
        served_model=redact(completion.model) if completion.model else None,
        fingerprint=completion.system_fingerprint,
    )
    if choice.finish_reason == "content_filter" or message.refusal:
        words = redact(message.refusal or "content filter")
        return replace(reply, outcome=Outcome.REFUSED, error=one_line(words))
    if str(choice.finish_reason).lower() in ("length", "max_tokens", "model_length"):
        tokens = reply.completion_tokens
        error = f"cut at the token limit after {tokens} tokens: raise max_tokens"
        return replace(reply, outcome=Outcome.TRUNCATED, error=error)
    # A server that gives no reason is taken at its word; an unknown one is no answer.
    if choice.finish_reason not in (None, "stop", "tool_calls", "function_call"):
        error = one_line(redact(f"ended with {choice.finish_reason!r}"))
        return replace(reply, outcome=Outcome.API_ERROR, error=error)
    return reply


def _clean(text: str, redact: Callable[[str], str]) -> str:
    """Without secrets, and without half surrogate pairs, which no file can hold."""
    return redact(text.encode("utf-8", "replace").decode())


def is_empty(reply: LLMReply | None, wants_json: bool) -> bool:
    """No answer: nothing visible, and no JSON that could sit in the reasoning."""
    if reply is None:
        return True
    if reply.outcome is not Outcome.OK or reply.text:
        return False
    return not (wants_json and reply.think)


def with_data(reply: LLMReply, check: Callable[[dict], Any] | None) -> LLMReply:
    """Read the JSON value of a usable reply, in the reasoning when only there."""
    try:
        try:
            data = read_json(reply.text, check)
        except JsonProblem as problem:
            # Visible words without JSON are the answer (a refusal, for instance):
            # what the model only thought of must not become a rating.
            if problem.kind != "none" or not reply.think or reply.text.strip():
                raise
            data = read_json(reply.think, check)
    except JsonProblem as problem:
        error = one_line(str(problem))
        return replace(reply, outcome=Outcome.JUDGE_UNPARSEABLE, error=error)
    return replace(reply, data=data)


def stop_advice(status: int, words: str, has_hint: bool) -> str | None:
    """Advice when an error makes every further call useless, else None.

    Args:
        words: the server's message with its code.
        has_hint: the server says when to come back; a quota that refills by itself is
            no reason to stop, unless the code says that it is used up.
    """
    if status == 429 and _QUOTA.search(words):
        if has_hint and "insufficient_quota" not in words:
            return None
        return "the quota is used up: check plan and balance of the account"
    return _ADVICE.get(status)


def is_policy_refusal(status: int, words: str) -> bool:
    """An error that means: the server will not answer this content."""
    return status in (400, 403, 451) and bool(_POLICY.search(words))


def may_retry(status: int) -> bool:
    return status in _RETRY_STATUS or status >= 500


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds that the server asks to wait, None when it does not (readably) ask.

    Args:
        headers: may hold Retry-After as seconds or as a date, or retry-after-ms.
        now: seconds since the epoch.
    """
    if (milliseconds := _number(headers.get("retry-after-ms"))) is not None:
        return max(0.0, milliseconds / 1000)
    value = headers.get("retry-after")
    if value is None:
        return None
    if (seconds := _number(value)) is not None:
        return max(0.0, seconds)
    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max(0.0, (date - datetime.fromtimestamp(now, UTC)).total_seconds())


def _number(value: str | None) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if number < float("inf") else None


def one_line(text: str, limit: int = 300) -> str:
    """Collapse white space and shorten, for an error message."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 3] + "..."
