"""Parquet files as a source of records, by DuckDB's reader if it is right, else as Arrow batches.

``arrow_values`` says how a cell of a batch is read. Memory is that of a batch and of the pages that
hold it. The format requires that a page be read whole, so a cell of one gigabyte takes some
gigabytes for a while.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from dprelease.engines.duckdb.duckdb_errors import PARQUET_VALUES, is_of_class
from dprelease.engines.duckdb.duckdb_session import escape_path
from dprelease.expressions.sqltext import COUNT_ALL, Sql, array, call, col, is_in, literal, option
from dprelease.model import InputColumn, Source
from dprelease.sources.parquet.parquet_schema import (
    ParquetLayout,
    lay_out_parquet,
    list_parquet_columns,
    open_file,
)
from dprelease.sources.shared.files import CELL_LIMIT, Split
from dprelease.sources.shared.read_share import ReadShare
from dprelease.sources.shared.record_stream import Fields, RecordStream
from dprelease.sources.shared.source_format import StoredColumn

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

T = TypeVar("T")

TEXTS_AT_ONCE = 1 << 11  # records with texts outside of dictionaries: at most 2 GiB of texts
ENOUGH = 1 << 22  # bytes of records that are processed together


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
        return layout.open_stream(
            lambda columns, schema, count: _iter_batches(columns, parts, schema, count),
            lambda: layout.records,
            None if splits else layout.records,
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

    def leave_out_lines(self) -> ByDuckDB:
        """See ``FastReader``; it leaves nothing out."""
        return self

    def find_left_out(self, _connection: DuckDBPyConnection) -> Sequence[Split]:
        """See ``FastReader``."""
        return ()

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

    def list_columns(self, source: Source) -> list[StoredColumn]:
        """See ``SelfDescribing``."""
        return list_parquet_columns(source)


SOURCE = Parquet()


def _iter_batches(
    layout: ParquetLayout, splits: Iterable[Split], schema: Any, count: Callable[[int], None]
) -> Iterator[Any]:
    """Iterate over batches of the schema; ``count`` is told of their records."""
    for split in splits:
        for stored in _read_batches(layout, split):
            count(stored.num_rows)
            yield layout.build_batch(stored, split.path, schema)


def _read_batches(layout: ParquetLayout, split: Split) -> Iterator[Any]:
    """Iterate over batches as the file has them; raises OSError if it is damaged."""
    import pyarrow as pa

    # pyarrow would convert a dictionary to the type that its writer had, which fails at a text
    # that is not UTF-8. Asked for places, it hands on the texts as they are.
    places = layout.coded | (layout.dictionaries[split.path] & layout.types.keys())
    try:
        with open_file(split.path, sorted(places)) as file:
            batch_size = _count_batch_records(layout, file.schema_arrow)
            groups = range(file.num_row_groups)[split.start : split.end]
            # One by one, because a reader of several groups keeps some of each in memory. Without
            # threads, because they would wait for each other and for those that take the batches.
            batches = (
                batch
                for group in groups
                for batch in file.iter_batches(
                    batch_size, [group], list(layout.types), use_threads=False
                )
            )
            yield from _merge_batches(batches, layout.batch_rows // 2)
    except MemoryError:
        raise
    except pa.ArrowException:
        raise OSError("a page or footer can't be decoded") from None


def _merge_batches(batches: Iterable[Any], records: int) -> Iterator[Any]:
    """Merge batches of a file until they have so many records or ``ENOUGH`` bytes."""
    # Processing a batch takes nearly as long for few records as for many; merging dictionaries of
    # several row groups takes longer.
    waiting: list[Any] = []
    rows = size = 0
    for batch in batches:
        waiting.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= records or size >= ENOUGH:
            yield from _join(waiting)
            waiting, rows, size = [], 0, 0
    yield from _join(waiting)


def _join(batches: list[Any]) -> list[Any]:
    """Join batches to one; leave them as they are where Arrow can't."""
    import pyarrow as pa

    if len(batches) < 2:
        return batches
    try:
        joined: list[Any] = pa.Table.from_batches(batches).combine_chunks().to_batches()
    except pa.ArrowException:
        return batches
    return joined


def _count_batch_records(layout: ParquetLayout, schema: Any) -> int:
    """Choose how many records are read at once."""
    from pyarrow import types

    for name, kind in layout.types.items():
        is_place = name in layout.coded and types.is_dictionary(schema.field(name).type)
        if (types.is_string(kind) or types.is_binary(kind)) and not is_place:
            return min(layout.batch_rows, TEXTS_AT_ONCE)
    return layout.batch_rows
