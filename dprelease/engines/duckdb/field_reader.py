"""Relations that statements read: files by DuckDB's own reader, or a stream of records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from dprelease.engines.duckdb.duckdb_errors import Stream
from dprelease.engines.duckdb.text_numbers import TextNumbers, number_texts
from dprelease.expressions.sqltext import Sql
from dprelease.sources.shared.locations import get_size
from dprelease.sources.shared.read_share import UNTOLD, ReadShare
from dprelease.sources.shared.record_stream import RECORDS, Columns, Fields, RecordStream

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class FieldReader(Struct, frozen=True):
    """The fields, and the connection that reads them.

    Attributes:
        connection: The connection to DuckDB.
        fields: The fields of the records.
        everything: Whether records in no cell are wanted too, for their number.
        cheap: Whether the records may be read a second time to save time.
        record_count: The number of records, if the footers state it.
        renew: Is called before each reading, with the numbers that replace texts, and the columns
            that the statement reads (None for all).
        share: Is told how much was read.
        coded: Columns whose texts are places in dictionaries, and may be read as numbers.
    """

    connection: DuckDBPyConnection
    fields: Fields
    everything: bool = False
    cheap: bool = False
    record_count: int | None = None
    renew: Callable[[Mapping[str, TextNumbers], Columns], None] = lambda _numbers, _only: None
    share: ReadShare = UNTOLD
    coded: frozenset[str] = frozenset()

    def run(
        self,
        sql: Sql,
        numbers: Mapping[str, TextNumbers] = MappingProxyType({}),
        only: Columns = None,
    ) -> DuckDBPyConnection:
        """Execute a statement; raises duckdb.Error.

        Args:
            sql: The statement.
            numbers: Columns that come as these numbers in place of texts.
            only: Columns that the statement reads; None for all.
        """
        self.renew(numbers, only)
        answer = self.connection.execute(str(sql))
        self.share.read(1)
        return answer

    def fetch_rows(self, sql: Sql, only: Columns = None) -> list[tuple[Any, ...]]:
        """Fetch all rows of the answer."""
        return self.run(sql, only=only).fetchall()


def read_stream(
    source: RecordStream,
    connection: DuckDBPyConnection,
    stream: Stream,
    share: ReadShare = UNTOLD,
) -> FieldReader:
    """Build a reader of the records of a stream, which is opened anew for each statement."""
    import pyarrow as pa

    def renew(numbers: Mapping[str, TextNumbers], only: Columns) -> None:
        by_field = {source.coded[name]: made for name, made in numbers.items()}
        schema, records = source.open_batches(share, only)
        schema, records = number_texts(schema, stream.watch(records), by_field)
        connection.register(RECORDS, pa.RecordBatchReader.from_batches(schema, records))

    return FieldReader(
        connection,
        source.fields,
        cheap=source.cheap,
        record_count=source.record_count,
        renew=renew,
        share=share,
        coded=frozenset(source.coded),
    )


def measure_progress(
    connection: DuckDBPyConnection, paths: Sequence[str], share: ReadShare
) -> AbstractContextManager[None]:
    """Measure the progress of files that DuckDB reads by itself, if it is wanted."""
    if not share.is_wanted:
        return nullcontext()
    size = sum(get_size(path) for path in paths)
    return share.measure(size, connection.query_progress)
