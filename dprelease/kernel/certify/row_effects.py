"""What one row can add to the released integers of its cell: the corners of all that it can be.

A row's filters are true or not, its quantities have a value or none, each independently of the
others: that is more than can be, and never less. With all of that fixed but a value k, what the
row adds is a polynomial in k, of degree 1, or 2 with squares. A straight line lies between its
ends; a curve of degree 2 over [L, U] lies in the triangle of its Bezier points: its two ends, and
what comes of (L + U)/2 for k and L U for k^2. All that a row can add so lies in the convex hull of
the corners given here, and norms, being convex, are largest at corners.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product

from dprelease.model import Expression, Measure, MeasureKind, Quantity, Step

Effect = tuple[Fraction, ...]
"""What a row adds to each released integer of its cell."""

Powers = tuple[Fraction, Fraction, Fraction]
"""1, k and k^2 of a value, or of a corner; noughts where there is none."""

Switch = Expression | Measure | None
"""What decides whether a row is counted: a filter, or for distinct values, being the first."""

_NONE: Powers = (Fraction(0), Fraction(0), Fraction(0))
_PLACES = {MeasureKind.VALUES: 0, MeasureKind.SUM: 1, MeasureKind.SQUARES: 2}


def corners(step: Step) -> frozenset[Effect]:
    """Give the corners for a row in a cell. Without a filter or nulls none of them may be 0."""
    quantities = tuple(dict.fromkeys(m.quantity for m in step.measures if m.quantity is not None))
    switches = tuple(dict.fromkeys(part for m in step.measures for part in _switches(m, step)))
    squared = any(measure.kind is MeasureKind.SQUARES for measure in step.measures)
    return frozenset(
        _effect(step, dict(zip(quantities, values, strict=True)), set(switches) - set(on))
        for values in product(*(tuple(_powers(part, squared)) for part in quantities))
        for on in _subsets(switches)
    )


def _switches(measure: Measure, step: Step) -> Iterator[Switch]:
    """What is open for a row of the step's request, or of a query whose rows all count."""
    if measure.where is not None and measure.where != step.query.where:
        yield measure.where
    if measure.kind is MeasureKind.DISTINCT:
        yield measure


def _subsets(switches: tuple[Switch, ...]) -> Iterator[tuple[Switch, ...]]:
    for chosen in product((False, True), repeat=len(switches)):
        yield tuple(part for part, taken in zip(switches, chosen, strict=True) if taken)


def _powers(quantity: Quantity, squared: bool) -> Iterator[Powers]:
    grid, one = quantity.grid, Fraction(1)
    for k in {grid.lower, grid.upper}:
        yield one, Fraction(k), Fraction(k * k)
    if squared and grid.lower < grid.upper:
        yield one, Fraction(grid.lower + grid.upper, 2), Fraction(grid.lower * grid.upper)
    if quantity.null_fill is None:
        yield _NONE


def _effect(step: Step, values: Mapping[Quantity, Powers], off: set[Switch]) -> Effect:
    amounts = [
        Fraction(0) if off.intersection(_switches(part, step)) else _amount(part, values)
        for part in step.measures
    ]
    return tuple(
        sum((f * amount for f, amount in zip(row, amounts, strict=True)), Fraction(0))
        for row in step.transform
    )


def _amount(measure: Measure, values: Mapping[Quantity, Powers]) -> Fraction:
    if measure.quantity is None:
        return Fraction(1)
    return values[measure.quantity][_PLACES[measure.kind]]
