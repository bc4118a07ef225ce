"""What a training step logs: names, meanings, and the numbers about its dialogues.

`GLOSSARY` explains every name in a training log. A number that has no meaning in a
batch (no dialogue ended well, no spread) is NaN here and None in the log, never 0.
"""

import torch
from torch import Tensor

from helpers.learning.advantages import turn_returns
from helpers.learning.credit import TokenCredit
from helpers.learning.critic import explained_variance
from helpers.learning.groups import statistics
from helpers.learning.rows import Row

FACTS = (
    "failed", "success", "final_emotion", "turns", "replies", "sampled", "tokens",
    "heard",
)  # fmt: skip

GLOSSARY = {
    "loss": "what was minimised: policy, minus entropy bonus, plus value loss",
    "policy_loss": "the policy's part alone, logged with an entropy bonus",
    "entropy": "nats a token of the policy, of its distribution before the token",
    "entropy_coef": "weight of the entropy bonus",
    "kl": "to the start, nats a token of the policy, with beta above 0",
    "clip_ratio/low_mean": "share of tokens held at 1 - epsilon, advantage below 0",
    "clip_ratio/high_mean": "share of tokens held at 1 + epsilon, advantage above 0",
    "clip_ratio/region_mean": "sum of both",
    "clip_ratio/low_min": "lowest share in a dialogue",
    "clip_ratio/high_max": "highest share in a dialogue",
    "grad_norm": "of the policy before clipping, in the last update of the step",
    "learning_rate": "of the policy, after the step",
    "critic/value_loss": "half the squared error of the values, clipped",
    "critic/clip_share": "share of tokens whose value moved beyond the clip",
    "critic/explained_variance": "of the returns, by the values at rollout; 1 is best",
    "critic/grad_norm": "of the critic before clipping",
    "calls/user": "replies of the step that a user took in, reactions included",
    "calls/reactions": "those of them to candidates, RAPO",
    "calls/reward_model": "comparisons of a group asked for, and asked again",
    "calls/judge": "dialogues of the step looked back at by a judge",
    "hindsight/turns": "different turns that groups of candidates were made for",
    "hindsight/pivotal_share": "of these turns, those that reach the threshold",
    "hindsight/invalid_share": "groups without usable feedback; they carry no signal",
    "hindsight/tied_share": "of the ranked groups, those in which all tie",
    "hindsight/critique_share": "groups with something to tell a teacher",
    "hindsight/mean_change": "of the emotion, by the candidates' reactions",
    "verbal/weight": "lambda of the step",
    "verbal/share": "rows that a teacher speaks to",
    "verbal/loss": "divergence from the teacher in nats a token, mean over all rows",
    "verbal/log_ratio": "teacher's minus student's log-probability of a token said",
    "dialogue/failed": "dialogues of the step in error; they carry no signal",
    "dialogue/final_emotion": "0..100, mean of the dialogues that did not fail",
    "dialogue/success": "share of them that reached a success at some turn",
    "dialogue/turns": "mean of them",
    "dialogue/tokens_per_reply": "sampled tokens, thoughts included",
    "reward": "summed over a dialogue's judged turns, mean over dialogues with one",
    "reward_std": "sample deviation of the same",
    "turn_K/reward_mean": "rewards of turn K, over the dialogues that had it judged",
    "turn_K/reward_std": "population deviation of the same",
    "turn_K/return_mean": "discounted sum of the rewards from turn K on",
    "turn_K/return_std": "population deviation of the same",
    "group/compared_share": "share of judged turns whose returns differ from another's "
    "of the same scenario and turn, so that a turn-level advantage exists",
    "group/singletons": "judged turns alone with their scenario and turn number",
    "advantage/mean": "over the policy's tokens",
    "advantage/std": "population deviation of the same",
    "advantage/length_correlation": "of a dialogue's mean advantage with its turns",
    "time/rollout": "seconds of the step in which dialogues were held, user included",
    "time/forward": "seconds of forward passes, the critic's included",
    "time/backward": "seconds of backward passes",
    "time/optimiser": "seconds of gradient clipping and parameter updates",
    "time/check": "seconds of checks on the way, if a callback times them so",
    "time/own": "the rest of time/step: padding, advantages, metrics, logging",
    "time/step": "wall seconds of the step, without writing a checkpoint",
    "tokens/policy": "tokens that the policy sampled in the step",
    "tokens/all": "tokens of all rows of the step, prompts and user lines included",
    "step_time": "seconds of an update as TRL counts them, mean of the step",
    "epoch": "share of the planned steps that is done",
    "step": "updates so far",
}


def facts(rows: list[Row]) -> Tensor:
    """(B, len(FACTS)) float64, NaN where a dialogue has no such number."""
    table = []
    for row in rows:
        dialogue = row.dialogue
        failed = dialogue.failure is not None
        emotion = dialogue.final_emotion
        table.append(
            (
                failed,
                torch.nan if failed else bool(dialogue.successes),
                torch.nan if emotion is None else emotion,
                torch.nan if failed else len(dialogue.turns),
                len({t for t in row.turn_ids if t >= 0}),
                sum(row.policy_mask),
                len(row.prompt_ids) + len(row.completion_ids),
                len(dialogue.turns),
            )
        )
    return torch.tensor(table, dtype=torch.float64)


def dialogue_metrics(
    facts: Tensor, batch: dict[str, Tensor], given: TokenCredit, gamma: float
) -> dict[str, float]:
    """The dialogue, reward, turn, group, advantage and token entries of the glossary.

    Args:
        facts: (B, F) of all processes, as the rest. batch: what the advantages were
            made of: rewards, valid (B, K), group_ids (B,), turn_ids (B, L), with a
            critic values (B, L). given: what was made. gamma: of the returns.
    """
    rewards, valid, group_ids = batch["rewards"], batch["valid"], batch["group_ids"]
    advantages, mask = given.advantages, batch["turn_ids"] >= 0
    column = dict(zip(FACTS, facts.unbind(1), strict=True))
    held = column["failed"] == 0
    totals = rewards.sum(1)[valid.any(1)]
    returns = turn_returns(rewards, valid, gamma)
    _, deviation, company = statistics(returns, valid, group_ids, "turn")
    kept = advantages[mask]
    per_dialogue = (advantages * mask).sum(1) / mask.sum(1)
    numbers = {
        "dialogue/failed": (~held).sum(),
        "dialogue/final_emotion": column["final_emotion"].nanmean(),
        "dialogue/success": column["success"].nanmean(),
        "dialogue/turns": column["turns"].nanmean(),
        "dialogue/tokens_per_reply": column["sampled"].sum() / column["replies"].sum(),
        "calls/user": column["heard"].sum(),
        "tokens/policy": column["sampled"].sum(),
        "tokens/all": column["tokens"].sum(),
        "reward": totals.mean(),
        "reward_std": totals.std() if len(totals) > 1 else torch.nan,
        "group/compared_share": (deviation[valid] > 0).double().mean(),
        "group/singletons": (company[valid] == 1).sum(),
        "advantage/mean": kept.mean(),
        "advantage/std": kept.std(correction=0),
        "advantage/length_correlation": _correlation(per_dialogue, column["turns"]),
    }
    for k in range(rewards.shape[1]):
        for name, of_turn in (("reward", rewards), ("return", returns)):
            seen = of_turn[:, k][valid[:, k]]
            spread = seen.std(correction=0) if len(seen) else torch.nan
            numbers[f"turn_{k + 1}/{name}_mean"] = seen.mean()
            numbers[f"turn_{k + 1}/{name}_std"] = spread
    if given.returns is not None:
        numbers["critic/explained_variance"] = explained_variance(
            batch["values"], given.returns, mask
        )
    return {name: float(value) for name, value in numbers.items()}


def _correlation(x: Tensor, y: Tensor) -> Tensor:
    """Pearson's, over the entries where both are there; NaN without spread."""
    there = ~(x.isnan() | y.isnan())
    x, y = x[there] - x[there].mean(), y[there] - y[there].mean()
    return (x * y).sum() / (x.square().sum() * y.square().sum()).sqrt()
