"""Tables that were planned together, made to agree: no figure errs more than as planned.

The law of a finished figure is computed, not simulated: a plain matrix of what every released
integer counts of the cells that are published gives the best linear unbiased estimate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import chain, product
from typing import Any, NamedTuple

import builders
import numpy as np
import numpy.typing as npt
import pytest
from msgspec.structs import replace

from dprelease import load
from dprelease.kernel.distributions.laws import compute_noise_variance
from dprelease.language import word
from dprelease.model import (
    AxisKind,
    AxisMatrix,
    Group,
    Noise,
    NoiseFamily,
    NoisyTable,
    OutputTable,
    Plan,
    Query,
    Reading,
    Step,
)
from dprelease.planning.planner import make_plan
from dprelease.postprocess.finishing.agreement import (
    Counts,
    Fit,
    Wanted,
    compute_remaining_variance,
    list_entering,
    make_agree,
    solve_least_squares,
    spread_weights,
)
from dprelease.postprocess.finishing.finished_tables import (
    Noisy,
    Observed,
    collect_noisy_figures,
    collect_observed,
    finish_tables,
)
from dprelease.release.bundle import build_tables

Floats = npt.NDArray[np.float64]

SIZES = {"a": 4, "b": 2, "c": 3}
KEYS = {name: [f"{name}{place}" for place in range(size)] for name, size in SIZES.items()}
LAWS: dict[str, dict[str, Any]] = {
    "laplace": {"epsilon": 1},
    "gaussian": {"rho": 0.5},
    "stairs": {"epsilon": 8},
}
QUERIES: dict[str, list[dict[str, Any]]] = {
    "total and cells": [{}, {"by": ["a"]}, {"by": ["a", "b"]}],
    "levels": [{"by": ["a"]}, {"by": ["a", "b"]}, {"by": ["a", "b", "c"]}],
    "pairs": [{"by": ["a", "b"]}, {"by": ["b", "c"]}, {"by": ["c", "a"]}, {"by": ["a"]}],
    "single": [{}, {"by": ["a"]}, {"by": ["b"]}, {"by": ["c"]}],
    "weights": [{"weight": 9}, {"by": ["a", "c"]}, {"by": ["b", "a"], "weight": 3}, {"by": ["b"]}],
    "marginals": [{"statistic": "marginals", "ways": 2, "columns": ["a", "b", "c"]}],
    "own budget": [{}, {"by": ["a"]}, {"by": ["a", "b"]}, {"by": ["b", "c"], "own": True}],
    "conditions": [
        {},
        {"by": ["a"]},
        *({"where": f"x > {least}"} for least in range(4)),
        {"where": "x > 1", "by": ["a"]},
        {"where": "x > 2", "by": ["a"]},
    ],
}
SOME_HIDDEN = [(), ("a",), ("b", "c"), ("a", "b", "c")]
CASES = [
    *product(QUERIES, ["laplace", "gaussian"], SOME_HIDDEN),
    *product(["total and cells", "levels"], ["stairs"], SOME_HIDDEN),
]


@cache
def plan_queries(queries: str, law: str, hidden: tuple[str, ...], people: bool = False) -> Plan:
    """A plan of counts that agree; ``hidden`` columns have undeclared values and nulls."""
    privacy: dict[str, Any] = {"unit": "row", "adjacency": "add-remove"} | LAWS[law]
    if people:
        bounding = {"max_rows_per_unit": 2, "max_groups_per_unit": 2}
        privacy |= {"unit": "column", "unit_column": "p", "bounding": bounding}
    columns: dict[str, Any] = {"x": {"type": "integer", "lower": 0, "upper": 9}}
    for name, keys in KEYS.items():
        whole = {} if name in hidden else {"other": "rest", "nulls": "rest"}
        columns[name] = {"type": "string", "keys": keys} | whole
    counts = []
    for place, query in enumerate(QUERIES[queries]):
        stated = {"name": f"q{place}", "statistic": "count"} | query
        if stated.pop("own", False):
            stated |= {"rho": 0.125} if law == "gaussian" else {"epsilon": 0.25}
        counts.append(stated)
    spec = builders.spec(
        privacy=privacy, columns=columns, query=counts, postprocess={"consistent": True}
    )
    return make_plan(load(spec))


def list_groups(plan: Plan) -> list[list[Noisy]]:
    """The figures that agree, by what they count."""
    groups: dict[object, list[Noisy]] = {}
    for noisy in collect_noisy_figures(plan, plan.reads):
        if noisy.query.finish.consistent:
            groups.setdefault(noisy.query.where, []).append(noisy)
    return list(groups.values())


def observe_members(members: Sequence[Noisy]) -> Observed:
    return collect_observed(members, [noisy.query.cells for noisy in members])


def fit(group: Observed) -> Fit:
    return solve_least_squares(group.tables, group.observed, group.sizes)


# --- the oracle: a row for each integer, a column for each cell of all published labels ----------


class Oracle(NamedTuple):
    """How integers depend on cells, the variance of each, and the cells of each table."""

    design: Floats
    variances: Floats
    tables: list[Floats]
    sources: list[str]

    def weights(self, table: int) -> Floats:
        """How the best linear unbiased estimate of a table weighs every integer."""
        scaled = self.design.T / self.variances
        return np.asarray(self.tables[table] @ np.linalg.pinv(scaled @ self.design) @ scaled)

    def variance(self, table: int) -> Floats:
        """The variance of each cell."""
        return np.asarray((self.weights(table) ** 2) @ self.variances)


def list_published_axes(members: Sequence[Noisy]) -> list[Group]:
    axes: dict[tuple[str, tuple[str, ...]], Group] = {}
    for noisy in members:
        for group in noisy.query.groups:
            axes.setdefault((group.column, group.labels), group)
    return list(axes.values())


def along(axis: Group, groups: Sequence[Group], axes: Sequence[AxisMatrix]) -> Floats:
    """What a step's integers have of each published label of one axis."""
    for group, mixed in zip(groups, axes, strict=True):
        if group.column == axis.column:
            matrix = np.eye(len(group.labels))
            if mixed.kind is AxisKind.CENTRED:
                matrix = len(group.labels) * matrix - 1
            return np.asarray(matrix[:, : len(axis.labels)])
    return np.ones((1, len(axis.labels)))


def build_matrix(
    axes: Sequence[Group], groups: Sequence[Group], mixed: Sequence[AxisMatrix]
) -> Floats:
    """The integers of a table in the order of ``axes``, as sums of all cells."""
    matrix = np.ones((1, 1))
    for axis in axes:
        matrix = np.kron(matrix, along(axis, groups, mixed))
    return matrix


EACH = AxisMatrix(AxisKind.EACH)


def oracle(plan: Plan, members: Sequence[Noisy]) -> Oracle:
    """What the plan releases of the members' records."""
    axes = list_published_axes(members)
    rows: dict[str, tuple[Floats, float]] = {}
    for noisy in members:
        read = next(read for read in plan.reads if read.query == noisy.query)
        plain = build_matrix(axes, noisy.query.groups, [EACH] * len(noisy.query.groups))
        if read.reading is Reading.COMBINED and not is_condition(plan, read.steps):
            for step in list_steps(plan, read.steps):
                mixed = step.axes or (EACH,) * len(step.query.groups)
                matrix = build_matrix(axes, step.query.groups, mixed)
                extra = math.prod(
                    len(group.labels)
                    for group in step.query.groups
                    if group.column not in {axis.column for axis in axes}
                )
                rows[step.query.name] = matrix, extra * float(compute_noise_variance(step.noise))
        elif noisy.step not in rows or len(rows[noisy.step][0]) < len(plain):
            rows[noisy.step] = plain, float(noisy.variance or 0)
    matrices, spreads = zip(*rows.values(), strict=True)
    each = [np.full(len(m), spread) for m, spread in zip(matrices, spreads, strict=True)]
    tables = [
        build_matrix(axes, noisy.query.groups, [EACH] * len(noisy.query.groups))
        for noisy in members
    ]
    return Oracle(np.vstack(matrices), np.concatenate(each), tables, list(rows))


def list_steps(plan: Plan, names: Sequence[str]) -> list[Step]:
    return [step for step in plan.steps if step.query.name in names]


def is_condition(plan: Plan, names: Sequence[str]) -> bool:
    return any(len(step.measures) > 1 for step in list_steps(plan, names))


def sort_values(cells: Floats, groups: Sequence[Group], axes: Sequence[Group]) -> Floats:
    """Integers of a table, added up over other groups, in the order of the axes."""
    columns = [group.column for group in groups]
    array = np.reshape(cells, [len(group.labels) for group in groups])
    remaining = [axis.column for axis in axes if axis.column in columns]
    others = tuple(at for at, name in enumerate(columns) if name not in remaining)
    left = [name for name in columns if name in remaining]
    return np.asarray(
        array.sum(axis=others).transpose([left.index(name) for name in remaining]).ravel()
    )


# --- errors --------------------------------------------------------------------------------------


def check_errors(plan: Plan) -> None:
    """Figures err as the best estimate does, and no more than planned."""
    for members in list_groups(plan):
        group, best = observe_members(members), oracle(plan, members)
        left = compute_remaining_variance(fit(group))
        for place, (noisy, spread) in enumerate(zip(members, left, strict=True)):
            assert np.allclose(best.variance(place), spread, rtol=1e-6), noisy.query.name
            assert spread <= float(noisy.variance or 0) * (1 + 1e-4)


@pytest.mark.one_in(6)
@pytest.mark.parametrize(("queries", "law", "hidden"), CASES)
def test_figures_err_as_the_best_estimate_does_and_no_more_than_planned(
    queries: str, law: str, hidden: tuple[str, ...]
) -> None:
    check_errors(plan_queries(queries, law, hidden))


@pytest.mark.thorough
def test_most_of_these_plans_are_planned_together() -> None:
    plans = [plan_queries(*case) for case in CASES]
    together = [plan for plan in plans if any(read.terms for read in plan.reads)]
    centred = [plan for plan in together if any(step.axes for step in plan.steps)]
    assert len(together) > len(plans) / 2
    assert len(centred) > 10


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_of_people_too(law: str) -> None:
    check_errors(plan_queries("levels", law, ("a", "b", "c"), people=True))


@pytest.mark.parametrize("queries", ["total and cells", "levels"])
def test_the_finest_table_alone_would_err_more(queries: str) -> None:
    """What was done before: coarser tables are sums of the finest one, as if it was released."""
    (members,) = list_groups(plan_queries(queries, "laplace", ("a", "b", "c")))
    group, finest = observe_members(members), members[-1]
    alone = [Counts(group.tables[-1], (), finest.variance or Fraction(0))]
    left = compute_remaining_variance(solve_least_squares(group.tables, alone, group.sizes))
    assert left[0] > 4 * float(members[0].variance or 0)


@pytest.mark.one_in(12)
@pytest.mark.parametrize(("queries", "law", "hidden"), CASES)
def test_figures_are_the_best_estimate_of_what_was_released(
    queries: str, law: str, hidden: tuple[str, ...]
) -> None:
    plan = plan_queries(queries, law, hidden)
    random = np.random.default_rng(5)
    released = NoisyTable(
        {
            step.query.name: tuple(
                tuple(random.integers(-900, 900, size=step.draws).tolist()) for _ in step.transform
            )
            for step in plan.steps
        }
    )
    before = build_tables(plan, released)
    level = plan.release.output.interval
    after = finish_tables(before, collect_noisy_figures(plan, plan.reads, released), level).tables
    for members in list_groups(plan):
        axes, best = list_published_axes(members), oracle(plan, members)
        integers = []
        for name in best.sources:
            step = next(step for step in plan.steps if step.query.name == name)
            pieces = [piece for noisy in members for piece in noisy.pieces if piece.name == name]
            cells, groups = np.array(released.values[name][0], float), step.query.groups
            if not pieces:  # a figure that is one source for itself
                queries_of = [noisy.query for noisy in members if noisy.step == name]
                query = max(queries_of, key=lambda query: query.cells)
                cells, groups = column(before, query), query.groups
            integers.append(sort_values(cells, groups, axes))
        observed = np.concatenate(integers)
        for place, noisy in enumerate(members):
            figures = sort_values(column(after, noisy.query), noisy.query.groups, axes)
            # weights are whole parts of 4096, and the integers here far from any truth
            estimate = best.weights(place) @ observed
            assert np.allclose(figures, estimate, atol=900 * 4 / 4096 * len(best.sources))


# --- laws ----------------------------------------------------------------------------------------


@pytest.mark.one_in(6)
@pytest.mark.parametrize(("queries", "law", "hidden"), CASES)
def test_what_enters_a_figure_is_what_the_best_estimate_weighs(
    queries: str, law: str, hidden: tuple[str, ...]
) -> None:
    plan = plan_queries(queries, law, hidden)
    for members in list_groups(plan):
        group, best = observe_members(members), oracle(plan, members)
        for place, entered in enumerate(list_entering(fit(group))):
            assert entered is not None
            sizes = sorted(chain.from_iterable(kinds.elements() for kinds in entered.values()))
            weights = np.sort(abs(best.weights(place)[0]))[-len(sizes) :]
            # factors are rounded up to 8 binary digits, weights to 12
            assert np.allclose(sizes, weights, rtol=2 / 256, atol=1e-3 * weights.max())
            assert abs(best.weights(place)[0]).sum() <= sum(sizes) + 1e-3 * len(weights)


@pytest.mark.one_in(6)
@pytest.mark.parametrize(("queries", "law", "hidden"), CASES)
def test_a_weighted_sum_of_figures_is_that_of_the_integers_that_enter(
    queries: str, law: str, hidden: tuple[str, ...]
) -> None:
    plan = plan_queries(queries, law, hidden)
    for members in list_groups(plan):
        group = observe_members(members)
        random = np.random.default_rng(len(group.observed))
        drawn = [
            counts._replace(
                cells=random.integers(
                    0, 900, math.prod(counts.count_labels(i, group.sizes) for i in counts.axes)
                ).tolist()
            )
            for counts in group.observed
        ]
        best = solve_least_squares(group.tables, drawn, group.sizes)
        figures = make_agree(best, Wanted(0, 9, nonnegative=False))
        total, weights = Fraction(0), dict[frozenset[int], Any]()
        for axes, cells in zip(group.tables, figures, strict=True):
            own = random.integers(-3, 4, len(cells)).tolist()
            total += sum(map(Fraction.__mul__, map(Fraction, own), map(Fraction, cells)))
            table = np.array(list(map(Fraction, own)), dtype=object)
            table = table.reshape([group.sizes[axis] for axis in axes])
            weights[frozenset(axes)] = np.asarray(
                weights.get(frozenset(axes), 0) + table.transpose(np.argsort(axes)), dtype=object
            )
        entering = spread_weights(best, weights)
        of_integers = sum(
            weight * integer
            for place, spread in entering.items()
            for weight, integer in zip(spread.flat, drawn[place].cells, strict=True)
        )
        assert abs(total / 10**9 - of_integers) < Fraction(1, 10**4)


# --- whole releases ------------------------------------------------------------------------------


def noise_drawn(noise: Noise, number: int, random: np.random.Generator) -> Floats:
    if noise.family is NoiseFamily.GAUSSIAN:
        return np.rint(random.normal(0, math.sqrt(noise.parameter), number))
    assert noise.family is NoiseFamily.LAPLACE
    chance = -math.expm1(-1 / float(noise.parameter))
    return np.asarray(random.geometric(chance, number) - random.geometric(chance, number), float)


def count_cells(truth: Floats, groups: Sequence[Group], mixed: Sequence[AxisMatrix]) -> Floats:
    """The integers of a step, of the cells of a, b and c in order."""
    axes = [Group(name, groups[0].type, tuple(keys)) for name, keys in KEYS.items()]
    order = [axis for axis in axes if axis.column in {group.column for group in groups}]
    table = build_matrix(axes, groups, mixed) @ truth.ravel()
    lengths = {group.column: len(group.labels) for group in groups}
    table = table.reshape([lengths[axis.column] for axis in order])
    places = [[axis.column for axis in order].index(group.column) for group in groups]
    return np.asarray(table.transpose(places).ravel())


def exact(plan: Plan, truth: Floats) -> dict[str, Floats]:
    made = {}
    for step in plan.steps:
        groups = step.query.groups
        mixed = step.axes or (EACH,) * len(groups)
        made[step.query.name] = (
            count_cells(truth, groups, mixed) if groups else np.array([truth.sum()])
        )
    return made


class Errors(NamedTuple):
    """Mean squares of errors by query, as planned and finished, and the share of cells missed."""

    planned: dict[str, float]
    finished: dict[str, float]
    missed: dict[str, float]


def compute_errors(plan: Plan, level: Fraction, releases: int, seed: int) -> Errors:
    random = np.random.default_rng(seed)
    truth = random.integers(0, 60, size=tuple(SIZES.values())).astype(float)
    sums = exact(plan, truth)
    queries = [read.query for read in plan.reads]
    true = {query.name: list_figures_drawn(truth, query) for query in queries}
    squares = {query.name: [0.0, 0.0, 0.0] for query in queries}
    for _ in range(releases):
        values = {}
        for step in plan.steps:
            noise = noise_drawn(step.noise, len(sums[step.query.name]), random)
            values[step.query.name] = (tuple(map(int, sums[step.query.name] + noise)),)
        noisy = NoisyTable(values)
        before = build_tables(plan, noisy)
        after = finish_tables(before, collect_noisy_figures(plan, plan.reads, noisy), level).tables
        for query in queries:
            old, new = column(before, query), column(after, query)
            half = column(after, query, "_noise_moe")
            off = new - true[query.name]
            parts = ((old - true[query.name]) ** 2, off**2, abs(off) > half + 1e-9)
            for place, part in enumerate(parts):
                squares[query.name][place] += float(part.mean()) / releases
    named = list(zip(*squares.values(), strict=True))
    return Errors(*(dict(zip(squares, part, strict=True)) for part in named))


def list_figures_drawn(truth: Floats, query: Query) -> Floats:
    if not query.groups:
        return np.array([truth.sum()])
    return count_cells(truth, query.groups, [EACH] * len(query.groups))


def column(tables: Sequence[OutputTable], query: Query, ending: str = "") -> Floats:
    (table,) = [table for table in tables if table.name == query.table]
    name = query.column_name + ending
    (values,) = [column for column in table.columns if column.name == name]
    return np.array([int(value or 0) for value in values.values]) / 10**values.decimals


@pytest.mark.one_in(6)
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("queries", ["single", "levels"])
def test_whole_releases_err_no_more_and_their_intervals_hold(queries: str, seed: int) -> None:
    plan = plan_queries(queries, "laplace", ("a", "b", "c"))
    assert any(read.terms for read in plan.reads)
    releases, level = 150, Fraction(1, 2)  # where laws of another shape differ most
    found = compute_errors(with_level(plan, level), level, releases, seed)
    for name, square in found.finished.items():
        assert square <= found.planned[name] * 1.1
        assert found.missed[name] <= 0.5 + 4 * 0.5 / math.sqrt(releases)


def with_level(plan: Plan, level: Fraction) -> Plan:
    release = replace(plan.release, output=replace(plan.release.output, interval=level))
    return replace(plan, release=release)


@pytest.mark.parametrize("queries", ["single", "levels", "pairs"])
def test_records_without_a_published_label_are_remarked(queries: str) -> None:
    plan = plan_queries(queries, "laplace", ("a", "b", "c"))
    random = np.random.default_rng(4)
    sums = exact(plan, random.integers(0, 60, size=tuple(SIZES.values())).astype(float))

    def remarks(lost: int) -> tuple[str, ...]:
        """What is said where so many records have no published label in any column."""
        values = {}
        for step in plan.steps:
            cells = sums[step.query.name] + lost * compute_hidden(step)
            noise = noise_drawn(step.noise, len(cells), random)
            values[step.query.name] = (tuple(map(int, cells + noise)),)
        noisy = NoisyTable(values)
        figures = collect_noisy_figures(plan, plan.reads, noisy)
        return [
            *map(word, finish_tables(build_tables(plan, noisy), figures, Fraction(95, 100)).remarks)
        ]

    assert sum(len(remarks(0)) for _ in range(40)) == 0
    assert len(remarks(2000)) == 1


def compute_hidden(step: Step) -> Floats:
    """What a record with the last label of every group adds to the integers of a step."""
    groups = step.query.groups
    column = np.ones(1)
    for group, mixed in zip(groups, step.axes or (EACH,) * len(groups), strict=True):
        last = np.eye(len(group.labels))[-1]
        if mixed.kind is AxisKind.CENTRED:
            last = len(last) * last - 1
        column = np.kron(column, last)
    return column
