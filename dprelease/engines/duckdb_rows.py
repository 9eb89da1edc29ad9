"""The inner half of the statement: from fields to typed values, keys, grid integers, conditions.

Each layer is a subquery with names of its own making (no name of the data is SQL): text ``t0..``,
typed values ``v0..`` with numbers ``n0..`` (numbered by input), then one row a record with group
keys ``g0..``, grid integers ``k0..`` and conditions ``w0..``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dprelease.engines import duckdb_values as values
from dprelease.engines.base import columns_derived, columns_read
from dprelease.engines.grids import scale_of
from dprelease.expressions import tree
from dprelease.expressions.sql import compile_sql
from dprelease.expressions.sqltext import (
    NULL,
    STAR,
    Sql,
    alias,
    between,
    binary,
    call,
    case,
    cast,
    double,
    identifier,
    is_null,
    join,
    no,
    number,
    replaced,
    select,
    subquery,
)
from dprelease.model import (
    NUMERIC_TYPES,
    AggregateRequest,
    ColumnType,
    Dialect,
    Expression,
    Group,
    InputColumn,
    Quantity,
)


@dataclass(frozen=True, slots=True)
class Fields:
    """A table of raw columns: what to select from, the SQL of each column, and its DuckDB type.

    Columns without a type are texts of a CSV file in the ``dialect``.
    """

    relation: Sql
    columns: Mapping[str, Sql]
    types: Mapping[str, str]
    dialect: Dialect = field(default_factory=Dialect)


@dataclass(frozen=True, slots=True)
class Rows:
    """One row a record, and which column of it stands for what."""

    relation: Sql
    groups: tuple[str, ...]
    quantities: Mapping[Quantity, str]
    conditions: Mapping[Expression, str]


def name(letter: str, index: int) -> Sql:
    """The column ``<letter><index>``."""
    return identifier(f"{letter}{index}")


def layer(inner: Sql, columns: Mapping[str, Sql], keep: bool = True) -> Sql:
    """``(SELECT *, expression AS name ... FROM inner)``; without ``keep`` only the new columns."""
    new = [alias(value, key) for key, value in columns.items()]
    return subquery(select([STAR, *new] if keep else new, inner), "inside")


def build_rows(request: AggregateRequest, fields: Fields) -> Rows:
    """The rows of the request over a table of fields."""
    places = {each.name: place for place, each in enumerate(request.inputs)}
    types = {each.name: each.type for each in request.inputs}
    query = _typed(columns_read(request.inputs), places, fields)
    for each in columns_derived(request.inputs):
        query = _derived(query, each, places, types)
    columns: dict[str, Sql] = {}
    for index, group in enumerate(request.groups):
        place = places[group.column]
        if group.edges is None:
            columns[f"g{index}"] = name("v", place)
        else:
            query = _binned(query, index, group, place)
            columns[f"g{index}"] = name("b", index)
    wanted = dict.fromkeys(m.quantity for m in request.measures if m.quantity is not None)
    quantities = {quantity: f"k{index}" for index, quantity in enumerate(wanted)}
    read = {each.name for each in columns_read(request.inputs)}
    for quantity, key in quantities.items():
        raw = quantity.column in read and types[quantity.column] is not ColumnType.BOOLEAN
        columns[key] = grid_integer(name("r" if raw else "n", places[quantity.column]), quantity)
    filters = dict.fromkeys(m.where for m in request.measures if m.where is not None)
    conditions = {where: f"w{index}" for index, where in enumerate(filters)}
    inside = {key: name("v", place) for key, place in places.items()}
    for where, key in conditions.items():
        columns[key] = compile_sql(tree(where.text, types), inside)
    keys = tuple(f"g{index}" for index in range(len(request.groups)))
    columns = columns or {"nothing": number(0)}
    return Rows(layer(query, columns, keep=False), keys, quantities, conditions)


def _typed(read: Sequence[InputColumn], places: Mapping[str, int], fields: Fields) -> Sql:
    """Typed values ``v`` and numbers ``n`` of the columns that the file holds."""
    raw: dict[str, Sql] = {}
    numbers: dict[str, Sql] = {}
    typed: dict[str, Sql] = {}
    for each in read:
        place = places[each.name]
        column, text = fields.columns[each.name], name("t", place)
        physical = fields.types.get(each.name)
        if physical is None:
            column = values.field_text(column, fields.dialect, each.type)
        raw[f"t{place}"] = column
        as_number = None
        if each.type in NUMERIC_TYPES and each.type is not ColumnType.BOOLEAN:
            made = values.number_of_typed if physical else values.number_of_text
            numbers[f"n{place}"] = made(text)
            as_number = name("n", place)
            # the raw number may be NaN; what is put on a grid sorts that out by itself
            as_double = values.double_of_typed if physical else values.double_of_text
            numbers[f"r{place}"] = as_double(text)
        if physical is None:
            typed[f"v{place}"] = values.value_of_text(text, each.type, as_number)
        else:
            typed[f"v{place}"] = values.value_of_typed(text, each.type, physical)
    query = layer(fields.relation, raw or {"nothing": number(0)}, keep=False)
    query = layer(layer(query, numbers), typed)
    truths = {
        f"n{places[each.name]}": cast(name("v", places[each.name]), "DOUBLE")
        for each in read
        if each.type is ColumnType.BOOLEAN
    }
    return layer(query, truths) if truths else query


def _derived(
    query: Sql,
    column: InputColumn,
    places: Mapping[str, int],
    types: Mapping[str, ColumnType],
) -> Sql:
    """Add the typed value and the number of a computed column."""
    place = places[column.name]
    node = tree(column.expression.text if column.expression else "NULL", types)
    inside = {key: name("v", index) for key, index in places.items()}
    made = layer(query, {f"d{place}": compile_sql(node, inside)})
    result = name("d", place)
    if column.type not in NUMERIC_TYPES:
        return layer(made, {f"v{place}": values.value_of_typed(result, column.type, "")})
    made = layer(made, {f"n{place}": values.number_of_typed(result)})
    physical = "DOUBLE" if node.type is ColumnType.FLOAT else ""
    return layer(made, {f"v{place}": values.value_of_typed(result, column.type, physical)})


def _binned(query: Sql, index: int, group: Group, place: int) -> Sql:
    """Add ``b``: the label's position of the bin, ``other`` or null label that a value takes.

    Binary search by halving steps over the list of lower edges, which ``edges<index>`` holds.
    """
    letter = "n" if group.type in NUMERIC_TYPES else "v"
    value, bins = name(letter, place), len(group.edges or ()) - 1
    query = layer(join(query, "CROSS JOIN", identifier(f"edges{index}")), {})
    query = layer(query, {f"b{index}": number(0)})
    edges, found = name("e", index), name("b", index)
    step = 1 << max(bins - 1, 0).bit_length()
    while step := step // 2:
        ahead = binary(found, "+", number(step))
        edge = call("LIST_EXTRACT", edges, binary(ahead, "+", number(1)))
        further = binary(binary(ahead, "<", number(bins)), "AND", binary(value, ">=", edge))
        query = _replace(query, f"b{index}", case([(further, ahead)], found))
    first = call("LIST_EXTRACT", edges, number(1))
    last = call("LIST_EXTRACT", edges, number(bins + 1))
    pairs = [(is_null(value), null_label(group)), (between(value, first, last), found)]
    return _replace(query, f"b{index}", case(pairs, other_label(group)))


def _replace(query: Sql, key: str, value: Sql) -> Sql:
    """The same rows with column ``key`` computed anew."""
    return subquery(select([replaced(value, key)], query), "inside")


def null_label(group: Group) -> Sql:
    """Position of the label that nulls take, or NULL."""
    label = group.null_label
    return NULL if label is None else number(group.labels.index(label))


def other_label(group: Group) -> Sql:
    """Position of the label that undeclared values take, or NULL."""
    return NULL if group.other is None else number(group.labels.index(group.other))


def grid_integer(value: Sql, quantity: Quantity) -> Sql:
    """``clamp(rint(x / step))``, as rint of the clamp: the same, since the bounds are integers.

    Casting a DOUBLE to BIGINT rounds half to even, and the bounds are exact in a DOUBLE. NaN,
    which DuckDB sorts above everything, and null take what nulls take.
    """
    grid = quantity.grid
    times, over = scale_of(grid)
    if times != 1.0:
        value = binary(value, "*", double(times))
    if over != 1.0:
        value = binary(value, "/", double(over))
    low, high = double(float(grid.lower)), double(float(grid.upper))
    inside = binary(binary(value, ">=", low), "AND", binary(value, "<=", high))
    above = binary(binary(value, ">", high), "AND", no(call("ISNAN", value)))
    pairs = [
        (inside, cast(value, "BIGINT")),
        (binary(value, "<", low), number(grid.lower)),
        (above, number(grid.upper)),
    ]
    return case(pairs, NULL if quantity.null_fill is None else number(quantity.null_fill))
