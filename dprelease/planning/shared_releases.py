"""Which queries are read from one release, so that it can have the budget of them all.

In turn: equal queries are released once; count, sum, mean, variance and standard deviation of one
column, over the same rows and groups, come from one release of a few sums (``shared_sums``); a
count that is the sum of a finer one's cells is added up from those. Each only where the figures
together have less noise than if each had its own share, by the weighted mean of what is
left of their variances.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dprelease.model import Group, Query, Read, Reading, Release
from dprelease.planning.budget_request import Demand, demand_of, root
from dprelease.planning.shared_sums import Carrier, counts_rows, gain, sharing_of
from dprelease.planning.total_budget import selecting_queries
from dprelease.statistics.base import Neighbours, quantity
from dprelease.statistics.registry import statistic_of

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
    queries_by_request: dict[Hashable, list[Query]] = {}
    for query in queries:
        queries_by_request.setdefault((_asked(query), demand_of([query]).kind), []).append(query)
    return [_alike(members, selecting) for members in queries_by_request.values()]


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
    queries_by_request: dict[Query, list[Query]] = {}
    for query in queries:
        queries_by_request.setdefault(_asked(query), []).append(query)
    return [
        tuple(query.name for query in members)
        for members in queries_by_request.values()
        if len({demand_of([query]).kind for query in members}) > 1
    ]


def _alike(members: Sequence[Query], selecting: frozenset[str]) -> Unit:
    lead = next((query for query in members if query.name in selecting), members[0])
    reads = tuple(Read(query, lead.name, ()) for query in members)
    return Unit(lead, reads, demand_of(members), selects=lead.name in selecting)


# --- several statistics of one column -----------------------------------------------------------


def _of_columns(units: Sequence[Unit], pure: bool, neighbours: Neighbours) -> list[Unit]:
    """Put the statistics of a column together, and the count of the same rows with one of them."""
    sharing = [unit for unit in units if _may_share(unit, neighbours)]
    by_rows: dict[Hashable, list[Unit]] = {}
    for unit in sharing:
        by_rows.setdefault(_rows(unit), []).append(unit)
    made = (unit for those in by_rows.values() for unit in _columns(those, pure, neighbours))
    return [*(unit for unit in units if unit not in sharing), *made]


def _may_share(unit: Unit, neighbours: Neighbours) -> bool:
    """Not what selects keys, and not a figure that no neighbour changes: it needs no noise."""
    query = unit.lead
    if unit.selects or sharing_of(query) is None:
        return False
    if not counts_rows(query) and not quantity(query.column).grid.width:
        return False
    return moves(query, neighbours)


def _rows(unit: Unit) -> Hashable:
    """What queries must have in common."""
    query = unit.lead
    table = query.table if query.private else ""
    return query.groups, query.where, query.mechanism, unit.demand.kind, table


def _columns(units: Sequence[Unit], pure: bool, neighbours: Neighbours) -> list[Unit]:
    counts = [unit for unit in units if counts_rows(unit.lead)]
    columns: dict[str, list[Unit]] = {}
    for unit in units:
        if not counts_rows(unit.lead) and unit.lead.column is not None:
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
    lead = max(members, key=lambda query: (_lead(query), -query.number))
    column = next(query.column for query in members if query.column is not None)
    screens = all(
        part <= SCREENED_FROM
        for query, part in zip(members, _fractions(members, pure), strict=True)
        if counts_rows(query)
    )
    return Carrier(lead, tuple(members), column, screens)


def _lead(query: Query) -> int:
    sharing = sharing_of(query)
    return -1 if sharing is None else sharing.lead


def _fractions(members: Sequence[Query], pure: bool) -> list[Fraction]:
    return fractions([amount(demand_of([query])) for query in members], pure)


def coarser(units: Sequence[Unit], pure: bool, neighbours: Neighbours) -> list[Unit]:
    """Add up counts from the cells of finer ones, where both gain."""
    by_rows: dict[Hashable, list[Unit]] = {}
    for unit in units:
        query = unit.lead
        if not moves(query, neighbours):
            by_rows[query.name] = [unit]
            continue
        by_rows.setdefault((query.where, query.mechanism, unit.demand.kind), []).append(unit)
    return [made for members in by_rows.values() for made in _merged_units(members, pure)]


def _merged_units(units: Sequence[Unit], pure: bool) -> list[Unit]:
    remaining_units = list(units)
    for coarse in sorted(units, key=lambda unit: len(unit.lead.groups)):
        if not counts_rows(coarse.lead) or coarse not in remaining_units:
            continue
        options = [
            (worth, fine)
            for fine in remaining_units
            if len(fine.lead.groups) > len(coarse.lead.groups)
            and (merged := _merged(coarse, fine)) is not None
            and (worth := _worth_merging(coarse, fine, merged, pure)) < 1
        ]
        if options:
            _, fine = min(options, key=lambda option: option[0])
            remaining_units[remaining_units.index(fine)] = _added(coarse, fine)
            remaining_units.remove(coarse)
    return remaining_units


def _merged(coarse: Unit, fine: Unit) -> tuple[int, ...] | None:
    """Which groups of the finer count are summed over; None where that isn't the coarser one.

    Every record must have a label in these groups, or the sum would lack some.
    """
    one, other = coarse.lead, fine.lead
    plain = counts_rows(one) and not coarse.selects and not one.private
    counted = _count_in(fine)
    if not plain or counted is None or other.private or counted.merged:
        return None
    if any(read.reading is not Reading.OWN for read in coarse.reads) or coarse.carrier:
        return None
    extra = tuple(place for place, group in enumerate(other.groups) if group not in one.groups)
    common_groups = [group for place, group in enumerate(other.groups) if place not in extra]
    if common_groups != list(one.groups) or not extra:
        return None
    return extra if all(_holds_all(other.groups[place]) for place in extra) else None


def _holds_all(group: Group) -> bool:
    return group.other is not None and group.null_label is not None


def _count_in(unit: Unit) -> Read | None:
    """The read of a count over all cells of a unit, if it has one that noise alone disturbs."""
    for read in unit.reads:
        if counts_rows(read.query) and not read.screened:
            return read
    return None


def _cells(fine: Unit, merged: Sequence[int]) -> int:
    cells = 1
    for place in merged:
        cells *= len(fine.lead.groups[place].labels)
    return cells


def _worth_merging(coarse: Unit, fine: Unit, merged: Sequence[int], pure: bool) -> Fraction:
    """Weighted mean of what is left of both variances."""
    one, other = fractions([amount(unit.demand) for unit in (coarse, fine)], pure)
    counted = _count_in(fine)
    rows = len(counted.rows) if counted is not None and counted.rows else 1
    weights = coarse.demand.weight, fine.demand.weight
    weighted_variance = (
        weights[0] * rows * _cells(fine, merged) * one * one + weights[1] * other * other
    )
    return weighted_variance / sum(weights, Fraction(0))


def _added(coarse: Unit, fine: Unit) -> Unit:
    counted, merged = _count_in(fine), _merged(coarse, fine)
    if counted is None or merged is None:
        raise ValueError("the finer count is not what the coarser one adds up")
    rows = counted.rows or (0,)
    factors = counted.factors or (Fraction(1),)
    reads = tuple(
        Read(query, fine.lead.name, rows, Reading.LINEAR, factors, merged)
        for query in coarse.queries
    )
    demand = demand_of([*fine.queries, *coarse.queries])
    return Unit(fine.lead, (*fine.reads, *reads), demand, fine.carrier, fine.selects)


@dataclass(frozen=True, slots=True, eq=False)  # each is itself: thousands are looked up
class Unit:
    """What is released at once: for ``reads``, by ``lead`` or by a ``carrier`` in its place.

    ``demand`` is what the queries ask for together.
    """

    lead: Query
    reads: tuple[Read, ...]
    demand: Demand
    carrier: Carrier | None = None
    selects: bool = False

    @property
    def queries(self) -> tuple[Query, ...]:
        """All queries that are read from it."""
        return tuple(read.query for read in self.reads)


def moves(query: Query, neighbours: Neighbours) -> bool:
    """Whether any neighbour changes the figure: otherwise it needs no noise."""
    return statistic_of(query.statistic).sensitivity(query, neighbours).l1 > 0


def amount(demand: Demand) -> tuple[str, Fraction]:
    """What is asked for, as ``fractions`` takes it."""
    return demand.kind, demand.epsilon or demand.rho or demand.weight


def fractions(requests: Sequence[tuple[str, Fraction]], pure: bool) -> list[Fraction]:
    """What part of the joint intensity (sensitivity over noise) each would have by itself.

    Intensities add up where losses are pure, their squares where they are concentrated. Stated
    budgets are these already; weights give cube roots, or square roots: the least weighted
    variance (``budget_split``).
    """
    kinds = {kind for kind, _ in requests}
    amounts = [amount for _, amount in requests]
    if kinds == {"rho"}:
        parts = amounts
        return [root(part / sum(parts, Fraction(0)), 2) for part in parts]
    if kinds <= {"epsilon", "epsilon and delta", "accuracy"}:
        return [amount / sum(amounts, Fraction(0)) for amount in amounts]
    if pure:
        parts = [root(amount, 3) for amount in amounts]
        return [part / sum(parts, Fraction(0)) for part in parts]
    parts = [root(amount, 2) for amount in amounts]
    return [root(part / sum(parts, Fraction(0)), 2) for part in parts]
