"""Flags and keys of whole columns."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dprelease.model import ColumnType, Group
from dprelease.postprocess.intervals.estimate_columns import (
    UNRELIABLE_AT,
    Layout,
    clip_intervals,
    estimate_columns,
)
from dprelease.postprocess.intervals.fixed_point import scale_ends
from dprelease.release.bundle import iter_key_columns

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
    columns = [column.values for column in iter_key_columns(groups)]
    assert list(zip(*columns, strict=True)) == list(product(*labels))
    assert list(iter_key_columns([])) == []


@given(
    st.integers(-200, 200), st.integers(0, 300), st.integers(-100, 100), st.integers(0, 100),
    st.integers(0, 100),
)  # fmt: skip
def test_a_clipped_interval_holds_what_is_possible_if_it_did_before(
    value: int, half: int, least: int, span: int, place: int
) -> None:
    most, true = least + span, least + place * span // 100
    low, high = (end[0] for end in clip_intervals([value], [half], least, most))
    assert low is not None
    assert high is not None
    assert least <= low <= high <= most
    if abs(true - value) <= half:
        assert low <= true <= high
    assert clip_intervals([None], [None], least, most) == ([None], [None])


@given(st.floats(0, 1), st.floats(0, 1), st.integers(1, 10**18))
def test_ends_are_rounded_outward_and_stay_possible(one: float, other: float, span: int) -> None:
    low, high = sorted((one, other))
    ends = scale_ends(np.array([low]), np.array([high]), span, span)
    assert 0 <= ends[0][0] <= Fraction(low) * span
    assert span >= ends[1][0] >= min(Fraction(high) * span, span)
