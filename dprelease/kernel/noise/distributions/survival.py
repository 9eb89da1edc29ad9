"""Survival probabilities of two laws on the integers, enclosed to any number of bits.

Integers are numbered 0, -1, 1, -2, 2, ... (``decode``), so that small indices are the likely ones.
``survivals(bits)`` gives for j = 1, 2, ..., n enclosures of S_j = P(index >= j) at ``bits``, up to
the first that may be below one unit. Of later ones it is only known that they are no larger.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

from dprelease.kernel.noise.distributions.interval_arithmetic import (
    Interval,
    divide,
    enclose,
    exp_negative,
    multiply,
)

_GUARD = 64  # extra bits for the rounding of a few thousand operations


class Survivals(Protocol):
    """A law on the indices 0, 1, 2, ..."""

    def survivals(self, bits: int) -> list[Interval]:
        """Enclosures of P(index >= j), j = 1 up to the first that may be below one unit."""
        ...


def decode(index: int) -> int:
    """The integer numbered ``index``: 0, 1, 2, 3, 4 are 0, -1, 1, -2, 2."""
    return ~(index >> 1) if index & 1 else index >> 1


@dataclass(frozen=True, slots=True)
class SignedGeometric:
    """Sign and coarse magnitude of a discrete Laplace variable.

    With a = exp(-1/scale) and A = exp(-block/scale): integer t >= 0 has probability
    (1 - A) A^t/(1 + a), integer t < 0 has (1 - A) A^(-1-t) a/(1 + a). So the index is at least 2m
    with probability A^m, and at least 2m+1 with probability A^m (a + A)/(1 + a).
    With block 1 this is the discrete Laplace law itself.
    """

    scale: Fraction
    block: int

    def survivals(self, bits: int) -> list[Interval]:
        """See the module."""
        work = bits + _GUARD
        one = 1 << work
        fine = exp_negative(1 / self.scale, work)
        ratio = exp_negative(self.block / self.scale, work)
        odd = divide(
            Interval(fine.low + ratio.low, fine.high + ratio.high),
            Interval(one + fine.low, one + fine.high),
            work,
        )
        power = Interval(one, one)
        enclosures: list[Interval] = []
        while not enclosures or enclosures[-1].high > 1:
            enclosures.append(multiply(power, odd, work).shifted(_GUARD))
            power = multiply(power, ratio, work)
            enclosures.append(power.shifted(_GUARD))
        return enclosures


@dataclass(frozen=True, slots=True)
class SignedGaussian:
    """Sign and magnitude m with weight exp(-m^2/(2 sigma2)).

    ``two_zeros`` False: the discrete Gaussian law, integer t has m = |t|. True: integer t < 0 has
    m = -1-t, so that zero has both signs (the negative one is rejected later, once it is known).
    """

    sigma2: Fraction
    two_zeros: bool

    def survivals(self, bits: int) -> list[Interval]:
        """See the module: suffix sums of the weights over the sum of all."""
        work = bits + _GUARD
        weights, rest = gaussian_weights(self.sigma2, work)
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
            enclosures.append(divide(weight, total, work).shifted(_GUARD))
            if enclosures[-1].high <= 1:
                break
        return enclosures


@lru_cache(maxsize=32)
def gaussian_weights(sigma2: Fraction, bits: int) -> tuple[tuple[Interval, ...], int]:
    """exp(-m^2/(2 sigma2)) for m = 0, ..., M at ``bits``, and an upper bound of the sum beyond M.

    w(m+1) = w(m) r(m) with r(m) = exp(-(2m+1)/(2 sigma2)) = r(m-1) exp(-1/sigma2). Stops when w(M)
    is about a unit. The rest: w(M+i) <= w(M) exp(-i M/sigma2), whose sum over i >= 1 is
    w(M)/(exp(M/sigma2) - 1) <= w(M) sigma2/M.
    """
    one = 1 << bits
    weight = Interval(one, one)
    ratio = exp_negative(1 / (2 * sigma2), bits)
    shrink = exp_negative(1 / sigma2, bits)
    weights = [weight]
    # In fixed point the upper ends stop shrinking at a unit or two: that is where to stop.
    while weight.high > 2 or len(weights) < 2:
        weight = multiply(weight, ratio, bits)
        ratio = multiply(ratio, shrink, bits)
        weights.append(weight)
    last = len(weights) - 1
    rest = enclose(weight.high * sigma2 / last, 0).high
    return tuple(weights), rest
