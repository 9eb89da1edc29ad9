"""Measures, points and scores in SQL, over rows that know their cell or by the values of keys.

Each answer has the number of the cell (-1 for rows in none), the number of records, the measures,
and the values of private keys. The other columns that rows are grouped by are null in cell -1, so
that it takes few rows. Counts are 64-bit integers, sums 128-bit.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import reduce

from dprelease.engines.duckdb.group_keys import build_constant, look_up, number_labels
from dprelease.engines.duckdb.record_cells import Cells, compute_cell_number
from dprelease.engines.duckdb.typed_rows import Rows, compute_grid_integer
from dprelease.expressions import parse_tree
from dprelease.expressions.growth import count_joined
from dprelease.expressions.sql import compile_sql
from dprelease.expressions.sqltext import (
    COUNT_ALL,
    STAR,
    Sql,
    Value,
    call,
    case,
    col,
    distinct,
    literal,
)
from dprelease.model import AggregateRequest, Candidates, Measure, MeasureKind, Quantity

CELL = col("cell")


def aggregate(measure: Measure, rows: Rows, cells: Cells | None = None) -> Sql:
    """Write SQL of a measure over the rows of a cell.

    Args:
        measure: The measure.
        rows: Names the columns.
        cells: Given if units are bounded: names the columns that mark the first row of a unit.
    """
    where = None if measure.where is None else col(rows.conditions[measure.where])
    if measure.kind is MeasureKind.UNITS and cells is not None and cells.firsts:
        where = col(cells.firsts[measure.where])

    def choose(value: Sql) -> Sql:
        # A CASE in place of FILTER, for which DuckDB copies all columns for each condition.
        return value if where is None else case([(where, value)])

    if measure.column is not None:
        return distinct(choose(col(rows.values[measure.column])))
    if measure.survey_weight is not None:
        return call("SUM", choose(_apply_weight(measure, measure.survey_weight, rows)))
    if measure.quantity is None:
        return COUNT_ALL if where is None else call("COUNT", choose(literal(1)))
    k = col(rows.quantities[measure.quantity])
    if measure.kind is MeasureKind.VALUES:
        return call("COUNT", choose(k))
    if measure.kind is MeasureKind.SQUARES:
        # Squares take 64 bits unless they may overflow them.
        wide = measure.quantity.grid.magnitude**2 >= 2**63
        return call("SUM", choose((k.cast("HUGEINT") if wide else k) * k))
    return call("SUM", choose(k))


def _apply_weight(measure: Measure, survey_weight: Quantity, rows: Rows) -> Sql:
    """Weight what a record adds: its weight, or weight times value; null without a value."""
    weight = col(rows.quantities[survey_weight])
    if measure.quantity is None:
        return weight
    k = col(rows.quantities[measure.quantity])
    if measure.kind is MeasureKind.VALUES:
        return case([(k.not_null(), weight)])
    # Products take 64 bits unless they may overflow them.
    wide = survey_weight.grid.magnitude * measure.quantity.grid.magnitude >= 2**63
    return (weight.cast("HUGEINT") if wide else weight) * k


def sum_request(request: AggregateRequest, cells: Cells, places: Sequence[int]) -> Sql:
    """Write SQL of the additive answers of a request: points, scores or measures."""
    if request.points is not None:
        return count_points(request, cells)
    if request.scores is not None:
        return sum_scores(request, cells)
    return sum_measures(request, cells, [request.measures[place] for place in places])


def sum_measures(request: AggregateRequest, cells: Cells, measures: Sequence[Measure]) -> Sql:
    """Write SQL of the measures: cell, records, one column each, private keys."""
    counted = [aggregate(measure, cells.rows, cells) for measure in measures]
    own = [CELL, *map(col, cells.keys)]
    columns = [CELL, _count_records(cells).alias("records"), *counted, *own[1:]]
    return _number_cells(request, cells).select(columns, own)


def count_points(request: AggregateRequest, cells: Cells) -> Sql:
    """Write SQL that counts each grid integer: cell, records, integer, count, keys.

    With survey weights the count is the sum of the weights above 0; a record of another weight has
    no grid integer. Without private keys no column is null: a record without a grid integer is in
    cell -1.
    """
    if request.points is None:
        raise ValueError("no points are asked for")
    k = col(cells.rows.quantities[request.points])
    source, often = _number_cells(request, cells), COUNT_ALL
    if request.survey_weight is not None:
        heavy = col(cells.rows.quantities[request.survey_weight])
        source = source.layer({"k": case([(heavy > 0, k)]), "w": call("COALESCE", heavy, 0)})
        k, often = col("k"), call("SUM", col("w")).cast("BIGINT")
    if not cells.keys:
        source = source.layer({"p": case([(k.not_null(), CELL)], -1)})
        columns = {"cell": col("p"), "k": case([(col("p") >= 0, k)], 0)}
        if cells.weight is not None:
            columns[cells.weight] = col(cells.weight)
        if request.survey_weight is not None:
            columns["w"] = col("w")
        source, k = source.layer(columns, keep=False), col("k")
    keys = list(map(col, cells.keys))
    records, point = _count_records(cells).alias("records"), k.alias("point")
    return source.select([CELL, records, point, often.alias("often"), *keys], [CELL, k, *keys])


CANDIDATES = "candidates"
ABREAST = 8  # rows scored side by side before scores are added up by candidate: 2^3
NARROW = 2**23
"""Scores below this add up in 64 bits over 2^40 records, more than any file will hold."""


def sum_scores(request: AggregateRequest, cells: Cells) -> Sql:
    """Write SQL of the candidates' scores: cell, records, sum, number of the candidate, keys.

    Rows equal in what the score reads are merged before candidates are scored on them, and several
    merged rows stand side by side in one: adding up by candidate takes longer than the scores.
    """
    candidates = request.scores
    if candidates is None:
        raise ValueError("no scores are asked for")
    source = _pack_abreast(request, cells).join("CROSS JOIN", col(CANDIDATES)).layer({})
    types = {column.name: column.type for column in request.inputs}
    node = parse_tree(candidates.score.text, {**types, "candidate": candidates.type})
    small = candidates.grid.upper < NARROW
    quantity = Quantity("", candidates.grid, null_fill=0)
    scores, gains = {}, []
    for place in range(ABREAST):
        columns = {key: col(f"{column}_{place}") for key, column in cells.rows.values.items()}
        score = compile_sql(node, {**columns, "candidate": col("candidate")})
        scores[f"score_{place}"] = score.cast("DOUBLE")
        rows = col(f"rows_{place}")
        gain = compute_grid_integer(col(f"score_{place}"), quantity)
        gains.append(call("COALESCE", (rows if small else rows.cast("HUGEINT")) * gain, 0))
    source = source.layer(scores).layer({"total": reduce(operator.add, gains)})
    records = call("SUM", col("stands")).filter(col("j").equals(0))
    sums = call("SUM", col("total"))
    keys = [col("j"), *map(col, cells.keys)]
    return source.select(
        [CELL, records, sums.cast("BIGINT") if small else sums, *keys], [CELL, *keys]
    )


def _pack_abreast(request: AggregateRequest, cells: Cells) -> Sql:
    """Pack up to ``ABREAST`` of a cell's rows into one, each with ``_<place>`` after its columns.

    ``rows_<place>`` is the number of equal rows merged there, null if there is none.
    """
    values = list(cells.rows.values.values())
    cell = [CELL, *map(col, cells.keys)]
    own = [*cell, *map(col, values)]
    counts = [COUNT_ALL.alias("rows"), _count_records(cells).alias("stands")]
    source = _number_cells(request, cells).select([*own, *counts], own).subquery("inside")
    source = source.layer({"place": call("ROW_NUMBER").over(cell) - 1})
    source = source.layer({"bundle": col("place") >> 3})
    columns = [*cell, call("SUM", col("stands")).alias("stands")]
    for at in range(ABREAST):
        is_here = col("place").bits_and(ABREAST - 1).equals(at)
        columns += [
            call("ANY_VALUE", col(key)).filter(is_here).alias(f"{key}_{at}")
            for key in ("rows", *values)
        ]
    return source.select(columns, [*cell, col("bundle")]).subquery("inside")


def count_joined_at_once(request: AggregateRequest) -> int:
    """Count the results of joining texts that a statement computes for each record."""
    types = {column.name: column.type for column in request.inputs}
    computed = [column.expression for column in request.inputs]
    conditions = [request.where, *(measure.where for measure in request.measures)]
    joined = 0
    for expression in dict.fromkeys((*computed, *conditions)):
        if expression is not None and expression.state_of is None:
            joined += count_joined(parse_tree(expression.text, types))
    if request.scores is not None:
        candidates = request.scores
        node = parse_tree(candidates.score.text, {**types, "candidate": candidates.type})
        joined += ABREAST * count_joined(node)
    return joined


def build_candidates_table(candidates: Candidates) -> str:
    """Write the statement that creates the table of candidates from their texts."""
    candidate = build_constant(col("t"), candidates.type)
    return (
        f"CREATE TEMP TABLE {CANDIDATES} AS "  # noqa: S608
        f"SELECT j, {candidate} AS candidate FROM ("
        "SELECT UNNEST(CAST($1 AS VARCHAR[])) AS t, UNNEST(RANGE(LEN($1))) AS j)"
    )


def merge_alike_rows(request: AggregateRequest, cells: Cells, kept_columns: Sequence[str]) -> Sql:
    """Merge rows equal in their cell and ``kept_columns`` into one; ``n`` counts them.

    The columns are those of ``Cells``, so that the rows can be counted again.
    """
    has_cell = compute_cell_number(request, cells).not_null()
    own = ["c", *(["a"] if cells.later else []), *cells.keys, *kept_columns]
    columns: dict[str, Value] = {key: case([(has_cell, col(key))]) for key in own}
    columns["n"] = 1 if cells.weight is None else col(cells.weight)
    names = [col(key) for key in own]
    source = cells.relation.layer(columns, keep=False)
    return source.select([*names, call("SUM", col("n")).alias("n")], names)


def _number_cells(request: AggregateRequest, cells: Cells) -> Sql:
    """Number the cells of rows; in a row of no cell the other grouping columns become null."""
    source = cells.relation.layer(
        {"cell": call("COALESCE", compute_cell_number(request, cells), -1)}
    )
    alone = (*cells.keys, *cells.rows.values.values())  # columns that rows may be grouped by
    weight = [] if cells.weight is None else [cells.weight]
    columns = {key: col(key) for key in ("cell", *cells.counted_columns)}
    columns |= {key: case([(CELL >= 0, col(key))]) for key in alone}
    columns |= {key: col(key) for key in (*weight, *cells.firsts.values())}
    return source.layer(columns, keep=False)


def _count_records(cells: Cells) -> Sql:
    """Count the records that the rows account for."""
    if cells.weight is None:
        return COUNT_ALL
    return call("SUM", col(cells.weight)).cast("BIGINT")


def group_by_keys(request: AggregateRequest, rows: Rows, everything: bool) -> Sql:
    """Write SQL of partial answers by the values of keys: ``total``, ``m0..``.

    Where values repeat, looking these up is faster than looking up each record. Records that fail
    the filter may be left out unless ``everything`` is wanted.
    """
    passes = [col("f")] if rows.filtered else []
    keys = [*map(col, rows.groups), *passes]
    partial = [COUNT_ALL.alias("total")]
    for index, measure in enumerate(request.measures):
        partial.append(aggregate(measure, rows).alias(f"m{index}"))
    where = None if everything or not passes else passes[0]
    return rows.relation.select([*keys, *partial], keys, where=where)


def finish_key_cells(request: AggregateRequest, partial: Sql) -> Sql:
    """Write SQL of the answer, from a relation of partial answers.

    Records that fail the filter are in cell -1.
    """
    counted = [call("SUM", col("total")).cast("BIGINT")]
    for index, measure in enumerate(request.measures):
        total = call("SUM", col(f"m{index}"))
        is_sum = measure.kind in (MeasureKind.SUM, MeasureKind.SQUARES)
        is_sum = is_sum or measure.survey_weight is not None
        counted.append(total if is_sum else total.cast("BIGINT"))
    cell = number_labels(request.groups, range(len(request.groups)))
    if request.where is not None:
        cell = case([(col("f"), cell)])
    measures = [col(f"m{index}") for index in range(len(request.measures))]
    source = look_up(partial, request.groups)
    cells = source.select([call("COALESCE", cell, -1).alias("cell"), col("total"), *measures])
    return cells.subquery("c").select([CELL, *counted], [CELL])


def probe(rows: Rows, size: int) -> Sql:
    """Write SQL that counts the distinct keys among ``size`` records; there must be a key."""
    keys = [col(key) for key in rows.groups]
    head = rows.relation.select([STAR], limit=size).subquery("s")
    return head.select(keys, keys).subquery("d").select([COUNT_ALL])
