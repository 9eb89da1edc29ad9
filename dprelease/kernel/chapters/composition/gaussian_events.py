"""Gaussian events: which are summed on their lattices, and how the others become one normal law.

On the lattice. Noise of sigma squared s2 on one integer that moves by v has the law ``Lattice``.
Coordinates are independent, so a shape of several entries is several such laws composed. Smaller
entries are not worse: the likelihood ratio of a log-concave law and its shift is monotone, so the
best sets are rays x <= k, and P(X <= k) - e^g P(X <= k - v) rises in v. Composing keeps the order.

Merging, of any shifts. Let X be discrete Gaussian of s2 on Z^n, v a shift with at most d entries
that are not 0 and |v|^2 <= l2, 0 < t < s2, q = e^(-2 pi^2 t) and eta = 2q/(1-q) < 1.
1. By Poisson summation the sum over x in Z of e^(-(x-y)^2/2t) is sqrt(2 pi t) times a number
   between 1 - eta and 1 + eta, for every y.
2. Draw Y from N(c, s2 - t), then x in Z with probability e^(-(x-Y)^2/2t) over that sum. Normal
   laws of variances s2 - t and t make one of s2, so the chance r_c(x) of x lies between
   N(x; c, s2)/(1+eta) and N(x; c, s2)/(1-eta). That of X + c is A N(x; c, s2), with A the same for
   all c in Z, and A <= 1 by Poisson summation.
3. Coordinates that do not move sum out of the curve. For the d others
   sum max(0, p_0 - x p_v) <= (1+eta)^d sum max(0, r_0 - x ((1-eta)/(1+eta))^d r_v),
   and r_0, r_v are N(0, s2-t), N(v, s2-t) sent through one map, so this is at most the curve of
   the two normal laws, which is the larger the longer v is.
4. So the event's curve is at most that of the two measures F N(0, 1) and F e^-k N(mu, 1), where
   mu^2 = l2/(s2-t), F = (1+eta)^d and k = d ln((1+eta)/(1-eta)). Larger curves compose to larger
   ones, for measures too. So several events are no worse than the product of the F times one normal
   law with the sum of the mu^2, at g less the sum of the k.

Back to a lattice. N(0, 1) against N(mu, 1) is, in steps of mu/m, a normal law of variance
S = m^2/mu^2 that moves by m. Discrete Gaussian noise of S - t, plus N(0, t), has a density
B N(y; c, S) (1 -+ eta), where eta belongs to w = (S - t) t/S: multiply the two exponentials, then
1 for w. B is the same for all c in Z, so its value cancels but for 1/(1+eta) <= B <= 1/(1-eta).
Hence the normal curve at g is at most (1+eta)/(1-eta) times that of ``Lattice(S - t, m)`` at
g - ln((1+eta)/(1-eta)).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache

from msgspec import Struct

from dprelease.kernel.core import numerics as numbers
from dprelease.model.privacy_events import Gaussian

_EXACT = 100_000  # the largest sigma squared summed on its lattice
_MANY = 10_000  # the same, for one of several shapes
_LISTED = 256  # the largest sigma squared for which all shapes of a short shift are listed
_SHORT = 24  # the largest squared length of which they are
_FINE = 64  # parts of 1 in which widths are chosen
_BACK = Fraction(5, 2)  # the width t on the way back: eta is about 10^-21
_BINARY = 1 << 40
_HALF, _TINY = Fraction(1, 2), Fraction(1, 10**300)
_LEAST = Fraction(1, 1 << 14)  # a smaller mu is raised to this


class Lattice(Struct, frozen=True):
    """Discrete Gaussian noise on one integer that moves by ``move``."""

    sigma2: Fraction
    move: int


class AnyOf(Struct, frozen=True):
    """Discrete Gaussian noise under any one of several shapes."""

    sigma2: Fraction
    shapes: tuple[tuple[int, ...], ...]


class Merged(Struct, frozen=True):
    """Some events together: at most ``factor`` times the normal curve of mu^2 at g - ``offset``."""

    mu_squared: Fraction
    factor: Fraction
    offset: Fraction


def place_on_lattice(event: Gaussian) -> list[Lattice | AnyOf]:
    """Place the event on a lattice, as laws of single losses; none if it is better merged."""
    shift, sigma2 = event.shift, event.sigma2
    limit = _EXACT if len(shift.shapes) == 1 else _MANY
    shapes = tuple(filter(any, shift.shapes)) if sigma2 <= limit else ()
    if not shapes and sigma2 <= _LISTED and shift.l2_squared <= _SHORT:
        shapes = tuple(_iter_shapes(shift.l2_squared, shift.coordinates, shift.l2_squared))
    if len(shapes) == 1:
        return [Lattice(sigma2, entry) for entry in shapes[0] if entry]
    return [AnyOf(sigma2, shapes)] if shapes else []


def _iter_shapes(total: int, places: int, largest: int) -> Iterator[tuple[int, ...]]:
    """Iterate all shapes of this squared length or, with all places used, as long as there are.

    Every shape of at most ``total`` is, entry by entry, at most one of these.
    """
    if not total or not places:
        yield ()
        return
    for entry in range(math.isqrt(min(total, largest * largest)), 0, -1):
        for others in _iter_shapes(total - entry * entry, places - 1, entry):
            yield (entry, *others)


def merge_events(events: Sequence[tuple[Gaussian, int]], delta: Fraction) -> Merged | None:
    """Merge all these events into one normal law, widths t chosen for this delta.

    None if some have too little noise for that.
    """
    whole = sum(float(n * e.shift.l2_squared / e.sigma2) for e, n in events)
    # d epsilon/d mu^2 of about mu^2/2 + z mu; used to choose widths, any of which is valid.
    slope = 0.5 + math.sqrt(-2 * math.log(max(delta, _TINY))) / (2 * math.sqrt(whole))
    mu_squared, grown, offset = Fraction(0), Fraction(0), Fraction(0)
    for event, count in events:
        d, l2 = event.shift.coordinates, event.shift.l2_squared
        best = math.log(8 * math.pi**2 * d * float(event.sigma2) ** 2 / (slope * l2))
        width = Fraction(math.ceil(best / (2 * math.pi**2) * _FINE), _FINE)
        width = min(max(width, Fraction(1, 8)), event.sigma2 / 2)
        eta = bound_ripple(width)
        if eta > _HALF:
            return None
        mu_squared += _round_up(Fraction(count * l2) / (event.sigma2 - width))
        grown += count * d * eta
        offset += _round_up(count * d * (eta + eta / (1 - eta)))
    return Merged(mu_squared, numbers.enclose_exp(grown)[1], offset) if grown < 1 else None


@lru_cache(maxsize=256)
def bound_ripple(width: Fraction) -> Fraction:
    """Bound eta from above, by 1 at most: ln(1 + eta) <= eta, -ln(1 - eta) <= eta/(1 - eta)."""
    power = numbers.enclose_exp(-(numbers.TWO_PI[0] ** 2) * width / 2)[1]
    eta = 2 * power / (1 - power) if power < _HALF else Fraction(1)
    return _round_up(eta)


def _round_up(x: Fraction) -> Fraction:
    """Round up to a multiple of 2^-512."""
    return Fraction(math.ceil(x * numbers.ONE), numbers.ONE)


def return_to_lattice(law: Merged, parts: int) -> tuple[Lattice, Merged]:
    """Lattice noise no better than the normal law, of about ``parts`` points to a deviation.

    With it, factor and offset that include the way back.
    """
    mu = max(numbers.enclose_sqrt(law.mu_squared)[1], _LEAST)
    move = max(1, math.ceil(parts * mu))
    variance = Fraction(move * move) / (mu * mu)
    sigma2 = Fraction(math.floor((variance - _BACK) * _BINARY), _BINARY)
    eta = bound_ripple(sigma2 * (variance - sigma2) / variance)
    toll = eta + eta / (1 - eta)
    factor = law.factor * numbers.enclose_exp(toll)[1]
    return Lattice(sigma2, move), Merged(mu * mu, factor, law.offset + toll)
