"""The records of a source: which raw columns they have, and a stream of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct, field

from dprelease.expressions.sqltext import Sql
from dprelease.model import Dialect
from dprelease.sources.shared.read_share import ReadShare

Columns = frozenset[str] | None  # by their names; None for all
RECORDS = "records"  # the registered stream of a reader of ours


class Fields(Struct, frozen=True):
    """A table of raw columns: what to select from, the SQL of each column, and its DuckDB type.

    Columns without a type are texts of a CSV file in the ``dialect``. By those of texts that are
    wanted ``as_they_stand`` rows are grouped before they become keys. Typed texts of more bytes
    than the ``longest`` mean null, unless the reader has seen to that.
    """

    relation: Sql
    columns: Mapping[str, Sql]
    types: Mapping[str, str]
    dialect: Dialect = field(default_factory=Dialect)
    as_they_stand: frozenset[str] = frozenset()
    longest: int | None = None


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
        """Open the schema and the record batches of one reading."""
        return self.opened(share.build_counter(self.size), only)
