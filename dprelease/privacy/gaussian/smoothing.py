"""A bound of the discrete Gaussian's delta for any shift, by way of the continuous mechanism.

Statement. Let X be discrete Gaussian on Z^n with parameter s2, v in Z^n with at most d entries
that are not zero and |v|^2 <= l2. For every t with 0 < t < s2 put q = e^(-2 pi^2 t),
eta = 2q/(1-q) and kappa = d ln((1+eta)/(1-eta)), provided that eta < 1. Then

    delta_discrete(epsilon; v, s2) <= (1+eta)^d delta_continuous(epsilon - kappa; l2/(s2 - t)),

so the lattice costs about t < 1 in sigma squared and nothing in the limit.

Proof.
1. Theta. f(y) = sum over x in Z of e^(-(x-y)^2/2t) is, by Poisson summation,
   sqrt(2 pi t) (1 + 2 sum_{k>=1} e^(-2 pi^2 t k^2) cos 2 pi k y). As k^2 >= k,
   |f(y)/sqrt(2 pi t) - 1| <= eta.
2. Rounding. Let a mechanism on the integer c draw Y from N(c, s2 - t), then x in Z with
   probability e^(-(x-Y)^2/2t)/f(Y). Its law is
   r_c(x) = integral of N(y; c, s2-t) e^(-(x-y)^2/2t)/f(y) dy. By 1, and because two Gaussian
   kernels convolve to one, N(x; c, s2)/(1+eta) <= r_c(x) <= N(x; c, s2)/(1-eta).
3. The discrete Gaussian is p_c(x) = A N(x; c, s2) with 1/A = sum over x in Z of N(x; 0, s2),
   the same for every integer c. By Poisson summation again 1/A >= 1, so A <= 1. Hence
   A (1-eta) r_c(x) <= p_c(x) <= A (1+eta) r_c(x).
4. Coordinates where v is zero have equal factors on both sides and sum out of the hockey-stick
   divergence. Over the d others, with C = A^d <= 1 and products of the above,
   sum max(0, p_0 - e^eps p_v) <= C (1+eta)^d sum max(0, r_0 - e^(eps - kappa) r_v).
5. r_0 and r_v are the same random map applied to N(0, s2-t) and N(v, s2-t), coordinate by
   coordinate. The hockey-stick divergence of any order e^(eps-kappa) > 0 does not rise under a
   random map, so the last sum is at most delta_continuous(eps - kappa) at
   mu^2 = |v|^2/(s2-t), which rises in |v|. QED.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from dprelease.privacy.gaussian import continuous
from dprelease.privacy.interval_arithmetic import PI, exp_bounds, ln_bounds, round_up

_ONE = Fraction(1)
# Widths t to choose from: wide ones have a negligible eta, narrow ones cost less sigma squared.
WIDTHS = tuple(
    Fraction(n, 16) for n in (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 24, 32, 48, 64, 128)
)


@lru_cache(maxsize=64)
def ripple(width: Fraction) -> Fraction:
    """Upper bound of eta for the width t."""
    power = exp_bounds(-2 * PI[0] * PI[0] * width)[1]
    return round_up(2 * power / (1 - power), 30)


@lru_cache(maxsize=256)
def _toll(width: Fraction, coordinates: int) -> tuple[Fraction, Fraction]:
    """Upper bounds of (1+eta)^d and kappa."""
    eta = ripple(width)
    factor = exp_bounds(coordinates * ln_bounds(1 + eta)[1])[1]
    kappa = coordinates * ln_bounds((1 + eta) / (1 - eta))[1]
    return round_up(factor, 40), round_up(kappa, 40)


def delta_of(sigma2: Fraction, l2_squared: int, coordinates: int, epsilon: Fraction) -> Fraction:
    """Upper bound of the discrete mechanism's delta over all such shifts."""
    width = _best_width(sigma2, l2_squared, coordinates, epsilon)
    if width is None:
        return _ONE
    factor, kappa = _toll(width, coordinates)
    return min(
        _ONE, factor * continuous.delta_of(Fraction(l2_squared) / (sigma2 - width), epsilon - kappa)
    )


def _best_width(
    sigma2: Fraction, l2_squared: int, coordinates: int, epsilon: Fraction
) -> Fraction | None:
    """The width with the least bound, judged in floats; any width would be valid."""
    best: tuple[float, Fraction] | None = None
    for width in WIDTHS:
        if width >= sigma2 or coordinates * float(ripple(width)) > 300:
            continue
        mu = math.sqrt(Fraction(l2_squared) / (sigma2 - width))
        eta = float(ripple(width))
        kappa = coordinates * (math.log1p(eta) - math.log1p(-eta))
        bound = math.exp(coordinates * math.log1p(eta))
        bound *= continuous.guess_delta(mu, float(epsilon) - kappa)
        # Float noise must not prefer a width with a kappa as large as epsilon: later ties lose.
        if best is None or bound < best[0]:
            best = bound, width
    return best[1] if best else None
