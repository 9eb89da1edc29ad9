"""Cells added up and mixed along axes, against the sums that define it."""

from __future__ import annotations

from itertools import product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dprelease.kernel.chapters.strategies.mixed_cells import mix_cells
from dprelease.kernel.core.joined_tables import add_up_cells, shape_cells
from dprelease.model import CENTRED, EACH, AxisKind, AxisMatrix

LARGE = 10**30


def entry(axis: AxisMatrix, size: int, row: int, column: int) -> int:
    """An entry of the matrix of an axis, by its definition."""
    if axis.kind is AxisKind.EACH:
        return int(row == column)
    if axis.kind is AxisKind.CENTRED:
        return size * (row == column) - 1
    if axis.kind is AxisKind.RUNNING:
        return axis.entries[0][row - column] if row >= column else 0
    if axis.kind is AxisKind.SCALED:
        return axis.entries[0][row - column] * axis.entries[1][column] if row >= column else 0
    if axis.kind is AxisKind.TREE:
        (widths,) = axis.entries
        nodes = [(width, at) for width in widths for at in range(-(-size // width))]
        return int(column // nodes[row][0] == nodes[row][1])
    return axis.entries[row][column]


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[int], list[int], list[AxisMatrix]]:
    sizes = draw(st.lists(st.integers(1, 4), max_size=3))
    number = st.integers(-9, 9)
    axes = []
    for size in sizes:
        row = st.tuples(*[number] * size)
        running = row.map(lambda entries: AxisMatrix(AxisKind.RUNNING, (entries,)))
        scaled = st.tuples(row, row).map(lambda entries: AxisMatrix(AxisKind.SCALED, entries))
        rows = st.lists(row, min_size=1, max_size=3)
        basis = rows.map(lambda entries: AxisMatrix(AxisKind.BASIS, tuple(entries)))
        tree = st.sampled_from([(1,), (1, 2), (1, 3), (1, 2, 4), (1, 8)]).map(
            lambda widths: AxisMatrix(AxisKind.TREE, (widths,))
        )
        axes.append(draw(st.one_of(st.just(EACH), st.just(CENTRED), running, scaled, basis, tree)))
    cells = draw(st.lists(st.integers(0, LARGE), min_size=prod(sizes), max_size=prod(sizes)))
    return cells, sizes, axes


@given(tables())
def test_cells_are_mixed_as_the_matrices_say(
    table: tuple[list[int], list[int], list[AxisMatrix]],
) -> None:
    exact, sizes, axes = table
    outputs = [axis.count_outputs(size) for axis, size in zip(axes, sizes, strict=True)]
    expected = [
        sum(
            cell
            * prod(
                entry(axis, size, row, column)
                for axis, size, row, column in zip(axes, sizes, rows, columns, strict=True)
            )
            for cell, columns in zip(exact, product(*map(range, sizes)), strict=True)
        )
        for rows in product(*map(range, outputs))
    ]
    assert mix_cells(exact, sizes, axes) == expected


@given(tables(), st.data())
def test_cells_are_added_up_over_the_other_axes(
    table: tuple[list[int], list[int], list[AxisMatrix]], data: st.DataObject
) -> None:
    """Cells with a label that is left out, the last of an axis, are in no sum."""
    exact, sizes, _ = table
    places = data.draw(st.permutations(range(len(sizes))))[: len(sizes) // 2 + 1]
    labels = [
        sizes[place] - data.draw(st.integers(0, min(1, sizes[place] - 1))) for place in places
    ]
    totals = dict.fromkeys(product(*map(range, labels)), 0)
    for cell, at in zip(exact, product(*map(range, sizes)), strict=True):
        own = tuple(at[place] for place in places)
        if own in totals:
            totals[own] += cell
    assert add_up_cells(shape_cells(exact, sizes), places, labels) == list(totals.values())


@pytest.mark.parametrize("cells", [[1, 2, 3], [1] * 5, []])
def test_missing_or_spare_cells_are_refused(cells: list[int]) -> None:
    with pytest.raises(ValueError, match="missing or spare"):
        shape_cells(cells, [2, 2])
    with pytest.raises(ValueError, match="missing or spare"):
        mix_cells(cells, [2, 2], [CENTRED, EACH])


@pytest.mark.parametrize(
    "axis", [AxisMatrix(AxisKind.RUNNING, ((1, 2, 3),)), AxisMatrix(AxisKind.BASIS, ((1, 2, 3),))]
)
def test_a_matrix_that_does_not_fit_is_refused(axis: AxisMatrix) -> None:
    with pytest.raises(ValueError, match="fit its axis"):
        mix_cells([1, 2], [2], [axis])
