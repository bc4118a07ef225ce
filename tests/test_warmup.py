"""The supervised start: lessons, their tokens, and that the script makes it again."""

import json
import random

import pytest
import torch

from helpers.agents.acts import Act
from helpers.agents.clauses import read_clauses
from helpers.agents.policies import Facts
from helpers.agents.roles import Message
from helpers.data.scenarios import load_cards
from helpers.learning import lessons, tiny, training, warmup
from helpers.learning.chat import ChatFormat
from helpers.learning.methods import Scale, make_recipe
from helpers.learning.reading import reading

CHAT = ChatFormat(tiny.make_tokenizer())
REPORT = json.loads((tiny.POLICY / warmup.REPORT).read_text(encoding="utf-8"))


def test_a_drill_uses_only_what_was_told():
    rng = random.Random(1)
    for _ in range(20):
        history = []
        for exchange in lessons.drill(rng):
            history.append(Message("user", exchange.user))
            facts = Facts.of(history)
            known = {
                "reflect": (None, facts.event), "name": (facts.emotion,),
                "affirm": (facts.value,), "advise": (facts.action,),
            }  # fmt: skip
            found = read_clauses(exchange.reply, "")
            assert found.acts and not found.noise
            for act in found.acts:
                assert act.slot in known.get(act.kind, (None,)), exchange
            history.append(Message("assistant", exchange.reply))


def test_a_thought_names_feeling_and_acts_of_its_reply():
    rng = random.Random(2)
    for exchange in lessons.dialogue(rng, load_cards("train")[0], 1.0, 1.0):
        feeling, *kinds = exchange.thought.split()
        assert feeling == "unknown" or feeling in exchange.thought
        assert tuple(kinds) == read_clauses(exchange.reply, "").kinds()[:4]


def test_a_critique_names_what_the_reply_does_and_not_what_it_should_avoid():
    rng = random.Random(3)
    noted = [
        e
        for card in load_cards("train")[:8]
        for e in lessons.dialogue(rng, card, 0.2, 1.0)
        if e.critique
    ]
    assert noted
    for exchange in noted:
        kinds = read_clauses(exchange.reply, "").kinds()
        better, _, worse = exchange.critique.partition("| worse :")
        assert all(kind in better.split() for kind in kinds)
        assert not set(worse.split()) & set(kinds)


def test_critique_text_leaves_out_what_is_empty():
    assert lessons.critique_text([], []) == ""
    text = lessons.critique_text([Act("name", "sad")], [Act("lecture")])
    assert text == "| better : name sad | worse : lecture"
    assert CHAT.tokenizer.unk_token_id not in CHAT.tokenizer.encode(text)


@pytest.mark.parametrize("system", [tiny.DIRECT, tiny.REASON])
def test_only_replies_and_thoughts_have_full_weight(system):
    lesson = [
        lessons.Exchange("hmm", "unknown question", "what happened then ?"),
        lessons.Exchange(
            "no", "sad name", "that sounds so sad .", "| better : name sad"
        ),
    ]
    row = warmup.encode(CHAT, lesson, system, 0.3)
    learnt = [i for i, w in zip(row.ids, row.weights, strict=True) if w == 1]
    thoughts = ["<think> unknown question </think> ", "<think> sad name </think> "]
    if system == tiny.DIRECT:
        thoughts = ["", ""]
    text = CHAT.tokenizer.decode(learnt)
    assert text == (
        f"{thoughts[0]}what happened then ? <end> "
        f"{thoughts[1]}that sounds so sad . <end>"
    )
    trunk = [i for i, s in zip(row.ids, row.segments, strict=True) if s == 0]
    spoken = CHAT.tokenizer.decode(trunk)
    assert "better" not in spoken and "<think>" not in spoken
    assert spoken.count("that sounds so sad .") == 1


def test_packed_lessons_give_the_loss_of_each_branch_alone():
    torch.manual_seed(0)
    model = tiny.make_model(len(tiny.vocabulary()), hidden=32, layers=2).double()
    lesson = lessons.drill(random.Random(4), turns=3)
    row = warmup.encode(CHAT, lesson, tiny.REASON, 0.0)
    batch = warmup.collate([row], 0)
    packed = warmup.loss(model, {**batch, "total": batch["weights"].sum()})
    total, count = 0.0, 0
    history = CHAT.tokenizer.encode(tiny.REASON)
    for e in lesson:
        line, mark = CHAT.user_turn(e.user)[:-2], CHAT.user_turn(e.user)[-2:]
        reply = [*CHAT.tokenizer.encode(e.reply), CHAT.end_id]
        own = [*CHAT.tokenizer.encode(f"<think> {e.thought} </think>"), *reply]
        note = CHAT.tokenizer.encode(e.critique) if e.critique else []
        context = [*history, *line, *note, *mark]
        logits = model(torch.tensor([[*context, *own]])).logits[0].log_softmax(-1)
        for k, token in enumerate(own):
            total -= logits[len(context) + k - 1, token].item()
        count += len(own)
        history += [*line, *mark, *reply]
    assert packed.item() == pytest.approx(total / count, abs=1e-9)


def test_the_script_makes_the_first_steps_again():
    """Losses within a tolerance: processors differ in the last bits."""
    settings = warmup.WarmupSettings()
    stored = json.loads(json.dumps(REPORT["settings"]))
    assert json.loads(json.dumps(warmup.asdict(settings))) == stored
    _, losses = warmup.train(settings, most=4)
    assert losses == pytest.approx(REPORT["first_losses"][:4], rel=1e-3)


@pytest.mark.parametrize("think", [False, True])
def test_the_start_names_known_events_right(think):
    """Nine in ten, on cards of the tune split, with enough acts to tell."""
    recipe = make_recipe("GRPO", Scale(1), rate=0.0, entropy=0.0, seed=0, think=think)
    model, chat = tiny.load()
    world = training.make_world("rlver", "vanilla")
    cards = 3 * load_cards("tune")
    rows = training.talk(recipe, model, chat, world, cards, seed=3)
    found = reading(row.dialogue for row in rows)
    assert found.loc["event", "n"] >= 60
    assert found.loc["event", "right"] >= 0.9, found
