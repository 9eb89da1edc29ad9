"""The columns of every statistic: names, lengths, kinds, also where no key was selected."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from dprelease.language import word
from dprelease.model import (
    Candidates,
    Column,
    ColumnType,
    CurveAxis,
    Expression,
    Form,
    Grid,
    Group,
    Noise,
    NoiseFamily,
    Part,
    QuantileScheme,
    QuantileStep,
    Query,
    Step,
)
from dprelease.statistics.shared.spec_keys import ColumnUse
from dprelease.statistics.statistic_registry import STATISTICS

Planned = Callable[..., Step]

LEVEL = Fraction(95, 100)
COLUMN = Column("x", ColumnType.DECIMAL, Grid(Fraction(1, 4), -8, 40))
AXIS = Group("v", ColumnType.STRING, ("x", "y", "z"), ("x", "y", "z"))
HALF = Fraction(1, 2)
HIT = Expression("x > 1", ("x",))
COUNT = ("_count", "_count_noise_moe")
THREE = ("", "_noise_moe", "_flag")
FIVE = (*THREE, "_low", "_high")
MEAN = ("_mean", "_mean_noise_moe", "_mean_low", "_mean_high")
SCHEME = QuantileScheme((HALF,), (QuantileStep(1, 0, 2, HALF, Fraction(1, 4)),))
WITH_COLUMN = {"sum", "mean", "variance", "stddev", "count_distinct"}
SUFFIXES = {
    "mean": (*FIVE, *COUNT),
    "proportion": (*FIVE, *COUNT),
    "ratio": FIVE,
    "variance": (*FIVE, *MEAN, *COUNT),
    "stddev": (*FIVE, *MEAN, *COUNT),
    "cumulative": (*THREE, "_q50", "_q50_low", "_q50_high"),
    "quantile": ("", "_rank_moe", "_flag"),
    "median": ("", "_rank_moe", "_flag"),
    "min": ("", "_rank_moe", "_flag"),
    "max": ("", "_rank_moe", "_flag"),
    "top_k": ("_1", "_2", "_noise_moe", "_flag"),
}


def query_of(name: str) -> Query:
    if name in {"quantile", "median", "min", "max"}:
        return Query("q", name, "t", column=COLUMN, quantiles=(HALF,))
    if name in {"mode", "top_k"}:
        return Query("q", name, "t", axis=AXIS, picks=2 if name == "top_k" else 1)
    if name == "best":
        grid = Grid(Fraction(1, 10), 0, 20)
        given = Candidates(("5", "7"), ColumnType.INTEGER, Expression("1", ("candidate",)), grid)
        return Query("q", name, "t", candidates=given)
    if name == "ratio":
        return Query("q", name, "t", numerator=Part(COLUMN), denominator=Part(None, HIT))
    if name == "cumulative":
        one = Group("v", ColumnType.STRING, ("x",), ("x",))
        return Query("q", name, "t", (one,), quantiles=(HALF,))
    if name == "density":
        labels = tuple("abcd")
        one = Group("x", ColumnType.DECIMAL, labels, labels)
        centres = tuple(map(Fraction, (0, 3, 6, 9)))
        axis = CurveAxis(COLUMN, centres, Fraction(3), (Fraction(0), Fraction(5)))
        return Query("q", name, "t", (one,), column=COLUMN, curve=(axis,))
    if name == "proportion":
        return Query("q", name, "t", numerator=Part(None, HIT), denominator=Part())
    return Query("q", name, "t", column=COLUMN if name in WITH_COLUMN else None)


def step_of(name: str, planned: Planned) -> Step:
    form = STATISTICS[name].define_release(query_of(name)).form
    if form is Form.NUMBERS:
        return planned(query_of(name))
    noise = Noise(NoiseFamily.EXPONENTIAL, Fraction(1, 2))
    return planned(query_of(name), noise, scheme=SCHEME if form is Form.QUANTILES else None)


@pytest.mark.parametrize(
    "name", [name for name, of in STATISTICS.items() if of.keys.column is not ColumnUse.CURVE]
)
@pytest.mark.parametrize("cells", [0, 1, 3])
def test_columns(name: str, cells: int, planned: Planned) -> None:
    statistic, step = STATISTICS[name], step_of(name, planned)
    integers = step.query.picks if step.form is Form.CHOICE else len(step.transform)
    columns = statistic.build_columns(step, [(1,) * cells] * integers, LEVEL)
    suffixes = statistic.list_suffixes(step.query)
    assert suffixes == SUFFIXES.get(name, THREE)
    assert [column.name for column in columns] == ["q" + suffix for suffix in suffixes]
    for column in columns:
        assert len(column.values) == cells
        assert column.query == "q"
        assert column.description
        wanted = {str} if column.kind == "text" else {int}
        assert {type(each) for each in column.values} <= wanted | {type(None)}
        assert bool(column.decimals) <= (column.kind == "number")


@pytest.mark.parametrize("name", STATISTICS)
def test_errors_are_stated_before_any_data_is_read(name: str, planned: Planned) -> None:
    statistic, step = STATISTICS[name], step_of(name, planned)
    assert any(letter.isdigit() for letter in word(statistic.describe_expected_error(step, LEVEL)))
    half, example = (
        statistic.compute_halfwidth(step, LEVEL),
        statistic.compute_halfwidth_at(step, LEVEL, 1000),
    )
    assert half is None or example is None
    assert half is None or half > 0
    assert example is None or example > 0


@pytest.mark.parametrize("name", STATISTICS)
def test_what_is_released_fits_together(name: str) -> None:
    released = STATISTICS[name].define_release(query_of(name))
    assert len(released.unit) == len(released.transform) > 0
    assert {len(row) for row in released.transform} == {len(released.measures)}
    assert all(unit > 0 for unit in released.unit)


def test_several_quantiles_have_their_own_columns(planned: Planned) -> None:
    wanted = (Fraction(1, 10), Fraction(1, 8), HALF)
    query = Query("q", "quantile", "t", column=COLUMN, quantiles=wanted)
    quantile = STATISTICS["quantile"]
    assert quantile.list_suffixes(query)[::3] == ("_q10", "_q12_5", "_q50")
    assert len(quantile.define_release(query).unit) == 3


def test_a_count_says_what_its_threshold_hides(planned: Planned) -> None:
    step = planned(Query("q", "count", "t"), threshold=1234)
    (value, *_) = STATISTICS["count"].build_columns(step, [(2000,)], LEVEL)
    assert "below 1,234 are not shown" in word(value.description)


def test_a_count_that_no_neighbour_changes_is_exact(planned: Planned) -> None:
    step = planned(Query("q", "count", "t"), Noise(NoiseFamily.NONE, Fraction(0)))
    value, half, _ = STATISTICS["count"].build_columns(step, [(2000,)], LEVEL)
    assert "exact" in word(value.description)
    assert half.values == [0]
