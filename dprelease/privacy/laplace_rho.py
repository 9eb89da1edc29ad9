r"""The zCDP of discrete Laplace noise, exactly: for large moves less than epsilon tanh(epsilon/2).

For noise P(X = x) = a^|x| (1-a)/(1+a), a = e^(-1/s), on integers that move by at most n in all,

    rho = (n - 2 a (1 - a^n)/(1 - a^2))/s,

and no less. With epsilon = n/s it is epsilon tanh(epsilon/2) for n = 1, and falls for larger n
with the same epsilon to epsilon - 1 + e^-epsilon, the rho of continuous Laplace noise. (Harrison
and Manurangsi 2025, arXiv 2510.25746, have both ends; the proof below is for every n.)

1.  One integer that moves by n. Let P, Q be the noise around 0 and n, L = ln P/Q. L takes the
    values (n - 2k)/s, k = 0, ..., n, and sqrt(P Q) gives weights a^(n/2)/(1+a) to k = 0 and k = n,
    and (1-a) a^(n/2)/(1+a) to the others. So with w = e^(2t/s), up to a constant,

        M(t) = sum sqrt(P Q) e^(tL) = w^(-n/2) (1 + (1-a) (w + ... + w^(n-1)) + w^n),

    and the Renyi divergence D of order alpha has (alpha - 1) D = ln M(alpha - 1/2).
2.  All zeros in w lie on the unit circle. Times (w - 1) the polynomial is w^n (w - a) - (1 - a w),
    and |w - a|^2 - |1 - a w|^2 = (1 - a^2)(|w|^2 - 1). So for |w| > 1 the first term is larger
    than the second in size, for |w| < 1 smaller, and the sum is not 0.
3.  Zeros come in pairs e^(iu), e^(-iu), or are -1 (not 1, as all coefficients are positive). So
    with x = 2t/s, M is up to a constant a product of terms cosh x - cos u and cosh(x/2). These are
    products of terms 1 + x^2/c^2, with c = u + 2 pi m and c = pi (2m + 1). So ln M is a concave
    function of t^2.
4.  A concave function lies below its tangent. At t = 1/2, ln M is 0 and its derivative in t is
    that of (alpha - 1) D at alpha = 1, the mean of L under P. As t^2 - 1/4 = alpha (alpha - 1),
    the tangent says (alpha - 1) D <= alpha (alpha - 1) E L: so rho is E L, which D approaches.
    With W = max(0, X), P(W > j) = a^(j+1)/(1+a), the mean of L = (n - 2 min(W, n))/s is the above.
5.  Several integers. Divergences add up. As a^n is convex in n, so is rho, with rho = 0 for n = 0;
    so rho rises in n, and rho(n1) + rho(n2) <= rho(n1 + n2). QED.
"""

from __future__ import annotations

from fractions import Fraction

from dprelease.privacy import zcdp
from dprelease.privacy.enclosure import ZERO, exp_bounds, round_up


def rho_of_laplace(scale: Fraction, l1: int) -> Fraction:
    """Upper bound of the rho of discrete Laplace noise on integers that move by ``l1`` in all.

    Tight, 15 digits. ValueError if the scale isn't positive or ``l1`` is negative.
    """
    if scale <= 0 or l1 < 0:
        raise ValueError("Laplace noise needs a positive scale and a move of at least 0")
    if l1 == 0:
        return ZERO
    by_pure = zcdp.rho_of_pure(l1 / scale)
    # a/(1 - a^2) rises in a, so the lower bound of a serves in both places
    ratio, power = exp_bounds(-1 / scale)[0], exp_bounds(-l1 / scale)[1]
    inside = 2 * ratio * (1 - power) / (1 - ratio**2)
    return min(by_pure, round_up((l1 - inside) / scale))
