"""Agreement of tables of the same records: by least squares, then exactly, from coarse to fine.

*Least squares.* The observations are arrays of noisy integers: released tables, or the pieces that
tables planned together are read from (``Counts``). The noise is independent, and in each array it
has the same variance in all cells. The wanted tables are estimated from all arrays at once by
weighted least squares, under the constraint that no record has a label that none of the tables
publishes. So no other linear unbiased reading of these integers, such as the plan's, errs less.

A table is a sum of parts, one for each set B of its axes. A part varies along all axes of B and is
constant along all others. Every array with the axes B observes that part, summed over its other
axes: a plain array of N cells with variance v each has a precision in proportion to 1 / (v N).
Along a CENTRED axis of n labels, m of them published, an integer is n times its cell less the sum
of all cells; so the common part of the m cells is read with weights 1, ..., 1, -m. Parts that the
same arrays observe alike are estimated together, as one node of a lattice (``lattice``), with
weights in proportion to the precisions. Then each node is corrected by its differences from the
coarser nodes, spread evenly over its further cells.

*Exactly.* Nodes are set from the total to the finest, each so that it adds up to the nodes that it
is built from. Where requested, figures are moved to 0 or more and to whole units (``projection``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import frexp, ldexp, log, prod, sqrt
from typing import Any, NamedTuple

import numpy as np

from dprelease.postprocess.finishing.lattice import (
    NONE,
    Axes,
    build_scheme,
    count_corrections,
    list_nodes,
)
from dprelease.postprocess.finishing.projection import (
    Cells,
    adjust_to_totals,
    round_rows,
    round_to_both_totals,
)
from dprelease.postprocess.intervals.figure_terms import iter_subsets

WEIGHTS = 1 << 12
"""Weights of few arrays are integers that add up to this; any such weights are unbiased."""
FEW = 16
FINER = 3
"""Decimals of the estimates beyond those of the figures."""
MOST_KINDS = 10**6
"""The noise of a cell is not described if it takes more kinds of integers than this to find it."""


class Counts(NamedTuple):
    """Noisy integers of the same records, with independent noise of one variance.

    ``cells`` are row-major over ``axes``, in 10^-places. A ``hidden`` axis has one label more, the
    last, for records that no table shows. Along a ``centred`` axis of n labels an integer is n
    times its cell less the sum of all n.
    """

    axes: tuple[int, ...]
    cells: Sequence[int]
    variance: Fraction
    hidden: Axes = NONE
    centred: Axes = NONE

    def count_labels(self, axis: int, sizes: Sequence[int]) -> int:
        """Count the labels of an array along an axis."""
        return sizes[axis] + (axis in self.hidden)

    def count_occurrences(self, sizes: Sequence[int]) -> int:
        """Count the integers that a cell is in: that of its place and, by centring, others."""
        return prod(self.count_labels(axis, sizes) for axis in self.centred)


Tables = Sequence[tuple[int, ...]]
"""The axes of tables, in order."""


class Wanted(NamedTuple):
    """The wanted decimals of figures that have ``before`` of them, and if none may be below 0."""

    before: int
    after: int
    nonnegative: bool


class Fit(NamedTuple):
    """The weights of arrays in the parts of tables of published ``sizes``.

    ``weights``: of each node of the lattice, the precision with which each array observes its part;
    ``shares``: the same as whole numbers, for use.
    """

    tables: Tables
    observed: Sequence[Counts]
    sizes: Sequence[int]
    weights: Mapping[Axes, Mapping[int, Fraction]]
    shares: Mapping[Axes, Mapping[int, int]]


def solve_least_squares(tables: Tables, observed: Sequence[Counts], sizes: Sequence[int]) -> Fit:
    """Weigh what was observed into tables; its ``cells`` may be empty.

    Raises ValueError if some table can't be told from what was observed.
    """
    weights = {
        node: _compute_weights(observed, node, sizes) for node in _list_nodes(tables, observed)
    }
    shares = {node: _compute_shares(parts) for node, parts in weights.items()}
    return Fit(tables, observed, sizes, weights, shares)


def make_agree(fit: Fit, target: Wanted) -> list[list[int]]:
    """Make tables agree with each other: the cells of each, row-major, in 10^-target.after.

    Raises Circle where tables overlap in a circle.
    """
    scheme = build_scheme([frozenset(table) for table in fit.tables])
    fine = max(target.before, target.after) + FINER
    factor, unit = 10 ** (fine - target.before), 10 ** (fine - target.after)
    estimates = _narrow(_compute_estimates(fit, factor))
    exact: dict[Axes, Cells] = {}
    for node, parents in scheme.parents.items():
        exact[node] = _settle(node, parents, estimates[node], exact, unit, target.nonnegative)
    for node in reversed(scheme.nodes):
        if node in scheme.sums:
            finer = scheme.sums[node]
            exact[node] = _sum_margin(exact[finer], finer, node)
    return [
        (_arrange_axes(exact[frozenset(table)], frozenset(table), [table]) // unit).tolist()
        for table in fit.tables
    ]


def measure_disagreement(fit: Fit, places: int = 0) -> float:
    """Measure how far totals are apart, or hidden cells from 0, in standard deviations.

    What was observed is in 10^-places.
    """
    totals, spreads = [], []
    tensors = _build_tensors(fit)
    for place, weight in fit.weights[NONE].items():
        counts = fit.observed[place]
        total = int(_read(tensors[place], counts, NONE, fit.sizes))
        totals.append(total / counts.count_occurrences(fit.sizes))
        spreads.append(float(1 / weight) if counts.variance else 0.0)
    distances = [*_iter_hidden_residuals(fit, tensors)]
    distances += [
        abs(total - other) / sqrt(spread + spreads[place])
        for number, (total, spread) in enumerate(zip(totals, spreads, strict=True))
        for place, other in enumerate(totals[:number])
        if spread + spreads[place]
    ]
    largest: float = max(distances, default=0.0) / 10**places
    # Subtract what the largest of n distances comes to by chance. For noise X with P(abs(X) > t) =
    # exp(-sqrt(2) t), the worst case, the largest of n exceeds t + log(n)/sqrt(2) no more often
    # than a single one exceeds t.
    return largest - log(max(len(distances), 1)) / sqrt(2)


def _iter_hidden_residuals(fit: Fit, tensors: Sequence[Cells]) -> Iterator[float]:
    """Give how far an array's hidden cells add up from 0, for arrays with plain hidden cells."""
    for counts, cells in zip(fit.observed, tensors, strict=True):
        places = tuple(slice(fit.sizes[axis]) for axis in sorted(counts.axes))
        published = np.asarray(cells[places])  # of an array without axes, this is a number
        number = cells.size - published.size
        if number and counts.variance and not counts.centred:
            off = int(cells.sum()) - int(published.sum())
            yield abs(off) / sqrt(counts.variance * number)


def compute_remaining_variance(fit: Fit) -> list[float]:
    """Compute the variance of a cell of each table after least squares, 0 where it is exact."""
    sizes = fit.sizes
    parts: dict[Axes, int] = {}
    for node in fit.weights:
        below = sum(number for other, number in parts.items() if other < node)
        parts[node] = prod(sizes[axis] for axis in node) - below
    # The part of node M, of dimension g(M), has in a cell of table A the variance g(M) / (N_A^2 P),
    # where P is the sum of the weights of M.
    known_axes = {
        node: number / sum(fit.weights[node].values(), Fraction(0))
        for node, number in parts.items()
    }
    variances = []
    for table in fit.tables:
        axes = frozenset(table)
        variance = sum((part for node, part in known_axes.items() if node <= axes), Fraction(0))
        exact = any(
            not (counts.variance or counts.centred) and axes <= {*counts.axes}
            for counts in fit.observed
        )
        variances.append(0.0 if exact else float(variance / prod(sizes[i] for i in axes) ** 2))
    return variances


# --- least squares --------------------------------------------------------------------------------


def _list_nodes(tables: Tables, observed: Sequence[Counts]) -> list[Axes]:
    """List the sets of axes whose parts have weights of their own."""
    # An array of cells centred along an axis may not observe the part without that axis.
    observed_axes = [
        frozenset(counts.axes).difference(left_out)
        for counts in observed
        for left_out in iter_subsets(sorted(counts.centred))
    ]
    targets = [frozenset(table) for table in tables]
    return [
        node
        for node in list_nodes([*targets, *observed_axes])
        if any(node <= table for table in targets)
    ]


_NEXT_TO_NONE = Fraction(1, 10**12)


def _weight(counts: Counts, node: Axes, sizes: Sequence[int]) -> Fraction:
    """Compute the precision with which an array with all axes of a node observes its part."""
    # The precision is 1 / (v N) for N plain cells that are added up or spread over. Along a centred
    # axis m / n^2 takes the place of m, or m / n where the hidden cell of n observes what the m
    # cells have in common; without it nothing is observed. An array without noise is very precise.
    spread = counts.variance or _NEXT_TO_NONE
    for axis in counts.axes:
        number = counts.count_labels(axis, sizes)
        spread *= sizes[axis]
        if axis in counts.centred:
            if axis not in node and axis not in counts.hidden:
                return Fraction(0)
            spread /= number**2 if axis in node else number
    return 1 / spread


def _compute_weights(
    observed: Sequence[Counts], node: Axes, sizes: Sequence[int]
) -> dict[int, Fraction]:
    """Compute the weight of each array that observes the part of a node, by its place."""
    weights = {
        place: weight
        for place, counts in enumerate(observed)
        if node.issubset(counts.axes) and (weight := _weight(counts, node, sizes))
    }
    if not weights:
        raise ValueError("no table tells what another is made of")
    return weights


def _build_tensors(fit: Fit) -> list[Cells]:
    """Build arrays of the integers, with axes in the order of their numbers."""
    return [
        np.array(counts.cells, dtype=_choose_kind(_bound_sums(counts, fit.sizes)))
        .reshape([counts.count_labels(axis, fit.sizes) for axis in counts.axes])
        .transpose(np.argsort(counts.axes))
        for counts in fit.observed
    ]


def _bound_sums(counts: Counts, sizes: Sequence[int]) -> int:
    """Bound what is read of an array."""
    return sum(map(abs, counts.cells)) * prod(sizes[axis] for axis in counts.centred)


def _choose_kind(largest: int) -> type[Any]:
    """Choose integers of 64 bits where numbers of up to this size, and a few of them, fit."""
    return np.int64 if largest < 1 << 61 else object


def _narrow(estimates: Mapping[Axes, Cells]) -> Mapping[Axes, Cells]:
    """Give estimates as integers of 64 bits if all fit, as do a few thousand times their sums."""
    largest = max(sum(map(abs, cells.ravel().tolist())) for cells in estimates.values())
    kind = _choose_kind(largest * WEIGHTS)
    return {node: np.asarray(cells, dtype=kind) for node, cells in estimates.items()}


def _compute_estimates(fit: Fit, factor: int) -> dict[Axes, Cells]:
    """Estimate every node by least squares, times ``factor``, up to a few in the last place."""
    observed, sizes, nodes = fit.observed, fit.sizes, [*fit.weights]
    tensors = _build_tensors(fit)
    estimates: dict[Axes, Cells] = {}
    for node, shares in fit.shares.items():
        parts = {
            place: _multiply(
                _read(tensors[place], observed[place], node, sizes),
                factor,
                observed[place].count_occurrences(sizes),
            )
            for place in shares
        }
        whole = _round_to_whole(len(shares))
        corrections = {
            other: count for other, count in count_corrections(node, nodes).items() if count
        }
        # The mean is no larger than a part, and its sums no larger than that for each cell.
        sums = 2 * prod(sizes[axis] for axis in node) * sum(map(abs, corrections.values()))
        used = [*parts.values(), *(estimates[other] for other in corrections)]
        kind = _choose_kind((max(map(_find_largest, used)) + 1) * max(whole, sums))
        mean: Cells = np.zeros([sizes[i] for i in sorted(node)], dtype=kind)
        for place, share in shares.items():
            mean = np.asarray(mean + share * parts[place].astype(kind), dtype=kind)
        mean = np.asarray(mean // whole, dtype=kind)
        moves: Cells = np.zeros_like(mean)
        for other, count in corrections.items():
            spread = prod(sizes[i] for i in node - other)
            off: Cells = np.asarray(
                estimates[other].astype(kind) - _sum_margin(mean, node, other), dtype=kind
            )
            moves = moves + count * _widen(off, other, node) // spread
        estimates[node] = np.asarray(mean + moves, dtype=kind)
    return estimates


def _multiply(cells: Cells, factor: int, divisor: int) -> Cells:
    """Multiply and divide by positive integers, rounded down, as integers of 64 bits if they fit.

    These must hold the cells themselves, or these be Python's integers.
    """
    quotient, rest = cells // divisor, cells % divisor
    kind = _choose_kind(max((_find_largest(quotient) + 1) * factor, divisor * factor))
    whole = np.asarray(quotient, dtype=kind) * factor
    return np.asarray(whole + np.asarray(rest, dtype=kind) * factor // divisor, dtype=kind)


def _find_largest(cells: Cells) -> int:
    return int(np.max(np.abs(cells), initial=0))


def _read(cells: Cells, counts: Counts, node: Axes, sizes: Sequence[int]) -> Cells:
    """Sum over the axes that a node doesn't have; leave out hidden labels of those that it has."""
    for axis in sorted(counts.axes, reverse=True):
        place = sorted(counts.axes).index(axis)
        front = np.moveaxis(cells, place, 0)
        published = front[: sizes[axis]]
        if axis in node:
            cells = np.moveaxis(published, 0, place)
            continue
        total = np.asarray(published.sum(axis=0), dtype=cells.dtype)
        if axis in counts.centred and axis in counts.hidden:
            total = total - sizes[axis] * front[sizes[axis]]
        cells = np.asarray(total, dtype=cells.dtype)
    return cells


def _round_to_whole(number: int) -> int:
    """Choose the integer that the weights of so many arrays add up to."""
    return WEIGHTS << (number // FEW).bit_length()


def _compute_shares(weights: Mapping[int, Fraction]) -> dict[int, int]:
    """Round weights to integers in proportion to them, with a fixed sum."""
    total, whole = sum(weights.values(), Fraction(0)), _round_to_whole(len(weights))
    shares = {place: round(weight / total * whole) for place, weight in weights.items()}
    largest = max(shares, key=shares.__getitem__)
    # The parts must add up exactly, so the largest takes what rounding left.
    shares[largest] += whole - sum(shares.values())
    return shares


def _sum_margin(cells: Cells, axes: Axes, node: Axes) -> Cells:
    """Sum over the axes that the coarser node doesn't have."""
    over = tuple(place for place, axis in enumerate(sorted(axes)) if axis not in node)
    return np.asarray(cells.sum(axis=over), dtype=cells.dtype) if over else cells


def _widen(cells: Cells, node: Axes, axes: Axes) -> Cells:
    """Give an array of a coarser node a length of 1 along the further axes."""
    missing = tuple(place for place, axis in enumerate(sorted(axes)) if axis not in node)
    return np.expand_dims(cells, missing)


# --- any sum of cells -----------------------------------------------------------------------------


def spread_weights(fit: Fit, weights: Mapping[Axes, Cells]) -> dict[int, Cells]:
    """Spread the weights of cells over what was observed: the transpose of least squares.

    ``weights`` are Fractions, by the axes of a table in the order of their numbers. Returns, by the
    place of an array, the weights of its integers in the weighted sum of all cells.
    """
    sizes, nodes = fit.sizes, [*fit.shares]
    remaining = dict(weights)
    spread: dict[int, Cells] = {}
    for node in reversed(nodes):  # the finest first
        own = remaining.pop(node, None)
        if own is None:
            continue
        mean = own
        for other, count in count_corrections(node, nodes).items():
            if count:
                factor = Fraction(count, prod(sizes[axis] for axis in node - other))
                common = np.asarray(_sum_margin(own, node, other) * factor, dtype=object)
                remaining[other] = np.asarray(remaining.get(other, 0) + common, dtype=object)
                mean = mean - _widen(common, other, node)
        shares = fit.shares[node]
        for place, share in shares.items():
            counts = fit.observed[place]
            part = Fraction(share, sum(shares.values()) * counts.count_occurrences(sizes))
            entering = _spread_part(np.asarray(mean * part, dtype=object), counts, node, sizes)
            spread[place] = np.asarray(spread.get(place, 0) + entering, dtype=object)
    return spread


def _spread_part(cells: Cells, counts: Counts, node: Axes, sizes: Sequence[int]) -> Cells:
    """Transpose ``_read``: spread the weights of a node's cells over an array, in its order."""
    order = sorted(counts.axes)
    cells = _widen(cells, node, Axes(order))
    for place, axis in enumerate(order):
        last = -sizes[axis] if axis in counts.centred else 0
        enters = np.array([1] * sizes[axis] + [last] * (axis in counts.hidden), dtype=object)
        if axis not in node:
            cells = cells * enters.reshape([-1 if at == place else 1 for at in range(len(order))])
        elif axis in counts.hidden:
            cells = np.append(cells, 0 * np.take(cells, [0], axis=place), axis=place)
    return np.asarray(cells, dtype=object).transpose([order.index(axis) for axis in counts.axes])


# --- the law of a cell ----------------------------------------------------------------------------

Kinds = Counter[float]
"""The number of integers that enter a cell with each factor, regardless of its sign."""


def list_entering(fit: Fit) -> list[dict[int, Kinds] | None]:
    """List what enters a cell of each table after least squares, by the place of the array.

    Factors are rounded up to 8 binary digits, so that few are different. None if there are too many
    integers to inspect.
    """
    of_total = {
        place: _count_kinds(
            _compute_factors(fit, NONE, place), fit.observed[place], NONE, fit.sizes
        )
        for place in fit.shares[NONE]
    }
    size = sum(3 ** len(counts.axes) for counts in fit.observed)
    entering: list[dict[int, Kinds] | None] = []
    for table in map(frozenset, fit.tables):
        if size * sum(node <= table for node in fit.shares) > MOST_KINDS:
            entering.append(None)
            continue
        cells = prod(fit.sizes[axis] for axis in table)
        entered: dict[int, Kinds] = {}
        for place, counts in enumerate(fit.observed):
            if table.isdisjoint(counts.axes):
                total = of_total.get(place, Counter())
                entered[place] = Counter({factor / cells: n for factor, n in total.items()})
            else:
                factors = _compute_factors(fit, table, place)
                entered[place] = _count_kinds(factors, counts, table, fit.sizes)
        entering.append(entered)
    return entering


def _compute_factors(fit: Fit, table: Axes, place: int) -> Cells:
    """Compute the factors with which an array's integers enter a cell of a table.

    Along each axis: integers with the label of the cell, another label, or the hidden one.
    """
    counts, sizes = fit.observed[place], fit.sizes
    axes, factors = Axes(counts.axes), np.zeros([1] * len(counts.axes))
    for node, shares in fit.shares.items():
        if place not in shares or not node <= table:
            continue
        inside: Cells = np.zeros([3] * len(node))
        inside[(slice(2),) * len(node)] = _make_own_part(node, [*fit.shares], sizes)
        share = shares[place] / _round_to_whole(len(shares)) / counts.count_occurrences(sizes)
        entered = share / prod(sizes[i] for i in table - node) * _widen(inside, node, axes)
        for axis in counts.centred & counts.hidden - node:
            common: Cells = np.array([1.0, 1.0, -sizes[axis]])
            entered = entered * _widen(common, Axes({axis}), axes)
        factors = factors + entered
    return np.asarray(factors)


def _make_own_part(node: Axes, nodes: Sequence[Axes], sizes: Sequence[int]) -> Cells:
    """Compute the part of a node in an array that is 1 in one cell, by same and other labels."""
    part: Cells = np.zeros([2] * len(node))
    part[(0,) * len(node)] = 1.0
    for other, count in count_corrections(node, nodes).items():
        same = [slice(0, 1) if axis in other else slice(None) for axis in sorted(node)]
        part[tuple(same)] -= count / prod(sizes[axis] for axis in node - other)
    return part


def _count_kinds(factors: Cells, counts: Counts, table: Axes, sizes: Sequence[int]) -> Kinds:
    """Count the integers that enter with each size of factor."""
    # Along each axis they have the label of the cell, another, or the hidden one. Only a centred
    # axis that the table has not is read with its hidden label.
    order, numbers = sorted(counts.axes), []
    for at, axis in enumerate(order):
        same = int(axis in table)
        hidden = int(axis in counts.hidden & counts.centred)
        numbers.append([same, sizes[axis] - same, hidden][: factors.shape[at]])
        if factors.shape[at] == 1:  # all that are read enter alike
            numbers[at] = [sizes[axis]]
    kinds: Kinds = Counter()
    none = _NO_FACTOR * float(abs(factors).max(initial=0.0))
    for factor, draws in zip(factors.ravel().tolist(), product(*numbers), strict=True):
        if prod(draws) and abs(factor) > none:
            mantissa, exponent = frexp(abs(factor))
            kinds[ldexp(-(-mantissa * 256 // 1), exponent - 8)] += prod(draws)
    return kinds


_NO_FACTOR = 1e-9
"""A factor of at most this part of the largest one is 0: floats do not cancel exactly."""


# --- exactly --------------------------------------------------------------------------------------


def _settle(  # noqa: PLR0913, PLR0917 - a node with all that decides it
    node: Axes,
    parents: Sequence[Axes],
    estimate: Cells,
    exact: Mapping[Axes, Cells],
    unit: int,
    nonnegative: bool,
) -> Cells:
    """Make a node add up to its parents, in multiples of ``unit``."""
    if not parents:
        total = (2 * int(estimate) + unit) // (2 * unit) * unit
        return np.asarray(max(total, 0) if nonnegative else total, dtype=estimate.dtype)
    union, cells = parents[0], exact[parents[0]]
    for parent in parents[1:]:
        joint, common = union | parent, union & parent
        order = [sorted(common), sorted(union - common), sorted(parent - common)]
        target = _arrange_axes(_sum_margin(estimate, node, joint), joint, order)
        rows, columns = (
            _arrange_axes(cells, union, order[:2]),
            _arrange_axes(exact[parent], parent, [order[0], order[2]]),
        )
        cells_met = round_to_both_totals(target, rows, columns, unit, nonnegative=nonnegative)
        shape = _sum_margin(estimate, node, joint)
        cells, union = _put_back(cells_met, shape, joint, order), joint
    if union == node:
        return cells
    order = [sorted(union), sorted(node - union)]
    target = _arrange_axes(estimate, node, order)
    spread = adjust_to_totals(target, cells.reshape(-1), nonnegative=nonnegative)
    return _put_back(round_rows(spread, unit), estimate, node, order)


def _list_places(axes: Axes, order: Sequence[Sequence[int]]) -> list[int]:
    place = {axis: at for at, axis in enumerate(sorted(axes))}
    return [place[axis] for part in order for axis in part]


def _arrange_axes(cells: Cells, axes: Axes, order: Sequence[Sequence[int]]) -> Cells:
    """Reshape an array to one dimension for each part of the order."""
    place = {axis: at for at, axis in enumerate(sorted(axes))}
    lengths = [prod(cells.shape[place[axis]] for axis in part) for part in order]
    return cells.transpose(_list_places(axes, order)).reshape(lengths)


def _put_back(cells: Cells, like: Cells, axes: Axes, order: Sequence[Sequence[int]]) -> Cells:
    """Reverse ``_arrange_axes`` for an array that had the shape of ``like``."""
    places = _list_places(axes, order)
    lengths = [like.shape[place] for place in places]
    return cells.reshape(lengths).transpose(np.argsort(places))
