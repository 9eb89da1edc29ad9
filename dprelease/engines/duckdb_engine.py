"""The embedded engine: DuckDB, streaming, in bounded memory, exact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING

from dprelease.engines.base import columns_read, lost
from dprelease.engines.csv_scan import beside_a_scan, may_be_fast
from dprelease.engines.duckdb_errors import (
    PARQUET_VALUES,
    Stream,
    after_charge,
    means,
    stopped,
)
from dprelease.engines.duckdb_session import (
    ROOM_FOR_POINTS,
    ROOM_FOR_UNITS,
    check_memory,
    session,
)
from dprelease.engines.files import Layout, lay_out, resolve
from dprelease.engines.parquet_files import check_readable, physical_types
from dprelease.errors import InternalError
from dprelease.model import (
    AggregateRequest,
    ExactRecords,
    ExactTable,
    InputColumn,
    RecordRequest,
    Source,
)

if TYPE_CHECKING:
    from dprelease.engines.duckdb_asking import Answer


class DuckDB:
    """See ``Engine``. CSV is read fast if every line is one clean record, else with care."""

    name = "duckdb"

    def inspect(self, source: Source, inputs: Sequence[InputColumn]) -> None:
        """Check names and types against headers and footers; raises Failure(DATA)."""
        import duckdb

        check_memory()
        if source.format == "csv":
            lay_out(source, inputs)
            return
        paths = resolve(source)
        try:
            with session(paths) as connection:
                check_readable(connection, paths, source.pattern)
                physical_types(connection, paths, source.pattern, inputs)
        except duckdb.Error as problem:
            resolve(source)  # a file that has gone meanwhile is no bug
            raise InternalError(type(problem).__name__) from None

    def aggregate(self, request: AggregateRequest) -> ExactTable:
        """The exact integers of every cell; raises Failure(AFTER_CHARGE)."""
        with after_charge(request.source):
            answer = _parquet(request) if request.source.format == "parquet" else _csv(request)
        return answer.table

    def records(self, request: RecordRequest) -> ExactRecords:
        """The codes of all records, read as they are asked for; raises Failure(AFTER_CHARGE)."""
        from dprelease.engines.duckdb_records import batches

        return ExactRecords(batches(request))


ENGINE = DuckDB()


def integers(request: AggregateRequest) -> int:
    """How many aggregates there are: measures, the cell and its records, for every public cell."""
    cells = prod(len(group.labels) for group in request.groups if not group.private)
    candidates = 1 if request.scores is None else len(request.scores.texts)
    return cells * (len(request.measures) + 2) * candidates


def _room(request: AggregateRequest) -> int:
    """Bytes of memory beyond the usual: units and points are held all at once."""
    if request.bound is not None:
        return ROOM_FOR_UNITS
    return 0 if request.points is None else ROOM_FOR_POINTS


def _parquet(request: AggregateRequest) -> Answer:
    """The answer by DuckDB's reader, or by the careful one where that finds a text unreadable."""
    import duckdb

    from dprelease.engines.duckdb_asking import Reading, ask
    from dprelease.engines.duckdb_sources import parquet_fields

    source = request.source
    paths = resolve(source)
    with session(paths, integers(request), _room(request)) as connection:
        types = physical_types(connection, paths, source.pattern, request.inputs)
        fields = parquet_fields(paths, types)
        try:
            reading = Reading(fields, everything=False, cheap=True, counted=True)
            return ask(connection, request, reading)
        except duckdb.Error as problem:
            if not means(problem, PARQUET_VALUES):
                raise
    return _parquet_careful(request, paths, types)


def _parquet_careful(
    request: AggregateRequest, paths: Sequence[str], types: Mapping[str, str]
) -> Answer:
    """The answer where a text of the file is not UTF-8, from records that are."""
    import duckdb
    import pyarrow as pa

    from dprelease.engines.duckdb_asking import Reading, ask
    from dprelease.engines.duckdb_sources import RECORDS, stream_fields
    from dprelease.engines.parquet_records import readable

    stream = Stream()
    damaged = (OSError, pa.ArrowInvalid)
    with session((), integers(request), _room(request)) as connection:

        def renew() -> None:
            try:
                reader = readable(paths, list(types))
            except damaged:
                raise lost() from None
            batches = stream.watch(iter(reader))
            watched = pa.RecordBatchReader.from_batches(reader.schema, batches)
            connection.register(RECORDS, watched)

        reading = Reading(stream_fields(types), everything=False, cheap=False, renew=renew)
        try:
            return ask(connection, request, reading)
        except duckdb.Error:
            cause = stopped(stream, damaged)
            if cause is not None:
                raise cause from None
            raise


def _csv(request: AggregateRequest) -> Answer:
    """The answer by DuckDB's reader, or by the careful one: both make the same of every record."""
    layout = lay_out(request.source, request.inputs)
    return _csv_fast(request, layout) or _csv_careful(request, layout)


def _csv_fast(request: AggregateRequest, layout: Layout) -> Answer | None:
    """The answer by DuckDB's reader, if every line was one record."""
    from dprelease.engines.duckdb_asking import Reading, ask
    from dprelease.engines.duckdb_sources import csv_fields

    dialect = request.source.dialect
    if not may_be_fast(layout, dialect):
        return None
    fields = csv_fields(layout, dialect)
    with session(layout.paths, integers(request), _room(request)) as connection:
        reading = Reading(fields, everything=True, cheap=True)
        answer, scan = beside_a_scan(
            connection, layout, dialect, lambda: ask(connection, request, reading)
        )
    if answer is None or answer.records is None or not scan.confirms(answer.records):
        return None
    return answer


def _csv_careful(request: AggregateRequest, layout: Layout) -> Answer:
    """The answer by the careful reader, whose records stream into the same statement."""
    import duckdb
    import pyarrow as pa

    from dprelease.engines.csv_records import batches
    from dprelease.engines.duckdb_asking import Reading, ask
    from dprelease.engines.duckdb_sources import RECORDS, record_fields

    dialect = request.source.dialect
    wanted = sorted(layout.position[each.name] for each in columns_read(request.inputs)) or [0]
    names = [f"f{place}" for place in wanted]
    schema = pa.schema([(name, pa.string()) for name in names])
    stream = Stream()
    with session((), integers(request), _room(request)) as connection:

        def renew() -> None:
            records = stream.watch(batches(dialect, layout, names, wanted))
            reader = pa.RecordBatchReader.from_batches(schema, records)
            connection.register(RECORDS, reader)

        fields = record_fields(layout, dialect)
        reading = Reading(fields, everything=False, cheap=False, renew=renew)
        try:
            return ask(connection, request, reading)
        except duckdb.Error:
            cause = stopped(stream, (OSError,))
            if cause is not None:
                raise cause from None
            raise
