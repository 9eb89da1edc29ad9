"""Candidates: the public values among which a query chooses, and the points of a quantile."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

from dprelease.model import Column, ColumnType, Grid
from dprelease.spec.asking import Asked
from dprelease.spec.domains import read_keys
from dprelease.spec.numbers import Refused, exact
from dprelease.spec.reporter import MOST_SHOWN
from dprelease.spec.wording import show, show_fraction

_TEXT, _WHOLE, _NUMBER = ColumnType.STRING, ColumnType.INTEGER, ColumnType.DECIMAL


def read_candidates(
    asked: Asked, values: Sequence[object]
) -> tuple[ColumnType, tuple[str, ...]] | None:
    """Give the type and the canonical texts of the candidates; None when one is refused.

    They are texts or numbers, not both; equal ones, even in another notation, are refused.
    """
    if not values:
        asked.complain("candidates", "E234", "candidates is empty", "list what to choose from")
        return None
    wrong = 0

    def complain(position: int, refused: Refused) -> None:
        nonlocal wrong
        wrong += 1
        path = asked.path("candidates", position)
        asked.context.reporter.complain("E234", refused.message, path, refused.hint)

    alike = _TEXTS if isinstance(values[0], str) else _NUMBERS
    for position, value in enumerate(values):
        if type(value) in alike and value != "":
            continue
        if isinstance(value, bool) or not isinstance(value, str | int | Decimal | Fraction):
            complain(position, Refused(f"{show(value)} is no number and no text", _HINT))
        elif isinstance(value, str) != isinstance(values[0], str):
            complain(position, Refused(f"{show(value)} stands among {_other(value)}", _HINT))
        elif value == "":
            complain(position, Refused("the empty text can't be a candidate", "name it"))
        if wrong > MOST_SHOWN:
            break
    if wrong:
        return None
    kind = _TEXT if isinstance(values[0], str) else _WHOLE
    if kind is _WHOLE and not all(isinstance(value, int) for value in values):
        kind = _NUMBER
    texts = read_keys(kind, values, complain)
    return None if wrong else (kind, texts)


def read_points(
    asked: Asked, column: Column, grid: Grid, values: Sequence[object]
) -> tuple[int, ...] | None:
    """Give the grid integers of a quantile's candidates, rising; None when one is refused."""
    if not values:
        asked.complain("candidates", "E234", "candidates is empty", "list some, or leave it out")
        return None
    found: set[int] = set()
    wrong = 0
    for position, value in enumerate(values):
        try:
            point = _point(column, grid, value)
            if point in found:
                raise Refused(f"{show(value)} is listed twice", "keep one", "E234")
            found.add(point)
        except Refused as refused:
            wrong += 1
            path = asked.path("candidates", position)
            asked.context.reporter.complain("E234", refused.message, path, refused.hint)
        if wrong > MOST_SHOWN:
            break
    return None if wrong else tuple(sorted(found))


def _point(column: Column, grid: Grid, value: object) -> int:
    number, step = exact(value), grid.step
    point, rest = divmod(number.numerator * step.denominator, number.denominator * step.numerator)
    if not (grid.lower <= point and point + bool(rest) <= grid.upper):
        low, high = show_fraction(grid.lower * step), show_fraction(grid.upper * step)
        message = f"{show(value)} is outside of the bounds of {show(column.name)}"
        raise Refused(message, f"from {low} to {high}")
    if rest:
        message = f"{show(value)} is no multiple of the step of {show(column.name)}"
        hint = f"the step is {show_fraction(step)}: round it, or declare a smaller step"
        raise Refused(message, hint)
    return point


def _other(value: object) -> str:
    return "numbers" if isinstance(value, str) else "texts"


_TEXTS = frozenset({str})
_NUMBERS = frozenset({int, Decimal, Fraction})
_HINT = "candidates are all numbers, or all texts"
