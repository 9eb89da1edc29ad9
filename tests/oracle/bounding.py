"""What is kept of each unit's rows: first rows in all, then cells, then rows in each cell."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from oracle.cells import Cell, ordered_key, position
from oracle.expressions import evaluate
from oracle.sampling import sampled, seeds_of, text_of
from oracle.values import Record, encoded, grid_integer

from dprelease.expressions import parse_tree
from dprelease.expressions.nodes import Value
from dprelease.model import AggregateRequest, Bound
from dprelease.sources.shared.request_content import collect_content


class Row(NamedTuple):
    """A record with its unit and cells: ``bounded`` is of the leading groups, ``cell`` of all.

    Equal units have equal bytes. ``cell`` is None where a later group has no label for the record.
    """

    record: Record
    unit: bytes
    bounded: Cell
    cell: Cell | None


Order = tuple[tuple[bool, Value], ...]


def unit_of(record: Record, bound: Bound) -> bytes | None:
    """The unit of a record; None if it has none and is to be dropped."""
    value = record.values[bound.column]
    return None if value is None and not bound.null_unit else encoded(value)


def bounded(rows: Iterable[Row], request: AggregateRequest) -> Iterator[Row]:
    """The rows that are kept, one unit after the other; all of them without a bound."""
    if request.bound is None:
        yield from rows
        return
    units: defaultdict[bytes, list[Row]] = defaultdict(list)
    for row in rows:
        units[row.unit].append(row)
    order = _order_of(request)
    for own in units.values():
        yield from kept(sorted(own, key=order), request.bound)


def kept(own: list[Row], bound: Bound) -> Iterator[Row]:
    """The choice for one unit, from its rows in canonical order."""
    seeds = seeds_of(bound.salt, text_of(own[0].record.values[bound.column]))
    rows = [own[place] for place in sampled(len(own), bound.rows, seeds.rows)]
    cells = [list(cell) for _, cell in groupby(rows, key=lambda row: row.bounded)]
    for place in sampled(len(cells), bound.groups, seeds.cells):
        cell = cells[place]
        yield from (cell[each] for each in sampled(len(cell), bound.per_group, seeds.within))


def _order_of(request: AggregateRequest) -> Callable[[Row], Order]:
    """What puts rows into canonical order: see ``request_content``."""
    groups, content = request.groups, collect_content(request)
    types = {each.name: each.type for each in request.inputs}
    conditions = [parse_tree(where.text, types) for where in content.conditions]

    def order(row: Row) -> Order:
        record, lead = row.record, content.leading
        rest = None if row.cell is None else row.cell[lead:]
        found: list[Value] = [position(row.bounded, groups[:lead])]
        found += [ordered_key(record, groups[place]) for place in content.leading_keys]
        found.append(None if rest is None else position(rest, groups[lead:]))
        found += [ordered_key(record, groups[place]) for place in content.later_keys]
        found += [grid_integer(quantity, record.numbers) for quantity in content.quantities]
        found += [evaluate(node, record.values) is True for node in conditions]
        found += [record.values[name] for name in content.values]
        return tuple((each is not None, each) for each in found)

    return order
