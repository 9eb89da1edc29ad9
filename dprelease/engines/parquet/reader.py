"""The records of Parquet files, as Arrow batches in which every value can be read.

What becomes of a cell depends on the cell alone, whatever else is in the file. Bytes of a text that
are not UTF-8 become U+FFFD, as they do in CSV. Texts and bytes longer than a line of CSV may be are
null. Memory is that of a batch and of the pages that hold it: the format has a page read whole, so
that one cell of a gigabyte takes some gigabytes for a while.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

from dprelease.engines.common.files import LINE_LIMIT, Split
from dprelease.engines.parquet.schema import ParquetLayout, open_file

CELL_LIMIT = LINE_LIMIT  # bytes; a longer cell is null
TEXTS_AT_ONCE = 1 << 11  # records with texts of their own: of texts within the limit, 2 GiB
ENOUGH = 1 << 22  # bytes of records that are looked through together


def opened(
    layout: ParquetLayout,
    splits: Iterable[Split],
    count: Callable[[int], None],
    only: frozenset[str] | None = None,
) -> tuple[Any, Iterator[Any]]:
    """The schema, and record batches of it: columns ``f0..`` in the order of ``layout.types``.

    All of them, or ``only`` those of some names. Where no column is wanted, there is one of nulls,
    for the number of records. Taking a batch raises OSError where a file can't be read. ``count``
    is told of the records that were read.
    """
    import pyarrow as pa

    fields = [
        (f"f{place}", pa.dictionary(pa.int32(), kind) if name in layout.coded else kind)
        for place, (name, kind) in enumerate(layout.types.items())
        if only is None or name in only
    ]
    schema = pa.schema(fields or [("f0", pa.null())])
    if only is not None:
        layout = replace(layout, types={name: layout.types[name] for name in only})
    return schema, _batches(layout, splits, schema, count)


def _batches(
    layout: ParquetLayout, splits: Iterable[Split], schema: Any, count: Callable[[int], None]
) -> Iterator[Any]:
    import pyarrow as pa

    for batch in _stored(layout, splits):
        count(batch.num_rows)
        columns = [
            _readable(batch.column(batch.schema.get_field_index(name)), kind)
            for name, kind in zip(layout.types, schema.types, strict=False)
        ]
        yield pa.record_batch(columns or [pa.nulls(batch.num_rows)], schema=schema)


def _stored(layout: ParquetLayout, splits: Iterable[Split]) -> Iterator[Any]:
    """Batches as the files have them; raises OSError where one is damaged."""
    import pyarrow as pa

    try:
        for split in splits:
            with open_file(split.path, sorted(layout.coded)) as file:
                many = _at_once(layout, file.schema_arrow)
                groups = range(file.num_row_groups)[split.start : split.end]
                # One by one: the reader of several holds on to some of each. No threads: they would
                # wait for each other, beside those that take the batches.
                batches = (
                    batch
                    for group in groups
                    for batch in file.iter_batches(
                        many, [group], list(layout.types), use_threads=False
                    )
                )
                yield from _gathered(batches, layout.batch // 2)
    except MemoryError:
        raise
    except pa.ArrowException:
        raise OSError("a page or footer can't be decoded") from None


def _gathered(batches: Iterable[Any], records: int) -> Iterator[Any]:
    """The batches of a file, put together until they have so many records or ``ENOUGH``.

    To look through a batch takes nearly as long for few records as for many; to put dictionaries of
    several row groups together takes longer.
    """
    waiting: list[Any] = []
    rows = size = 0
    for batch in batches:
        waiting.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= records or size >= ENOUGH:
            yield from _joined(waiting)
            waiting, rows, size = [], 0, 0
    yield from _joined(waiting)


def _joined(batches: list[Any]) -> list[Any]:
    """One batch of several; as they are where Arrow can't join them."""
    import pyarrow as pa

    if len(batches) < 2:
        return batches
    try:
        joined: list[Any] = pa.Table.from_batches(batches).combine_chunks().to_batches()
    except pa.ArrowException:
        return batches
    return joined


def _at_once(layout: ParquetLayout, schema: Any) -> int:
    """How many records are read at once, whatever their texts say.

    A file may hold a long text once that many records have. It is held in memory once if it comes
    as a place in a dictionary, else for each of these records.
    """
    from pyarrow import types

    for name, kind in layout.types.items():
        is_place = name in layout.coded and types.is_dictionary(schema.field(name).type)
        if (types.is_string(kind) or types.is_binary(kind)) and not is_place:
            return min(layout.batch, TEXTS_AT_ONCE)
    return layout.batch


def _readable(values: Any, kind: Any) -> Any:
    """The column as the type that is handed on, every value by itself."""
    import pyarrow as pa
    from pyarrow import types

    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    if types.is_dictionary(kind):
        return _coded(values, kind)
    if types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if types.is_string(kind) or types.is_binary(kind):
        return _text(values, kind)
    if types.is_temporal(values.type) and not types.is_temporal(kind):
        return values.view(kind)
    if types.is_decimal(kind):
        return _decimal(values, kind)
    if types.is_timestamp(kind) and kind.unit == "us":
        return _microseconds(values.view(pa.int64()), values.type.unit).view(kind)
    return values.cast(kind)


def _coded(values: Any, kind: Any) -> Any:
    """Texts as places in a dictionary."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(values.type):
        return _text(values, kind.value_type).dictionary_encode()
    texts, places = _text(values.dictionary, kind.value_type), values.indices.cast(kind.index_type)
    if texts.null_count:
        places = pc.if_else(texts.is_null().take(places), None, places)
        texts = texts.fill_null("")
    return pa.DictionaryArray.from_arrays(places, texts)


def _decimal(values: Any, kind: Any) -> Any:
    """Decimals with no more digits than their type has. A file can hold others: these are null."""
    import pyarrow as pa

    try:
        values.validate(full=True)
        return values.cast(kind)
    except pa.ArrowInvalid:
        return pa.array(decimals(values), kind)


def decimals(values: Any) -> list[Decimal | None]:
    """Each value, or None where it has more digits than its type."""
    end = Decimal(10) ** (values.type.precision - values.type.scale)
    decoded = values.to_pylist()
    return [None if value is None or value.copy_abs() >= end else value for value in decoded]


def _microseconds(stored: Any, unit: str) -> Any:
    """Whole microseconds, rounded down: digits after the sixth are dropped, before 1970 too.

    Null where 64 bits can't hold them: such a moment is far outside of the calendar.
    """
    import pyarrow.compute as pc

    if unit == "us":
        return stored
    if unit != "ns":
        times = {"s": 10**6, "ms": 10**3}[unit]
        most = (2**63 - 1) // times
        held = pc.and_(pc.less_equal(stored, most), pc.greater_equal(stored, -most))
        return pc.multiply(pc.if_else(held, stored, None), times)
    towards_zero = pc.divide(stored, 1000)
    below = pc.less(stored, pc.multiply(towards_zero, 1000))
    return pc.subtract(towards_zero, below.cast("int64"))


def _text(values: Any, kind: Any) -> Any:
    """Texts, or bytes, that are not too long; each text readable."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_fixed_size_binary(values.type):
        return values.cast(kind)
    if pa.types.is_string_view(values.type) or pa.types.is_binary_view(values.type):
        values = values.cast(pa.large_binary())
    too_long = pc.greater(pc.binary_length(values), CELL_LIMIT)
    if pc.any(too_long).as_py():
        values = pc.if_else(too_long, None, values)
    if pa.types.is_binary(kind):
        return values.cast(kind)
    try:
        texts = values.cast(kind)
        texts.validate(full=True)
    except pa.ArrowInvalid:
        raw = values.cast(pa.large_binary()).to_pylist()
        readable = (None if value is None else value.decode("utf-8", "replace") for value in raw)
        return pa.array(readable, kind)
    return texts
