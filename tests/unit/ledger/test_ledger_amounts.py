"""Amounts are stored exactly and shown safely."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dprelease.ledger.ledger_messages import round_remaining, round_spent
from dprelease.model.plan_json import exact, read_exact

AMOUNTS = st.fractions(min_value=0, max_value=10**9)


@given(AMOUNTS)
def test_rationals_come_back(value: Fraction) -> None:
    assert read_exact(exact(value)) == value


@pytest.mark.parametrize("text", ["", "1", "2/4", "-1/2", "1/0", "01/2", "1/2 ", "0.5", None, 0.5])
def test_other_texts_are_no_rationals(text: object) -> None:
    with pytest.raises(ValueError, match=r"rational|lowest"):
        read_exact(text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(0), "0.0"),
        (Fraction(1), "1.0"),
        (Fraction(14, 10), "1.4"),
        (Fraction(2000), "2000.0"),
        (Fraction(1, 10**4), "0.0001"),
        (Fraction(1, 10**9), "1e-9"),
        (Fraction(25, 10**10), "2.5e-9"),
        (Fraction(10**20), "1e20"),
        (Fraction(1, 1024), "0.0009765625"),
        (1 + Fraction(1, 10**12), "1.000000000001"),
    ],
)
def test_short_decimals_are_shown_exactly(value: Fraction, text: str) -> None:
    assert round_spent(value) == round_remaining(value) == text


def test_long_ones_are_rounded_to_the_safe_side() -> None:
    assert round_spent(Fraction(1, 3)) == "0.3333334"
    assert round_remaining(Fraction(2, 3)) == "0.6666666"
    assert round_spent(1 - Fraction(1, 10**30)) == "1.0"


@given(AMOUNTS)
def test_shown_amounts_enclose_the_value(value: Fraction) -> None:
    assert Fraction(round_remaining(value)) <= value <= Fraction(round_spent(value))
    assert Fraction(round_spent(value)) - Fraction(round_remaining(value)) <= value / 10**6
