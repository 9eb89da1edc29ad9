"""One law for Gaussian noise under any one of several shapes: the largest of their curves.

Let the laws of the shapes have masses on one grid, steps h, and curves H_s; H = max H_s, convex in
e^g as all of them. Neighbours may be taken in either order and the noise is symmetric, so
H(-g) = 1 - e^-g + e^-g H(g), and the part g >= 0 says all.

With T_i the mass above i steps, H at i steps less e^-h times H at i + 1 is (1 - e^-h) T_i. So the
tails are found from the values of H on the grid; larger tails that still fall are larger masses
moved upwards, hence safe. Between its points a law on the grid is linear in e^g, and H, convex,
is below. The masses below zero are p_-i = e^(-i h) p_i: then the law has
H(-g) = M (1 - e^-g) + e^-g H(g), where M is all its mass, and the mass at zero is such that
M >= 1. QED.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np

from dprelease.kernel.verify import numerics as numbers
from dprelease.kernel.verify.composition.float_bounds import Floats, down, fall, steps
from dprelease.kernel.verify.composition.gaussian import AnyOf, Lattice
from dprelease.kernel.verify.composition.grid import MADE, Law, Scale, coarser
from dprelease.kernel.verify.composition.loss_distributions import law_of
from dprelease.kernel.verify.composition.tree import together

_ROOM = 2.0**-34  # more than 2^-51 per step of the sums, for up to 2^16 steps


def largest(event: AnyOf, scale: Scale, spare: float) -> Law:
    """A law whose curve is nowhere below that of any shape."""
    laws = [_of_shape(event.sigma2, shape, scale, spare) for shape in event.shapes]
    level = max(law.level for law in laws)
    laws = [_at(scale, law, level) for law in laws]
    step = scale.step(level)
    shrunk = numbers.exp(-step)
    size = max(2, *(law.first + len(law.mass) for law in laws))
    parts = float(shrunk[0]), float(1 - shrunk[0])
    curves = [_curve(_above(law, size), *parts) for law in laws]
    highest: Floats = np.max(curves, axis=0)
    gain = highest * (1 + _ROOM) - np.append(highest[1:], 0.0) * (down(shrunk[0]) * (1 - _ROOM))
    tails = gain * (1 + 2.0**-50) / down(1 - shrunk[1])
    tails = np.maximum.accumulate(tails[::-1])[::-1]
    upper = tails - np.append(tails[1:], 0.0)  # masses at 1, 2, ... steps
    lower = upper * fall(steps(size, 1) * float(step))
    middle = max(0.0, 1 - float(upper.sum() + lower.sum()) * (1 - 2.0**-30))
    mass = np.concatenate((lower[::-1], [middle], upper))
    error = max(law.error for law in laws) + MADE
    return Law(level, -size, mass, max(law.lost for law in laws), error)


def _of_shape(sigma2: Fraction, shape: tuple[int, ...], scale: Scale, spare: float) -> Law:
    entries = Counter(entry for entry in shape if entry)
    return together(
        scale,
        [(law_of(Lattice(sigma2, entry), scale, spare), n) for entry, n in entries.items()],
        spare,
    )


def _at(scale: Scale, law: Law, level: int) -> Law:
    while law.level < level:
        law = coarser(scale, law)
    return law


def _above(law: Law, size: int) -> Floats:
    """The mass above 0, 1, ..., ``size`` - 1 steps."""
    places = law.first + np.arange(len(law.mass))
    kept = places > 0
    mass: Floats = np.zeros(size)
    mass[places[kept] - 1] = law.mass[kept]
    return np.cumsum(mass[::-1])[::-1]


def _curve(tails: Floats, shrunk: float, rest: float) -> Floats:
    """H at 0, 1, ... steps, to 2^-35 of itself; from the last one on it is 0."""
    height, heights = 0.0, []
    for tail in tails[::-1].tolist():
        height = shrunk * height + rest * tail
        heights.append(height)
    return np.array(heights[::-1])
