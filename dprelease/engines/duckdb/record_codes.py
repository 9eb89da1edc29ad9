"""Codes of single records in batches: of all records, or of a bounded sample of each unit's.

In SQL a code is a column ``x0..`` for each column of the request, never null. Bounded rows are put
in order by their codes, those of the first column first: all records lie in one cell, and a code is
all that is counted of a column.

Batches are handed on at once, so what may fail for what is in the files is tried before the first
one: that every line of a CSV file is one clean record, that texts are UTF-8. Until then the careful
reader can take over. The records are the same by whichever reader they come.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from dprelease.engines.duckdb.bound_by_arrays import packing_of
from dprelease.engines.duckdb.duckdb_errors import Stream, after_charge
from dprelease.engines.duckdb.duckdb_session import ROOM_FOR_UNITS, session
from dprelease.engines.duckdb.execute import BOUNDED, bounded_sample
from dprelease.engines.duckdb.field_reader import RECORDS, FieldReader, measured
from dprelease.engines.duckdb.group_keys import look_up, place_of_label, put_labels
from dprelease.engines.duckdb.hash_parts import Part, first_parts, in_parts, rows_of_units, units_of
from dprelease.engines.duckdb.measures import count_joined_at_once
from dprelease.engines.duckdb.record_cells import locate
from dprelease.engines.duckdb.typed_rows import Fields, Rows, build_rows
from dprelease.expressions.sqltext import COUNT_ALL, Sql, call, col, drop
from dprelease.model import Grid, Group, Quantity, RecordRequest
from dprelease.sources.shared.data_failures import lost, out_of_memory
from dprelease.sources.shared.read_share import UNTOLD, ReadShare
from dprelease.sources.shared.request_content import NO_LABEL, aggregate_of
from dprelease.sources.source_format import LaidOut, Table, lay_out

if TYPE_CHECKING:
    import numpy.typing as npt
    from duckdb import DuckDBPyConnection

    Batch = tuple[npt.NDArray[Any], ...]

BATCH = 1 << 16  # records
INTEGER = 2**31  # magnitudes below it are four bytes wide
WRAP = 1 << 64  # sums are compared in 64 bits


def batches(
    request: RecordRequest, share: ReadShare, laid_out: LaidOut = lay_out
) -> Iterator[Batch]:
    """The codes of all records, or of those within the bound; raises Failure(AFTER_CHARGE)."""
    with after_charge(request.source):
        table = laid_out(request.source, request.inputs)
        with unchanged(table.paths):
            # either reader makes the same of every record
            if not (yield from fast(request, table, share)):
                yield from careful(request, table, share)
    share.finish()


# --- by which reader -----------------------------------------------------------------------------


def fast(
    request: RecordRequest, table: Table, share: ReadShare = UNTOLD
) -> Generator[Batch, None, bool]:
    """By a reader of DuckDB's own, if the format has one and it is right. Whether it is done.

    Such a reader reads twice. Cheap streams are read once in less time.
    """
    own = None if table.stream().cheap else table.fast()
    if own is None:
        return False
    bounded = request.bound is not None
    paths, room = table.paths, ROOM_FOR_UNITS if bounded else 0
    joined = count_joined_at_once(aggregate_of(request))
    with session(paths, room=room, joined=joined) as connection, measured(connection, paths, share):
        reader = FieldReader(connection, own.fields, share=share)

        def read() -> AllCodes:
            put_labels(connection, aggregate_of(request).groups)
            return AllCodes(request, reader)

        all_codes, confirms = own.beside(connection, read, share)
        if all_codes is None or not confirms(all_codes.records):
            return False
        yield from (BoundedCodes(request, reader) if bounded else all_codes).batches()
    return True


def careful(request: RecordRequest, table: Table, share: ReadShare = UNTOLD) -> Iterator[Batch]:
    """The codes of a stream of records, which are total: they are read once, batch by batch."""
    import pyarrow as pa

    stream, bounded = Stream(), request.bound is not None
    with (
        closing(table.stream()) as source,
        session(
            (),
            room=ROOM_FOR_UNITS if bounded else 0,
            joined=count_joined_at_once(aggregate_of(request)),
        ) as connection,
        stream.explained(),
    ):
        put_labels(connection, aggregate_of(request).groups)
        if bounded:
            yield from BoundedCodes(request, source.read_by(connection, stream, share)).batches()
            return
        query = codes(request, coded(request, source.fields).relation)
        share.begin(1)
        schema, records = source.batches(share)
        for batch in stream.watch(records):
            if batch.num_rows:
                connection.register(RECORDS, pa.Table.from_batches([batch], schema))
                yield codes_now(connection, query)


@contextmanager
def unchanged(paths: Sequence[str]) -> Iterator[None]:
    """Raise Failure(AFTER_CHARGE) at the end if a file is not as it was at the beginning.

    Files that are read more than once must be the same files each time. What DuckDB makes of a file
    that changes under its hands is no bug of ours either.
    """
    import duckdb

    before = file_marks(paths)
    try:
        yield
    except duckdb.Error:
        if file_marks(paths) == before:
            raise
        raise _changed() from None
    if file_marks(paths) != before:
        raise _changed()


def file_marks(paths: Sequence[str]) -> list[tuple[int, ...]]:
    """What changes with a file's content; raises OSError when one is gone."""
    return [
        (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
        for status in map(os.stat, paths)
    ]


def _changed() -> Exception:
    """What to raise where two readings of the files did not see the same."""
    return lost("the files changed while they were read")


# --- from a connection ---------------------------------------------------------------------------


class AllCodes:
    """All records of fields that can be read twice: first their totals, then their codes."""

    def __init__(self, request: RecordRequest, reader: FieldReader) -> None:
        """Read everything once; raises duckdb.Error."""
        self._connection, self._share = reader.connection, reader.share
        relation = coded(request, reader.fields).relation
        self._query = codes(request, relation)
        # all rows, not one: a result that isn't read to its end keeps the connection busy
        self._share.begin(2)
        ((records, *sums),) = reader.rows(totals(request, relation))
        self.records = int(records)
        self._sums = [int(total or 0) % WRAP for total in sums[: len(request.columns)]]

    def batches(self) -> Iterator[Batch]:
        """The codes; raises Failure at the end if they aren't those that were added up."""
        self._share.begin(1)
        records, sums = 0, [0] * len(self._sums)
        for batch in code_batches(self._connection, self._query):
            records += len(batch[0])
            sums = [
                (total + int(column.sum())) % WRAP
                for total, column in zip(sums, batch, strict=True)
            ]
            yield batch
        if records != self.records or sums != self._sums:
            raise _changed()


class BoundedCodes:
    """The sample of each unit's rows, in as many parts as there must be to fit into memory."""

    def __init__(self, request: RecordRequest, reader: FieldReader) -> None:
        """Find the rows of the first part; raises duckdb.Error."""
        self._request, self._reader = request, reader
        self._parts = self._sampled()
        next(self._parts)

    def batches(self) -> Iterator[Batch]:
        """Their codes, part by part."""
        query = codes(self._request, col(BOUNDED))
        yield from code_batches(self._reader.connection, query)
        for _ in self._parts:
            yield from code_batches(self._reader.connection, query)

    def _sampled(self) -> Iterator[None]:
        """Put the sample of one part after the other into the table."""
        reader, fields = self._reader, self._reader.fields
        rows = coded(self._request, fields)
        request = replace(aggregate_of(self._request), groups=(), measures=())
        packing = packing_of(request, rows)
        first = first_parts(request, reader, rows, packing)

        def store(part: Part) -> None:
            some = rows_of_units(part, request, fields, lambda made: coded(self._request, made))
            cells = locate(request, some, everything=False)
            reader.connection.execute(str(drop(BOUNDED))).fetchall()
            cells = replace(cells, units=units_of(part, request, fields))
            sample = bounded_sample(request, reader, packing, cells, part.of // first)
            reader.rows(codes(self._request, sample.relation).create(BOUNDED))

        return in_parts(store, first, reader.share.begin)


def codes_now(connection: DuckDBPyConnection, query: Sql) -> Batch:
    """The codes that a query gives, all at once; raises duckdb.Error."""
    import numpy as np

    columns = connection.execute(str(query)).fetchnumpy()
    return tuple(np.asarray(column).astype(np.int64) for column in columns.values())


def code_batches(connection: DuckDBPyConnection, query: Sql) -> Iterator[Batch]:
    """The codes that a query gives, as they come; raises Failure, or duckdb.Error at once."""
    import numpy as np

    for batch in _arrow(connection, query):
        yield tuple(column.to_numpy().astype(np.int64) for column in batch.columns)


def _arrow(connection: DuckDBPyConnection, query: Sql) -> Iterator[Any]:
    """Arrow batches. An error within the stream has lost its class, and its text is never read."""
    import pyarrow as pa

    try:
        yield from connection.sql(str(query)).to_arrow_reader(BATCH)
    except MemoryError:
        raise out_of_memory() from None
    except (OSError, pa.ArrowException):
        raise lost() from None


# --- in SQL --------------------------------------------------------------------------------------


def coded(request: RecordRequest, fields: Fields) -> Rows:
    """One row a record: the codes, as quantities on their grids, and the unit ``u`` if bounded."""
    aggregate = aggregate_of(request)
    rows = build_rows(aggregate, fields)
    columns: dict[str, Sql] = {}
    labelled = 0
    for index, column in enumerate(request.columns):
        if isinstance(column, Group):
            label = place_of_label(labelled, column)
            columns[f"x{index}"] = call("COALESCE", label, NO_LABEL)
            labelled += 1
        else:
            columns[f"x{index}"] = col(rows.quantities[column])
    if aggregate.bound is not None:
        columns["u"] = col("u")
    relation = look_up(rows.relation, aggregate.groups).layer(columns, keep=False)
    quantities = {
        Quantity(f"x{index}", grid): f"x{index}" for index, grid in enumerate(_grids(request))
    }
    return Rows(relation, (), quantities, {}, unit=rows.unit)


def codes(request: RecordRequest, relation: Sql) -> Sql:
    """The query of the codes, no wider than they have to be."""
    wide = [grid.magnitude >= INTEGER for grid in _grids(request)]
    columns = [
        col(f"x{index}").cast("BIGINT" if is_wide else "INTEGER").alias(f"x{index}")
        for index, is_wide in enumerate(wide)
    ]
    return relation.select(columns)


def totals(request: RecordRequest, relation: Sql) -> Sql:
    """The query of the number of records and of the sum of each code, which reads all of them."""
    sums = [call("SUM", col(f"x{index}")) for index in range(len(request.columns))]
    units = [call("COUNT", col("u"))] if request.bound is not None else []
    return relation.select([COUNT_ALL, *sums, *units])


def _grids(request: RecordRequest) -> Sequence[Grid]:
    """The bounds of each code."""
    return [
        Grid(Fraction(1), NO_LABEL, len(column.labels) - 1)
        if isinstance(column, Group)
        else column.grid
        for column in request.columns
    ]
