"""Discrete Gaussian: golden numbers, upper bounds against lattice sums, tightness, extremes."""

import math
import time
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import fftconvolve
from thorough import examples

from dprelease.kernel.core import additive_loss as verifier
from dprelease.model import shift as shifts
from dprelease.privacy import discrete_gaussian, lattice_sums

ONE = shifts.build_single_shift(1)
EPSILONS = st.fractions(min_value=0, max_value=6, max_denominator=1000)
SIGMAS = st.fractions(min_value=F(1, 20), max_value=30, max_denominator=1000)


def compute_hockey_stick(sigma2: F, vector: tuple[int, ...], epsilon: F) -> float:
    """The definition: the log-ratio depends on <X, v>, whose law is a convolution."""
    s2, e = float(sigma2), float(epsilon)
    reach = int(14 * math.sqrt(s2)) + 3
    k = np.arange(-reach, reach + 1)
    single = np.exp(-(k**2) / (2 * s2))
    single /= single.sum()
    law = np.ones(1)
    for size in vector:
        spread = np.zeros(2 * reach * size + 1)
        spread[:: size or 1] += single if size else 1.0
        long = len(law) > 1 and len(law) + len(spread) > 6000  # then 10^-15 absolute is enough
        law = fftconvolve(law, spread) if long else np.convolve(law, spread)
    half = len(law) // 2
    w = np.arange(-half, half + 1)
    length = sum(size * size for size in vector)
    ratio = np.exp(np.minimum(e + (2 * w - length) / (2 * s2), 1.0))
    return float((law * np.maximum(0.0, 1 - ratio)).sum())


def plainly(sigma2: float, vector: tuple[int, int], epsilon: float) -> float:
    """The definition again, point by point in two dimensions."""
    k = np.arange(-60, 61)
    p, a, b = (np.exp(-((k - c) ** 2) / (2 * sigma2)) for c in (0, *vector))
    total = p.sum() ** 2
    gain = np.outer(p, p) - math.exp(epsilon) * np.outer(a, b)
    return float(np.maximum(0, gain).sum() / total)


def test_the_two_oracles_agree() -> None:
    for vector in ((1, 1), (1, 3), (2, 5)):
        assert compute_hockey_stick(F(9), vector, F(1, 2)) == pytest.approx(
            plainly(9.0, vector, 0.5)
        )


@settings(max_examples=examples(80), deadline=None)
@given(SIGMAS, st.integers(1, 12), EPSILONS)
def test_one_entry_is_exact(sigma2: F, size: int, epsilon: F) -> None:
    truth = compute_hockey_stick(sigma2, (size,), epsilon)
    claimed = float(lattice_sums.sum_delta(sigma2, (size,), epsilon))
    assert claimed >= truth * (1 - 1e-10) - 1e-15
    assert claimed <= truth * (1 + 1e-10) + 1e-14


@settings(max_examples=examples(60), deadline=None)
@given(SIGMAS, st.integers(1, 6), st.integers(1, 6), EPSILONS)
def test_two_entries_are_exact(sigma2: F, a: int, b: int, epsilon: F) -> None:
    truth = compute_hockey_stick(sigma2, (a, b), epsilon)
    claimed = float(lattice_sums.sum_delta(sigma2, (a, b), epsilon))
    assert claimed >= truth * (1 - 1e-10) - 1e-15
    assert claimed <= truth * (1 + 1e-10) + 1e-14


@settings(max_examples=examples(80), deadline=None)
@given(SIGMAS, st.lists(st.integers(0, 3), min_size=1, max_size=4), EPSILONS)
def test_smoothing_is_an_upper_bound(sigma2: F, vector: list[int], epsilon: F) -> None:
    length, entries = sum(x * x for x in vector), sum(1 for x in vector if x)
    truth = compute_hockey_stick(sigma2, tuple(vector), epsilon)
    claimed = (
        discrete_gaussian.bound_smoothed_delta(sigma2, length, entries, epsilon) if length else F(0)
    )
    assert float(claimed) >= truth * (1 - 1e-10) - 1e-15
    whole = discrete_gaussian.bound_delta(
        sigma2, shifts.build_general_shift(length, entries), epsilon
    )
    assert float(whole) >= truth * (1 - 1e-10) - 1e-15


@settings(max_examples=examples(40), deadline=None)
@given(SIGMAS, st.integers(0, 5), st.integers(0, 5), st.integers(0, 5), EPSILONS)
def test_larger_entries_mean_larger_delta(sigma2: F, a: int, b: int, more: int, e: F) -> None:
    smaller = compute_hockey_stick(sigma2, (a, b), e)
    assert compute_hockey_stick(sigma2, (a + more, b), e) >= smaller * (1 - 1e-10) - 1e-15


@pytest.mark.one_in(3)
@pytest.mark.parametrize("width", [1, 2, 3, 5, 9, 11, 12, 30])
@pytest.mark.parametrize("epsilon", ["0.5", "2"])
def test_a_means_calibration_covers_every_move(width: int, epsilon: str) -> None:
    """All of (t, width - t), and the same-cell replacement, at the calibrated noise."""
    delta = F("1e-4")
    sigma2 = discrete_gaussian.find_least_sigma2(shifts.split(width), F(epsilon), delta)
    for t in range(width + 1):
        assert compute_hockey_stick(sigma2, (t, width - t), F(epsilon)) <= float(delta) * (1 + 1e-9)
    sigma2 = discrete_gaussian.find_least_sigma2(
        shifts.build_pair_shift(width, width), F(epsilon), delta
    )
    assert compute_hockey_stick(sigma2, (width, width), F(epsilon)) <= float(delta) * (1 + 1e-9)


@pytest.mark.parametrize("width", [1, 2, 3])
def test_a_replaced_mean_across_cells_is_covered(width: int) -> None:
    epsilon, delta = F(2), F("1e-3")
    sigma2 = discrete_gaussian.find_least_sigma2(
        shifts.build_general_shift(2 * width * width, 4), epsilon, delta
    )
    for t in range(width + 1):
        for u in range(width + 1):
            vector = (t, width - t, u, width - u)
            assert compute_hockey_stick(sigma2, vector, epsilon) <= float(delta) * (1 + 1e-9)


@pytest.mark.parametrize("width", [10, 100, 1000, 10**6, 2**53])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "5"])
def test_calibration_is_near_the_continuous_law(width: int, epsilon: str) -> None:
    mu = discrete_gaussian.guess_mu(float(F(epsilon)), 1e-6)
    for shift in (
        shifts.build_single_shift(width),
        shifts.split(width),
        shifts.build_general_shift(2 * width * width, 4),
    ):
        sigma2 = discrete_gaussian.find_least_sigma2(shift, F(epsilon), F("1e-6"))
        ratio = math.sqrt(sigma2 / shift.l2_squared) * mu
        assert 1 - 1e-3 <= ratio <= 1 + (1e-2 if width < 100 else 1e-3)


@settings(max_examples=examples(60), deadline=None)
@given(
    st.sampled_from([1, 2, 7, 40, 120_000, 2**53]),
    st.sampled_from(["single", "split", "pair", "replaced"]),
    st.fractions(min_value=F(1, 10**9), max_value=50, max_denominator=10**9),
    st.fractions(min_value=F(1, 10**12), max_value=F(1, 2), max_denominator=10**12),
)
def test_anything_is_calibrated_confirmed_and_not_wasteful(
    width: int, kind: str, epsilon: F, delta: F
) -> None:
    shift = {
        "single": shifts.build_single_shift(width),
        "split": shifts.split(width),
        "pair": shifts.build_pair_shift(width, width),
        "replaced": shifts.build_general_shift(2 * width * width, 4),
    }[kind]
    sigma2 = discrete_gaussian.find_least_sigma2(shift, epsilon, delta)
    assert discrete_gaussian.bound_delta(sigma2, shift, epsilon) <= delta
    assert verifier.bound_gaussian_delta(sigma2, shift, epsilon) <= delta
    reported = discrete_gaussian.bound_epsilon(sigma2, shift, delta)
    assert reported <= epsilon * (1 + F("1e-11"))
    assert verifier.bound_gaussian_delta(sigma2, shift, reported) <= delta
    # The lattice costs about 1 in sigma squared; 2 % leaves room for the float guess.
    mu = discrete_gaussian.guess_mu(float(epsilon), float(delta))
    assert sigma2 <= F("1.02") * shift.l2_squared / F(mu) ** 2 + 2


@pytest.mark.one_in(6)
@pytest.mark.parametrize("epsilon", [F(1, 10**9), F(1), F(101), F(10**6)])
@pytest.mark.parametrize("delta", [F(1, 10**300), F(1, 10**12), F(999, 1000)])
def test_extremes_neither_hang_nor_fail(epsilon: F, delta: F) -> None:
    for shift in (
        ONE,
        shifts.build_pair_shift(1, 1),
        shifts.build_general_shift(2 * 2**106, 4),
        shifts.build_single_shift(10**30),
    ):
        sigma2 = discrete_gaussian.find_least_sigma2(shift, epsilon, delta)
        assert verifier.bound_gaussian_delta(sigma2, shift, epsilon) <= delta
        assert discrete_gaussian.bound_epsilon(sigma2, shift, delta) <= epsilon * (1 + F("1e-11"))


def test_delta_falls_in_epsilon_and_epsilon_in_sigma() -> None:
    for shift in (ONE, shifts.split(20), shifts.build_pair_shift(3, 3)):
        deltas = [discrete_gaussian.bound_delta(F(400), shift, F(n, 8)) for n in range(12)]
        assert deltas == sorted(deltas, reverse=True)
        epsilons = [
            discrete_gaussian.bound_epsilon(F(n), shift, F("1e-6")) for n in (100, 200, 900)
        ]
        assert epsilons == sorted(epsilons, reverse=True)


def test_calibration_is_quick() -> None:
    """Generous, for a busy machine: 20 calibrations a second are promised at least."""
    began = time.perf_counter()
    widths = (1, 5, 11, 100, 120_000, 10**6)
    for width in widths:
        for shift in (
            shifts.build_single_shift(width),
            shifts.split(width),
            shifts.build_pair_shift(width, width),
        ):
            discrete_gaussian.find_least_sigma2(shift, F(1), F("1e-6"))
    assert (time.perf_counter() - began) / (3 * len(widths)) < 0.15


@pytest.mark.parametrize("sigma2", ["0.3", "7.9", "8", "14", "255", "256", "1e9", "1e-9"])
def test_grid_is_fine(sigma2: str) -> None:
    step = discrete_gaussian.choose_grid_step(F(sigma2))
    assert step.numerator == 1 or step.denominator == 1
    assert step <= F(sigma2) / 500
    if F(sigma2) >= 256:
        assert step <= F(sigma2) / 2**14


def test_nonsense_is_refused() -> None:
    tiny = F("1e-6")
    for call in (
        lambda: discrete_gaussian.bound_delta(F(0), ONE, F(1)),
        lambda: discrete_gaussian.bound_delta(F(1), ONE, F(-1)),
        lambda: discrete_gaussian.bound_epsilon(F(0), ONE, tiny),
        lambda: discrete_gaussian.bound_epsilon(F(1), ONE, F(0)),
        lambda: discrete_gaussian.find_least_sigma2(ONE, F(0), tiny),
        lambda: discrete_gaussian.find_least_sigma2(ONE, F(1), F(1)),
        lambda: discrete_gaussian.find_least_sigma2(shifts.build_zero_shift(), F(1), tiny),
        lambda: shifts.Shift(-1, 1),
        lambda: shifts.Shift(1, 0),
        lambda: shifts.Shift(1, 1, ((2,),)),
        lambda: shifts.Shift(4, 1, ((1, 1),)),
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            call()


def test_no_shift_costs_nothing() -> None:
    assert discrete_gaussian.bound_delta(F(1), shifts.build_zero_shift(), F(0)) == 0
    assert discrete_gaussian.bound_epsilon(F(1), shifts.split(0), F("1e-6")) == 0
