"""Tables of the tests in databases, and sources that lead there."""

from __future__ import annotations

import importlib.util
import os
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from postgres_server import REQUIRED, Server

from dprelease.model import ColumnType, Database, Source

T = ColumnType
VARIABLE = "DATABASE_OF_TESTS"
SQL_TYPES = {T.STRING: "text", T.INTEGER: "bigint", T.FLOAT: "float8", T.DECIMAL: "numeric(20, 6)",
             T.BOOLEAN: "boolean", T.DATE: "date", T.TIMESTAMP: "timestamp"}  # fmt: skip
Rows = Sequence[Sequence[object]]


def require(driver: str) -> None:
    """Skip the test where the extra is not installed; fail where it must be."""
    if importlib.util.find_spec(f"adbc_driver_{driver}") is None:
        reason = f"adbc_driver_{driver} is not installed"
        if os.environ.get(REQUIRED) == "1":
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)


def source(driver: str, *table: str) -> Source:
    """A source that is the table."""
    return Source(".".join(table), "adbc", database=Database(driver, VARIABLE, table))


def literal(value: object) -> str:
    """A value in the SQL of PostgreSQL."""
    return "NULL" if value is None else "'" + str(value).replace("'", "''") + "'"


def write_to_postgres(server: Server, types: Mapping[str, ColumnType], rows: Rows) -> str:
    """A new database with the rows in a table ``t``; its URI."""
    name = server.database()
    columns = ", ".join(f'"{column}" {SQL_TYPES[kind]}' for column, kind in types.items())
    values = "".join(f"INSERT INTO t VALUES ({', '.join(map(literal, row))});\n" for row in rows)
    server.psql(name, f"CREATE TABLE t ({columns});\n{values}")
    return server.uri(name)


def write_to_sqlite(path: Path, columns: Sequence[str], rows: Rows) -> str:
    """A file with the rows in a table ``t``; its URI."""
    names = ", ".join(f'"{column}"' for column in columns)
    places = ", ".join("?" * len(columns))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TABLE IF EXISTS t")
        connection.execute(f"CREATE TABLE t ({names})")
        stored = ([_store(value) for value in row] for row in rows)
        connection.executemany(f"INSERT INTO t VALUES ({places})", stored)
    return str(path)


def _store(value: object) -> object:
    if isinstance(value, Decimal):
        return float(value)
    return str(value) if isinstance(value, date) else value
