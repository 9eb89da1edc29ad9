"""Lattices of tables that count the same records: their common axes, and the order to set them in.

A table of counts is a set of axes, the columns that it is grouped by. Two tables that count the
same records must agree on the table of the axes that they share. Together with all such tables they
form a lattice. Its nodes are set from coarse to fine, each so that it adds up to those below it.

A node with one node below it spreads that one out over its further axes. A node with several is
built from them, if they can be ordered so that the axes that each shares with all before it lie in
one of these: then nonnegative integers that add up to all of them always exist. Where they form a
cycle, as all pairs of three axes do, a node that no other table needs is instead added up from the
finer one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from dprelease.model import Query
from dprelease.statistics.statistic_registry import get_statistic

Axes = frozenset[int]
NONE: Axes = frozenset()


class Circle(ValueError):
    """Tables overlap in a circle that no table contains: they may be impossible to reconcile."""

    def __init__(self, tables: Sequence[Axes]) -> None:
        super().__init__("tables overlap in a circle")
        self.tables = tables


class Scheme(NamedTuple):
    """The order in which tables are made to agree.

    ``nodes``: all, the coarse ones first. ``parents``: those that a node is built up from, in
    order. ``sums``: nodes that are added up from a finer one instead, with that one.
    """

    nodes: tuple[Axes, ...]
    parents: Mapping[Axes, tuple[Axes, ...]]
    sums: Mapping[Axes, Axes]


def build_scheme(tables: Collection[Axes]) -> Scheme:
    """Plan how tables with these axes are made to agree.

    Tables in a circle are added up from the one that has all axes. Raises Circle if none has.
    """
    nodes = list_nodes(tables)
    finest = nodes[-1]
    try:
        return _build_up_scheme(nodes)
    except Circle:
        if not all(node <= finest for node in nodes):
            raise
    sums = dict.fromkeys(nodes[1:-1], finest)
    return Scheme(nodes, {NONE: (), finest: (NONE,)}, sums)


def _build_up_scheme(nodes: Sequence[Axes]) -> Scheme:
    sums: dict[Axes, Axes] = {}
    parents: dict[Axes, tuple[Axes, ...]] = {}
    for node in nodes:
        while node not in sums:
            settled = [other for other in nodes if other not in sums]
            below = [other for other in settled if other < node]
            highest = [n for n in below if not any(n < other for other in below)]
            chain, rest = _chain_nodes(highest)
            if not rest:
                parents[node] = chain
                break
            # one of those below that nothing but this needs, or else this one, is added up
            follows = ((axes, _find_needed_node(axes, settled)) for axes in (*rest, *chain, node))
            pair = next(((axes, finer) for axes, finer in follows if finer is not None), None)
            if pair is None:
                raise Circle(_order_nodes(highest))
            sums[pair[0]] = pair[1]
    return Scheme(tuple(nodes), {node: parents[node] for node in nodes if node not in sums}, sums)


def _find_needed_node(node: Axes, settled: Iterable[Axes]) -> Axes | None:
    """Find the finer node that is part of all finer ones, if there is one."""
    finer = [other for other in settled if node < other]
    smallest = min(finer, key=len, default=NONE)
    return smallest if finer and all(smallest <= other for other in finer) else None


def list_nodes(tables: Iterable[Axes]) -> tuple[Axes, ...]:
    """List the tables, what any of them share, and the total, coarse nodes first."""
    nodes = {NONE}
    for table in dict.fromkeys(tables):
        nodes |= {table, *(table & node for node in nodes)}
    return _order_nodes(nodes)


def _order_nodes(nodes: Iterable[Axes]) -> tuple[Axes, ...]:
    return tuple(sorted(nodes, key=lambda node: (len(node), sorted(node))))


def _chain_nodes(nodes: Sequence[Axes]) -> tuple[tuple[Axes, ...], tuple[Axes, ...]]:
    """Order nodes so that what each shares with all before lies in one of these; list the rest."""
    remaining, chain = list(nodes), [*nodes[:1]]
    remaining = remaining[1:]
    union = nodes[0] if nodes else NONE
    while remaining:
        # Taking one that shares most finds an order wherever there is one.
        best = max(remaining, key=lambda node: len(node & union))
        if not any(best & union <= node for node in chain):
            return tuple(chain), tuple(remaining)
        remaining.remove(best)
        chain.append(best)
        union |= best
    return tuple(chain), ()


def count_corrections(node: Axes, nodes: Iterable[Axes]) -> dict[Axes, int]:
    """Count how often the error of each coarser node enters the correction of a node."""
    below = sorted((other for other in nodes if other < node), key=len, reverse=True)
    # This is minus the Moebius function of the lattice: what several have in common is corrected
    # once.
    counts: dict[Axes, int] = {}
    for other in below:
        counts[other] = 1 - sum(count for finer, count in counts.items() if other < finer)
    return counts


class Rows(NamedTuple):
    """What tables must have in common to agree: statistic, column, condition and survey weight."""

    statistic: str
    column: str | None
    where: str | None
    weight: str | None
    clipped: str | None = None  # totals of people are scaled by the table, and agree with no other


def identify_rows(query: Query) -> Rows:
    """Identify records and quantity of an additive figure: equal where tables must agree."""
    counted, column = get_statistic(query.statistic).counts, query.column
    where = None if query.where is None else query.where.text
    weight = None if query.survey_weight is None else query.survey_weight.name
    clipped = None if query.clip is None else query.name
    return Rows(counted, None if counted or column is None else column.name, where, weight, clipped)


Axis = tuple[str, tuple[str, ...]]
"""A column that is grouped by, and its labels."""


def number_axes(queries: Iterable[Query]) -> tuple[dict[Axis, int], list[tuple[int, ...]]]:
    """Number the axes of all queries; list those of each. Equal bins of a column are one axis."""
    numbers: dict[Axis, int] = {}
    axes = []
    for query in queries:
        names = [(group.column, group.labels) for group in query.groups]
        axes.append(tuple(numbers.setdefault(name, len(numbers)) for name in names))
    return numbers, axes
