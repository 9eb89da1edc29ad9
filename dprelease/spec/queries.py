"""Makes queries of their sections, with all checks within one query."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import prod
from typing import NamedTuple

from dprelease.model import NUMERIC_TYPES, Column, ColumnType, Expression, Group, Query
from dprelease.spec.columns import Known
from dprelease.spec.didyoumean import nearest
from dprelease.spec.domains import bin_labels, read_bins
from dprelease.spec.expressing import read_expression
from dprelease.spec.groups import find_column, make_group
from dprelease.spec.models import QuerySection
from dprelease.spec.numbers import Refused
from dprelease.spec.reporter import Reporter
from dprelease.spec.statistic_keys import LATER_STATISTICS, STATISTICS, StatisticKeys
from dprelease.spec.structure import NOT_YET, Part
from dprelease.spec.tables import default_table
from dprelease.spec.wording import listed, show

MAX_CELLS = 10**6


class QueryContext(NamedTuple):
    """What the checks of a query know: the columns, and the types of those in the file."""

    columns: Mapping[str, Known | None]
    base_types: Mapping[str, ColumnType]
    reporter: Reporter


def resolve_query(part: Part[QuerySection], context: QueryContext) -> Query | None:
    """Make a query; None when it lacks a part that others need (each with a complaint)."""
    return _Resolver(part, context).resolve()


class _Resolver:
    def __init__(self, part: Part[QuerySection], context: QueryContext) -> None:
        self.part = part
        self.model = part.model
        self.context = context
        self.reporter = context.reporter

    def resolve(self) -> Query | None:
        takes = self._statistic()
        groups = self._by()
        column = self._column(takes) if takes is not None else None
        if takes is not None and takes.groups and column is not None:
            own = self._histogram_group(column)
            groups = None if groups is None or own is None else (*groups, own)
        where = self._where()
        if takes is not None and takes.column and column is None:
            return None
        if groups is not None and not self._few_cells(groups):
            groups = None
        model = self.model
        if takes is None or groups is None or model.name is None or model.statistic is None:
            return None
        return Query(
            model.name,
            model.statistic,
            model.table if model.table is not None else default_table(groups),
            groups,
            column,
            where,
            model.epsilon,
            model.delta,
            model.rho,
            model.weight if model.weight is not None else Fraction(1),
            model.mechanism,
            int(self.part.path[1]),
        )

    def _complain(self, key: str, code: str, message: str, hint: str) -> None:
        self.reporter.complain(code, message, (*self.part.path, key), hint)

    def _statistic(self) -> StatisticKeys | None:
        name = self.model.statistic
        if name is None:
            return None
        if name in STATISTICS:
            return STATISTICS[name]
        if name in LATER_STATISTICS:
            message = f"statistic {show(name)} is {NOT_YET}"
            self._complain("statistic", "E104", message, f"use {listed(STATISTICS)}")
            return None
        close = nearest(name, STATISTICS)
        hint = f'did you mean "{close}"?' if close else f"use {listed(STATISTICS)}"
        self._complain("statistic", "E101", f"unknown statistic {show(name)}", hint)
        return None

    def _by(self) -> tuple[Group, ...] | None:
        """Make the groups of `by`; None when one of them is not usable."""
        groups: list[Group] = []
        usable = "by" not in self.part.bad
        seen: set[str] = set()
        for number, name in enumerate(self.model.by or ()):
            path = (*self.part.path, "by", number)
            if name in seen:
                self.reporter.complain("E231", f"{show(name)} is named twice", path, "keep one")
                usable = False
                continue
            seen.add(name)
            known = find_column(name, self.context.columns, path, self.reporter)
            group = make_group(known.column) if known is not None else None
            if group is None:
                usable = False
                if known is not None and known.keyless:
                    message = f"{show(name)} has no public keys, so which groups appear would leak"
                    self._complain("by", "E202", message, "keys, keys_file or bins")
            else:
                groups.append(group)
        return tuple(groups) if usable else None

    def _column(self, takes: StatisticKeys) -> Column | None:
        name, statistic = self.model.column, self.model.statistic
        if not takes.column:
            if name is not None:
                hint = f"where = '{show(name)} IS NOT NULL' counts its values"
                self._complain("column", "E217", f"{statistic} takes no column", hint)
        elif name is None and self.part.sound("column"):
            message, hint = f"{statistic} has no `column`", 'column = "..."'
            self.reporter.complain("E110", message, self.part.path, hint, "key")
        if self.model.bins is not None and not takes.groups:
            hint = "declare the bins in the column and name it in by"
            self._complain("bins", "E111", f"{statistic} takes no bins", hint)
        if name is None or not takes.column:
            return None
        path = (*self.part.path, "column")
        known = find_column(name, self.context.columns, path, self.reporter)
        if known is None:
            return None
        if takes.numeric:
            self._check_numeric(known)
        return known.column

    def _check_numeric(self, known: Known) -> None:
        column, statistic = known.column, self.model.statistic
        if column.type not in NUMERIC_TYPES:
            hint = "histogram counts its values"
            if column.type is not ColumnType.STRING:
                hint = "derive a number by an expression, such as days since a date"
            message = f"{statistic} of {show(column.name)}, which is a {column.type.value}"
            self._complain("column", "E217", message, hint)
        elif known.unbounded:
            self.reporter.complain(
                "E201",
                f"{statistic} of {show(column.name)} needs lower and upper",
                ("columns", column.name),
                "from a public rule, never from the data",
                "key",
            )
        elif column.null_value is not None and column.null_value == column.other:
            message = f"nulls of {show(column.name)} is a label, and {statistic} needs a number"
            hint = 'nulls = a number, or "drop"; or declare a second column by an expression'
            self.reporter.complain("E214", message, ("columns", column.name, "nulls"), hint)

    def _histogram_group(self, column: Column) -> Group | None:
        if column.name in (self.model.by or ()):
            message = f"{show(column.name)} is in by and the column of the histogram"
            self._complain("column", "E217", message, "take it out of by")
            return None
        edges = None
        if self.model.bins is not None:
            try:
                edges = read_bins(column.type, self.model.bins)
            except Refused as refused:
                self._complain("bins", refused.code, refused.message, refused.hint)
                return None
            if column.other in bin_labels(edges):
                message = f"other {show(column.other)} of the column is also a bin"
                self._complain("bins", "E212", message, "choose another label")
                return None
        group = make_group(column, edges)
        known = self.context.columns[column.name]
        if group is None and known is not None and known.keyless and "bins" not in self.part.bad:
            message = f"{show(column.name)} has no public keys, so which groups appear would leak"
            self._complain("column", "E202", message, "keys or keys_file, or bins for numbers")
        return group

    def _where(self) -> Expression | None:
        if self.model.where is None:
            return None
        path = (*self.part.path, "where")
        return read_expression(
            self.model.where, self.context.base_types, "condition", path, self.reporter
        )

    def _few_cells(self, groups: tuple[Group, ...]) -> bool:
        cells = prod(len(group.labels) for group in groups)
        if cells <= MAX_CELLS:
            return True
        key = "by" if self.model.by else "column"
        message = f"the groups make {cells} cells, more than {MAX_CELLS}"
        self._complain(key, "E222", message, "group by fewer columns, or fewer keys")
        return False
