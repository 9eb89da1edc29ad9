"""A mean far from zero keeps all its digits."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from dprelease.model import Column, ColumnType, Grid, Noise, NoiseFamily, Query, Step
from dprelease.statistics.mean import Mean


@pytest.mark.parametrize(
    ("step", "lower", "width"),
    [
        ("1", 0, 180),
        ("1", 10**13, 10),
        ("1", 2**53 - 1001, 1000),
        ("0.000001", 1_700_000_000_000_000, 1000),
        ("20", -(2**53) + 1, 2**54 - 2),
        ("0.25", -7, 4),
    ],
)
def test_the_mean_of_values_halfway_between_the_bounds(
    planned: Callable[..., Step], step: str, lower: int, width: int
) -> None:
    grid = Grid(Fraction(step), lower, lower + width)
    query = Query("q", "mean", "t", (), Column("x", ColumnType.FLOAT, grid=grid))
    noise = Noise(NoiseFamily.LAPLACE, Fraction(width, 10**5))
    total = 1000 * width
    columns = Mean().build_columns(
        planned(query, noise), [[total // 2], [total - total // 2]], Fraction(95, 100)
    )
    value, half = columns[0], columns[1]
    truth = (lower + Fraction(total // 2, 1000)) * grid.step * 10**value.decimals
    assert isinstance(value.values[0], int)
    assert isinstance(half.values[0], int)
    assert abs(value.values[0] - truth) <= half.values[0]
    assert half.values[0] <= Fraction(width, 1000) * grid.step * 10**value.decimals + 2
