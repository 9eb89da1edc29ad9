r"""Gaussian events as laws of losses: apart, or all of them as one.

A shape (v1, v2, ...) that dominates all moves is one Bell for each entry: they are independent, and
larger entries mean a larger delta (``lattice``). Several shapes of one or two entries are a Widest.
Else, and where sigma2 is so large that it costs nothing, the events become one Normal: by
``smoothing``, the curve of noise of sigma2_i on a move of squared length l2_i in d_i coordinates is
at most (1+eta_i)^d_i delta_normal(g - kappa_i) with mu_i^2 = l2_i/(sigma2_i - t_i),
kappa_i = d_i ln((1+eta_i)/(1-eta_i)), eta_i = 2q/(1-q), q = e^(-2 pi^2 t_i), for any t_i < sigma2_i
with eta_i < 1. So a Normal of mass (1+eta_i)^d_i, moved by kappa_i, is a law for it, and such laws
compose to one of mu^2 = sum mu_i^2, moved by the sum of kappas, its mass the product of masses.
If sigma2 is too small for that, moves are bounded entry by entry: the j-th largest entry of a
vector of squared length l2 is at most sqrt(l2/j).
"""

from __future__ import annotations

import math
from fractions import Fraction

from dprelease.model.privacy_events import Gaussian
from dprelease.model.shift import Shift
from dprelease.privacy.gaussian import smoothing
from dprelease.privacy.interval_arithmetic import ZERO, exp_bounds, round_up
from dprelease.privacy.pld_laws import Bell, Law, Widest
from dprelease.privacy.pld_sums import total

_LARGE_SIGMA2, _WIDEST_SIGMA2 = 250_000, 400
_MOST_ENTRIES = 64
_MOST_APART, _MOST_SIZES = 32, 6  # events, and different entries of one; others are merged
_WIDEST_WEIGHT = 8  # a Widest takes as much time as so many Bells
_CHEAP = 1e-5  # what merging may cost, as a part of the variance of all losses

Merged = tuple[list[tuple[Law, int]], Fraction, Fraction, Fraction]


def gaussian_laws(events: dict[Gaussian, int], others: float) -> Merged:
    """Laws that are kept apart, mu^2 of the Normal, the factor and kappa.

    ``others``: about the variance of all other losses. OverflowError if an event has no law.
    """
    spread = others + math.fsum(float(n * _mu2(event)) for event, n in events.items())
    costs = {event: float(n * _mu2(event) / event.sigma2) / spread for event, n in events.items()}
    apart: list[tuple[Law, int]] = []
    squares: list[Fraction] = []
    ripples: list[Fraction] = []
    spent, room = 0.0, _MOST_APART
    for event in sorted(events, key=lambda each: (costs[each], each.sigma2)):
        times, shift = events[event], event.shift
        width = _width(event, spread)
        laws = [] if width and spent + costs[event] <= _CHEAP else _apart(event, width, room)
        if laws:
            room -= _WIDEST_WEIGHT if isinstance(laws[0], Widest) else 1
            apart += [(law, times) for law in laws]
            continue
        if not width:
            raise OverflowError("sigma squared is too small for so many coordinates")
        spent += costs[event]
        squares.append(round_up(times * shift.l2_squared / (event.sigma2 - width), 30))
        eta = smoothing.ripple(width)
        ripples.append(times * shift.coordinates * eta / (1 - eta * eta))
    ripple = total(ripples)  # d ln(1+eta) is at most this, and kappa at most twice
    return apart, total(squares), exp_bounds(ripple)[1], 2 * ripple


def entries_of(shift: Shift) -> tuple[int, ...]:
    """The entries that dominate all moves of this shift, if there are such without loss."""
    if len(shift.shapes) == 1:
        return tuple(entry for entry in shift.shapes[0] if entry)
    return (math.isqrt(shift.l2_squared),) if shift.coordinates == 1 else ()


def dominating(shift: Shift) -> tuple[int, ...]:
    """Entries that dominate all moves of any shift: see the module."""
    if shift.shapes:
        ordered = [sorted(shape, reverse=True) for shape in shift.shapes]
        length = max(map(len, ordered))
        filled = [shape + [0] * (length - len(shape)) for shape in ordered]
        return tuple(entry for entry in map(max, zip(*filled, strict=True)) if entry)
    most = min(shift.coordinates, shift.l2_squared)
    return tuple(math.isqrt(shift.l2_squared // j) for j in range(1, most + 1))


def _mu2(event: Gaussian) -> Fraction:
    return event.shift.l2_squared / event.sigma2


def _apart(event: Gaussian, width: Fraction, room: int) -> list[Law]:
    """Laws of the event alone; none if it is better merged, by a smoothing of this ``width``."""
    shift, sigma2 = event.shift, event.sigma2
    entries = entries_of(shift)
    if entries:
        if width and (room < 1 or sigma2 > _LARGE_SIGMA2 or len(set(entries)) > _MOST_SIZES):
            return []
        return [Bell(sigma2, entry) for entry in entries]
    shapes = tuple(tuple(v for v in shape if v) for shape in shift.shapes)
    few = shapes and max(map(len, shapes)) <= 2
    if few and sigma2 <= _WIDEST_SIGMA2 and room >= _WIDEST_WEIGHT:
        return [Widest(sigma2, shapes)]
    if shift.coordinates > _MOST_ENTRIES:
        return []
    entries = dominating(shift)
    worst = sum(entry * entry for entry in entries) / sigma2
    if width and worst >= shift.l2_squared / (sigma2 - width):
        return []
    return [Bell(sigma2, entry) for entry in entries]


def _width(event: Gaussian, spread: float) -> Fraction:
    """The t that costs least, as far as hints tell: a multiple of 1/16; 0 if there is none.

    As a part of epsilon, about 4 sqrt(spread): t costs t mu^2/(2 sigma2 spread), and the ripples
    4 d e^(-2 pi^2 t) (1/epsilon + 1/20). At most half of sigma2.
    """
    slope = float(_mu2(event) / event.sigma2) / (2 * spread)
    toll = event.shift.coordinates * (1 / math.sqrt(spread) + 0.2)
    square = 2 * math.pi**2
    best = math.log(max(1.0, square * toll / max(slope, 1e-300))) / square
    most = math.floor(event.sigma2 * 8)
    return Fraction(min(max(2, math.ceil(16 * best)), most), 16) if most >= 2 else ZERO
