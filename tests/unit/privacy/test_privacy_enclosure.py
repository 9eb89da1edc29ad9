"""Enclosures hold the truth (mpmath at 450 digits) and are narrow."""

from collections.abc import Callable, Iterator
from fractions import Fraction as F

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import examples

from dprelease.kernel.core import numerics as verifier_numbers
from dprelease.privacy import interval_arithmetic as enclosure

REALS = st.fractions(min_value=-60, max_value=60, max_denominator=10**9)
POSITIVE = st.fractions(min_value=F(1, 10**12), max_value=10**12, max_denominator=10**12)


@pytest.fixture(autouse=True, scope="module")
def _digits() -> Iterator[None]:
    with mpmath.workdps(450):
        yield


def real(x: F) -> mpmath.mpf:
    return mpmath.mpf(x.numerator) / x.denominator


def holds(bounds: tuple[F, F], truth: mpmath.mpf, relative: str, absolute: str = "0") -> None:
    low, high = real(bounds[0]), real(bounds[1])
    assert low <= truth <= high
    assert high - low <= abs(truth) * mpmath.mpf(relative) + mpmath.mpf(absolute)


@settings(max_examples=examples(60), deadline=None)
@given(REALS)
def test_exp_and_normal_enclose(x: F) -> None:
    holds(enclosure.bound_exp(x), mpmath.exp(real(x)), "1e-77")
    holds(verifier_numbers.enclose_exp(x), mpmath.exp(real(x)), "1e-60")
    low, high = enclosure.bound_normal(x)
    holds((low, high), mpmath.erfc(-real(x) / mpmath.sqrt(2)) / 2, "1e-29", "1e-70")


@settings(max_examples=examples(60), deadline=None)
@given(POSITIVE)
def test_logarithm_root_and_tanh_enclose(x: F) -> None:
    holds(enclosure.bound_ln(x), mpmath.log(real(x)), "1e-70", "1e-78")
    holds(verifier_numbers.enclose_ln(x), mpmath.log(real(x)), "1e-25", "1e-25")
    holds(enclosure.bound_sqrt(x), mpmath.sqrt(real(x)), "1e-77")
    holds(verifier_numbers.enclose_sqrt(x), mpmath.sqrt(real(x)), "1e-100")
    near = min(x, F(100))  # further out mpmath itself rounds tanh to 1
    holds(enclosure.bound_tanh(near), mpmath.tanh(real(near)), "1e-60", "1e-60")


@settings(max_examples=examples(60), deadline=None)
@given(st.fractions(min_value=-40, max_value=40, max_denominator=10**6))
def test_verifier_tail_encloses(x: F) -> None:
    truth = mpmath.erfc(real(x) / mpmath.sqrt(2)) / 2
    holds(verifier_numbers.enclose_normal_tail(x), truth, "1e-40", "1e-150")


@pytest.mark.parametrize("x", ["0", "3.9999", "4", "4.0001", "15.99", "16", "16.01", "-16", "35"])
def test_tails_at_the_seams(x: str) -> None:
    point = F(x)
    truth = mpmath.erfc(real(point) / mpmath.sqrt(2)) / 2
    holds(enclosure.bound_normal(-point), truth, "1e-29", "1e-70")
    holds(verifier_numbers.enclose_normal_tail(point), truth, "1e-40", "1e-150")


@pytest.mark.parametrize("x", [F(10) ** 9, F(10) ** 30, F(6000)])
def test_far_arguments_neither_hang_nor_lie(x: F) -> None:
    assert enclosure.bound_exp(-x)[0] == 0
    assert 0 < enclosure.bound_exp(-x)[1] < F(1, 10**2000)
    assert enclosure.bound_normal(-x)[0] == 0
    assert 0 < enclosure.bound_normal(-x)[1] < F(1, 10**2000)
    assert enclosure.bound_normal(x)[1] == 1
    assert enclosure.bound_exp_below(x) > 10**2000
    with pytest.raises(OverflowError):
        enclosure.bound_exp(x)


@pytest.mark.parametrize("y", [F(1, 3), F(20), F(360), F(511)])
def test_the_verifier_never_takes_a_small_number_for_none(y: F) -> None:
    """Squares are rounded up at the upper end, also where less than one unit is left of them."""
    low, high = verifier_numbers.enclose_exp_minus(y)
    unit = mpmath.mpf(verifier_numbers.ONE)
    assert low <= mpmath.exp(-real(y)) * unit <= high


def test_rounding_is_directed() -> None:
    third = F(1, 3)
    assert enclosure.round_down(third, 3) == F(333, 1000)
    assert enclosure.round_up(third, 3) == F(334, 1000)
    assert enclosure.round_up(F(-1, 3), 3) == F(-333, 1000)
    assert enclosure.round_up(F(1, 8)) == F(1, 8)


@pytest.mark.parametrize(
    "call",
    [
        lambda: enclosure.bound_ln(F(0)),
        lambda: enclosure.bound_sqrt(F(-1)),
        lambda: enclosure.bound_tanh(F(-1)),
        lambda: verifier_numbers.enclose_exp(F(10**5)),
    ],
)
def test_arguments_outside_are_refused(call: Callable[[], object]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        call()


def test_logarithms_next_to_one_end() -> None:
    tiny = F(1, 10**200)
    low, high = enclosure.bound_ln(1 - tiny)
    assert low <= -tiny < high == 0
    low, high = enclosure.bound_ln(1 + tiny)
    assert 0 == low < tiny <= high
