"""SQLite: every value is read as a text, because a column may hold values of several types.

The driver takes the type of a column from its first records, and fails at a later value that
doesn't fit. So each column is read as three columns of one type each and without nulls: where the
value is, a text, and a double, which is exact where its text would not be.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from dprelease.model import ColumnType, Database, InputColumn
from dprelease.sources.adbc.driver import (
    TABLE_KEY,
    Selected,
    build_no_table_failure,
    build_unreachable_failure,
    list_driver_errors,
    name_field,
    select_table,
)
from dprelease.sources.shared.arrow_values import convert_readable, number_texts
from dprelease.sources.shared.column_names import build_duplicate_failure, build_no_column_failure
from dprelease.sources.shared.files import CELL_LIMIT
from dprelease.sources.shared.source_format import StoredColumn

READ_ONLY = "mode=ro"  # an option of URIs
NULL, REAL, TEXT = range(3)  # where a value is: nowhere, in the double, in the text


class SQLite:
    """See ``Driver``."""

    def connect(self, uri: str) -> Any:
        """See ``Driver``. The file must exist: the driver creates and writes nothing."""
        from adbc_driver_sqlite import dbapi

        return dbapi.connect(read_only(uri), autocommit=True)

    def open_cursor(self, connection: Any) -> Any:
        """See ``Driver``; batches have the driver's default of 1024 records."""
        return connection.cursor()

    def begin(self, cursor: Any) -> None:
        """See ``Driver``; the first statement that reads a table fixes the state that is read."""
        cursor.execute("PRAGMA trusted_schema = OFF")
        cursor.execute("BEGIN")

    def select(
        self, cursor: Any, database: Database, inputs: Sequence[InputColumn]
    ) -> dict[str, Selected]:
        """See ``Driver``."""
        names = _read_names(cursor, database)
        for column in inputs:
            _check(database, column, names)
        return {column.name: _select_column(name_field(column.name)) for column in inputs}

    def list_columns(self, cursor: Any, database: Database) -> list[StoredColumn]:
        """See ``Driver``. A declared type is a hint to SQLite: it may hold other values, too."""
        *schema, table = database.table
        asked = ", ".join("?" * len(database.table))
        # Hidden columns of 1 are arguments of virtual tables; those of 2 and 3 are computed.
        cursor.execute(
            f"SELECT name, type FROM pragma_table_xinfo({asked}) "  # noqa: S608 - question marks
            "WHERE hidden <> 1",
            (table, *schema),
        )
        return [StoredColumn(name, _read_declared(kind)) for name, kind in cursor.fetchall()]

    def join_parts(self, parts: Sequence[Any], selected: Selected) -> Any:
        """See ``Driver``."""
        import pyarrow as pa
        import pyarrow.compute as pc

        places, texts, doubles = parts
        if not len(places):  # without records the driver knows no types
            return pa.array([], pa.string())
        of_doubles = number_texts(doubles).cast(pa.large_binary())
        texts = pc.if_else(pc.equal(places, TEXT), texts.cast(pa.large_binary()), None)
        return convert_readable(pc.if_else(pc.equal(places, REAL), of_doubles, texts), pa.string())


_DECLARED = (
    ("BOOL", ColumnType.BOOLEAN),
    ("DATETIME", ColumnType.TIMESTAMP),
    ("TIMESTAMP", ColumnType.TIMESTAMP),
    ("DATE", ColumnType.DATE),
    ("INT", ColumnType.INTEGER),
    ("CHAR", ColumnType.STRING),
    ("CLOB", ColumnType.STRING),
    ("TEXT", ColumnType.STRING),
    ("REAL", ColumnType.FLOAT),
    ("FLOA", ColumnType.FLOAT),
    ("DOUB", ColumnType.FLOAT),
    ("DEC", ColumnType.DECIMAL),
    ("NUMERIC", ColumnType.DECIMAL),
)
"""Parts of declared types, and what they stand for: sqlite.org/datatype3.html, and dates."""


def _read_declared(kind: str) -> ColumnType | None:
    return next((own for part, own in _DECLARED if part in kind.upper()), None)


def read_only(uri: str) -> str:
    """Build the URI that opens a file for reading only."""
    if not uri.startswith("file:"):
        return f"file:{quote(os.path.abspath(uri))}?{READ_ONLY}"
    place, _, options = uri.partition("#")[0].partition("?")
    ((name, _),) = only = parse_qsl(READ_ONLY)
    pairs = [pair for pair in parse_qsl(options, keep_blank_values=True) if pair[0] != name]
    return f"{place}?{urlencode([*pairs, *only], quote_via=quote)}"


def _read_names(cursor: Any, database: Database) -> list[str]:
    """Read the names of the table's columns; raises Failure(DATA)."""
    try:
        cursor.execute("SELECT name FROM pragma_database_list LIMIT 1")
        cursor.fetchall()
        cursor.execute("SELECT name FROM sqlite_schema LIMIT 0")  # whether it is a database at all
    except list_driver_errors():
        raise build_unreachable_failure(database) from None
    try:
        cursor.execute(select_table(database, ["*"], " LIMIT 0"))
        return list(cursor.fetch_record_batch().schema.names)
    except list_driver_errors():
        raise build_no_table_failure(database) from None


def _check(database: Database, declared: InputColumn, names: Sequence[str]) -> None:
    """Refuse a column that isn't there once; raises Failure(DATA)."""
    table, name = ".".join(database.table), declared.name
    if name not in names:
        raise build_no_column_failure(table, name, names, key=TABLE_KEY)
    # SQLite tells columns of one name in a view apart by numbers
    numbered = re.compile(f"{re.escape(name)}:[0-9]+", re.IGNORECASE)
    if any(map(numbered.fullmatch, names)):
        raise build_duplicate_failure(table, name, TABLE_KEY)


def _select_column(column: str) -> Selected:
    kind, text = f"typeof({column})", f"CAST({column} AS TEXT)"
    hexadecimal = f"'\\x' || lower(hex({column}))"  # as PostgreSQL writes bytes
    size = f"length(CAST({column} AS BLOB))"
    size = f"CASE {kind} WHEN 'blob' THEN 2 * {size} + 2 ELSE {size} END"
    inside = f"{kind} NOT IN ('null', 'real') AND {size} <= {CELL_LIMIT}"
    return Selected(
        (
            f"CASE WHEN {kind} = 'real' THEN {REAL} WHEN {inside} THEN {TEXT} ELSE {NULL} END",
            f"CASE WHEN NOT ({inside}) THEN '' WHEN {kind} = 'blob' THEN {hexadecimal} "
            f"ELSE {text} END",
            f"CASE WHEN {kind} = 'real' THEN {column} ELSE 0.0 END",
        )
    )
