"""The records of a source: their raw columns, and a stream of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct, field

from dprelease.expressions.sqltext import Sql
from dprelease.model import Dialect
from dprelease.sources.shared.read_share import ReadShare

Columns = frozenset[str] | None  # names of columns; None for all
RECORDS = "records"  # name of the stream that is registered with DuckDB


class Fields(Struct, frozen=True):
    """A table of raw columns.

    Attributes:
        relation: The relation to select from.
        columns: The SQL of each column.
        types: The DuckDB type of each typed column; the others are texts, as in a CSV file.
        dialect: How these texts are written.
        as_they_stand: Columns of texts that rows are grouped by before they become keys.
        longest: Typed texts of more bytes become null; None if the reader sees to that.
        zones: The time zones that stored types name, such as ``Europe/Berlin``.
    """

    relation: Sql
    columns: Mapping[str, Sql]
    types: Mapping[str, str]
    dialect: Dialect = field(default_factory=Dialect)
    as_they_stand: frozenset[str] = frozenset()
    longest: int | None = None
    zones: Mapping[str, str] = field(default_factory=dict)


class RecordStream(Struct, frozen=True):
    """Records that the careful reader passes on, and that can be read again.

    Attributes:
        fields: The raw columns.
        opened: Opens a reading: returns a schema and record batches, which raise OSError if a file
            can't be read. It takes a function that is told the size of each piece read, and the
            columns that are wanted if others may be left out.
        size: Returns the total size of the pieces.
        cheap: Whether the records may be read twice to save time.
        record_count: The number of records, if the footers state it.
        coded: Columns that are places in dictionaries, by their names in the batches.
        close: Ends what readings have in common, such as a transaction.
    """

    fields: Fields
    opened: Callable[[Callable[[int], None], Columns], tuple[Any, Iterator[Any]]]
    size: Callable[[], int]
    cheap: bool = False
    record_count: int | None = None
    coded: Mapping[str, str] = field(default_factory=dict)
    close: Callable[[], None] = lambda: None

    def open_batches(self, share: ReadShare, only: Columns = None) -> tuple[Any, Iterator[Any]]:
        """Open the schema and the record batches of one reading."""
        return self.opened(share.build_counter(self.size), only)
