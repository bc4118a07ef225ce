"""The tiny policy of the offline profiles: its words, its tokenizer, its shape.

A Qwen2 of some 300,000 parameters over the words of the closed grammar, made from
scratch: a Hugging Face model like any other, so that what trains it also trains a real
one. Its vocabulary holds what the training user says, what the policy may say, the
names of the acts (for thoughts and critiques) and a few marks. What only the held-out
user says is unknown to it.

A conversation reads:

    <direct> <user> it is about the exam , i keep crying <end> <asst> that sounds so sad
    . <end> <user> hmm , i got blamed <end> <asst> ...

and with thoughts, `<reason> <user> ... <end> <asst> <think> sad name </think> that
sounds so sad . <end>`: first the feeling that it reads in the user ("unknown" if none),
then the acts that it means to do.
"""

from pathlib import Path

from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

from helpers.agents import clauses, lines
from helpers.agents.acts import ACTS
from helpers.data import slots
from helpers.learning.chat import ChatFormat
from helpers.paths import ROOT

POLICY = ROOT / "data" / "policy"

DIRECT, REASON = "<direct>", "<reason>"
MARKS = ["<pad>", "<unk>", "<user>", "<end>", "<asst>", DIRECT, REASON, "<think>",
         "</think>"]  # fmt: skip
CRITIQUE_WORDS = ["|", "better", "worse", ":"]
TEMPLATE = (
    "{%- for m in messages -%}"
    "{%- if m['role'] == 'system' -%}{{ m['content'] }}"
    "{%- elif m['role'] == 'user' -%}{{ ' <user> ' + m['content'] + ' <end>' }}"
    "{%- else -%}{{ ' <asst> ' + m['content'] + ' <end>' }}{%- endif -%}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{ ' <asst>' }}{%- endif -%}"
)


def vocabulary() -> list[str]:
    """All words, marks first, each once, in a fixed order."""
    said = {*lines.words("first"), *clauses.words(), *slots.EMOTIONS, *slots.EVENTS,
            *slots.VALUES, *slots.ACTIONS, *slots.TOPICS}  # fmt: skip
    named = {*ACTS, "unknown", *CRITIQUE_WORDS}
    return [*MARKS, *sorted(said | named)]


def make_tokenizer() -> PreTrainedTokenizerFast:
    """One id a word; a text is words separated by spaces."""
    words = {word: i for i, word in enumerate(vocabulary())}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="<unk>", pad_token="<pad>",
        eos_token="<end>", clean_up_tokenization_spaces=False,
    )  # fmt: skip
    made.chat_template = TEMPLATE
    return made


def make_model(words: int, hidden: int = 96, layers: int = 3) -> Qwen2ForCausalLM:
    """Untrained weights, from the global torch seed."""
    config = Qwen2Config(
        vocab_size=words, hidden_size=hidden, intermediate_size=2 * hidden,
        num_hidden_layers=layers, num_attention_heads=4, num_key_value_heads=4,
        max_position_embeddings=2048, tie_word_embeddings=True, use_cache=False,
        bos_token_id=None, eos_token_id=MARKS.index("<end>"),
        pad_token_id=MARKS.index("<pad>"), initializer_range=0.05,
    )  # fmt: skip
    return Qwen2ForCausalLM(config)


def load(folder: Path = POLICY) -> tuple[Qwen2ForCausalLM, ChatFormat]:
    """The supervised start, ready to train or to answer.

    Raises: FileNotFoundError, with the command that makes it.
    """
    if not (Path(folder) / "model.safetensors").is_file():
        raise FileNotFoundError(
            f"no tiny policy in {folder}; make it: python -m helpers.learning.warmup"
        )
    model = Qwen2ForCausalLM.from_pretrained(
        folder, use_safetensors=True, local_files_only=True
    )
    return model, ChatFormat(make_tokenizer())
