"""Table Schema of a published table: in the data package, and in Parquet files.

See https://specs.frictionlessdata.io/table-schema.
"""

from __future__ import annotations

from dprelease.language import word
from dprelease.model import AS_WRITTEN, ColumnType, OutputColumn, OutputTable
from dprelease.model.queries import name_column
from dprelease.output.csv_table import escape_formula, is_escaped
from dprelease.output.key_types import choose_published_type

ESCAPE_NOTE = (
    "Values that a spreadsheet would run as a formula are written with a leading apostrophe."
)

_TYPES = {"integer": "integer", "number": "number", "text": "string"}
_KEY_TYPES = {
    ColumnType.INTEGER: "integer",
    ColumnType.BOOLEAN: "boolean",
    ColumnType.DATE: "date",
    ColumnType.TIMESTAMP: "datetime",
    ColumnType.STRING: "string",
}


def build_table_schema(table: OutputTable, *, as_csv: bool) -> dict[str, object]:
    """Build the Table Schema of a table: names, types, descriptions, primary key.

    Args:
        table: A published table.
        as_csv: Describe the CSV file: with the header's escapes and the missing value.

    Returns:
        The schema as JSON values.
    """
    schema: dict[str, object] = {
        "fields": [_describe_field(column, as_csv=as_csv) for column in table.columns]
    }
    if as_csv:
        schema["missingValues"] = [""]
    keys = [column for column in table.columns if column.kind == "key"]
    # An empty label is a missing value to readers, and a key must not be missing.
    if keys and not any(missing in key.values for key in keys for missing in (None, "")):
        schema["primaryKey"] = [escape_formula(key.name) if as_csv else key.name for key in keys]
    return schema


def drop_empty_texts(**fields: str | None) -> dict[str, object]:
    """Keep the texts that are neither None nor empty."""
    return {name: text for name, text in fields.items() if text}


def _describe_field(column: OutputColumn, *, as_csv: bool) -> dict[str, object]:
    description = word(column.description)
    if as_csv and is_escaped(column):
        description = f"{description} {ESCAPE_NOTE}".strip()
    words = AS_WRITTEN if column.suffix else column.names
    labels = {
        key: column.names.labels[key]
        for key in dict.fromkeys(column.values)
        if isinstance(key, str) and key in column.names.labels
    }
    # Query and role are no properties of the standard's, nor are labels of some types. Names alone
    # do not tell: a query may be named like a column of another one.
    role = {"role": column.kind} if column.kind in ("key", "edge") else {}
    return {
        "name": escape_formula(column.name) if as_csv else column.name,
        **_describe_type(column),
        **drop_empty_texts(title=words.title, unit=words.unit, description=description),
        **drop_empty_texts(bins=column.names.bins),
        **({} if words.decimals is None else {"decimals": words.decimals}),
        **({"labels": labels} if labels else {}),
        **(role if column.query is None else {"query": name_column(column.query)}),
    }


def _describe_type(column: OutputColumn) -> dict[str, object]:
    if column.kind == "edge":
        return {"type": "number" if column.decimals else "integer"}
    if column.kind not in {"key", "label"}:
        return {"type": _TYPES[column.kind]}
    kind = choose_published_type(column)
    if kind is not ColumnType.TIMESTAMP:
        return {"type": _KEY_TYPES[kind]}
    # A pattern of Table Schema has fractions of seconds in all values or in none.
    fractions = {"." in str(value) for value in column.values if value is not None}
    if fractions == {True, False}:
        return {"type": "datetime", "format": "any"}
    pattern = "%Y-%m-%d %H:%M:%S.%f" if True in fractions else "%Y-%m-%d %H:%M:%S"
    return {"type": "datetime", "format": pattern}
