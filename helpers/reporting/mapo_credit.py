"""Rewards by turn, looked at before any training: their spread, and who is credited.

Two questions of MAPO. How much of the variance of rewards, and of returns, is explained
by the turn's number alone? And how often does a kind of credit praise a turn that did
harm, blame one that helped, or lean towards long dialogues? Asked of the kit's own
dialogues and of the released EMPA dialogues.

Paper: MAPO, arXiv 2603.06194 (fact sheet, 1.4 and 1.6).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from helpers.data.records import read_cases, read_ratings
from helpers.learning.advantages import turn_returns
from helpers.learning.batches import turn_table
from helpers.learning.credit import Credit
from helpers.learning.rewards import distance
from helpers.sandbox.dialogue import Dialogue
from helpers.scoring.geometry import zone_distance
from helpers.scoring.replay import stack


@dataclass(frozen=True)
class Turns:
    """Incremental distance rewards of B dialogues of up to K turns.

    name: of the sample. rewards (B, K) float64 in rubric units. valid (B, K): reached
    and judged. groups (B,): one whole number a scenario.
    """

    name: str
    rewards: Tensor
    valid: Tensor
    groups: Tensor

    def first(self, turns: int) -> "Turns":
        """The same dialogues cut after so many turns."""
        cut = self.rewards[:, :turns], self.valid[:, :turns]
        return Turns(f"{self.name}, first {turns} turns", *cut, self.groups)


def own_turns(name: str, dialogues: Iterable[Dialogue]) -> Turns:
    """Judged dialogues of the kit; one that failed has no valid turn."""
    dialogues = list(dialogues)
    rewards, valid = turn_table([distance(dialogue) for dialogue in dialogues])
    codes, _ = pd.factorize(pd.Series([d.scenario_id for d in dialogues]))
    return Turns(name, rewards, valid, torch.from_numpy(codes))


def released_turns() -> list[Turns]:
    """The released EMPA dialogues: all 480, then the 30 of each of the 16 models.

    In the first, the 16 dialogues of a case stand in for a group: they share a start,
    as rollouts of one policy do, and differ far more. A turn that the judge did not
    rate is not valid.
    """
    ratings = read_ratings()
    dialogues = stack(ratings, read_cases())
    steps = np.concatenate([dialogues.p0[:, None], dialogues.v], axis=1)
    rewards = torch.from_numpy(-np.diff(zone_distance(steps.cumsum(1))))
    row, turn = (ratings["turn"] == 1).cumsum() - 1, ratings["turn"] - 1
    judged = np.zeros(rewards.shape, dtype=bool)
    judged[row, turn] = ratings["judged"] == 1
    valid = torch.from_numpy(judged)
    groups = torch.from_numpy(pd.factorize(dialogues.frame["case"])[0])
    samples = [Turns("released EMPA dialogues", rewards, valid, groups)]
    for model in dialogues.frame["model"].unique():
        own = torch.tensor([name == model for name in dialogues.frame["model"]])
        samples.append(Turns(model, rewards[own], valid[own], groups[own]))
    return samples


def explained_by_turn(values: Tensor, valid: Tensor) -> float:
    """Share of the variance that the turn's number explains (eta squared).

    Args:
        values: (B, K). valid: (B, K).

    Returns:
        in [0, 1]; NaN where nothing varies.
    """
    turn = torch.arange(values.shape[1]).expand(values.shape)[valid].numpy()
    x = values[valid].numpy()
    if len(x) < 2 or not np.ptp(x):
        return np.nan
    sizes = np.bincount(turn)
    means = np.bincount(turn, weights=x) / np.maximum(sizes, 1)
    between = (sizes * (means - x.mean()) ** 2).sum()
    return float(between / ((x - x.mean()) ** 2).sum())


def variance_table(
    samples: Sequence[Turns], gammas: Sequence[float] = (0.85, 1.0)
) -> pd.DataFrame:
    """How much of the variance of rewards and of returns the turn's number explains.

    Returns:
        One row a sample: sample, dialogues, turns (valid); "rewards, %" and "returns,
        gamma G, %"; "by chance, %", what numbers without any pattern would give, (K -
        1) / (N - 1) with K turn numbers and N turns.
    """
    rows = []
    for sample in samples:
        n, k = int(sample.valid.sum()), int(sample.valid.any(0).sum())
        share = explained_by_turn(sample.rewards, sample.valid)
        row = {"sample": sample.name, "dialogues": int(sample.valid.any(1).sum()),
               "turns": n, "rewards, %": 100 * share}  # fmt: skip
        for gamma in gammas:
            returns = turn_returns(sample.rewards, sample.valid, gamma)
            share = explained_by_turn(returns, sample.valid)
            row[f"returns, gamma {gamma:g}, %"] = 100 * share
        row["by chance, %"] = 100 * (k - 1) / (n - 1) if n > 1 else np.nan
        rows.append(row)
    return pd.DataFrame(rows)


def by_turn(samples: Sequence[Turns], gamma: float = 0.85) -> pd.DataFrame:
    """Rewards and returns by turn: sample, kind, turn, n, mean, sd (population)."""
    rows = []
    for sample in samples:
        returns = turn_returns(sample.rewards, sample.valid, gamma)
        for kind, values in (("reward", sample.rewards), ("return", returns)):
            for k in range(values.shape[1]):
                x = values[:, k][sample.valid[:, k]].numpy()
                if len(x):
                    found = (k + 1, len(x), x.mean(), x.std())
                    rows.append((sample.name, kind, *found))
    return pd.DataFrame(rows, columns=["sample", "kind", "turn", "n", "mean", "sd"])


def credit_table(sample: Turns, credits: Mapping[str, Credit]) -> pd.DataFrame:
    """Who is praised and who is blamed, by each kind of credit.

    Returns:
        One row a kind: credit; "harmful turns praised, %" (reward below 0, advantage
        above 0, of the harmful turns), "helpful turns blamed, %", harmful and helpful
        (turns); sd (of the advantages, turns counted once); "correlation with length"
        (of a dialogue's mean advantage with its valid turns, NaN where all are equally
        long). No critic: "gae" is not asked.
    """
    valid = sample.valid
    turn_ids = torch.arange(valid.shape[1]).expand(valid.shape)
    turn_ids = torch.where(valid, turn_ids, -1)  # as if each turn were one token
    harm, help_ = valid & (sample.rewards < 0), valid & (sample.rewards > 0)
    rows = []
    for name, credit in credits.items():
        given = credit(sample.rewards, valid, sample.groups, turn_ids).advantages
        held = valid.any(1)
        length = valid.sum(1)[held].numpy().astype(float)
        mean = (given.sum(1)[held] / valid.sum(1)[held]).numpy()
        rows.append(
            {"sample": sample.name, "credit": name,
             "harmful turns praised, %": _share(given[harm] > 0),
             "helpful turns blamed, %": _share(given[help_] < 0),
             "harmful": int(harm.sum()), "helpful": int(help_.sum()),
             "sd": float(given[valid].std(correction=0)),
             "correlation with length": _correlation(mean, length)}
        )  # fmt: skip
    return pd.DataFrame(rows)


def _share(hits: Tensor) -> float:
    return 100 * float(hits.double().mean()) if len(hits) else np.nan


def _correlation(x: np.ndarray, y: np.ndarray) -> float:
    """Pearson's; NaN without spread on a side."""
    if len(x) < 2 or not np.ptp(x) or not np.ptp(y):
        return np.nan
    return float(np.corrcoef(x, y)[0, 1])
