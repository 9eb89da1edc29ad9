"""CSV files as a source of records, by DuckDB's reader if it is right, else by the careful one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from dprelease.engines.duckdb.duckdb_session import escape_path
from dprelease.expressions.sqltext import Sql, Value, array, call, col, option, struct
from dprelease.files.packed import PACKED
from dprelease.model import Dialect, InputColumn, Source
from dprelease.sources.csv.line_check import may_be_fast, read_with_scan
from dprelease.sources.csv.rejected_lines import MOST_REJECTED, find_rejected_lines
from dprelease.sources.shared.data_failures import list_read_columns
from dprelease.sources.shared.files import Layout, Split, lay_out
from dprelease.sources.shared.locations import find_packing, get_size
from dprelease.sources.shared.read_share import ReadShare
from dprelease.sources.shared.record_stream import RECORDS, Fields, RecordStream

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

T = TypeVar("T")

UNPACKED = 6  # bytes for each byte of a packed file, roughly; no figure depends on it


class CsvTable(Struct, frozen=True):
    """See ``Table``; ``wanted`` are the places of the fields that are read."""

    layout: Layout
    dialect: Dialect
    wanted: tuple[int, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        """See ``Table``."""
        return self.layout.paths

    def stream(self, splits: Sequence[Split] = ()) -> RecordStream:
        """See ``Table``."""
        from dprelease.sources.csv import csv_reader, multiline  # seldom needed

        layout, dialect = self.layout, self.dialect
        kind = multiline.MultilineSplitter if dialect.max_lines > 1 else csv_reader.Splitter
        splitter = kind(dialect, layout, self.wanted)
        parts = splits or [Split(path) for path in layout.paths]
        parts = [Split(part.path) if self._is_read_whole(part.path) else part for part in parts]
        return RecordStream(
            Fields(col(RECORDS), _name_fields(layout), {}, dialect),
            lambda count, _only: csv_reader.open_table(splitter, parts, count),
            lambda: sum(get_size(path) for path in layout.paths),
            # Reading the first records costs little, and the records are not unpacked twice.
            cheap=all(map(find_packing, layout.paths)),
        )

    def fast(self) -> ByDuckDB | None:
        """Return DuckDB's reader; None if it can't read the encoding or the dialect."""
        if not may_be_fast(self.layout, self.dialect):
            return None
        return ByDuckDB(self.layout, self.dialect)

    def pieces(self) -> Sequence[tuple[str, int | tuple[int, ...]]]:
        """See ``Table``; a packed file is one part, of its size once unpacked, roughly."""
        sizes = (
            (path, get_size(path) * (UNPACKED if find_packing(path) else 1))
            for path in self.layout.paths
        )
        return [(path, (size,) if self._is_read_whole(path) else size) for path, size in sizes]

    def _is_read_whole(self, path: str) -> bool:
        """Tell if a file must be read from its beginning to find where its records begin."""
        return bool(find_packing(path)) or self.dialect.max_lines > 1


class ByDuckDB(Struct, frozen=True):
    """See ``FastReader``: it is right if a scan of the same bytes counts as many lines.

    If it ``is_leaving`` lines out, these count too; see ``rejected_lines``.
    """

    layout: Layout
    dialect: Dialect
    record_count: None = None
    is_leaving: bool = False

    @property
    def fields(self) -> Fields:
        """Fields of the files: all are texts, and nothing is detected."""
        options: dict[str, Value] = {
            "columns": struct({f"f{place}": "VARCHAR" for place in range(self.layout.width)}),
            "auto_detect": False,
            "header": False,
            "skip": (self.layout.preamble or 0) + self.dialect.header,
            "delim": self.dialect.delimiter,
            "quote": self.dialect.quote,
            "escape": self.dialect.quote,
            "strict_mode": True,
            # otherwise a folder named f1=x would take the place of the second field
            "hive_partitioning": False,
            "compression": PACKED.get(find_packing(self.layout.paths[0]), "none"),
            # The reader accepts surplus fields that hold the null text. A field of one line can't
            # be a line feed.
            "nullstr": "\n",
        }
        if self.is_leaving:
            options |= {"store_rejects": True, "rejects_limit": MOST_REJECTED}
        files = array(map(escape_path, self.layout.paths))
        relation = call("read_csv", files, *(option(key, value) for key, value in options.items()))
        return Fields(relation, _name_fields(self.layout), {}, self.dialect)

    def leave_out_lines(self) -> ByDuckDB:
        """See ``FastReader``; DuckDB tells places in what it unpacks, which splits can't name."""
        return self if find_packing(self.layout.paths[0]) else replace(self, is_leaving=True)

    def find_left_out(self, connection: DuckDBPyConnection) -> Sequence[Split]:
        """See ``FastReader``; no parts if what DuckDB tells of them can't be believed."""
        return find_rejected_lines(connection, self.dialect) if self.is_leaving else ()

    def read_checked(
        self, connection: DuckDBPyConnection, read: Callable[[], T], share: ReadShare
    ) -> tuple[T | None, Callable[[int], bool]]:
        """See ``FastReader``; raises duckdb.Error."""
        answer, scan = read_with_scan(connection, self.layout, self.dialect, read, share)
        return answer, scan.is_confirming


class Csv:
    """See ``SourceFormat``."""

    def lay_out(self, source: Source, inputs: Sequence[InputColumn]) -> CsvTable:
        """See ``SourceFormat``; raises Failure(DATA)."""
        layout = lay_out(source, inputs)
        places = sorted(layout.position[column.name] for column in list_read_columns(inputs)) or [0]
        return CsvTable(layout, source.dialect, tuple(places))


SOURCE = Csv()


def _name_fields(layout: Layout) -> dict[str, Sql]:
    return {name: col(f"f{place}") for name, place in layout.position.items()}
