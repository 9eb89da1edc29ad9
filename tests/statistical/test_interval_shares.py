"""Intervals of figures that are read off two or three noisy integers, as many as are published.

With little noise by the exact law, over all combinations of draws: there the lattice counts. With
much noise by draws: for all neighbours, with the noise that is planned for them, and for data of
all shapes. There the figures are close to the truth, not biased, and intervals not much too wide.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from planned_figures import (
    FAMILIES,
    HIT,
    LEVELS,
    NEIGHBOURS,
    THREE,
    TWO,
    all_draws,
    build_query,
    build_step,
    draw_all,
    find_cell,
    find_missed,
    is_plausible,
    neighbours_name,
    publish,
    read_numbers,
    with_noise,
)

from dprelease.model import (
    Column,
    ColumnType,
    Grid,
    Noise,
    NoiseFamily,
    OutputColumn,
    Part,
    Query,
    Step,
)
from dprelease.postprocess.intervals.noise_mixture import bound_mix_quantile
from dprelease.statistics.shared.statistic import Neighbours
from dprelease.statistics.statistic_registry import get_statistic

LEFT_OUT = 1e-6
CELLS = 4000


def get_noise(family: NoiseFamily, scale: Fraction) -> Noise:
    return Noise(family, scale if family is NoiseFamily.LAPLACE else scale**2)


def check_held(name: str, noise: Noise, width: int, shape: str, records: int) -> None:
    """By the exact law no figure is missed more often than stated."""
    step = with_noise(build_query(name, width), noise)
    exact, truth = find_cell(name, shape, records, width)
    draws, chances = all_draws(noise, len(exact), LEFT_OUT)
    for level in LEVELS:
        columns = publish(step, exact, draws, level)
        for figure, value in truth.items():
            wrong = float(chances[find_missed(columns, figure, value)].sum())
            assert wrong <= float(1 - level) + 1e-9, (figure, level)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("scale", ["1/20", "3/5", "5/2"])
@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("name", TWO)
def test_two_integers_with_little_noise(
    name: str, width: int, scale: str, family: NoiseFamily
) -> None:
    for shape, records in (("at the bound", 2), ("at both bounds", 7), ("skew", 400)):
        check_held(name, get_noise(family, Fraction(scale)), width, shape, records)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("scale", ["1/20", "3/5", "1"])
@pytest.mark.parametrize("name", THREE)
def test_three_integers_with_little_noise(name: str, scale: str, family: NoiseFamily) -> None:
    for width, shape, records in ((1, "at both bounds", 5), (2, "skew", 300)):
        check_held(name, get_noise(family, Fraction(scale)), width, shape, records)


TOO_NARROW = 0.7
WIDTH = 5000


@pytest.mark.one_in(12)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("known", NEIGHBOURS, ids=neighbours_name)
@pytest.mark.parametrize("name", TWO + THREE)
def test_with_the_noise_of_all_neighbours(
    name: str, known: Neighbours, family: NoiseFamily, entropy: Any
) -> None:
    """Of many records they are found out if they are narrowed, too: they are close."""
    step = build_step(build_query(name, WIDTH), known, family, Fraction(1, 20))
    draws = draw_all(step, CELLS, entropy)
    for shape, records in (("skew", 60), ("even", 40_000)):
        exact, truth = find_cell(name, shape, records, WIDTH)
        for level in LEVELS:
            columns = publish(step, exact, draws, level)
            for figure, value in truth.items():
                assert is_plausible(find_missed(columns, figure, value), level), (figure, level)
            if records > 1000:
                for figure, value in truth.items():
                    wrong = find_missed(columns, figure, value, TOO_NARROW)
                    assert not is_plausible(wrong, level), (figure, level)


# --- data of all shapes ---------------------------------------------------------------------------

LEVEL = Fraction(95, 100)
MANY = 12_000
SELDOM = 1e-6
NOISE = pytest.mark.parametrize(
    ("family", "epsilon"),
    [
        (NoiseFamily.LAPLACE, Fraction(1)),
        (NoiseFamily.LAPLACE, Fraction(1, 10)),
        (NoiseFamily.GAUSSIAN, Fraction(1)),
    ],
)


def build_wide_step(query: Query, family: NoiseFamily, epsilon: Fraction) -> Step:
    """Laplace noise of epsilon, or Gaussian noise as wide."""
    l1 = get_statistic(query.statistic).bound_sensitivity(query, NEIGHBOURS[0]).l1
    return with_noise(query, get_noise(family, l1 / epsilon))


def is_holding(columns: dict[str, OutputColumn], name: str, truth: float, **given: bool) -> bool:
    return is_plausible(find_missed(columns, name, truth, **given), LEVEL, SELDOM)


@pytest.mark.one_in(14)
@NOISE
@pytest.mark.parametrize("width", [1, 12, 5000])
@pytest.mark.parametrize("name", ["mean", "proportion", *THREE])
@pytest.mark.parametrize(
    ("shape", "records"),
    [("at the bound", 3), ("even", 10), ("even", 300), ("at the bound", 40),
     ("at the bound", 2000), ("in the middle", 500), ("at both bounds", 60), ("skew", 100),
     ("skew", 5000)],
)  # fmt: skip
def test_with_data_of_any_shape(
    shape: str, records: int, name: str, width: int, family: NoiseFamily, epsilon: Fraction,
    entropy: Any,
) -> None:  # fmt: skip
    exact, truth = find_cell(name, shape, records, width)
    step = build_wide_step(build_query(name, width), family, epsilon)
    columns = publish(step, exact, draw_all(step, MANY, entropy), LEVEL)
    for figure, value in truth.items():
        assert is_holding(columns, figure, value), figure


@pytest.mark.one_in(2)
@NOISE
@pytest.mark.parametrize("name", ["mean", "ratio", *THREE])
def test_figures_of_many_records_are_close_unbiased_and_not_wasteful(
    name: str, family: NoiseFamily, epsilon: Fraction, entropy: Any
) -> None:
    records = 20_000
    step = build_wide_step(build_query(name, WIDTH), family, epsilon)
    exact, truths = find_cell(name, "even", records, WIDTH)
    columns, truth = publish(step, exact, draw_all(step, MANY, entropy), LEVEL), truths["q"]
    error, half = read_numbers(columns["q"]) - truth, read_numbers(columns["q_noise_moe"])
    assert is_holding(columns, "q", truth)
    assert find_missed(columns, "q", truth).mean() >= (0.025 if name == "ratio" else 0.02)
    assert not is_plausible(find_missed(columns, "q", truth, 0.8), LEVEL)
    spread = float(error.std())
    if name in THREE:
        # By the delta method: sqrt(1/6) of a draw's deviation over n, of K^2.
        draw = math.sqrt(2 if family is NoiseFamily.LAPLACE else 1) / float(epsilon)
        expected = draw * math.sqrt(1 / 6) * WIDTH**2 / records
        expected /= 2 * truth if name == "stddev" else 1
        assert math.isclose(float(np.sqrt(np.mean(error**2))), expected, rel_tol=0.08)
        spread = expected
    assert abs(error.mean()) <= 4.9 * spread / math.sqrt(MANY)
    assert np.median(half) <= 1.15 * np.quantile(np.abs(error), 0.95)


@NOISE
def test_means_at_a_bound_are_not_wasteful(
    family: NoiseFamily, epsilon: Fraction, entropy: Any
) -> None:
    """Half of the draws are clamped to the truth itself."""
    exact, truth = find_cell("mean", "at the bound", 100_000, WIDTH)
    step = build_wide_step(build_query("mean", WIDTH), family, epsilon)
    columns = publish(step, exact, draw_all(step, MANY, entropy), LEVEL)
    assert find_missed(columns, "q", truth["q"]).mean() >= 0.02


def define_column(lower: int, upper: int) -> Column:
    return Column("x", ColumnType.INTEGER, Grid(Fraction(1, 100), lower, upper))


PARTS = {
    "a count over a count": (Part(None, HIT), Part()),
    "a sum over a count": (Part(define_column(0, 9000)), Part()),
    "a count over a sum": (Part(), Part(define_column(-700, 20))),
    "sums of either sign": (Part(define_column(-300, 500)), Part(define_column(-400, 90))),
}


@pytest.mark.one_in(4)
@NOISE
@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize(("first", "second"), [(30, 20), (0, 300), (-900, 200), (5000, -9000)])
def test_ratios_of_any_parts(
    parts: str, family: NoiseFamily, epsilon: Fraction, first: int, second: int, entropy: Any
) -> None:
    """The figures are in units of what one row can add, whatever their sign may mean."""
    query = Query("q", "ratio", "t", numerator=PARTS[parts][0], denominator=PARTS[parts][1])
    step = build_wide_step(query, family, epsilon)
    row = step.sensitivity.l1 // 2
    exact = [first * row, second * row]
    truth = float(exact[0] * step.unit[0] / (exact[1] * step.unit[1]))
    columns = publish(step, exact, draw_all(step, MANY, entropy), LEVEL)
    assert is_holding(columns, "q", truth, is_possible=truth >= 0)
    if abs(second) >= 200 and epsilon == 1:
        figures, half = (read_numbers(columns[name]) for name in ("q", "q_noise_moe"))
        assert not np.isnan(figures).any()
        flags = np.array(columns["q_flag"].values)
        assert ((flags == "ok") == (half <= 0.3 * np.abs(figures) + 1e-12)).all()


def test_the_mix_quantile_is_largest_at_unequal_weights() -> None:
    for family in FAMILIES:
        noise = Noise(family, Fraction(400))
        found = [bound_mix_quantile(noise, Fraction(1, 20), 0.5 + i / 40) for i in range(21)]
        assert found == sorted(found)
