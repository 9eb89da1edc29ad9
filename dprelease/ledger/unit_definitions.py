"""Who counts as one unit, so that losses are added up for one kind of unit only.

A bound for persons says nothing of households, so two releases add up only if the same rows are one
unit to both. A name of a column does not tell that: two specs can compute it otherwise, or read
another field of the file by that name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dprelease.model import Adjacency, Column, ColumnType, Release

Definition = Mapping[str, object]

# Parts of a definition that are only told where more than whose rows are dropped follows from them.
OF_NULLS = frozenset({"null_values", "fields"})


def unit_definition(release: Release) -> dict[str, object] | None:
    """State in JSON values what decides which rows are one unit; None where each row is one.

    That is the unit column's type, its expression with all columns it reads, what becomes of
    nulls, and how the fields of a CSV file are read. ``null_values`` and the number of fields that
    a line must have are left out where they only decide whose rows are dropped: under add-remove,
    with a column of the file and no unit of nulls, neighbours that differ in a unit whose rows are
    dropped are equal, and no other unit changes.
    """
    name = release.privacy.unit_column
    if name is None:
        return None
    column = release.columns.get(name)
    used = column is not None and column.null_value is not None
    computed = column is not None and column.expression is not None
    others = release.privacy.adjacency is not Adjacency.ADD_REMOVE
    return {
        **_values(release, name),
        "nulls": "one unit" if used else "dropped",
        **_reading(release, name, nulls=used or computed or others),
    }


def unit_differences(one: Definition, other: Definition) -> list[str]:
    """Name what two definitions say differently; nothing if the same rows are one unit to both."""
    return [name for name in {**one, **other} if one.get(name) != other.get(name)]


def _values(release: Release, name: str) -> dict[str, object]:
    """State how the values of a column come about. One that is not declared is read as texts."""
    column = release.columns.get(name)
    told: dict[str, object] = {"type": str(ColumnType.STRING if column is None else column.type)}
    if column is not None and column.expression is not None:
        # Imported here for start-up: most units are columns of the file.
        from dprelease.expressions.canonical import canonical

        types = {each: known.type for each, known in release.columns.items()}
        told["expression"] = canonical(column.expression.text, types)
        told["reads"] = {each: _values(release, each) for each in column.expression.columns}
    return told


def _reading(release: Release, name: str, *, nulls: bool) -> dict[str, object]:
    """State how fields of the file become texts, as far as that is not the file's own matter."""
    source = release.data.source
    if source.format != "csv":
        return {"format": source.format}
    dialect = source.dialect
    told: dict[str, object] = {
        "format": source.format,
        "delimiter": dialect.delimiter,
        "quote": dialect.quote,
        "encoding": dialect.encoding,
        "strip": dialect.strip,
        "header": dialect.header,
    }
    if not dialect.header:
        read = set(_fields(release.columns, name))
        names = dialect.names or ()
        told["names"] = {each: place for place, each in enumerate(names, 1) if each in read}
        told |= {"fields": len(names)} if nulls else {}
    if nulls:
        told["null_values"] = sorted(set(dialect.null_values))
    return told


def _fields(columns: Mapping[str, Column], name: str) -> Iterator[str]:
    """Name the columns of the file that a column is made of."""
    column = columns.get(name)
    if column is None or column.expression is None:
        yield name
        return
    for each in column.expression.columns:
        yield from _fields(columns, each)
