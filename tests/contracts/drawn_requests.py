"""Random requests about the columns of ``drawn_tables``, and the ways in which one is answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from drawn_tables import TYPES
from hypothesis import strategies as st
from msgspec.structs import replace
from tables import T, hidden, keyed, sql

from dprelease.engines.duckdb import (
    bound_by_arrays,
    execute,
    record_codes,
    text_numbers,
)
from dprelease.engines.duckdb.hash_parts import Part
from dprelease.engines.engine_interface import Engine
from dprelease.model import (
    AggregateRequest,
    Bound,
    Candidates,
    Clip,
    ClipNorm,
    Column,
    Expression,
    Grid,
    Group,
    InputColumn,
    Measure,
    MeasureKind,
    Quantity,
    RecordRequest,
    Source,
)

M = MeasureKind

COMPUTED = (
    InputColumn("h", T.FLOAT, sql("x / 2 + i", "x", "i")),
    InputColumn("y", T.INTEGER, sql("YEAR(d)", "d")),
    InputColumn("k", T.STRING, sql("LOWER(s) || CASE WHEN b THEN '+' ELSE '-' END", "s", "b")),
    InputColumn("q", T.DECIMAL, sql("h / 4", "h")),
)
WIDE = Grid(Fraction(1, 10**9), -(10**12), 10**15)  # of 50 bits
QUANTITIES = [
    Quantity("x", Grid(Fraction(1, 2), -3, 9)),
    Quantity("x", Grid(Fraction(1, 8), -40, 4000), 7),
    Quantity("x", WIDE),
    Quantity("c", Grid(Fraction(1, 100), 0, 10**6)),
    Quantity("c", WIDE, 3),
    Quantity("i", Grid(Fraction(1), -5, 2), 1),
    Quantity("i", Grid(Fraction(3, 7), -(2**53), 2**60)),  # of 61 bits
    Quantity("i", Grid(Fraction(1), 2**62, 2**62 + 2**61)),
    Quantity("b", Grid(Fraction(1), 0, 1)),
    Quantity("h", Grid(Fraction(1, 8), 0, 2**40)),
    Quantity("q", Grid(Fraction(1, 10), -5, 11), 2),
]
WEIGHTS = [
    Quantity("x", Grid(Fraction(1, 4), 0, 7)),
    Quantity("i", Grid(Fraction(1), 1, 2**20), null_fill=3),
]
CONDITIONS = [
    sql("x > 1", "x"),
    sql("x < 2 OR b", "x", "b"),
    sql("i % 2 = 1 OR i > 9007199254740992", "i"),
    sql("LENGTH(s) > 3 OR s LIKE '%a%' OR s = '\u00e9'", "s"),
    sql("x * 3 > c - 1 AND x / 7 < 1e300", "x", "c"),
    sql("YEAR(d) % 4 = 0 OR d < DATE '1000-01-01'", "d"),
    sql("t > TIMESTAMP '2000-01-01 12:00:00' OR HOUR(t) = 0", "t"),
    sql("COALESCE(b, x > 1, i < 3, c = 0.5, d IS NULL)", "b", "x", "i", "c", "d"),
    sql("s IS NULL OR i IS NULL AND x IS NULL", "s", "i", "x"),
    sql("q IS NOT NULL AND k <> 'a+'", "q", "k"),
]
FILTERS = [None, None, None, sql("x < 90 OR i = 1", "x", "i"), *CONDITIONS]


def binned(name: str, edges: tuple[str, ...], rest: str | None) -> Group:
    """A group of bins, with a label for other values or without."""
    labels = tuple(map(str, range(len(edges) - 1)))
    own = (*labels, rest) if rest else labels
    return Group(name, {**TYPES, "h": T.FLOAT}[name], own, None, edges, rest, rest)


PUBLIC = [
    keyed("s", "ba", null="nothing"),
    Group("s", T.STRING, ("e\u0301", "rest", "null"), ("e\u0301",), None, "rest", "null"),
    Group("s", T.STRING, ("", "a", "rest"), ("", "a"), None, "rest"),
    Group("s", T.STRING, ("", "a"), ("", "a"), None, "a", ""),  # other values and nulls: keys
    Group("i", T.INTEGER, ("0", "7"), ("0", "7"), None, "0", "0"),
    keyed("i", ("0", "1", "9007199254740993"), T.INTEGER),
    keyed("x", ("0", "0.25", "99.75"), T.FLOAT, "none"),
    keyed("c", ("0.1", "-7.5"), T.DECIMAL),
    keyed("b", ("true",), T.BOOLEAN),
    keyed("b", ("true", "false"), T.BOOLEAN, "none"),
    keyed("d", ("2026-01-31", "0001-01-01"), T.DATE),
    keyed("t", ("2026-01-31 12:00:00", "2026-01-31 12:00:00.500000"), T.TIMESTAMP, "none"),
    binned("x", ("0", "1", "100"), None),
    binned("c", ("-1", "0.1", "2.5", "1e308"), "else"),
    binned("i", ("-100", "0", "3", "9007199254740993"), "else"),
    binned("d", ("0001-01-01", "2026-01-31", "9999-12-31"), None),
    binned("t", ("0001-01-01 00:00:00", "2026-01-31 12:00:00.000001", "9999-12-31 00:00:00"), "x"),
    binned("h", ("0", "1"), "else"),
    keyed("y", ("2026", "1"), T.INTEGER, "none"),
    keyed("k", ("a+", "a-"), T.STRING, "none"),
]
PRIVATE = [
    hidden("s", null="none"),
    hidden("s"),
    hidden("i", T.INTEGER, "0"),
    hidden("x", T.FLOAT, "unknown"),
    hidden("c", T.DECIMAL),
    hidden("b", T.BOOLEAN),
    hidden("d", T.DATE, "2026-01-31"),
    hidden("t", T.TIMESTAMP),
    hidden("k", T.STRING, "none"),
    hidden("q", T.DECIMAL),
]
DECLARED = [
    Column("s", T.STRING, keys=("a", "e\u0301")),
    Column("i", T.INTEGER, keys=("1", "3"), grid=Grid(Fraction(1), 0, 2)),
    Column("x", T.FLOAT, grid=Grid(Fraction(1, 2), -2, 20)),
    Column("c", T.DECIMAL, edges=("0", "1")),
    Column("b", T.BOOLEAN, keys=("false",)),
    Column("d", T.DATE, edges=("2026-01-05", "2026-12-12")),
    Column("t", T.TIMESTAMP),
]


def observed(column: Column) -> tuple[Group, InputColumn]:
    """The states of a column's fields as a group, and the column that has them."""
    name = f"{column.name}_state"
    state = Expression(f"the state of {column.name}", (column.name,), column)
    return Group(name, T.STRING, column.states, column.states), InputColumn(name, T.STRING, state)


STATES = [observed(column) for column in DECLARED]
MEASURES = [
    Measure(M.RECORDS),
    Measure(M.UNITS),
    *(Measure(M.UNITS, where=where) for where in CONDITIONS[:2]),
    *(Measure(M.RECORDS, where=where) for where in CONDITIONS),
    *(Measure(kind, each) for each in QUANTITIES for kind in (M.SUM, M.VALUES)),
    Measure(M.SUM, QUANTITIES[0], CONDITIONS[0]),
    Measure(M.SQUARES, QUANTITIES[5]),
    Measure(M.SQUARES, Quantity("x", Grid(Fraction(1), -3037000499, 3037000499))),  # of 63 bits
    Measure(M.SQUARES, QUANTITIES[2]),
]
WEIGHTED = [
    *(Measure(M.RECORDS, where=CONDITIONS[2], survey_weight=weight) for weight in WEIGHTS),
    *(Measure(M.VALUES, QUANTITIES[0], survey_weight=weight) for weight in WEIGHTS),
    *(Measure(M.SUM, each, survey_weight=WEIGHTS[1]) for each in QUANTITIES[2:6]),
]
DISTINCT = [
    *(Measure(M.DISTINCT, column=name) for name in ("s", "x", "i", "c", "b", "d", "t", "k", "q")),
    Measure(M.DISTINCT, None, CONDITIONS[2], "s"),
]
SCORES = [
    Candidates(("0", "1.5", "20"), T.DECIMAL,
               sql("ABS(x - candidate) + i", "x", "candidate", "i"), Grid(Fraction(1, 8), 0, 90)),
    Candidates(("a", "\u00e9"), T.STRING,
               sql("CASE WHEN s = candidate THEN 1 END", "s", "candidate"),
               Grid(Fraction(1), 0, 1)),
    Candidates(("2026-01-31", "0001-01-01"), T.DATE,
               sql("CASE WHEN d < candidate THEN 2 ELSE x END", "d", "x", "candidate"),
               Grid(Fraction(1, 4), 0, 2**52)),
]  # fmt: skip
UNITS = ("o", "o", "o", "s", "i", "x", "c", "b", "d", "t", "y", "k", "q")
MANY = 10**9


@st.composite
def bounds(draw: st.DrawFn, groups: int) -> Bound:
    """Limits of every kind, by units of any column."""
    return Bound(
        draw(st.sampled_from(UNITS)),
        rows=draw(st.sampled_from([1, 2, 3, 5, 8, 1000, MANY])),
        groups=draw(st.sampled_from([1, 2, 3, MANY])),
        per_group=draw(st.sampled_from([1, 2, 4, MANY])),
        leading=draw(st.integers(0, groups)),
        null_unit=draw(st.booleans()),
        salt=draw(st.sampled_from([0, 1, 2**63, 2**64 - 1]) | st.integers(0, 2**64 - 1)),
    )


@st.composite
def aggregates(
    draw: st.DrawFn, source: Source, inputs: tuple[InputColumn, ...]
) -> AggregateRequest:
    """A table of integers: of measures, scores or points; bounded or not."""
    every = [*PUBLIC, *PRIVATE, *(group for group, _ in STATES)]
    most = draw(st.sampled_from([1, 1, 2, 3]))  # of many cells, few have the records that matter
    groups = draw(
        st.lists(st.sampled_from(every), max_size=most, unique_by=lambda each: each.column)
    )
    bound = draw(st.none() | bounds(len(groups)))
    request = AggregateRequest(source, (), tuple(groups), (), draw(st.sampled_from(FILTERS)), bound)
    kind = draw(
        st.sampled_from(
            ["points", "added", "added", "weighted", "distinct", "both", "scores", "clipped"]
        )
    )
    if kind == "clipped":
        request = draw(clipped(request))
    elif kind == "scores":
        request = replace(request, scores=draw(st.sampled_from(SCORES)))
    elif kind == "points":
        weight = draw(st.sampled_from([None, *WEIGHTS]))
        request = replace(request, points=draw(st.sampled_from(QUANTITIES)), survey_weight=weight)
    else:
        added = MEASURES if bound else [each for each in MEASURES if each.kind is not M.UNITS]
        lists = {
            "added": [added],
            "distinct": [DISTINCT],
            "weighted": [WEIGHTED],
            "both": [added, DISTINCT],
        }[kind]
        measures = [
            each
            for some in lists
            for each in draw(st.lists(st.sampled_from(some), min_size=5, max_size=9, unique=True))
        ]
        request = replace(request, measures=tuple(measures))
    return replace(request, inputs=select_inputs(request, inputs))


@st.composite
def clipped(draw: st.DrawFn, request: AggregateRequest) -> AggregateRequest:
    """A sum or count over public groups, of totals of units that are scaled to some norm."""
    groups = tuple(each for each in request.groups if not each.private)
    norm, bound = draw(st.sampled_from(ClipNorm)), draw(st.sampled_from([1, 3, 10, 77, 2**50]))
    limits = Bound(
        draw(st.sampled_from(UNITS)),
        0,
        0,
        0,
        len(groups),
        null_unit=draw(st.booleans()),
        clip=Clip(norm, bound),
    )
    sums = [Measure(M.RECORDS), *(Measure(M.SUM, each) for each in QUANTITIES)]
    measure = draw(st.sampled_from(sums))
    return replace(request, groups=groups, bound=limits, measures=(measure,))


def select_inputs(
    request: AggregateRequest | RecordRequest, read: tuple[InputColumn, ...]
) -> tuple[InputColumn, ...]:
    """The columns of the file, those computed of them, and the states that are grouped by."""
    columns = request.groups if isinstance(request, AggregateRequest) else request.columns
    named = {each.column for each in columns}
    return (*read, *COMPUTED, *(each for _, each in STATES if each.name in named))


@st.composite
def records(draw: st.DrawFn, source: Source, inputs: tuple[InputColumn, ...]) -> RecordRequest:
    """Codes of single records, bounded or not."""
    numbers = [
        each if each.null_fill is not None else replace(each, null_fill=each.grid.lower)
        for each in QUANTITIES
    ]
    columns = draw(st.lists(st.sampled_from([*PUBLIC, *numbers]), min_size=1, max_size=4))
    bound = draw(st.none() | bounds(0))
    if bound is not None:
        bound = replace(bound, groups=1, leading=0)
    request = RecordRequest(source, (), tuple(columns), bound)
    return replace(request, inputs=select_inputs(request, inputs))


# --- answers -------------------------------------------------------------------------------------


def answer(engine: Engine, request: AggregateRequest | RecordRequest) -> Any:
    """All that is counted, in a form in which no order is anything."""
    engine.inspect(request.source, request.inputs)
    if isinstance(request, RecordRequest):
        codes: Counter[tuple[int, ...]] = Counter()
        for batch in engine.records(request).reveal():
            assert [column.dtype for column in batch] == [np.int64] * len(request.columns)
            codes.update(zip(*(column.tolist() for column in batch), strict=True))
        return codes
    return order(request, engine.aggregate(request))


def order(request: AggregateRequest, table: Any) -> Any:
    """An exact table, its cells by their labels if a group is private."""
    columns = [list(column) for column in table.reveal()]
    assert all(type(each) is int for column in columns for each in column)
    keys = list(table.reveal_keys())
    assert len(set(keys)) == len(keys)
    if not request.private:
        assert keys == []
        return columns
    if request.points is not None:
        triples = list(zip(*columns, strict=True))
        assert triples == sorted(triples)
        return sorted(keys), sorted((*keys[cell], k, n) for cell, k, n in triples)
    width = 1 if request.scores is None else len(request.scores.texts)
    assert {len(column) for column in columns} == {len(keys) * width}
    cut = [[each[at * width : (at + 1) * width] for each in columns] for at in range(len(keys))]
    return dict(zip(keys, cut, strict=True))


@dataclass(frozen=True)
class Way:
    """In how many parts the engine is asked, and as if how much did not fit into memory."""

    parts: int = 1
    frugal: bool = False
    very: bool = False
    packed: bool = True
    at_once: int = bound_by_arrays.AT_ONCE
    many: int = execute.MANY
    texts: int = text_numbers.MOST_TEXTS

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Answer in this way."""

        def run_all(run: Callable[[Part], object], *_: object) -> Iterator[object]:
            for index in range(self.parts):
                yield run(Part(index, self.parts))

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(execute, "run_in_parts", run_all)
            patch.setattr(record_codes, "choose_part_count", lambda *_: self.parts)
            patch.setattr(execute, "FRUGAL", 1 if self.frugal else MANY)
            patch.setattr(execute, "VERY_FRUGAL", 1 if self.very else MANY)
            patch.setattr(execute, "MANY", self.many)
            patch.setattr(bound_by_arrays, "AT_ONCE", self.at_once)
            patch.setattr(text_numbers, "MOST_TEXTS", self.texts)
            if not self.packed:
                patch.setattr(execute, "plan_packing", lambda *_: None)
            yield


WAYS = [
    Way(),
    Way(3),
    Way(frugal=True),
    Way(frugal=True, very=True),
    Way(at_once=1),
    Way(3, at_once=9),
    Way(3, packed=False),
    Way(many=0),
    Way(texts=3),
]
