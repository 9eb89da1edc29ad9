"""Published tables read back from their files, to the letter: the inverse of the writers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from msgspec.structs import replace

from dprelease.model import ColumnNames, ColumnType, OutputColumn, OutputTable
from dprelease.output.csv_table import unescape_formula

Facts = Mapping[str, Any]
Value = str | int | None

_FIELD = re.compile(r'(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\n)')


def read_table(content: bytes, format: str, facts: Facts) -> OutputTable:
    """Read a published table back from its file: the inverse of the writers.

    Args:
        content: The bytes of the file.
        format: "csv" or "parquet".
        facts: The facts of this table in report.json.

    Returns:
        The table with its values as fixed-point integers and texts.

    Raises:
        ValueError: The file is not one that the writers make of such a table.
    """
    read = _read_parquet if format == "parquet" else _read_csv
    values = read(content, facts["columns"])
    columns = [
        OutputColumn(
            name=column["name"],
            kind=column["kind"],
            values=cells,
            description=column["description"],
            decimals=column["decimals"],
            query=column["query"],
            type=_find_type(column["type"]),
            names=_read_names(column.get("names") or {}),
        )
        for column, cells in zip(facts["columns"], values, strict=True)
    ]
    table = OutputTable(facts["name"], tuple(columns), facts["title"])
    if table.rows != facts["rows"]:
        raise ValueError("not as many rows as the report says")
    return table


def _find_type(name: str | None) -> ColumnType | None:
    return None if name is None else ColumnType(name)


def _read_names(names: Facts) -> ColumnNames:
    return ColumnNames(**{**names, "bins": _find_type(names.get("bins"))})


def _read_csv(content: bytes, columns: Sequence[Facts]) -> list[list[Value]]:
    text = content.decode("utf-8")
    fields: list[tuple[str | None, str, str]] = []
    place = 0
    while place < len(text):
        match = _FIELD.match(text, place)
        if match is None:
            raise ValueError("not a field of a CSV file of ours")
        fields.append((match[1], match[2], match[3]))
        place = match.end()
    width = len(columns)
    if len(fields) % width or any(
        (end == "\n") != (at % width == width - 1) for at, (_, _, end) in enumerate(fields)
    ):
        raise ValueError("lines of unlike lengths")
    body = fields[width:]
    return [
        [_read_value(*body[at][:2], column) for at in range(place, len(body), width)]
        for place, column in enumerate(columns)
    ]


def _read_value(quoted: str | None, plain: str, column: Facts) -> Value:
    if quoted is None and not plain:
        return None
    text = plain if quoted is None else quoted.replace('""', '"')
    if column["kind"] in ("integer", "number", "edge"):
        # A file has all decimals of its column, so that dropping the point gives the integer.
        return int(text.replace(".", "", 1)) if text else None
    return unescape_formula(text)


def _read_parquet(content: bytes, columns: Sequence[Facts]) -> list[list[Value]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(pa.BufferReader(content))
    if table.column_names != [column["name"] for column in columns]:
        raise ValueError("other columns than the report says")
    return [
        [_parse_value(value, column) for value in table.column(place).to_pylist()]
        for place, column in enumerate(columns)
    ]


def _parse_value(value: Any, column: Facts) -> Value:
    if value is None:
        return None
    if column["kind"] == "number" or (column["kind"] == "edge" and column["decimals"]):
        return from_double(value, column["decimals"])
    if column["kind"] in ("integer", "edge"):
        return int(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def from_double(value: float, decimals: int) -> int:
    """Convert a double of Parquet to a fixed-point integer, by its shortest decimal."""
    return int(Decimal(repr(value)).scaleb(decimals).to_integral_value())


def round_as_in_file(table: OutputTable, format: str) -> OutputTable:
    """Round a table as its file does: doubles in Parquet hold at most 17 digits.

    Args:
        table: A table to be published.
        format: "csv" or "parquet".

    Returns:
        The table that ``read_table`` gives for its file.
    """
    if format != "parquet":
        return table
    columns = (
        replace(
            column,
            values=[_round_through_double(value, column.decimals) for value in column.values],
        )
        if column.kind in ("number", "edge")
        else column
        for column in table.columns
    )
    return replace(table, columns=tuple(columns))


def _round_through_double(value: Value, decimals: int) -> Value:
    # Decimals of at most 15 digits come back from a double unchanged.
    if not isinstance(value, int) or abs(value) < 10**15:
        return value
    return from_double(value / 10**decimals, decimals)
