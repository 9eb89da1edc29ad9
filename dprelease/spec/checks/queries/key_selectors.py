"""How the private keys of each table are selected: once, by the noisy count of one query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from dprelease.model import KeySelection, Query
from dprelease.spec.complaints.places import Path
from dprelease.spec.complaints.reporter import Reporter
from dprelease.spec.complaints.wording import show
from dprelease.spec.schema.structure import Parts
from dprelease.statistics.registry import key_selector

_SELECTION = "partition_selection"


class Selected(NamedTuple):
    """The queries, implied ones among them; ``paid`` are those that a selection's epsilon pays."""

    queries: tuple[Query, ...]
    paid: frozenset[int]


def select_keys(queries: Sequence[Query], parts: Parts, reporter: Reporter) -> Selected:
    """Settle the selection of every table with private keys.

    It is made by a count (of units, if the unit is a column) over all records, or else a filtered
    one; a table without any gets one that the spec does not name. An epsilon of the selection is
    that count's budget. Queries of one table must agree.
    """
    all_queries, paid = list(queries), set[int]()
    for table in dict.fromkeys(query.table for query in queries if query.private):
        settled = _Table(table, all_queries, parts, reporter).settle()
        first = min(all_queries.index(query) for query in all_queries if query.table == table)
        by_name = {query.name: query for query in settled if not query.implied}
        all_queries = [by_name.get(query.name, query) for query in all_queries]
        all_queries[first:first] = [query for query in settled if query.implied]
        paid |= {query.number for query in settled if query.epsilon and not query.implied}
    return Selected(tuple(all_queries), frozenset(paid))


class _Table:
    def __init__(
        self, table: str, queries: Sequence[Query], parts: Parts, reporter: Reporter
    ) -> None:
        self.table = table
        self.names = {query.name.casefold(): query.name for query in queries}
        self.members = [query for query in queries if query.table == table and query.private]
        self.parts = parts
        self.reporter = reporter

    def settle(self) -> list[Query]:
        """Give the table's queries with their common selection, and the implied count if any."""
        self._check_accounting()
        stated = [
            (query, query.key_selection)
            for query in self.members
            if query.key_selection is not None
        ]
        if not stated or not self._agree(stated):
            return self.members
        epsilons = [(query, part.epsilon) for query, part in stated if part.epsilon is not None]
        epsilon = epsilons[0][1] if epsilons else None
        selection = KeySelection(stated[0][1].delta, epsilon)
        members = [replace(query, key_selection=selection) for query in self.members]
        people = self.parts.privacy.model.unit == "column"
        statistic = key_selector(of_units=people)
        counts = [query for query in members if query.statistic == statistic]
        if not counts:
            suffix = "units" if people else "rows"
            return [*members, *self._implied(f"{self.table}_{suffix}", statistic, selection)]
        count = min(counts, key=lambda query: (query.where is not None, query.number))
        if epsilon is None:
            self._check_rho(count)
            return members
        paid = self._paid(count, epsilon, _path(epsilons[0][0], "epsilon"))
        return [paid if query.name == count.name else query for query in members]

    def _agree(self, stated: Sequence[tuple[Query, KeySelection]]) -> bool:
        first, wanted = stated[0]
        epsilon: tuple[Query, Fraction] | None = None
        agree = True
        for query, selection in stated:
            if selection.delta != wanted.delta:
                agree = self._disagree(first, query, "delta")
            if selection.epsilon is None:
                continue
            if epsilon is not None and selection.epsilon != epsilon[1]:
                agree = self._disagree(epsilon[0], query, "epsilon")
            epsilon = epsilon or (query, selection.epsilon)
        return agree

    def _disagree(self, first: Query, query: Query, key: str) -> bool:
        message = (
            f"queries {show(first.name)} and {show(query.name)} share the table "
            f"{show(self.table)}, but not the {key} of its selection of keys"
        )
        hint = "keys are selected once for the whole table: write the same in each query"
        self.reporter.complain("E238", message, _path(query, key), hint)
        return False

    def _check_accounting(self) -> None:
        total, path = self.parts.privacy.model, _path(self.members[0])
        hint = 'accounting = "auto" and a total epsilon with a delta'
        if total.accounting == "pure":
            message = 'accounting = "pure" has no room for the delta of private keys'
            self.reporter.complain("E225", message, path, hint)
        elif total.rho is not None or total.accounting == "zcdp":
            message = "the selection of private keys has no rho"
            self.reporter.complain("E225", message, path, hint)

    def _check_rho(self, count: Query) -> None:
        if count.rho is not None:
            message = f"{show(count.name)} selects private keys, which has no rho"
            path: Path = ("query", count.number, "rho")
            self.reporter.complain("E225", message, path, "state epsilon instead")

    def _paid(self, count: Query, epsilon: Fraction, path: Path) -> Query:
        """Pay the count that selects by the epsilon of the selection, if it has no other."""
        model = self.parts.queries[count.number].model
        own = model.weight is not None or model.rho is not None
        if own or model.epsilon not in {None, epsilon}:
            message = f"{show(count.name)} selects the keys, and has another budget"
            hint = f"state it once: here, or as the epsilon of {show(count.name)}"
            self.reporter.complain("E224", message, path, hint)
        return replace(count, epsilon=epsilon)

    def _implied(self, name: str, statistic: str, selection: KeySelection) -> list[Query]:
        first = self.members[0]
        shares = any(query.epsilon is None and query.rho is None for query in self.members)
        if selection.epsilon is None and not shares:
            message = f"nothing says how much of the budget selects the keys of {show(self.table)}"
            hint = (
                f"{_SELECTION} = {{ delta = ..., epsilon = 0.1 }}, or a query with statistic = "
                f'"{statistic}" and the same by'
            )
            self.reporter.complain("E223", message, _path(first), hint)
            return []
        if name.casefold() in self.names:
            other = self.names[name.casefold()]
            message = f"the count that selects the keys of {show(self.table)} is named {show(name)}"
            hint = f"rename the query {show(other)}"
            self.reporter.complain("E218", message, _path(first), hint)
            return []
        return [
            Query(
                name,
                statistic,
                self.table,
                first.groups,
                epsilon=selection.epsilon,
                number=first.number,
                key_selection=selection,
                implied=True,
            )
        ]


def _path(query: Query, *keys: str) -> Path:
    return ("query", query.number, _SELECTION, *keys)
