"""The oracle: the same answers in plain loops, written to be read, not to be fast.

It shares nothing with the fast path but the definition of text in ``values`` and the header.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from dprelease.engines.base import columns_derived, columns_read, lost
from dprelease.engines.files import BOM, LINE_LIMIT, Layout, lay_out
from dprelease.engines.grids import scale_of
from dprelease.engines.reference_parquet import check_parquet, parquet_records
from dprelease.engines.values import EXACT, parse_number, parse_value
from dprelease.errors import Failure
from dprelease.expressions import tree
from dprelease.expressions.evaluate import evaluate
from dprelease.expressions.nodes import Value
from dprelease.model import (
    NUMERIC_TYPES,
    AggregateRequest,
    ColumnType,
    Dialect,
    ExactTable,
    Group,
    InputColumn,
    MeasureKind,
    Quantity,
    Source,
)

# A record: the typed value of each input column, and the number of each numeric one.
Record = tuple[dict[str, Value], dict[str, float | None]]


class Reference:
    """See ``Engine``."""

    name = "reference"

    def inspect(self, source: Source, inputs: Sequence[InputColumn]) -> None:
        """Check names and types against headers and footers; raises Failure(DATA)."""
        if source.format == "csv":
            lay_out(source, inputs)
        else:
            check_parquet(source, inputs)

    def aggregate(self, request: AggregateRequest) -> ExactTable:
        """The exact integers of every cell; raises Failure(AFTER_CHARGE)."""
        try:
            return ExactTable(_aggregate(request))
        except (OSError, Failure):
            raise lost() from None


ENGINE = Reference()


def _aggregate(request: AggregateRequest) -> list[list[int]]:
    table = [[0] * request.cells for _ in request.measures]
    types = {each.name: each.type for each in request.inputs}
    wheres = {m.where: tree(m.where.text, types) for m in request.measures if m.where is not None}
    labellers = [_labeller(group) for group in request.groups]
    for values, numbers in _records(request):
        cell: int | None = 0
        for group, label in zip(request.groups, labellers, strict=True):
            place = label(values, numbers)
            cell = None if cell is None or place is None else cell * len(group.labels) + place
        if cell is None:
            continue
        for measure, column in zip(request.measures, table, strict=True):
            if measure.where is not None and evaluate(wheres[measure.where], values) is not True:
                continue
            k = 1 if measure.quantity is None else grid_integer(measure.quantity, numbers)
            if k is not None:
                column[cell] += k if measure.kind is MeasureKind.SUM else 1
    return table


def grid_integer(quantity: Quantity, numbers: Mapping[str, float | None]) -> int | None:
    """``clamp(rint(x / step))`` of the quantity's column, or its null fill."""
    x = numbers[quantity.column]
    if x is None:
        return quantity.null_fill
    times, over = scale_of(quantity.grid)
    scaled = x * times / over
    if math.isinf(scaled):
        return quantity.grid.upper if scaled > 0 else quantity.grid.lower
    return max(quantity.grid.lower, min(quantity.grid.upper, round(scaled)))


Labeller = Callable[[Mapping[str, Value], Mapping[str, float | None]], int | None]


def _labeller(group: Group) -> Labeller:
    """A function from a record to the position of its label in the group, or None."""
    null = None if group.null_label is None else group.labels.index(group.null_label)
    other = None if group.other is None else group.labels.index(group.other)
    if group.edges is not None:
        find = _bin_finder(group, [_as_edge(edge, group.type) for edge in group.edges])
    else:
        places: dict[Value, int] = {}
        for place, key in enumerate(group.keys or ()):
            places.setdefault(parse_value(key, group.type), place)
        find = places.get

    def label(values: Mapping[str, Value], numbers: Mapping[str, float | None]) -> int | None:
        by_number = group.edges is not None and group.type in NUMERIC_TYPES
        value = numbers[group.column] if by_number else values[group.column]
        if value is None:
            return null
        place = find(value)
        return other if place is None else place

    return label


def _as_edge(text: str, kind: ColumnType) -> Value:
    return parse_number(text) if kind in NUMERIC_TYPES else parse_value(text, kind)


def _bin_finder(group: Group, edges: Sequence[Value]) -> Callable[[Value], int | None]:
    def find(value: Value) -> int | None:
        last = len(edges) - 2
        for place in range(last + 1):
            low, high = edges[place], edges[place + 1]
            if low <= value and (value < high or (place == last and value == high)):  # type: ignore[operator]
                return place
        return None

    return find


# --- records -------------------------------------------------------------------------------------


def _records(request: AggregateRequest) -> Iterator[Record]:
    read = columns_read(request.inputs)
    types = {each.name: each.type for each in request.inputs}
    derived = [
        (each, tree(each.expression.text if each.expression else "NULL", types))
        for each in columns_derived(request.inputs)
    ]
    source = request.source
    raw = _csv_records(source, read) if source.format == "csv" else parquet_records(source, read)
    for values, numbers in raw:
        for column, node in derived:
            result = evaluate(node, values)
            values[column.name], numbers[column.name] = declared(result, column.type)
        yield values, numbers


def declared(result: Value, kind: ColumnType) -> tuple[Value, float | None]:
    """A computed value as a value of the declared type, and its number."""
    if result is None:
        return None, None
    if kind not in NUMERIC_TYPES:
        return parse_value(str(result), kind) if kind is ColumnType.TIMESTAMP else result, None
    number = float(result)  # type: ignore[arg-type]
    if kind is ColumnType.INTEGER and isinstance(result, float):
        return (int(result) if result.is_integer() and abs(result) < EXACT else None), number
    if kind is ColumnType.INTEGER:
        return int(result), number  # type: ignore[arg-type]
    return (result if kind is ColumnType.BOOLEAN else number), number


def _csv_records(source: Source, read: Sequence[InputColumn]) -> Iterator[Record]:
    layout = lay_out(source, read)
    dialect = source.dialect
    for path in layout.paths:
        for fields in _file_records(path, layout, dialect):
            texts = {each.name: fields[layout.position[each.name]] for each in read}
            yield text_record(texts, read, dialect)


def text_record(
    texts: Mapping[str, str | None], read: Sequence[InputColumn], dialect: Dialect
) -> Record:
    """The typed record of fields of text."""
    values: dict[str, Value] = {}
    numbers: dict[str, float | None] = {}
    for each in read:
        text = texts[each.name]
        if text is not None and dialect.strip:
            text = text.strip(" \t")
        if text in dialect.null_values:
            text = None
        value = parse_value(text, each.type)
        values[each.name] = value
        if each.type is ColumnType.BOOLEAN:
            numbers[each.name] = None if value is None else float(value is True)
        elif each.type in NUMERIC_TYPES:
            numbers[each.name] = None if text is None else parse_number(text)
    return values, numbers


def _file_records(path: str, layout: Layout, dialect: Dialect) -> Iterator[list[str | None]]:
    with open(path, "rb") as stream:
        lines = stream.read().removeprefix(BOM).split(b"\n")
    if not lines[-1]:
        lines.pop()
    for line in lines[1:] if dialect.header else lines:
        text = line.removesuffix(b"\r").decode(layout.encoding, "replace")
        if not text and layout.width > 1:
            continue
        fields = read_fields(text, dialect.delimiter, dialect.quote)
        whole = fields is not None and len(fields) == layout.width and len(line) <= LINE_LIMIT
        yield list(fields) if fields is not None and whole else [None] * layout.width


def read_fields(line: str, delimiter: str, quote: str) -> list[str] | None:
    """The fields of a line, one character after the other; None if it is malformed."""
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
            state = "start" if state == "start" and char == " " else "plain"
            field += char
    return fields
