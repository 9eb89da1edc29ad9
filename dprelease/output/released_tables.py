"""Released tables, read from the directory of a release and nothing else.

``datapackage.json`` says what the tables are; their rows are texts, as they stand in the files.
Anybody may have written to the directory: only plain files are opened.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.files.system import open_plain
from dprelease.model import AS_WRITTEN, ColumnNames, ColumnType
from dprelease.model.outputs import BESIDE, place_columns
from dprelease.output.csv_table import unescape_formula
from dprelease.output.datapackage import GENERATOR, NAME, UNDER_WAY

FORMATS = ("csv", "parquet")
_LARGEST = 256 * 1024 * 1024


class Field(Struct, frozen=True):
    """A column of a released table: its name, its type by Table Schema, what it is, its words.

    ``query`` is what published it; a column of none has a ``role``. Earlier versions wrote neither.
    """

    name: str
    type: str
    description: str
    words: ColumnNames = AS_WRITTEN
    query: str | None = None
    role: str | None = None


class Described(Struct, frozen=True):
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

    def find_change(self) -> Complaint | None:
        """Warn when the file is not the one that was released. Raises Failure (exit code 2)."""
        try:
            with open_plain(self.file) as stream:
                digest = hashlib.file_digest(stream, "sha256")
        except OSError as problem:
            raise build_unreadable_failure(self.file, problem.strerror or "no such file") from None
        if digest.hexdigest() == self.sha256:
            return None
        message = f"{self.file} is not the file that was released: its SHA-256 differs"
        return Complaint("W801", message)


def check_whole(folder: str) -> None:
    """Refuse a folder in which a release is under way.

    Args:
        folder: The output folder of a run.

    Raises:
        Failure: Exit code 2.
    """
    content = _read_package(folder) or {}
    if content.get(UNDER_WAY) is not True:
        return
    name = content.get("name")
    name_text = f' of "{name}"' if isinstance(name, str) and name.isprintable() else ""
    message = (
        f"{folder} holds no complete release: a run{name_text} is still writing it, or was stopped"
    )
    raise Failure(ExitCode.SPEC, Complaint("E017", message))


def list_tables(folder: str) -> list[Described]:
    """List the tables of a release or a rehearsal.

    Args:
        folder: The output folder of a run.

    Returns:
        The tables as ``datapackage.json`` describes them.

    Raises:
        Failure: Exit code 2, if the folder holds no release or one under way.
    """
    check_whole(folder)
    content = _read_package(folder)
    try:
        tables = list(_iter_tables(Path(folder), content))
    except (ValueError, TypeError, KeyError, AttributeError):
        content = None
    if content is None:
        message = f"{folder} holds no release"
        raise Failure(ExitCode.SPEC, Complaint("E012", message))
    return tables


def is_rehearsal(folder: str) -> bool | None:
    """Check whether a folder holds a rehearsal.

    Args:
        folder: An output folder.

    Returns:
        True for a rehearsal, False for a release, None if there is neither.
    """
    content = _read_package(folder)
    return None if content is None else content.get("rehearsal") is True


def list_published_files(folder: str) -> frozenset[str]:
    """List the files of the release in a folder, as its descriptor names them.

    Args:
        folder: Any folder.

    Returns:
        Names relative to the folder; none if it holds no release.
    """
    resources = (_read_package(folder) or {}).get("resources")
    listed = resources if isinstance(resources, list) else []
    paths = (resource.get("path") for resource in listed if isinstance(resource, dict))
    return frozenset(path for path in paths if isinstance(path, str))


def _read_package(folder: str) -> dict[str, Any] | None:
    """Read the descriptor of a folder; None if there is none of ours."""
    try:
        with open_plain(Path(folder) / NAME) as stream:
            content = json.loads(stream.read(_LARGEST))
    except (OSError, ValueError, RecursionError):
        return None
    ours = isinstance(content, dict) and content.get("generator") == GENERATOR
    return content if ours else None


def build_unreadable_failure(file: Path, reason: str) -> Failure:
    """Build the failure for a released table that can't be read."""
    return Failure(ExitCode.SPEC, Complaint("E013", f"{file} can't be read: {reason}"))


def _iter_tables(folder: Path, content: Any) -> Iterator[Described]:
    for resource in content["resources"]:
        if resource.get("type") != "table" or resource.get("format") not in FORMATS:
            continue
        path = Path(resource["path"])
        if path.name != resource["path"]:  # of another directory: not what a run writes
            continue
        if not path.name.isprintable():
            raise ValueError("a name that no run gives to a file")
        fields = tuple(map(_read_field, resource["schema"]["fields"]))
        digest = str(resource["hash"]).removeprefix("sha256:")
        title = str(resource.get("title", ""))
        records = resource.get("records")
        if not (records is None or isinstance(records, int)):
            raise TypeError("a number of records")
        file = folder / path
        yield Described(path.stem, title, file, resource["format"], fields, digest, records)


_MOST_DECIMALS = 12


def _read_field(field: dict[str, Any]) -> Field:
    query, role, title, unit = (
        str(field[key]) if key in field else None for key in ("query", "role", "title", "unit")
    )
    name, type, description = str(field["name"]), str(field["type"]), field.get("description", "")
    labels = {str(key): str(label) for key, label in field.get("labels", {}).items()}
    bins = ColumnType(field["bins"]) if "bins" in field else None
    decimals = field.get("decimals")
    if not (decimals is None or (isinstance(decimals, int) and 0 <= decimals <= _MOST_DECIMALS)):
        raise ValueError("decimals that no run gives to a figure")
    words = ColumnNames(title, unit, decimals, labels, bins)
    return Field(name, type, str(description), words, query, role)


class Figure(NamedTuple):
    """Places of a column and of those that say how exact it is; a key or a name has none."""

    name: str
    value: int
    moe: int | None = None
    ranks: int | None = None
    flag: int | None = None
    low: int | None = None
    high: int | None = None


def list_figures(fields: Sequence[Field]) -> list[Figure]:
    """List the columns that stand for themselves, each with the columns about it.

    Args:
        fields: The columns of a table, in order.

    Returns:
        One figure for each key, label and published statistic, in order; no bin edges.
    """
    fields = _add_roles(fields)
    places = place_columns([(field.name, field.query) for field in fields])
    return [
        Figure(fields[place].name, place, *(beside.get(end) for end in BESIDE))
        for place, beside in places.items()
        if fields[place].role != "edge"
    ]


def list_keys(fields: Sequence[Field], figures: Sequence[Figure]) -> list[Figure]:
    """List the grouping columns.

    Args:
        fields: The columns of a table, in order.
        figures: Those that ``list_figures`` gives for them.

    Returns:
        The figures whose column is a key.
    """
    fields = _add_roles(fields)
    return [figure for figure in figures if fields[figure.value].role == "key"]


def _add_roles(fields: Sequence[Field]) -> Sequence[Field]:
    """Add the queries and roles of fields, which earlier versions did not write."""
    if any(field.query is not None for field in fields):
        return fields
    # Tables of earlier versions: descriptions tell keys and edges, and what has columns beside it
    # is named like its query.
    names = {field.name for field in fields}
    owners = [name for name in names if any(f"{name}{end}" in names for end in _EXACT)]
    keys = len(list(takewhile(lambda field: field.description.startswith(_OF_BINS), fields)))
    return [
        replace(field, role="edge" if field.description.startswith(_OF_EDGES) else "key")
        if place < keys
        else replace(
            field,
            query=next(
                (owner for owner in owners if field.name.removeprefix(owner) in BESIDE), field.name
            ),
        )
        for place, field in enumerate(fields)
    ]


# How ``release.bundle`` describes grouping columns.
_OF_EDGES = ("lower edges of the bins of ", "upper edges of the bins of ")
_OF_BINS = ("bins of ", "declared values of ", "values of ", *_OF_EDGES)
_EXACT = ("_noise_moe", "_rank_moe", "_high")


Row = tuple[str | None, ...]
# A number as the files have it, of any size that a double can hold.
NUMBER = re.compile(r"-?[0-9]{1,308}(\.[0-9]{1,308})?", re.ASCII)


class Rows(NamedTuple):
    """The first rows of a table, and how many it has in all; None is an empty cell."""

    rows: Sequence[Row]
    total: int


def read_rows(table: Described, limit: int | None) -> Rows:
    """Read rows of a released table.

    Args:
        table: The table.
        limit: Number of rows to read from the first on; None for all.

    Returns:
        The rows as texts, and how many rows the file has.

    Raises:
        Failure: Exit code 2, if the file can't be read or does not fit its description.
    """
    read = _read_csv if table.format == "csv" else _read_parquet
    try:
        return read(table, limit)
    except OSError as problem:
        raise build_unreadable_failure(table.file, problem.strerror or "it is damaged") from None
    except (ValueError, csv.Error):
        raise build_unreadable_failure(table.file, "it is not as its description says") from None


def _read_csv(table: Described, limit: int | None) -> Rows:
    texts = {place for place, field in enumerate(table.fields) if field.type == "string"}
    with open(table.file, encoding="utf-8", newline="") as stream:
        lines = csv.reader(stream, strict=True)
        if next(lines, None) != [field.name for field in table.fields]:
            raise ValueError("another header")
        rows = [_read_row(line, texts, len(table.fields)) for line in islice(lines, limit)]
        if table.records is not None:  # may be many
            return Rows(rows, table.records)
        return Rows(rows, len(rows) + sum(1 for _ in lines))


def _read_row(line: list[str], texts: set[int], width: int) -> Row:
    if len(line) != width:
        raise ValueError("a line of another length")
    return tuple(
        unescape_formula(text) if place in texts and text else text or None
        for place, text in enumerate(line)
    )


def _read_parquet(table: Described, limit: int | None) -> Rows:
    import pyarrow.parquet as pq

    with pq.ParquetFile(table.file) as file:
        if file.schema_arrow.names != [field.name for field in table.fields]:
            raise ValueError("another header")
        rows: list[Row] = []
        if limit != 0:
            for batch in file.iter_batches(batch_size=min(limit or 4096, 4096)):
                columns = [_write_texts(column.to_pylist()) for column in batch.columns]
                rows.extend(zip(*columns, strict=True))
                if limit is not None and len(rows) >= limit:
                    break
        return Rows(rows[:limit], file.metadata.num_rows)


def _write_texts(values: list[object]) -> list[str | None]:
    """Write values as texts, numbers of one column with equally many decimal places."""
    if not any(isinstance(value, float) for value in values):
        return [_write_text(value) for value in values]
    numbers = [None if value is None else Decimal(str(value)) for value in values]
    places = [-int(number.as_tuple().exponent) for number in numbers if number is not None]
    return [None if number is None else f"{number:.{max(places)}f}" for number in numbers]


def _write_text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
