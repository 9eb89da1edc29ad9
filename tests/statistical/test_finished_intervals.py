"""Intervals of counts and sums that are moved or hidden hold the truth, and not much oftener.

Figures have the real noise, many cells with the same truth in one table. What is hidden counts
neither way: intervals hold among the figures that are shown.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import binom

from dprelease.kernel.chapters.many_draws.sampler import sample
from dprelease.kernel.distributions.laws import compute_noise_variance, find_halfwidth
from dprelease.model import (
    Column,
    ColumnType,
    Expression,
    Finish,
    Grid,
    Group,
    Noise,
    NoiseFamily,
    OutputColumn,
    OutputTable,
    Query,
)
from dprelease.postprocess.finishing.finished_tables import Noisy, finish_tables
from dprelease.postprocess.intervals.combined_noise import Part
from dprelease.postprocess.intervals.estimate_columns import Layout, estimate_columns

Floats = npt.NDArray[np.float64]

LEVEL = Fraction(95, 100)
ALARM = 1e-7
MOST = 0.98  # counts are whole: an interval of whole numbers can't hold exactly 95%
LAWS = {
    "laplace": Noise(NoiseFamily.LAPLACE, Fraction(10, 3)),
    "gaussian": Noise(NoiseFamily.GAUSSIAN, Fraction(10)),
    "wide": Noise(NoiseFamily.LAPLACE, Fraction(700)),
}
LAW = pytest.mark.parametrize("law", LAWS)


class Shown(NamedTuple):
    """Of each cell if it is shown, its figure, and the interval that ends and half-width state."""

    visible: npt.NDArray[np.bool_]
    value: Floats
    half: Floats
    low: Floats
    high: Floats


def build_query(cells: int, name: str = "q", **finish: Any) -> Query:
    if "publish_if" in finish:
        finish["publish_if"] = Expression(finish["publish_if"], ())
    labels = tuple(f"k{place}" for place in range(cells))
    groups = (Group("g", ColumnType.STRING, labels, keys=labels),) if cells > 1 else ()
    return Query(name, "count", f"t_{name}", groups, finish=Finish(**finish))


def build_table(query: Query, values: list[int], noise: Noise) -> OutputTable:
    layout = Layout(query.name, 0, "number", LEVEL)
    columns = estimate_columns(layout, values, find_halfwidth(noise, 1 - LEVEL))
    keys = [OutputColumn(group.column, "key", group.labels, "keys") for group in query.groups]
    return OutputTable(query.table, (*keys, *columns))


def describe(query: Query, noise: Noise, **more: Any) -> Noisy:
    variance = Fraction(compute_noise_variance(noise))
    return Noisy(query, query.name, variance, (Part(noise, Fraction(1), 1),), **more)


def read(table: OutputTable, name: str = "q") -> Shown:
    columns = {column.name: column for column in table.columns}

    def numbers(suffix: str) -> Floats:
        column = columns[name + suffix]
        return np.array(column.values, dtype=float) / 10.0**column.decimals

    parts = [numbers(suffix) for suffix in ("", "_noise_moe", "_low", "_high")]
    return Shown(~np.isnan(parts[0]), *parts)


def hold(shown: Shown, truth: Floats, cells: npt.NDArray[np.bool_] | None = None) -> None:
    """Check that ends and half-widths hold the truth often enough, and ends not too often."""
    chosen = shown.visible if cells is None else shown.visible & cells
    number = int(chosen.sum())
    inside = (shown.low <= truth) & (truth <= shown.high)
    within = np.abs(shown.value - truth) <= shown.half + 1e-9
    missed = int((chosen & ~inside).sum())
    assert binom.sf(missed - 1, number, float(1 - LEVEL)) > ALARM, missed / number
    assert binom.cdf(missed, number, 1 - MOST) > ALARM, missed / number
    assert not (chosen & inside & ~within).any()


CELLS = 40_000
CONDITIONS: dict[str, dict[str, Any]] = {
    "a limit": {"hide_below": 3},
    "beyond its noise": {"publish_if": "value > noise_moe"},
    "small noise": {"publish_if": "noise_moe < 0.7 * value"},
}
DISTANCES = [-1.5, -0.5, 0.0, 0.7, 2.0, 6.0]


def finish_cells(
    truth: int, noise: Noise, entropy: Any, finish: dict[str, Any]
) -> tuple[Shown, npt.NDArray[np.int64]]:
    values = sample(noise, CELLS, entropy) + truth
    query = build_query(CELLS, **finish)
    table = build_table(query, values.tolist(), noise)
    result = finish_tables([table], [describe(query, noise)], LEVEL)
    return read(result.tables[0]), values


@LAW
@pytest.mark.one_in(12)
@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("distance", DISTANCES)
def test_intervals_hold_among_the_figures_that_are_shown(
    law: str, condition: str, distance: float, entropy: Any
) -> None:
    noise, finish = LAWS[law], dict(CONDITIONS[condition])
    scale = compute_noise_variance(noise) ** 0.5
    half = find_halfwidth(noise, 1 - LEVEL)
    limits = {"a limit": round(3 * scale), "beyond its noise": half, "small noise": half / 0.7}
    if "hide_below" in finish:
        finish["hide_below"] = Fraction(limits[condition])
    truth = round(limits[condition] + distance * scale)
    shown, values = finish_cells(truth, noise, entropy, finish)
    hold(shown, np.full(CELLS, float(truth)))
    plain = np.abs(values - truth) <= half  # the interval of all figures, shown or not
    share = plain[shown.visible].mean()
    assert share < 0.9 or distance >= -0.5
    assert distance < 6 or np.nanmean(shown.high - shown.low) <= 2.01 * half


@LAW
@pytest.mark.one_in(3)
def test_intervals_hold_where_figures_of_both_signs_are_shown(law: str, entropy: Any) -> None:
    noise = LAWS[law]
    half = find_halfwidth(noise, 1 - LEVEL)
    grid = Grid(Fraction(1), -5, 5)
    query = build_query(CELLS, publish_if="ABS(value) > noise_moe")
    query = Query("q", "sum", query.table, query.groups, Column("x", ColumnType.INTEGER, grid),
                  finish=query.finish)  # fmt: skip
    for truth in (-half // 2, 0, half, 3 * half):
        values = (sample(noise, CELLS, entropy) + truth).tolist()
        result = finish_tables([build_table(query, values, noise)], [describe(query, noise)], LEVEL)
        shown = read(result.tables[0])
        chosen, inside = shown.visible, (shown.low <= truth) & (truth <= shown.high)
        missed, number = int((chosen & ~inside).sum()), int(chosen.sum())
        assert binom.sf(missed - 1, number, float(1 - LEVEL)) > ALARM, truth


@LAW
def test_private_keys_are_judged_by_the_higher_limit(law: str, entropy: Any) -> None:
    noise = LAWS[law]
    threshold = 3 * find_halfwidth(noise, 1 - LEVEL)
    limit = threshold + threshold // 3
    values = sample(noise, CELLS, entropy) + threshold
    query = build_query(CELLS, hide_below=Fraction(limit))
    noisy = describe(query, noise, threshold=threshold)
    table = build_table(query, values[values >= threshold].tolist(), noise)
    table = OutputTable(table.name, table.columns[1:])
    shown = read(finish_tables([table], [noisy], LEVEL).tables[0])
    hold(shown, np.full(len(shown.value), float(threshold)))


# --- 0 or more, whole, in agreement ---------------------------------------------------------------

SIZES = np.array([0] * 20 + [1, 2, 5, 10, 20, 50, 100, 200], dtype=float)
ROUNDS = 250


def hold_by_truth(shown: list[Shown], truth: Floats) -> None:
    joined = Shown(*(np.concatenate(part) for part in zip(*shown, strict=True)))
    truths = np.tile(truth, len(shown))
    for size in np.unique(truth):
        hold(joined, truths, truths == size)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
@pytest.mark.parametrize("integer", [False, True])
def test_cells_of_0_or_more_have_short_intervals(law: str, integer: bool, entropy: Any) -> None:
    noise, shown = LAWS[law], []
    query = build_query(len(SIZES), nonnegative=True, integer=integer)
    for _ in range(ROUNDS):
        values = (sample(noise, len(SIZES), entropy) + SIZES.astype(int)).tolist()
        result = finish_tables([build_table(query, values, noise)], [describe(query, noise)], LEVEL)
        shown.append(read(result.tables[0]))
    hold_by_truth(shown, SIZES)
    of_zeros = np.concatenate([(one.high - one.low)[:20] for one in shown])
    assert of_zeros.mean() < 1.3 * find_halfwidth(noise, 1 - LEVEL)
    assert of_zeros.min() > 0


@pytest.mark.one_in(4)
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
@pytest.mark.parametrize("nonnegative", [False, True])
def test_figures_that_agree_have_the_intervals_of_less_noise(
    law: str, nonnegative: bool, entropy: Any
) -> None:
    noise = LAWS[law]
    truths = {"q": np.array([0, 3, 40.0]), "total": np.array([43.0])}
    queries = {
        name: build_query(len(truth), name, consistent=True, nonnegative=nonnegative)
        for name, truth in truths.items()
    }
    shown: dict[str, list[Shown]] = {name: [] for name in truths}
    for _ in range(ROUNDS * 4):
        drawn = {name: sample(noise, len(truth), entropy) for name, truth in truths.items()}
        tables = [
            build_table(query, (drawn[name] + truths[name].astype(int)).tolist(), noise)
            for name, query in queries.items()
        ]
        result = finish_tables(
            tables, [describe(query, noise) for query in queries.values()], LEVEL
        )
        for table, name in zip(result.tables, truths, strict=True):
            shown[name].append(read(table, name))
    for name, truth in truths.items():
        hold_by_truth(shown[name], truth)
    half = find_halfwidth(noise, 1 - LEVEL)
    widths = np.concatenate([one.high - one.low for one in shown["total"]])
    assert widths.mean() < 1.9 * half
