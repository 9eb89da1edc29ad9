"""A second opinion on Laplace noise that is cut: what keys and their counts cost at most.

A key is shown if its count with this noise is above all that the noise can be. Then it makes no
difference to give noise to the count of every possible key: a count of 0 is never shown. So what is
released is no more than those noisy counts, of which one unit changes at most ``moved`` by 1.

One count. Let P and Q be the laws of the noisy counts n and n + 1: weights a^abs(j) for
abs(j) <= k, a = e^(-1/scale), by their sum W. Of the hockey-stick sum of P against Q at 1/scale
only what Q can't give is left, n - k, since a^abs(j) is at most e^(1/scale) times a^abs(j + 1): it
is a^k/W, and as much for Q against P. W is added up here term by term, where calibration has the
formula of the law.

All of them. Noise is independent. All ``moved`` counts are what the other table can give with the
chance (1 - a^k/W)^moved, and then the ratio of the two laws is at most e^(moved/scale). So the
divergence at any epsilon of at least moved/scale is 1 less that chance, whichever table comes
first, and whether counts rise or fall.
"""

from __future__ import annotations

from fractions import Fraction

from dprelease.kernel.core import additive_loss
from dprelease.kernel.core import numerics as numbers
from dprelease.model import Noise


def is_cut_confirmed(noise: Noise, moved: int, epsilon: Fraction, delta: Fraction) -> bool:
    """Tell whether so many counts with this noise, each moved by 1, are (epsilon, delta)-DP."""
    if moved < 1 or noise.reach < 1 or noise.parameter <= 0:
        return False
    within = (1 - bound_missing(noise)) * numbers.ONE
    held, square, times = numbers.ONE, within.numerator // within.denominator, moved
    while times:  # (1 - missing)^moved from below, by squaring
        if times % 2:
            held = held * square >> numbers.BITS
        square = square * square >> numbers.BITS
        times //= 2
    is_covered = additive_loss.compute_laplace_epsilon(noise.parameter, moved) <= epsilon
    return is_covered and Fraction(held, numbers.ONE) >= 1 - delta


def bound_missing(noise: Noise) -> Fraction:
    """Bound a^k/W from above: the chance of what a count that is moved by 1 can't give."""
    low = numbers.enclose_exp_minus(1 / noise.parameter)[0]
    total, weight = numbers.ONE, numbers.ONE
    for _ in range(noise.reach):
        weight = weight * low >> numbers.BITS
        total += 2 * weight
    last = numbers.enclose_exp_minus(noise.reach / noise.parameter)[1]
    return Fraction(last, total)
