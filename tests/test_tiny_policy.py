"""The tiny policy: vocabulary, template, the decoder against the model's forward."""

import pytest
import torch

from helpers.agents import clauses, lines
from helpers.learning import tiny
from helpers.learning.chat import ChatFormat
from helpers.learning.decoder import PrefixDecoder


@pytest.fixture(scope="module")
def chat():
    return ChatFormat(tiny.make_tokenizer())


@pytest.fixture()
def model():
    torch.manual_seed(0)
    return tiny.make_model(len(tiny.vocabulary()), hidden=32, layers=2).eval()


def test_every_word_of_grammar_and_training_user_has_an_id(chat):
    for word in (*clauses.words(), *lines.words("first")):
        assert chat.tokenizer.encode(word) != [chat.tokenizer.unk_token_id], word
    assert len(set(tiny.vocabulary())) == len(tiny.vocabulary())


def test_the_held_out_user_has_words_the_policy_does_not_know(chat):
    ids = [chat.tokenizer.encode(word)[0] for word in lines.words("second")]
    assert chat.tokenizer.unk_token_id in ids


def test_a_conversation_reads_as_the_module_says(chat):
    text = chat.tokenizer.decode(chat.opening(tiny.DIRECT, "i keep crying"))
    assert text == "<direct> <user> i keep crying <end> <asst>"
    assert chat.tokenizer.decode(chat.user_turn("hmm")) == "<user> hmm <end> <asst>"


def test_a_thought_is_split_off_by_ids(chat):
    ids = chat.tokenizer.encode("<think> sad name </think> that sounds so sad .")
    thought, text, visible = chat.split(ids)
    assert (thought, text) == ("sad name", "that sounds so sad .")
    assert visible == ids[4:]


def forward(model, ids) -> torch.Tensor:
    with torch.no_grad():
        return model(torch.tensor([ids])).logits[0].log_softmax(-1)


def test_decoder_log_probs_are_those_of_the_model(model, chat):
    decoder = PrefixDecoder(model, chat.end_id)
    contexts = [chat.opening(tiny.DIRECT, t) for t in ("hmm", "i keep crying , hmm")]
    for turn in range(3):
        samples = decoder.generate([7, 9], contexts, limit=6 + turn)
        for context, sample in zip(contexts, samples, strict=True):
            whole = [*context, *sample.ids]
            logprobs = forward(model, whole)
            for k, (token, said) in enumerate(zip(*sample, strict=True)):
                want = logprobs[len(context) + k - 1, token].item()
                assert said == pytest.approx(want, abs=2e-5)
        more = chat.user_turn("no")
        contexts = [[*c, *s.ids, *more] for c, s in zip(contexts, samples, strict=True)]


@pytest.mark.parametrize("change", ["drop", "shorten", "reorder"])
def test_decoder_forgets_what_is_no_longer_in_the_context(model, chat, change):
    decoder = PrefixDecoder(model, chat.end_id, temperature=0)
    keys = [0, 1, 2]
    contexts = [chat.opening(tiny.DIRECT, t) for t in ("hmm", "no no", "i eat alone")]
    decoder.generate(keys, contexts, limit=8)
    if change == "drop":
        keys, contexts = [2, 0], [contexts[2], contexts[0]]
    elif change == "shorten":
        contexts = [c[:-2] for c in contexts]
    else:
        keys, contexts = [2, 1, 0], contexts[::-1]
    again = decoder.generate(keys, contexts, limit=5)
    fresh = PrefixDecoder(model, chat.end_id, temperature=0).generate(
        [5, 6, 7][: len(keys)], contexts, limit=5
    )
    assert [s.ids for s in again] == [s.ids for s in fresh]
    for one, two in zip(again, fresh, strict=True):
        assert one.logprobs == pytest.approx(two.logprobs, abs=1e-5)


def test_sampling_follows_the_distribution(model, chat):
    context = chat.opening(tiny.DIRECT, "hmm")
    n = 4000
    generator = torch.Generator().manual_seed(1)
    decoder = PrefixDecoder(model, chat.end_id, generator=generator)
    samples = decoder.generate(range(n), [context] * n, limit=1)
    counts = torch.zeros(model.config.vocab_size)
    for sample in samples:
        counts[sample.ids[0]] += 1
    p = forward(model, context)[-1].exp()
    error = (counts / n - p).abs() / (p * (1 - p) / n).sqrt()
    assert error.max() < 5


def test_a_model_with_shared_key_heads_is_refused():
    model = tiny.make_model(50, hidden=32, layers=1)
    model.config.num_key_value_heads = 2
    with pytest.raises(ValueError, match="key-value heads"):
        PrefixDecoder(model, 3)


def test_a_missing_checkpoint_names_the_command(tmp_path):
    with pytest.raises(FileNotFoundError, match="helpers.learning.warmup"):
        tiny.load(tmp_path)
