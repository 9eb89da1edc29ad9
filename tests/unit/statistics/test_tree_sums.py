"""Running sums are read from a tree as well as can be, by one way of counting beside the other."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategy_plans import build_matrix
from thorough import for_each

from dprelease.model import AxisKind, AxisMatrix, Noise, NoiseFamily
from dprelease.statistics.shared.tree_sums import TreeSums, build_tree

TREES = [
    (1, (1,)),
    (2, (1, 2)),
    (4, (1, 2)),
    (5, (1, 2)),
    (7, (1, 2, 4)),
    (7, (1, 3)),
    (9, (1, 3, 9)),
    (10, (1, 2, 4, 8)),
    (10, (1, 5)),
    (12, (1, 5)),
    (23, (1, 4, 12)),
]


def list_rows(labels: int, widths: tuple[int, ...]) -> Any:
    return np.array(build_matrix(AxisMatrix(AxisKind.TREE, (widths,)), labels))


def compute_least_squares(labels: int, widths: tuple[int, ...]) -> Any:
    """The weights of the best linear unbiased estimates of all running sums."""
    return np.tril(np.ones((labels, labels))) @ np.linalg.pinv(list_rows(labels, widths))


@for_each("tree", TREES)
def test_sums_are_the_best_linear_unbiased_estimates(tree: tuple[int, tuple[int, ...]]) -> None:
    labels, widths = tree
    reader, expected = TreeSums(labels, widths), compute_least_squares(labels, widths)
    assert reader.outputs == expected.shape[1]
    for place in range(reader.outputs):
        block = [0] * reader.outputs
        block[place] = 10**12
        weights = np.array(reader.read(block)) / 10**12
        assert weights == pytest.approx(expected[:, place], abs=1e-9)
    assert float(reader.spread()) == pytest.approx((expected**2).sum() / labels)


@given(st.sampled_from(TREES), st.data())
def test_without_noise_sums_are_exact(tree: tuple[int, tuple[int, ...]], data: Any) -> None:
    labels, widths = tree
    true = data.draw(st.lists(st.integers(-(10**15), 10**15), min_size=labels, max_size=labels))
    cells = np.array(true, dtype=object)
    released = (list_rows(labels, widths).astype(object) @ cells).tolist()
    assert TreeSums(labels, widths).read(released) == np.cumsum(cells).tolist()


@pytest.mark.one_in(4)
@for_each("tree", TREES)
@for_each("q", [Fraction(0), Fraction(1, 3), Fraction(9, 10)])
def test_half_widths_are_those_of_the_weights(
    tree: tuple[int, tuple[int, ...]], q: Fraction
) -> None:
    """Of Gaussian noise so large that its law on the integers is the normal law."""
    labels, widths = tree
    reader, expected = TreeSums(labels, widths), compute_least_squares(labels, widths)
    noise, alpha = Noise(NoiseFamily.GAUSSIAN, Fraction(10**8)), Fraction(1, 20)
    for count in range(1, labels + 1):
        weights = expected[count - 1] - float(q) * expected[-1]
        normal = 1.959964 * 1e4 * (weights**2).sum() ** 0.5
        assert float(reader.balance_half(noise, count, q, alpha)) == pytest.approx(
            normal + float(1 + q) / 2, rel=4e-3
        )
    halves = [reader.compute_halfwidth(noise, count, alpha) for count in range(1, labels + 1)]
    assert reader.compute_largest_halfwidth(noise, alpha) == max(halves)


def test_the_last_sum_need_not_be_the_one_that_errs_most() -> None:
    reader, noise = TreeSums(10, (1, 5)), Noise(NoiseFamily.LAPLACE, Fraction(20))
    last = reader.compute_halfwidth(noise, 10, Fraction(1, 20))
    assert reader.compute_largest_halfwidth(noise, Fraction(1, 20)) > last


@pytest.mark.one_in(4)
@for_each("tree", [(100, (1, 18)), (130, (1, 6, 36))])
@for_each("scale", [Fraction(1, 2), Fraction(20)])
@for_each("alpha", [Fraction(1, 20), Fraction(1, 1000)])
def test_of_many_sums_the_largest_half_width_is_found(
    tree: tuple[int, tuple[int, ...]], scale: Fraction, alpha: Fraction
) -> None:
    reader, noise = TreeSums(*tree), Noise(NoiseFamily.LAPLACE, scale)
    halves = [reader.compute_halfwidth(noise, n, alpha) for n in range(1, reader.labels + 1)]
    assert reader.compute_largest_halfwidth(noise, alpha) == max(halves)


@pytest.mark.parametrize("count", [1, 299, 300])
def test_half_widths_of_many_labels_are_hardly_wider(count: int) -> None:
    """They are found sooner, by fewer points."""
    labels, widths = 300, (1, 10, 100)
    reader, expected = TreeSums(labels, widths), compute_least_squares(labels, widths)
    weights = expected[count - 1] - expected[-1] / 2
    noise = Noise(NoiseFamily.GAUSSIAN, Fraction(10**8))
    half = reader.balance_half(noise, count, Fraction(1, 2), Fraction(1, 20))
    normal = 1.959964 * 1e4 * (weights**2).sum() ** 0.5
    assert normal <= float(half) <= 1.015 * normal


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("labels", "most"),
    [
        (1, None),
        (2, None),
        (10, None),
        (20, 4.3),
        (100, 6.6),
        (365, 9.0),
        (1000, 10.9),
        (5000, 14.3),
    ],
)
def test_the_tree_with_the_least_error_is_built(labels: int, most: float | None) -> None:
    tree = build_tree(labels)
    if most is None:
        assert tree is None
        return
    assert tree is not None
    assert tree.kind is AxisKind.TREE
    (widths,) = tree.entries
    # A Laplace draw of scale b has a variance of 2 b^2; the scale is the number of levels.
    assert (2 * len(widths) ** 2 * float(TreeSums(labels, widths).spread())) ** 0.5 <= most
    assert widths[-1] < labels
