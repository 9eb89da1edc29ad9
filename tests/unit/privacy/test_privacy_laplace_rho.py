"""The exact rho of discrete Laplace noise: no order exceeds it, some come close, nor do splits."""

from fractions import Fraction as F

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dprelease.privacy import zcdp
from dprelease.privacy.laplace_rho import rho_of_laplace

ORDERS = ["1.0000001", "1.01", "1.3", "2", "3", "7", "30", "400"]
LAWS = [(F(1), 1), (F(1), 2), (F(1), 9), (F(3, 2), 4), (F(10), 7), (F(1, 3), 5), (F(5), 60)]


def divergence(order: mpmath.mpf, scale: F, move: int) -> mpmath.mpf:
    """Renyi's, from the definition: the two geometric ends in closed form."""
    s = mpmath.mpf(scale.numerator) / scale.denominator
    zero = mpmath.tanh(1 / (2 * s))
    tail = 1 / (mpmath.exp(1 / s) - 1)  # sum of a^k from 1 on

    def term(x: int) -> mpmath.mpf:
        return mpmath.exp(-order * abs(x) / s + (order - 1) * abs(x - move) / s)

    moment = term(0) * (1 + tail) + term(move) * (1 + tail) if move else mpmath.mpf(1) / zero
    moment += sum(term(x) for x in range(1, move))
    return mpmath.log(zero * moment) / (order - 1)


@pytest.mark.parametrize(("scale", "move"), LAWS)
def test_no_order_exceeds_it_and_some_come_close(scale: F, move: int) -> None:
    rho = rho_of_laplace(scale, move)
    with mpmath.workdps(40):
        bound = mpmath.mpf(rho.numerator) / rho.denominator
        ratios = [divergence(mpmath.mpf(a), scale, move) / mpmath.mpf(a) for a in ORDERS]
        assert max(ratios) <= bound
        assert max(ratios) >= bound * (1 - mpmath.mpf("1e-5"))


@pytest.mark.parametrize(("first", "second"), [(1, 1), (1, 6), (3, 4)])
def test_a_move_split_over_two_integers_costs_no_more(first: int, second: int) -> None:
    scale = F(4)
    rho = float(rho_of_laplace(scale, first + second))
    with mpmath.workdps(40):
        for text in ORDERS:
            order = mpmath.mpf(text)
            both = divergence(order, scale, first) + divergence(order, scale, second)
            assert both / order <= rho


@settings(max_examples=60, deadline=None)
@given(st.fractions(F(1, 50), 1000, max_denominator=1000), st.integers(1, 500), st.integers(1, 9))
def test_it_is_convex_in_the_move_and_between_its_limits(scale: F, move: int, more: int) -> None:
    rho = rho_of_laplace(scale, move)
    assert rho <= zcdp.rho_of_pure(move / scale)
    assert rho_of_laplace(scale, move + more) >= rho
    slack = 1 + F(1, 10**13)
    assert rho + rho_of_laplace(scale, more) <= rho_of_laplace(scale, move + more) * slack
    with mpmath.workdps(40):
        e = mpmath.mpf((move / scale).numerator) / (move / scale).denominator
        assert mpmath.mpf(rho.numerator) / rho.denominator >= e - 1 + mpmath.exp(-e)
    finer = rho_of_laplace(1000 * scale, 1000 * move)
    assert finer <= rho


@pytest.mark.parametrize("scale", [F(1, 10**9), F(1, 4000), F(10**30), F(10**60), F(10**100)])
@pytest.mark.parametrize("move", [1, 2, 10**20])
def test_extremes_stay_below_the_bound_for_all_pure_losses(scale: F, move: int) -> None:
    rho = rho_of_laplace(scale, move)
    assert 0 < rho <= zcdp.rho_of_pure(move / scale)
    assert rho >= (move / scale) ** 2 / 2 * (1 - move / scale)


def test_nothing_costs_nothing_and_nonsense_is_refused() -> None:
    assert rho_of_laplace(F(1), 0) == 0
    for scale, move in ((F(0), 1), (F(-1), 1), (F(1), -1)):
        with pytest.raises(ValueError, match="Laplace noise needs"):
            rho_of_laplace(scale, move)
