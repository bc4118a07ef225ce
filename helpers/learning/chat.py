"""How a conversation becomes tokens: the parts of a chat template, cut out once.

A rollout appends token ids and never renders a conversation again, so it needs from the
template only what stands around the texts: the start up to the first reply, and what
comes between the end of one reply and the start of the next. Both are found by
rendering marked texts, which works for every template that leaves earlier messages as
they were; one that does not is refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

_SYSTEM, _USER, _REPLY, _NEXT = "alpha one", "bravo two", "charlie three", "delta four"


class ChatFormatError(ValueError):
    """A tokenizer's chat template cannot be used for multi-turn training."""


@dataclass(frozen=True)
class ChatFormat:
    """The chat template of one tokenizer.

    tokenizer: with a chat template and an end token that closes a reply.
    options: further arguments of the template (Qwen3: enable_thinking).
    """

    tokenizer: Any
    think_end: str = "</think>"
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def end_id(self) -> int:
        return self.tokenizer.eos_token_id

    def opening(self, system: str, user_line: str) -> list[int]:
        """Ids up to the first token of the first reply."""
        messages = [_message("system", system), _message("user", user_line)]
        return self._ids(self._render(messages, generate=True))

    def user_turn(self, user_line: str) -> list[int]:
        """Ids between the end token of a reply and the first token of the next."""
        before, after = self._between
        return self._ids(f"{before}{user_line}{after}")

    def split(self, ids: Sequence[int]) -> tuple[str | None, str, list[int]]:
        """A sampled reply as (thought or None, visible text, visible ids).

        Without a closing tag all of it is visible, as in the released RLVER code.
        The ids are the sampled ones, from the first after the closing tag on.
        """
        ids = list(ids)
        at = self._after_thought(ids)
        if at is None:
            return None, self._text(ids), ids
        thought = self._text(ids[:at]).replace(self.think_end, "")
        thought = thought.replace(self.think_end.replace("/", ""), "")
        return thought.strip(), self._text(ids[at:]), ids[at:]

    def _after_thought(self, ids: list[int]) -> int | None:
        end = self.tokenizer.convert_tokens_to_ids(self.think_end)
        if end is not None and end != self.tokenizer.unk_token_id:
            return ids.index(end) + 1 if end in ids else None
        if self.think_end not in self._text(ids):
            return None
        for k in range(1, len(ids) + 1):
            if self.think_end in self._text(ids[:k]):
                return k
        return None

    @cached_property
    def _between(self) -> tuple[str, str]:
        first = [_message("system", _SYSTEM), _message("user", _USER)]
        two = [*first, _message("assistant", _REPLY), _message("user", _NEXT)]
        start, whole = self._render(first, True), self._render(two, True)
        end = self.tokenizer.eos_token
        told = f"{_REPLY}{end}" if f"{_REPLY}{end}" in whole else f"{_REPLY} {end}"
        if not whole.startswith(start) or whole.count(told) != 1 or _NEXT not in whole:
            raise ChatFormatError(
                "this chat template changes earlier messages or does not close a reply "
                f"with {end!r}: use a tokenizer with a prefix-preserving template"
            )
        before, after = whole.split(told)[1].split(_NEXT)
        return before, after

    def _render(self, messages, generate: bool) -> str:
        return self.tokenizer.apply_chat_template(
            messages,
            tokenize=False,
            add_generation_prompt=generate,
            **dict(self.options),
        )

    def _ids(self, text: str) -> list[int]:
        return self.tokenizer.encode(text, add_special_tokens=False)

    def _text(self, ids: Sequence[int]) -> str:
        return (
            self.tokenizer.decode(ids, skip_special_tokens=False)
            .replace(self.tokenizer.eos_token, "")
            .strip()
        )


def _message(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}
