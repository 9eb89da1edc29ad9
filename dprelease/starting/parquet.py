"""Names and types of the columns of a Parquet file, from its schema."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dprelease.starting.header import Named, unreadable

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
    found = [(field.name, _type(field.type)) for field in schema]
    return [Named(name, kind, readable=kind is not None) for name, kind in found]


def _type(kind: pyarrow.DataType) -> str | None:
    import pyarrow.types as of

    tests = (
        (of.is_boolean, "boolean"),
        (of.is_integer, "integer"),
        (of.is_floating, "float"),
        (of.is_decimal, "decimal"),
        (of.is_string, "string"),
        (of.is_large_string, "string"),
        (of.is_date, "date"),
        (of.is_timestamp, "timestamp"),
    )
    if of.is_dictionary(kind):
        return _type(kind.value_type)
    return next((name for test, name in tests if test(kind)), None)
