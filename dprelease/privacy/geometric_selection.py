r"""Showing a key of the data without its count, as often as (epsilon, delta)-DP allows.

Source: Desfontaines, Voss, Gipson and Mandayam 2022 (arXiv 2006.03684). A key that n units have is
shown with probability pi_n, pi_0 = 0. Where a unit is in at most one key and comes or goes, to show
every key by itself is (epsilon, delta)-DP if for all n, among other conditions,

    pi_(n+1) <= e^epsilon pi_n + delta,      1 - pi_n <= e^epsilon (1 - pi_(n+1)) + delta,

and the largest such numbers are, one after the other,

    pi_(n+1) = min(e^epsilon pi_n + delta,  1 - e^-epsilon (1 - pi_n - delta),  1),

since each of the three rises in pi_n; they never fall, so the conditions the other way round hold
too. Nothing that only says if a key is shown can show it more often. (For some delta a count
does the same whose noise, a truncated discrete Laplace law, lifts it to a threshold.)

In closed form. The first term is the smaller one as long as pi_n <= (1 - delta)/(e^epsilon + 1),
so that, with m = 1 + floor(ln(1 + tanh(epsilon/2) (1 - delta)/delta)/epsilon),

    pi_n = delta (e^(n epsilon) - 1)/(e^epsilon - 1)                          for n <= m,
    1 - pi_n = e^(-(n-m) epsilon) (1 - pi_m) - delta (1 - e^(-(n-m) epsilon))/(e^epsilon - 1)

for n > m as long as that is positive, and pi_n = 1 from there on.
"""

from __future__ import annotations

from fractions import Fraction

from dprelease.privacy.enclosure import (
    ONE,
    ZERO,
    Bounds,
    exp_bounds,
    ln_bounds,
    round_down,
    round_up,
    tanh_bounds,
)

LARGEST = 100  # an epsilon beyond would protect nobody


def shown_chance(units: int, epsilon: Fraction, delta: Fraction) -> Bounds:
    """A lower and an upper bound of pi_n for n = ``units``, equal to 60 digits or so.

    ValueError unless units >= 0, 0 < epsilon <= 100 and 0 < delta < 1.
    """
    if units < 0 or not 0 < epsilon <= LARGEST or not 0 < delta < 1:
        raise ValueError("needs units >= 0, an epsilon in (0, 100] and a delta between 0 and 1")
    # If the logarithm can't be told from an integer both neighbours are tried: one is right.
    turns = {1 + logarithm // epsilon for logarithm in _turn(epsilon, delta)}
    found = [_chance(units, turn, epsilon, delta) for turn in turns]
    low, high = min(each[0] for each in found), max(each[1] for each in found)
    return max(ZERO, round_down(min(ONE, low), 60)), min(ONE, round_up(high, 60))


def _turn(epsilon: Fraction, delta: Fraction) -> Bounds:
    low, high = tanh_bounds(epsilon / 2)
    odds = (1 - delta) / delta
    return ln_bounds(1 + low * odds)[0], ln_bounds(1 + high * odds)[1]


def _chance(units: int, turn: int, epsilon: Fraction, delta: Fraction) -> Bounds:
    """Pi_n if the first term of the minimum is the smaller one up to n = ``turn``."""
    step = exp_bounds(epsilon)
    grown = exp_bounds(min(units, turn) * epsilon)
    low = delta * (grown[0] - 1) / (step[1] - 1)
    high = delta * (grown[1] - 1) / (step[0] - 1)
    if units <= turn:
        return low, high
    fallen = exp_bounds(-(units - turn) * epsilon)
    extra = delta / (step[1] - 1), delta / (step[0] - 1)
    return (
        1 - fallen[1] * (1 - low) + extra[0] * (1 - fallen[1]),
        1 - fallen[0] * (1 - high) + extra[1] * (1 - fallen[0]),
    )
