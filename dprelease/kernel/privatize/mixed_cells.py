"""Cells added up over axes, or mixed along them by integer matrices, before noise is added.

All of it is exact: Python integers in NumPy's arrays of objects, of any size.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from dprelease.model import AxisKind, AxisMatrix

Cells = NDArray[np.object_]


def added_up(
    exact: Sequence[int], sizes: Sequence[int], places: Sequence[int], labels: Sequence[int]
) -> list[int]:
    """Add up exact cells, row-major over axes of these sizes, over all axes but ``places``.

    These become the axes of the sums, in their order, each with its first ``labels`` alone. Raises
    ValueError where cells are missing or spare.
    """
    cells = _table(exact, sizes)
    others = [place for place in range(len(sizes)) if place not in places]
    ordered = np.transpose(cells, (*places, *others))[tuple(map(slice, labels))]
    rows = np.reshape(ordered, (prod(labels), -1))
    return [int(cell) for cell in rows.sum(axis=1)]


def mixed(exact: Sequence[int], sizes: Sequence[int], axes: Sequence[AxisMatrix]) -> list[int]:
    """Apply to exact cells, row-major over axes of these sizes, the matrix of each axis.

    ``axes`` has one matrix for each size. Raises ValueError where cells are missing or spare, or
    a matrix does not fit its axis.
    """
    cells = _table(exact, sizes)
    for place, (size, axis) in enumerate(zip(sizes, axes, strict=True)):
        front = np.moveaxis(cells, place, 0)
        cells = np.moveaxis(_along(front, size, axis), 0, place)
    return [int(cell) for cell in cells.reshape(-1)]


def _table(exact: Sequence[int], sizes: Sequence[int]) -> Cells:
    if len(exact) != prod(sizes):
        raise ValueError("a table with a missing or spare cell is not released")
    cells: Cells = np.array(list(map(int, exact)), dtype=object).reshape(sizes)
    return cells


def _along(cells: Cells, size: int, axis: AxisMatrix) -> Cells:
    """The matrix of one axis, applied to the first axis of the cells."""
    if axis.kind is AxisKind.EACH:
        return cells
    if axis.kind is AxisKind.CENTRED:
        centred: Cells = size * cells - cells.sum(axis=0)
        return centred
    rows = list(axis.entries)
    if any(len(row) != size for row in rows):
        raise ValueError("a matrix that does not fit its axis mixes no cells")
    if axis.kind is AxisKind.RUNNING:
        (column,) = rows
        rows = [(*column[place::-1], *((0,) * (size - place - 1))) for place in range(size)]
    mixed_cells: Cells = np.tensordot(np.array(rows, dtype=object), cells, axes=(1, 0))
    return mixed_cells
