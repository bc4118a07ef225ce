"""IEDR and MDEP-PR levels to numbers."""

import numpy as np
import pytest

from helpers.scoring.rubric import (
    IEDR_ITEMS,
    MDEP_FIELDS,
    LevelError,
    increment,
    increments,
    initial_deficit,
)

# Case 003 of the official thirty, and its printed start.
CASE_003 = dict(zip(IEDR_ITEMS, [2, 2, 3, 2, 2, 2, 1, 2, 1], strict=True))


def turn(*levels):
    return dict(zip(MDEP_FIELDS, levels, strict=True))


def test_deficit_of_a_printed_case():
    assert initial_deficit(CASE_003).tolist() == [-17, -18, -13]


def test_range_of_the_deficit():
    least = initial_deficit(dict.fromkeys(IEDR_ITEMS, 0))
    most = initial_deficit(dict.fromkeys(IEDR_ITEMS, 3))
    assert least.tolist() == [0, 0, 0] and most.tolist() == [-21, -27, -27]


@pytest.mark.parametrize(
    ("levels", "step"),
    [
        ((0, 0, 0, 0, 0, 0), (0, 0, 0)),
        ((1, 0, 1, 0, 1, 0), (1, 1, 1)),
        ((2, 0, 2, 0, 2, 0), (3, 3, 3)),
        ((0, -1, 0, -1, 0, -1), (-2, -2, -2)),
        ((0, -2, 0, -2, 0, -2), (-4, -5, -5)),
        ((2, -1, 1, -2, 0, -1), (1, -4, -2)),
    ],
)
def test_increment_is_a_table_not_a_sum(levels, step):
    assert increment(turn(*levels)).tolist() == list(step)
    assert increments([levels])[0].tolist() == list(step)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"C.1": 4}, "C.1 = 4 is outside 0..3"),
        ({"C.1": -1}, "C.1 = -1 is outside 0..3"),
        ({"C.1": 1.5}, "whole number"),
        ({"C.1": "2"}, "whole number"),
        ({"C.1": None}, "unrated item is not a zero"),
        ({"C.1": float("nan")}, "whole number"),
        ({"C.1": float("inf")}, "whole number"),
        ({"C.9": 1}, "unknown item 'C.9'"),
    ],
)
def test_impossible_need(change, message):
    with pytest.raises(LevelError, match=message):
        initial_deficit(CASE_003 | change)


def test_a_missing_item_is_not_zero():
    with pytest.raises(LevelError, match="P.3 has no level"):
        initial_deficit({k: v for k, v in CASE_003.items() if k != "P.3"})
    with pytest.raises(LevelError, match="A.Neg has no level"):
        increment({k: 0 for k in MDEP_FIELDS if k != "A.Neg"})


@pytest.mark.parametrize("field", range(6))
@pytest.mark.parametrize("value", [3, -3, 0.5, np.nan, np.inf])
def test_arrays_refuse_the_same(field, value):
    levels = np.zeros((2, 4, 6))
    levels[1, 2, field] = value
    with pytest.raises(LevelError, match=rf"{MDEP_FIELDS[field]} at \(1, 2\)"):
        increments(levels)


def test_the_sign_belongs_to_the_field():
    with pytest.raises(LevelError, match="C.Prog"):
        increments([[-1, 0, 0, 0, 0, 0]])
    with pytest.raises(LevelError, match="C.Neg"):
        increments([[0, 1, 0, 0, 0, 0]])
