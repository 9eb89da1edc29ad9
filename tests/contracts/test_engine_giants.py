"""Units with so many rows that they are no list in memory: the same rows, found in other ways."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest
from msgspec.structs import replace
from oracle.sampling import sampled, seeds_of
from tables import T, asked, by_key, hidden, inputs, keyed

from dprelease.engines.duckdb import execute as duckdb_execute
from dprelease.engines.duckdb import hash_parts
from dprelease.engines.duckdb.hash_parts import Part
from dprelease.model import (
    AggregateRequest,
    Bound,
    Grid,
    Measure,
    MeasureKind,
    Quantity,
    Source,
)

TYPES = {"p": T.STRING, "g": T.STRING, "i": T.INTEGER}
WIDE = Quantity("i", Grid(Fraction(1), -(2**40), 2**40))
MEASURES = (
    Measure(MeasureKind.RECORDS),
    Measure(MeasureKind.SUM, WIDE),
    Measure(MeasureKind.UNITS),
)
SALT = 12


def giant(folder: Path, rows: int, cells: int, form: str = "parquet") -> Source:
    """Row i of one person has the number i, in cell i % cells; cells are in order of their name."""
    path = folder / f"giant.{form}"
    duckdb.execute(
        f"COPY (SELECT 'ann' AS p, 'k' || lpad((i % {cells})::VARCHAR, 4, '0') AS g, i::BIGINT AS i"
        f" FROM range({rows}) AS t(i)) TO '{path}' (FORMAT {form})"
    )
    return Source(str(path), form)


def expected(rows: int, cells: int, bound: Bound) -> dict[str, list[int]]:
    """The answer by the definition: rows are in order of their cell, then of their number."""
    seeds, size = seeds_of(bound.salt, "ann"), rows // cells
    found: dict[int, list[int]] = {}
    for place in sampled(rows, bound.rows, seeds.rows):
        found.setdefault(place // size, []).append(place // size + cells * (place % size))
    kept = list(found)
    answer = {}
    for cell in (kept[each] for each in sampled(len(kept), bound.groups, seeds.cells)):
        own = found[cell]
        left = [own[each] for each in sampled(len(own), bound.per_group, seeds.within)]
        answer[f"k{cell:04}"] = [len(left), sum(left), 1]
    return answer


def question(source: Source, bound: Bound, private: bool, cells: int) -> AggregateRequest:
    group = hidden("g") if private else keyed("g", [f"k{cell:04}" for cell in range(cells)])
    return AggregateRequest(source, inputs(TYPES), (group,), MEASURES, bound=bound)


def answered(request: AggregateRequest) -> dict[str, list[int]]:
    found = by_key("duckdb", request)
    return {key: column for (key,), column in found.items() if any(column)}


@pytest.mark.thorough
@pytest.mark.one_in(2)
@pytest.mark.parametrize("private", [False, True])
def test_a_person_of_a_million_rows_fits_into_the_usual_memory(
    tmp_path: Path, private: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hash_parts, "MOST_PARTS", 1)
    source = giant(tmp_path, 10**6, 100)
    for bound in (Bound("p", 12, 5, 2, 1, salt=SALT), Bound("p", 900, 70, 4, 1, salt=SALT)):
        request = question(source, bound, private, 100)
        assert answered(request) == expected(10**6, 100, bound)


LITTLE = [(4_000_000, 1000, "200MB", True), (3_000_000, 1, "150MB", False)]


@pytest.mark.thorough
@pytest.mark.parametrize(("rows", "cells", "memory", "private"), LITTLE)
def test_one_unit_of_very_many_rows_fits_into_little_memory(
    tmp_path: Path,
    rows: int,
    cells: int,
    memory: str,
    private: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In many cells, or all in one."""
    monkeypatch.setenv("DPRELEASE_MEMORY", memory)
    bound = Bound("p", 12, 5, 2, 1, salt=SALT)
    request = question(giant(tmp_path, rows, cells), bound, private, cells)
    assert answered(request) == expected(rows, cells, bound)


@pytest.mark.thorough
@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize("very", [False, True])
def test_looks_account_for_every_record(
    tmp_path: Path, form: str, very: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those kept, those not kept, those in no cell, and those of other people; in two parts."""
    monkeypatch.setattr(duckdb_execute, "FRUGAL", 2)
    monkeypatch.setattr(duckdb_execute, "VERY_FRUGAL", 2 if very else 3)

    def in_two(run: Callable[[Part], object], *_: object) -> Iterator[object]:
        for index in range(2):
            yield run(Part(index, 2))

    monkeypatch.setattr(duckdb_execute, "run_in_parts", in_two)
    path = tmp_path / f"t.{form}"
    duckdb.execute(
        "COPY (SELECT 'ann' AS p, 'k' || i % 7 AS g, i::BIGINT AS i FROM range(1000) AS t(i)"
        " UNION ALL SELECT 'p' || i % 50, 'k1', i FROM range(500) AS t(i)"
        f" UNION ALL SELECT NULL, 'k1', i FROM range(90) AS t(i)) TO '{path}' (FORMAT {form})"
    )
    group = keyed("g", [f"k{cell}" for cell in range(5)])
    source = Source(str(path), form)
    for bound in (
        Bound("p", 10**9, 10**9, 10**9, 1),
        Bound("p", 70, 3, 9, 1, null_unit=True),
        Bound("p", 4, 3, 4, 0),
    ):
        request = AggregateRequest(source, inputs(TYPES), (group,), MEASURES, bound=bound)
        assert asked("duckdb", request) == asked("reference", request)
        request = replace(request, measures=(Measure(MeasureKind.DISTINCT, column="i"),))
        assert asked("duckdb", request) == asked("reference", request)
