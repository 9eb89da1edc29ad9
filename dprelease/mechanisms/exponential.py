"""The exponential mechanism for integer scores: what it costs, and how good its choice is.

McSherry and Talwar 2007: a candidate is taken with probability proportional to exp(rate * score).
It is drawn by ``dprelease.noise.selection`` with ``draw_exponential``. ``sensitivity`` D is how
far one person can move any one score; ``monotone`` says that for every pair of neighbours all
scores that move do so in the same direction (counts, when a person is added or removed).

Why the range of the loss, and so epsilon, is rate D if monotone and 2 rate D if not: for
neighbours x and y let m(o) be the score of o at x less that at y. Then

    ln P_x(o)/P_y(o) = rate m(o) + ln(Z_y/Z_x),

where the last term is the same for all o. The log-ratio so lies within an interval of length
rate (max m - min m). In general m lies in [-D, D], which has the length 2 D; if monotone in [0, D]
or in [-D, 0], of length D. The bound on the range is all that ``bounded_range`` asks for, so that
a score that isn't monotone has, with its factor 2, the same rho for the same epsilon.
"""

from __future__ import annotations

from fractions import Fraction

from dprelease.model import Loss
from dprelease.privacy.bounded_range import range_for_rho, rho_of_range
from dprelease.privacy.enclosure import ln_bounds, round_up

_NO_LOSS = Loss(Fraction(0), Fraction(0), Fraction(0))


def calibrate(epsilon: Fraction, sensitivity: int, monotone: bool) -> Fraction:
    """The rate of one selection of loss exactly ``epsilon``."""
    if epsilon <= 0:
        raise ValueError("epsilon must be positive")
    return epsilon / span(sensitivity, monotone)


def calibrate_rho(rho: Fraction, sensitivity: int, monotone: bool) -> Fraction:
    """The largest rate of one selection whose rho is at most ``rho``, rounded down."""
    return range_for_rho(rho) / span(sensitivity, monotone)


def loss(rate: Fraction, sensitivity: int, monotone: bool) -> Loss:
    """The loss of one selection: epsilon exact, rho that of the range (tight, 15 digits)."""
    if rate <= 0:
        raise ValueError("the rate of a selection is positive")
    if sensitivity == 0:
        return _NO_LOSS
    epsilon = rate * span(sensitivity, monotone)
    return Loss(epsilon, Fraction(0), rho_of_range(epsilon))


def utility(candidates: int, rate: Fraction, t: Fraction) -> Fraction:
    """How far the selected score lies below the best at most, but for a chance of e^-t.

    (ln candidates + t)/rate, rounded up to 15 digits: a candidate further away has probability
    below exp(-(ln candidates + t)), and there are no more than ``candidates`` of them.
    """
    if candidates < 1:
        raise ValueError("a selection needs a candidate")
    if rate <= 0 or t < 0:
        raise ValueError("the rate is positive, and t is not negative")
    return round_up((ln_bounds(Fraction(candidates))[1] + t) / rate)


def utility_of_peel(candidates: int, k: int, rate: Fraction, t: Fraction) -> Fraction:
    """How far the i-th selected score lies below the i-th best at most, for all i <= k at once.

    But for a chance of e^-t: by the union bound over k selections, each with t + ln k. When i - 1
    candidates are gone, the best of the others is no worse than the i-th best of all.
    """
    if k < 1:
        raise ValueError("at least one candidate is selected")
    return utility(candidates * k, rate, t)


def span(sensitivity: int, monotone: bool) -> int:
    """The length of the interval in which neighbours' scores differ; it must not be 0."""
    if sensitivity < 1:
        raise ValueError("a score that can move has a sensitivity of at least 1")
    return sensitivity if monotone else 2 * sensitivity
