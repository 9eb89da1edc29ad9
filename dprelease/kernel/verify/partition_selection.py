"""A second opinion on keys taken from the data: what a threshold costs at most.

Used by certification only; computes with the verifier's own numbers and shares with calibration the
proof (in ``dprelease.privacy.partition_selection``) but no code. Where calibration searches, this
walks through every number of new keys; where it sums a table of weights, this adds up the tail that
is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from itertools import accumulate

from msgspec import Struct

from dprelease.kernel.verify import additive
from dprelease.kernel.verify import numerics as numbers
from dprelease.model import Adjacency, Noise, NoiseFamily
from dprelease.model.shift import MAX_SHAPES, Shift

_SUMMED = 10_000  # the largest sigma squared whose tail is added up
_DEEP = 160  # terms below e^-80 of the first are bounded by a geometric series
_NARROW = 4  # up to this sigma squared Poisson's bound of the total is not near enough


class Selection(Struct, frozen=True):
    """What is to be executed: a key is shown if its count with this noise is >= ``threshold``.

    A unit has at most ``rows`` rows, in at most ``groups`` keys, ``per_key`` in one.
    """

    noise: Noise
    threshold: int
    rows: int
    groups: int
    per_key: int
    adjacency: Adjacency


def confirms(selection: Selection, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether showing keys and their noisy counts is certainly (epsilon, delta)-DP."""
    noise, most = selection.noise, min(selection.per_key, selection.rows)
    groups = min(selection.groups, selection.rows)
    rows = min(selection.rows, groups * most)
    if noise.family is NoiseFamily.NONE or noise.parameter <= 0 or epsilon < 0:
        return False
    if min(rows, groups, most) < 1 or selection.threshold <= most or not 0 < delta < 1:
        return False
    both = selection.adjacency is Adjacency.REPLACE_ONE
    # least_hidden[m]: at most m new keys all stay hidden with at least this chance.
    hidden = [_hidden(noise, selection.threshold, rows, new, most) for new in range(1, groups + 1)]
    least_hidden = list(accumulate(hidden, min, initial=Fraction(1)))
    if noise.family is NoiseFamily.LAPLACE:
        l1 = 2 * rows if both else rows
        return (
            additive.laplace_epsilon(noise.parameter, l1) <= epsilon
            and least_hidden[-1] >= 1 - delta
        )

    @cache
    def noisy(new: int) -> Fraction:
        remaining = _counts(rows - new, groups - new, most)
        shift = _apart(remaining, _counts(rows, groups, most)) if both else remaining
        return additive.gaussian_delta_upper(noise.parameter, shift, epsilon)

    return _every_number_holds(noisy, least_hidden, 1 - delta)


# --- new keys -----------------------------------------------------------------------------------


def _hidden(noise: Noise, threshold: int, rows: int, new: int, most: int) -> Fraction:
    """Lower bound of the chance that ``new`` keys of one unit all stay hidden.

    At the worst as many as possible are full, while one row is left for every other.
    """
    remaining, chance = rows, numbers.ONE
    full = new
    if most > 1:
        full = min(new, (rows - new) // (most - 1))
    chance = _power(noise, threshold - most, full)
    remaining -= full * most + (new - full)
    if full < new:
        chance = chance * _power(noise, threshold - 1 - remaining, 1) >> numbers.BITS
        chance = chance * _power(noise, threshold - 1, new - full - 1) >> numbers.BITS
    return Fraction(chance, numbers.ONE)


def _power(noise: Noise, start: int, times: int) -> int:
    """P(Z < start)^times from below, times 2^512, by squaring."""
    square = max(0, math.floor((1 - noise_tail(noise, start)) * numbers.ONE))
    product = numbers.ONE
    while times:
        if times % 2:
            product = product * square >> numbers.BITS
        square = square * square >> numbers.BITS
        times //= 2
    return product


@cache
def noise_tail(noise: Noise, start: int) -> Fraction:
    """Upper bound of P(Z >= start), start >= 1."""
    if noise.family is NoiseFamily.LAPLACE:
        high = numbers.exp_minus(start / noise.parameter)[1]
        return Fraction(high, numbers.ONE + numbers.exp_minus(1 / noise.parameter)[0])
    sigma2 = noise.parameter
    if sigma2 <= _SUMMED:
        return _weight(sigma2, start) / _total(sigma2)
    # The weights are convex beyond sigma, where each is at most its mean over a unit around it.
    inner = Fraction(2 * start - 1, 2)
    if inner * inner < sigma2:
        inner = Fraction(start - 1)
    scaled = math.floor(inner / numbers.sqrt(sigma2)[1] * numbers.ONE)
    return numbers.normal_tail(Fraction(scaled, numbers.ONE))[1]


def _weight(sigma2: Fraction, start: int) -> Fraction:
    """The sum of e^(-k^2/(2 sigma2)) over k >= start, from above."""
    total, k = 0, start
    while k * k - start * start < _DEEP * sigma2 or k < start + 2:
        total += numbers.exp_minus(k * k / (2 * sigma2))[1]
        k += 1
    ratio = numbers.exp(-(2 * k + 1) / (2 * sigma2))[1]
    beyond = numbers.exp_minus(k * k / (2 * sigma2))[1] / (1 - ratio)
    return (total + beyond) / numbers.ONE


def _total(sigma2: Fraction) -> Fraction:
    """The sum over all integers, from below: at least sqrt(2 pi sigma2), by Poisson's formula."""
    if sigma2 > _NARROW:
        return numbers.sqrt(numbers.TWO_PI[0] * sigma2)[0]
    last = math.isqrt(int(_DEEP * sigma2)) + 2
    sides = sum(numbers.exp_minus(k * k / (2 * sigma2))[0] for k in range(1, last))
    return Fraction(max(0, 2 * sides) + numbers.ONE, numbers.ONE)


# --- keys that others have too ------------------------------------------------------------------


def _counts(rows: int, groups: int, most: int) -> Shift:
    """How far counts move when one unit comes or goes."""
    if rows < 1 or groups < 1:
        return Shift(0, 0)
    groups, most = min(groups, rows), min(most, rows)
    rows = min(rows, groups * most)
    full, rest = divmod(rows, most)
    shapes: Sequence[tuple[int, ...]] = ()
    if groups == 1:
        shapes = [(rows,)]
    elif groups == 2 and most - rows // 2 <= MAX_SHAPES:
        shapes = [(n, rows - n) for n in range(rows - rows // 2, most + 1)]
    return Shift(full * most * most + rest * rest, groups, tuple(shapes))


def _apart(one: Shift, other: Shift) -> Shift:
    """How far counts move when the two units share no key, which is the worst."""
    if one.l2_squared == 0:
        return other
    shapes = [a + b for a in one.shapes for b in other.shapes if len(a + b) == 2]
    return Shift(
        one.l2_squared + other.l2_squared, one.coordinates + other.coordinates, tuple(shapes)
    )


def _every_number_holds(
    noisy: Callable[[int], Fraction], least_hidden: Sequence[Fraction], least: Fraction
) -> bool:
    """Whether (1 - noisy(m)) kept[m] >= least for every m.

    Both factors are monotone in m (one rises, the other falls), so a stretch holds if its first
    noise goes with its last keys; stretches are halved until they hold or are a single number.
    """
    first, last = 0, len(least_hidden) - 1
    while first < len(least_hidden):
        if (1 - noisy(first)) * least_hidden[last] >= least:
            first, last = last + 1, len(least_hidden) - 1
        elif last == first:
            return False
        else:
            last = (first + last) // 2
    return True
