"""Numbers as people read them in plans and reports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context, Decimal
from enum import Enum
from fractions import Fraction

from dprelease.model.sentences import NumberText, Sentence, Text, sentence
from dprelease.postprocess.intervals.fixed_point import write_fixed_point

MOST_PLACES = 12
"""Decimal places that numbers of a spec may have."""


def number(value: Fraction, digits: int = 3, *, up: bool = False) -> NumberText:
    """Write a number with ``digits`` significant digits, thousands separated.

    Integers below a million are written in full. ``up`` rounds toward the larger number, for
    losses and errors, which must never look smaller than they are.
    """
    if value.denominator == 1 and abs(value) < 1_000_000:
        return NumberText(f"{value.numerator:,}")
    context = Context(prec=digits, rounding=ROUND_CEILING if up else ROUND_HALF_EVEN)
    wide = Context(prec=60, rounding=ROUND_CEILING if up else ROUND_HALF_EVEN)
    exact = wide.divide(Decimal(value.numerator), Decimal(value.denominator))
    rounded = context.plus(exact)
    if rounded != 0 and not -5 <= rounded.adjusted() <= 14:
        return NumberText(f"{rounded:.{digits - 1}e}")
    text = f"{rounded:,f}"
    return NumberText(text.rstrip("0").rstrip(".") if "." in text else text)


def write_budget(value: Fraction, digits: int = 6) -> str:
    """Write a budget as a spec takes it, rounded up: no exponent, at most 12 decimal places."""
    places = 0
    while places < MOST_PLACES and abs(value) * 10**places < 10 ** (digits - 1):
        places += 1
    whole = -(-value.numerator * 10**places // value.denominator)
    text = f"{Decimal(whole).scaleb(-places):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def write_halfwidth(half: Fraction) -> NumberText:
    """Write a half-width."""
    return NumberText(f"± {number(half, up=True)}")


def choose_decimals(halves: Iterable[object], decimals: int) -> int:
    """Give the decimals worth showing: two digits of the smallest half-width that is not 0.

    ``halves`` are fixed-point integers with ``decimals``. Below 0 are tens, hundreds and so on.
    """
    smallest = min((half for half in halves if isinstance(half, int) and half > 0), default=0)
    return decimals if not smallest else min(decimals, decimals + 2 - len(str(smallest)))


class Rounding(Enum):
    """Which way a number is rounded: a half-width upward, the ends of an interval outward."""

    NEAREST = 0
    DOWN = -1
    UP = 1


def write_rounded(
    value: int, decimals: int, places: int, rounding: Rounding = Rounding.NEAREST
) -> str:
    """Write a fixed-point integer with ``decimals`` in no more than ``places`` of them."""
    unit: int = 10 ** max(decimals - places, 0)
    shift = {Rounding.NEAREST: unit // 2, Rounding.DOWN: 0, Rounding.UP: unit - 1}[rounding]
    rounded = (value + shift) // unit * unit
    digits = min(max(places, 0), decimals)
    return write_fixed_point(rounded // 10 ** (decimals - digits), digits)


def write_percent(share: Fraction) -> Sentence:
    """Write a share such as 95/100 as a percentage."""
    return sentence("words.percent", share=number(share * 100, 6))


def join_names(names: Sequence[str]) -> Text:
    """Write names one after the other, with an "and" before the last."""
    *initial, last = names
    return sentence("words.list.last", first=", ".join(initial), last=last) if initial else last


MOST_NAMES = 8
"""A sentence names no more than so many."""


def join_few_names(names: Sequence[str]) -> Text:
    """Write names one after the other; of many the first ones, and how many more there are."""
    if len(names) <= MOST_NAMES:
        return join_names(names)
    first, rest = ", ".join(names[: MOST_NAMES - 2]), len(names) - MOST_NAMES + 2
    return sentence("words.list.more", first=first, more=rest)
