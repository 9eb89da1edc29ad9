"""Typed rows in SQL: from raw fields to typed values, keys, grid integers and conditions.

A text is typed as ``text_values`` says; a stored value keeps the meaning of its column's type. A
numeric column also has a number: a DOUBLE that is never NaN. The text of a unit selects the sample
of its rows: equal values have equal texts, different values of one type different ones. It writes
integers in decimal, booleans as ``true`` and ``false``, doubles as their 64 bits, dates as days and
timestamps as microseconds since 1970, bytes as hexadecimal digits, and texts unchanged.

Each step is a subquery whose columns have generated names, so no name of the data becomes SQL.
Numbered by input:

* ``x0..``: text in normal form, before null texts are replaced;
* ``t0..``: raw value, a text or the value of a typed column; null if it is missing;
* ``p0..``: text in the default form, where the spec declares another form;
* ``z0..``: whether the field is null, for columns whose state is computed;
* ``n0..``: number; ``r0..``: the same, but it may be NaN;
* ``v0..``: typed value.

Then there is one row for each record:

* ``g0..``: group keys; ``s0..``: whether a private group has a value;
* ``k0..``: grid integers; ``w0..``: conditions;
* ``d0..``: typed values of other columns that are counted or scored;
* ``u``: the unit; ``f``: whether the record passes the filter.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct, field

from dprelease.engines.duckdb.group_keys import add_bin, build_constant, compute_key, find_null_key
from dprelease.engines.duckdb.written_forms import is_default, write_default_form
from dprelease.expressions import parse_tree
from dprelease.expressions.nodes import BLANKS
from dprelease.expressions.normal_form import normalize, normalize_text
from dprelease.expressions.sql import compile_sql
from dprelease.expressions.sqltext import NULL, Sql, call, case, col, is_in, literal
from dprelease.expressions.typed_texts import (
    SQL_TYPES,
    case_when,
    cast_double_to_integer,
    cast_number_to_boolean,
    convert_text,
    convert_text_to_double,
    convert_text_to_integer,
    convert_text_to_number,
    limit_to_calendar,
    read_wall_clock,
    trim_blanks,
)
from dprelease.model import (
    NUMERIC_TYPES,
    AggregateRequest,
    Column,
    ColumnType,
    Dialect,
    Expression,
    Group,
    InputColumn,
    Quantity,
)
from dprelease.sources.shared.data_failures import list_derived_columns, list_read_columns
from dprelease.sources.shared.record_stream import Fields
from dprelease.sources.shared.request_content import collect_content, compute_scale
from dprelease.sources.shared.text_values import parse_number, parse_value


def read_field_text(
    field: Sql, dialect: Dialect, declared: InputColumn, *, exact: bool = False
) -> Sql:
    """Read the text of a field; null if it is missing or holds a declared null text.

    A null text that is no value of the type becomes null anyway: it is compared only if ``exact``.
    """
    return _replace_null_texts(
        _strip_text(field, dialect, declared, exact=exact), dialect, declared, exact
    )


def _strip_text(field: Sql, dialect: Dialect, declared: InputColumn, *, exact: bool) -> Sql:
    """Strip the text of a field as the dialect says; normalize it where texts are compared."""
    value = call("TRIM", field, " \t") if dialect.strip else field
    return normalize_text(value) if exact or is_text(declared) else value


def _replace_null_texts(value: Sql, dialect: Dialect, declared: InputColumn, exact: bool) -> Sql:
    """Replace declared null texts by null."""
    nulls = [
        normalize(null)
        for null in dialect.null_values
        if exact or _is_meaningful(null, dialect, declared)
    ]
    if not nulls:
        return value
    if is_text(declared):
        return case_when(~is_in(value, nulls), value)
    return case_when(~is_in(trim_blanks(value), [null.strip(BLANKS) for null in nulls]), value)


def is_text(declared: InputColumn) -> bool:
    """Tell if the value of the column is the text of its field."""
    return declared.opaque or declared.type is ColumnType.STRING


def _is_meaningful(null: str, dialect: Dialect, declared: InputColumn) -> bool:
    """Tell if a null text would otherwise be read as a value: if not, it is null anyway."""
    kind = declared.type
    if is_text(declared) or not is_default(declared, dialect):
        return True
    if kind in NUMERIC_TYPES and parse_number(null) is not None:
        return True
    return parse_value(null, kind) is not None


def convert_typed_to_double(value: Sql) -> Sql:
    """Convert a typed number or boolean to a DOUBLE; null for NaN."""
    number = value.cast("DOUBLE")
    return case_when(~call("ISNAN", number), number)


def convert_typed_to_bigint(value: Sql, physical: str) -> Sql:
    """Convert a number to a BIGINT of exactly the same value; null if there is none."""
    if physical in ("FLOAT", "DOUBLE"):
        return cast_double_to_integer(convert_typed_to_double(value))
    if physical.startswith("DECIMAL"):
        return convert_text_to_integer(value.cast("VARCHAR"), convert_typed_to_double(value))
    return value.try_cast("BIGINT")


def convert_typed(value: Sql, kind: ColumnType, physical: str, zone: str | None = None) -> Sql:
    """Convert a value of the given DuckDB type to the declared type."""
    if physical == "TIMESTAMPTZ":
        return read_wall_clock(value, zone).cast(SQL_TYPES[kind])
    if kind is ColumnType.INTEGER:
        return convert_typed_to_bigint(value, physical)
    if kind in (ColumnType.FLOAT, ColumnType.DECIMAL):
        return convert_typed_to_double(value)
    if kind is ColumnType.BOOLEAN and physical not in ("", "BOOLEAN"):
        return cast_number_to_boolean(value.cast("DOUBLE"))
    # A timestamp in milliseconds may lie beyond those in microseconds: it becomes null.
    result = value.try_cast(SQL_TYPES[kind])
    return (
        limit_to_calendar(result, kind)
        if kind in (ColumnType.DATE, ColumnType.TIMESTAMP)
        else result
    )


def convert_opaque(value: Sql, physical: str) -> Sql:
    """Convert an opaque value to one that equals another only if their texts are equal.

    Floats become the text of their bits, and every NaN ``nan``: 0.0 and -0.0 are equal but have
    different texts, and a NaN may have a sign. Other values are returned unchanged.
    """
    if physical not in ("FLOAT", "DOUBLE"):
        return value
    return case([(call("ISNAN", value), "nan")], format_bits(value))


def unify_zeros(value: Sql, kind: ColumnType) -> Sql:
    """Replace -0.0 by 0.0."""
    if kind not in (ColumnType.FLOAT, ColumnType.DECIMAL):
        return value
    return case([(value.equals(0.0), 0.0)], value)


def format_unit(column: InputColumn, physical: str | None) -> Sql:
    """Write the text of the unit in column ``u``; ``physical`` is the DuckDB type of an opaque one.

    Opaque bytes are written as hexadecimal digits, other opaque values as DuckDB writes them.
    """
    unit = col("u")
    if column.opaque:
        return call("HEX", unit) if physical == "BLOB" else unit.cast("VARCHAR")
    if column.type in (ColumnType.FLOAT, ColumnType.DECIMAL):
        return format_bits(unit)
    if column.type is ColumnType.TIMESTAMP:
        return call("EPOCH_US", unit).cast("VARCHAR")
    if column.type is ColumnType.DATE:
        unit = unit - literal("1970-01-01").cast("DATE")
    return unit.cast("VARCHAR")


def format_bits(value: Sql) -> Sql:
    """Write the 64 bits of a number, as a DOUBLE, as a text."""
    return value.cast("DOUBLE").cast("BIT").cast("VARCHAR")


class Rows(Struct, frozen=True):
    """A relation with one row for each record, and the names of its columns."""

    relation: Sql
    groups: tuple[str, ...]
    quantities: Mapping[Quantity, str]
    conditions: Mapping[Expression, str]
    values: Mapping[str, str] = field(default_factory=dict)
    filtered: bool = False  # whether there is a column f
    unit: Sql = NULL  # the text of u, which selects the sample of its rows


def build_rows(request: AggregateRequest, fields: Fields) -> Rows:
    """Build the rows of the request over a table of fields."""
    places = {column.name: place for place, column in enumerate(request.inputs)}
    types = {column.name: column.type for column in request.inputs}
    inside = {key: col(f"v{place}") for key, place in places.items()}
    derived_columns = list_derived_columns(request.inputs)
    bases = (column.expression and column.expression.state_of for column in derived_columns)
    checked = {base.name for base in bases if base}
    query = _convert_columns(list_read_columns(request.inputs), places, fields, checked)
    for derived in derived_columns:
        query = _add_derived_column(query, derived, places, types)
    columns: dict[str, Sql] = {}
    for index, group in enumerate(request.groups):
        place = places[group.column]
        if group.edges is not None:
            query = add_bin(query, index, group, place)
            columns[f"g{index}"] = col(f"b{index}")
        elif group.column in fields.as_they_stand:
            columns[f"g{index}"] = col(f"t{place}")
        elif group.private:
            columns[f"g{index}"] = _compute_private_key(group, place)
            # A key is null where its value is, unless there is a null label: a filter tests the
            # value, so that no key is computed for it.
            columns[f"s{index}"] = col(f"v{place}").not_null()
        else:
            columns[f"g{index}"] = compute_key(group, col(f"v{place}"))
    content = collect_content(request)
    quantities = {quantity: f"k{index}" for index, quantity in enumerate(content.quantities)}
    read = {column.name for column in list_read_columns(request.inputs)}
    for quantity, key in quantities.items():
        raw = quantity.column in read and types[quantity.column] is not ColumnType.BOOLEAN
        letter = "r" if raw else "n"
        columns[key] = compute_grid_integer(col(f"{letter}{places[quantity.column]}"), quantity)
    conditions = {where: f"w{index}" for index, where in enumerate(content.conditions)}
    for where, key in conditions.items():
        columns[key] = compile_sql(parse_tree(where.text, types), inside)
    counted = {column: f"d{index}" for index, column in enumerate(content.values)}
    for column, key in counted.items():
        columns[key] = unify_zeros(inside[column], types[column])
    unit_text = NULL
    if request.bound is not None:
        unit = request.bound.column
        columns["u"] = unify_zeros(inside[unit], types[unit])
        (unit_column,) = (column for column in request.inputs if column.name == unit)
        unit_text = format_unit(unit_column, fields.types.get(unit))
    if request.where is not None:
        condition = compile_sql(parse_tree(request.where.text, types), inside)
        columns["f"] = call("COALESCE", condition, False)
    keys = tuple(f"g{index}" for index in range(len(request.groups)))
    relation = query.layer(columns or {"nothing": 0}, keep=False)
    return Rows(
        relation, keys, quantities, conditions, counted, request.where is not None, unit_text
    )


def _compute_private_key(group: Group, place: int) -> Sql:
    """Compute the key of the typed value; a null takes the null label's key, if any.

    The key depends on the record alone, never on other records: see ``key_normalization``.
    """
    value = compute_key(group, unify_zeros(col(f"v{place}"), group.type))
    null = find_null_key(group)
    return value if null is None else call("COALESCE", value, null)


def compute_field_state(column: Column, place: int) -> Sql:
    """Compute the state of a record in a column, one of ``STATES``."""
    kind = SQL_TYPES[column.type]
    value = number = col(f"v{place}")
    if column.type in NUMERIC_TYPES:
        kind, number = "DOUBLE", col(f"n{place}")
    pairs = [(number.is_null(), "null")]
    if column.expression is None:
        pairs = [(col(f"z{place}"), "null"), (number.is_null(), "unreadable")]
    if column.keys is not None:
        keys = [build_constant(literal(key), column.type) for key in column.keys]
        pairs.append((~call("COALESCE", is_in(value, keys), False), "undeclared"))
    elif column.edges is not None:
        first, last = (literal(edge).cast(kind) for edge in (column.edges[0], column.edges[-1]))
        pairs.append((~number.between(first, last), "undeclared"))
    if column.grid is not None:
        times, over = compute_scale(column.grid)
        position = number * times / over
        inside = position.between(float(column.grid.lower), float(column.grid.upper))
        pairs.append((~inside, "clamped"))
    return case(pairs, "ok")


def read_unit(request: AggregateRequest, fields: Fields) -> Sql | None:
    """Read the unit from its own field, with the same value as ``u``; None if it is computed."""
    if request.bound is None:
        raise ValueError("units are bounded")
    unit = request.bound.column
    (declared,) = (column for column in request.inputs if column.name == unit)
    if declared.expression is not None:
        return None
    raw, physical = _read_raw(declared, fields), _find_stored_type(declared, fields)
    if physical is None:
        raw = write_default_form(raw, declared, fields.dialect)
    number = _number(raw, physical) if _has_number(declared) else NULL
    return unify_zeros(_convert_value(declared, raw, number, physical), declared.type)


def _read_raw(declared: InputColumn, fields: Fields) -> Sql:
    """Read the raw value of a column: a text, or the value of a typed column; null if missing."""
    column = fields.columns[declared.name]
    if declared.name in fields.as_they_stand:
        return column
    if declared.name in fields.types:
        return read_field(column, declared, fields)
    return read_field_text(column, fields.dialect, declared)


def read_field(field: Sql, declared: InputColumn, fields: Fields) -> Sql:
    """Read a field: its text, or the value of a typed column; null if it is missing or too long."""
    physical = fields.types.get(declared.name)
    if physical is None:
        return read_field_text(field, fields.dialect, declared, exact=True)
    if physical != "VARCHAR":
        return field
    text = normalize_text(field) if is_text(declared) else field
    return (
        text if fields.longest is None else case_when(call("STRLEN", field) <= fields.longest, text)
    )


def _find_stored_type(declared: InputColumn, fields: Fields) -> str | None:
    """Find the DuckDB type in which values are stored; None where a text has to be parsed."""
    physical = fields.types.get(declared.name)
    return None if physical == "VARCHAR" and not is_text(declared) else physical


def _has_number(declared: InputColumn) -> bool:
    """Tell if the raw value of the column is converted to a number."""
    numeric = declared.type in NUMERIC_TYPES and declared.type is not ColumnType.BOOLEAN
    return numeric and not declared.opaque


def _number(raw: Sql, physical: str | None) -> Sql:
    return convert_typed_to_double(raw) if physical else convert_text_to_number(raw)


def _convert_value(declared: InputColumn, raw: Sql, number: Sql, physical: str | None) -> Sql:
    """Convert a raw value to its typed value; ``number`` is its number, if any."""
    if declared.opaque:
        return convert_opaque(raw, physical or "VARCHAR")
    if physical is not None:
        return convert_typed(raw, declared.type, physical, declared.zone)
    as_number = number if _has_number(declared) else None
    return convert_text(raw, declared.type, as_number, declared.zone)


def _convert_columns(
    read: Sequence[InputColumn],
    places: Mapping[str, int],
    fields: Fields,
    checked: Collection[str] = (),
) -> Sql:
    """Compute typed values ``v`` and numbers ``n`` of the columns that the file holds.

    Columns in ``checked`` also get ``z``: whether the field is null.
    """
    raw: dict[str, Sql] = {}
    texts: dict[str, Sql] = {}
    plain: dict[str, Sql] = {}
    numbers: dict[str, Sql] = {}
    typed: dict[str, Sql] = {}
    for declared in read:
        place = places[declared.name]
        raw_value, physical = col(f"t{place}"), _find_stored_type(declared, fields)
        if physical is None and is_text(declared) and declared.name not in fields.as_they_stand:
            # Compute the normal form once, in a layer before the comparisons with null texts.
            field = fields.columns[declared.name]
            raw[f"x{place}"] = _strip_text(field, fields.dialect, declared, exact=True)
            texts[f"t{place}"] = _replace_null_texts(
                col(f"x{place}"), fields.dialect, declared, exact=True
            )
        else:
            raw[f"t{place}"] = _read_raw(declared, fields)
        if physical is None and not is_default(declared, fields.dialect):
            plain[f"p{place}"] = write_default_form(raw_value, declared, fields.dialect)
            raw_value = col(f"p{place}")
        if declared.name in checked and is_text(declared):
            numbers[f"z{place}"] = raw_value.is_null()
        elif declared.name in checked:
            text = read_field(fields.columns[declared.name], declared, fields)
            raw[f"z{place}"] = text.is_null()
        if _has_number(declared):
            numbers[f"n{place}"] = _number(raw_value, physical)
            # r may be NaN: compute_grid_integer treats it as null.
            double = raw_value.cast("DOUBLE") if physical else convert_text_to_double(raw_value)
            numbers[f"r{place}"] = double
        typed[f"v{place}"] = _convert_value(declared, raw_value, col(f"n{place}"), physical)
    query = fields.relation.layer(raw or {"nothing": 0}, keep=False)
    query = query.layer(texts) if texts else query
    query = query.layer(plain) if plain else query
    query = query.layer(numbers).layer(typed)
    truths = {
        f"n{places[declared.name]}": col(f"v{places[declared.name]}").cast("DOUBLE")
        for declared in read
        if declared.type is ColumnType.BOOLEAN and not declared.opaque
    }
    return query.layer(truths) if truths else query


def _add_derived_column(
    query: Sql, column: InputColumn, places: Mapping[str, int], types: Mapping[str, ColumnType]
) -> Sql:
    """Add the typed value and the number of a computed column."""
    place = places[column.name]
    if column.expression is not None and column.expression.state_of is not None:
        base = column.expression.state_of
        return query.layer({f"v{place}": compute_field_state(base, places[base.name])})
    node = parse_tree(column.expression.text if column.expression else "NULL", types)
    inside = {key: col(f"v{index}") for key, index in places.items()}
    layer = query.layer({f"d{place}": compile_sql(node, inside)})
    result = col(f"d{place}")
    if column.type not in NUMERIC_TYPES:
        value = convert_typed(result, column.type, "")
        if column.type is ColumnType.STRING:
            value = normalize_text(result)
        return layer.layer({f"v{place}": value})
    layer = layer.layer({f"n{place}": convert_typed_to_double(result)})
    physical = "DOUBLE" if node.type is ColumnType.FLOAT else ""
    return layer.layer({f"v{place}": convert_typed(result, column.type, physical)})


def compute_grid_integer(value: Sql, quantity: Quantity) -> Sql:
    """Compute the grid integer ``clamp(rint(x / step))`` of a number ``x``.

    It clamps before it rounds, which gives the same since the bounds are integers. Casting a DOUBLE
    to BIGINT rounds half to even, and the bounds are exact in a DOUBLE. NaN and null take the
    quantity's ``null_fill``, or null if it has none.
    """
    grid = quantity.grid
    times, over = compute_scale(grid)
    if times != 1.0:
        value = value * times
    if over != 1.0:
        value = value / over
    low, high = float(grid.lower), float(grid.upper)
    # DuckDB sorts NaN above every number.
    pairs = [
        ((value >= low) & (value <= high), value.cast("BIGINT")),
        (value < low, literal(grid.lower)),
        ((value > high) & ~call("ISNAN", value), literal(grid.upper)),
    ]
    return case(pairs, NULL if quantity.null_fill is None else quantity.null_fill)
