"""Units with so many rows that those of one don't fit into memory: the same choice, in looks.

How many rows are kept of a stretch of rows in canonical order is known once it is known how many
rows of the unit come before it, and how many are in it. So a first look counts each unit's rows in
each cell. The next one counts by more of what is counted of a row, but only in the stretches of
which rows are kept; and so on, until all of it is looked at. What is held at a time are those few
stretches, and the counts within them.

Guarantee: as for lists and windows. The rows that are kept are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from dprelease.engines.duckdb.bounding_rule import Cut, digest_of, is_kept, kept_before, start_of
from dprelease.engines.duckdb.bounding_windows import ROW_NUMBER, firsts_of, ordered
from dprelease.engines.duckdb.cells import Cells
from dprelease.engines.duckdb.subqueries import layer, only, replaced
from dprelease.expressions.sqltext import (
    COUNT_ALL,
    TRUE,
    Sql,
    alias,
    binary,
    call,
    case,
    cast,
    create,
    identifier,
    is_null,
    join,
    no,
    number,
    over,
    select,
    subquery,
)
from dprelease.model import AggregateRequest, Bound

STRETCHES = "stretches"
DIGIT = 12  # bits of a quantity that one look adds

# Of a stretch: the number of its unit's rows before it and of all of them, the unit's digest, and
# the numbers of rows that the first cut keeps before its cell and in it.
KNOWN = ("low", "n", "d", "j", "q")


@dataclass(frozen=True, slots=True)
class _Look:
    """The columns by which rows are counted, the first in the order first; how some are made."""

    columns: tuple[str, ...]
    made: tuple[tuple[str, Sql], ...] = ()


@dataclass(frozen=True, slots=True)
class Looks:
    """What is looked for; with ``everything`` rows of no cell account for those not kept."""

    request: AggregateRequest
    bound: Bound
    cells: Cells
    everything: bool

    def taken(self, run: Callable[[Sql], object], many: bool) -> Cells:
        """The rows that are kept. ``run`` runs a statement at once.

        To take ``many`` looks wants less memory and more time.
        """
        cells = self.cells
        located = cells.within(no(is_null(identifier("c"))))
        looks = [_Look(cells.place), *(_looks(cells) if many else ())]
        run(create(f"{STRETCHES}0", _cells_kept(self.bound, located)))
        some = replace(self, cells=located, everything=False)
        for index, (old, new) in enumerate(pairwise(looks)):
            source = some._counted(old, new, f"{STRETCHES}{index}")
            columns = map(identifier, ("u", *new.columns, *KNOWN))
            run(create(f"{STRETCHES}{index + 1}", select(columns, source)))
        last = f"{STRETCHES}{len(looks) - 1}"
        source = _copies(self._counted(looks[-1], _Look(cells.content), last), self.everything)
        firsts = dict(firsts_of(self.request, cells))
        return replace(
            cells,
            relation=layer(source, dict(firsts.values())),
            firsts={where: key for where, (key, _) in firsts.items()},
            weight="weight" if self.everything else None,
        )

    def _counted(self, old: _Look, new: _Look, stretches: str) -> Sql:
        """What is looked at in the stretches of which rows are kept, each kind as one row.

        With its ``copies`` and how many of them are ``kept``, which are all that there are unless
        ``everything`` is wanted.
        """
        source = layer(self.cells.relation, dict((*old.made, *new.made)))
        matches = TRUE
        for key in ("u", *old.columns):
            here, there = identifier(key, "inside"), identifier(key, stretches)
            matches = binary(matches, "AND", binary(here, "IS NOT DISTINCT FROM", there))
        source = join(source, "LEFT JOIN", identifier(stretches), matches)
        inside = no(is_null(identifier("low", stretches)))
        columns = {key: identifier(key, "inside") for key in ("u", *new.columns)}
        if self.everything:
            columns = {key: case([(inside, value)]) for key, value in columns.items()}
        base, *known = (identifier(key, stretches) for key in KNOWN)
        columns |= {"base": base, **dict(zip(KNOWN[1:], known, strict=True))}
        source = layer(source, columns, keep=False)
        if not self.everything:
            source = only(source, no(is_null(identifier("base"))))
        own = [identifier(key) for key in ("u", "base", *new.columns)]
        same = [alias(call("ANY_VALUE", identifier(key)), key) for key in KNOWN[1:]]
        counts = select([*own, *same, alias(COUNT_ALL, "copies")], source, own)
        stretch, order = [identifier("u"), identifier("base")], ordered(new.columns)
        high = binary(identifier("base"), "+", _total(stretch, order))
        source = layer(subquery(counts, "inside"), {"high": high})
        source = layer(source, {"low": binary(identifier("high"), "-", identifier("copies"))})
        low, high = (_kept_of_cell(self.bound, identifier(end)) for end in ("low", "high"))
        kept = call("COALESCE", binary(high, "-", low), number(0))
        some = None if self.everything else binary(identifier("kept"), ">", number(0))
        return only(layer(source, {"kept": kept}), some)


def _looks(cells: Cells) -> Iterator[_Look]:
    """After that at cells: at later cells, then at quantities, the highest bits first."""
    before = tuple(each for each in cells.content if each not in cells.counted)
    yield _Look(before)
    for quantity, key in cells.rows.quantities.items():
        above = binary(identifier(key), "-", number(quantity.grid.lower))
        for low in range(quantity.grid.width.bit_length() - DIGIT, 0, -DIGIT):
            made = (f"{key}_{low}", binary(above, ">>", number(low)))
            yield _Look((*before, made[0]), (made,))
        before = (*before, key)
        yield _Look(before)


def _cells_kept(bound: Bound, located: Cells) -> Sql:
    """The first look: the cells that are kept of each unit, with what is ``KNOWN`` of them."""
    unit = [identifier("u")]
    own, order = [*unit, *map(identifier, located.place)], ordered(located.place)
    counts = select([*own, alias(COUNT_ALL, "copies")], located.relation, own)
    source = layer(subquery(counts, "inside"), {"n": _total(unit), "high": _total(unit, order)})
    source = layer(source, {"low": binary(identifier("high"), "-", identifier("copies"))})
    few = min(bound.rows, bound.groups, bound.per_group)
    digest = digest_of(bound.salt, located.rows.unit)
    source = layer(source, {"d": case([(binary(identifier("n"), ">", number(few)), digest)])})
    source = layer(source, {"j": _kept_of_unit(bound, identifier("low"))})
    kept = binary(_kept_of_unit(bound, identifier("high")), "-", identifier("j"))
    source = only(layer(source, {"q": kept}), binary(identifier("q"), ">", number(0)))
    source = layer(source, {"p": over(ROW_NUMBER, unit, order), "k": over(COUNT_ALL, unit)})
    place, count = binary(identifier("p"), "-", number(1)), identifier("k")
    start = start_of(identifier("d"), Cut.CELLS, count)
    chosen = is_kept(place, count, bound.groups, start)
    many = binary(count, ">", number(bound.groups))
    source = only(source, case([(many, chosen)], TRUE))
    return select(map(identifier, ("u", *located.place, *KNOWN)), source)


def _copies(source: Sql, everything: bool) -> Sql:
    """A row for each copy that is kept; with ``everything`` one of no cell for all others."""
    kept, copy = identifier("kept"), identifier("copy")
    if not everything:
        return layer(source, {"copy": call("UNNEST", call("RANGE", kept))})
    others = binary(identifier("copies"), "-", kept)
    last = call("LEAST", others, number(1))
    source = layer(source, {"copy": call("UNNEST", call("RANGE", binary(kept, "+", last)))})
    mine = binary(copy, "<", kept)
    source = layer(source, {"weight": case([(mine, number(1))], others)})
    return replaced(source, "c", case([(mine, identifier("c"))]))


def _kept_of_unit(bound: Bound, place: Sql) -> Sql:
    """How many rows are kept of the first ``place`` of a unit."""
    count = identifier("n")
    start = start_of(identifier("d"), Cut.ROWS, count)
    some = kept_before(place, count, bound.rows, start)
    return case([(binary(count, ">", number(bound.rows)), some)], place)


def _kept_of_cell(bound: Bound, place: Sql) -> Sql:
    """How many rows are kept of a cell, among the first ``place`` of its unit, after all cuts."""
    left, count = binary(_kept_of_unit(bound, place), "-", identifier("j")), identifier("q")
    start = start_of(identifier("d"), Cut.WITHIN, count)
    some = kept_before(left, count, bound.per_group, start)
    return case([(binary(count, ">", number(bound.per_group)), some)], left)


def _total(partition: list[Sql], order: list[Sql] | None = None) -> Sql:
    """How many copies there are, with an order up to this row."""
    return cast(over(call("SUM", identifier("copies")), partition, order or ()), "BIGINT")
