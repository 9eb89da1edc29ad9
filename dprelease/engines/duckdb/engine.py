"""The DuckDB engine: which reader answers a request, streaming, in bounded memory, exact."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from dprelease.engines.base import Share
from dprelease.engines.common.files import Layout, lay_out
from dprelease.engines.common.read_share import UNTOLD, ReadShare
from dprelease.engines.common.request_content import held_at_once
from dprelease.engines.csv.line_check import beside_a_scan, may_be_fast
from dprelease.engines.duckdb.errors import Stream, after_charge
from dprelease.engines.duckdb.session import (
    ROOM_FOR_POINTS,
    ROOM_FOR_UNITS,
    check_memory,
    session,
)
from dprelease.model import (
    AggregateRequest,
    ExactRecords,
    ExactTable,
    InputColumn,
    RecordRequest,
    Source,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from dprelease.engines.duckdb.execute import Answer
    from dprelease.engines.duckdb.sources import RecordStream


class DuckDB:
    """See ``Engine``. CSV is read fast if every line is one clean record, else with care."""

    name = "duckdb"

    def inspect(self, source: Source, inputs: Sequence[InputColumn]) -> None:
        """Check names and types against headers and footers; raises Failure(DATA)."""
        check_memory()
        if source.format == "csv":
            lay_out(source, inputs)
        else:
            from dprelease.engines.parquet.schema import lay_out_parquet

            lay_out_parquet(source, inputs)

    def aggregate(self, request: AggregateRequest, share: Share | None = None) -> ExactTable:
        """The exact integers of every cell; raises Failure(AFTER_CHARGE)."""
        read = ReadShare(share)
        with after_charge(request.source):
            if request.source.format == "parquet":
                table = from_parquet(request, read).table
            else:
                # either reader makes the same of every record
                layout = lay_out(request.source, request.inputs)
                table = (
                    csv_fast(request, layout, read) or csv_careful(request, layout, read)
                ).table
        read.finish()
        return table

    def records(self, request: RecordRequest, share: Share | None = None) -> ExactRecords:
        """The codes of all records, read as they are asked for; raises Failure(AFTER_CHARGE)."""
        from dprelease.engines.duckdb.record_codes import batches

        return ExactRecords(batches(request, ReadShare(share)))


ENGINE = DuckDB()


def _session(
    request: AggregateRequest, paths: Sequence[str]
) -> AbstractContextManager[DuckDBPyConnection]:
    """A session with memory for all aggregates, and for units or points, held all at once."""
    room = 0 if request.points is None else ROOM_FOR_POINTS
    room = room if request.bound is None else ROOM_FOR_UNITS
    return session(paths, held_at_once(request), room)


def from_parquet(request: AggregateRequest, share: ReadShare = UNTOLD) -> Answer:
    """The answer from the records of Parquet files."""
    from dprelease.engines.duckdb.sources import parquet_stream
    from dprelease.engines.parquet.schema import lay_out_parquet

    records = parquet_stream(lay_out_parquet(request.source, request.inputs))
    return from_stream(request, records, share)


def csv_careful(request: AggregateRequest, layout: Layout, share: ReadShare = UNTOLD) -> Answer:
    """The answer by the careful reader, whose records stream into the same statement."""
    from dprelease.engines.duckdb.sources import csv_stream

    return from_stream(request, csv_stream(request.source, layout, request.inputs), share)


def csv_fast(request: AggregateRequest, layout: Layout, share: ReadShare = UNTOLD) -> Answer | None:
    """The answer by DuckDB's reader, if every line was one record."""
    from dprelease.engines.duckdb.execute import exact_answer
    from dprelease.engines.duckdb.sources import FieldReader, csv_fields, measured

    dialect = request.source.dialect
    if not may_be_fast(layout, dialect):
        return None
    fields = csv_fields(layout, dialect)
    with _session(request, layout.paths) as connection, measured(connection, layout, share):
        reader = FieldReader(connection, fields, everything=True, cheap=True, share=share)
        answer, scan = beside_a_scan(
            connection, layout, dialect, lambda: exact_answer(request, reader), share
        )
    if answer is None or answer.records is None or not scan.confirms(answer.records):
        return None
    return answer


def from_stream(
    request: AggregateRequest, records: RecordStream, share: ReadShare = UNTOLD
) -> Answer:
    """The answer from a stream of records, which is opened anew for each statement."""
    from dprelease.engines.duckdb.execute import exact_answer

    stream = Stream()
    with _session(request, ()) as connection, stream.explained():
        return exact_answer(request, records.read_by(connection, stream, share))
