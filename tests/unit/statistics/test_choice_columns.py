"""Names that were chosen, quantiles that were searched: how they are read."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import pytest

from dprelease.kernel.distributions.laws import sum_halfwidth
from dprelease.language import word
from dprelease.mechanisms.exponential import find_shortfall
from dprelease.mechanisms.quantile_error import rank_halfwidth
from dprelease.model import (
    Candidates,
    Column,
    ColumnType,
    Expression,
    Form,
    Grid,
    Group,
    Noise,
    NoiseFamily,
    QuantileScheme,
    QuantileStep,
    Query,
    Step,
)
from dprelease.statistics.statistic_registry import STATISTICS

Planned = Callable[..., Step]
LEVEL = Fraction(95, 100)
RATE = Fraction(1, 2)
CHOICE = Noise(NoiseFamily.PERMUTE_AND_FLIP, RATE)
AXIS = Group("v", ColumnType.STRING, ("x", "y", "z", "other"), ("x", "y", "z"), other="other")


def test_a_mode_is_the_label_of_its_position(planned: Planned) -> None:
    step = planned(Query("q", "mode", "t", axis=AXIS), CHOICE)
    name, short, flag = STATISTICS["mode"].build_columns(step, [(3, 0)], LEVEL)
    assert name.values == ["other", "x"]
    assert short.values == [find_shortfall(True, 4, 1, RATE, 1 - LEVEL)] * 2
    assert flag.values == [None, None]
    assert (
        word(STATISTICS["mode"].describe_expected_error(step, LEVEL))
        == "at most 6 records short of the best, of 4 candidates, with 95% certainty"
    )


def test_the_best_candidate_falls_short_in_points_of_its_score(planned: Planned) -> None:
    grid = Grid(Fraction(1, 10), 0, 20)
    given = Candidates(("5", "7"), ColumnType.INTEGER, Expression("1", ("candidate",)), grid)
    step = planned(Query("q", "best", "t", candidates=given), CHOICE)
    name, short, _ = STATISTICS["best"].build_columns(step, [(1, 0, 1)], LEVEL)
    assert name.values == ["7", "5", "7"]
    assert short.decimals == 1
    # of two, the other is taken with half its chance of being accepted: exp(-s/2) <= 1/10
    assert short.values == [math.ceil(math.log(10) / RATE) - 1] * 3
    assert step.sensitivity.choice_l1 == 20


def test_the_top_by_choices(planned: Planned) -> None:
    step = planned(Query("q", "top_k", "t", axis=AXIS, picks=3), CHOICE)
    columns = STATISTICS["top_k"].build_columns(step, [(1,), (3,), (0,)], LEVEL)
    assert [each.values for each in columns[:3]] == [["y"], ["other"], ["x"]]
    assert columns[3].values == [find_shortfall(True, 4, 3, RATE, 1 - LEVEL)]
    assert "number 2 of the most frequent values" in word(columns[1].description)


def test_the_top_by_noisy_counts(planned: Planned) -> None:
    noise = Noise(NoiseFamily.LAPLACE, Fraction(2))
    step = planned(Query("q", "top_k", "t", axis=AXIS, picks=2), noise, form=Form.NUMBERS)
    counts = (5, 900, 800, 7, 3, 2, 1, 3)
    first, second, short, flag = STATISTICS["top_k"].build_columns(step, [counts], LEVEL)
    assert first.values == ["y", "x"]
    assert second.values == ["z", "other"]
    # 3 + 2 pairs can be in the wrong order by more than this, each one way
    assert short.values == [sum_halfwidth(noise, 2, Fraction(2, 5) * (1 - LEVEL))] * 2
    assert flag.values == ["ok", "low_reliability"]


def test_more_picks_than_labels_leave_ranks_empty(planned: Planned) -> None:
    noise = Noise(NoiseFamily.LAPLACE, Fraction(2))
    step = planned(Query("q", "top_k", "t", axis=AXIS, picks=5), noise, form=Form.NUMBERS)
    columns = STATISTICS["top_k"].build_columns(step, [(1, 2, 3, 4)], LEVEL)
    assert [each.values for each in columns[:5]] == [["other"], ["z"], ["y"], ["x"], [None]]


HALF, TENTH = Fraction(1, 2), Fraction(1, 10)
SCHEME = QuantileScheme(
    (TENTH, HALF),
    (
        QuantileStep(2, 0, 3, HALF, Fraction(1, 8)),
        QuantileStep(1, 0, 2, Fraction(1, 5), Fraction(1, 20)),
    ),
)


@pytest.mark.parametrize("points", [None, (4, 10, 36)])
def test_quantiles(planned: Planned, points: tuple[int, ...] | None) -> None:
    grid = Grid(Fraction(1, 4), -8, 40)
    column = Column("x", ColumnType.DECIMAL, grid)
    query = Query("q", "quantile", "t", column=column, quantiles=(TENTH, HALF), points=points)
    step = planned(query, Noise(NoiseFamily.EXPONENTIAL, Fraction(1, 8)), scheme=SCHEME)
    columns = STATISTICS["quantile"].build_columns(step, [(-8, 4), (10, 36)], LEVEL)
    by_name = {each.name: each for each in columns}
    assert by_name["q_q10"].values == [-200, 100]
    assert by_name["q_q50"].values == [250, 900]
    assert by_name["q_q50"].decimals == 2
    assert "q_q50_noise_moe" not in by_name
    low, high = (-8, 40) if points is None else (0, 2)
    wanted = [rank_halfwidth(SCHEME, at, low, high, 1 - LEVEL) for at in (0, 1)]
    assert by_name["q_q10_rank_moe"].values == [wanted[0]] * 2
    assert by_name["q_q50_rank_moe"].values == [wanted[1]] * 2
    assert (
        word(STATISTICS["quantile"].describe_expected_error(step, LEVEL))
        == f"within {max(wanted)} ranks"
    )


@pytest.mark.parametrize("name", ["min", "max"])
def test_an_extreme_says_that_it_is_a_quantile(planned: Planned, name: str) -> None:
    grid = Grid(Fraction(1), 0, 100)
    column = Column("x", ColumnType.INTEGER, grid)
    q = Fraction(1, 100) if name == "min" else Fraction(99, 100)
    scheme = QuantileScheme((q,), (QuantileStep(1, 0, 2, q, Fraction(1, 200)),))
    query = Query("q", name, "t", column=column, quantiles=(q,))
    step = planned(query, Noise(NoiseFamily.EXPONENTIAL, Fraction(1, 200)), scheme=scheme)
    value = STATISTICS[name].build_columns(step, [(5,)], LEVEL)[0]
    assert f"share {'0.01' if name == 'min' else '0.99'}" in word(value.description)
    assert "quantile, for a true" in word(value.description)
    assert "quantile, for a true" in word(STATISTICS[name].describe_expected_error(step, LEVEL))
