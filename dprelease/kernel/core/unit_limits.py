"""What two neighbouring tables can differ in: a unit's rows, their cells, and what one row adds.

Read from ``[privacy]`` and from what will be executed, for a plan that is executable.

What a row adds to the released integers of its cell: its filters are true or not, its quantities
have a value or none, each independently of the others: that is more than can be, and never less.
With all of that fixed but a value k, what the row adds is a polynomial in k, of degree 1, or 2 with
squares. A straight line lies between its ends; a curve of degree 2 over [L, U] lies in the triangle
of its Bezier points: its two ends, and what comes of (L + U)/2 for k and L U for k^2. All that a
row can add so lies in the convex hull of the ``find_corners``, and norms, being convex, are largest
there. What the row adds is linear in its survey weight too (``survey_weights``), which is taken as
independent of the values: the corners for each end of the weight's bounds hold all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product

from msgspec import Struct
from msgspec.structs import replace

from dprelease.kernel.core.record_weights import list_extreme_weights
from dprelease.model import (
    Adjacency,
    Expression,
    Measure,
    MeasureKind,
    Privacy,
    Quantity,
    Query,
    Step,
)


class Limits(Struct, frozen=True):
    """A unit has at most ``rows`` rows in all, in at most ``groups`` cells, ``per_cell`` in one.

    Of ``cells`` cells there are. ``certain``: a unit has exactly one row, and that in the only
    cell; otherwise it may have fewer rows than it could. ``replaced``: neighbours have another
    unit in its place; otherwise one of them has nobody there.
    """

    rows: int
    groups: int
    per_cell: int
    cells: int
    certain: bool
    replaced: bool

    @property
    def touched_cells(self) -> int:
        """How many cells can change."""
        return min(2 * self.groups, self.cells) if self.replaced else self.groups


def is_always_there(privacy: Privacy) -> bool:
    """Tell whether a unit is one record, and is there whatever that record holds."""
    return privacy.bounding is None and privacy.has_fixed_records


def derive_limits(step: Step, privacy: Privacy) -> Limits:
    """Give the limits in the cells whose integers a step releases.

    Units that are counted are in their cells once, whatever the number of their rows. A cell of
    the query may hold all labels of the axis: a unit is in up to as many of these finer cells as it
    has rows.
    """
    query = step.query
    coarse = derive_coarse_limits(query, privacy)
    groups, cells = coarse.groups, coarse.cells
    if query.axis is not None:
        labels = len(query.axis.labels)
        groups, cells = groups * min(coarse.per_cell, labels), cells * labels
    if {measure.kind for measure in step.measures} == {MeasureKind.UNITS}:
        groups = min(groups, coarse.rows)
        return _lower_limits(groups, groups, 1, cells, coarse)
    return _lower_limits(coarse.rows, groups, coarse.per_cell, cells, coarse)


def derive_coarse_limits(query: Query, privacy: Privacy) -> Limits:
    """Give the limits in the cells of the query's groups, all labels of an axis together."""
    bounding = privacy.bounding
    rows, groups, per_cell = 1, 1, 1
    if bounding is not None:
        rows, groups, per_cell = bounding.rows, bounding.groups, bounding.per_group
    # Nobody knows how many private keys there are: enough for two units that share none.
    cells = 2 * groups
    if not query.private:
        cells = query.cells
    groups = min(groups, cells)
    certain = is_always_there(privacy) and is_counting_every_record(query) and not query.private
    replaced = privacy.adjacency is Adjacency.REPLACE_ONE
    start = Limits(rows, groups, per_cell, cells, certain, replaced)
    return _lower_limits(rows, groups, per_cell, cells, start)


def _lower_limits(rows: int, groups: int, per_cell: int, cells: int, other: Limits) -> Limits:
    """Lower each limit to what the others let a unit reach."""
    per_cell, groups = min(per_cell, rows), min(groups, rows, cells)
    rows = min(rows, groups * per_cell)
    return Limits(rows, groups, per_cell, cells, other.certain and cells == 1, other.replaced)


def is_counting_every_record(query: Query) -> bool:
    """Tell whether no record is outside all cells: no filter, and groups with a label for each."""
    return all(group.total for group in query.groups_and_axis) and query.where is None


# --- effects of one row ---------------------------------------------------------------------------

Effect = tuple[Fraction, ...]
"""What a row adds to each released integer of its cell."""

Powers = tuple[Fraction, Fraction, Fraction]
"""1, k and k^2 of a value, or of a corner; noughts where there is none."""

Switch = Expression | Measure | None
"""What decides whether a row is counted: a filter, or for distinct values, being the first."""

_NONE: Powers = (Fraction(0), Fraction(0), Fraction(0))
_PLACES = {MeasureKind.VALUES: 0, MeasureKind.SUM: 1, MeasureKind.SQUARES: 2}


def find_corners(step: Step) -> frozenset[Effect]:
    """Give the corners for a row in a cell. Without a filter or nulls none of them may be 0."""
    quantities = tuple(dict.fromkeys(m.quantity for m in step.measures if m.quantity is not None))
    switches = tuple(dict.fromkeys(part for m in step.measures for part in _iter_switches(m, step)))
    squared = any(measure.kind is MeasureKind.SQUARES for measure in step.measures)
    return frozenset(
        tuple(weight * amount for amount in effect)
        for values in product(*(tuple(_iter_powers(part, squared)) for part in quantities))
        for off in _iter_switched_off(switches)
        for effect in [_compute_effect(step, dict(zip(quantities, values, strict=True)), off)]
        for weight in list_extreme_weights(step)
    )


def _iter_switches(measure: Measure, step: Step) -> Iterator[Switch]:
    """Iterate what is open for a row of the step's request, or of a query whose rows all count."""
    if measure.where is not None and measure.where != step.query.where:
        yield measure.where
    if measure.kind is MeasureKind.DISTINCT:
        yield measure


def _iter_switched_off(switches: tuple[Switch, ...]) -> Iterator[set[Switch]]:
    """Give what can be off while all else is on: where a condition is true, it is known."""
    conditions = [part for part in switches if isinstance(part, Expression)]
    implied = {c: replace(c, text=f"({c.text}) IS NOT NULL") for c in conditions}
    for chosen in product((False, True), repeat=len(switches)):
        off = {part for part, is_chosen in zip(switches, chosen, strict=True) if not is_chosen}
        if all(c in off for c in conditions if implied[c] in off):
            yield off


def _iter_powers(quantity: Quantity, squared: bool) -> Iterator[Powers]:
    grid, factor = quantity.grid, Fraction(1)
    for k in {grid.lower, grid.upper}:
        yield factor, Fraction(k), Fraction(k * k)
    if squared and grid.lower < grid.upper:
        yield factor, Fraction(grid.lower + grid.upper, 2), Fraction(grid.lower * grid.upper)
    if quantity.null_fill is None:
        yield _NONE


def _compute_effect(step: Step, values: Mapping[Quantity, Powers], off: set[Switch]) -> Effect:
    amounts = []
    for part in step.measures:
        if off.intersection(_iter_switches(part, step)):
            amounts.append(Fraction(0))
        elif part.quantity is None:
            amounts.append(Fraction(1))
        else:
            amounts.append(values[part.quantity][_PLACES[part.kind]])
    return tuple(
        sum((f * amount for f, amount in zip(row, amounts, strict=True)), Fraction(0))
        for row in step.transform
    )
