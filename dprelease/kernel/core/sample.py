"""Discrete Laplace and Gaussian noise: the published samplers; an array of any additive noise.

One draw at a time, with any rational parameter, is by algorithms 1 to 3 of Canonne, Kamath,
Steinke, "The Discrete Gaussian for Differential Privacy" (arXiv 2004.00010), step by step as
published. Every decision is a comparison of integers, so the law is the ideal one exactly. Slow
(tens of thousands of draws a second) and easy to check: the oracle for ``vectorized``.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING, Any

from dprelease.kernel.core.entropy import Entropy, read_bits
from dprelease.model import Noise, NoiseFamily


def draw_uniform_below(bound: int, entropy: Entropy) -> int:
    """Draw uniformly from {0, ..., bound - 1}, for bound >= 1.

    Exact: the shortest bit string that covers the range is drawn and drawn again until it falls
    inside (at most 2 expected trials), which conditions a uniform law on a subset.
    """
    if bound < 1:
        raise ValueError("a uniform draw needs a bound of at least 1")
    bits = (bound - 1).bit_length()
    if bits == 0:
        return 0
    while True:
        value = read_bits(entropy, bits)
        if value < bound:
            return value


def draw_bernoulli(probability: Fraction, entropy: Entropy) -> bool:
    """Draw True with exactly this rational probability, 0 <= probability <= 1."""
    if not 0 <= probability <= 1:
        raise ValueError("a probability lies between 0 and 1")
    return draw_uniform_below(probability.denominator, entropy) < probability.numerator


def draw_bernoulli_exp(exponent: Fraction, entropy: Entropy) -> bool:
    """Draw True with probability exactly exp(-exponent), for a rational exponent >= 0.

    CKS20, algorithm 1. For x <= 1 draw A_k ~ Bernoulli(x/k) for k = 1, 2, ... until the first
    failure at k = K: P(K > k) = x^k/k!, so P(K odd) is the alternating series of exp(-x).
    For x > 1, exp(-x) = exp(-1)^floor(x) exp(-(x - floor(x))): all of the trials must succeed.
    """
    if exponent < 0:
        raise ValueError("exp(-x) is a probability for x >= 0 only")
    whole = exponent.numerator // exponent.denominator
    for _ in range(whole):
        if not _draw_bernoulli_exp_unit(Fraction(1), entropy):
            return False
    return _draw_bernoulli_exp_unit(exponent - whole, entropy)


def _draw_bernoulli_exp_unit(exponent: Fraction, entropy: Entropy) -> bool:
    """Draw True with probability exp(-exponent), for 0 <= exponent <= 1."""
    trial = 1
    while draw_bernoulli(exponent / trial, entropy):
        trial += 1
    return trial % 2 == 1


def draw_discrete_laplace(scale: Fraction, entropy: Entropy) -> int:
    """Draw from P(k) proportional to exp(-|k|/scale), for any rational scale > 0.

    CKS20, algorithm 2, with scale = t/s in lowest terms: U uniform below t kept with probability
    exp(-U/t), plus t times a geometric(1 - 1/e), is geometric with ratio exp(-1/t); its quotient
    by s is geometric with ratio exp(-s/t); a random sign, negative zero rejected, gives the law.
    """
    if scale <= 0:
        raise ValueError("the scale of Laplace noise is positive")
    top, divisor = scale.numerator, scale.denominator
    while True:
        low = draw_uniform_below(top, entropy)
        if not draw_bernoulli_exp(Fraction(low, top), entropy):
            continue
        high = 0
        while draw_bernoulli_exp(Fraction(1), entropy):
            high += 1
        magnitude = (low + top * high) // divisor
        negative = read_bits(entropy, 1) == 1
        if negative and magnitude == 0:
            continue
        return -magnitude if negative else magnitude


def draw_discrete_gaussian(sigma2: Fraction, entropy: Entropy) -> int:
    """Draw from P(k) proportional to exp(-k^2/(2 sigma2)), for any rational sigma2 > 0.

    CKS20, algorithm 3: a discrete Laplace Y of scale t = floor(sigma) + 1 is kept with probability
    exp(-(|Y| - sigma2/t)^2/(2 sigma2)), the quotient of the two laws up to a constant. The root
    itself is never taken: floor(sqrt(n/d)) = isqrt(n // d).
    """
    if sigma2 <= 0:
        raise ValueError("the parameter of Gaussian noise is positive")
    scale = isqrt(sigma2.numerator // sigma2.denominator) + 1
    while True:
        value = draw_discrete_laplace(Fraction(scale), entropy)
        if draw_bernoulli_exp((abs(value) - sigma2 / scale) ** 2 / (2 * sigma2), entropy):
            return value


# --- draws of any number --------------------------------------------------------------------------

if TYPE_CHECKING:
    import numpy.typing as npt


def draw_each(noise: Noise, size: int, entropy: Entropy) -> npt.NDArray[Any]:
    """Draw from ``noise``, independently and afresh for each of ``size`` elements.

    Returns:
        Grid integers of shape (size,): int64, or dtype object (Python integers) where one might
        leave 64 bits. NONE gives zeros and reads no entropy.

    Raises:
        ValueError: The size is negative, a parameter is not positive, or a chapter draws this law.
        EntropyError: The source of random bytes fails.
    """
    import numpy as np

    if size < 0:
        raise ValueError("the number of draws must not be negative")
    if noise.family is NoiseFamily.NONE:
        return np.zeros(size, dtype=np.int64)
    if noise.family not in {NoiseFamily.LAPLACE, NoiseFamily.GAUSSIAN}:
        raise ValueError("noise of another law is drawn by a chapter")
    one = draw_discrete_laplace if noise.family is NoiseFamily.LAPLACE else draw_discrete_gaussian
    draws = [one(noise.parameter, entropy) for _ in range(size)]
    if all(abs(draw) < 1 << 62 for draw in draws):
        return np.array(draws, dtype=np.int64)
    return np.array(draws, dtype=object)
