r"""Subset selection: d of k labels are answered, among them the true one with the chance P.

A set that holds the true label has the chance P/C(k-1, d-1), any other (1 - P)/C(k-1, d). Two
labels v and w have different chances only of sets that hold one of the two; of the chance of a set
with v the part (k-d)/(k-1) lies on sets without w. So the delta of v against w is

    delta(epsilon) = (k-d)/(k-1) P - e^epsilon d/(k-1) (1 - P),

and P = (d e^epsilon + delta (k-1))/(d e^epsilon + k - d) is the largest for (epsilon, delta). With
d = 1 it is randomised response among k answers: each wrong one has the chance
(1 - delta)/(k - 1 + e^epsilon), and with k = 2 and delta = 0 it is the worst of all epsilon-DP
mechanisms (Kairouz, Oh and Viswanath 2016).

What is estimated are the shares of the labels, from p = P and q, the chance that a given wrong
label is in the set: (P (d-1) + (1-P) d)/(k-1). With n records the variance of a share f is
(f p (1-p) + (1-f) q (1-q))/(n (p-q)^2), and its mean over the labels the same whatever they are.

Warner 1965; Kairouz, Oh and Viswanath 2016 (d = 1); Ye and Barg 2018 (subsets).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from dprelease.privacy.interval_arithmetic import (
    DIGITS,
    ONE,
    ZERO,
    Bounds,
    bound_exp,
    bound_ln,
    round_down,
    round_up,
)

UNIT = 1 << 64  # chances are multiples of 2^-64
MOST_IN_A_SET = 32  # where nobody asks for sets
MOST_WHEN_ASKED = 256
_HAIR = 1e-9  # a larger set must be better by this much, relatively


class Chances(NamedTuple):
    """Bounds (low, high): the chance that the true label is in the set, and a given wrong one."""

    true: Bounds
    wrong: Bounds


def enclose_chances(
    categories: int, epsilon: Fraction, delta: Fraction = ZERO, size: int = 1
) -> Chances:
    """Enclose p and q for ``size`` of ``categories`` >= 2 answers, to about 80 digits.

    ValueError if there are fewer answers, a set holds none or all of them, epsilon is negative, or
    delta is not in [0, 1).
    """
    if categories < 2 or epsilon < 0 or not 0 <= delta < 1:
        raise ValueError("needs two answers or more, epsilon >= 0 and a delta in [0, 1)")
    if not 1 <= size < categories:
        raise ValueError("a set holds at least one label, and not all of them")
    others = categories - 1
    if delta * others >= categories - size:  # then the truth may always be told
        wrong = Fraction(size - 1, others)
        return Chances((ONE, ONE), (wrong, wrong))
    # 1 - P rises in r = e^-epsilon: (k - d - delta (k-1)) r / (d + (k-d) r)
    low, high = (
        (categories - size - delta * others) * rate / (size + (categories - size) * rate)
        for rate in bound_exp(-epsilon)
    )
    lies = round_down(low, DIGITS), round_up(high, DIGITS)
    # Each answer has on average size - P wrong labels.
    wrongs = (size - 1 + lies[0]) / others, (size - 1 + lies[1]) / others
    return Chances((1 - lies[1], 1 - lies[0]), wrongs)


@lru_cache(maxsize=4096)
def keep(labels: int, size: int, epsilon: Fraction, delta: Fraction = ZERO) -> Fraction:
    """Find the largest P for (epsilon, delta), rounded down to a multiple of 2^-64.

    Rounding down is private as long as P is not below d/k, the chance in an answer without
    information. Raises ValueError where no P above it is left: such an epsilon is no budget.
    """
    chance = Fraction(
        math.floor(enclose_chances(labels, epsilon, delta, size).true[0] * UNIT), UNIT
    )
    if chance * labels <= size:
        raise ValueError("epsilon and delta are so small that no answer could say anything")
    return chance


def compute_truth_epsilon(labels: int, truth: Fraction) -> Fraction:
    """Compute the epsilon of a true answer among k with chance g: |ln(g (k-1)/(1-g))|.

    Rounded up to 15 digits; zero when all answers are equally likely. Raises ValueError unless the
    chance is between 0 and 1 and there are two labels or more.
    """
    if labels < 2 or not 0 < truth < 1:
        raise ValueError("needs two labels or more, and a chance of the truth between 0 and 1")
    low, high = bound_ln(truth * (labels - 1) / (1 - truth))
    return round_up(max(high, -low)) if truth * labels != 1 else ZERO


def choose_size(
    labels: int, epsilon: Fraction, delta: Fraction = ZERO, size_limit: int = MOST_IN_A_SET
) -> int:
    """Choose the size of sets, at most ``size_limit``, with the least mean variance; ties to less.

    Sets of more than 32 help where labels are over a hundred and epsilon is small, by a quarter of
    the error for 400 at epsilon 1; but an answer takes as much time and room as it has labels.

    Chosen in floats: whatever is chosen, its P is exact.
    """
    best, lowest = 1, math.inf
    for size in range(1, min(labels - 1, size_limit) + 1):
        variance = _mean_variance(labels, size, min(float(epsilon), 700.0), float(delta))
        if variance < lowest * (1 - _HAIR):
            best, lowest = size, variance
    return best


def _mean_variance(labels: int, size: int, epsilon: float, delta: float) -> float:
    """Mean variance of the shares of one record; in floats that lose nothing at small epsilon."""
    others, rate = labels - 1, math.exp(-epsilon)
    whole = size + (labels - size) * rate
    lie = max(0.0, (labels - size - delta * others) * rate / whole)
    wrong = (size - 1 + lie) / others
    # p - q = (k P - d)/(k - 1), and k P - d vanishes with epsilon and delta.
    if lie:
        gain = (size * (labels - size) * -math.expm1(-epsilon) + labels * delta * others * rate) / (
            whole * others
        )
    else:
        gain = (labels - size) / others
    if gain <= 0:
        return math.inf
    spread: float = lie * (1 - lie) + others * wrong * (1 - wrong)
    return spread / (labels * gain * gain)
