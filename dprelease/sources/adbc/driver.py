"""The interface of database drivers, and the refusals that all of them share.

A statement consists of quoted names and of constants of this package: no text of a spec is SQL. An
error of a driver is identified by its class and SQLSTATE. Its text names hosts, users and values,
so it is never passed on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from msgspec import Struct

from dprelease.errors import Failure
from dprelease.model import Database, InputColumn
from dprelease.sources.shared.data_failures import build_data_failure
from dprelease.sources.shared.source_format import StoredColumn

URI_KEY, TABLE_KEY = "data.uri_env", "data.table"


class Selected(Struct, frozen=True):
    """A column of a statement: the SQL ``parts`` that are read, and the DuckDB type they become.

    Without a type the parts become a text, which is read like a text of CSV.
    """

    parts: tuple[str, ...]
    type: str | None = None


class Driver(Protocol):
    """The statements and settings of one kind of database."""

    def connect(self, uri: str) -> Any:
        """Open a connection that commits by itself.

        Args:
            uri: URI of the database; it may hold a password.

        Raises:
            Exception: One of ``list_driver_errors``.
        """
        ...

    def open_cursor(self, connection: Any) -> Any:
        """Open a cursor that gives records in batches of a few thousand.

        Args:
            connection: What ``connect`` returned.
        """
        ...

    def begin(self, cursor: Any) -> None:
        """Begin a transaction that only reads and sees one state of all tables.

        Args:
            cursor: A cursor of the connection.
        """
        ...

    def select(
        self, cursor: Any, database: Database, inputs: Sequence[InputColumn]
    ) -> dict[str, Selected]:
        """Choose the SQL that reads each declared column, by the database's catalogue.

        Args:
            cursor: A cursor in the transaction.
            database: Names the table.
            inputs: The columns to read.

        Returns:
            The parts of each column, by its name.

        Raises:
            Failure: Exit code 4 if the table or a column is missing, or has another type.
        """
        ...

    def list_columns(self, cursor: Any, database: Database) -> Sequence[StoredColumn]:
        """List the columns of a table that may be read, as the catalogue declares them.

        Args:
            cursor: A cursor in the transaction.
            database: Names the table.

        Returns:
            The columns in order; none if there is no such table.
        """
        ...

    def join_parts(self, parts: Sequence[Any], selected: Selected) -> Any:
        """Build the Arrow column that is handed on.

        Args:
            parts: Arrow columns that the database gave for the parts of a column, in order.
            selected: The column.
        """
        ...


def list_driver_errors() -> tuple[type[Exception], ...]:
    """List the classes that drivers raise, also while batches are read."""
    import pyarrow as pa
    from adbc_driver_manager import Error

    return Error, OSError, pa.ArrowException, UnicodeError


def quote_name(name: str) -> str:
    """Quote a name of any content for SQL."""
    return '"' + name.replace('"', '""') + '"'


def select_table(database: Database, parts: Sequence[str], end: str = "") -> str:
    """Write the statement that reads these parts of every record."""
    table = ".".join(map(quote_name, database.table))
    return f"SELECT {', '.join(parts)} FROM {table} AS t{end}"  # noqa: S608 - names in quotes


def name_field(name: str) -> str:
    """Quote a column of the table, with the table's alias before it."""
    # Without the table's alias SQLite would take a misspelt name in quotes for a text.
    return f"t.{quote_name(name)}"


def build_unreachable_failure(database: Database) -> Failure:
    """Report that the database can't be reached or read."""
    message = f"the database that {database.uri_env} names can't be reached or read"
    return build_data_failure("E428", message, key=URI_KEY)


def build_no_table_failure(database: Database) -> Failure:
    """Report that the table does not exist, or its user may not read it."""
    name = ".".join(database.table)
    message = f'the database has no table or view "{name}" that you may read'
    return build_data_failure("E429", message, key=TABLE_KEY)
