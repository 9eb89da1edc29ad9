"""Tables of databases as a source of records: one transaction for each request.

All statements of a request read one state of the table, however often they read it. The URI is read
from the environment when a connection is opened, and is not stored.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from typing import Any

from msgspec import Struct

from dprelease.errors import Failure, InternalError
from dprelease.expressions.sqltext import col
from dprelease.model import Database, Dialect, InputColumn, Source
from dprelease.model.source_registry import DRIVERS
from dprelease.sources.adbc.driver import (
    URI_KEY,
    Driver,
    Selected,
    build_no_table_failure,
    build_unreachable_failure,
    list_driver_errors,
    select_table,
)
from dprelease.sources.adbc.postgresql import PostgreSQL
from dprelease.sources.adbc.sqlite import SQLite
from dprelease.sources.shared.data_failures import build_data_failure, list_read_columns
from dprelease.sources.shared.files import Split
from dprelease.sources.shared.record_stream import RECORDS, Columns, Fields, RecordStream
from dprelease.sources.shared.source_format import StoredColumn

OF_DRIVERS: dict[str, Driver] = {"postgresql": PostgreSQL(), "sqlite": SQLite()}
AS_STORED = Dialect(null_values=())
"""Dialect of texts of a database: only null is null; an empty text is not."""


class DatabaseTable(Struct, frozen=True):
    """See ``Table``."""

    database: Database
    columns: dict[str, Selected]

    @property
    def paths(self) -> tuple[str, ...]:
        """Empty: a transaction keeps the table from changing."""
        return ()

    def stream(self, splits: Sequence[Split] = ()) -> RecordStream:
        """See ``Table``."""
        if splits:
            raise InternalError("splits")
        snapshot = Snapshot(self.database, self.columns)
        return RecordStream(
            Fields(
                col(RECORDS),
                {name: col(f"f{place}") for place, name in enumerate(self.columns)},
                {name: column.type for name, column in self.columns.items() if column.type},
                AS_STORED,
            ),
            snapshot.open,
            lambda: 0,
            close=snapshot.close,
        )

    def fast(self) -> None:
        """Return None: one reader reads all tables."""

    def pieces(self) -> Sequence[tuple[str, int | tuple[int, ...]]]:
        """Raise InternalError: a cluster reads no databases."""
        raise InternalError("pieces")


class Adbc:
    """See ``SourceFormat``."""

    def lay_out(self, source: Source, inputs: Sequence[InputColumn]) -> DatabaseTable:
        """See ``SourceFormat``; raises Failure(DATA)."""
        inputs_read = list({column.name: column for column in list_read_columns(inputs)}.values())
        with _look_at(source) as (driver, cursor, database):
            return DatabaseTable(database, driver.select(cursor, database, inputs_read))

    def list_columns(self, source: Source) -> Sequence[StoredColumn]:
        """See ``SelfDescribing``: what the catalogue of the database says."""
        with _look_at(source) as (driver, cursor, database):
            columns = driver.list_columns(cursor, database)
        if not columns:
            raise build_no_table_failure(database)
        return columns


SOURCE = Adbc()


class Snapshot:
    """One transaction, begun by the first reading of the table and ended by ``close``."""

    def __init__(self, database: Database, columns: dict[str, Selected]) -> None:
        self._database, self._columns = database, columns
        self._driver = _import_driver(database)
        self._connection: Any = None
        self._transaction = ExitStack()
        self._reading = ExitStack()

    def open(
        self, _count: Callable[[int], None], only: Columns = None
    ) -> tuple[Any, Iterator[Any]]:
        """Return a schema and its batches; see ``RecordStream``. Raises OSError."""
        import pyarrow as pa

        requested = {
            f"f{place}": column
            for place, (name, column) in enumerate(self._columns.items())
            if only is None or name in only
        }
        fields = [(name, _choose_arrow_type(column)) for name, column in requested.items()]
        schema = pa.schema(fields or [("f0", pa.null())])
        return schema, self._iter_batches(list(requested.values()), schema)

    def close(self) -> None:
        """End the transaction; errors of the driver are ignored."""
        for context in (self._reading, self._transaction):
            with suppress(*list_driver_errors()):
                context.close()
        self._connection = None

    def _iter_batches(self, selection: Sequence[Selected], schema: Any) -> Iterator[Any]:
        import pyarrow as pa

        parts = [part for column in selection for part in column.parts] or ["0"]
        for batch in self._read(select_table(self._database, parts)):
            columns, rest = [], list(batch.columns)
            for column in selection:
                of_it, rest = rest[: len(column.parts)], rest[len(column.parts) :]
                columns.append(self._driver.join_parts(of_it, column))
            yield pa.record_batch(columns or [pa.nulls(batch.num_rows)], schema=schema)

    def _read(self, statement: str) -> Iterator[Any]:
        """Execute a statement and iterate over its batches. Raises OSError."""
        # Errors of drivers hold hosts and values: none is passed on.
        try:
            self._reading.close()  # a statement that was not read to its end
            if self._connection is None:
                connection = self._transaction.enter_context(_connect(self._driver, self._database))
                with connection.cursor() as beginning:
                    self._driver.begin(beginning)
                self._connection = connection
            cursor = self._reading.enter_context(self._driver.open_cursor(self._connection))
            cursor.execute(statement)
            reader = self._reading.enter_context(cursor.fetch_record_batch())
            yield from reader
        except MemoryError:
            raise
        except Failure:
            raise OSError("no connection was begun anew") from None
        except list_driver_errors():
            raise OSError("the database did not answer") from None


def _choose_arrow_type(column: Selected) -> Any:
    import pyarrow as pa

    if column.type is None:
        return pa.string()
    return {
        "SMALLINT": pa.int16(),
        "INTEGER": pa.int32(),
        "BIGINT": pa.int64(),
        "DOUBLE": pa.float64(),
        "BOOLEAN": pa.bool_(),
        "DATE": pa.date32(),
        "TIMESTAMP": pa.timestamp("us"),
        "TIMESTAMPTZ": pa.timestamp("us", "UTC"),
    }[column.type]


def _import_driver(database: Database) -> Driver:
    """Choose the driver; raises Failure(DATA) if its packages are not installed."""
    packages = ("adbc_driver_manager", f"adbc_driver_{database.driver}")
    if any(find_spec(package) is None for package in packages):
        message = f"the ADBC driver of {DRIVERS[database.driver]} is not installed"
        hint = f"pip install 'dprelease[adbc-{database.driver}]'"
        raise build_data_failure("E426", message, hint, "data.driver")
    return OF_DRIVERS[database.driver]


@contextmanager
def _look_at(source: Source) -> Iterator[tuple[Driver, Any, Database]]:
    """Begin a transaction in the database of a source; raises Failure(DATA) for any error there."""
    database = source.database
    if database is None:
        raise InternalError("database")
    driver = _import_driver(database)
    try:
        with _connect(driver, database) as connection, connection.cursor() as cursor:
            driver.begin(cursor)
            yield driver, cursor, database
    except list_driver_errors():
        raise build_unreachable_failure(database) from None


@contextmanager
def _connect(driver: Driver, database: Database) -> Iterator[Any]:
    """Connect to the database; raises Failure(DATA) if it can't be reached."""
    uri = os.environ.get(database.uri_env)
    if not uri:
        message = f"the environment variable {database.uri_env} is not set"
        raise build_data_failure("E427", message, key=URI_KEY)
    try:
        connection = driver.connect(uri)
    except list_driver_errors():
        raise build_unreachable_failure(database) from None
    try:
        yield connection
    finally:
        with suppress(*list_driver_errors()):  # what is gone is closed
            connection.close()
