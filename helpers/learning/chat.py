"""How a conversation becomes tokens: the parts of a chat template, cut out once.

A rollout appends token ids and never renders a conversation again, so it needs from the
template only what stands around the texts: the start up to the first reply, and what
comes between the end token of one reply and the first token of the next. Both are cut
out of conversations rendered with marked texts. That works for every template that
leaves earlier messages as they were; one that does not is refused at once.

What a template puts before a reply that is still to come (Qwen3 without thinking: an
empty thought) stays in the history as it stood when the reply was sampled.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from jinja2 import TemplateError

_SYSTEM, _USER, _REPLY, _NEXT = "alpha one", "bravo two", "charlie three", "delta four"


class ChatFormatError(ValueError):
    """A tokenizer's chat template cannot be used for multi-turn training."""


@dataclass(frozen=True)
class ChatFormat:
    """The chat template of one tokenizer, checked when it is made.

    tokenizer: with a chat template and an end token (eos) that closes a reply.
    options: further arguments of the template (Qwen3: enable_thinking).

    Raises:
        ChatFormatError: there is no template or end token, the template refuses a
            system message, changes earlier messages, or closes a reply otherwise.
    """

    tokenizer: Any
    think_end: str = "</think>"
    options: tuple[tuple[str, Any], ...] = ()

    def __post_init__(self) -> None:
        if self.tokenizer.eos_token is None:
            raise ChatFormatError(
                "the tokenizer has no end token: set tokenizer.eos_token to the token "
                "with which its chat template closes a reply"
            )
        told = self._after_reply(_NEXT)
        if told.count(_NEXT) != 1 or told.endswith(_NEXT):
            raise ChatFormatError(
                "this chat template does not open a reply after a user's turn: give "
                "the tokenizer a template that knows add_generation_prompt"
            )

    @property
    def end_id(self) -> int:
        return self.tokenizer.eos_token_id

    def opening(self, system: str, user_line: str) -> list[int]:
        """Ids up to the first token of the first reply.

        The system text is always sent, even if empty: some templates would else put
        one of their own.
        """
        messages = [("system", system), ("user", self._plain(user_line))]
        return self._ids(self._render(messages, generate=True))

    def user_turn(self, user_line: str) -> list[int]:
        """Ids between the end token of a reply and the first token of the next."""
        return list(self._known_turns(user_line))

    def split(self, ids: Sequence[int]) -> tuple[str | None, str, list[int]]:
        """A sampled reply as (thought or None, visible text, visible ids).

        Without a closing tag all of it is visible, as in the released RLVER code.
        The visible ids are the sampled ones after the closing tag, less blank ones at
        their start; what one token holds together with the end of the tag is left out.
        """
        ids = list(ids)
        at = self._after_thought(ids)
        if at is None:
            return None, self._text(ids), ids
        thought = self._text(ids[:at]).partition(self.think_end)[0]
        think_start = self.think_end.replace("/", "")
        thought = thought.strip().removeprefix(think_start).strip()
        while at < len(ids) and ids[at] != self.end_id and not self._text([ids[at]]):
            at += 1
        return thought, self._text(ids[at:]), ids[at:]

    def _after_thought(self, ids: list[int]) -> int | None:
        """Where the closing tag is complete: by its id, or by text if it has none."""
        if self.think_end in self._vocabulary:
            end = self._vocabulary[self.think_end]
            return ids.index(end) + 1 if end in ids else None
        if self.think_end not in self._text(ids):
            return None
        return bisect_left(
            range(len(ids)), True, key=lambda k: self.think_end in self._text(ids[:k])
        )

    def _after_reply(self, user_line: str) -> str:
        """The template's text from the end of a reply on, up to the next reply."""
        past = [("system", _SYSTEM), ("user", _USER)]
        before = self._render(past, generate=False)
        whole = self._render(
            [*past, ("assistant", _REPLY), ("user", user_line)], generate=True
        )
        end = self.tokenizer.eos_token
        reply = re.search(rf"{_REPLY}\s*{re.escape(end)}", whole)
        if not whole.startswith(before) or _SYSTEM not in before:
            raise ChatFormatError(
                "this chat template changes or drops earlier messages: give the "
                "tokenizer a template that only adds to the text"
            )
        if reply is None:
            found = re.search(rf"{_REPLY}(.{{0,24}})", whole, re.DOTALL)
            seen = repr(found[1]) if found else "nothing that could be found"
            raise ChatFormatError(
                f"this chat template closes a reply with {seen}, but the end token is "
                f"{end!r}: set tokenizer.eos_token to the closing token"
            )
        return whole[reply.end() :]

    def _render(self, messages: list[tuple[str, str]], generate: bool) -> str:
        try:
            return self.tokenizer.apply_chat_template(
                [{"role": role, "content": content} for role, content in messages],
                tokenize=False,
                add_generation_prompt=generate,
                **dict(self.options),
            )
        except (TemplateError, ValueError) as error:
            raise ChatFormatError(
                f"the chat template cannot render system, user and assistant messages "
                f"({error}): use the chat variant of the model, or set "
                "tokenizer.chat_template"
            ) from error

    @cached_property
    def _known_turns(self):
        """Users by rule say many lines again: each is rendered once."""
        return lru_cache(maxsize=10_000)(
            lambda line: tuple(self._ids(self._after_reply(self._plain(line))))
        )

    @cached_property
    def _vocabulary(self) -> dict[str, int]:
        return self.tokenizer.get_vocab()

    @cached_property
    def _controls(self) -> re.Pattern[str]:
        added = self.tokenizer.added_tokens_decoder.values()
        names = {token.content for token in added if token.special}
        return re.compile("|".join(re.escape(name) for name in sorted(names)) or "(?!)")

    def _plain(self, line: str) -> str:
        """A user's line in which no control token can be read: a blank breaks each."""
        return self._controls.sub(lambda found: f"{found[0][0]} {found[0][1:]}", line)

    def _ids(self, text: str) -> list[int]:
        return self.tokenizer.encode(text, add_special_tokens=False)

    def _text(self, ids: Sequence[int]) -> str:
        text = self.tokenizer.decode(
            ids, skip_special_tokens=False, clean_up_tokenization_spaces=False
        )
        return text.replace(self.tokenizer.eos_token, "").strip()
