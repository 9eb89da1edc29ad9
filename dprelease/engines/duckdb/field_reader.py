"""What the statement selects from: a reader of DuckDB's own, or a stream of records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from dprelease.engines.duckdb.duckdb_errors import Stream
from dprelease.engines.duckdb.text_numbers import TextNumbers, number_texts
from dprelease.engines.duckdb.typed_rows import Fields
from dprelease.expressions.sqltext import Sql
from dprelease.sources.shared.locations import get_size
from dprelease.sources.shared.read_share import UNTOLD, ReadShare

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Columns = frozenset[str] | None  # by their names; None for all
RECORDS = "records"  # the registered stream of a reader of ours


class FieldReader(Struct, frozen=True):
    """The fields, and the connection that reads them.

    With ``everything`` the records of no cell are wanted too, for their number; ``cheap`` fields
    can be read twice, and there are ``record_count`` records, if the footers tell. ``renew`` is
    called before a reading, with all columns that the statement reads if it does not read all, and
    ``share`` told of how far it is. Texts of the columns ``coded`` are places in dictionaries, and
    may be read as numbers.
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
        """The answer to a statement, which reads all columns or ``only`` some; raises duckdb.Error.

        Columns of ``numbers`` have these in place of texts.
        """
        self.renew(numbers, only)
        answer = self.connection.execute(str(sql))
        self.share.read(1)
        return answer

    def fetch_rows(self, sql: Sql, only: Columns = None) -> list[tuple[Any, ...]]:
        """All rows of the answer."""
        return self.run(sql, only=only).fetchall()


class RecordStream(Struct, frozen=True):
    """Records that a reader of ours hands on, and that can be read again.

    ``opened`` gives a schema and record batches of it, which raise OSError where a file can't be
    read. It takes what is told of each piece that is read, together of the ``size``, and the
    columns that are wanted if others may be left out.
    ``cheap`` ones may be read twice to save time; ``record_count`` is how many there are, if the
    footers tell. Columns ``coded``, by the names that they have in the batches, are places in
    dictionaries. ``close`` ends what readings have in common, such as a transaction.
    """

    fields: Fields
    opened: Callable[[Callable[[int], None], Columns], tuple[Any, Iterator[Any]]]
    size: Callable[[], int]
    cheap: bool = False
    record_count: int | None = None
    coded: Mapping[str, str] = field(default_factory=dict)
    close: Callable[[], None] = lambda: None

    def open_batches(self, share: ReadShare, only: Columns = None) -> tuple[Any, Iterator[Any]]:
        """A schema and the record batches of one reading."""
        return self.opened(share.build_counter(self.size), only)

    def read_by(
        self, connection: DuckDBPyConnection, stream: Stream, share: ReadShare = UNTOLD
    ) -> FieldReader:
        """Have the connection read the records, from their beginning for each statement."""
        import pyarrow as pa

        def renew(numbers: Mapping[str, TextNumbers], only: Columns) -> None:
            by_field = {self.coded[name]: texts for name, texts in numbers.items()}
            schema, records = self.open_batches(share, only)
            schema, records = number_texts(schema, stream.watch(records), by_field)
            connection.register(RECORDS, pa.RecordBatchReader.from_batches(schema, records))

        return FieldReader(
            connection,
            self.fields,
            cheap=self.cheap,
            record_count=self.record_count,
            renew=renew,
            share=share,
            coded=frozenset(self.coded),
        )


def measure_progress(
    connection: DuckDBPyConnection, paths: Sequence[str], share: ReadShare
) -> AbstractContextManager[None]:
    """Meanwhile tell how far DuckDB is with files that it reads by itself, if anybody waits."""
    if not share.is_wanted:
        return nullcontext()
    size = sum(get_size(path) for path in paths)
    return share.measure(size, connection.query_progress)
