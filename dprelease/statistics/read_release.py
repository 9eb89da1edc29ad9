"""Figures of each query, read from the released integers of steps.

This is post-processing of noisy integers, so it costs no budget. ``Reading`` says how a query is
read: as its OWN release; by a LINEAR combination of released integers; as a mean from the MOMENTS
of a variance; or COMBINED from several steps (``combined_figure``).

Throughout, ``read`` is how the query is read, ``plan`` the plan that it belongs to, ``step`` the
step that it is read from, and ``interval`` the level of noise intervals, such as 95/100.
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

from dprelease.kernel.distributions.laws import find_halfwidth, sum_halfwidth
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
from dprelease.postprocess.intervals.combined_noise import Part, compute_combined_halfwidth
from dprelease.postprocess.intervals.combined_noise import combine_parts as joined
from dprelease.postprocess.intervals.estimate_columns import Layout, estimate_columns
from dprelease.postprocess.intervals.fitted_count import CountTogether
from dprelease.postprocess.intervals.fixed_point import count_decimals
from dprelease.postprocess.intervals.noise_mixture import bound_mixed_halfwidth
from dprelease.postprocess.intervals.number_text import write_halfwidth
from dprelease.postprocess.intervals.screened_counts import CHANCE, compute_screened_halfwidth
from dprelease.statistics.quantile import bound_rank_error
from dprelease.statistics.shared.statistic import choose_example_records, read_neighbours
from dprelease.statistics.spread import list_count_factors, mean_columns, mean_half
from dprelease.statistics.statistic_registry import get_statistic

Integers = Sequence[int]


def build_view(read: Read, plan: Plan) -> Step:
    """View the release that a query is read from as if the query had made it.

    Args:
        read: How the query is read.
        plan: The plan that the read belongs to.

    Returns:
        A step with the query. For combined figures it has the loss of all their steps, and noise
        of about the variance of the figures.
    """
    if read.reading is not Reading.COMBINED:
        return _build_view(read, plan.step(read))
    steps = [plan.steps_by_name[name] for name in read.steps]
    statistic, query = get_statistic(read.query.statistic), read.query
    released = statistic.define_release(query)
    return Step(
        query=query,
        measures=released.measures,
        transform=released.transform,
        unit=released.unit,
        sensitivity=statistic.bound_sensitivity(query, read_neighbours(plan.release)),
        noise=combined_figure.approximate_noise(read, plan),
        loss=compute_loss(steps, plan.loss),
    )


def build_views(plan: Plan) -> list[Step]:
    """View every query of a plan as if it had made its own release.

    Args:
        plan: A complete plan.

    Returns:
        One step for each read, in the order of ``plan.reads``.
    """
    return [build_view(read, plan) for read in plan.reads]


def build_columns(
    read: Read,
    plan: Plan,
    noisy: NoisyTable,
    interval: Fraction,
    together: CountTogether | None = None,
) -> list[OutputColumn]:
    """Build a query's output columns from the noisy integers it is read from.

    Args:
        read: How the query is read.
        plan: The plan that the read belongs to.
        noisy: The noisy integers of all steps.
        interval: The level of noise intervals, such as 95/100.
        together: The count of its records, if that is fitted to the integers of other steps too.

    Returns:
        The columns as published: value, half-width, flag and what else the statistic has.
    """
    statistic = get_statistic(read.query.statistic)
    if _has_parts(read):
        parts = combined_figure.compute_parts(read, plan, noisy)
        return statistic.build_part_columns(build_view(read, plan), parts, interval)
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
    """Compute the half-width of a query's noise interval, if every cell has the same.

    Args:
        read: How the query is read.
        plan: The plan that the read belongs to.
        interval: The level of the interval.

    Returns:
        The half-width in the unit of the figure; None if it differs by cell.
    """
    if _has_parts(read):
        return None
    if read.reading is Reading.COMBINED:
        return combined_figure.compute_halfwidth(read, plan, interval)
    return _compute_constant_halfwidth(read, plan.step(read), interval)


def collect_figure_noise(read: Read, plan: Plan) -> tuple[Part, ...] | None:
    """Collect the noise of a query's figure, if it is the same for every cell.

    Args:
        read: How the query is read.
        plan: The plan that the read belongs to.

    Returns:
        Sums of independent draws with their weights; None if the noise differs by cell.
    """
    if _has_parts(read):
        return None
    if read.reading is Reading.COMBINED:
        return combined_figure.collect_noise(read, plan)
    step = plan.step(read)
    if read.reading is Reading.LINEAR:
        return _join_draws(read, step)
    if not get_statistic(read.query.statistic).one_number:
        return None
    return joined([Part(step.noise, _build_view(read, step).unit[0], 1)])


def compute_figure_variance(read: Read, plan: Plan) -> Fraction | None:
    """Compute the variance of a figure's noise, if it is the same for every cell.

    Args:
        read: How the query is read.
        plan: The plan that the read belongs to.

    Returns:
        The variance in the squared unit of the figure; None if it differs by cell.
    """
    noise = collect_figure_noise(read, plan)
    return None if noise is None else combined_figure.sum_variance(noise)


class Piece(NamedTuple):
    """A step whose integers count the records of a figure, plain or CENTRED along groups."""

    name: str
    groups: tuple[Group, ...]
    centred: tuple[bool, ...]
    noise: Noise
    variance: Fraction


def list_pieces(read: Read, plan: Plan) -> list[Piece]:
    """List the steps that a combined figure is made of.

    Args:
        read: How the query is read.
        plan: The plan that the read belongs to.

    Returns:
        One piece for each step. Empty unless the read is combined and every step counts the records
        of the figure and no others.
    """
    if read.reading is not Reading.COMBINED:
        return []
    measures = get_statistic(read.query.statistic).define_release(read.query).measures
    own = set(read.steps)
    steps = [step for step in plan.steps if step.query.name in own]
    if any(step.measures != measures or step.transform != ((1,),) for step in steps):
        return []  # steps of conditions mix them with the count of all records
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
    """Compute the half-width at the example number of records, if it differs by cell.

    Args:
        read: How the query is read.
        plan: The plan that the read belongs to.
        interval: The level of the interval.

    Returns:
        ``values`` (the number of records) and ``halfwidth``; None if there is no such example.
    """
    records = choose_example_records(read.query)
    if _has_parts(read):
        # A share errs most at its end, by the noise of one of its parts.
        ends = tuple(Fraction(place == 0) for place in range(len(read.factors)))
        noise = combined_figure.collect_noise(read, plan, ends)
        unit = get_statistic(read.query.statistic).define_release(read.query).unit[0]
        half = unit * compute_combined_halfwidth(noise, 1 - interval) / records
        return {"values": records, "halfwidth": float(half)}
    if read.reading is Reading.COMBINED:
        return None
    return build_example(read, plan.step(read), interval, records)


def _has_parts(read: Read) -> bool:
    """Check if a combined figure is made of several parts."""
    return read.reading is Reading.COMBINED and len(read.factors) > 1


class LinearColumn(NamedTuple):
    """A published column: each cell is ``factors`` times its released integers at ``rows``."""

    column: str
    rows: tuple[int, ...]
    factors: tuple[Fraction, ...]


def list_linear_columns(read: Read, plan: Plan) -> list[LinearColumn]:
    """List the columns of a query that are linear in the integers of one step.

    Args:
        read: How the query is read.
        plan: The plan that the read belongs to.

    Returns:
        The columns that are the truth plus fixed factors times noise. Empty where no column is
        linear, private keys are selected by the same noise, or an integer is screened.
    """
    step = plan.step(read)
    unmixed = step.form is Form.NUMBERS and not step.axes and step.threshold is None
    if not unmixed or read.query.private or read.screened:
        return []
    if read.reading is Reading.LINEAR:
        return [LinearColumn(read.query.column_name, read.rows, read.factors)]
    if read.reading is Reading.MOMENTS:
        columns = list_count_factors(read.query)
    elif read.reading is Reading.OWN:
        # A count that is fitted to several steps is listed as that of its own step.
        columns = get_statistic(read.query.statistic).list_linear_factors(read.query)
    else:
        return []
    return [
        LinearColumn(column, (read.rows or tuple(range(len(factors))))[: len(factors)], factors)
        for column, factors in columns.items()
    ]


def describe_expected_error(read: Read, plan: Plan, interval: Fraction) -> Text:
    """Describe how large the noise will be, before any data is read.

    Args:
        read: How the query is read.
        plan: The plan that the read belongs to.
        interval: The level of the interval.

    Returns:
        The text for plan and report.
    """
    example = compute_example(read, plan, interval) if _has_parts(read) else None
    if example is not None:
        return sentence(
            get_statistic(read.query.statistic).example_error,
            error=write_halfwidth(Fraction(example["halfwidth"])),
            n=int(example["values"]),
        )
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
    """Compute what an accuracy target bounds, if it is the same for every cell.

    Args:
        read: How the query is read.
        step: The step that it is read from.
        confidence: The level of the target.

    Returns:
        The half-width in the unit of the figure, for quantiles the rank error; None if it differs
        by cell.
    """
    if step.form is Form.QUANTILES:
        return Fraction(bound_rank_error(_build_view(read, step), confidence))
    if read.reading is Reading.LINEAR:
        places = _count_places(read)
        return Fraction(
            _round_halfwidth(read, step, confidence, places, for_target=True), 10**places
        )
    return _compute_constant_halfwidth(read, step, confidence)


def build_example(
    read: Read, step: Step, interval: Fraction, records: int
) -> dict[str, float | int] | None:
    """Compute the half-width at a number of records, if it differs by cell.

    Args:
        read: How the query is read.
        step: The step that it is read from.
        interval: The level of the interval.
        records: The number of records, of weighted ones their sum.

    Returns:
        ``values`` (the number of records) and ``halfwidth``; None if there is no such example.
    """
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


def compute_loss(steps: Sequence[Step], whole: Loss) -> Loss:
    """Bound the loss of several steps by their sum, or by the whole release's if that is less.

    Args:
        steps: Steps of one release.
        whole: The composed loss of the release.

    Returns:
        A loss that holds for these steps together; rho is None unless every step has one.
    """
    epsilon = sum((step.loss.epsilon for step in steps), Fraction(0))
    delta = sum((step.loss.delta for step in steps), Fraction(0))
    rhos = [step.loss.rho for step in steps if step.loss.rho is not None]
    rho = sum(rhos, Fraction(0)) if len(rhos) == len(steps) else None
    # The release as a whole may be composed more tightly than by sums.
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
    """Count the decimals of the statistic's own release: counts are whole, sums on their grid."""
    return count_decimals(get_statistic(read.query.statistic).define_release(read.query).unit[0])


def _find_threshold(step: Step) -> int:
    """Find the least number of steps that noise alone reaches with at most the set chance."""
    return find_halfwidth(step.noise, 2 * CHANCE) + 1


def _round_halfwidth(
    read: Read, step: Step, interval: Fraction, places: int, *, for_target: bool = False
) -> int:
    """Compute the half-width in units of the last published decimal.

    ``for_target``: as version 0.2 computed it, so that runs with accuracy targets are planned as
    before; of four draws or more that is a bound, and larger.
    """
    factors = [abs(factor) for factor in read.factors if factor]
    draws = len(factors) * _count_added_cells(read, step)
    if read.screened:
        half = factors[0] * compute_screened_halfwidth(
            step.noise, len(factors) - 1, _find_threshold(step), interval
        )
    elif for_target and len(set(factors)) == 1:
        half = factors[0] * sum_halfwidth(step.noise, draws, 1 - interval)
    elif for_target and len(factors) == draws:
        half = bound_mixed_halfwidth(step.noise, factors, interval)
    else:
        half = compute_combined_halfwidth(_join_draws(read, step), 1 - interval)
    # Rounding to nearest suffices: a true figure has no more decimals than the published one.
    whole: int = math.floor(half * 10**places + Fraction(1, 2))
    return whole


def _join_draws(read: Read, step: Step) -> tuple[Part, ...]:
    """Join the draws that enter a cell: those of all cells of the step that add up to it."""
    cells = _count_added_cells(read, step)
    return joined(Part(step.noise, factor, cells) for factor in read.factors)


def _count_added_cells(read: Read, step: Step) -> int:
    """Count the cells of the step that add up to one cell of the query."""
    return prod(len(step.query.groups[place].labels) for place in read.merged)


def _merge_labels(row: Integers, read: Read, step: Step) -> Integers:
    """Add up over the labels of the merged groups; cells are row-major."""
    if not read.merged:
        return row
    sizes = [len(group.labels) for group in step.query.groups]
    totals: dict[tuple[int, ...], int] = {}
    for place, value in zip(product(*map(range, sizes)), row, strict=True):
        remaining_place = tuple(at for axis, at in enumerate(place) if axis not in read.merged)
        totals[remaining_place] = totals.get(remaining_place, 0) + value
    return list(totals.values())
