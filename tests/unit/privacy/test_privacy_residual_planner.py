"""Variances of marginals placed best: against matrices, and against every other placing."""

import math
from fractions import Fraction as F
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle.residual_planner import Variances, least_variances
from thorough import examples

Matrix = npt.NDArray[Any]
SIZES = (2, 3, 4)
ASKED = {(0, 1): F(3), (1, 2): F(1, 2), (0,): F(5)}


def build_centred(part: tuple[int, ...]) -> Matrix:
    """The full table's cells to the marginal, centred along every axis."""
    found: Matrix = np.ones((1, 1))
    for place, size in enumerate(SIZES):
        axis = np.eye(size) - 1 / size if place in part else np.ones((1, size))
        found = np.kron(found, axis)
    return found


def spread(part: tuple[int, ...], marginal: tuple[int, ...]) -> Matrix:
    """A centred marginal's cells to those of a larger one."""
    found: Matrix = np.ones((1, 1))
    for place, size in enumerate(SIZES):
        if place in part:
            found = np.kron(found, np.eye(size))
        elif place in marginal:
            found = np.kron(found, np.ones((size, 1)) / size)
    return found


def parts(marginal: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [each for size in range(len(marginal) + 1) for each in combinations(marginal, size)]


def centring(part: tuple[int, ...]) -> Matrix:
    found: Matrix = np.ones((1, 1))
    for place in part:
        found = np.kron(found, np.eye(SIZES[place]) - 1 / SIZES[place])
    return found


def test_it_is_what_matrices_say() -> None:
    found = least_variances(SIZES, ASKED, F(7, 4))
    table = np.arange(24.0) ** 2
    for marginal in ASKED:
        exact = sum(
            spread(part, marginal) @ build_centred(part) @ table for part in parts(marginal)
        )
        kept = tuple(place for place in range(3) if place not in marginal)
        assert exact == pytest.approx(table.reshape(SIZES).sum(axis=kept).ravel())
        covariance = sum(
            float(found.sigma2[part])
            * spread(part, marginal)
            @ centring(part)
            @ spread(part, marginal).T
            for part in parts(marginal)
        )
        cells = [float(found.cell_variance(marginal))] * len(exact)
        assert np.diag(covariance) == pytest.approx(cells)
    # Each person is one cell: the Gaussian mechanisms' mu^2, all parts together.
    moved = sum(
        (build_centred(part) ** 2).sum(axis=0) / float(sigma2)
        for part, sigma2 in found.sigma2.items()
    )
    assert moved == pytest.approx([1.75] * 24)
    assert F(7, 4) * (1 - F(1, 10**13)) <= found.mu_squared <= F(7, 4)


def objective(found: Variances) -> F:
    return sum(
        (
            weight * math.prod(SIZES[i] for i in marginal) * found.cell_variance(marginal)
            for marginal, weight in ASKED.items()
        ),
        F(0),
    )


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.fractions(F(1, 4), 4, max_denominator=50), min_size=6, max_size=6))
def test_no_other_noise_of_the_same_cost_is_better(factors: list[F]) -> None:
    best = least_variances(SIZES, ASKED, 1)
    assert len(best.sigma2) == 6
    other = {
        part: sigma2 * factor
        for (part, sigma2), factor in zip(best.sigma2.items(), factors, strict=True)
    }
    cost = Variances(SIZES, other).mu_squared
    scaled = Variances(SIZES, {part: sigma2 * cost for part, sigma2 in other.items()})
    assert scaled.mu_squared == 1
    assert objective(scaled) >= objective(best) * (1 - F(1, 10**12))


def test_attributes_of_one_value_and_single_tables() -> None:
    found = least_variances([1, 3], {(0, 1): 1}, 2)
    assert found.sigma2[(0,)] == found.sigma2[(0, 1)] == 0
    assert found.cell_variance((0, 1)) == least_variances([3], {(0,): 1}, 2).cell_variance((0,))
    total = least_variances([4], {(): 1}, 4).cell_variance(())
    assert F(1, 4) <= total <= F(1, 4) + F(1, 10**14)
    assert least_variances([], {}, 1).sigma2 == {}


def test_nonsense_is_refused() -> None:
    cases: list[tuple[list[int], dict[tuple[int, ...], int], int]] = [
        ([0, 2], {(0,): 1}, 1),
        ([2], {(0,): 0}, 1),
        ([2], {(0,): 1}, 0),
        ([2], {(1,): 1}, 1),
        ([2, 2], {(1, 0): 1}, 1),
        ([2, 2], {(0, 0): 1}, 1),
    ]
    for sizes, asked, mu in cases:
        with pytest.raises(ValueError, match=r"positive|rising"):
            least_variances(sizes, asked, mu)
