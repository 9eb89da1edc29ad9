r"""Discrete Gaussian noise on a grid of losses: one integer, or the worst of several shapes.

The loss of noise x on an integer that moves by v is (v^2 - 2 x v)/(2 sigma2). Losses of several
integers add up.

*Widest.* Of several shapes of moves none need be the worst for every epsilon. Each shape's law is
put on the grid; the curve of what results is linear in e^g between the points z_0 > z_1 > ... of
the grid, so the largest of these curves is at most the curve that joins D_k, the largest of their
values at z_k. With R_k = (D_(k+1) - D_k)/(1 - e^-h) its law has the mass R_k - e^-h R_(k-1) at z_k
(D_0 = 0, R_(-1) = 0), and at the last point as much as makes all masses 1. For one shape, with
masses p_k, R_k = p_k + e^-h R_(k-1) is a sum without differences.

*Rounding.* D_k comes of sums of less than 2^19 positive terms and of at most 2^15, twice, each off
by less than 2^-42 of itself: all in all by less than 1e-10, by which it is raised; as it then is,
it is a larger curve. Differences are off by less than 8u (D_(k+1) + D_k)/(1 - e^-h), which is added
to each mass.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from dprelease.privacy.pld_grid import (
    MOST_POINTS,
    Floats,
    Grid,
    Piece,
    made,
    parts,
    reach_down,
    steps,
    tops,
)

_U = 2.0**-53
_MOST_PLACES, _MOST_ATOMS = 1 << 15, 720
_WIDEST = 500.0  # losses, since e^loss has to be a float


def bell(sigma2: Fraction, step: int, grid: Grid) -> Piece:
    """The Bell of one integer that moves by ``step``."""
    high, log_mass, beyond = _masses(sigma2, grid, grid.tilt * step)
    top = (step * step + 2 * high * step) / (2 * sigma2)
    return steps(top, step / sigma2, log_mass, beyond, grid)


def _masses(sigma2: Fraction, grid: Grid, pull: float) -> tuple[int, Floats, float]:
    """X, ln P(x) for x = -X, ..., Y, and the mass below -X; what is above Y is counted at Y.

    P(x) = e^(-x^2/2 sigma2)/S with S >= sigma sqrt(2 pi) by Poisson summation, and for small sigma
    S is summed. Beyond X the ratio of neighbours is less than r = e^(-(2X+1)/(2 sigma2)).
    """
    variance = float(sigma2)
    sigma = math.sqrt(variance)
    high = math.ceil(sigma * min(38.0, math.sqrt(-2 * grid.log_tail))) + 1
    low = math.ceil(sigma * reach_down(pull / sigma, grid.log_low)) + 1
    low = max(low, 2 - high)
    if high + low > MOST_POINTS:
        raise OverflowError("too many points")
    x = np.arange(-high, low + 1, dtype=np.float64)
    if variance < 9:
        near = np.exp(-(np.arange(1, 40, dtype=np.float64) ** 2) / (2 * variance))
        sum_ = (1 + 2 * float(near.sum())) * (1 - 1e-14)
    else:
        sum_ = sigma * math.sqrt(2 * math.pi)
    log_mass = -x * x / (2 * variance) - math.log(sum_)
    beyond = _beyond(high, variance)
    rest = min(1.0, _beyond(low, variance)) if low > 0 else 1.0
    log_mass[-1] = math.log(math.exp(log_mass[-1]) + rest)
    return high, log_mass, beyond


def _beyond(last: int, variance: float) -> float:
    """More than P(x > last), for last >= 1: S is at least 1."""
    first = math.exp(-((last + 1) ** 2) / (2 * variance))
    return 1.001 * first / -math.expm1(-(2 * last + 1) / (2 * variance)) + 1e-300


def widest(sigma2: Fraction, shapes: tuple[tuple[int, ...], ...], grid: Grid) -> Piece:
    """The worst of shapes of one or two entries, at each loss."""
    h = float(grid.step)
    high, log_mass, beyond = _masses(sigma2, grid, 0.0)
    if len(log_mass) > _MOST_ATOMS:
        raise OverflowError("too many points")
    mass = np.exp(log_mass * (1 - 2.0**-48) + 2.0**-44)
    highest = [sum((v * v + 2 * high * v for v in shape), 0) / (2 * sigma2) for shape in shapes]
    top = max(highest)
    laws = [
        _placed(
            mass,
            [float(v / sigma2 / grid.step) for v in shape],
            float((top - peak) / grid.step),
            h,
        )
        for shape, peak in zip(shapes, highest, strict=True)
    ]
    size = max(map(len, laws))
    if size > _MOST_PLACES or size * h > _WIDEST:
        raise OverflowError("shapes of too wide a law")
    depth = np.arange(size, dtype=np.float64)
    growth, whole = np.exp(depth * h), -math.expm1(-h)
    curve = np.zeros(size)
    for law in laws:
        sums = np.cumsum(np.pad(law, (0, size - len(law))) * growth) / growth
        curve[1:] = np.maximum(curve[1:], whole * np.cumsum(sums)[:-1])
    curve *= 1 + 1e-10
    rises = np.append(np.diff(curve) / whole, max(0.0, 1 + 1e-10 - curve[-1]))
    before = np.append(0.0, rises[:-1])
    noise = 8 * _U * (np.append(curve[1:], 1.0) + curve) / whole
    found = np.maximum(rises - math.exp(-h) * before, 0.0) + noise
    log_weight = np.log(found) - depth * (h * grid.tilt)
    piece = made(tops(top, grid.step), depth, log_weight, 1.0, 2 * beyond)
    return replace(piece, excess=2e-10 + float(noise.sum()))


def _placed(mass: Floats, steps_: list[float], start: float, h: float) -> Floats:
    """The masses of one shape at whole depths; ``steps_`` and ``start`` in steps of the grid."""
    count = np.arange(len(mass), dtype=np.float64)
    place, weight = start + count * steps_[0], mass
    if len(steps_) > 1:
        place = np.add.outer(place, count * steps_[1]).ravel()
        weight = np.multiply.outer(mass, mass).ravel()
    place *= 1 - 2.0**-49  # mass moves up
    depth = np.floor(place)
    up, down = parts(place - depth, h)
    at = depth.astype(np.int64)
    size = int(at.max()) + 2
    return np.asarray(
        np.bincount(at, weight * up, minlength=size)
        + np.bincount(at + 1, weight * down, minlength=size),
        dtype=np.float64,
    )
