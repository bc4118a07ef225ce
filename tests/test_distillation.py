"""Divergences against hand numbers and TRL's own, and their support."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from trl.experimental.sdpo import loss_utils

from helpers.learning.distillation import divergence, kl, on_top

KINDS = {"teacher_student": 0.0, "student_teacher": 1.0, "jsd": 0.5}


def logs(*p):
    return torch.tensor(p, dtype=torch.float64).log()


def test_the_oracles_of_the_fact_sheet():
    p, q = logs(0.5, 0.3, 0.2), logs(0.2, 0.5, 0.3)
    found = [divergence(p, q, k).item() for k in ("student_teacher", "teacher_student")]
    assert found == pytest.approx([0.223805, 0.193794], abs=5e-7)
    assert divergence(p, q, "jsd").item() == pytest.approx(0.050875, abs=5e-7)
    p, q = logs(0.4, 0.3, 0.2, 0.1), logs(0.1, 0.4, 0.3, 0.2)
    assert kl(p, q).item() == pytest.approx(0.317805, abs=5e-7)
    assert kl(*on_top(p, q, 2)).item() == pytest.approx(0.314965, abs=5e-7)


@given(st.integers(0, 1000), st.sampled_from(sorted(KINDS)), st.integers(1, 12))
@settings(max_examples=40, deadline=None)
def test_trl_says_the_same_with_the_same_gradient(seed, kind, k):
    generator = torch.Generator().manual_seed(seed)
    shape = (5, 12)
    student, teacher = (
        torch.randn(shape, generator=generator, dtype=torch.float64) for _ in range(2)
    )
    grads = []
    for ours in (True, False):
        given_ = student.clone().requires_grad_()
        s, t = given_.log_softmax(-1), teacher.log_softmax(-1)
        if ours:
            whole, top = divergence(s, t, kind), divergence(*on_top(s, t, k), kind)
        else:
            alpha = KINDS[kind]
            whole = loss_utils.compute_full_logit_self_distillation_loss(
                given_, teacher, distillation_alpha=alpha
            )
            top = loss_utils.compute_topk_self_distillation_loss(
                given_, teacher, distillation_topk=k, distillation_alpha=alpha,
                distillation_add_tail=k < 12,
            )  # fmt: skip
        (whole.sum() + 2 * top.sum()).backward()
        grads.append((whole.detach(), top.detach(), given_.grad))
    for mine, theirs in zip(*grads, strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-6, rtol=1e-5)


@given(st.integers(0, 1000), st.integers(1, 7))
@settings(max_examples=40, deadline=None)
def test_a_tail_never_makes_the_divergence_larger(seed, k):
    generator = torch.Generator().manual_seed(seed)
    s, t = (
        torch.randn(6, 8, generator=generator, dtype=torch.float64).log_softmax(-1)
        for _ in range(2)
    )
    full = divergence(s, t, "student_teacher")
    assert (divergence(*on_top(s, t, k), "student_teacher") <= full + 1e-9).all()
    assert (full >= 0).all() and (divergence(s, s, "jsd").abs() < 1e-12).all()


def test_a_word_that_the_student_cannot_say_costs_nothing():
    student = torch.tensor([0.0, -torch.inf], dtype=torch.float64)
    assert kl(student, logs(0.5, 0.5)).item() == pytest.approx(0.693147, abs=1e-6)


def test_the_gradient_is_the_mean_of_the_scored_log_ratio():
    """d KL(S||T) = E_S[(log S - log T) d log S]: the sampled-token estimator's mean."""
    student = torch.randn(1, 6, dtype=torch.float64, requires_grad=True)
    teacher = torch.randn(1, 6, dtype=torch.float64).log_softmax(-1)
    divergence(student.log_softmax(-1), teacher, "student_teacher").sum().backward()
    whole, student.grad = student.grad.clone(), None
    logps = student.log_softmax(-1)
    weight = (logps.exp() * (logps - teacher)).detach()
    (weight * logps).sum().backward()
    torch.testing.assert_close(whole, student.grad)


def test_an_unknown_name_is_refused():
    with pytest.raises(ValueError, match="reverse"):
        divergence(logs(1.0), logs(1.0), "reverse")
