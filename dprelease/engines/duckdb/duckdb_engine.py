"""The DuckDB engine: it answers a request exactly, from a stream, in bounded memory.

It asks the fast reader of a format first, then the careful one.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, closing
from typing import TYPE_CHECKING

from msgspec.structs import replace

from dprelease.engines.duckdb.duckdb_errors import (
    Stream,
    require_unchanged,
    translate_after_charge,
)
from dprelease.engines.duckdb.duckdb_session import (
    ROOM_FOR_POINTS,
    ROOM_FOR_UNITS,
    check_memory,
    check_zones,
    open_session,
)
from dprelease.errors import Complaint
from dprelease.model import (
    AggregateRequest,
    ExactRecords,
    ExactTable,
    InputColumn,
    RecordRequest,
    Source,
)
from dprelease.sources.shared.data_failures import Share
from dprelease.sources.shared.read_share import UNTOLD, ReadShare
from dprelease.sources.shared.request_content import count_held_integers
from dprelease.sources.shared.source_format import LaidOut, Table, lay_out, warn_about_zones

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from dprelease.engines.duckdb.execute import Answer


class DuckDB:
    """See ``Engine``.

    ``laid_out`` finds the table of a source; by default, that of its registered format.
    """

    name = "duckdb"

    def __init__(self, laid_out: LaidOut = lay_out) -> None:
        self._laid_out = laid_out

    def inspect(self, source: Source, inputs: Sequence[InputColumn]) -> tuple[Complaint, ...]:
        """See ``Engine``; reads headers and footers only."""
        check_memory()
        check_zones(inputs)
        return warn_about_zones(self._laid_out(source, inputs), inputs)

    def aggregate(self, request: AggregateRequest, share: Share | None = None) -> ExactTable:
        """See ``Engine``."""
        read = ReadShare(share)
        with translate_after_charge(request.source):
            table = self._laid_out(request.source, request.inputs)
            with require_unchanged(table.paths):
                # Both readers read every record alike.
                answer = read_fast(request, table, read) or read_carefully(request, table, read)
        read.finish()
        return answer.table

    def records(self, request: RecordRequest, share: Share | None = None) -> ExactRecords:
        """See ``Engine``; records are read as batches are asked for."""
        from dprelease.engines.duckdb.record_codes import iter_batches

        return ExactRecords(iter_batches(request, ReadShare(share), self._laid_out))


ENGINE = DuckDB()


def _open_session(
    request: AggregateRequest, paths: Sequence[str]
) -> AbstractContextManager[DuckDBPyConnection]:
    """Open a session with memory for all aggregates, for units or points, and for joined texts."""
    # Imported here for start-up, as the execution is.
    from dprelease.engines.duckdb.measures import count_joined_at_once

    room = 0 if request.points is None else ROOM_FOR_POINTS
    room = room if request.bound is None else ROOM_FOR_UNITS
    joined = count_joined_at_once(request)
    return open_session(paths, count_held_integers(request), room, joined=joined)


def read_fast(request: AggregateRequest, table: Table, share: ReadShare = UNTOLD) -> Answer | None:
    """Answer by DuckDB's own reader of the format; None if it has none or can't be confirmed.

    Lines that it can't read are read carefully, if they are few and the request asks for sums.
    """
    from dprelease.engines.duckdb.execute import compute_exact_answer, is_sum_of_records
    from dprelease.engines.duckdb.field_reader import FieldReader, measure_progress, read_stream

    own = table.fast()
    if own is None:
        return None
    if is_sum_of_records(request):
        own = own.leave_out_lines()
    left = Stream()
    with (
        _open_session(request, table.paths) as connection,
        measure_progress(connection, table.paths, share),
    ):
        reader = FieldReader(
            connection, own.fields, True, cheap=True, record_count=own.record_count, share=share
        )

        def find_rest() -> FieldReader | None:
            splits = own.find_left_out(connection)
            if not splits:
                return None
            rest = read_stream(table.stream(splits), connection, left)
            return replace(rest, everything=True)

        with left.raise_cause():
            answer, confirms = own.read_checked(
                connection, lambda: compute_exact_answer(request, reader, find_rest), share
            )
    if answer is None or answer.records is None or not confirms(answer.records):
        return None
    return answer


def read_carefully(request: AggregateRequest, table: Table, share: ReadShare = UNTOLD) -> Answer:
    """Answer from a stream of records, which is opened anew for each statement."""
    from dprelease.engines.duckdb.execute import compute_exact_answer
    from dprelease.engines.duckdb.field_reader import read_stream

    stream = Stream()
    with (
        closing(table.stream()) as records,
        _open_session(request, ()) as connection,
        stream.raise_cause(),
    ):
        return compute_exact_answer(request, read_stream(records, connection, stream, share))
