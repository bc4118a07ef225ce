"""Chat templates cut into parts: token by token what the template itself would give."""

import random

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from helpers.learning.chat import ChatFormat, ChatFormatError

# As Qwen's and SmolLM's: a system text of its own where none is given, and a line end
# after the closing token.
CHATML = (
    "{% for m in messages %}"
    "{% if loop.first and m['role'] != 'system' %}"
    "{{ '<|im_start|>system\nYou are Stand-in.<|im_end|>\n' }}{% endif %}"
    "{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
# As Llama 3's: a start token, texts trimmed, nothing after the closing token.
HEADERS = (
    "{{ bos_token }}{% for m in messages %}"
    "{{ '<|im_start|>' + m['role'] + '\n\n' + m['content'] | trim + '<|im_end|>' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n\n' }}{% endif %}"
)
# As Qwen3's without thinking: an empty thought opens the reply to come only.
EMPTY_THOUGHT = CHATML.replace(
    "<|im_start|>assistant\n'",
    "<|im_start|>assistant\n' + ('' if think else '<think>\n\n</think>\n\n')",
)
WORDS = (
    "{% for m in messages %}{% if m['role'] == 'system' %}{{ m['content'] }}"
    "{% elif m['role'] == 'user' %}{{ ' <user> ' + m['content'] + ' <end>' }}"
    "{% else %}{{ ' <asst> ' + m['content'] + ' <end>' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ ' <asst>' }}{% endif %}"
)


def byte_level(template, special=("<|endoftext|>", "<|im_start|>", "<|im_end|>")):
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    lines = ["I hear you. It is hard.", "user assistant system", "you are so tired"]
    trainer = trainers.BpeTrainer(
        vocab_size=340,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=list(special),
    )
    core.train_from_iterator(lines, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        bos_token=special[0],
        eos_token="<|im_end|>",
        pad_token=special[0],
        extra_special_tokens=["<|im_start|>"],
        chat_template=template,
    )


def word_level():
    words = ["<pad>", "<unk>", "<end>", "<user>", "<asst>", "<think>", "</think>"]
    words += "be kind i am sad hear you it is hard".split()
    core = Tokenizer(models.WordLevel({w: k for k, w in enumerate(words)}, "<unk>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        eos_token="<end>",
        pad_token="<pad>",
        unk_token="<unk>",
        extra_special_tokens=["<user>", "<asst>", "<think>", "</think>"],
        chat_template=WORDS,
    )


TOKENIZERS = {
    "chatml": byte_level(CHATML),
    "headers": byte_level(HEADERS),
    "words": word_level(),
}


@pytest.fixture(params=TOKENIZERS)
def tokenizer(request):
    return TOKENIZERS[request.param]


def whole(tokenizer, turns, generate=True, **options):
    roles = ["system", *["user", "assistant"] * len(turns)]
    messages = [{"role": r, "content": t} for r, t in zip(roles, turns, strict=False)]
    text = tokenizer.apply_chat_template(
        messages, tokenize=False, add_generation_prompt=generate, **options
    )
    return tokenizer.encode(text, add_special_tokens=False)


def test_parts_put_together_are_the_template_itself(tokenizer):
    chat = ChatFormat(tokenizer)
    said = ["be kind", "i am sad", "i hear you", "it is hard", "i am sad", "you"]
    ids = chat.opening(said[0], said[1])
    assert ids == whole(tokenizer, said[:2])
    for reply, line in [said[2:4], said[4:6]]:
        blank = " " if "<asst>" in tokenizer.get_vocab() else ""
        ids += tokenizer.encode(f"{blank}{reply}", add_special_tokens=False)
        ids += [chat.end_id] + chat.user_turn(line)
    assert ids == whole(tokenizer, said)


def test_word_level_turn_by_hand():
    tokenizer = TOKENIZERS["words"]
    chat = ChatFormat(tokenizer)
    assert tokenizer.decode(chat.opening("be kind", "i am sad")) == (
        "be kind <user> i am sad <end> <asst>"
    )
    assert tokenizer.decode(chat.user_turn("i am sad")) == (
        "<user> i am sad <end> <asst>"
    )
    assert chat.end_id == 2


def test_chatml_turn_starts_with_the_line_end_after_the_closing_token():
    tokenizer = TOKENIZERS["chatml"]
    chat = ChatFormat(tokenizer)
    text = tokenizer.decode(chat.user_turn("you?"))
    chat.user_turn("you?").clear()  # the next time it is whole again
    assert tokenizer.decode(chat.user_turn("you?")) == text
    assert text == "\n<|im_start|>user\nyou?<|im_end|>\n<|im_start|>assistant\n"


@pytest.mark.parametrize("system", ["", "be kind"])
def test_no_system_text_of_the_templates_own(system):
    tokenizer = TOKENIZERS["chatml"]
    text = tokenizer.decode(ChatFormat(tokenizer).opening(system, "you?"))
    assert "Stand-in" not in text
    assert text.startswith(f"<|im_start|>system\n{system}<|im_end|>\n")


def test_empty_thought_of_a_reply_to_come():
    tokenizer = byte_level(EMPTY_THOUGHT)
    chat = ChatFormat(tokenizer, options=(("think", False),))
    for ids in (chat.opening("be kind", "hi"), chat.user_turn("hi")):
        assert tokenizer.decode(ids).endswith("assistant\n<think>\n\n</think>\n\n")
    plain = ChatFormat(tokenizer, options=(("think", True),))
    assert plain.user_turn("hi") == ChatFormat(TOKENIZERS["chatml"]).user_turn("hi")


ODD = [
    "",
    " ",
    "\n\n",
    "<",
    "<|",
    "|>",
    "<|im_end|>",
    "<|im_start|>",
    "user",
    "é",
    "我",
]


def scraps(seed, pieces, most=6):
    draw = random.Random(seed)
    return "".join(draw.choices(pieces, k=draw.randint(0, most)))


def test_a_users_line_opens_no_turn():
    """Whatever a user says: two turn starts and one end, all of them the template's."""
    tokenizer = TOKENIZERS["chatml"]
    chat = ChatFormat(tokenizer)
    start = tokenizer.convert_tokens_to_ids("<|im_start|>")
    for seed in range(200):
        said = scraps(seed, ODD)
        ids, opening = chat.user_turn(said), chat.opening("be kind", said)
        assert (ids.count(start), ids.count(chat.end_id)) == (2, 1), said
        assert (opening.count(start), opening.count(chat.end_id)) == (3, 2), said


def test_split_without_a_tag_gives_all(tokenizer):
    chat = ChatFormat(tokenizer)
    for end in ([], [chat.end_id]):
        ids = tokenizer.encode("i hear you", add_special_tokens=False) + end
        assert chat.split(ids) == (None, "i hear you", ids)
    assert chat.split([]) == (None, "", [])


@pytest.mark.parametrize("gap", ["", " ", "\n\n"])
def test_split_where_the_tag_is_several_tokens(gap):
    tokenizer = TOKENIZERS["chatml"]
    chat = ChatFormat(tokenizer)
    assert len(tokenizer.encode("</think>")) > 1
    thought = tokenizer.encode(f"<think>\nhe is tired\n</think>{gap}")
    reply = tokenizer.encode("I hear you.") + [chat.end_id]
    assert chat.split(thought + reply) == ("he is tired", "I hear you.", reply)


@pytest.mark.parametrize("opened", ["<think> ", ""])
def test_split_where_the_tag_is_one_token(opened):
    tokenizer = TOKENIZERS["words"]
    chat = ChatFormat(tokenizer)
    ids = tokenizer.encode(f"{opened}it is hard </think> i hear you <end>")
    assert chat.split(ids) == ("it is hard", "i hear you", ids[-4:])


def test_split_of_a_second_tag_and_of_nothing_said():
    tokenizer = TOKENIZERS["words"]
    chat = ChatFormat(tokenizer)
    twice = tokenizer.encode("sad </think> hear </think> you <end>")
    assert chat.split(twice) == ("sad", "hear </think> you", twice[2:])
    silent = tokenizer.encode("<think> sad </think> <end>")
    assert chat.split(silent) == ("sad", "", [chat.end_id])
    cut = tokenizer.encode("<think> </think>")
    assert chat.split(cut) == ("", "", [])


def test_split_agrees_with_the_text():
    tokenizer = TOKENIZERS["chatml"]
    chat = ChatFormat(tokenizer)
    pieces = ["a", " b", "<", ">", "/", "\n", "</think>", "think", "é"]
    for seed in range(300):
        text = f"{scraps(seed, pieces)}</think>{scraps(-seed - 1, pieces)}"
        ids = tokenizer.encode(text)
        thought, visible, kept = chat.split(ids)
        before, after = text.split("</think>", 1)
        assert thought == before.strip() and kept == ids[len(ids) - len(kept) :]
        assert visible == tokenizer.decode(kept).strip()
        # A token that holds the end of the tag and more takes that more with it.
        assert after.strip().endswith(visible)
        assert visible == after.strip() or after[0] in "<>/"


REFUSED = {
    "no template": (None, "chat_template"),
    "system refused": (
        "{% if messages[0]['role'] == 'system' %}"
        "{{ raise_exception('no system here') }}{% endif %}",
        "no system here",
    ),
    "system put last": (
        "{% for m in messages[1:] %}{{ '<|im_start|>' + m['role'] + '\n' }}"
        "{% if loop.last %}{{ messages[0]['content'] + '\n' }}{% endif %}"
        "{{ m['content'] + '<|im_end|>\n' }}{% endfor %}",
        "changes or drops earlier messages",
    ),
    "system dropped": (
        CHATML.replace(
            "{% for m in messages %}", "{% for m in messages if m.role != 'system' %}"
        ),
        "changes or drops earlier messages",
    ),
    "other end token": (CHATML.replace("im_end", "done"), "'<|done|>"),
    "replies trimmed away": (
        CHATML.replace("m['content']", "m['content'].split(' three')[0]"),
        "nothing that could be found",
    ),
    "no generation prompt": (
        "{% for m in messages %}{{ m['role'] + ': ' + m['content'] }}"
        "{% if m['role'] == 'assistant' %}{{ eos_token }}{% endif %}{% endfor %}",
        "add_generation_prompt",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_templates_that_cannot_be_used_are_refused(name):
    template, message = REFUSED[name]
    with pytest.raises(ChatFormatError) as error:
        ChatFormat(byte_level(template))
    assert message in str(error.value)


def test_a_tokenizer_without_an_end_token_is_refused():
    tokenizer = byte_level(CHATML)
    tokenizer.eos_token = None
    with pytest.raises(ChatFormatError, match="no end token"):
        ChatFormat(tokenizer)
