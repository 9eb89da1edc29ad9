"""How a double is put on a grid: the same floating-point operations in every engine."""

from __future__ import annotations

from dprelease.engines.base import bad_data
from dprelease.model import Grid


def scale_of(grid: Grid) -> tuple[float, float]:
    """(q, p) of a step p/q: a value x has the grid position ``x * q / p``, in this order, in double
    precision, rounded half to even and then clamped to the bounds.
    """
    try:
        return float(grid.step.denominator), float(grid.step.numerator)
    except OverflowError:
        raise bad_data(
            "E411", "a step has too many digits to be applied", "choose a rounder step"
        ) from None
