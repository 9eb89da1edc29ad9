"""Names and physical types of Parquet files against the declared ones. Footers only."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dprelease.engines.base import bad_data, columns_read
from dprelease.engines.duckdb_errors import PARQUET_FOOTERS, means
from dprelease.engines.duckdb_session import literal_path
from dprelease.errors import Failure
from dprelease.model import ColumnType, InputColumn

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

NESTED = "NESTED"  # stands for all types of lists and structs, which hold no declared type
WIDEST = 38  # digits of a decimal that all readers hold exactly
_WHOLE = r"U?(?:TINY|SMALL|BIG)INT|U?INTEGER"
_NUMBER = rf"{_WHOLE}|FLOAT|DOUBLE|DECIMAL\(\d+,\d+\)"

# DuckDB types that can hold each declared type
HOLDS = {
    ColumnType.INTEGER: _NUMBER,
    ColumnType.FLOAT: _NUMBER,
    ColumnType.DECIMAL: _NUMBER,
    ColumnType.STRING: r"VARCHAR|ENUM\(.*\)",
    ColumnType.BOOLEAN: "BOOLEAN",
    ColumnType.DATE: "DATE",
    ColumnType.TIMESTAMP: "TIMESTAMP|TIMESTAMP_S|TIMESTAMP_MS|TIMESTAMP_NS",
}


def physical_types(
    connection: DuckDBPyConnection,
    paths: Sequence[str],
    pattern: str,
    inputs: Sequence[InputColumn],
) -> dict[str, str]:
    """DuckDB type of each column to be read, the same in all files; raises Failure(DATA).

    An error of DuckDB that no damaged footer explains passes through.
    """
    import duckdb

    found: list[dict[str, str]] = []
    for path in paths:
        try:
            found.append(_types(connection, path, pattern, inputs))
        except duckdb.Error as problem:
            if not means(problem, PARQUET_FOOTERS):
                raise
            raise _unreadable(pattern) from None
    if any(types != found[0] for types in found):
        raise bad_data(
            "E407", f"the files of {pattern} have different columns", "make them the same"
        )
    for each in columns_read(inputs):
        wanted, hint = (
            each.type.value,
            "declare the type that the file has, or write the file with the declared type",
        )
        if each.opaque:
            wanted, hint = "one value", "name a column that is no list and no struct"
        if not _can_hold(found[0][each.name], each):
            raise bad_data(
                "E412", f'column "{each.name}" of {pattern} can\'t be read as {wanted}', hint
            )
    return found[0]


def _can_hold(physical: str, declared: InputColumn) -> bool:
    if declared.opaque:
        return physical != NESTED
    return re.fullmatch(HOLDS[declared.type], physical, re.DOTALL) is not None


def check_readable(connection: DuckDBPyConnection, paths: Sequence[str], pattern: str) -> None:
    """Have the reader look at every column, of the footers only; raises Failure(DATA).

    A column that it can't read stops it although nothing is wanted of that column. An error of
    DuckDB that no damaged footer explains passes through.
    """
    import duckdb

    for path in paths:
        try:
            connection.execute(
                "DESCRIBE SELECT * FROM read_parquet($1, hive_partitioning = false)",
                [literal_path(path)],
            )
        except duckdb.Error as problem:
            if not means(problem, PARQUET_FOOTERS):
                raise
            raise _unreadable(pattern) from None


def _unreadable(pattern: str) -> Failure:
    return bad_data(
        "E409", f"{pattern} is no readable Parquet file", "it may be cut short or damaged"
    )


def _types(
    connection: DuckDBPyConnection, path: str, pattern: str, inputs: Sequence[InputColumn]
) -> dict[str, str]:
    rows = connection.execute(
        "SELECT name, num_children, precision, repetition_type, duckdb_type, column_id"
        " FROM parquet_schema($1)",
        [literal_path(path)],
    ).fetchall()
    rows.sort(key=lambda row: int(row[5]))
    tops = _tops([int(row[1] or 0) for row in rows])
    names = [str(rows[place][0]) for place in tops]
    # by itself each leaf below the root has the type that the reader gives it, unless it repeats
    types = {
        str(rows[place][0]): str(rows[place][4])
        for place in tops
        if not rows[place][1] and rows[place][3] != "REPEATED"
    }
    wide = {str(row[0]) for row in rows if (row[2] or 0) > WIDEST}
    folded = Counter(name.lower() for name in names)
    for each in columns_read(inputs):
        if each.name not in names:
            raise bad_data(
                "E405",
                f'{pattern} has no column "{each.name}"',
                "it must have exactly this name, upper and lower case included",
            )
        if each.name in wide:
            raise bad_data(
                "E412",
                f'column "{each.name}" of {pattern} holds decimals of more than {WIDEST} digits',
                f"write them with at most {WIDEST} digits, or as doubles",
            )
        if folded[each.name.lower()] > 1:
            raise bad_data(
                "E406", f'{pattern} has several columns "{each.name}"', "rename one of them"
            )
    return {each.name: types.get(each.name, NESTED) for each in columns_read(inputs)}


def _tops(children: Sequence[int]) -> list[int]:
    """Places of the root's children in a depth-first listing of numbers of children."""
    tops: list[int] = []
    inside = 0  # how many nodes of nested columns are still to come
    for place, own in enumerate(children[1:], 1):
        if inside == 0:
            tops.append(place)
            inside = own
        else:
            inside += own - 1
    return tops
