"""Whether each query is read from a release of what it asks for.

How figures are made of noisy integers costs no privacy. But a count that was read from a release
with another filter, or a sum with wrong factors, would be published with an interval that is wrong.
So what is read is written out again: as a combination of measures of records, compared with
what the statistic is by its definition.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from msgspec import Struct

from dprelease.kernel.chapters.figures.combined_reads import find_combined_breaches
from dprelease.kernel.chapters.figures.definitions import (
    MOMENT_KINDS,
    SQUARED,
    has_noise_as_asked,
    is_own_content,
    list_moment_rows,
)
from dprelease.kernel.core.rules import Breach, Rule, Rules, find_breaches
from dprelease.model import (
    Form,
    Group,
    MeasureKind,
    NoiseFamily,
    Plan,
    Quantity,
    Query,
    Read,
    Reading,
    Step,
)

Combination = Mapping[MeasureKind, Fraction]


class _ReadStep(Struct, frozen=True):
    """A query's figures, and the step whose released integers they are made of."""

    read: Read
    step: Step

    @property
    def quantity(self) -> Quantity | None:
        """The quantity of the step's measures: all have the same one, or none."""
        quantities = (measure.quantity for measure in self.step.measures)
        return next((quantity for quantity in quantities if quantity is not None), None)

    @property
    def combinations(self) -> list[Combination]:
        """Collect what of each measure is in each integer that is read."""
        measures = [{measure.kind: Fraction(1)} for measure in self.step.measures]
        return [_add_up_cells(measures, self.step.transform[row]) for row in self.read.rows]


def find_read_breaches(plan: Plan) -> Iterator[Breach]:
    """Give what does not hold of the figures of each query. The steps mean what they say."""
    steps = {step.query.name: step for step in plan.steps}
    for read in plan.reads:
        figures = _ReadStep(read, steps[read.step])
        name = f'the figures of "{read.query.name}"'
        yield from find_breaches(NOISE, (read.query, [steps[step] for step in read.steps]), name)
        if read.reading is Reading.COMBINED:
            bounded = plan.release.privacy.bounding is not None
            yield from find_combined_breaches(read, steps, name, bounded=bounded)
            continue
        yield from find_breaches(ONE_STEP, figures, name)
        if read.rows == ():
            yield from find_breaches(OWN, figures, name)
            continue
        yield from find_breaches(SHARED, figures, name)
        linear = read.reading is Reading.LINEAR
        yield from find_breaches(LINEAR if linear else MOMENTS, figures, name)


def _identify_figure(query: Query) -> tuple[object, ...]:
    """Collect all that a figure depends on but the noise."""
    return (
        query.statistic, query.groups, query.column, query.where, query.quantiles, query.points,
        query.picks, query.axis, query.candidates, query.numerator, query.denominator,
        query.table if query.private else "", query.survey_weight, query.among,
    )  # fmt: skip


def _is_plain(figures: _ReadStep) -> bool:
    read = figures.read
    return not (read.factors or read.merged or read.screened)


NOISE: Rules[tuple[Query, list[Step]]] = (
    Rule(
        "their noise comes from the mechanism that the spec asks for",
        lambda case: all(has_noise_as_asked(case[0], step) for step in case[1]),
    ),
)
ONE_STEP: Rules[_ReadStep] = (
    Rule("only combined figures have terms", lambda case: not case.read.terms),
    Rule("only combined figures are rounded to decimals", lambda case: case.read.decimals == 0),
    Rule(
        "cells that are mixed along axes are read by their own query alone",
        lambda case: not case.step.axes or case.read.rows == (),
    ),
    Rule(
        "integers that have noise together are read by combined figures alone",
        lambda case: case.step.noise.family is not NoiseFamily.CUBE,
    ),
)
OWN: Rules[_ReadStep] = (
    Rule(
        "figures that are not read from chosen integers are read as their own",
        lambda case: case.read.reading is Reading.OWN,
    ),
    Rule("a query's own figures have no factors, sums over groups or screens", _is_plain),
    Rule(
        "the query asks for the same figure as the step",
        lambda case: _identify_figure(case.read.query) == _identify_figure(case.step.query),
    ),
    Rule(
        "the step releases the content of the query's statistic",
        lambda case: is_own_content(case.step, case.read.query),
    ),
)

# --- integers of another query's step ------------------------------------------------------------


def _list_added_groups(figures: _ReadStep) -> list[Group]:
    groups = figures.step.query.groups
    return [groups[place] for place in figures.read.merged if 0 <= place < len(groups)]


def _has_groups_of_step(figures: _ReadStep) -> bool:
    """Tell whether the query's groups are the step's, but for those added up."""
    merged = figures.read.merged
    groups = enumerate(figures.step.query.groups)
    return figures.read.query.groups == tuple(g for place, g in groups if place not in merged)


def _is_of_column(figures: _ReadStep) -> bool:
    query = figures.read.query
    quantities = [measure.quantity for measure in figures.step.measures]
    columns = {quantity.column for quantity in quantities if quantity is not None}
    return query.statistic == "count" or (
        query.column is not None and columns == {query.column.name}
    )


SHARED: Rules[_ReadStep] = (
    Rule(
        "integers that are read are released",
        lambda case: all(0 <= row < len(case.step.transform) for row in case.read.rows),
    ),
    Rule(
        "integers of weighted records are read by their own query alone",
        lambda case: (
            case.read.query.survey_weight is None
            and all(measure.survey_weight is None for measure in case.step.measures)
        ),
    ),
    Rule(
        "integers are read from a step that releases noisy numbers",
        lambda case: case.step.form is Form.NUMBERS,
    ),
    Rule(
        "integers are not read by the labels of an axis", lambda case: case.step.query.axis is None
    ),
    Rule(
        "private keys belong to the query's table",
        lambda case: not case.read.query.private or case.read.query.table == case.step.query.table,
    ),
    Rule(
        "the groups that are added up are groups of the step, each once",
        lambda case: (
            len(_list_added_groups(case)) == len(set(case.read.merged)) == len(case.read.merged)
        ),
    ),
    Rule("the other groups are the groups of the query", _has_groups_of_step),
    Rule(
        "groups that are added up have a label for every record",
        lambda case: all(
            g.other is not None and g.null_label is not None for g in _list_added_groups(case)
        ),
    ),
    Rule(
        "only counts are added up over groups",
        lambda case: not case.read.merged or case.read.query.statistic == "count",
    ),
    Rule(
        "the step counts the records of the query's filter",
        lambda case: all(measure.where == case.read.query.where for measure in case.step.measures),
    ),
    Rule("the step uses the query's column", _is_of_column),
    Rule("no integer is read twice", lambda case: len(set(case.read.rows)) == len(case.read.rows)),
)

# --- what the statistics are by their definitions ------------------------------------------------


def _is_count_or_sum(figures: _ReadStep) -> bool:
    """Tell whether the combination is the number of records, or the sum of the column."""
    read, step = figures.read, figures.step
    combination = _add_up_cells(figures.combinations, read.factors)
    quantities = [measure.quantity for measure in step.measures if measure.quantity is not None]
    if read.query.statistic == "sum":
        grids = {quantity.grid for quantity in quantities}
        return len(grids) == 1 and combination == {MeasureKind.SUM: grids.pop().step}
    if read.query.statistic != "count":
        return False
    everybody = bool(quantities) and all(quantity.null_fill is not None for quantity in quantities)
    return combination == {MeasureKind.RECORDS: 1} or (
        everybody and combination == {MeasureKind.VALUES: 1}
    )


def _is_screening_missing_values(figures: _ReadStep) -> bool:
    """Tell whether the number of records without a value, at the end of a count, is screened."""
    read = figures.read
    if not read.screened:
        return True
    last = _add_up_cells(figures.combinations[-1:], read.factors[-1:])
    missing = {MeasureKind.RECORDS: Fraction(1), MeasureKind.VALUES: Fraction(-1)}
    return read.query.statistic == "count" and last == missing


def _are_moments(figures: _ReadStep) -> bool:
    """Tell whether the integers are the terms of a mean or of a variance, and read as such."""
    statistic, quantity = figures.read.query.statistic, figures.quantity
    if quantity is None:
        return False
    if figures.read.reading is Reading.MOMENTS:
        degree = 2 if statistic == "mean" else 0
    else:
        degree = 1 if statistic == "mean" else 2 if statistic in SQUARED else 0
    rows = list_moment_rows(quantity.grid, squared=degree == 2)
    moments = [
        {kind: factor for kind, factor in zip(MOMENT_KINDS, row, strict=False) if factor}
        for row in rows
    ]
    return degree > 0 and figures.combinations == moments


LINEAR: Rules[_ReadStep] = (
    Rule(
        "there is a factor for each integer that is read",
        lambda case: len(case.read.factors) == len(case.read.rows),
    ),
    Rule("the combination of integers is the count or sum of the query", _is_count_or_sum),
    Rule("the screen is a count of records without a value", _is_screening_missing_values),
)
MOMENTS: Rules[_ReadStep] = (
    Rule("moments have no factors, sums over groups or screens", _is_plain),
    Rule("the integers are the moments of the query's statistic", _are_moments),
)


def _add_up_cells(rows: Sequence[Combination], factors: Sequence[Fraction | int]) -> Combination:
    total: dict[MeasureKind, Fraction] = {}
    for row, factor in zip(rows, factors, strict=True):
        for kind, amount in row.items():
            total[kind] = total.get(kind, Fraction(0)) + factor * amount
    return {kind: amount for kind, amount in total.items() if amount}
