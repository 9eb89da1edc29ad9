"""Measures, points and scores in SQL, over rows that know their cell or by the values of keys.

Each answer has the number of the cell (-1 for rows of none), the number of records, what was
counted, and the values of private keys. What rows are grouped by is null in cell -1, so that it is
few rows. Counts are 64-bit integers, sums 128-bit unless they are narrow.
"""

from __future__ import annotations

from collections.abc import Sequence

from dprelease.engines.duckdb.cells import Cells, cell_number
from dprelease.engines.duckdb.group_keys import look_up, numbered
from dprelease.engines.duckdb.typed_rows import Rows, grid_integer
from dprelease.expressions import tree
from dprelease.expressions.sql import SQL_TYPES, compile_sql
from dprelease.expressions.sqltext import (
    COUNT_ALL,
    STAR,
    Sql,
    alias,
    binary,
    call,
    case,
    cast,
    distinct,
    filtered,
    identifier,
    indexed,
    is_null,
    join,
    layer,
    no,
    number,
    over,
    select,
    subquery,
)
from dprelease.model import AggregateRequest, Candidates, Measure, MeasureKind, Quantity

CELL = "cell"


def aggregate(measure: Measure, rows: Rows, total: str = "SUM", cells: Cells | None = None) -> Sql:
    """The measure over the rows of a cell; ``total`` is the function that adds up."""
    where = None if measure.where is None else identifier(rows.conditions[measure.where])
    if measure.kind is MeasureKind.UNITS and cells is not None and cells.firsts:
        where = identifier(cells.firsts[measure.where])
    value = COUNT_ALL
    if measure.column is not None:
        value = distinct(identifier(rows.values[measure.column]))
    elif measure.quantity is not None:
        k = identifier(rows.quantities[measure.quantity])
        if measure.kind is MeasureKind.VALUES:
            value = call("COUNT", k)
        else:
            squares = measure.kind is MeasureKind.SQUARES
            value = call(total, square(k, measure.quantity) if squares else k)
    return value if where is None else filtered(value, where)


def square(k: Sql, quantity: Quantity) -> Sql:
    """The grid integer squared, in 64 bits where that can't leave them."""
    wide = quantity.grid.magnitude**2 >= 2**63
    return binary(cast(k, "HUGEINT"), "*", k) if wide else binary(k, "*", k)


def measures_of(request: AggregateRequest, cells: Cells, measures: Sequence[Measure]) -> Sql:
    """SQL of the measures: cell, records, one column each, private keys."""
    counted = [aggregate(measure, cells.rows, cells=cells) for measure in measures]
    keys = _keys(cells)
    columns = [identifier(CELL), alias(_records(cells), "records"), *counted, *keys]
    return select(columns, _numbered(request, cells), [identifier(CELL), *keys])


def points_of(request: AggregateRequest, cells: Cells) -> Sql:
    """SQL of how often each grid integer occurs: cell, records, grid integer, how often, keys.

    Without private keys there is no null: what has no grid integer is in cell -1.
    """
    if request.points is None:
        raise ValueError("no points are asked for")
    k = identifier(cells.rows.quantities[request.points])
    source = _numbered(request, cells)
    if not cells.keys:
        cell = case([(no(is_null(k)), identifier(CELL))], number(-1))
        source = layer(source, {"p": cell}, keep=True)
        valid = binary(identifier("p"), ">=", number(0))
        columns = {CELL: identifier("p"), "k": case([(valid, k)], number(0))}
        if cells.weight is not None:
            columns[cells.weight] = identifier(cells.weight)
        source, k = layer(source, columns, keep=False), identifier("k")
    keys = _keys(cells)
    records = COUNT_ALL if cells.weight is None else _records(cells)
    columns_ = [alias(records, "records"), alias(COUNT_ALL, "often")]
    return select(
        [identifier(CELL), columns_[0], alias(k, "point"), columns_[1], *keys],
        source,
        [identifier(CELL), k, *keys],
    )


CANDIDATES = "candidates"
ABREAST = 8  # rows that a candidate is scored on before anything is added up by candidate: 2^3
NARROW = 2**23
"""Scores below this add up in 64 bits over 2^40 records, more than any file will hold."""


def scores_of(request: AggregateRequest, cells: Cells) -> Sql:
    """SQL of the candidates' scores: cell, records, sum, number of the candidate, keys.

    Rows that are alike in what the score reads are gathered before each candidate has a go at them,
    and several of these stand abreast: adding up by candidate takes longer than the scores do.
    """
    candidates = request.scores
    if candidates is None:
        raise ValueError("no scores are asked for")
    source = layer(join(_abreast(request, cells), "CROSS JOIN", identifier(CANDIDATES)), {})
    scores = {
        f"score_{place}": cast(_score(request, candidates, cells, place), "DOUBLE")
        for place in range(ABREAST)
    }
    source = layer(source, scores)
    small = candidates.grid.upper < NARROW
    total: Sql | None = None
    for place in range(ABREAST):
        score = identifier(f"score_{place}")
        gain = grid_integer(score, Quantity("", candidates.grid, null_fill=0))
        rows = identifier(f"rows_{place}")
        gains = binary(rows if small else cast(rows, "HUGEINT"), "*", gain)
        gains = call("COALESCE", gains, number(0))
        total = gains if total is None else binary(total, "+", gains)
    source = layer(source, {"total": number(0) if total is None else total})
    first = binary(identifier("j"), "=", number(0))
    records = filtered(call("SUM", identifier("stands")), first)
    sums = call("SUM", identifier("total"))
    keys = [identifier("j"), *_keys(cells)]
    columns = [identifier(CELL), records, cast(sums, "BIGINT") if small else sums, *keys]
    return select(columns, source, [identifier(CELL), *keys])


def _abreast(request: AggregateRequest, cells: Cells) -> Sql:
    """Up to ``ABREAST`` of a cell's rows as one, each with ``_<place>`` after its columns.

    ``rows_<place>`` is how many there are alike, null where there is none.
    """
    values = list(cells.rows.values.values())
    cell = [identifier(CELL), *_keys(cells)]
    own = [*cell, *map(identifier, values)]
    counts = [alias(COUNT_ALL, "rows"), alias(_records(cells), "stands")]
    source = subquery(select([*own, *counts], _numbered(request, cells), own), "inside")
    place = binary(over(call("ROW_NUMBER"), cell), "-", number(1))
    source = layer(source, {"place": place})
    source = layer(source, {"bundle": binary(identifier("place"), ">>", number(3))})
    made = [*cell, alias(call("SUM", identifier("stands")), "stands")]
    for at in range(ABREAST):
        here = binary(identifier("place"), "&", number(ABREAST - 1))
        here = binary(here, "=", number(at))
        made += [
            alias(filtered(call("ANY_VALUE", identifier(key)), here), f"{key}_{at}")
            for key in ("rows", *values)
        ]
    return subquery(select(made, source, [*cell, identifier("bundle")]), "inside")


def _score(request: AggregateRequest, candidates: Candidates, cells: Cells, place: int) -> Sql:
    """The score that the row at ``place`` gives to a candidate."""
    types = {column.name: column.type for column in request.inputs}
    node = tree(candidates.score.text, {**types, "candidate": candidates.type})
    names = cells.rows.values.items()
    columns = {key: identifier(f"{column}_{place}") for key, column in names}
    return compile_sql(node, {**columns, "candidate": identifier("candidate")})


def candidates_table(candidates: Candidates) -> str:
    """The statement of the table of candidates: ``j`` and ``candidate``; wants the texts."""
    return (
        f"CREATE TEMP TABLE {CANDIDATES} AS "  # noqa: S608
        f"SELECT j, TRY_CAST(t AS {SQL_TYPES[candidates.type]}) AS candidate FROM ("
        "SELECT UNNEST(CAST($1 AS VARCHAR[])) AS t, UNNEST(RANGE(LEN($1))) AS j)"
    )


def gathered(request: AggregateRequest, cells: Cells, wanted: Sequence[str]) -> Sql:
    """SQL of rows alike in their cell and the columns ``wanted``, as one row; column ``n``.

    The columns are those of ``Cells``, so that they can be counted again.
    """
    number_of_cell = cell_number(request, cells)
    has_cell = no(is_null(number_of_cell))
    own = ["c", *(["a"] if cells.later else []), *cells.keys, *wanted]
    columns = {key: case([(has_cell, identifier(key))]) for key in own}
    weight = number(1) if cells.weight is None else identifier(cells.weight)
    source = layer(cells.relation, {**columns, "n": weight}, keep=False)
    names = [identifier(key) for key in own]
    return select([*names, alias(call("SUM", identifier("n")), "n")], source, names)


def _numbered(request: AggregateRequest, cells: Cells) -> Sql:
    """The rows with the number of their cell; what is of no cell has nothing else."""
    cell = call("COALESCE", cell_number(request, cells), number(-1))
    has_cell = binary(identifier(CELL), ">=", number(0))
    weight = [] if cells.weight is None else [cells.weight]
    source = layer(cells.relation, {CELL: cell})
    columns = {CELL: identifier(CELL)}
    alone = (*cells.keys, *cells.rows.values.values())  # what rows may be grouped by
    columns.update({key: identifier(key) for key in cells.counted})
    columns.update({key: case([(has_cell, identifier(key))]) for key in alone})
    columns.update({key: identifier(key) for key in (*weight, *cells.firsts.values())})
    return layer(source, columns, keep=False)


def _keys(cells: Cells) -> list[Sql]:
    return [identifier(key) for key in cells.keys]


def _records(cells: Cells) -> Sql:
    """How many records the rows stand for."""
    if cells.weight is None:
        return COUNT_ALL
    return cast(call("SUM", identifier(cells.weight)), "BIGINT")


SUMS = (MeasureKind.SUM, MeasureKind.SQUARES)


def grouped_by_keys(request: AggregateRequest, rows: Rows, everything: bool, narrow: bool) -> Sql:
    """The SQL of the answer: groups by the values of the keys and looks up what remains.

    Faster than to look up each record where values repeat. ``narrow`` adds up in 64 bits, which is
    quicker and wraps: see ``fits_narrow``. Records that don't pass the filter are in cell -1; they
    may be left out unless ``everything`` is wanted.
    """
    partial = _by_keys(request, rows, everything, narrow)
    measures = [indexed("m", index) for index in range(len(request.measures))]
    source = look_up(subquery(partial, "p"), request.groups)
    cell = numbered(request.groups, range(len(request.groups)))
    if rows.filtered:
        cell = case([(identifier("f"), cell)])
    cell = call("COALESCE", cell, number(-1))
    cells = select([alias(cell, "cell"), identifier("total"), *measures], source)
    counted = [cast(call("SUM", identifier("total")), "BIGINT")]
    for measure, value in zip(request.measures, measures, strict=True):
        counted.append(_sum_of_cell(measure, value, narrow))
    return select([identifier("cell"), *counted], subquery(cells, "c"), [identifier("cell")])


def _sum_of_cell(measure: Measure, value: Sql, narrow: bool) -> Sql:
    """The measure of a cell: BIGINT where that holds it, for 128 bits are slow to fetch."""
    if measure.kind not in SUMS:
        return cast(call("SUM", value), "BIGINT")
    # a sum that wraps has no more than 64 bits, so its cast can't fail
    return cast(call("SUM_NO_OVERFLOW", value), "BIGINT") if narrow else call("SUM", value)


def _by_keys(request: AggregateRequest, rows: Rows, everything: bool, narrow: bool) -> Sql:
    """One row for each combination of key values."""
    keys = [identifier(key) for key in rows.groups]
    passes = identifier("f") if rows.filtered else None
    if passes is not None:
        keys.append(passes)
    columns = [alias(COUNT_ALL, "total")]
    for index, measure in enumerate(request.measures):
        sums = narrow and measure.kind in SUMS
        value = aggregate(measure, rows, "SUM_NO_OVERFLOW" if sums else "SUM")
        columns.append(alias(cast(value, "BIGINT") if sums else value, f"m{index}"))
    where = None if everything else passes
    return select([*keys, *columns], rows.relation, keys, where=where)


def probe(rows: Rows, size: int) -> Sql:
    """SQL that counts the distinct keys among ``size`` of the records; there must be a key."""
    keys = [identifier(key) for key in rows.groups]
    some = select([STAR], rows.relation, limit=size)
    return select([COUNT_ALL], subquery(select(keys, subquery(some, "s"), keys), "d"))


MANY_RECORDS = 2**40
"""More records than any file will hold."""


def fits_narrow(request: AggregateRequest, records: int = MANY_RECORDS) -> bool:
    """Whether no sum over this many records can leave 64 bits: each record adds at most a bound."""
    return max(map(_most, request.measures), default=0) * records < 2**63


def _most(measure: Measure) -> int:
    """The largest absolute integer that one record adds."""
    size = 0 if measure.quantity is None else measure.quantity.grid.magnitude
    return size * size if measure.kind is MeasureKind.SQUARES else size
