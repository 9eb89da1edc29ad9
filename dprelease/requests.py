"""From planned steps to what an engine is asked: one request for each distinct set of groups."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dprelease.model import AggregateRequest, Group, InputColumn, Measure, Release, Step


@dataclass(frozen=True, slots=True)
class Job:
    """A request and the steps it serves; ``positions[i]`` are step i's measures in the request."""

    request: AggregateRequest
    steps: tuple[Step, ...]
    positions: tuple[tuple[int, ...], ...]


def jobs_of(release: Release, steps: Iterable[Step]) -> list[Job]:
    """Gather the steps that share their groups, each measure asked once."""
    by_groups: dict[tuple[Group, ...], list[Step]] = {}
    for step in steps:
        by_groups.setdefault(step.query.groups, []).append(step)
    return [_job(release, groups, members) for groups, members in by_groups.items()]


def _job(release: Release, groups: tuple[Group, ...], steps: list[Step]) -> Job:
    measures: dict[Measure, int] = {}
    positions = tuple(
        tuple(measures.setdefault(measure, len(measures)) for measure in step.measures)
        for step in steps
    )
    request = AggregateRequest(
        source=release.data.source,
        inputs=inputs_of(release, groups, measures),
        groups=groups,
        measures=tuple(measures),
    )
    return Job(request, tuple(steps), positions)


def inputs_of(
    release: Release, groups: Iterable[Group], measures: Iterable[Measure]
) -> tuple[InputColumn, ...]:
    """List the columns that are read, those that expressions read included, in declared order."""
    wanted = {group.column for group in groups}
    for measure in measures:
        if measure.quantity is not None:
            wanted.add(measure.quantity.column)
        if measure.where is not None:
            wanted.update(measure.where.columns)
    for name in tuple(wanted):
        expression = release.columns[name].expression
        if expression is not None:
            wanted.update(expression.columns)
    return tuple(
        InputColumn(column.name, column.type, column.expression)
        for column in release.columns.values()
        if column.name in wanted
    )


def all_inputs(release: Release) -> tuple[InputColumn, ...]:
    """List every declared column: the structure check wants them all."""
    return tuple(
        InputColumn(column.name, column.type, column.expression)
        for column in release.columns.values()
    )
