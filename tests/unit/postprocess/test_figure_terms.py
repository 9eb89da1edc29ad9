"""How the cells of a step enter a figure: centred cells by a closed form, as by all products."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from math import lcm

from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import examples

from dprelease.model import CENTRED, Term
from dprelease.postprocess.intervals.figure_terms import (
    Entering,
    build_polynomial,
    compute_denominator,
    list_entering,
    list_entering_of_terms,
)

FACTORS = st.fractions(-3, 3, max_denominator=12).filter(bool)


def add_up(entering: Sequence[Entering]) -> Counter[Fraction]:
    cells: Counter[Fraction] = Counter()
    for factor, number in entering:
        cells[abs(factor)] += number
    return cells


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), FACTORS)
def test_centred_cells_enter_as_they_do_multiplied_out(sizes: list[int], factor: Fraction) -> None:
    axes = [CENTRED] * len(sizes)
    terms = [Term("t", factor, 0, tuple(range(len(sizes))))]
    sums = build_polynomial(sizes, axes, terms)
    expected = list_entering(sizes, sums)
    assert add_up(list_entering_of_terms(sizes, axes, terms)) == add_up(expected)
    assert compute_denominator(sizes, axes, terms) == lcm(*(f.denominator for f in sums.values()))
    # Two terms of one integer are added up before they are multiplied out.
    twice = [*terms, *terms]
    doubled = [Entering(2 * factor, number) for factor, number in expected]
    assert add_up(list_entering_of_terms(sizes, axes, twice)) == add_up(doubled)
