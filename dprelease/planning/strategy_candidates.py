"""Ways to release a block, each as pieces with noise of their own, and figures made of these.

Sets of tables, with n_i the labels of axis i:

* *Centred*: for every set B of axes that lies in some table the cells of B, centred along each
  axis; for no axis the total. The cell of a table over A is the sum of the pieces of all B in A,
  each centred once more and over the product of n_i in A and in B. Pieces are orthogonal, so that
  no estimate from them has less variance (ResidualPlanner, arXiv 2305.08175).
* *Nested*: tables each of which has the axes of the one before and one more: the cells of the
  coarsest one, and of each other one the cells with its new axis centred.
* *Plain*: some tables as they are: those of the spec, those of them that lie in no other, or a few
  into which they are joined. Every figure is the best estimate from all of them (``Estimates``).

Features (``features``): their integers, and the number of all records; or conditions in another way
(``Way``).

*Estimates.* A table over the groups A is a sum of components, one for each set B of its groups:
what is left of the table over B after centring it along each axis, spread evenly over the cells
that agree in B. Components of different sets are orthogonal, and independent noise of one variance
stays uncorrelated between them. So each component is estimated for itself: by every released table
that has its groups, added up over its other groups and centred, with weights in inverse proportion
to the variance that this has, which is that of the noise times the number of cells (generalized
least squares; as in Barak et al. 2007 and Hay et al. 2010 for single cases).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from itertools import accumulate, chain, combinations, pairwise, product, repeat
from math import prod
from operator import mul, sub
from typing import NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from dprelease.model import (
    CENTRED,
    EACH,
    Adjacency,
    AxisMatrix,
    ColumnType,
    Group,
    Measure,
    MeasureKind,
    Query,
    Sensitivity,
    Term,
)
from dprelease.planning.blocks import MOST_CELLS, MOST_JOINED, Block, complete_groups
from dprelease.planning.features import (
    Feature,
    Mix,
    add_up_mixes,
    collect_features,
    define_feature_release,
    find_factors,
    find_feature,
    mix_parts,
)
from dprelease.planning.steps import Draft
from dprelease.privacy import strategy_sensitivity
from dprelease.statistics.shared.statistic import Neighbours, Released
from dprelease.statistics.statistic_registry import get_statistic

MOST_PIECES = 4096
MOST_PLAIN = 64
"""More tables than these are not joined, nor estimated from each other as they are."""
MOST_WAYS = 16
"""More combinations of ways to release the features of different cells are not tried."""

MOST_CONDITIONS = 1000
"""Of one piece, whose matrix has their square of entries. Several pieces err as one would."""

DIGITS = 6
"""Weights are rounded to so many places, so that they add up to exactly 1."""

_EXACT = 1e-30
"""Stands for the variance of a table without noise: all weight is on it."""

Axes = frozenset[int]
"""Places of groups, in an order of those of all tables."""

Figures = Mapping[Axes, Sequence[Term]]
"""The terms of each table's figures; steps are named by the place of their piece."""

Amounts = Mapping[Axes, Mapping[int, float]]
"""How much of the variance of each piece's noise is in the figures of each table."""


class Way(Enum):
    """What is released of features.

    HALVES: their integers, of a condition twice the count less the total. TOGETHER: the first of
    each, and twice those that have a number less the total if some may have none, and the total,
    each times a factor, with noise that is drawn together (``mechanisms.cube``). Of conditions,
    COUNTS: the counts themselves, with such noise; SPLIT: of a single one the records that meet it,
    those that do not, and those of which nobody knows; of several that exclude each other the
    records that meet each, and those that meet none.
    """

    HALVES = "halves"
    TOGETHER = "together"
    COUNTS = "counts"
    SPLIT = "split"


class Piece(Struct, frozen=True, dict=True):
    """The cells of some groups mixed along axes, or features in these cells, released at once.

    Without ``axes`` the cells are released as they are. ``way``: of features.
    """

    groups: tuple[Group, ...]
    axes: tuple[AxisMatrix, ...] = ()
    features: tuple[Feature, ...] = ()
    way: Way = Way.HALVES

    @property
    def held(self) -> Mapping[int, Fraction]:
        """Return the integers that add up to the number of all records, with their factors."""
        if self.way is Way.SPLIT:
            return dict.fromkeys(range(1 + self.rows), Fraction(1))
        is_held = self.way is Way.TOGETHER
        return {self.rows: Fraction(1, self.factors[-1])} if is_held else {}

    @cached_property
    def firsts(self) -> tuple[int, ...]:
        """The first integer of each feature, and the number of them all."""
        return tuple(accumulate((feature.rows for feature in self.features), initial=0))

    @property
    def rows(self) -> int:
        """Return the number of integers of all features."""
        return self.firsts[-1]

    @cached_property
    def factors(self) -> tuple[int, ...]:
        """The factors of the integers of each feature, and of the number of records."""
        if self.way is not Way.TOGETHER:
            return (1,) * (len(self.features) + 1)
        return find_factors([*(feature.width for feature in self.features), 1])

    @property
    def is_whole(self) -> bool:
        """Return True if figures of its features are made of nothing else."""
        return self.way is not Way.HALVES

    def express(self, mix: Mix, place: int) -> Mapping[int, Fraction]:
        """Express a mix of the feature at a place by the released integers of a cell.

        The number of records is left out if it is not whole.
        """
        first = self.firsts[place]
        own, records = {first: mix.centred, first + 1: mix.missing}, mix.records
        if self.way is Way.SPLIT:  # of these twice the count less the known is what two differ by
            own = {
                row: records + (mix.centred if row == place else -mix.centred) for row in self.held
            }
            if self.rows > len(self.features):
                own[2] = records + mix.missing
        elif self.way is Way.COUNTS:
            own = {first: mix.centred + records}
        elif self.way is Way.TOGETHER:
            # Those without a number are half of all less twice those that have one.
            half = mix.missing * self.features[place].width / 2
            own = {first: mix.centred / self.factors[place], first + 1: -half / self.factors[-1]}
            own[self.rows] = (records + half) / self.factors[-1]
        return {row: amount for row, amount in own.items() if amount}

    @property
    def title(self) -> str:
        """Return its groups or features in a few words."""
        group_names = " x ".join(group.column for group in self.groups) or "total"
        if not self.features:
            return group_names
        quantities = {feature.total.quantity for feature in self.features}
        columns = sorted({quantity.column for quantity in quantities if quantity is not None})
        return f"{' + '.join(columns) or 'conditions'} in {group_names}"


class Fixed(Struct, frozen=True):
    """Figures that are read alike for all variances."""

    terms: Figures
    shares: Amounts

    def build_figures(self, variances: Sequence[float]) -> Figures:
        """Return the terms of each table."""
        return self.terms

    def compute_amounts(self, variances: Sequence[float]) -> Amounts:
        """Return how much of the noise of each piece is in each table."""
        return self.shares


class Estimates(Struct, frozen=True):
    """The best linear unbiased estimates of tables from tables with noise; see the module.

    ``tables`` are to be estimated, and ``released``, each as the places of its groups; ``sizes``
    are the numbers of labels of all groups.
    """

    tables: Sequence[Axes]
    released: Sequence[Axes]
    sizes: Sequence[int]

    def build_figures(self, variances: Sequence[float]) -> Mapping[Axes, Sequence[Term]]:
        """Build the terms of each table's figures; steps are named by the position of their table.

        ``variances``: those of the noise of the released tables.
        """
        weights = {
            axes: _round_weights(weights)
            for axes, weights in self._compute_weights(variances).items()
        }
        return {table: list(self._iter_terms(table, weights)) for table in self.tables}

    def compute_amounts(self, variances: Sequence[float]) -> Mapping[Axes, Mapping[int, float]]:
        """Compute how much of the noise of each released table is in each table's figures."""
        amounts: dict[Axes, dict[int, float]] = {}
        weights = self._compute_weights(variances)
        for table in self.tables:
            shares = amounts.setdefault(table, {})
            for component in _iter_subsets(table):
                # Component B has the product of n - 1 over its groups as its share of all cells.
                own = prod(self.sizes[at] - 1 for at in component)
                parts = own / _count_cells(table, self.sizes) ** 2
                for place, weight in weights[component].items():
                    cells = _count_cells(self.released[place], self.sizes)
                    shares[place] = shares.get(place, 0.0) + parts * weight**2 * cells
        return amounts

    def _compute_weights(self, variances: Sequence[float]) -> dict[Axes, dict[int, float]]:
        """Compute the weight of each released table in the estimates of its components."""
        inverse: dict[Axes, dict[int, float]] = {}
        for place, axes in enumerate(self.released):
            for component in _iter_subsets(axes):
                precision = 1 / ((variances[place] or _EXACT) * _count_cells(axes, self.sizes))
                inverse.setdefault(component, {})[place] = precision
        return {
            component: {place: part / sum(parts.values()) for place, part in parts.items()}
            for component, parts in inverse.items()
        }

    def _iter_terms(
        self, table: Axes, weights: Mapping[Axes, Mapping[int, Fraction]]
    ) -> Iterator[Term]:
        """Give the terms of a table's figures."""
        for place, axes in enumerate(self.released):
            # A centred component over B is the sum over C in B of (-1)^|B - C| times the cells over
            # C.
            common = axes & table
            for agreeing in _iter_subsets(common):
                factor = Fraction(0)
                for extra_axes in _iter_subsets(common - agreeing):
                    factor += (-1) ** len(extra_axes) * weights[agreeing | extra_axes][place]
                if factor:
                    places = tuple(at for at, axis in enumerate(sorted(axes)) if axis in agreeing)
                    factor /= _count_cells(table - agreeing, self.sizes)
                    yield Term(str(place), factor, 0, places)


Reading = Fixed | Estimates
"""How figures are read from pieces, given the variances of their noise."""


def _round_weights(weights: Mapping[int, float]) -> dict[int, Fraction]:
    """Round the weights to fractions that add up to 1."""
    parts = {place: round(weight * 10**DIGITS) for place, weight in weights.items()}
    parts[min(parts)] += 10**DIGITS - sum(parts.values())
    return {place: Fraction(part, 10**DIGITS) for place, part in parts.items()}


def _iter_subsets(axes: Iterable[int]) -> Iterator[Axes]:
    places = sorted(axes)
    sizes = range(len(places) + 1)
    return map(Axes, chain.from_iterable(combinations(places, size) for size in sizes))


class Figure(NamedTuple):
    """What is made of a feature: a mix for each part, and for what is to err little.

    ``total``: the groups of its cells.
    """

    total: Axes
    parts: tuple[Mix, ...]
    aspects: tuple[Mix, ...]


class Candidate(Struct, frozen=True):
    """Pieces, those of features last, and how the figures of a block are read from them.

    ``tables``: the groups of each of the block's tables, in order; ``figures``: of its others;
    ``rows``: of each feature the piece, and its place there. ``held``: by groups, the piece that
    holds the number of all records; ``reading`` may be without it.
    """

    pieces: tuple[Piece, ...]
    reading: Reading
    tables: tuple[Axes, ...]
    figures: tuple[Figure, ...] = ()
    rows: tuple[tuple[int, int], ...] = ()
    held: Mapping[Axes, int] = field(default_factory=dict)

    @property
    def is_joint(self) -> bool:
        """Return True if some of its features are released in another way than as halves."""
        return any(piece.is_whole for piece in self.pieces)

    def build_terms(self, variances: Sequence[float]) -> list[list[Term]]:
        """Build the terms of the figures of each draft of the block, in order."""
        counts = dict(self.reading.build_figures(variances))
        for axes, number in self.held.items():
            terms = [
                self._build_term(number, row, f) for row, f in self.pieces[number].held.items()
            ]
            counts.setdefault(axes, terms)
        return [
            *(list(counts[axes]) for axes in self.tables),
            *(
                [
                    term
                    for part, mix in enumerate(figure.parts)
                    for term in self._iter_terms(mix, counts.get(figure.total, ()), part)
                ]
                for figure in self.figures
            ),
        ]

    def _build_term(self, number: int, row: int, factor: Fraction, part: int = 0) -> Term:
        return Term(str(number), factor, row, tuple(range(len(self.pieces[number].groups))), part)

    def _iter_terms(self, mix: Mix, counts: Sequence[Term], part: int) -> Iterator[Term]:
        """Give the terms of one part of a figure: its feature's, and those of all records."""
        number, place = self.rows[mix.feature]
        for row, factor in self.pieces[number].express(mix, place).items():
            yield self._build_term(number, row, factor, part)
        if mix.records and not self.pieces[number].is_whole:
            for term in counts:
                yield replace(term, factor=term.factor * mix.records, part=part)

    def compute_amounts(self, variances: Sequence[float]) -> list[list[dict[int, float]]]:
        """Compute how much of the noise of each piece is in what is to err little of each draft."""
        amounts = {axes: dict(own) for axes, own in self.reading.compute_amounts(variances).items()}
        for axes, number in self.held.items():
            squares = (factor**2 for factor in self.pieces[number].held.values())
            amounts.setdefault(axes, {number: float(sum(squares))})
        of_drafts = [[dict(amounts[axes])] for axes in self.tables]
        for figure in self.figures:
            of_drafts.append([])
            for mix in figure.aspects:
                number, place = self.rows[mix.feature]
                piece, squared = self.pieces[number], float(mix.records**2)
                behind = {} if piece.is_whole else amounts.get(figure.total, {})
                shares = {other: amount * squared for other, amount in behind.items()}
                own = float(sum(factor**2 for factor in piece.express(mix, place).values()))
                of_drafts[-1].append({**shares, number: own + shares.get(number, 0.0)})
        return of_drafts


def iter_candidates(
    block: Block, types: Mapping[str, ColumnType], *, concentrated: bool, jointly: bool = False
) -> Iterator[Candidate]:
    """Give the ways to release a block other than today's.

    ``types``: those of all columns. Where losses are ``concentrated`` nothing is better than
    centred pieces. ``jointly``: those with conditions in other ways than HALVES, and no others.
    """
    order, tables, axes_of, features, figures = _read_block(block)
    targets = sorted({*tables, *axes_of.values()}, key=sorted)
    if jointly:
        for own in _list_joint_ways(block, features, types):
            held = {axes_of[piece.groups] for piece, _ in own if piece.held}
            needed = {axes_of[piece.groups] for piece, _ in own if not piece.is_whole}
            left = {*tables, *needed} - held
            # Where other tables are read from pieces, so are those that are held beside.
            targets = sorted({*tables, *(needed - held)}, key=sorted) if left else []
            made = _iter_readings(targets, order, concentrated=concentrated) if targets else [_NO]
            for pieces, reading in made:
                yield _join_pieces(pieces, reading, own, tables, figures)
        return
    for pieces, reading in _iter_readings(targets, order, concentrated=concentrated):
        own = [piece for cells, members in features for piece in _list_halves(cells, members)]
        yield _join_pieces(pieces, reading, own, tables, figures)


class _Content(NamedTuple):
    """What a block has: groups in order, tables, cells of others by groups, features, figures."""

    order: Sequence[Group]
    tables: tuple[Axes, ...]
    axes_of: Mapping[tuple[Group, ...], Axes]
    features: Sequence[tuple[tuple[Group, ...], Sequence[_Member]]]
    figures: tuple[Figure, ...]


@lru_cache(maxsize=4)  # a block is tried in several ways
def _read_block(block: Block) -> _Content:
    sets = [complete_groups(draft.query.groups) for draft in block.tables]
    wholes = [complete_groups(draft.query.groups) for draft in block.others]
    order = sorted(
        {group for groups in (*wholes, *sets) for group in groups},
        key=lambda group: (group.column, group.labels),
    )
    places = {group: place for place, group in enumerate(order)}
    tables, totals = (
        tuple(Axes(places[group] for group in groups) for groups in each) for each in (sets, wholes)
    )
    features, figures = _gather_features(block, wholes, totals)
    return _Content(order, tables, dict(zip(wholes, totals, strict=True)), features, figures)


_Member = tuple[int, Feature]
"""The number of a feature in its block, and the feature."""

_Own = tuple[Piece, Sequence[int]]
"""A piece of features, with the number of each in its block."""


def _join_pieces(
    pieces: Sequence[Piece],
    reading: Reading,
    own: Sequence[_Own],
    tables: tuple[Axes, ...],
    figures: tuple[Figure, ...],
) -> Candidate:
    """Join pieces of all records to those of features."""
    rows: dict[int, tuple[int, int]] = {}
    held: dict[Axes, int] = {}
    totals = {mix.feature: figure.total for figure in figures for mix in figure.parts}
    for number, (piece, features) in enumerate(own, start=len(pieces)):
        rows |= {feature: (number, place) for place, feature in enumerate(features)}
        if piece.held:
            held.setdefault(totals[features[0]], number)
    whole = (*pieces, *(piece for piece, _ in own))
    places = tuple(rows[feature] for feature in sorted(rows))
    return Candidate(whole, reading, tables, figures, places, held)


def _list_halves(cells: tuple[Group, ...], members: Sequence[_Member]) -> list[_Own]:
    return [
        (
            Piece(cells, features=tuple(members[place][1] for place in part)),
            [members[place][0] for place in part],
        )
        for part in _split_places(range(len(members)), MOST_CONDITIONS)
    ]


def _list_joint_ways(
    block: Block,
    features: Sequence[tuple[tuple[Group, ...], Sequence[_Member]]],
    types: Mapping[str, ColumnType],
) -> list[list[_Own]]:
    """List the ways in which features of some cells are released otherwise than as halves."""
    ways_of: list[list[list[_Own]]] = []
    for cells in dict.fromkeys(cells for cells, _ in features):
        parts = [members for own, members in features if own == cells]
        halves = [piece for members in parts for piece in _list_halves(cells, members)]
        members = [*chain.from_iterable(parts)]
        families = _split_exclusive(cells, members, types)
        left = {number for _, numbers in families for number in numbers}
        others = [[member for member in part if member[0] not in left] for part in parts]
        rest = [member for member in members if member[0] not in left]
        apart: list[list[_Own]] = [
            [*families, *pieces]
            for pieces in (
                [piece for part in others if part for piece in _list_halves(cells, part)],
                *(_list_joint_pieces(block, cells, rest) if rest else ()),
            )
            if families
        ]
        ways_of.append([halves, *apart, *_list_joint_pieces(block, cells, members)])
    if prod(map(len, ways_of)) <= MOST_WAYS:
        chosen = [*product(*ways_of)]
    else:  # all in the last way that they have, or those of single features as halves
        several = [len([number for _, own in ways[0] for number in own]) > 1 for ways in ways_of]
        chosen = [
            tuple(ways[-1] for ways in ways_of),
            tuple(ways[-is_more] for is_more, ways in zip(several, ways_of, strict=True)),
        ]
    made = [[piece for pieces in ways for piece in pieces] for ways in chosen]
    return [own for own in made if any(piece.is_whole for piece, _ in own)]


def _split_exclusive(
    cells: tuple[Group, ...], members: Sequence[_Member], types: Mapping[str, ColumnType]
) -> list[_Own]:
    """Make a piece of each family of conditions that exclude each other.

    A condition that shares no column with another one is not looked at.
    """
    conditions = {
        member: member[1].total.where
        for member in members
        if member[1].total.quantity is None and member[1].known is None
    }
    readers = Counter(
        name for where in conditions.values() if where is not None for name in where.columns
    )
    looked_at = [
        (member, where)
        for member, where in conditions.items()
        if where is not None and any(readers[name] > 1 for name in where.columns)
    ]
    if len(looked_at) < 2 or len(looked_at) > MOST_CONDITIONS:
        return []
    # Imported here for start-up: few specs have such conditions.
    from dprelease.planning.exclusive_conditions import find_exclusive

    families = find_exclusive([where for _, where in looked_at], types)
    return [
        (
            Piece(cells, features=tuple(looked_at[place][0][1] for place in family), way=Way.SPLIT),
            [looked_at[place][0][0] for place in family],
        )
        for family in families
    ]


def _list_joint_pieces(
    block: Block, cells: tuple[Group, ...], members: Sequence[_Member]
) -> list[list[_Own]]:
    """List the ways to release all features of some cells at once.

    Counts of conditions by themselves are not better than twice each less the total unless a unit
    replaces another in the same, only cell: that moves a count by no more than one that comes or
    goes would, but twice a count less the total by twice as much.
    """
    members = sorted(members, key=lambda member: member[0])
    numbers, own = [number for number, _ in members], tuple(feature for _, feature in members)
    are_conditions = all(feature.total.quantity is None for feature in own)
    if len(own) == 1 and are_conditions:
        return [[(Piece(cells, features=own, way=Way.SPLIT), numbers)]]
    is_named = any(draft.query.mechanism != "auto" for draft in block.drafts)
    if sum(feature.rows for feature in own) > MOST_CONDITIONS or is_named:
        return []
    ways = [Way.TOGETHER]
    number = prod(len(group.labels) for group in cells)
    is_replaced = block.drafts[0].adjacency is Adjacency.REPLACE_ONE
    if number == 1 and is_replaced and are_conditions and all(f.known is None for f in own):
        ways.append(Way.COUNTS)
    return [[(Piece(cells, features=own, way=way), numbers)] for way in ways]


def _gather_features(
    block: Block, wholes: Sequence[tuple[Group, ...]], totals: Sequence[Axes]
) -> tuple[list[tuple[tuple[Group, ...], list[_Member]]], tuple[Figure, ...]]:
    """Gather the features of a block that are released at once, and what is made of them."""
    by_cells: dict[tuple[Group, ...], list[Draft]] = {}
    for groups, draft in zip(wholes, block.others, strict=True):
        by_cells.setdefault(groups, []).append(draft)
    figures: dict[str, Figure] = {}
    total_of = dict(zip(wholes, totals, strict=True))
    pieces: dict[tuple[tuple[Group, ...], Fraction, int], list[_Member]] = {}
    first = 0
    for groups, drafts in by_cells.items():
        features = collect_features([draft.query for draft in drafts])
        place_of = {feature.total: place for place, feature in enumerate(features)}
        weights = [Fraction(0)] * len(features)
        for draft in drafts:
            own = find_feature(draft.query)
            if own is None:
                raise ValueError("the others of a block have a feature")
            place = place_of[own.total]
            weights[place] += draft.demand.weight
            parts = mix_parts(draft.query, features[place], first + place, block.where)
            aspects = get_statistic(draft.query.statistic).list_aspects(draft.query)
            figures[draft.name] = Figure(
                total_of[groups], parts, tuple(add_up_mixes(parts, factors) for factors in aspects)
            )
        for place, (feature, weight) in enumerate(zip(features, weights, strict=True)):
            alike = pieces.setdefault((groups, weight, feature.width), [])
            alike.append((first + place, feature))
        first += len(features)
    released = [(groups, members) for (groups, _, _), members in pieces.items()]
    return released, tuple(figures[draft.name] for draft in block.others)


def _split_places(places: Sequence[int], limit: int) -> list[tuple[int, ...]]:
    """Split the places in order into as few parts as possible, about equally long."""
    number = -(-len(places) // limit)
    ends = [len(places) * part // number for part in range(number + 1)]
    return [tuple(places[start:end]) for start, end in pairwise(ends)]


def _iter_readings(
    tables: Sequence[Axes], order: Sequence[Group], *, concentrated: bool
) -> Iterator[tuple[Sequence[Piece], Reading]]:
    sizes = [len(group.labels) for group in order]
    if len(tables) > 1:
        for maker in (_center_tables, _nest_tables):
            readings = maker(tables, order, sizes)
            if readings is not None:
                yield readings
    if len(tables) <= MOST_PLAIN and (len(tables) == 1 or not concentrated):
        # As they are: all tables, the largest ones, or a few into which they are joined.
        largest = [axes for axes in tables if not any(axes < other for other in tables)]
        options = [list(tables), largest, _join_tables(tables, sizes)]
        for place, released in enumerate(options):
            if released not in options[:place]:
                pieces = [Piece(tuple(order[place] for place in sorted(axes))) for axes in released]
                yield pieces, Estimates(tables, released, sizes)


Made = tuple[Sequence[Piece], Reading]

_NO: Made = ((), Fixed({}, {}))


def _count_cells(axes: Iterable[int], sizes: Sequence[int]) -> int:
    return prod(sizes[place] for place in axes)


def _sum_piece(place: int, number: int, factor: Fraction) -> Term:
    """Build the term of a piece whose groups, ``number`` of them, the figure has."""
    return Term(str(place), factor, 0, tuple(range(number)))


def _center_tables(
    tables: Sequence[Axes], order: Sequence[Group], sizes: Sequence[int]
) -> Made | None:
    closure: dict[Axes, int] = {}
    for axes in tables:
        if _count_cells(axes, sizes) > MOST_CELLS:
            return None
        mixable = [place for place in sorted(axes) if sizes[place] > 1]
        for number in range(len(mixable) + 1):
            for inner in map(Axes, combinations(mixable, number)):
                closure.setdefault(inner, len(closure))
                if len(closure) > MOST_PIECES:
                    return None
    pieces = [
        Piece(tuple(order[place] for place in sorted(inner)), (CENTRED,) * len(inner))
        for inner in closure
    ]
    terms: dict[Axes, list[Term]] = {}
    shares: dict[Axes, dict[int, float]] = {}
    for axes in tables:
        whole = _count_cells(axes, sizes)
        inside = [(inner, place) for inner, place in closure.items() if inner <= axes]
        terms[axes] = [
            _sum_piece(place, len(inner), Fraction(1, whole * _count_cells(inner, sizes)))
            for inner, place in inside
        ]
        shares[axes] = {
            place: prod((sizes[at] - 1) / sizes[at] for at in inner) / whole**2
            for inner, place in inside
        }
    return pieces, Fixed(terms, shares)


def _nest_tables(
    tables: Sequence[Axes], order: Sequence[Group], sizes: Sequence[int]
) -> Made | None:
    nested = sorted(tables, key=len)
    if any(
        len(larger - smaller) != 1 or not smaller < larger for smaller, larger in pairwise(nested)
    ):
        return None
    first = sorted(nested[0])
    pieces = [Piece(tuple(order[place] for place in first))]
    terms = {nested[0]: [_sum_piece(0, len(first), Fraction(1))]}
    shares = {nested[0]: {0: 1.0}}
    for smaller, larger in pairwise(nested):
        (new,) = larger - smaller
        whole, size = sorted(larger), sizes[new]
        axes = tuple(CENTRED if place == new else EACH for place in whole)
        coarser = [replace(term, factor=term.factor / size) for term in terms[smaller]]
        terms[larger] = [_sum_piece(len(pieces), len(whole), Fraction(1, size**2)), *coarser]
        shares[larger] = {place: share / size**2 for place, share in shares[smaller].items()}
        shares[larger][len(pieces)] = (size - 1) / size**3
        pieces.append(Piece(tuple(order[place] for place in whole), axes))
    return pieces, Fixed(terms, shares)


def _join_tables(tables: Sequence[Axes], sizes: Sequence[int]) -> list[Axes]:
    """Join the two tables from which most is gained, as long as that errs less."""
    cells = lru_cache(maxsize=None)(partial(_count_cells, sizes=sizes))

    def estimate_error(released: Sequence[Axes]) -> float:
        """Estimate the error of all figures where losses are pure: the sum of cube roots.

        Each is read from the released table with the fewest cells.
        """
        parts = dict.fromkeys(released, 0.0)
        for axes in tables:
            source = min((other for other in released if axes <= other), key=cells)
            parts[source] += cells(source) / cells(axes)
        return sum(math.cbrt(part) for part in parts.values())

    released = sorted(tables, key=sorted)
    while len(released) > 1:
        unions = {first | two for first, two in combinations(released, 2)}
        options = [
            [*(other for other in released if not other <= union), union]
            for union in sorted(unions, key=sorted)
            if cells(union) <= MOST_JOINED
        ]
        best = min(options, key=estimate_error, default=released)
        if estimate_error(best) >= estimate_error(released):
            break
        released = best
    return released


def build_piece_query(block: Block, piece: Piece, name: str) -> Query:
    """Build the query that a piece answers: a count that no spec asks for."""
    first = block.first_query
    return Query(
        name,
        "count",
        first.table,
        groups=piece.groups,
        where=block.where,
        mechanism=first.mechanism,
        number=first.number,
        implied=True,
    )


def define_piece_release(block: Block, piece: Piece) -> Released:
    """Define what a piece releases, as a step states it."""
    if piece.way is not Way.HALVES:
        return _define_joint_release(block, piece)
    if piece.features:
        return define_feature_release(piece.features, block.where)
    return Released((Measure(MeasureKind.RECORDS, None, block.where),), axes=piece.axes)


def _define_joint_release(block: Block, piece: Piece) -> Released:
    """Define what a piece of conditions releases in another way than HALVES."""
    halves = define_feature_release(piece.features, block.where)
    number = len(halves.measures)
    if piece.way is Way.TOGETHER:
        records = (*(0,) * (number - 1), piece.factors[-1])
        rows: list[tuple[int, ...]] = []
        units: list[Fraction] = []
        for feature, factor in zip(piece.features, piece.factors, strict=False):
            rows.append(tuple(map(mul, repeat(factor), halves.transform[len(rows)])))
            units.append(feature.unit)
            if feature.known is not None:
                known = [2 * int(measure == feature.known) for measure in halves.measures]
                rows.append(tuple(piece.factors[-1] * amount for amount in (*known[:-1], -1)))
                units.append(feature.unit)
        return Released(halves.measures, (*rows, records), (*units, Fraction(1)), together=True)
    own = [tuple(int(at == row) for at in range(number)) for row in range(number)]
    if piece.way is Way.COUNTS:
        rows = [row[:-1] for row in own[:-1]]
        return Released(halves.measures[:-1], tuple(rows), halves.unit, together=True)
    ones = (Fraction(1),) * number
    if len(piece.features) > 1:
        others = (*(-1 for _ in piece.features), 1)
        return Released(halves.measures, (*own[:-1], others), ones, apart=True)
    less = [tuple(map(sub, row, before)) for before, row in pairwise(own)]
    return Released(halves.measures, (own[0], *less), ones)


def bound_piece_change(block: Block, piece: Piece, neighbours: Neighbours) -> Sensitivity:
    """Bound how far a unit moves the released integers of a piece."""
    replaced = neighbours.adjacency is Adjacency.REPLACE_ONE
    sizes = [len(group.labels) for group in piece.groups]
    contribution = neighbours.contribution
    if piece.way is Way.SPLIT:
        outputs = (1 + piece.rows) * prod(sizes)
        return strategy_sensitivity.bound_split_change(
            contribution, outputs, replaced=replaced, several=len(piece.features) > 1
        )
    if piece.way is Way.TOGETHER:
        moved = [
            move
            for feature, factor in zip(piece.features, piece.factors, strict=False)
            for move in (feature.width * factor, piece.factors[-1])[: feature.rows]
        ]
        moved.append(piece.factors[-1])
        return strategy_sensitivity.bound_joint_change(
            contribution, moved, (1 + piece.rows) * prod(sizes), replaced=replaced
        )
    if piece.way is Way.COUNTS:
        return strategy_sensitivity.bound_counts_change(contribution, piece.rows)
    if piece.features:
        return strategy_sensitivity.bound_feature_change(
            contribution,
            [feature.width for feature in piece.features],
            sum(feature.rows for feature in piece.features) * prod(sizes),
            replaced=replaced,
            conditions=all(feature.total.quantity is None for feature in piece.features),
        )
    if piece.axes:
        return strategy_sensitivity.bound_mixed_change(
            contribution, sizes, piece.axes, replaced=replaced
        )
    query = build_piece_query(block, piece, "")
    statistic = get_statistic(query.statistic)
    return statistic.bound_sensitivity(query, neighbours)
