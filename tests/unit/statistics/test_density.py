"""What one record does to the integers of a curve, and the curve that is read from them."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import builders
import numpy as np
import pytest
from msgspec.structs import replace

from dprelease.kernel.certification import certify
from dprelease.kernel.chapters.strategies.mixed_cells import mix_cells
from dprelease.kernel.chapters.strategies.strategy_change import bound_step_change
from dprelease.model import Adjacency, CurveAxis, NoiseFamily, Plan, Step
from dprelease.postprocess.intervals.curves import build_reader
from dprelease.privacy.curve_matrices import FINENESS, build_bins, build_waves
from dprelease.release.payload import describe_laws
from dprelease.release.plan import plan_and_certify, plan_as_charged
from dprelease.statistics.shared.statistic import Neighbours
from dprelease.statistics.statistic_registry import get_statistic

LEVEL = Fraction(95, 100)


def plan_of(*queries: dict[str, Any], **privacy: Any) -> Plan:
    bounds = {"lower": 0, "upper": 20, "source": "s"}
    made = builders.plan(
        privacy={"epsilon": 1} | privacy,
        columns={
            "x": {"type": "float"} | bounds,
            "y": {"type": "integer"} | bounds,
            "w": {"type": "decimal", "step": Fraction(1, 20)} | bounds,
            "g": {"type": "string", "keys": ["a", "b"], "source": "s"},
        },
        query=[
            {"name": f"q{at}", "statistic": "density", **query} for at, query in enumerate(queries)
        ],
    )
    certify(made)
    return made


def step_of(query: dict[str, Any], **privacy: Any) -> Step:
    (step,) = plan_of(query, **privacy).steps
    return step


SHAPES: list[Any] = [
    {"column": "y"},
    {"column": "y", "by": ["g"]},
    {"column": "x", "bandwidth": 5},
    {"columns": ["x", "y"], "bandwidth": 8},
    pytest.param({"column": "x", "bandwidth": Fraction(1, 5)}, marks=pytest.mark.thorough),
]


@pytest.mark.one_in(10)
@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_no_record_moves_it_further(
    shape: dict[str, Any], mechanism: str, adjacency: Adjacency
) -> None:
    """By all records, or all pairs of them; reached, but by the bound of two columns replaced."""
    step = step_of(
        shape | {"mechanism": mechanism}, adjacency=adjacency.value, delta=Fraction(1, 10**6)
    )
    sizes = [len(group.labels) for group in step.query.groups]
    cells = math.prod(sizes)
    narrow = len(step.axes[-1].entries) > 100  # too many pairs to be looked at
    every = (
        range(cells) if cells < 600 and not narrow else [0, 1, cells // 3, cells // 2, cells - 1]
    )
    columns = np.array(
        [mix_cells([int(at == cell) for at in range(cells)], sizes, step.axes) for cell in every],
        dtype=np.int64,
    )
    changes = [columns]
    if adjacency is Adjacency.REPLACE_ONE:
        changes += [columns[at:] - column for at, column in enumerate(columns)]
    l1 = max(int(abs(change).sum(axis=1).max()) for change in changes)
    l2_squared = max(int((change**2).sum(axis=1).max()) for change in changes)
    assert l1 <= step.sensitivity.l1
    assert l2_squared <= step.sensitivity.l2_squared
    if len(every) == cells:
        assert (l1, l2_squared) == (step.sensitivity.l1, step.sensitivity.l2_squared)
    privacy = plan_of(shape, adjacency=adjacency.value).release.privacy
    assert bound_step_change(step, privacy).l1 <= step.sensitivity.l1


def exact_curve(step: Step, values: list[float]) -> list[float]:
    (axis,) = step.query.curve
    lower, upper, width = float(axis.lower), float(axis.upper), float(axis.bandwidth)

    def at(point: float) -> float:
        turns = [2 * (upper - lower) * turn for turn in range(-2, 3)]
        seen = [v + t for value in values for v in (value, 2 * lower - value) for t in turns]
        law = (math.exp(-(((point - v) / width) ** 2) / 2) for v in seen)
        return sum(law) / (len(values) * width * math.sqrt(2 * math.pi))

    return [at(float(point)) for point in axis.points]


@pytest.mark.one_in(6)
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
@pytest.mark.parametrize("shape", [{"bandwidth": 4}, {}, {"bandwidth": 10}], ids=str)
def test_without_noise_it_is_the_curve_of_the_values(shape: dict[str, Any], mechanism: str) -> None:
    step = step_of({"column": "x", "mechanism": mechanism, **shape}, delta=Fraction(1, 10**6))
    rng = np.random.default_rng(3)
    values = np.clip(rng.normal(8, 4, 3000), 0, 19.999).tolist()
    (axis,) = step.query.curve
    (size,) = (len(group.labels) for group in step.query.groups)
    cells = np.bincount((np.array(values) / 20 * size).astype(int), minlength=size)
    exact = mix_cells([1000 * cell for cell in cells.tolist()], [size], step.axes)
    columns = get_statistic("density").build_columns(step, [exact], LEVEL)
    curve = np.array(columns[0].values, dtype=float) / 10 ** columns[0].decimals
    true = exact_curve(step, values)
    peak = 1 / (float(axis.bandwidth) * math.sqrt(2 * math.pi))
    assert abs(curve - true).max() < 0.002 * peak
    points = np.array(list(map(float, axis.points)))
    assert abs(np.trapezoid(curve, points) - 1) < 0.005


def curve_of_range(axis: CurveAxis, place: int) -> np.ndarray:
    """The mean curve of all values that count in one range."""
    values, number = axis.column.grid.width + 1, len(axis.centres)
    start, end = -(-place * values // number), -(-(place + 1) * values // number)
    inside = np.arange(start, end) * float(axis.column.grid.step)
    points = np.array(list(map(float, axis.points)))[:, None]
    width = float(axis.bandwidth)
    turns = [sign * inside + 40 * turn for sign in (1, -1) for turn in range(-3, 4)]
    law = sum(np.exp(-(((points - turn) / width) ** 2) / 2).mean(axis=1) for turn in turns)
    return law / (width * math.sqrt(2 * math.pi))


@pytest.mark.one_in(5)
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
@pytest.mark.parametrize("shape", [{"bandwidth": 4}, {}, {"bandwidth": Fraction(1, 5)}], ids=str)
@pytest.mark.parametrize("column", ["x", "w"])
def test_the_interval_holds_the_curve_of_any_values(
    column: str, shape: dict[str, Any], mechanism: str
) -> None:
    """Without noise. The furthest curve of all is that of values of one range."""
    delta = Fraction(1, 10**6)
    step = step_of({"column": column, "mechanism": mechanism, **shape}, delta=delta)
    (axis,) = step.query.curve
    peak = 1 / (float(axis.bandwidth) * math.sqrt(2 * math.pi))
    for place in range(0, 256, 17):
        curve, half = without_noise(step, place)
        assert (abs(curve - curve_of_range(axis, place)) <= half).all()
        assert half.max() < 0.005 * peak


def without_noise(step: Step, place: int) -> list[np.ndarray]:
    """The curve of very many records of one range, and its half-widths."""
    (size,) = [len(group.labels) for group in step.query.groups]
    exact = mix_cells([10**9 * (at == place) for at in range(size)], [size], step.axes)
    columns = get_statistic("density").build_columns(step, [exact], LEVEL)[:2]
    return [np.array(column.values, dtype=float) / 10**column.decimals for column in columns]


def test_one_wide_bin_for_a_record_would_be_further_off_than_the_interval_says() -> None:
    """As version 0.2 counted it."""
    step = step_of({"column": "x", "mechanism": "laplace"})
    (axis,) = step.query.curve
    query = replace(step.query, curve=(replace(axis, smooth=False),))
    wide = replace(step, query=query, axes=get_statistic("density").define_release(query).axes)
    curve, half = without_noise(wide, 17)
    assert (abs(curve - curve_of_range(axis, 17)) > half + 0.01).any()


@pytest.mark.parametrize(
    ("shape", "parts"),
    [({"column": "x"}, [FINENESS]), ({"columns": ["x", "y"], "bandwidth": [2, 1]}, [FINENESS, 1])],
    ids=str,
)
def test_splines_share_every_record_out_to_its_last_part(
    shape: dict[str, Any], parts: list[int]
) -> None:
    """Of values that are few each counts by itself."""
    step = step_of(shape | {"mechanism": "laplace"})
    sums = [{*map(sum, zip(*matrix.entries, strict=True))} for matrix in step.axes]
    assert sums == [{each} for each in parts]
    assert min(min(row) for matrix in step.axes for row in matrix.entries) >= 0
    assert step.unit == (Fraction(1, math.prod(parts)),)


def test_what_errs_less_is_released() -> None:
    delta = Fraction(1, 10**6)
    alone = step_of({"column": "x"}, delta=delta)
    assert alone.noise.family is NoiseFamily.LAPLACE
    assert len(alone.axes[0].entries) == 27
    many = plan_of(*({"column": "x", "points": [at, 20]} for at in range(12)), delta=delta)
    assert {step.noise.family for step in many.steps} == {NoiseFamily.GAUSSIAN}
    axis = alone.query.curve[0]
    errors = {
        matrix.kind if matrix is None else len(matrix.entries): math.sqrt(
            float((build_reader(axis, matrix).rows ** 2).sum(axis=1).mean())
            * max(sum(v * v for v in column) for column in zip(*matrix.entries, strict=True))
        )
        for matrix in (build_waves(axis), build_bins(axis))
    }
    assert {len(step.axes[0].entries) for step in many.steps} == {
        min(errors, key=errors.__getitem__)
    }
    assert errors[29] < 0.85 * errors[27]


def test_of_no_records_nothing_is_told() -> None:
    step = step_of({"column": "x", "by": ["g"], "points": [0, 5]})
    exact = [0] * 27 + [1000 * FINENESS] * 27
    columns = get_statistic("density").build_columns(step, [exact], LEVEL)
    for column in columns[:2]:
        assert column.values[:2] == [None, None]
        assert None not in column.values[2:]
    assert columns[2].values == ["low_reliability"] * 2 + ["ok"] * 2


def test_of_people_it_moves_by_all_their_rows() -> None:
    statistic = get_statistic("density")
    query = step_of({"column": "x"}).query
    from dprelease.privacy.sensitivity import Contribution

    known = Neighbours(Adjacency.ADD_REMOVE, Contribution(3, 2, 2), people=True)
    assert statistic.bound_sensitivity(query, known).l1 == 3 * FINENESS
    rows = replace(known, contribution=Contribution(1, 1, 1))
    alone = statistic.bound_sensitivity(query, rows).l2_squared
    assert statistic.bound_sensitivity(query, known).l2_squared == 9 * alone


def test_points_of_two_columns() -> None:
    given = {"columns": ["x", "y"], "points": [3, [0, 2, 20]], "table": "t"}
    (read,) = plan_of(given).reads
    groups = get_statistic("density").list_published_groups(read.query)
    assert list(product(*(group.labels for group in groups)))[:4] == [
        ("0", "0"), ("0", "2"), ("0", "20"), ("10", "0"),
    ]  # fmt: skip


def test_a_density_of_an_earlier_version_is_read_as_it_was_sealed() -> None:
    made = plan_of({"column": "x"}, epsilon=1)
    queries = tuple(
        replace(query, curve=tuple(replace(axis, smooth=False) for axis in query.curve))
        for query in made.release.queries
    )
    old = plan_and_certify(replace(made.release, queries=queries)).plan
    assert describe_laws(old) != describe_laws(made)
    found = plan_as_charged(
        plan_and_certify(made.release),
        old.loss,
        lambda plan: describe_laws(plan) == describe_laws(old),
        is_sealed=True,
    )
    assert found.plan == old
