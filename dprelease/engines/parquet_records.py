"""Parquet files whose texts are not all UTF-8, record by record.

DuckDB refuses a whole file for one text with a wrong byte. Here the wrong bytes become U+FFFD, as
they do in CSV, and nothing else changes. Memory is that of one batch of one row group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

BATCH = 65_536


def readable(paths: Sequence[str], names: Sequence[str]) -> Any:
    """Give the named columns of the files as a pyarrow RecordBatchReader, every text readable.

    Raises OSError or a pyarrow error (a ValueError) when a file can't be read.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    fields = pq.ParquetFile(paths[0], coerce_int96_timestamp_unit="us").schema_arrow
    schema = pa.schema([(name, _plain(fields.field(name).type)) for name in names])
    return pa.RecordBatchReader.from_batches(schema, _batches(paths, schema))


def _batches(paths: Sequence[str], schema: Any) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    for path in paths:
        # as DuckDB reads them; the default wraps around far from today
        with pq.ParquetFile(path, coerce_int96_timestamp_unit="us") as file:
            for batch in file.iter_batches(batch_size=BATCH, columns=schema.names):
                columns = [
                    _column(batch.column(name), schema.field(name).type) for name in schema.names
                ]
                yield pa.record_batch(columns, schema=schema)


def _plain(kind: Any) -> Any:
    """The type without dictionary, texts as strings."""
    import pyarrow as pa

    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_string(inner) or pa.types.is_large_string(inner):
        return pa.string()
    return pa.float32() if pa.types.is_float16(inner) else inner


def _column(values: Any, kind: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if kind != pa.string():
        return values.cast(kind)
    try:
        values.validate(full=True)
    except pa.ArrowInvalid:
        raw = values.cast(pa.large_binary() if values.type == pa.large_string() else pa.binary())
        texts = [
            None if each is None else each.decode("utf-8", "replace") for each in raw.to_pylist()
        ]
        return pa.array(texts, pa.string())
    return values.cast(pa.string())
