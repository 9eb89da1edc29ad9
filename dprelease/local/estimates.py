"""What a record-level table tells of the records behind it: shares, means and cross tables.

Every estimate is unbiased, whatever the records are. Its interval is about the noise alone: it is
for these records, not for others that they may stand for. A record without a label is taken with
the label that was drawn for it, each one as likely; an estimate is unbiased for a share with such
records spread evenly, too.

With p the chance that an answer holds a record's own label and q that it holds a given other one,
a = (1[the answer holds the label] - q)/(p - q) is 1 or 0 on average, as the record has the label or
not (Warner 1965; for sets Ye and Barg 2018). A share is the mean of a, a cell of a cross table the
mean of the product of two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

from dprelease.local.cells import grid_of
from dprelease.local.spread import excess_kurtosis, half_of_few, worst_variance
from dprelease.model.records import LaplaceLaw, RecordStep, Response, SubsetLaw, Tally, WindowLaw

LEAST_TAIL = 1e-300


@dataclass(frozen=True, slots=True)
class Figure:
    """An unbiased estimate, and ends of an interval around it."""

    value: Fraction
    lower: float
    upper: float

    def times(self, factor: int) -> Figure:
        """The same of a sum of so many."""
        return Figure(self.value * factor, self.lower * factor, self.upper * factor)


@dataclass(frozen=True, slots=True)
class Shares:
    """Of a column with labels, in their order: which share of the records has each."""

    column: str
    labels: tuple[str, ...]
    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class Mean:
    """Of a numeric column: the mean of its values on the grid, clamped and nulls filled in."""

    column: str
    figure: Figure


@dataclass(frozen=True, slots=True)
class Cross:
    """Of two columns with labels: ``figures[i][j]`` is the share with label i and label j."""

    columns: tuple[str, str]
    labels: tuple[tuple[str, ...], tuple[str, ...]]
    figures: tuple[tuple[Figure, ...], ...]


@dataclass(frozen=True, slots=True)
class Estimates:
    """All that is read off a tally; empty for a table without records."""

    rows: int
    interval: Fraction
    shares: tuple[Shares, ...] = ()
    means: tuple[Mean, ...] = ()
    crosses: tuple[Cross, ...] = ()


def estimates(step: RecordStep, tally: Tally, interval: Fraction) -> Estimates:
    """Estimate everything that was counted; ``interval`` is the coverage, between 0 and 1."""
    if tally.rows == 0:
        return Estimates(0, interval)
    known = {each.column.name: each for each in step.responses}
    return Estimates(
        tally.rows,
        interval,
        tuple(shares(known[name], tally, interval) for name in known if name in tally.labels),
        tuple(mean(known[name], tally, interval) for name in known if name in tally.sums),
        tuple(cross(known[one], known[other], tally, interval) for one, other in tally.pairs),
    )


def chances(law: SubsetLaw) -> tuple[Fraction, Fraction]:
    """The chance that an answer holds the true label, and that it holds a given wrong one.

    Raises ValueError where they are equal: such answers tell nothing.
    """
    if law.labels == law.size == law.keep == 1:
        return Fraction(1), Fraction(0)
    if not 1 <= law.size < law.labels or not 0 <= law.keep <= 1:
        raise ValueError("no law of labels")
    wrong = (law.size - law.keep) / (law.labels - 1)
    if wrong == law.keep:
        raise ValueError("a law that tells nothing of its label")
    return law.keep, wrong


def shares(response: Response, tally: Tally, interval: Fraction) -> Shares:
    """The share of each label, by score intervals with a continuity correction."""
    law, labels = _labelled(response)
    p, q = chances(law)
    z = quantile(interval)
    at_one, at_zero = float(p * (1 - p) / (p - q) ** 2), float(q * (1 - q) / (p - q) ** 2)
    half = float(1 / abs(p - q)) / 2

    def one(count: int) -> Figure:
        value = (Fraction(count, tally.rows) - q) / (p - q)

        def variance(share: float) -> float:
            inside = min(max(share, 0.0), 1.0)
            return inside * at_one + (1 - inside) * at_zero

        return scored(value, tally.rows, z, variance, half)

    counts = tally.labels[response.column.name]
    found = {count: one(count) for count in set(counts)}
    return Shares(response.column.name, labels, tuple(found[count] for count in counts))


def mean(response: Response, tally: Tally, interval: Fraction) -> Mean:
    """The mean of a numeric column, in values.

    Laplace noise: the exact law for up to three records, above that normal quantiles with the
    correction of Cornish and Fisher for the kurtosis. Windows: the largest variance that any
    records can have.
    """
    law, rows, step = response.law, tally.rows, grid_of(response).step
    z = quantile(interval)
    if isinstance(law, LaplaceLaw):
        half = half_of_few(law, rows, 1 - interval)
        if half is None:
            variance, kurtosis = worst_variance(response), excess_kurtosis(law)
            corrected = z + (z**3 - 3 * z) * kurtosis / (24 * rows)
            half = max(z, corrected) * sqrt(rows * variance) + 0.5
    elif isinstance(law, WindowLaw):
        half = z * sqrt(rows * worst_variance(response))
    else:
        raise ValueError("a column of labels has no mean")
    value = tally.sums[response.column.name] * step / rows
    wide = half * float(step) / rows
    return Mean(response.column.name, Figure(value, float(value) - wide, float(value) + wide))


def cross(first: Response, second: Response, tally: Tally, interval: Fraction) -> Cross:
    """The share of each pair of labels.

    With s, t = 1 or 0 as a record has the two labels, the product of its a and b has the variance
    E[a^2] E[b^2] - s t. How many records have one label only is estimated: the end of its interval
    is taken that makes the variance of the cell larger.
    """
    (law, labels), (other, others) = _labelled(first), _labelled(second)
    names = (first.column.name, second.column.name)
    (p, q), (r, s) = chances(law), chances(other)
    squares = _squares(p, q), _squares(r, s)
    rows, scale = tally.rows, (p - q) * (r - s)
    margins = shares(first, tally, interval), shares(second, tally, interval)
    counts = tally.labels[names[0]], tally.labels[names[1]]
    z = quantile(interval)

    def one(i: int, j: int, both: int) -> Figure:
        single = s * counts[0][i] + q * counts[1][j]
        value = ((both - single) / rows + q * s) / scale
        ends = _inside(margins[0].figures[i]), _inside(margins[1].figures[j])
        return scored(value, rows, z, lambda share: _largest(share, ends, squares), 0.0)

    table = tally.pairs[names]
    figures = tuple(
        tuple(one(i, j, both) for j, both in enumerate(row)) for i, row in enumerate(table)
    )
    return Cross(names, (labels, others), figures)


def scored(
    value: Fraction, rows: int, z: float, variance: Callable[[float], float], half: float
) -> Figure:
    """All shares x with abs(value - x) <= z sqrt(variance(x)/rows) + half/rows, as an interval.

    ``variance`` is that of one record, were the share x: a concave function on [0, 1], constant
    beyond, so that the interval holds the value wherever that lies.
    """
    at = float(value)

    def excess(share: float) -> float:
        return abs(at - share) - z * sqrt(variance(share) / rows) - half / rows

    ends = []
    for sign in (-1, 1):
        wide = 1 / rows
        while excess(at + sign * wide) <= 0:
            wide = 2 * wide
        end = _crossing(excess, at, at + sign * wide)
        near, far = (0.0, 1.0) if sign > 0 else (1.0, 0.0)
        if sign * (near - end) > 0:  # shares may fit though what lies between them does not
            best = _least(excess, near, far)
            if excess(best) <= 0:
                end = _crossing(excess, best, far)
        ends.append(end)
    return Figure(value, ends[0], ends[1])


def _crossing(excess: Callable[[float], float], inner: float, outer: float) -> float:
    """Where it turns positive on the way out, from the side where it is."""
    for _ in range(60):
        middle = (inner + outer) / 2
        inner, outer = (inner, middle) if excess(middle) > 0 else (middle, outer)
    return outer


def _least(excess: Callable[[float], float], left: float, right: float) -> float:
    """Where a convex function is least."""
    for _ in range(80):
        one, other = left + (right - left) / 3, right - (right - left) / 3
        left, right = (left, other) if excess(one) <= excess(other) else (one, right)
    return left


def quantile(interval: Fraction) -> float:
    """How many standard deviations a normal variable stays within, with that chance."""
    # Imported here for start-up: it brings much along that only it needs.
    from statistics import NormalDist

    if not 0 < interval < 1:
        raise ValueError("an interval covers between 0 and 1")
    return -NormalDist().inv_cdf(max(float((1 - interval) / 2), LEAST_TAIL))


def _labelled(response: Response) -> tuple[SubsetLaw, tuple[str, ...]]:
    group = response.column.group
    if group is None or not isinstance(response.law, SubsetLaw):
        raise ValueError("a column without labels")
    return response.law, group.labels


def _squares(p: Fraction, q: Fraction) -> tuple[float, float]:
    """E[a^2] of a record without the label, and of one with it."""
    return tuple(  # type: ignore[return-value]
        float((chance * (1 - q) ** 2 + (1 - chance) * q**2) / (p - q) ** 2) for chance in (q, p)
    )


Ends = tuple[float, float]


def _inside(figure: Figure) -> Ends:
    return min(max(figure.lower, 0.0), 1.0), min(max(figure.upper, 0.0), 1.0)


def _largest(share: float, ends: tuple[Ends, Ends], squares: tuple[Ends, Ends]) -> float:
    """The largest variance of a record where that share has both labels."""
    both = min(max(share, 0.0), 1.0)
    (absent, present), (lacking, having) = squares
    found = 0.0
    for one in ends[0]:
        for other in ends[1]:
            only, alone = max(one - both, 0.0), max(other - both, 0.0)
            rest = max(1 - both - only - alone, 0.0)
            each = both * (present * having - 1) + rest * absent * lacking
            found = max(found, each + only * present * lacking + alone * absent * having)
    return found
