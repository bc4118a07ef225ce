"""End to end on a real OpenAI-compatible server: `transformers serve` on loopback.

It serves a tiny model with random weights, so every answer is garbage; what is tested
is that garbage ends as a typed outcome and never as a score. The server needs the extra
`transformers[serving]`, which the kit's own pins do not hold; without it these tests
are skipped.
"""

import importlib.util
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from dataclasses import replace

import pytest
from fake_llm import HELLO
from llm_cards import HISTORY, STATE, make_card

from helpers.agents.empa import EmpaActor, empa_settings
from helpers.agents.empa_director import EmpaDirector
from helpers.agents.empa_judge import EmpaJudge
from helpers.agents.ledger import read_ledger
from helpers.agents.llm import LLMClient
from helpers.agents.llm_policy import LLMPolicy
from helpers.agents.llm_settings import RetryPolicy, RoleSettings
from helpers.agents.roles import Outcome, RoleFailure
from helpers.agents.sage import SageUser, sage_settings
from helpers.sandbox.episode import RunSettings, run_one

NEEDED = ("fastapi", "uvicorn", "starlette")
MISSING = [name for name in NEEDED if importlib.util.find_spec(name) is None]
pytestmark = pytest.mark.skipif(
    bool(MISSING),
    reason=f"transformers serve needs {', '.join(MISSING)}: "
    "pip install 'transformers[serving]==5.17.0'",
)

TEXT = ["I failed my exam today and I feel awful.", "That sounds hard. Tell me more."]
TEMPLATE = (
    "{%- for m in messages -%}{{- '<|im_start|>' + m['role'] + '\n' + m['content']"
    " + '<|im_end|>\n' -}}{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\n' -}}{%- endif -%}"
)
START_S = 120.0
TYPED = (Outcome.JUDGE_UNPARSEABLE, Outcome.TRUNCATED, Outcome.API_ERROR)
SHORT = {"max_tokens": 24, "asks": 2, "timeout_s": 60.0}


def save_random_model(folder) -> None:
    """A two-layer Qwen3 with random weights and a byte-level tokeniser."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=special,
    )
    bpe.train_from_iterator(TEXT, trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe, eos_token="<|im_end|>", pad_token="<|endoftext|>"
    )
    tokenizer.chat_template = TEMPLATE
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        max_position_embeddings=16_384,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    model = Qwen3ForCausalLM(config)
    # Random weights hardly ever say the end token; with many of them, replies are
    # complete garbage of a few tokens, not only cut garbage.
    ends = [tokenizer.eos_token_id, *range(200, 260)]
    model.generation_config.eos_token_id = ends
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


class RealServer:
    """The server's process; `model` is the name to ask for."""

    def __init__(self, folder, log):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.model = str(folder)
        self.address = f"http://127.0.0.1:{port}"
        self._log = log
        command = [sys.executable, "-m", "transformers.cli.transformers", "serve"]
        command += [self.model, "--host", "127.0.0.1", "--port", str(port)]
        command += ["--device", "cpu", "--dtype", "float32"]
        offline = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            command, env=os.environ | offline, stdout=log, stderr=subprocess.STDOUT
        )

    def wait(self) -> None:
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                with urllib.request.urlopen(f"{self.address}/health", timeout=2):
                    return
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                time.sleep(0.2)
        self._log.seek(0)
        pytest.fail(f"the server did not start: {self._log.read()[-2000:]}")

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny")
    save_random_model(folder)
    with open(folder.parent / "server.log", "w+") as log:
        server = RealServer(folder, log)
        try:
            server.wait()
            yield server
        finally:
            server.stop()


def llm_for(real, folder=None, **changes) -> LLMClient:
    roles = empa_settings(real.model, real.model)
    roles = {name: replace(role, **(SHORT | changes)) for name, role in roles.items()}
    roles["sage"] = sage_settings(real.model, **(SHORT | changes))
    retry = RetryPolicy(attempts=3, first_wait_s=0.05)
    return LLMClient(roles, folder, base_url=f"{real.address}/v1", retry=retry)


def test_reply_tokens_ledger_and_cache(real, tmp_path):
    with llm_for(real, tmp_path) as llm:
        reply = llm.complete("policy", HELLO)
        again = llm.complete("policy", HELLO)
    rows = read_ledger(tmp_path / "ledger.jsonl")
    assert reply.outcome in (Outcome.OK, Outcome.TRUNCATED)
    assert reply.prompt_tokens > 0 and 0 < reply.completion_tokens <= 24
    assert reply.text and reply.served_model
    assert again.cached is (reply.outcome is Outcome.OK)
    assert rows[0]["prompt_tokens"] == reply.prompt_tokens
    assert rows[0]["completion_tokens"] == reply.completion_tokens
    assert rows[0]["status"] == reply.outcome.value and rows[0]["usd"] == "unknown"
    assert len(rows) == (1 if again.cached else 2)


def test_garbage_for_sage_is_no_emotion(real):
    with llm_for(real) as llm:
        session = SageUser(llm, role="sage").start(make_card(), 1)
        with pytest.raises(RoleFailure) as caught:
            session.feel(HISTORY)
    assert caught.value.outcome in TYPED
    assert session.emotion == 40


def test_garbage_for_empa_is_no_level(real):
    with llm_for(real) as llm:
        card = make_card("zh")
        judge = EmpaJudge(llm, initial="model").start(card, 1)
        director = EmpaDirector(llm).start(card, 1)
        for ask in (
            judge.initial_levels,
            lambda: judge.rate(HISTORY),
            lambda: director.guide(HISTORY, STATE),
        ):
            with pytest.raises(RoleFailure) as caught:
                ask()
            assert caught.value.outcome in TYPED


@pytest.mark.parametrize("kind", ["sage", "empa"])
def test_whole_dialogue_ends_typed(real, kind):
    """A cut or empty line is a failure too: no turn gets a score."""
    card = make_card()
    with llm_for(real) as llm:
        policy = LLMPolicy(llm, kind, "en")
        if kind == "sage":
            user = SageUser(llm, role="sage")
            roles, rules = (user, None, None), RunSettings.sage()
        else:
            roles = (EmpaActor(llm), EmpaJudge(llm), EmpaDirector(llm))
            rules = RunSettings.empa()
        dialogue = run_one(card, policy, *roles, rules, 3)
    assert dialogue.ending == "error" and dialogue.failure is not None
    assert dialogue.failure.outcome in ("judge_unparseable", "truncated", "api_error")
    assert dialogue.final_emotion is None and dialogue.final_position is None
    assert all(turn.levels is None for turn in dialogue.turns)
    assert all(turn.emotion_after is None for turn in dialogue.turns)


def test_complete_garbage_is_unparseable(real):
    with llm_for(real, asks=1) as llm:
        replies = [
            llm.complete(
                "judge", [{"role": "user", "content": f"Rate reply {n}"}], json=True
            )
            for n in range(12)
        ]
    outcomes = [reply.outcome for reply in replies]
    assert Outcome.OK not in outcomes and Outcome.JUDGE_UNPARSEABLE in outcomes
    assert all(reply.data is None and reply.error for reply in replies)


def test_unknown_model_ends_typed_or_stops(real):
    roles = {"policy": RoleSettings("no-such-model", timeout_s=30.0)}
    with LLMClient(roles, None, base_url=f"{real.address}/v1") as llm:
        reply = llm.complete("policy", HELLO)
    assert reply.outcome is Outcome.API_ERROR and "no-such-model" in reply.error


def test_server_that_dies_in_a_call_ends_typed(real):
    """The last test of this file: it kills the server."""
    threading.Timer(0.2, real.stop).start()
    with llm_for(real, max_tokens=24) as llm:
        for repeat in range(200):
            reply = llm.complete("policy", HELLO, repeat=repeat)
            if reply.outcome is Outcome.API_ERROR and "running" in reply.error:
                break
    assert reply.outcome is Outcome.API_ERROR and reply.attempts == 3
    assert "is it running?" in reply.error
