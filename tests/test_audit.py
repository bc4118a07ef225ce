"""The fidelity audit: every statement has a finding, and they are the known ones."""

import numpy as np
import pytest

from helpers.data.published import load
from helpers.data.records import read_cases, read_ratings
from helpers.reporting import empa_claims, empa_groups, empa_sources
from helpers.reporting.empa_audit import audit
from helpers.reporting.empa_evidence import Evidence
from helpers.scoring.replay import board, score_dialogues, stack


@pytest.fixture(scope="module")
def evidence():
    ratings, cases = read_ratings(), read_cases()
    dialogues = stack(ratings, cases)
    scores = score_dialogues(dialogues)
    order = board(scores)["model"]
    names = load("empa_models").set_index("model")["name"].loc[order]

    def means(sets):
        got = empa_groups.group_means(scores, sets, names, 1, np.random.default_rng(0))
        table = got.pivot(index="model", columns="group", values="estimate")
        return table.loc[list(names), list(sets)]

    raw = score_dialogues(dialogues, raw=True)
    return Evidence(
        ratings=ratings,
        dialogues=dialogues,
        cases=cases,
        scores=scores.assign(model=scores["model"].map(names)),
        raw=raw.assign(model=raw["model"].map(names)),
        mechanism=means(empa_groups.mechanism_sets(cases)),
        domain=means(empa_groups.domain_sets(cases)),
        persona=means(empa_groups.persona_sets_printed(load("empa_figure_groups"))),
    )


@pytest.fixture(scope="module")
def found(evidence):
    return load("empa_claims")[["id"]].join(audit(evidence)).set_index("id")


def test_statements_and_findings_match_one_to_one():
    claims = load("empa_claims")
    assert claims["id"].is_unique and claims.notna().all().all()
    known = {**vars(empa_sources), **vars(empa_claims)}
    functions = {
        name
        for name, thing in known.items()
        if callable(thing)
        and not name.startswith("_")
        and getattr(thing, "__code__", None)
        and thing.__code__.co_varnames[:1] == ("e",)
    }
    assert set(claims["id"]) == functions


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ("direction", "480 of 480 with the fixed"),
        ("alpha", "0.05: 480 endings, 4 geometric"),
        ("cuts", "README cuts misplace 1 of 30 (095)"),
        ("share_hard", "53.3 %; with Medium: 86.7 %"),
        ("readme_cells", "159 of 160 equal"),
        ("endings", "263 success, 179 collapse, 27 timeout, 11 oscillation"),
        ("moving", "in 20 dialogues (fixed direction: 263)"),
        ("constants", "paper: Claude 4.6 Opus 113.22"),
        ("t_ahard", "Seed 2.0 10.1, Kimi k2 7.9"),
        ("t_top", "Gemini 3 Pro Preview 98.9, GPT-5.2 Pro 98.3"),
        ("t_adef20", "Seed 2.0 -5.7, Kimi k2 1.1"),
        ("t_pdef", "Seed 1.6 37.7, Llama 3.3 70B 35.1, GPT-4o 20.5"),
        ("t_rdi", "raw RDI -137.5 %"),
        ("t_timeout", "0 timeouts in 30"),
        ("t_tau", "Doubao 1.5 2.74"),
        ("t_kimi", "Kimi k2 17.41, DeepSeek V3 17.40"),
        ("t_notch", "lowest group P-Hard 78.2"),
        ("t_doubao", "Career 16.2, Values 20.3"),
        ("d_straight", "5.7 of its 12.2 points"),
        ("d_levels", "levels 31.5, increments -5.7"),
        ("d_overshoot", "Claude 4.6 Opus 26"),
        ("d_redundant", "within 0.0044"),
    ],
)
def test_findings(found, claim, words):
    assert words in found.loc[claim, "found"]


def test_verdicts(found):
    text = found[found["part"] == "text claims"]
    assert set(text["verdict"]) == {"contradicted"}
    again = found[found["part"] == "recomputation"]["verdict"]
    assert again.drop(["moving", "readme_cells"]).eq("confirmed").all()
    assert again["readme_cells"] == "confirmed but for 1"
    assert again["moving"] == "contradicted"


def test_a_true_claim_would_be_confirmed(evidence):
    # The verdicts are computed: with other numbers the same claim holds.
    from dataclasses import replace

    better = evidence.mechanism.copy()
    better.loc[["Seed 2.0", "Kimi k2"], "A-Rout"] = 100.0
    better.loc[["Seed 2.0", "Kimi k2"], "A-Hard"] = 80.0
    found, verdict = empa_claims.t_ahard(replace(evidence, mechanism=better))
    assert verdict == "confirmed" and "20.0" in found
