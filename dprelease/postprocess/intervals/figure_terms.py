"""Figures combined from several steps: how the cells of each step enter a figure's cell.

For a step with groups 1, ..., d let e_i be 1 for a cell of the step with the label of the figure's
cell in group i, and 0 for any other. By a term, a cell enters the figure with a product of factors:
e_i for each of the term's groups, n e_i - 1 if that axis is CENTRED (the integers are centred once
more), and 1 for every other group, so that its labels are added up. Expanded and added up over
terms, this is a polynomial in the e_i with one coefficient for each set of groups.

Below, ``sizes`` are the numbers of labels of a step's groups, and ``axes`` the matrices that mix
them, empty if none does. Cells that enter with a factor of 0 are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import chain, combinations, product
from math import comb, lcm, prod
from typing import NamedTuple

from msgspec.structs import replace

from dprelease.model import CENTRED, AxisMatrix, Term

Places = frozenset[int]
Polynomial = Mapping[Places, Fraction]


class Entering(NamedTuple):
    """``cells`` cells of a step that enter a figure's cell with this factor."""

    factor: Fraction
    cells: int


def weigh_terms(terms: Iterable[Term], factors: Sequence[Fraction]) -> list[Term]:
    """Weigh the parts of a figure, so that they are summands of one number; 0 leaves a part out."""
    return [
        term if factors[term.part] == 1 else replace(term, factor=term.factor * factors[term.part])
        for term in terms
        if factors[term.part]
    ]


def group_by_integer(terms: Iterable[Term]) -> dict[tuple[str, int], list[Term]]:
    """Group terms by the released integer that they multiply: the step's name, and the place."""
    gathered: dict[tuple[str, int], list[Term]] = {}
    for term in terms:
        gathered.setdefault((term.step, term.row), []).append(term)
    return gathered


def build_polynomial(
    sizes: Sequence[int], axes: Sequence[AxisMatrix], terms: Iterable[Term]
) -> Polynomial:
    """Compute the coefficient of each product of e_i for one released integer of a step.

    A set of groups stands for the cells that agree with the figure's in these groups, added up over
    the others. Coefficients of 0 are left out. Raises ValueError if cells that were centred along
    an axis would be added up over it.
    """
    total: dict[Places, Fraction] = {}
    mixed = [place for place, axis in enumerate(axes) if axis == CENTRED]
    for term in terms:
        if not set(mixed) <= set(term.groups):
            raise ValueError("centred cells add up to 0")
        as_they_are = Places(term.groups) - set(mixed)
        for matched in iter_subsets(mixed):
            factor = term.factor * (-1) ** (len(mixed) - len(matched))
            factor *= prod(sizes[place] for place in matched)
            places = as_they_are | set(matched)
            total[places] = total.get(places, Fraction(0)) + factor
    return {places: factor for places, factor in total.items() if factor}


def list_entering_of_terms(
    sizes: Sequence[int], axes: Sequence[AxisMatrix], terms: Sequence[Term]
) -> list[Entering]:
    """List how many of a step's cells enter each of a figure's cells by some terms, by factor."""
    if not _is_centred_alone(axes, terms):
        return list_entering(sizes, build_polynomial(sizes, axes, terms))
    # The factors of groups with so many labels differ only by how many of these agree.
    kinds = Counter(sizes)
    entries = []
    for agreeing in product(*(range(number + 1) for number in kinds.values())):
        factor, cells = terms[0].factor, 1
        for (labels, number), same in zip(kinds.items(), agreeing, strict=True):
            factor *= (labels - 1) ** same * (-1) ** (number - same)
            cells *= comb(number, same) * (labels - 1) ** (number - same)
        if factor and cells:
            entries.append(Entering(factor, cells))
    return entries


def compute_denominator(
    sizes: Sequence[int], axes: Sequence[AxisMatrix], terms: Sequence[Term]
) -> int:
    """Compute the common denominator of what some terms of one released integer come to."""
    if _is_centred_alone(axes, terms):
        return terms[0].factor.denominator  # that of no group; all others are multiples of it
    sums = build_polynomial(sizes, axes, terms)
    return lcm(*(factor.denominator for factor in sums.values()))


def _is_centred_alone(axes: Sequence[AxisMatrix], terms: Sequence[Term]) -> bool:
    """Tell whether a single term is of cells that are centred along all axes, all of them its."""
    every = set(range(len(axes)))
    return len(terms) == 1 and set(axes) == {CENTRED} and set(terms[0].groups) == every


def list_entering(sizes: Sequence[int], sums: Polynomial) -> list[Entering]:
    """List how many of a step's cells enter each of a figure's cells, by factor."""
    return [Entering(factor, cells) for (factor,), cells in list_entering_together(sizes, [sums])]


def list_entering_together(
    sizes: Sequence[int], integers: Sequence[Polynomial]
) -> list[tuple[tuple[Fraction, ...], int]]:
    """List how many of a step's cells enter each of a figure's cells, by factors of integers."""
    places = sorted(Places().union(*(inner for sums in integers for inner in sums)))
    outside = prod(sizes) // prod(sizes[place] for place in places)
    bits = {place: 1 << number for number, place in enumerate(places)}
    factors = list(zip(*(_add_up_factors(sums, bits) for sums in integers), strict=True))
    entries = []
    for agreeing in iter_subsets(places):
        own = factors[sum(bits[place] for place in agreeing)]
        cells = outside * prod(sizes[place] - 1 for place in places if place not in agreeing)
        if any(own) and cells:
            entries.append((own, cells))
    return entries


def _add_up_factors(sums: Polynomial, bits: Mapping[int, int]) -> list[Fraction]:
    """Compute the factor of a cell by the groups in which it agrees, each a bit.

    It enters with the coefficients of all sets of these, which are added up one group after the
    other.
    """
    factors = [Fraction(0)] * (1 << len(bits))
    for inner, factor in sums.items():
        factors[sum(bits[place] for place in inner)] = factor
    for bit in bits.values():
        for number in range(len(factors)):
            if number & bit and factors[number ^ bit]:
                factors[number] += factors[number ^ bit]
    return factors


def iter_subsets(places: Sequence[int]) -> Iterable[tuple[int, ...]]:
    """Iterate over all subsets, small ones first."""
    return chain.from_iterable(combinations(places, size) for size in range(len(places) + 1))
