"""All records of a source as batches of codes, by the reader that reads them right.

Batches are handed on at once, so what is to be known of the files is found out before: that every
line of a CSV file is one clean record, that texts are UTF-8. The records are the same by whichever
reader they come.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any

from dprelease.engines.common.file_identity import unchanged
from dprelease.engines.common.files import Layout, lay_out, resolve
from dprelease.engines.common.record_requests import aggregate_of
from dprelease.engines.csv.line_check import beside_a_scan, may_be_fast
from dprelease.engines.duckdb.errors import (
    Stream,
    after_charge,
    stopped,
)
from dprelease.engines.duckdb.execute import Reading
from dprelease.engines.duckdb.group_labels import put_labels
from dprelease.engines.duckdb.record_codes import coded, codes
from dprelease.engines.duckdb.record_streams import Kept, Whole, codes_now
from dprelease.engines.duckdb.session import ROOM_FOR_UNITS, session
from dprelease.engines.duckdb.sources import (
    RECORDS,
    RecordStream,
    csv_fields,
    csv_stream,
    parquet_stream,
)
from dprelease.model import RecordRequest

if TYPE_CHECKING:
    from dprelease.engines.duckdb.record_streams import Batch

    # A schema, and record batches of it.
    Opened = Callable[[], tuple[Any, Iterator[Any]]]


def batches(request: RecordRequest) -> Iterator[Batch]:
    """The codes of all records, or of those that are kept; raises Failure(AFTER_CHARGE)."""
    with after_charge(request.source):
        source = request.source
        if source.format == "csv":
            yield from _csv(request)
            return
        with unchanged(resolve(source)):
            yield from _streamed(request, parquet_stream(source, request.inputs))


def _room(request: RecordRequest) -> int:
    """Bytes of memory beyond the usual: units are held all at once."""
    return 0 if request.bound is None else ROOM_FOR_UNITS


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
    return _streamed(request, csv_stream(request.source, layout, request.inputs))


def _streamed(request: RecordRequest, source: RecordStream) -> Iterator[Batch]:
    """The codes of a stream of records, which are total: they are read once, batch by batch."""
    import pyarrow as pa

    stream = Stream()
    with session((), room=_room(request)) as connection:
        put_labels(connection, aggregate_of(request).groups)
        try:
            if request.bound is not None:
                reading = Reading(
                    source.fields,
                    everything=False,
                    cheap=source.cheap,
                    renew=lambda: source.register(connection, stream),
                    known=source.known,
                )
                yield from Kept(connection, request, reading).batches()
                return
            query = codes(request, coded(request, source.fields).relation)
            schema, records = source.opened()
            for batch in stream.watch(records):
                if batch.num_rows:
                    connection.register(RECORDS, pa.Table.from_batches([batch], schema))
                    yield codes_now(connection, query)
        except (Exception, KeyboardInterrupt):
            cause = stopped(stream)
            if cause is None:
                raise
            raise cause from None
