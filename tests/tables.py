"""Small tables in every form that an engine reads, and questions about them."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, settings
from oracle.engine import get
from thorough import examples

from dprelease import engines
from dprelease.engines.engine_registry import WITHOUT_RECORDS
from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.model import (
    AggregateRequest,
    ColumnType,
    Expression,
    Group,
    InputColumn,
    Measure,
    MeasureKind,
    Source,
)

# The engines that answer every request of the vocabulary: all that are registered, and the oracle.
ENGINES = [*engines.ENGINES, "reference"]
# Those that give the codes of single records, too.
RECORD_ENGINES = [name for name in ENGINES if name not in WITHOUT_RECORDS]
FORMS = ["csv", "csv files", "parquet", "parquet files"]

T = ColumnType
COUNT = (Measure(MeasureKind.RECORDS),)
PHYSICAL = {
    T.INTEGER: pa.int64(),
    T.FLOAT: pa.float64(),
    T.DECIMAL: pa.decimal128(18, 6),
    T.STRING: pa.string(),
    T.BOOLEAN: pa.bool_(),
    T.DATE: pa.date32(),
    T.TIMESTAMP: pa.timestamp("us"),
}


def drawing(count: int) -> settings:
    """Settings of a property that writes files: so many examples in a run of all tests."""
    health = [HealthCheck.function_scoped_fixture]
    return settings(deadline=None, max_examples=examples(count), suppress_health_check=health)


Table = Sequence[Sequence[object]]  # rows of Python values, None for null


def written(folder: Path, types: Mapping[str, ColumnType], rows: Table, form: str) -> Source:
    """Write the rows and say where they are; "files" are three, and of several row groups."""
    kind, _, several = form.partition(" ")
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    parts = [rows[start::3] for start in range(3)] if several else [rows]
    for number, part in enumerate(parts):
        path = folder / f"part{number}.{kind}"
        if kind == "csv":
            with open(path, "w", newline="", encoding="utf-8") as stream:
                writer = csv.writer(stream, lineterminator="\n")
                writer.writerows([list(types), *([_text(each) for each in row] for row in part)])
        else:
            arrays = {
                name: pa.array([row[place] for row in part], PHYSICAL[each])
                for place, (name, each) in enumerate(types.items())
            }
            write_typed(pa.table(arrays), path, kind, 2 if several else None)
    return Source(str(folder), kind)


def write_typed(table: pa.Table, path: Path, kind: str, rows: int | None = None) -> None:
    """Write a file with types, so many rows in each part of it."""
    if kind == "parquet":
        pq.write_table(table, path, row_group_size=rows)
        return
    options = pa.ipc.IpcWriteOptions(compression="zstd" if rows else "lz4")
    with pa.ipc.new_file(path, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=rows)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def inputs(types: Mapping[str, ColumnType], *opaque: str) -> tuple[InputColumn, ...]:
    return tuple(InputColumn(name, each, opaque=name in opaque) for name, each in types.items())


def keyed(
    name: str, keys: Iterable[str], kind: ColumnType = T.STRING, null: str | None = None
) -> Group:
    """A group of public keys; with ``null`` the last label is that of nulls."""
    keys = tuple(keys)
    return Group(name, kind, keys + ((null,) if null else ()), keys=keys, null_label=null)


def hidden(name: str, kind: ColumnType = T.STRING, null: str | None = None) -> Group:
    """A private group."""
    return Group(name, kind, (), null_label=null, private=True)


def sql(text: str, *columns: str) -> Expression:
    return Expression(text, columns)


def refused(source: Source, *read: InputColumn, engine: str = "duckdb") -> Complaint:
    """The one complaint with which a look at the structure is refused, before the charge."""
    with pytest.raises(Failure) as caught:
        get(engine).inspect(source, read)
    assert caught.value.exit_code is ExitCode.DATA
    assert caught.value.__cause__ is None
    (complaint,) = caught.value.complaints
    return complaint


def counted(source: Source, group: Group, *read: InputColumn) -> list[int]:
    """How many records have each label of a column; the other columns are read, too."""
    read = (InputColumn(group.column, group.type), *read)
    (column,) = asked("duckdb", AggregateRequest(source, read, (group,), COUNT))
    return column


def asked(engine: str, request: AggregateRequest) -> list[list[int]]:
    """The integers, after the check of the structure; every one of them is a plain integer."""
    get(engine).inspect(request.source, request.inputs)
    found = [list(column) for column in get(engine).aggregate(request).reveal()]
    assert all(type(each) is int for column in found for each in column)
    return found


def by_key(engine: str, request: AggregateRequest) -> dict[tuple[str, ...], list[int]]:
    """The integers of each combination of labels, private groups or not."""
    get(engine).inspect(request.source, request.inputs)
    table = get(engine).aggregate(request)
    keys = [tuple(key) for key in table.reveal_keys()]
    if not request.private:
        assert keys == []
        keys = list(product(*(group.labels for group in request.groups)))
    assert len(set(keys)) == len(keys)
    columns = [list(column) for column in table.reveal()]
    assert {len(column) for column in columns} <= {len(keys)}
    return {key: [column[place] for column in columns] for place, key in enumerate(keys)}
