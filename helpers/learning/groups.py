"""Mean, deviation and size of groups of turns, and the checks on what goes in.

The rules that all estimators of `advantages` share are enforced here: entries off the
mask are never read, an entry on it must be finite, and equal entries have a deviation
of exactly 0. No loop over groups.
"""

from typing import Literal, NamedTuple

import torch
from torch import Tensor


class Statistics(NamedTuple):
    """Of the group of each entry, (B, K) each, mean and std in float64. At invalid
    entries mean and std are NaN and count is 0; std is NaN where n = ddof."""

    mean: Tensor
    std: Tensor
    count: Tensor


def statistics(
    values: Tensor,
    valid: Tensor,
    group_ids: Tensor | None,
    scope: Literal["turn", "group", "batch"],
    ddof: int = 0,
) -> Statistics:
    """Mean, deviation and size of the group to which each valid entry belongs.

    Args:
        values: (B, K). valid: (B, K). group_ids: (B,), None for the batch.
        scope: "turn" pools the same column of a group's rows, "group" all entries of a
            group's rows, "batch" everything.

    Raises:
        ValueError: shapes disagree, ddof is not 0 or 1, or a valid entry is not finite.
    """
    if ddof not in (0, 1):
        raise ValueError(f"ddof = {ddof!r}: 0 (population) or 1 (sample)")
    valid = readable(values, valid)
    x = values[valid].double()
    key = _keys(group_ids, values, scope)[valid]
    n = torch.bincount(key)
    # Counted from the group's lowest entry, so that equal entries have a deviation of
    # exactly 0: three times 0.1 has a mean that is not 0.1 in the last bit.
    low = x.new_full(n.shape, torch.inf).scatter_reduce(0, key, x, "amin")
    above = x - low[key]
    mean = x.new_zeros(n.shape).index_add(0, key, above) / n
    squares = (above - mean[key]).square()
    std = (x.new_zeros(n.shape).index_add(0, key, squares) / (n - ddof)).sqrt()

    def back(of_group, missing):
        out = of_group.new_full(values.shape, missing)
        out[valid] = of_group[key]
        return out

    return Statistics(back(low + mean, torch.nan), back(std, torch.nan), back(n, 0))


def standardised(values, valid, group_ids, scope, ddof, eps) -> Tensor:
    """(x - mean) / (std + eps) in each group (B, K): 0 at invalid entries, in groups of
    one and in groups without spread. Args as in `statistics`."""
    mean, std, _ = statistics(values, valid, group_ids, scope, ddof)
    # False too where std is NaN: invalid entries, and groups of one with ddof 1.
    return torch.where(std > 0, (values - mean) / (std + eps), 0.0).to(values.dtype)


def _keys(group_ids, values, scope) -> Tensor:
    """Small whole numbers (B, K), equal where entries share a group."""
    if scope == "batch":
        return torch.zeros_like(values, dtype=torch.long)
    same_shape(group_ids, values.shape[:1], "group_ids")
    group = torch.unique(group_ids, return_inverse=True)[1].unsqueeze(1)
    if scope == "group":
        return group.expand(values.shape)
    width = values.shape[1]
    return group * width + torch.arange(width, device=values.device)


def readable(values: Tensor, valid: Tensor) -> Tensor:
    """`valid` as booleans, once every entry that it lets through is a finite number."""
    if values.dtype not in (torch.float32, torch.float64):
        raise TypeError(f"{values.dtype} cannot be used: give float32 or float64")
    same_shape(valid, values.shape, "the mask")
    valid = valid.bool()
    why = "yet the mask says that it counts: what was not reached or judged is masked"
    refuse(valid & ~values.isfinite(), values, why)
    return valid


def same_shape(x: Tensor, shape: tuple[int, ...], name: str) -> None:
    """Raise ValueError unless x has this shape: broadcasting would hide a mistake."""
    if x.shape != shape:
        raise ValueError(f"{name} is {tuple(x.shape)}, expected {tuple(shape)}")


def refuse(bad: Tensor, values: Tensor, why: str) -> None:
    """Raise ValueError with the place and value of the first bad entry, if any."""
    if bad.any():
        where = tuple(bad.nonzero()[0].tolist())
        raise ValueError(f"entry {where} is {values[where].item()}, {why}")
