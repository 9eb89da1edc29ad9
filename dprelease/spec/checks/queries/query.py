"""Makes queries of their sections, with all checks within one query."""

from __future__ import annotations

from fractions import Fraction
from math import prod

from dprelease.model import Column, Expression, Group, Query
from dprelease.spec.checks.queries.details import Details, read_details, read_target
from dprelease.spec.checks.queries.groups import check_picks, own_group, read_groups, read_selection
from dprelease.spec.checks.queries.output_tables import default_table
from dprelease.spec.checks.queries.query_context import QueryContext, SpecQuery
from dprelease.spec.complaints.wording import listed, meant, show
from dprelease.spec.schema.models import (
    INSTEAD,
    LATER_STATISTICS,
    OWN_KEYS,
    QuerySection,
)
from dprelease.spec.schema.sections import NOT_YET
from dprelease.spec.schema.structure import Part
from dprelease.statistics.base import SpecKeys
from dprelease.statistics.registry import STATISTICS

MAX_CELLS = 10**6


def resolve_query(part: Part[QuerySection], context: QueryContext) -> Query | None:
    """Make a query; None when it lacks a part that others need (each with a complaint)."""
    return _Resolver(SpecQuery(part, context)).resolve()


class _Resolver:
    def __init__(self, query: SpecQuery) -> None:
        self.query = query
        self.part = query.part
        self.model = query.model

    def resolve(self) -> Query | None:
        takes = self._statistic()
        groups = read_groups(self.query)
        column = self._column(takes) if takes is not None else None
        if takes is not None:
            self._check_keys(takes)
        own = None
        if takes is not None and (takes.groups or takes.chooses) and column is not None:
            own = own_group(self.query, column)
            groups = None if groups is None or own is None else (*groups, own)
        where = None
        if self.model.where is not None and not (takes is not None and takes.where_is_numerator):
            where = self.query.condition(self.model.where, "where")
        details = read_details(self.query, column)
        if takes is not None and takes.column and column is None:
            return None
        if groups is not None and not self._few_cells(groups, details):
            groups = None
        if own is not None and takes is not None and takes.chooses and groups is not None:
            check_picks(self.query, own)
            groups = groups[:-1]
            details = details._replace(axis=own) if details is not None else None
        return self._query(groups, column, where, details)

    def _query(
        self,
        groups: tuple[Group, ...] | None,
        column: Column | None,
        where: Expression | None,
        details: Details | None,
    ) -> Query | None:
        model = self.model
        if groups is None or details is None or model.name is None:
            return None
        if model.statistic not in STATISTICS:
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
            details.quantiles,
            details.points,
            details.picks,
            details.axis,
            details.candidates,
            details.numerator,
            details.denominator,
            read_selection(self.query),
            read_target(self.query),
        )

    def _statistic(self) -> SpecKeys | None:
        name = self.model.statistic
        if name is None:
            return None
        if name in STATISTICS:
            return STATISTICS[name].keys
        if name in LATER_STATISTICS:
            message = f"statistic {show(name)} is {NOT_YET}"
            self.query.complain("statistic", "E104", message, f"use {listed(STATISTICS)}")
            return None
        hint = meant(name, STATISTICS, f"use {listed(STATISTICS)}")
        self.query.complain("statistic", "E101", f"unknown statistic {show(name)}", hint)
        return None

    def _column(self, takes: SpecKeys) -> Column | None:
        name, statistic = self.model.column, self.model.statistic
        if not takes.column:
            if name is not None:
                hint = f"where = '{show(name)} IS NOT NULL' counts its values"
                if takes.needs:
                    hint = f"name it in {'score' if 'score' in takes.needs else takes.needs[-1]}"
                self.query.complain("column", "E217", f"{statistic} takes no column", hint)
        elif name is None:
            self.query.miss("column", 'column = "..."')
        if self.model.bins is not None and not (takes.groups or takes.chooses):
            hint = "declare the bins in the column and name it in by"
            self.query.complain("bins", "E111", f"{statistic} takes no bins", hint)
        if name is None or not takes.column:
            return None
        declared = self.query.find(name, "column")
        if declared is None:
            return None
        if takes.numeric and statistic is not None:
            self.query.check_numeric(declared, statistic, "column")
        return declared.column

    def _check_keys(self, takes: SpecKeys) -> None:
        """Complain of keys that other statistics take, and of missing ones that this one needs."""
        for key, example in OWN_KEYS.items():
            given = getattr(self.model, key) is not None
            if given and key not in (*takes.needs, *takes.may):
                owners = [
                    name
                    for name, owner in STATISTICS.items()
                    if key in owner.keys.needs + owner.keys.may
                ]
                message = f"{self.model.statistic} takes no {key}"
                self.query.complain(
                    key, "E111", message, f"leave it out; it is for {listed(owners)}"
                )
            elif not given and key in takes.needs:
                other = INSTEAD.get(key, key)
                if getattr(self.model, other) is None and self.part.sound(other):
                    self.query.miss(key, example)

    def _few_cells(self, groups: tuple[Group, ...], details: Details | None) -> bool:
        if any(group.private for group in groups):
            return True  # how many of the cells occur is not known
        cells, what = prod(len(group.labels) for group in groups), "groups"
        candidates = details.candidates if details is not None else None
        if candidates is not None:
            cells, what = cells * len(candidates.texts), "groups and candidates"
        if cells <= MAX_CELLS:
            return True
        key = "by" if self.model.by else "column"
        message = f"the {what} make {cells} cells, more than {MAX_CELLS}"
        hint = "group by fewer columns, or fewer keys"
        if candidates is not None:
            hint = f"{hint}; or fewer candidates"
        self.query.complain(key, "E222", message, hint)
        return False
