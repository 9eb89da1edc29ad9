"""Ratios and proportions: what is released, how it is balanced, how it is read."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dprelease.model import (
    Adjacency,
    Column,
    ColumnType,
    Expression,
    Grid,
    MeasureKind,
    Noise,
    NoiseFamily,
    Part,
    Query,
    Step,
)
from dprelease.statistics.ratio import CLOSE, balance
from dprelease.statistics.shared.statistic import Neighbours, conjoin
from dprelease.statistics.statistic_registry import STATISTICS

Planned = Callable[..., Step]
LEVEL = Fraction(95, 100)
SILENT = Noise(NoiseFamily.NONE, Fraction(0))


def column(lower: int, upper: int, step: str = "1") -> Column:
    return Column("x", ColumnType.DECIMAL, Grid(Fraction(step), lower, upper))


def ratio(numerator: Part, denominator: Part, where: Expression | None = None) -> Query:
    return Query("q", "ratio", "t", where=where, numerator=numerator, denominator=denominator)


@given(st.integers(1, 10**15), st.integers(1, 10**15))
def test_both_parts_move_about_as_far(first: int, second: int) -> None:
    query = ratio(Part(column(0, first)), Part(column(-second, 0)))
    a, b = balance(query)
    assert min(a, b) >= 1
    assert abs(Fraction(a * first, b * second) - 1) <= Fraction(1, 14)
    assert min(a, b) <= 1 / (2 * CLOSE)
    l1 = STATISTICS["ratio"].bound_sensitivity(query, Neighbours(Adjacency.ADD_REMOVE)).l1
    assert l1 == a * first + b * second


def test_a_sum_over_a_count(planned: Planned) -> None:
    """The figures of a release: euros in cents, at most 500.00 each, over the number of records."""
    query = ratio(Part(column(0, 50_000, "0.01")), Part())
    released = STATISTICS["ratio"].define_release(query)
    assert released.transform == ((1, 0), (0, 50_000))
    assert released.unit == (Fraction(1, 100), Fraction(1, 50_000))
    step = planned(query, SILENT)
    value, half, flag, *ends = STATISTICS["ratio"].build_columns(
        step, [(123_456, -100, 7), (50_000 * 1000, 50_000, 0)], LEVEL
    )
    assert value.decimals == 5
    assert value.values == [123_456, -100_000, None]
    assert half.values == [2, 2, None]  # for two roundings: there is no noise here
    assert flag.values == ["ok", "ok", "low_reliability"]
    assert [end.values for end in ends] == [[123_454, 0, None], [123_458, 0, None]]  # never below 0


def test_a_ratio_whose_denominator_drowns_in_noise_is_missing(planned: Planned) -> None:
    query = ratio(Part(column(0, 10)), Part())
    step = planned(query)  # Laplace noise of scale 20 on both
    value, half, flag, low, high = STATISTICS["ratio"].build_columns(
        step, [(50, 5000), (40, 10_000)], LEVEL
    )
    assert value.values[0] is half.values[0] is None
    assert flag.values == ["low_reliability", "ok"]
    assert value.values[1] == 5 * 10**value.decimals
    assert low.values[0] is high.values[0] is None
    assert 0 < low.values[1] < value.values[1] < high.values[1]  # type: ignore[operator]
    low, high = STATISTICS["ratio"].build_columns(step, [(0,), (1000,)], LEVEL)[3:]
    assert low.values == [0]  # no record brings less
    assert high.values[0] > 0  # type: ignore[operator]


def test_conditions_of_the_query_and_of_a_part_are_both_asked() -> None:
    a, b = Expression("x > 1", ("x",)), Expression("y < 2", ("y", "x"))
    query = ratio(Part(None, b), Part(column(0, 9)), a)
    first, second = STATISTICS["ratio"].define_release(query).measures
    assert first.kind is MeasureKind.RECORDS
    assert first.where == Expression("(x > 1) AND (y < 2)", ("x", "y"))
    assert second.where == a
    assert conjoin(None, None) is None
    assert conjoin(a, None) == conjoin(None, a) == a


@pytest.mark.parametrize(("hits", "others"), [(0, 100), (100, 0), (25, 75)])
def test_a_proportion(planned: Planned, hits: int, others: int) -> None:
    condition, known = (Expression(text, ("x",)) for text in ("x > 1", "(x > 1) IS NOT NULL"))
    parts = {"numerator": Part(None, condition), "denominator": Part()}
    query = Query("q", "proportion", "t", **parts, among=known)
    proportion = STATISTICS["proportion"]
    released = proportion.define_release(query)
    assert [each.where for each in released.measures] == [known, condition]
    assert released.transform == ((0, 1), (1, -1))
    columns = proportion.build_columns(planned(query), [(hits,), (others,)], LEVEL)
    by_name = {each.name: each for each in columns}
    assert by_name["q"].values == [hits * 10**7 // 100]
    assert by_name["q_count"].values == [100]
    half = by_name["q_noise_moe"].values[0]
    assert isinstance(half, int)
    # the widest interval, at a share of 0 or 1, is ln 20 + 1 of a hundred records
    assert 0.015 * 10**7 < half < 0.0402 * 10**7
