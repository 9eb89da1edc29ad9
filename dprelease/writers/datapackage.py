"""``datapackage.json``: a Frictionless Data Package that describes every other published file.

See https://specs.frictionlessdata.io (Data Package, Data Resource, Table Schema).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence

from dprelease.model import About, ColumnType, OutputColumn, Release
from dprelease.writers.csv_table import header_name, is_escaped
from dprelease.writers.keys import published_type
from dprelease.writers.tables import WrittenTable

NAME = "datapackage.json"
GENERATOR = "dprelease"  # marks the directories whose files we may replace and remove

ESCAPE_NOTE = (
    "Values that a spreadsheet would run as a formula are written with a leading apostrophe."
)

_MEDIA = {
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
    "json": "application/json",
    "md": "text/markdown",
    "html": "text/html",
    "yaml": "application/yaml",
}
_TYPES = {"integer": "integer", "number": "number", "text": "string"}
_KEY_TYPES = {
    ColumnType.INTEGER: "integer",
    ColumnType.BOOLEAN: "boolean",
    ColumnType.DATE: "date",
    ColumnType.TIMESTAMP: "datetime",
    ColumnType.STRING: "string",
}
_EMAIL = re.compile(r"[^@\s<>]+@[^@\s<>]+\.[^@\s<>]+")


def datapackage_bytes(
    release: Release, tables: Sequence[WrittenTable], others: Mapping[str, bytes]
) -> bytes:
    """The descriptor as JSON. ``others`` are the remaining files by name, such as reports.

    Holds nothing but spec texts, descriptions and hashes of published bytes; no time, so that
    the same release has the same descriptor.
    """
    names = _unique_names([*(each.table.name for each in tables), *others])
    resources = [_table(name, each) for name, each in zip(names, tables, strict=False)]
    rest = zip(names[len(tables) :], others.items(), strict=True)
    resources += [_document(name, file, content) for name, (file, content) in rest]
    descriptor = {
        "name": _slug(release.about.name),
        "generator": GENERATOR,
        **_texts(title=release.about.title, description=release.about.purpose),
        **_contributors(release.about),
        "resources": resources,
    }
    return (json.dumps(descriptor, indent=2, ensure_ascii=False) + "\n").encode("utf-8")


def _table(name: str, written: WrittenTable) -> dict[str, object]:
    table, is_csv = written.table, written.format == "csv"
    fields = [_field(each, as_csv=is_csv) for each in table.columns]
    schema: dict[str, object] = {"fields": fields}
    if is_csv:
        schema["missingValues"] = [""]
    if keys := _primary_key(table.columns, as_csv=is_csv):
        schema["primaryKey"] = keys
    dialect = {"delimiter": ",", "lineTerminator": "\n", "quoteChar": '"', "header": True}
    return {
        **_file(name, written.file, len(written.content), written.sha256),
        **_texts(title=table.title),
        "type": "table",
        "profile": "tabular-data-resource" if is_csv else "data-resource",
        **({"dialect": dialect} if is_csv else {}),
        "schema": schema,
    }


def _document(name: str, file: str, content: bytes) -> dict[str, object]:
    # Without a type some readers guess one by the name, and take report.json for theirs.
    digest = hashlib.sha256(content).hexdigest()
    facts = _file(name, file, len(content), digest)
    return {**facts, "type": "file", "profile": "data-resource"}


def _file(name: str, file: str, size: int, digest: str) -> dict[str, object]:
    suffix = file.rpartition(".")[2]
    return {
        "name": name,
        "path": file,
        "format": suffix,
        **_texts(mediatype=_MEDIA.get(suffix)),
        **({} if suffix == "parquet" else {"encoding": "utf-8"}),
        # of a Parquet file, frictionless counts no bytes, and then takes ours for wrong
        **({} if suffix == "parquet" else {"bytes": size}),
        "hash": f"sha256:{digest}",
    }


def _field(column: OutputColumn, *, as_csv: bool) -> dict[str, object]:
    description = column.description
    if as_csv and is_escaped(column):
        description = f"{description} {ESCAPE_NOTE}".strip()
    return {
        "name": header_name(column) if as_csv else column.name,
        **_type(column),
        **_texts(description=description),
    }


def _type(column: OutputColumn) -> dict[str, object]:
    if column.kind != "key":
        return {"type": _TYPES[column.kind]}
    kind = published_type(column)
    if kind is not ColumnType.TIMESTAMP:
        return {"type": _KEY_TYPES[kind]}
    fractions = {"." in str(each) for each in column.values if each is not None}
    if fractions == {True, False}:
        return {"type": "datetime", "format": "any"}
    pattern = "%Y-%m-%d %H:%M:%S.%f" if True in fractions else "%Y-%m-%d %H:%M:%S"
    return {"type": "datetime", "format": pattern}


def _primary_key(columns: Iterable[OutputColumn], *, as_csv: bool) -> list[str]:
    keys = [each for each in columns if each.kind == "key"]
    # An empty label is a missing value to readers, and a key must not be missing.
    if any(value in (None, "") for each in keys for value in dict.fromkeys(each.values)):
        return []
    return [header_name(each) if as_csv else each.name for each in keys]


def _contributors(about: About) -> dict[str, object]:
    if about.curator is None:
        return {}
    person: dict[str, object] = {"title": about.curator, "role": "publisher"}
    if about.contact and _EMAIL.fullmatch(about.contact):
        person["email"] = about.contact
    elif about.contact and about.contact.startswith(("https://", "http://")):
        person["path"] = about.contact
    return {"contributors": [person]}


def _texts(**texts: str | None) -> dict[str, object]:
    return {name: text for name, text in texts.items() if text}


def _slug(name: str) -> str:
    """A name that the standard allows: lower-case letters, digits, dot, hyphen, underscore."""
    return re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-") or "release"


def _unique_names(names: Iterable[str]) -> list[str]:
    found: dict[str, None] = {}
    for each in names:
        slug, number = _slug(each), 1
        while slug in found:
            number += 1
            slug = f"{_slug(each)}-{number}"
        found[slug] = None
    return list(found)
