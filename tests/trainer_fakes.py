"""A tiny random policy, and rows of random tokens, for the trainer tests."""

import random
from dataclasses import replace
from itertools import groupby

import torch
from reference_loop import Loop
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

from helpers.learning.rows import Row
from helpers.sandbox.dialogue import Dialogue, Failure, Turn

WORDS = 40
SCENARIOS = [f"s{i:02d}" for i in range(12)]


def tiny_tokenizer():
    words = {f"w{i}": i for i in range(WORDS)}
    return PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.WordLevel(words, "w3")),
        pad_token="w0",
        eos_token="w2",
    )


def tiny_policy(seed=0, dtype=torch.float64, layers=2, hidden=16):
    torch.manual_seed(seed)
    config = Qwen2Config(
        vocab_size=WORDS, hidden_size=hidden, intermediate_size=2 * hidden,
        num_hidden_layers=layers, num_attention_heads=2, num_key_value_heads=2,
        max_position_embeddings=512, tie_word_embeddings=True, pad_token_id=0,
        eos_token_id=2, bos_token_id=None,
    )  # fmt: skip
    model = Qwen2ForCausalLM(config)
    # transformers' norm computes in float32 whatever the model, torch's does not.
    for module in [*model.model.layers, model.model]:
        for name in ("input_layernorm", "post_attention_layernorm", "norm"):
            if hasattr(module, name):
                setattr(module, name, torch.nn.RMSNorm(hidden, config.rms_norm_eps))
    return model.to(dtype)


def dialogue(scenario, seed, emotions, rewards, failed=False):
    """Emotions e_0..e_T, rewards r_1..r_T."""
    turns = tuple(
        Turn(
            number=t + 1, user="u", reply="r", emotion_before=emotions[t],
            emotion_after=emotions[t + 1], reward=rewards[t],
        )
        for t in range(len(rewards))
    )  # fmt: skip
    return Dialogue(
        scenario_id=scenario, repeat=0, seed=seed, settings_hash="", turns=turns,
        ending="error" if failed else "timeout",
        ended_by="failure" if failed else "limit", decided_turn=len(turns),
        initial_emotion=emotions[0], successes={"emotion": 1} if max(emotions) > 60
        else {},
        failure=Failure("user", "api_error", "no answer") if failed else None,
    )  # fmt: skip


def random_row(scenario, seed, turns=None, failed=False, reply=(2, 6), user=(2, 5)):
    """A row of random words; log-probabilities are filled in by `scored`."""
    rng = random.Random(f"{scenario} {seed}")
    turns = turns or rng.randint(1, 4)

    def words(span):
        return [rng.randrange(3, WORDS) for _ in range(rng.randint(*span))]

    prompt, ids, mask, turn_ids = [1, *words(user)], [], [], []
    for t in range(turns):
        said = [*words(reply), 2]
        heard = words(user) if t < turns - 1 else []
        ids += said + heard
        mask += [1] * len(said) + [0] * len(heard)
        turn_ids += [t] * len(said) + [-1] * len(heard)
    emotions = [50] + [rng.randint(0, 100) for _ in range(turns)]
    rewards = [rng.gauss(0, 1) for _ in range(turns)]
    record = dialogue(scenario, seed, emotions, rewards, failed)
    return Row(prompt, ids, mask, turn_ids, [0.0] * len(ids), record)


def packed_row(scenario, seed, turns=None, think=(1, 4)):
    """The same dialogue with a thought before most replies that no later turn sees; a
    reply without one stands on the trunk."""
    plain = random_row(scenario, seed, turns)
    rng = random.Random(f"think {scenario} {seed}")
    start = len(plain.prompt_ids)
    ids, mask, turn_ids = [], [], []
    positions, segments = list(range(start)), [0] * start
    at = start  # position of the next token of the trunk
    for turn, group in groupby(
        zip(plain.turn_ids, plain.completion_ids, strict=True), key=lambda pair: pair[0]
    ):
        visible = [word for _, word in group]
        if turn >= 0 and rng.random() < 0.8:
            branch = [rng.randrange(3, WORDS) for _ in range(rng.randint(*think))]
            branch += visible
            ids += branch
            mask += [1] * len(branch)
            turn_ids += [turn] * len(branch)
            positions += range(at, at + len(branch))
            segments += [turn + 1] * len(branch)
            turn = -1  # what follows is the copy for later turns
        ids += visible
        mask += [int(turn >= 0)] * len(visible)
        turn_ids += [turn] * len(visible)
        positions += range(at, at + len(visible))
        segments += [0] * len(visible)
        at += len(visible)
    return Row(
        plain.prompt_ids, ids, mask, turn_ids, [0.0] * len(ids), plain.dialogue,
        positions, segments,
    )  # fmt: skip


def scored(rows, model):
    """The same rows with the log-probabilities that the model gives their tokens."""
    loop = Loop(model, lr=0.0)
    done = []
    for row in rows:
        logprobs = [0.0] * len(row.completion_ids)
        places = [i for i, m in enumerate(row.policy_mask) if m]
        if places:
            with torch.no_grad():
                found = loop.of_tokens(row)[0].tolist()
            for place, logp in zip(places, found, strict=True):
                logprobs[place] = logp
        done.append(replace(row, logprobs=logprobs))
    return done


def roll_of(model, log=None, row=random_row, change=None):
    """A roll function: random rows of each scenario, scored by the model.

    log: a list that gets the rows of each call. row: makes one from a scenario and a
    seed. change: rows -> rows.
    """

    def roll(scenario_ids, seed):
        rows = [row(s, seed + i) for i, s in enumerate(scenario_ids)]
        rows = scored(change(rows) if change else rows, model)
        if log is not None:
            log.append(rows)
        return rows

    return roll
