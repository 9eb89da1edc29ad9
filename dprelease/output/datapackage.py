"""``datapackage.json``: a Frictionless Data Package that describes every other published file.

See https://specs.frictionlessdata.io (Data Package, Data Resource, Table Schema).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence

from dprelease.model import About, Release
from dprelease.model.release import find_contact_address, find_licence_address
from dprelease.output.table_files import RecordFile, WrittenTable
from dprelease.output.table_schema import build_table_schema, drop_empty_texts

NAME = "datapackage.json"
GENERATOR = "dprelease"  # marks the directories whose files we may replace and remove
UNDER_WAY = "under_way"

_MEDIA = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}


def write_datapackage(
    release: Release,
    tables: Sequence[WrittenTable | RecordFile],
    documents: Mapping[str, bytes],
    media_types: Mapping[str, str],
) -> bytes:
    """Write the descriptor of a release as JSON.

    It holds spec texts, descriptions and hashes of published bytes, and no time: the same release
    has the same descriptor.

    Args:
        release: The release that is published.
        tables: Its tables, as files.
        documents: All other files by name, such as reports.
        media_types: Media types of the documents, by name.

    Returns:
        The content of ``datapackage.json``.
    """
    names = _make_names_unique([*(table.table.name for table in tables), *documents])
    resources = [_describe_table(name, table) for name, table in zip(names, tables, strict=False)]
    for name, (file, content) in zip(names[len(tables) :], documents.items(), strict=True):
        digest = hashlib.sha256(content).hexdigest()
        facts = _describe_file(name, file, len(content), digest, media_types.get(file))
        # Without a type some readers guess one by the name, and take report.json for theirs.
        resources.append({**facts, "type": "file", "profile": "data-resource"})
    descriptor = {
        "name": make_slug(release.about.name),
        "generator": GENERATOR,
        **({"rehearsal": True} if release.rehearsal else {}),
        **drop_empty_texts(title=release.about.title, description=release.about.purpose),
        **_describe_contributors(release.about),
        **_describe_licences(release.about.licence),
        "resources": resources,
    }
    return (json.dumps(descriptor, indent=2, ensure_ascii=False) + "\n").encode("utf-8")


def write_marker(descriptor: bytes) -> bytes:
    """Write the descriptor of a release that is under way.

    It lists no file, so that nobody takes what is in the folder for a release.
    """
    content = json.loads(descriptor)
    identity = {key: content[key] for key in ("name", "generator", "rehearsal") if key in content}
    marker = {**identity, UNDER_WAY: True, "resources": []}
    return (json.dumps(marker, indent=2, ensure_ascii=False) + "\n").encode("utf-8")


def _describe_table(name: str, table_file: WrittenTable | RecordFile) -> dict[str, object]:
    table, is_csv = table_file.table, table_file.format == "csv"
    dialect = {"delimiter": ",", "lineTerminator": "\n", "quoteChar": '"', "header": True}
    return {
        **_describe_file(
            name, table_file.file, table_file.size, table_file.sha256, _MEDIA[table_file.format]
        ),
        **drop_empty_texts(title=table.title),
        "type": "table",
        "profile": "tabular-data-resource" if is_csv else "data-resource",
        # no property of the standard's: it marks tables of records, which may be very long
        **({"records": table_file.stored.tally.rows} if isinstance(table_file, RecordFile) else {}),
        **({"dialect": dialect} if is_csv else {}),
        "schema": build_table_schema(table, as_csv=is_csv),
    }


def _describe_file(
    name: str, file: str, size: int, digest: str, media_type: str | None
) -> dict[str, object]:
    suffix = file.rpartition(".")[2]
    return {
        "name": name,
        "path": file,
        "format": suffix,
        **drop_empty_texts(mediatype=media_type),
        # of a Parquet file, frictionless counts no bytes, and then takes ours for wrong
        **({} if suffix == "parquet" else {"encoding": "utf-8", "bytes": size}),
        "hash": f"sha256:{digest}",
    }


def _describe_contributors(about: About) -> dict[str, object]:
    if about.curator is None:
        return {}
    person: dict[str, object] = {"title": about.curator, "role": "publisher"}
    address = find_contact_address(about.contact or "")
    if address is not None:
        person |= {"email": about.contact} if address != about.contact else {"path": address}
    return {"contributors": [person]}


def _describe_licences(licence: str | None) -> dict[str, object]:
    if licence is None:
        return {}
    address = find_licence_address(licence)
    return {"licenses": [{"path": address} | ({} if address == licence else {"name": licence})]}


def make_slug(name: str) -> str:
    """Turn a name into one of lower-case letters, digits, dots, hyphens and underscores."""
    return re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-") or "release"


def _make_names_unique(names: Iterable[str]) -> list[str]:
    slugs: dict[str, None] = {}
    for name in names:
        # Two names can have one slug, and names of resources must differ.
        unique, number = make_slug(name), 1
        while unique in slugs:
            number += 1
            unique = f"{make_slug(name)}-{number}"
        slugs[unique] = None
    return list(slugs)
