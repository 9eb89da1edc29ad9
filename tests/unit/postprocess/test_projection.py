"""Rows moved to their totals: exact, and the nearest point there is."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dprelease.postprocess.finishing.projection import (
    adjust_to_totals,
    round_rows,
    round_to_both_totals,
)

ROW = st.lists(st.integers(-60, 60), min_size=1, max_size=7)


def one(row: list[int], total: int, nonnegative: bool) -> list[int]:
    return adjust_to_totals(np.array([row]), np.array([total]), nonnegative=nonnegative)[0].tolist()


@given(ROW, st.integers(0, 150))
def test_cells_are_0_or_more_and_add_up(row, total):
    result = one(row, total, True)
    assert sum(result) == total
    assert min(result) >= 0


@given(ROW, st.integers(-150, 150))
def test_without_a_floor_all_cells_move_alike(row, total):
    result = one(row, total, False)
    moves = {after - before for before, after in zip(row, result, strict=True)}
    assert sum(result) == total
    assert max(moves) - min(moves) <= 1


@given(st.lists(st.integers(-5, 6), min_size=1, max_size=3), st.integers(0, 8))
def test_no_other_integers_of_0_or_more_are_nearer(row, total):
    def off(point):
        return sum((a - b) ** 2 for a, b in zip(point, row, strict=True))

    points = product(range(total + 1), repeat=len(row))
    least = min(off(point) for point in points if sum(point) == total)
    assert off(one(row, total, True)) == least


@given(ROW, st.integers(0, 150))
def test_long_integers_are_moved_as_short_ones(row, total):
    far = 10**30
    long = adjust_to_totals(
        np.array([row], dtype=object) * far, np.array([total * far], dtype=object), nonnegative=True
    )[0]
    assert sum(long) == total * far
    assert np.abs(long // far - one(row, total, True)).max() <= 1


@given(st.lists(st.integers(-500, 500), min_size=1, max_size=9), st.integers(1, 50))
def test_rounding_keeps_the_total_and_moves_less_than_a_unit(row, unit):
    row[0] -= sum(row) % unit
    result = round_rows(np.array([row]), unit)[0]
    assert result.sum() == sum(row)
    assert not (result % unit).any()
    assert np.abs(result - row).max() < unit


@pytest.mark.parametrize("nonnegative", [True, False])
@given(data=st.data())
def test_rows_and_columns_are_both_met(nonnegative, data):
    blocks, height, width, unit = (data.draw(st.integers(1, most)) for most in (3, 4, 4, 5))
    count = blocks * height * width
    low = 0 if nonnegative else -30
    whole = data.draw(st.lists(st.integers(low, 30), min_size=count, max_size=count))
    noise = data.draw(st.lists(st.integers(-200, 200), min_size=count, max_size=count))
    truth = np.array(whole).reshape(blocks, height, width) * unit
    cells = truth + np.array(noise).reshape(truth.shape)
    rows, columns = truth.sum(axis=2), truth.sum(axis=1)
    result = round_to_both_totals(cells, rows, columns, unit, nonnegative=nonnegative)
    assert np.array_equal(result.sum(axis=2), rows)
    assert np.array_equal(result.sum(axis=1), columns)
    assert not (result % unit).any()
    assert not nonnegative or result.min() >= 0
