"""PostgreSQL: typed columns where the driver can hold every value of the type, else texts.

The driver fails at a date or time that it can't represent, such as ``infinity``. So the server
replaces each one outside of the calendar by one that is also outside but can be represented.
Columns of type ``numeric`` or ``float4``, and all that is read as a text, come as the server's
text. ``SETTINGS`` give it one form whatever the server's configuration; ``NaN`` and infinities are
texts, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dprelease.model import NUMERIC_TYPES, ColumnType, Database, InputColumn
from dprelease.sources.adbc.driver import (
    TABLE_KEY,
    URI_KEY,
    Selected,
    build_no_table_failure,
    build_unreachable_failure,
    list_driver_errors,
    name_field,
    quote_name,
    select_table,
)
from dprelease.sources.shared.arrow_values import convert_readable
from dprelease.sources.shared.column_names import build_no_column_failure
from dprelease.sources.shared.data_failures import build_data_failure
from dprelease.sources.shared.files import CELL_LIMIT
from dprelease.sources.shared.source_format import StoredColumn

SETTINGS = {
    "DateStyle": "ISO, YMD",
    "TimeZone": "UTC",
    "IntervalStyle": "postgres",
    "bytea_output": "hex",
    "extra_float_digits": "3",  # the shortest text that is read as the same number
}
BATCH_BYTES = 1 << 20
# Encodings of a database, each with the encoding to ask for so that sending no text can fail.
SENT_AS = {"UTF8": "UTF8", "LATIN1": "UTF8", "SQL_ASCII": "SQL_ASCII"}

UNDEFINED_COLUMN, DENIED = "42703", "42501"
NO_TABLE = frozenset({"42P01", "3F000", "42809", DENIED})

_NUMBERS = frozenset({"int2", "int4", "int8", "float4", "float8", "numeric"})
_FIXED = _NUMBERS | {"bool", "date", "timestamp", "timestamptz", "time", "timetz", "uuid", "oid"}
_MOMENT = "timestamptz"
_TYPED = {
    "int2": "SMALLINT",
    "int4": "INTEGER",
    "int8": "BIGINT",
    "float8": "DOUBLE",
    "bool": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    _MOMENT: "TIMESTAMPTZ",
}
_READ_AS = dict.fromkeys(NUMERIC_TYPES, _NUMBERS) | {
    ColumnType.BOOLEAN: frozenset({"bool"}) | _NUMBERS,
    ColumnType.DATE: frozenset({"date", "timestamp", _MOMENT}),
    ColumnType.TIMESTAMP: frozenset({"timestamp", _MOMENT}),
}
_DECLARED = {
    **dict.fromkeys(("int2", "int4", "int8"), ColumnType.INTEGER),
    **dict.fromkeys(("float4", "float8"), ColumnType.FLOAT),
    **dict.fromkeys(("text", "varchar", "bpchar", "name"), ColumnType.STRING),
    "numeric": ColumnType.DECIMAL,
    "bool": ColumnType.BOOLEAN,
    "date": ColumnType.DATE,
    "timestamp": ColumnType.TIMESTAMP,
    _MOMENT: ColumnType.TIMESTAMP,
}
# The first and the last moment of the calendar, and one outside of it in every zone.
_FIRST, _LAST, _OUTSIDE = "0001-01-01", "9999-12-31 23:59:59.999999", "10000-01-02"
_IN_CALENDAR = {
    "date": (_FIRST, _LAST[:10], _OUTSIDE),
    "timestamp": (_FIRST, _LAST, _OUTSIDE),
    _MOMENT: (f"{_FIRST} 00:00:00+00", f"{_LAST}+00", f"{_OUTSIDE} 00:00:00+00"),
}


class PostgreSQL:
    """See ``Driver``."""

    def connect(self, uri: str) -> Any:
        """See ``Driver``."""
        from adbc_driver_postgresql import dbapi

        return dbapi.connect(uri, autocommit=True)

    def open_cursor(self, connection: Any) -> Any:
        """See ``Driver``; batches are small, so that one is read while others are processed."""
        size = {"adbc.postgresql.batch_size_hint_bytes": str(BATCH_BYTES)}
        return connection.cursor(adbc_stmt_kwargs=size)

    def begin(self, cursor: Any) -> None:
        """See ``Driver``."""
        cursor.execute("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        for name, value in SETTINGS.items():
            cursor.execute(f"SET LOCAL {name} = '{value}'")
        cursor.execute("SELECT pg_catalog.current_setting('server_encoding')")
        sent_as = SENT_AS.get(str(cursor.fetchone()[0]))
        if sent_as is None:
            message = "the encoding of the database is not supported"
            raise build_data_failure("E408", message, f"use one in {', '.join(SENT_AS)}", URI_KEY)
        cursor.execute(f"SET LOCAL client_encoding = '{sent_as}'")

    def select(
        self, cursor: Any, database: Database, inputs: Sequence[InputColumn]
    ) -> dict[str, Selected]:
        """See ``Driver``."""
        names = _read_names(cursor, database)
        types = {column.name: _read_type(cursor, database, column.name, names) for column in inputs}
        for column in inputs:
            if column.name not in names:
                table = ".".join(database.table)
                raise build_no_column_failure(table, column.name, names, key=TABLE_KEY)
            _check(database, column, *types[column.name])
        choices = {column.name: _select_column(column, types[column.name][0]) for column in inputs}
        try:
            parts = [part for selected in choices.values() for part in selected.parts]
            # This reads no record, but checks the right to read.
            cursor.execute(select_table(database, parts or ["0"], " LIMIT 0"))
        except list_driver_errors() as problem:
            raise _explain_error(problem, database) from None
        return choices

    def list_columns(self, cursor: Any, database: Database) -> list[StoredColumn]:
        """See ``Driver``."""
        cursor.execute(
            "SELECT a.attname, CASE WHEN b.typtype = 'e' THEN 'text' ELSE b.typname END "
            "FROM pg_catalog.pg_attribute AS a "
            "JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid "
            "JOIN pg_catalog.pg_type AS b "  # of a domain, the type that it is based on
            "ON b.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END "
            "WHERE a.attrelid = pg_catalog.to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped "
            "AND pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT') "
            "ORDER BY a.attnum",
            (".".join(map(quote_name, database.table)),),
        )
        return [StoredColumn(str(name), _DECLARED.get(kind)) for name, kind in cursor.fetchall()]

    def join_parts(self, parts: Sequence[Any], selected: Selected) -> Any:
        """See ``Driver``."""
        import pyarrow as pa

        return parts[0] if selected.type else convert_readable(parts[0], pa.string())


def _read_type(
    cursor: Any, database: Database, name: str, names: frozenset[str]
) -> tuple[str, bool]:
    """Read the type of a column, and whether its values are texts; raises Failure(DATA)."""
    from pyarrow import types

    try:
        schema = cursor.adbc_execute_schema(select_table(database, [name_field(name)]))
    except list_driver_errors() as problem:
        if getattr(problem, "sqlstate", None) == UNDEFINED_COLUMN:
            table = ".".join(database.table)
            raise build_no_column_failure(table, name, names, key=TABLE_KEY) from None
        raise _explain_error(problem, database) from None
    (stored,) = schema
    kind = (stored.metadata or {}).get(b"POSTGRESQL:type", b"").decode("utf-8", "replace")
    return kind, types.is_string(stored.type)  # so are those of an enumeration


def _read_names(cursor: Any, database: Database) -> frozenset[str]:
    """Read the names of the table's columns."""
    # Names must be checked, because the server takes ``t."count"`` for ``count(t)`` where there is
    # no such column, and so for each function of a record: an aggregate would make all records one.
    cursor.execute(
        "SELECT a.attname FROM pg_catalog.pg_attribute AS a "
        "WHERE a.attrelid = pg_catalog.to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped",
        (".".join(map(quote_name, database.table)),),
    )
    return frozenset(str(name) for (name,) in cursor.fetchall())


def _explain_error(problem: Exception, database: Database) -> Exception:
    of_table_alone = getattr(problem, "sqlstate", None) in NO_TABLE
    return (
        build_no_table_failure(database) if of_table_alone else build_unreachable_failure(database)
    )


def _check(database: Database, declared: InputColumn, kind: str, is_text: bool) -> None:
    """Refuse a column whose values can't be of the declared type; raises Failure(DATA)."""
    table = ".".join(database.table)
    if declared.zone is not None and kind != _MOMENT and not is_text:
        raise build_data_failure(
            "E412",
            f'column "{declared.name}" of {table} has no zone: its type is not timestamptz',
            f"leave zone out of [columns.{declared.name}]: what is stored is read as it is",
            TABLE_KEY,
        )
    if declared.format is not None and not is_text:
        raise build_data_failure(
            "E412",
            f'column "{declared.name}" of {table} has no texts',
            f"leave format out of [columns.{declared.name}]",
            TABLE_KEY,
        )
    anything = declared.opaque or declared.type is ColumnType.STRING or is_text
    if not anything and kind not in _READ_AS[declared.type]:
        kind_text = "".join(char if char.isprintable() else "?" for char in kind[:80])
        raise build_data_failure(
            "E412",
            f'column "{declared.name}" of {table} can\'t be read as {declared.type.value}: '
            f"its type is {kind_text}",
            "declare the type that the column has, or read a view that casts it",
            TABLE_KEY,
        )


def _select_column(declared: InputColumn, kind: str) -> Selected:
    column = name_field(declared.name)
    if kind in _TYPED and not declared.opaque and kind in _READ_AS.get(declared.type, ()):
        if kind in _IN_CALENDAR:
            first, last, outside = _IN_CALENDAR[kind]
            inside = f"{column} IS NULL OR {column} BETWEEN '{first}' AND '{last}'"
            column = f"CASE WHEN {inside} THEN {column} ELSE '{outside}' END"
        return Selected((column,), _TYPED[kind])
    text = f"CAST({column} AS text)"
    if kind not in _FIXED:
        text = f"CASE WHEN octet_length({text}) <= {CELL_LIMIT} THEN {text} END"
    return Selected((text,))
