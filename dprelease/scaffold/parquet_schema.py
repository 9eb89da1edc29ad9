"""Names and types of the columns of a Parquet file, from its schema."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

from dprelease.scaffold.csv_header import Named, no_name, unreadable

if TYPE_CHECKING:
    import pyarrow


def parquet_columns(file: str) -> list[Named]:
    """The columns that the schema declares; no row group is opened. Raises Failure (exit 2)."""
    import pyarrow.parquet as pq

    if os.path.exists(file) and not os.path.isfile(file):
        raise unreadable(file, "it is no file")
    try:
        schema = pq.read_schema(file)
    except FileNotFoundError:
        raise unreadable(file, "there is no such file") from None
    except (OSError, ValueError):
        raise unreadable(file, "it is no Parquet file") from None
    if not schema.names:
        raise unreadable(file, "it has none")
    times = Counter(name.casefold() for name in schema.names)
    columns = []
    for field in schema:
        twice = {field.name.casefold()} if times[field.name.casefold()] > 1 else set()
        kind, wrong = _type(field.type), no_name(field.name, twice)
        why = f"its name {wrong}" if wrong else "" if kind else "of a type that no spec reads"
        columns.append(Named(field.name, kind, why))
    return columns


def _type(kind: pyarrow.DataType) -> str | None:
    import pyarrow.types as of

    tests = (
        (of.is_boolean, "boolean"),
        (of.is_integer, "integer"),
        (of.is_floating, "float"),
        (of.is_decimal128, "decimal"),
        (of.is_string, "string"),
        (of.is_large_string, "string"),
        (of.is_string_view, "string"),
        (of.is_date, "date"),
        (lambda kind: of.is_timestamp(kind) and kind.tz is None, "timestamp"),
    )
    if of.is_dictionary(kind):
        return _type(kind.value_type)
    return next((name for test, name in tests if test(kind)), None)
