"""Interfaces of sources: a registered format, and a table that is laid out in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from dprelease.errors import Complaint
from dprelease.model import ColumnType, InputColumn, Source
from dprelease.model.date_formats import UTC_NAMES, list_zones
from dprelease.model.source_registry import SOURCES
from dprelease.sources.shared.data_failures import list_read_columns
from dprelease.sources.shared.files import Split
from dprelease.sources.shared.read_share import ReadShare
from dprelease.sources.shared.record_stream import Fields, RecordStream

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

T = TypeVar("T")


class FastReader(Protocol):
    """A reader of DuckDB's own, whose results are used only if they are shown to be right."""

    @property
    def fields(self) -> Fields:
        """SQL of the columns that a statement selects from."""
        ...

    @property
    def record_count(self) -> int | None:
        """Number of records if the footers state it, else None.

        It decides only in how many parts the data is read.
        """
        ...

    def leave_out_lines(self) -> FastReader:
        """Return a reader that leaves out lines it can't read; itself if it never does."""
        ...

    def find_left_out(self, connection: DuckDBPyConnection) -> Sequence[Split]:
        """Find the parts of the files that the last statement left out.

        Their records and those that were found are all records, if this reader is right.
        """
        ...

    def read_checked(
        self, connection: DuckDBPyConnection, read: Callable[[], T], share: ReadShare
    ) -> tuple[T | None, Callable[[int], bool]]:
        """Read by this reader and check the result.

        Args:
            connection: The connection to DuckDB that ``read`` uses.
            read: Runs the statement and returns its result.
            share: Is told how much was read.

        Returns:
            The result, and a function that tells if the result is right, given the number of
            records found. The result is None if this reader gives up: then the careful reader may
            do better.

        Raises:
            duckdb.Error: An error that the careful reader would run into too.
        """
        ...


class Table(Protocol):
    """The declared columns, found in the files or the place that a source names.

    Tables are values of frozen classes: tasks of a cluster are sent them.
    """

    @property
    def paths(self) -> tuple[str, ...]:
        """Files that must not change while they are read; empty for a database."""
        ...

    def stream(self, splits: Sequence[Split] = ()) -> RecordStream:
        """Read records by the careful reader, for which no value is an error.

        Args:
            splits: Parts of the files to read; none given reads all records.
        """
        ...

    def fast(self) -> FastReader | None:
        """Return a faster reader, or None if there is none.

        The faster reader reads every record as the careful one does, or gives up.
        """
        ...

    def pieces(self) -> Sequence[tuple[str, int | tuple[int, ...]]]:
        """List the files with their sizes, for a cluster to split.

        Returns:
            Each path with its size in bytes if a split may begin at any byte, else with the size of
            each part. A split's ``start`` and ``end`` are bytes or numbers of parts accordingly.

        Raises:
            OSError: A file can't be read.
        """
        ...


class StoredColumn(NamedTuple):
    """A column as the place of the records declares it, before there is a spec.

    Attributes:
        name: Its name; empty if it has none.
        type: The type of a spec that its values are of, as far as the place declares types.
        zone: The time zone that its type names.
        is_readable: False for a type that no column of a spec can have.
    """

    name: str
    type: ColumnType | None = None
    zone: str | None = None
    is_readable: bool = True


class SourceFormat(Protocol):
    """A way in which records are stored; the value ``SOURCE`` of its module."""

    def lay_out(self, source: Source, inputs: Sequence[InputColumn]) -> Table:
        """Find the declared columns by name and type; read no value.

        Args:
            source: Where the table is and how it is written.
            inputs: The columns that the request reads or computes.

        Raises:
            Failure: Exit code 4 if a column is missing or has another type, or a file can't be
                read.
        """
        ...


class SelfDescribing(SourceFormat, Protocol):
    """A format that declares its columns, so that a spec can begin with them."""

    def list_columns(self, source: Source) -> Sequence[StoredColumn]:
        """List all columns in order; read no record.

        Args:
            source: Where the table is. Of several files the first is looked at.

        Raises:
            Failure: Exit code 4 if the place can't be read.
        """
        ...


LaidOut = Callable[[Source, Sequence[InputColumn]], Table]
"""A function that finds the table of a source; raises Failure(DATA)."""


def lay_out(source: Source, inputs: Sequence[InputColumn]) -> Table:
    """Lay out the table of a source of any registered format.

    Args:
        source: Where the table is; its ``format`` is registered.
        inputs: The columns that the request reads or computes.

    Raises:
        Failure: Exit code 4, as ``SourceFormat.lay_out``.
    """
    form: SourceFormat = import_module(SOURCES[source.format].module).SOURCE
    return form.lay_out(source, inputs)


def list_columns(source: Source) -> Sequence[StoredColumn]:
    """List the columns of a source whose format declares them, as ``SelfDescribing`` does."""
    form: SelfDescribing = import_module(SOURCES[source.format].module).SOURCE
    return form.list_columns(source)


def warn_about_zones(table: Table, inputs: Sequence[InputColumn]) -> tuple[Complaint, ...]:
    """Warn of moments that are read on the clocks of UTC, although their type names a zone."""
    zones = table.stream().fields.zones
    read = {column.name: column for column in list_read_columns(inputs)}
    return tuple(
        Complaint(
            "W401",
            f'"{name}" is read in UTC, but its type names the zone {_show_zone(zone)}',
            # A type may name an offset too, which no spec takes: it isn't that of each season.
            f'write zone = "{zone if zone in list_zones() else "..."}" for the days and hours '
            'there, or zone = "UTC" if UTC is meant',
            key=f"columns.{name}",
        )
        for name, zone in zones.items()
        if zone not in UTC_NAMES and read[name].zone is None and not read[name].opaque
    )


def _show_zone(zone: str) -> str:
    """Show a zone as a file names it, which may be any text."""
    return "".join(char if char.isprintable() else "?" for char in zone[:80])
