"""What is known of the noise without drawing it: probabilities, intervals, variance.

Standard library only. Bounds are decided by enclosures in integer arithmetic and rounded to the
wide side: a half-width never understates the noise. No value depends on data.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import exp, expm1, fsum, isqrt, log, log1p, sinh

from dprelease.kernel.distributions.intervals import enclose_exp_negative, enclose_log
from dprelease.kernel.distributions.tails import (
    enclose_outside,
    enclose_pair_outside,
    enclose_triple_outside,
    list_eulerian_numbers,
)
from dprelease.model import Noise, NoiseFamily

_GUARD = 64


def bound_tail(noise: Noise, value: int, bits: int = 128) -> tuple[Fraction, Fraction]:
    """Bound P(X >= value) = P(X <= -value) from below and from above, for value >= 1.

    A few 2^-bits apart, but for Gaussians with sigma^2 above 2500, where the lower bound is the
    normal tail from ``value`` and the upper one that from value - 1/2 (value - 1 within sigma).
    """
    if value < 1:
        raise ValueError("tails start at 1")
    return enclose_outside(noise, value - 1, bits).to_fractions(bits + 1)


def compute_noise_variance(noise: Noise) -> float:
    """Compute the variance in squared grid steps, as a float for display.

    Laplace: 2a/(1-a)^2 = 1/(2 sinh(1/(2s))^2). Staircase: sums of squares. Gaussian: just below
    sigma^2; the difference is beyond the precision of a float from sigma^2 = 3 on. Cube: that of
    one integer; those of a cell are uncorrelated.
    """
    if noise.family is NoiseFamily.NONE:
        return 0.0
    if noise.family is NoiseFamily.LAPLACE:
        half = 1 / (2 * noise.parameter)
        return 0.0 if half > 350 else 0.5 / sinh(half) ** 2
    if noise.family in _VARIANCES:
        return _VARIANCES[noise.family](noise)
    sigma2 = float(noise.parameter)
    if sigma2 > 3:
        return sigma2
    weights = [(k * k, exp(-k * k / (2 * sigma2))) for k in range(1, 40)] if sigma2 > 1e-3 else []
    return 2 * fsum(k * w for k, w in weights) / (1 + 2 * fsum(w for _, w in weights))


def _compute_cut_variance(noise: Noise) -> float:
    rate = float(1 / noise.parameter)
    weights = [exp(-place * rate) for place in range(1, noise.reach + 1)]
    squares = (place * place * weight for place, weight in enumerate(weights, start=1))
    return 2 * fsum(squares) / (1 + 2 * fsum(weights))


def _compute_cube_variance(noise: Noise) -> float:
    """Given the reach R an integer is uniform on -R, ..., R, with variance R (R + 1)/3.

    R is K and D + 1 geometric variables (``tails.CubeStart``), so mean and variance add up.
    """
    rate, number = float(1 / noise.parameter), noise.integers + 1
    if rate > 700:
        return 0.0
    logs = [
        log(count) - place * rate for place, count in enumerate(list_eulerian_numbers(number - 1))
    ]
    top = max(logs)
    chances = [exp(size - top) for size in logs]
    whole = fsum(chances)
    start = fsum(place * chance for place, chance in enumerate(chances)) / whole
    spread = fsum((place - start) ** 2 * chance for place, chance in enumerate(chances)) / whole
    mean = start + number / expm1(rate)
    spread += number / expm1(rate) / -expm1(-rate)
    return (spread + mean**2 + mean) / 3


def _compute_stairs_variance(noise: Noise) -> float:
    """Level n >= 1 holds r + (n-1) D + j, 0 <= j < D, with squares D^3 (n-1)^2 + 2 A D (n-1) + B.

    A and B are the sums of r + j and of its square. The sums over n of b^n times a power of n - 1
    are b/(1-b), b^2/(1-b)^2 and b^2 (1+b)/(1-b)^3. All of it over D^2, as floats have an end.
    """
    length, near = float(noise.stair), noise.first / noise.stair
    chance, last = exp(-noise.stair / noise.parameter), 1 / length
    weight, ahead = chance / (1 - chance), near + (1 - last) / 2
    squares = near**2 + near * (1 - last) + (1 - last) * (2 - last) / 6
    squares += weight * (2 * ahead + (1 + chance) / (1 - chance))
    squares = weight * squares + near * (near - last) * (2 * near - last) / 6
    return 2 * length**2 * squares / (2 * near - last + 2 * weight)


_VARIANCES = {
    NoiseFamily.CUT_LAPLACE: _compute_cut_variance,
    NoiseFamily.STAIRCASE: _compute_stairs_variance,
    NoiseFamily.CUBE: _compute_cube_variance,
}


@lru_cache(maxsize=256)
def find_halfwidth(noise: Noise, alpha: Fraction) -> int:
    """Find the smallest h >= 0 with P(|X| > h) <= alpha, in grid steps.

    For Laplace, a staircase, and Gaussian with sigma^2 up to 2500, the smallest; for wider
    Gaussians it comes from a bound by the normal law and may be larger by one. 0 < alpha, else
    ValueError.
    """
    if _is_trivial(noise, alpha):
        return 0
    bits = _GUARD + _count_bits(1 / alpha) + _count_bits(noise.parameter)
    return _find_least(
        lambda h: _is_at_most(enclose_outside(noise, h, bits).high, alpha, bits),
        _guess(noise, alpha),
    )


@lru_cache(maxsize=256)
def sum_halfwidth(noise: Noise, count: int, alpha: Fraction) -> int:
    """Find an h with P(|X_1 + ... + X_count| > h) <= alpha, for independent draws; count >= 1.

    None is known of several draws of a staircase, or of noise that is cut: ValueError.

    The smallest one for a single draw and for two or three Laplace draws; a Chernoff bound for
    more Laplace draws; for Gaussian ones the better of two bounds, see ``_bound_gaussian_sum``.
    """
    if count < 1:
        raise ValueError("a sum needs at least one draw")
    if count == 1 or _is_trivial(noise, alpha):
        return find_halfwidth(noise, alpha)
    if noise.family in {NoiseFamily.STAIRCASE, NoiseFamily.CUT_LAPLACE}:
        raise ValueError("sums of draws of a staircase, or of cut noise, are not bounded")
    if noise.family is NoiseFamily.GAUSSIAN:
        return _bound_gaussian_sum(noise.parameter, count, alpha)
    if count > 3:
        return _bound_laplace_sum(noise.parameter, count, alpha)
    bits = _GUARD + _count_bits(1 / alpha) + count * _count_bits(noise.parameter)
    enclose_several_outside = enclose_pair_outside if count == 2 else enclose_triple_outside
    return _find_least(
        lambda h: _is_at_most(enclose_several_outside(noise.parameter, h, bits).high, alpha, bits),
        _guess_several(noise.parameter, count, alpha),
    )


def _bound_laplace_sum(scale: Fraction, count: int, alpha: Fraction) -> int:
    """Chernoff: P(|S| >= t) <= 2 M(u)^count exp(-u t) for every u in (0, 1/s).

    M(u) = (1-a)^2/((1 - a e^u)(1 - a e^-u)). With u = v/s any v in (0, 1) is valid; v is chosen by
    the continuous law, where M = 1/(1 - v^2).
    """
    need = log(2) - _log(alpha)
    best = min(range(1, 20), key=lambda v: (need - count * log(1 - v * v / 400)) / v)
    v = Fraction(best, 20)
    bits = _GUARD + 2 * _count_bits(scale) + count.bit_length()
    middle, outer, inner = (
        enclose_exp_negative(exponent / scale, bits) for exponent in (Fraction(1), 1 - v, 1 + v)
    )
    one = 1 << bits
    moment = Fraction((one - middle.low) ** 2, (one - outer.high) * (one - inner.high))
    total = count * enclose_log(moment, bits).high + enclose_log(2 / alpha, bits).high
    start = Fraction(total, one) * scale / v
    return max(-(-start.numerator // start.denominator) - 1, 0)


def _bound_gaussian_sum(sigma2: Fraction, count: int, alpha: Fraction) -> int:
    """Return the smaller of two half-widths that are both valid.

    Subgaussian (CKS20): P(|S| >= t) <= 2 exp(-t^2/(2 n sigma2)).
    Comparison: P(S = k) <= r P(Y = k) with Y discrete Gaussian of parameter n sigma2. Proof by
    adding one draw to m - 1: completing the square, sum_j exp(-j^2/(2(m-1)s) - (k-j)^2/(2s)) is
    exp(-k^2/(2ms)) theta(c_k), theta(c) = sum_j exp(-(j-c)^2/(2t)), t = s(m-1)/m >= s/2; the
    normalising constants multiply to at least theta(1/2) times that of parameter ms, so each step
    costs at most theta(0)/theta(1/2), which is at most (1+q)/((1-q)(1-2q)) by Poisson's formula
    with q = exp(-2 pi^2 t) <= exp(-9.8 s) (theta is largest at 0 and least at 1/2 by the triple
    product). Then r is that to the power n - 1: 1.0002 for a pair at sigma2 = 1.
    """
    need = enclose_log(2 / alpha, _GUARD + _count_bits(1 / alpha)).high
    square = 2 * count * sigma2 * Fraction(need, 1 << _GUARD + _count_bits(1 / alpha))
    halfwidth_bound = isqrt(
        -(-square.numerator // square.denominator)
    )  # t is one more has t^2 >= square
    if sigma2 < Fraction(1, 5):
        return halfwidth_bound
    q = Fraction(enclose_exp_negative(sigma2 * 98 / 10, _GUARD).high, 1 << _GUARD)
    ratio = ((1 + q) / ((1 - q) * (1 - 2 * q))) ** (count - 1)
    wide = Noise(NoiseFamily.GAUSSIAN, count * sigma2)
    # A slightly smaller alpha with a short denominator.
    alpha = alpha / ratio
    bits = _GUARD + _count_bits(1 / alpha)
    alpha = Fraction((alpha.numerator << bits) // alpha.denominator, 1 << bits)
    return min(halfwidth_bound, find_halfwidth(wide, alpha))


def _find_least(holds: Callable[[int], bool], guess: int) -> int:
    """Find the smallest h >= 0 from which a statement holds: stride from a guess, then halve."""
    top, stride = max(guess, 0), 1
    while not holds(top):
        top, stride = top + stride, 2 * stride
    bottom, stride = top - 1, 1
    while bottom >= 0 and holds(bottom):
        top, bottom, stride = bottom, bottom - stride, 2 * stride
    bottom = max(bottom, -1)
    while top - bottom > 1:
        middle = (top + bottom) // 2
        top, bottom = (middle, bottom) if holds(middle) else (top, middle)
    return top


def _guess(noise: Noise, alpha: Fraction) -> int:
    """Guess where to start looking; any number is valid, a close one is quick."""
    if noise.family is not NoiseFamily.GAUSSIAN:
        ratio = exp(-1 / noise.parameter) if noise.parameter * 700 > 1 else 0.0
        logs = log(2) - _log(alpha) - log1p(ratio)
        return int(noise.parameter * Fraction(logs))
    # Imported here for start-up: it brings much along that only it needs.
    from statistics import NormalDist

    side = max(float(alpha / 2), 1e-300)
    normal = -NormalDist().inv_cdf(side)
    return int(Fraction(normal) * isqrt(int(noise.parameter * (1 << 120)))) >> 60


def _guess_several(scale: Fraction, count: int, alpha: Fraction) -> int:
    """Guess the half-width of a sum of two or three Laplace draws by iterating the continuous law.

    P(|X + Y| > x s) = exp(-x) (1 + x/2), P(|X + Y + Z| > x s) = exp(-x) (1 + 5x/8 + x^2/8).
    """
    wide = -_log(alpha)
    for _ in range(60):
        excess = wide / 2 if count == 2 else (5 * wide + wide * wide) / 8
        wide = log1p(excess) - _log(alpha)
    return int(scale * Fraction(wide))


def _is_trivial(noise: Noise, alpha: Fraction) -> bool:
    """Tell whether zero is the answer, once the arguments are found to make sense."""
    if alpha <= 0:
        raise ValueError("alpha is positive")
    if noise.family is not NoiseFamily.NONE and noise.parameter <= 0:
        raise ValueError("the parameter of a noise law is positive")
    return alpha >= 1 or noise.family is NoiseFamily.NONE


def _is_at_most(high: int, alpha: Fraction, bits: int) -> bool:
    """Tell whether high / 2^bits <= alpha."""
    return high * alpha.denominator <= alpha.numerator << bits


def _count_bits(value: Fraction) -> int:
    """Count the bits of the integer part."""
    return int(value).bit_length()


def _log(value: Fraction) -> float:
    """Compute the natural logarithm of any positive fraction, however small."""
    return log(value.numerator) - log(value.denominator)
