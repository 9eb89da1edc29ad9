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

from dprelease.local.estimation.answer_intervals import (
    Cumulants,
    Figure,
    approximate_laplace_halfwidth,
    build_interval,
    compute_cumulants,
    compute_quantile,
    compute_window_tails,
    compute_window_variance,
)
from dprelease.local.store.answer_cells import get_grid
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


def estimate_all(step: RecordStep, tally: Tally, interval: Fraction) -> Estimates:
    """Estimate shares, means and cross tables from a tally.

    Estimates are unbiased; their intervals are about the noise alone.

    Args:
        step: The table's columns with their laws.
        tally: Counts over the published table.
        interval: Coverage of the intervals, between 0 and 1.

    Returns:
        The estimates of everything that was counted; none for a table without records.
    """
    if tally.rows == 0:
        return Estimates(0, interval)
    responses = {response.column.name: response for response in step.responses}
    return Estimates(
        tally.rows,
        interval,
        tuple(
            estimate_shares(responses[name], tally, interval)
            for name in responses
            if name in tally.labels
        ),
        tuple(mean(responses[name], tally, interval) for name in responses if name in tally.sums),
        tuple(
            cross(responses[first], responses[second], tally, interval)
            for first, second in tally.pairs
        ),
    )


def compute_chances(law: SubsetLaw) -> tuple[Fraction, Fraction]:
    """Compute the chances that an answer holds the true label, and a given wrong one.

    Args:
        law: A law of ``size`` of ``labels`` labels.

    Returns:
        p and q of the module's formulas, exactly.

    Raises:
        ValueError: p and q are equal, so that answers carry no information.
    """
    if law.labels == law.size == law.keep == 1:
        return Fraction(1), Fraction(0)
    if not 1 <= law.size < law.labels or not 0 <= law.keep <= 1:
        raise ValueError("no law of labels")
    wrong = (law.size - law.keep) / (law.labels - 1)
    if wrong == law.keep:
        raise ValueError("a law that tells nothing of its label")
    return law.keep, wrong


def estimate_shares(response: Response, tally: Tally, interval: Fraction) -> Shares:
    """Estimate the share of each label of a column."""
    law, labels = _get_subset_law(response)
    p, q = compute_chances(law)
    absent, present = map(compute_cumulants, _compute_moments(law))
    z, unit = compute_quantile(interval), float(1 / abs(p - q))

    def estimate_share(count: int) -> Figure:
        value = (Fraction(count, tally.rows) - q) / (p - q)
        return build_interval(
            value,
            tally.rows,
            z,
            lambda x: _average_cumulants(((x, present), (1 - x, absent))),
            unit,
        )

    counts = tally.labels[response.column.name]
    # Labels with the same count have the same figure: compute each one once.
    figures = {count: estimate_share(count) for count in set(counts)}
    return Shares(response.column.name, labels, tuple(figures[count] for count in counts))


def mean(response: Response, tally: Tally, interval: Fraction) -> Mean:
    """Estimate the mean of a numeric column, in its unit."""
    grid = get_grid(response)
    if isinstance(response.law, LaplaceLaw):
        half = approximate_laplace_halfwidth(response.law, tally.rows, interval)
    elif isinstance(response.law, WindowLaw):
        z = compute_quantile(interval)
        half = _approximate_level_halfwidth(response.law, tally.rows, z) * float(grid.width) / 2
    else:
        raise ValueError("a column of labels has no mean")
    value = tally.sums[response.column.name] * grid.step / tally.rows
    wide = half * float(grid.step) / tally.rows
    return Mean(response.column.name, Figure(value, float(value) - wide, float(value) + wide))


def _approximate_level_halfwidth(law: WindowLaw, rows: int, z: float) -> float:
    """Approximate the half-width of the sum of the noise of levels, in half ranges.

    The normal quantile ``z`` at the largest variance that an answer can have, plus half a level and
    the terms of ``answer_intervals`` at their largest. No proof that it covers what ``z`` says.
    """
    third, fourth = max(z * z - 1, 0.0) / 6, max(z**3 - 3 * z, 0.0) / 24
    gap, skew, tails = compute_window_tails(law)
    half = z * sqrt(rows * float(compute_window_variance(law))) + gap / 2
    return half + third * skew + min(fourth * tails / sqrt(rows), gap)


def cross(first: Response, second: Response, tally: Tally, interval: Fraction) -> Cross:
    """Estimate the share of each pair of labels."""
    (law, labels), (second_law, second_labels) = _get_subset_law(first), _get_subset_law(second)
    names = (first.column.name, second.column.name)
    (p, q), (r, s) = compute_chances(law), compute_chances(second_law)
    rows, scale = tally.rows, (p - q) * (r - s)
    neither, alone, only, having = (
        _multiply_cumulants(first_moments, second_moments)
        for first_moments in _compute_moments(law)
        for second_moments in _compute_moments(second_law)
    )
    # How many records have a label is estimated too: use the end of its interval with which the
    # variance is larger.
    wide = only[0] > neither[0], alone[0] > neither[0]
    ends = tuple(
        [
            _clip(figure, upper=upper)
            for figure in estimate_shares(response, tally, interval).figures
        ]
        for response, upper in zip((first, second), wide, strict=True)
    )
    counts = tally.labels[names[0]], tally.labels[names[1]]
    z, unit = compute_quantile(interval), float(1 / abs(scale))

    def estimate_pair(i: int, j: int, count: int) -> Figure:
        single = s * counts[0][i] + q * counts[1][j]
        value = ((count - single) / rows + q * s) / scale

        def build_law(share: float) -> Cumulants:
            first_only, right = max(ends[0][i] - share, 0.0), max(ends[1][j] - share, 0.0)
            rest = max(1 - share - first_only - right, 0.0)
            return _average_cumulants(
                ((share, having), (first_only, only), (right, alone), (rest, neither))
            )

        return build_interval(value, rows, z, build_law, unit)

    table = tally.pairs[names]
    figures = tuple(
        tuple(estimate_pair(i, j, count) for j, count in enumerate(row))
        for i, row in enumerate(table)
    )
    return Cross(names, (labels, second_labels), figures)


def _get_subset_law(response: Response) -> tuple[SubsetLaw, tuple[str, ...]]:
    group = response.column.group
    if group is None or not isinstance(response.law, SubsetLaw):
        raise ValueError("a column without labels")
    return response.law, group.labels


Raw = tuple[Fraction, Fraction, Fraction, Fraction]


def _compute_moments(law: SubsetLaw) -> tuple[Raw, Raw]:
    """Compute the first four moments of a, for a record without the label and for one with it."""
    p, q = compute_chances(law)
    present, absent = (1 - q) / (p - q), -q / (p - q)

    def compute_moment(chance: Fraction) -> Raw:
        one, two, three, four = (
            chance * present**power + (1 - chance) * absent**power for power in (1, 2, 3, 4)
        )
        return one, two, three, four

    return compute_moment(q), compute_moment(p)


def _multiply_cumulants(first: Raw, second: Raw) -> Cumulants:
    """Compute the cumulants of the product of two independent numbers."""
    one, two, three, four = (x * y for x, y in zip(first, second, strict=True))
    return compute_cumulants((one, two, three, four))


def _average_cumulants(parts: Sequence[tuple[float, Cumulants]]) -> Cumulants:
    """Average the cumulants of a record over parts of all records."""
    second = third = fourth = 0.0
    for part, (second_cumulant, two, three) in parts:
        second, third, fourth = (
            second + part * second_cumulant,
            third + part * two,
            fourth + part * three,
        )
    return second, third, fourth


def _clip(figure: Figure, *, upper: bool) -> float:
    return min(max(figure.upper if upper else figure.lower, 0.0), 1.0)


DIGITS = 12


def estimate_facts(estimated: Estimates) -> dict[str, object]:
    """Convert estimates to JSON values.

    Args:
        estimated: The estimates.

    Returns:
        What ``dprelease estimate --json`` prints; ``number`` is the share times the records.
    """
    return {
        "rows": estimated.rows,
        "interval": round_figure(float(estimated.interval)),
        "frequencies": [_encode_shares(column, estimated.rows) for column in estimated.shares],
        "means": [_mean(column, estimated.rows) for column in estimated.means],
        "crosses": [_cross(table, estimated.rows) for table in estimated.crosses],
    }


def round_figure(value: float) -> float:
    """Round to twelve digits: the last ones of a float differ between machines.

    Args:
        value: Any finite number.

    Returns:
        The nearest float with twelve significant digits.
    """
    return float(f"{value:.{DIGITS}g}")


def _encode_named_figure(name: str, figure: Figure) -> dict[str, object]:
    ends = float(figure.value), figure.lower, figure.upper
    keys = name, f"{name}_lower", f"{name}_upper"
    return {key: round_figure(end) for key, end in zip(keys, ends, strict=True)}


def _encode_figure(figure: Figure, rows: int) -> dict[str, object]:
    return {
        **_encode_named_figure("share", figure),
        **_encode_named_figure("number", figure.scale(rows)),
    }


def _encode_shares(frequencies: Shares, rows: int) -> dict[str, object]:
    labels = [
        {"label": label, **_encode_figure(figure, rows)}
        for label, figure in zip(frequencies.labels, frequencies.figures, strict=True)
    ]
    return {"column": frequencies.column, "labels": labels}


def _mean(estimated: Mean, rows: int) -> dict[str, object]:
    return {
        "column": estimated.column,
        **_encode_named_figure("mean", estimated.figure),
        **_encode_named_figure("sum", estimated.figure.scale(rows)),
    }


def _cross(table: Cross, rows: int) -> dict[str, object]:
    cells = [
        {"labels": [row_label, column_label], **_encode_figure(figure, rows)}
        for row_label, row in zip(table.labels[0], table.figures, strict=True)
        for column_label, figure in zip(table.labels[1], row, strict=True)
    ]
    return {"columns": list(table.columns), "cells": cells}
