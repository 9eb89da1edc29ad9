r"""Selections of bounded range: what zCDP they have, exactly.

A mechanism has range epsilon if for neighbours x, y the log-ratio L(o) = ln P_x(o)/P_y(o) lies
within an interval of length epsilon, wherever that is (Durfee and Rogers 2019). As both laws sum
to 1 the interval holds 0, so |L| <= epsilon: it is epsilon-DP. It is also rho-zCDP with

    rho = ln((1 - e^-epsilon)/epsilon) + epsilon/(1 - e^-epsilon) - 1  <=  epsilon^2/8,

and with no smaller rho, if all that is known is the range. Proof, for alpha = 1 + b/epsilon, b > 0:

1.  Let L lie in [-s, epsilon - s]. Under P_y, E e^L = 1, and E e^(alpha L) is largest when L has
    only the two ends, by convexity. Maximised over s that gives for the Renyi divergence D
    (alpha - 1) D = phi(a)  alpha - phi(b) (alpha - 1) - phi(epsilon) - b,   a = b + epsilon,
    with phi(x) = ln((e^x - 1)/x) = x/2 + psi(x), psi(x) = ln(sinh(x/2)/(x/2)). With
    G(x) = x psi(x) the quadratic parts cancel: epsilon (alpha - 1) D = G(a) - G(b) - G(epsilon).
2.  So D/alpha = epsilon^2 S(b, epsilon) with the symmetric
    S(b, e) = (G(b + e) - G(b) - G(e))/(b e (b + e)). S falls in b: psi(x) is the sum over n of
    ln(1 + x^2/(2 pi n)^2), by the product for sinh, and each ln(1 + x^2/c^2) is the integral over
    y > c of 2 x^2/(y (x^2 + y^2)). For one y, in units of it, x^3/(x^2 + 1) = x - x/(x^2 + 1)
    takes the place of G, and S becomes (3 + b^2 + b e + e^2)/((1 + b^2)(1 + e^2)(1 + (b + e)^2)),
    that is, over 1 + e^2:  [1/(1 + b^2) + 1/(1 + (b + e)^2)]/2
    + (2 + e^2/2)/((1 + b^2)(1 + (b + e)^2)), in which every term falls.
3.  Hence D/alpha is largest as b -> 0, where it is G'(epsilon) = psi + epsilon psi', which is the
    rho above (the largest Kullback-Leibler divergence). And as S is symmetric and falls in both
    arguments, G'(epsilon) = epsilon^2 S(0, epsilon) <= epsilon^2 S(0, 0) = epsilon^2/8.

The bound epsilon^2/8 is that of Cesar and Rogers 2020; step 1 is from Dong, Durfee and Rogers 2020.
"""

from __future__ import annotations

from fractions import Fraction

from dprelease.privacy.interval_arithmetic import (
    ZERO,
    bound_exp,
    bound_ln,
    bound_sqrt,
    round_down,
    round_up,
)

_HALVINGS = 60


def bound_range_rho(epsilon: Fraction) -> Fraction:
    """Bound the rho of every mechanism of bounded range from above.

    The bound is tight (see the module); it never exceeds epsilon^2/8.

    Args:
        epsilon: Length of the interval that holds all log-ratios, at least 0.

    Returns:
        rho, rounded up to 15 significant digits.

    Raises:
        ValueError: epsilon is negative.
    """
    if epsilon < 0:
        raise ValueError("epsilon can't be negative")
    if epsilon == 0:
        return ZERO
    high = bound_exp(-epsilon)[1]
    # ln(z) + 1/z - 1 falls in z = (1 - e^-epsilon)/epsilon <= 1
    lower_bound = (1 - high) / epsilon
    square = epsilon**2 / 8
    # For a tiny epsilon the enclosure of e^-epsilon is too wide for the exact formula.
    if lower_bound <= 0:
        return round_up(square)
    return round_up(min(square, bound_ln(lower_bound)[1] + 1 / lower_bound - 1))


def find_range_for_rho(rho: Fraction) -> Fraction:
    """Find the largest range whose rho, by ``bound_range_rho``, is at most ``rho``.

    Args:
        rho: The zCDP budget, positive.

    Returns:
        epsilon, the length of the interval, rounded down to 15 significant digits.

    Raises:
        ValueError: rho is not positive.
    """
    if rho <= 0:
        raise ValueError("rho must be positive")
    low = round_down(bound_sqrt(8 * rho)[0], 20)
    # ``low`` is valid, as rho is at most epsilon^2/8.
    high = 2 * low
    while bound_range_rho(high) <= rho:
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if bound_range_rho(middle) <= rho else (low, middle)
    return round_down(low)
