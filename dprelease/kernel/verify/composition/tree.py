"""Many laws composed into one, the narrowest first, so that each is rounded on a scale of its own.

Rounding a law to a grid of step h adds at most h^2/4 to its variance, and a law of 1,000 points
has a step of about a sixtieth of its deviation. Narrow laws are composed before they meet wide
ones, whose grids are coarser: what is added then is small beside what is there.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from dprelease.kernel.verify.composition.grid import (
    Law,
    Scale,
    composed,
    trimmed,
    variance,
)

_LEVELS = 24  # trims that a loss may pass through, about
_MULTIPLES = 4096
_BELOW = 1e-6  # mass at low losses that may be moved up; it hardly counts for delta


def together(scale: Scale, laws: Iterable[tuple[Law, int]], spare: float) -> Law:
    """The law of the sum of all losses, each as often as it says.

    About ``spare`` of the mass, high up, goes to infinity. What is trimmed of a law of m losses
    is in proportion to m. Powers are made by squaring.
    """
    counted = list(laws)
    total = sum(count for _, count in counted)
    if not total:
        return Law(0, 0, np.ones(1), 0.0, 0.0)

    def cut(law: Law, count: int) -> Law:
        share = count / (total * _LEVELS)
        return trimmed(scale, law, spare * share, _BELOW * share)

    heap: list[tuple[float, int, int, Law]] = []
    for law, count in counted:
        power, size = cut(law, 1), 1
        while True:
            if count & size:
                heap.append((variance(scale, power), len(heap), size, power))
            size *= 2
            if size > count:
                break
            power = cut(composed(scale, power, power), size)
    heapq.heapify(heap)
    turn = len(heap)
    while len(heap) > 1:
        first, _, few, one = heapq.heappop(heap)
        second, _, many, other = heapq.heappop(heap)
        law = cut(composed(scale, one, other), few + many)
        heapq.heappush(heap, (first + second, turn, few + many, law))
        turn += 1
    return heap[0][3]


def work(counts: Iterable[int]) -> int:
    """How many convolutions ``together`` takes."""
    return sum(count.bit_length() - 1 + count.bit_count() for count in counts)


def common_unit(reaches: Iterable[Fraction]) -> Fraction:
    """A loss of which all reaches are whole multiples, or else the largest of them, about.

    On grids that divide it, losses at the ends of their reach are not rounded at all.
    """
    unit, widest = Fraction(0), Fraction(0)
    for reach in reaches:
        widest = max(widest, reach)
        unit = _common(unit, reach)
        if unit * _MULTIPLES < widest:
            return Fraction(float(widest))
    return unit or Fraction(1)


def _common(one: Fraction, other: Fraction) -> Fraction:
    """The greatest number of which both are whole multiples, or some number far smaller."""
    least = max(one, other) / _MULTIPLES
    while other > least:
        one, other = other, one % other
    return other or one
