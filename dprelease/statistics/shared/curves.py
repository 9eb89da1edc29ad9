"""Curves of a column: which integers of its bins are released, and how a figure is read of them.

*The curve.* A record in a bin with centre c adds to the density at t the kernel K(t - c), a normal
density with the bandwidth h as its standard deviation, and K(t + c - 2a), K(2b - t - c), what of it
would lie beyond the bounds a and b, put back: all of it integrates to 1 over the bounds.

*Waves.* K(t - c) is a sum of cosines of t - c, so of products of waves of t and of c. Released are
the waves of all records, each times the root of its weight in K. By the identity cos^2 + sin^2 = 1
every column is of the same length, that of the root of K(0), and no linear release whose columns
are as long has Gaussian noise that moves the curve less in the sum of squares, but for ends and
rounding (the noise has the kernel as its covariance: Hall, Rinaldo and Wasserman, "Differential
Privacy for Functions and Functional Data", arXiv 1203.2570). Waves repeat after the bounds and
``MARGIN`` bandwidths, so that one end of the bounds is not the neighbour of the other.

*Wide bins.* Released are the numbers of records in bins of ``WIDTH`` bandwidths at most.

*Reading.* Of integers y = A x of the bins, x is estimated by A^T (A A^T)^-1 y, the least one that
fits; the curve of that, W A^T (A A^T)^-1 y, has the least noise of all that equal W x for every x
that A can tell. A ridge far below the noise keeps the inverse from losing digits.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from dprelease.model import AxisKind, AxisMatrix, CurveAxis

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FINENESS = 1 << 12
"""The length of a column of waves, before its entries are rounded."""

MARGIN = 4
WIDTH = 0.625
_LEAST_WEIGHT = 1e-3
_RIDGE = 1e-9


class Reader(NamedTuple):
    """Factors of released integers: a row for each point of the curve, and those of the total."""

    rows: Floats
    total: Floats


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


@lru_cache(maxsize=64)
def reader(axis: CurveAxis, matrix: AxisMatrix) -> Reader:
    """How the curve, and the number of records, are read from the integers of a matrix."""
    import numpy as np

    mixed = np.array(matrix.entries, dtype=np.float64)
    gram = mixed @ mixed.T
    gram += np.eye(len(gram)) * (_RIDGE * np.trace(gram) / len(gram))
    wanted = np.vstack([_curve(axis), np.ones(len(axis.centres))])
    factors: Floats = np.linalg.solve(gram, mixed @ wanted.T).T.astype(np.float64)
    return Reader(factors[:-1], factors[-1])


def _curve(axis: CurveAxis) -> Floats:
    """What a record of each bin adds to the density at each point."""
    import numpy as np

    lower, width = axis.lower, float(axis.upper - axis.lower)
    points = np.array([float(point - lower) for point in axis.points])[:, None]
    centres = np.array([float(centre - lower) for centre in axis.centres])
    bandwidth = float(axis.bandwidth)
    distances = (points - centres, points + centres, 2 * width - points - centres)
    kernels = sum(np.exp(-((distance / bandwidth) ** 2) / 2) for distance in distances)
    curve: Floats = kernels / (bandwidth * math.sqrt(2 * math.pi))
    return curve
