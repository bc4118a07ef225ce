"""How a policy samples replies: one call a turn for all dialogues that are still open.

An engine takes token ids and gives token ids with their log-probabilities; it knows
nothing of texts, users or rewards. Two stand here: transformers generation for any
model, and vLLM. Both sample from the whole distribution, softmax(logits / temperature)
with nothing cut off, penalised or suppressed, and give the log-probabilities of just
that distribution; at temperature 1 it is the model's own. A loss that compares with
them must divide its logits by the same temperature.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import torch
from peft import PeftModel
from transformers import (
    GenerationConfig,
    LogitsProcessor,
    LogitsProcessorList,
    PreTrainedModel,
)


class Sample(NamedTuple):
    """One sampled reply of N tokens.

    ids: (N,) with the end token last if it was sampled; else the limit cut it off.
    logprobs: (N,) natural log, under the distribution that was sampled from.
    """

    ids: list[int]
    logprobs: list[float]


class Engine(Protocol):
    """Samples one reply for each dialogue."""

    def generate(
        self, keys: Sequence[int], contexts: Sequence[Sequence[int]], limit: int
    ) -> list[Sample]:
        """One reply for each context, in the same order.

        Args:
            keys: the dialogues' numbers, the same in every turn: an engine may keep
                what it computed of a dialogue so far.
            contexts: the ids of each dialogue up to the first token of the reply.
            limit: the most tokens of one reply, the end token included.
        """
        ...


@dataclass
class HfEngine:
    """Transformers generation, many dialogues in one left-padded batch.

    It draws from torch's global generator: torch.manual_seed repeats a rollout, and the
    Trainer's checkpoints carry its state. The same seed with another batch_tokens may
    give other samples.

    model: a causal language model or one with adapters; used in evaluation mode, then
        set back to the mode it was in.
    batch_tokens: the most tokens, padding and replies included, that one batch holds.
        The default needs about 4 GB of key-value cache for a 7B model with grouped
        attention in 16 bits, or for a 135M one in 32.
    """

    model: PreTrainedModel | PeftModel
    end_id: int
    pad_id: int
    temperature: float = 1.0
    batch_tokens: int = 65_536

    def __post_init__(self) -> None:
        if not self.temperature > 0:
            raise ValueError(
                f"temperature {self.temperature} must be above 0: the most probable "
                "token alone has no log-probabilities to train on"
            )

    def generate(
        self, keys: Sequence[int], contexts: Sequence[Sequence[int]], limit: int
    ) -> list[Sample]:
        self._check(keys, contexts, limit)
        samples: dict[int, Sample] = {}
        # The model's own defaults (top-p, repetition penalty) would fill every field
        # that a call leaves open, so they are put aside while it samples.
        model = self._inner
        training, defaults = self.model.training, model.generation_config
        self.model.eval()
        model.generation_config = GenerationConfig()
        try:
            for places in self._batches([len(ids) for ids in contexts], limit):
                replies = self._sample([contexts[k] for k in places], limit)
                samples.update(zip(places, replies, strict=True))
        finally:
            model.generation_config = defaults
            self.model.train(training)
        return [samples[k] for k in range(len(contexts))]

    @property
    def _inner(self) -> PreTrainedModel:
        """The model that holds the adapters: peft's wrapper brings own defaults."""
        wrapped = isinstance(self.model, PeftModel)
        return self.model.get_base_model() if wrapped else self.model

    def _check(self, keys, contexts, limit: int) -> None:
        most = getattr(self._inner.config, "max_position_embeddings", None)
        if limit < 1:
            raise ValueError(f"a reply of at most {limit} tokens cannot be sampled")
        for key, ids in zip(keys, contexts, strict=True):
            if not len(ids):
                raise ValueError(f"dialogue {key}: its context holds no token")
            if most is not None and len(ids) + limit > most:
                raise ValueError(
                    f"dialogue {key}: {len(ids)} tokens and a reply of {limit} exceed "
                    f"the {most} positions of the model: end the dialogue earlier"
                )

    def _batches(self, lengths: list[int], limit: int) -> Iterator[list[int]]:
        """Places of the contexts, batch by batch: like lengths together."""
        batch: list[int] = []
        for place in sorted(range(len(lengths)), key=lambda k: lengths[k]):
            tokens = (len(batch) + 1) * (lengths[place] + limit)
            if batch and tokens > self.batch_tokens:
                yield batch
                batch = []
            batch.append(place)
        if batch:
            yield batch

    def _sample(self, contexts: list[Sequence[int]], limit: int) -> list[Sample]:
        width = max(len(ids) for ids in contexts)
        given = torch.full((len(contexts), width), self.pad_id)
        real = torch.zeros_like(given)
        for row, ids in enumerate(contexts):
            given[row, width - len(ids) :] = torch.tensor(ids)
            real[row, width - len(ids) :] = 1
        recorder = _Recorder(self.temperature)
        device = self._inner.device
        out = self._inner.generate(
            input_ids=given.to(device),
            attention_mask=real.to(device),
            generation_config=GenerationConfig(
                max_new_tokens=limit,
                do_sample=True,
                temperature=1.0,  # the recorder divides
                top_k=0,
                top_p=1.0,
                eos_token_id=self.end_id,
                pad_token_id=self.pad_id,
                use_cache=True,
            ),
            logits_processor=LogitsProcessorList([recorder]),
        )
        logprobs = recorder.finish(out, width).tolist()
        replies = out[:, width:].tolist()
        return [self._cut(*pair) for pair in zip(replies, logprobs, strict=True)]

    def _cut(self, ids: list[int], logprobs: list[float]) -> Sample:
        """Without what fills the batch up after the end token."""
        n = ids.index(self.end_id) + 1 if self.end_id in ids else len(ids)
        return Sample(ids[:n], logprobs[:n])


class _Recorder(LogitsProcessor):
    """Applies the temperature and keeps the log-probability of each sampled token.

    It is called before each draw, so a token is looked up one call later; this holds
    one step of scores, where generate's own record holds them all.
    """

    def __init__(self, temperature: float) -> None:
        self.temperature = temperature
        self.kept: list[torch.Tensor] = []
        self.last: torch.Tensor | None = None

    def __call__(self, input_ids, scores):
        if self.last is not None:
            self._keep(input_ids[:, -1:])
        self.last = torch.log_softmax(scores.float() / self.temperature, dim=-1)
        return self.last

    def finish(self, ids: torch.Tensor, width: int) -> torch.Tensor:
        """Log-probabilities (B, N) of the N tokens after the first `width`."""
        if len(self.kept) < ids.shape[1] - width:
            self._keep(ids[:, -1:])
        return torch.cat(self.kept, dim=1)[:, : ids.shape[1] - width]

    def _keep(self, tokens: torch.Tensor) -> None:
        self.kept.append(self.last.gather(1, tokens))


Sampler = Callable[
    [Sequence[Sequence[int]], int], tuple[list[list[int]], list[list[float]]]
]


@dataclass
class VllmEngine:
    """Samples with vLLM, through a function that `helpers.learning.vllm` gives.

    Not run: no GPU. Tested with a stand-in for vLLM only.

    sample: from contexts and the limit to (ids, logprobs), one list a context.
    """

    sample: Sampler

    def generate(
        self, keys: Sequence[int], contexts: Sequence[Sequence[int]], limit: int
    ) -> list[Sample]:
        samples = [
            Sample(list(ids), list(logprobs))
            for ids, logprobs in zip(*self.sample(contexts, limit), strict=True)
        ]
        for key, (ids, logprobs) in zip(keys, samples, strict=True):
            if not len(ids) == len(logprobs) <= limit:
                raise ValueError(
                    f"dialogue {key}: vLLM gave {len(ids)} tokens and {len(logprobs)} "
                    f"log-probabilities at a limit of {limit}: check max_tokens"
                )
            if any(x is None or not math.isfinite(x) for x in logprobs):
                raise ValueError(
                    f"dialogue {key}: vLLM gave no finite log-probability for a "
                    "sampled token: check the model's precision"
                )
        return samples
