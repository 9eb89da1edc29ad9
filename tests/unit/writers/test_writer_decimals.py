"""Decimals are exact, rounded half to even, in plain notation."""

from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dprelease.writers.decimals import decimal_text, decimal_texts, rounded


@pytest.mark.parametrize(
    ("value", "places", "text"),
    [
        (Fraction(1, 3), 2, "0.33"),
        (Fraction(5, 1000), 2, "0.00"),
        (Fraction(15, 1000), 2, "0.02"),
        (Fraction(-5, 1000), 2, "0.00"),
        (Fraction(-15, 1000), 2, "-0.02"),
        (Fraction(-1, 1000), 2, "0.00"),
        (Fraction(-1, 2), 0, "0"),
        (Fraction(3, 2), 0, "2"),
        (Fraction(5, 2), 0, "2"),
        (Fraction(1, 10), 3, "0.100"),
        (Fraction(10**30), 1, f"{10**30}.0"),
        (Fraction(1, 10**9), 12, "0.000000001000"),
        (7, 2, "7.00"),
    ],
)
def test_texts(value: Fraction, places: int, text: str) -> None:
    assert decimal_text(value, places) == text


@given(st.integers(-(10**12), 10**12), st.integers(0, 9), st.integers(0, 8))
def test_rounding_is_that_of_decimal(digits: int, shift: int, places: int) -> None:
    value = Fraction(digits, 10**shift)
    with localcontext(Context(prec=60)):
        exact = Decimal(digits).scaleb(-shift)
        expected = exact.quantize(Decimal(1).scaleb(-places), ROUND_HALF_EVEN)
    text = decimal_text(value, places)
    assert Decimal(text) == expected
    assert text == (f"{expected:f}" if expected else f"{abs(expected):f}")


@given(st.fractions(), st.integers(0, 6))
def test_rounding_is_nearest(value: Fraction, places: int) -> None:
    assert abs(value * 10**places - rounded(value, places)) <= Fraction(1, 2)


def test_many_at_once_are_the_same() -> None:
    half = Fraction(1, 2)
    values = [half, half, None, None, Fraction(1, 2), Fraction(-1, 3), 4]
    assert list(decimal_texts(values, 1)) == ["0.5", "0.5", "", "", "0.5", "-0.3", "4.0"]
