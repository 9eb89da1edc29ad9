"""The inner half of the statement: from fields to typed values, keys, grid integers, conditions.

Each layer is a subquery with names of its own making (no name of the data is SQL): text ``t0..``,
typed values ``v0..`` with numbers ``n0..`` (numbered by input), then one row a record with group
keys ``g0..`` (for private ones also ``s0..``: whether there is a value), grid integers ``k0..``,
conditions ``w0..``, typed values ``d0..`` of other columns that are counted or scored, the unit
``u``, and ``f``: whether the record passes the filter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dprelease.engines.base import columns_derived, columns_read
from dprelease.engines.common.rounding import scale_of
from dprelease.engines.common.row_order import content_of
from dprelease.engines.duckdb import typed_values as values
from dprelease.engines.duckdb.group_keys import key_of, null_key
from dprelease.engines.duckdb.group_labels import binned
from dprelease.engines.duckdb.subqueries import layer, name
from dprelease.engines.duckdb.unit_text import text_of_unit
from dprelease.expressions import tree
from dprelease.expressions.sql import compile_sql
from dprelease.expressions.sqltext import (
    FALSE,
    NULL,
    Sql,
    binary,
    call,
    case,
    cast,
    double,
    is_null,
    no,
    number,
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
    values: Mapping[str, str] = field(default_factory=dict)
    filtered: bool = False  # whether there is an f
    unit: Sql = NULL  # the text of u, by which its rows are picked


def build_rows(request: AggregateRequest, fields: Fields) -> Rows:
    """The rows of the request over a table of fields."""
    places = {each.name: place for place, each in enumerate(request.inputs)}
    types = {each.name: each.type for each in request.inputs}
    inside = {key: name("v", place) for key, place in places.items()}
    query = _typed(columns_read(request.inputs), places, fields)
    for each in columns_derived(request.inputs):
        query = _derived(query, each, places, types)
    columns: dict[str, Sql] = {}
    for index, group in enumerate(request.groups):
        place = places[group.column]
        if group.edges is not None:
            query = binned(query, index, group, place)
            columns[f"g{index}"] = name("b", index)
        elif group.private:
            columns[f"g{index}"] = _private_key(group, place)
            # A key is null where its value is: to filter by that, no key need be made.
            columns[f"s{index}"] = no(is_null(name("v", place)))
        else:
            columns[f"g{index}"] = key_of(group, name("v", place))
    content = content_of(request)
    quantities = {quantity: f"k{index}" for index, quantity in enumerate(content.quantities)}
    read = {each.name for each in columns_read(request.inputs)}
    for quantity, key in quantities.items():
        raw = quantity.column in read and types[quantity.column] is not ColumnType.BOOLEAN
        columns[key] = grid_integer(name("r" if raw else "n", places[quantity.column]), quantity)
    conditions = {where: f"w{index}" for index, where in enumerate(content.conditions)}
    for where, key in conditions.items():
        columns[key] = compile_sql(tree(where.text, types), inside)
    counted = {column: f"d{index}" for index, column in enumerate(content.values)}
    for column, key in counted.items():
        columns[key] = values.one_zero(inside[column], types[column])
    unit_text = NULL
    if request.bound is not None:
        unit = request.bound.column
        columns["u"] = values.one_zero(inside[unit], types[unit])
        (known,) = (each for each in request.inputs if each.name == unit)
        unit_text = text_of_unit(known, fields.types.get(unit))
    if request.where is not None:
        condition = compile_sql(tree(request.where.text, types), inside)
        columns["f"] = call("COALESCE", condition, FALSE)
    keys = tuple(f"g{index}" for index in range(len(request.groups)))
    relation = layer(query, columns or {"nothing": number(0)}, keep=False)
    return Rows(
        relation, keys, quantities, conditions, counted, request.where is not None, unit_text
    )


def _private_key(group: Group, place: int) -> Sql:
    """The key of the typed value; a null has the key that is the null label, if one is.

    A function of the record alone, whatever else is in the table: see ``key_texts``.
    """
    value = key_of(group, values.one_zero(name("v", place), group.type))
    null = null_key(group)
    return value if null is None else call("COALESCE", value, null)


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
            kind = ColumnType.STRING if each.opaque else each.type
            column = values.field_text(column, fields.dialect, kind)
        raw[f"t{place}"] = column
        if each.opaque:
            typed[f"v{place}"] = values.value_of_opaque(text, physical or "VARCHAR")
            continue
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
        if each.type is ColumnType.BOOLEAN and not each.opaque
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
