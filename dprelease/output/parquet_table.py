"""A published table as an Arrow table and as Parquet, built from scratch from typed values.

Nothing but the published values and descriptions gets into the file: no index, no dictionaries,
no metadata of other libraries. What ``datapackage.json`` says of the columns is in the schema's
metadata: each column's description, and ``build_table_schema`` for all of them. Integers widen
beyond 64 bits only when a published value needs it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.language import word
from dprelease.model import ColumnType, OutputColumn, OutputTable
from dprelease.output.key_types import convert_labels
from dprelease.output.table_schema import build_table_schema

if TYPE_CHECKING:
    import pyarrow

ROW_GROUP = 1 << 17  # rows


def to_arrow(table: OutputTable) -> pyarrow.Table:
    """Convert a table to Arrow, as Parquet files and the Python calls hold it.

    Args:
        table: A published table.

    Returns:
        Keys as int64, bool, date32, timestamp[us] or string; integers as int64 (decimal128 or
        decimal256 if one is larger); numbers as float64, the double nearest to the printed decimal.

    Raises:
        Failure: Exit code 5, if a number is too large for these types.
    """
    import pyarrow as pa

    arrays = [_build_array(column) for column in table.columns]
    schema = pa.schema(
        [
            pa.field(
                column.name,
                array.type,
                metadata=_build_metadata(description=word(column.description)),
            )
            for column, array in zip(table.columns, arrays, strict=True)
        ],
        metadata=_build_metadata(
            name=table.name,
            title=table.title,
            table_schema=json.dumps(build_table_schema(table, as_csv=False), ensure_ascii=False),
        ),
    )
    return pa.Table.from_arrays(arrays, schema=schema)


def write_parquet(table: OutputTable) -> bytes:
    """Write a table as Parquet; the same table gives the same bytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(
        to_arrow(table),
        sink,
        row_group_size=ROW_GROUP,
        version="2.6",
        use_dictionary=False,
        compression="zstd",
    )
    return bytes(sink.getvalue())


def _build_metadata(**texts: str) -> dict[str, str] | None:
    return {name: text for name, text in texts.items() if text} or None


def _build_array(column: OutputColumn) -> pyarrow.Array:
    import pyarrow as pa

    if column.kind == "key":
        kind, labels = convert_labels(column)
        types = {
            ColumnType.INTEGER: pa.int64(),
            ColumnType.BOOLEAN: pa.bool_(),
            ColumnType.DATE: pa.date32(),
            ColumnType.TIMESTAMP: pa.timestamp("us"),
            ColumnType.STRING: pa.string(),
        }
        cells = [None if label is None else labels[str(label)] for label in column.values]
        return pa.array(cells, type=types[kind])
    if column.kind == "integer" or (column.kind == "edge" and not column.decimals):
        return pa.array(column.values, type=_choose_integer_type(column.values))
    if column.kind in ("number", "edge"):
        unit = 10**column.decimals
        doubles = [
            None if value is None else _convert_to_double(value, unit) for value in column.values
        ]
        return pa.array(doubles, type=pa.float64())
    return pa.array(column.values, type=pa.string())


def _choose_integer_type(values: Sequence[str | int | None]) -> pyarrow.DataType:
    import pyarrow as pa

    # The narrowest type that holds all values: a noisy figure can exceed 64 bits.
    largest = max((abs(int(value)) for value in values if value is not None), default=0)
    if largest < 2**63:
        return pa.int64()
    if largest < 10**38:
        return pa.decimal128(38, 0)
    if largest < 10**76:
        return pa.decimal256(76, 0)
    raise _build_size_failure()


def _convert_to_double(value: str | int, unit: int) -> float:
    if isinstance(value, str):
        raise TypeError("a column of numbers holds a text")
    try:
        return value / unit  # correctly rounded by Python
    except OverflowError:
        raise _build_size_failure() from None


def _build_size_failure() -> Failure:
    return Failure(
        ExitCode.AFTER_CHARGE,
        Complaint("E804", "a published number is too large for the types of Parquet"),
    )
