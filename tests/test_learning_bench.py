"""The speed comparison: its parts, its equal tokens, its table. No times are judged."""

import json
from dataclasses import replace

import pytest

from helpers.learning import bench, speed
from helpers.learning.methods import Scale

SMALL = Scale(steps=2, dialogues=8, group=4, reply_limit=12)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """What the command writes, with short replies."""
    path = tmp_path_factory.mktemp("bench") / "deep" / "bench.json"
    with pytest.MonkeyPatch.context() as patched:
        full = bench.cases
        short = dict(reply_limit=SMALL.reply_limit, group=SMALL.group)
        patched.setattr(bench, "cases", lambda scale: full(replace(scale, **short)))
        bench.main(["--steps", "2", "--dialogues", "8", "--out", str(path)])
    return json.loads(path.read_text())


def test_every_case_has_its_steps(report):
    counts = {
        label: {kind: len(steps) for kind, steps in case.items()}
        for label, case in report["steps"].items()
    }
    assert counts == {
        "GRPO": {"kit": 2, "stock": 2, "plain": 2},
        "GRPO, think": {"kit": 2, "stock": 2, "plain": 2},
        "PPO, think": {"kit": 2, "stock": 0, "plain": 2},
    }


def test_the_parts_of_a_step_are_all_of_it(report):
    for case in report["steps"].values():
        for step in case["kit"]:
            parts = [step[part] for part in speed.PARTS]
            assert min(parts) > 0
            assert sum(parts) == pytest.approx(step["step"], rel=1e-6)
        for step in case["stock"]:
            assert 0 < step["generation"] < step["step"]


def test_equal_tokens_are_equal(report):
    for case in report["steps"].values():
        for kit, stock in zip(case["kit"], case["stock"], strict=False):
            for name in ("tokens", "sampled"):
                assert stock[name] == pytest.approx(kit[name], rel=speed.TOLERANCE)


def test_the_table_holds_what_was_measured(report):
    table = report["medians"]
    assert set(table) == set(report["steps"])
    for label, column in table.items():
        missing = {name for name, value in column.items() if value is None}
        assert all("stock" in n or "ratio" in n for n in missing)
        assert bool(missing) == (label == "PPO, think")
    assert report["recipes"]["GRPO"]["trainer"]["dialogues"] == 8
    assert report["precision"]["bf16"] == pytest.approx(
        report["precision"]["float32"], rel=0.02
    )


def step(**parts):
    times = {**dict.fromkeys(speed.PARTS, 0.0), **parts}
    return {**times, "step": sum(times.values()), "tokens": 100.0, "sampled": 40.0}


def test_the_table_by_hand():
    kit = [
        step(generation=4.0, forward=2.0, backward=2.0, user=1.0, own=1.0),
        step(generation=4.0, forward=2.0, backward=2.0, rollout=1.0, optimiser=1.0),
        step(generation=8.0, forward=5.0, backward=5.0, own=2.0),
    ]
    stock = [{**step(generation=g, forward=5.0)} for g in (5.0, 3.0, 5.0)]
    column = bench.table({"x": speed.Measured(kit, stock)})["x"]
    assert column["counted steps"] == 3
    assert column["s step"] == 10.0
    # 1/10, 2/10 and 2/20 of the step
    assert column["overhead share"] == pytest.approx(0.1)
    assert column["own share"] == pytest.approx(0.1)
    assert column["tokens / s"] == pytest.approx(10.0)
    # stock steps of 10, 8 and 10 seconds against 10, 10 and 20
    assert column["ratio, whole step"] == pytest.approx(0.8)
    assert column["ratio, lowest round"] == pytest.approx(0.5)
    # 5 seconds against 5, 5 and 12
    assert column["ratio, learning part"] == pytest.approx(1.0)
    assert column["generation: sampled / s"] == pytest.approx(10.0)
    assert (
        column["the same by transformers"] is None
        or column.isna()["the same by transformers"]
    )
    first, second = bench.verdicts(column.to_frame("x"))
    assert first == "x: overhead share 0.100, at most 0.15: holds"
    assert second == "x: ratio, whole step 0.800, at least 0.9: does not hold"


def test_unequal_tokens_are_refused(tmp_path):
    """5.4 sampled tokens a dialogue make replies of 5, which is 7 % less."""
    run, kit = speed.kit_step(bench.cases(SMALL)[0], tmp_path)
    kit = {**kit, "sampled": 5.4 * SMALL.dialogues, "tokens": 30.0 * SMALL.dialogues}
    with pytest.raises(speed.UnequalTokens, match="GRPO: sampled of a step are 43"):
        speed.stock_step(run, kit)


def test_the_path_of_a_large_model(tmp_path):
    """What cuda runs, on a model of 9,000 words: TRL's chunked head, no decoder."""
    sizes = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=1)
    sizes |= dict(num_attention_heads=4, num_key_value_heads=2)
    policy = bench.random_policy(tmp_path / "policy", words=9000, **sizes)
    scale = replace(SMALL, policy=str(policy), engine="transformers")
    recipes = bench.cases(scale)
    made = speed.measure(recipes, rounds=1)
    assert {k: (len(m.kit), len(m.stock), len(m.plain)) for k, m in made.items()} == {
        "GRPO": (1, 1, 0), "PPO": (1, 0, 0), "MAPO": (1, 1, 0), "RAPO": (1, 0, 0),
    }  # fmt: skip
    frame = bench.table(made)
    for label, case in made.items():
        parts = [case.kit[0][part] for part in speed.PARTS]
        assert sum(parts) == pytest.approx(case.kit[0]["step"], rel=1e-6)
        shares = [frame[label][f"share {part}"] for part in bench.SHOWN]
        assert min(shares) > 0 and sum(shares) < 1
    found = bench.precision(recipes[0])
    assert found["bf16"] == pytest.approx(found["float32"], rel=0.02)


def test_no_round_begins_that_would_end_too_late(monkeypatch):
    """Three seconds a round, ten in all: three rounds."""
    times = iter(range(0, 99, 3))
    now = [0.0]
    monkeypatch.setattr(speed.time, "monotonic", lambda: now[0])

    def step(recipe, folder):
        now[0] = next(times) + 3.0
        return None, {}

    monkeypatch.setattr(speed, "kit_step", step)
    monkeypatch.setattr(speed, "plain_rollout", lambda run: {})
    (recipe,) = bench.cases(SMALL)[-1:]
    made = speed.measure([recipe], rounds=9, until=10.0)
    assert len(made[recipe.label].kit) == 3


def test_cuda_is_refused_where_there_is_none(capsys):
    if bench.torch.cuda.is_available():
        pytest.skip("this machine has one")
    with pytest.raises(SystemExit):
        bench.main(["--device", "cuda"])
    assert "no CUDA device here: not run" in capsys.readouterr().err
