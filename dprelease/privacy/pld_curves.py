r"""The curve of each event: the largest delta(g) over neighbours, sets and histories, any real g.

A curve bounds P(S) - e^g Q(S) for all sets S, where P and Q are the laws of an output on two
neighbouring tables, in either order, given whatever was released before. Where P and Q may change
places, delta(-g) = 1 - e^-g + e^-g delta(g), by taking complements.

*Pure.* With all log-ratios in [-e, e], E_P (1 - e^g / (P/Q))+ is a convex function of Q/P, whose
mean under P is 1; so it is largest with the two ends only (randomised response):
(e^e - e^g)/(e^e + 1) for abs(g) <= e. *Approximate* is the same with mass d at infinity (Kairouz,
Oh and Viswanath 2015).

*Range.* The log-ratio lies in [t - e, t] for some t that the adversary may choose. For one t the
same argument gives two outcomes, of P-probability p = (1 - e^(t-e))/(1 - e^-e) and 1 - p, and
delta_t(g) = p (1 - e^(g-t)), largest at t = (e + g)/2: for abs(g) <= e,

    delta(g) = (1 - e^((g-e)/2))^2 / (1 - e^-e).

Each delta_t is convex in e^g, hence so is their supremum, which is all that composition needs
(``pld_laws``); so t may be another one each time.

*Laplace.* Noise X on each integer with P(X = x) = a^|x| (1-a)/(1+a), a = e^(-1/s). One integer
that moves by n dominates every way of splitting n over several:

1.  For a move n the loss under P is Z_n = (n - 2 S_n)/s, S_n = min(W, n), W = max(0, X), where
    P(W > t) = a^(t+1)/(1+a) for integers t >= 0. So P(S_n = 0) = 1/(1+a),
    P(S_n = k) = a^k (1-a)/(1+a) for 0 < k < n, P(S_n = n) = a^n/(1+a).
2.  Take n = n1 + n2 and let S be the sum of independent S_n1 and S_n2: the loss of the two moves
    together is (n - 2 S)/s. Put D(t) = P(S > t) - P(S_n > t). For t < max(n1, n2) one of the two
    alone exceeds t with probability a^(t+1)/(1+a), so D(t) >= 0. For max(n1, n2) <= t < n let
    T = n - t. S > t says that i + j < T for i = n1 - S_n1 and j = n2 - S_n2, both below n1 and n2;
    there P(i = 0) = a^n1/(1+a), P(i > 0) = a^(n1-i) (1-a)/(1+a), so P(i <= m) = a^(n1-m)/(1+a),
    and summing over i, P(S > t) = a^(n-T+1) (1 + (T-1)(1-a))/(1+a)^2. Hence

        D(t) = a^(n-T+1) ((T-1)(1-a) - a)/(1+a)^2,

    which as t rises is first not negative and then negative: one change of sign in all.
3.  By parts, delta(g) = integral over z > g of e^(g-z) P(Z > z). Z > z says S < (n - z s)/2, so
    delta_single(g) - delta_split(g) is e^g times the integral over z > g of
    e^-z (P(S >= (n - z s)/2) - P(S_n >= (n - z s)/2)), which adds up D(0), D(1), ... each with a
    positive weight, the last one in part. As g falls the sum therefore rises while D >= 0 and then
    falls; and for g <= -n/s both deltas are 1 - e^g, where it is 0. So it never is negative.
4.  The rest of the integers can be split off one after the other, since domination survives
    composition. A smaller move n1 < n is the split (n1, n - n1) without its second part.

    With x0 = floor((n - g s)/2) the curve is P(X <= x0) - e^g P(X <= x0 - n).

*Gaussian.* ``discrete_gaussian.delta_of``, exact for shapes of one or two entries.
"""

from __future__ import annotations

from fractions import Fraction

from dprelease.model.privacy_events import Approximate, Event, Gaussian, Laplace, Pure, Range
from dprelease.privacy.gaussian import discrete as discrete_gaussian
from dprelease.privacy.interval_arithmetic import ZERO, exp_bounds, exp_floor

_ONE = Fraction(1)


def curve(event: Event, g: Fraction) -> Fraction:
    """Upper bound of the event's delta at ``g``, about 10^-40 above it where it is exact.

    ValueError if a scale is not positive, an epsilon negative or a delta not in [0, 1].
    """
    check(event)
    if g < 0:
        share = exp_bounds(g)  # 1 - share (1 - delta) falls in share
        return min(_ONE, 1 - share[0] * (1 - _forward(event, -g)))
    return _forward(event, g)


def check(event: Event) -> None:
    """ValueError if the event can't be."""
    match event:
        case Laplace(scale, l1):
            if scale <= 0 or l1 < 0:
                raise ValueError("Laplace noise needs a positive scale and a move of at least 0")
        case Gaussian(sigma2, _):
            if sigma2 <= 0:
                raise ValueError("sigma squared must be positive")
        case Range(span):
            if span < 0:
                raise ValueError("a range can't be negative")
        case Pure(epsilon):
            if epsilon < 0:
                raise ValueError("epsilon can't be negative")
        case Approximate(epsilon, delta):
            if epsilon < 0 or not 0 <= delta <= 1:
                raise ValueError("epsilon can't be negative, and delta lies in [0, 1]")


def _forward(event: Event, g: Fraction) -> Fraction:
    """The curve for g >= 0."""
    match event:
        case Laplace(scale, l1):
            return _laplace(scale, l1, g)
        case Gaussian(sigma2, shift):
            return discrete_gaussian.delta_of(sigma2, shift, g)
        case Range(span):
            if g >= span:
                return ZERO
            return (1 - exp_floor((g - span) / 2)) ** 2 / (1 - exp_bounds(-span)[1])
        case Pure(epsilon):
            return _pure(epsilon, g)
        case Approximate(epsilon, delta):
            return delta + (1 - delta) * _pure(epsilon, g)


def _pure(epsilon: Fraction, g: Fraction) -> Fraction:
    return ZERO if g >= epsilon else (1 - exp_floor(g - epsilon)) / (1 + exp_floor(-epsilon))


def _laplace(scale: Fraction, l1: int, g: Fraction) -> Fraction:
    if g >= l1 / scale:
        return ZERO
    last = (l1 - g * scale) // 2
    share = 1 + exp_bounds(-1 / scale)[1]
    beyond = exp_floor(-(last + 1) / scale) + exp_floor(g - (l1 - last) / scale)
    return 1 - beyond / share
