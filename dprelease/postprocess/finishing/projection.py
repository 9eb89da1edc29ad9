"""Projection of rows of integers to given totals: shift, clamp at 0, and round to whole units.

All arithmetic is in integers, so that rows add up exactly and every machine gives the same result.
Arrays hold integers of 64 bits if the figures fit, otherwise Python integers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Cells = NDArray[Any]
"""An array of integers of 64 bits, or of Python integers."""


def adjust_to_totals(cells: Cells, totals: Cells, *, nonnegative: bool) -> Cells:
    """Find the integers nearest to each row of ``cells`` that add up to its total.

    ``nonnegative``: cells are at least 0, and so are totals.
    """
    # All cells of a row are shifted alike; with ``nonnegative`` those that would lie below 0 become
    # 0, which is the nearest such point. What does not divide is spread evenly over the row.
    size = cells.shape[1]
    if nonnegative:
        falling = -np.sort(-cells, axis=1)
        over = np.cumsum(falling, axis=1) - totals[:, None]
        counts = np.arange(1, size + 1)
        # of integers, v > over/k says the same as v > floor(over/k)
        number = (falling > over // counts).sum(axis=1)
        active_cells = np.maximum(number, 1)
        excess = np.take_along_axis(over, active_cells[:, None] - 1, axis=1)[:, 0]
        chosen = (cells > (excess // active_cells)[:, None]) & (number > 0)[:, None]
    else:
        active_cells = np.full(len(cells), size)
        excess = cells.sum(axis=1) - totals
        chosen = np.ones(cells.shape, dtype=bool)
    # the remainder of the shift goes to cells at even distances
    shift, rest = (-excess) // active_cells, (-excess) % active_cells
    place = np.cumsum(chosen, axis=1) * rest[:, None]
    divisor = active_cells[:, None]
    extra = place // divisor - (place - rest[:, None]) // divisor
    return np.where(chosen, cells + shift[:, None] + extra, 0 * cells)


def round_rows(cells: Cells, unit: int) -> Cells:
    """Round the cells of each row up or down to multiples of ``unit``.

    The total of a row is such a multiple, and stays the same.
    """
    if unit == 1:
        return cells
    # The largest remainders are rounded up; of equal ones the first.
    base = cells // unit
    rest = cells - base * unit
    number = rest.sum(axis=1) // unit
    order = np.argsort(-rest, axis=1, kind="stable")
    up = np.zeros(cells.shape, dtype=bool)
    first = np.arange(cells.shape[1]) < number[:, None]
    np.put_along_axis(up, order, first, axis=1)
    return (base + up) * unit


ROUNDS = 30
"""Rounds that adjust rows and columns in turn; what is then still off is moved cell by cell."""


def round_to_both_totals(
    cells: Cells, rows: Cells, columns: Cells, unit: int, *, nonnegative: bool
) -> Cells:
    """Find integers near ``cells[block, i, j]`` with both totals, in multiples of ``unit``.

    ``rows[block, i]`` and ``columns[block, j]`` are multiples of it, with the same sum.
    """
    # Adjust rows and columns to their totals in turn; then round the rows, and move what columns
    # lack within rows.
    blocks, height, width = cells.shape
    fine = cells

    def meet_rows(now: Cells) -> Cells:
        flat = now.reshape(blocks * height, width)
        adjusted_columns = adjust_to_totals(flat, rows.reshape(-1), nonnegative=nonnegative)
        return adjusted_columns.reshape(now.shape)

    for _ in range(ROUNDS if nonnegative else 1):
        fine = meet_rows(fine)
        if not (fine.sum(axis=1) - columns).any():
            break
        flipped = fine.transpose(0, 2, 1).reshape(blocks * width, height)
        adjusted_columns = adjust_to_totals(flipped, columns.reshape(-1), nonnegative=nonnegative)
        fine = adjusted_columns.reshape(blocks, width, height).transpose(0, 2, 1)
    flat = round_rows(meet_rows(fine).reshape(blocks * height, width), unit)
    whole = flat.reshape(cells.shape) // unit
    return _balance_columns(whole, cells, columns // unit, unit, nonnegative=nonnegative) * unit


def _balance_columns(
    whole: Cells, cells: Cells, columns: Cells, unit: int, *, nonnegative: bool
) -> Cells:
    """Move units between the columns of a row until all columns have their totals."""
    # Move from the column with the largest excess to the one that lacks most, in the row where that
    # fits ``cells`` best. A column with an excess has a cell above 0, so such a row always exists.
    lacking = columns - whole.sum(axis=1)
    while True:
        blocks = np.flatnonzero((lacking != 0).any(axis=1))
        if not len(blocks):
            return whole
        to, source = lacking[blocks].argmax(axis=1), lacking[blocks].argmin(axis=1)
        amount = np.minimum(lacking[blocks, to], -lacking[blocks, source])
        givers, receivers = whole[blocks, :, source], whole[blocks, :, to]
        gain = (givers - receivers) * unit - cells[blocks, :, source] + cells[blocks, :, to]
        if nonnegative:
            gain = np.where(givers > 0, gain, gain.min() - 1)
        row = gain.argmax(axis=1)
        step = np.maximum(amount // whole.shape[1], 1)
        if nonnegative:
            step = np.minimum(step, whole[blocks, row, source])
        whole[blocks, row, source] -= step
        whole[blocks, row, to] += step
        lacking[blocks, to] -= step
        lacking[blocks, source] += step
