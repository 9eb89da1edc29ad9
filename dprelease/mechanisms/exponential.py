"""The exponential mechanism for integer scores: what it costs.

McSherry and Talwar 2007: a candidate is taken with probability proportional to exp(rate * score).
It is drawn by ``dprelease.kernel.noise.selection.top_k`` with ``draw_exponential``.
``sensitivity`` D is how far one person can move any one score; ``monotone`` says that for every
pair of neighbours all scores that move do so in the same direction (counts, when a person is added
or removed). How good its choice is: ``choice_errors``. Why the range of the loss, and so epsilon,
is rate D if monotone and 2 rate D if not: for neighbours x and y let m(o) be the score of o at x
less that at y. Then ln P_x(o)/P_y(o) = rate m(o) + ln(Z_y/Z_x), where the last term is the same for
all o. The log-ratio so lies within an interval of length rate (max m - min m). In general m lies in
[-D, D], which has the length 2 D; if monotone in [0, D] or in [-D, 0], of length D. The bound on
the range is all that ``bounded_range`` asks for, so that a score that isn't monotone has, with its
factor 2, the same rho for the same epsilon.
"""

from __future__ import annotations

from fractions import Fraction

from dprelease.model import Loss
from dprelease.privacy.bounded_range import range_for_rho, rho_of_range

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


def span(sensitivity: int, monotone: bool) -> int:
    """The length of the interval in which neighbours' scores differ; it must not be 0."""
    if sensitivity < 1:
        raise ValueError("a score that can move has a sensitivity of at least 1")
    return sensitivity if monotone else 2 * sensitivity
