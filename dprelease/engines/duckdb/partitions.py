"""In how many parts a bounded request is asked first, so that each is likely to fit into memory.

The answer is the same for any number of parts: what is found here decides how long it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from dprelease.engines.duckdb.cells import locate
from dprelease.engines.duckdb.row_packing import Packing
from dprelease.engines.duckdb.typed_rows import Rows
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

SAMPLE = 20_000  # records looked at for how many of them count
MOST = 256
# Bytes that a row takes, measured: the integer in a list, or a row in windows, with what DuckDB
# sets aside for them, and the unit where it has about ten rows.
IN_LIST = {"BIGINT": 52, "HUGEINT": 90}
IN_WINDOW = 140


def first_parts(  # noqa: PLR0913, PLR0917 - what there is to read, and to hold it in
    run: Callable[[Sql], Sequence[tuple[int, ...]]],
    request: AggregateRequest,
    rows: Rows,
    packing: Packing | None,
    records: int,
    memory: int | None,
) -> int:
    """A power of two, by the number of records and the bytes of memory; ``run`` asks a query."""
    size = IN_WINDOW if packing is None else IN_LIST[packing.kind]
    if memory is None or records * size <= memory:
        return 1
    some = subquery(select([STAR], rows.relation, limit=SAMPLE), "some")
    cells = locate(request, replace(rows, relation=some), everything=True)
    counts = [COUNT_ALL, call("COUNT", identifier("c"))]
    ((seen, counted),) = run(select(counts, cells.relation))
    parts = 1
    while parts < MOST and records * counted * size > parts * memory * seen:
        parts *= 2
    return parts
