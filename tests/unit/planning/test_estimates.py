"""Tables estimated from tables with noise, held against least squares over all cells."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dprelease.model import ColumnType, Group, Term
from dprelease.planning.strategy_candidates import Estimates

Matrix = NDArray[np.object_]
SIZES = {"a": 3, "b": 2, "c": 4, "d": 1}


def group(name: str) -> Group:
    labels = tuple(f"{name}{place}" for place in range(SIZES[name]))
    return Group(name, ColumnType.STRING, labels, keys=labels)


def cells(names: str) -> list[dict[str, int]]:
    """The cells of a table: a label's place by axis."""
    return [
        dict(zip(names, places, strict=True))
        for places in product(*(range(SIZES[name]) for name in names))
    ]


def build_counts(names: str, of: str) -> Matrix:
    """The matrix that adds up the cells of a table over other axes to those of ``names``."""
    rows = [
        [Fraction(all(full[n] == cell[n] for n in names)) for full in cells(of)]
        for cell in cells(names)
    ]
    return np.array(rows, dtype=object)


def read(table: str, released: Sequence[str], terms: Sequence[Term]) -> list[Matrix]:
    """The matrix from the cells of each released table to the figures of a table, by its terms."""
    made = [
        np.full((prod(SIZES[n] for n in table), len(cells(names))), Fraction(0), dtype=object)
        for names in released
    ]
    for term in terms:
        names = released[int(term.step)]
        matched = [names[place] for place in term.groups]
        for row, figure in enumerate(cells(table)):
            for column, cell in enumerate(cells(names)):
                if all(cell[name] == figure[name] for name in matched):
                    made[int(term.step)][row, column] += term.factor
    return made


def estimate(
    tables: Sequence[str], released: Sequence[str], variances: Sequence[float]
) -> dict[str, list[Matrix]]:
    best = Estimates(
        [axes(names) for names in tables], [axes(names) for names in released], list(SIZES.values())
    )
    figures = best.build_figures(variances)
    made = {names: read(names, released, list(figures[axes(names)])) for names in tables}
    for names, shares in best.compute_amounts(variances).items():
        # what is compared before any fraction is made
        (table,) = [other for other in tables if axes(other) == names]
        for place, part in enumerate(made[table]):
            share = (part.astype(float) ** 2).sum(axis=1)
            assert share == pytest.approx(shares.get(place, 0.0), abs=1e-5)
    return made


def axes(names: str) -> frozenset[int]:
    return frozenset(list(SIZES).index(name) for name in names)


def least_squares(
    table: str, released: Sequence[str], variances: Sequence[float], full: str
) -> NDArray[np.float64]:
    """The variances of the best linear unbiased estimates of a table's cells."""
    design = np.vstack(
        [
            build_counts(names, full).astype(float) / np.sqrt(variance)
            for names, variance in zip(released, variances, strict=True)
        ]
    )
    wanted = build_counts(table, full).astype(float)
    made: NDArray[np.float64] = np.einsum(
        "ij,jk,ik->i", wanted, np.linalg.pinv(design.T @ design), wanted
    )
    return made


def check_held(tables: Sequence[str], released: Sequence[str], variances: Sequence[float]) -> None:
    """Estimates are unbiased exactly, and have the least variance but for rounded weights."""
    full = "".join(name for name in SIZES if any(name in names for names in released))
    for table, parts in estimate(tables, released, variances).items():
        expected = sum(
            (part @ build_counts(names, full) for part, names in zip(parts, released, strict=True)),
            np.full((len(cells(table)), len(cells(full))), Fraction(0), dtype=object),
        )
        assert (expected == build_counts(table, full)).all()
        errs = sum(
            variance * (part.astype(float) ** 2).sum(axis=1)
            for part, variance in zip(parts, variances, strict=True)
        )
        least = least_squares(table, released, variances, full)
        assert errs == pytest.approx(least, rel=1e-4)


@pytest.mark.parametrize(
    ("tables", "released"),
    [
        (["ab"], ["ab"]),
        (["ab", "bc"], ["ab", "bc"]),
        (["ab", "a", ""], ["ab", "a", ""]),
        (["ab", "bc", "ac"], ["abc"]),
        (["a", "b", "c"], ["ab", "bc", "ac"]),
        (["ab", "c", ""], ["abc", "ab", "c", ""]),
        (["ad", "a"], ["ad", "a"]),
    ],
)
def test_estimates_are_unbiased_and_best(tables: list[str], released: list[str]) -> None:
    check_held(tables, released, [1.0] * len(released))
    check_held(tables, released, [0.5 + 3 * place for place in range(len(released))])


SETS = ["", "a", "b", "c", "d", "ab", "ac", "bc", "ad", "abc"]


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_estimates_from_any_tables_are_unbiased_and_best(data: st.DataObject) -> None:
    released = data.draw(st.lists(st.sampled_from(SETS), min_size=1, max_size=4, unique=True))
    below = [names for names in SETS if any(set(names) <= set(other) for other in released)]
    tables = data.draw(st.lists(st.sampled_from(below), min_size=1, max_size=3, unique=True))
    variance = st.floats(0.1, 100)
    check_held(tables, released, [data.draw(variance) for _ in released])


def test_the_weights_of_a_component_add_up_to_one() -> None:
    """Whatever they are rounded to, a total over one axis is the same from both of its tables."""
    both = estimate(["ab", "a"], ["ab", "a"], [3.0, 7.0])
    for part, names in zip(both["ab"], ["ab", "a"], strict=True):
        added = build_counts("a", "ab") @ part
        assert (added == both["a"][["ab", "a"].index(names)]).all()
