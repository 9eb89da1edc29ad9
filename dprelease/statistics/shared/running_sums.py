"""Running sums of noisy counts along an order, and how large their errors are.

The counts x of the labels are released with noise of their own each: then the sum of the first j
has j draws. Or they are released mixed, as y = C x. C is a lower triangular Toeplitz matrix of
integers; its first column is 1,024 times the coefficients 1, 1/2, 3/8, 5/16, ... of (1 - z)^(-1/2),
rounded. The matrix of running sums, 1/(1 - z), is about the square of that. So applying C^-1 and
adding up gives figures whose noise grows with the logarithm of the number of rows, where that of
single counts grows with its square root (Henzinger, Upadhyay and Upadhyay, "Almost Tight Error
Bounds on Differentially Private Continual Counting", arXiv 2211.05006; Fichtenberger, Henzinger and
Upadhyay, "Constant matters", arXiv 2202.11205). A record adds a column of C to y; the planner and
certify compute its length from its integers.

The figure j is the sum of g_k y_(j-k), with g the coefficients of 1/((1 - z) c(z)). They are kept
in steps of 2^-160, which moves a figure below 2^60 by less than 2^-80; figures are rounded to whole
numbers. Half-widths are then those of the normal law, with the distance of at most 1 by which each
discrete draw can be coupled with a normal one, ``intervals.noise_mixture``. Those of sums of
single counts come of their own law, ``intervals.combined_noise``.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

from msgspec import Struct

from dprelease.model import AxisKind, AxisMatrix, Noise, NoiseFamily, Step
from dprelease.postprocess.intervals.combined_noise import (
    Part,
    combine_parts,
    compute_combined_halfwidth,
)
from dprelease.postprocess.intervals.noise_mixture import bound_normal_halfwidth

SCALE = 1 << 10
_BITS = 160
Column = tuple[int, ...]


def build_matrix(labels: int) -> AxisMatrix:
    """Build the matrix C for so many labels."""
    column, exact = [], Fraction(SCALE)
    for place in range(1, labels + 1):
        column.append(round(exact))
        exact *= Fraction(2 * place - 1, 2 * place)
    return AxisMatrix(AxisKind.RUNNING, (tuple(column),))


class RunningSums(Struct, frozen=True):
    """The reader of one block of rows: ``labels`` in order, equal in all other groups.

    ``column`` is the first column of C; it is empty where counts are released as they are.
    """

    labels: int
    column: Column = ()

    def read(self, block: Sequence[int]) -> list[int]:
        """Compute the sums along the order from the noisy integers of the labels."""
        if not self.column:
            return list(accumulate(block))
        factors = _compute_factors(self.column)
        # Adding a half before the shift rounds to nearest.
        half = 1 << _BITS - 1
        return [
            (sum(factors[at - place] * block[place] for place in range(at + 1)) + half) >> _BITS
            for at in range(self.labels)
        ]

    def spread(self) -> Fraction:
        """Compute the mean variance of the sums, in units of that of one draw."""
        if not self.column:
            return Fraction(self.labels + 1, 2)
        squares = accumulate(factor * factor for factor in _compute_factors(self.column))
        return Fraction(sum(squares), self.labels << 2 * _BITS)

    def compute_halfwidth(self, noise: Noise, count: int, alpha: Fraction) -> int:
        """Bound the noise of the first ``count`` labels' sum, but for a chance of alpha."""
        if not self.column:
            half = compute_combined_halfwidth(
                combine_parts([Part(noise, Fraction(1), _round_up_draws(count))]), alpha
            )
            return half.numerator // half.denominator
        whole = _compute_mixed_halfwidth(
            noise, _compute_factors(self.column)[:count], alpha
        ) + Fraction(1, 2)
        return whole.numerator // whole.denominator

    def balance_half(self, noise: Noise, count: int, q: Fraction, alpha: Fraction) -> Fraction:
        """Bound the noise of the first ``count`` labels' sum less q times that of all."""
        if not self.column:
            # The first labels enter with 1 - q, the others with -q.
            below, above = _round_up_draws(count), _round_up_draws(self.labels - count)
            return compute_combined_halfwidth(
                combine_parts([Part(noise, 1 - q, below), Part(noise, q, above)]), alpha
            )
        factors = _compute_factors(self.column)
        a, b = q.numerator, q.denominator
        weights = [
            b * (factors[count - 1 - place] if place < count else 0)
            - a * factors[self.labels - 1 - place]
            for place in range(self.labels)
        ]
        return _compute_mixed_halfwidth(noise, weights, alpha) / b + (1 + q) / 2


def _round_up_draws(draws: int) -> int:
    """Round a number of draws up, by at most a 64th."""
    # Only few different numbers of draws are then looked up in the cached laws.
    rough = max(draws.bit_length() - 7, 0)
    return -(-draws >> rough) << rough


def read_running_sums(step: Step) -> RunningSums:
    """Read from a step how its last group is released."""
    labels = len(step.query.groups[-1].labels)
    if not step.axes:
        return RunningSums(labels)
    (column,) = step.axes[-1].entries
    return RunningSums(labels, column)


@lru_cache(maxsize=16)
def _compute_factors(column: Column) -> Column:
    """Compute the coefficients g in steps of 2^-_BITS: the inverse of the series c, added up."""
    inverse: list[int] = []
    for place in range(len(column)):
        rest = (1 << _BITS if place == 0 else 0) - sum(
            column[before] * inverse[place - before] for before in range(1, place + 1)
        )
        inverse.append((2 * rest + column[0]) // (2 * column[0]))
    return tuple(accumulate(inverse))


def _compute_mixed_halfwidth(noise: Noise, weights: Sequence[int], alpha: Fraction) -> Fraction:
    """Compute the half-width of the sum of draws with these weights, in steps of 2^-_BITS."""
    if noise.family is NoiseFamily.NONE:
        return Fraction(0)
    squares = Fraction(sum(weight * weight for weight in weights), 1 << 2 * _BITS)
    whole = Fraction(sum(map(abs, weights)), 1 << _BITS)
    return bound_normal_halfwidth(noise, squares, whole, 1 - alpha)
