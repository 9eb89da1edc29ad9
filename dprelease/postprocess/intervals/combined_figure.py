"""Figures that are combined from the integers of several steps: values and noise intervals.

*Values.* A figure is a linear combination of integers with rational coefficients, the same for all
its cells; of a share, each of its two parts is. All tables of a strategy have the same number of
decimals, and are rounded so that they still add up: in each table the cells without a last label
and all sums over labels are rounded, each by itself, and a cell with a last label is the
difference. A sum over labels is the same estimate in every table, so it is rounded to the same
number. The half-width of a cell includes the most that its roundings may add up to. A last label
that only stands for records without another label is not published.

*Intervals.* The noise of a figure is a sum of independent draws, ``figure_terms.list_entering``; or
of cells whose integers have noise together, each with its weight.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from dprelease.kernel.distributions.laws import compute_noise_variance
from dprelease.model import (
    CENTRED,
    AxisMatrix,
    Group,
    Noise,
    NoiseFamily,
    NoisyTable,
    OutputColumn,
    Plan,
    Read,
    Step,
    Term,
)
from dprelease.model.sentences import Text, sentence
from dprelease.postprocess.intervals.combined_noise import (
    Part,
    combine_parts,
    compute_combined_halfwidth,
    compute_lattice_step,
)
from dprelease.postprocess.intervals.estimate_columns import Layout, estimate_columns
from dprelease.postprocess.intervals.figure_terms import (
    build_polynomial,
    compute_denominator,
    group_by_integer,
    list_entering_of_terms,
    list_entering_together,
    weigh_terms,
)
from dprelease.postprocess.intervals.fixed_point import count_decimals

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Cells = NDArray[Any]

Released = tuple[Noise, tuple[int, ...], tuple[AxisMatrix, ...]]
"""The noise of a step, the numbers of labels of its groups, and what mixes these."""

_MOST_KEPT = 1024  # figures of one shape whose noise is asked for again and again

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
    """Build value, half-width and flag of a combined figure; ``subject`` says what a figure is."""
    terms, places = _weigh(read), read.decimals
    bottom = _find_denominator(terms, plan)
    cells = _add_up_terms(read, terms, plan, noisy, bottom, 10**places)
    values = _list_published(read, _round_to_sum(cells, bottom))
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
    """Compute the half-width of every figure, with roundings: a multiple of the last decimal."""
    places = read.decimals
    half = compute_combined_halfwidth(collect_noise(read, plan), 1 - interval)
    bottom = _find_denominator(_weigh(read), plan)
    if bottom > 1 and 10**places % bottom:
        half += _count_roundings(read) * Fraction(1, 2 * 10**places)
    # Figures and true numbers are multiples of the last decimal, and so is what lies between them.
    return Fraction(math.floor(half * 10**places), 10**places)


def collect_noise(
    read: Read, plan: Plan, factors: Sequence[Fraction] | None = None
) -> tuple[Part, ...]:
    """Collect the noise of a figure from all steps; ``factors`` of its parts, if not its own."""
    terms = _weigh(read, factors)
    return _collect_noise(_number_terms(terms), _list_released(terms, plan))


class Parts(NamedTuple):
    """The parts of a query's figures by cell, each ``unit`` times as large, and their noise."""

    cells: Sequence[Sequence[int]]
    unit: int
    bound_noise: Callable[[Sequence[Fraction], Fraction], Fraction]
    """Bounds the noise of the sum of the parts, each times its factor, but for a chance."""
    find_step: Callable[[Sequence[Fraction]], Fraction]
    """Finds the step of the lattice on which that noise lies."""


def compute_parts(read: Read, plan: Plan, noisy: NoisyTable) -> Parts:
    """Compute the parts of a query's figures, unrounded.

    The noise of several together is by the exact joint law: a draw that enters more than one of
    them counts once.
    """
    number = len(read.factors)
    each = [
        _weigh(read, [Fraction(place == part) for place in range(number)]) for part in range(number)
    ]
    unit = math.lcm(*(_find_denominator(terms, plan) for terms in each))
    return Parts(
        [_list_published(read, _add_up_terms(read, terms, plan, noisy, unit, 1)) for terms in each],
        unit,
        lambda factors, alpha: compute_combined_halfwidth(
            collect_noise(read, plan, factors), alpha
        ),
        lambda factors: compute_lattice_step(collect_noise(read, plan, factors)),
    )


@lru_cache(maxsize=_MOST_KEPT)
def _collect_noise(terms: tuple[Term, ...], released: tuple[Released, ...]) -> tuple[Part, ...]:
    together: dict[str, list[Sequence[Term]]] = {}
    laws: dict[str, Released] = {}
    parts: list[Part] = []
    for name, law, own in _iter_integers(terms, released):
        noise, sizes, axes = law
        if noise.family is NoiseFamily.CUBE:
            together.setdefault(name, []).append(own)
            laws[name] = law
        else:
            entering = list_entering_of_terms(sizes, axes, own)
            parts += [Part(noise, part.factor, part.cells) for part in entering]
    for name, integers in together.items():
        noise, sizes, axes = laws[name]
        sums = [build_polynomial(sizes, axes, own) for own in integers]
        parts += [
            Part(noise, weights[0], cells, weights[1:])
            for weights, cells in list_entering_together(sizes, sums)
        ]
    return combine_parts(parts)


def compute_combined_variance(read: Read, plan: Plan) -> Fraction:
    """Compute the variance of a figure's noise, by the discrete laws, to float accuracy."""
    terms = _weigh(read)
    return _compute_variance_of(_number_terms(terms), _list_released(terms, plan))


@lru_cache(maxsize=_MOST_KEPT)
def _compute_variance_of(terms: tuple[Term, ...], released: tuple[Released, ...]) -> Fraction:
    return sum_variance(_collect_noise(terms, released))


def sum_variance(parts: Iterable[Part]) -> Fraction:
    """Compute the variance of a sum of independent noise, or uncorrelated, as that of a cube is.

    It is that of the discrete laws, to float accuracy.
    """
    return sum(
        (
            weight**2 * part.draws * _compute_variance(part.noise)
            for part in parts
            for weight in part.weights
        ),
        Fraction(0),
    )


def approximate_noise(read: Read, plan: Plan) -> Noise:
    """Build noise on single integers with about the variance of the first part of the figures.

    It is of the first step's family; of a cube, of one integer.
    """
    first = [Fraction(1), *(Fraction(0) for _ in read.factors[1:])]
    family, spread = plan.step(read).noise.family, sum_variance(collect_noise(read, plan, first))
    if family is NoiseFamily.GAUSSIAN:
        return Noise(family, spread)
    scale = Fraction(math.isqrt(int(spread / 2 * _MILLION**2)), _MILLION)
    return Noise(family, scale, integers=1 if family is NoiseFamily.CUBE else 0)


def _number_terms(terms: Sequence[Term]) -> tuple[Term, ...]:
    """List the terms with numbers for steps and integers: many figures differ in names alone."""
    steps: dict[str, str] = {}
    rows: dict[tuple[str, int], int] = {}
    return tuple(
        replace(
            term,
            step=steps.setdefault(term.step, str(len(steps))),
            row=rows.setdefault((term.step, term.row), len(rows)),
        )
        for term in terms
    )


def _weigh(read: Read, factors: Sequence[Fraction] | None = None) -> tuple[Term, ...]:
    """Give the terms of a figure, or of other factors of its parts."""
    return tuple(weigh_terms(read.terms, factors or read.factors or (Fraction(1),)))


def _list_released(terms: Sequence[Term], plan: Plan) -> tuple[Released, ...]:
    """List what the noise of a figure depends on, of each step in the order of the terms."""
    steps = (plan.steps_by_name[name] for name in dict.fromkeys(term.step for term in terms))
    return tuple(
        (step.noise, tuple(len(group.labels) for group in step.query.groups), step.axes)
        for step in steps
    )


def _iter_integers(
    terms: Sequence[Term], released: Sequence[Released]
) -> Iterator[tuple[str, Released, Sequence[Term]]]:
    """Give the step of each released integer of a figure, and its terms."""
    names = dict.fromkeys(term.step for term in terms)
    by_name = dict(zip(names, released, strict=True))
    for (name, _), own in group_by_integer(terms).items():
        yield name, by_name[name], own


# --- decimals ------------------------------------------------------------------------------------


def assign_decimals(plan: Plan) -> Plan:
    """Give combined figures their decimals: those of one strategy that can add up have as many."""
    single = {read.query.name: read for read in plan.reads if read.terms and len(read.factors) <= 1}
    own = {name: _count_places(read, plan) for name, read in single.items()}
    places: dict[str, int] = {}
    for strategy in plan.strategies:
        alike: dict[tuple[Fraction, ...], list[str]] = {}
        for name in strategy.queries:
            if name in single:
                alike.setdefault(single[name].factors, []).append(name)
        for names in alike.values():
            places |= dict.fromkeys(names, max(own[name] for name in names))
    reads = tuple(
        replace(read, decimals=places.get(read.query.name, read.decimals)) for read in plan.reads
    )
    return replace(plan, reads=reads)


def _count_places(read: Read, plan: Plan) -> int:
    # True figures are multiples of their unit, so they must be of the last decimal.
    least = count_decimals(read.factors[0]) if read.factors else 0
    bottom = _find_denominator(_weigh(read), plan)
    exact = next((places for places in range(EXACT_PLACES + 1) if 10**places % bottom == 0), None)
    if exact is not None:
        return max(least, exact)
    rounded, allowed = _count_roundings(read) ** 2, SMALL**2 * compute_combined_variance(read, plan)
    enough = (n for n in range(EXACT_PLACES, MOST_PLACES) if rounded <= 4 * 100**n * allowed)
    return max(least, next(enough, MOST_PLACES))


def _find_denominator(terms: tuple[Term, ...], plan: Plan) -> int:
    """Find the common denominator of all figures of these terms."""
    return _compute_denominator(_number_terms(terms), _list_released(terms, plan))


@lru_cache(maxsize=_MOST_KEPT)
def _compute_denominator(terms: tuple[Term, ...], released: tuple[Released, ...]) -> int:
    integers = _iter_integers(terms, released)
    return math.lcm(
        *(compute_denominator(sizes, axes, own) for _, (_, sizes, axes), own in integers)
    )


def _count_roundings(read: Read) -> int:
    """Count the roundings that can add up in a published cell."""
    groups = read.query.groups
    return prod(len(group.labels) for group in groups if group.complete() == group)


# --- values --------------------------------------------------------------------------------------


def _list_published(read: Read, cells: Cells) -> list[int]:
    import numpy as np

    published = tuple(slice(len(group.labels)) for group in read.query.groups)
    return [int(value) for value in np.reshape(cells[published], -1)]


def _add_up_terms(  # noqa: PLR0913, PLR0917 - what is added up, and in which unit
    read: Read, terms: Sequence[Term], plan: Plan, noisy: NoisyTable, bottom: int, scale: int
) -> Cells:
    """Add up terms in all cells of a query's groups, completed, times a denominator and a scale."""
    import numpy as np

    groups = [group.complete() for group in read.query.groups]
    # The terms themselves may have a larger denominator than their sums.
    finer = math.lcm(bottom, *(term.factor.denominator for term in terms))
    largest = sum(_bound_term(term, plan, noisy) * abs(term.factor) for term in terms)
    # Sums over all cells, doubled and with half of the denominator, must fit too.
    shape = [len(group.labels) for group in groups]
    kind = _choose_kind(4 * finer * max(math.ceil(largest) * scale * prod(shape), 1))
    parts: dict[frozenset[int], Cells] = {}
    for term in terms:
        integers: Cells = np.array(
            noisy.values[term.step][term.row], dtype=_choose_kind(_bound_term(term, plan, noisy))
        )
        axes, part = _add_up_term(term, plan.steps_by_name[term.step], integers, groups)
        parts.setdefault(axes, np.zeros(part.shape, dtype=kind))
        parts[axes] += part.astype(kind) * int(term.factor * finer)
    cells = _add_up_parts(parts, shape)
    cells //= finer // bottom
    cells *= scale
    return cells


def _choose_kind(largest: int) -> type[Any]:
    """Choose integers of 64 bits where numbers of up to this size fit."""
    import numpy as np

    return np.int64 if largest < 1 << 63 else object


def _bound_term(term: Term, plan: Plan, noisy: NoisyTable) -> int:
    """Bound what a term comes to before its factor, and all sums on the way."""
    step = plan.steps_by_name[term.step]
    sizes = [len(group.labels) for group in step.query.groups]
    # Centring takes an integer n times, less the sum of n.
    centred = prod(2 * sizes[place] for place, axis in enumerate(step.axes) if axis == CENTRED)
    return centred * sum(map(abs, noisy.values[term.step][term.row]))


def _add_up_term(
    term: Term, step: Step, integers: Cells, groups: Sequence[Group]
) -> tuple[frozenset[int], Cells]:
    """Center a step's cells once more, and add them up over all groups but the term's.

    The axes are those of the figure's groups at the places returned, in their order.
    """
    import numpy as np

    own = step.query.groups
    sizes = [len(group.labels) for group in own]
    cells = integers.reshape(sizes)
    for place, axis in enumerate(step.axes):
        if axis == CENTRED:
            cells = sizes[place] * cells - cells.sum(axis=place, keepdims=True)
    others = tuple(place for place in range(len(own)) if place not in term.groups)
    added: Cells = np.array(cells.sum(axis=others), dtype=cells.dtype)
    remaining = [own[place] for place in sorted(term.groups)]
    places = [place for place, group in enumerate(groups) if group in remaining]
    return frozenset(places), added.transpose([remaining.index(groups[at]) for at in places])


def _add_up_parts(parts: Mapping[frozenset[int], Cells], sizes: Sequence[int]) -> Cells:
    """Add up arrays over some axes each to one over all axes: axis by axis, the small ones first.

    Each array is spread along an axis only together with all that have the same other axes.
    """
    import numpy as np

    for axis in sorted(range(len(sizes)), key=sizes.__getitem__):
        joined: dict[frozenset[int], Cells] = {}
        for axes, part in parts.items():
            whole = axes | {axis}
            wide = part if axis in axes else np.expand_dims(part, sorted(whole).index(axis))
            joined[whole] = joined[whole] + wide if whole in joined else wide
        parts = joined
    (cells,) = parts.values()
    return np.broadcast_to(cells, tuple(sizes)).copy()


def _round_to_sum(cells: Cells, bottom: int) -> Cells:
    """Round cells/bottom to whole numbers that add up as these do; see the module."""
    import numpy as np

    if bottom == 1:
        return cells
    sums = cells.copy()
    for axis in range(sums.ndim):
        front = np.moveaxis(sums, axis, 0)
        front[-1] = front.sum(axis=0)
    rounded: Cells = np.array((2 * sums + bottom) // (2 * bottom), dtype=cells.dtype)
    for axis in range(rounded.ndim):
        front = np.moveaxis(rounded, axis, 0)
        front[-1] = front[-1] - front[:-1].sum(axis=0)
    return rounded


@lru_cache(maxsize=1024)
def _compute_variance(noise: Noise) -> Fraction:
    return Fraction(compute_noise_variance(noise))
