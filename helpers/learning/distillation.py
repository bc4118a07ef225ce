"""How far a student is from its teacher at each token: divergences with their order.

Names disagree in the literature on which KL is "reverse", so the order is always
written out: KL(S || T) averages over what the student would say, KL(T || S) over what
the teacher would. All take natural log-probabilities over V words and give nats.

    KL(P || Q) = sum over v of p(v) (log p(v) - log q(v))
    JSD(P, Q)  = KL(P || M) / 2 + KL(Q || M) / 2,  M = (P + Q) / 2

Paper: fact sheet of RAPO, sections 8 and 9.4; SDPO, arXiv 2601.20802, for the top-k
support with a tail. Tests compare with trl.experimental.sdpo.loss_utils.
"""

import math

import torch
from torch import Tensor


def kl(p: Tensor, q: Tensor) -> Tensor:
    """KL(P || Q) over the last axis of log-probabilities; 0 log 0 is 0."""
    terms = p.exp() * (p - q)
    return torch.where(p == -torch.inf, 0.0, terms).sum(-1)


def divergence(student: Tensor, teacher: Tensor, kind: str) -> Tensor:
    """One number a token.

    Args:
        student, teacher: (..., V) log-probabilities. kind: "student_teacher" KL(S||T),
            "teacher_student" KL(T||S), or "jsd".

    Returns:
        (...), at least 0 up to rounding; the gradient is that of what is handed in, so
        detach the teacher.
    """
    match kind:
        case "student_teacher":
            return kl(student, teacher)
        case "teacher_student":
            return kl(teacher, student)
        case "jsd":
            mixture = torch.logaddexp(student, teacher) - math.log(2)
            return (kl(student, mixture) + kl(teacher, mixture)) / 2
    raise ValueError(f"divergence {kind!r} is unknown")


def on_top(student: Tensor, teacher: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Both on the student's k likeliest words and one bucket for all others.

    The divergence on it is at most the full one. With k >= V nothing is changed.

    Returns:
        (..., k + 1) each, log-probabilities.
    """
    if k >= student.shape[-1]:
        return student, teacher
    places = student.topk(k, -1).indices
    return tuple(_with_tail(x.gather(-1, places)) for x in (student, teacher))


def _with_tail(logps: Tensor) -> Tensor:
    """With the log of the mass that is left; TRL's bound keeps it finite."""
    mass = logps.logsumexp(-1, keepdim=True).clamp(max=-1e-7)
    return torch.cat([logps, torch.log(-torch.expm1(mass))], -1)
