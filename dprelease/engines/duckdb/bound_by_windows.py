"""Bounding of units by window functions: over their rows, or over counts of equal rows.

``bound_by_windows`` handles rows that can't be packed into integers (``bound_by_arrays``). It puts
each unit's rows in canonical order (``request_content``), and applies ``bounding_rule`` three
times: to the unit's rows, to the cells of those kept, and to the rows kept in each cell.

``CountedBounding`` handles units of which a single one has too many rows for memory. How many rows
are kept of a range in canonical order follows from two numbers: the unit's rows before the range,
and those in it. So it counts each unit's rows by cell first. Then it counts by more of the content,
but only within ranges of which rows are kept, and so on until it has counted by all of the content.
Only these ranges and the counts within them are in memory at a time. With 4 million rows of one
unit and a limit of 200 MB, it took 225 MB where windows ran out of memory. With units of usual size
windows are faster and smaller: 12 s and 669 MB against 17 s and 937 MB for 250,000 units of 12
rows.

Guarantee: as for arrays. Units are identified by their exact value, and the place of a row in the
order depends on its unit's rows alone. Arrays, windows and counts keep the same rows.
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
RANGES = "ranges"  # prefix of the names of tables
DIGIT = 12  # bits of a quantity that one more level counts by

# Columns of a range: ``low`` rows of its unit come before it, the unit has ``n`` rows in all and
# digest ``d``; the first cut takes ``j`` rows before the range's cell and ``q`` rows in that cell.
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
    """List the sort keys of the canonical order by these columns."""
    return [col(column).nulls_first() for column in columns]


def _digest(bound: Bound, cells: Cells, count: Sql) -> Sql:
    """Compute the unit's digest; null if it has so few rows that no cut leaves any out."""
    smallest = min(bound.rows, bound.groups, bound.per_group)
    return case([(count > smallest, hash_unit(bound.salt, cells.rows.unit))])


def _cut(source: Sql, cut: Cut, limit: int, everything: bool) -> Sql:
    """Keep the rows that a cut takes; with ``everything`` move the others to no cell.

    Columns ``n`` and ``p``, with the cut's number, hold the number of items and the place from 1.
    """
    is_taken = _is_taken(col(f"p{cut:d}"), cut, col(f"n{cut:d}"), limit)
    return (
        source.replace_column("c", case([(is_taken, col("c"))]))
        if everything
        else source.only(is_taken)
    )


def _is_taken(place: Sql, cut: Cut, count: Sql, limit: int) -> Sql:
    """Tell if the item at a place from 1 is taken; every item is if there are at most ``limit``."""
    chosen = is_kept(place - 1, count, limit, compute_start(col("d"), cut, count))
    return case([(count > limit, chosen)], True)


def _count_taken(place: Sql, cut: Cut, count: Sql, limit: int) -> Sql:
    """Count the items taken of the first ``place``; all are if there are at most ``limit``."""
    count_before = count_kept(place, count, limit, compute_start(col("d"), cut, count))
    return case([(count > limit, count_before)], place)


class Level(NamedTuple):
    """The columns that rows are counted by, in canonical order; ``made`` computes some of them."""

    columns: tuple[str, ...]
    made: tuple[tuple[str, Sql], ...] = ()


class CountedBounding(NamedTuple):
    """Sampler of the rows of units by counts of equal rows.

    With ``everything`` rows in no cell account for the rows left out.
    """

    request: AggregateRequest
    bound: Bound
    cells: Cells
    everything: bool

    def sample(self, run: Callable[[Sql], object], is_large: bool) -> Cells:
        """Sample the rows.

        Args:
            run: Executes a statement at once.
            is_large: Count at many levels, which takes less memory and more time.
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
        """Read the rows within the ranges; merge those equal in the columns of ``new`` into one.

        A merged row has the number of its ``copies`` and of those ``kept``. Rows outside of ranges,
        and merged ones of which no copy is kept, are dropped unless ``everything`` is wanted.
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
    """Iterate over the levels after that of cells: later groups, then quantities from high bits."""
    before = tuple(column for column in cells.content if column not in cells.counted_columns)
    yield Level(before)
    for quantity, key in cells.rows.quantities.items():
        above = col(key) - quantity.grid.lower
        for low in range(quantity.grid.width.bit_length() - DIGIT, 0, -DIGIT):
            yield Level((*before, f"{key}_{low}"), ((f"{key}_{low}", above >> low),))
        before = (*before, key)
        yield Level(before)


def _bound_cells(bound: Bound, located: Cells) -> Sql:
    """Select the ranges of the first level: the cells taken of each unit."""
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
    """Merge rows equal in the columns ``own`` into one, with its ``copies``.

    One of ``sums`` is ``high``, the number of the unit's rows up to the last copy; ``low`` is the
    number of those before the first copy.
    """
    counts = source.select([*own, *same, COUNT_ALL.alias("copies")], own)
    source = counts.subquery("inside").layer(sums)
    return source.layer({"low": col("high") - col("copies")})


def _expand_copies(source: Sql, everything: bool) -> Sql:
    """Expand merged rows into one row for each copy kept.

    With ``everything`` one more row, in no cell, has the number of the other copies as its weight.
    """
    count = col("kept")
    if not everything:
        return source.layer({"copy": call("UNNEST", call("RANGE", count))})
    copies_before, mine = col("copies") - count, col("copy") < count
    rows = call("RANGE", count + call("LEAST", copies_before, 1))
    source = source.layer({"copy": call("UNNEST", rows)})
    source = source.layer({"weight": case([(mine, 1)], copies_before)})
    return source.replace_column("c", case([(mine, col("c"))]))


def _count_kept(bound: Bound, place: Sql) -> Sql:
    """Count the rows that the first cut takes of a unit's first ``place`` rows."""
    return _count_taken(place, Cut.ROWS, col("n"), bound.rows)


def _sum_copies(partition: list[Sql], order: Sequence[Sql] = ()) -> Sql:
    """Sum the copies up to this row in an order; without one, of the whole partition."""
    return call("SUM", col("copies")).over(partition, order).cast("BIGINT")
