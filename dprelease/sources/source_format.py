"""What a source of records is: a registered format, and a table that is laid out in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, TypeVar

from dprelease.engines.duckdb.field_reader import RecordStream
from dprelease.engines.duckdb.typed_rows import Fields
from dprelease.model import InputColumn, Source
from dprelease.sources.shared.files import Split
from dprelease.sources.shared.read_share import ReadShare
from dprelease.sources.source_registry import SOURCES

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

T = TypeVar("T")


class FastReader(Protocol):
    """A reader of DuckDB's own, which is believed only where it is shown to be right."""

    @property
    def fields(self) -> Fields:
        """What a statement selects from."""
        ...

    @property
    def record_count(self) -> int | None:
        """How many records there are, if the footers tell; decides nothing but the parts."""
        ...

    def read_checked(
        self, connection: DuckDBPyConnection, read: Callable[[], T], share: ReadShare
    ) -> tuple[T | None, Callable[[int], bool]]:
        """What ``read`` gives, and whether that is right if it found so many records.

        None where this reader gives up, and the careful one may do better. Raises duckdb.Error for
        what the careful one would run into too.
        """
        ...


class Table(Protocol):
    """The declared columns, found in the files or the place that a source names.

    A value of a frozen class, which tasks of a cluster are sent.
    """

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that must not change while they are read; none of a database."""
        ...

    def stream(self, splits: Sequence[Split] = ()) -> RecordStream:
        """All records, or those of some splits, by a reader to which no value is an error."""
        ...

    def fast(self) -> FastReader | None:
        """A faster reader, which makes the same of every record or gives up; or None."""
        ...

    def pieces(self) -> Sequence[tuple[str, int | tuple[int, ...]]]:
        """Each file with its bytes: of all of it, if a split may begin at any, else of each part.

        A split has a ``start`` and ``end`` in bytes, or in numbers of parts. Raises OSError.
        """
        ...


class SourceFormat(Protocol):
    """One way in which records are kept; ``SOURCE`` of its module."""

    def lay_out(self, source: Source, inputs: Sequence[InputColumn]) -> Table:
        """Find the declared columns by names and types; raises Failure(DATA). Reads no value."""
        ...


LaidOut = Callable[[Source, Sequence[InputColumn]], Table]
"""Finds the table of a source; raises Failure(DATA)."""


def lay_out(source: Source, inputs: Sequence[InputColumn]) -> Table:
    """The table of a source of any registered format; raises Failure(DATA)."""
    form: SourceFormat = import_module(SOURCES[source.format].module).SOURCE
    return form.lay_out(source, inputs)
