"""Rigorous lower and upper bounds of exp, ln, tanh, sqrt and of the normal law's tail.

Every function returns a pair ``(low, high)`` of Fractions with ``low <= true value <= high``.
The enclosures are those of ``dprelease.kernel.distributions.intervals``, with about ``DIGITS``
digits whatever the argument: losses and thresholds need digits of tiny deltas.
``kernel.core.numerics``, by which certification judges them, is independent on purpose.
"""

from __future__ import annotations

from fractions import Fraction

from dprelease.kernel.distributions import intervals

DIGITS = 80
CLAMP = 5000  # exp is not resolved beyond e^-5000 and e^5000: digits there would be for nothing

Bounds = tuple[Fraction, Fraction]

PI: Bounds = intervals.enclose_pi(336).to_fractions(336)
ONE = Fraction(1)
ZERO = Fraction(0)


def round_up(value: Fraction, digits: int = 15) -> Fraction:
    """Round up to a number of significant digits.

    Args:
        value: Any Fraction.
        digits: How many significant digits the result may have.

    Returns:
        The least such number that is not below ``value``.
    """
    return Fraction(intervals.divide_out(value, intervals.build_contexts(digits)[1]))


def round_down(value: Fraction, digits: int = 15) -> Fraction:
    """Round down to a number of significant digits.

    Args:
        value: Any Fraction.
        digits: How many significant digits the result may have.

    Returns:
        The largest such number that is not above ``value``.
    """
    return Fraction(intervals.divide_out(value, intervals.build_contexts(digits)[0]))


def bound_exp(x: Fraction) -> Bounds:
    """Enclose e^x.

    Args:
        x: At most 5000.

    Returns:
        Lower and upper bound of about 80 digits; (0, bound of e^-5000) for x below -5000.

    Raises:
        OverflowError: x is above 5000.
    """
    if x == 0:
        return ONE, ONE
    if x < -CLAMP:
        return ZERO, bound_exp(Fraction(-CLAMP))[1]
    if x > CLAMP:
        raise OverflowError("exp of a number above 5000 has no useful upper bound")
    low, high = intervals.bound_exp(x, DIGITS)
    return Fraction(low), Fraction(high)


def bound_exp_below(x: Fraction) -> Fraction:
    """Bound e^x from below for any x; above 5000 by e^5000."""
    return bound_exp(min(x, Fraction(CLAMP)))[0]


def bound_ln(x: Fraction) -> Bounds:
    """Enclose ln x.

    Args:
        x: Positive.

    Returns:
        Lower and upper bound of about 80 digits.

    Raises:
        ValueError: x is not positive.
    """
    low, high = intervals.bound_log(x, DIGITS)
    return Fraction(low), Fraction(high)


def bound_sqrt(x: Fraction) -> Bounds:
    """Enclose the square root of x >= 0; raise ValueError for a negative x."""
    if x < 0:
        raise ValueError("the square root needs an argument that is not negative")
    if x == 0:
        return ZERO, ZERO
    low, high = intervals.bound_sqrt(x, DIGITS)
    return Fraction(low), Fraction(high)


def bound_tanh(x: Fraction) -> Bounds:
    """Enclose tanh x for x >= 0."""
    if x < 0:
        raise ValueError("tanh is bounded here for arguments that are not negative")
    low, high = bound_exp(-2 * x)
    # tanh x = (1 - e^-2x)/(1 + e^-2x), which falls in e^-2x.
    return (1 - high) / (1 + high), (1 - low) / (1 + low)


# --- the standard normal law ------------------------------------------------------------------

_BITS = 288
_UNIT = 1 << _BITS
_FAR = 16  # from here on the asymptotic series is sharper than 10^-30
_ASYMPTOTIC_TERMS = 40


def _bound_asymptotic_series(x: Fraction) -> Bounds:
    """Enclose (1/x)(1 - 1/x^2 + 3/x^4 - 15/x^6 ...) for x >= 16, in fixed point."""
    numerator, denominator = x.denominator**2, x.numerator**2
    term = total = (x.denominator << _BITS) // x.numerator
    previous = 0
    for n in range(1, _ASYMPTOTIC_TERMS):
        term = -(abs(term) * (2 * n - 1) * numerator // denominator) * (1 if term > 0 else -1)
        previous, total = total, total + term
    # Successive partial sums lie on either side of the truth. Terms fall by more than 3, so the
    # rounding of each, below 4 units, stays below 400 units in all.
    low, high = min(previous, total) - 400, max(previous, total) + 400
    return Fraction(max(0, low), _UNIT), Fraction(high, _UNIT)


def bound_normal(x: Fraction) -> Bounds:
    """Enclose Phi(x) = P(N <= x) for a standard normal N.

    Near zero the absolute error is below 10^-70, from 16 on the relative error of the tail is
    below 10^-30.
    """
    tail = abs(x)
    if tail < _FAR:
        low, high = intervals.enclose_normal_outside(tail * tail, _BITS).to_fractions(_BITS + 1)
    else:
        # Few digits of x are enough; the tail falls in x, so x is rounded up for the lower bound.
        near, far = round_down(tail, 40), round_up(tail, 40)
        exp_low, exp_high = bound_exp(-tail * tail / 2)
        low = exp_low * _bound_asymptotic_series(far)[0] / bound_sqrt(2 * PI[1])[1]
        high = exp_high * _bound_asymptotic_series(near)[1] / bound_sqrt(2 * PI[0])[0]
    if x > 0:
        low, high = 1 - high, 1 - low
    return round_down(low, DIGITS), round_up(high, DIGITS)
