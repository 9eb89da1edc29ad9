"""The worst that one unit can do to the integers of a strategy, counted from its matrices.

*Cells mixed along axes.* A record in cell p adds the column c_p of the whole matrix: the tensor
product of one column of each axis. Both norms, L1 and squared L2, of such a product are the
products of the norms of its parts, so they are largest where each part is.

If a record of cell p is put in the place of one of cell q, the integers change by c_p - c_q. Where
p and q differ in an axis released as it is (EACH), no integer holds an entry of both columns: the
norms add up. Elsewhere an integer holds a pair of entries, (a, b), and changes by a - b; in a
tensor product the pairs of the parts are multiplied, place by place. So it is enough to count how
often which pair occurs in each part, its *tally*, and to multiply tallies.

- EACH, the same label: (1, 1) once, and (0, 0), which changes nothing in any product.
- CENTRED, n labels: (n-1, n-1) once and (-1, -1) n-1 times, if the label is the same; (n-1, -1)
  and (-1, n-1) once each and (-1, -1) n-2 times, if not. All labels are alike, so that is all.
- RUNNING: the columns p and p+d hold the pairs of the columns 0 and d without the last p of them.
  Fewer pairs do no more, so p = 0 is the worst.
- BASIS: every two columns.
- SCALED: no pairs are counted; every column is a beginning of the first, moved down and multiplied.
- TREE: (1, 1) on each level where both labels are in one node, (1, 0) and (0, 1) on the others.
  They are in one at least on levels that have a single node, and on all if the label is the same.

Of RUNNING, BASIS and TREE one axis at most is counted so, and only while it takes ``MOST_PAIRS``
pairs; else the triangle inequality bounds c_p - c_q by twice the largest column, in squares by four
times. If no entry of any matrix is negative, twice is enough in squares: |c_p - c_q|^2 is |c_p|^2 +
|c_q|^2 less twice a sum of products, each of two numbers that are at least 0.
A record can also be in no cell on one side, unless all are in one for certain: then it changes by
one column. With up to R rows a unit does R such changes one after the other: R times the L1 norm
and R^2 times the squared L2 norm bound them.

*Values.* With points, the last axis is that of the values of a grid. A record with a value is in
one cell of it, as with labels; one without is in none. Limits of a unit's cells are of the groups
alone.

*Features.* The released integers fall into features: integers that share a filter or column, other
than that of all rows, are of one. A row adds to the integers of a feature what its filters and its
value say, a point of the convex hull of the feature's ``find_corners``, whatever it adds to the
other features; or nothing to any, being in no cell. That holds all that it can add. If v rows enter
a cell and u leave, a feature moves by v y - u x with y and x in its hull, and all of them can do so
at once. The L1 norm and the squared L2 norm are sums over features, each convex in (x, y) and so
largest where x and y are corners. As norms are convex, mixtures of rows that are in the cell and
rows that are in none are no worse than the worst of (v, u), (v, 0) and (0, u). That is a maximum of
convex functions, convex itself, as ``bound_worst_change`` needs it over cells.

*Filters apart.* If no record meets two of a step's filters (``exclusive_filters``), a row adds what
one of them adds, or none of them. v rows that enter and u that leave move the cell by v y - u x,
with y and x means of such effects. Its L1 norm is at most v |y| + u |x|. Its squared L2 norm is
v^2 |y|^2 + u^2 |x|^2 less twice v u <y, x>: at most the first two if no effect is negative, else
twice these. Both are largest where y and x are the longest effects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache, lru_cache, reduce
from itertools import combinations_with_replacement, compress
from math import floor, isqrt, prod
from typing import NamedTuple

from msgspec.structs import replace

from dprelease.kernel.chapters.clipped_people.clipped_totals import bound_clipped_change
from dprelease.kernel.chapters.strategies.strategy_steps import has_features, list_own_filters
from dprelease.kernel.core import worst_change as core
from dprelease.kernel.core.unit_limits import (
    Effect,
    Limits,
    derive_limits,
    find_corners,
    is_always_there,
    is_counting_every_record,
)
from dprelease.kernel.core.worst_change import Moved, Worst, maximize_over_cells
from dprelease.model import (
    Adjacency,
    AxisKind,
    AxisMatrix,
    Expression,
    Measure,
    MeasureKind,
    Privacy,
    Quantity,
    Step,
)
from dprelease.model.shift import Shift

MOST_PAIRS = 1 << 22
"""So many pairs of entries are counted for a step, some seconds' work."""

Tally = Counter[tuple[int, int]]
"""How often which two entries of two columns stand at one place."""


@lru_cache(maxsize=4096)
def bound_step_change(step: Step, privacy: Privacy) -> Worst:
    """Bound what neighbours can do to the released integers of any step that is executable."""
    if step.query.clip is not None:
        return bound_clipped_change(step, privacy)
    if step.axes:
        return _bound_by_norms(*bound_mixed_norms(step, privacy), step.draws)
    if not has_features(step):
        return core.bound_worst_change(step, privacy)
    limits = derive_limits(step, privacy)
    largest = bound_apart_norms(step) if step.apart else bound_feature_norms(step, limits)
    l1, l2_squared = (floor(maximize_over_cells(limits, moved)) for moved in largest)
    return _bound_by_norms(l1, l2_squared, len(step.transform) * limits.touched_cells)


def _bound_by_norms(l1: int, l2_squared: int, integers: int) -> Worst:
    """Bound so many integers by norms alone; those that change at all do so by 1."""
    if l1 == 0:
        return Worst(0, Shift(0, 0))
    coordinates = min(integers, l1)
    shapes = ((min(l1, isqrt(l2_squared)),),) if coordinates == 1 else ()
    return Worst(l1, Shift(l2_squared, coordinates, shapes))


class Norms(NamedTuple):
    """The largest L1 norm and the largest squared L2 norm of a set of changes."""

    l1: int
    l2_squared: int


# --- cells mixed along axes ----------------------------------------------------------------------


def bound_mixed_norms(step: Step, privacy: Privacy) -> Norms:
    """Bound what neighbours can do to a count of records that is mixed along axes."""
    query = step.query
    parts = list(zip(step.axes, step.sizes, strict=True))
    norms = [_bound_column(*part) for part in parts]
    change = Norms(prod(part.l1 for part in norms), prod(part.l2_squared for part in norms))
    if privacy.adjacency is Adjacency.REPLACE_ONE:
        certain = is_always_there(privacy) and is_counting_every_record(query)
        certain = certain and (step.points is None or step.points.null_fill is not None)
        absent = Norms(0, 0) if certain else change
        change = _join_norms(absent, _bound_replacement(parts, change))
    rows = derive_limits(step, privacy).rows
    return Norms(rows * change.l1, rows * rows * change.l2_squared)


def _join_norms(left: Norms, right: Norms) -> Norms:
    return Norms(max(left.l1, right.l1), max(left.l2_squared, right.l2_squared))


def _bound_column(axis: AxisMatrix, labels: int) -> Norms:
    if axis.kind is AxisKind.EACH:
        return Norms(1, 1)
    if axis.kind is AxisKind.CENTRED:
        return _compute_norms(_tally_centred(labels, differ=False), alone=True)
    if axis.kind is AxisKind.TREE:
        return _compute_norms(_tally_tree(axis, len(axis.entries[0])), alone=True)
    if axis.kind is AxisKind.SCALED:
        return _bound_scaled_column(axis)
    columns = axis.entries if axis.kind is AxisKind.RUNNING else zip(*axis.entries, strict=True)
    return reduce(
        _join_norms, (Norms(sum(map(abs, c)), sum(entry * entry for entry in c)) for c in columns)
    )


def _bound_scaled_column(axis: AxisMatrix) -> Norms:
    """Bound the columns of a SCALED matrix, from the last, which has a single entry, to the first.

    Each has one more entry of the common column than the one before.
    """
    column, factors = axis.entries
    l1, l2_squared, largest = 0, 0, Norms(0, 0)
    for entry, factor in zip(column, reversed(factors), strict=True):
        l1, l2_squared = l1 + abs(entry), l2_squared + entry * entry
        largest = _join_norms(largest, Norms(factor * l1, factor * factor * l2_squared))
    return largest


def _bound_replacement(parts: list[tuple[AxisMatrix, int]], column: Norms) -> Norms:
    """Bound c_p - c_q over all cells; ``column`` bounds each of the two."""
    several = any(axis.kind is AxisKind.EACH and labels > 1 for axis, labels in parts)
    disjoint = Norms(2 * column.l1, 2 * column.l2_squared) if several else Norms(0, 0)
    sizes = Counter(labels for axis, labels in parts if axis.kind is AxisKind.CENTRED)
    others = [part for part in parts if part[0].kind not in {AxisKind.EACH, AxisKind.CENTRED}]
    pairs = 5 ** sizes.total() * prod(_estimate_pairs(*part) for part in others)
    is_scaled = any(axis.kind is AxisKind.SCALED for axis, _ in parts)
    if is_scaled or len(others) > 1 or pairs > MOST_PAIRS:
        squares = 4 if any(map(_has_negative_entries, parts)) else 2
        return Norms(2 * column.l1, squares * column.l2_squared)
    centred = [Counter({(1, 1): 1})]
    for labels, number in sizes.items():
        same, different = _tally_centred(labels, differ=False), _tally_centred(labels, differ=True)
        axis_limit = number if labels > 1 else 0  # so many of these axes can differ
        centred = [
            reduce(
                _multiply_tallies, [different] * differing + [same] * (number - differing), tally
            )
            for tally in centred
            for differing in range(axis_limit + 1)
        ]
    tallies = _iter_tallies(*others[0]) if others else [Counter({(1, 1): 1})]
    return reduce(
        _join_norms,
        (
            _compute_norms(_multiply_tallies(tally, second))
            for tally in tallies
            for second in centred
        ),
        disjoint,
    )


def _has_negative_entries(part: tuple[AxisMatrix, int]) -> bool:
    axis, labels = part
    if axis.kind is AxisKind.CENTRED:
        return labels > 1
    return any(entry < 0 for row in axis.entries for entry in row)


def _estimate_pairs(axis: AxisMatrix, labels: int) -> int:
    """About how many pairs of entries ``_iter_tallies`` counts."""
    if axis.kind is AxisKind.TREE:
        return 3 * (len(axis.entries[0]) + 1)
    return labels * (labels + 1) // 2 * (len(axis.entries) if axis.kind is AxisKind.BASIS else 1)


def _tally_centred(labels: int, *, differ: bool) -> Tally:
    """Tally the pairs of two columns n e_p - 1 and n e_q - 1."""
    high, low = labels - 1, -1
    if differ:
        return Counter({(high, low): 1, (low, high): 1, (low, low): labels - 2})
    return Counter({(high, high): 1, (low, low): labels - 1})


def _iter_tallies(axis: AxisMatrix, labels: int) -> Iterator[Tally]:
    """Give the pairs of every two columns that can be the worst, in one of their two orders."""
    if axis.kind is AxisKind.RUNNING:
        (column,) = axis.entries
        for distance in range(labels):
            yield Counter(zip(column, (0,) * distance + column, strict=False))
    elif axis.kind is AxisKind.TREE:
        (widths,) = axis.entries
        for shared in range(sum(width >= labels for width in widths), len(widths) + 1):
            yield _tally_tree(axis, shared)
    else:
        columns = list(zip(*axis.entries, strict=True))
        for first, second in combinations_with_replacement(columns, 2):
            yield Counter(zip(first, second, strict=True))


def _tally_tree(axis: AxisMatrix, shared: int) -> Tally:
    """Tally the pairs of two labels that are in one node on so many levels."""
    apart = len(axis.entries[0]) - shared
    return Counter({(1, 1): shared, (1, 0): apart, (0, 1): apart})


def _multiply_tallies(left: Tally, right: Tally) -> Tally:
    """Multiply tallies to the pairs of a tensor product."""
    product: Tally = Counter()
    for (a, b), left_count in left.items():
        for (c, d), right_count in right.items():
            product[a * c, b * d] += left_count * right_count
    return product


def _compute_norms(tally: Tally, *, alone: bool = False) -> Norms:
    """Compute the norms of the difference of two columns, or of the first one alone."""
    amounts = [(a if alone else a - b, number) for (a, b), number in tally.items()]
    return Norms(
        sum(abs(amount) * number for amount, number in amounts),
        sum(amount * amount * number for amount, number in amounts),
    )


# --- features ------------------------------------------------------------------------------------

Corners = frozenset[Effect]
"""What a row that is in the cell can add to the integers of one feature."""


def bound_feature_norms(step: Step, limits: Limits) -> tuple[Moved, Moved]:
    """Give f for the L1 norm and for the squared L2 norm, of a step that releases features."""
    features = Counter(_find_feature_corners(step, rows) for rows in _list_features(step))
    return _bound_moves(features, limits, 1), _bound_moves(features, limits, 2)


def bound_apart_norms(step: Step) -> tuple[Moved, Moved]:
    """Give f for both norms, of a step of whose own filters a record meets one at most."""
    filters = {None, *list_own_filters(step)}
    effects = [
        [
            sum(
                factor
                for factor, measure in zip(row, step.measures, strict=True)
                if measure.where in {step.query.where, met}
            )
            for row in step.transform
        ]
        for met in filters
    ]
    is_count = all(amount >= 0 for effect in effects for amount in effect)
    return _bound_apart(effects, 1, 1), _bound_apart(effects, 2, 1 if is_count else 2)


def _bound_apart(effects: Sequence[Sequence[int]], power: int, both: int) -> Moved:
    largest = max(
        sum(amount * amount if power == 2 else abs(amount) for amount in effect)
        for effect in effects
    )

    def bound_move(entering: int, leaving: int) -> int:
        factor = both if entering and leaving else 1
        rows = entering**2 + leaving**2 if power == 2 else entering + leaving
        return factor * largest * rows

    return bound_move


def _bound_moves(features: Counter[Corners], limits: Limits, power: int) -> Moved:
    def bound_together(entering: int, leaving: int) -> Fraction | int:
        return sum(
            number
            * max(
                sum(
                    abs(entering * y - leaving * x) ** power
                    for y, x in zip(entry, leaver, strict=True)
                )
                for entry in corners
                for leaver in corners
            )
            for corners, number in features.items()
        )

    @cache
    def bound_move(entering: int, leaving: int) -> Fraction | int:
        joint = bound_together(entering, leaving)
        if limits.certain:
            return joint
        return max(joint, bound_together(entering, 0), bound_together(0, leaving))

    return bound_move


def _list_features(step: Step) -> list[tuple[int, ...]]:
    """List the released integers of each feature; those that share nothing are apart."""
    every_row = Measure(MeasureKind.RECORDS, None, step.query.where)
    feature_of: dict[Quantity | Measure, int] = {}
    features: dict[int, tuple[int, ...]] = {}
    for number, row in enumerate(step.transform):
        measures = [step.measures[place] for place in compress(range(len(row)), row)]
        own = [measure.quantity or measure for measure in measures if measure != every_row]
        rows: tuple[int, ...] = ()
        for place in dict.fromkeys(feature_of[part] for part in own if part in feature_of):
            rows += features.pop(place)
            feature_of |= {part: number for part, at in feature_of.items() if at == place}
        feature_of |= dict.fromkeys(own, number)
        features[number] = (*rows, number)
    return list(features.values())


def _find_feature_corners(step: Step, rows: tuple[int, ...]) -> Corners:
    """Give the corners of what a row of the table that is in the cell can add to a feature."""
    factors = [step.transform[row] for row in rows]
    every = range(len(step.measures))
    places = sorted({place for row in factors for place in compress(every, row)})
    measures = tuple(step.measures[place] for place in places)
    if len(rows) == 1 and all(measure.kind is MeasureKind.RECORDS for measure in measures):
        return frozenset((Fraction(end),) for end in _bound_row(step, factors[0]))
    transform = tuple(tuple(row[place] for place in places) for row in factors)
    return find_corners(replace(step, measures=measures, transform=transform))


def _bound_row(step: Step, row: tuple[int, ...]) -> tuple[int, int]:
    """Bound what a row that is in the cell can add to an integer, by filters alone."""
    amounts: Counter[Expression | None] = Counter()
    for place in compress(range(len(row)), row):
        amounts[step.measures[place].where] += row[place]
    always = amounts.pop(step.query.where, 0)
    lowest = sum(amount for amount in amounts.values() if amount < 0)
    return always + lowest, always + sum(amount for amount in amounts.values() if amount > 0)
