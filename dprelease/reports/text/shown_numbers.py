"""Numbers of a report: fractions to JSON numbers that don't understate, and numbers to text."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from dprelease.language import number_text, say
from dprelease.model.plan_json import exact


def to_json_number(value: Fraction) -> int | float:
    """Convert a loss or an error to a JSON number, rounded up at 12 significant digits."""
    if value.denominator == 1 and abs(value) < 2**53:
        return value.numerator
    # Rounded up: a loss or an error must not look smaller than it is.
    context = Context(prec=12, rounding=ROUND_CEILING)
    return float(context.divide(Decimal(value.numerator), Decimal(value.denominator)))


def number_or_none(amount: Fraction | None) -> int | float | None:
    """Convert an amount to a JSON number, rounded up; None stays."""
    return None if amount is None else to_json_number(amount)


def to_json_remaining(amount: Fraction | None) -> int | float | None:
    """Convert what is left of a cap to a JSON number, rounded down; None is no cap."""
    return None if amount is None else -to_json_number(-amount)


class Amount(Fraction):
    """A fraction that is printed as a decimal, rounded up at 12 digits; it stays exact."""

    __slots__ = ()

    def __str__(self) -> str:
        return str(to_json_number(self))

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return format(to_json_number(self), spec) if spec else str(self)

    def __reduce__(self) -> tuple[type[Amount], tuple[int, int]]:
        return type(self), (self.numerator, self.denominator)


def shorten(value: int | float, digits: int = 4) -> int | float:
    """Round up at few significant digits, for tables that people read."""
    context = Context(prec=digits, rounding=ROUND_CEILING)
    return value if isinstance(value, int) else float(context.create_decimal(Decimal(str(value))))


def compute_root(value: Fraction) -> int | float:
    """Write the square root, rounded up at 12 significant digits."""
    exact = math.isqrt(value.numerator), math.isqrt(value.denominator)
    if exact[0] ** 2 == value.numerator and exact[1] ** 2 == value.denominator:
        return to_json_number(Fraction(*exact))
    context = Context(prec=40, rounding=ROUND_CEILING)
    wide = context.sqrt(context.divide(Decimal(value.numerator), Decimal(value.denominator)))
    return float(Context(prec=12, rounding=ROUND_CEILING).plus(wide))


def format_number(value: int | float) -> str:
    """Write a JSON number for people: thousands separated, small numbers as 1e-8."""
    number = Decimal(str(value)).normalize()
    if number == 0:
        return "0"
    if -4 <= number.adjusted() <= 14:
        return number_text(f"{number:,f}")
    mantissa, _, exponent = f"{number:e}".partition("e")
    return number_text(f"{mantissa}e{int(exponent)}")


def write_headline(value: int | float) -> str:
    """Write a number that is seen first: rounded up at three digits."""
    return format_number(shorten(value, 3))


def write_belief(share: float) -> str:
    """Write a belief in percent, with all its digits: it was rounded outward before."""
    return say("words.percent", share=number_text(f"{(Decimal(str(share)) * 100).normalize():f}"))


def write_loss(value: Fraction) -> str:
    """Write a loss for a sentence, rounded up where it must be rounded."""
    return format_number(to_json_number(value))


def write_percent(share: float) -> str:
    """Write a share between 0 and 1 in percent, with at most four digits."""
    return say("words.percent", share=number_text(f"{share * 100:.4g}"))


def write_exact(value: Fraction) -> str:
    """Write a number exactly: as a decimal if its JSON number is exact, else as p/q."""
    number = to_json_number(value)
    return str(number) if Fraction(str(number)) == value else exact(value)
