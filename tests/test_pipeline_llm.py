"""The pipeline played by a model, on a scripted server; ESConv without a network."""

import json
import sys
import types

import pytest
from fake_llm import FakeClock, chat, error

from helpers.agents.llm import LLMClient
from helpers.agents.pipeline_llm import LLMPipeline, expand, pipeline_settings
from helpers.data import esconv, raw
from helpers.data.pipeline import run_pipeline
from helpers.data.scenarios import load_cards, validate
from helpers.data.slots import ITEMS
from helpers.data.steplog import StepError

pytest_plugins = ["llm_plugin"]

MARK = {
    "crisis": False,
    "segments": [
        {
            "first": 4, "last": 10, "topic": "job", "event": "mocked",
            "emotion": "ashamed", "value": "effort", "action": None,
            "intention": "NoFault", "early": False, "threshold": "medium",
            "secondary": ["values"],
        }
    ],
}  # fmt: skip
PERSONA = {
    "name": "Ruta Vaitkute", "age": 41, "gender": "female", "occupation": "surveyor",
    "outer": "You are friendly.", "inner": "You doubt.", "speaking_style": "Plain.",
    "childhood": "You built dams.", "adolescence": "You left early.",
    "young_adulthood": "You studied.", "current": "You picture a calm office.",
    "growth_line": "You learn to be seen.", "lifts": ["Someone listens."],
    "lowers": ["Someone laughs."],
}  # fmt: skip
CRISIS = {
    "category": "career", "topic": "a slip at work", "trigger": "A slip was shown.",
    "circumstances": "You eat by yourself.", "goal": "To stand in the room again.",
    "to_vent": "How small it made you.", "hoped_for": "That it was a slip.",
    "phases": [{"title": f"Step {i}", "content": f"Part {i} of it."} for i in range(4)],
    "opening": "I would rather not say it, but I will.", "cause": "A slip was shown.",
    "development": "You hide.", "association": "A classroom.", "value": "effort",
    "action": "write", "intention": "NoFault",
}  # fmt: skip
IEDR = {
    item: {"level": 2, "evidence": "hides", "reasoning": "as the card says"}
    for item in ITEMS
}
FEATURES = {k: MARK["segments"][0][k] for k in ("topic", "event", "emotion", "value")}
FEATURES |= {"action": "rest", "early": False, "threshold": "low", "secondary": []}


def answers(**changes):
    """A server's answer to each kind of prompt; `changes` replaces one kind's data."""
    data = {
        "mark": MARK, "persona": PERSONA, "crisis": CRISIS, "rate": IEDR,
        "expand": FEATURES,
    } | changes  # fmt: skip

    def reply(body):
        prompt = body["messages"][-1]["content"]
        kind = next(
            kind
            for kind, words in {
                "mark": ("You read a chat", "请阅读一段聊天"),
                "persona": ("You invent a person", "虚构一个人物。人物"),
                "crisis": ("You write the crisis", "写出训练场景中的危机"),
                "expand": ("lacks cases", "还缺少一些案例"),
                "rate": ("You rate how much", "共情"),
            }.items()
            if any(word in prompt for word in words)
        )
        made = data[kind]
        made = made(prompt) if callable(made) else made
        return made if not isinstance(made, dict) else chat(json.dumps(made))

    return reply


def backend(server):
    client = LLMClient(
        pipeline_settings("m"),
        None,
        base_url=server.base_url,
        api_key="sk-test-0123456789abcdef",
        clock=FakeClock(),
    )
    return LLMPipeline(client)


def source(tmp_path, n=1, language="en"):
    name = raw.FILES[0] if language == "en" else raw.FILES[1]
    path = tmp_path / "in.jsonl"
    path.write_bytes(b"\n".join((raw.RAW / name).read_bytes().splitlines()[:n]) + b"\n")
    return path


def go(server, tmp_path, n=1, language="en"):
    path = source(tmp_path, n, language)
    made = backend(server)
    return run_pipeline([path], tmp_path / "out", made, seed=0, test_size=1)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_model_makes_a_complete_card(server, tmp_path, language):
    server.script = [answers()]
    result = go(server, tmp_path, language=language)
    (card,) = load_cards(tmp_path / "out" / "cards.jsonl")
    assert card == result.cards[0] and not validate(card)
    assert (card.language, card.persona.name) == (language, "Ruta Vaitkute")
    assert card.levels == dict.fromkeys(ITEMS, 2) and card.split == "test"
    assert card.strata == ("also:values",)
    draft = next(iter(result.stages[1].values()))
    assert draft["arc"]["cause"] and draft["supplied"] == ["action"]
    assert server.calls == 4, "mark, persona, crisis, IEDR"


def test_no_personal_data_and_no_wording_reach_the_server(server, tmp_path):
    server.script = [answers()]
    go(server, tmp_path)
    asked = [body["messages"][-1]["content"] for body in server.bodies]
    for gone in ("Trevor", "Oakes", "Larkspur", "marisol.quade"):
        assert not any(gone in text for text in asked)
    assert "[NAME]" in asked[0]
    assert not any("back stairs" in text for text in asked[1:]), "features alone"


def test_a_crisis_is_never_sent(server, tmp_path):
    lines = (raw.RAW / raw.FILES[0]).read_bytes().splitlines()
    crisis = next(line for line in lines if b'"en-004"' in line)
    (tmp_path / "in.jsonl").write_bytes(crisis + b"\n")
    server.script = [answers()]
    made = backend(server)
    result = run_pipeline(
        [tmp_path / "in.jsonl"], tmp_path / "out", made, seed=0, test_size=1
    )
    assert server.calls == 0 and not result.cards
    assert (tmp_path / "out" / "refused.jsonl").read_text().count("\n") == 1


def test_the_model_may_find_a_crisis_too(server, tmp_path):
    server.script = [answers(mark={"crisis": True, "segments": []})]
    result = go(server, tmp_path)
    (record,) = result.stages[0].values()
    assert record["reason"] == "crisis" and record["hint"]


@pytest.mark.parametrize(
    "bad",
    [
        {"crisis": "no", "segments": []},
        {"crisis": False, "segments": [MARK["segments"][0] | {"last": 99}]},
        {"crisis": False, "segments": [MARK["segments"][0] | {"emotion": "odd"}]},
        {"crisis": False, "segments": [MARK["segments"][0] | {"early": 1}]},
    ],
)
def test_an_unreadable_answer_is_asked_again_then_typed(server, tmp_path, bad):
    server.script = [answers(mark=bad)]
    result = go(server, tmp_path)
    (record,) = result.stages[0].values()
    assert (record["outcome"], record["reason"]) == ("failed", "backend")
    assert server.calls == 3


def test_a_server_error_is_tried_again_by_the_next_run(server, tmp_path):
    server.script = [answers(persona=lambda _: error(400, "bad request"))]
    result = go(server, tmp_path)
    assert [r["outcome"] for r in result.stages[1].values()] == ["failed"]
    server.reset().script = [answers()]
    again = go(server, tmp_path)
    assert len(again.cards) == 1 and server.calls == 3, "stage 1 is not asked again"


def test_a_model_that_copies_is_caught(server, tmp_path):
    copied = "i've been taking the back stairs since so i dont meet anyone"
    server.script = [answers(crisis=CRISIS | {"opening": copied})]
    result = go(server, tmp_path)
    (record,) = result.stages[2].values()
    assert record["reason"] == "leakage" and not result.cards


def test_a_model_that_names_a_source_is_caught(server, tmp_path):
    server.script = [answers(persona=PERSONA | {"name": "Trevor Oakes"})]
    (record,) = go(server, tmp_path).stages[2].values()
    assert record["reason"] == "personal_data"


def test_other_prompts_or_models_do_not_mix(server, tmp_path):
    server.script = [answers()]
    go(server, tmp_path)
    client = LLMClient(
        pipeline_settings("other"), None, base_url=server.base_url, api_key="k"
    )
    with pytest.raises(StepError, match="backend"):
        run_pipeline(
            [tmp_path / "in.jsonl"],
            tmp_path / "out",
            LLMPipeline(client),
            seed=0,
            test_size=1,
        )


def test_expansion_fills_gaps_and_keeps_its_losses(server, tmp_path):
    calls = iter(range(9))

    def crisis(prompt):
        n = next(calls)
        return CRISIS | {
            "trigger": f"Number {n} went wrong on the roof of house {n}.",
            "phases": [
                {
                    "title": f"{n}.{i}",
                    "content": " ".join(f"w{n}x{i}y{k}" for k in range(9)),
                }
                for i in range(4)
            ],
        }

    def persona(prompt):
        return PERSONA | {"outer": f"You are {len(prompt)} things to all of them."}

    server.script = [answers(crisis=crisis, persona=persona)]
    cards = load_cards("dev")[:1]
    new, lost = expand(backend(server), cards, [], 2, seed=0)
    # A job fills no gap in leisure: the check says so, and nothing is kept.
    assert not new and [reason for _, reason, _ in lost] == ["contradiction"] * 2
    server.reset().script = [
        answers(expand=FEATURES | {"topic": "club"}, crisis=crisis, persona=persona)
    ]
    new, lost = expand(backend(server), cards, [], 1, seed=0)
    assert len(new) == 1 and new[0].category == "leisure" and not validate(new[0])


# ESConv


def fake_datasets(monkeypatch, rows=None, problem=None):
    module = types.ModuleType("datasets")

    def load_dataset(name, split):
        assert (name, split) == (esconv.NAME, "test")
        if problem:
            raise problem
        return rows

    module.load_dataset = load_dataset
    monkeypatch.setitem(sys.modules, "datasets", module)


ROW = {
    "dialog": [
        {"speaker": "usr", "text": "Hello, I lost my job. "},
        {"speaker": "sys", "text": "I am sorry.", "strategy": "Question"},
    ]
}


@pytest.mark.parametrize("row", [ROW, {"text": json.dumps(ROW)}])
def test_esconv_becomes_raw_dialogues(monkeypatch, tmp_path, row):
    fake_datasets(monkeypatch, [row, row, row])
    path = tmp_path / "esconv.jsonl"
    assert esconv.load_esconv(path, limit=2) == 2
    first, second = raw.read_raw(path)
    assert first.dialogue.id == "esconv-test-0000" and second.reason is None
    assert [t.role for t in first.dialogue.turns] == ["seeker", "helper"]
    assert first.dialogue.turns[0].text == "Hello, I lost my job."


def test_esconv_without_a_network_or_in_another_shape(monkeypatch, tmp_path):
    fake_datasets(monkeypatch, problem=ConnectionError("no route"))
    with pytest.raises(esconv.NoCorpus, match="needs a network"):
        esconv.load_esconv(tmp_path / "x.jsonl")
    assert not (tmp_path / "x.jsonl").exists()
    with pytest.raises(ValueError, match="row 7: no dialogue"):
        esconv.to_raw({"dialog": [{"who": "usr"}]}, "test", 7)
