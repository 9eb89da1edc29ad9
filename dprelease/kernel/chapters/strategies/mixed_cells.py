"""Cells mixed along axes by integer matrices, before noise is added, and counts by value.

All of it is exact: Python integers in NumPy's arrays of objects, of any size.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dprelease.kernel.core.joined_tables import Cells, shape_cells
from dprelease.model import AxisKind, AxisMatrix, Step


def mix_cells(exact: Sequence[int], sizes: Sequence[int], axes: Sequence[AxisMatrix]) -> list[int]:
    """Apply to exact cells, row-major over axes of these sizes, the matrix of each axis.

    ``axes`` has one matrix for each size. Raises ValueError where cells are missing or spare, or
    a matrix does not fit its axis.
    """
    cells = shape_cells(exact, sizes)
    for place, (size, axis) in enumerate(zip(sizes, axes, strict=True)):
        front = np.moveaxis(cells, place, 0)
        cells = np.moveaxis(_apply_along(front, size, axis), 0, place)
    return [int(cell) for cell in cells.reshape(-1)]


def count_points(step: Step, measures: Sequence[Sequence[int]], cells: Sequence[int]) -> list[int]:
    """Count the records of each value of a grid in each cell; ``measures`` as for quantiles.

    These are cells, points and counts. Raises ValueError for points beyond the grid.
    """
    if step.points is None:
        raise ValueError("values are counted along a grid")
    places, points, counts = measures
    lower, width = step.points.grid.lower, step.sizes[-1]
    positions = {cell: position for position, cell in enumerate(cells)}
    found = [0] * (len(cells) * width)
    for cell, point, records in zip(places, points, counts, strict=True):
        if not 0 <= point - lower < width:
            raise ValueError("a value lies within the bounds")
        found[positions[int(cell)] * width + int(point) - lower] += int(records)
    return found


def _apply_along(cells: Cells, size: int, axis: AxisMatrix) -> Cells:
    """Apply the matrix of one axis to the first axis of the cells."""
    if axis.kind is AxisKind.EACH:
        return cells
    if axis.kind is AxisKind.CENTRED:
        centred: Cells = size * cells - cells.sum(axis=0)
        return centred
    if axis.kind is AxisKind.TREE:
        (widths,) = axis.entries
        sums = [np.add.reduceat(cells, range(0, size, width), axis=0) for width in widths]
        levels: Cells = np.concatenate(sums)
        return levels
    rows = list(axis.entries)
    if any(len(row) != size for row in rows):
        raise ValueError("a matrix that does not fit its axis mixes no cells")
    if axis.kind is AxisKind.SCALED:
        *rows, factors = rows
        cells = (cells.T * np.array(factors, dtype=object)).T  # along the first axis
    if axis.kind in {AxisKind.RUNNING, AxisKind.SCALED}:
        (column,) = rows
        rows = [(*column[place::-1], *((0,) * (size - place - 1))) for place in range(size)]
    mixed_cells: Cells = np.tensordot(np.array(rows, dtype=object), cells, axes=(1, 0))
    return mixed_cells
