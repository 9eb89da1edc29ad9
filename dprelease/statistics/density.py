"""Density of a column, or of two: a smooth curve at public points, within each group.

Released are integers of the column's bins; ``shared.curves`` says which, and how they are read. A
figure is r = N/n, N the curve of all records and n their number, both read from the same integers.

*Interval.* With noise X, N - r n = (w - r v) X for the true r, w and v the factors of N and n. Its
1 - alpha quantile is q(r) = g times the length of w - r v, or less, and q(r) <= q(r') +
abs(r - r') q_n, q_n that of n alone. So where n > q_n, the true r lies within q(N/n)/(n - q_n) of
N/n with at least the asked probability (Fieller's argument). Else nothing is known of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache, reduce
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from dprelease.model import (
    EACH,
    Adjacency,
    AxisMatrix,
    ColumnType,
    CurveAxis,
    Group,
    Measure,
    MeasureKind,
    Noise,
    NoiseFamily,
    OutputColumn,
    Query,
    Sensitivity,
    Step,
)
from dprelease.postprocess.estimate_columns import Layout, estimate_columns
from dprelease.postprocess.fixed_point import decimals_of, fixed_point, placed, places_for
from dprelease.postprocess.number_text import listing, number
from dprelease.privacy.strategy_sensitivity import of_axes
from dprelease.statistics.base import (
    Hazard,
    Neighbours,
    Noisy,
    Released,
    SpecKeys,
    Statistic,
)
from dprelease.statistics.shared.curves import FINENESS, reader, waves, wide_bins

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_TRIED = {1: 8, 2: 3}
"""At so many points of each column the shape of the noise is looked at."""

_UP = 1 + 1e-9


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
    def of_total(self) -> float:
        """The quantile of the number of records."""
        return self.quantile * math.sqrt(self.total) + self.total_slack

    def at(self, ratio: Floats) -> Floats:
        """q(r) at each point."""
        import numpy as np

        squares = self.own - 2 * ratio * self.shared + ratio**2 * self.total
        lengths = np.sqrt(np.maximum(squares, 0) + 1e-12 * self.own)
        at: Floats = self.quantile * lengths + self.slack + abs(ratio) * self.total_slack
        return at


class Density(Statistic):
    """A kernel density estimate of the clamped values, that integrates to 1 over the bounds."""

    name = "density"
    what = "density of the records at the point"
    keys = SpecKeys(curve=True, may=("column", "columns", "bandwidth", "points"))
    error_by_records = True
    example_records = "records"
    reading = (
        "A density says how many of the records of a group lie near a point, per unit of the "
        "column: between two points lies about its mean there times their distance, as a share "
        "of all. It can be below 0 by noise. It is empty where the number of records can't be "
        "told from 0."
    )
    processing = (
        "Values beyond the bounds of a density count at the bounds. Its curve is smooth by its "
        "bandwidth: what is narrower can't be seen in it."
    )
    hazard = Hazard(
        7,
        "densities",
        "noise intervals say how far noise moves the smooth curve, not how far that is from the "
        "values themselves: peaks are lower and wider by the bandwidth; and all points of a curve "
        "share their noise, so that a whole stretch may lie too high",
    )

    def published(self, query: Query) -> tuple[Group, ...]:
        """The groups of `by`, and the points."""
        axes = query.curve
        return (
            *query.groups[: -len(axes)],
            *(_points(axis.column.name, axis.points) for axis in axes),
        )

    def released(self, query: Query) -> Released:
        """Wide bins; waves where Gaussian noise is asked for."""
        return self._mixed(query, gaussian=query.mechanism == "gaussian")

    def _mixed(self, query: Query, *, gaussian: bool) -> Released:
        by = (EACH,) * (len(query.groups) - len(query.curve))
        matrices = tuple(map(waves if gaussian else wide_bins, query.curve))
        unit = Fraction(1, FINENESS ** len(matrices)) if gaussian else Fraction(1)
        records = Measure(MeasureKind.RECORDS, None, query.where)
        return Released((records,), unit=(unit,), axes=(*by, *matrices))

    def sensitivity(self, query: Query, neighbours: Neighbours) -> Sensitivity:
        """The longest column of the matrices; of two, where a record is replaced."""
        return _moved(query, self.released(query), neighbours)

    def if_gaussian(
        self, query: Query, neighbours: Neighbours
    ) -> tuple[Released, Sensitivity] | None:
        """Waves, if wide bins are not what the spec's mechanism wants."""
        if query.mechanism != "auto":
            return None
        released = self._mixed(query, gaussian=True)
        return released, _moved(query, released, neighbours)

    def spread(self, query: Query, released: Released) -> float:
        """The mean square, over the points, of the factors of the curve."""
        return prod(
            float((reader(axis, matrix).rows ** 2).sum(axis=1).mean())
            for axis, matrix in zip(query.curve, _matrices(query, released.axes), strict=True)
        )

    def columns(self, step: Step, noisy: Noisy, interval: Fraction) -> list[OutputColumn]:
        """Publish the curve of each group, and how far noise may have moved it."""
        import numpy as np

        query = step.query
        readers = [reader(*pair) for pair in _pairs(step)]
        shape = [-1, *(len(one.total) for one in readers)]
        curves = np.array(noisy[0], dtype=np.float64).reshape(shape)
        totals = curves
        for one in readers:
            curves = np.tensordot(curves, one.rows, axes=(1, 1))
            totals = np.tensordot(totals, one.total, axes=(1, 0))
        curves = curves.reshape(len(totals), -1)
        safe = np.where(totals > 0, totals, 1.0)[:, None]
        ratios = curves / safe
        law = _law(_pairs(step), step.noise, interval, float(abs(ratios).max()))
        spare = totals - law.of_total
        halves = law.at(ratios) / np.where(spare > 0, spare, 1.0)[:, None]
        places = places_for(Fraction(1) / _area(query))
        layout = Layout(query.name, places, self._meaning(query), interval)
        known = np.repeat(spare > 0, curves.shape[1]).tolist()
        scale = 10.0**places
        values = [
            round(value) if sure else None
            for value, sure in zip((ratios * scale).ravel().tolist(), known, strict=True)
        ]
        widths = [
            math.ceil(half * _UP) + 1 if sure else None
            for half, sure in zip((halves * scale).ravel().tolist(), known, strict=True)
        ]
        return estimate_columns(layout, values, widths)

    def _meaning(self, query: Query) -> str:
        names = listing([axis.column.name for axis in query.curve])
        bandwidths = " and ".join(number(axis.bandwidth, 6) for axis in query.curve)
        return (
            f"density of {names} at the point, smooth by a bandwidth of {bandwidths}, per unit of "
            f"{names}, with noise"
        )

    def half_at(self, step: Step, interval: Fraction, records: int) -> float | None:
        """The largest, if so many records are spread evenly over the bounds; None for too few."""
        import numpy as np

        even = 1 / float(_area(step.query))
        law = _law(_pairs(step), step.noise, interval, even)
        spare = records - law.of_total
        return float(law.at(np.array(even)).max()) / spare if spare > 0 else None

    def words(self, step: Step) -> str:
        """Say what is released, and how it is read."""
        parts = [
            f"{len(matrix.entries):,} {'waves' if _waves(step) else 'bins'} of {axis.column.name} "
            f"(bandwidth {number(axis.bandwidth, 6)}; {len(axis.points):,} points)"
            for axis, matrix in _pairs(step)
        ]
        how = "sums of waves, which together make the curve" if _waves(step) else "counts of bins"
        return (
            f"Released are {' by '.join(parts)}: {how}, smoothed after the noise. The number of "
            "records is read from the same integers. Noise intervals hold for the smooth curve: "
            "what smoothing takes off peaks is not in them."
        )


def _moved(query: Query, released: Released, neighbours: Neighbours) -> Sensitivity:
    sizes = [len(group.labels) for group in query.groups]
    replaced = neighbours.adjacency is Adjacency.REPLACE_ONE
    return of_axes(neighbours.contribution, sizes, released.axes, replaced=replaced)


def _matrices(query: Query, axes: Sequence[AxisMatrix]) -> Sequence[AxisMatrix]:
    return axes[-len(query.curve) :]


def _pairs(step: Step) -> tuple[tuple[CurveAxis, AxisMatrix], ...]:
    return tuple(zip(step.query.curve, _matrices(step.query, step.axes), strict=True))


def _waves(step: Step) -> bool:
    return step.unit[0] != 1


def _area(query: Query) -> Fraction:
    return prod((axis.upper - axis.lower for axis in query.curve), start=Fraction(1))


def _points(column: str, points: Sequence[Fraction]) -> Group:
    places = max(map(decimals_of, points))
    labels = tuple(placed(fixed_point(point, places), places) for point in points)
    return Group(column, ColumnType.DECIMAL, labels, labels)


def _product(one: Floats, other: Floats) -> Floats:
    """The tensor product."""
    import numpy as np

    product: Floats = np.kron(one, other)
    return product


@lru_cache(maxsize=16)
def _law(
    pairs: tuple[tuple[CurveAxis, AxisMatrix], ...],
    noise: Noise,
    interval: Fraction,
    steepest: float,
) -> _Law:
    """The noise at all points, for ratios up to ``steepest``."""
    import numpy as np

    from dprelease.postprocess.long_sums import quantile_per_length
    from dprelease.postprocess.noise_mixture import LATTICE_SLACK

    readers = [reader(*pair) for pair in pairs]

    def over_points(parts: list[Floats]) -> Floats:
        return reduce(_product, parts)

    chosen = [
        one.rows[np.unique(np.linspace(0, len(one.rows) - 1, _TRIED[len(pairs)]).astype(int))]
        for one in readers
    ]
    rows, total = reduce(_product, chosen), reduce(_product, [one.total for one in readers])
    tried = np.vstack([*(rows - share * steepest * total for share in (0.0, 1.0)), total])
    coupled = LATTICE_SLACK if noise.family is NoiseFamily.GAUSSIAN else 0.0
    return _Law(
        over_points([(one.rows**2).sum(axis=1) for one in readers]),
        over_points([one.rows @ one.total for one in readers]),
        prod(float((one.total**2).sum()) for one in readers),
        quantile_per_length(noise, tried, 1 - interval),
        coupled * over_points([abs(one.rows).sum(axis=1) for one in readers]),
        coupled * prod(float(abs(one.total).sum()) for one in readers),
    )
