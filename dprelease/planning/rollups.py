"""Counts that are sums of finer ones: added up from their cells, where both gain."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction

from dprelease.model import Group, Read, Reading
from dprelease.planning.budget_request import demand_of
from dprelease.planning.release_units import Unit, amount, fractions, moves
from dprelease.statistics.base import Neighbours


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
    left = list(units)
    for coarse in sorted(units, key=lambda unit: len(unit.lead.groups)):
        if coarse.lead.statistic != "count" or coarse not in left:
            continue
        options = [
            (worth, fine)
            for fine in left
            if len(fine.lead.groups) > len(coarse.lead.groups)
            and (merged := _merged(coarse, fine)) is not None
            and (worth := _worth_merging(coarse, fine, merged, pure)) < 1
        ]
        if options:
            _, fine = min(options, key=lambda option: option[0])
            left[left.index(fine)] = _added(coarse, fine)
            left.remove(coarse)
    return left


def _merged(coarse: Unit, fine: Unit) -> tuple[int, ...] | None:
    """Which groups of the finer count are summed over; None where that isn't the coarser one.

    Every record must have a label in these groups, or the sum would lack some.
    """
    one, other = coarse.lead, fine.lead
    plain = one.statistic == "count" and not coarse.selects and not one.private
    counted = _count_in(fine)
    if not plain or counted is None or other.private or counted.merged:
        return None
    if any(read.reading is not Reading.OWN for read in coarse.reads) or coarse.carrier:
        return None
    extra = tuple(place for place, group in enumerate(other.groups) if group not in one.groups)
    kept = [group for place, group in enumerate(other.groups) if place not in extra]
    if kept != list(one.groups) or not extra:
        return None
    return extra if all(_holds_all(other.groups[place]) for place in extra) else None


def _holds_all(group: Group) -> bool:
    return group.other is not None and group.null_label is not None


def _count_in(unit: Unit) -> Read | None:
    """The read of a count over all cells of a unit, if it has one that noise alone disturbs."""
    for read in unit.reads:
        if read.query.statistic == "count" and not read.screened:
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
    left = weights[0] * rows * _cells(fine, merged) * one * one + weights[1] * other * other
    return left / sum(weights, Fraction(0))


def _added(coarse: Unit, fine: Unit) -> Unit:
    counted, merged = _count_in(fine), _merged(coarse, fine)
    if counted is None or merged is None:
        raise ValueError("the finer count is not what the coarser one adds up")
    rows = counted.rows or (0,)
    factors = counted.factors or (Fraction(1),)
    reads = tuple(
        Read(each, fine.lead.name, rows, Reading.LINEAR, factors, merged) for each in coarse.queries
    )
    demand = demand_of([*fine.queries, *coarse.queries])
    return Unit(fine.lead, (*fine.reads, *reads), demand, fine.carrier, fine.selects)
