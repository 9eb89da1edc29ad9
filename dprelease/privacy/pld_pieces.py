"""Laws of losses on a grid, whichever they are."""

from __future__ import annotations

import math

import numpy as np

from dprelease.privacy.pld_bell import bell, widest
from dprelease.privacy.pld_grid import Floats, Grid, Piece, steps
from dprelease.privacy.pld_laws import Bell, Ladder, Law, Slope, Two, Widest
from dprelease.privacy.pld_normal import normal
from dprelease.privacy.pld_slope import slope


def piece_of(law: Law, grid: Grid) -> Piece:
    """The law on the grid. OverflowError if it reaches beyond what floats can hold."""
    match law:
        case Two(span):
            e = float(span)
            rest = math.log1p(math.exp(-e))
            return steps(span, 2 * span, np.array([-rest, -e - rest]), 0.0, grid)
        case Ladder(scale, l1):
            return steps(l1 / scale, 2 / scale, _rungs(float(1 / scale), l1), 0.0, grid)
        case Slope(span, ends):
            return slope(span, ends, grid)
        case Bell(sigma2, step):
            return bell(sigma2, step, grid)
        case Widest(sigma2, shapes):
            return widest(sigma2, shapes, grid)
        case _:
            return normal(law.mu2, grid)


def _rungs(slope: float, l1: int) -> Floats:
    """Logarithms of P(min(W, n) = k) for k = 0, ..., n, with a = e^-slope."""
    rest = math.log1p(math.exp(-slope))
    result = -slope * np.arange(l1 + 1, dtype=np.float64)
    result[1:l1] += math.log(math.tanh(slope / 2))
    result[0] -= rest
    result[l1] -= rest
    return result
