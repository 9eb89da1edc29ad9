"""The Gaussian mechanism on integers: delta, epsilon and the least sigma squared, never too small.

Each delta is the least of the valid upper bounds at hand: the sum over the lattice (exact up to
10^-70, for shapes of one or two entries and small sigma), the smoothing bound (any shift) and
zCDP (any shift). Canonne, Kamath and Steinke 2020; Balle and Wang 2018.

*Continuous noise.* For noise N(0, sigma^2 I) and a shift of length mu sigma (Balle and Wang 2018),

    delta(epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu),

which holds for every real epsilon and rises in mu.

*Smoothing: any shift, by way of the continuous mechanism.* Let v in Z^n have at most d entries that
are not zero and |v|^2 <= l2. For every t with 0 < t < s2 put q = e^(-2 pi^2 t), eta = 2q/(1-q) and
kappa = d ln((1+eta)/(1-eta)), provided that eta < 1. Then

    delta_discrete(epsilon; v, s2) <= (1+eta)^d delta_continuous(epsilon - kappa; l2/(s2 - t)),

so the lattice costs about t < 1 in sigma squared and nothing in the limit. Proof: steps 1 to 3 of
"Merging, of any shifts" in ``kernel.chapters.composition.gaussian_events``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, partial

from dprelease.model.shift import Shift
from dprelease.privacy import lattice_sums, zcdp
from dprelease.privacy.interval_arithmetic import (
    DIGITS,
    ONE,
    PI,
    ZERO,
    bound_exp,
    bound_exp_below,
    bound_ln,
    bound_normal,
    bound_sqrt,
    round_down,
    round_up,
)

# Searches aim at delta (1 - 10^-12), so that the independent verifier, whose bounds differ in
# far later digits, confirms every answer.
ROOM = Fraction(1, 10**12)
_HAIR = Fraction(1, 10**13)
# Beyond this epsilon only zCDP is used: there it is nearly tight, and fixed point is not.
LARGE = Fraction(100)
_FINE = Fraction(1, 10**50)  # below, the lattice sum's own rounding begins to show


# Widths t to choose from: wide ones have a negligible eta, narrow ones cost less sigma squared.
WIDTHS = tuple(
    Fraction(n, 16) for n in (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 24, 32, 48, 64, 128)
)


def bound_delta(sigma2: Fraction, shift: Shift, epsilon: Fraction) -> Fraction:
    """Bound the delta of discrete Gaussian noise at an epsilon from above.

    Args:
        sigma2: Sigma squared of the noise on each integer, positive.
        shift: How neighbours' integers can differ.
        epsilon: At least 0.

    Returns:
        A delta for which the mechanism is (epsilon, delta)-DP: the least of the lattice sum, the
        smoothing bound and zCDP, where each applies.

    Raises:
        ValueError: sigma2 is not positive or epsilon is negative.
    """
    if sigma2 <= 0:
        raise ValueError("sigma squared must be positive")
    if epsilon < 0:
        raise ValueError("epsilon can't be negative")
    if shift.l2_squared == 0:
        return ZERO
    # Evaluated only where the lattice sum does not settle it.
    concentrated = partial(
        zcdp.bound_delta, zcdp.compute_gaussian_rho(shift.l2_squared, sigma2), epsilon
    )
    if epsilon > LARGE:
        return concentrated()
    if lattice_sums.is_within_reach(sigma2, shift.shapes):
        summed = max(lattice_sums.sum_delta(sigma2, shape, epsilon) for shape in shift.shapes)
        return summed if summed > _FINE else min(summed, concentrated())
    smoothed = bound_smoothed_delta(sigma2, shift.l2_squared, shift.coordinates, epsilon)
    return round_up(min(smoothed, concentrated()), 40)


def bound_epsilon(sigma2: Fraction, shift: Shift, delta: Fraction) -> Fraction:
    """Bound the epsilon of discrete Gaussian noise at a delta from above.

    Args:
        sigma2: Sigma squared of the noise on each integer, positive.
        shift: How neighbours' integers can differ.
        delta: Between 0 and 1.

    Returns:
        An epsilon, rounded up to 12 digits, usually right to 11, for which the mechanism is
        (epsilon, delta)-DP.

    Raises:
        ValueError: sigma2 is not positive or delta is not between 0 and 1.
    """
    target = _choose_target(delta)
    if sigma2 <= 0:
        raise ValueError("sigma squared must be positive")
    if shift.l2_squared == 0 or bound_delta(sigma2, shift, ZERO) <= target:
        return ZERO
    rho = zcdp.compute_gaussian_rho(shift.l2_squared, sigma2)
    ceiling = zcdp.bound_epsilon(rho, delta)  # valid whatever happens below
    if ceiling > LARGE:
        if bound_delta(sigma2, shift, LARGE) > target:
            return ceiling
        ceiling = LARGE
    smallest = _shrink(lambda epsilon: bound_delta(sigma2, shift, epsilon), target, ceiling)
    return round_up(smallest, zcdp.EPSILON_DIGITS)


def find_least_sigma2(shift: Shift, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Find the least sigma squared on the grid of ``choose_grid_step`` for (epsilon, delta)-DP.

    The answer is certainly valid, and one grid step less is not confirmed. For a large epsilon the
    discrete law's delta is not monotone in sigma, so much smaller values may be valid again.

    Args:
        shift: How neighbours' integers can differ; not zero.
        epsilon: Positive.
        delta: Between 0 and 1.

    Returns:
        Sigma squared, a multiple of the grid step.

    Raises:
        ValueError: epsilon is not positive, delta is not between 0 and 1, or the shift is zero.
    """
    target = _choose_target(delta)
    if epsilon <= 0:
        raise ValueError("epsilon must be positive")
    if shift.l2_squared == 0:
        raise ValueError("integers that never change need no noise")
    guess = _guess_sigma2(shift.l2_squared, epsilon, delta)
    step = choose_grid_step(guess)

    def is_valid(multiple: int) -> bool:
        return bound_delta(multiple * step, shift, epsilon) <= target

    start = max(1, math.ceil(guess / step))
    if is_valid(start):
        good, bad = start, _gallop(lambda m: m > 0 and is_valid(m), start, -1)
    else:
        good, bad = _gallop(lambda m: not is_valid(m), start, 1), start
    while good - bad > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if is_valid(middle) else (good, middle)
    return good * step


def choose_grid_step(sigma2: Fraction) -> Fraction:
    """Choose the grid around sigma2: 1/64 from 8 to 256, elsewhere a power of two relative to it.

    Above 256 the step is between 2^-15 and 2^-14 of sigma2, below 8 between 2^-10 and 2^-9.
    """
    exponent = sigma2.numerator.bit_length() - sigma2.denominator.bit_length()
    if Fraction(2) ** exponent > sigma2:
        exponent -= 1
    if exponent >= 8:
        return Fraction(2) ** (exponent - 14)
    return Fraction(1, 64) if exponent >= 3 else Fraction(2) ** (exponent - 9)


def _choose_target(delta: Fraction) -> Fraction:
    if not 0 < delta < 1:
        raise ValueError("the Gaussian mechanism needs a delta between 0 and 1")
    return delta * (1 - ROOM)


def _guess_sigma2(l2_squared: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Guess sigma squared by the continuous law, in floats, to start the search."""
    if epsilon > LARGE:
        return l2_squared / (2 * zcdp.find_rho(epsilon, delta))
    mu = Fraction(guess_mu(float(epsilon), float(delta)))
    guess = l2_squared / (mu * mu)
    return guess + Fraction(1, 2) if guess > lattice_sums.LIMIT_TWO else guess


def _gallop(keeps: Callable[[int], bool], start: int, direction: int) -> int:
    """Find the first of start +- 1, 2, 4, 8, ... for which ``keeps`` fails."""
    distance = 1
    while keeps(start + direction * distance):
        distance *= 2
    return start + direction * distance


def _shrink(curve: Callable[[Fraction], Fraction], target: Fraction, ceiling: Fraction) -> Fraction:
    """Find a small argument where the falling ``curve`` is at most ``target``, or ``ceiling``."""
    # Regula falsi (Illinois) on the logarithm, in floats. Only arguments at which the curve was
    # evaluated rigorously are returned.
    low, high = ZERO, ceiling
    at_low, at_high = _log(curve(low), target), _log(curve(high), target)
    if at_high > 0:
        return ceiling
    aim = 0
    for _ in range(80):
        if high - low <= high * 4 * _HAIR:
            break
        share = Fraction(at_low / (at_low - at_high)) if at_low > at_high else Fraction(1, 2)
        # An end that stays put twice counts for half, and is aimed at a hair beyond the estimate.
        middle = low + (high - low) * share + aim * high * _HAIR
        middle = round_up(min(max(middle, low + high * _HAIR), high * (1 - _HAIR)), 17)
        at_middle = _log(curve(middle), target)
        if at_middle <= 0:
            at_low /= 2 if aim < 0 else 1
            high, at_high, aim = middle, at_middle, -1
        else:
            at_high /= 2 if aim > 0 else 1
            low, at_low, aim = middle, at_middle, 1
    return high


def _log(value: Fraction, target: Fraction) -> float:
    ratio = value / target
    return math.log(ratio) if ratio > Fraction(1, 10**300) else -700.0


# --- any shift ----------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def bound_ripple(width: Fraction) -> Fraction:
    """Bound eta for the width t from above."""
    power = bound_exp(-2 * PI[0] * PI[0] * width)[1]
    return round_up(2 * power / (1 - power), 30)


@lru_cache(maxsize=256)
def _bound_toll(width: Fraction, coordinates: int) -> tuple[Fraction, Fraction]:
    """Bound (1+eta)^d and kappa from above."""
    eta = bound_ripple(width)
    factor = bound_exp(coordinates * bound_ln(1 + eta)[1])[1]
    kappa = coordinates * bound_ln((1 + eta) / (1 - eta))[1]
    return round_up(factor, 40), round_up(kappa, 40)


def bound_smoothed_delta(
    sigma2: Fraction, l2_squared: int, coordinates: int, epsilon: Fraction
) -> Fraction:
    """Bound the discrete mechanism's delta over all such shifts by the continuous one's."""
    width = _find_best_width(sigma2, l2_squared, coordinates, epsilon)
    if width is None:
        return ONE
    factor, kappa = _bound_toll(width, coordinates)
    return min(
        ONE,
        factor * bound_continuous_delta(Fraction(l2_squared) / (sigma2 - width), epsilon - kappa),
    )


def _find_best_width(
    sigma2: Fraction, l2_squared: int, coordinates: int, epsilon: Fraction
) -> Fraction | None:
    """Choose the width with the least bound, judged in floats; any width is valid."""
    best: tuple[float, Fraction] | None = None
    for width in WIDTHS:
        # (1+eta)^d is about e^(d eta): beyond e^300 the bound is useless.
        if width >= sigma2 or coordinates * float(bound_ripple(width)) > 300:
            continue
        mu = math.sqrt(Fraction(l2_squared) / (sigma2 - width))
        eta = float(bound_ripple(width))
        kappa = coordinates * (math.log1p(eta) - math.log1p(-eta))
        bound = math.exp(coordinates * math.log1p(eta))
        bound *= guess_delta(mu, float(epsilon) - kappa)
        # Float noise must not prefer a width with a kappa as large as epsilon: later ties lose.
        if best is None or bound < best[0]:
            best = bound, width
    return best[1] if best else None


# --- continuous noise ---------------------------------------------------------------------------


def bound_continuous_delta(mu_squared: Fraction, epsilon: Fraction) -> Fraction:
    """Bound delta of continuous noise from above, within about 10^-70; epsilon may be negative."""
    if mu_squared <= 0:
        return max(ZERO, 1 - bound_exp_below(epsilon))
    # delta rises in mu, so the upper end of the enclosure of mu gives an upper bound.
    mu = bound_sqrt(mu_squared)[1]
    near = bound_normal(round_up(mu / 2 - epsilon / mu, DIGITS))[1]
    far = bound_normal(round_down(-mu / 2 - epsilon / mu, DIGITS))[0]
    return min(ONE, max(ZERO, near - bound_exp_below(epsilon) * far))


# --- floats: where to look, never what to claim ------------------------------------------------


def _compute_tail(x: float) -> float:
    return math.erfc(x / math.sqrt(2)) / 2


def guess_delta(mu: float, epsilon: float) -> float:
    """Estimate delta of continuous noise in floats, for searches only."""
    near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if epsilon > 500:
        return _compute_tail(near)
    return max(0.0, _compute_tail(near) - math.exp(epsilon) * _compute_tail(far))


def guess_mu(epsilon: float, delta: float) -> float:
    """Estimate the largest mu with delta(epsilon) <= delta in floats, for searches only."""
    low, high = math.log(1e-40), math.log(1e10)
    for _ in range(100):
        middle = (low + high) / 2
        small = guess_delta(math.exp(middle), epsilon) <= delta
        low, high = (middle, high) if small else (low, middle)
    return math.exp(low)
