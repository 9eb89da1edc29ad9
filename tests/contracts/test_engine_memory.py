"""What does not fit into memory is asked again in parts, and no integer depends on that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest
from drawn_requests import DISTINCT, MEASURES, SCORES, Way, answer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from oracle.engine import get
from tables import T, hidden, inputs, keyed, written
from thorough import examples

from dprelease.engines.duckdb import bound_by_arrays
from dprelease.engines.duckdb import execute as duckdb_execute
from dprelease.engines.duckdb.bound_by_arrays import SortedBounding, plan_packing
from dprelease.engines.duckdb.field_reader import FieldReader
from dprelease.engines.duckdb.hash_parts import Part
from dprelease.engines.duckdb.typed_rows import Rows
from dprelease.expressions.sqltext import Sql
from dprelease.model import (
    AggregateRequest,
    Bound,
    Grid,
    Measure,
    MeasureKind,
    Quantity,
)

M = MeasureKind
X = Quantity("x", Grid(Fraction(1, 2), -3, 9))
COUNTS = (Measure(M.RECORDS), Measure(M.UNITS))


def answers(engine: str, request: AggregateRequest) -> Any:
    """See ``answer``."""
    return answer(get(engine), request)


@pytest.mark.thorough
def test_what_does_not_fit_is_asked_in_parts_each_counted_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory that gives out in the middle of an answer leaves nothing of it behind."""
    types = {"o": T.STRING, "s": T.STRING, "i": T.INTEGER, "x": T.FLOAT}
    rows = [(f"p{n % 40}", "abc"[n % 3], n % 7, n / 4) for n in range(400)]
    source = written(tmp_path / "t", types, rows, "csv")
    bound = Bound("o", 5, 2, 3, leading=1)
    read = {"s", "i", "x"}
    added = [
        each
        for each in MEASURES
        if (each.where is None or {*each.where.columns} <= read)
        and (each.quantity is None or each.quantity.column in read)
    ]
    distinct = [each for each in DISTINCT if each.column in read]
    for groups in ((keyed("s", "abc"),), (hidden("s"),)):
        plain_request = AggregateRequest(source, inputs(types), groups, (), bound=bound)
        for request in (
            replace(plain_request, measures=(*added, *distinct)),
            replace(plain_request, measures=tuple(added)),
            replace(plain_request, points=X),
            replace(plain_request, scores=SCORES[0]),
        ):
            expected = answers("duckdb", request)
            with monkeypatch.context() as patch:
                attempts = _give_out(patch)
                assert answers("duckdb", request) == expected
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


PLACES = ("_number_units", "_pack_rows", "_sort_rows", "_compute_starts", "_find_firsts", "_keep")


@pytest.mark.one_in(6)
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
    request = AggregateRequest(source, inputs(types), (keyed("g", "ab"),), COUNTS)
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
@settings(
    max_examples=examples(60, 20), suppress_health_check=[HealthCheck.function_scoped_fixture]
)
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


@pytest.mark.one_in(2)
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
    request = AggregateRequest(source, inputs(types), (keyed("g", "abc"),), (*measures, *COUNTS))
    request = replace(request, groups=(keyed("g", "abcd"),))
    for bound in (Bound("p", 5, 2, 2, 1), Bound("p", 60, 2, 31, 1, salt=1), Bound("p", 9, 9, 9, 0)):
        asked_for = replace(request, bound=bound)
        packing = plan_packing(asked_for, Rows(Sql(""), (), dict.fromkeys(quantities, "k"), {}))
        if bound.leading:
            assert packing is not None
            assert packing.bits == bits
            assert len(replace(packing, above=2).words) == integers
        assert answers("duckdb", asked_for) == answers("reference", asked_for)
