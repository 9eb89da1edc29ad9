"""Batches of codes from a connection: of all records, or of those that are kept of each unit.

Both begin with what may fail for what is in the files. Only then is a batch handed on, so that a
more careful reader can take over as long as nobody has seen one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dprelease.engines.base import lost, out_of_memory
from dprelease.engines.common.file_identity import changed
from dprelease.engines.duckdb.bounding_lists import packing_for
from dprelease.engines.duckdb.cells import Part, locate
from dprelease.engines.duckdb.execute import (
    KEPT,
    MOST_PARTS,
    Keeping,
    Reading,
)
from dprelease.engines.duckdb.partitions import first_parts
from dprelease.engines.duckdb.record_codes import coded, codes, in_one_cell, totals
from dprelease.engines.duckdb.session import memory_of
from dprelease.engines.duckdb.subqueries import only
from dprelease.expressions.sqltext import Sql, create, drop, identifier
from dprelease.model import RecordRequest

if TYPE_CHECKING:
    import numpy.typing as npt
    from duckdb import DuckDBPyConnection

    Batch = tuple[npt.NDArray[Any], ...]

BATCH = 1 << 16  # records
WRAP = 1 << 64  # sums are compared in 64 bits


class Whole:
    """All records of fields that can be read twice: first their totals, then their codes."""

    def __init__(
        self, connection: DuckDBPyConnection, request: RecordRequest, reading: Reading
    ) -> None:
        """Read everything once; raises duckdb.Error."""
        self._connection = connection
        relation = coded(request, reading.fields).relation
        self._query = codes(request, relation)
        # all rows, not one: a result that isn't read to its end keeps the connection busy
        (found,) = connection.execute(totals(request, relation)).fetchall()
        self.records = int(found[0])
        self._sums = [int(each or 0) % WRAP for each in found[1 : 1 + len(request.columns)]]

    def batches(self) -> Iterator[Batch]:
        """The codes; raises Failure at the end if they aren't those that were added up."""
        records, sums = 0, [0] * len(self._sums)
        for batch in _streamed(self._connection, self._query):
            records += len(batch[0])
            sums = [
                (total + int(each.sum())) % WRAP for total, each in zip(sums, batch, strict=True)
            ]
            yield batch
        if records != self.records or sums != self._sums:
            raise changed()


class Kept:
    """The rows that are kept of each unit, in as many parts as there must be to fit into memory."""

    def __init__(
        self, connection: DuckDBPyConnection, request: RecordRequest, reading: Reading
    ) -> None:
        """Find the rows of the first part; raises duckdb.Error."""
        self._connection, self._reading = connection, reading
        self._request, self._asked = request, in_one_cell(request)
        self._rows = coded(request, reading.fields)
        self._parts = self._made()
        next(self._parts)

    def batches(self) -> Iterator[Batch]:
        """Their codes, part by part."""
        kept = codes(self._request, identifier(KEPT))
        yield from _streamed(self._connection, kept)
        for _ in self._parts:
            yield from _streamed(self._connection, kept)

    def _made(self) -> Iterator[None]:
        """Put what is kept of one part after the other into the table."""
        import duckdb

        first = 1
        packing = packing_for(self._asked, self._rows)
        keeping = Keeping(self._asked, packing, self._run, everything=False)
        known = self._reading.known
        if known is not None:
            memory = memory_of(self._connection)
            first = first_parts(self._run, self._asked, self._rows, packing, known, memory)
        waiting = [Part(index, first) for index in range(first)]
        while waiting:
            part = waiting.pop()
            rows = replace(self._rows, relation=only(self._rows.relation, part.holds("u")))
            cells = locate(self._asked, rows, everything=False)
            try:
                self._connection.execute(drop(KEPT)).fetchall()
                kept = keeping.of(cells, part.of // first).relation
                self._run(create(KEPT, codes(self._request, kept)))
            except duckdb.OutOfMemoryException:
                if part.of >= MOST_PARTS:
                    raise
                waiting += part.halves()
            else:
                yield

    def _run(self, sql: Sql) -> list[tuple[Any, ...]]:
        self._reading.renew()
        return self._connection.execute(sql).fetchall()


def codes_now(connection: DuckDBPyConnection, query: Sql) -> Batch:
    """The codes that a query gives, all at once; raises duckdb.Error."""
    import numpy as np

    found = connection.execute(query).fetchnumpy()
    return tuple(np.asarray(column).astype(np.int64) for column in found.values())


def _streamed(connection: DuckDBPyConnection, query: Sql) -> Iterator[Batch]:
    """The codes that a query gives, as they are found; raises Failure, or duckdb.Error at once."""
    import numpy as np

    for batch in _arrow(connection, query):
        yield tuple(column.to_numpy().astype(np.int64) for column in batch.columns)


def _arrow(connection: DuckDBPyConnection, query: Sql) -> Iterator[Any]:
    """Arrow batches. An error within the stream has lost its class, and its text is never read."""
    import pyarrow as pa

    try:
        yield from connection.sql(query).to_arrow_reader(BATCH)
    except MemoryError:
        raise out_of_memory() from None
    except (OSError, pa.ArrowException):
        raise lost() from None
