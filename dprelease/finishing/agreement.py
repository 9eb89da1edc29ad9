"""Tables of the same records made to agree: least squares, then exactly, from coarse to fine.

*Least squares.* Let table B have cells with noise of variance v, N_B in number. All that it says of
a coarser table M it says with noise of variance v N_B / N_M. So each node M of the lattice
(``lattice``) is averaged over the tables that are at least as fine, with weights in proportion to
1 / (v N_B), which are the same for all parts of M that lie in no coarser node. A node is then moved
by what it is off at the coarser ones, spread evenly over its further cells. With noise that is
independent and alike within each table this is the weighted least squares of all tables at once.

*Exactly.* Nodes are set from the total on, each to add up to those that it is built up from: moved
to 0 or more, and to whole units, where that is asked for (``projection``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import prod, sqrt
from typing import NamedTuple

import numpy as np

from dprelease.finishing.lattice import Axes, Scheme, corrections, scheme_of
from dprelease.finishing.projection import Cells, adjusted, crossed, rounded

WEIGHTS = 1 << 12
"""Weights are whole parts of this: any that add up to it leave figures right on average."""
FINER = 3
"""Decimals beyond those of what is published, in which estimates are kept on the way."""


class Counts(NamedTuple):
    """A table: its axes in order, its cells row-major in 10^-places, the variance of one's noise.

    The variance is None where a finer table says all that it says.
    """

    axes: tuple[int, ...]
    cells: Sequence[int]
    variance: Fraction | None


class Wanted(NamedTuple):
    """What is wanted of tables with ``before`` decimals: how many afterwards, and none below 0."""

    before: int
    after: int
    nonnegative: bool


def agreed(tables: Sequence[Counts], sizes: Sequence[int], wanted: Wanted) -> list[list[int]]:
    """The cells of each table, which agree with those of all others, in 10^-wanted.after.

    ``sizes`` are those of the axes. A table alone agrees with its own total. Raises Circle.
    """
    scheme = scheme_of([frozenset(table.axes) for table in tables])
    fine = max(wanted.before, wanted.after) + FINER
    factor, unit = 10 ** (fine - wanted.before), 10 ** (fine - wanted.after)
    estimates = _estimates(_tensors(tables, sizes, factor), tables, sizes, factor, scheme)
    exact: dict[Axes, Cells] = {}
    for node, parents in scheme.parents.items():
        exact[node] = _settled(node, parents, estimates[node], exact, unit, wanted.nonnegative)
    for node in reversed(scheme.nodes):
        if node in scheme.sums:
            finer = scheme.sums[node]
            exact[node] = _margin(exact[finer], finer, node)
    return [_as_given(exact[frozenset(table.axes)], table.axes, unit) for table in tables]


def disagreement(tables: Sequence[Counts], sizes: Sequence[int]) -> float:
    """How far two totals of the tables are from each other at most, in standard deviations."""
    heard = [(table, table.variance) for table in tables if table.variance is not None]
    totals = [sum(table.cells) for table, _ in heard]
    spreads = [float(one) * prod(sizes[i] for i in table.axes) for table, one in heard]
    return max(
        (
            abs(one - other) / sqrt(spread + spreads[j])
            for i, (one, spread) in enumerate(zip(totals, spreads, strict=True))
            for j, other in enumerate(totals[:i])
            if spread + spreads[j]
        ),
        default=0.0,
    )


def noise_left(tables: Sequence[Counts], sizes: Sequence[int]) -> list[float]:
    """The variance of a cell of each table after least squares; ``cells`` need not be there.

    A part of node M, one of the g(M) that lie in no coarser node, has in a cell of table A the
    variance 1 / (N_A^2 P), P the sum of 1 / (v N_B) over the tables B that hold M.
    """
    scheme = scheme_of([frozenset(table.axes) for table in tables])
    parts: dict[Axes, int] = {}
    for node in scheme.nodes:
        below = sum(number for other, number in parts.items() if other < node)
        parts[node] = prod(sizes[i] for i in node) - below
    held = {node: parts[node] / _precision(node, tables, sizes) for node in scheme.nodes}
    variances = []
    for table in tables:
        axes = frozenset(table.axes)
        variance = sum((part for node, part in held.items() if node <= axes), Fraction(0))
        exact = table.variance == 0
        variances.append(0.0 if exact else float(variance / prod(sizes[i] for i in axes) ** 2))
    return variances


def _precision(node: Axes, tables: Sequence[Counts], sizes: Sequence[int]) -> Fraction:
    holding = (table for table in tables if node <= frozenset(table.axes))
    return sum((_weight(table, sizes) for table in holding), Fraction(0)) or Fraction(1)


def _weight(table: Counts, sizes: Sequence[int]) -> Fraction:
    """1 / (v N); without noise, more than any other has."""
    if table.variance is None:
        return Fraction(0)
    return 1 / ((table.variance or _NEXT_TO_NONE) * prod(sizes[i] for i in table.axes))


_NEXT_TO_NONE = Fraction(1, 10**12)


# --- least squares --------------------------------------------------------------------------------


def _tensors(tables: Sequence[Counts], sizes: Sequence[int], factor: int) -> list[Cells]:
    """The tables as arrays, their axes in the order of their numbers."""
    largest = max(sum(map(abs, table.cells)) for table in tables) * factor * WEIGHTS
    kind = np.int64 if largest < 1 << 61 else object
    return [
        np.array(table.cells, dtype=kind)
        .reshape([sizes[i] for i in table.axes])
        .transpose(np.argsort(table.axes))
        for table in tables
    ]


def _estimates(
    tensors: Sequence[Cells],
    tables: Sequence[Counts],
    sizes: Sequence[int],
    factor: int,
    scheme: Scheme,
) -> dict[Axes, Cells]:
    """Every node by least squares, times ``factor``, up to one in the last place."""
    estimates: dict[Axes, Cells] = {}
    for node in scheme.nodes:
        holding = [i for i, table in enumerate(tables) if node <= frozenset(table.axes)]
        weights = _parts([_weight(tables[i], sizes) for i in holding])
        kind = tensors[0].dtype
        mean: Cells = np.zeros([sizes[i] for i in sorted(node)], dtype=kind)
        for i, weight in zip(holding, weights, strict=True):
            part = _margin(tensors[i], frozenset(tables[i].axes), node)
            mean = np.asarray(mean + weight * factor * part, dtype=kind)
        mean = np.asarray(mean // WEIGHTS, dtype=kind)
        moves: Cells = np.zeros_like(mean)
        for other, count in corrections(node, scheme.nodes).items():
            if count:
                share = prod(sizes[i] for i in node - other)
                off = np.asarray(estimates[other] - _margin(mean, node, other), dtype=kind)
                moves = moves + count * _widened(off, other, node) // share
        estimates[node] = np.asarray(mean + moves, dtype=kind)
    return estimates


def _parts(weights: Sequence[Fraction]) -> list[int]:
    """Whole parts of ``WEIGHTS`` in proportion to the weights."""
    whole = sum(weights, Fraction(0)) or Fraction(1)
    parts = [round(weight / whole * WEIGHTS) for weight in weights]
    parts[parts.index(max(parts))] += WEIGHTS - sum(parts)
    return parts


def _margin(cells: Cells, axes: Axes, node: Axes) -> Cells:
    """Add up over the axes that the coarser node has not."""
    over = tuple(place for place, axis in enumerate(sorted(axes)) if axis not in node)
    return np.asarray(cells.sum(axis=over), dtype=cells.dtype) if over else cells


def _widened(cells: Cells, node: Axes, axes: Axes) -> Cells:
    """Give an array of a coarser node a length of 1 along the further axes."""
    missing = tuple(place for place, axis in enumerate(sorted(axes)) if axis not in node)
    return np.expand_dims(cells, missing)


# --- exactly --------------------------------------------------------------------------------------


def _settled(  # noqa: PLR0913, PLR0917 - a node with all that decides it
    node: Axes,
    parents: Sequence[Axes],
    estimate: Cells,
    exact: Mapping[Axes, Cells],
    unit: int,
    nonnegative: bool,
) -> Cells:
    """A node that adds up to its parents, in multiples of ``unit``."""
    if not parents:
        total = (2 * int(estimate) + unit) // (2 * unit) * unit
        return np.asarray(max(total, 0) if nonnegative else total, dtype=estimate.dtype)
    union, cells = parents[0], exact[parents[0]]
    for parent in parents[1:]:
        joint, common = union | parent, union & parent
        order = [sorted(common), sorted(union - common), sorted(parent - common)]
        target = _arranged(_margin(estimate, node, joint), joint, order)
        rows, columns = (
            _arranged(cells, union, order[:2]),
            _arranged(exact[parent], parent, [order[0], order[2]]),
        )
        met = crossed(target, rows, columns, unit, nonnegative=nonnegative)
        shape = _margin(estimate, node, joint)
        cells, union = _put_back(met, shape, joint, order), joint
    if union == node:
        return cells
    order = [sorted(union), sorted(node - union)]
    target = _arranged(estimate, node, order)
    spread = adjusted(target, cells.reshape(-1), nonnegative=nonnegative)
    return _put_back(rounded(spread, unit), estimate, node, order)


def _places(axes: Axes, order: Sequence[Sequence[int]]) -> list[int]:
    place = {axis: at for at, axis in enumerate(sorted(axes))}
    return [place[axis] for part in order for axis in part]


def _arranged(cells: Cells, axes: Axes, order: Sequence[Sequence[int]]) -> Cells:
    """An array with one dimension for each part of the order."""
    place = {axis: at for at, axis in enumerate(sorted(axes))}
    lengths = [prod(cells.shape[place[axis]] for axis in part) for part in order]
    return cells.transpose(_places(axes, order)).reshape(lengths)


def _put_back(cells: Cells, like: Cells, axes: Axes, order: Sequence[Sequence[int]]) -> Cells:
    """The reverse of ``_arranged``, of an array that had the shape of ``like``."""
    places = _places(axes, order)
    lengths = [like.shape[place] for place in places]
    return cells.reshape(lengths).transpose(np.argsort(places))


def _as_given(cells: Cells, axes: Sequence[int], unit: int) -> list[int]:
    """In units, row-major, with the axes in the order of the table."""
    place = {axis: at for at, axis in enumerate(sorted(axes))}
    row_major = cells.transpose([place[axis] for axis in axes]).reshape(-1)
    values: list[int] = (row_major // unit).tolist()
    return values
