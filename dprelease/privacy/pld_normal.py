r"""The normal law of losses on a grid: cells by the normal law's tails, in floats.

Z has mean mu^2/2 and variance mu^2; then e^-Z times its law is normal about -mu^2/2. A cell [a, b],
b = a + h, has p = F(A) - F(B), F(x) = erfc(x/sqrt 2)/2, A = (a - mu^2/2)/mu, B likewise, and
q = F(A + mu) - F(B + mu). The part (p - e^a q)/(1 - e^-h) of it goes up to b, the rest down to a.

Rounding. Arguments x are counted from a top below 38, and so off by at most 4u (abs(x) + mu + 40)
(u = 2^-53), erfc by 8u of itself beyond that. As -F'/F <= abs(x) + 1, F is off by less than
u (16 + 8 (abs(x) + 1) (abs(x) + mu + 40)) F. By F(-x) = 1 - F(x), differences are taken on the
side where F is small. The errors of p and q are bounded so, cell by cell; p is raised by its own,
and the part that goes up by both, up to all of p. Where e^a is too large for floats all of p
goes up.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from dprelease.privacy.interval_arithmetic import sqrt_bounds
from dprelease.privacy.pld_grid import MOST_POINTS, Floats, Grid, Piece, made, reach_down, tops

_U = 2.0**-53
_LARGEST_MU = 1e4


def normal(mu2: Fraction, grid: Grid) -> Piece:
    """The law from a top, beyond which its mass counts as infinity, to a depth."""
    mu, h = math.sqrt(mu2), float(grid.step)
    if mu > _LARGEST_MU:
        raise OverflowError("a normal law of losses is too wide")
    high = min(37.0, math.sqrt(-2 * grid.log_tail)) + 0.1
    low = reach_down(grid.tilt * mu, grid.log_low)
    cells = math.ceil((high + max(low, 1 - high)) * mu / h)
    if cells > MOST_POINTS:
        raise OverflowError("too many points")
    # mu's rounding goes up: delta rises in mu, so this law's curve is above that of mu2.
    mu = float(sqrt_bounds(mu2)[1]) * (1 + 4 * _U)
    center, deviation = Fraction(mu) ** 2 / 2, Fraction(mu)
    units = tops(center + deviation * Fraction(high), grid.step)
    start = float((units * grid.step / (1 << 40) - center) / deviation)
    depth = np.arange(cells + 1, dtype=np.float64)
    edges = start - depth * (h / mu)  # in deviations, from the top down
    p, p_error = _cells(edges, mu)
    q, q_error = _cells(edges + mu, mu)
    lower = mu * (edges[1:] + mu / 2)  # a = mu A + mu^2/2
    held = np.minimum(lower, 600.0)
    growth = np.exp(held)
    slack = growth * (
        q_error + q * (1 + np.abs(held) + mu * (np.abs(edges[1:]) + mu + 40)) * 16 * _U
    )
    p = p + p_error
    up = (p - growth * q + slack + p_error) / -math.expm1(-h) * (1 + 16 * _U)
    up = np.where((lower < 600) & (up < p), np.maximum(up, 0.0), p)
    mass = np.zeros(cells + 1)
    mass[:-1] += up
    mass[1:] += p - up
    mass[-1] += _tail(-edges[-1:], mu)[0]
    infinity = _tail(edges[:1], mu)[0] + 1e-300
    kept = mass > 0
    log_mass = np.log(np.where(kept, mass, 1.0))
    sunk = log_mass - depth * (h * grid.tilt)
    piece = made(units, depth[kept], sunk[kept], 1.0, float(infinity))
    return replace(piece, excess=1e-9 + 2 * float(p_error.sum()))


def _survival(points: Floats) -> Floats:
    """F, for each point."""
    root = math.sqrt(0.5)
    return np.array([math.erfc(x * root) for x in points.tolist()]) / 2


def _relative(points: Floats, mu: float) -> Floats:
    return np.asarray(_U * (16 + 8 * (points + 1) * (points + mu + 40)), dtype=np.float64)


def _cells(edges: Floats, mu: float) -> tuple[Floats, Floats]:
    """The mass between neighbouring edges, which fall, and bounds of its error."""
    small = _survival(np.abs(edges))
    error = small * _relative(np.abs(edges), mu)
    above, below = edges[:-1], edges[1:]
    mass = np.where(
        below >= 0,
        small[1:] - small[:-1],
        np.where(above <= 0, small[:-1] - small[1:], 1 - small[:-1] - small[1:]),
    )
    return np.maximum(mass, 0.0), error[1:] + error[:-1] + _U * mass + 1e-300


def _tail(edge: Floats, mu: float) -> Floats:
    """More than F at this edge."""
    x = float(edge[0])
    value = math.erfc(x * math.sqrt(0.5)) / 2
    return np.array([min(1.0, value * (1 + float(_relative(np.abs(edge), mu)[0])) + 1e-300)])
