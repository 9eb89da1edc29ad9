"""Flags and keys of whole columns."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from dprelease.model import ColumnType, Group
from dprelease.postprocess.estimate_columns import UNRELIABLE_AT, Layout, estimate_columns
from dprelease.release.bundle import key_columns

LAYOUT = Layout("q", 0, "a figure", Fraction(95, 100))


@pytest.mark.parametrize("half", [0, 1, 2, 3, 29, 30, 31, 3 * 10**30])
def test_one_half_width_for_all_gives_the_flags_of_many(half: int) -> None:
    values = [*range(-120, 121), 10**31, 10**31 - 1, -(10**31), 1 - 10**31]
    one = estimate_columns(LAYOUT, values, half)
    many = estimate_columns(LAYOUT, values, [half] * len(values))
    assert one == many
    assert one[2].values == [
        "low_reliability" if half > abs(value) * UNRELIABLE_AT else "ok" for value in values
    ]


def test_keys_are_the_cross_product_of_the_labels() -> None:
    labels = [("a", "b"), ("x", "y", "z"), ("1",), ("k", "l")]
    groups = [Group(f"g{at}", ColumnType.STRING, each) for at, each in enumerate(labels)]
    columns = [column.values for column in key_columns(groups)]
    assert list(zip(*columns, strict=True)) == list(product(*labels))
    assert list(key_columns([])) == []
