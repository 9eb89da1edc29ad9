"""Figures combined of several steps: what they are, how they add up, and their half-widths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from math import prod
from random import Random
from typing import Any

import builders
import numpy as np
import pytest
from hashed_bytes import HashedEntropy
from msgspec.structs import replace
from operations import count_operations

from dprelease import load
from dprelease.kernel.chapters.many_draws.sampler import sample
from dprelease.kernel.chapters.together.cube_draws import draw_cubes
from dprelease.model import AxisKind, Group, NoiseFamily, NoisyTable, Plan, Read, Reading, Step
from dprelease.planning.planner import make_plan
from dprelease.postprocess.intervals.combined_figure import (
    MOST_PLACES,
    build_combined_columns,
    collect_noise,
    compute_combined_variance,
    compute_halfwidth,
)
from dprelease.postprocess.intervals.combined_noise import compute_combined_halfwidth

F = Fraction
LEVEL = F(95, 100)
PRIVACY: dict[str, dict[str, Any]] = {"laplace": {"epsilon": 1}, "gaussian": {"rho": 0.5}}
WHOLE = {"other": "rest", "nulls": "rest"}
"""Of a column whose labels leave no record out."""
SPECS: dict[str, list[dict[str, Any]]] = {
    "pairs": [{"by": ["a", "b"]}, {"by": ["b", "c"]}, {"by": ["a", "c"]}, {"by": ["a"]}, {}],
    "conditions": [{}, *({"where": f"x > {place}"} for place in range(6))],
    "both": [{"by": ["a", "b"]}, {"by": ["b", "c"]}, *({"where": f"x > {k}"} for k in range(4))],
    "tree": [{}, {"by": ["c"]}, {"by": ["b", "c"]}, {"by": ["a", "b", "c"]}],
    "grouped": [{"by": ["b"]}, *({"by": ["b"], "where": f"x > {place}"} for place in range(4))],
    "weights": [{"by": ["a", "b"], "weight": 9}, {"by": ["a"], "weight": 2}, {"by": ["b"]}],
}
ALONE = [
    ("pairs", "laplace", False),
    ("tree", "laplace", True),
    ("weights", "laplace", True),
    ("weights", "gaussian", True),
]
"""Where nothing is won by planning together."""
CASES = [case for case in product(SPECS, PRIVACY, [True, False]) if case not in ALONE]
HIDDEN_CASES = [(queries, law) for queries, law, whole in CASES if not whole]


@cache
def plan_queries(queries: str, law: str, whole: bool, **privacy: Any) -> Plan:
    """A plan, of columns whose labels are the whole of what occurs, or leave some records out."""
    if (rows := privacy.pop("rows", 0)) > 0:
        bounding = {"max_rows_per_unit": rows, "max_groups_per_unit": rows}
        privacy |= {"unit": "column", "unit_column": "p", "bounding": bounding}
    sizes = {"a": 3, "b": 2, "c": 5}
    columns: dict[str, Any] = {"x": {"type": "integer", "lower": 0, "upper": 9}}
    for name, size in sizes.items():
        keys = [f"{name}{place}" for place in range(size)]
        columns[name] = {"type": "string", "keys": keys} | (WHOLE if whole else {})
    spec = builders.spec(
        privacy=PRIVACY[law] | privacy,
        columns=columns,
        query=[
            {"name": f"q{place}", "statistic": "count"} | query
            for place, query in enumerate(SPECS[queries])
        ],
    )
    return make_plan(load(spec))


def combine_reads(plan: Plan) -> list[Read]:
    return [read for read in plan.reads if read.reading is Reading.COMBINED]


def list_sizes(groups: Sequence[Group]) -> list[int]:
    return [len(group.labels) for group in groups]


def places(groups: Sequence[Group]) -> Iterator[tuple[int, ...]]:
    return product(*map(range, list_sizes(groups)))


# --- figures by their definition -----------------------------------------------------------------


def random_integers(plan: Plan, seed: int) -> NoisyTable:
    """Any integers as released ones: nothing in them adds up."""
    draw = Random(seed)
    return NoisyTable(
        {
            step.query.name: tuple(
                tuple(draw.randint(-500, 500) for _ in range(step.draws)) for _ in step.transform
            )
            for step in plan.steps
        }
    )


def centre_once_more(step: Step, integers: Sequence[int]) -> dict[tuple[int, ...], int]:
    """A step's integers by cell, of each n times it less the sum along every centred axis."""
    cells = dict(zip(places(step.query.groups), integers, strict=True))
    for at, axis in enumerate(step.axes):
        if axis.kind is AxisKind.CENTRED:
            number = len(step.query.groups[at].labels)
            cells = {
                cell: number * value
                - sum(cells[(*cell[:at], label, *cell[at + 1 :])] for label in range(number))
                for cell, value in cells.items()
            }
    return cells


def compute_by_definition(
    plan: Plan, read: Read, noisy: NoisyTable
) -> dict[tuple[int, ...], Fraction]:
    """The exact figure of every cell, completed ones too: a sum over terms and cells."""
    groups = [group.complete() for group in read.query.groups]
    figures = dict.fromkeys(places(groups), F(0))
    for term in read.terms:
        step = next(step for step in plan.steps if step.query.name == term.step)
        cells = centre_once_more(step, noisy.values[term.step][term.row])
        matched = [(at, groups.index(step.query.groups[at])) for at in term.groups]
        for place in figures:
            figures[place] += term.factor * sum(
                value
                for cell, value in cells.items()
                if all(cell[at] == place[ours] for at, ours in matched)
            )
    return figures


def with_hidden(read: Read) -> Read:
    """The same figures, as if no label were hidden."""
    groups = tuple(group.complete() for group in read.query.groups)
    return replace(read, query=replace(read.query, groups=groups))


def publish(
    plan: Plan, read: Read, noisy: NoisyTable
) -> tuple[dict[tuple[int, ...], Fraction], Fraction]:
    """What is published in each cell, and the half-width."""
    value, half, *_ = build_combined_columns(read, plan, noisy, "count", LEVEL)
    ones = 10**value.decimals
    (wide,) = {F(int(number or 0), ones) for number in half.values}
    cells = zip(places(read.query.groups), value.values, strict=True)
    return {place: F(int(number or 0), ones) for place, number in cells}, wide


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("queries", "law", "whole"), CASES)
def test_figures_are_their_terms_within_the_roundings_of_the_half_width(
    queries: str, law: str, whole: bool
) -> None:
    plan = plan_queries(queries, law, whole)
    assert combine_reads(plan)
    noisy = random_integers(plan, 1)
    for read in combine_reads(plan):
        exact = compute_by_definition(plan, read, noisy)
        figures, half = publish(plan, read, noisy)
        assert len(figures) == read.query.cells
        off = max(abs(figure - exact[place]) for place, figure in figures.items())
        noise = compute_combined_halfwidth(collect_noise(read, plan), 1 - LEVEL)
        # What lies between a figure and the truth is a multiple of the last decimal.
        decimal = F(1, 10**read.decimals)
        assert half >= (noise + off) // decimal * decimal
        assert half == compute_halfwidth(read, plan, LEVEL)
        assert half <= noise + F(1, 20) * noise + decimal
        assert off**2 <= F(1, 10**4) * compute_combined_variance(read, plan)


# --- adding up -----------------------------------------------------------------------------------


def add_up(
    groups: Sequence[Group], figures: Mapping[tuple[int, ...], Fraction], common: Sequence[Group]
) -> dict[tuple[int, ...], Fraction]:
    """Figures added up over all groups but some."""
    sums: dict[tuple[int, ...], Fraction] = {}
    for place, figure in figures.items():
        at = tuple(place[groups.index(group)] for group in common)
        sums[at] = sums.get(at, F(0)) + figure
    return sums


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("queries", "law", "whole"), CASES)
def test_all_tables_of_a_strategy_add_up_exactly(queries: str, law: str, whole: bool) -> None:
    plan = plan_queries(queries, law, whole)
    tables = [with_hidden(read) for read in combine_reads(plan) if read.query.where is None]
    for seed in range(3):
        noisy = random_integers(plan, seed)
        figures = [publish(plan, table, noisy)[0] for table in tables]
        for one, of_one in zip(tables, figures, strict=True):
            for other, of_other in zip(tables, figures, strict=True):
                common = [group for group in one.query.groups if group in other.query.groups]
                sums = add_up(one.query.groups, of_one, common)
                assert sums == add_up(other.query.groups, of_other, common)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("queries", "law"), HIDDEN_CASES)
def test_hidden_labels_are_counted_and_never_published(queries: str, law: str) -> None:
    plan = plan_queries(queries, law, whole=False)
    noisy = random_integers(plan, 5)
    for read in combine_reads(plan):
        figures, _ = publish(plan, read, noisy)
        every, _ = publish(plan, with_hidden(read), noisy)
        assert len(every) == prod(size + 1 for size in list_sizes(read.query.groups))
        assert figures == {place: every[place] for place in places(read.query.groups)}


def test_tables_of_a_strategy_have_the_same_decimals() -> None:
    for case in CASES:
        plan = plan_queries(*case)
        for strategy in plan.strategies:
            own = {read.decimals for read in plan.reads if read.query.name in strategy.queries}
            assert len(own) == 1


@pytest.mark.parametrize("queries", ["both", "conditions"])
def test_figures_with_hardly_any_noise_have_few_decimals(queries: str) -> None:
    plan = plan_queries(queries, "laplace", False, epsilon=2000)
    assert plan.strategies
    for read in combine_reads(plan):
        assert read.decimals <= MOST_PLACES
        _, half = publish(plan, read, random_integers(plan, 1))
        assert half <= F(1, 10**6)


@pytest.mark.parametrize("epsilon", [4])
def test_several_rows_of_a_person_have_noise_of_laws_that_can_be_combined(epsilon: int) -> None:
    """A total that moves by 5 would err less with stairs of 5, were it published by itself."""
    plan = plan_queries("tree", "laplace", False, epsilon=epsilon, rows=5)

    assert plan.strategies
    assert {step.noise.family for step in plan.steps} == {NoiseFamily.LAPLACE}
    for read in combine_reads(plan):
        _, half = publish(plan, read, random_integers(plan, 1))
        assert half > 0


# --- whole releases ------------------------------------------------------------------------------


def exact_integers(plan: Plan, rows: Sequence[Mapping[str, int]]) -> dict[str, list[list[int]]]:
    """What each step releases before noise, of rows given by the places of labels and x."""
    made = {}
    for step in plan.steps:
        groups = step.query.groups
        counts = []
        for measure in step.measures:
            passing = measure.where.text if measure.where is not None else "x > -1"
            least = int(passing.removeprefix("x > "))
            cells = dict.fromkeys(places(groups), 0)
            for row in rows:
                at = tuple(row[group.column] for group in groups)
                if at in cells:
                    cells[at] += row["x"] > least
            counts.append(cells)
        released = [
            [sum(f * of[cell] for f, of in zip(line, counts, strict=True)) for cell in counts[0]]
            for line in step.transform
        ]
        made[step.query.name] = [
            list(centre_once_more(step, integers).values()) for integers in released
        ]
    return made


def list_rows(number: int) -> list[dict[str, int]]:
    """Records; those of the last label are in no group of their column."""
    draw = Random(7)
    sizes = {"a": 4, "b": 3, "c": 6, "x": 10}
    return [{name: draw.randrange(size) for name, size in sizes.items()} for _ in range(number)]


def compute_true_figures(
    read: Read, rows: Sequence[Mapping[str, int]]
) -> dict[tuple[int, ...], int]:
    where = read.query.where
    least = -1 if where is None else int(where.text.removeprefix("x > "))
    cells = dict.fromkeys(places(read.query.groups), 0)
    for row in rows:
        at = tuple(row[group.column] for group in read.query.groups)
        if at in cells:
            cells[at] += row["x"] > least
    return cells


@pytest.mark.parametrize(("queries", "law"), HIDDEN_CASES)
def test_without_noise_every_figure_is_the_count(queries: str, law: str) -> None:
    plan = plan_queries(queries, law, whole=False)
    rows = list_rows(300)
    exact = NoisyTable(
        {name: tuple(map(tuple, integers)) for name, integers in exact_integers(plan, rows).items()}
    )
    for read in combine_reads(plan):
        assert publish(plan, read, exact)[0] == compute_true_figures(read, rows)


def draw_releases(step: Step, releases: int, entropy: HashedEntropy) -> Any:
    """The noise of a step in so many releases, by integer and cell."""
    size = releases * len(step.transform) * step.draws
    if step.noise.family is NoiseFamily.CUBE:  # the integers of a cell stand side by side
        drawn = draw_cubes(step.noise, size, entropy, few=False)
        return drawn.reshape(releases, step.draws, len(step.transform)).transpose(0, 2, 1)
    return sample(step.noise, size, entropy).reshape(releases, len(step.transform), step.draws)


def check_held_often_enough(queries: str, law: str, releases: int) -> None:
    """Of whole releases, of every query, 95 % of the first cell's intervals hold the truth."""
    plan = plan_queries(queries, law, whole=False)
    rows = list_rows(200)
    exact = exact_integers(plan, rows)
    noise = {
        step.query.name: draw_releases(
            step, releases, HashedEntropy(f"{queries} {law} {step.query.name}")
        )
        for step in plan.steps
    }
    reads = combine_reads(plan)
    truths = [compute_true_figures(read, rows) for read in reads]
    missed = np.zeros(len(reads))
    squares = np.zeros(len(reads))
    for number in range(releases):
        noisy = NoisyTable(
            {
                name: tuple(map(tuple, (np.array(exact[name]) + drawn[number]).tolist()))
                for name, drawn in noise.items()
            }
        )
        for place, read in enumerate(reads):
            figures, half = publish(plan, read, noisy)
            first = next(iter(figures))
            off = abs(figures[first] - truths[place][first])
            missed[place] += off > half
            squares[place] += float(off) ** 2
    spread = (releases * 0.05 * 0.95) ** 0.5
    assert (missed <= 0.05 * releases + 4.5 * spread).all()
    assert (missed >= 0.02 * releases - 4.5 * spread).all()
    variances = [float(compute_combined_variance(read, plan)) for read in reads]
    assert squares / releases == pytest.approx(variances, rel=12 / releases**0.5)


def test_intervals_of_whole_releases_hold_the_truth() -> None:
    check_held_often_enough("both", "gaussian", 150)


@pytest.mark.thorough
@pytest.mark.parametrize(("queries", "law"), HIDDEN_CASES)
def test_intervals_of_many_whole_releases_hold_the_truth(queries: str, law: str) -> None:
    check_held_often_enough(queries, law, 1500)


# --- how long it takes ---------------------------------------------------------------------------


def read_full_table(columns: int) -> int:
    """The operations that reading a table takes, by so many columns of two labels each."""
    names = [f"c{place}" for place in range(columns)]
    release = load(
        builders.spec(
            data={"path": "t.csv"},
            privacy={"adjacency": "add-remove", "rho": 0.5},
            columns={name: {"type": "string", "keys": ["a"]} | WHOLE for name in names},
            query=[
                {
                    "name": "all",
                    "statistic": "marginals",
                    "columns": names,
                    "ways": [*range(columns + 1)],
                }
            ],
        )
    )
    plan = make_plan(release)
    (read,) = (read for read in plan.reads if len(read.query.groups) == columns)
    assert len(read.steps) == 2**columns
    values = {step.query.name: ((7,) * step.query.cells,) for step in plan.steps}
    return count_operations(
        lambda: build_combined_columns(read, plan, NoisyTable(values), "records", LEVEL)
    )


def test_the_reading_of_many_pieces_grows_about_as_the_cells_do() -> None:
    # Eight times the cells and pieces. Every piece expanded over the whole table would make it 30.
    assert read_full_table(7) <= 12 * read_full_table(4)
