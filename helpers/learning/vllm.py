"""Rollouts with vLLM during training: TRL's vLLM, given the weights as they are now.

`SyncedVllm` holds one vLLM beside the trainer. TRL starts it and carries the weights
over, with adapters merged and sharded weights gathered; the kit decides when, once
before each set of dialogues, and samples turn by turn. Two ways, named by the recipe's
engine:

- "vllm": in the process of the trainer and on its GPU (TRL's colocate mode), for models
  that fit one GPU beside the training.
- "vllm_server": `vllm serve` on other GPUs, at VLLM_SERVER_URL. Each process asks it on
  its own, because dialogues end at different turns in different processes; only the
  weights are carried over together.

Not run: no GPU was at hand. Tested with a stand-in for TRL's class, on a whole run.
vLLM draws from its own generator: a run with it is not repeated by its seed.
"""

import os
from collections.abc import Sequence

from trl.generation.vllm_client import VLLMClient
from trl.generation.vllm_generation import VLLMGeneration

from helpers.learning.engines import VllmEngine

MODES = {"vllm": "colocate", "vllm_server": "server"}
MEMORY = 0.3  # of the GPU, for vLLM's weights and cache beside the training
SERVER = "VLLM_SERVER_URL"


class SyncedVllm:
    """One vLLM for a trainer.

    engine: samples with the weights of the last `sync`.
    """

    def __init__(self, mode: str, trainer, end_id: int):
        """
        Args:
            mode: key of MODES. trainer: a DialogueTrainer. end_id: ends a reply.

        Raises:
            ImportError: vLLM is not installed. ValueError: no address of the server, or
            a server whose log-probabilities are not those that it samples by.
        """
        address = os.environ.get(SERVER)
        if mode == "vllm_server" and not address:
            raise ValueError(
                f"the engine vllm_server needs the address of `vllm serve` in {SERVER}"
            )
        self._trainer, self._step = trainer, -1
        stop = {"stop_token_ids": [end_id]}
        self._vllm = VLLMGeneration(
            model=trainer.model,
            accelerator=trainer.accelerator,
            processing_class=trainer.processing_class,
            mode=MODES[mode],
            server_base_url=address,
            gpu_memory_utilization=MEMORY,
            temperature=trainer.temperature,
            generation_kwargs=stop,
        )
        self._client = None
        if mode == "vllm_server":
            self._client = VLLMClient(address)
            _refuse_raw(self._client.get_server_info(), address)
        self.engine = VllmEngine(self._sample)

    def sync(self) -> None:
        """Carry the weights over if there was an update since; every process calls."""
        if self._step != self._trainer.state.global_step:
            self._vllm.sync_weights()
            self._step = self._trainer.state.global_step

    def _sample(self, contexts: Sequence[Sequence[int]], limit: int):
        vllm, prompts = self._vllm, [list(ids) for ids in contexts]
        if self._client is None:
            vllm.max_completion_length = limit
            _, ids, logprobs, _ = vllm.generate(prompts, None, num_generations=1)
        else:
            made = self._client.generate(
                prompts, temperature=vllm.temperature, max_tokens=limit,
                generation_kwargs=vllm.generation_kwargs,
            )  # fmt: skip
            ids, logprobs = made["completion_ids"], made["logprobs"]
        # One number a token: TRL asks for the sampled one alone.
        return ids, [[token[0] for token in reply] for reply in logprobs]


def _refuse_raw(info: dict, address: str) -> None:
    given = info["model_config"]["logprobs_mode"]
    if given != "processed_logprobs":
        raise ValueError(
            f"the server at {address} gives {given}, which leave the temperature out: "
            "start it with --logprobs-mode processed_logprobs"
        )
