"""Figures that are combined from the integers of several steps: values and noise intervals.

*Values.* A figure is a linear combination of integers with rational coefficients, the same for all
its cells. All tables of a strategy have the same number of decimals, and are rounded so that they
still add up: in each table the cells without a last label and all sums over labels are rounded,
each by itself, and a cell with a last label is the difference. A sum over labels is the same
estimate in every table, so it is rounded to the same number. The half-width of a cell includes the
most that its roundings may add up to. A last label that only stands for records without another
label is not published.

*Intervals.* The noise of a figure is a sum of independent draws, ``figure_terms.list_entering``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING

from msgspec.structs import replace

from dprelease.kernel.distributions.laws import compute_noise_variance
from dprelease.model import Group, Noise, NoiseFamily, NoisyTable, OutputColumn, Plan, Read, Step
from dprelease.model.sentences import Text, sentence
from dprelease.postprocess.intervals.combined_noise import (
    Part,
    combine_parts,
    compute_combined_halfwidth,
)
from dprelease.postprocess.intervals.estimate_columns import Layout, estimate_columns
from dprelease.postprocess.intervals.figure_terms import (
    build_polynomial,
    group_by_integer,
    list_entering,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Cells = NDArray[np.object_]

SMALL = Fraction(1, 100)
"""The part of the noise's standard deviation that roundings may add up to."""

_MILLION = 10**6
EXACT_PLACES = 2
"""Figures with at most so many decimals are not rounded."""

MOST_PLACES = 15
"""The most decimals of a figure: with very little noise, roundings may exceed ``SMALL``."""


def build_combined_columns(
    read: Read, plan: Plan, noisy: NoisyTable, subject: Text, interval: Fraction
) -> list[OutputColumn]:
    """Build the output columns of a combined figure.

    Args:
        read: A combined read.
        plan: The plan that the read belongs to.
        noisy: The noisy integers of all steps.
        subject: What a figure is, in a few words.
        interval: The level of noise intervals.

    Returns:
        Value, half-width and flag, with one value for each cell.
    """
    places = read.decimals
    values = _compute_values(read, plan, noisy, places)
    layout = Layout(
        read.query.name,
        places,
        sentence("tables.columns.planned_together", figure=subject),
        interval,
    )
    return estimate_columns(
        layout, values, int(compute_halfwidth(read, plan, interval) * 10**places)
    )


# --- noise ---------------------------------------------------------------------------------------


def compute_halfwidth(read: Read, plan: Plan, interval: Fraction) -> Fraction:
    """Compute the half-width of every figure, roundings included.

    Args:
        read: A combined read.
        plan: The plan that the read belongs to.
        interval: The level of the interval.

    Returns:
        The half-width, a multiple of the last published decimal.
    """
    places = read.decimals
    half = compute_combined_halfwidth(collect_noise(read, plan), 1 - interval)
    if _find_denominator(read, plan) > 1 and 10**places % _find_denominator(read, plan):
        half += _count_roundings(read) * Fraction(1, 2 * 10**places)
    # Figures and true numbers are multiples of the last decimal, and so is what lies between them.
    return Fraction(math.floor(half * 10**places), 10**places)


def collect_noise(read: Read, plan: Plan) -> tuple[Part, ...]:
    """Collect the noise of a figure from all its steps.

    Args:
        read: A combined read.
        plan: The plan that the read belongs to.

    Returns:
        Sums of independent draws of one law each, with their weights.
    """
    return combine_parts(
        Part(step.noise, part.factor, part.cells)
        for step, _, sums in _iter_polynomials(read, plan)
        for part in list_entering(step.query.groups, sums)
    )


def compute_combined_variance(read: Read, plan: Plan) -> Fraction:
    """Compute the variance of a figure's noise, by the discrete laws, to float accuracy."""
    return sum_variance(collect_noise(read, plan))


def sum_variance(parts: Iterable[Part]) -> Fraction:
    """Compute the variance of a sum of independent noise.

    Args:
        parts: Sums of draws with their weights.

    Returns:
        The variance by the discrete laws, to float accuracy.
    """
    return sum(
        (part.weight**2 * part.draws * _compute_variance(part.noise) for part in parts), Fraction(0)
    )


def approximate_noise(read: Read, plan: Plan) -> Noise:
    """Build noise on single integers with about the variance of the figures.

    Args:
        read: A combined read.
        plan: The plan that the read belongs to.

    Returns:
        Noise of the first step's family.
    """
    family, spread = plan.step(read).noise.family, compute_combined_variance(read, plan)
    if family is NoiseFamily.GAUSSIAN:
        return Noise(family, spread)
    return Noise(family, Fraction(math.isqrt(int(spread / 2 * _MILLION**2)), _MILLION))


def _iter_polynomials(
    read: Read, plan: Plan
) -> Iterator[tuple[Step, int, Mapping[frozenset[int], Fraction]]]:
    """Give each released integer of a figure, and how its cells enter the figure."""
    steps = {step.query.name: step for step in plan.steps}
    for (name, row), terms in group_by_integer(read.terms).items():
        step = steps[name]
        yield step, row, build_polynomial(step.query.groups, step.axes, terms)


# --- decimals ------------------------------------------------------------------------------------


def assign_decimals(plan: Plan) -> Plan:
    """Give every combined figure of a plan its decimals.

    Args:
        plan: A plan with strategies.

    Returns:
        The plan; all figures of one strategy have the same number of decimals.
    """
    own = {read.query.name: _count_places(read, plan) for read in plan.reads if read.terms}
    places: dict[str, int] = {}
    for strategy in plan.strategies:
        decimals = max(own[name] for name in strategy.queries)
        places |= dict.fromkeys(strategy.queries, decimals)
    reads = tuple(
        replace(read, decimals=places.get(read.query.name, read.decimals)) for read in plan.reads
    )
    return replace(plan, reads=reads)


def _count_places(read: Read, plan: Plan) -> int:
    bottom = _find_denominator(read, plan)
    exact = next((places for places in range(EXACT_PLACES + 1) if 10**places % bottom == 0), None)
    if exact is not None:
        return exact
    rounded, allowed = _count_roundings(read) ** 2, SMALL**2 * compute_combined_variance(read, plan)
    enough = (n for n in range(EXACT_PLACES, MOST_PLACES) if rounded <= 4 * 100**n * allowed)
    return next(enough, MOST_PLACES)


def _find_denominator(read: Read, plan: Plan) -> int:
    """Find the common denominator of all figures of a query."""
    factors = (f for _, _, sums in _iter_polynomials(read, plan) for f in sums.values())
    return math.lcm(*(factor.denominator for factor in factors))


def _count_roundings(read: Read) -> int:
    """Count the roundings that can add up in a published cell."""
    groups = read.query.groups
    return prod(len(group.labels) for group in groups if group.complete() == group)


# --- values --------------------------------------------------------------------------------------


def _compute_values(read: Read, plan: Plan, noisy: NoisyTable, places: int) -> list[int]:
    """Compute the published figures, in units of the last decimal."""
    import numpy as np

    groups = [group.complete() for group in read.query.groups]
    bottom = _find_denominator(read, plan)
    shape = [len(group.labels) for group in groups]
    cells: Cells = np.zeros(shape, dtype=object)
    for step, row, sums in _iter_polynomials(read, plan):
        sizes = [len(group.labels) for group in step.query.groups]
        integers = np.array(noisy.values[step.query.name][row], dtype=object).reshape(sizes)
        for agreeing, factor in sums.items():
            cells += int(factor * bottom) * _spread(integers, step, agreeing, groups)
    cells *= 10**places
    cells = _round_to_sum(cells, bottom)
    published = tuple(slice(len(group.labels)) for group in read.query.groups)
    return [int(value) for value in np.reshape(cells[published], -1)]


def _spread(
    integers: Cells, step: Step, agreeing: frozenset[int], groups: Sequence[Group]
) -> Cells:
    """Add a step's cells up over all groups but some, in the order and shape of a figure's."""
    import numpy as np

    free_axes = tuple(place for place in range(integers.ndim) if place not in agreeing)
    added = integers.sum(axis=free_axes)
    remaining = [step.query.groups[place] for place in sorted(agreeing)]
    order = [remaining.index(group) for group in groups if group in remaining]
    shape = [len(group.labels) if group in remaining else 1 for group in groups]
    spread: Cells = np.array(added, dtype=object).transpose(order).reshape(shape)
    return spread


def _round_to_sum(cells: Cells, bottom: int) -> Cells:
    """Round cells/bottom to whole numbers that add up as these do; see the module."""
    import numpy as np

    if bottom == 1:
        return cells
    sums = cells.copy()
    for axis in range(sums.ndim):
        front = np.moveaxis(sums, axis, 0)
        front[-1] = front.sum(axis=0)
    rounded: Cells = np.array((2 * sums + bottom) // (2 * bottom), dtype=object)
    for axis in range(rounded.ndim):
        front = np.moveaxis(rounded, axis, 0)
        front[-1] = front[-1] - front[:-1].sum(axis=0)
    return rounded


@lru_cache(maxsize=1024)
def _compute_variance(noise: Noise) -> Fraction:
    return Fraction(compute_noise_variance(noise))
