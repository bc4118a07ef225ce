"""A short decoder with a key-value cache for tiny models: fast where `generate` is not.

It computes the forward pass of a Qwen2 model from the model's own weights, one column
of tokens for all dialogues at a time. The cache is kept by dialogue: of each context
only what differs from the cached one is computed, so the next turn costs its new tokens
only, and a history from which a thought was removed is rolled back to where it differs.
A test compares it with the model's own forward pass.

The weights are those at construction time: make a new decoder after an optimiser step.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from transformers import Qwen2ForCausalLM

from helpers.learning.engines import Sample

SHRINK = 0.75  # decode on without the finished rows once so few of all are left


class PrefixDecoder:
    """An `engines.Engine` for Qwen2 models with full attention.

    Args:
        end_id: the token that closes a reply. temperature: of sampling; 0 takes the
            likeliest token. generator: of random numbers, None = torch's global one.

    Log-probs are those of the distribution sampled from; at temperature 0 those of
    temperature 1.
    """

    def __init__(
        self,
        model: Qwen2ForCausalLM,
        end_id: int,
        temperature: float = 1.0,
        generator: torch.Generator | None = None,
    ):
        config = model.config
        self._heads = config.num_attention_heads
        if config.num_key_value_heads != self._heads:
            raise ValueError("this decoder needs as many key-value heads as heads")
        self._size = config.hidden_size // self._heads
        self._eps = config.rms_norm_eps
        self._end, self._generator = end_id, generator
        self._temperature = temperature
        self._weights = {k: p.detach() for k, p in model.state_dict().items()}
        self._layers = [self._layer(i) for i in range(config.num_hidden_layers)]
        self._table = self._weights["model.embed_tokens.weight"]
        self._last_norm = self._weights["model.norm.weight"]
        self._head = self._weights.get("lm_head.weight", self._table)
        self._rotary = model.model.rotary_emb
        self._keys: list[int] = []
        self._ids: list[list[int]] = []
        self._cache: list[list[torch.Tensor]] = []
        self._room = 0

    @torch.no_grad()
    def generate(
        self, keys: Sequence[int], contexts: Sequence[Sequence[int]], limit: int
    ) -> list[Sample]:
        """One reply for each context; `keys` name the dialogues (see `Engine`)."""
        logits, lengths = self._begin(list(keys), contexts, limit)
        said, logprobs = [[] for _ in keys], [[] for _ in keys]
        rows, cache, whole = list(range(len(keys))), self._cache, limit
        open_rows = set(rows)
        for step in range(limit):
            tokens, chosen = self._sample(logits)
            sampled = zip(rows, tokens.tolist(), chosen.tolist(), strict=True)
            for i, token, logprob in sampled:
                if i in open_rows:
                    said[i].append(token)
                    logprobs[i].append(logprob)
                    if token == self._end:
                        open_rows.discard(i)
            if not open_rows or step == limit - 1:
                break
            if len(open_rows) <= SHRINK * len(rows):
                # Go on with the open rows alone, on a copy of their cache.
                whole = min(whole, step)
                keep = [k for k, i in enumerate(rows) if i in open_rows]
                rows, index = [rows[k] for k in keep], torch.tensor(keep)
                tokens, lengths = tokens[index], lengths[index]
                room = int(lengths.max()) + limit - step
                cache = [
                    [x[:, :, :room].index_select(0, index) for x in kv] for kv in cache
                ]
            logits = self._forward(tokens[:, None], lengths[:, None], cache)[:, 0]
            lengths = lengths + 1
        self._ids = [
            [*context, *words[: min(whole, len(words) - 1)]]
            for context, words in zip(contexts, said, strict=True)
        ]
        return [Sample(*pair) for pair in zip(said, logprobs, strict=True)]

    def _begin(
        self, keys: list[int], contexts, limit: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """`_prefill` for these dialogues; what new ones have in common is computed
        once (a group of candidates has one context)."""
        room = max(map(len, contexts)) + limit
        alike: dict[tuple[int, ...], int] = {}
        place = [alike.setdefault(tuple(c), len(alike)) for c in contexts]
        if self._keys or len(alike) == len(contexts):
            self._arrange(keys)
            self._reserve(room)
            return self._prefill(contexts)
        self._arrange(list(range(len(alike))))
        self._reserve(room)
        logits, lengths = self._prefill(list(alike))
        index = torch.tensor(place)
        self._cache = [[x.index_select(0, index) for x in kv] for kv in self._cache]
        self._keys, self._ids = keys, [[] for _ in keys]  # written after the reply
        return logits[index], lengths[index]

    def _prefill(self, contexts) -> tuple[torch.Tensor, torch.Tensor]:
        """Compute what is new of each context: the last logits, and the lengths."""
        starts = [
            _shared(old, new) for old, new in zip(self._ids, contexts, strict=True)
        ]
        rests = [list(c[s:]) for c, s in zip(contexts, starts, strict=True)]
        width = max(map(len, rests))
        block = torch.tensor([r + [0] * (width - len(r)) for r in rests])
        start = torch.tensor(starts)
        # Padding is written behind the row's end and overwritten before it is seen.
        self._reserve(int(start.max()) + width)
        places = start[:, None] + torch.arange(width)
        logits = self._forward(block, places, self._cache)
        last = torch.tensor([len(r) - 1 for r in rests])
        return logits[torch.arange(len(rests)), last], start + last + 1

    def _forward(
        self, tokens: torch.Tensor, positions: torch.Tensor, cache
    ) -> torch.Tensor:
        """Logits (n, m, V) of m tokens a row at their positions; fills the cache."""
        n, m = tokens.shape
        hidden = self._table[tokens]
        cos, sin = (table[positions].unsqueeze(1) for table in self._angles)
        used = int(positions.max()) + 1
        unseen = torch.arange(used) > positions[:, None, :, None]
        mask = torch.zeros(unseen.shape, dtype=hidden.dtype)
        mask.masked_fill_(unseen, -torch.inf)
        at = positions[:, None, :, None].expand(n, self._heads, m, self._size)
        for layer, (cached_k, cached_v) in zip(self._layers, cache, strict=True):
            x = self._norm(hidden, layer["before"])
            qkv = F.linear(x, layer["qkv"], layer["bias"])
            qkv = qkv.view(n, m, 3, self._heads, self._size).permute(2, 0, 3, 1, 4)
            (q, k), v = _turn(qkv[:2], cos, sin), qkv[2]
            cached_k.scatter_(2, at, k)
            cached_v.scatter_(2, at, v)
            mixed = F.scaled_dot_product_attention(
                q, cached_k[:, :, :used], cached_v[:, :, :used], attn_mask=mask
            )
            mixed = mixed.transpose(1, 2).reshape(n, m, -1)
            hidden = hidden + F.linear(mixed, layer["out"])
            x = self._norm(hidden, layer["after"])
            gate, up = F.linear(x, layer["up"]).chunk(2, dim=-1)
            hidden = hidden + F.linear(F.silu(gate) * up, layer["down"])
        return F.linear(self._norm(hidden, self._last_norm), self._head)

    def _sample(self, logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        logits = logits.float()
        if self._temperature == 0:
            tokens = logits.argmax(-1)
        else:
            logits = logits / self._temperature
            noise = torch.empty_like(logits).exponential_(generator=self._generator)
            tokens = (torch.softmax(logits, -1) / noise).argmax(-1)
        return tokens, logits.log_softmax(-1).gather(1, tokens[:, None])[:, 0]

    def _norm(self, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return F.rms_norm(x, weight.shape, weight, self._eps)

    def _layer(self, i: int) -> dict[str, torch.Tensor]:
        def of(name: str) -> torch.Tensor:
            return self._weights[f"model.layers.{i}.{name}"]

        attention = [f"self_attn.{x}_proj" for x in "qkv"]
        return {
            "before": of("input_layernorm.weight"),
            "after": of("post_attention_layernorm.weight"),
            "qkv": torch.cat([of(f"{name}.weight") for name in attention]),
            "bias": torch.cat([of(f"{name}.bias") for name in attention]),
            "out": of("self_attn.o_proj.weight"),
            "up": torch.cat([of("mlp.gate_proj.weight"), of("mlp.up_proj.weight")]),
            "down": of("mlp.down_proj.weight"),
        }

    def _arrange(self, keys: list[int]) -> None:
        """Bring the cached rows into the order of `keys`; new ones start empty."""
        if keys == self._keys:
            return
        old = {key: i for i, key in enumerate(self._keys)}
        rows = [old.get(key) for key in keys]
        self._ids = [[] if r is None else self._ids[r] for r in rows]
        if self._cache:
            index = torch.tensor(
                [r or 0 for r in rows]
            )  # an empty row reads none of it
            self._cache = [[x.index_select(0, index) for x in kv] for kv in self._cache]
        self._keys = keys

    def _reserve(self, length: int) -> None:
        """Room for `length` tokens a row."""
        if not self._cache:
            self._room = 0
        if length <= self._room:
            return
        room = max(length, 2 * self._room, 128)
        shape = (len(self._keys), self._heads, room, self._size)
        grown = [
            [torch.zeros(shape, dtype=self._table.dtype) for _ in "kv"]
            for _ in self._layers
        ]
        for new, old in zip(grown, self._cache, strict=False):
            for target, source in zip(new, old, strict=True):
                target[:, :, : self._room] = source
        self._cache, self._room = grown, room
        cos, sin = self._rotary(self._table, torch.arange(room)[None])
        sign = torch.ones(self._size, dtype=sin.dtype)
        sign[: self._size // 2] = -1
        self._angles = cos[0], sin[0] * sign


def _shared(old: Sequence[int], new: Sequence[int]) -> int:
    """Length of the common start, short of the last token of `new`."""
    most = min(len(old), len(new) - 1)
    for i in range(most):
        if old[i] != new[i]:
            return i
    return most


def _turn(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Rotary position embedding; the first half of `sin` is negative."""
    return x * cos + x.roll(x.shape[-1] // 2, -1) * sin
