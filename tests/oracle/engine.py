"""The oracle: the same answers in plain loops, written to be read, not to be fast.

It shares nothing with the fast path but definitions: of text in ``text_values``, of the order of
rows in ``request_content``, and of the header.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from oracle.aggregate import answer
from oracle.expressions import evaluate
from oracle.in_process import SmallSplits
from oracle.parquet import parquet_records
from oracle.record_codes import batches
from oracle.values import Record, declared, state_of, text_record

from dprelease import engines
from dprelease.engines.engine_interface import Engine
from dprelease.errors import Complaint, Failure
from dprelease.expressions import parse_tree
from dprelease.model import (
    AggregateRequest,
    Dialect,
    ExactRecords,
    ExactTable,
    InputColumn,
    RecordRequest,
    Source,
)
from dprelease.sources.shared import source_format
from dprelease.sources.shared.data_failures import (
    Share,
    build_lost_failure,
    list_derived_columns,
    list_read_columns,
)
from dprelease.sources.shared.files import Layout, lay_out
from dprelease.sources.shared.first_lines import BOM, LINE_LIMIT

if TYPE_CHECKING:
    import numpy.typing as npt

    Codes = npt.NDArray[Any]


class Reference:
    """See ``Engine``."""

    name = "reference"

    def inspect(self, source: Source, inputs: Sequence[InputColumn]) -> tuple[Complaint, ...]:
        """Check names and types against headers and footers; raises Failure(DATA)."""
        return source_format.warn_about_zones(source_format.lay_out(source, inputs), inputs)

    def aggregate(self, request: AggregateRequest, share: Share | None = None) -> ExactTable:
        """The exact integers of every cell; raises Failure(AFTER_CHARGE)."""
        try:
            table = answer(request, _records(request))
        except (OSError, Failure):
            raise build_lost_failure() from None
        if share is not None:
            share(1)
        return table

    def records(self, request: RecordRequest, share: Share | None = None) -> ExactRecords:
        """The codes of all records, read as they are asked for; raises Failure(AFTER_CHARGE)."""
        return ExactRecords(_batches(request, share))


ENGINE = Reference()


def get(name: str) -> Engine:
    """The engine of that name; ``reference`` is this one, which is in no registry.

    Spark's has its tasks run here, by a cluster that is none, in many small splits.
    """
    if name == ENGINE.name:
        return ENGINE
    return SmallSplits() if name == "spark" else engines.get(name)


def _batches(request: RecordRequest, share: Share | None) -> Iterator[tuple[Codes, ...]]:
    try:
        yield from batches(request, _records(request))
    except (OSError, Failure):
        raise build_lost_failure() from None
    if share is not None:
        share(1)


def _records(request: AggregateRequest | RecordRequest) -> Iterator[Record]:
    read = list_read_columns(request.inputs)
    types = {each.name: each.type for each in request.inputs}
    computed = list_derived_columns(request.inputs)
    checked = {
        each.name: each.expression.state_of
        for each in computed
        if each.expression and each.expression.state_of
    }
    derived = [
        (each, parse_tree(each.expression.text if each.expression else "NULL", types))
        for each in computed
        if each.name not in checked
    ]
    source = request.source
    raw = _csv_records(source, read) if source.format == "csv" else parquet_records(source, read)
    for record in raw:
        for column, node in derived:
            result = evaluate(node, record.values)
            value, number = declared(result, column.type)
            record.values[column.name], record.numbers[column.name] = value, number
        for name, base in checked.items():
            record.values[name] = state_of(base, record)
        yield record


def _csv_records(source: Source, read: Sequence[InputColumn]) -> Iterator[Record]:
    layout = lay_out(source, read)
    dialect = source.dialect
    for path in layout.paths:
        for fields in _file_records(path, layout, dialect):
            texts = {each.name: fields[layout.position[each.name]] for each in read}
            yield text_record(texts, read, dialect)


def _file_records(path: str, layout: Layout, dialect: Dialect) -> Iterator[list[str | None]]:
    with open(path, "rb") as stream:
        lines = _lines(stream.read().removeprefix(BOM), dialect)
    at = 0
    while at < len(lines):
        taken = _several(lines[at : at + dialect.max_lines], layout, dialect)
        record, at = b"\n".join(lines[at : at + taken]), at + taken
        text = record.rstrip(b"\r").decode(layout.encoding, "replace")
        fields = read_fields(text, dialect.delimiter, dialect.quote)
        whole = _fits(fields, layout) and len(record) <= LINE_LIMIT
        yield (
            list(fields)[: layout.width] if fields is not None and whole else [None] * layout.width
        )


def _lines(content: bytes, dialect: Dialect) -> list[bytes]:
    """The lines after the header, which decides if carriage returns alone end lines."""
    line, alone = b"", False
    for turn in range(dialect.skip_rows + 2 * dialect.header):
        # The last one may be the header: a line ``sep=`` stands before it at most.
        if turn == dialect.skip_rows + 1 and line[:4].lower() != b"sep=":
            break
        end = re.search(rb"\r*\n|\r", content)
        place = end.end() if end else len(content)
        line, alone = content[:place], bool(end and b"\n" not in end[0])
        content = content[place:]
    if alone:
        content = re.sub(rb"\r+(?![\r\n])", lambda match: b"\n" * len(match[0]), content)
    lines = content.split(b"\n")
    return lines if lines[-1] else lines[:-1]


def _fits(fields: Sequence[str] | None, layout: Layout) -> bool:
    """Whether fields are as many as the header's, but for empty ones at the end."""
    if fields is None or len(fields) < layout.width - layout.nameless:
        return False
    return all(not field.strip(" \t\n\v\f\r") for field in fields[layout.width :])


def _several(lines: Sequence[bytes], layout: Layout, dialect: Dialect) -> int:
    """How many of the lines are the first record: several if they are well written, else one."""
    for size in range(1, len(lines) + 1):
        record = b"\n".join(lines[:size])
        if record.count(dialect.quote.encode()) % 2:
            continue
        text = record.rstrip(b"\r").decode(layout.encoding, "replace")
        fields = read_fields(text, dialect.delimiter, dialect.quote, strict=True)
        whole = _fits(fields, layout) and len(record) <= LINE_LIMIT
        return size if whole else 1
    return 1


def read_fields(line: str, delimiter: str, quote: str, *, strict: bool = False) -> list[str] | None:
    """The fields of a line, one character after the other; None if it is malformed.

    ``strict``: a quote in a field that does not begin with one makes it so.
    """
    fields: list[str] = []
    field = ""
    state = "start"  # of a field; then "plain", "quoted", "after" a quote, or "closed" by spaces
    for char in [*line, None]:
        if state == "quoted":
            if char is None:
                return None
            state, field = ("after", field) if char == quote else ("quoted", field + char)
        elif char is None or char == delimiter:
            fields.append(field)
            field, state = "", "start"
        elif state == "after" and char == quote:
            state, field = "quoted", field + quote
        elif state in ("after", "closed"):
            if char != " ":
                return None
            state = "closed"
        elif state == "start" and char == quote and quote:
            state, field = "quoted", ""  # spaces before the quote don't count
        else:
            if strict and char == quote:
                return None
            state = "start" if state == "start" and char == " " else "plain"
            field += char
    return fields
