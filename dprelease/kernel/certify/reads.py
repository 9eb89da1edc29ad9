"""Whether each query is read from a release of what it asks for.

How figures are made of noisy integers costs no privacy. But a count that was read from a release
with another filter, or a sum with wrong factors, would be published with an interval that is wrong.
So what is read is written out again: as a combination of measures of records, compared with
what the statistic is by its definition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from dprelease.model import Form, Grid, MeasureKind, Plan, Quantity, Query, Read, Reading, Step

Combination = Mapping[MeasureKind, Fraction]

SQUARED = ("variance", "stddev")


def are_reads(plan: Plan) -> bool:
    """Say whether every query's figures are made of a release of what it is about."""
    steps = {step.query.name: step for step in plan.steps}
    return all(_means(read, steps[read.step]) for read in plan.reads)


def _means(read: Read, step: Step) -> bool:
    if not read.rows:
        plain = read.reading is Reading.OWN and not (read.factors or read.merged or read.screened)
        return plain and _about(read.query) == _about(step.query)
    if step.form is not Form.NUMBERS or step.query.axis is not None:
        return False
    if read.query.private and read.query.table != step.query.table:
        return False
    return _cells(read, step) and _of_same_rows(read, step) and _figures(read, step)


def _about(query: Query) -> tuple[object, ...]:
    """All that a figure depends on but the noise."""
    return (
        query.statistic, query.groups, query.column, query.where, query.quantiles, query.points,
        query.picks, query.axis, query.candidates, query.numerator, query.denominator,
        query.table if query.private else "",
    )  # fmt: skip


def _cells(read: Read, step: Step) -> bool:
    """The query's groups are the step's, but for those added up, in which every record is."""
    groups = step.query.groups
    added = [groups[at] for at in read.merged if 0 <= at < len(groups)]
    kept = tuple(group for at, group in enumerate(groups) if at not in read.merged)
    return (
        len(added) == len(set(read.merged)) == len(read.merged)
        and kept == read.query.groups
        and all(group.other is not None and group.null_label is not None for group in added)
        and (not read.merged or read.query.statistic == "count")
    )


def _of_same_rows(read: Read, step: Step) -> bool:
    """Filter and column are the query's, and no integer is read twice."""
    columns = {each.quantity.column for each in step.measures if each.quantity is not None}
    wanted = read.query.column
    return (
        all(each.where == read.query.where for each in step.measures)
        and (read.query.statistic == "count" or (wanted is not None and columns == {wanted.name}))
        and len(set(read.rows)) == len(read.rows)
    )


def _figures(read: Read, step: Step) -> bool:
    rows = [_combination(step, row) for row in read.rows]
    if read.reading is Reading.LINEAR:
        return len(read.factors) == len(rows) and _linear(read, step, rows)
    quantity = next((each.quantity for each in step.measures if each.quantity is not None), None)
    if quantity is None or read.factors or read.merged or read.screened:
        return False
    squared = read.query.statistic in SQUARED
    if read.reading is Reading.MOMENTS:
        squared = read.query.statistic == "mean"
    elif read.query.statistic == "mean":
        return rows == _moments(quantity.grid, 1)
    return squared and rows == _moments(quantity.grid, 2)


def _linear(read: Read, step: Step, rows: Sequence[Combination]) -> bool:
    found = _added(rows, read.factors)
    if read.query.statistic == "sum":
        (grid,) = {each.quantity.grid for each in step.measures if each.quantity is not None}
        return found == {MeasureKind.SUM: grid.step} and not read.screened
    if read.query.statistic != "count":
        return False
    if read.screened:
        last = _added(rows[-1:], read.factors[-1:])
        if last != {MeasureKind.RECORDS: Fraction(1), MeasureKind.VALUES: Fraction(-1)}:
            return False
    quantities = [each.quantity for each in step.measures if each.quantity is not None]
    everybody = bool(quantities) and all(_never_null(each) for each in quantities)
    return found == {MeasureKind.RECORDS: 1} or (everybody and found == {MeasureKind.VALUES: 1})


def _never_null(quantity: Quantity) -> bool:
    return quantity.null_fill is not None


def _combination(step: Step, row: int) -> Combination:
    """What of each measure is in a released integer."""
    return _added([{each.kind: Fraction(1)} for each in step.measures], step.transform[row])


def _added(rows: Sequence[Combination], factors: Sequence[Fraction | int]) -> Combination:
    total: dict[MeasureKind, Fraction] = {}
    for row, factor in zip(rows, factors, strict=True):
        for kind, amount in row.items():
            total[kind] = total.get(kind, Fraction(0)) + factor * amount
    return {kind: amount for kind, amount in total.items() if amount}


def _moments(grid: Grid, degree: int) -> list[Combination]:
    """The terms of (t + (K - t))^degree, t = k - lower, K the width, summed over records.

    Degree 1: the sums of t and of K - t. Degree 2: of (K - t)^2, of 2 t (K - t), of t^2.
    """
    low, high = Fraction(grid.lower), Fraction(grid.upper)
    none, one, two = MeasureKind.VALUES, MeasureKind.SUM, MeasureKind.SQUARES
    terms: list[dict[MeasureKind, Fraction]] = [
        {none: -low, one: Fraction(1)},
        {none: high, one: Fraction(-1)},
    ]
    if degree == 2:
        terms = [
            {none: high * high, one: -2 * high, two: Fraction(1)},
            {none: -2 * low * high, one: 2 * (low + high), two: Fraction(-2)},
            {none: low * low, one: -2 * low, two: Fraction(1)},
        ]
    return [{kind: amount for kind, amount in each.items() if amount} for each in terms]
