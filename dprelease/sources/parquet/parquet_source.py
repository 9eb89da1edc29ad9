"""Parquet files as a source of records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from dprelease.engines.duckdb.duckdb_errors import PARQUET_VALUES, is_of_class
from dprelease.engines.duckdb.duckdb_session import escape_path
from dprelease.expressions.sqltext import COUNT_ALL, Sql, array, call, col, is_in, literal, option
from dprelease.model import InputColumn, Source
from dprelease.sources.parquet.parquet_reader import open_table
from dprelease.sources.parquet.parquet_schema import ParquetLayout, lay_out_parquet
from dprelease.sources.shared.files import CELL_LIMIT, Split
from dprelease.sources.shared.read_share import ReadShare
from dprelease.sources.shared.record_stream import RECORDS, Fields, RecordStream

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

T = TypeVar("T")


class ParquetTable(Struct, frozen=True):
    """See ``Table``."""

    layout: ParquetLayout

    @property
    def paths(self) -> tuple[str, ...]:
        """See ``Table``."""
        return self.layout.paths

    def stream(self, splits: Sequence[Split] = ()) -> RecordStream:
        """See ``Table``."""
        layout = self.layout
        parts = splits or [Split(path) for path in layout.paths]
        columns = {name: col(field) for name, field in layout.fields.items()}
        return RecordStream(
            Fields(col(RECORDS), columns, layout.list_duckdb_types()),
            lambda count, only: open_table(layout, parts, count, only),
            lambda: layout.records,
            cheap=True,
            record_count=None if splits else layout.records,
            coded=layout.list_places(),
        )

    def fast(self) -> ByDuckDB | None:
        """Return DuckDB's reader; None unless it reads all values of these types alike."""
        return ByDuckDB(self.layout) if self.layout.plain else None

    def pieces(self) -> Sequence[tuple[str, tuple[int, ...]]]:
        """List row groups by the bytes of the columns that are read, before compression."""
        return list(zip(self.layout.paths, self.layout.row_groups, strict=True))


class ByDuckDB(Struct, frozen=True):
    """See ``FastReader``; it gives up if a text is not UTF-8, or takes too much memory.

    It is right for column chunks of ``_ENCODINGS``: it checks texts of other encodings for UTF-8
    together, not one by one. It doesn't read a chunk whose values are all null by its statistics.
    It believes no other statistics: see ``duckdb_session.NEVER``.
    """

    layout: ParquetLayout

    @property
    def record_count(self) -> int:
        """See ``FastReader``."""
        return self.layout.records

    @property
    def fields(self) -> Fields:
        """Fields of the columns by name; no file has two names that differ in case only."""
        types = self.layout.list_duckdb_types()
        # otherwise a folder named f1=x would take the place of a column
        relation = call("read_parquet", self._files, option("hive_partitioning", False))
        return Fields(relation, {name: col(name) for name in types}, types, longest=CELL_LIMIT)

    def read_checked(
        self, connection: DuckDBPyConnection, read: Callable[[], T], share: ReadShare
    ) -> tuple[T | None, Callable[[int], bool]]:
        """See ``FastReader``; raises duckdb.Error."""
        import duckdb

        result: T | None = None
        try:
            ((right,),) = connection.execute(str(self._count_right_chunks())).fetchall()
            if right == sum(map(len, self.layout.row_groups)) * len(self.layout.types):
                result = read()
        except duckdb.Error as problem:
            if not is_of_class(problem, PARQUET_VALUES):
                raise
        return result, self.layout.records.__eq__

    @property
    def _files(self) -> Sql:
        return array(map(escape_path, self.layout.paths))

    def _count_right_chunks(self) -> Sql:
        """Write SQL that counts the column chunks that this reader reads right."""
        of_column = is_in(col("path_in_schema"), map(literal, self.layout.types))
        encoded = call("REGEXP_FULL_MATCH", col("encodings"), f"(({_ENCODINGS})(, )?)*")
        looked_at = ~col("stats_null_count").same(col("num_values")) | col("num_values").equals(0)
        where = of_column & encoded & looked_at
        return call("parquet_metadata", self._files).select([COUNT_ALL], where=where)


_ENCODINGS = "PLAIN|RLE|BIT_PACKED|PLAIN_DICTIONARY|RLE_DICTIONARY"


class Parquet:
    """See ``SourceFormat``."""

    def lay_out(self, source: Source, inputs: Sequence[InputColumn]) -> ParquetTable:
        """See ``SourceFormat``; raises Failure(DATA)."""
        return ParquetTable(lay_out_parquet(source, inputs))


SOURCE = Parquet()
