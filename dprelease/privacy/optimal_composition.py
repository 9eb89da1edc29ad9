r"""The best that can be said of k alike releases of which nothing but (epsilon, delta) is known.

Source: Kairouz, Oh and Viswanath 2015. Among all (epsilon, delta)-DP mechanisms randomised
response with a chance of delta to tell the truth openly is the worst, under composition too: so k
of them, each chosen in the light of the earlier ones, are exactly as bad as k such responses. With
q = 1/(1 + e^epsilon) the log-ratio of these is (k - 2 j) epsilon, j being binomial (k, q), and

    delta(g) = 1 - (1 - delta)^k (1 - h),
    h = sum over j of max(0, b_j - e^g c_j),  b_j = C(k, j) (1-q)^(k-j) q^j,  c_j = b_(k-j).

Solved for g: c_j/b_j = e^(-(k - 2j) epsilon) rises in j, so that h is the largest of A_i - e^g B_i
over i, where A_i, B_i are the sums of b_j and c_j up to j = i. So h <= target if and only if
e^g >= (A_i - target)/B_i for all i. For g >= 0 only j < k/2 count.

Nothing is released by this; other accounting is compared with it. It is exact for discrete Laplace
noise on one count of which a person has one, whose log-ratio is epsilon or -epsilon.
"""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from dprelease.privacy.enclosure import ONE, ZERO, exp_bounds, round_up

_DIGITS = 60
# Decimals, as the smallest terms are far below anything a fraction of few digits can hold.
_DOWN = Context(prec=_DIGITS, rounding=ROUND_FLOOR, Emax=MAX_EMAX, Emin=MIN_EMIN)
_UP = Context(prec=_DIGITS, rounding=ROUND_CEILING, Emax=MAX_EMAX, Emin=MIN_EMIN)
_LARGE = 1000  # from this epsilon on nothing is gained by composing


def epsilon_of(times: int, epsilon: Fraction, delta: Fraction, each: Fraction = ZERO) -> Fraction:
    """The epsilon at ``delta`` of ``times`` mechanisms that are (epsilon, each)-DP.

    An upper bound of 12 digits, tight to these. The sums of ``times`` terms take time in proportion
    to it. ValueError if an argument makes no sense, or if all the ``each`` don't fit into delta.
    """
    if times < 0 or epsilon < 0 or not 0 <= each < 1 or not 0 <= delta < 1:
        raise ValueError("times and epsilon can't be negative, deltas lie in [0, 1)")
    target = 1 - (1 - delta) / _untold(times, each)
    if target < 0:
        raise ValueError("the single deltas don't fit into the delta of all")
    most = times * epsilon
    if most == 0 or target == 0 or epsilon > _LARGE:
        return most
    ratio = _largest(times, epsilon, target)
    if ratio <= 1:
        return ZERO
    # Decimal's ln is correctly rounded, so that the next decimal is above the truth.
    return min(most, round_up(Fraction(_UP.next_plus(_UP.ln(ratio))), 12))


def delta_of(times: int, epsilon: Fraction, total: Fraction, each: Fraction = ZERO) -> Fraction:
    """The delta at epsilon = ``total`` >= 0 of ``times`` mechanisms that are (epsilon, each)-DP.

    An upper bound, about 10^-50 above the truth at most. ValueError if an argument makes no sense.
    """
    if times < 0 or epsilon < 0 or total < 0 or not 0 <= each < 1:
        raise ValueError("times and epsilons can't be negative, a delta lies in [0, 1)")
    untold = _untold(times, each)
    if total >= times * epsilon or epsilon > _LARGE:
        return 1 - untold if total >= times * epsilon else ONE
    factor = _DOWN.next_minus(_DOWN.exp(_decimal(total, _DOWN)))
    found = Decimal(0)
    for gained, lost in _sums(times, epsilon):
        found = max(found, _UP.subtract(gained, _DOWN.multiply(factor, lost)))
    return round_up(1 - untold * (1 - min(ONE, Fraction(found))), 40)


def _untold(times: int, each: Fraction) -> Fraction:
    """Lower bound of (1 - each)^times: the chance that none tells the truth openly."""
    return Fraction(_power(_decimal(1 - each, _DOWN), times, _DOWN))


def _largest(times: int, epsilon: Fraction, target: Fraction) -> Decimal:
    """Upper bound of (A_i - target)/B_i over all i."""
    spared = _decimal(target, _DOWN)
    largest = Decimal(0)
    for gained, lost in _sums(times, epsilon):
        largest = max(largest, _UP.divide(_UP.subtract(gained, spared), lost))
    return largest


def _sums(times: int, epsilon: Fraction) -> list[tuple[Decimal, Decimal]]:
    """An upper bound of A_i and a lower bound of B_i for all i < times/2."""
    low, high = exp_bounds(-epsilon)
    rate_low, rate_high = _decimal(low, _DOWN), _decimal(high, _UP)
    # b_0 = (1 + e^-epsilon)^-times; c_0 = e^(-epsilon times) b_0
    mine = _power(_UP.divide(Decimal(1), _DOWN.add(1, rate_low)), times, _UP)
    other = _power(_DOWN.divide(rate_low, _UP.add(1, rate_high)), times, _DOWN)
    gained = lost = Decimal(0)
    sums = []
    for j in range((times + 1) // 2):
        gained, lost = _UP.add(gained, mine), _DOWN.add(lost, other)
        sums.append((gained, lost))
        mine = _UP.multiply(_UP.divide(_UP.multiply(mine, times - j), j + 1), rate_high)
        other = _DOWN.divide(_DOWN.divide(_DOWN.multiply(other, times - j), j + 1), rate_high)
    return sums


def _power(base: Decimal, times: int, context: Context) -> Decimal:
    """The power of a number >= 0, every product rounded as the context says."""
    result = Decimal(1)
    for bit in f"{times:b}":
        result = context.multiply(result, result)
        if bit == "1":
            result = context.multiply(result, base)
    return result


def _decimal(value: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))
