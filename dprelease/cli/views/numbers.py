"""Numbers for people: few digits, and never a loss or an error smaller than it is."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context

DIGITS = 5
BUDGET_DIGITS = 12


def rounded_up(value: object) -> str:
    """Write a loss, a scale or an error: rounded up at five digits, ``-`` when there is none."""
    return _written(value, ROUND_CEILING)


def spent(value: object) -> str:
    """Write what a budget paid: all of its digits but for the thirteenth, rounded up."""
    return _written(value, ROUND_CEILING, BUDGET_DIGITS)


def left(value: object) -> str:
    """Write what is left of a budget: all of its digits but for the thirteenth, rounded down."""
    return _written(value, ROUND_FLOOR, BUDGET_DIGITS)


def _written(value: object, rounding: str, precision: int = DIGITS) -> str:
    if value is None:
        return "-"
    number = Context(prec=precision, rounding=rounding).create_decimal(str(value))
    if number == 0:
        return "0"
    digits = number.normalize()  # without zeros at the end
    plain = -4 <= number.adjusted() <= 14
    return f"{digits:,f}" if plain else f"{digits:e}".replace("e+", "e")
