"""Which integers of the bins of a column are released for a curve: matrices of integers.

*Waves.* A kernel K(t - c) is a sum of cosines of t - c, so of products of waves of t and of c.
Released are the waves of all records, each times the root of its weight in K. As cos^2 + sin^2 = 1
every column has the same length, and no linear release whose columns are as long has Gaussian noise
that moves the curve less in the sum of squares, but for ends and rounding: the noise has the kernel
as its covariance (Hall, Rinaldo and Wasserman, "Differential Privacy for Functions and Functional
Data", arXiv 1203.2570). Waves repeat after the bounds and ``MARGIN`` bandwidths, so that one end of
the bounds is not the neighbour of the other.

*Wide bins.* Released are the numbers of records in bins of ``WIDTH`` bandwidths at most.

Entries are searched for in floats: what a record does to them is counted from the integers.
"""

from __future__ import annotations

import math
from itertools import count

from dprelease.model import AxisKind, AxisMatrix, CurveAxis

FINENESS = 1 << 12
"""The length of a column of waves, before its entries are rounded."""

MARGIN = 4
WIDTH = 0.625
_LEAST_WEIGHT = 1e-3


def waves(axis: CurveAxis) -> AxisMatrix:
    """Mix the bins by waves, for Gaussian noise."""
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


def wide_bins(axis: CurveAxis) -> AxisMatrix:
    """Add up neighbouring bins, for Laplace noise."""
    bins = len(axis.centres)
    spans = float((axis.upper - axis.lower) / axis.bandwidth)
    number = min(bins, math.ceil(spans / WIDTH))
    places = [place * number // bins for place in range(bins)]
    return AxisMatrix(
        AxisKind.BASIS, tuple(tuple(int(at == row) for at in places) for row in range(number))
    )
