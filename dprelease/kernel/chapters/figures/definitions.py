"""What the step of a query releases, by the definition of its statistic.

A figure is only the spec's if the integers behind it are: the measures of the query's own column,
filter and weight, put together as its statistic says. That is written out here once more, from the
query and the release's columns alone. Steps of strategies are of no query of the spec: of these
``strategy_steps`` says what they count, and ``combined_reads`` that figures are made of it rightly.

*Sums of a column*, k on a grid from L to U, w the weight, t = k - L and s = U - k. A mean releases
the sums of w t and w s; a variance those of s^2, 2ts and t^2. Other statistics of the column may be
read from these, and a count of records, if one more sum is that of the records without a value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple

from msgspec.structs import replace

from dprelease.kernel.core.chapters import is_of_strategy
from dprelease.kernel.core.rules import Breach, Rule, Rules, find_breaches, name_steps
from dprelease.kernel.core.step_forms import is_grid
from dprelease.model import (
    AxisKind,
    AxisMatrix,
    Column,
    Expression,
    Form,
    Grid,
    Measure,
    MeasureKind,
    NoiseFamily,
    Part,
    Plan,
    Quantity,
    Query,
    Release,
    Step,
)

SQUARED = ("variance", "stddev")
RANKS = ("quantile", "median", "min", "max")
NAMES = ("mode", "top_k")
ALONG_AXES = {
    "cumulative": (AxisKind.RUNNING, AxisKind.SCALED, AxisKind.TREE),
    "density": (AxisKind.BASIS,),
    **dict.fromkeys(RANKS, (AxisKind.TREE,)),
}
OF_LAST_GROUPS = ("histogram", "cumulative", "density")
"""Statistics whose last groups are their own columns."""
FIXED = {
    "median": (Fraction(1, 2),), "min": (Fraction(1, 100),), "max": (Fraction(99, 100),)
}  # fmt: skip
"""The quantiles that a statistic stands for."""

Details = Mapping[str, object]
"""Fields of a query that only some statistics have, and what stands there if it has none."""

OF_COLUMN: Details = {"column": None}
RANKED: Details = {**OF_COLUMN, "quantiles": (), "points": None}
PARTS: Details = {"numerator": None, "denominator": None}
CHOSEN: Details = {**OF_COLUMN, "axis": None, "picks": 1}
OWN: Details = {"own": None}
SCALED: Details = {"clip": None}
DETAILS: Details = {
    **RANKED,
    **PARTS,
    **CHOSEN,
    **OWN,
    **SCALED,
    "candidates": None,
    "curve": (),
    "among": None,
}
WAVE = 1 << 12
"""The length of the columns of a curve's waves, and so how many integers are one record."""

NOISES = {
    "laplace": {NoiseFamily.LAPLACE, NoiseFamily.PERMUTE_AND_FLIP},
    "gaussian": {NoiseFamily.GAUSSIAN},
    "exponential": {NoiseFamily.EXPONENTIAL},
}
"""The laws of noise that a spec asks for by name."""

_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_ONE = Fraction(1)


class Content(NamedTuple):
    """What is released of each cell, whatever its noise: fields of a step."""

    form: Form
    measures: tuple[Measure, ...]
    transform: tuple[tuple[int, ...], ...] = ((1,),)
    unit: tuple[Fraction, ...] = (_ONE,)
    points: Quantity | None = None
    survey_weight: Quantity | None = None


def find_definition_breaches(plan: Plan) -> Iterator[Breach]:
    """Give what queries ask of other columns than the release's, and steps beside their query."""
    for query in plan.release.queries:
        yield from find_breaches(QUERY, (query, plan.release), f'query "{query.name}"')
    for name, step in name_steps(plan):
        if not is_of_strategy(step):
            yield from find_breaches(DEFINED, step, name)


def has_noise_as_asked(query: Query, step: Step) -> bool:
    """Tell whether the noise of a step is of the mechanism that a query names."""
    family = step.noise.family
    return family is NoiseFamily.NONE or family in NOISES.get(query.mechanism, {family})


def is_own_content(step: Step, query: Query) -> bool:
    """Tell whether a step releases what the statistic of the query is read from by itself."""
    return _describe_content(step) in iter_own_contents(query, step)


def _describe_content(step: Step) -> Content:
    return Content(
        step.form, step.measures, step.transform, step.unit, step.points, step.survey_weight
    )


# --- definitions ---------------------------------------------------------------------------------


def build_quantity(column: Column | None) -> Quantity | None:
    """Put a column on its grid, with what stands for a null; None for a column that has no grid."""
    if column is None or column.grid is None or not is_grid(column.grid):
        return None
    grid, text = column.grid, column.null_value
    if text is None:
        return Quantity(column.name, grid)
    text = {"true": "1", "false": "0"}.get(text, text)
    if not _NUMBER.fullmatch(text):
        return None
    return Quantity(
        column.name, grid, min(max(round(Fraction(text) / grid.step), grid.lower), grid.upper)
    )


def iter_own_contents(query: Query, step: Step) -> Iterator[Content]:
    """Give what the statistic of a query may release: nothing for one that is not defined."""
    definition = DEFINITIONS.get(query.statistic)
    return iter(()) if definition is None else definition.contents(query, step)


def _compute_step_value(query: Query) -> Fraction:
    """Compute what one step of a sum of records is: of survey weights, one of theirs."""
    weight = build_quantity(query.survey_weight)
    return _ONE if weight is None else weight.grid.step


def _measure_records(query: Query) -> Measure:
    weight = build_quantity(query.survey_weight)
    return Measure(MeasureKind.RECORDS, None, query.where, survey_weight=weight)


def _count(query: Query, step: Step) -> Iterator[Content]:
    yield Content(Form.NUMBERS, (_measure_records(query),), unit=(_compute_step_value(query),))


def _iter_unit_contents(query: Query, step: Step) -> Iterator[Content]:
    yield Content(Form.NUMBERS, (Measure(MeasureKind.UNITS, None, query.where),))


def _iter_distinct_contents(query: Query, step: Step) -> Iterator[Content]:
    if query.column is not None:
        distinct = Measure(MeasureKind.DISTINCT, None, query.where, query.column.name)
        yield Content(Form.NUMBERS, (distinct,))


def _iter_mixed_contents(query: Query, step: Step) -> Iterator[Content]:
    yield Content(Form.NUMBERS, (_measure_records(query),), unit=(_compute_mixed_unit(step.axes),))


def _iter_name_contents(query: Query, step: Step) -> Iterator[Content]:
    yield from (Content(form, (_measure_records(query),)) for form in (Form.NUMBERS, Form.CHOICE))


def _iter_best_contents(query: Query, step: Step) -> Iterator[Content]:
    if query.candidates is not None:
        yield Content(Form.CHOICE, (), ((),), (query.candidates.grid.step,))


def _sum(query: Query, step: Step) -> Iterator[Content]:
    quantity, weight = build_quantity(query.column), build_quantity(query.survey_weight)
    if quantity is not None:
        total = Measure(MeasureKind.SUM, quantity, query.where, survey_weight=weight)
        yield Content(
            Form.NUMBERS, (total,), unit=(quantity.grid.step * _compute_step_value(query),)
        )


def _iter_moment_contents(query: Query, step: Step) -> Iterator[Content]:
    quantity = build_quantity(query.column)
    if quantity is not None:
        yield _build_sums_content(query, quantity, squared=query.statistic in SQUARED)


def _iter_rank_contents(query: Query, step: Step) -> Iterator[Content]:
    quantity, weight = build_quantity(query.column), build_quantity(query.survey_weight)
    if quantity is not None:
        count = len(query.quantiles)
        units = (quantity.grid.step,) * count
        yield Content(Form.QUANTILES, (), ((),) * count, units, quantity, weight)
        # What else a step that counts values may have is for the chapter on strategies.
        yield Content(Form.NUMBERS, (), ((),), (_ONE,), quantity)


def _share(query: Query, step: Step) -> Iterator[Content]:
    """Define the records that fulfil the condition, and the others or those where it is known."""
    part, among = query.numerator, query.among
    records, worth = _measure_records(query), _compute_step_value(query)
    if part is None or part.where is None or (part.column, query.denominator) != (None, Part()):
        return
    numerator = replace(records, where=restrict_filter(query.where, part.where))
    if among is None:
        yield Content(Form.NUMBERS, (numerator, records), ((1, 0), (-1, 1)), (worth, worth))
    elif among == replace(part.where, text=f"({part.where.text}) IS NOT NULL"):
        every = replace(records, where=restrict_filter(query.where, among))
        yield Content(Form.NUMBERS, (every, numerator), ((0, 1), (1, -1)), (worth, worth))


def _iter_ratio_contents(query: Query, step: Step) -> Iterator[Content]:
    """Iterate both parts, each times a factor of the planner, by which it is divided again."""
    worth = _compute_step_value(query)
    parts = [
        _measure_part(query, part)
        for part in (query.numerator, query.denominator)
        if part is not None
    ]
    measured_parts = [part for part in parts if part is not None]
    diagonal = [row[place] for place, row in enumerate(step.transform) if place < len(row)]
    if len(measured_parts) == len(diagonal) == 2 and min(diagonal) >= 1:
        ((above, first), (below, second)), (first_factor, second_factor) = measured_parts, diagonal
        yield Content(
            Form.NUMBERS,
            (above, below),
            ((first_factor, 0), (0, second_factor)),
            (first * worth / first_factor, second * worth / second_factor),
        )


def _measure_part(query: Query, part: Part) -> tuple[Measure, Fraction] | None:
    """Define the measure of a part of a ratio, and what one step of it is worth without weights."""
    where, weight = restrict_filter(query.where, part.where), build_quantity(query.survey_weight)
    if part.column is None:
        return Measure(MeasureKind.RECORDS, None, where, survey_weight=weight), _ONE
    quantity = build_quantity(part.column)
    if quantity is None:
        return None
    measure = Measure(MeasureKind.SUM, quantity, where, survey_weight=weight)
    return measure, quantity.grid.step


def restrict_filter(where: Expression | None, part: Expression | None) -> Expression | None:
    """Restrict the filter of a part of a ratio or share to rows that pass the query's."""
    if where is None or part is None:
        return where or part
    columns = tuple(dict.fromkeys((*where.columns, *part.columns)))
    return Expression(f"({where.text}) AND ({part.text})", columns)


MOMENT_KINDS = (MeasureKind.VALUES, MeasureKind.SUM, MeasureKind.SQUARES)


def list_moment_rows(grid: Grid, *, squared: bool) -> list[tuple[int, ...]]:
    """List the factors of ``MOMENT_KINDS`` in the sums of t and s, or of s^2, 2ts and t^2."""
    low, high = grid.lower, grid.upper
    if not squared:
        return [(-low, 1), (high, -1)]
    return [
        (high**2, -2 * high, 1),
        (-2 * low * high, 2 * (low + high), -2),
        (low**2, -2 * low, 1),
    ]


def _build_sums_content(
    query: Query, quantity: Quantity, *, squared: bool, nulls: bool = False
) -> Content:
    """Define the sums of t and s, or of s^2, 2ts and t^2; and that of records without a value."""
    grid, weight = quantity.grid, build_quantity(query.survey_weight)
    kinds, rows = MOMENT_KINDS[: 2 + squared], list_moment_rows(grid, squared=squared)
    width, unit = grid.width, grid.step * (_ONE if weight is None else weight.grid.step)
    if squared:
        width, unit = width**2, grid.step**2
    measures = [Measure(kind, quantity, query.where, survey_weight=weight) for kind in kinds]
    if nulls:
        measures.append(Measure(MeasureKind.RECORDS, None, query.where))
        missing = (-width, *(0 for _ in kinds[1:]), width)
        rows = [*((*row, 0) for row in rows), missing]
    return Content(Form.NUMBERS, tuple(measures), tuple(rows), (unit,) * len(rows))


def _iter_shared(query: Query) -> Iterator[Content]:
    """Give what several statistics of the query's column may be read from."""
    quantity = build_quantity(query.column)
    if quantity is not None and query.survey_weight is None:
        for squared in (False, True):
            for nulls in (False, True):
                yield _build_sums_content(query, quantity, squared=squared, nulls=nulls)


def _compute_mixed_unit(axes: tuple[AxisMatrix, ...]) -> Fraction:
    """Compute what one integer of cells mixed along axes is of a record."""
    unit = _ONE
    for axis in axes:
        if axis.kind is AxisKind.RUNNING:
            unit /= max(1, axis.entries[0][0])
        elif axis.kind is AxisKind.SCALED:
            unit /= max(1, axis.entries[0][0] * axis.entries[1][0])
        elif axis.kind is AxisKind.BASIS and {entry for row in axis.entries for entry in row} - {
            0,
            1,
        }:
            unit /= WAVE
    return unit


class Definition(NamedTuple):
    """A statistic as certification knows it: a second time, beside the statistic's own file."""

    takes: Details
    """The fields of a query that it has, of those that only some statistics have."""
    contents: Callable[[Query, Step], Iterator[Content]]
    """What a step of a query may release; which of several is the planner's choice."""


DEFINITIONS: dict[str, Definition] = {
    "count": Definition(SCALED, _count),
    "histogram": Definition(OF_COLUMN, _count),
    "count_units": Definition({}, _iter_unit_contents),
    "count_distinct": Definition(OF_COLUMN, _iter_distinct_contents),
    "sum": Definition({**OF_COLUMN, **SCALED}, _sum),
    **dict.fromkeys(("mean", *SQUARED), Definition(OF_COLUMN, _iter_moment_contents)),
    **dict.fromkeys(RANKS, Definition(RANKED, _iter_rank_contents)),
    "ratio": Definition(PARTS, _iter_ratio_contents),
    "proportion": Definition({**PARTS, "among": None}, _share),
    **dict.fromkeys(NAMES, Definition(CHOSEN, _iter_name_contents)),
    "best": Definition({"candidates": None}, _iter_best_contents),
    "cumulative": Definition({**OF_COLUMN, "quantiles": ()}, _iter_mixed_contents),
    "density": Definition({**OF_COLUMN, "curve": ()}, _iter_mixed_contents),
}


# --- rules ---------------------------------------------------------------------------------------


def _has_declared_columns(planned: tuple[Query, Release]) -> bool:
    """Tell whether columns are as the release declares them, and groups of their type."""
    query, release = planned
    declared = release.columns
    parts = [part.column for part in (query.numerator, query.denominator) if part is not None]
    curve = [axis.column for axis in query.curve]
    columns = (query.column, query.survey_weight, *parts, *curve)
    groups = query.groups_and_axis
    return all(column is None or declared.get(column.name) == column for column in columns) and all(
        group.column in declared and declared[group.column].type is group.type for group in groups
    )


def _is_along_own_columns(query: Query) -> bool:
    """Tell whether a statistic chooses from, or follows in order, values of its own columns."""
    own = [query.column.name] if query.column is not None else []
    if query.statistic in NAMES:
        return query.axis is not None and own == [query.axis.column]
    if query.statistic == "density":
        own = [axis.column.name for axis in query.curve]
    last = query.groups[-len(own) :] if own else ()
    if query.statistic in OF_LAST_GROUPS and (not own or own != [group.column for group in last]):
        return False
    bins = [len(axis.centres) for axis in query.curve]
    if query.statistic != "density":
        return True
    is_named = query.column is None or query.column.name in own
    return is_named and bins == [len(group.labels) for group in last]


def _has_no_other_details(query: Query) -> bool:
    definition = DEFINITIONS.get(query.statistic)
    return definition is not None and all(
        getattr(query, name) == none
        for name, none in DETAILS.items()
        if name not in definition.takes
    )


QUERY: Rules[tuple[Query, Release]] = (
    Rule(
        "it has the details that its statistic takes, and no others",
        lambda case: _has_no_other_details(case[0]),
    ),
    Rule("its columns are those that the release declares", _has_declared_columns),
    Rule(
        "the labels and bins of a statistic belong to its own columns",
        lambda case: _is_along_own_columns(case[0]),
    ),
    Rule(
        "quantiles that are read from counts along a column are between 0 and 1",
        lambda case: case[0].statistic in RANKS or all(0 < q < 1 for q in case[0].quantiles),
    ),
    Rule(
        "a median, minimum or maximum is the quantile that it stands for",
        lambda case: case[0].quantiles == FIXED.get(case[0].statistic, case[0].quantiles),
    ),
)


def _is_mixed_along_own_axes(step: Step) -> bool:
    """Tell whether cells are mixed along the statistic's own columns, by matrices of its kind."""
    query = step.query
    if not step.axes:
        return query.statistic != "density"
    own = len(query.curve) if query.statistic == "density" else 1
    kinds = [axis.kind for axis in step.axes]
    if all(
        kinds != [*(AxisKind.EACH,) * (len(kinds) - own), *(kind,) * own]
        for kind in ALONG_AXES.get(query.statistic, ())
    ):
        return False
    return all(
        any(column) for axis in step.axes[-own:] for column in zip(*axis.entries, strict=True)
    )


def _is_defined(step: Step) -> bool:
    content = _describe_content(step)
    return content in iter_own_contents(step.query, step) or content in _iter_shared(step.query)


DEFINED: Rules[Step] = (
    Rule(
        "cells are mixed along a statistic's own columns alone, each of them",
        _is_mixed_along_own_axes,
    ),
    Rule(
        "it releases the content of its query's statistic, or the sums of its column", _is_defined
    ),
)
