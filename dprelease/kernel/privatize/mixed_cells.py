"""Cells mixed along axes by integer matrices, before noise is added.

All of it is exact: Python integers in NumPy's arrays of objects, of any size.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from dprelease.model import AxisKind, AxisMatrix

Cells = NDArray[np.object_]


def mixed(exact: Sequence[int], sizes: Sequence[int], axes: Sequence[AxisMatrix]) -> list[int]:
    """Apply to exact cells, row-major over axes of these sizes, the matrix of each axis.

    ``axes`` has one matrix for each size. Raises ValueError where cells are missing or spare, or
    a matrix does not fit its axis.
    """
    if len(exact) != prod(sizes) or len(axes) != len(sizes):
        raise ValueError("a table with a missing or spare cell is not released")
    cells = np.array(list(map(int, exact)), dtype=object).reshape(sizes)
    for place, (size, axis) in enumerate(zip(sizes, axes, strict=True)):
        front = np.moveaxis(cells, place, 0)
        cells = np.moveaxis(_along(front, size, axis), 0, place)
    return [int(cell) for cell in cells.reshape(-1)]


def _along(cells: Cells, size: int, axis: AxisMatrix) -> Cells:
    """The matrix of one axis, applied to the first axis of the cells."""
    if axis.kind is AxisKind.EACH:
        return cells
    if axis.kind is AxisKind.CENTRED:
        centred: Cells = size * cells - cells.sum(axis=0)
        return centred
    if axis.kind is AxisKind.RUNNING:
        (column,) = axis.entries
        rows = [[*column[place::-1], *([0] * (size - place - 1))] for place in range(size)]
    else:
        rows = list(map(list, axis.entries))
    if any(len(row) != size for row in rows):
        raise ValueError("a matrix that does not fit its axis mixes no cells")
    return np.tensordot(np.array(rows, dtype=object), cells, axes=(1, 0))
