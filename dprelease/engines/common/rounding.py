"""How a double is put on a grid: the same floating-point operations in every engine."""

from __future__ import annotations

from dprelease.engines.base import bad_data
from dprelease.model import Grid


def scale_of(grid: Grid) -> tuple[float, float]:
    """Give (q, p) of a step p/q, as doubles; raises Failure if they are beyond a double.

    A value x has the grid position ``x * q / p``, computed in this order in double precision, then
    rounded half to even and clamped to the bounds.
    """
    try:
        return float(grid.step.denominator), float(grid.step.numerator)
    except OverflowError:
        raise bad_data(
            "E411", "a step has too many digits to be applied", "choose a rounder step"
        ) from None
