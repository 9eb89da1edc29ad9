"""The columns of a density: their bins, the bandwidth, and the points of the curve."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from itertools import pairwise
from math import ceil, prod
from typing import NamedTuple

from dprelease.model import Column, ColumnType, CurveAxis, Grid, Group
from dprelease.specfile.checks.queries.groups import MAX_CELLS
from dprelease.specfile.checks.queries.query_context import SpecQuery
from dprelease.specfile.complaints.complaint_wording import format_count, show, show_fraction
from dprelease.specfile.complaints.reporter import Refused
from dprelease.specfile.keys.number_texts import PLACES, Points
from dprelease.statistics.density import BANDWIDTH
from dprelease.statistics.density import POINTS as POINTS_KEY
from dprelease.statistics.shared.spec_keys import COLUMNS_OF_TABLES
from dprelease.statistics.shared.statistic import find_null_fill

BINS = {1: 256, 2: 48}
"""The most bins of a column, by the number of columns."""

BANDWIDTHS = {1: 20, 2: 10}
"""By default the bandwidth is this part of the range."""

POINTS = {1: 100, 2: 20}
"""By default a column has so many points."""

_FARTHEST = "1" + "0" * 18
_PUBLIC = "declare keys or keys_file; a density can't have private keys"


class CurveParts(NamedTuple):
    """A column of a curve, and the group of its bins."""

    axis: CurveAxis
    group: Group


def read_curve(query: SpecQuery, by: Sequence[Group] | None) -> list[CurveParts] | None:
    """Make the columns of a density; None where one can't be made, with a complaint."""
    columns = _list_columns(query)
    for group in by or ():
        if group.private:
            message = f"{show(group.column)} has no public keys, but a density needs public groups"
            query.part.complain("E202", message, "by", hint=_PUBLIC)
            by = None
    if columns is None or not query.part.is_sound("bandwidth", "points"):
        return None
    grids = [column.grid for column in columns if column.grid is not None]
    if len(grids) < len(columns):
        return None
    number = len(columns)
    bandwidths, points = _read_bandwidths(query, grids), _read_all_points(query, grids)
    if bandwidths is None or points is None or by is None:
        return None
    if prod(len(group.labels) for group in by) * prod(map(len, points)) > MAX_CELLS:
        message = f"the groups and points make more than {MAX_CELLS} rows"
        query.part.complain("E222", message, "statistic", hint="fewer points, or fewer groups")
        return None
    return [
        _cut_grid(column, grid, BINS[number], bandwidth, tuple(values))
        for column, grid, bandwidth, values in zip(columns, grids, bandwidths, points, strict=True)
    ]


def _list_columns(query: SpecQuery) -> list[Column] | None:
    part, model = query.part, query.model
    stated_keys = part.list_given("column", "columns")
    if len(stated_keys) == 2:
        hint = "column for a curve, columns for a surface over two"
        part.complain("E111", "the density has both column and columns", "columns", hint=hint)
        return None
    if not stated_keys:
        query.note_missing("column", 'write column = "...", or columns = ["...", "..."]')
        return None
    names = (model.column,) if model.column is not None else part.value(COLUMNS_OF_TABLES)
    if not names:
        return None
    if stated_keys == ["columns"] and len(names) != 2:
        message = f"a density takes one or two columns, not {len(names)}"
        part.complain(
            "E217", message, "columns", hint='write column = "...", or columns = ["...", "..."]'
        )
        return None
    columns: list[Column] = []
    for number, name in enumerate(names):
        keys = ("column",) if stated_keys == ["column"] else ("columns", number)
        if name in (model.by or ()) and name not in names[:number]:
            message = f"{show(name)} is in `by` and is also a column of the density"
            part.complain("E217", message, *keys, hint="remove it from `by`")
        elif (declared := query.find_new(name, names[:number], *keys)) is not None:
            column = declared.column
            if column.type is ColumnType.BOOLEAN:
                message = f"a density can't use {show(name)}, which is a boolean"
                part.complain("E217", message, *keys, hint="proportion gives the share of true")
                continue
            if query.check_numeric(declared, "density", *keys):
                columns.append(column)
    return columns if len(columns) == len(names) else None


# --- bandwidth and points ------------------------------------------------------------------------


def _read_bandwidths(query: SpecQuery, grids: Sequence[Grid]) -> list[Fraction] | None:
    setting, number = query.part.value(BANDWIDTH), len(grids)
    ranges = [grid.width * grid.step for grid in grids]
    if setting is None:
        return [span / BANDWIDTHS[number] for span in ranges]
    if len(setting) not in {1, number}:
        message = f"{format_count(len(setting), 'bandwidth')} for {format_count(number, 'column')}"
        hint = "write one number, or one for each column"
        query.part.complain("E270", message, "bandwidth", hint=hint)
        return None
    bandwidths = list(setting) * (number if len(setting) == 1 else 1)
    for bandwidth, span in zip(bandwidths, ranges, strict=True):
        minimum = 2 * span / BINS[number]
        if not minimum <= bandwidth <= span:
            message = (
                f"bandwidth {show_fraction(bandwidth)} is not between two of {BINS[number]} parts "
                f"of the range {show_fraction(span)} and all of it"
            )
            hint = f"a twentieth of the range, or at least {_round_up(minimum)}; histogram is finer"
            query.part.complain("E270", message, "bandwidth", hint=hint)
            return None
    return bandwidths


def _read_all_points(query: SpecQuery, grids: Sequence[Grid]) -> list[list[Fraction]] | None:
    setting, number = query.part.value(POINTS_KEY), len(grids)
    stated_each: Sequence[Points | Fraction]
    if setting is None or isinstance(setting, int):
        stated_each = [setting or POINTS[number]] * number
    else:
        stated_each = [setting] if number == 1 else setting
    if len(stated_each) != number:
        columns = format_count(number, "column")
        message = f"points of {format_count(len(stated_each), 'column')} for {columns}"
        query.part.complain("E271", message, "points", hint="a number, or a list for each column")
        return None
    point_lists = [
        query.part.attempt(partial(_read_points, of, grid), "points")
        for of, grid in zip(stated_each, grids, strict=True)
    ]
    points = [of for of in point_lists if of is not None]
    return points if len(points) == number else None


def _read_points(setting: Points | Fraction, grid: Grid) -> list[Fraction]:
    """Read the points of one column: so many, evenly spread, or those of a list."""
    lower, upper = grid.lower * grid.step, grid.upper * grid.step
    if isinstance(setting, int | Fraction):
        number = int(setting)
        if number != setting or not 2 <= number <= MAX_CELLS:
            message = f"{show_fraction(Fraction(setting))} is not a number of points of at least 2"
            raise Refused(message, "for example points = 100; at most 1,000,000", "E271")
        digits = PLACES
        while digits and 10 ** (digits - 1) * (upper - lower) >= 10**4 * number:
            digits -= 1
        inner = (lower + place * (upper - lower) / (number - 1) for place in range(1, number - 1))
        points = [lower, *(round(point, digits) for point in inner), upper]
    else:
        points = [point for point in setting if isinstance(point, Fraction)]
    if not points or (not isinstance(setting, Fraction | int) and len(points) < len(setting)):
        raise Refused("points of a column are numbers", "for example points = [0, 10, 20]", "E271")
    for before, after in pairwise(points):
        if after <= before:
            message = f"the points do not increase: {show_fraction(after)} follows "
            raise Refused(message + show_fraction(before), "write each once, in order", "E271")
    if not lower <= points[0] <= points[-1] <= upper:
        message = f"points outside the bounds {show_fraction(lower)} and {show_fraction(upper)}"
        raise Refused(message, "a density covers values within the bounds", "E271")
    return points


def _round_up(value: Fraction) -> str:
    """Three digits, upwards."""
    scale = Fraction(1)
    while value * scale < 100:
        scale *= 10
    return show_fraction(ceil(value * scale) / scale)


# --- bins ----------------------------------------------------------------------------------------


def _cut_grid(
    column: Column, grid: Grid, limit: int, bandwidth: Fraction, points: tuple[Fraction, ...]
) -> CurveParts:
    """Cut the grid of a column into equal ranges; values beyond the bounds go into the last."""
    # A value belongs to the range of the grid point that is nearest; half-way to the upper one.
    values = grid.width + 1
    bins = min(limit, values)
    starts = [grid.lower + -(-place * values // bins) for place in range(bins)]
    ends = [*(start - 1 for start in starts[1:]), grid.upper]
    centres = tuple(
        (first + last) * grid.step / 2 for first, last in zip(starts, ends, strict=True)
    )
    whole = column.type is ColumnType.INTEGER
    inner = [(start - Fraction(1, 2)) * grid.step for start in starts[1:]]
    edges = [show_fraction(Fraction(ceil(edge)) if whole else edge) for edge in inner]
    labels = tuple(f"about {show_fraction(centre)}" for centre in centres)
    fill = find_null_fill(column)
    group = Group(
        column.name,
        column.type,
        labels,
        edges=("-" + _FARTHEST, *edges, _FARTHEST),
        null_label=None if fill is None else labels[bisect_right(starts, fill) - 1],
    )
    return CurveParts(CurveAxis(column, centres, bandwidth, points, smooth=True), group)
