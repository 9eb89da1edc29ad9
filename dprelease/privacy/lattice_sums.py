"""The discrete Gaussian's delta summed over the lattice, in fixed point with outward rounding.

Let X be discrete Gaussian on Z^n with parameter s2 and v in Z^n the shift between neighbours.
The log-ratio of the two laws at x depends on <x, v> alone, so with T = epsilon s2 - |v|^2/2

    delta = P[<X, v> > T] - e^epsilon P[<X, v> > T + |v|^2]        (CKS20, Theorem 7),

and for one or two entries these probabilities are sums of tails of the one-dimensional law.

Larger entries mean larger delta, which is why shapes that bound all entries suffice:
1. One coordinate. The likelihood ratio of a log-concave law and its shift by c >= 0 is
   monotone, so every set {p(x) > a p(x - c)} is a lower ray, and
   H_a(c) = sup over sets S of P(S) - a P(S - c) = max over k of F(k) - a F(k - c)
   (the empty and full rays included) for every a >= 0. F does not fall, so each term, and the
   maximum, does not fall in c. By symmetry H_a(-c) = H_a(c).
2. Several. Let P, Q be the joint laws of all other coordinates. For a shift c of this one
   sum max(0, P(x') p(x) - a Q(x') p(x - c)) = sum over x' of P(x') H_{a Q(x')/P(x')}(c),
   where by 1 no term falls in c. Entries can so be raised one after the other. QED.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

from msgspec import Struct

from dprelease.privacy.interval_arithmetic import ZERO, bound_exp, bound_exp_below, round_up

BITS = 384
_UNIT = 1 << BITS
LIMIT_ONE = 10_000  # the largest sigma squared summed for one entry, and for two
LIMIT_TWO = 128
_SMALLEST = Fraction(1, 10**4)  # below, everything but the point 0 is far below 2^-384


class Table(Struct, frozen=True):
    """Weights g(k) = e^(-k^2/2 s2) for k = 0, 1, ... and their tail sums, times 2^384.

    ``tail_low[m] <= sum over k >= m of g(k) <= tail_high[m]`` for 0 <= m < len; the rest of the
    sum, from len on, is at most ``rest``. ``weight_high`` are upper bounds of g.
    """

    weight_low: tuple[int, ...]
    weight_high: tuple[int, ...]
    tail_low: tuple[int, ...]
    tail_high: tuple[int, ...]
    rest: int

    def bound_survival_below(self, m: int) -> int:
        """Bound the sum of g(k) over all integers k >= m from below."""
        return _sum_survival(self.tail_low, m, 0)

    def bound_survival_above(self, m: int) -> int:
        """Bound the sum of g(k) over all integers k >= m from above."""
        return _sum_survival(self.tail_high, m, self.rest)

    @property
    def total_low(self) -> int:
        """Bound the sum over all integers from below."""
        return self.tail_low[0] + self.tail_low[1]


def _sum_survival(tail: tuple[int, ...], m: int, rest: int) -> int:
    if m > 0:
        return tail[m] if m < len(tail) else rest
    # For m <= 0: all integers less those below m, whose mirror images are k >= 1 - m.
    mirrored = 1 - m
    return tail[0] + tail[1] - (tail[mirrored] if mirrored < len(tail) else 0)


def _shift_up(value: int) -> int:
    return -(-value >> BITS)


@lru_cache(maxsize=8)
def build_table(sigma2: Fraction) -> Table:
    """Build the table for one sigma squared: about 23 sigma entries."""
    low, high = bound_exp(-1 / (2 * max(sigma2, _SMALLEST)))
    base_low = int(low * _UNIT) if sigma2 >= _SMALLEST else 0
    base_high = int(high * _UNIT) + 1
    weights_low, weights_high = [_UNIT], [_UNIT]
    # g(k+1) = g(k) e^(-(2k+1)/2 s2): one ratio that itself shrinks by e^(-1/s2).
    ratio_low, ratio_high = base_low, base_high
    square_low, square_high = base_low * base_low >> BITS, _shift_up(base_high * base_high)
    while weights_low[-1] > 0 or len(weights_low) < 3:
        weights_low.append(weights_low[-1] * ratio_low >> BITS)
        weights_high.append(_shift_up(weights_high[-1] * ratio_high))
        ratio_low = ratio_low * square_low >> BITS
        ratio_high = _shift_up(ratio_high * square_high)
    # The last ratio bounds all later ones, so the rest is below a geometric series.
    following = _shift_up(weights_high[-1] * ratio_high)
    rest = following * _UNIT // (_UNIT - ratio_high) + 1
    return Table(
        tuple(weights_low),
        tuple(weights_high),
        _sum_tails(weights_low, 0),
        _sum_tails(weights_high, rest),
        rest,
    )


def _sum_tails(weights: list[int], rest: int) -> tuple[int, ...]:
    return tuple(accumulate(reversed(weights), initial=rest))[:0:-1]


def is_within_reach(sigma2: Fraction, shapes: tuple[tuple[int, ...], ...]) -> bool:
    """Check that these shapes can be summed quickly at this sigma squared."""
    longest = max((len(shape) for shape in shapes), default=3)
    return (longest == 1 and sigma2 <= LIMIT_ONE) or (longest == 2 and sigma2 <= LIMIT_TWO)


def sum_delta(sigma2: Fraction, shape: tuple[int, ...], epsilon: Fraction) -> Fraction:
    """Bound delta for a shift by ``shape`` (one or two entries) from above, about 10^-70 off."""
    entries = tuple(entry for entry in shape if entry)
    if not entries:
        return ZERO
    weights = build_table(sigma2)
    length = sum(entry * entry for entry in entries)
    threshold = epsilon * sigma2 - Fraction(length, 2)
    if len(entries) == 1:
        above = threshold // entries[0] + 1
        near = weights.bound_survival_above(above)
        far = weights.bound_survival_below(above + entries[0])
        total = weights.total_low
    else:
        near = _sum_half_plane(weights, entries, threshold, high=True)
        far = _sum_half_plane(weights, entries, threshold + length, high=False)
        total = weights.total_low**2
    # Each part is rounded so that the quotient can only be too large.
    value = (near - bound_exp_below(epsilon) * far) / total
    return min(Fraction(1), round_up(value, 40)) if value > 0 else ZERO


def _sum_half_plane(table_: Table, entries: tuple[int, ...], above: Fraction, *, high: bool) -> int:
    """Bound the weight of {(x, y): a x + b y > above}, times 2^768, from above or below."""
    a, b = entries
    numerator, step, divisor = above.numerator, a * above.denominator, b * above.denominator
    weights = table_.weight_high if high else table_.weight_low
    survival = table_.bound_survival_above if high else table_.bound_survival_below
    total = weights[0] * survival(numerator // divisor + 1)
    for x in range(1, len(weights)):
        positive = survival((numerator - x * step) // divisor + 1)
        mirrored = survival((numerator + x * step) // divisor + 1)
        total += weights[x] * (positive + mirrored)
    if high:  # rows beyond the table, each at most a whole row
        total += 2 * table_.rest * (table_.tail_high[0] + table_.tail_high[1])
    return total
