"""Groups, grids and measures that mean to engines what they mean to certification."""

from __future__ import annotations

from dprelease.model import Expression, Grid, Group, Measure, MeasureKind, Part, Quantity, Query

EXACT = 2**53 - 1
"""Grid integers up to here are exact in a double, in which the engines clamp."""

OF_A_QUANTITY = {MeasureKind.VALUES, MeasureKind.SUM, MeasureKind.SQUARES}
OF_SETS = {MeasureKind.UNITS, MeasureKind.DISTINCT}
"""What isn't a sum over rows, and so not what certification takes combinations of."""


def is_group(group: Group) -> bool:
    """One label for each key or bin, then one for other values, no label twice; or private."""
    if group.private:
        none = group.keys is None and group.edges is None and group.other is None
        return none and not group.labels
    if (group.keys is None) == (group.edges is None):
        return False
    declared = len(group.keys) if group.keys is not None else len(group.edges or ()) - 1
    extra = group.other is not None and group.other not in group.labels[:declared]
    return (
        declared > 0
        and len(group.labels) == declared + extra
        and len(set(group.labels)) == len(group.labels)
        and (group.other is None or group.other in group.labels)
        and (group.null_label is None or group.null_label in group.labels)
    )


def is_grid(grid: Grid) -> bool:
    """Bounds that rise, on a step that is one, within what is exact."""
    return -EXACT <= grid.lower <= grid.upper <= EXACT and grid.step > 0


def is_quantity(quantity: Quantity) -> bool:
    """A value, or what stands for one, lies within the bounds."""
    grid, fill = quantity.grid, quantity.null_fill
    return is_grid(grid) and (fill is None or grid.lower <= fill <= grid.upper)


def are_measures(measures: tuple[Measure, ...], query: Query) -> bool:
    """Measures of one quantity, of two in a ratio, over rows that pass the query's filter."""
    quantities = {each.quantity for each in measures if each.quantity is not None}
    parts = [part for part in (query.numerator, query.denominator) if part is not None]
    filters = {query.where, *(_within(query.where, part) for part in parts)}
    return (
        len(measures) > 0
        and all(_is_measure(each) and each.where in filters for each in measures)
        and len(parts) in {0, 2}
        and len(quantities) <= max(1, len(parts))
        and (len(measures) == 1 or all(each.kind not in OF_SETS for each in measures))
    )


def _within(where: Expression | None, part: Part) -> Expression | None:
    """The filter of a part of a ratio, for rows that pass the query's."""
    if where is None or part.where is None:
        return where or part.where
    columns = tuple(dict.fromkeys((*where.columns, *part.where.columns)))
    return Expression(f"({where.text}) AND ({part.where.text})", columns)


def _is_measure(measure: Measure) -> bool:
    """Each kind has what it needs, and nothing that would make it another."""
    has = measure.quantity is not None, measure.column is not None
    if measure.kind in OF_A_QUANTITY:
        return (
            has == (True, False) and measure.quantity is not None and is_quantity(measure.quantity)
        )
    return has == (False, measure.kind is MeasureKind.DISTINCT)
