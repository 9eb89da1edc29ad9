"""Shares of a budget are the best ones; budgets for errors suffice, for integer noise too."""

import math
from fractions import Fraction as F

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dprelease.model import Noise, NoiseFamily
from dprelease.noise import laws
from dprelease.privacy import continuous
from dprelease.privacy.allocation import budget_for_errors, least_variance

COSTS = st.lists(
    st.fractions(min_value=F(1, 10**6), max_value=10**6, max_denominator=10**6),
    min_size=1,
    max_size=8,
)


def variance(costs: list[F], shares: list[F], concentrated: bool) -> F:
    power = 1 if concentrated else 2
    return sum((cost / share**power for cost, share in zip(costs, shares, strict=True)), F(0))


@settings(max_examples=50, deadline=None)
@given(COSTS, st.booleans(), st.data())
def test_no_transfer_between_two_lowers_the_variance(
    costs: list[F], concentrated: bool, data: st.DataObject
) -> None:
    shares = list(least_variance(costs, concentrated))
    assert sum(shares) == 1
    assert min(shares) > 0
    least = variance(costs, shares, concentrated)
    giver, taker = (data.draw(st.integers(0, len(costs) - 1)) for _ in range(2))
    moved = shares[giver] * data.draw(st.fractions(F(1, 1000), F(9, 10), max_denominator=1000))
    shares[giver] -= moved
    shares[taker] += moved
    other = variance(costs, shares, concentrated)
    assert other == least if giver == taker else other > least * (1 - F(1, 10**12))


@settings(max_examples=50, deadline=None)
@given(COSTS, st.booleans())
def test_shares_are_the_roots(costs: list[F], concentrated: bool) -> None:
    roots = [float(cost) ** (1 / 2 if concentrated else 1 / 3) for cost in costs]
    expected = [root / math.fsum(roots) for root in roots]
    found = [float(share) for share in least_variance(costs, concentrated)]
    assert found == pytest.approx(expected, rel=1e-12)


def test_exact_shares() -> None:
    assert least_variance([7, 7, 7], False) == (F(1, 3),) * 3
    assert least_variance([F(1, 8), 1, 27], False) == (F(1, 9), F(2, 9), F(6, 9))
    assert least_variance([5], True) == (F(1),)


@pytest.mark.parametrize("concentrated", [True, False])
def test_the_smallest_cost_still_gets_something(concentrated: bool) -> None:
    shares = least_variance([F(2, 10**90), 1, 10**90, 10**90], concentrated)
    assert sum(shares) == 1
    root = 90 if concentrated else 60
    assert float(shares[0] * 10**root) == pytest.approx(2 ** (1 / 2 if concentrated else 1 / 3) / 2)
    assert shares[2] == pytest.approx(shares[3], rel=1e-14)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 50),
    st.fractions(min_value=F(1, 5), max_value=500, max_denominator=1000),
    st.integers(1, 40),
)
def test_the_budget_meets_its_target(sensitivity: int, error: F, times: int) -> None:
    found = budget_for_errors([(sensitivity, error, times)])
    each = found.epsilon / times
    drawn = laws.variance(Noise(NoiseFamily.LAPLACE, sensitivity / each))
    assert drawn <= float(error) ** 2 * (1 + 1e-12)
    assert 2 * (sensitivity / each) ** 2 <= error**2  # the continuous law meets it too,
    assert 2 * (sensitivity / each) ** 2 >= error**2 * (1 - F(1, 10**13))  # and just so
    sigma2 = F(sensitivity**2) / (2 * found.rho / times)
    assert sigma2 == error**2
    assert laws.variance(Noise(NoiseFamily.GAUSSIAN, sigma2)) <= float(error) ** 2 * (1 + 1e-12)
    assert found.mu_squared == 2 * found.rho
    assert found.mu_squared <= found.mu**2 <= found.mu_squared * (1 + F(1, 10**13))


def test_targets_add_up_and_nothing_costs_nothing() -> None:
    one, other = (1, 10, 3), (2, F(7, 2), 5)
    both = budget_for_errors([one, other])
    assert both.rho == budget_for_errors([one]).rho + budget_for_errors([other]).rho
    single = budget_for_errors([one]).epsilon + budget_for_errors([other]).epsilon
    assert both.epsilon == pytest.approx(single, rel=1e-13)
    for nothing in (budget_for_errors([]), budget_for_errors([(0, 1, 4), (1, 1, 0)])):
        assert nothing.epsilon == nothing.rho == nothing.mu == 0
        assert nothing.epsilon_at(F("1e-6")) == 0


@settings(max_examples=25, deadline=None)
@given(
    st.fractions(min_value=F(1, 10**8), max_value=2000, max_denominator=10**8),
    st.fractions(min_value=F(1, 10**12), max_value=F(1, 2), max_denominator=10**12),
)
def test_the_epsilon_of_the_continuous_law_is_certain_and_least(mu_squared: F, delta: F) -> None:
    epsilon = continuous.epsilon_of(mu_squared, delta)
    assert continuous.delta_of(mu_squared, epsilon) <= delta
    if epsilon > 0:
        assert continuous.delta_of(mu_squared, epsilon * (1 - F(1, 10**10))) > delta


def test_a_huge_mu_is_bounded_by_the_tail() -> None:
    epsilon = continuous.epsilon_of(F(10**6), F("1e-6"))
    assert continuous.guess_delta(1000.0, float(epsilon)) <= 1e-6
    assert float(epsilon) < 5e5 + 1000 * 5.26  # sqrt(2 ln 10^6) = 5.2565


def test_nonsense_is_refused() -> None:
    none: list[F] = []
    for costs in (none, [F(1), F(0)], [F(-1)], [F(-1, 2), F(3)]):
        with pytest.raises(ValueError, match="above 0"):
            least_variance(costs, True)
    for target in ((1, 0, 1), (1, -1, 1), (-1, 1, 1), (1, 1, -1)):
        with pytest.raises(ValueError, match="errors"):
            budget_for_errors([target])
    for delta in (F(0), F(1)):
        with pytest.raises(ValueError, match="delta"):
            budget_for_errors([(1, 1, 1)]).epsilon_at(delta)
