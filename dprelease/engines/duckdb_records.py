"""All records of a source as batches of codes, by the reader that reads them right.

Batches are handed on at once, so what is to be known of the files is found out before: that every
line of a CSV file is one clean record, that texts are UTF-8. The records are the same by whichever
reader they come.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dprelease.engines.base import columns_read, lost
from dprelease.engines.csv_scan import beside_a_scan, may_be_fast
from dprelease.engines.duckdb_asking import Reading
from dprelease.engines.duckdb_codes import coded, codes
from dprelease.engines.duckdb_errors import (
    PARQUET_VALUES,
    Stream,
    after_charge,
    means,
    stopped,
)
from dprelease.engines.duckdb_labels import put_labels
from dprelease.engines.duckdb_rows import Fields
from dprelease.engines.duckdb_session import ROOM_FOR_UNITS, session
from dprelease.engines.duckdb_sources import (
    RECORDS,
    csv_fields,
    parquet_fields,
    record_fields,
    stream_fields,
)
from dprelease.engines.duckdb_streams import Kept, Whole, codes_now
from dprelease.engines.files import Layout, lay_out, resolve
from dprelease.engines.parquet_files import physical_types
from dprelease.engines.record_requests import aggregate_of
from dprelease.engines.unchanged import unchanged
from dprelease.model import RecordRequest

if TYPE_CHECKING:
    from dprelease.engines.duckdb_streams import Batch

    # A schema, and record batches of it.
    Opened = Callable[[], tuple[Any, Iterator[Any]]]


def batches(request: RecordRequest) -> Iterator[Batch]:
    """The codes of all records, or of those that are kept; raises Failure(AFTER_CHARGE)."""
    with after_charge(request.source):
        yield from _parquet(request) if request.source.format == "parquet" else _csv(request)


def _room(request: RecordRequest) -> int:
    """Bytes of memory beyond the usual: units are held all at once."""
    return 0 if request.bound is None else ROOM_FOR_UNITS


def _begun(connection: Any, request: RecordRequest, reading: Reading) -> Whole | Kept:
    return (Whole if request.bound is None else Kept)(connection, request, reading)


def _parquet(request: RecordRequest) -> Iterator[Batch]:
    """By DuckDB's reader, or by the careful one where that finds a text unreadable."""
    import duckdb

    source = request.source
    paths = resolve(source)
    with unchanged(paths):
        with session(paths, room=_room(request)) as connection:
            types = physical_types(connection, paths, source.pattern, request.inputs)
            reading = Reading(parquet_fields(paths, types), False, cheap=True, counted=True)
            put_labels(connection, aggregate_of(request).groups)
            stream: Whole | Kept | None = None
            try:
                stream = _begun(connection, request, reading)
            except duckdb.Error as problem:
                if not means(problem, PARQUET_VALUES):
                    raise
            if stream is not None:
                yield from stream.batches()
                return
        yield from _parquet_careful(request, paths, types)


def _parquet_careful(
    request: RecordRequest, paths: Sequence[str], types: Mapping[str, str]
) -> Iterator[Batch]:
    """Where a text of the file is not UTF-8, from records that are."""
    import pyarrow as pa

    from dprelease.engines import parquet_records

    damaged = (OSError, pa.ArrowInvalid)

    def opened() -> tuple[Any, Iterator[Any]]:
        try:
            reader = parquet_records.readable(paths, list(types))
        except damaged:
            raise lost() from None
        return reader.schema, iter(reader)

    yield from _careful(request, stream_fields(types), damaged, opened)


def _csv(request: RecordRequest) -> Iterator[Batch]:
    """By DuckDB's reader, or by the careful one: both make the same of every record."""
    layout = lay_out(request.source, request.inputs)
    with unchanged(layout.paths):
        if not (yield from _csv_fast(request, layout)):
            yield from _csv_careful(request, layout)


def _csv_fast(request: RecordRequest, layout: Layout) -> Generator[Batch, None, bool]:
    """By DuckDB's reader, if every line is one record. Whether it is done."""
    dialect = request.source.dialect
    if not may_be_fast(layout, dialect):
        return False
    reading = Reading(csv_fields(layout, dialect), everything=True, cheap=True)
    with session(layout.paths, room=_room(request)) as connection:

        def read() -> Whole:
            put_labels(connection, aggregate_of(request).groups)
            return Whole(connection, request, reading)

        whole, scan = beside_a_scan(connection, layout, dialect, read)
        if whole is None or not scan.confirms(whole.records):
            return False
        stream = whole if request.bound is None else Kept(connection, request, reading)
        yield from stream.batches()
    return True


def _csv_careful(request: RecordRequest, layout: Layout) -> Iterator[Batch]:
    """By the careful reader, whose records stream into the same statement."""
    import pyarrow as pa

    from dprelease.engines import csv_records

    dialect = request.source.dialect
    wanted = sorted(layout.position[each.name] for each in columns_read(request.inputs)) or [0]
    names = [f"f{place}" for place in wanted]
    schema = pa.schema([(name, pa.string()) for name in names])

    def opened() -> tuple[Any, Iterator[Any]]:
        return schema, csv_records.batches(dialect, layout, names, wanted)

    yield from _careful(request, record_fields(layout, dialect), (OSError,), opened)


def _careful(
    request: RecordRequest, fields: Fields, outside: Sequence[type[Exception]], opened: Opened
) -> Iterator[Batch]:
    """The codes of streams of records, which are total: they are read once, batch by batch."""
    import pyarrow as pa

    stream = Stream()
    with session((), room=_room(request)) as connection:

        def renew() -> None:
            schema, records = opened()
            reader = pa.RecordBatchReader.from_batches(schema, stream.watch(records))
            connection.register(RECORDS, reader)

        put_labels(connection, aggregate_of(request).groups)
        try:
            if request.bound is not None:
                reading = Reading(fields, everything=False, cheap=False, renew=renew)
                yield from Kept(connection, request, reading).batches()
                return
            query = codes(request, coded(request, fields).relation)
            schema, records = opened()
            for batch in stream.watch(records):
                if batch.num_rows:
                    connection.register(RECORDS, pa.Table.from_batches([batch], schema))
                    yield codes_now(connection, query)
        except (Exception, KeyboardInterrupt):
            cause = stopped(stream, outside)
            if cause is None:
                raise
            raise cause from None
