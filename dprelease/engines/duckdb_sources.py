"""What the statement selects from: CSV files by the fast reader, CSV records, Parquet files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dprelease.engines.duckdb_rows import Fields
from dprelease.engines.duckdb_session import literal_path
from dprelease.engines.files import Layout
from dprelease.expressions.sqltext import (
    FALSE,
    TRUE,
    Sql,
    array,
    call,
    identifier,
    number,
    option,
    struct,
    text,
)
from dprelease.model import Dialect

RECORDS = "records"  # the registered stream of the careful reader


def csv_fields(layout: Layout, dialect: Dialect) -> Fields:
    """All fields by DuckDB's reader, as text, nothing sniffed."""
    columns = struct((f"f{place}", text("VARCHAR")) for place in range(layout.width))
    options: dict[str, Sql] = {
        "columns": columns,
        "auto_detect": FALSE,
        "header": FALSE,
        "skip": number(1 if dialect.header else 0),
        "delim": text(dialect.delimiter),
        "quote": text(dialect.quote),
        "escape": text(dialect.quote),
        "strict_mode": TRUE,
        # otherwise a folder named f1=x would take the place of the second field
        "hive_partitioning": FALSE,
        "compression": text("none"),
        # With a null text the reader lets surplus fields pass that hold it. No field of one line
        # can be a line feed.
        "nullstr": text("\n"),
    }
    relation = _function("read_csv", layout.paths, options)
    return Fields(relation, _fields(layout), {}, dialect)


def record_fields(layout: Layout, dialect: Dialect) -> Fields:
    """The same fields from the careful reader's stream."""
    return Fields(identifier(RECORDS), _fields(layout), {}, dialect)


def parquet_fields(paths: Sequence[str], types: Mapping[str, str]) -> Fields:
    """Columns of Parquet files with their DuckDB types."""
    options: dict[str, Sql] = {
        "hive_partitioning": FALSE,
        "union_by_name": FALSE,
    }
    columns = {name: identifier(name) for name in types}
    return Fields(_function("read_parquet", paths, options), columns, types)


def stream_fields(types: Mapping[str, str]) -> Fields:
    """The typed columns of a registered stream."""
    columns = {name: identifier(name) for name in types}
    return Fields(identifier(RECORDS), columns, types)


def _fields(layout: Layout) -> dict[str, Sql]:
    return {name: identifier(f"f{place}") for name, place in layout.position.items()}


def _function(name: str, paths: Sequence[str], options: Mapping[str, Sql]) -> Sql:
    files = array(text(literal_path(path)) for path in paths)
    return call(name, files, *(option(key, value) for key, value in options.items()))
