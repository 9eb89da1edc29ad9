"""Any table in any source, any request: every engine gives the integers of the oracle."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import csv_lines
import databases
import fuzz_csv
import fuzz_csv_readers
import fuzz_files
import pytest
from drawn_requests import WAYS, aggregates, answer, order, records
from drawn_tables import FILES, KINDS, Rows, Stored, declare, sources, tables, write_twin
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from oracle.engine import get
from postgres_server import Server
from thorough import examples

from dprelease import engines
from dprelease.engines.duckdb import duckdb_engine
from dprelease.model import AggregateRequest
from dprelease.model.source_registry import DRIVERS, SOURCES
from dprelease.sources.shared.source_format import lay_out

ANY = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def test_every_source_and_engine_is_among_those_that_are_drawn() -> None:
    assert set(SOURCES) == {"csv", "parquet", "arrow", "xlsx", "adbc", "frame"}
    assert set(DRIVERS) == {"sqlite", "postgresql"}
    assert set(engines.ENGINES) == {"duckdb", "spark"}


@given(data=st.data())
@settings(ANY, max_examples=examples(800, 60))
def test_aggregates_are_those_of_the_oracle(tmp_path: Path, data: st.DataObject) -> None:
    """In parts, and as if little memory was there; by each of two readers where there are two."""
    with TemporaryDirectory(dir=tmp_path) as folder:
        stored = data.draw(sources(Path(folder)))
        request = data.draw(aggregates(stored.source, stored.inputs))
        expected = answer(get("reference"), replace(request, source=stored.twin))
        with data.draw(st.sampled_from(WAYS)).taken():
            assert answer(stored.engine, request) == expected
            check_readers(stored, request, expected)


def check_readers(stored: Stored, request: AggregateRequest, expected: Any) -> None:
    """Where there are two readers, both agree, and a well written file is for the fast one."""
    if not stored.is_of_files or stored.source.format == "xlsx":
        return
    table = lay_out(request.source, request.inputs)
    fast = duckdb_engine.read_fast(request, table)
    careful = duckdb_engine.read_carefully(request, table)
    assert order(request, careful.table) == expected
    if fast is not None:
        assert order(request, fast.table) == expected
    elif stored.is_clean:
        raise AssertionError("a clean file is not for the careful reader")


@given(data=st.data())
@settings(ANY, max_examples=examples(200, 24))
def test_a_cluster_gives_the_integers_of_the_oracle(tmp_path: Path, data: st.DataObject) -> None:
    """By its double in this process, in many small splits."""
    with TemporaryDirectory(dir=tmp_path) as folder:
        stored = data.draw(sources(Path(folder), FILES))
        request = data.draw(aggregates(stored.source, stored.inputs))
        expected = answer(get("reference"), replace(request, source=stored.twin))
        assert answer(get("spark"), request) == expected


@given(data=st.data())
@settings(ANY, max_examples=examples(200, 24))
def test_codes_of_records_are_those_of_the_oracle(tmp_path: Path, data: st.DataObject) -> None:
    with TemporaryDirectory(dir=tmp_path) as folder:
        stored = data.draw(sources(Path(folder)))
        request = data.draw(records(stored.source, stored.inputs))
        expected = answer(get("reference"), replace(request, source=stored.twin))
        with data.draw(st.sampled_from(WAYS)).taken():
            assert answer(stored.engine, request) == expected


@pytest.mark.thorough
def test_a_table_of_a_server_gives_the_integers_of_the_oracle(
    tmp_path: Path, postgres: Server
) -> None:
    databases.require("postgresql")

    @given(rows=tables(), data=st.data())
    @settings(ANY, max_examples=10)
    def check(rows: Rows, data: st.DataObject) -> None:
        values = [[row[name] for name in KINDS] for row in rows]
        os.environ[databases.VARIABLE] = databases.write_to_postgres(postgres, KINDS, values)
        source = databases.source("postgresql", "t")
        for strategy in (aggregates, records):
            request = data.draw(strategy(source, declare()))
            expected = answer(get("reference"), replace(request, source=write_twin(tmp_path, rows)))
            assert answer(get("duckdb"), request) == expected

    check()


@given(case=fuzz_csv.CASES)
@settings(ANY, max_examples=examples(200, 24))
def test_any_bytes_are_records_of_csv_or_refused(
    tmp_path: Path, case: tuple[Any, Any, Any, Any]
) -> None:
    fuzz_csv.use_folder(tmp_path)
    fuzz_csv.check(case)


@given(seed=st.integers(0, 2**32 - 1))
@settings(ANY, max_examples=examples(30))
def test_lines_are_the_same_to_every_reader(tmp_path: Path, seed: int) -> None:
    """All that a statement knows of a record: texts, values, keys, grid integers, conditions."""
    rng = Random(seed)
    form = csv_lines.forms(rng)
    lines = csv_lines.lines(rng, form, *rng.choice(((400, 0.0), (100, 0.02), (30, 0.5))))
    fuzz_csv_readers.Comparison(tmp_path).of(form, lines, rng)


@given(case=fuzz_files.CASES)
@settings(ANY, max_examples=examples(200, 24))
def test_each_stored_type_is_read_or_refused_by_name(tmp_path: Path, case: fuzz_files.Case) -> None:
    """By whom a Parquet or Arrow file was written, and with which options."""
    fuzz_files.use_folder(tmp_path)
    fuzz_files.check(case)
