"""Which queries are read from one release, so that it can have the budget of them all.

In turn: equal queries are released once; count, sum, mean, variance and standard deviation of one
column, over the same rows and groups, come from one release of a few sums (``carriers``); a count
that is the sum of a finer one's cells is added up from those (``coarser``). Each only where the
figures together have less noise than if each had its own share, by the weighted mean of what is
left of their variances.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from fractions import Fraction

from dprelease.model import Query, Read, Release
from dprelease.planning.budget_request import demand_of
from dprelease.planning.key_selectors import selecting_queries
from dprelease.planning.release_units import Unit, amount, fractions, moves
from dprelease.planning.rollups import coarser
from dprelease.planning.shared_sums import OF_COLUMN, Carrier, gain
from dprelease.statistics.base import Neighbours, quantity

SCREENED_FROM = Fraction(3, 8)
"""A count that would have no more than this of the joint intensity is screened for records without
a value: its noise is less so, and its interval, which has to allow for such records that pass for
noise, is no wider than at a share of its own. With a larger share it would be."""


def units_of(release: Release, neighbours: Neighbours, *, join_targets: bool = True) -> list[Unit]:
    """Gather the release's queries into what is released at once, in the order of the leads.

    Without ``join_targets`` queries with accuracy targets share with none but their equals: what
    they cost together may be less so, which only the whole plan can tell.
    """
    selecting = selecting_queries(release)
    pure = release.privacy.delta == 0 and release.privacy.rho is None
    units = _equal(release.queries, selecting)
    alone = [unit for unit in units if unit.demand.targeted and not join_targets]
    units = _of_columns([unit for unit in units if unit not in alone], pure, neighbours)
    # what is kept of a unit's rows depends on the groups: then finer cells don't add up
    return [*alone, *(units if neighbours.people else coarser(units, pure, neighbours))]


# --- equal queries ------------------------------------------------------------------------------


def _equal(queries: Sequence[Query], selecting: frozenset[str]) -> list[Unit]:
    """Release equal queries once. One that selects keys is released for all that equal it."""
    found: dict[Hashable, list[Query]] = {}
    for query in queries:
        found.setdefault((_asked(query), demand_of([query]).kind), []).append(query)
    return [_alike(members, selecting) for members in found.values()]


def _asked(query: Query) -> Query:
    """What a query asks for, whatever it is called and pays."""
    return replace(
        query,
        name="",
        number=0,
        table=query.table if query.private else "",
        epsilon=None,
        delta=None,
        rho=None,
        accuracy=None,
        weight=Fraction(0),
        implied=False,
    )


def asked_twice(queries: Sequence[Query]) -> list[tuple[str, ...]]:
    """The names of equal queries that are released apart: their budgets are in different terms."""
    found: dict[Query, list[Query]] = {}
    for query in queries:
        found.setdefault(_asked(query), []).append(query)
    return [
        tuple(query.name for query in members)
        for members in found.values()
        if len({demand_of([query]).kind for query in members}) > 1
    ]


def _alike(members: Sequence[Query], selecting: frozenset[str]) -> Unit:
    lead = next((each for each in members if each.name in selecting), members[0])
    reads = tuple(Read(each, lead.name, ()) for each in members)
    return Unit(lead, reads, demand_of(members), selects=lead.name in selecting)


# --- several statistics of one column -----------------------------------------------------------


def _of_columns(units: Sequence[Unit], pure: bool, neighbours: Neighbours) -> list[Unit]:
    """Put the statistics of a column together, and the count of the same rows with one of them."""
    sharing = [unit for unit in units if _may_share(unit, neighbours)]
    by_rows: dict[Hashable, list[Unit]] = {}
    for unit in sharing:
        by_rows.setdefault(_rows(unit), []).append(unit)
    made = (each for those in by_rows.values() for each in _columns(those, pure, neighbours))
    return [*(unit for unit in units if unit not in sharing), *made]


def _may_share(unit: Unit, neighbours: Neighbours) -> bool:
    """Not what selects keys, and not a figure that no neighbour changes: it needs no noise."""
    query = unit.lead
    if unit.selects or query.statistic not in OF_COLUMN | {"count"}:
        return False
    if query.statistic != "count" and not quantity(query.column).grid.width:
        return False
    return moves(query, neighbours)


def _rows(unit: Unit) -> Hashable:
    """What queries must have in common."""
    query = unit.lead
    table = query.table if query.private else ""
    return query.groups, query.where, query.mechanism, unit.demand.kind, table


def _columns(units: Sequence[Unit], pure: bool, neighbours: Neighbours) -> list[Unit]:
    counts = [unit for unit in units if unit.lead.statistic == "count"]
    columns: dict[str, list[Unit]] = {}
    for unit in units:
        if unit.lead.statistic != "count" and unit.lead.column is not None:
            columns.setdefault(unit.lead.column.name, []).append(unit)
    made = {name: _joined(members, pure, neighbours) for name, members in columns.items()}
    if counts and columns:
        # the count goes with the column from which it gains most
        options = {
            name: (_worth([*counts, *members], pure, neighbours), members)
            for name, members in columns.items()
        }
        best = min(options, key=lambda name: options[name][0])
        if options[best][0] < 1:
            made[best] = _joined([*counts, *columns[best]], pure, neighbours)
            counts = []
    return [*counts, *(unit for members in made.values() for unit in members)]


def _joined(units: Sequence[Unit], pure: bool, neighbours: Neighbours) -> list[Unit]:
    """One unit in place of several, if they gain by it."""
    if len(units) == 1 or _worth(units, pure, neighbours) >= 1:
        return list(units)
    carrier = _carrier(units, pure)
    return [Unit(carrier.lead, carrier.reads(), demand_of(carrier.members), carrier)]


def _worth(units: Sequence[Unit], pure: bool, neighbours: Neighbours) -> Fraction:
    carrier = _carrier(units, pure)
    return gain(carrier, _fractions(carrier.members, pure), neighbours)


def _carrier(units: Sequence[Unit], pure: bool) -> Carrier:
    """The statistic with the most sums leads; with it go groups, filter and name."""
    members = sorted(
        (query for unit in units for query in unit.queries), key=lambda query: query.number
    )
    ranks = ("count", "sum", "mean", "stddev", "variance")
    lead = max(members, key=lambda query: (ranks.index(query.statistic), -query.number))
    column = next(each.column for each in members if each.column is not None)
    screens = all(
        part <= SCREENED_FROM
        for query, part in zip(members, _fractions(members, pure), strict=True)
        if query.statistic == "count"
    )
    return Carrier(lead, tuple(members), column, screens)


def _fractions(members: Sequence[Query], pure: bool) -> list[Fraction]:
    return fractions([amount(demand_of([each])) for each in members], pure)
