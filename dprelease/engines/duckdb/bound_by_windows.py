"""Bounding of units by window functions: over their rows, or over counts of alike rows.

``bound_by_windows`` is for everything that can't be packed into integers (``by_arrays``). Each
unit's rows are put in canonical order (``request_content``), and ``rule`` is applied row by row: to
all of them, then to the cells of the sample, then to the rows in each cell.

``CountedBounding`` is for units with so many rows that those of one don't fit into memory. How many
rows are taken of a range of rows in canonical order is known once it is known how many rows of the
unit come before it, and how many are in it. So each unit's rows are counted in each cell first.
Then they are counted by more of their content, but only in the ranges of which rows are taken; and
so on, until all of the content is used. What is held at a time are those few ranges, and the counts
within them. Measured with 4 million rows of one unit: 225 MB where windows end at a limit of
200 MB. With usual units windows are faster and hold less (12 s and 669 MB to 17 s and 937 MB for
250,000 units of 12 rows).

Guarantee: as for arrays. Units are told apart by their value itself, and the place of a row in the
order is a function of its unit's rows alone. All three ways take the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from msgspec.structs import replace

from dprelease.engines.duckdb.bounding_rule import (
    Cut,
    compute_start,
    count_kept,
    hash_unit,
    is_kept,
)
from dprelease.engines.duckdb.record_cells import Cells, name_firsts
from dprelease.expressions.sqltext import COUNT_ALL, Sql, call, case, col, literal
from dprelease.model import AggregateRequest, Bound

ROW_NUMBER, DENSE_RANK = call("ROW_NUMBER"), call("DENSE_RANK")
RANGES = "ranges"  # tables of a connection
DIGIT = 12  # bits of a quantity by which rows are counted at once

# Of a range: the number of its unit's rows before it and of all of them, the unit's digest, and
# the numbers of rows that the first cut takes before its cell and in it.
RANGE_COLUMNS = ("low", "n", "d", "j", "q")


def bound_by_windows(
    request: AggregateRequest, bound: Bound, cells: Cells, everything: bool
) -> Cells:
    """Sample the rows; with ``everything`` keep the others too, in no cell."""
    unit = [col("u"), *([col("c").is_null()] if everything else [])]
    place, order = [*unit, *map(col, cells.place)], _order_columns(cells.content)
    source = cells.relation.layer(
        {"p0": ROW_NUMBER.over(unit, order), "n0": COUNT_ALL.over(unit)}
    ).layer({"d": _digest(bound, cells, col("n0"))})
    source = _cut(source, Cut.ROWS, bound.rows, everything)
    if bound.groups < bound.rows:
        source = source.layer({"p1": DENSE_RANK.over(unit, _order_columns(cells.place))})
        source = source.layer({"n1": call("MAX", col("p1")).over(unit)})
        source = _cut(source, Cut.CELLS, bound.groups, everything)
    if bound.per_group < bound.rows:
        within = {"p2": ROW_NUMBER.over(place, order), "n2": COUNT_ALL.over(place)}
        source = _cut(source.layer(within), Cut.WITHIN, bound.per_group, everything)
    return _sample(request, cells, source)


def _sample(request: AggregateRequest, cells: Cells, source: Sql) -> Cells:
    """Add the columns ``firsts`` to the rows of ``source``."""
    whole = list(map(col, ("u", *cells.place, *(("a",) if cells.later else ()), *cells.keys)))
    firsts = name_firsts(request)
    columns = {}
    for where, key in firsts.items():
        holds = [] if where is None else [col(cells.rows.conditions[where])]
        columns[key] = ROW_NUMBER.over([*whole, *holds]).equals(1)
        if holds:
            columns[key] &= holds[0]
    return replace(cells, relation=source.layer(columns), firsts=firsts)


def _order_columns(columns: tuple[str, ...]) -> list[Sql]:
    """List what to order by for the canonical order of these columns."""
    return [col(column).nulls_first() for column in columns]


def _digest(bound: Bound, cells: Cells, count: Sql) -> Sql:
    """Compute the unit's digest, where one of the cuts may leave out some of so many rows."""
    smallest = min(bound.rows, bound.groups, bound.per_group)
    return case([(count > smallest, hash_unit(bound.salt, cells.rows.unit))])


def _cut(source: Sql, cut: Cut, limit: int, everything: bool) -> Sql:
    """Keep the rows that are taken of ``n`` at the places ``p`` from 1."""
    is_taken = _is_taken(col(f"p{cut:d}"), cut, col(f"n{cut:d}"), limit)
    return (
        source.replace_column("c", case([(is_taken, col("c"))]))
        if everything
        else source.only(is_taken)
    )


def _is_taken(place: Sql, cut: Cut, count: Sql, limit: int) -> Sql:
    """Tell if the item at a place from 1 is taken; all are where no more are there."""
    chosen = is_kept(place - 1, count, limit, compute_start(col("d"), cut, count))
    return case([(count > limit, chosen)], True)


def _count_taken(place: Sql, cut: Cut, count: Sql, limit: int) -> Sql:
    """Count those taken of the first ``place`` items; all where no more are there."""
    count_before = count_kept(place, count, limit, compute_start(col("d"), cut, count))
    return case([(count > limit, count_before)], place)


class Level(NamedTuple):
    """The columns by which rows are counted, the first in the order first; how some are made."""

    columns: tuple[str, ...]
    made: tuple[tuple[str, Sql], ...] = ()


class CountedBounding(NamedTuple):
    """Bounds units by counts; with ``everything`` rows of no cell account for those left out."""

    request: AggregateRequest
    bound: Bound
    cells: Cells
    everything: bool

    def sample(self, run: Callable[[Sql], object], is_large: bool) -> Cells:
        """Sample the rows. ``run`` runs a statement at once.

        To count at ``many`` levels wants less memory and more time.
        """
        cells = self.cells
        located = cells.filter(col("c").not_null())
        levels = [Level(cells.place), *(_iter_levels(cells) if is_large else ())]
        run(_bound_cells(self.bound, located).create(f"{RANGES}0"))
        sampled = self._replace(cells=located, everything=False)
        for index, (old, new) in enumerate(pairwise(levels)):
            source = sampled._merge_equal_rows(old, new, f"{RANGES}{index}")
            columns = map(col, ("u", *new.columns, *RANGE_COLUMNS))
            run(source.select(columns).create(f"{RANGES}{index + 1}"))
        source = self._merge_equal_rows(
            levels[-1], Level(cells.content), f"{RANGES}{len(levels) - 1}"
        )
        cells = _sample(self.request, cells, _expand_copies(source, self.everything))
        return replace(cells, weight="weight" if self.everything else None)

    def _merge_equal_rows(self, old: Level, new: Level, ranges: str) -> Sql:
        """Read the rows in the ranges of which some are taken, alike ones as one row.

        With its ``copies`` and how many of them are ``kept``; unless ``everything`` is wanted, only
        those of which some are.
        """
        matches = literal(True)
        for key in ("u", *old.columns):
            matches &= col(key, "inside").same(col(key, ranges))
        source = self.cells.relation.layer(dict((*old.made, *new.made)))
        source = source.join("LEFT JOIN", col(ranges), matches)
        columns = {key: col(key, "inside") for key in ("u", *new.columns)}
        if self.everything:
            inside = col("low", ranges).not_null()
            columns = {key: case([(inside, value)]) for key, value in columns.items()}
        base, *rest = RANGE_COLUMNS
        columns |= {"base": col(base, ranges), **{key: col(key, ranges) for key in rest}}
        source = source.layer(columns, keep=False)
        if not self.everything:
            source = source.only(col("base").not_null())
        own = [col(key) for key in ("u", "base", *new.columns)]
        same = [call("ANY_VALUE", col(key)).alias(key) for key in rest]
        high = col("base") + _sum_copies([col("u"), col("base")], _order_columns(new.columns))
        source = _count_copies(source, own, same, {"high": high})
        low, high = (
            _count_taken(
                _count_kept(self.bound, col(end)) - col("j"),
                Cut.WITHIN,
                col("q"),
                self.bound.per_group,
            )
            for end in ("low", "high")
        )
        source = source.layer({"kept": call("COALESCE", high - low, 0)})
        return source.only(None if self.everything else col("kept") > 0)


def _iter_levels(cells: Cells) -> Iterator[Level]:
    """After cells: by later cells, then by quantities, the highest bits first."""
    before = tuple(column for column in cells.content if column not in cells.counted_columns)
    yield Level(before)
    for quantity, key in cells.rows.quantities.items():
        above = col(key) - quantity.grid.lower
        for low in range(quantity.grid.width.bit_length() - DIGIT, 0, -DIGIT):
            yield Level((*before, f"{key}_{low}"), ((f"{key}_{low}", above >> low),))
        before = (*before, key)
        yield Level(before)


def _bound_cells(bound: Bound, located: Cells) -> Sql:
    """Build the first level: the cells taken of each unit, with their ``RANGE_COLUMNS``."""
    unit, order = [col("u")], _order_columns(located.place)
    sums = {"n": _sum_copies(unit), "high": _sum_copies(unit, order)}
    source = _count_copies(located.relation, [*unit, *map(col, located.place)], [], sums)
    source = source.layer({"d": _digest(bound, located, col("n"))})
    source = source.layer({"j": _count_kept(bound, col("low"))})
    source = source.layer({"q": _count_kept(bound, col("high")) - col("j")}).only(col("q") > 0)
    source = source.layer({"p": ROW_NUMBER.over(unit, order), "k": COUNT_ALL.over(unit)})
    source = source.only(_is_taken(col("p"), Cut.CELLS, col("k"), bound.groups))
    return source.select(map(col, ("u", *located.place, *RANGE_COLUMNS)))


def _count_copies(
    source: Sql, own: Sequence[Sql], same: Sequence[Sql], sums: Mapping[str, Sql]
) -> Sql:
    """Rows alike as one, with its ``copies``; of ``sums`` is ``high``, the end of their places."""
    counts = source.select([*own, *same, COUNT_ALL.alias("copies")], own)
    source = counts.subquery("inside").layer(sums)
    return source.layer({"low": col("high") - col("copies")})


def _expand_copies(source: Sql, everything: bool) -> Sql:
    """Build a row for each copy taken; with ``everything`` one of no cell for all others."""
    count = col("kept")
    if not everything:
        return source.layer({"copy": call("UNNEST", call("RANGE", count))})
    copies_before, mine = col("copies") - count, col("copy") < count
    rows = call("RANGE", count + call("LEAST", copies_before, 1))
    source = source.layer({"copy": call("UNNEST", rows)})
    source = source.layer({"weight": case([(mine, 1)], copies_before)})
    return source.replace_column("c", case([(mine, col("c"))]))


def _count_kept(bound: Bound, place: Sql) -> Sql:
    """Count the rows taken of the first ``place`` of a unit."""
    return _count_taken(place, Cut.ROWS, col("n"), bound.rows)


def _sum_copies(partition: list[Sql], order: Sequence[Sql] = ()) -> Sql:
    """Count the copies up to this row, in an order."""
    return call("SUM", col("copies")).over(partition, order).cast("BIGINT")
