"""From planned steps to what an engine is asked.

Steps that read the same rows in the same cells share a request. Where a unit has many rows, what is
kept of them depends on the filter and the groups, so that steps with other filters ask anew.
Choices and quantiles ask for themselves, and so do steps that scale a person's totals. Steps that
add up are parts of few tables (``joined_tables``).
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from dprelease.kernel.core.joined_tables import plan_joined_groups
from dprelease.model import (
    AggregateRequest,
    Bound,
    Clip,
    ColumnType,
    Expression,
    Group,
    InputColumn,
    Measure,
    RecordRequest,
    RecordStep,
    Release,
    Step,
)


class Job(Struct, frozen=True):
    """A request and the steps it serves; ``positions[i]`` are step i's measures in the request.

    ``places[i]`` are step i's groups, completed, in the request's: over the others its cells are
    added up, and labels that it has not itself are left out. None: it has the request's cells.
    """

    request: AggregateRequest
    steps: tuple[Step, ...]
    positions: tuple[tuple[int, ...], ...]
    places: tuple[tuple[int, ...] | None, ...]


class _Rows(Struct, frozen=True):
    """Which rows a step reads, and in which cells they are counted."""

    table: str | None  # of private keys: each table selects its own
    groups: tuple[Group, ...]
    leading: int
    where: Expression | None
    alone: str | None  # the name of a step that asks for itself
    clip: Clip | None  # what each unit's totals are scaled to


def build_jobs(release: Release, steps: Iterable[Step], salt: int = 0) -> list[Job]:
    """Gather the steps that share their rows, each measure asked once.

    ``salt`` picks the rows that are kept of a unit with too many. Of each table the job with the
    step that selects private keys comes first.
    """
    people = release.privacy.bounding is not None
    ordered = sorted(steps, key=lambda step: step.threshold is None)
    joined = plan_joined_groups(ordered, people=people)
    by_rows: dict[_Rows, list[Step]] = {}
    for step in ordered:
        query = step.query
        alone = step.points is not None or query.candidates is not None
        groups = joined.get(query.name, query.groups_and_axis)
        filtered = people or alone or query.numerator is not None or query.axis is not None
        rows = _Rows(
            query.table if query.private else None,
            groups,
            len(groups) if query.name in joined else len(query.groups),
            query.where if filtered else None,
            query.name if alone or query.clip is not None else None,
            query.clip,
        )
        by_rows.setdefault(rows, []).append(step)
    return [_build_job(release, rows, members, salt) for rows, members in by_rows.items()]


def _build_job(release: Release, rows: _Rows, steps: list[Step], salt: int) -> Job:
    measures: dict[Measure, int] = {}
    positions: list[tuple[int, ...]] = []
    places: list[tuple[int, ...] | None] = []
    for step in steps:
        # The rows have passed the common filter already.
        own = [replace(m, where=None) if m.where == rows.where else m for m in step.measures]
        positions.append(tuple(measures.setdefault(m, len(measures)) for m in own))
        groups = step.query.groups_and_axis
        if groups == rows.groups:
            places.append(None)
        else:
            places.append(tuple(rows.groups.index(group.complete()) for group in groups))
    alone = steps[0] if rows.alone is not None and rows.clip is None else None
    request = AggregateRequest(
        source=release.data.source,
        inputs=(),
        groups=rows.groups,
        measures=() if alone else tuple(measures),
        where=rows.where,
        bound=_bound(release, rows.leading, salt, rows.clip),
        scores=alone.query.candidates if alone else None,
        points=alone.points if alone else None,
        survey_weight=alone.survey_weight if alone else None,
    )
    request = replace(request, inputs=list_inputs(release, request))
    return Job(request, tuple(steps), tuple(positions), tuple(places))


def _bound(release: Release, leading: int, salt: int, clip: Clip | None = None) -> Bound | None:
    privacy, limits = release.privacy, release.privacy.bounding
    if limits is None or privacy.unit_column is None:
        return None
    column = release.columns.get(privacy.unit_column)
    null_unit = column is not None and column.null_value is not None
    kept = (limits.rows, limits.groups, limits.per_group) if clip is None else (0, 0, 0)
    return Bound(privacy.unit_column, *kept, leading, null_unit, salt, clip)


def record_request(release: Release, step: RecordStep, salt: int = 0) -> RecordRequest:
    """Ask for the codes of all records that a record-level table is made of."""
    domains = [entry.column.group or entry.column.quantity for entry in step.responses]
    bound = _bound(release, 0, salt)
    if bound is not None:  # all records lie in one cell, and only their number is bounded
        bound = replace(bound, groups=1, per_group=bound.rows)
    column_names = {entry.column.name for entry in step.responses}
    return RecordRequest(
        release.data.source,
        _read(release, column_names if bound is None else column_names | {bound.column}),
        tuple(entry for entry in domains if entry is not None),
        bound,
    )


def list_inputs(release: Release, request: AggregateRequest) -> tuple[InputColumn, ...]:
    """List the columns that are read, those that expressions read included, in declared order."""
    column_names = {group.column for group in request.groups}
    expressions = [request.where, *(measure.where for measure in request.measures)]
    for measure in request.measures:
        if measure.column is not None:
            column_names.add(measure.column)
    quantities = [request.points, request.survey_weight]
    for measure in request.measures:
        quantities += [measure.quantity, measure.survey_weight]
    for quantity in quantities:
        if quantity is not None:
            column_names.add(quantity.column)
    if request.scores is not None:
        expressions.append(request.scores.score)
    if request.bound is not None:
        column_names.add(request.bound.column)
    for expression in expressions:
        if expression is not None:
            column_names.update(expression.columns)
    return _read(release, column_names)


def _read(release: Release, column_names: set[str]) -> tuple[InputColumn, ...]:
    """Collect the wanted columns and, in turn, those that their expressions read."""
    needed_names, waiting = set(column_names), list(column_names)
    while waiting:
        column = release.columns.get(waiting.pop())
        if column is not None and column.expression is not None:
            waiting += set(column.expression.columns) - needed_names
            needed_names.update(column.expression.columns)
    return tuple(entry for entry in list_all_inputs(release) if entry.name in needed_names)


def list_all_inputs(release: Release) -> tuple[InputColumn, ...]:
    """List every declared column and the unit's: the structure check wants them all."""
    declared = tuple(
        InputColumn(column.name, column.type, column.expression, False, column.format, column.zone)
        for column in release.columns.values()
    )
    unit = release.privacy.unit_column
    if unit is None or unit in release.columns:
        return declared
    return (*declared, InputColumn(unit, ColumnType.STRING, opaque=True))
