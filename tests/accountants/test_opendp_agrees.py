"""Our sensitivities and scales beside OpenDP's for the same queries."""

from __future__ import annotations

from fractions import Fraction

import opendp.prelude as dp
import pytest

from dprelease.model import Adjacency, Column, ColumnType, Grid, Query
from dprelease.statistics.shared.statistic import Neighbours
from dprelease.statistics.statistic_registry import get_statistic

dp.enable_features("contrib")


@pytest.mark.parametrize("bounds", [(0, 10), (-5, 3), (-9, -2), (4, 6)])
def test_sum_sensitivity_under_add_remove(bounds: tuple[int, int]) -> None:
    domain = dp.vector_domain(dp.atom_domain(bounds=bounds, T=dp.i64))
    theirs = dp.t.make_sum(domain, dp.symmetric_distance()).map(1)
    column = Column("x", ColumnType.INTEGER, grid=Grid(Fraction(1), *bounds))
    query = Query("q", "sum", "t", (), column)
    ours = get_statistic("sum").bound_sensitivity(query, Neighbours(Adjacency.ADD_REMOVE))
    assert ours.l1 == theirs


def test_count_sensitivity_under_add_remove() -> None:
    domain = dp.vector_domain(dp.atom_domain(T=dp.i64))
    theirs = dp.t.make_count(domain, dp.symmetric_distance()).map(1)
    neighbours = Neighbours(Adjacency.ADD_REMOVE)
    ours = get_statistic("count").bound_sensitivity(Query("q", "count", "t"), neighbours)
    assert ours.l1 == theirs == 1


@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1, "0.5"), (7, "1"), (120000, "0.1")])
def test_laplace_scale(sensitivity: int, epsilon: str) -> None:
    from dprelease.mechanisms import laplace

    noise = laplace.calibrate(sensitivity, Fraction(epsilon))
    space = dp.atom_domain(T=dp.i64), dp.absolute_distance(T=dp.i64)
    theirs = dp.m.make_laplace(*space, scale=float(noise.parameter)).map(sensitivity)
    assert theirs == pytest.approx(float(epsilon), rel=1e-9)


@pytest.mark.parametrize(("sensitivity", "sigma"), [(1, 2.0), (30, 100.0)])
def test_gaussian_rho(sensitivity: int, sigma: float) -> None:
    from dprelease.privacy import zcdp

    space = dp.atom_domain(T=dp.i64), dp.absolute_distance(T=dp.i64)
    theirs = dp.m.make_gaussian(*space, scale=sigma).map(sensitivity)
    ours = zcdp.compute_gaussian_rho(sensitivity**2, Fraction(sigma) ** 2)
    assert theirs == pytest.approx(float(ours), rel=1e-9)
