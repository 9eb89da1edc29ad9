"""One row for each record with its cell, before and after units have been bounded.

Column ``c`` is the number of the row's cell among the leading groups, NULL if it lies in none or is
not kept. Column ``a``, if there are later groups, is the number of its cell among these, NULL if it
lies in none. The others are the counted columns of ``Rows``; their conditions are never null, as a
null counts as false. Private groups add nothing to the numbers: their keys ``g0..`` are part of the
cell themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from msgspec import Struct, field
from msgspec.structs import replace

from dprelease.engines.duckdb.group_keys import look_up, number_labels
from dprelease.engines.duckdb.typed_rows import Rows
from dprelease.expressions.sqltext import Sql, call, case, col
from dprelease.model import AggregateRequest, Expression, MeasureKind
from dprelease.sources.shared.request_content import collect_content, count_leading_groups


class Cells(Struct, frozen=True):
    """The rows, and the names of their columns.

    Attributes:
        relation: The rows.
        rows: Names the counted columns.
        later: Whether there is a column ``a``.
        keys: The private keys.
        leading: The private keys among the leading groups.
        weight: The column with the number of records that a row accounts for, if that is not one;
            in its cell it counts as one row all the same.
        firsts: For each condition the column that is true for one of the rows that meet it, of each
            unit in each cell.
        units: The units alone, column ``u``, of these rows and maybe of records in no cell; None if
            they can't be read without the other columns.
    """

    relation: Sql
    rows: Rows
    later: bool
    keys: tuple[str, ...]
    leading: tuple[str, ...]
    weight: str | None = None
    firsts: Mapping[Expression | None, str] = field(default_factory=dict)
    units: Sql | None = None

    @property
    def counted_columns(self) -> tuple[str, ...]:
        """Columns that are counted in cells."""
        rows = self.rows
        return (*rows.quantities.values(), *rows.conditions.values(), *rows.values.values())

    @property
    def place(self) -> tuple[str, ...]:
        """Columns of the cells in which units are bounded, in canonical order."""
        return ("c", *self.leading)

    @property
    def content(self) -> tuple[str, ...]:
        """Columns of the cell and of all that is counted, in the order of ``request_content``."""
        later = tuple(key for key in self.keys if key not in self.leading)
        return (*self.place, *(("a",) if self.later else ()), *later, *self.counted_columns)

    def filter(self, condition: Sql | None) -> Cells:
        """Keep only the rows for which the condition is true."""
        return replace(self, relation=self.relation.only(condition))


def name_firsts(request: AggregateRequest) -> dict[Expression | None, str]:
    """Name the column of ``Cells.firsts`` for each condition under which units are counted."""
    wheres = (measure.where for measure in request.measures if measure.kind is MeasureKind.UNITS)
    return {where: f"z{place}" for place, where in enumerate(dict.fromkeys(wheres))}


def count_public_cells(request: AggregateRequest, start: int, end: int) -> int:
    """Count the combinations of the public labels of some groups."""
    return prod(len(group.labels) for group in request.groups[start:end] if not group.private)


def locate(request: AggregateRequest, rows: Rows, everything: bool) -> Cells:
    """Locate rows in cells.

    Args:
        request: The request.
        rows: One row for each record.
        everything: Keep rows that lie in no cell.
    """
    groups, content = request.groups, collect_content(request)
    places = range(len(groups))
    cell = number_labels(groups, places[: content.leading])
    if request.where is not None:
        cell = case([(col("f"), cell)])
    if request.bound is not None and not request.bound.null_unit:
        cell = case([(col("u").not_null(), cell)])
    columns = {"c": cell}
    if content.later:
        columns["a"] = number_labels(groups, places[content.leading :])
    leading, later = (
        tuple(f"g{place}" for place in keys) for keys in (content.leading_keys, content.later_keys)
    )
    cells = Cells(rows.relation, rows, content.later, (*leading, *later), leading)
    copied = [*cells.keys, *cells.counted_columns, *(["u"] if request.bound is not None else [])]
    columns.update({key: col(key) for key in copied})
    for key in rows.conditions.values():
        columns[key] = call("COALESCE", col(key), False)
    cells = replace(cells, relation=look_up(rows.relation, groups).layer(columns, keep=False))
    return cells if everything else cells.filter(col("c").not_null())


def compute_cell_number(request: AggregateRequest, cells: Cells) -> Sql:
    """Compute the number of the cell among all groups; NULL for rows in none."""
    if not cells.later:
        return col("c")
    later = count_public_cells(request, count_leading_groups(request), len(request.groups))
    return col("c") * later + col("a")
