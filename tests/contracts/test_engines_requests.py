"""The embedded engine on every kind of request, with and without bounds, against the oracle.

Whatever the form of the file and the number of parts, the integers are those of the oracle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from oracle.engine import get
from tables import T, hidden, inputs, keyed, sql, written
from thorough import examples

from dprelease.engines.duckdb import duckdb_engine as embedded
from dprelease.engines.duckdb import execute as duckdb_execute
from dprelease.engines.duckdb.field_reader import FieldReader
from dprelease.engines.duckdb.hash_parts import Part
from dprelease.expressions.sqltext import Sql
from dprelease.model import (
    AggregateRequest,
    Bound,
    Candidates,
    ExactTable,
    Grid,
    Group,
    InputColumn,
    Measure,
    MeasureKind,
    Quantity,
)
from dprelease.sources.shared.source_format import lay_out

pytestmark = pytest.mark.usefixtures("kept_sessions")

M = MeasureKind
TYPES = {"p": T.STRING, "g": T.STRING, "i": T.INTEGER, "x": T.FLOAT, "d": T.DATE}
X = Quantity("x", Grid(Fraction(1, 4), -8, 400))
INTS = Quantity("i", Grid(Fraction(1), 0, 5), 2)
WIDE = Quantity("x", Grid(Fraction(1, 10**9), -(10**12), 10**15))
ODD, HIGH = sql("i % 2 = 1", "i"), sql("x > 1.5 OR g = 'b'", "x", "g")

ROWS = st.lists(
    st.tuples(
        st.sampled_from(["ann", "bob", "cy", "dee", None]),
        st.sampled_from(["a", "b", "c", "none", None]),
        st.sampled_from([0, 1, 2, 3, 2**53 + 1, None]),
        st.sampled_from([0.0, -0.0, 0.25, 1.5, 2.0, 99.75, float("inf"), float("nan"), None]),
        st.sampled_from(["2026-01-31", "0001-01-01", None]),
    ),
    max_size=25,
)
GROUPS: list[Group] = [
    keyed("g", "ab"),
    keyed("g", "ba", null="nothing"),
    replace(keyed("g", "c"), labels=("c", "rest"), other="rest"),
    keyed("i", ("0", "1", "2"), T.INTEGER),
    Group("x", T.FLOAT, ("low", "high"), edges=("0", "1", "100")),
    hidden("g", null="none"),
    hidden("x", T.FLOAT),
    hidden("d", T.DATE, "2026-01-31"),
]
ADDED = [
    Measure(M.RECORDS),
    Measure(M.UNITS),
    Measure(M.UNITS, where=HIGH),
    Measure(M.RECORDS, where=ODD),
    Measure(M.VALUES, X),
    Measure(M.SUM, X, HIGH),
    Measure(M.SQUARES, INTS),
    Measure(M.SQUARES, WIDE),
]
DISTINCT = [Measure(M.DISTINCT, column="x"), Measure(M.DISTINCT, None, ODD, "g")]
SCORE = Candidates(
    ("0", "1.5", "20"),
    T.DECIMAL,
    sql("ABS(x - candidate) + i", "x", "candidate", "i"),
    Grid(Fraction(1, 8), 0, 90),
)
BOUNDS = st.builds(
    Bound,
    column=st.sampled_from(["p", "i", "x", "d"]),
    rows=st.sampled_from([1, 2, 5, 1000, 10**9]),
    groups=st.sampled_from([1, 2, 40]),
    per_group=st.sampled_from([1, 2, 40]),
    leading=st.just(0),
    null_unit=st.booleans(),
    salt=st.sampled_from([0, 1, 2**64 - 1]),
)
SETTINGS = settings(
    deadline=None,
    derandomize=True,
    max_examples=examples(20),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@st.composite
def requests(draw: st.DrawFn, folder: Path, form: str = "csv") -> AggregateRequest:
    """Any request of the vocabulary over a table of random rows."""
    source = written(folder, TYPES, _rows(draw(ROWS), form), form)
    groups = draw(st.lists(st.sampled_from(GROUPS), max_size=2, unique_by=lambda each: each.column))
    where = draw(st.sampled_from([None, sql("x < 90 OR i = 1", "x", "i")]))
    kind = draw(st.sampled_from(["added", "distinct", "scores", "points", "wide"]))
    request = AggregateRequest(source, inputs(TYPES), tuple(groups), (), where)
    if kind == "scores":
        return replace(request, scores=SCORE)
    if kind in ("points", "wide"):
        return replace(request, points=X if kind == "points" else WIDE)
    measures = draw(st.lists(st.sampled_from(ADDED), min_size=1, max_size=4, unique=True))
    return replace(request, measures=tuple(measures + DISTINCT if kind == "distinct" else measures))


def _rows(rows: Sequence[tuple[object, ...]], form: str) -> list[tuple[object, ...]]:
    from datetime import date

    if form == "csv":
        return list(rows)
    return [(*row[:4], None if row[4] is None else date.fromisoformat(str(row[4]))) for row in rows]


def plain(request: AggregateRequest, table: ExactTable) -> object:
    """The table in a form in which the order of keys is nothing."""
    columns = [list(column) for column in table.reveal()]
    if not request.private:
        return columns
    keys = list(table.reveal_keys())
    assert len(set(keys)) == len(keys)
    if request.points is not None:
        triples = list(zip(*columns, strict=True))
        assert triples == sorted(triples)
        return set(keys), {(keys[cell], k): count for cell, k, count in triples}
    size = len(request.scores.texts) if request.scores else 1
    assert {len(column) for column in columns} == {len(keys) * size}
    return {
        key: [column[place * size : (place + 1) * size] for column in columns]
        for place, key in enumerate(keys)
    }


@contextmanager
def parts(number: int) -> Iterator[None]:
    """Have everything asked in so many parts."""

    def run_all(run: Callable[[Part], object], *_: object) -> Iterator[object]:
        for index in range(number):
            yield run(Part(index, number))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duckdb_execute, "run_in_parts", run_all)
        yield


def has_nothing_but_nulls(paths: Sequence[str]) -> bool:
    """Whether there is a column of them: DuckDB's reader would take that from statistics."""
    tables = [pq.read_table(path) for path in paths if path.endswith(".parquet")]
    columns = (column for table in tables if table.num_rows for column in table.columns)
    return any(column.null_count == len(column) for column in columns)


def every_path(request: AggregateRequest) -> dict[str, object]:
    """The answer of each reader."""
    table = lay_out(request.source, request.inputs)
    fast = embedded.read_fast(request, table)
    tables = {"careful": embedded.read_carefully(request, table).table}
    is_careful = table.fast() is None or has_nothing_but_nulls(table.paths)
    assert (fast is None) == is_careful, "a clean file is not for the careful reader"
    if fast is not None:
        tables["fast"] = fast.table
    return {name: plain(request, table) for name, table in tables.items()}


@given(data=st.data(), form=st.sampled_from(["csv", "parquet"]), number=st.sampled_from([1, 3]))
@SETTINGS
def test_without_a_bound_every_path_gives_the_integers_of_the_oracle(
    tmp_path: Path, data: st.DataObject, form: str, number: int
) -> None:
    request = data.draw(requests(tmp_path / "t", form))
    expected = plain(request, get("reference").aggregate(request))
    with parts(number):
        found = every_path(request)
    assert found == dict.fromkeys(found, expected)


@given(data=st.data(), form=st.sampled_from(["csv", "parquet"]), number=st.sampled_from([1, 3]))
@SETTINGS
def test_bounds_that_bind_nobody_leave_the_integers_of_the_oracle(
    tmp_path: Path, data: st.DataObject, form: str, number: int
) -> None:
    request = data.draw(requests(tmp_path / "t", form))
    bound = data.draw(BOUNDS)
    leading = data.draw(st.integers(0, len(request.groups)))
    most = data.draw(st.sampled_from([30, 1001]))
    bound = replace(bound, rows=most, groups=30, per_group=30)
    request = replace(request, bound=replace(bound, leading=leading))
    expected = plain(request, get("reference").aggregate(request))
    with parts(number):
        found = every_path(request)
    assert found == dict.fromkeys(found, expected)


@given(
    data=st.data(),
    form=st.sampled_from(["csv", "parquet"]),
    number=st.sampled_from([1, 3]),
    frugal=st.sampled_from([None, 1000, 1]),
)
@settings(SETTINGS, max_examples=examples(40))
def test_what_bounds_keep_is_what_the_oracle_keeps(
    tmp_path: Path, data: st.DataObject, form: str, number: int, frugal: int | None
) -> None:
    """On every path, in any number of parts, and as if there were little memory or very little."""
    request = data.draw(requests(tmp_path / "t", form))
    leading = data.draw(st.integers(0, len(request.groups)))
    request = replace(request, bound=replace(data.draw(BOUNDS), leading=leading))
    expected = plain(request, get("reference").aggregate(request))
    with parts(number), pytest.MonkeyPatch.context() as patch:
        if frugal is not None:
            patch.setattr(duckdb_execute, "FRUGAL", 1)
            patch.setattr(duckdb_execute, "VERY_FRUGAL", frugal)
        found = every_path(request)
    assert found == dict.fromkeys(found, expected)


@pytest.mark.thorough
def test_what_does_not_fit_is_asked_in_parts_each_counted_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory that gives out in the middle of an answer leaves nothing of it behind."""
    rows = [(f"p{n % 40}", "abc"[n % 3], n % 7, n / 4, None) for n in range(400)]
    source = written(tmp_path / "t", TYPES, rows, "csv")
    bound = Bound("p", 5, 2, 3, leading=1)
    everything = (*ADDED, *DISTINCT)
    for groups in ((keyed("g", "abc"),), (hidden("g"),)):
        plain_request = AggregateRequest(source, inputs(TYPES), groups, (), bound=bound)
        for request in (
            replace(plain_request, measures=everything),
            replace(plain_request, measures=tuple(ADDED)),
            replace(plain_request, points=X),
            replace(plain_request, scores=SCORE),
        ):
            expected = plain(request, get("duckdb").aggregate(request))
            with monkeypatch.context() as patch:
                attempts = _give_out(patch)
                found = get("duckdb").aggregate(request)
            assert plain(request, found) == expected
            assert len(attempts) > 4


def _give_out(patch: pytest.MonkeyPatch) -> list[int]:
    """Have memory give out for every part that is not at least one of four, after some rows."""
    attempts: list[int] = []
    honest = duckdb_execute.run_in_parts

    class Cut:
        """An answer that breaks off."""

        def __init__(self, answer: duckdb.DuckDBPyConnection) -> None:
            self.answer = answer

        def fetchall(self) -> object:
            raise duckdb.OutOfMemoryException

        fetchnumpy = fetchall

        def fetchmany(self, _: int) -> object:
            if len(attempts) % 2:
                attempts.append(0)
                return self.answer.fetchmany(2)
            raise duckdb.OutOfMemoryException

    honest_run = FieldReader.run

    def broken_off(self: FieldReader, sql: Sql, *others: Any, **named: Any) -> Any:
        answer = honest_run(self, sql, *others, **named)
        return answer if str(sql).startswith("CREATE") else Cut(answer)

    def in_parts(run: Callable[[Part], object], *_: object) -> Iterator[object]:
        def failing(part: Part) -> object:
            attempts.append(part.of)
            if part.of >= 4:
                return run(part)
            with pytest.MonkeyPatch.context() as inner:
                inner.setattr(FieldReader, "run", broken_off)
                return run(part)

        return honest(failing)

    patch.setattr(duckdb_execute, "run_in_parts", in_parts)
    return attempts


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_computed_text_that_is_only_grouped_by(form: str, tmp_path: Path) -> None:
    """It is in no file, and so in no dictionary of one."""
    rows = [("ann", "a", 1, 0.25, None), ("bob", "b", 2, 1.5, None), ("cy", "c", 3, None, None)]
    source = written(tmp_path, TYPES, _rows(rows, form), form)
    made = InputColumn("family", T.STRING, sql("CASE WHEN g = 'a' THEN 'x' ELSE 'y' END", "g"))
    request = AggregateRequest(
        source, (*inputs(TYPES), made), (keyed("family", "xy"),), (Measure(M.RECORDS),)
    )
    answers = {
        name: plain(request, get(name).aggregate(request)) for name in ("duckdb", "reference")
    }
    assert answers == {"duckdb": [[1, 2]], "reference": [[1, 2]]}
