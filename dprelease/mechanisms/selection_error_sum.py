"""How large a weighted sum of the errors of several selections may be, without a look at the data.

``Selection`` says how likely the error of one selection by the exponential mechanism is t or more,
given all selections before it, whatever the data are. With N candidates at distance t or more,
none heavier than exp(-rate t), beside G of weight that are nearer, that is at most

    N exp(-rate t)/(G + N exp(-rate t)).

G is at least 1: some candidate has distance 0. Where it is known that there is a candidate for
every rank (``dense``), G is also at least the sum of exp(-rate x) over ranks from the target
towards those far candidates: the integral of exp(-rate x) from 0 to t, (1 - exp(-rate t))/rate.

As the bound holds given the past, the errors are no larger than independent ones that follow the
bounds exactly (take the same uniform number for each pair). So a sum of them is found by
convolution: on a lattice, each error rounded up to its next point, in integers, and every
probability that an error is small rounded down. Errors that are small for their selection are
rounded up a lot, to where the lattice begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil

from dprelease.privacy.interval_arithmetic import exp_bounds, ln_bounds, round_down, round_up

_POINTS = 160
_BITS = 64  # of a probability
_ONE = 1 << _BITS
_LIKELY = 3
_FINE = 160  # bits of a weight exp(-rate t), which can be of one of 2^62 candidates


@dataclass(frozen=True, slots=True)
class Selection:
    """``others``: how many candidates there are but one; ``rate``: that of one rank."""

    others: int
    rate: Fraction
    dense: bool

    def beyond(self, decay: int) -> int:
        """P(error >= t) in units of 2^-64 from exp(-rate t) in those of 2^-160, both rounded up."""
        one = 1 << _FINE
        far, near = self.others * decay, one
        if self.dense:
            near = max(near, (one - decay) * self.rate.denominator // self.rate.numerator)
        return -(-(far << _BITS) // (near + far)) if far else 0

    def start(self) -> Fraction:
        """Where the lattice begins: most likely, the error is larger if the data are bad."""
        likely = self.others * (min(self.rate, Fraction(1)) if self.dense else 1)
        return round_down(max(_logarithm(likely) - _LIKELY, Fraction(0)) / self.rate)

    def reach(self, alpha: Fraction) -> Fraction:
        """A t that the error exceeds with a chance of at most alpha."""
        return round_up((_logarithm(self.others) + _logarithm(1 / alpha)) / self.rate)


def single(selection: Selection, apart: Fraction, alpha: Fraction) -> int:
    """The least whole h that the error exceeds with a chance of at most ``alpha``.

    ``apart``: an error above a whole number is above it by at least this.
    """
    low, high = -1, ceil(selection.reach(alpha))
    while high - low > 1:
        middle = (low + high) // 2
        decay = _decay(selection.rate * (middle + apart))
        if selection.beyond(decay) * alpha.denominator <= alpha.numerator << _BITS:
            high = middle
        else:
            low = middle
    return high


def several(parts: Sequence[tuple[Fraction, Selection]], alpha: Fraction) -> Fraction:
    """What the sum of weight times error exceeds with a chance of at most ``alpha``."""
    shared = alpha / len(parts)
    least = sum((weight * each.start() for weight, each in parts), Fraction(0))
    widest = sum((weight * each.reach(shared) for weight, each in parts), Fraction(0))
    step = round_up((widest - least) / _POINTS)
    law = [_ONE]
    for weight, each in parts:
        if weight:
            law = _added(law, _rounded(each, step / weight))
    found = 0
    for place, chance in enumerate(law):
        found += chance
        if found * alpha.denominator >= (alpha.denominator - alpha.numerator) << _BITS:
            return min(least + place * step, widest)
    return widest


def _rounded(selection: Selection, step: Fraction) -> list[int]:
    """The law of the error above its start, in steps, rounded up to whole ones."""
    factor = _decay(selection.rate * step)
    law, before, decay = [], _ONE, _decay(selection.rate * selection.start())
    for _ in range(_POINTS + 1):
        beyond = min(before, selection.beyond(decay))
        law.append(before - beyond)
        before, decay = beyond, -(-decay * factor >> _FINE)
    return law


def _added(one: list[int], other: list[int]) -> list[int]:
    """The law of the sum of two independent numbers, as far as the lattice goes.

    By one product of two long integers, in which every coefficient has room enough.
    """
    size = 2 * _BITS // 8 + 2
    first, second = (
        int.from_bytes(b"".join(each.to_bytes(size, "little") for each in law), "little")
        for law in (one, other)
    )
    length = (len(one) + len(other)) * size
    product = (first * second).to_bytes(length, "little")
    count = min(_POINTS + 1, len(one) + len(other) - 1)
    return [
        int.from_bytes(product[place * size : (place + 1) * size], "little") >> _BITS
        for place in range(count)
    ]


@lru_cache(maxsize=1024)
def _logarithm(value: Fraction | int) -> Fraction:
    """Ln of a number from 1 on, rounded up; 0 of any below."""
    return ln_bounds(Fraction(value))[1] if value > 1 else Fraction(0)


def _decay(exponent: Fraction) -> int:
    """exp(-exponent) in units of 2^-160, rounded up."""
    high = exp_bounds(-exponent)[1]
    return min(-(-(high.numerator << _FINE) // high.denominator), 1 << _FINE)
