"""Our losses beside those of dp-accounting: never lower than exact ones, and close."""

from __future__ import annotations

from fractions import Fraction

import pytest
from dp_accounting.pld import privacy_loss_distribution as pld

from dprelease.model import Loss
from dprelease.model.privacy_events import Gaussian, Laplace
from dprelease.model.shift import build_single_shift
from dprelease.privacy import discrete_gaussian, zcdp
from dprelease.privacy.composition import Cost, compose

FINE = 1e-5  # discretisation of their losses; they round up


@pytest.mark.parametrize(("sigma", "sensitivity"), [(1.0, 1), (5.0, 1), (4.0, 3), (20.0, 7)])
@pytest.mark.parametrize("epsilon", [0.25, 0.5, 1.0])
def test_discrete_gaussian_delta(sigma: float, sensitivity: int, epsilon: float) -> None:
    theirs = pld.from_discrete_gaussian_mechanism(
        sigma, sensitivity=sensitivity, value_discretization_interval=FINE
    ).get_delta_for_epsilon(epsilon)
    ours = discrete_gaussian.bound_delta(
        Fraction(sigma) ** 2, build_single_shift(sensitivity), Fraction(epsilon)
    )
    assert float(ours) == pytest.approx(theirs, rel=2e-3, abs=1e-14)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-5), (1.0, 1e-6), (0.25, 1e-8)])
def test_the_least_sigma_is_enough_for_them_and_five_percent_less_is_not(
    epsilon: float, delta: float
) -> None:
    wanted = Fraction(str(delta))
    sigma2 = discrete_gaussian.find_least_sigma2(build_single_shift(1), Fraction(epsilon), wanted)

    def their_delta(share: float) -> float:
        sigma = share * float(sigma2) ** 0.5
        made = pld.from_discrete_gaussian_mechanism(sigma, value_discretization_interval=FINE)
        return float(made.get_delta_for_epsilon(epsilon))

    assert their_delta(1.0) <= delta * 1.002
    assert their_delta(0.95) > delta


@pytest.mark.parametrize("count", [10, 100])
def test_composed_laplace_is_charged_at_least_the_tight_loss(count: int) -> None:
    each = Fraction(1, 10)
    tight = (
        pld.from_discrete_laplace_mechanism(0.1, sensitivity=1, value_discretization_interval=1e-4)
        .self_compose(count)
        .get_epsilon_for_delta(1e-6)
    )
    loss = Loss(each, Fraction(0), zcdp.bound_pure_rho(each))
    costs = [Cost(loss, ((Laplace(Fraction(10), 1), 1),))] * count
    charged = compose(costs, Fraction(1, 10**6))[0]
    assert tight * 0.999 <= float(charged.epsilon) <= min(count * 0.1, tight * 1.005)


@pytest.mark.parametrize("count", [2, 20])
def test_composed_gaussians_are_charged_at_least_the_tight_loss(count: int) -> None:
    sigma2 = Fraction(400)
    tight = (
        pld.from_discrete_gaussian_mechanism(20.0, value_discretization_interval=1e-4)
        .self_compose(count)
        .get_epsilon_for_delta(1e-6)
    )
    rho = zcdp.compute_gaussian_rho(1, sigma2)
    alone = discrete_gaussian.bound_epsilon(
        sigma2, build_single_shift(1), Fraction(1, 10**6) / count
    )
    loss = Loss(alone, Fraction(1, 10**6) / count, rho)
    costs = [Cost(loss, ((Gaussian(sigma2, build_single_shift(1)), 1),))] * count
    charged = compose(costs, Fraction(1, 10**6))[0]
    assert tight * 0.999 <= float(charged.epsilon) <= tight * 1.005
