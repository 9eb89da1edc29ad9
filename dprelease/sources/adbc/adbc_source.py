"""Tables of databases as a source of records: one transaction for each request.

All statements of a request read one state of the table, however often they read it. The URI comes
from the environment when a connection is begun, and is kept nowhere.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from typing import Any

from msgspec import Struct

from dprelease.engines.duckdb.field_reader import RECORDS, Columns, RecordStream
from dprelease.engines.duckdb.typed_rows import Fields
from dprelease.errors import Failure, InternalError
from dprelease.expressions.sqltext import col
from dprelease.model import Database, Dialect, InputColumn, Source
from dprelease.sources.adbc.driver import (
    URI_KEY,
    Driver,
    Selected,
    driver_errors,
    of_table,
    unreachable,
)
from dprelease.sources.adbc.postgresql import PostgreSQL
from dprelease.sources.adbc.sqlite import SQLite
from dprelease.sources.shared.data_failures import bad_data, columns_read
from dprelease.sources.shared.files import Split
from dprelease.sources.source_registry import DRIVERS

OF_DRIVERS: dict[str, Driver] = {"postgresql": PostgreSQL(), "sqlite": SQLite()}
AS_STORED = Dialect(null_values=())
"""How texts of a database are read: null is null there, and an empty text is a text."""


class DatabaseTable(Struct, frozen=True):
    """See ``Table``."""

    database: Database
    columns: dict[str, Selected]

    @property
    def paths(self) -> tuple[str, ...]:
        """None: a transaction sees to it that nothing changes."""
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
                {name: made.type for name, made in self.columns.items() if made.type},
                AS_STORED,
            ),
            snapshot.opened,
            lambda: 0,
            close=snapshot.close,
        )

    def fast(self) -> None:
        """One reader reads all tables."""

    def pieces(self) -> Sequence[tuple[str, int | tuple[int, ...]]]:
        """None: a cluster reads no databases."""
        raise InternalError("pieces")


class Adbc:
    """See ``SourceFormat``."""

    def lay_out(self, source: Source, inputs: Sequence[InputColumn]) -> DatabaseTable:
        """See ``SourceFormat``; raises Failure(DATA)."""
        database = source.database
        if database is None:
            raise InternalError("database")
        driver = _driver(database)
        wanted = list({column.name: column for column in columns_read(inputs)}.values())
        try:
            with _connected(driver, database) as connection, connection.cursor() as cursor:
                driver.begin(cursor)
                columns = driver.select(cursor, database, wanted)
        except driver_errors():
            raise unreachable(database) from None
        return DatabaseTable(database, columns)


SOURCE = Adbc()


class Snapshot:
    """One transaction, begun by the first reading of the table and ended by ``close``."""

    def __init__(self, database: Database, columns: dict[str, Selected]) -> None:
        self._database, self._columns = database, columns
        self._driver = _driver(database)
        self._connection: Any = None
        self._transaction = ExitStack()
        self._reading = ExitStack()

    def opened(
        self, _count: Callable[[int], None], only: Columns = None
    ) -> tuple[Any, Iterator[Any]]:
        """A schema, and batches of it: see ``RecordStream``. Raises OSError."""
        import pyarrow as pa

        wanted = {
            f"f{place}": made
            for place, (name, made) in enumerate(self._columns.items())
            if only is None or name in only
        }
        fields = [(name, _arrow_type(made)) for name, made in wanted.items()]
        schema = pa.schema(fields or [("f0", pa.null())])
        return schema, self._batches(list(wanted.values()), schema)

    def close(self) -> None:
        """End the transaction. Whether the server hears of it changes nothing."""
        for context in (self._reading, self._transaction):
            with suppress(*driver_errors()):
                context.close()
        self._connection = None

    def _batches(self, wanted: Sequence[Selected], schema: Any) -> Iterator[Any]:
        import pyarrow as pa

        parts = [part for made in wanted for part in made.parts] or ["0"]
        for batch in self._read(of_table(self._database, parts)):
            columns, rest = [], list(batch.columns)
            for made in wanted:
                of_it, rest = rest[: len(made.parts)], rest[len(made.parts) :]
                columns.append(self._driver.handed_on(of_it, made))
            yield pa.record_batch(columns or [pa.nulls(batch.num_rows)], schema=schema)

    def _read(self, statement: str) -> Iterator[Any]:
        """Batches as the driver gives them. Its errors hold hosts and values: none is passed on."""
        try:
            self._reading.close()  # a statement that was not read to its end
            if self._connection is None:
                self._begin()
            cursor = self._reading.enter_context(self._driver.cursor(self._connection))
            cursor.execute(statement)
            reader = self._reading.enter_context(cursor.fetch_record_batch())
            yield from reader
        except MemoryError:
            raise
        except Failure:
            raise OSError("no connection was begun anew") from None
        except driver_errors():
            raise OSError("the database gave no answer") from None

    def _begin(self) -> None:
        connection = self._transaction.enter_context(_connected(self._driver, self._database))
        with connection.cursor() as cursor:
            self._driver.begin(cursor)
        self._connection = connection


def _arrow_type(made: Selected) -> Any:
    import pyarrow as pa

    if made.type is None:
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
    }[made.type]


def _driver(database: Database) -> Driver:
    """The driver; raises Failure(DATA) where its packages are not installed."""
    packages = ("adbc_driver_manager", f"adbc_driver_{database.driver}")
    if any(find_spec(package) is None for package in packages):
        message = f"the ADBC driver of {DRIVERS[database.driver]} is not installed"
        hint = f"pip install 'dprelease[adbc-{database.driver}]'"
        raise bad_data("E426", message, hint, "data.driver")
    return OF_DRIVERS[database.driver]


@contextmanager
def _connected(driver: Driver, database: Database) -> Iterator[Any]:
    """A connection; raises Failure(DATA) where none comes about."""
    uri = os.environ.get(database.uri_env)
    if not uri:
        message = f"the environment variable {database.uri_env} is not set"
        title = DRIVERS[database.driver]
        hint = f"set it to the URI of the {title} database, which no file should hold"
        raise bad_data("E427", message, hint, URI_KEY)
    try:
        connection = driver.connect(uri)
    except driver_errors():
        raise unreachable(database) from None
    try:
        yield connection
    finally:
        with suppress(*driver_errors()):  # what is gone is closed
            connection.close()
