"""Integers and figures of strategies, from files to what is published, without any noise.

Steps that are parts of one table release what each would by itself, mixed by the matrices as they
are written out. Figures are the counts that queries would have had by requests of their own.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import pytest
import strategy_plans as plans
from msgspec.structs import replace
from oracle.engine import get
from tables import ENGINES, T, written

from dprelease import load
from dprelease.kernel.certification import certify
from dprelease.kernel.core.engine_requests import build_jobs, list_all_inputs
from dprelease.kernel.privatization import privatize
from dprelease.model import (
    AggregateRequest,
    Measure,
    MeasureKind,
    Noise,
    NoiseFamily,
    NoisyTable,
    OutputColumn,
    Plan,
    Query,
    Release,
    Step,
)
from dprelease.planning.planner import make_plan
from dprelease.statistics.read_release import build_columns

NONE = Noise(NoiseFamily.NONE, Fraction(0))
TYPES = {"p": T.STRING, "g": T.STRING, "h": T.STRING, "k": T.STRING, "x": T.FLOAT, "y": T.INTEGER}
COLUMNS: dict[str, Any] = {
    "g": {"type": "string", "keys": ["a", "b"]},
    "h": {"type": "string", "keys": ["u", "v", "w"], "nulls": "w"},
    "k": {"type": "string", "keys": ["a", "b"], "other": "rest", "nulls": "rest"},
    "x": {"type": "float", "bins": [0, 1, 5]},
    "y": {"type": "integer", "lower": 0, "upper": 10},
}
FILLED: dict[str, Any] = {"type": "integer", "lower": -1, "upper": 5, "nulls": 1}
OPEN: dict[str, Any] = {"type": "integer", "lower": -4, "upper": 3}
MEASURED: dict[str, Any] = {
    **{
        f"f{at}": {
            "type": "integer",
            "expression": f"y - {at}",
            "lower": -1,
            "upper": 5,
            "nulls": 1,
        }
        for at in range(4)
    },
    **{
        f"o{at}": {"type": "integer", "expression": f"y - {at}", "lower": -4, "upper": 3}
        for at in range(2)
    },
    "w": {"type": "decimal", "expression": "y / 4", "lower": 1, "upper": 2, "step": 0.25},
}
TABLES = [{"by": list(way)} for way in combinations("hgxk", 2)]
OF_PEOPLE = [{}, {"by": ["g"]}, {"by": ["h"]}, {"by": ["k"]}, *TABLES]
CONDITIONS = [{"where": f"y > {least}"} for least in range(8)]
QUERIES: dict[str, list[dict[str, Any]]] = {
    "tables": TABLES,
    "conditions": CONDITIONS,
    "conditions in cells": [{"by": ["g", "k"]} | condition for condition in CONDITIONS],
    "filtered tables": [table | {"where": "y > 2"} for table in TABLES],
    "both": [*TABLES, *CONDITIONS],
}
PEOPLE = {
    "unit": "column",
    "unit_column": "p",
    "bounding": {"max_rows_per_unit": 2, "max_groups_per_unit": 2},
}


def rows(number: int, seed: int) -> list[tuple[object, ...]]:
    """Rows with values of all labels, with others, and with none."""
    draw = Random(seed)
    return [
        (
            f"p{draw.randrange(number // 3 + 1)}",
            draw.choice(["a", "b", "c", "(none)", None]),
            draw.choice(["u", "v", "w", "z", None]),
            draw.choice(["a", "b", "rest", "d", None]),
            draw.choice([0.0, 0.5, 1.0, 5.0, 7.5, -1.0, float("inf"), float("nan"), None]),
            draw.choice([*range(11), None]),
        )
        for _ in range(number)
    ]


def release_of(
    folder: Path, queries: list[dict[str, Any]], table: list[tuple[object, ...]], **privacy: Any
) -> Release:
    written(folder / "t", TYPES, table, "parquet")
    named = [{"name": f"q{at}", "statistic": "count"} | query for at, query in enumerate(queries)]
    declared = COLUMNS | (MEASURED if any("statistic" in query for query in queries) else {})
    columns = {name: {"source": "public"} | column for name, column in declared.items()}
    spec = {
        "release": {"name": "r"},
        "data": {"path": str(folder / "t"), "format": "parquet"},
        "output": {"path": str(folder / "out")},
        "privacy": {"unit": "row", "adjacency": "add-remove", "epsilon": 1, "delta": 1e-6}
        | privacy,
        "columns": columns,
        "query": named,
    }
    return load(spec)


def without_noise(plan: Plan) -> list[Step]:
    return [replace(step, noise=NONE) for step in plan.steps]


def released(plan: Plan, engine: str, entropy: Any) -> dict[str, tuple[tuple[int, ...], ...]]:
    """The integers of all steps, by the requests that a run would make."""
    values: dict[str, tuple[tuple[int, ...], ...]] = {}
    for job in build_jobs(plan.release, without_noise(plan)):
        get(engine).inspect(job.request.source, job.request.inputs)
        exact = get(engine).aggregate(job.request)
        values |= privatize(exact, job, entropy, {}).values
    return values


def counted(plan: Plan, query: Query, where: Any) -> list[int]:
    """The records in the cells of a query that pass a filter, by a request of their own."""
    records = Measure(MeasureKind.RECORDS, None, where)
    release = plan.release
    request = AggregateRequest(
        release.data.source, list_all_inputs(release), query.groups, (records,)
    )
    (column,) = get("reference").aggregate(request).reveal()
    return [int(count) for count in column]


def expected(plan: Plan, step: Step) -> tuple[tuple[int, ...], ...]:
    """What a step releases, from the counts of its cells and its matrices, written out."""
    cells = [counted(plan, step.query, measure.where) for measure in step.measures]
    whole = plans.build_mixing(step)
    integers = []
    for row in step.transform:
        summed = [
            sum(f * count for f, count in zip(row, cell, strict=True))
            for cell in zip(*cells, strict=True)
        ]
        integers.append(
            tuple(sum(a * b for a, b in zip(line, summed, strict=True)) for line in whole)
        )
    return tuple(integers)


def figures(plan: Plan, values: dict[str, tuple[tuple[int, ...], ...]]) -> list[list[Fraction]]:
    noisy = NoisyTable(values, {})
    published = [build_columns(read, plan, noisy, Fraction(19, 20))[0] for read in plan.reads]
    return [
        [Fraction(f"{value}e-{column.decimals}") for value in column.values] for column in published
    ]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("name", "adjacency"),
    [
        ("tables", "add-remove"),
        ("filtered tables", "replace-one"),
        ("conditions", "add-remove"),
        ("conditions in cells", "add-remove"),
        ("conditions in cells", "replace-one"),
        ("both", "add-remove"),
    ],
)
def test_strategies_count_what_requests_of_their_own_would(
    name: str, adjacency: str, tmp_path: Path, entropy: Any
) -> None:
    plan = make_plan(release_of(tmp_path, QUERIES[name], rows(80, 1), adjacency=adjacency))
    certify(plan)
    assert plan.strategies
    for engine in ENGINES:
        values = released(plan, engine, entropy)
        for step in plan.steps:
            assert values[step.query.name] == expected(plan, step)
        for read, figure in zip(plan.reads, figures(plan, values), strict=True):
            assert figure == counted(plan, read.query, read.query.where)


@pytest.mark.parametrize("empty", [False, True])
def test_tables_of_people_count_the_same_rows(empty: bool, tmp_path: Path, entropy: Any) -> None:
    """Each table is a sum of the largest one, whichever rows of a unit are counted."""
    table = [] if empty else rows(80, 2)
    plan = make_plan(release_of(tmp_path, OF_PEOPLE, table, **PEOPLE))
    certify(plan)
    assert plan.strategies
    first, *others = (released(plan, engine, entropy) for engine in ENGINES)
    assert all(values == first for values in others)
    published = figures(plan, first)
    units = {row[0] for row in table}
    held = [sum(row[0] == unit for row in table) for unit in units]
    assert published[0] == [sum(min(number, 2) for number in held)]
    assert sum(published[3]) == published[0][0]  # by k, where each row has a label
    assert all(value.denominator == 1 and value >= 0 for figure in published for value in figure)


def test_cells_come_in_the_order_of_the_groups_of_each_step(tmp_path: Path, entropy: Any) -> None:
    plan = make_plan(release_of(tmp_path, [{"by": ["g", "k"]}], rows(40, 3)))
    groups = tuple(group.complete() for group in plan.release.queries[0].groups)
    made = replace(
        plan, steps=(plans.step("one", 1, 1, groups), plans.step("other", 1, 1, groups[::-1]))
    )
    values = released(made, "reference", entropy)
    for step in made.steps:
        assert values[step.query.name] == expected(made, step)


FEATURES: list[dict[str, Any]] = [
    *({"statistic": "mean", "column": name} for name in ("f0", "f1", "f2", "f3", "o0", "o1")),
    {"statistic": "sum", "column": "w"},
    *({"statistic": "proportion", "where": f"y > {least}"} for least in (2, 4, 6, 8)),
    {},
]


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("by", "more"), [([], {}), (["g"], {}), (["g", "k"], {}), ([], PEOPLE)])
@pytest.mark.parametrize("where", [None, "y > 1"])
def test_sums_means_and_shares_are_what_they_are_alone(
    by: list[str], where: str | None, more: dict[str, Any], tmp_path: Path, entropy: Any
) -> None:
    """Values that are missing, beyond their bounds or negative, in groups with other labels.

    Of people by groups other rows are kept, in cells that are completed.
    """
    asked = [query | {"by": by} for query in FEATURES]
    if where is not None:
        asked = [query | {"where": where} for query in asked if "where" not in query]
    table = rows(80, 4)
    release = release_of(tmp_path, asked, table, **more)
    together, alone = make_plan(release), make_plan(release, jointly=False)
    certify(together)
    combined = [read for read in together.reads if read.terms]
    assert {read.query.statistic for read in combined} >= {"sum", "mean"}
    for engine in ENGINES:
        published = [
            [build_columns(read, plan, NoisyTable(values), Fraction(19, 20)) for read in plan.reads]
            for plan in (together, alone)
            for values in [released(plan, engine, entropy)]
        ]
        for one, other in zip(*published, strict=True):
            for column, same in zip(one, other, strict=True):
                if not column.name.endswith(("_moe", "_flag", "_low", "_high")):
                    assert numbers(column) == pytest.approx(numbers(same), abs=1e-6), column.name


def numbers(column: OutputColumn) -> list[float]:
    return [
        value / 10**column.decimals if isinstance(value, int) else 0.0 for value in column.values
    ]
