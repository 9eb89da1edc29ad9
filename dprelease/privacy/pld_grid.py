r"""Laws of losses put on a grid, tilted, each rounded so that it bounds the law.

A grid of step h runs down from a point of its own for each law, its ``top``. A *piece* says: the
mass at top - k h, for a whole number k >= 0, is at most weight[k] e^(log_scale + tilt k h). All
mass is moved to the grid by (a), (b) and (c) of ``pld_laws``.

*Splitting.* A mass at depth (k + f) h below the top, 0 <= f < 1, goes to the points k and k + 1 in
parts up = (1 - e^(-(1-f) h))/(1 - e^-h) and 1 - up = e^(-(1-f) h) (1 - e^(-f h))/(1 - e^-h).

*Tails.* The mass that a Gaussian law has above its top is put at infinity. What lies so low that
the tilt makes it irrelevant is moved up to the lowest point that is kept.

*Rounding.* numpy's exp, log and their kin are taken to be accurate to 4 units in the last place
(u = 2^-53), products and sums to one. A weight is exp(x) times factors, where x <= 0 is a sum of
terms of one sign, each off by at most 8u of itself, and of a few terms of order 1; exp is taken at
x (1 - 2^-48) + 2^-44, which outweighs this. Depths are rounded down (mass moves up) where they
are not whole numbers of steps. Weights below the smallest float count as ``FLOOR`` in all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

TOP_BITS = 40  # tops are whole multiples of h 2^-40, rounded up
FLOOR = 1e-290  # more than all weights of a piece that were lost to underflow
MOST_POINTS = 1 << 21
_DEEPEST = 2.0**50


@dataclass(frozen=True, slots=True)
class Grid:
    """Step, tilt, and the relative size of what tails may be dropped from any law."""

    step: Fraction
    tilt: float
    log_tail: float  # mass that may go to infinity
    log_low: float  # tilted mass that may be moved up


@dataclass(frozen=True, slots=True)
class Piece:
    """See the module; ``depth`` are the k, whole numbers. The weights' sum is about 1."""

    top: int
    depth: Floats
    weight: Floats
    log_scale: float
    infinity: float
    excess: float = 1e-9  # more than what all its mass is above 1


def tops(value: Fraction, step: Fraction) -> int:
    """A loss in units of ``step`` 2^-40, rounded up."""
    return math.ceil(value / step * (1 << TOP_BITS))


def made(
    top: int, depth: Floats, log_weight: Floats, factor: Floats | float, infinity: float
) -> Piece:
    """A piece of weights factor e^log_weight, which includes the tilt and is at most about 1."""
    exponent = log_weight * (1 - 2.0**-48) + 2.0**-44
    shift = float(exponent.max())
    weight = np.exp(exponent - shift) * factor
    total = float(weight.sum())
    if not 0 < total < math.inf or len(depth) > MOST_POINTS or float(depth.max()) > _DEEPEST:
        raise OverflowError("a law of losses is too wide for its grid")
    return Piece(top, depth, weight / total, shift + math.log(total), infinity)


def steps(top: Fraction, spacing: Fraction, log_mass: Floats, infinity: float, grid: Grid) -> Piece:
    """Masses at top, top - spacing, ... split between the points of the grid."""
    ratio = spacing / grid.step
    h, count = float(grid.step), np.arange(len(log_mass), dtype=np.float64)
    if ratio.denominator == 1:
        depth = count * float(ratio)
        return made(tops(top, grid.step), depth, log_mass - depth * (h * grid.tilt), 1.0, infinity)
    place = count * float(ratio) * (1 - 2.0**-50)
    depth = np.floor(place)
    part = place - depth
    up, down = parts(part, h)
    sunk = log_mass - depth * (h * grid.tilt)
    return made(
        tops(top, grid.step),
        np.concatenate((depth, depth + 1)),
        np.concatenate((sunk, sunk - h * grid.tilt)),
        np.concatenate((up, down)),
        infinity,
    )


def parts(part: Any, h: float) -> tuple[Any, Any]:
    """Which parts of a mass ``part`` of a step h below a point go up to it and down."""
    whole = math.expm1(-h)
    left = -(1 - part) * h
    return np.expm1(left) / whole, np.exp(left) * (np.expm1(-part * h) / whole)


def reach_down(tilt: float, log_low: float) -> float:
    """How many deviations y below the mean a Gaussian law, tilted by ``tilt`` of them, is kept.

    The mass below -y deviations is at most 1, and at most e^(-y^2/2). Moved up to there it has a
    tilted mass of that times e^(-tilt y - tilt^2/2), which is to be e^log_low. Negative if the
    tilt is large.
    """
    return min(math.sqrt(-2 * log_low), (-log_low - tilt * tilt / 2) / max(tilt, 1e-9))
