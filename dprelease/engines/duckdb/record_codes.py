"""Codes of single records in batches: of all records, or of a bounded sample of each unit's.

In SQL each column of the request has a column ``x0..`` of codes, which are never null. The
canonical order of bounded rows is that of their codes, the first column first: all records lie in
one cell, and nothing but codes is counted.

Batches are passed on at once, so all that the content of files can make fail is checked before the
first batch: that every line of a CSV file is one record, that texts are UTF-8. Until then the
careful reader can take over. Both readers give the same records.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from dprelease.engines.duckdb.bound_by_arrays import plan_packing
from dprelease.engines.duckdb.duckdb_errors import (
    Stream,
    build_changed_failure,
    require_unchanged,
    translate_after_charge,
)
from dprelease.engines.duckdb.duckdb_session import ROOM_FOR_UNITS, open_session
from dprelease.engines.duckdb.execute import BOUNDED, sample_units
from dprelease.engines.duckdb.field_reader import FieldReader, measure_progress, read_stream
from dprelease.engines.duckdb.group_keys import find_label, look_up, put_labels
from dprelease.engines.duckdb.hash_parts import (
    Part,
    choose_part_count,
    run_in_parts,
    select_unit_rows,
    select_units,
)
from dprelease.engines.duckdb.measures import count_joined_at_once
from dprelease.engines.duckdb.record_cells import locate
from dprelease.engines.duckdb.typed_rows import Rows, build_rows
from dprelease.expressions.sqltext import COUNT_ALL, Sql, call, col, drop
from dprelease.model import Grid, Group, Quantity, RecordRequest
from dprelease.sources.shared.data_failures import build_lost_failure, build_memory_failure
from dprelease.sources.shared.read_share import UNTOLD, ReadShare
from dprelease.sources.shared.record_stream import RECORDS, Fields
from dprelease.sources.shared.request_content import NO_LABEL, build_aggregate
from dprelease.sources.shared.source_format import LaidOut, Table, lay_out

if TYPE_CHECKING:
    import numpy.typing as npt
    from duckdb import DuckDBPyConnection

    Batch = tuple[npt.NDArray[Any], ...]

BATCH = 1 << 16  # records
INTEGER = 2**31  # magnitudes below it are four bytes wide
WRAP = 1 << 64  # sums are compared in 64 bits


def iter_batches(
    request: RecordRequest, share: ReadShare, laid_out: LaidOut = lay_out
) -> Iterator[Batch]:
    """Iterate over the codes of all records, or those within the bound.

    Args:
        request: Source and columns.
        share: Is told how much was read.
        laid_out: Finds the table of the source.

    Yields:
        One int64 array for each column.

    Raises:
        Failure: Exit code 5 if files can't be read or changed, or memory runs out.
    """
    with translate_after_charge(request.source):
        table = laid_out(request.source, request.inputs)
        with require_unchanged(table.paths):
            # Both readers read every record alike.
            if not (yield from read_fast(request, table, share)):
                yield from read_carefully(request, table, share)
    share.finish()


# --- by which reader -----------------------------------------------------------------------------


def read_fast(
    request: RecordRequest, table: Table, share: ReadShare = UNTOLD
) -> Generator[Batch, None, bool]:
    """Iterate over codes by DuckDB's own reader; return False if there is none or it gives up.

    That reader reads everything twice. Reading a cheap stream once takes less time.
    """
    own = None if table.stream().cheap else table.fast()
    if own is None:
        return False
    bounded = request.bound is not None
    paths, room = table.paths, ROOM_FOR_UNITS if bounded else 0
    joined = count_joined_at_once(build_aggregate(request))
    with (
        open_session(paths, room=room, joined=joined) as connection,
        measure_progress(connection, paths, share),
    ):
        reader = FieldReader(connection, own.fields, share=share)

        def read() -> AllCodes:
            put_labels(connection, build_aggregate(request).groups)
            return AllCodes(request, reader)

        all_codes, confirms = own.read_checked(connection, read, share)
        if all_codes is None or not confirms(all_codes.records):
            return False
        yield from (BoundedCodes(request, reader) if bounded else all_codes).iter_batches()
    return True


def read_carefully(
    request: RecordRequest, table: Table, share: ReadShare = UNTOLD
) -> Iterator[Batch]:
    """Iterate over codes by the careful reader; without a bound it reads once."""
    import pyarrow as pa

    stream, bounded = Stream(), request.bound is not None
    with (
        closing(table.stream()) as source,
        open_session(
            (),
            room=ROOM_FOR_UNITS if bounded else 0,
            joined=count_joined_at_once(build_aggregate(request)),
        ) as connection,
        stream.raise_cause(),
    ):
        put_labels(connection, build_aggregate(request).groups)
        if bounded:
            yield from BoundedCodes(
                request, read_stream(source, connection, stream, share)
            ).iter_batches()
            return
        query = select_codes(request, encode_records(request, source.fields).relation)
        share.begin(1)
        schema, records = source.open_batches(share)
        for batch in stream.watch(records):
            if batch.num_rows:
                connection.register(RECORDS, pa.Table.from_batches([batch], schema))
                yield fetch_codes(connection, query)


# --- from a connection ---------------------------------------------------------------------------


class AllCodes:
    """All records of fields that can be read twice: first their totals, then their codes."""

    def __init__(self, request: RecordRequest, reader: FieldReader) -> None:
        """Read everything once; raises duckdb.Error."""
        self._connection, self._share = reader.connection, reader.share
        relation = encode_records(request, reader.fields).relation
        self._query = select_codes(request, relation)
        # Fetch all rows, not one: a result that isn't read to its end keeps the connection busy.
        self._share.begin(2)
        ((records, *sums),) = reader.fetch_rows(select_totals(request, relation))
        self.records = int(records)
        self._sums = [int(total or 0) % WRAP for total in sums[: len(request.columns)]]

    def iter_batches(self) -> Iterator[Batch]:
        """Iterate over codes; raises Failure at the end if their totals have changed."""
        self._share.begin(1)
        records, sums = 0, [0] * len(self._sums)
        for batch in iter_code_batches(self._connection, self._query):
            records += len(batch[0])
            sums = [
                (total + int(column.sum())) % WRAP
                for total, column in zip(sums, batch, strict=True)
            ]
            yield batch
        if records != self.records or sums != self._sums:
            raise build_changed_failure()


class BoundedCodes:
    """The sample of each unit's rows, in as many parts as memory requires."""

    def __init__(self, request: RecordRequest, reader: FieldReader) -> None:
        """Find the rows of the first part; raises duckdb.Error."""
        self._request, self._reader = request, reader
        self._parts = self._sample_parts()
        next(self._parts)

    def iter_batches(self) -> Iterator[Batch]:
        """Iterate over the codes of the sample, part by part."""
        query = select_codes(self._request, col(BOUNDED))
        yield from iter_code_batches(self._reader.connection, query)
        for _ in self._parts:
            yield from iter_code_batches(self._reader.connection, query)

    def _sample_parts(self) -> Iterator[None]:
        """Store the sample of one part after the other in the table."""
        reader, fields = self._reader, self._reader.fields
        rows = encode_records(self._request, fields)
        request = replace(build_aggregate(self._request), groups=(), measures=())
        packing = plan_packing(request, rows)
        first = choose_part_count(request, reader, rows, packing)

        def store(part: Part) -> None:
            unit_rows = select_unit_rows(
                part, request, fields, lambda own_fields: encode_records(self._request, own_fields)
            )
            cells = locate(request, unit_rows, everything=False)
            reader.connection.execute(str(drop(BOUNDED))).fetchall()
            cells = replace(cells, units=select_units(part, request, fields))
            effort = part.of // first  # into how many parts one of the first was split
            sample = sample_units(request, reader, packing, cells, effort)
            reader.fetch_rows(select_codes(self._request, sample.relation).create(BOUNDED))

        return run_in_parts(store, first, reader.share.begin)


def fetch_codes(connection: DuckDBPyConnection, query: Sql) -> Batch:
    """Fetch the codes of a query at once; raises duckdb.Error."""
    import numpy as np

    columns = connection.execute(str(query)).fetchnumpy()
    return tuple(np.asarray(column).astype(np.int64) for column in columns.values())


def iter_code_batches(connection: DuckDBPyConnection, query: Sql) -> Iterator[Batch]:
    """Iterate over the codes of a query; raises Failure, or duckdb.Error at once."""
    import numpy as np

    for batch in _iter_arrow_batches(connection, query):
        yield tuple(column.to_numpy().astype(np.int64) for column in batch.columns)


def _iter_arrow_batches(connection: DuckDBPyConnection, query: Sql) -> Iterator[Any]:
    """Iterate over Arrow batches; raises Failure for errors within the stream."""
    import pyarrow as pa

    # Within the stream an error of DuckDB loses its class, and its text is never read.
    try:
        yield from connection.sql(str(query)).to_arrow_reader(BATCH)
    except MemoryError:
        raise build_memory_failure() from None
    except (OSError, pa.ArrowException):
        raise build_lost_failure() from None


# --- in SQL --------------------------------------------------------------------------------------


def encode_records(request: RecordRequest, fields: Fields) -> Rows:
    """Build rows of codes, one for each record, with the unit ``u`` if bounded."""
    aggregate = build_aggregate(request)
    rows = build_rows(aggregate, fields)
    columns: dict[str, Sql] = {}
    labelled = 0
    for index, column in enumerate(request.columns):
        if isinstance(column, Group):
            label = find_label(labelled, column)
            columns[f"x{index}"] = call("COALESCE", label, NO_LABEL)
            labelled += 1
        else:
            columns[f"x{index}"] = col(rows.quantities[column])
    if aggregate.bound is not None:
        columns["u"] = col("u")
    relation = look_up(rows.relation, aggregate.groups).layer(columns, keep=False)
    quantities = {
        Quantity(f"x{index}", grid): f"x{index}" for index, grid in enumerate(_list_grids(request))
    }
    return Rows(relation, (), quantities, {}, unit=rows.unit)


def select_codes(request: RecordRequest, relation: Sql) -> Sql:
    """Write the query of the codes, in the narrowest types."""
    wide = [grid.magnitude >= INTEGER for grid in _list_grids(request)]
    columns = [
        col(f"x{index}").cast("BIGINT" if is_wide else "INTEGER").alias(f"x{index}")
        for index, is_wide in enumerate(wide)
    ]
    return relation.select(columns)


def select_totals(request: RecordRequest, relation: Sql) -> Sql:
    """Write the query of the number of records and of the sum of each code."""
    sums = [call("SUM", col(f"x{index}")) for index in range(len(request.columns))]
    units = [call("COUNT", col("u"))] if request.bound is not None else []
    return relation.select([COUNT_ALL, *sums, *units])


def _list_grids(request: RecordRequest) -> Sequence[Grid]:
    """List the grid of each code; a group's is that of its labels' positions and ``NO_LABEL``."""
    return [
        Grid(Fraction(1), NO_LABEL, len(column.labels) - 1)
        if isinstance(column, Group)
        else column.grid
        for column in request.columns
    ]
