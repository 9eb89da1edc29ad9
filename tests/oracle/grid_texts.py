"""How the reference engine puts a value on a grid."""

from __future__ import annotations

import math
from collections.abc import Mapping

from dprelease.engines.common.rounding import scale_of
from dprelease.model import Grid, Quantity


def grid_integer(quantity: Quantity, numbers: Mapping[str, float | None]) -> int | None:
    """``clamp(rint(x / step))`` of the quantity's column, or its null fill."""
    x = numbers[quantity.column]
    return quantity.null_fill if x is None else on_grid(x, quantity.grid)


def on_grid(x: float, grid: Grid) -> int:
    """``clamp(rint(x / step))`` of a double that is not NaN."""
    times, over = scale_of(grid)
    scaled = x * times / over
    if math.isinf(scaled):
        return grid.upper if scaled > 0 else grid.lower
    return max(grid.lower, min(grid.upper, round(scaled)))
