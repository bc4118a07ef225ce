"""The gaming audit: no policy scores well without listening. About 30 s."""

import numpy as np
import pytest
from world_cards import make_cards

from helpers.agents.audit import PLAY, Arena, Row, audit, best_constant, interval
from helpers.agents.audit import violations as find_violations
from helpers.agents.clauses import CLAUSES, read_clauses
from helpers.agents.free_text import read_free_text
from helpers.agents.policies import Heuristic, Line, RandomClauses
from helpers.agents.scripted import CHALLENGING, SECOND, VANILLA, ScriptedJudge
from helpers.sandbox.episode import RunSettings, run_one
from helpers.scoring.epm import zone_distance

CARDS, SEARCH = make_cards(20), make_cards(3, first=500)
ARENAS = {
    "vanilla": Arena(VANILLA),
    "challenging": Arena(CHALLENGING),
    "second": Arena(SECOND),
    "free text": Arena(VANILLA, read_free_text),
}


@pytest.fixture(scope="module", params=ARENAS)
def rows(request):
    return audit(ARENAS[request.param], CARDS, SEARCH)


def test_the_world_cannot_be_gamed(rows):
    assert find_violations(rows) == []


def test_the_ranks_hold_with_intervals(rows):
    for score in PLAY:
        by_name = {row.policy: row for row in rows if row.score == score}
        heuristic = by_name.pop("heuristic")
        assert by_name.pop("oracle").low > heuristic.high
        assert all(row.high < heuristic.low for row in by_name.values())
        assert len(by_name) >= 11 and all(r.n == len(CARDS) for r in by_name.values())


def test_the_best_constant_is_searched_not_guessed():
    arena = Arena()
    found = best_constant(arena, "emotion", SEARCH)
    value = arena.gains("emotion", Line(found), SEARCH).mean()
    for clause in CLAUSES:
        assert arena.gains("emotion", Line(clause), SEARCH).mean() <= value


@pytest.mark.parametrize("policy", [Heuristic(0.8, 0.8), RandomClauses()])
def test_the_audit_plays_as_the_sandbox_does(policy):
    arena = Arena(seed=4)
    settings = {
        "distance": RunSettings.laptop_empa(10),
        "emotion": RunSettings.sage(),
    }
    for card in CARDS[:8]:
        for score, rules in settings.items():
            judge = ScriptedJudge() if rules.epm else None
            dialogue = run_one(
                card, policy, arena.user(score), judge, None, rules, 4, run_hash="x"
            )
            if score == "emotion":
                expected = dialogue.final_emotion - dialogue.initial_emotion
            else:
                first, last = zone_distance(
                    np.array([dialogue.initial_position, dialogue.final_position])
                )
                expected = 1 - last / first
            assert arena.gain(score, policy, card) == pytest.approx(expected)


def test_violations_are_found():
    def table(oracle, heuristic, constant, parrot):
        means = {"oracle": oracle, "heuristic": heuristic, "parrot": parrot,
                 "best constant: x": constant}  # fmt: skip
        return [
            Row(score, name, 1, mean, mean, mean)
            for score in PLAY
            for name, mean in means.items()
        ]

    assert find_violations(table(3, 2, 0.5, 0)) == []
    assert len(find_violations(table(1, 2, 0.5, 0))) == 2
    assert len(find_violations(table(3, 2, 1.0, 0))) == 2
    assert len(find_violations(table(3, 2, 0.5, 2.0))) == 2


def test_the_interval_covers_the_mean():
    values = np.arange(100.0)
    low, high = interval(values)
    assert low < 49.5 < high and 8 < high - low < 15
    assert read_clauses("", "").noise
