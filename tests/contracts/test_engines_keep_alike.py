"""Bounded requests of every kind: both engines keep the same rows of each unit, to the last one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from oracle.engine import get
from tables import OPAQUE, T, hidden, inputs, keyed, sql, written
from thorough import examples

from dprelease.engines.duckdb import bound_by_arrays
from dprelease.engines.duckdb import execute as duckdb_execute
from dprelease.engines.duckdb.bound_by_arrays import SortedBounding, plan_packing
from dprelease.engines.duckdb.hash_parts import Part
from dprelease.engines.duckdb.typed_rows import Rows
from dprelease.expressions.sqltext import Sql
from dprelease.model import (
    AggregateRequest,
    Bound,
    Candidates,
    Grid,
    Group,
    InputColumn,
    Measure,
    MeasureKind,
    Quantity,
    Source,
)

pytestmark = pytest.mark.usefixtures("kept_sessions")

M = MeasureKind
UNITS: dict[T, list[object]] = {
    T.STRING: ["", "ann", "null", "=", "é😀", "a'b\\c"],
    T.INTEGER: [0, -1, 7, 2**62, -(2**63), 2**53 + 1],
    T.FLOAT: [0.0, -0.0, 0.1, -1e-320, 1e300, float("-inf"), float("nan")],
    T.DECIMAL: [Decimal("0.1"), Decimal("-7.5"), Decimal(0), Decimal("123456789.000001")],
    T.BOOLEAN: [True, False],
    T.DATE: [date(1, 1, 1), date(1969, 12, 31), date(2026, 1, 31), date(9999, 12, 31)],
    T.TIMESTAMP: [
        datetime(1, 1, 1),
        datetime(1969, 12, 31, 23, 59, 59, 999_999),
        datetime(2026, 1, 31, 10, 0, 0, 500_000),
        datetime(9999, 12, 31, 23, 59, 59, 999_999),
    ],
}
TYPES = {
    "g": T.STRING,
    "h": T.STRING,
    "x": T.FLOAT,
    "i": T.INTEGER,
    "b": T.BOOLEAN,
    "d": T.DATE,
    "t": T.TIMESTAMP,
}
DAYS = [date(2026, 1, 31) + timedelta(days=each) for each in (-1, 0, 300)]
MOMENTS = [datetime(2026, 1, 31, 10) + timedelta(microseconds=each) for each in (0, 1, 10**9)]
HIGH, LOW, ODD = sql("x > 1", "x"), sql("x < 2 OR b", "x", "b"), sql("i % 2 = 1", "i")
X = Quantity("x", Grid(Fraction(1, 2), -3, 9))
INTS = Quantity("i", Grid(Fraction(1), -5, 2), null_fill=1)
WIDE = Quantity("x", Grid(Fraction(1, 10**9), -(10**12), 10**15))  # of 50 bits
WIDER = Quantity("i", Grid(Fraction(1), -(2**53), 2**60))  # of 61 bits
HIGHEST = Quantity("i", Grid(Fraction(1), 2**62, 2**62 + 2**61))
ROOT = Quantity("x", Grid(Fraction(1), -3037000499, 3037000499))  # of 33 bits, squares of 63
HEAVY = Quantity("x", Grid(Fraction(1, 4), 0, 7))  # a survey weight
FILLED = Quantity("i", Grid(Fraction(1), 1, 2**20), null_fill=3)  # another
HALVES = Quantity("h2", Grid(Fraction(1, 8), 0, 2**40))
GROUPS: list[Group] = [
    keyed("g", "ba", null="nothing"),
    replace(keyed("g", "c"), labels=("c", "rest"), other="rest"),
    keyed("i", ("0", "1", "2"), T.INTEGER),
    keyed("b", ("true",), T.BOOLEAN),
    Group("x", T.FLOAT, ("low", "high"), edges=("0", "1", "100")),
    hidden("h", null="none"),
    hidden("h"),
    hidden("i", T.INTEGER, "0"),
    hidden("x", T.FLOAT, "unknown"),
    hidden("b", T.BOOLEAN),
    hidden("d", T.DATE, "2026-01-31"),
    hidden("t", T.TIMESTAMP),
]
ADDED = [
    Measure(M.RECORDS),
    Measure(M.UNITS),
    Measure(M.UNITS, where=HIGH),
    Measure(M.UNITS, where=LOW),
    Measure(M.RECORDS, where=ODD),
    *(Measure(M.SUM, each) for each in (X, INTS, WIDE, WIDER, HIGHEST, HALVES)),
    Measure(M.SUM, X, HIGH),
    *(Measure(M.SQUARES, each) for each in (INTS, ROOT)),
    Measure(M.VALUES, WIDE),
    Measure(M.RECORDS, where=ODD, survey_weight=HEAVY),
    *(Measure(kind, X, survey_weight=HEAVY) for kind in (M.VALUES, M.SUM)),
    *(Measure(M.SUM, each, survey_weight=FILLED) for each in (INTS, WIDE)),
]
DISTINCT = [
    *(Measure(M.DISTINCT, column=each) for each in ("g", "x", "i", "b", "d", "t")),
    Measure(M.DISTINCT, None, ODD, "h"),
]
SCORE = Candidates(
    ("0", "1.5", "20"),
    T.DECIMAL,
    sql("ABS(x - candidate) + i", "x", "candidate", "i"),
    Grid(Fraction(1, 8), 0, 90),
)
COMPUTED = [
    InputColumn("u", T.FLOAT, sql("x * 0 + i", "x", "i")),
    InputColumn("u", T.INTEGER, sql("i % 2", "i")),
    InputColumn("u", T.STRING, sql("g", "g")),
]
SETTINGS = settings(
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@dataclass(frozen=True)
class Way:
    """In how many parts the engine is asked, and whether as if units did not fit into memory."""

    parts: int = 1
    frugal: bool = False
    very: bool = False
    packed: bool = True
    at_once: int = bound_by_arrays.AT_ONCE

    @contextmanager
    def taken(self) -> Iterator[None]:
        def run_all(run: Callable[[Part], object], *_: object) -> Iterator[object]:
            for index in range(self.parts):
                yield run(Part(index, self.parts))

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(duckdb_execute, "run_in_parts", run_all)
            patch.setattr(duckdb_execute, "FRUGAL", 1 if self.frugal else 10**9)
            patch.setattr(duckdb_execute, "VERY_FRUGAL", 1 if self.very else 10**9)
            patch.setattr(bound_by_arrays, "AT_ONCE", self.at_once)
            if not self.packed:
                patch.setattr(duckdb_execute, "plan_packing", lambda *_: None)
            yield


WAYS = [Way(), Way(3), Way(1, frugal=True), Way(1, frugal=True, very=True)]


@st.composite
def tables(draw: st.DrawFn, unit: T) -> list[tuple[object, ...]]:
    """Rows of few units, many of them alike."""
    row = st.tuples(
        st.sampled_from([*UNITS[unit][: draw(st.integers(1, 4))], None]),
        st.sampled_from(["a", "b", "c", None]),
        st.sampled_from(["none", "", "B", "a", "ab", "é", "\uffff", "😀", None]),
        st.sampled_from([0.0, -0.0, 0.25, 1.5, 2.0, 99.75, float("inf"), float("nan"), None]),
        st.sampled_from([0, 1, 2, 3, -4, 2**53 + 1, None]),
        st.sampled_from([True, False, None]),
        st.sampled_from([*DAYS, None]),
        st.sampled_from([*MOMENTS, None]),
    )
    kinds = draw(st.lists(row, min_size=1, max_size=12))
    copies = draw(st.lists(st.integers(0, 9), min_size=len(kinds), max_size=len(kinds)))
    rows = [row for row, count in zip(kinds, copies, strict=True) for _ in range(count)]
    return draw(st.permutations(rows))


@st.composite
def asked(draw: st.DrawFn, packed: bool = False) -> AggregateRequest:
    """Any bounded request that may have to be ``packed``, but for its source and unit's type."""
    some = [group for group in GROUPS if not (packed and group.private)]
    groups = draw(st.lists(st.sampled_from(some), max_size=3, unique_by=lambda each: each.column))
    bound = Bound(
        "p",
        rows=draw(st.sampled_from([1, 2, 3, 5, 8, 13, 1000, 10**9])),
        groups=draw(st.sampled_from([1, 2, 3, 10**9])),
        per_group=draw(st.sampled_from([1, 2, 4, 10**9])),
        leading=draw(st.integers(0, len(groups))),
        null_unit=draw(st.booleans()),
        salt=draw(st.integers(0, 2**64 - 1)),
    )
    where = draw(st.sampled_from([None, None, sql("x < 90 OR i = 1", "x", "i")]))
    request = AggregateRequest(None, (), tuple(groups), (), where, bound)  # type: ignore[arg-type]
    kinds = ["points", "added", "added", "distinct", "both", "scores"]
    kind = draw(st.sampled_from(kinds[:3] if packed else kinds))
    if kind == "scores":
        return replace(request, scores=SCORE)
    if kind == "points":
        points = draw(st.sampled_from([X, WIDE, WIDER, HIGHEST]))
        weight = draw(st.sampled_from([None, HEAVY, FILLED]))
        return replace(request, points=points, survey_weight=weight)
    measures: list[Measure] = []
    if kind != "distinct":
        measures += draw(st.lists(st.sampled_from(ADDED), min_size=1, max_size=5, unique=True))
    if kind != "added":
        measures += draw(st.lists(st.sampled_from(DISTINCT), min_size=1, max_size=3, unique=True))
    return replace(request, measures=tuple(measures))


def answers(engine: str, request: AggregateRequest) -> Any:
    """The table in a form in which the order of keys is nothing."""
    table = get(engine).aggregate(request)
    columns = [list(column) for column in table.reveal()]
    keys = list(table.reveal_keys())
    if not request.private:
        return columns
    if request.points is not None:
        return sorted((*keys[cell], k, n) for cell, k, n in zip(*columns, strict=True))
    width = 1 if request.scores is None else len(request.scores.texts)
    cut = [[c[at * width : (at + 1) * width] for c in columns] for at in range(len(keys))]
    return dict(zip(keys, cut, strict=True))


def drawn(folder: Path, data: st.DataObject, packed: bool = False) -> AggregateRequest:
    """Any bounded request of any table."""
    unit = data.draw(st.sampled_from(list(UNITS)))
    form = data.draw(st.sampled_from(["csv", "parquet", "parquet files"]))
    rows = data.draw(tables(unit))
    request = data.draw(asked(packed))
    types = {"p": unit, **TYPES}
    source = written(folder / "t", types, rows, form)
    half = InputColumn("h2", T.FLOAT, sql("x / 2 + i", "x", "i"))
    return replace(request, source=source, inputs=(*inputs(types), half))


def with_unit(request: AggregateRequest, unit: InputColumn) -> AggregateRequest:
    """The request of units by another column."""
    assert request.bound is not None
    bound = replace(request.bound, column=unit.name)
    return replace(request, inputs=(*request.inputs, unit), bound=bound)


@given(data=st.data())
@settings(SETTINGS, max_examples=examples(150, 25))
def test_both_engines_keep_the_same_rows(tmp_path: Path, data: st.DataObject) -> None:
    request = drawn(tmp_path, data)
    with data.draw(st.sampled_from(WAYS)).taken():
        assert answers("duckdb", request) == answers("reference", request)


@given(data=st.data())
@settings(SETTINGS, max_examples=examples(300, 25))
def test_units_sorted_some_at_a_time_keep_the_same_rows(
    tmp_path: Path, data: st.DataObject
) -> None:
    """Few rows at a time, of one part or several; and by windows. Also of computed units."""
    request = drawn(tmp_path, data, packed=True)
    if data.draw(st.booleans()):
        request = with_unit(request, data.draw(st.sampled_from(COMPUTED)))
    expected = answers("reference", request)
    parts, at_once = data.draw(st.sampled_from([1, 3])), data.draw(st.sampled_from([1, 2, 9]))
    with Way(parts, at_once=at_once).taken():
        assert answers("duckdb", request) == expected
    with Way(parts, packed=False).taken():
        assert answers("duckdb", request) == expected


PLACES = ("_number_units", "_pack_rows", "_sort_rows", "_compute_starts", "_find_firsts", "_keep")


@pytest.mark.one_in(3)
@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("before", [0, 1], ids=["first", "second"])
def test_a_part_that_runs_out_of_memory_is_asked_again_from_nothing(
    tmp_path: Path, place: str, form: str, before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever that is: no integer is counted twice, and no table of it takes memory any more."""
    types = {"p": T.STRING, "g": T.STRING, "x": T.FLOAT}
    rows = [(f"p{row % 7}", "ab"[row % 2], row % 5.0) for row in range(60)]
    source = written(tmp_path / "t", types, rows, form)
    bound = Bound("p", 5, 2, 3, 1)
    request = AggregateRequest(source, inputs(types), (keyed("g", "ab"),), tuple(ADDED[:2]))
    request = replace(request, bound=bound)
    expected = answers("reference", request)
    first, calls, own = SortedBounding.sample, [0], getattr(SortedBounding, place)

    def sample(self: SortedBounding) -> object:
        there = self.reader.connection.execute("SELECT table_name FROM duckdb_tables()")
        assert {name for (name,) in there.fetchall()} <= {"keys0"}
        return first(self)

    def full(self: SortedBounding, *args: Any, **named: Any) -> object:
        calls[0] += 1
        if calls[0] == 1 + before:
            raise duckdb.OutOfMemoryException
        return own(self, *args, **named)

    monkeypatch.setattr(bound_by_arrays, "AT_ONCE", 20)
    monkeypatch.setattr(duckdb_execute, "choose_part_count", lambda *_: 2)
    monkeypatch.setattr(SortedBounding, "sample", sample)
    monkeypatch.setattr(SortedBounding, place, full)
    assert answers("duckdb", request) == expected
    assert calls[0] > 1


@given(data=st.data())
@settings(SETTINGS, max_examples=examples(60, 6))
def test_another_unit_changes_nothing(tmp_path: Path, data: st.DataObject) -> None:
    """Added, taken away or with other rows: what is kept of each of the others is the same."""
    types = {"p": T.INTEGER, "g": T.STRING, "x": T.FLOAT}
    row = st.tuples(st.sampled_from(["a", "b", "c", None]), st.sampled_from([0.0, 1.0, 2.5, None]))
    own = [data.draw(st.lists(row, max_size=12)) for _ in range(5)]
    axes = (keyed("g", "abc"), keyed("p", "012", T.INTEGER))
    bound = Bound("p", data.draw(st.integers(1, 6)), data.draw(st.integers(1, 3)), 2, 1)
    request = AggregateRequest(None, inputs(types), axes, (), bound=bound)  # type: ignore[arg-type]
    found = []
    for other in own[2:]:
        rows = [(p, *each) for p, rows in enumerate([*own[:2], other]) for each in rows]
        source = written(tmp_path / "t", types, data.draw(st.permutations(rows)), "parquet")
        with Way(at_once=data.draw(st.sampled_from([1, 3, 100]))).taken():
            table = answers("duckdb", replace(request, source=source, points=X))
        found.append([each for each in zip(*table, strict=True) if each[0] % 3 < 2])
    assert found[0] == found[1] == found[2]


@given(data=st.data(), bounded=st.booleans())
@settings(SETTINGS, max_examples=examples(100, 25))
def test_tasks_of_a_cluster_keep_the_same_rows(
    tmp_path: Path, data: st.DataObject, bounded: bool
) -> None:
    """By its double in this process; also where nothing is left out."""
    request = drawn(tmp_path, data)
    if not bounded:
        summed = [measure for measure in request.measures if measure.kind is not M.UNITS]
        asked_for = tuple(summed or (request.measures and ADDED[:1]))
        request = replace(request, bound=None, measures=asked_for)
    assert answers("spark", request) == answers("reference", request)


@pytest.mark.one_in(12)
@pytest.mark.parametrize("name", OPAQUE)
def test_units_of_any_type_keep_the_same_rows(tmp_path: Path, name: str) -> None:
    """Of seven rows of each of the units, two."""
    size = 7 * len(OPAQUE[name])
    units = pa.chunked_array([OPAQUE[name]] * 7).combine_chunks()
    columns = {"p": units, "x": pa.array([float(row) for row in range(size)])}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    bound = Bound("p", 2, 1, 2, leading=0, null_unit=True)
    request = AggregateRequest(
        Source(str(tmp_path / "t.parquet"), "parquet"),
        inputs({"p": T.STRING, "x": T.FLOAT}, "p"),
        (),
        (),
        points=Quantity("x", Grid(Fraction(1), 0, size)),
    )
    seen = set()
    for salt in range(5):
        request = replace(request, bound=replace(bound, salt=salt))
        found = answers("duckdb", request)
        assert found == answers("reference", request)
        assert sum(found[2]) == 6
        seen.add(tuple(found[1]))
    assert len(seen) > 1


@pytest.mark.parametrize(
    ("bits", "integers"), [(60, 1), (61, 1), (62, 2), (64, 2), (126, 3), (190, 5)]
)
def test_on_both_sides_of_every_width(tmp_path: Path, bits: int, integers: int) -> None:
    """Two bits of cells, and what is left of quantities; two more are the unit's."""
    types = {"p": T.STRING, "g": T.STRING, "x": T.FLOAT, "y": T.FLOAT}
    rows = [
        (
            f"p{number % 3}",
            "abc"[number % 4 % 3],
            *(number * each % 61 * 2.0**50 for each in (7, 11)),
        )
        for number in range(300)
    ]
    widths = [min(bits - 2 - before, 62) for before in range(0, bits - 2, 62)]
    quantities = [
        Quantity("xy"[place % 2], Grid(Fraction(1), place // 2, place // 2 + 2**width - 2))
        for place, width in enumerate(widths)
    ]
    source = written(tmp_path / "t", types, rows, "parquet")
    measures = tuple(Measure(kind_, each) for each in quantities for kind_ in (M.SUM, M.VALUES))
    request = AggregateRequest(source, inputs(types), (keyed("g", "abc"),), (*measures, *ADDED[:2]))
    request = replace(request, groups=(keyed("g", "abcd"),))
    for bound in (Bound("p", 5, 2, 2, 1), Bound("p", 60, 2, 31, 1, salt=1), Bound("p", 9, 9, 9, 0)):
        asked_for = replace(request, bound=bound)
        packing = plan_packing(asked_for, Rows(Sql(""), (), dict.fromkeys(quantities, "k"), {}))
        if bound.leading:
            assert packing is not None
            assert packing.bits == bits
            assert len(replace(packing, above=2).words) == integers
        assert answers("duckdb", asked_for) == answers("reference", asked_for)
