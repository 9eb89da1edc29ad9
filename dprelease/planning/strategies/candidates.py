"""Ways to release a block, each as pieces with noise of their own, and figures made of these.

Sets of tables, with n_i the labels of axis i:

* *Centred*: for every set B of axes that lies in some table the cells of B, centred along each
  axis; for no axis the total. The cell of a table over A is the sum of the pieces of all B in A,
  each centred once more and over the product of n_i in A and in B. Pieces are orthogonal, so that
  no estimate from them has less variance (ResidualPlanner, arXiv 2305.08175).
* *Nested*: tables each of which has the axes of the one before and one more: the cells of the
  coarser one, and the new axis centred.
* *Finer*: some tables as they are, the others added up from the cells of a finer one.

Conditions: twice the count less the total for each, and the total.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
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
)
from dprelease.planning.figure_errors import spread_of
from dprelease.planning.strategies.blocks import MOST_CELLS, Block, completed
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
    def spread(self) -> int:
        """The variance of a cell that is centred once more, in units of that of the noise."""
        return spread_of(self.groups, self.axes)

    @property
    def title(self) -> str:
        """What it is, in a few words."""
        what = " x ".join(group.column for group in self.groups) or "total"
        return f"conditions in {what}" if self.conditions else what


@dataclass(frozen=True, slots=True)
class Part:
    """What a piece adds to a figure: a term, with the sum of ``cells`` of its cells."""

    piece: int
    factor: Fraction
    row: int = 0
    cells: int = 1


@dataclass(frozen=True, slots=True)
class Candidate:
    """Pieces, and for each draft of a block, in order, the parts of its figure."""

    pieces: tuple[Piece, ...]
    parts: tuple[tuple[Part, ...], ...]


def candidates_of(block: Block) -> Iterator[Candidate]:
    """Give the ways to release a block, but for today's."""
    if block.groups:
        yield from _conditions_in_cells(block)
        return
    sets = list(dict.fromkeys(frozenset(completed(d.query.groups)) for d in block.tables))
    if block.conditions and frozenset() not in sets:
        sets.append(frozenset())
    order = sorted(frozenset().union(*sets), key=lambda group: (group.column, group.labels))
    makers = [_centred, _nested, _finer] if len(sets) > 1 else [_finer]
    for maker in makers:
        made = maker(sets, order)
        if made is not None:
            yield _with_conditions(block, *made)


Figures = dict[Groups, tuple[Part, ...]]
Made = tuple[list[Piece], Figures]


def _labels(groups: Sequence[Group] | Groups) -> int:
    return prod(len(group.labels) for group in groups)


def _sorted(groups: Groups, order: Sequence[Group]) -> tuple[Group, ...]:
    return tuple(group for group in order if group in groups)


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
    figures: Figures = {}
    for groups in sets:
        inside = [(inner, place) for inner, place in closure.items() if inner <= groups]
        figures[groups] = tuple(
            Part(place, Fraction(1, _labels(groups) * _labels(inner))) for inner, place in inside
        )
    return pieces, figures


def _nested(sets: Sequence[Groups], order: Sequence[Group]) -> Made | None:
    chain = sorted(sets, key=len)
    if any(len(more - less) != 1 or not less < more for less, more in pairwise(chain)):
        return None
    pieces = [Piece(_sorted(chain[0], order))]
    figures: Figures = {chain[0]: (Part(0, Fraction(1)),)}
    for less, more in pairwise(chain):
        (new,) = more - less
        whole = _sorted(more, order)
        axes = tuple(CENTRED if group == new else EACH for group in whole)
        share = Fraction(1, len(new.labels))
        coarser = [Part(part.piece, part.factor * share) for part in figures[less]]
        figures[more] = (Part(len(pieces), share**2), *coarser)
        pieces.append(Piece(whole, axes))
    return pieces, figures


def _finer(sets: Sequence[Groups], order: Sequence[Group]) -> Made | None:
    """Join the two released tables from which most is gained, as long as that errs less."""
    if len(sets) > MOST_FINER:
        return None
    released = list(sets)
    while len(released) > 1:
        best = min(
            (
                [*(other for other in released if not other <= one | two), one | two]
                for one, two in combinations(released, 2)
                if _labels(one | two) <= MOST_JOINED
            ),
            key=lambda joined: _need(sets, joined),
            default=None,
        )
        if best is None or _need(sets, best) >= _need(sets, released):
            break
        released = best
    figures: Figures = {}
    for groups in sets:
        source = _source(groups, released)
        cells = _labels(source) // _labels(groups)
        figures[groups] = (Part(released.index(source), Fraction(1), cells=cells),)
    return [Piece(_sorted(groups, order)) for groups in released], figures


MOST_FINER = 64
MOST_JOINED = 10**6


def _source(groups: Groups, released: Sequence[Groups]) -> Groups:
    return min((source for source in released if groups <= source), key=_labels)


def _need(sets: Sequence[Groups], released: Sequence[Groups]) -> float:
    """About the error of all figures where losses are pure: the sum of cube roots."""
    cells = dict.fromkeys(released, 0.0)
    for groups in sets:
        source = _source(groups, released)
        cells[source] += _labels(source) / _labels(groups)
    return sum(math.cbrt(number) for number in cells.values())


def _with_conditions(block: Block, pieces: list[Piece], figures: Figures) -> Candidate:
    parts = [figures[frozenset(completed(draft.query.groups))] for draft in block.tables]
    if block.conditions:
        more, rows = _conditions(block, (), len(pieces), figures[frozenset()])
        pieces, parts = [*pieces, *more], [*parts, *rows]
    return Candidate(tuple(pieces), tuple(parts))


def _conditions_in_cells(block: Block) -> Iterator[Candidate]:
    groups = completed(block.groups)
    whole = (Part(0, Fraction(1)),)
    more, rows = _conditions(block, groups, 1, whole)
    yield Candidate((Piece(groups), *more), (*(whole for _ in block.tables), *rows))


def _conditions(
    block: Block, groups: tuple[Group, ...], first: int, total: Sequence[Part]
) -> tuple[list[Piece], list[tuple[Part, ...]]]:
    """A piece for the conditions of each weight, numbered from ``first``; and all their figures."""
    places: dict[Fraction, list[int]] = {}
    for place, draft in enumerate(block.conditions):
        places.setdefault(draft.demand.weight, []).append(place)
    halved = [replace(part, factor=part.factor / 2) for part in total]
    pieces = [Piece(groups, conditions=tuple(members)) for members in places.values()]
    own = {
        place: Part(first + number, Fraction(1, 2), row)
        for number, piece in enumerate(pieces)
        for row, place in enumerate(piece.conditions)
    }
    return pieces, [(own[place], *halved) for place in range(len(block.conditions))]


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
