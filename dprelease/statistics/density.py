"""Density of a column, or of two: a smooth curve at public points, within each group.

The statistic releases integers of the column's bins: ``privacy.curve_matrices`` says which, and
``intervals.curves`` how they are read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from math import prod

from dprelease.model import (
    EACH,
    Adjacency,
    AxisMatrix,
    ColumnType,
    Group,
    Measure,
    MeasureKind,
    OutputColumn,
    Query,
    Sensitivity,
    Step,
)
from dprelease.model.sentences import Sentence, Text, sentence
from dprelease.postprocess.intervals.curves import (
    Mixed,
    bound_steepness,
    compute_curve_figures,
    compute_curve_halfwidth,
    compute_curve_spread,
)
from dprelease.postprocess.intervals.estimate_columns import Layout, estimate_columns
from dprelease.postprocess.intervals.fixed_point import (
    choose_places,
    count_decimals,
    to_fixed_point,
    write_fixed_point,
)
from dprelease.postprocess.intervals.number_text import (
    join_names,
    list_numbers,
    number,
    write_percent,
)
from dprelease.privacy.curve_matrices import build_bins, build_waves, count_parts
from dprelease.privacy.strategy_sensitivity import bound_mixed_change
from dprelease.statistics.shared.spec_keys import (
    BANDWIDTHS,
    COLUMNS_OF_TABLES,
    CURVE_POINTS,
    ColumnUse,
    OwnKey,
)
from dprelease.statistics.shared.statistic import (
    Hazard,
    Neighbours,
    Noisy,
    Released,
    SpecKeys,
    Spell,
    Statistic,
)

BANDWIDTH = OwnKey(
    "bandwidth",
    BANDWIDTHS,
    "of a density, in the column's unit: the standard deviation of its kernel; of two "
    "columns a number or a list",
    "a 20th of the range; of two columns a 10th",
)
POINTS = OwnKey(
    "points",
    CURVE_POINTS,
    "of a density: how many points, evenly from bound to bound, or a list; of two columns "
    "a number, or a list with a number or a list for each",
    "100; of two columns 20 by 20",
)


class Density(Statistic):
    """A kernel density estimate of the clamped values; it integrates to 1 over the bounds."""

    name = "density"
    word = "spec_words.statistic.density"
    definition = "statistics.density.definition"
    what = "statistics.density.what"
    keys = SpecKeys(column=ColumnUse.CURVE, may=(COLUMNS_OF_TABLES, BANDWIDTH, POINTS))
    error_by_records = True
    example_error = "statistics.error.at_records"
    reading = "statistics.density.reading"
    processing = "statistics.density.processing"
    hazard = Hazard(
        7,
        Sentence("statistics.density.hazard.title"),
        Sentence("statistics.density.hazard.note"),
    )

    def list_published_groups(self, query: Query) -> tuple[Group, ...]:
        """List the groups of `by`, and the points."""
        axes = query.curve
        return (
            *query.groups[: -len(axes)],
            *(_build_point_group(axis.column.name, axis.points) for axis in axes),
        )

    def define_figure(self, query: Query, spell: Spell) -> tuple[Text, ...]:
        """Define the curve: its columns, how smooth it is, and at which points it is known."""
        axes = query.curve
        return (
            sentence(
                self.definition,
                column=join_names([axis.column.name for axis in axes]),
                bandwidths=_describe_bandwidths(query),
            ),
            *(
                sentence(
                    "statistics.density.points",
                    column=axis.column.name,
                    n=len(axis.points),
                    points=list_numbers(axis.points),
                )
                for axis in axes
            ),
        )

    def define_release(self, query: Query) -> Released:
        """Define sums of bins, or of waves if the spec asks for Gaussian noise."""
        return self._define_mixed_release(query, gaussian=query.mechanism == "gaussian")

    def _define_mixed_release(self, query: Query, *, gaussian: bool) -> Released:
        by = (EACH,) * (len(query.groups) - len(query.curve))
        matrices = tuple(map(build_waves if gaussian else build_bins, query.curve))
        # A record is divided into ``count_parts`` parts along each axis: one part is the unit.
        unit = Fraction(1, prod(map(count_parts, matrices)))
        records = Measure(MeasureKind.RECORDS, None, query.where)
        return Released((records,), unit=(unit,), axes=(*by, *matrices))

    def bound_sensitivity(self, query: Query, neighbours: Neighbours) -> Sensitivity:
        """Bound the change by the longest column of the matrices, or two for a replacement."""
        sizes = [len(group.labels) for group in query.groups]
        replaced = neighbours.adjacency is Adjacency.REPLACE_ONE
        axes = self.define_release(query).axes
        return bound_mixed_change(neighbours.contribution, sizes, axes, replaced=replaced)

    def define_alternatives(self, query: Query) -> tuple[Released, ...]:
        """Define sums of waves for Gaussian noise, if the spec leaves the mechanism open."""
        if query.mechanism != "auto":
            return ()
        return (self._define_mixed_release(query, gaussian=True),)

    def spread(self, query: Query, axes: Sequence[AxisMatrix]) -> Fraction:
        """Compute the mean square, over the points, of the factors of the curve."""
        return Fraction(compute_curve_spread(_match_axes(query, axes)))

    def build_columns(self, step: Step, noisy: Noisy, interval: Fraction) -> list[OutputColumn]:
        """Publish the curve of each group and its noise interval."""
        query = step.query
        places = choose_places(1 / _compute_area(query))
        meaning = sentence(
            "statistics.density.description",
            names=join_names([axis.column.name for axis in query.curve]),
            bandwidths=_describe_bandwidths(query),
        )
        layout = Layout(query.name, places, meaning, interval)
        figures = compute_curve_figures(_get_mixed(step), step.noise, noisy[0], interval, places)
        return estimate_columns(layout, *figures)

    def compute_halfwidth_at(self, step: Step, interval: Fraction, records: int) -> float | None:
        """Compute the largest half-width if the records are spread evenly; None for too few."""
        even = 1 / _compute_area(step.query)
        half = compute_curve_halfwidth(_get_mixed(step), step.noise, interval, records, even)
        # Further digits hang on the order in which linear algebra adds: plans would differ.
        return None if half is None else float(f"{half:.9g}")

    def describe_expected_error(self, step: Step, interval: Fraction) -> Text:
        """Describe the error together with the bandwidth that it depends on."""
        error = super().describe_expected_error(step, interval)
        return sentence("words.comma", text=error, next=_describe_bandwidths(step.query))

    def explain_step(self, step: Step) -> Text:
        """Explain what is released and how it is read."""
        mixes_waves = any(min(map(min, matrix.entries)) < 0 for _, matrix in _get_mixed(step))
        subject, how = (
            (sentence("statistics.density.waves"), sentence("statistics.density.sums_of_waves"))
            if mixes_waves
            else (
                sentence("statistics.density.bins"),
                sentence("statistics.density.counts_of_bins"),
            )
        )
        first, *more = (
            sentence(
                "statistics.density.parts",
                number=len(matrix.entries),
                parts=subject,
                name=axis.column.name,
            )
            for axis, matrix in _get_mixed(step)
        )
        parts = first
        for part in more:
            parts = sentence("statistics.density.parts_by_parts", first=parts, second=part)
        text = sentence(
            "statistics.density.released",
            parts=parts,
            how=how,
            bandwidths=_describe_bandwidths(step.query),
        )
        for axis in step.query.curve:
            if axis.smooth and max(axis.values) > 1:  # several values are counted as one
                ranges = sentence(
                    "statistics.density.ranges",
                    name=axis.column.name,
                    bins=len(axis.centres),
                    share=write_percent(Fraction(math.ceil(1000 * bound_steepness(axis)), 1000)),
                )
                text = sentence("words.then", text=text, next=ranges)
        return text


def _describe_bandwidths(query: Query) -> Sentence:
    sizes = [number(axis.bandwidth, 6) for axis in query.curve]
    if len(sizes) == 1:
        return sentence("statistics.density.bandwidth", size=sizes[0])
    first, second = sizes
    return sentence("statistics.density.bandwidths", first=first, second=second)


def _match_axes(query: Query, axes: Sequence[AxisMatrix]) -> Mixed:
    return tuple(zip(query.curve, axes[-len(query.curve) :], strict=True))


def _get_mixed(step: Step) -> Mixed:
    return _match_axes(step.query, step.axes)


def _compute_area(query: Query) -> Fraction:
    return prod((axis.upper - axis.lower for axis in query.curve), start=Fraction(1))


def _build_point_group(column: str, points: Sequence[Fraction]) -> Group:
    places = max(map(count_decimals, points))
    labels = tuple(write_fixed_point(to_fixed_point(point, places), places) for point in points)
    return Group(column, ColumnType.DECIMAL, labels, labels)
