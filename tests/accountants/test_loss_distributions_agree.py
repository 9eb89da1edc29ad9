"""Composed losses beside those of dp-accounting and OpenDP.

dp-accounting's distributions are upper bounds too ("pessimistic"), or, with
``pessimistic_estimate`` off, lower bounds; both come closer as their grid is made finer. Ours is an
estimate, off by a part in 10^5 at most, and must lie between but for that. The claim made of it is
confirmed by the verifier, and not below the lower bound. What dp-accounting truncates is stated by
its authors to be 1e-15 in each tail, and its transforms are off by about as much; at a delta of
1e-6 this is a part of 1e-8.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction as F

import opendp.prelude as dp
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

from dprelease.kernel.chapters.composition.confirm import is_confirmed
from dprelease.model.privacy_events import Approximate, Counted, Event, Gaussian, Laplace, Pure
from dprelease.model.shift import build_single_shift
from dprelease.privacy import loss_distributions as ours
from dprelease.privacy.composition import compose_numerically

dp.enable_features("contrib")

FINE = 1e-4
STATED = 1e-7  # a part of delta that their rounding may cost; see above
Made = Callable[..., PrivacyLossDistribution]


def laplace(scale: float, **grid: object) -> PrivacyLossDistribution:
    return pld.from_laplace_mechanism(scale, value_discretization_interval=FINE, **grid)


def discrete_laplace(scale: float, move: int, **grid: object) -> PrivacyLossDistribution:
    return pld.from_discrete_laplace_mechanism(
        1 / scale, sensitivity=move, value_discretization_interval=FINE, **grid
    )


def discrete_gaussian(sigma: float, move: int, **grid: object) -> PrivacyLossDistribution:
    return pld.from_discrete_gaussian_mechanism(
        sigma, sensitivity=move, value_discretization_interval=FINE, **grid
    )


def gaussian(sigma: float, **grid: object) -> PrivacyLossDistribution:
    return pld.from_gaussian_mechanism(sigma, value_discretization_interval=FINE, **grid)


def response(epsilon: float, **grid: object) -> PrivacyLossDistribution:
    """Randomised response with two answers."""
    flip = 2 / (1 + math.exp(epsilon))
    return pld.from_randomized_response(flip, 2, value_discretization_interval=FINE, **grid)


MANY = 10**6  # units for one: as good as continuous
CASES: dict[str, tuple[Event, Made, tuple[float, ...]]] = {
    "laplace": (Laplace(F(12 * MANY), MANY), laplace, (12.0,)),
    "discrete laplace": (Laplace(F(17), 3), discrete_laplace, (17.0, 3)),
    "discrete gaussian": (Gaussian(F(144), build_single_shift(2)), discrete_gaussian, (12.0, 2)),
    "gaussian": (Gaussian(F(81 * MANY**2), build_single_shift(MANY)), gaussian, (9.0,)),
    "response": (Pure(F(1, 8)), response, (0.125,)),
}


def bounds(
    cases: Sequence[tuple[str, int]], read: Callable[[PrivacyLossDistribution], float]
) -> tuple[float, float]:
    """Their lower and their upper bound of something for a composition."""
    found = []
    for pessimistic in (False, True):
        total = None
        for name, times in cases:
            _, made, parameters = CASES[name]
            each = made(*parameters, pessimistic_estimate=pessimistic).self_compose(times)
            total = each if total is None else total.compose(each)
        assert total is not None
        found.append(float(read(total)))
    return found[0], found[1]


def events(cases: Sequence[tuple[str, int]]) -> list[Counted]:
    return [(CASES[name][0], times) for name, times in cases]


MIXES = [
    *[[(name, times)] for name in CASES for times in (1, 2, 10, 100)],
    [("laplace", 4), ("gaussian", 10), ("response", 6)],
    [("discrete laplace", 3), ("discrete gaussian", 7)],
    [("laplace", 5), ("discrete laplace", 5), ("response", 20), ("discrete gaussian", 30)],
]


@pytest.mark.parametrize("cases", MIXES, ids=str)
@pytest.mark.parametrize("delta", [F(1, 10**4), F(1, 10**6)])
def test_epsilon_lies_between_their_bounds(cases: list[tuple[str, int]], delta: F) -> None:
    """Below by what either states to be off, and above by a thousandth, at most."""
    low, _ = bounds(cases, lambda law: law.get_epsilon_for_delta(float(delta) * (1 + STATED)))
    _, high = bounds(cases, lambda law: law.get_epsilon_for_delta(float(delta)))
    assert low * (1 - 1e-5) <= ours.estimate_epsilon(events(cases), delta) <= high * 1.001
    claim = compose_numerically(events(cases), delta)
    assert claim is not None
    assert low * (1 - 1e-9) <= claim
    assert is_confirmed(events(cases), claim, delta)
    assert not is_confirmed(events(cases), F(low) * F(999, 1000), delta)


@pytest.mark.parametrize("times", [1, 3, 30])
def test_approximate_events(times: int) -> None:
    from dp_accounting.pld.common import DifferentialPrivacyParameters

    made = pld.from_privacy_parameters(
        DifferentialPrivacyParameters(0.25, 1e-8), value_discretization_interval=FINE
    ).self_compose(times)
    event = Approximate(F(1, 4), F(1, 10**8))
    for delta in (1e-6, 1e-3):
        expected = made.get_epsilon_for_delta(delta)
        assert ours.estimate_epsilon([(event, times)], F(delta)) == pytest.approx(
            expected, rel=1e-3
        )


# --- OpenDP: conversions that are looser, so that ours must be below ------------------------------


@pytest.mark.parametrize("times", [1, 10, 200])
def test_never_above_opendp_for_gaussians(times: int) -> None:
    space = dp.vector_domain(dp.atom_domain(T=dp.i64)), dp.l2_distance(T=dp.i64)
    noise = dp.m.make_gaussian(*space, scale=25.0)
    # So many answers, each moved by 1: one vector moved by sqrt(times), rounded up.
    theirs = dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(noise), delta=1e-6)
    epsilon, _ = theirs.map(math.isqrt(times - 1) + 1)
    assert (
        ours.estimate_epsilon([(Gaussian(F(625), build_single_shift(1)), times)], F(1, 10**6))
        <= epsilon
    )


@pytest.mark.parametrize("times", [1, 10, 200])
def test_never_above_opendp_for_laplace(times: int) -> None:
    space = dp.vector_domain(dp.atom_domain(T=dp.i64)), dp.l1_distance(T=dp.i64)
    theirs = dp.m.make_laplace(*space, scale=25.0).map(times)
    composed = ours.estimate_epsilon([(Laplace(F(25), 1), times)], F(1, 10**6))
    assert composed <= theirs * (1 + 1e-9)
    assert times > 1 or composed == pytest.approx(theirs, rel=1e-3)
