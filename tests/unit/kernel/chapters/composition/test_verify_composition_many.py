"""Very many events at once, held against an integral that knows nothing of grids.

With M(s) = E e^(s L) under P, the moments of the sum of all losses,

    delta(epsilon) = 1/(2 pi i) times the integral of e^(-s epsilon) M(s)/(s (s + 1)) ds

along any line from c - i inf to c + i inf with c > 0, for e^(-s epsilon)/(s (s + 1)) is the
transform of max(0, 1 - e^(epsilon - L)). Through the saddle point there is no cancellation.
"""

import cmath
import math
from collections.abc import Callable, Sequence
from fractions import Fraction as F

import numpy as np
import pytest
from numpy.typing import NDArray

from dprelease.kernel.chapters.composition.confirm import is_confirmed
from dprelease.model import shift as shifts
from dprelease.model.privacy_events import Counted, Event, Gaussian, Laplace, Pure, Range

Moments = Callable[[complex], complex]


def build_pure(e: float) -> Moments:
    return lambda s: cmath.cosh((s + 0.5) * e) / math.cosh(e / 2)


def build_range(e: float) -> Moments:
    return lambda s: cmath.sinh((s + 0.5) * e) / ((2 * s + 1) * math.sinh(e / 2))


def build_normal(mu: float) -> Moments:
    return lambda s: cmath.exp(mu * mu * (s * s + s) / 2)


def build_atoms(losses: NDArray[np.float64], weights: NDArray[np.float64]) -> Moments:
    masses = weights / weights.sum()
    return lambda s: complex(masses @ np.exp(s * losses))


def build_laplace(scale: float, n: int) -> Moments:
    x = np.arange(-40 * math.ceil(scale), 40 * math.ceil(scale) + 1)
    return build_atoms((np.abs(x - n) - np.abs(x)) / scale, np.exp(-np.abs(x) / scale))


def build_gaussian(sigma2: float, move: int) -> Moments:
    x = np.arange(-13 * math.ceil(math.sqrt(sigma2)), 13 * math.ceil(math.sqrt(sigma2)) + 1)
    return build_atoms(move * (move - 2 * x) / (2 * sigma2), np.exp(-(x**2) / (2 * sigma2)))


def log_moment(parts: Sequence[tuple[Moments, int]], s: complex) -> complex:
    return sum((times * cmath.log(moments(s)) for moments, times in parts), 0j)


def compute_delta_at(parts: Sequence[tuple[Moments, int]], epsilon: float) -> float:
    def height(c: float) -> float:
        return log_moment(parts, c).real - c * epsilon - math.log(c * (c + 1))

    low, high = 1e-2, 300.0
    for _ in range(40):
        one, two = low * (high / low) ** 0.4, low * (high / low) ** 0.6
        low, high = (low, two) if height(one) < height(two) else (one, high)
    c, step = low, low * 1e-3
    bend = (height(c + step) + height(c - step) - 2 * height(c)) / step**2
    width = 1 / math.sqrt(bend)
    total, k, size = 0.0, 0, 1.0
    while size > 1e-13 or k < 60:
        s = c + 1j * k * width / 6
        power = cmath.exp(log_moment(parts, s) - s * epsilon - height(c)) / (s * (s + 1))
        total += power.real * (0.5 if k == 0 else 1.0)
        size, k = abs(power), k + 1
    return math.exp(height(c)) * total * width / (6 * math.pi)


def compute_epsilon_at(parts: Sequence[tuple[Moments, int]], delta: float, epsilon: float) -> float:
    """By secants in ln delta, from a first guess."""
    other, height = epsilon * 1.1, math.log(compute_delta_at(parts, epsilon * 1.1) / delta)
    while abs(other - epsilon) > 1e-9 * epsilon:
        now = math.log(compute_delta_at(parts, epsilon) / delta)
        epsilon, other, height = epsilon + now * (other - epsilon) / (now - height), epsilon, now
    return epsilon


PURE: tuple[Event, Moments] = Pure(F("0.1")), build_pure(0.1)
RANGE: tuple[Event, Moments] = Range(F("0.15")), build_range(0.15)
LAPLACE: tuple[Event, Moments] = Laplace(F("63.5"), 7), build_laplace(63.5, 7)
GAUSSIAN: tuple[Event, Moments] = (
    Gaussian(F("80.5"), shifts.build_single_shift(1)),
    build_gaussian(80.5, 1),
)
NORMAL: tuple[Event, Moments] = (
    Gaussian(F(10**8), shifts.build_general_shift(10**6, 1)),
    build_normal(0.1),
)


def test_the_integral_is_right() -> None:
    """Of a normal law, whose delta is known: 0.1269367375 at mu = 1, epsilon = 1."""
    assert compute_delta_at([(build_normal(1), 1)], 1.0) == pytest.approx(0.1269367375, rel=1e-9)
    assert compute_epsilon_at([(build_normal(0.1), 100)], 1e-6, 4) == pytest.approx(
        4.8865541175, rel=1e-9
    )


@pytest.mark.one_in(11)
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
@pytest.mark.parametrize(
    "parts",
    [
        [(RANGE, 1000)],
        [(RANGE, 12)],
        [(NORMAL, 1), (PURE, 1000)],
        [(NORMAL, 40), (LAPLACE, 150)],
        [(RANGE, 3), (GAUSSIAN, 1000)],
        [(RANGE, 250), (PURE, 250), (LAPLACE, 250), (GAUSSIAN, 250), (NORMAL, 1)],
        [(RANGE, 7), (PURE, 1), (LAPLACE, 31), (GAUSSIAN, 2), (NORMAL, 5)],
    ],
    ids=lambda parts: "+".join(str(times) for _, times in parts),
)
def test_many_events(parts: Sequence[tuple[tuple[Event, Moments], int]], delta: float) -> None:
    # Of a normal law with about that variance, about.
    variance = sum(times * math.log(abs(moments(1))) for (_, moments), times in parts)
    guess = variance / 2 + math.sqrt(-2 * math.log(delta) * variance) * 0.8
    truth = compute_epsilon_at([(moments, times) for (_, moments), times in parts], delta, guess)
    events: list[Counted] = [(event, times) for (event, _), times in parts]
    assert is_confirmed(events, F(truth * (1 + 3e-4)), F(delta))
    assert is_confirmed(events, F(truth * (1 + 1e-4)), F(delta))
    assert not is_confirmed(events, F(truth * (1 - 2e-5)), F(delta))
