"""Episodes and runs: stop rules, failures, resuming, concurrency. About 20 s."""

import multiprocessing
import os
import random
import signal
import time
import tracemalloc

import pytest
from sandbox_fakes import Calls, FakeJudge, FakePolicy, FakeUser, broken, stopped
from world_cards import make_card, make_cards

from helpers.agents.emotion import EmotionRules
from helpers.agents.policies import Heuristic
from helpers.agents.roles import Guidance, Outcome, RunStopped
from helpers.agents.scripted import ScriptedDirector, ScriptedJudge, ScriptedUser
from helpers.data.slots import ITEMS
from helpers.sandbox.episode import Episode, RunSettings, run_one
from helpers.sandbox.run import dialogue_seed, run_many
from helpers.sandbox.store import SettingsChanged, read_dialogues
from helpers.scoring.epm import EpmSettings

CARDS = make_cards(30)
SAGE = RunSettings.sage()
NO_STOP = RunSettings(6, None, None)
ONLY_C = dict.fromkeys(ITEMS, 0) | {"C.3": 3}  # P_0 = (-9, 0, 0)


def run(
    path, cards=CARDS, policy=None, user=None, judge=None, settings=NO_STOP, **more
):  # fmt: skip
    return run_many(
        cards, policy or FakePolicy(), user or FakeUser(), judge, None, settings,
        base_seed=1, path=path, **more,
    )  # fmt: skip


def one(settings, user=None, judge=None, director=None, policy=None, card=CARDS[0]):
    return run_one(
        card, policy or FakePolicy(), user or FakeUser(), judge, director, settings, 1
    )


# Stop rules


@pytest.mark.parametrize(
    "rise, ending, turns",
    [(10, "success", 6), (-10, "collapse", 4), (0, "timeout", 9)],
)
def test_sage_stops_at_100_below_10_or_after_nine_scored_replies(rise, ending, turns):
    dialogue = one(SAGE, FakeUser(rise=rise))
    assert (dialogue.ending, len(dialogue.turns)) == (ending, turns)
    assert dialogue.ended_by == ("limit" if ending == "timeout" else "emotion")
    assert dialogue.final_emotion == 40 + rise * turns


def test_a_goodbye_ends_the_dialogue_after_the_reply_is_scored():
    dialogue = one(SAGE, FakeUser(turns={CARDS[0].id: 3}))
    assert (dialogue.ending, dialogue.ended_by) == ("goodbye", "user")
    assert dialogue.final_emotion == 55 and dialogue.closing.endswith("line 3")


def epm(latch, min_turns=4, turns=14):
    settings = EpmSettings(
        min_turns=min_turns, max_turns=turns, legacy_oscillation=False,
        failure_rule="none", rounding="none",
    )  # fmt: skip
    return RunSettings(turns, None, settings, latch_success=latch)


def test_an_epm_success_ends_the_dialogue_or_is_latched():
    # +3 on C a turn reaches the origin at turn 3, seen at turn 4.
    card = make_card(1, levels=ONLY_C)
    ended = one(epm(latch=False), judge=FakeJudge(), card=card)
    assert (ended.ending, ended.ended_by, len(ended.turns)) == ("success", "epm", 4)
    latched = one(epm(latch=True), judge=FakeJudge(), card=card)
    assert (latched.ending, latched.decided_turn) == ("success", 4)
    assert len(latched.turns) == 14 and latched.successes == {"epm": 4}
    rewards = [turn.reward for turn in ended.turns]  # zone at -1: 9 -> 8 units away
    assert rewards == [3.0, 3.0, 2.0, 0.0]
    assert ended.final_position == (3.0, 0.0, 0.0)


def test_the_released_epm_rules_wait_for_turn_12():
    card = make_card(1, levels=ONLY_C)
    dialogue = one(RunSettings.empa(), judge=FakeJudge(), card=card)
    assert (dialogue.ending, len(dialogue.turns)) == ("success", 12)


def test_roles_that_do_not_fit_together_are_refused():
    with pytest.raises(ValueError, match="judge and the epm settings"):
        one(SAGE, judge=FakeJudge())
    with pytest.raises(ValueError, match="director needs a judge"):
        one(SAGE, director=ScriptedDirector())
    with pytest.raises(ValueError, match="at emotion 40, the run settings at 30"):
        one(RunSettings.rlver_training())


class _Director:
    def __init__(self, stop):
        self.stop, self.seen = stop, []

    def describe(self):
        return {"director": "test"}

    def start(self, scenario, seed):
        return self

    def guide(self, history, state):
        self.seen.append((state.turn, state.position))
        return Guidance("reveal_memory", {"n": state.turn}, "tell more", self.stop)


def test_guidance_reaches_the_next_user_line_and_is_in_its_turn():
    director = _Director(stop=False)
    settings = epm(True, turns=3, min_turns=3)
    dialogue = one(settings, judge=FakeJudge(), director=director)
    assert [t.guidance and t.guidance["arguments"]["n"] for t in dialogue.turns] == [
        None, 1, 2,
    ]  # fmt: skip
    assert [turn for turn, _ in director.seen] == [1, 2]


def test_a_director_cannot_end_a_dialogue_before_turn_12():
    director = _Director(stop=True)
    dialogue = one(epm(True, turns=20), judge=FakeJudge(), director=director)
    assert dialogue.ended_by == "director" and len(dialogue.turns) == 12


# Failures


@pytest.mark.parametrize("outcome", [o for o in Outcome if o is not Outcome.OK])
@pytest.mark.parametrize("role", ["user", "judge", "policy"])
@pytest.mark.parametrize("call", [1, 2, 4])
def test_a_failure_is_a_typed_ending_and_never_a_score(role, outcome, call):
    calls = {r: Calls() for r in ("user", "judge", "policy")}
    calls[role].at[call] = broken(role, outcome)
    dialogue = one(
        epm(True), FakeUser(calls["user"]), FakeJudge(calls["judge"]),
        policy=FakePolicy(calls["policy"]),
    )  # fmt: skip
    assert (dialogue.ending, dialogue.ended_by) == ("error", "failure")
    assert (dialogue.failure.role, dialogue.failure.outcome) == (role, outcome)
    assert dialogue.final_emotion is None and dialogue.final_position is None
    bad = [turn for turn in dialogue.turns if turn.outcome != "ok"]
    assert len(bad) <= 1 and all(t.emotion_after is None for t in bad)
    if role == "policy":
        assert bad and bad[0].reply is None
    if role == "judge":
        assert bad and bad[0].reply is not None and bad[0].levels is None


def test_what_is_no_role_failure_is_not_swallowed():
    with pytest.raises(ZeroDivisionError):
        one(SAGE, FakeUser(Calls(at={3: ZeroDivisionError()})))


def test_failed_dialogues_are_counted_and_run_again_only_on_request(tmp_path):
    path = tmp_path / "run.jsonl"
    policy = FakePolicy(Calls(at={3: broken("policy")}))
    report = run(path, CARDS[:4], policy)
    assert (report.made, report.failed) == (4, 1)
    assert run(path, CARDS[:4], policy).made == 0
    again = run(path, CARDS[:4], policy, retry_failed=True)
    assert (again.made, again.failed, again.already) == (1, 0, 3)
    dialogues = list(read_dialogues(path))
    assert len(dialogues) == 4 and not any(d.failure for d in dialogues)


@pytest.mark.parametrize("workers", [1, 5])
def test_a_stopped_run_keeps_what_is_done_and_resumes(tmp_path, workers):
    path = tmp_path / "run.jsonl"
    policy = FakePolicy(Calls(at={40: stopped()}))
    with pytest.raises(RunStopped):
        run(path, policy=policy, workers=workers)
    kept = list(read_dialogues(path))
    assert 0 < len(kept) < 30 and not any(d.failure for d in kept)
    assert run(path, policy=policy, workers=workers).already == len(kept)
    assert len(list(read_dialogues(path))) == 30


# Resuming


def lines(path) -> list[str]:
    return sorted(d.to_json() for d in read_dialogues(path))


def scripted_run(path, workers=3):
    settings = RunSettings.laptop(4)
    return run_many(
        CARDS, _Slow(), ScriptedUser(rules=settings.emotion), ScriptedJudge(),
        ScriptedDirector(), settings, base_seed=5, path=path, workers=workers,
    )  # fmt: skip


class _Slow(Heuristic):
    """The heuristic, a few milliseconds a reply, so that a kill finds it at work."""

    def start(self, scenario_id, seed):
        session = super().start(scenario_id, seed)
        quick = session.reply

        def reply(history):
            time.sleep(0.004)
            return quick(history)

        session.reply = reply
        return session


def test_ten_kills_lose_nothing_and_double_nothing(tmp_path):
    scripted_run(tmp_path / "whole.jsonl")
    whole = lines(tmp_path / "whole.jsonl")
    assert len(whole) == 30
    began = time.perf_counter()
    scripted_run(tmp_path / "timing.jsonl")
    length = time.perf_counter() - began
    fork, rng, found = multiprocessing.get_context("fork"), random.Random(0), []
    for attempt in range(10):
        path = tmp_path / f"killed{attempt}.jsonl"
        child = fork.Process(target=scripted_run, args=(path,))
        child.start()
        time.sleep(rng.uniform(0.05, 0.95) * length)
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        found.append(path.read_bytes().count(b"\n") if path.exists() else 0)
        scripted_run(path)
        assert lines(path) == whole, f"attempt {attempt}"
    assert any(0 < n < 30 for n in found), f"no kill hit a run at work: {found}"


def test_resuming_after_a_cut_at_any_byte_gives_the_same_store(tmp_path):
    path, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    run(path, CARDS[:3], FakePolicy())
    whole, data = lines(path), path.read_bytes()
    sidecar = path.with_suffix(".settings.json").read_bytes()
    cut.with_suffix(".settings.json").write_bytes(sidecar)
    for size in [*range(0, len(data), 97), len(data) - 1, len(data)]:
        cut.write_bytes(data[:size])
        run(cut, CARDS[:3], FakePolicy())
        assert lines(cut) == whole, f"cut at byte {size}"


def test_a_finished_run_makes_no_calls(tmp_path):
    path = tmp_path / "run.jsonl"
    run(path)
    before = path.read_bytes()
    fresh = Calls()
    report = run(path, policy=FakePolicy(fresh), user=FakeUser(fresh), workers=4)
    assert fresh.count == 0 and (report.made, report.already) == (0, 30)
    assert path.read_bytes() == before


def test_more_cases_and_repeats_are_added_and_other_settings_refused(tmp_path):
    path = tmp_path / "run.jsonl"
    run(path, CARDS[:5])
    assert run(path, CARDS[:8]).made == 3
    assert run(path, CARDS[:8], repeats=2).made == 8
    with pytest.raises(SettingsChanged, match="policy.setting: 0 -> 1"):
        run(path, CARDS[:8], FakePolicy(setting=1))
    with pytest.raises(SettingsChanged, match="max_replies: 6 -> 7"):
        run(path, CARDS[:8], settings=RunSettings(7, None, None))
    assert len(list(read_dialogues(path))) == 16


def test_the_same_scenario_twice_is_refused(tmp_path):
    with pytest.raises(ValueError, match="given twice"):
        run(tmp_path / "run.jsonl", [CARDS[0], CARDS[0]])


def test_workers_do_not_change_the_records(tmp_path):
    for workers in (1, 2, 16):
        scripted_run(tmp_path / f"{workers}.jsonl", workers)
    one_worker = lines(tmp_path / "1.jsonl")
    assert lines(tmp_path / "2.jsonl") == lines(tmp_path / "16.jsonl") == one_worker


def test_seeds_depend_on_case_and_repeat_only():
    seeds = {dialogue_seed(1, c.id, r) for c in CARDS for r in range(3)}
    assert len(seeds) == 90
    assert dialogue_seed(1, "x", 0) != dialogue_seed(2, "x", 0)


# Concurrency


def test_no_session_ever_serves_another_dialogue(tmp_path):
    path = tmp_path / "run.jsonl"
    user = FakeUser(Calls(latency=0.001), turns={c.id: 1 + i % 5 for i, c in
                                                 enumerate(CARDS)})  # fmt: skip
    run(path, user=user, policy=FakePolicy(Calls(latency=0.001)), workers=8)
    for dialogue in read_dialogues(path):
        texts = [t for turn in dialogue.turns for t in (turn.user, turn.reply)]
        assert all(text.startswith(dialogue.scenario_id) for text in texts)
        assert [t.emotion_after for t in dialogue.turns] == [
            45 + 5 * i for i in range(len(dialogue.turns))
        ]


def test_thirty_at_once_take_no_longer_than_the_longest(tmp_path):
    latency = 0.04
    turns = {card.id: 2 + i % 9 for i, card in enumerate(CARDS)}
    calls = 2 + 4 * max(turns.values())  # opening, last goodbye; reply, feel, rate, say
    critical = latency * calls
    best = float("inf")
    for attempt in range(3):  # the machine may be busy with other work
        user = FakeUser(Calls(latency=latency), turns=turns, rise=0)
        began = time.perf_counter()
        run(
            tmp_path / f"{attempt}.jsonl", user=user, workers=30,
            policy=FakePolicy(Calls(latency=latency)),
            judge=FakeJudge(Calls(latency=latency), axis="A"),
            settings=epm(True, min_turns=20, turns=20),
        )  # fmt: skip
        best = min(best, time.perf_counter() - began)
        if best <= 1.15 * critical:
            break
    assert best <= 1.15 * critical, f"{best:.2f} s, critical path {critical:.2f} s"


def test_the_longest_starts_first(tmp_path):
    order = []

    class Watched(FakePolicy):
        def start(self, scenario_id, seed):
            order.append(scenario_id)
            return super().start(scenario_id, seed)

    run(tmp_path / "run.jsonl", policy=Watched())
    norms = {card.id: card.deficit_norm for card in CARDS}
    assert [norms[i] for i in order] == sorted(norms.values(), reverse=True)


def test_memory_stays_flat_over_a_thousand_dialogues(tmp_path):
    text = "x" * 5_000  # 1,000 dialogues of two turns hold 20 MB of it
    settings = RunSettings(2, None, None)
    cards = CARDS[:20]
    tracemalloc.start()
    try:
        run(
            tmp_path / "run.jsonl", cards, FakePolicy(text=text), FakeUser(text=text),
            settings=settings, repeats=50, workers=4,
        )  # fmt: skip
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert sum(1 for _ in read_dialogues(tmp_path / "run.jsonl")) == 1000
    assert peak < 4e6, f"peak of {peak / 1e6:.1f} MB"


def test_a_thousand_scripted_dialogues_take_less_than_twenty_seconds(tmp_path):
    """Measured on 200 dialogues of ten turns, in processor time of one core."""
    settings = RunSettings.laptop_empa(10)
    began = time.process_time()
    run_many(
        make_cards(100), Heuristic(), ScriptedUser(rules=settings.emotion),
        ScriptedJudge(), ScriptedDirector(), settings, base_seed=1, repeats=2,
        path=tmp_path / "run.jsonl",
    )  # fmt: skip
    seconds = 5 * (time.process_time() - began)
    turns = [len(d.turns) for d in read_dialogues(tmp_path / "run.jsonl")]
    assert turns == [10] * 200
    assert seconds < 20, f"{seconds:.1f} s for 1,000 dialogues"


def test_an_episode_can_be_stepped_among_others():
    settings = RunSettings.laptop(6)
    user, judge = ScriptedUser(rules=settings.emotion), ScriptedJudge()
    policy = Heuristic()
    episodes = [
        Episode(c, user, judge, None, settings, dialogue_seed(1, c.id, 0))
        for c in CARDS
    ]  # fmt: skip
    speakers = [policy.start(e.scenario.id, e.seed) for e in episodes]
    while open_ones := [i for i, e in enumerate(episodes) if not e.done]:
        for i in open_ones:
            episodes[i].step(speakers[i].reply(tuple(episodes[i].history)))
    for episode in episodes:
        alone = run_one(
            episode.scenario, policy, user, judge, None, settings, episode.seed,
            run_hash="x",
        )  # fmt: skip
        assert episode.record(0, "x") == alone
    assert EmotionRules.latched().leave_at is None


def test_a_changed_card_does_not_resume(tmp_path):
    """Same id, other needs: the stored dialogues were another person's."""
    path, settings = tmp_path / "s.jsonl", RunSettings.laptop_empa(5)
    roles = Heuristic(), ScriptedUser(rules=settings.emotion), ScriptedJudge(), None
    cards = make_cards(2)
    run_many(cards, *roles, settings, base_seed=0, path=path)
    other = cards[0].model_copy(update={"needs": dict(cards[1].needs)})
    if other.needs == cards[0].needs:
        other = cards[0].model_copy(update={"opening": "Something else happened."})
    with pytest.raises(SettingsChanged, match=f"the card {other.id} has changed"):
        run_many([other, cards[1]], *roles, settings, base_seed=0, path=path)
