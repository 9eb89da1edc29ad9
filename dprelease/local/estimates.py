"""Estimates from a record-level table: shares, means and cross tables of the records behind it.

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

from collections.abc import Sequence
from fractions import Fraction
from math import sqrt

from msgspec import Struct

from dprelease.local.answer_cells import grid_of
from dprelease.local.answer_variance import laplace_half, window_tails, window_variance
from dprelease.local.share_intervals import Cumulants, Figure, cumulants, quantile, scored
from dprelease.model.record_tables import (
    LaplaceLaw,
    RecordStep,
    Response,
    SubsetLaw,
    Tally,
    WindowLaw,
)


class Shares(Struct, frozen=True):
    """Of a column with labels, in their order: which share of the records has each."""

    column: str
    labels: tuple[str, ...]
    figures: tuple[Figure, ...]


class Mean(Struct, frozen=True):
    """Of a numeric column: the mean of its values on the grid, clamped and nulls filled in."""

    column: str
    figure: Figure


class Cross(Struct, frozen=True):
    """Of two columns with labels: ``figures[i][j]`` is the share with label i and label j."""

    columns: tuple[str, str]
    labels: tuple[tuple[str, ...], tuple[str, ...]]
    figures: tuple[tuple[Figure, ...], ...]


class Estimates(Struct, frozen=True):
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
    responses = {response.column.name: response for response in step.responses}
    return Estimates(
        tally.rows,
        interval,
        tuple(
            shares(responses[name], tally, interval) for name in responses if name in tally.labels
        ),
        tuple(mean(responses[name], tally, interval) for name in responses if name in tally.sums),
        tuple(
            cross(responses[one], responses[other], tally, interval) for one, other in tally.pairs
        ),
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
    """The share of each label of a column."""
    law, labels = _labelled(response)
    p, q = chances(law)
    absent, present = map(cumulants, _moments(law))
    z, unit = quantile(interval), float(1 / abs(p - q))

    def one(count: int) -> Figure:
        value = (Fraction(count, tally.rows) - q) / (p - q)
        return scored(value, tally.rows, z, lambda x: _mixed(((x, present), (1 - x, absent))), unit)

    counts = tally.labels[response.column.name]
    figures = {count: one(count) for count in set(counts)}
    return Shares(response.column.name, labels, tuple(figures[count] for count in counts))


def mean(response: Response, tally: Tally, interval: Fraction) -> Mean:
    """The mean of a numeric column, in values."""
    step, z = grid_of(response).step, quantile(interval)
    if isinstance(response.law, LaplaceLaw):
        half = laplace_half(response.law, tally.rows, z, interval)
    elif isinstance(response.law, WindowLaw):
        half = _half_of_levels(response.law, tally.rows, z) * float(grid_of(response).width) / 2
    else:
        raise ValueError("a column of labels has no mean")
    value = tally.sums[response.column.name] * step / tally.rows
    wide = half * float(step) / tally.rows
    return Mean(response.column.name, Figure(value, float(value) - wide, float(value) + wide))


def _half_of_levels(law: WindowLaw, rows: int, z: float) -> float:
    """How far the noise of levels adds up to, in half ranges: at the largest variance there is."""
    third, fourth = max(z * z - 1, 0.0) / 6, max(z**3 - 3 * z, 0.0) / 24
    gap, skew, tails = window_tails(law)
    half = z * sqrt(rows * float(window_variance(law))) + gap / 2
    return half + third * skew + min(fourth * tails / sqrt(rows), gap)


def cross(first: Response, second: Response, tally: Tally, interval: Fraction) -> Cross:
    """The share of each pair of labels.

    How many records have one of the labels is estimated: that end of its interval is taken with
    which the variance is larger.
    """
    (law, labels), (other, others) = _labelled(first), _labelled(second)
    names = (first.column.name, second.column.name)
    (p, q), (r, s) = chances(law), chances(other)
    rows, scale = tally.rows, (p - q) * (r - s)
    neither, alone, only, having = (
        _of_both(one, two) for one in _moments(law) for two in _moments(other)
    )
    wide = only[0] > neither[0], alone[0] > neither[0]
    ends = tuple(
        [_inside(figure, upper=upper) for figure in shares(response, tally, interval).figures]
        for response, upper in zip((first, second), wide, strict=True)
    )
    counts = tally.labels[names[0]], tally.labels[names[1]]
    z, unit = quantile(interval), float(1 / abs(scale))

    def one(i: int, j: int, both: int) -> Figure:
        single = s * counts[0][i] + q * counts[1][j]
        value = ((both - single) / rows + q * s) / scale

        def law_at(share: float) -> Cumulants:
            first_only, right = max(ends[0][i] - share, 0.0), max(ends[1][j] - share, 0.0)
            rest = max(1 - share - first_only - right, 0.0)
            return _mixed(((share, having), (first_only, only), (right, alone), (rest, neither)))

        return scored(value, rows, z, law_at, unit)

    table = tally.pairs[names]
    figures = tuple(
        tuple(one(i, j, both) for j, both in enumerate(row)) for i, row in enumerate(table)
    )
    return Cross(names, (labels, others), figures)


def _labelled(response: Response) -> tuple[SubsetLaw, tuple[str, ...]]:
    group = response.column.group
    if group is None or not isinstance(response.law, SubsetLaw):
        raise ValueError("a column without labels")
    return response.law, group.labels


Raw = tuple[Fraction, Fraction, Fraction, Fraction]


def _moments(law: SubsetLaw) -> tuple[Raw, Raw]:
    """The first four moments of a, of a record without the label and of one with it."""
    p, q = chances(law)
    present, absent = (1 - q) / (p - q), -q / (p - q)

    def of(chance: Fraction) -> Raw:
        one, two, three, four = (
            chance * present**power + (1 - chance) * absent**power for power in (1, 2, 3, 4)
        )
        return one, two, three, four

    return of(q), of(p)


def _of_both(first: Raw, second: Raw) -> Cumulants:
    """Cumulants of the product of two independent numbers."""
    one, two, three, four = (x * y for x, y in zip(first, second, strict=True))
    return cumulants((one, two, three, four))


def _mixed(parts: Sequence[tuple[float, Cumulants]]) -> Cumulants:
    """Cumulants of one record on average, of parts of all records."""
    second = third = fourth = 0.0
    for part, (one, two, three) in parts:
        second, third, fourth = second + part * one, third + part * two, fourth + part * three
    return second, third, fourth


def _inside(figure: Figure, *, upper: bool) -> float:
    return min(max(figure.upper if upper else figure.lower, 0.0), 1.0)


DIGITS = 12


def estimate_facts(estimated: Estimates) -> dict[str, object]:
    """Everything that was estimated; ``number`` is the share times the number of records."""
    return {
        "rows": estimated.rows,
        "interval": rounded(float(estimated.interval)),
        "frequencies": [_shares(column, estimated.rows) for column in estimated.shares],
        "means": [_mean(column, estimated.rows) for column in estimated.means],
        "crosses": [_cross(table, estimated.rows) for table in estimated.crosses],
    }


def rounded(value: float) -> float:
    """The number in twelve digits: the last ones of a float differ between machines."""
    return float(f"{value:.{DIGITS}g}")


def _figure(name: str, figure: Figure) -> dict[str, object]:
    ends = float(figure.value), figure.lower, figure.upper
    keys = name, f"{name}_lower", f"{name}_upper"
    return {key: rounded(end) for key, end in zip(keys, ends, strict=True)}


def _counted(figure: Figure, rows: int) -> dict[str, object]:
    return {**_figure("share", figure), **_figure("number", figure.times(rows))}


def _shares(frequencies: Shares, rows: int) -> dict[str, object]:
    labels = [
        {"label": label, **_counted(figure, rows)}
        for label, figure in zip(frequencies.labels, frequencies.figures, strict=True)
    ]
    return {"column": frequencies.column, "labels": labels}


def _mean(estimated: Mean, rows: int) -> dict[str, object]:
    return {
        "column": estimated.column,
        **_figure("mean", estimated.figure),
        **_figure("sum", estimated.figure.times(rows)),
    }


def _cross(table: Cross, rows: int) -> dict[str, object]:
    cells = [
        {"labels": [one, other], **_counted(figure, rows)}
        for one, row in zip(table.labels[0], table.figures, strict=True)
        for other, figure in zip(table.labels[1], row, strict=True)
    ]
    return {"columns": list(table.columns), "cells": cells}
