"""The exponential mechanism for integer scores: its loss, and how far its choices fall short.

McSherry and Talwar 2007: a candidate is taken with probability proportional to exp(rate * score).
It is drawn by ``dprelease.kernel.chapters.choices.choice_sampler`` with ``draw_exponential``.
``sensitivity`` D is how far one person can move any one score; ``monotone`` says that for every
pair of neighbours all scores that move do so in the same direction (counts, when a person is added
or removed). Why the range of the loss, and so epsilon,
is rate D if monotone and 2 rate D if not: for neighbours x and y let m(o) be the score of o at x
less that at y. Then ln P_x(o)/P_y(o) = rate m(o) + ln(Z_y/Z_x), where the last term is the same for
all o. The log-ratio so lies within an interval of length rate (max m - min m). In general m lies in
[-D, D], which has the length 2 D; if monotone in [0, D] or in [-D, 0], of length D. The bound on
the range is all that ``bounded_range`` asks for, so that a score that isn't monotone has, with its
factor 2, the same rho for the same epsilon.

*Shortfall.* How far chosen candidates may fall short of the best, without a look at the scores, of
this mechanism and of ``permute_and_flip``. One selection among C candidates, and what the chance is
at most that a candidate is taken whose score lies t or more below the best. It rises if such a
candidate comes nearer, and if others that are good but not the best go away. So it is largest where
all but the best lie exactly t below it, and there it is, with p = exp(-rate t),

    exponential mechanism:  (C-1) p / (1 + (C-1) p),
    permute-and-flip:       the mean of B/(1+B), B heads of C-1 coins of chance p,
                            = 1 - (1 - (1-p)^C)/(C p).

The first by its definition. For the second: every candidate is accepted independently with p(its
distance), the best one always, and one of the accepted is taken, all alike (McKenna and Sheldon
2020; ``choices.choice_sampler``): with b bad and g good ones accepted a bad one is taken with
probability b/(b+g), which rises in b and falls in g >= 1. No smaller bound holds for all scores.

*Several picks.* One after the other, each among those that are left: given the picks before, each
one misses its best with no more than the chance f above, so that all are right with at least
(1-f)^k. When i - 1 candidates are gone, the best of the others is no worse than the i-th best of
all: no pick falls short of the true one of its rank by more.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from dprelease.mechanisms import NO_LOSS, Choice, Mechanism, Target
from dprelease.model import Form, Loss, Noise, NoiseFamily
from dprelease.model.privacy_events import Range
from dprelease.privacy.bounded_range import bound_range_rho, find_range_for_rho
from dprelease.privacy.composition import repeat
from dprelease.privacy.interval_arithmetic import bound_exp, bound_ln


def calibrate(epsilon: Fraction, sensitivity: int, monotone: bool) -> Fraction:
    """Compute the rate at which one selection costs exactly ``epsilon``."""
    if epsilon <= 0:
        raise ValueError("epsilon must be positive")
    return epsilon / compute_span(sensitivity, monotone)


def calibrate_rho(rho: Fraction, sensitivity: int, monotone: bool) -> Fraction:
    """Compute the largest rate of one selection whose rho is at most ``rho``, rounded down."""
    return find_range_for_rho(rho) / compute_span(sensitivity, monotone)


def compute_loss(rate: Fraction, sensitivity: int, monotone: bool) -> Loss:
    """Compute the loss of one selection: epsilon exact, rho tight (15 digits)."""
    if rate <= 0:
        raise ValueError("the rate of a selection is positive")
    if sensitivity == 0:
        return NO_LOSS
    epsilon = rate * compute_span(sensitivity, monotone)
    return Loss(epsilon, Fraction(0), bound_range_rho(epsilon))


def compute_span(sensitivity: int, monotone: bool) -> int:
    """Compute the length of the interval that holds the differences of neighbours' scores."""
    if sensitivity < 1:
        raise ValueError("a score that can move has a sensitivity of at least 1")
    return sensitivity if monotone else 2 * sensitivity


_GUARD = 64


@lru_cache(maxsize=256)
def find_shortfall(
    flips: bool, candidates: int, picks: int, rate: Fraction, alpha: Fraction
) -> int:
    """Find a bound on how far picks fall short of the best candidates, whatever the data are.

    Args:
        flips: The picks are by permute-and-flip, else by the exponential mechanism.
        candidates: Number of candidates.
        picks: Number of picks, one after the other without replacement.
        rate: The rate of each selection, positive.
        alpha: The chance that some pick falls short by more, between 0 and 1.

    Returns:
        The least whole s, in steps of the integer score, such that no pick scores more than s
        below the true candidate of its rank, except with probability ``alpha``.

    Raises:
        ValueError: There is no candidate or no pick, or rate or alpha is out of range.
    """
    if candidates < 1 or picks < 1:
        raise ValueError("a selection needs a candidate and a pick")
    if rate <= 0 or not 0 < alpha < 1:
        raise ValueError("the rate is positive, and a chance lies between 0 and 1")
    if candidates == 1:
        return 0
    # At this shortfall each other candidate is chosen with a chance of at most
    # alpha/(candidates picks): a union bound over candidates and picks.
    high = int(bound_ln(Fraction(candidates * picks) / alpha)[1] / rate)
    low = -1
    while high - low > 1:
        middle = (low + high) // 2
        if _is_exceeded_rarely(flips, candidates, picks, rate * (middle + 1), alpha):
            high = middle
        else:
            low = middle
    return high


def _is_exceeded_rarely(
    flips: bool, candidates: int, picks: int, exponent: Fraction, alpha: Fraction
) -> bool:
    """Check that a pick scores exp(-exponent) or worse with a chance of at most alpha."""
    bits = _GUARD + 3 * (candidates * picks * int(1 / alpha)).bit_length()
    one = 1 << bits
    p = bound_exp(-exponent)[1]
    chance = min(-(-(p.numerator << bits) // p.denominator), one)
    others = (candidates - 1) * chance
    missed = -(-(others << bits) // (one + others))
    if flips:
        # From above, so that the best one's chance, (1 - (1-p)^C)/(C p), comes from below.
        none = _bound_power(one - chance, candidates, bits, 1)
        missed = min(missed, one - ((one - none) << bits) // (candidates * chance))
    right = _bound_power(one - missed, picks, bits, 0)
    return right * alpha.denominator >= (alpha.denominator - alpha.numerator) << bits


def _bound_power(base: int, exponent: int, bits: int, up: int) -> int:
    """Compute (base/2^bits)^exponent in units of 2^-bits, each product rounded up or down."""

    def multiply(first: int, second: int) -> int:
        exact_product = first * second
        return -(-exact_product >> bits) if up else exact_product >> bits

    total, square = 1 << bits, base
    while exponent:
        if exponent & 1:
            total = multiply(total, square)
        exponent >>= 1
        if exponent:
            square = multiply(square, square)
    return total


class Exponential(Mechanism):
    """A choice by score, or several one after the other, each with its share of the loss."""

    family = NoiseFamily.EXPONENTIAL
    words = "mechanisms.exponential"
    form = Form.CHOICE
    keyword = "exponential"
    concentrated = True

    def calibrate(self, target: Target, epsilon: Fraction, delta: Fraction) -> Choice:
        """Choose the rate by ``calibrate``, with epsilon divided among the picks."""
        sensitivity = target.sensitivity
        part = epsilon / target.query.picks
        return self._build_choice(
            target, calibrate(part, sensitivity.choice_l1, sensitivity.monotone)
        )

    def calibrate_rho(self, target: Target, rho: Fraction, delta: Fraction) -> Choice:
        """Choose the rate by ``calibrate_rho``, with rho divided among the picks."""
        sensitivity = target.sensitivity
        part = rho / target.query.picks
        return self._build_choice(
            target, calibrate_rho(part, sensitivity.choice_l1, sensitivity.monotone)
        )

    def estimate_error(self, target: Target, intensity: Fraction) -> Fraction:
        """Estimate the error, above that of permute-and-flip, which errs less at the same rate."""
        sensitivity = target.sensitivity
        # Each of several picks has its share of the rate, where noisy counts of all candidates
        # (one shot) would have the whole.
        parts = Fraction(target.query.picks * sensitivity.choice_l1, sensitivity.l1)
        return Fraction(3, 2) * (max(Fraction(1), parts * Fraction(7, 10)) / intensity) ** 2

    def _build_choice(self, target: Target, rate: Fraction) -> Choice:
        sensitivity, picks = target.sensitivity, target.query.picks
        pick_loss = compute_loss(rate, sensitivity.choice_l1, sensitivity.monotone)
        events = ((Range(pick_loss.epsilon), picks),)
        return Choice(Noise(self.family, rate), repeat(pick_loss, picks), events, Form.CHOICE)


EXPONENTIAL = Exponential()
