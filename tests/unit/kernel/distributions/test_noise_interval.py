from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest

from dprelease.kernel.distributions.intervals import (
    Interval,
    divide,
    enclose,
    enclose_exp_negative,
    enclose_log,
    enclose_normal_outside,
    enclose_pi,
    enclose_sqrt,
    multiply,
)

BITS = [8, 64, 200]


@pytest.fixture(autouse=True)
def precise():
    with mpmath.workdps(150):
        yield


def real(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def check(found: Interval, truth: mpmath.mpf, bits: int, slack: int) -> None:
    scaled = truth * mpmath.mpf(2) ** bits
    assert found.low <= scaled <= found.high
    assert found.high - found.low <= slack


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize(
    "text", ["0", "1e-30", "1/1000000007", "1/7", "1", "22/7", "63.9", "64", "150", "1e9", "1e40"]
)
def test_exponential(text: str, bits: int) -> None:
    exponent = Fraction(text)
    truth = mpmath.exp(-real(exponent)) if exponent < 10**6 else mpmath.mpf(0)
    check(enclose_exp_negative(exponent, bits), truth, bits, 2)


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize(
    "text",
    [
        "1e-40",
        "1/3",
        "1",
        "1000000000000000000000000000000000000001e-39",
        "2",
        "123456789/1000",
        "1e40",
    ],
)
def test_logarithm(text: str, bits: int) -> None:
    check(enclose_log(Fraction(text), bits), mpmath.log(real(Fraction(text))), bits, 3)


@pytest.mark.parametrize("bits", BITS)
def test_pi_and_roots(bits: int) -> None:
    check(enclose_pi(bits), +mpmath.pi, bits, 2)
    for text in ("0", "1/9", "2", "12345.678"):
        value = Fraction(text)
        check(enclose_sqrt(enclose(value, bits), bits), mpmath.sqrt(real(value)), bits, 40)


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize(
    "text", ["0", "1e-20", "1/4", "1", "3.84", "17", "40", "127", "300", "1e9"]
)
def test_normal_tail(text: str, bits: int) -> None:
    squared = Fraction(text)
    truth = mpmath.erfc(mpmath.sqrt(real(squared) / 2)) if squared < 10**6 else mpmath.mpf(0)
    check(enclose_normal_outside(squared, bits), truth, bits, 3)


def test_exponential_of_many_long_fractions() -> None:
    for number in range(1, 1500):
        exponent = Fraction(number * number * 7919 + 1, 104_729 + number)
        for bits in (64, 128, 256):
            check(enclose_exp_negative(exponent, bits), mpmath.exp(-real(exponent)), bits, 1)


def test_arithmetic_encloses_exact_fractions() -> None:
    bits = 16
    values = [Fraction(n, 977) for n in range(1, 3000, 61)]
    for left in values:
        for right in values[::7]:
            a, b = enclose(left, bits), enclose(right, bits)
            for found, truth in (
                (multiply(a, b, bits), left * right),
                (divide(a, b, bits), left / right),
            ):
                low, high = found.to_fractions(bits)
                assert low <= truth <= high


@pytest.mark.parametrize("call", [enclose_exp_negative, enclose_log])
def test_outside_the_domain(call) -> None:
    with pytest.raises(ValueError, match=r"negative|positive"):
        call(Fraction(-1), 64)
