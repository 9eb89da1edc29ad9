"""Sums of many fractions in little time."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from dprelease.privacy.interval_arithmetic import ZERO, round_up

_BITS = 1024  # sums are exact up to denominators of this size


def total(terms: Iterable[Fraction]) -> Fraction:
    """The sum, exact while its denominator is of any use, else rounded up to 40 digits."""
    result = ZERO
    for term in terms:
        result += term
        if result.denominator.bit_length() > _BITS:
            result = round_up(result, 40)
    return result
