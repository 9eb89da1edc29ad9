"""What ``datapackage.json`` of a release says of its tables, and whether they are still so."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.output.read.open_plain import open_plain

NAME = "datapackage.json"
GENERATOR = "dprelease"
FORMATS = ("csv", "parquet")
_LARGEST = 256 * 1024 * 1024
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a released table: its name, its type by Table Schema, and what it is."""

    name: str
    type: str
    description: str


@dataclass(frozen=True, slots=True)
class Described:
    """A released table as the package describes it.

    ``records`` is the number of records of a table of records, and None of all others.
    """

    name: str
    title: str
    file: Path
    format: str
    fields: tuple[Field, ...]
    sha256: str
    records: int | None = None

    def changed(self) -> Complaint | None:
        """Warn when the file is not the one that was released. Raises Failure (exit code 2)."""
        digest = hashlib.sha256()
        try:
            with open_plain(self.file) as stream:
                while chunk := stream.read(_CHUNK):
                    digest.update(chunk)
        except OSError as problem:
            raise unreadable(self.file, problem.strerror or "no such file") from None
        if digest.hexdigest() == self.sha256:
            return None
        message = f"{self.file} is not the file that was released: its SHA-256 is another"
        return Complaint("W801", message, "running the release again, at no cost, restores it")


def described_tables(folder: str) -> list[Described]:
    """Every table of a release. Raises Failure (exit code 2)."""
    try:
        with open_plain(Path(folder) / NAME) as stream:
            content = json.loads(stream.read(_LARGEST))
        tables = list(_tables(Path(folder), content))
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        tables = []
        content = None
    if not isinstance(content, dict) or content.get("generator") != GENERATOR:
        message = f"{folder} holds no release"
        hint = f"name the output directory of a run, which holds {NAME}"
        raise Failure(ExitCode.SPEC, Complaint("E012", message, hint))
    return tables


def unreadable(file: Path, reason: str) -> Failure:
    """Say that a released table can't be read."""
    hint = "running the release again, at no cost, restores it"
    return Failure(ExitCode.SPEC, Complaint("E013", f"{file} can't be read: {reason}", hint))


def _tables(folder: Path, content: Any) -> Iterator[Described]:
    for each in content["resources"]:
        if each.get("type") != "table" or each.get("format") not in FORMATS:
            continue
        path = Path(each["path"])
        if path.name != each["path"]:  # of another directory: not what a run writes
            continue
        if not path.name.isprintable():
            raise ValueError("a name that no run gives to a file")
        fields = tuple(
            Field(str(one["name"]), str(one["type"]), str(one.get("description", "")))
            for one in each["schema"]["fields"]
        )
        digest = str(each["hash"]).removeprefix("sha256:")
        title = str(each.get("title", ""))
        records = each.get("records")
        if not (records is None or isinstance(records, int)):
            raise TypeError("a number of records")
        file = folder / path
        yield Described(path.stem, title, file, each["format"], fields, digest, records)
