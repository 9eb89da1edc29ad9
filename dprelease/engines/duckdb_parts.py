"""In how many parts a bounded request is asked first, so that each is likely to fit into memory.

The answer is the same for any number of parts: what is found here decides how long it takes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dprelease.engines.duckdb_cells import locate
from dprelease.engines.duckdb_packing import Packing
from dprelease.engines.duckdb_rows import Fields, Rows
from dprelease.engines.duckdb_session import memory_of
from dprelease.expressions.sqltext import (
    COUNT_ALL,
    STAR,
    Sql,
    call,
    identifier,
    select,
    subquery,
)
from dprelease.model import AggregateRequest

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SAMPLE = 20_000  # records looked at for how many of them count
MOST = 256
# Bytes that a row takes, measured: the integer in a list, or a row in windows, with what DuckDB
# sets aside for them, and the unit where it has about ten rows.
IN_LIST = {"BIGINT": 52, "HUGEINT": 90}
IN_WINDOW = 140


def first_parts(
    connection: DuckDBPyConnection,
    request: AggregateRequest,
    fields: Fields,
    rows: Rows,
    packing: Packing | None,
) -> int:
    """A power of two; the number of records must be known without reading them."""
    (records,) = _numbers(connection, select([COUNT_ALL], fields.relation))
    size = IN_WINDOW if packing is None else IN_LIST[packing.kind]
    memory = memory_of(connection)
    if memory is None or records * size <= memory:
        return 1
    some = subquery(select([STAR], rows.relation, limit=SAMPLE), "some")
    cells = locate(request, replace(rows, relation=some), everything=True)
    counts = [COUNT_ALL, call("COUNT", identifier("c"))]
    seen, counted = _numbers(connection, select(counts, cells.relation))
    parts = 1
    while parts < MOST and records * counted * size > parts * memory * seen:
        parts *= 2
    return parts


def _numbers(connection: DuckDBPyConnection, query: Sql) -> tuple[int, ...]:
    return connection.execute(query).fetchone() or ()
