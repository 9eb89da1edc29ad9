"""Shares of two sums: the common part of mean and proportion.

They release two sums instead of a sum and a count: A, and B = n K - A. Each of the n records adds
exactly K to A and B together, so both get the whole budget at once. A + B = n K gives the number of
records for free, A / (A + B) the share. With survey weights a record counts w times in both:
``survey_weights`` says why that is one bound as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import reduce
from math import floor
from operator import add
from typing import TYPE_CHECKING

from msgspec import Struct

from dprelease.model import Measure, MeasureKind, OutputColumn, Query, Step
from dprelease.model.key_thresholds import compute_least_units, compute_unit_width
from dprelease.model.sentences import Text, sentence
from dprelease.postprocess.intervals.combined_noise import (
    Part,
    combine_parts,
    compute_combined_halfwidth,
)
from dprelease.postprocess.intervals.estimate_columns import (
    Layout,
    clip_intervals,
    estimate_columns,
)
from dprelease.postprocess.intervals.fitted_count import KNOTS
from dprelease.postprocess.intervals.fixed_point import (
    count_decimals,
    pack_lanes,
    scale_halfwidths,
    scale_shares,
    to_fixed_point,
)
from dprelease.postprocess.intervals.noise_mixture import bound_mix_quantile
from dprelease.postprocess.intervals.number_text import write_percent
from dprelease.postprocess.intervals.quotient_intervals import divide_by_totals, estimate_shares
from dprelease.postprocess.intervals.selected_sums import (
    PART,
    compute_shown_halfwidth,
    find_settled_total,
    widen_unsettled,
)
from dprelease.privacy.sensitivity import Vector
from dprelease.statistics.shared.statistic import (
    INTERVAL,
    Noisy,
    Released,
    Statistic,
    build_quantity,
    build_weight,
    weight_step,
)
from dprelease.statistics.shared.survey_weights import apply_weight

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dprelease.postprocess.intervals.combined_figure import Parts

BEHIND = "statistics.mean.count"
BEHIND_WEIGHTED = "statistics.mean.count_weighted"
COUNT_SUFFIXES = ("_count", "_count_noise_moe")


class Scale(Struct, frozen=True):
    """How a share s is published: as the value lower + s ``span``, with ``places``.

    ``width`` is K, what one record adds to both sums.
    """

    lower: Fraction
    span: Fraction
    width: int
    places: int
    meaning: Text


def define_two_sums(query: Query) -> Released:
    """Define sum(k - lower) and sum(upper - k) of a column in bounds, times weights if present."""
    column_quantity = build_quantity(query.column)
    grid, weight, unit = (
        column_quantity.grid,
        build_weight(query),
        column_quantity.grid.step * weight_step(query),
    )
    return Released(
        (
            Measure(MeasureKind.VALUES, column_quantity, query.where, survey_weight=weight),
            Measure(MeasureKind.SUM, column_quantity, query.where, survey_weight=weight),
        ),
        ((-grid.lower, 1), (grid.upper, -1)),
        (unit, unit),
    )


class TwoSums(Statistic):
    """A share of two complementary sums, and the number of records behind it."""

    suffixes = (*INTERVAL, *COUNT_SUFFIXES)
    error_by_records = True
    behind = BEHIND
    """Words for the number of records."""
    behind_weighted = BEHIND_WEIGHTED
    """The same with survey weights."""

    def scale(self, query: Query) -> Scale:
        """Return the scale on which the share is published."""
        raise TypeError("a share is published on a scale")

    def describe_row(self, query: Query) -> Vector:
        """Describe (t, K - t) with 0 <= t <= K: L1 = K, L2 at most K; with weights W times that."""
        width = self.scale(query).width
        return apply_weight(Vector(width, width**2, 2), query)

    def build_columns(self, step: Step, noisy: Noisy, interval: Fraction) -> list[OutputColumn]:
        """Publish the share on its scale, its noise interval, and the number of records."""
        first, second = noisy
        share, half = estimate_shares(first, second, step.noise, find_level(step, interval))
        if step.threshold is not None:
            scale, threshold = step.noise.parameter, step.threshold
            settled = find_settled_total(scale, threshold, 1 - interval)
            half = widen_unsettled(first, second, settled, share, half)
        return [
            *self.share_columns(step, share, half, interval),
            *count_columns(
                step,
                noisy,
                self.scale(step.query).width,
                interval,
                self.name_sentence_behind(step.query),
            ),
        ]

    def build_part_columns(
        self, step: Step, parts: Parts, interval: Fraction
    ) -> list[OutputColumn]:
        """Publish the share and the number of records, of two parts with noise in common.

        For the true share p the noise of (1 - p) A - p B is that of (A - B)/2 and (1/2 - p) times
        that of A + B, independent of it: so Fieller's argument holds, as in ``quotient_intervals``.
        Its quantile rises with abs(1/2 - p), on the lattice but for a step: see
        ``compute_lattice_step``.
        """
        (first, second), alpha = parts.cells, 1 - interval
        half, width = Fraction(1, 2), self.scale(step.query).width
        step_of_half = parts.find_step((half, -half))
        totals = [a + b for a, b in zip(first, second, strict=True)]

        def bound_noise(knot: int) -> Fraction:
            off = Fraction(knot, 2 * KNOTS)
            return parts.bound_noise((half + off, off - half), alpha) + step_of_half

        shares, halves = divide_by_totals(first, totals, parts.unit, bound_noise, KNOTS)
        # The number of records in units of one, and its noise.
        one, record = parts.unit * width, Fraction(1, width)
        counts = [(2 * total + one) // (2 * one) for total in totals]
        error = floor(parts.bound_noise((record, record), alpha) + half)
        behind = self.name_sentence_behind(step.query)
        meaning = sentence(behind, name=step.query.name)
        return [
            *self.share_columns(step, shares, halves, interval),
            *build_count_columns(step, counts, error, interval, meaning),
        ]

    def name_sentence_behind(self, query: Query) -> str:
        """Name the sentence that says what the number of records is."""
        return self.behind if query.survey_weight is None else self.behind_weighted

    def share_columns(
        self,
        step: Step,
        share: NDArray[np.float64],
        half: NDArray[np.float64],
        interval: Fraction,
    ) -> list[OutputColumn]:
        """Put shares and their half-widths on the scale."""
        scale = self.scale(step.query)
        low, span = (
            to_fixed_point(scale.lower, scale.places),
            to_fixed_point(scale.span, scale.places),
        )
        layout = Layout(step.query.name, scale.places, scale.meaning, interval)
        values, halves = scale_shares(share, span, low), scale_halfwidths(half, span)
        ends = clip_intervals(values, halves, low, low + span)
        return estimate_columns(layout, values, halves, ends)

    def list_aspects(self, query: Query) -> tuple[tuple[Fraction, ...], ...]:
        """List the share at a half and at its end, by a sum, and the number of records."""
        unit, half = self.define_release(query).unit[0], Fraction(1, 2)
        record = weight_step(query) / self.scale(query).width
        return ((unit * half, -unit * half), (unit, Fraction(0)), (record, record))

    def list_linear_factors(self, query: Query) -> Mapping[str, tuple[Fraction, ...]]:
        """List the column of the count: the sum of both integers over what one record adds."""
        unit_weight = weight_step(query) / self.scale(query).width
        return {f"{query.column_name}_count": (unit_weight, unit_weight)}

    def compute_selecting_halfwidth(self, step: Step, interval: Fraction) -> Fraction:
        """Compute the half-width of the number of values, by which keys are selected."""
        return Fraction(compute_count_halfwidth(step, self.scale(step.query).width, interval))

    def find_settled_units(self, step: Step, interval: Fraction) -> int:
        """Find the number of values from which a share has the interval of its own level."""
        settled = find_settled_total(step.noise.parameter, step.threshold or 0, 1 - interval)
        return -(-settled // compute_unit_width(step))

    def get_share_range(self, query: Query) -> tuple[Fraction, Fraction] | None:
        """Return the values of the shares 0 and 1."""
        scale = self.scale(query)
        return scale.lower, scale.lower + scale.span

    def compute_halfwidth_at(self, step: Step, interval: Fraction, records: int) -> float:
        """Compute the half-width for a share of 0 or 1, where it is largest."""
        # The unit contains the step of weights, so for weighted records ``records`` is their sum.
        level = find_level(step, interval)
        quantile = Fraction(bound_mix_quantile(step.noise, 1 - level, 1))
        return float(step.unit[0] * quantile) / records


def find_level(step: Step, interval: Fraction) -> Fraction:
    """Find the level of shares at which they hold at ``interval`` among private keys shown."""
    return interval if step.threshold is None else 1 - PART * (1 - interval)


def compute_count_halfwidth(step: Step, width: int, interval: Fraction) -> int:
    """Compute the half-width of the number of values, as noise alone has it."""
    noise = combine_parts([Part(step.noise, Fraction(1, width), len(step.transform))])
    return floor(compute_combined_halfwidth(noise, 1 - interval) + Fraction(1, 2))


def count_columns(
    step: Step, noisy: Noisy, width: int, interval: Fraction, meaning: str = BEHIND
) -> list[OutputColumn]:
    """Publish the number of values; each added ``width`` to the released integers together."""
    # The number is the sum of a cell's noisy integers over width, rounded, and its error that of
    # the sum of their draws, over width; of weighted records both are in steps of their weights.
    totals = reduce(add, (pack_lanes(row, width) for row in noisy))
    half: int | list[int] = compute_count_halfwidth(step, width, interval)
    figure = sentence(meaning, name=step.query.name)
    if step.threshold is not None and isinstance(half, int):
        scale, threshold, least = step.noise.parameter, step.threshold, half
        half = [
            compute_shown_halfwidth(scale, threshold, total, width, least, 1 - interval)
            for total in totals.tolist()
        ]
        figure = sentence(
            "tables.columns.private_keys", figure=figure, threshold=compute_least_units(step)
        )
    counts: list[int] = ((2 * totals + width) // (2 * width)).tolist()
    return build_count_columns(step, counts, half, interval, figure)


def build_count_columns(
    step: Step, counts: Sequence[int], half: int | list[int], interval: Fraction, meaning: Text
) -> list[OutputColumn]:
    """Publish counts with their half-width, both in steps of weights."""
    name, unit = f"{step.query.name}_count", weight_step(step.query)
    places = count_decimals(unit)
    factor, kind = to_fixed_point(unit, places), "number" if places else "integer"
    values = [factor * count for count in counts] if factor != 1 else counts
    each = half if isinstance(half, list) else [half] * len(counts)
    halves = [factor * one for one in each]
    return [
        OutputColumn(name, kind, values, meaning, places, step.query.name),
        build_halfwidth_column(name, kind, halves, places, step, interval),
    ]


def build_halfwidth_column(  # noqa: PLR0913, PLR0917 - the parts of a column
    name: str, kind: str, halves: list[int], places: int, step: Step, interval: Fraction
) -> OutputColumn:
    """Publish the half-width of the noise interval of another column."""
    return OutputColumn(
        f"{name}_noise_moe",
        kind,
        halves,
        sentence(
            "tables.columns.noise_moe",
            interval=write_percent(interval),
            name=name,
        ),
        places,
        step.query.name,
    )
