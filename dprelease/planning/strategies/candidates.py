"""Ways to release a block, each as pieces with noise of their own, and figures made of these.

Sets of tables, with n_i the labels of axis i:

* *Centred*: for every set B of axes that lies in some table the cells of B, centred along each
  axis; for no axis the total. The cell of a table over A is the sum of the pieces of all B in A,
  each centred once more and over the product of n_i in A and in B. Pieces are orthogonal, so that
  no estimate from them has less variance (ResidualPlanner, arXiv 2305.08175).
* *Nested*: tables each of which has the axes of the one before and one more: the cells of the
  coarsest one, and of each other one the cells with its new axis centred.
* *Plain*: some tables as they are: those of the spec, those of them that lie in no other, or a few
  into which they are joined. Every figure is the best estimate from all of them (``estimates``).

Conditions: twice the count less the total for each, and the total.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import combinations, pairwise
from math import prod

from dprelease.model import (
    CENTRED,
    EACH,
    Adjacency,
    AxisMatrix,
    Group,
    Measure,
    MeasureKind,
    Query,
    Sensitivity,
    Term,
)
from dprelease.planning.strategies.blocks import MOST_CELLS, MOST_JOINED, Block, completed
from dprelease.planning.strategies.estimates import Estimates
from dprelease.privacy import strategy_sensitivity
from dprelease.statistics.base import Neighbours, Released
from dprelease.statistics.registry import statistic_of

MOST_PIECES = 4096

Groups = frozenset[Group]


@dataclass(frozen=True, slots=True)
class Piece:
    """What is released at once: cells mixed along axes, or conditions in the cells of groups.

    Without ``axes`` the cells are released as they are. ``conditions`` are places in the block's.
    """

    groups: tuple[Group, ...]
    axes: tuple[AxisMatrix, ...] = ()
    conditions: tuple[int, ...] = ()

    @property
    def title(self) -> str:
        """What it is, in a few words."""
        what = " x ".join(group.column for group in self.groups) or "total"
        return f"conditions in {what}" if self.conditions else what


Figures = Mapping[Groups, Sequence[Term]]
"""The terms of each table's figures; steps are named by the place of their piece."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """Pieces, and how the tables' figures are read from them, by the variances of their noise."""

    pieces: tuple[Piece, ...]
    figures: Callable[[Sequence[float]], Figures]

    def terms(self, block: Block, variances: Sequence[float]) -> list[list[Term]]:
        """Give the terms of the figures of each draft of a block, in order."""
        figures = self.figures(variances)
        made = [list(figures[frozenset(completed(d.query.groups))]) for d in block.tables]
        own = {
            place: Term(str(number), _HALF, row, tuple(range(len(piece.groups))))
            for number, piece in enumerate(self.pieces)
            for row, place in enumerate(piece.conditions)
        }
        for place in range(len(block.conditions)):
            total = figures[frozenset(completed(block.groups))]
            halved = (replace(term, factor=term.factor / 2) for term in total)
            made.append([own[place], *halved])
        return made


_HALF = Fraction(1, 2)


def candidates_of(block: Block) -> Iterator[Candidate]:
    """Give the ways to release a block, but for today's."""
    whole = completed(block.groups)
    sets = list(dict.fromkeys(frozenset(completed(d.query.groups)) for d in block.tables))
    if block.conditions and frozenset(whole) not in sets:
        sets.append(frozenset(whole))
    order = sorted(frozenset().union(*sets), key=lambda group: (group.column, group.labels))
    sets.sort(key=lambda groups: [order.index(group) for group in _sorted(groups, order)])
    places: dict[Fraction, list[int]] = {}
    for place, draft in enumerate(block.conditions):
        places.setdefault(draft.demand.weight, []).append(place)
    conditions = [Piece(whole, conditions=tuple(members)) for members in places.values()]
    for maker in (_centred, _nested):
        if len(sets) > 1 and (made := maker(sets, order)) is not None:
            pieces, figures = made
            yield Candidate((*pieces, *conditions), partial(_whatever, figures))
    for released in _plain(sets):
        pieces = [Piece(_sorted(groups, order)) for groups in released]
        best = Estimates(sets, [piece.groups for piece in pieces])
        yield Candidate((*pieces, *conditions), best.figures)


Made = tuple[list[Piece], Figures]


def _whatever(figures: Figures, variances: Sequence[float]) -> Figures:
    """The same figures, whatever the variances."""
    return figures


def _labels(groups: Sequence[Group] | Groups) -> int:
    return prod(len(group.labels) for group in groups)


def _sorted(groups: Groups, order: Sequence[Group]) -> tuple[Group, ...]:
    return tuple(group for group in order if group in groups)


def _all_of(place: int, groups: Sequence[Group], factor: Fraction) -> Term:
    """The cells of a piece, all of whose groups the figure has."""
    return Term(str(place), factor, 0, tuple(range(len(groups))))


def _centred(sets: Sequence[Groups], order: Sequence[Group]) -> Made | None:
    closure: dict[Groups, int] = {}
    pieces: list[Piece] = []
    for groups in sets:
        if _labels(groups) > MOST_CELLS:
            return None
        mixable = [group for group in _sorted(groups, order) if len(group.labels) > 1]
        for size in range(len(mixable) + 1):
            for inner in combinations(mixable, size):
                if frozenset(inner) in closure:
                    continue
                if len(pieces) >= MOST_PIECES:
                    return None
                closure[frozenset(inner)] = len(pieces)
                pieces.append(Piece(inner, (CENTRED,) * size))
    figures = {
        groups: [
            _all_of(place, tuple(inner), Fraction(1, _labels(groups) * _labels(inner)))
            for inner, place in closure.items()
            if inner <= groups
        ]
        for groups in sets
    }
    return pieces, figures


def _nested(sets: Sequence[Groups], order: Sequence[Group]) -> Made | None:
    chain = sorted(sets, key=len)
    if any(len(more - less) != 1 or not less < more for less, more in pairwise(chain)):
        return None
    pieces = [Piece(_sorted(chain[0], order))]
    figures = {chain[0]: [_all_of(0, pieces[0].groups, Fraction(1))]}
    for less, more in pairwise(chain):
        (new,) = more - less
        whole = _sorted(more, order)
        axes = tuple(CENTRED if group == new else EACH for group in whole)
        share = Fraction(1, len(new.labels))
        coarser = [replace(term, factor=term.factor * share) for term in figures[less]]
        figures[more] = [_all_of(len(pieces), whole, share**2), *coarser]
        pieces.append(Piece(whole, axes))
    return pieces, figures


MOST_PLAIN = 64
"""More tables than these are not joined, nor estimated from each other as they are."""


def _plain(sets: Sequence[Groups]) -> list[list[Groups]]:
    """Which tables may be released as they are: all, the largest ones, or a few joined ones."""
    if len(sets) > MOST_PLAIN:
        return []
    options = [list(sets), _largest(sets), _joined(sets)]
    return [option for place, option in enumerate(options) if option not in options[:place]]


def _largest(sets: Sequence[Groups]) -> list[Groups]:
    return [groups for groups in sets if not any(groups < other for other in sets)]


def _joined(sets: Sequence[Groups]) -> list[Groups]:
    """Join the two tables from which most is gained, as long as that errs less."""
    released = list(sets)
    while len(released) > 1:
        options = [
            [*(other for other in released if not other <= one | two), one | two]
            for one, two in combinations(released, 2)
            if _labels(one | two) <= MOST_JOINED
        ]
        best = min(options, key=lambda joined: _need(sets, joined), default=released)
        if _need(sets, best) >= _need(sets, released):
            break
        released = best
    return released


def _need(sets: Sequence[Groups], released: Sequence[Groups]) -> float:
    """About the error of all figures where losses are pure: the sum of cube roots.

    Each is read from the released table with the fewest cells.
    """
    cells = dict.fromkeys(released, 0.0)
    for groups in sets:
        source = min((other for other in released if groups <= other), key=_labels)
        cells[source] += _labels(source) / _labels(groups)
    return sum(math.cbrt(number) for number in cells.values())


def query_of(block: Block, piece: Piece, name: str) -> Query:
    """The query that a piece answers: a count that no spec asks for."""
    first = min((draft.query for draft in block.drafts), key=lambda query: query.number)
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


def released_by(block: Block, piece: Piece) -> Released:
    """What a piece releases, as a step states it."""
    records = Measure(MeasureKind.RECORDS, None, block.where)
    if not piece.conditions:
        return Released((records,), axes=piece.axes)
    filters = [block.conditions[place].query.where for place in piece.conditions]
    counted = [Measure(MeasureKind.RECORDS, None, condition) for condition in filters]
    number = len(counted)
    transform = tuple(
        (*(2 * (place == row) for place in range(number)), -1) for row in range(number)
    )
    return Released((*counted, records), transform, (Fraction(1),) * number)


def sensitivity_of(block: Block, piece: Piece, neighbours: Neighbours) -> Sensitivity:
    """How far a unit moves what a piece releases."""
    replaced = neighbours.adjacency is Adjacency.REPLACE_ONE
    sizes = [len(group.labels) for group in piece.groups]
    contribution = neighbours.contribution
    if piece.conditions:
        return strategy_sensitivity.of_conditions(
            contribution, len(piece.conditions), prod(sizes), replaced=replaced
        )
    if piece.axes:
        return strategy_sensitivity.of_axes(contribution, sizes, piece.axes, replaced=replaced)
    query = query_of(block, piece, "")
    statistic = statistic_of(query.statistic)
    return statistic.sensitivity(query, neighbours)
