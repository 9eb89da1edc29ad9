"""The embedded engine: DuckDB, streaming, in bounded memory, exact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dprelease.engines.base import columns_read, lost
from dprelease.engines.csv_scan import LineScan
from dprelease.engines.duckdb_session import check_memory, session
from dprelease.engines.files import Layout, lay_out, resolve
from dprelease.engines.parquet_files import check_readable, physical_types
from dprelease.engines.values import parse_number
from dprelease.errors import Failure
from dprelease.model import (
    NUMERIC_TYPES,
    AggregateRequest,
    ColumnType,
    ExactTable,
    Group,
    InputColumn,
    Source,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from dprelease.engines.duckdb_rows import Fields

SAMPLE = 20_000  # records looked at to choose how keys are looked up
MANY = 10_000  # distinct keys among them from which records are looked up one by one

Answer = list[tuple[Any, ...]]  # cell, records, measures


class DuckDB:
    """See ``Engine``. CSV is read fast if every line is one clean record, else with care."""

    name = "duckdb"

    def inspect(self, source: Source, inputs: Sequence[InputColumn]) -> None:
        """Check names and types against headers and footers; raises Failure(DATA)."""
        check_memory()
        if source.format == "csv":
            lay_out(source, inputs)
            return
        paths = resolve(source)
        with session(paths) as connection:
            check_readable(connection, paths, source.pattern)
            physical_types(connection, paths, source.pattern, inputs)

    def aggregate(self, request: AggregateRequest) -> ExactTable:
        """The exact integers of every cell; raises Failure(AFTER_CHARGE)."""
        import duckdb

        try:
            rows = _parquet(request) if request.source.format == "parquet" else _csv(request)
        except (duckdb.Error, OSError, ValueError, MemoryError, Failure):
            raise lost() from None
        except RuntimeError:  # what DuckDB makes of Ctrl-C
            raise KeyboardInterrupt from None
        return _table(request, rows)


ENGINE = DuckDB()


def integers(request: AggregateRequest) -> int:
    """How many aggregates there are: measures, the cell and its records, for every cell."""
    return request.cells * (len(request.measures) + 2)


def _parquet(request: AggregateRequest) -> Answer:
    """The answer by DuckDB's reader, or by the careful one where that finds a text unreadable."""
    import duckdb

    from dprelease.engines.duckdb_sources import parquet_fields

    source = request.source
    paths = resolve(source)
    types: dict[str, str] = {}
    try:
        with session(paths, integers(request)) as connection:
            types = physical_types(connection, paths, source.pattern, request.inputs)
            return _ask(connection, request, parquet_fields(paths, types), repeatable=True)
    except duckdb.Error:  # one text that is not UTF-8 is enough
        return _parquet_careful(request, paths, types)


def _parquet_careful(
    request: AggregateRequest, paths: Sequence[str], types: Mapping[str, str]
) -> Answer:
    """The answer where a text of the file is not UTF-8, from records that are."""
    from dprelease.engines.duckdb_sources import RECORDS, stream_fields
    from dprelease.engines.parquet_records import readable

    reader = readable(paths, list(types))
    with session((), integers(request)) as connection:
        connection.register(RECORDS, reader)
        return _ask(connection, request, stream_fields(types), repeatable=False)


def _csv(request: AggregateRequest) -> Answer:
    """The first answer that holds: numbers read at once, fields as text, the careful reader.

    All three give the same integers where they answer.
    """
    layout = lay_out(request.source, request.inputs)
    if layout.encoding == "utf-8" and request.source.dialect.delimiter != " ":
        for numbers in (pure_numbers(request), frozenset[str]()):
            answer, hopeless = _csv_fast(request, layout, numbers)
            if answer is not None:
                return answer
            if hopeless or not numbers:
                break
    return _csv_careful(request, layout)


def pure_numbers(request: AggregateRequest) -> frozenset[str]:
    """Numeric columns whose DOUBLE is all that is wanted of them.

    Not the integers that are keys or in expressions (these may be beyond 2^53), and none if a null
    text is a number.
    """
    dialect = request.source.dialect
    exact = {group.column for group in request.groups if group.keys is not None}
    texts = [each.expression for each in request.inputs] + [m.where for m in request.measures]
    exact.update(name for text in texts if text is not None for name in text.columns)
    doubtful = any(parse_number(null) is not None for null in dialect.null_values)
    return frozenset(
        each.name
        for each in columns_read(request.inputs)
        if each.type in (ColumnType.FLOAT, ColumnType.DECIMAL)
        or (each.type is ColumnType.INTEGER and each.name not in exact)
        if not doubtful
    )


def _csv_fast(
    request: AggregateRequest, layout: Layout, numbers: frozenset[str]
) -> tuple[Answer | None, bool]:
    """The answer by DuckDB's reader if every line was one record, and whether to give it up."""
    import duckdb

    from dprelease.engines.duckdb_sources import csv_fields

    dialect = request.source.dialect
    fields = csv_fields(layout, dialect, numbers)
    with session(layout.paths, integers(request)) as connection:
        answer: Answer | None = None
        scan = LineScan(layout, dialect, connection.interrupt)
        scan.start()
        try:
            answer = _ask(connection, request, fields, repeatable=True)
        except duckdb.Error:
            answer = None
        finally:
            if answer is None:
                scan.stop()
            scan.join()
    if answer is not None and scan.confirms(sum(row[1] or 0 for row in answer)):
        return answer, False
    return None, answer is not None or scan.refuted


def _csv_careful(request: AggregateRequest, layout: Layout) -> Answer:
    """The answer by the careful reader, whose records stream into the same statement."""
    import pyarrow as pa

    from dprelease.engines.csv_records import batches
    from dprelease.engines.duckdb_sources import RECORDS, record_fields

    dialect = request.source.dialect
    wanted = sorted(layout.position[each.name] for each in columns_read(request.inputs)) or [0]
    names = [f"f{place}" for place in wanted]
    schema = pa.schema([(name, pa.string()) for name in names])
    stream = batches(dialect, layout, names, wanted)
    reader = pa.RecordBatchReader.from_batches(schema, stream)
    with session((), integers(request)) as connection:
        connection.register(RECORDS, reader)
        return _ask(connection, request, record_fields(layout, dialect), repeatable=False)


def _ask(
    connection: DuckDBPyConnection, request: AggregateRequest, fields: Fields, repeatable: bool
) -> Answer:
    """Run the statement; ``repeatable`` says that the fields can be read more than once."""
    import duckdb

    from dprelease.engines.duckdb_rows import build_rows
    from dprelease.engines.duckdb_sql import fits_narrow, probe, statement

    _put_labels(connection, request.groups)
    rows = build_rows(request, fields)
    grouped_first = not any(_open(group) for group in request.groups)
    # Fields of CSV that were to be numbers: where one is none, that is best found at once.
    hopeful = request.source.format == "csv" and bool(fields.types)
    if repeatable and (hopeful or not grouped_first):
        found = connection.execute(probe(rows, SAMPLE, hopeful)).fetchall()
        grouped_first = bool(found[0][0] < MANY)
    try:
        # By the bounds alone, not by the data: a sum that leaves 64 bits may wrap, or raise.
        if repeatable and grouped_first and fits_narrow(request):
            answer = _narrow(connection, statement(request, rows, True, narrow=True))
            if answer is not None and fits_narrow(request, sum(row[1] or 0 for row in answer)):
                return answer
        return connection.execute(statement(request, rows, grouped_first)).fetchall()
    except duckdb.OutOfMemoryException:
        if not (grouped_first and repeatable):
            raise
        # more distinct keys than the first records promised: look each record up instead
        return connection.execute(statement(request, rows, False)).fetchall()


def _narrow(connection: DuckDBPyConnection, query: str) -> Answer | None:
    """The answer, or None where DuckDB lacks the sum that its own optimizer uses.

    That is found before anything is read.
    """
    import duckdb

    try:
        return connection.execute(query).fetchall()
    except (duckdb.CatalogException, duckdb.BinderException):
        return None


def _open(group: Group) -> bool:
    """Whether the data can hold any number of distinct values of the key."""
    return group.edges is None and group.type is not ColumnType.BOOLEAN


def _put_labels(connection: DuckDBPyConnection, groups: Sequence[Group]) -> None:
    """Tables of declared keys and edges, typed."""
    from dprelease.expressions.sql import SQL_TYPES

    for index, group in enumerate(groups):
        if group.edges is not None:
            kind = "DOUBLE" if group.type in NUMERIC_TYPES else SQL_TYPES[group.type]
            connection.execute(
                f"CREATE TEMP TABLE edges{index} AS SELECT CAST($1 AS {kind}[]) AS e{index}",
                [list(group.edges)],
            )
        else:
            # Two texts of one value would count a record twice: the first one has it.
            connection.execute(
                f"CREATE TEMP TABLE keys{index} AS SELECT v, MIN(i) AS i FROM ("  # noqa: S608
                f"SELECT TRY_CAST(t AS {SQL_TYPES[group.type]}) AS v, i FROM ("
                "SELECT UNNEST(CAST($1 AS VARCHAR[])) AS t, UNNEST(RANGE($2)) AS i)"
                ") GROUP BY v",
                [list(group.keys or ()), len(group.keys or ())],
            )


def _table(request: AggregateRequest, answer: Answer) -> ExactTable:
    """Every cell in order, zero where no record fell."""
    measures = [[0] * request.cells for _ in request.measures]
    real = [row for row in answer if row[0] is not None and row[0] >= 0]
    for place, column in enumerate(measures, 2):
        for row in real:
            column[row[0]] = int(row[place] or 0)
    return ExactTable(measures)
