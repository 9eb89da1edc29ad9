"""Steps of a strategy, and steps whose cells are mixed along axes: what each must have.

A strategy's step is of no query of the spec. So nothing that it filters or groups by was checked
with one: its filters and groups must be those of queries of the release. It is also a part of a
table with more groups than its own (``joined_tables``), in whose cells rows of a unit are counted
off; only where these limit nothing but the number of rows is a unit bounded in the step's as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import pairwise

from msgspec import Struct

from dprelease.kernel.core.chapters import is_of_strategy
from dprelease.kernel.core.rules import Breach, Rule, Rules, find_breaches, name_steps
from dprelease.kernel.core.step_forms import is_quantity
from dprelease.model import (
    AxisKind,
    AxisMatrix,
    Bounding,
    ColumnType,
    Expression,
    Form,
    Grid,
    Group,
    Measure,
    MeasureKind,
    Plan,
    Quantity,
    Query,
    Release,
    Step,
)

ADDED_UP = {MeasureKind.RECORDS, MeasureKind.VALUES, MeasureKind.SUM}
"""What a strategy adds up over the records of each cell."""


def has_features(step: Step) -> bool:
    """Tell whether a strategy's step releases several features of the records of each cell."""
    return is_of_strategy(step) and not step.axes and len(step.measures) > 1


def list_own_filters(step: Step) -> list[Expression]:
    """List the filters of a step's measures that are not that of all its records."""
    filters = (measure.where for measure in step.measures)
    return [where for where in filters if where is not None and where != step.query.where]


class Stated(Struct, frozen=True):
    """What the queries of a release filter and group by, and how rows of a unit are bounded.

    Of groups those with a label for every record; of columns the name and the grid.
    """

    filters: frozenset[Expression | None]
    quantities: frozenset[tuple[str, Grid | None]]
    groups: frozenset[Group]
    bounding: Bounding | None
    tables: frozenset[str]


def collect_stated(release: Release) -> Stated:
    """Gather what a strategy may filter and group by, of which rows."""
    queries = release.queries
    shares = [
        part
        for query in queries
        if query.numerator is not None and query.where is None
        for part in (query.numerator.where, query.among)
    ]
    filters = frozenset({None, *(query.where for query in queries), *shares})
    columns = [query.column for query in queries if query.column is not None]
    quantities = frozenset((column.name, column.grid) for column in columns)
    groups = frozenset(group.complete() for query in queries for group in query.groups)
    tables = frozenset(query.table for query in queries)
    return Stated(filters, quantities, groups, release.privacy.bounding, tables)


def find_steps_breaches(plan: Plan) -> Iterator[Breach]:
    """Give what the steps of a plan have or lack against their strategies or axes."""
    stated = collect_stated(plan.release)
    types = {column.name: column.type for column in plan.release.columns.values()}
    for name, step in name_steps(plan):
        if is_of_strategy(step):
            yield from find_breaches(STRATEGY, (step, stated), name)
        if step.axes:
            yield from find_breaches(MIXED, step, name)
        if step.apart:
            yield from find_breaches(APART, (step, types), name)


# --- strategies ----------------------------------------------------------------------------------


def _has_own_filter(step: Step) -> bool:
    """Require one filter, or several over all rows: an engine could count rows outside of one."""
    if len(step.measures) > 1:
        where = step.query.where
        return where is None or all(measure.where == where for measure in step.measures)
    return step.measures == (Measure(MeasureKind.RECORDS, None, step.query.where),)


def _is_plain_count(planned: tuple[Step, Stated]) -> bool:
    """Tell whether a step's query is a count without details, in a table of the release."""
    query = planned[0].query
    return query.table in planned[1].tables and query == Query(
        query.name,
        "count",
        query.table,
        query.groups,
        where=query.where,
        mechanism=query.mechanism,
        number=query.number,
        implied=True,
    )


def _is_adding_up_stated(step: Step, declared: Stated) -> bool:
    """Tell whether a step counts records and adds up values of columns of the release's queries."""
    return step.query.statistic == "count" and all(
        measure.kind in ADDED_UP
        and measure.survey_weight is None
        and (measure.quantity is None or _name_grid(measure.quantity) in declared.quantities)
        for measure in step.measures
    )


def _name_grid(quantity: Quantity) -> tuple[str, Grid | None]:
    return quantity.column, quantity.grid


def _find_unit(step: Step, row: tuple[int, ...]) -> Fraction | None:
    """Find the value of one step of an integer: of its one column, or of records; None of more."""
    quantities = {
        measure.quantity
        for factor, measure in zip(row, step.measures, strict=True)
        if factor and measure.quantity is not None
    }
    if len(quantities) > 1:
        return None
    return next((quantity.grid.step for quantity in quantities), Fraction(1))


def _is_bounding_rows_alone(bounding: Bounding | None) -> bool:
    if bounding is None:
        return True
    rows = min(bounding.rows, bounding.groups * bounding.per_group)
    return rows <= min(bounding.groups, bounding.per_group)


def _has_stated_groups(step: Step, declared: Stated) -> bool:
    groups = step.query.groups
    return len(set(groups)) == len(groups) and declared.groups.issuperset(groups)


STRATEGY: Rules[tuple[Step, Stated]] = (
    Rule("a strategy releases numbers", lambda case: case[0].form is Form.NUMBERS),
    Rule(
        "a strategy counts records, or adds up values of columns of the release's queries",
        lambda case: _is_adding_up_stated(*case),
    ),
    Rule(
        "integers of a strategy are counts, or in the steps of one column",
        lambda case: all(
            unit == _find_unit(case[0], row)
            for unit, row in zip(case[0].unit, case[0].transform, strict=True)
        ),
    ),
    Rule("a strategy asks for counts by groups and a filter alone", _is_plain_count),
    Rule(
        "groups of a strategy are public, with a label for every record",
        lambda case: all(group.total and not group.private for group in case[0].query.groups),
    ),
    Rule(
        "the groups of a strategy are groups of queries of the release, each once",
        lambda case: _has_stated_groups(*case),
    ),
    Rule(
        "the filters of a strategy are filters of queries of the release",
        lambda case: case[1].filters.issuperset(
            {case[0].query.where, *(measure.where for measure in case[0].measures)}
        ),
    ),
    Rule(
        "a strategy has its own filter, or several over all rows",
        lambda case: _has_own_filter(case[0]),
    ),
    Rule(
        "only their number limits the rows of a unit that a strategy counts",
        lambda case: _is_bounding_rows_alone(case[1].bounding),
    ),
)


def _is_counting_alone(step: Step) -> bool:
    """Tell whether a strategy counts records by filters, each once, and all of its own filter."""
    filters = [measure.where for measure in step.measures]
    counted = all(
        measure == Measure(MeasureKind.RECORDS, None, measure.where) for measure in step.measures
    )
    return has_features(step) and counted and len(set(filters)) == len(filters)


def _are_filters_apart(step: Step, types: Mapping[str, ColumnType]) -> bool:
    """Tell whether no record meets two of a step's own filters."""
    # Imported here for start-up: few plans have such steps.
    from dprelease.kernel.chapters.strategies.exclusive_filters import are_exclusive

    return are_exclusive(list_own_filters(step), types)


APART: Rules[tuple[Step, Mapping[str, ColumnType]]] = (
    Rule(
        "only counts of records by different filters can be apart",
        lambda case: _is_counting_alone(case[0]),
    ),
    Rule(
        "filters that are said to exclude each other do so, whatever a record holds",
        lambda case: _are_filters_apart(*case),
    ),
)

# --- cells mixed along axes ----------------------------------------------------------------------


def _is_counting_values(step: Step, points: Quantity) -> bool:
    """Tell whether a step counts each value of a grid, and has nothing else to count."""
    query = step.query
    others = (*step.measures, query.axis, query.candidates, query.survey_weight, step.survey_weight)
    return (
        is_quantity(points)
        and not any(other is not None for other in others)
        and query.points is None
        and (query.numerator, query.denominator) == (None, None)
        and step.transform == ((),)
    )


def _is_known_matrix(axis: AxisMatrix, labels: int) -> bool:
    """Tell whether a matrix is of a known kind, and has integers for all labels, and no other."""
    rows = axis.entries
    if axis.kind in {AxisKind.EACH, AxisKind.CENTRED}:
        return rows == ()
    if axis.kind is AxisKind.TREE:
        return len(rows) == 1 and _is_nested(rows[0])
    whole = all(len(row) == labels and all(type(entry) is int for entry in row) for row in rows)
    if axis.kind is AxisKind.RUNNING:
        return whole and len(rows) == 1 and rows[0][0] > 0
    if axis.kind is AxisKind.SCALED:
        return whole and len(rows) == 2 and rows[0][0] > 0 and min(rows[1]) > 0
    return whole and axis.kind is AxisKind.BASIS and len(rows) > 0


def _is_nested(widths: tuple[int, ...]) -> bool:
    """Tell whether nodes of a tree are labels, and then whole nodes of the level before."""
    return (
        all(type(width) is int for width in widths)
        and widths[:1] == (1,)
        and all(width > before and width % before == 0 for before, width in pairwise(widths))
    )


MIXED: Rules[Step] = (
    Rule(
        "a step that mixes cells along axes releases noisy numbers",
        lambda step: step.form is Form.NUMBERS,
    ),
    Rule("a step that mixes cells along axes selects no keys", lambda step: step.threshold is None),
    Rule(
        "a step that mixes cells along axes counts the records of each cell once",
        lambda step: (
            step.points is not None
            or (
                step.measures == (Measure(MeasureKind.RECORDS, None, step.query.where),)
                and step.transform == ((1,),)
            )
        ),
    ),
    Rule(
        "records are counted by the values of a grid with bounds, without measures or an axis",
        lambda step: step.points is None or _is_counting_values(step, step.points),
    ),
    Rule(
        "groups that are mixed are public",
        lambda step: not any(group.private for group in step.query.groups_and_axis),
    ),
    Rule(
        "there is a matrix for each group and for the axis, or none",
        lambda step: len(step.axes) == len(step.sizes),
    ),
    Rule(
        "each matrix has integers for all labels of its axis, and the content of its kind",
        lambda step: all(
            _is_known_matrix(axis, labels)
            for axis, labels in zip(step.axes, step.sizes, strict=True)
        ),
    ),
)
