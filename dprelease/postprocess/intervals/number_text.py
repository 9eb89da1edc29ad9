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
    """Write a number for people, with thousands separated; an exponent if very small or large.

    Integers below a million are written in full, others with ``digits`` significant digits. ``up``:
    round toward the larger number, as losses and errors must never look smaller than they are.
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


MOST_NUMBERS = 30
_EXACT = 12


def list_numbers(values: Sequence[Fraction]) -> Text:
    """List numbers, of many only the first ones and the last.

    Semicolons stand between them: in some languages a comma is a decimal point.
    """
    texts: list[Text] = [number(value, _EXACT) for value in values]
    if len(texts) > MOST_NUMBERS:
        texts = [*texts[:MOST_NAMES], "\u2026", texts[-1]]
    listed, *others = texts
    for text in others:
        listed = sentence("words.remark", text=listed, remark=text)
    return listed


def write_budget(value: Fraction) -> str:
    """Write a budget as a spec takes it: rounded up to six digits, without an exponent.

    It has at most 12 decimal places.
    """
    places = 0
    while places < MOST_PLACES and abs(value) * 10**places < 10**5:
        places += 1
    whole = -(-value.numerator * 10**places // value.denominator)
    text = f"{Decimal(whole).scaleb(-places):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def write_halfwidth(half: Fraction) -> NumberText:
    """Write a half-width, rounded up, as "± ..."."""
    return NumberText(f"± {number(half, up=True)}")


def choose_decimals(halves: Iterable[object], decimals: int) -> int:
    """Choose the decimals worth showing: two digits of the smallest half-width that is not 0.

    ``halves`` are in 10^-decimals; what is no integer is skipped. The result is below 0 for tens,
    hundreds and so on.
    """
    smallest = min((half for half in halves if isinstance(half, int) and half > 0), default=0)
    return decimals if not smallest else min(decimals, decimals + 2 - len(str(smallest)))


class Rounding(Enum):
    """The direction in which a number is rounded.

    A half-width is rounded up, and the ends of an interval outward.
    """

    NEAREST = 0
    DOWN = -1
    UP = 1


def write_rounded(
    value: int, decimals: int, places: int, rounding: Rounding = Rounding.NEAREST
) -> str:
    """Write a value in 10^-decimals in fewer places, below 0 for tens, hundreds and so on."""
    unit: int = 10 ** max(decimals - places, 0)
    shift = {Rounding.NEAREST: unit // 2, Rounding.DOWN: 0, Rounding.UP: unit - 1}[rounding]
    rounded = (value + shift) // unit * unit
    digits = min(max(places, 0), decimals)
    return write_fixed_point(rounded // 10 ** (decimals - digits), digits)


def write_percent(share: Fraction) -> Sentence:
    """Write a share such as 95/100 as a percentage."""
    return sentence("words.percent", share=number(share * 100, 6))


def join_names(names: Sequence[str]) -> Text:
    """Join names, at least one, by commas, with "and" before the last."""
    *initial, last = names
    return sentence("words.list.last", first=", ".join(initial), last=last) if initial else last


MOST_NAMES = 8
"""Most names that a sentence lists."""


def join_few_names(names: Sequence[str]) -> Text:
    """Join names; of many only the first ones, with the number of the others."""
    if len(names) <= MOST_NAMES:
        return join_names(names)
    first, rest = ", ".join(names[: MOST_NAMES - 2]), len(names) - MOST_NAMES + 2
    return sentence("words.list.more", first=first, more=rest)
