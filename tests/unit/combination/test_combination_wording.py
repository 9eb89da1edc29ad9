"""Intervals in words: how many digits of a figure stand."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dprelease.combination.combination_wording import write_interval
from dprelease.combination.combined_intervals import Interval


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(73, 100), "0.73"),
        (Fraction(1, 3), "0.333333"),
        (Fraction(-5, 2), "\u22122.5"),
        (Fraction(4000), "4,000"),
    ],
)
def test_a_figure_without_noise_keeps_its_digits(value: Fraction, text: str) -> None:
    shown, half, _, _ = write_interval(Interval(value, value, value))
    assert shown == text
    assert float(half) == 0


def test_a_figure_with_noise_has_two_digits_of_its_half_width() -> None:
    interval = Interval(Fraction(73, 100), Fraction(71, 100), Fraction(75, 100))
    assert write_interval(interval) == ("0.730", "0.020", "0.710", "0.750")
