"""Rigorous lower and upper bounds of exp, ln, tanh, sqrt and of the normal law's tail.

Every function returns a pair ``(low, high)`` of Fractions with ``low <= true value <= high``.
Decimal's exp, ln and sqrt are correctly rounded (the General Decimal Arithmetic specification),
so that one step down and one step up from the result enclose the true value. Fractions in the
answers have about ``DIGITS`` digits, whatever the argument.

Why not by ``dprelease.kernel.distributions.intervals``, which samplers use: its intervals
are of absolute width 2^-bits, as comparisons with random bits need them, while losses and
thresholds need digits of tiny deltas. Measured: with bits for the same digits its normal tail
takes twice as long up to 16 standard deviations and a hundred times beyond, its exponential six
times as long at e^-500. ``kernel.core.numerics`` is independent of both on purpose.
"""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache

DIGITS = 80
CLAMP = 5000  # exp is not resolved beyond e^-5000 and e^5000: digits there would be for nothing

Bounds = tuple[Fraction, Fraction]

_PI_FLOOR = Fraction(
    "3.1415926535897932384626433832795028841971693993751"
    "058209749445923078164062862089986280348253421170679"
)
PI: Bounds = (_PI_FLOOR, _PI_FLOOR + Fraction(1, 10**100))
ONE = Fraction(1)
ZERO = Fraction(0)


def _build_context(digits: int, rounding: str) -> Context:
    return Context(prec=digits, rounding=rounding, Emax=MAX_EMAX, Emin=MIN_EMIN)


_FLOOR = _build_context(DIGITS, ROUND_FLOOR)
_CEILING = _build_context(DIGITS, ROUND_CEILING)


def round_up(value: Fraction, digits: int = 15) -> Fraction:
    """Round up to a number of significant digits.

    Args:
        value: Any Fraction.
        digits: How many significant digits the result may have.

    Returns:
        The least such number that is not below ``value``.
    """
    return Fraction(_round_to_context(value, _build_context(digits, ROUND_CEILING)))


def round_down(value: Fraction, digits: int = 15) -> Fraction:
    """Round down to a number of significant digits.

    Args:
        value: Any Fraction.
        digits: How many significant digits the result may have.

    Returns:
        The largest such number that is not above ``value``.
    """
    return Fraction(_round_to_context(value, _build_context(digits, ROUND_FLOOR)))


def _round_to_context(value: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))


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
    low = _FLOOR.next_minus(_FLOOR.exp(_round_to_context(x, _FLOOR)))
    high = _CEILING.next_plus(_CEILING.exp(_round_to_context(x, _CEILING)))
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
    if x <= 0:
        raise ValueError("the logarithm needs a positive argument")
    below, above = _round_to_context(x, _FLOOR), _round_to_context(x, _CEILING)
    # Rounded to 1 the logarithm is 0 exactly; the decimal next to 0 has a billion digits.
    low = ZERO if below == 1 else Fraction(_FLOOR.next_minus(_FLOOR.ln(below)))
    high = ZERO if above == 1 else Fraction(_CEILING.next_plus(_CEILING.ln(above)))
    return low, high


def bound_sqrt(x: Fraction) -> Bounds:
    """Enclose the square root of x >= 0; raise ValueError for a negative x."""
    if x < 0:
        raise ValueError("the square root needs an argument that is not negative")
    if x == 0:
        return ZERO, ZERO
    low = _FLOOR.next_minus(_FLOOR.sqrt(_round_to_context(x, _FLOOR)))
    high = _CEILING.next_plus(_CEILING.sqrt(_round_to_context(x, _CEILING)))
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


def _divide_up(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)


@lru_cache(maxsize=1)
def _bound_sqrt_two_pi() -> Bounds:
    return bound_sqrt(2 * PI[0])[0], bound_sqrt(2 * PI[1])[1]


def _bound_density(x: Fraction) -> Bounds:
    low, high = bound_exp(-x * x / 2)
    root = _bound_sqrt_two_pi()
    return low / root[1], high / root[0]


def _bound_odd_series(x: Fraction) -> Bounds:
    """Enclose the sum of x^(2n+1)/(2n+1)!! over n >= 0, for 0 <= x < 16, in fixed point."""
    low = (x.numerator << _BITS) // x.denominator
    high = _divide_up(x.numerator << _BITS, x.denominator)
    square_low, square_high = low * low >> _BITS, _divide_up(high * high, _UNIT)
    total_low, total_high, n = low, high, 0
    # All terms are positive. Once n > x^2 each term is below half of the one before it, so the
    # rest of the series is below the last term counted.
    stop = int(x * x) + 1
    while n <= stop or high > 1:
        n += 1
        low = low * square_low // ((2 * n + 1) << _BITS)
        high = _divide_up(high * square_high, (2 * n + 1) << _BITS)
        total_low += low
        total_high += high
    return Fraction(total_low, _UNIT), Fraction(total_high + high, _UNIT)


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


def _bound_upper_tail(x: Fraction) -> Bounds:
    """Enclose P(N > x) for x >= 0."""
    density = _bound_density(x)
    # P(N > x) = 1/2 - phi(x) sum x^(2n+1)/(2n+1)!!
    if x < _FAR:
        series = _bound_odd_series(x)
        half = Fraction(1, 2)
        return max(ZERO, half - density[1] * series[1]), half - density[0] * series[0]
    # Few digits of x are enough; the tail falls in x, so x is rounded up for the lower bound.
    low = _bound_asymptotic_series(round_up(x, 40))[0] * density[0]
    return max(ZERO, low), _bound_asymptotic_series(round_down(x, 40))[1] * density[1]


def bound_normal(x: Fraction) -> Bounds:
    """Enclose Phi(x) = P(N <= x) for a standard normal N.

    Near zero the absolute error is below 10^-70, from 16 on the relative error of the tail is
    below 10^-30.
    """
    low, high = _bound_upper_tail(abs(x))
    if x > 0:
        low, high = 1 - high, 1 - low
    return round_down(low, DIGITS), round_up(high, DIGITS)
