r"""Randomised response among k answers: how often the true one is given, and each wrong one.

A wrong answer has the chance q = (1 - delta)/(k - 1 + e^epsilon) each, the true one the chance
p = 1 - (k - 1) q = (e^epsilon + delta (k - 1))/(k - 1 + e^epsilon). This is (epsilon, delta)-DP:
whatever two answers a person may have, only these two have different chances, p and q in turn, and

    p - e^epsilon q = delta,

so that no event of the one is likelier than e^epsilon times that of the other by more than delta.
No p is larger if all wrong answers are alike: then p <= e^epsilon q + delta and p + (k - 1) q = 1
leave q no smaller. (Warner 1965; Kairouz, Oh and Viswanath 2016 for the extremes.)

With delta = 0 and k = 2 it is the worst of all epsilon-DP mechanisms (``optimal_composition``).
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from dprelease.privacy.enclosure import DIGITS, ZERO, Bounds, exp_bounds, round_down, round_up


class Chances(NamedTuple):
    """Bounds (low, high) of the chance of the true answer, and of each wrong one."""

    true: Bounds
    wrong: Bounds


def chances(categories: int, epsilon: Fraction, delta: Fraction = ZERO) -> Chances:
    """Enclose p and q for ``categories`` >= 2 answers, to about 80 digits.

    ValueError if there are fewer, epsilon is negative, or delta is not in [0, 1).
    """
    if categories < 2 or epsilon < 0 or not 0 <= delta < 1:
        raise ValueError("needs two answers or more, epsilon >= 0 and a delta in [0, 1)")
    # q = (1 - delta) r/(1 + (k-1) r) rises in r = e^-epsilon
    low, high = (
        (1 - delta) * rate / (1 + (categories - 1) * rate) for rate in exp_bounds(-epsilon)
    )
    wrong = round_down(low, DIGITS), round_up(high, DIGITS)
    return Chances((1 - (categories - 1) * wrong[1], 1 - (categories - 1) * wrong[0]), wrong)
