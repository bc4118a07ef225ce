"""RAPO from recipe to folder, and the hybrid loss on real rows of the tiny policy."""

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from helpers.agents.roles import Outcome, RoleFailure
from helpers.learning import results, training
from helpers.learning.batches import policy_logps
from helpers.learning.hindsight import HindsightSettings
from helpers.learning.methods import LADDER, METHODS, Scale, ladder, make_recipe, sized
from helpers.learning.recipes import Checks, Recipe
from helpers.learning.svhpo import AVERAGE, TAUGHT, HindsightTrainer
from helpers.learning.worlds import RULES

CHECKS = Checks(split="tune", every=9, curve_cards=2, final_cards=2, users=("vanilla",))
SCALE = Scale(steps=2, dialogues=4, group=2, minibatches=2, reply_limit=16,
              save_every=1)  # fmt: skip


def recipe(name="RAPO", scale=SCALE, **changes) -> Recipe:
    more = {"rate": 1e-3, "entropy": 0.001, "seed": 0, "checks": CHECKS} | changes
    return make_recipe(name, scale, **more)


def curve_without_times(folder):
    entries = json.loads((folder / training.CURVE).read_text())
    skip = ("time/", "step_time", "train_")
    return [{k: v for k, v in e.items() if not k.startswith(skip)} for e in entries]


def test_a_recipe_with_hindsight_survives_json_and_every_switch_is_in_its_hash():
    made = recipe()
    again = Recipe.from_dict(json.loads(json.dumps(made.describe())))
    assert again == made and again.hash == made.hash
    switches = (
        {"select": "random"}, {"note": "shuffled"}, {"weight": 0.5},
        {"route": "losers"}, {"reward_model": "m"}, {"teacher": "ema"},
        {"rank_map": "centered"},
    )  # fmt: skip
    hashes = {recipe(hindsight=switch).hash for switch in switches} | {made.hash}
    assert len(hashes) == len(switches) + 1
    with pytest.raises(ValueError, match="no hindsight"):
        recipe("MAPO", hindsight={"weight": 0.1})
    with pytest.raises(ValueError, match="choose of own, shuffled, empty"):
        recipe(hindsight={"note": "none"})


@pytest.mark.parametrize("rules", ["rlver", "empa"])
@pytest.mark.parametrize("group", [4, 8])
@pytest.mark.parametrize("name", [*LADDER, "MAPO + verbal"])
def test_a_step_takes_as_many_user_calls_as_one_of_whole_dialogues(name, group, rules):
    scale = Scale(steps=2, group=group, minibatches=2)
    settings, rows = sized(METHODS[name].hindsight, scale, rules)
    turns = RULES[rules]().max_replies
    if settings.trained == "dialogues":
        calls = rows * turns + settings.turns * settings.candidates
    else:
        calls = settings.dialogues * turns + rows * settings.reactions
    assert calls == pytest.approx(scale.dialogues * turns, rel=0.1)
    assert rows % group == 0


def test_the_ladder_is_one_loop_with_switches():
    rungs = ladder(SCALE, rate=dict.fromkeys(LADDER, 1e-3), entropy=0.0, seed=1)
    told = [r.hindsight for r in rungs]
    assert [r.label for r in rungs] == list(LADDER)
    assert [h.rank_map for h in told] == ["scores"] + 4 * ["linear"]
    assert [h.reactions for h in told] == [False, False, True, True, True]
    assert [h.weight > 0 for h in told] == [False, False, False, True, True]
    assert [h.select for h in told] == 4 * ["random"] + ["judged"]
    assert len({replace(r, label="", hindsight=None) for r in rungs}) == 1


@pytest.mark.parametrize(
    "name, more",
    [
        ("RAPO", {"think": True}),
        ("sample-wise GRPO", {}),
        ("RAPO", {"hindsight": {"teacher": "frozen", "route": "losers"}}),
        ("MAPO + verbal", {"rules": "empa", "reward": "distance"}),
    ],
)
def test_two_steps_of_training_leave_a_finished_run(name, more, tmp_path):
    hindsight = dict(more.pop("hindsight", {}))
    scale = replace(SCALE, dialogues=6) if name == "MAPO + verbal" else SCALE
    made = recipe(name, scale, hindsight=hindsight, **more)
    folder = made.folder(tmp_path)
    training.Run(made, folder).execute()
    curve = results.Result(name, made, folder, 2).curve
    assert len(curve) == 2 and curve["loss"].notna().all()
    assert (curve["calls/user"] >= curve["calls/reactions"]).all()
    assert (folder / "policy" / "model.safetensors").is_file()
    spoken = curve["verbal/loss"] > 0
    assert spoken.any() == (made.hindsight.weight > 0)
    if made.hindsight.reactions:
        per_turn = made.hindsight.candidates or made.trainer.group_size
        groups = made.hindsight.turns or made.trainer.dialogues // per_turn
        assert (curve["calls/reactions"] == groups * per_turn).all()
    else:
        assert (curve["calls/reactions"] == 0).all()


@pytest.mark.parametrize("teacher", ["live", "ema"])
def test_a_run_from_a_checkpoint_has_the_curve_of_an_undisturbed_one(teacher, tmp_path):
    scale = replace(SCALE, steps=3)
    made = recipe(scale=scale, hindsight={"teacher": teacher, "weight": 0.5})
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    training.Run(made, whole).execute()
    run = training.Run(made, cut)
    saved, stop = run.trainer.keep, KeyboardInterrupt

    def keep(folder):
        saved(folder)
        if folder.name == "checkpoint-4":  # of 6, two a step
            (folder / "complete").touch()
            raise stop

    run.trainer.keep = keep
    with pytest.raises(stop):
        run.execute()
    assert (cut / "checkpoints/checkpoint-4" / AVERAGE).is_file() == (teacher == "ema")
    training.Run(made, cut).execute()
    assert curve_without_times(cut) == curve_without_times(whole)


# -- the loss itself -------------------------------------------------------------------


def trainer_of(made: Recipe, folder: Path) -> HindsightTrainer:
    return training.Run(made, folder).trainer


def batch_of(trainer: HindsightTrainer) -> dict:
    """The generation batch of the first step."""
    data = trainer.train_dataset
    size, rows = trainer.settings.group_size, trainer.settings.dialogues
    inputs = [data[i // size] for i in range(rows)]
    return trainer._generate_and_score_completions(inputs)


def verbal(trainer, batch) -> torch.Tensor:
    trainer.model.zero_grad()
    trainer.current_gradient_accumulation_steps = 1
    trainer._logps(trainer.model, batch)
    return trainer.more_loss(batch)


def gradient(trainer) -> torch.Tensor:
    grads = [p.grad for p in trainer.model.parameters()]
    return torch.cat([torch.zeros(1) if g is None else g.flatten() for g in grads])


def test_an_empty_critique_gives_no_loss_and_no_gradient(tmp_path):
    """Both ways: without a note there is no teacher; and a teacher that is handed the
    student's own context says the same at every token."""
    trainer = trainer_of(recipe("RAPO empty critique"), tmp_path)
    batch = batch_of(trainer)
    assert not (batch["taught_turn"] >= 0).any() and verbal(trainer, batch) == 0

    def same_line(line, critique, reaction):
        return line

    trainer = trainer_of(recipe(hindsight={"weight": 1.0}), tmp_path / "same")
    trainer.roll.line = same_line
    batch = batch_of(trainer)
    taught = batch["taught_turn"] >= 0
    assert taught.any()
    mine = {name: batch[f"teacher_{name}"][taught] for name in TAUGHT}
    with torch.no_grad():
        teacher = policy_logps(trainer.model, mine, 1.0, trainer.model.dtype)
        student = policy_logps(trainer.model, batch, 1.0, trainer.model.dtype)
    about = batch["tool_mask"].bool() & taught.unsqueeze(1)
    student = student[about[batch["tool_mask"].bool()]]
    assert teacher.shape == student.shape
    torch.testing.assert_close(teacher, student, atol=2e-5, rtol=0)
    loss = verbal(trainer, batch)
    loss.backward()
    assert abs(loss.item()) < 1e-6 and gradient(trainer).abs().max() < 1e-5


def test_a_true_critique_moves_the_policy_towards_its_teacher(tmp_path):
    trainer = trainer_of(recipe(hindsight={"weight": 1.0}), tmp_path)
    batch = batch_of(trainer)
    before = verbal(trainer, batch)
    before.backward()
    assert before > 0.01 and gradient(trainer).abs().max() > 1e-3
    with torch.no_grad():
        for p in trainer.model.parameters():
            if p.grad is not None:
                p -= 0.05 * p.grad
    after = verbal(trainer, batch)  # the live teacher moved too
    assert after < before


def test_the_verbal_loss_is_what_a_plain_loop_makes_of_it(tmp_path):
    """Each taught row alone, without padding, mean over its tokens, then over rows."""
    trainer = trainer_of(recipe(hindsight={"weight": 0.25}), tmp_path)
    batch = batch_of(trainer)
    model, rows, total = trainer.model, len(batch["taught_turn"]), 0.0
    for i in range(rows):
        if batch["taught_turn"][i] < 0:
            continue
        said = batch["completion_ids"][i][batch["completion_mask"][i].bool()]
        logps = []
        for name in ("prompt", "teacher_prompt"):
            context = batch[f"{name}_ids"][i][batch[f"{name}_mask"][i].bool()]
            ids = torch.cat([context, said]).unsqueeze(0)
            with torch.no_grad():
                logits = model(input_ids=ids).logits[0, len(context) - 1 : -1]
            logps.append(torch.log_softmax(logits, -1))
        student, teacher = logps
        total += (student.exp() * (student - teacher)).sum(-1).mean().item()
    assert verbal(trainer, batch).item() == pytest.approx(0.25 * total / rows, rel=1e-4)


def test_without_a_weight_the_update_is_that_of_the_ranks_alone(tmp_path):
    """lambda 0, and an empty critique with lambda 1, train the same weights."""
    ends = []
    for name, switches in (
        ("RAPO w/o distillation", {}), ("RAPO empty critique", {"weight": 1.0}),
        ("RAPO", {"weight": 1.0}),
    ):  # fmt: skip
        run = training.Run(recipe(name, hindsight=switches), tmp_path / name[5:9])
        run.execute()
        ends.append(torch.cat([p.detach().flatten() for p in run.model.parameters()]))
    torch.testing.assert_close(ends[0], ends[1], atol=1e-6, rtol=0)
    assert (ends[0] - ends[2]).abs().max() > 1e-4


def test_failed_feedback_leaves_its_group_without_any_signal(tmp_path):
    trainer = trainer_of(recipe(), tmp_path)
    inner, calls = trainer.roll.reward_model, []

    class Sometimes:
        def compare(self, comparison, attempt):
            calls.append(attempt)
            verdict = inner.compare(comparison, attempt)
            if comparison.history == first[0]:
                return replace(verdict, order=((0,),))  # one is missing
            return verdict

    first = []
    look = trainer.roll.look_back

    def look_back(held, count, rng):
        original = trainer.roll.sample

        def sample(contexts, seed):
            return original(contexts, seed)

        trainer.roll.sample = sample
        return look(held, count, rng)

    hear = trainer.roll._hear

    def _hear(turn, candidates, seed):
        if not first:
            first.append(turn.history)
        return hear(turn, candidates, seed)

    trainer.roll.reward_model, trainer.roll._hear = Sometimes(), _hear
    trainer.roll.look_back = look_back
    batch = batch_of(trainer)
    size = trainer.settings.group_size
    assert calls[:3] == [0, 1, 2]  # asked three times, no more
    assert (batch["advantages"][:size] == 0).all()
    assert (batch["tool_mask"][:size] == 0).all()
    assert (batch["taught_turn"][:size] == -1).all()
    assert (batch["tool_mask"][size:].sum(1) > 0).all()
    counts = trainer.roll.report.counts
    assert counts["invalid"] == 1 and counts["asked"] == counts["groups"] + 2
    assert verbal(trainer, batch).isfinite()


def test_candidates_of_a_group_meet_the_user_that_the_dialogue_met(tmp_path):
    trainer = trainer_of(recipe(), tmp_path)
    roll = trainer.roll
    ids = [trainer.train_dataset[i // 2]["prompt"] for i in range(16)]
    rows = roll(ids, 3)
    held = roll.report.held
    for group in roll.look_back(held, 12, random.Random(1)):
        met = held[group.turn.row].dialogue.turns[group.turn.turn]
        assert group.turn.history[-1].content == met.user
        for reaction in group.reactions:
            assert reaction.emotion - reaction.change == met.emotion_before
        assert roll.react(group.turn, met.reply).emotion == met.emotion_after
    counts = roll.report.counts
    heard = sum(len(row.dialogue.turns) for row in roll.report.held)
    assert counts["heard"] == heard and counts["reactions"] == len(rows)
    again = trainer_of(recipe(), tmp_path / "again").roll(ids, 3)
    assert [r.completion_ids for r in again] == [r.completion_ids for r in rows]
    assert [r.earned for r in again] == [r.earned for r in rows]


def test_a_user_that_fails_leaves_its_group_out_and_what_it_answered_counts(tmp_path):
    trainer = trainer_of(recipe(), tmp_path)
    roll, asked = trainer.roll, []
    answered = roll.react

    def react(turn, reply):
        asked.append(reply)
        if len(asked) == 2:  # the second candidate of the first group
            raise RoleFailure("user", Outcome.API_ERROR, "gone")
        return answered(turn, reply)

    roll.react = react
    batch = batch_of(trainer)
    size = trainer.settings.group_size
    assert (batch["tool_mask"][:size] == 0).all()
    assert (batch["tool_mask"][size:].sum(1) > 0).all()
    counts = roll.report.counts
    assert counts["invalid"] == 1 and counts["asked"] == counts["groups"] - 1
    assert counts["reactions"] == trainer.settings.dialogues - size + 1


def test_a_weight_that_decays_reaches_zero_at_the_end():
    settings = HindsightSettings(weight=0.4, decay="linear")
    assert [settings.weight_at(g, 4) for g in range(5)] == pytest.approx(
        [0.4, 0.3, 0.2, 0.1, 0.0]
    )
    assert HindsightSettings(weight=0.4).weight_at(3, 4) == 0.4
