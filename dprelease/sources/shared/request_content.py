"""Content that a request reads of each record: in canonical order, as codes, in grid steps.

The canonical order decides which of a unit's rows come first. It is the same in every engine, and
so are the floating-point operations that put a double on a grid.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from dprelease.model import (
    AggregateRequest,
    Expression,
    Grid,
    Group,
    Measure,
    MeasureKind,
    Quantity,
    RecordRequest,
)
from dprelease.sources.shared.data_failures import build_data_failure

T = TypeVar("T")


class Content(Struct, frozen=True):
    """Content of a row that a request reads; rows have a canonical order by these in turn.

    1. the row-major number of the cell among the public ones of the leading groups,
    2. the private keys of leading groups, at these places among the groups,
    3. if there are ``later`` groups: the number among their public cells, null if one of them has
       no label for the row,
    4. the private keys of later groups,
    5. quantities, as grid integers, survey weights last,
    6. conditions: whether each holds; where it is null it doesn't,
    7. typed values of columns that are counted or scored.

    Nulls come first, false before true, texts by code point, all else by size. Rows equal in all of
    it add the same to every answer, so it doesn't matter which of them comes first.
    """

    leading: int
    leading_keys: tuple[int, ...]
    later: bool
    later_keys: tuple[int, ...]
    quantities: tuple[Quantity, ...]
    conditions: tuple[Expression, ...]
    values: tuple[str, ...]


def collect_content(request: AggregateRequest) -> Content:
    """Collect what the request reads of a row: quantities, conditions, columns, each once."""
    leading, measures = count_leading_groups(request), request.measures
    private = [place for place, group in enumerate(request.groups) if group.private]
    columns = [m.column for m in measures if m.kind is MeasureKind.DISTINCT]
    if request.scores is not None:
        names = {column.name for column in request.inputs} - {"candidate"}
        columns += [name for name in request.scores.score.columns if name in names]
    return Content(
        leading,
        tuple(place for place in private if place < leading),
        leading < len(request.groups),
        tuple(place for place in private if place >= leading),
        _remove_duplicates(
            [
                *(m.quantity for m in measures),
                request.points,
                *(m.survey_weight for m in measures),
                request.survey_weight,
            ]
        ),
        _remove_duplicates(m.where for m in measures),
        _remove_duplicates(columns),
    )


def _remove_duplicates(values: Iterable[T | None]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(value for value in values if value is not None))


def count_leading_groups(request: AggregateRequest) -> int:
    """Count the groups that make the cells in which units are bounded."""
    return len(request.groups) if request.bound is None else request.bound.leading


def find_distinct_places(request: AggregateRequest) -> tuple[int, ...]:
    """Find the measures of distinct values, which don't add up over records."""
    places = enumerate(request.measures)
    return tuple(place for place, m in places if m.kind is MeasureKind.DISTINCT)


def find_additive_places(request: AggregateRequest) -> tuple[int, ...] | None:
    """Find the measures that are sums over records.

    Returns:
        Places of measures; for scores one sum, for points none. None if only distinct values are
        counted.
    """
    if request.points is not None or request.scores is not None:
        return () if request.scores is None else (0,)
    others = find_distinct_places(request)
    if others and len(others) == len(request.measures):
        return None
    return tuple(place for place in range(len(request.measures)) if place not in others)


def count_held_integers(request: AggregateRequest) -> int:
    """Bound how many integers are counted at once."""
    cells = prod(len(group.labels) for group in request.groups if not group.private)
    candidates = 1 if request.scores is None else len(request.scores.texts)
    return cells * (len(request.measures) + 2) * candidates


NO_LABEL = -1
"""The code of a record without a label."""


def build_aggregate(request: RecordRequest) -> AggregateRequest:
    """Build the aggregate that reads the same of each record.

    Args:
        request: Its groups and quantities become those of the aggregate, in order.

    Raises:
        ValueError: A column has private keys, or a quantity has no value for nulls.
    """
    groups = tuple(column for column in request.columns if isinstance(column, Group))
    quantities = [column for column in request.columns if isinstance(column, Quantity)]
    if not request.columns or any(group.private for group in groups):
        raise ValueError("every column of records has declared labels, or a grid")
    if any(quantity.null_fill is None for quantity in quantities):
        raise ValueError("a grid integer of a record is never missing")
    measures = tuple(Measure(MeasureKind.SUM, quantity) for quantity in dict.fromkeys(quantities))
    bound = None if request.bound is None else replace(request.bound, leading=0)
    return AggregateRequest(request.source, request.inputs, groups, measures, bound=bound)


def compute_scale(grid: Grid) -> tuple[float, float]:
    """Compute q and p of a grid step p/q, as doubles.

    A value x has the grid position ``x * q / p``, computed in this order in double precision, then
    rounded half to even and clamped to the bounds.

    Raises:
        Failure: Exit code 4 if q or p is beyond a double.
    """
    try:
        return float(grid.step.denominator), float(grid.step.numerator)
    except OverflowError:
        raise build_data_failure("E411", "a step has too many digits to be applied") from None
