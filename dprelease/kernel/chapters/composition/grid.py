"""Laws of a privacy loss on a grid, rounded to the private side, and their sums.

A law is a list of masses p_i >= 0 at losses i h, and a mass at infinity. It stands for the curve
H(g) = lost + sum of p_i max(0, 1 - e^(g - i h)), a sum of falling terms with factors p_i, and the
curve of two laws composed is that of the convolution, a sum with factors p_i p_j. Hence larger
masses, and masses moved to larger losses, only ever enlarge a curve, also after composing, and:

1. Rounding. Let masses p, all with losses in [a, b], have the mean M of e^-loss. The two masses
   p (1 - u) at a and p u at b with u = (e^-a - M)/(e^-a - e^-b) have the same mean. A term
   max(0, 1 - e^g x) is convex in x = e^-loss, so on [e^-b, e^-a] it lies below its chord, and the
   two masses have the larger curve. This holds for every g, hence for every shift of g by another
   loss, hence for compositions. A larger u is safe too: it moves mass upwards.
2. Coarsening. 1 with a = 2k h, b = (2k + 2) h and the masses at (2k + 1) h.
3. Trimming. The highest masses go to infinity, the lowest up to the lowest one that is left.

Errors. The law meant has masses of at most ``mass`` (1 + 2^-52)^``error``. A float sum or product
of positive numbers is off by less than 2^-52 of itself per operation, whatever the order and with
fused operations too. Masses below 2^-498 go to infinity, so that no product underflows. ``lost``
is off by less than one in a thousand, which ``bound_delta`` adds.

Many laws composed into one, the narrowest first, so that each is rounded on a scale of its own.

Rounding a law to a grid of step h adds at most h^2/4 to its variance, and a law of 1,000 points
has a step of about a sixtieth of its deviation. Narrow laws are composed before they meet wide
ones, whose grids are coarser: what is added then is small beside what is there.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache

import numpy as np
from msgspec import Struct

from dprelease.kernel.chapters.composition.float_bounds import (
    Floats,
    bound_rise,
    list_steps,
    round_down,
    round_up,
)
from dprelease.kernel.core import numerics as numbers

ULP = 2.0**-52
MADE = 2.0**18  # what a fresh mass is off by at most, in units of 2^-52: 2^-34
_LEAST = 2.0**-498
_MUCH = 2.0**-11  # the largest error of all masses with which anything is confirmed
_NUDGE = 2.0**-31
_PART = 8192
_EDGE = 4  # points of a grid kept free for rounding outwards
_FAR = 2.0**17  # beyond, places are not known to 2^-32


class Law(Struct, frozen=True):
    """Masses at ``first``, ``first`` + 1, ... steps of ``scale.step(level)``, and at infinity."""

    level: int
    first: int
    mass: Floats
    lost: float
    error: float


class Scale(Struct, frozen=True):
    """Grids with steps ``unit`` 2^level, and the number of points that a law should have."""

    unit: Fraction
    points: int

    def step(self, level: int) -> Fraction:
        """Return the distance of neighbouring losses."""
        return self.unit * Fraction(2) ** level

    def choose_level(self, width: float) -> int:
        """Choose a level at which so wide a law has about ``points`` points, not many more."""
        return math.ceil(math.log2(width / (self.points - _EDGE)) - math.log2(self.unit))


@lru_cache(maxsize=4096)
def _bound_step_weights(step: Fraction) -> tuple[float, float, float]:
    """Bound 1 - e^-h from above; 1/(1 + e^-h) and the rest from below."""
    low, high = numbers.enclose_exp(-step)
    return round_down(1 - high), round_up(1 / (1 + low)), round_up(high / (1 + high))


def gather_masses(scale: Scale, level: int, places: Floats, mass: Floats, lost: float) -> Law:
    """Gather masses at any places, given in steps, to a law; each may stand for a symmetric crowd.

    ``places`` may be off by 2^-32, and ``mass`` by 2^-35 of itself and 2^-52 for each of them. A
    crowd is a piece of a law that lies between two neighbouring points of the grid and whose mean
    of e^-loss is that of its place.
    """
    if float(np.abs(places).max()) > _FAR:
        return Law(level, 0, np.zeros(1), lost + float(mass.sum()), MADE + 2.0 * len(places))
    nudged = places + _NUDGE
    below = np.floor(nudged)
    step = scale.step(level)
    share = bound_rise((nudged - below) * float(step)) / _bound_step_weights(step)[0]
    share = np.minimum(share * (1 + 8 * ULP), 1.0)
    first = int(below.min())
    index = (below - first).astype(np.int64)
    size = int(index.max()) + 2
    total: Floats = np.zeros(size)
    total += np.bincount(index, mass * ((1 - share) + ULP), size)
    total += np.bincount(index + 1, mass * share, size)
    unseen = len(places) * _LEAST  # masses that came as 0 because they are too small for floats
    return _flush_subnormals(Law(level, first, total, lost + unseen, MADE + 2.0 * len(places)))


def _flush_subnormals(law: Law) -> Law:
    tiny = law.mass < _LEAST
    count = int(np.count_nonzero(tiny))
    if not count:
        return law
    mass = np.where(tiny, 0.0, law.mass)
    return Law(law.level, law.first, mass, law.lost + count * _LEAST, law.error)


def coarsen(scale: Scale, law: Law) -> Law:
    """Move the law to a grid of twice the step (2)."""
    head, spare = law.first % 2, (law.first + len(law.mass)) % 2
    mass = np.pad(law.mass, (head, 1 - spare))  # even at both ends
    even, odd = mass[::2].copy(), mass[1::2]
    _, upwards, downwards = _bound_step_weights(scale.step(law.level))
    even[1:] += odd * upwards
    even[:-1] += odd * downwards
    first = (law.first - head) // 2
    return _flush_subnormals(Law(law.level + 1, first, even, law.lost, law.error + 8))


def compose_laws(scale: Scale, left: Law, right: Law) -> Law:
    """Compose two independent losses to the law of their sum."""
    while left.level < right.level:
        left = coarsen(scale, left)
    while right.level < left.level:
        right = coarsen(scale, right)
    # By parts, as NumPy would share long ones out to threads, slowly.
    mass: Floats = np.zeros(len(left.mass) + len(right.mass) - 1)
    for start in range(0, len(right.mass), _PART):
        part = np.convolve(left.mass, right.mass[start : start + _PART])
        mass[start : start + len(part)] += part
    lost = left.lost * float(right.mass.sum()) + right.lost * float(left.mass.sum())
    error = left.error + right.error + 2 * min(len(left.mass), len(right.mass)) + 2
    return _flush_subnormals(
        Law(left.level, left.first + right.first, mass, lost + left.lost * right.lost, error)
    )


def trim_law(scale: Scale, law: Law, above: float, below: float) -> Law:
    """Trim the highest masses up to ``above`` and the lowest up to ``below`` (3).

    Coarser, too, if it has too many points.
    """
    mass = law.mass
    from_top = np.cumsum(mass[::-1])
    drop = int(np.searchsorted(from_top, above, side="right"))
    from_bottom = np.cumsum(mass)
    skip = int(np.searchsorted(from_bottom, below, side="right"))
    if skip + drop >= len(mass):
        drop, skip = 0, 0
    lost = law.lost + (float(from_top[drop - 1]) if drop else 0.0)
    remaining_mass = mass[skip : len(mass) - drop].copy()
    if skip:
        remaining_mass[0] += from_bottom[skip - 1]
    law = Law(law.level, law.first + skip, remaining_mass, lost, law.error + len(mass))
    while len(law.mass) > scale.points:
        law = coarsen(scale, law)
    return law


def estimate_variance(scale: Scale, law: Law) -> float:
    """About the variance of the loss."""
    places = list_steps(len(law.mass)) * float(scale.step(law.level))
    whole = float(law.mass.sum()) or 1.0
    mean = float(law.mass @ places) / whole
    return float(law.mass @ (places - mean) ** 2) / whole


def bound_delta(scale: Scale, law: Law, epsilon: Fraction) -> Fraction:
    """Bound the curve of what the law stands for from above."""
    relative = law.error * ULP
    if relative > _MUCH:
        return Fraction(1)
    step = scale.step(law.level)
    start = max(math.floor(epsilon / step) + 1, law.first)
    remaining_mass = law.mass[max(0, start - law.first) :]
    distances: Floats = round_up(start * step - epsilon) + list_steps(len(remaining_mass)) * float(
        step
    )
    # 2 relative: (1 + 2^-52)^error; 2^-30: the sum over fewer than 2^21 points, and products.
    total = float(remaining_mass @ bound_rise(distances)) * (1 + 2 * relative + 2.0**-30)
    return Fraction(total + law.lost * (1 + 2.0**-9))


def bound_chord(scale: Scale, law: Law, epsilon: Fraction, top: Fraction) -> Fraction:
    """Bound the true curve, which is 0 from ``top`` > epsilon on, from above.

    Convex in e^g, it lies below its chord from a point of the grid, where the law is above it, to
    the top: at most the value at g, times (e^top - e^epsilon)/(e^top - e^g), for any g < epsilon.
    """
    step = scale.step(law.level)
    start, back, best = math.floor(epsilon / step), 1, Fraction(1)
    over = 1 - numbers.enclose_exp(epsilon - top)[0]
    while back < 2 * scale.points:
        g = (start - back) * step
        best = min(best, bound_delta(scale, law, g) * over / (1 - numbers.enclose_exp(g - top)[1]))
        back *= 2
    return best


# --- many laws into one --------------------------------------------------------------------------


_LEVELS = 24  # trims that a loss may pass through, about
_MULTIPLES = 4096
_BELOW = 1e-6  # mass at low losses that may be moved up; it hardly counts for delta


def compose_all(scale: Scale, laws: Iterable[tuple[Law, int]], spare: float) -> Law:
    """Compose all losses, each as often as it says, to the law of their sum.

    About ``spare`` of the mass, high up, goes to infinity. What is trimmed of a law of m losses
    is in proportion to m. Powers are made by squaring.
    """
    counted = list(laws)
    total = sum(count for _, count in counted)
    if not total:
        return Law(0, 0, np.ones(1), 0.0, 0.0)

    def cut(law: Law, count: int) -> Law:
        share = count / (total * _LEVELS)
        return trim_law(scale, law, spare * share, _BELOW * share)

    heap: list[tuple[float, int, int, Law]] = []
    for law, count in counted:
        power, size = cut(law, 1), 1
        while True:
            if count & size:
                heap.append((estimate_variance(scale, power), len(heap), size, power))
            size *= 2
            if size > count:
                break
            power = cut(compose_laws(scale, power, power), size)
    heapq.heapify(heap)
    turn = len(heap)
    while len(heap) > 1:
        first, _, first_count, first_law = heapq.heappop(heap)
        second, _, second_count, second_law = heapq.heappop(heap)
        law = cut(compose_laws(scale, first_law, second_law), first_count + second_count)
        heapq.heappush(heap, (first + second, turn, first_count + second_count, law))
        turn += 1
    return heap[0][3]


def count_convolutions(counts: Iterable[int]) -> int:
    """Count the convolutions that ``compose_all`` takes."""
    return sum(count.bit_length() - 1 + count.bit_count() for count in counts)


def find_common_unit(reaches: Iterable[Fraction]) -> Fraction:
    """Find a loss of which all reaches are whole multiples, or else the largest of them, about.

    On grids that divide it, losses at the ends of their reach are not rounded at all.
    """
    unit, widest = Fraction(0), Fraction(0)
    for reach in reaches:
        widest = max(widest, reach)
        unit = _find_common(unit, reach)
        if unit * _MULTIPLES < widest:
            return Fraction(float(widest))
    return unit or Fraction(1)


def _find_common(left: Fraction, right: Fraction) -> Fraction:
    """Find the greatest number of which both are whole multiples, or some number far smaller."""
    smallest = max(left, right) / _MULTIPLES
    while right > smallest:
        left, right = right, left % right
    return right or left
