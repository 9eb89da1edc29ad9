r"""Densities e^(z/2) of losses on a grid: bounded ranges and continuous Laplace noise.

Let A = 1/(1 - e^-e), or 1/2 with ends, so that the density is A/2 e^((z-e)/2); the grid
hangs from e. Of the mass in [x - h, x] the part that goes up to x is, by integrating,
A T e^((x-e)/2), with T = tanh(h/4), and the part that goes down is A T e^((x-h-e)/2). So points
between have 2 A T e^(-k h/2). In the last cell, [a, b] with a < -e < b = a + h, the density fills
d = b + e only, and A e^-e e^(d-h) (1 - e^(-d/2)) (e^(h-d/2) - 1)/(1 - e^-h) goes up to b and
A e^-e e^(d-h) (1 - e^(-d/2))^2/(1 - e^-h) down to a.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from dprelease.privacy.pld_grid import MOST_POINTS, Grid, Piece, made, parts, tops


def slope(span: Fraction, ends: bool, grid: Grid) -> Piece:
    """The Slope of this span."""
    h, tilt = float(grid.step), grid.tilt
    share = 0.5 if ends else -1 / math.expm1(-float(span))
    fall = (0.5 + tilt) * h
    full = math.floor(2 * span / grid.step)  # cells that are filled
    kept = math.ceil((5 - grid.log_low) / fall)
    if min(kept, full) > MOST_POINTS:
        raise OverflowError("too many points")
    single = share * math.tanh(h / 4)
    depth = np.arange(min(kept, full) + 1 + (full <= kept), dtype=np.float64)
    log_weight, factor = -depth * fall, np.full(len(depth), 2 * single)
    factor[0] = 0.5 if ends else 0.0
    if full > 0:
        factor[0] += single
    if kept < full:
        missing = 0.0 if ends else math.exp(min(0.0, float(kept * grid.step / 2 - span)))
        factor[kept] = single + share * (1 - missing * (1 - 2.0**-48))
    else:
        # Both what fills the last cell and the atom at -e are e^-e times a number.
        filled = float(2 * span - full * grid.step)
        lost = -math.expm1(-filled / 2)
        common = share * math.exp(filled - h) * lost / -math.expm1(-h)
        up, down = common * math.expm1(h - filled / 2), common * lost
        if ends:
            raised, sunk = parts(min(1.0, filled / h) * (1 - 2.0**-50), h)
            up, down = up + 0.5 * raised, down + 0.5 * sunk
        if full > 0:
            factor[full] = single
        factor[full] += math.exp(-filled / 2) * up
        factor[full + 1] = down
        log_weight[full + 1] = -float(span) - (full + 1) * h * tilt
    return made(tops(span, grid.step), depth, log_weight, factor, 0.0)
