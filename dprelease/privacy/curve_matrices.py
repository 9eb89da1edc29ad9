"""Which integers of the bins of a column are released for a curve: matrices of integers.

*Waves.* A kernel K(t - c) is a sum of cosines of t - c, so of products of waves of t and of c.
Released are the waves of all records, each times the root of its weight in K. As cos^2 + sin^2 = 1
every column has the same length, and no linear release whose columns are as long has Gaussian noise
that moves the curve less in the sum of squares, but for ends and rounding: the noise has the kernel
as its covariance (Hall, Rinaldo and Wasserman, "Differential Privacy for Functions and Functional
Data", arXiv 1203.2570). Waves repeat after the bounds and ``MARGIN`` bandwidths, so that one end of
the bounds is not the neighbour of the other.

*Splines.* A record counts in a few neighbouring bins of ``SPACING`` bandwidths, in shares that add
up to 1: B-splines of degree ``DEGREE`` (de Boor, "A Practical Guide to Splines", 1978, chapter IX).
Their sums hold curves as smooth as a kernel but for 1/1000 of its height. In one bin alone, as
version 0.2 counted it, a record may be a third of a bandwidth off.

Entries are searched for in floats: what a record does to them is counted from the integers.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from itertools import count
from math import comb, factorial

from dprelease.model import AxisKind, AxisMatrix, CurveAxis

FINENESS = 1 << 12
"""The length of a column of waves before its entries are rounded; the sum of one of splines."""

MARGIN = 4
WIDTH = 0.625
"""Of the bins of version 0.2, in bandwidths."""
SPACING = 0.75
DEGREE = 6
_LEAST_WEIGHT = 1e-3


def build_waves(axis: CurveAxis) -> AxisMatrix:
    """Build the matrix of cosine and sine waves, for Gaussian noise.

    Every column has length ``FINENESS`` before its entries are rounded.

    Args:
        axis: The bins of the column, its bounds and the bandwidth of the kernel.

    Returns:
        A BASIS matrix: one row for each released integer, one column for each bin.
    """
    bandwidth = float(axis.bandwidth)
    period = float(axis.upper - axis.lower) + MARGIN * bandwidth
    angles = [2 * math.pi * float(centre - axis.lower) / period for centre in axis.centres]
    weights: list[float] = []
    for number in count():
        weight = math.exp(-((2 * math.pi * bandwidth * number / period) ** 2) / 2)
        if weight < _LEAST_WEIGHT:
            break
        weights.append(2 * weight if number else 1.0)
    whole = sum(weights)
    rows = []
    for number, weight in enumerate(weights):
        size = FINENESS * math.sqrt(weight / whole)
        rows.append(tuple(round(size * math.cos(number * angle)) for angle in angles))
        if number:
            rows.append(tuple(round(size * math.sin(number * angle)) for angle in angles))
    return AxisMatrix(AxisKind.BASIS, tuple(rows))


def build_bins(axis: CurveAxis) -> AxisMatrix:
    """Build the matrix of neighbouring bins that are counted together, for Laplace noise.

    Args:
        axis: The bins of the column, its bounds and the bandwidth of the kernel.

    Returns:
        A BASIS matrix: B-splines if the axis is ``smooth`` and has more bins than splines are
        needed, otherwise plain sums of neighbouring bins.
    """
    if axis.smooth and (number := _number(axis, SPACING)) < len(axis.centres):
        return build_splines(axis, number)
    return build_wide_bins(axis)


def _number(axis: CurveAxis, spacing: float) -> int:
    spans = float((axis.upper - axis.lower) / axis.bandwidth)
    return min(len(axis.centres), math.ceil(spans / spacing))


def build_wide_bins(axis: CurveAxis) -> AxisMatrix:
    """Add up neighbouring bins."""
    count_of_all = len(axis.centres)
    number = count_of_all if axis.smooth else _number(axis, WIDTH)
    places = [place * number // count_of_all for place in range(count_of_all)]
    return AxisMatrix(
        AxisKind.BASIS, tuple(tuple(int(at == row) for at in places) for row in range(number))
    )


@lru_cache(maxsize=64)
def build_splines(axis: CurveAxis, number: int) -> AxisMatrix:
    """Share every bin among ``number`` wide ones by B-splines; shares add up to ``FINENESS``."""
    span = axis.upper - axis.lower
    columns = []
    for centre, values in zip(axis.centres, axis.values, strict=True):
        middle = int((centre - axis.lower) / span * number * _WIDE)
        # A bin of several values counts as the mean of two points with the same variance.
        spread = math.isqrt((values**2 - 1) * int(axis.step / span * number * _WIDE) ** 2 // 12)
        column = [0] * number
        first = middle // _WIDE - DEGREE
        for wide in range(first, first + 2 * DEGREE + 1):
            from_middle = middle - wide * _WIDE - _WIDE // 2
            share = (
                _compute_spline(from_middle - spread) + _compute_spline(from_middle + spread)
            ) / 2
            # Mirror at the bounds what would lie beyond them, as the kernel does.
            mirrored = wide % (2 * number)
            column[min(mirrored, 2 * number - 1 - mirrored)] += round(FINENESS * share)
        # Rounding must not change the sum, so the largest share takes the difference.
        column[column.index(max(column))] += FINENESS - sum(column)
        columns.append(column)
    return AxisMatrix(AxisKind.BASIS, tuple(zip(*columns, strict=True)))


_WIDE = 1 << 30
"""Places in a wide bin are whole parts of this: integers are alike on all machines."""


def _compute_spline(distance: int) -> Fraction:
    """Evaluate the B-spline about 0 whose knots are ``_WIDE`` apart."""
    # It is the density of the sum of ``order`` independent uniform numbers.
    order = DEGREE + 1
    parts = (
        (-1) ** knot
        * comb(order, knot)
        * max(2 * distance + (order - 2 * knot) * _WIDE, 0) ** DEGREE
        for knot in range(order + 1)
    )
    return Fraction(sum(parts), factorial(DEGREE) * (2 * _WIDE) ** DEGREE)


def count_parts(matrix: AxisMatrix) -> int:
    """Count the parts into which the matrix divides a record.

    Args:
        matrix: A matrix of this module.

    Returns:
        1 if bins are counted whole, otherwise ``FINENESS``.
    """
    return 1 if max(map(max, matrix.entries)) == 1 else FINENESS
