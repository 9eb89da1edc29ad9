"""Curves of densities, read from noisy integers of bins, and the intervals of their figures.

*The curve.* A record in a bin with centre c adds the kernel K(t - c) to the density at t, a normal
density with the bandwidth as its standard deviation. The part of it beyond the bounds a and b is
mirrored into them, as K(t + c - 2a) and so on, so that the whole integrates to 1 over the bounds.

*Reading.* From integers y = A x of the bins, x is estimated by A^T (A A^T)^-1 y, the shortest x
that fits. Its curve W A^T (A A^T)^-1 y has the least noise of all readings that equal W x for every
x that A determines. A ridge far below the noise keeps the inverse from losing digits. A figure is
r = N/n, where N is the curve of all records and n their number, both read from the same integers.

*Interval.* With noise X and the true r, N - r n = (w - r v) X, where w and v are the factors of N
and n. Its 1 - alpha quantile is at most q(r), g times the length of w - r v, and
q(r) <= q(r') + abs(r - r') q_n, where q_n is that of n alone. So if n > q_n, the true r lies within
q(N/n)/(n - q_n) of N/n with at least the requested probability (Fieller's argument). Otherwise
nothing is known of it.

*What A does not determine.* With factors R, a record of a bin adds R A to the curve that is read,
instead of W. The curve of any records is off by at most B, the largest difference over all bins,
and their number by at most the part E. So a ratio is off by at most B + E r, where r is the ratio
that is read; half-widths are larger by that.

*Ranges of values.* Where a bin is a range of values, W has the mean of the kernel over the range.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache, reduce
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from dprelease.model import AxisMatrix, CurveAxis, Noise, NoiseFamily
from dprelease.postprocess.intervals.noise_mixture import LATTICE_SLACK, bound_quantile_per_length

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Mixed = tuple[tuple[CurveAxis, AxisMatrix], ...]
"""The columns of a curve, each with the matrix that mixes its bins."""

_MIRRORED = 3
"""Reflections at the bounds; a bandwidth as wide as the bounds has nothing left after them."""

_RIDGE = 1e-9

_TRIED = {1: 8, 2: 3}
"""Number of points of each column at which the shape of the noise is computed, by columns."""

_UP = 1 + 1e-9


class Reader(NamedTuple):
    """Factors of released integers: a row for each point of the curve, and those of the total.

    ``off``: by how much the curve of a record is off at each point, at most; ``high``: how high it
    is; ``total_off``: by how much a record is off in the number of all.
    """

    rows: Floats
    total: Floats
    off: Floats
    high: Floats
    total_off: float


def compute_curve_figures(
    mixed: Mixed, noise: Noise, integers: Sequence[int], interval: Fraction, places: int
) -> tuple[list[int | None], list[int | None]]:
    """Read the curve of each group from noisy integers, which stand group after group.

    Densities and half-widths are in 10^-places, for each group and point; None where the number of
    records can't be told from 0.
    """
    import numpy as np

    readers = [build_reader(*part) for part in mixed]
    curves = np.array(integers, dtype=np.float64).reshape(
        -1, *(len(axis_reader.total) for axis_reader in readers)
    )
    totals = curves
    for axis_reader in readers:
        # Each product replaces one axis of integers by the axis of its points, moved to the end.
        curves = np.tensordot(curves, axis_reader.rows, axes=(1, 1)).astype(np.float64)
        totals = np.tensordot(totals, axis_reader.total, axes=(1, 0)).astype(np.float64)
    curves = curves.reshape(len(totals), -1)
    ratios = curves / np.where(totals > 0, totals, 1.0)[:, None]
    law = _build_law(mixed, noise, interval, _round_up_ratio(float(abs(ratios).max())))
    spare = totals - law.total_quantile
    halves = law.compute_quantile(ratios) / np.where(spare > 0, spare, 1.0)[:, None]
    off, total_off = _bound_offset(readers)
    halves += off + total_off * (abs(ratios) + halves)
    sure = np.repeat(spare > 0, curves.shape[1]).tolist()
    scale = 10.0**places
    values = (ratios * scale).ravel().tolist()
    widths = (halves * scale).ravel().tolist()
    return (
        [round(value) if clear else None for value, clear in zip(values, sure, strict=True)],
        [math.ceil(w * _UP) + 1 if clear else None for w, clear in zip(widths, sure, strict=True)],
    )


def compute_curve_halfwidth(
    mixed: Mixed, noise: Noise, interval: Fraction, records: int, even: Fraction
) -> float | None:
    """Compute the largest half-width where so many records have the density ``even``.

    That is one over the area between the bounds. None for too few records.
    """
    import numpy as np

    law = _build_law(mixed, noise, interval, _round_up_ratio(float(even)))
    spare = records - law.total_quantile
    if spare <= 0:
        return None
    halves = law.compute_quantile(np.array(float(even))) / spare
    off, total_off = _bound_offset([build_reader(*part) for part in mixed])
    return float((halves + off + total_off * (float(even) + halves)).max())


def bound_steepness(axis: CurveAxis) -> float:
    """Bound how far counting a range of values as one bin moves the curve of a record.

    The distance is a share of the height of a kernel.
    """
    import numpy as np

    reach = (np.array(axis.values) - 1) / 2 * float(axis.step)
    ends = [_compute_kernels(axis, part * reach) for part in (-1.0, 0.0, 1.0)]
    moved = max(float(np.abs(end - _compute_curve(axis)).max()) for end in ends)
    return moved * float(axis.bandwidth) * math.sqrt(2 * math.pi)


def _round_up_ratio(ratio: float) -> float:
    """Round up to a power of two to limit the number of cached laws."""
    return 2.0 ** math.ceil(math.log2(ratio)) if ratio else 0.0


def compute_curve_spread(mixed: Mixed) -> float:
    """Compute the mean square, over the points, of the factors of the curve.

    That is the mean variance of the curve of all records, in units of that of a released integer.
    """
    return prod(float((build_reader(*part).rows ** 2).sum(axis=1).mean()) for part in mixed)


@lru_cache(maxsize=64)
def build_reader(axis: CurveAxis, matrix: AxisMatrix) -> Reader:
    """Compute the factors that read the curve and the number of records from the integers."""
    import numpy as np

    rows = np.array(matrix.entries, dtype=np.float64)
    gram = rows @ rows.T
    gram += np.eye(len(gram)) * (_RIDGE * np.trace(gram) / len(gram))
    target = np.vstack([_compute_curve(axis), np.ones(len(axis.centres))])
    factors: Floats = np.linalg.solve(gram, rows @ target.T).T.astype(np.float64)
    readings = factors @ rows
    off = abs(readings - target).max(axis=1) * axis.smooth
    high = np.maximum(abs(readings), target).max(axis=1)
    return Reader(factors[:-1], factors[-1], off[:-1], high[:-1], float(off[-1]))


def _bound_offset(readers: Sequence[Reader]) -> tuple[Floats, float]:
    """Bound how far the curve of a record, and its count, are off, over all columns."""
    import numpy as np

    first, *others = readers
    off, high, total_off = first.off, first.high, first.total_off
    for axis_reader in others:
        off = np.add(_multiply(off, axis_reader.high), _multiply(high, axis_reader.off))
        high = _multiply(high, axis_reader.high)
        total_off += axis_reader.total_off + total_off * axis_reader.total_off
    return off, total_off


_FEW_VALUES = 5
"""A range of more values counts as a continuous interval, with so many Gauss-Legendre nodes."""


def _compute_curve(axis: CurveAxis) -> Floats:
    """Compute what a record of each bin adds to the density at each point."""
    import numpy as np

    if not axis.smooth:
        return _compute_kernels(axis, np.zeros(len(axis.centres)))
    values, nodes = np.array(axis.values), np.polynomial.legendre.leggauss(_FEW_VALUES)
    # as wide as so many values are by their variance
    half = np.sqrt(values**2 - 1) / 2
    is_small = values <= _FEW_VALUES
    if max(axis.values) == 1:
        return _compute_kernels(axis, np.zeros(len(values)))
    curve: Floats = np.zeros((len(axis.points), len(axis.centres)))
    for number, (place, weight) in enumerate(zip(*nodes, strict=True)):
        moved = np.where(is_small, number - (values - 1) / 2, half * place)
        weights = np.where(is_small, (number < values) / values, weight / 2)
        curve += weights * _compute_kernels(axis, moved * float(axis.step))
    return curve


def _compute_kernels(axis: CurveAxis, moved: Floats) -> Floats:
    """Compute the kernels of records ``moved`` from the middle of each bin, at each point."""
    import numpy as np

    lower, width = axis.lower, float(axis.upper - axis.lower)
    points = np.array([float(point - lower) for point in axis.points])[:, None]
    centres = np.array([float(centre - lower) for centre in axis.centres]) + moved
    bandwidth = float(axis.bandwidth)
    distances = (
        points - sign * centres - 2 * times * width
        for sign in (1, -1)
        for times in range(-_MIRRORED, _MIRRORED + 1)
    )
    kernels = np.stack([np.exp(-((distance / bandwidth) ** 2) / 2) for distance in distances])
    curve: Floats = kernels.sum(axis=0) / (bandwidth * math.sqrt(2 * math.pi))
    return curve


class _Law(NamedTuple):
    """The noise of a curve at all points: parts of its squared length, and what coupling adds.

    The length of w - r v, squared, is ``own`` - 2 r ``shared`` + r^2 ``total``. Its quantile is
    that times ``quantile``, and at most ``slack`` + abs(r) ``total_slack`` more.
    """

    own: Floats
    shared: Floats
    total: float
    quantile: float
    slack: Floats
    total_slack: float

    @property
    def total_quantile(self) -> float:
        """Return the quantile of the noise of the number of records."""
        return self.quantile * math.sqrt(self.total) + self.total_slack

    def compute_quantile(self, ratio: Floats) -> Floats:
        """Compute q(r) at each point."""
        import numpy as np

        squares = self.own - 2 * ratio * self.shared + ratio**2 * self.total
        lengths = np.sqrt(np.maximum(squares, 0) + 1e-12 * self.own)
        at: Floats = self.quantile * lengths + self.slack + abs(ratio) * self.total_slack
        return at


def _multiply(left: Floats, right: Floats) -> Floats:
    """Compute the tensor product."""
    import numpy as np

    return np.kron(left, right).astype(np.float64)


@lru_cache(maxsize=16)
def _build_law(mixed: Mixed, noise: Noise, interval: Fraction, steepest: float) -> _Law:
    """Compute the noise at all points, for ratios up to ``steepest``."""
    import numpy as np

    readers = [build_reader(*part) for part in mixed]

    def maximize_over_points(parts: list[Floats]) -> Floats:
        return reduce(_multiply, parts)

    chosen = [
        axis_reader.rows[
            np.unique(np.linspace(0, len(axis_reader.rows) - 1, _TRIED[len(mixed)]).astype(int))
        ]
        for axis_reader in readers
    ]
    rows, total = (
        reduce(_multiply, chosen),
        reduce(_multiply, [axis_reader.total for axis_reader in readers]),
    )
    tried = np.vstack([*(rows - share * steepest * total for share in (0.0, 1.0)), total])
    coupled = LATTICE_SLACK if noise.family is NoiseFamily.GAUSSIAN else 0.0
    return _Law(
        maximize_over_points([(axis_reader.rows**2).sum(axis=1) for axis_reader in readers]),
        maximize_over_points([axis_reader.rows @ axis_reader.total for axis_reader in readers]),
        prod(float((axis_reader.total**2).sum()) for axis_reader in readers),
        bound_quantile_per_length(noise, tried, 1 - interval),
        coupled
        * maximize_over_points([abs(axis_reader.rows).sum(axis=1) for axis_reader in readers]),
        coupled * prod(float(abs(axis_reader.total).sum()) for axis_reader in readers),
    )
