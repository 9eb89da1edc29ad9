"""Tables made to agree: the least squares that a solver finds, and exact sums everywhere."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dprelease.postprocess.finishing.agreement import (
    Counts,
    Wanted,
    compute_remaining_variance,
    make_agree,
    measure_disagreement,
    solve_least_squares,
)
from dprelease.postprocess.finishing.lattice import NONE, Circle, build_scheme, count_corrections

SIZES = [2, 3, 2]
FORMS = [
    [(0,), (0, 1)],
    [(), (0,), (0, 1), (0, 1, 2)],
    [(0,), (1,)],
    [(1,), (0,), (1, 0)],
    [(0, 1), (1, 2), (0, 2)],
    [(0, 1), (1, 2), (0, 2), (2, 1, 0)],
    [(0,), (1,), (2,), (0, 1, 2)],
    [(0, 1), (0, 1), (1,)],
    [(2, 0, 1)],
]


def design(form: tuple[int, ...]) -> np.ndarray:
    """The matrix that adds the cells of all axes up to those of a table."""
    cells = list(product(*map(range, SIZES)))
    rows = list(product(*(range(SIZES[axis]) for axis in form)))
    return np.array([[tuple(c[a] for a in form) == row for c in cells] for row in rows], float)


def draw_counts(form, seed, variances) -> list[Counts]:
    generator = np.random.default_rng(seed)
    truth = generator.integers(0, 9, size=int(np.prod(SIZES)))
    return [
        Counts(
            axes,
            (design(axes) @ truth + generator.integers(-6, 7, size=len(design(axes))))
            .astype(int)
            .tolist(),
            variance,
        )
        for axes, variance in zip(form, variances, strict=True)
    ]


@pytest.mark.parametrize("form", FORMS)
def test_it_is_the_weighted_least_squares_of_all_tables(form):
    variances = [Fraction(k + 1, 2) for k in range(len(form))]
    tables = draw_counts(form, 7, variances)
    whole = np.vstack(
        [design(axes) / float(v) ** 0.5 for axes, v in zip(form, variances, strict=True)]
    )
    seen = np.concatenate([np.array(t.cells) / float(t.variance) ** 0.5 for t in tables])
    solution = np.linalg.lstsq(whole, seen, rcond=None)[0]
    results = make_agree(solve_least_squares(form, tables, SIZES), Wanted(0, 5, nonnegative=False))
    for table, result in zip(tables, results, strict=True):
        # weights are whole parts of 4096
        assert np.allclose(np.array(result) / 1e5, design(table.axes) @ solution, atol=0.01)


@pytest.mark.parametrize("form", FORMS)
def test_the_noise_that_is_left_is_known(form):
    variances = [Fraction(k + 1) for k in range(len(form))]
    whole = np.vstack(
        [design(axes) / float(v) ** 0.5 for axes, v in zip(form, variances, strict=True)]
    )
    spread = np.linalg.pinv(whole.T @ whole)
    tables = [Counts(axes, (), v) for axes, v in zip(form, variances, strict=True)]
    for axes, variance in zip(
        form, compute_remaining_variance(solve_least_squares(form, tables, SIZES)), strict=True
    ):
        assert np.allclose(np.diag(design(axes) @ spread @ design(axes).T), variance)


@given(
    st.sampled_from(FORMS),
    st.integers(0, 10**6),
    st.booleans(),
    st.sampled_from([(0, 0), (0, 2), (2, 0), (1, 1)]),
)
def test_what_tables_share_is_the_same_to_the_last_digit(form, seed, nonnegative, places):
    tables = draw_counts(form, seed, [Fraction(2)] * len(form))
    wanted = Wanted(*places, nonnegative=nonnegative)
    results = make_agree(solve_least_squares(form, tables, SIZES), wanted)
    check_shared(form, results, SIZES, nonnegative=nonnegative)


@given(st.sets(st.frozensets(st.integers(0, 3)), min_size=1, max_size=7), st.integers(0, 99))
def test_any_tables_agree_that_are_no_circle(tables, seed):
    sizes, generator = [2, 3, 2, 2], np.random.default_rng(seed)
    form = [tuple(sorted(table, key=lambda axis: (axis * 7 + seed) % 5)) for table in tables]
    counts = [
        Counts(
            axes,
            generator.integers(
                -9, 20, size=int(np.prod([sizes[a] for a in axes], dtype=int))
            ).tolist(),
            Fraction(1),
        )
        for axes in form
    ]
    try:
        results = make_agree(
            solve_least_squares(form, counts, sizes), Wanted(0, 0, nonnegative=True)
        )
    except Circle:
        return
    check_shared(form, results, sizes, nonnegative=True)


def check_shared(form, results, sizes, *, nonnegative) -> None:
    """Any two tables add up to the same over the axes that both have."""
    shaped = [
        np.array(cells).reshape([sizes[axis] for axis in axes])
        for axes, cells in zip(form, results, strict=True)
    ]
    assert not nonnegative or all((cells >= 0).all() for cells in shaped)
    for (one, first), (two, second) in combinations(zip(form, shaped, strict=True), 2):
        common = [axis for axis in one if axis in two]
        assert np.array_equal(margin(first, one, common), margin(second, two, common))


def margin(cells, axes, common):
    others = tuple(place for place, axis in enumerate(axes) if axis not in common)
    order = [axis for axis in axes if axis in common]
    return np.transpose(cells.sum(axis=others), [order.index(axis) for axis in common])


def test_a_total_without_noise_stays_as_it_is():
    tables = [Counts((), [10], Fraction(0)), Counts((0,), [4, 3], Fraction(2))]
    assert make_agree(solve_least_squares([(), (0,)], tables, [2]), Wanted(0, 0, nonnegative=True))[
        0
    ] == [10]
    assert compute_remaining_variance(solve_least_squares([(), (0,)], tables, [2])) == [
        0,
        pytest.approx(1),
    ]


def test_long_integers_agree_as_short_ones_do():
    far = 10**25
    tables = [Counts((), [11 * far], Fraction(1)), Counts((0,), [-far, 8 * far], Fraction(1))]
    total, cells = make_agree(
        solve_least_squares([(), (0,)], tables, [2]), Wanted(0, 0, nonnegative=True)
    )
    assert total == [sum(cells)]
    assert min(cells) >= 0


@pytest.mark.parametrize("unit", [1, 10**25], ids=["short", "long"])
def test_totals_far_apart_are_seen(unit):
    cells = [[number * unit for number in numbers] for numbers in ([10], [2, 3])]
    variances = [Fraction(3) * unit**2, Fraction(3, 2) * unit**2]
    tables = [Counts(*given) for given in zip([(), (0,)], cells, variances, strict=True)]
    assert measure_disagreement(solve_least_squares([(), (0,)], tables, [2])) == pytest.approx(
        5 / 6**0.5
    )


def test_of_many_totals_some_are_far_apart_by_chance():
    tables = [Counts((), [number], Fraction(3)) for number in (0, 0, 9)]
    fit = solve_least_squares([()] * 3, tables, [])
    assert measure_disagreement(fit) == pytest.approx(9 / 6**0.5 - np.log(3) / 2**0.5)


def test_a_node_is_made_of_those_below_it():
    a, b, ab = frozenset({0}), frozenset({1}), frozenset({0, 1})
    scheme = build_scheme([a, b, ab])
    assert scheme.nodes == (NONE, a, b, ab)
    assert scheme.parents == {NONE: (), a: (NONE,), b: (NONE,), ab: (a, b)}
    assert count_corrections(ab, scheme.nodes) == {a: 1, b: 1, NONE: -1}


def test_pairs_in_a_circle_leave_one_to_be_added_up():
    pairs = [frozenset(pair) for pair in combinations(range(3), 2)]
    scheme = build_scheme([*pairs, frozenset(range(3))])
    assert len(scheme.sums) == 1
    assert set(scheme.sums.values()) == {frozenset(range(3))}


def test_triples_of_four_axes_are_a_circle_until_there_is_a_table_of_all():
    triples = [frozenset(triple) for triple in combinations(range(4), 3)]
    with pytest.raises(Circle) as caught:
        build_scheme(triples)
    assert set(caught.value.tables) <= {frozenset(pair) for pair in combinations(range(4), 2)}
    assert build_scheme([*triples, frozenset(range(4))]).sums
    assert not build_scheme([frozenset(pair) for pair in combinations(range(6), 2)]).sums
