"""The inner half of the statement: from fields to typed values, keys, grid integers, conditions.

Each layer is a subquery with names of its own making (no name of the data is SQL): text ``t0..``,
typed values ``v0..`` with numbers ``n0..`` (numbered by input), then one row a record with group
keys ``g0..``, grid integers ``k0..`` and conditions ``w0..``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from dprelease.engines import duckdb_values as values
from dprelease.engines.base import columns_derived, columns_read
from dprelease.engines.grids import scale_of
from dprelease.expressions import tree
from dprelease.expressions.sql import call, cast, compile_sql, double, number, paren
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

    relation: exp.Expr
    columns: Mapping[str, exp.Expr]
    types: Mapping[str, str]
    dialect: Dialect = field(default_factory=Dialect)


@dataclass(frozen=True, slots=True)
class Rows:
    """One row a record, and which column of it stands for what."""

    query: exp.Select
    groups: tuple[str, ...]
    quantities: Mapping[Quantity, str]
    conditions: Mapping[Expression, str]


def name(letter: str, index: int) -> exp.Expr:
    """The column ``<letter><index>``."""
    return exp.column(f"{letter}{index}")


def layer(inner: exp.Expr, columns: Mapping[str, exp.Expr], keep: bool = True) -> exp.Select:
    """``SELECT *, expression AS name ... FROM (inner)``; without ``keep`` only the new columns."""
    source = inner.subquery("inside") if isinstance(inner, exp.Select) else inner
    new: list[exp.Expr] = [exp.alias_(value, key) for key, value in columns.items()]
    return exp.select(*([exp.Star(), *new] if keep else new)).from_(source)


def build_rows(request: AggregateRequest, fields: Fields) -> Rows:
    """The rows of the request over a table of fields."""
    places = {each.name: place for place, each in enumerate(request.inputs)}
    types = {each.name: each.type for each in request.inputs}
    query = _typed(columns_read(request.inputs), places, fields)
    for each in columns_derived(request.inputs):
        query = _derived(query, each, places, types)
    columns: dict[str, exp.Expr] = {}
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


def _typed(read: Sequence[InputColumn], places: Mapping[str, int], fields: Fields) -> exp.Select:
    """Typed values ``v`` and numbers ``n`` of the columns that the file holds."""
    raw: dict[str, exp.Expr] = {}
    numbers: dict[str, exp.Expr] = {}
    typed: dict[str, exp.Expr] = {}
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
    query: exp.Select,
    column: InputColumn,
    places: Mapping[str, int],
    types: Mapping[str, ColumnType],
) -> exp.Select:
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


def _binned(query: exp.Select, index: int, group: Group, place: int) -> exp.Select:
    """Add ``b``: the label's position of the bin, ``other`` or null label that a value takes.

    Binary search by halving steps over the list of lower edges, which ``edges<index>`` holds.
    """
    letter = "n" if group.type in NUMERIC_TYPES else "v"
    value, bins = name(letter, place), len(group.edges or ()) - 1
    query = (
        exp.select(exp.Star())
        .from_(query.subquery("inside"))
        .join(exp.to_table(f"edges{index}"), join_type="cross")
    )
    query = layer(query, {f"b{index}": number(0)})
    edges, found = exp.column(f"e{index}"), name("b", index)
    step = 1 << max(bins - 1, 0).bit_length()
    while step := step // 2:
        ahead = paren(exp.Add(this=found.copy(), expression=number(step)))
        edge = call("LIST_EXTRACT", edges.copy(), exp.Add(this=ahead, expression=number(1)))
        inside = exp.And(
            this=exp.LT(this=ahead.copy(), expression=number(bins)),
            expression=exp.GTE(this=value.copy(), expression=edge),
        )
        moved = exp.Case(ifs=[exp.If(this=inside, true=ahead.copy())], default=found.copy())
        query = _replace(query, f"b{index}", moved)
    first = call("LIST_EXTRACT", edges.copy(), number(1))
    last = call("LIST_EXTRACT", edges.copy(), number(bins + 1))
    within = exp.Between(this=value.copy(), low=first, high=last)
    labelled = exp.Case(
        ifs=[
            exp.If(this=exp.Is(this=value.copy(), expression=exp.Null()), true=null_label(group)),
            exp.If(this=within, true=found.copy()),
        ],
        default=other_label(group),
    )
    return _replace(query, f"b{index}", labelled)


def _replace(query: exp.Select, key: str, value: exp.Expr) -> exp.Select:
    """The same rows with column ``key`` computed anew."""
    star = exp.Star(replace=[exp.alias_(value, key)])
    return exp.select(star).from_(query.subquery("inside"))


def null_label(group: Group) -> exp.Expr:
    """Position of the label that nulls take, or NULL."""
    label = group.null_label
    return exp.Null() if label is None else number(group.labels.index(label))


def other_label(group: Group) -> exp.Expr:
    """Position of the label that undeclared values take, or NULL."""
    return exp.Null() if group.other is None else number(group.labels.index(group.other))


def grid_integer(value: exp.Expr, quantity: Quantity) -> exp.Expr:
    """``clamp(rint(x / step))``, as rint of the clamp: the same, since the bounds are integers.

    Casting a DOUBLE to BIGINT rounds half to even, and the bounds are exact in a DOUBLE. NaN,
    which DuckDB sorts above everything, and null take what nulls take.
    """
    grid = quantity.grid
    times, over = scale_of(grid)
    if times != 1.0:
        value = paren(exp.Mul(this=value, expression=double(times)))
    if over != 1.0:
        value = paren(exp.Div(this=value, expression=double(over)))
    low, high = double(float(grid.lower)), double(float(grid.upper))
    inside = exp.And(
        this=exp.GTE(this=value.copy(), expression=low),
        expression=exp.LTE(this=value.copy(), expression=high),
    )
    above = exp.And(
        this=exp.GT(this=value.copy(), expression=high.copy()),
        expression=exp.Not(this=call("ISNAN", value.copy())),
    )
    below = exp.LT(this=value.copy(), expression=low.copy())
    ifs = [
        exp.If(this=inside, true=cast(value, "BIGINT")),
        exp.If(this=below, true=number(grid.lower)),
        exp.If(this=above, true=number(grid.upper)),
    ]
    fill = exp.Null() if quantity.null_fill is None else number(quantity.null_fill)
    return exp.Case(ifs=ifs, default=fill)
