"""From the release of a step to the figures of each query that is read from it.

Post-processing of noisy integers, so at no cost. A query that is read as its OWN release looks at
a step like any other; a LINEAR one adds up; MOMENTS give a mean from the three sums of a variance;
a COMBINED one is made of several steps (``combine_parts``).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import prod
from typing import NamedTuple

from msgspec.structs import replace

from dprelease.kernel.noise.distributions.laws import find_halfwidth, sum_halfwidth
from dprelease.model import (
    CENTRED,
    EACH,
    Form,
    Group,
    Loss,
    Noise,
    NoisyTable,
    OutputColumn,
    Plan,
    Read,
    Reading,
    Step,
)
from dprelease.model.sentences import Text, sentence
from dprelease.postprocess.intervals import combined_figure
from dprelease.postprocess.intervals.combined_noise import Part
from dprelease.postprocess.intervals.combined_noise import combine_parts as joined
from dprelease.postprocess.intervals.estimate_columns import Layout, estimate_columns
from dprelease.postprocess.intervals.fitted_count import CountTogether
from dprelease.postprocess.intervals.fixed_point import count_decimals
from dprelease.postprocess.intervals.noise_mixture import bound_mixed_halfwidth
from dprelease.postprocess.intervals.number_text import write_halfwidth
from dprelease.postprocess.intervals.screened_counts import CHANCE, compute_screened_halfwidth
from dprelease.statistics.quantile import bound_rank_error
from dprelease.statistics.shared.statistic import choose_example_records, read_neighbours
from dprelease.statistics.shared.three_sums import mean_columns, mean_half
from dprelease.statistics.statistic_registry import get_statistic

Integers = Sequence[int]


def build_view(read: Read, plan: Plan) -> Step:
    """The step as if the query had released what it is read from.

    Of combined figures it has the loss of all their steps, and noise of the variance of theirs.
    """
    if read.reading is Reading.COMBINED:
        return _build_combined_view(read, plan)
    return _build_view(read, plan.step(read))


def build_views(plan: Plan) -> list[Step]:
    """Every query of a plan as if it had released by itself what it is read from."""
    return [build_view(read, plan) for read in plan.reads]


def build_columns(
    read: Read,
    plan: Plan,
    noisy: NoisyTable,
    interval: Fraction,
    together: CountTogether | None = None,
) -> list[OutputColumn]:
    """The query's columns, of the noisy integers that it is read from.

    ``together``: the count of its records, if that is fitted to the integers of other steps too.
    """
    statistic = get_statistic(read.query.statistic)
    if read.reading is Reading.COMBINED:
        return combined_figure.build_combined_columns(
            read, plan, noisy, sentence(statistic.what), interval
        )
    step, integers = plan.step(read), noisy.values[read.step]
    step_view = _build_view(read, step)
    rows = [integers[row] for row in read.rows] if read.rows else list(integers)
    if read.reading is Reading.LINEAR:
        return _build_linear_columns(read, step, rows, interval)
    if read.reading is Reading.MOMENTS:
        return mean_columns(step_view, rows, interval)
    if together is not None:
        return statistic.build_joint_columns(step_view, rows, interval, together)
    return statistic.build_columns(step_view, rows, interval)


def compute_constant_halfwidth(read: Read, plan: Plan, interval: Fraction) -> Fraction | None:
    """The half-width if it is the same for every cell."""
    if read.reading is Reading.COMBINED:
        return combined_figure.compute_halfwidth(read, plan, interval)
    return _compute_constant_halfwidth(read, plan.step(read), interval)


def collect_figure_noise(read: Read, plan: Plan) -> tuple[Part, ...] | None:
    """The noise of a figure, if it is the same for every cell."""
    if read.reading is Reading.COMBINED:
        return combined_figure.collect_noise(read, plan)
    step = plan.step(read)
    if read.reading is Reading.LINEAR:
        cells = _count_added_cells(read, step)
        return joined(Part(step.noise, factor, cells) for factor in read.factors)
    if not get_statistic(read.query.statistic).one_number:
        return None
    return joined([Part(step.noise, _build_view(read, step).unit[0], 1)])


def compute_figure_variance(read: Read, plan: Plan) -> Fraction | None:
    """The variance of a figure's noise, if it is the same for every cell."""
    noise = collect_figure_noise(read, plan)
    return None if noise is None else combined_figure.sum_variance(noise)


class Piece(NamedTuple):
    """A step whose integers count the records of a figure, as they are or CENTRED along groups."""

    name: str
    groups: tuple[Group, ...]
    centred: tuple[bool, ...]
    noise: Noise
    variance: Fraction


def list_pieces(read: Read, plan: Plan) -> list[Piece]:
    """The steps that a figure is combined from, if all of them count its records and no others."""
    if read.reading is not Reading.COMBINED:
        return []
    measures = get_statistic(read.query.statistic).define_release(read.query).measures
    steps = [step for step in plan.steps if step.query.name in read.steps]
    if any(step.measures != measures or step.transform != ((1,),) for step in steps):
        return []  # conditions are mixed with the count of all records
    return [
        Piece(
            step.query.name,
            step.query.groups,
            tuple(axis == CENTRED for axis in step.axes or (EACH,) * len(step.query.groups)),
            step.noise,
            combined_figure.sum_variance([Part(step.noise, Fraction(1), 1)]),
        )
        for step in steps
    ]


def compute_example(read: Read, plan: Plan, interval: Fraction) -> dict[str, float | int] | None:
    """The half-width at so many records, where it differs by cell."""
    if read.reading is Reading.COMBINED:
        return None
    return build_example(read, plan.step(read), interval, choose_example_records(read.query))


class LinearColumn(NamedTuple):
    """A published column: of each cell ``factors`` times its released integers at ``rows``."""

    column: str
    rows: tuple[int, ...]
    factors: tuple[Fraction, ...]


def list_linear_columns(read: Read, plan: Plan) -> list[LinearColumn]:
    """The columns of a query that are the truth plus fixed factors times noise of one step.

    None where keys are selected by their own noise, or where an integer is screened. A count that
    is fitted to several steps is stated as that of its own.
    """
    step = plan.step(read)
    unmixed = step.form is Form.NUMBERS and not step.axes and step.threshold is None
    if not unmixed or read.query.private or read.screened:
        return []
    if read.reading is Reading.LINEAR:
        return [LinearColumn(read.query.column_name, read.rows, read.factors)]
    if read.reading is not Reading.OWN:
        return []
    columns = get_statistic(read.query.statistic).list_linear_factors(read.query)
    return [
        LinearColumn(column, (read.rows or tuple(range(len(factors))))[: len(factors)], factors)
        for column, factors in columns.items()
    ]


def describe_expected_error(read: Read, plan: Plan, interval: Fraction) -> Text:
    """How large the noise will be, before any data is read."""
    if read.reading in {Reading.COMBINED, Reading.LINEAR}:
        return write_halfwidth(compute_constant_halfwidth(read, plan, interval) or Fraction(0))
    step_view = build_view(read, plan)
    if read.reading is Reading.MOMENTS:
        records = choose_example_records(read.query)
        half = mean_half(step_view, interval, records)
        return sentence(
            "statistics.error.at_least_values", error=write_halfwidth(Fraction(half)), n=records
        )
    return get_statistic(read.query.statistic).describe_expected_error(step_view, interval)


# --- of one step ---------------------------------------------------------------------------------


def compute_target_halfwidth(read: Read, step: Step, confidence: Fraction) -> Fraction | None:
    """What a target bounds, if it is the same for every cell: of quantiles the ranks."""
    if step.form is Form.QUANTILES:
        return Fraction(bound_rank_error(_build_view(read, step), confidence))
    return _compute_constant_halfwidth(read, step, confidence)


def build_example(
    read: Read, step: Step, interval: Fraction, records: int
) -> dict[str, float | int] | None:
    """The half-width at so many records, where it differs by cell."""
    if read.reading is Reading.LINEAR:
        return None
    half_at = get_statistic(read.query.statistic).compute_halfwidth_at
    if read.reading is Reading.MOMENTS:
        half_at = mean_half
    half = half_at(_build_view(read, step), interval, records)
    return None if half is None else {"values": records, "halfwidth": half}


def _compute_constant_halfwidth(read: Read, step: Step, interval: Fraction) -> Fraction | None:
    if read.reading is Reading.LINEAR:
        places = _count_places(read)
        return Fraction(_round_halfwidth(read, step, interval, places), 10**places)
    if read.reading is Reading.MOMENTS:
        return None
    return get_statistic(read.query.statistic).compute_halfwidth(_build_view(read, step), interval)


def _build_view(read: Read, step: Step) -> Step:
    if not read.rows:
        return replace(step, query=read.query)
    return replace(
        step,
        query=read.query,
        transform=tuple(step.transform[row] for row in read.rows),
        unit=tuple(step.unit[row] for row in read.rows),
    )


def _build_combined_view(read: Read, plan: Plan) -> Step:
    steps = [step for step in plan.steps if step.query.name in read.steps]
    statistic, query = get_statistic(read.query.statistic), read.query
    return Step(
        query=query,
        measures=statistic.define_release(query).measures,
        transform=((1,),),
        unit=(Fraction(1),),
        sensitivity=statistic.bound_sensitivity(query, read_neighbours(plan.release)),
        noise=combined_figure.approximate_noise(read, plan),
        loss=compute_loss(steps, plan.loss),
    )


def compute_loss(steps: Sequence[Step], whole: Loss) -> Loss:
    """The loss of several steps: their sum, or that of the whole release if it is less."""
    epsilon = sum((step.loss.epsilon for step in steps), Fraction(0))
    delta = sum((step.loss.delta for step in steps), Fraction(0))
    rhos = [step.loss.rho for step in steps if step.loss.rho is not None]
    rho = sum(rhos, Fraction(0)) if len(rhos) == len(steps) else None
    if delta and epsilon > whole.epsilon:
        epsilon, delta = whole.epsilon, whole.delta
    return Loss(epsilon, delta, rho)


# --- combinations -------------------------------------------------------------------------------


def _build_linear_columns(
    read: Read, step: Step, rows: Sequence[Integers], interval: Fraction
) -> list[OutputColumn]:
    places = _count_places(read)
    if read.screened:
        threshold = _find_threshold(step)
        rows = [*rows[:-1], [number if number >= threshold else 0 for number in rows[-1]]]
    rows = [_merge_labels(row, read, step) for row in rows]
    bottom = math.lcm(*(factor.denominator for factor in read.factors))
    tops = [int(factor * bottom) * 10**places for factor in read.factors]
    totals = [sum(map(operator.mul, tops, cell)) for cell in zip(*rows, strict=True)]
    values = [(2 * total + bottom) // (2 * bottom) for total in totals]
    subject = sentence(get_statistic(read.query.statistic).what)
    meaning = sentence("tables.columns.read_from_release", figure=subject, step=read.step)
    layout = Layout(read.query.name, places, meaning, interval)
    return estimate_columns(layout, values, _round_halfwidth(read, step, interval, places))


def _count_places(read: Read) -> int:
    """Those of what the statistic releases by itself: counts are whole, sums on their grid."""
    return count_decimals(get_statistic(read.query.statistic).define_release(read.query).unit[0])


def _find_threshold(step: Step) -> int:
    """The least number of steps that noise alone reaches with no more than the set chance."""
    return find_halfwidth(step.noise, 2 * CHANCE) + 1


def _round_halfwidth(read: Read, step: Step, interval: Fraction, places: int) -> int:
    """The half-width, rounded: a true figure has no more decimals than what is published."""
    factors = [abs(factor) for factor in read.factors if factor]
    half: Fraction
    cells = _count_added_cells(read, step)
    if read.screened:
        half = factors[0] * compute_screened_halfwidth(
            step.noise, len(factors) - 1, _find_threshold(step), interval
        )
    elif len(set(factors)) == 1:
        half = factors[0] * sum_halfwidth(step.noise, len(factors) * cells, 1 - interval)
    elif cells > 1:
        raise ValueError("cells are added up of integers that count alike")
    else:
        half = bound_mixed_halfwidth(step.noise, factors, interval)
    whole: int = math.floor(half * 10**places + Fraction(1, 2))
    return whole


def _count_added_cells(read: Read, step: Step) -> int:
    """How many cells are added up to one."""
    return prod(len(step.query.groups[place].labels) for place in read.merged)


def _merge_labels(row: Integers, read: Read, step: Step) -> Integers:
    """Sums over the labels of the merged groups; cells are row-major."""
    if not read.merged:
        return row
    sizes = [len(group.labels) for group in step.query.groups]
    totals: dict[tuple[int, ...], int] = {}
    for place, value in zip(product(*map(range, sizes)), row, strict=True):
        remaining_place = tuple(at for axis, at in enumerate(place) if axis not in read.merged)
        totals[remaining_place] = totals.get(remaining_place, 0) + value
    return list(totals.values())
