"""The rows of a released table, as texts: what the file says, and no more of it than is asked."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from dprelease.output.read.package import Described, unreadable

if TYPE_CHECKING:
    import pyarrow

Row = tuple[str | None, ...]
# A number as the files have it, of any size that a double can hold.
NUMBER = re.compile(r"-?[0-9]{1,308}(\.[0-9]{1,308})?", re.ASCII)
_FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")


class Rows(NamedTuple):
    """The first rows of a table, and how many it has in all; None is an empty cell."""

    rows: Sequence[Row]
    total: int


def read_rows(table: Described, most: int | None) -> Rows:
    """Read the first rows, all of them with None. Raises Failure (exit code 2)."""
    read = _read_csv if table.format == "csv" else _read_parquet
    try:
        return read(table, most)
    except OSError as problem:
        raise unreadable(table.file, problem.strerror or "it is damaged") from None
    except (ValueError, csv.Error):
        raise unreadable(table.file, "it is not as its description says") from None


def _read_csv(table: Described, most: int | None) -> Rows:
    texts = {place for place, field in enumerate(table.fields) if field.type == "string"}
    with open(table.file, encoding="utf-8", newline="") as stream:
        lines = csv.reader(stream, strict=True)
        if next(lines, None) != [field.name for field in table.fields]:
            raise ValueError("another header")
        rows = [_row(line, texts, len(table.fields)) for line in islice(lines, most)]
        if table.records is not None:  # may be many
            return Rows(rows, table.records)
        return Rows(rows, len(rows) + sum(1 for _ in lines))


def _row(line: list[str], texts: set[int], width: int) -> Row:
    if len(line) != width:
        raise ValueError("a line of another length")
    return tuple(
        _unescaped(text) if place in texts and text else text or None
        for place, text in enumerate(line)
    )


def _unescaped(text: str) -> str:
    """Take off the apostrophe that keeps a spreadsheet from running a text as a formula."""
    rest = text.lstrip("'")
    return text[1:] if rest != text and rest.startswith(_FORMULA) else text


def _read_parquet(table: Described, most: int | None) -> Rows:
    import pyarrow.parquet as pq

    with pq.ParquetFile(table.file) as file:
        if file.schema_arrow.names != [field.name for field in table.fields]:
            raise ValueError("another header")
        rows: list[Row] = []
        if most != 0:
            for batch in file.iter_batches(batch_size=min(most or 4096, 4096)):
                rows.extend(_columns(batch))
                if most is not None and len(rows) >= most:
                    break
        return Rows(rows[:most], file.metadata.num_rows)


def _columns(batch: pyarrow.RecordBatch) -> Iterator[Row]:
    return zip(*(_texts(column.to_pylist()) for column in batch.columns), strict=True)


def _texts(values: list[object]) -> list[str | None]:
    """Values as texts, numbers of one column with equally many decimal places."""
    if not any(isinstance(value, float) for value in values):
        return [_text(value) for value in values]
    numbers = [None if value is None else Decimal(str(value)) for value in values]
    places = [-int(each.as_tuple().exponent) for each in numbers if each is not None]
    return [None if each is None else f"{each:.{max(places)}f}" for each in numbers]


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
