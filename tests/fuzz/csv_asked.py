"""What is asked of made-up records: each column in every role, and what the oracle says of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

from csv_lines import KINDS, Form
from oracle.cells import ordered_key, placer_of
from oracle.expressions import evaluate
from oracle.sampling import text_of
from oracle.values import Record, grid_integer

from dprelease.expressions import parse_tree
from dprelease.model import (
    AggregateRequest,
    Bound,
    ColumnType,
    Expression,
    Grid,
    Group,
    InputColumn,
    Measure,
    MeasureKind,
    Quantity,
    Source,
)

T, M = ColumnType, MeasureKind

CONDITIONS = (
    Expression("LENGTH(s) > 3 OR s LIKE '%a%'", ("s",)),
    Expression("UPPER(TRIM(s)) < 'b'", ("s",)),
    Expression("i % 2 = 1 OR i > 9007199254740992", ("i",)),
    Expression("x * 3 > c - 1", ("x", "c")),
    Expression("x > 0 AND x / 7 < 1e300", ("x",)),
    Expression("b", ("b",)),
    Expression("YEAR(d) % 4 = 0 OR d < DATE '1000-01-01'", ("d",)),
    Expression("t > TIMESTAMP '2000-01-01 12:00:00' OR HOUR(t) = 0", ("t",)),
    Expression("COALESCE(b, x > 1, i < 3, c = 0.5, d IS NULL)", ("b", "x", "i", "c", "d")),
)
_ENDED = "LOWER(s) || CASE WHEN b THEN '+' ELSE '-' END"
DERIVED = {
    InputColumn("h", T.FLOAT, Expression("x / 2 + i", ("x", "i"))): {"x", "i"},
    InputColumn("y", T.INTEGER, Expression("YEAR(d)", ("d",))): {"d"},
    InputColumn("k", T.STRING, Expression(_ENDED, ("s", "b"))): {"s", "b"},
}
GRIDS = {
    "x": (Grid(Fraction(1, 8), -40, 4000), Grid(Fraction(1, 10**9), -(10**15), 10**15)),
    "c": (Grid(Fraction(1, 100), 0, 10**6),),
    "i": (Grid(Fraction(1), -(2**53), 2**62),),
    "b": (Grid(Fraction(1), 0, 1),),
    "h": (Grid(Fraction(3, 7), -(10**6), 10**6),),
}
EDGES = {
    "x": ("-1e300", "-0.5", "0", "5e-324", "1", "1e308"),
    "i": ("-100", "0", "18", "9007199254740993"),
    "d": ("0001-01-01", "2000-02-29", "9999-12-31"),
    "t": ("0001-01-01 00:00:00", "2026-01-31 12:34:56.5", "9999-12-31 23:59:59.999999"),
    "h": ("0", "1", "10"),
}


def request_of(folder: Path, form: Form, rng: Random) -> AggregateRequest:
    """Half of all that can be asked of the columns there are: more takes long to compile."""
    read = [
        InputColumn(name, kind, opaque=name == "o")
        for name, kind in KINDS.items()
        if name in form.columns and name != "n"
    ]
    known = {each.name for each in read}
    inputs = (*read, *(each for each, names in DERIVED.items() if names <= known))
    types = {each.name: each.type for each in inputs if not each.opaque}
    groups = [Group(name, kind, (), private=True) for name, kind in types.items()]
    groups += [_binned(name, types[name], edges) for name, edges in EDGES.items() if name in types]
    measures = [
        Measure(M.SUM, Quantity(name, grid, fill))
        for name, grids in GRIDS.items()
        for grid in grids
        for fill in (None, 1)
        if name in types
    ]
    measures += [Measure(M.DISTINCT, column=name) for name in types]
    measures += [Measure(M.RECORDS, where=each) for each in CONDITIONS if known >= {*each.columns}]
    bound = Bound(rng.choice(inputs).name, 1, 1, 1, leading=0, null_unit=True)
    return AggregateRequest(
        Source(str(folder), "csv", form.dialect),
        inputs,
        tuple(each for each in groups if rng.random() < 0.5),
        tuple(each for each in measures if rng.random() < 0.5),
        bound=bound,
    )


def _binned(name: str, kind: ColumnType, edges: tuple[str, ...]) -> Group:
    labels = tuple(map(str, range(len(edges) + 1)))
    return Group(name, kind, labels, None, edges, *labels[-2:])


def facts_of(request: AggregateRequest) -> Callable[[Record], Iterator[Any]]:
    """What a statement knows of a record, by the oracle: keys, grid integers, conditions, values,
    and the text of the unit."""
    types = {each.name: each.type for each in request.inputs}
    places = [None if each.private else placer_of(each) for each in request.groups]
    quantities = [each.quantity for each in request.measures if each.quantity is not None]
    conditions = [parse_tree(each.where.text, types) for each in request.measures if each.where]
    values = [each.column for each in request.measures if each.column is not None]

    def facts(record: Record) -> Iterator[Any]:
        for group, place in zip(request.groups, places, strict=True):
            yield ordered_key(record, group) if place is None else place(record)
        yield from (grid_integer(each, record.numbers) for each in quantities)
        yield from (evaluate(each, record.values) for each in conditions)
        yield from (record.values[each] for each in values)
        yield None if request.bound is None else text_of(record.values[request.bound.column])

    return facts
