"""The pipeline's backend played by a model, and the expansion of a set by prompt.

The model sees a dialogue only after the personal data were removed by rule and no
crisis was recognised; it composes from features alone, first the persona, then the
crisis, as Algorithm 1 does. The initial deficit is asked with the IEDR prompt of
`EmpaJudge`. Everything it writes passes the same checks as the scripted cards.

Paper: EMPA (arXiv 2603.00552) section 3.2, Algorithm 1. The paper's generator and its
prompts were not released: model and prompts here are the reader's and the kit's.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from helpers.agents.empa_judge import EmpaJudge
from helpers.agents.llm import LLMClient, ask_json
from helpers.agents.llm_settings import RoleSettings
from helpers.agents.roles import RoleFailure
from helpers.agents.templates import fingerprint, render
from helpers.data import slots
from helpers.data.marking import Features, Marks, Segment
from helpers.data.pipeline import BackendFailed, Draft
from helpers.data.refining import Bench, Source
from helpers.data.sampling import gaps
from helpers.data.scenarios import SCHEMA_VERSION, Scenario
from helpers.data.slots import ITEMS

TEMPLATES = ("pipeline_mark", "pipeline_persona", "pipeline_crisis", "pipeline_expand")
CHOICES = {
    "topic": slots.TOPICS,
    "event": slots.EVENTS,
    "emotion": slots.EMOTIONS,
    "value": slots.VALUES,
    "action": slots.ACTIONS,
    "intention": slots.INTENTIONS,
}
OPTIONAL = ("value", "action", "intention")
PERSONA = ("name", "age", "gender", "occupation", "outer", "inner", "speaking_style")
MEMORIES = ("childhood", "adolescence", "young_adulthood", "current", "growth_line")
SITUATION = ("topic", "trigger", "circumstances", "goal", "to_vent", "hoped_for")
ARC = ("cause", "development", "association")


def pipeline_settings(model: str) -> dict[str, RoleSettings]:
    """Settings by role: pipeline and judge_iedr. The paper names no numbers."""
    shared = {"model": model, "temperature": 0.7, "asks": 3}
    return {
        "pipeline": RoleSettings(**shared, max_tokens=4000),
        "judge_iedr": RoleSettings(**shared, max_tokens=8000),
    }


class LLMPipeline:
    """A `pipeline.Backend`."""

    def __init__(self, client: LLMClient):
        self._client = client
        self._judge = EmpaJudge(client, initial="model")

    def describe(self) -> dict[str, Any]:
        return {
            "backend": "llm",
            "model": self._client.describe("pipeline"),
            "model_iedr": self._client.describe("judge_iedr"),
            "prompts": fingerprint(*TEMPLATES, "empa_iedr"),
        }

    def mark(self, dialogue_id: str, language: str, turns: list[dict]) -> Marks:
        """Raises: BackendFailed after the asks of the role."""
        numbered = "\n".join(
            f"{number}. {turn['role']}: {turn['text']}"
            for number, turn in enumerate(turns)
        )
        prompt = render(
            "pipeline_mark", language, turns=numbered, domains=_list(slots.DOMAINS),
            **{f"{name}s": _list(table) for name, table in CHOICES.items()},
        )  # fmt: skip
        return self._ask(prompt, lambda data: _marks(data, len(turns)))

    def compose(
        self, dialogue_id: str, language: str, features: Features, seed: int
    ) -> Draft:
        """Two requests: the persona, then the crisis. Raises: BackendFailed."""
        told = {k: v for k, v in features.as_json().items() if k != "levels"}
        shown = json.dumps(told, ensure_ascii=False)
        prompt = render("pipeline_persona", language, features=shown)
        persona = self._ask(prompt, _persona, repeat=seed)
        prompt = render(
            "pipeline_crisis", language, features=shown,
            persona=json.dumps(persona, ensure_ascii=False),
            domains=_list(slots.DOMAINS),
            **{f"{name}s": _list(CHOICES[name]) for name in OPTIONAL},
        )  # fmt: skip
        crisis = self._ask(prompt, _crisis, repeat=seed)
        chosen = {name: getattr(features, name) or crisis[name] for name in OPTIONAL}
        supplied = tuple(n for n in OPTIONAL if getattr(features, n) is None)
        card = _card(dialogue_id, language, features, chosen, persona, crisis)
        return Draft(card, {name: crisis[name] for name in ARC}, supplied)

    def rate(self, card: Scenario, features: Features) -> dict[str, int]:
        """IEDR by the judge's prompt. Raises: BackendFailed."""
        try:
            return dict(self._judge.start(card, 0).initial_levels())
        except RoleFailure as error:
            raise BackendFailed(str(error)) from error

    def propose(
        self, domain: str, intention: str, language: str, examples: Sequence[Features]
    ) -> Features:
        """Features of a case that the set lacks. Raises: BackendFailed."""
        lines = [json.dumps(f.as_json(), ensure_ascii=False) for f in examples]
        prompt = render(
            "pipeline_expand", language, domain=domain, intention=intention,
            examples="\n".join(lines) or "-",
            **{f"{n}s": _list(t) for n, t in CHOICES.items() if n != "intention"},
        )  # fmt: skip
        return self._ask(
            prompt, lambda data: _features(data | {"intention": intention})
        )

    def _ask(self, prompt: str, check: Callable, repeat: int = 0):
        try:
            return ask_json(
                self._client, "pipeline", prompt, check, as_role="pipeline",
                repeat=repeat,
            )  # fmt: skip
        except RoleFailure as error:
            raise BackendFailed(str(error)) from error


def expand(
    backend: LLMPipeline,
    cards: Sequence[Scenario],
    known: Sequence[Features],
    count: int,
    seed: int,
) -> tuple[list[Scenario], list[tuple[str, str, str]]]:
    """Cards for the first `count` empty pairs of domain and intention.

    Args:
        cards: the set so far. known: features of its sources, shown as examples.

    Returns: (new cards, (pair, reason, detail) of what was not kept).
    """
    bench = Bench(backend.rate)
    for card in cards:
        bench.keep(card, None)
    new, lost = [], []
    for number, (domain, intention) in enumerate(gaps(cards)[:count], 1):
        pair = f"{domain}/{intention}"
        try:
            features = backend.propose(domain, intention, "en", known)
            draft = backend.compose(f"expanded-{number:03d}", "en", features, seed)
            source = Source(features, (), (), "")
            filled = {"card": draft.card | {"category": domain}}
            card, reason, detail = bench.judge(filled, source)
        except BackendFailed as error:
            card, reason, detail = None, "backend", str(error)
        if card is None:
            lost.append((pair, reason, detail))
        else:
            bench.keep(card, None)
            new.append(card)
    return new, lost


def _list(names) -> str:
    return ", ".join(names)


def _marks(data: Mapping[str, Any], turns: int) -> Marks:
    """Raises: ValueError for a missing or unknown value, or turns that do not exist."""
    if not isinstance(data.get("crisis"), bool):
        raise ValueError("crisis must be true or false")
    if not isinstance(data.get("segments"), list):
        raise ValueError("segments must be a list")
    found = []
    for part in data["segments"]:
        first, last = part.get("first"), part.get("last")
        whole = all(type(n) is int for n in (first, last))
        if not whole or not 0 <= first <= last < turns:
            raise ValueError(f"segment {first!r} to {last!r} of {turns} messages")
        found.append((Segment(first, last, float(last - first + 1)), _features(part)))
    return Marks(data["crisis"], tuple(s for s, _ in found), tuple(f for _, f in found))


def _features(data: Mapping[str, Any]) -> Features:
    chosen = {}
    for name, table in CHOICES.items():
        chosen[name] = value = data.get(name)
        if not (value is None and name in OPTIONAL) and value not in table:
            raise ValueError(f"{name} {value!r} is not one of {_list(table)}")
    if data.get("threshold") not in slots.LEVELS:
        raise ValueError("threshold must be low, medium or high")
    if not isinstance(data.get("early"), bool):
        raise ValueError("early must be true or false")
    secondary = data.get("secondary")
    if not isinstance(secondary, list) or not set(secondary) <= {*slots.DOMAINS}:
        raise ValueError(f"secondary must be a list out of {_list(slots.DOMAINS)}")
    return Features(
        **chosen,
        early=data["early"],
        threshold=data["threshold"],
        levels=dict.fromkeys(ITEMS),
        secondary=tuple(secondary),
    )


def _texts(data: Mapping[str, Any], names: Sequence[str]) -> None:
    for name in names:
        if not isinstance(data.get(name), str) or not data[name].strip():
            raise ValueError(f"{name} must be a text")


def _persona(data: dict[str, Any]) -> dict[str, Any]:
    _texts(data, [n for n in (*PERSONA, *MEMORIES) if n != "age"])
    if type(data.get("age")) is not int:
        raise ValueError("age must be a whole number")
    for name in ("lifts", "lowers"):
        texts = data.get(name)
        if not isinstance(texts, list) or not texts:
            raise ValueError(f"{name} must be a list of texts")
        _texts(dict(enumerate(texts)), range(len(texts)))
    return data


def _crisis(data: dict[str, Any]) -> dict[str, Any]:
    _texts(data, ("category", *SITUATION, "opening", *ARC))
    phases = data.get("phases")
    if not isinstance(phases, list) or len(phases) != 4:
        raise ValueError("phases must be a list of four")
    for phase in phases:
        _texts(phase, ("title", "content"))
    for name in OPTIONAL:
        if data.get(name) not in CHOICES[name]:
            raise ValueError(
                f"{name} {data.get(name)!r}: choose {_list(CHOICES[name])}"
            )
    return data


def _card(dialogue_id, language, features, chosen, persona, crisis) -> dict[str, Any]:
    """The card's fields; levels and priorities are left open for stage 3."""
    feeling = slots.EMOTIONS[features.emotion]
    rational = slots.INTENTIONS[chosen["intention"]].family == "rational"
    features = replace(features, early=features.early and rational)
    return {
        "schema_version": SCHEMA_VERSION,
        "id": f"sim-{dialogue_id}",
        "language": language,
        "split": "train",
        "strata": [],
        "category": crisis["category"],
        "persona": {name: persona[name] for name in PERSONA},
        "situation": {name: crisis[name] for name in SITUATION},
        "memories": {name: persona[name] for name in MEMORIES},
        "story_phases": [
            {"title": phase["title"], "content": phase["content"]}
            for phase in crisis["phases"]
        ],
        "opening": crisis["opening"],
        "intention": chosen["intention"],
        "needs": dict.fromkeys(ITEMS),
        "priorities": dict.fromkeys(slots.AXES),
        "threshold": features.threshold,
        "reaction_rules": {"lifts": persona["lifts"], "lowers": persona["lowers"]},
        "hidden": {
            "topic": features.topic,
            "event": features.event,
            "emotion": features.emotion,
            "clues": [*feeling.ambiguous.first, *feeling.clear.first],
            "value": chosen["value"],
            "action": chosen["action"],
            "wants_early_advice": features.early,
        },
        "source": {"name": "own", "id": f"sim-{dialogue_id}"},
    }
