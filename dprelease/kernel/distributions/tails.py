"""Probabilities of the exact laws, enclosed in integer arithmetic (standard library only).

All enclosures are ``Interval`` at the ``bits`` asked for. Gaussians with sigma^2 up to 2500 are
summed term by term; wider ones are compared with the normal law:

    With f(k) = exp(-k^2/(2 sigma^2)), Poisson's formula gives the sum of all f(k) as
    Z = sqrt(2 pi sigma^2) (1 + 2 sum_n q^(n n)), q = exp(-2 pi^2 sigma^2), n >= 1, so
    sqrt(2 pi sigma^2) <= Z <= sqrt(2 pi sigma^2) (1 + 4 q). f falls for k >= 0, so
    the sum from t >= 1 lies between the integrals from t and from t - 1, and, f being convex
    beyond sigma, below the integral from t - 1/2 once t - 1/2 >= sigma (each f(k) is at most its
    mean over a unit interval around k). Hence P(|N| >= t)/(1 + 4 q) <= P(|X| >= t) <=
    P(|N| >= t - 1), or t - 1/2.  (Compare proposition 25 of CKS20, arXiv 2004.00010.)

For inversion integers are numbered 0, -1, 1, -2, 2, ... (``decode``), so that small indices are the
likely ones. ``survivals(bits)`` gives for j = 1, 2, ..., n enclosures of S_j = P(index >= j) at
``bits``, up to the first that may be below one unit. Later ones are known to be no larger.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import Protocol

from msgspec import Struct

from dprelease.kernel.distributions.intervals import (
    Interval,
    divide,
    enclose,
    enclose_exp_negative,
    enclose_normal_outside,
    enclose_pi,
    enclose_sqrt,
    multiply,
)
from dprelease.model import Noise, NoiseFamily

_GUARD = 64  # extra bits for the rounding of a few thousand operations


class Survivals(Protocol):
    """A law on the indices 0, 1, 2, ..."""

    def list_survivals(self, bits: int) -> list[Interval]:
        """Enclose P(index >= j) for j = 1 up to the first that may be below one unit."""
        ...


def decode(index: int) -> int:
    """Decode the integer numbered ``index``: 0, 1, 2, 3, 4 are 0, -1, 1, -2, 2."""
    return ~(index >> 1) if index & 1 else index >> 1


class SignedGeometric(Struct, frozen=True):
    """Sign and coarse magnitude of a discrete Laplace variable.

    With a = exp(-1/scale) and A = exp(-block/scale): integer t >= 0 has probability
    (1 - A) A^t/(1 + a), integer t < 0 has (1 - A) A^(-1-t) a/(1 + a). So the index is at least 2m
    with probability A^m, and at least 2m+1 with probability A^m (a + A)/(1 + a).
    With block 1 this is the discrete Laplace law itself.
    """

    scale: Fraction
    block: int

    def list_survivals(self, bits: int) -> list[Interval]:
        """Enclose P(index >= j) for j = 1 up to the first that may be below one unit."""
        work = bits + _GUARD
        one = 1 << work
        fine = enclose_exp_negative(1 / self.scale, work)
        ratio = enclose_exp_negative(self.block / self.scale, work)
        odd = divide(
            Interval(fine.low + ratio.low, fine.high + ratio.high),
            Interval(one + fine.low, one + fine.high),
            work,
        )
        power = Interval(one, one)
        enclosures: list[Interval] = []
        while not enclosures or enclosures[-1].high > 1:
            enclosures.append(multiply(power, odd, work).shift(_GUARD))
            power = multiply(power, ratio, work)
            enclosures.append(power.shift(_GUARD))
        return enclosures


class SignedStairs(Struct, frozen=True):
    """Sign and stair of a variable of a staircase, whose noise this is.

    With b = exp(-stair/s) and D = stair: of the integers t >= 0 ``first`` have level 0, of the
    integers t < 0 one fewer, and of either D have each level from 1 on. Integer t >= 0 stands for
    level t of the former, t < 0 for level -1-t of the latter. With W = (2 first - 1)(1-b) + 2Db
    the index is at least 1 with probability ((first - 1)(1-b) + 2Db)/W, at least 2m with
    2D b^m/W, and at least 2m+1 with D b^m (1+b)/W, for m >= 1.
    """

    noise: Noise

    def list_survivals(self, bits: int) -> list[Interval]:
        """Enclose P(index >= j) for j = 1 up to the first that may be below one unit."""
        work = bits + _GUARD + self.noise.stair.bit_length()
        one, spare = 1 << work, work - bits
        ratio = enclose_exp_negative(self.noise.stair / self.noise.parameter, work)
        whole = _enclose_stairs(2 * self.noise.first - 1, ratio, self.noise, work)
        power = divide(_enclose_stairs(0, ratio, self.noise, work), whole, work)
        odd = divide(_enclose_stairs(self.noise.first - 1, ratio, self.noise, work), whole, work)
        half = Interval(one + ratio.low, one + ratio.high).shift(1)
        enclosures: list[Interval] = []
        while not enclosures or enclosures[-1].high > 1:
            enclosures += [odd.shift(spare), power.shift(spare)]
            odd, power = multiply(power, half, work), multiply(power, ratio, work)
        return enclosures


def _enclose_stairs(number: int, ratio: Interval, noise: Noise, bits: int) -> Interval:
    """Enclose ``number`` (1-b) + 2Db, b the ratio from one stair to the next, D its length."""
    one, double_stair = 1 << bits, 2 * noise.stair
    return Interval(
        number * (one - ratio.high) + double_stair * ratio.low,
        number * (one - ratio.low) + double_stair * ratio.high,
    )


class SignedGaussian(Struct, frozen=True):
    """Sign and magnitude m with weight exp(-m^2/(2 sigma2)).

    ``two_zeros`` False: the discrete Gaussian law, integer t has m = |t|. True: integer t < 0 has
    m = -1-t, so that zero has both signs (the negative one is rejected later, once it is known).
    """

    sigma2: Fraction
    two_zeros: bool

    def list_survivals(self, bits: int) -> list[Interval]:
        """Enclose P(index >= j) for j = 1 up to the first that may be below one unit."""
        work = bits + _GUARD
        weights, rest = enclose_gaussian_weights(self.sigma2, work)
        ordered = [weight for weight in weights for _ in range(2)]
        if not self.two_zeros:
            del ordered[0]
        low, high = 0, 2 * rest
        suffix: list[Interval] = []
        for weight in reversed(ordered):
            low, high = low + weight.low, high + weight.high
            suffix.append(Interval(low, high))
        total = suffix.pop()
        enclosures: list[Interval] = []
        for weight in reversed(suffix):
            enclosures.append(divide(weight, total, work).shift(_GUARD))
            if enclosures[-1].high <= 1:
                break
        return enclosures


@lru_cache(maxsize=32)
def enclose_gaussian_weights(sigma2: Fraction, bits: int) -> tuple[tuple[Interval, ...], int]:
    """Enclose exp(-m^2/(2 sigma2)) for m = 0, ..., M at ``bits``, and bound the sum beyond M.

    w(m+1) = w(m) r(m) with r(m) = exp(-(2m+1)/(2 sigma2)) = r(m-1) exp(-1/sigma2). Stops when w(M)
    is about a unit. The rest: w(M+i) <= w(M) exp(-i M/sigma2), whose sum over i >= 1 is
    w(M)/(exp(M/sigma2) - 1) <= w(M) sigma2/M.
    """
    one = 1 << bits
    weight = Interval(one, one)
    ratio = enclose_exp_negative(1 / (2 * sigma2), bits)
    shrink = enclose_exp_negative(1 / sigma2, bits)
    weights = [weight]
    # In fixed point the upper ends stop shrinking at a unit or two: that is where to stop.
    while weight.high > 2 or len(weights) < 2:
        weight = multiply(weight, ratio, bits)
        ratio = multiply(ratio, shrink, bits)
        weights.append(weight)
    last = len(weights) - 1
    rest = enclose(weight.high * sigma2 / last, 0).high
    return tuple(weights), rest


class CubeStart(Struct, frozen=True):
    """What is added to geometric variables to make the reach of CUBE noise of this scale.

    *The reach.* Let z be uniform on {-R, ..., R}^D given an integer R >= 0 with probability
    proportional to q^R (2R+1)^D, q = exp(-1/scale). Then P(z) is proportional to the sum of q^R
    over R >= max abs(z_i), so to q^(max abs(z_i)): that is the law of the noise. (The K-norm
    mechanism of the cube, Hardt and Talwar 2010, arXiv 0907.3754, sampled as there by a radius and
    a point inside, here on integers.)

    *Its parts.* F_D(x) = sum of (2r+1)^D x^r is P_D(x)/(1-x)^(D+1), with P_0 = 1 and, as F_D is
    2x F_(D-1)' + F_(D-1), P_D = (1-x)(P_(D-1) + 2x P_(D-1)') + 2D x P_(D-1). So its coefficients,
    the Eulerian numbers of type B (Brenti 1994), are

        B(D, k) = (2k+1) B(D-1, k) + (2(D-k)+1) B(D-1, k-1),  0 <= k <= D,

    and none is negative. R has the generating function F_D(qx)/F_D(q), which is the product of
    P_D(qx)/P_D(q) and of ((1-q)/(1-qx))^(D+1). So R is K and D+1 geometric variables of ratio q,
    all independent, where K is k with probability B(D, k) q^k/P_D(q): the law of this class.
    """

    scale: Fraction
    integers: int

    def list_survivals(self, bits: int) -> list[Interval]:
        """Enclose P(K >= j) for j = 1 up to the first that may be below one unit."""
        numbers = list_eulerian_numbers(self.integers)
        # The rounding of a power is below a unit for each factor, and is multiplied by a number.
        spare = _GUARD + sum(numbers).bit_length()
        work = bits + spare
        power = Interval(1 << work, 1 << work)
        ratio = enclose_exp_negative(1 / self.scale, work)
        weights: list[Interval] = []
        for number in numbers:
            weights.append(Interval(number * power.low, number * power.high))
            power = multiply(power, ratio, work)
        lows = list(accumulate(weight.low for weight in reversed(weights)))
        highs = list(accumulate(weight.high for weight in reversed(weights)))
        total = Interval(lows.pop(), highs.pop())
        enclosures: list[Interval] = []
        for low, high in zip(reversed(lows), reversed(highs), strict=True):
            enclosure = divide(Interval(low, high), total, work).shift(spare)
            enclosures.append(Interval(enclosure.low, min(enclosure.high, 1 << bits)))
            if enclosure.high <= 1:
                return enclosures
        return [*enclosures, Interval(0, 1)]


@lru_cache(maxsize=32)
def list_eulerian_numbers(integers: int) -> tuple[int, ...]:
    """List B(D, k) for k = 0, ..., D, as ``CubeStart`` defines them."""
    numbers = [1]
    for size in range(1, integers + 1):
        pairs = enumerate(zip([*numbers, 0], [0, *numbers], strict=True))
        numbers = [
            (2 * k + 1) * same + (2 * (size - k) + 1) * before for k, (same, before) in pairs
        ]
    return tuple(numbers)


# --- tails ----------------------------------------------------------------------------------------

SUMMED = 2500


def enclose_outside(noise: Noise, halfwidth: int, bits: int) -> Interval:
    """P(|X| > halfwidth) for halfwidth >= 0. Laplace: 2 a^(h+1)/(1+a) with a = exp(-1/s).

    Cut at k: 2 (a^(h+1) - a^(k+1))/(1 + a - 2 a^(k+1)), and 0 from h = k on.
    """
    if halfwidth < 0:
        raise ValueError("a half-width is not negative")
    if noise.family is NoiseFamily.NONE:
        return Interval(0, 0)
    if noise.family is NoiseFamily.CUT_LAPLACE:
        return _enclose_cut_outside(noise, halfwidth, bits)
    if noise.family is NoiseFamily.LAPLACE:
        one = 1 << bits
        ratio = enclose_exp_negative(1 / noise.parameter, bits)
        power = enclose_exp_negative((halfwidth + 1) / noise.parameter, bits)
        below = Interval(one + ratio.low, one + ratio.high)
        return divide(Interval(2 * power.low, 2 * power.high), below, bits)
    if noise.family is NoiseFamily.STAIRCASE:
        return _enclose_stairs_outside(noise, halfwidth, bits)
    if noise.parameter > SUMMED:
        return _compare_normal(noise.parameter, halfwidth, bits)
    tails = _sum_outside(noise.parameter, bits)
    return tails[halfwidth] if halfwidth < len(tails) else Interval(0, tails[-1].high)


def _enclose_cut_outside(noise: Noise, halfwidth: int, bits: int) -> Interval:
    if halfwidth >= noise.reach:
        return Interval(0, 0)
    # Their difference loses as many digits as the scale has.
    work = bits + _GUARD + int(noise.parameter).bit_length()
    one, spare = 1 << work, work - bits
    ratio = enclose_exp_negative(1 / noise.parameter, work)
    power = enclose_exp_negative((halfwidth + 1) / noise.parameter, work)
    last = enclose_exp_negative((noise.reach + 1) / noise.parameter, work)
    beyond = Interval(2 * (power.low - last.high), 2 * (power.high - last.low))
    whole = Interval(one + ratio.low - 2 * last.high, one + ratio.high - 2 * last.low)
    return divide(beyond, whole, work).shift(spare)


def _enclose_stairs_outside(noise: Noise, halfwidth: int, bits: int) -> Interval:
    """Enclose b^n (2 (e - t)(1-b) + 2Db)/W, with t = h + 1 on level n, which ends at e."""
    start = halfwidth + 1
    level = (start + noise.stair - noise.first) // noise.stair
    rest = noise.first + level * noise.stair - start
    spare = noise.stair.bit_length()
    work = bits + spare
    ratio = enclose_exp_negative(noise.stair / noise.parameter, work)
    power = enclose_exp_negative(level * noise.stair / noise.parameter, work)
    beyond = multiply(power, _enclose_stairs(2 * rest, ratio, noise, work), work)
    whole = _enclose_stairs(2 * noise.first - 1, ratio, noise, work)
    return divide(beyond, whole, work).shift(spare)


def enclose_pair_outside(scale: Fraction, halfwidth: int, bits: int) -> Interval:
    """P(|X + Y| > h) for two independent discrete Laplace variables, h >= 0.

    Convolution gives P(X + Y = k) = c^2 a^k (k + 1 + 2 a^2/(1 - a^2)), c = (1-a)/(1+a), k >= 0.
    Summed from t = h + 1 and doubled: 2 a^t (t (1-a) + 1 + 2 a^2/(1+a))/(1+a)^2.
    """
    one, start = 1 << bits, halfwidth + 1
    ratio = enclose_exp_negative(1 / scale, bits)
    power = enclose_exp_negative(start / scale, bits)
    plus = Interval(one + ratio.low, one + ratio.high)
    extra = divide(multiply(ratio, ratio, bits), plus, bits)
    factor = Interval(
        start * (one - ratio.high) + one + 2 * extra.low,
        start * (one - ratio.low) + one + 2 * extra.high,
    )
    product = multiply(Interval(2 * power.low, 2 * power.high), factor, bits)
    return divide(divide(product, plus, bits), plus, bits)


def enclose_triple_outside(scale: Fraction, halfwidth: int, bits: int) -> Interval:
    """P(|X + Y + Z| > h) for three independent discrete Laplace variables, h >= 0.

    Each is the difference of two geometric variables, so that with b = a^2 and k >= 0
    P(X + Y + Z = k) = (1-a)^6 a^k sum over j of C(j+2,2) C(j+k+2,2) b^j
    = a^k (1-a)/(1+a)^5 (1 + 4b + b^2 + 3k (1-b^2)/2 + k^2 (1-b)^2/2).
    Summed from t = h + 1, with x = t (1-a), and doubled it is a^t/(1+a)^5 times
    2 + 8b + 2b^2 + 3 (1+a)(1+b)(x + a) + (1+a)^2 (x^2 + 2ax + a (1+a)).
    """
    one, start = 1 << bits, halfwidth + 1
    ratio = enclose_exp_negative(1 / scale, bits)
    power = enclose_exp_negative(start / scale, bits)
    plus = Interval(one + ratio.low, one + ratio.high)
    reach = Interval(start * (one - ratio.high), start * (one - ratio.low))
    square = multiply(ratio, ratio, bits)
    square_plus_one = Interval(one + square.low, one + square.high)
    shifted = Interval(reach.low + ratio.low, reach.high + ratio.high)
    first = multiply(square, square, bits)
    second = multiply(multiply(plus, square_plus_one, bits), shifted, bits)
    crossed = multiply(ratio, Interval(2 * reach.low + plus.low, 2 * reach.high + plus.high), bits)
    beyond = multiply(reach, reach, bits)
    third = multiply(
        multiply(plus, plus, bits),
        Interval(beyond.low + crossed.low, beyond.high + crossed.high),
        bits,
    )
    enclosure = multiply(
        power,
        Interval(
            2 * one + 8 * square.low + 2 * first.low + 3 * second.low + third.low,
            2 * one + 8 * square.high + 2 * first.high + 3 * second.high + third.high,
        ),
        bits,
    )
    for _ in range(5):
        enclosure = divide(enclosure, plus, bits)
    return enclosure


@lru_cache(maxsize=32)
def _enclose_total(sigma2: Fraction, bits: int) -> Interval:
    """Enclose the sum of all weights exp(-k^2/(2 sigma2))."""
    if sigma2 <= SUMMED:
        weights, rest = enclose_gaussian_weights(sigma2, bits)
        low = 2 * sum(interval.low for interval in weights) - weights[0].low
        high = 2 * sum(interval.high for interval in weights) - weights[0].high
        return Interval(low, high + 2 * rest)
    root = enclose_sqrt(multiply(enclose_pi(bits), enclose(2 * sigma2, bits), bits), bits)
    return Interval(root.low, multiply(root, _enclose_poisson_excess(sigma2, bits), bits).high)


@lru_cache(maxsize=32)
def _sum_outside(sigma2: Fraction, bits: int) -> tuple[Interval, ...]:
    """P(|X| > h) for h = 0, 1, ... up to the last summed weight."""
    work = bits + _GUARD
    total = _enclose_total(sigma2, work)
    weights, rest = enclose_gaussian_weights(sigma2, work)
    lows = accumulate((2 * interval.low for interval in reversed(weights[1:])), initial=0)
    highs = accumulate((2 * interval.high for interval in reversed(weights[1:])), initial=2 * rest)
    suffixes = [Interval(low, high) for low, high in zip(lows, highs, strict=True)]
    return tuple(divide(interval, total, work).shift(_GUARD) for interval in reversed(suffixes))


def _compare_normal(sigma2: Fraction, halfwidth: int, bits: int) -> Interval:
    """P(|X| > halfwidth) for a large sigma2 from the normal law, see the module."""
    start = Fraction(halfwidth + 1)
    convex = (start - Fraction(1, 2)) ** 2 >= sigma2
    above = start - (Fraction(1, 2) if convex else 1)
    inner = enclose_normal_outside(start * start / sigma2, bits)
    low = divide(inner, _enclose_poisson_excess(sigma2, bits), bits).low
    return Interval(low, enclose_normal_outside(above * above / sigma2, bits).high)


def _enclose_poisson_excess(sigma2: Fraction, bits: int) -> Interval:
    """Between 1 and 1 + 4 exp(-19 sigma2), which is above 1 + 4 exp(-2 pi^2 sigma2)."""
    one = 1 << bits
    return Interval(one, one + 4 * enclose_exp_negative(19 * sigma2, bits).high)
