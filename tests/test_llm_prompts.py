"""Prompt templates and the views of a card."""

import pytest
from llm_cards import make_card

from helpers.agents import cards
from helpers.agents.director_tools import TEXTS
from helpers.agents.empa_judge import IEDR_RANGES, MDEP_RANGES
from helpers.agents.templates import FOLDER, fingerprint, render
from helpers.data.scenarios import (
    Persona,
    ReactionRules,
)
from helpers.data.slots import AXES, ITEMS
from helpers.scoring.rubric import IEDR_ITEMS, MDEP_FIELDS

pytest_plugins = ["llm_plugin"]


def test_prompts_exist_in_both_languages_with_the_same_values():
    from string import Template

    names = {path.name.split(".")[0] for path in FOLDER.glob("*.md")}
    assert len(names) == 33
    for name in names:
        values = [
            set(Template((FOLDER / f"{name}.{lang}.md").read_text()).get_identifiers())
            for lang in ("en", "zh")
        ]
        assert values[0] == values[1], name
    assert fingerprint("sage_reply") != fingerprint("sage_emotion")


def test_render_is_strict():
    with pytest.raises(ValueError, match="missing or unused values: card"):
        render("empa_iedr", "en")
    with pytest.raises(ValueError, match="unused values: extra"):
        render("policy_sage", "en", extra=1)
    with pytest.raises(ValueError, match="no prompt policy_sage.fr.md"):
        render("policy_sage", "fr")
    assert "${x} $y" in render("empa_iedr", "en", card="${x} $y")


def test_every_json_example_in_a_prompt_names_the_fields():
    for language in ("en", "zh"):
        assert all(item in render("empa_iedr", language, card="") for item in ITEMS)
        text = (FOLDER / f"empa_mdep.{language}.md").read_text()
        assert all(field in text for field in MDEP_RANGES)
        text = (FOLDER / f"empa_director.{language}.md").read_text()
        assert all(tool in text for tool in TEXTS)


def test_rubric_ranges_agree_with_scoring():
    assert tuple(MDEP_RANGES) == MDEP_FIELDS
    assert tuple(IEDR_RANGES) == tuple(IEDR_ITEMS)


def test_missing_parts_are_left_out():
    bare = make_card(
        persona=Persona(
            name="N", age=None, gender=None, occupation=None, outer=None, inner=None,
            speaking_style=None,
        ),
        threshold=None,
        priorities=dict.fromkeys(AXES),
        reaction_rules=ReactionRules(),
    )  # fmt: skip
    for text in (cards.actor_card(bare), cards.judge_card(bare)):
        assert "None" not in text and "\n\n" not in text
        assert "threshold" not in text and "Priority" not in text


def test_imported_sage_text_is_used_as_it_is():
    card = make_card(
        "zh",
        persona=make_card().persona.model_copy(update={"notes": "全文"}),
        situation=make_card().situation.model_copy(update={"background": "背景"}),
    )
    assert cards.persona_text(card) == "全文"
    assert cards.background_text(card) == "背景"
