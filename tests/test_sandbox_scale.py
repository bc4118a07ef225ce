"""Streams of scenarios and stores that do not fit in memory.."""


import pytest
from sandbox_fakes import Calls, FakePolicy, FakeUser
from world_cards import make_card, make_cards

from helpers.sandbox import run as run_module
from helpers.sandbox.episode import RunSettings
from helpers.sandbox.run import run_many
from helpers.sandbox.store import read_dialogues

ONE_TURN = RunSettings(1, None, None)


def play(scenarios, path, policy=None, **more):
    return run_many(
        scenarios, policy or FakePolicy(), FakeUser(), None, None, ONE_TURN,
        base_seed=1, path=path, **more,
    )  # fmt: skip


# Runs over a stream


@pytest.mark.parametrize("workers", [1, 3])
def test_a_stream_of_scenarios_is_read_window_by_window(tmp_path, monkeypatch, workers):
    """No card of a window is made before the jobs of the last one have begun."""
    monkeypatch.setattr(run_module, "WINDOW", 4)
    ahead, calls = [], Calls()

    def stream():
        for i in range(10):
            ahead.append(i - calls.count)
            yield make_card(i)

    seen, path = [], tmp_path / "run.jsonl"
    report = play(
        stream(), path, FakePolicy(calls), workers=workers, repeats=2,
        progress=lambda *done: seen.append(done),
    )  # fmt: skip
    assert (report.made, report.already) == (20, 0) and seen[-1] == (20, 20)
    assert max(ahead) <= 3, "read ahead of the dialogues"
    again = play(make_cards(12), path, repeats=2)
    assert (again.made, again.already) == (4, 20)
    assert len({d.key for d in read_dialogues(path)}) == 24


@pytest.mark.parametrize("workers", [1, 3])
def test_a_stream_that_breaks_loses_no_dialogue_that_ran(
    tmp_path, monkeypatch, workers
):
    monkeypatch.setattr(run_module, "WINDOW", 4)
    calls, path = Calls(latency=0.002), tmp_path / "run.jsonl"

    def stream():
        yield from make_cards(6)
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="disk is gone"):
        play(stream(), path, FakePolicy(calls), workers=workers)
    assert len(list(read_dialogues(path))) == calls.count == 4
    with pytest.raises(ValueError, match="t0001 is given twice"):
        play([*make_cards(5), make_card(1)], path, workers=workers)


def test_the_longest_starts_first_in_each_window(tmp_path, monkeypatch):
    monkeypatch.setattr(run_module, "WINDOW", 5)
    cards, path = make_cards(10), tmp_path / "run.jsonl"
    play(iter(cards), path)
    norms = {card.id: card.deficit_norm for card in cards}
    told = [norms[d.scenario_id] for d in read_dialogues(path)]
    assert told[:5] == sorted(told[:5], reverse=True)
    assert told[5:] == sorted(told[5:], reverse=True)
    assert sorted(told[:5]) == sorted(norms[card.id] for card in cards[:5])
