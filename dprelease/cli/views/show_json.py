"""A released table in JSON values."""

from __future__ import annotations

from dprelease.output.released_tables import NUMBER, Described, Field, Rows


def facts_of(table: Described, read: Rows) -> dict[str, object]:
    """The table's columns and its rows; numbers as numbers, an empty cell as null."""
    return {
        "name": table.name,
        "title": table.title or None,
        "file": str(table.file),
        "rows": read.total,
        "columns": [
            {"name": field.name, "type": field.type, "description": field.description or None}
            for field in table.fields
        ],
        "values": [
            [_value(field, text) for field, text in zip(table.fields, row, strict=True)]
            for row in read.rows
        ],
    }


def _value(field: Field, text: str | None) -> object:
    if text is None or field.type not in {"integer", "number", "boolean"}:
        return text
    if field.type == "boolean":
        return {"true": True, "false": False}.get(text, text)
    if not NUMBER.fullmatch(text):  # not what was released: say what is there
        return text
    return int(text) if field.type == "integer" and text.lstrip("-").isdigit() else float(text)
