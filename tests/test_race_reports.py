"""The horse race: its measures, its pairs, its page, its costs; how hard the user."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from training_fakes import fake_run, fake_start, recipe, write_check

from helpers.agents import calibration
from helpers.data.scenarios import load_cards
from helpers.files import write_atomically
from helpers.learning import methods, race, studies, workers
from helpers.learning.recipes import Checks
from helpers.learning.results import Result
from helpers.learning.training import CURVE
from helpers.learning.worlds import DIFFICULTY
from helpers.reporting import (
    difficulty,
    race_budget,
    race_figures,
    race_looks,
    trained_gaming,
)
from helpers.reporting import race_findings as findings
from helpers.reporting import race_scores as race_table
from helpers.reporting.own_board import own_row
from helpers.sandbox.dialogue import Failure
from helpers.scoring.harbor import harbor
from helpers.scoring.sotopia import rate_support

CARDS = {card.id: card for card in load_cards("test")}
USERS = ("vanilla", "second")
NAMES = [m.name for m in race_table.MEASURES]


def how(draws=200):
    return {"draws": draws, "rng": np.random.default_rng(0)}


@pytest.fixture(scope="module")
def fixed():
    return trained_gaming.references(4, 0)


@pytest.fixture(scope="module")
def held(fixed):
    """Two labels: the honest heuristic as MAPO, the script as GRPO; SAGE's talks are
    taken to be the same ones."""
    named = {"MAPO": trained_gaming.HEURISTIC, "GRPO": trained_gaming.PING_PONG}
    return {
        (label, seed, rules, user): fixed[name][user]
        for label, name in named.items()
        for seed in (0, 1)
        for rules in ("empa", "sage")
        for user in USERS
    }


@pytest.fixture(scope="module")
def frame(held):
    return race_table.measure(held)


def test_measures_are_those_of_their_own_modules(held, frame):
    dialogues = held["MAPO", 0, "empa", "second"]
    own = frame[(frame["label"] == "MAPO") & (frame["seed"] == 0)]
    mean = own[own["user"] == "second"].groupby("measure")["value"].mean()
    row = own_row(dialogues, "x", "rule", **how(20))
    assert mean["EPM-Q"] == pytest.approx(row["EPM-Q"])
    rated = [rate_support(d, CARDS[d.scenario_id], "second") for d in dialogues]
    assert mean["SOTOPIA-style"] == pytest.approx(np.mean([r.overall for r in rated]))
    filled = [harbor(d, CARDS[d.scenario_id], "second")["overall"] for d in dialogues]
    assert mean["EmoHarbor-style"] == pytest.approx(np.mean(filled))
    assert mean["SAGE emotion"] == np.mean([d.final_emotion for d in dialogues])
    assert set(frame["measure"]) == set(NAMES)


def test_a_failed_talk_is_missing_and_counted(held):
    key = ("MAPO", 0, "empa", "vanilla")
    bad = replace(held[key][0], ending="error", ended_by="failure",
                  failure=Failure("user", "api_error", "x"))  # fmt: skip
    found = race_table.measure({key: [bad, *held[key][1:]]})
    board = race_table.board(found, **how()).set_index("measure")
    assert (board["failed"] == 1).all() and (board["n"] == 3).all()


def values(label, seed, shift, measure="EPM-Q", user="vanilla", n=12):
    rng = np.random.default_rng(seed)
    cases = [f"c{i}" for i in range(n)]
    base = np.arange(n, dtype=float)
    return pd.DataFrame(
        {"label": label, "seed": seed, "user": user, "measure": measure, "case": cases,
         "value": base + shift + 0.01 * rng.standard_normal(n)}
    )  # fmt: skip


def everywhere(label, seed, shift):
    return pd.concat([values(label, seed, shift, m, u) for m in NAMES for u in USERS])


@pytest.fixture(scope="module")
def wide_apart():
    """MAPO 5 above GRPO in every seed; RAPO above CPO in one seed, below in another."""
    parts = [everywhere("base", 0, -9)]
    for seed in (0, 1, 2):
        parts += [everywhere("GRPO", seed, 0), everywhere("MAPO", seed, 5)]
        parts += [everywhere("comparative_po", seed, 0)]
        parts += [everywhere("RAPO", seed, (4, -4, 0.5)[seed])]
    return pd.concat(parts, ignore_index=True)


def test_pairs_take_the_interval_over_seeds(wide_apart):
    wanted = [("MAPO", "GRPO"), ("RAPO", "comparative_po"), ("MAPO", "base"),
              ("PPO", "GRPO")]  # fmt: skip
    found = race_table.pairs(wide_apart, wanted, **how())
    assert len(found) == 3 * len(NAMES) * len(USERS), "PPO was not run"
    said = found.groupby(["more", "less"])["verdict"].unique()
    assert said["MAPO", "GRPO"] == said["MAPO", "base"] == ["higher"]
    assert said["RAPO", "comparative_po"] == ["not told apart"]
    own = found[found["more"] == "MAPO"].iloc[0]
    assert own["difference"] == pytest.approx(5, abs=0.05) and own["runs"] == 3
    rapo = found[found["more"] == "RAPO"].iloc[0]
    assert rapo["low"] > 0 > rapo["low too"], "cases alone would have told them apart"


def test_one_seed_has_the_interval_over_cases_only():
    parts = pd.concat([everywhere("MAPO", 0, 5), everywhere("GRPO", 0, 0)])
    found = race_table.pairs(parts, [("MAPO", "GRPO")], **how())
    assert found["low too"].isna().all() and (found["verdict"] == "higher").all()
    assert findings.conclusive(found) == "", "one seed concludes nothing"


def test_the_page_concludes_what_is_told_apart_and_nothing_else(wide_apart):
    own = race_table.board(wide_apart, **how())
    found = race_table.pairs(wide_apart, findings.WANTED, **how())
    gains = race_table.pairs(wide_apart, [("MAPO", "base"), ("GRPO", "base")], **how())
    spent = pd.DataFrame(
        {"label": ["base", "MAPO", "RAPO"], "user turns": [0, 100, 80]}
    )
    page = findings.page(own, found, gains, spent).set_index("question")
    questions = {(more, less): text for more, less, text in findings.QUESTIONS}
    told = page.loc[questions["MAPO", "GRPO"]]
    assert told["kind"] == findings.CAN and "MAPO is higher than GRPO" in told["answer"]
    assert "higher by 10, lower by 0 of 10" in told["answer"]
    open_ = page.loc[questions["RAPO", "comparative_po"]]
    assert open_["kind"] == findings.CANNOT and "not told apart" in open_["answer"]
    missing = page.loc[questions["PPO", "GRPO"]]
    assert missing["kind"] == findings.CANNOT and "was not run" in missing["answer"]
    best = page.loc["Which method is the best?"]
    assert best["kind"] == findings.CANNOT, "a first place is no difference"
    assert "vanilla user: " in best["answer"] and "second user: " in best["answer"]
    assert best["answer"].count("EPM-Q MAPO") == 2
    budget = page.loc["Was the budget equal?"]
    assert budget["kind"] == findings.CANNOT and "20 % fewer" in budget["answer"]
    assert (
        "both users: MAPO, GRPO" in page.loc["Does training beat the start?", "answer"]
    )


def part(verdicts, low=1.0):
    return pd.DataFrame({"verdict": verdicts, "low too": low})


@pytest.mark.parametrize(
    ("verdicts", "side"),
    [
        (["higher"] * 5 + ["not told apart"] * 5, "higher"),
        (["higher"] * 4 + ["not told apart"] * 6, ""),
        (["higher"] * 9 + ["lower"], ""),
        (["lower"] * 10, "lower"),
        (["not told apart"] * 10, ""),
    ],
)
def test_half_must_be_told_apart_one_way(verdicts, side):
    assert findings.conclusive(part(verdicts)) == side
    assert findings.conclusive(part(verdicts, np.nan)) == ""


def test_the_one_table_is_ordered_by_mean_rank(wide_apart):
    own = race_table.board(wide_apart, **how())
    labels = list(wide_apart["label"].unique())
    spent = pd.DataFrame({"label": labels, "user turns": 1.0})
    table = race_table.wide(own, spent)
    assert list(table["label"])[0] == "MAPO" and list(table["label"])[-1] == "base"
    assert table["mean rank"].is_monotonic_increasing
    assert table.loc[0, "mean rank"] == 1
    figure, _ = race_figures.picture(own, list(table["label"]), "offline demo")
    assert len(figure.axes) == len(NAMES)


def test_every_label_of_the_race_has_a_look():
    labels = [*race.BY_DISTANCE, *race.BY_RANK, studies.VERBAL, "base", "supervised"]
    looks = {race_looks.look_of(label)[:2] for label in labels}
    assert len(looks) == len(labels)
    assert race_looks.look_of("MAPO, think")[2] == "--"
    with pytest.raises(ValueError, match="no look"):
        race_looks.look_of("XPO")


def with_costs(result):
    curve = [{"calls/user": 10, "tokens/policy": 7, "time/step": 0.5}] * result.steps
    write_atomically(result.folder / CURVE, json.dumps(curve))
    return result


def test_what_was_spent_so_far(tmp_path):
    run = with_costs(fake_run(tmp_path, "PPO", steps=40))
    base = fake_start(tmp_path, "base")
    points = race_budget.points([base, run]).set_index("step")
    assert points["user turns"].to_dict() == {0: 0, 20: 200, 40: 400}
    assert points.loc[40, ["tokens", "seconds"]].tolist() == [280, 20]
    per_step = run.recipe.trainer.dialogues
    assert points.loc[20, "dialogues"] == 20 * per_step
    total = race_budget.totals([base, run]).set_index("label")
    assert total.loc["PPO", "user turns"] == 400 and total.loc["base", "tokens"] == 0
    assert total.loc["PPO", "trained for"] == "distance"
    assert total.loc["base", "trained for"] == "-"


def test_what_each_is_trained_for():
    assert race_budget.earned("RAPO, think") == "rank of replies"
    assert race_budget.earned("MAPO + verbal") == "distance, notes"
    assert race_budget.earned("supervised") == "a listener's replies"


def test_rapo_counts_the_dialogues_that_it_holds(tmp_path):
    made = methods.make_recipe("RAPO", methods.Scale(2, 8, 4), rate=1e-3, entropy=0.0,
                               seed=0, rules="empa")  # fmt: skip
    run = with_costs(Result("RAPO", made, tmp_path, 2))
    assert race_budget.spent_so_far(run)["dialogues"].tolist() == [0, 4, 8]


def test_policies_meet_again_where_their_checks_do_not_fit(tmp_path):
    checks = Checks(rules="empa", every=1, curve_cards=1, final_cards=2,
                    users=("vanilla",))  # fmt: skip
    made = replace(recipe("PPO", steps=1), checks=checks, rules="empa")
    start = Result("base", made, tmp_path / "run", 0)
    kept = race.meet_again(start, "sage", "second", 2, tmp_path / "met")
    assert [d.scenario_id for d in kept] == list(CARDS)[:2]
    files = list((tmp_path / "met").glob("*.jsonl"))
    assert len(files) == 1
    stamp = files[0].stat().st_mtime_ns
    again = race.meet_again(start, "sage", "second", 2, tmp_path / "met")
    assert again == kept and files[0].stat().st_mtime_ns == stamp
    # Checks that fit are read: no talk is held twice.
    write_check(start.folder, 0, "vanilla", [*kept, kept[0]])
    assert race.meet_again(start, "empa", "vanilla", 2, tmp_path / "met") == kept
    assert len(list((tmp_path / "met").glob("*.jsonl"))) == 1


def test_policies_that_meet_again_at_once_talk_as_those_one_by_one(tmp_path):
    checks = Checks(rules="empa", every=1, curve_cards=1, final_cards=2,
                    users=("vanilla",))  # fmt: skip
    made = replace(recipe("PPO", steps=1), checks=checks, rules="empa")
    start = Result("base", made, tmp_path / "run", 0)
    users = ("vanilla", "second")
    race.meet_all([start], users, {"sage": 2}, tmp_path / "all")
    assert len(list((tmp_path / "all").glob("*.jsonl"))) == len(users)
    for user in users:
        alone = race.meet_again(start, "sage", user, 2, tmp_path / "alone")
        assert race.meet_again(start, "sage", user, 2, tmp_path / "all") == alone


def test_an_error_in_a_process_is_raised_here():
    with pytest.raises(ValueError, match="invalid literal"):
        workers.side_by_side(int, [("1",), ("one",)])


def test_the_field_has_everyone_with_every_seed():
    class Sizes:
        steps, dialogues, group, updates, reply_limit = 2, 8, 4, 2, 40
        check_every, curve_cards, final_cards, lora = 1, 1, 1, 0
        policy, device, rate, entropy, epsilon_high = "tiny", "cpu", 1e-3, 0.0, 0.28
        gamma, alpha, scope, judge_model = 0.85, 0.5, "batch", ""

    distance, rank = studies.mapo(Sizes, 0), studies.rapo(Sizes, 0)
    recipes = race.field(distance, rank, range(3), ["MAPO", "RAPO"])
    labels = pd.Series([r.label for r in recipes])
    wanted = [*race.BY_DISTANCE, studies.VERBAL, *race.BY_RANK, "MAPO, think",
              "RAPO, think"]  # fmt: skip
    assert labels.value_counts().to_dict() == dict.fromkeys(wanted, 3)
    assert len({r.hash for r in recipes}) == len(recipes)
    assert {r.rules for r in recipes} == {"empa"}
    assert {r.user for r in recipes} == {"vanilla"}


@pytest.fixture(scope="module")
def taught(tmp_path_factory):
    """Runs whose policies are the better the nearer their user is to the middle."""
    folder = tmp_path_factory.mktemp("difficulty")
    checks = Checks(every=20, curve_cards=2, final_cards=8, users=USERS)
    care = {"easy": 0.2, "vanilla": 1.0, "challenging": 0.9, "too hard": 0.1}
    runs = []
    for user in DIFFICULTY:
        one = fake_run(folder, f"PPO {user}", last=care[user], steps=20, checks=checks)
        runs.append(replace(one, recipe=replace(one.recipe, user=user)))
    return runs, fake_start(folder, "base", 0.1, checks)


def test_the_inverted_u_is_seen_where_it_is(taught):
    runs, base = taught
    probes = calibration.mixed_set(list(CARDS.values())[:6], 0)
    table = difficulty.table(runs, base, probes, **how())
    assert list(table["trained with"].unique()) == ["nobody", *DIFFICULTY]
    by_user = table[table["user"] == "vanilla"].set_index("trained with")
    accepted = by_user.loc[list(DIFFICULTY), "acceptance %"]
    assert accepted.is_monotonic_decreasing and np.isnan(
        by_user.loc["nobody", "acceptance %"]
    )
    bend = difficulty.inverted_u(runs, ["vanilla"], **how())
    assert set(bend["best inner"]) == {"vanilla"} and bend["shown"].all()
    assert "the inverted U appears" in difficulty.sentences(bend)[0]
    figure, _ = difficulty.picture(table, "offline demo")
    assert len(figure.axes) == 1


def test_no_inverted_u_where_an_end_is_as_good(taught):
    runs, _ = taught
    # The easy user now teaches what the vanilla one teaches.
    same = [replace(r, folder=runs[1].folder) if r.recipe.user == "easy" else r
            for r in runs]  # fmt: skip
    bend = difficulty.inverted_u(same, ["vanilla"], **how())
    assert not bend.set_index("end").loc["easy", "shown"]
    assert "does not appear" in difficulty.sentences(bend)[0]


def test_an_order_holds_only_where_chance_would_not_make_it():
    def of(measure, user, values):
        return [{"label": f"m{i}", "measure": measure, "user": user, "value": v}
                for i, v in enumerate(values)]  # fmt: skip

    up, mixed = range(8), [3, 0, 5, 1, 7, 2, 6, 4]
    same = of("EPM-Q", "vanilla", up) + of("EPM-Q", "second", up)
    kind, _, answer = findings._transfer(pd.DataFrame(same))
    assert kind == findings.CAN and answer.endswith("95 of 100 cases: EPM-Q.")
    rows = same + of("distance", "vanilla", up) + of("distance", "second", mixed)
    kind, _, answer = findings._transfer(pd.DataFrame(rows))
    assert kind == findings.CANNOT and answer.endswith("95 of 100 cases: EPM-Q.")
    assert "distance 0.40" in answer
