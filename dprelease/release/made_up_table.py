"""A made-up table of a release: records that are drawn from what the spec declares, and no data.

Each column is filled for itself, from the texts and numbers that the spec names in public: keys,
bins, bounds, and what conditions compare it with. The same release and number of rows give the same
table: places are read from a hash of the column's name. It is no noise, and nothing private.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dprelease.expressions import parse_tree
from dprelease.kernel.core.engine_requests import list_all_inputs
from dprelease.model import Column, ColumnType, Expression, InputColumn, Release

if TYPE_CHECKING:
    from dprelease.expressions import Node

DISTRIBUTIONS = ("uniform", "skewed")
POINTS = 1000  # of a column with bounds, so many values occur at most, both ends among them
LABELS = 20  # of a text that the spec names no values of
LARGEST = 1 << 62  # numbers beyond are not tried
NULLS = 50  # one value in so many is a null
_BITS = 31
_TYPES: Mapping[ColumnType, Any] = {
    ColumnType.INTEGER: pa.int64(),
    ColumnType.FLOAT: pa.float64(),
    ColumnType.DECIMAL: pa.float64(),
    ColumnType.STRING: pa.string(),
    ColumnType.BOOLEAN: pa.bool_(),
    ColumnType.DATE: pa.date32(),
    ColumnType.TIMESTAMP: pa.timestamp("us"),
}
_NUMBERS = (ColumnType.INTEGER, ColumnType.FLOAT, ColumnType.DECIMAL)
_FIRST_DAY = date(2020, 7, 1).toordinal()
HALF_A_YEAR = 182


def make_up_table(release: Release, rows: int, distribution: str) -> pa.Table:
    """Make up a table with every column that the release reads.

    Args:
        release: The checked spec; the data is not opened.
        rows: Number of records.
        distribution: One of ``DISTRIBUTIONS``; "skewed" prefers the first keys and lowest values.

    Returns:
        A table of the declared types; the same arguments give the same table.
    """
    unit = release.privacy.unit_column
    constants = _collect_constants(release)
    columns = {}
    for column in list_all_inputs(release):
        if column.expression is not None:
            continue
        declared = release.columns.get(column.name)
        if column.name == unit and (declared is None or declared.keys is None):
            columns[column.name] = _draw_units(release, column, rows)
            continue
        values = _list_domain(column, declared, constants.get(column.name, ()))
        places = _draw_places(column.name, len(values), rows, distribution)
        columns[column.name] = values.take(places)
    return pa.table(columns)


def _list_domain(
    column: InputColumn, declared: Column | None, constants: Iterable[object]
) -> pa.Array:
    """List the values that a column may take, in order."""
    kind = _TYPES[column.type]
    if declared is not None and declared.keys is not None:
        return pa.array(declared.keys).cast(kind)
    if column.type is ColumnType.BOOLEAN:  # which has bounds
        return pa.array([False, True])
    if declared is not None and declared.grid is not None:
        grid = declared.grid
        parts = min(grid.width, POINTS - 1)
        steps = {grid.lower + grid.width * part // parts for part in range(parts + 1)}
        return _build_numbers((step * grid.step for step in sorted(steps)), column.type)
    if declared is not None and declared.edges is not None:
        if column.type not in _NUMBERS:
            return pa.array(declared.edges[:-1]).cast(kind)
        # ten values of each bin, its lower edge among them
        bins = pairwise(Fraction(edge) for edge in declared.edges)
        return _build_numbers(
            (low + (high - low) * part / 10 for low, high in bins for part in range(10)),
            column.type,
        )
    return _make_unbounded(column, [value for value in constants if value is not None])


def _make_unbounded(column: InputColumn, constants: Sequence[object]) -> pa.Array:
    """Make up values of a column without a domain, from the constants beside it and more."""
    kind = _TYPES[column.type]
    match column.type:
        case ColumnType.STRING:
            texts = [str(value) for value in constants]
            return pa.array([*texts, *(f"group {number + 1}" for number in range(LABELS))])
        case ColumnType.DATE | ColumnType.TIMESTAMP:
            days = [value.toordinal() for value in constants if isinstance(value, date)]
            first = max(min(days, default=_FIRST_DAY) - HALF_A_YEAR, date.min.toordinal())
            last = min(max(days, default=_FIRST_DAY) + HALF_A_YEAR, date.max.toordinal())
            dates = [date.fromordinal(day) for day in range(first, last + 1)]
            return pa.array(dates, pa.date32()).cast(kind)
        case _:
            numbers = (value for value in constants if isinstance(value, int | float))
            fractions = [Fraction(value) for value in numbers if abs(value) < LARGEST]
            around = {value + offset for value in fractions for offset in (-1, 0, 1)}
            return _build_numbers(
                sorted({Fraction(number) for number in range(101)} | around), column.type
            )


def _build_numbers(values: Iterable[Fraction], kind: ColumnType) -> pa.Array:
    whole = kind is ColumnType.INTEGER
    numbers = [int(value) if whole else value.numerator / value.denominator for value in values]
    return pa.array(numbers, _TYPES[kind])


def _draw_places(column: str, values: int, rows: int, distribution: str) -> pa.Array:
    """Choose a value's place for each row; null where the value is missing."""
    chances = even = _hash_rows(column, rows)
    if distribution == "skewed":  # the third power
        chances = (even * even >> _BITS) * even >> _BITS
    nulls = _hash_rows(f"nulls of {column}", rows) % NULLS == 0
    return pa.array(chances * values >> _BITS, mask=nulls)


def _draw_units(release: Release, column: InputColumn, rows: int) -> pa.Array:
    """Choose a unit for each row, with no more rows for one unit than the bound."""
    bounding = release.privacy.bounding
    row_limit = 1 if bounding is None else bounding.rows
    sizes = 1 + _hash_rows(column.name, rows) % row_limit
    numbers = np.repeat(np.arange(rows), sizes)[:rows]
    if column.type in _NUMBERS:
        return pa.array(numbers).cast(_TYPES[column.type])
    if column.type is ColumnType.STRING:
        return pa.array([f"unit {number + 1}" for number in numbers.tolist()])
    values = _make_unbounded(column, ())
    return values.take(pa.array(numbers % len(values)))


def _hash_rows(name: str, rows: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Compute a number of 31 bits for each row."""
    # Products of two such numbers fit in 64 bits.
    stream = hashlib.shake_256(name.encode()).digest(4 * rows)
    return np.frombuffer(stream, dtype="<u4").astype(np.int64) >> 1


def _collect_constants(release: Release) -> dict[str, tuple[object, ...]]:
    """Collect the constants that stand beside each column in expressions."""
    types = {column.name: column.type for column in list_all_inputs(release)}
    found_constants: dict[str, dict[object, None]] = {}
    for expression, names in _iter_expressions(release):
        waiting = [parse_tree(expression.text, types | names)]
        while waiting:
            node = waiting.pop()
            waiting.extend(node.args)
            constants = [inner.value for inner in node.args if inner.op == "literal"]
            for column in filter(None, map(_find_column, node.args)):
                found_constants.setdefault(column, {}).update(dict.fromkeys(constants))
    return {name: tuple(constants) for name, constants in found_constants.items()}


def _find_column(node: Node) -> str | None:
    """Name the column that a node is, widened or in other letters; None for other nodes."""
    # LOWER and its like leave a constant that is written so as it is.
    while node.op in ("to_float", "to_timestamp", "lower", "upper", "trim"):
        node = node.args[0]
    return str(node.value) if node.op == "column" else None


def _iter_expressions(release: Release) -> Iterator[tuple[Expression, dict[str, ColumnType]]]:
    """Iterate over all expressions over records, with types of names that are no columns."""
    for column in release.columns.values():
        if column.expression is not None and column.expression.state_of is None:
            yield column.expression, {}
    for query in release.queries:
        parts = [query.numerator, query.denominator]
        for where in (query.where, *(part.where for part in parts if part is not None)):
            if where is not None:
                yield where, {}
        if query.candidates is not None:
            yield query.candidates.score, {"candidate": query.candidates.type}
