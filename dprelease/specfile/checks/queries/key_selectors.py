"""How the private keys of each table are selected: once, by the noisy count of one query."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import product

from msgspec.structs import replace

from dprelease.model import KeySelection, Query
from dprelease.specfile.complaints.complaint_wording import show
from dprelease.specfile.schema.structure import Parts
from dprelease.statistics.statistic_registry import get_key_selector

_SELECTION = "partition_selection"


def select_keys(queries: Sequence[Query], parts: Parts) -> tuple[tuple[Query, ...], frozenset[int]]:
    """Settle the selection of every table with private keys.

    It is made by a count (of units, if the unit is a column) over all records, or else a filtered
    one; a table without any gets one that the spec does not name. An epsilon of the selection is
    that count's budget. Queries of one table must agree. Gives the queries, implied ones among
    them, and the numbers of those that a selection's epsilon pays.
    """
    all_queries, paid = list(queries), set[int]()
    for table in dict.fromkeys(query.table for query in queries if query.private):
        settled = _Table(table, all_queries, parts).settle()
        first = min(all_queries.index(query) for query in all_queries if query.table == table)
        by_name = {query.name: query for query in settled if not query.implied}
        all_queries = [by_name.get(query.name, query) for query in all_queries]
        all_queries[first:first] = [query for query in settled if query.implied]
        paid |= {query.number for query in settled if query.epsilon and not query.implied}
    _check_total_delta(queries, parts)
    return tuple(all_queries), frozenset(paid)


def _check_total_delta(queries: Sequence[Query], parts: Parts) -> None:
    """Complain of the first selection with which the total delta does not pay for all.

    Under a total in epsilon, deltas that queries state for themselves add up with these. Under one
    in rho, some delta is left at which epsilon is stated.
    """
    total = parts.privacy.model
    in_rho = total.rho is not None
    if not parts.privacy.is_sound("delta") or not total.delta:
        return
    by_table: dict[str, Query] = {}
    for query in queries:
        if query.key_selection is not None:
            by_table.setdefault(query.table, query)
    own = [] if in_rho else [query.delta for query in queries if query.delta is not None]
    spent, available = sum(own, Fraction(0)), total.delta
    needed = spent + sum((_get_delta(query) for query in by_table.values()), Fraction(0))
    for query in by_table.values():
        spent += _get_delta(query)
        if spent < available or (spent == available and not in_rho):
            continue
        several = len(by_table) > 1 or own
        subject = "the selections of keys take" if several else "the selection of keys takes"
        if own:
            subject = "the selections of keys and the queries' own deltas take"
        amount = f"{subject} delta {_write_delta(needed)}{' together' if several else ''}"
        lower = "lower these" if several else "lower it"
        if in_rho:
            message = f"{amount}, which leaves nothing of the delta at which epsilon is stated"
            limit = f"above {_write_delta(needed)}, or leave it out"
        else:
            message = f"{amount}, more than the total {_write_delta(available)}"
            limit = f"to {_write_delta(needed)}"
        hint = f"raise the delta of [privacy] {limit}, or {lower}"
        parts.queries[query.number].complain("E238", message, _SELECTION, "delta", hint=hint)
        return


def _get_delta(query: Query) -> Fraction:
    return query.key_selection.delta if query.key_selection is not None else Fraction(0)


def _write_delta(value: Fraction) -> str:
    return f"{(Decimal(value.numerator) / value.denominator).normalize():e}"


class _Table:
    def __init__(self, table: str, queries: Sequence[Query], parts: Parts) -> None:
        self.table = table
        self.names = {query.name.casefold(): query.name for query in queries}
        self.members = [query for query in queries if query.table == table and query.private]
        self.parts = parts

    def _complain(self, code: str, message: str, query: Query, *keys: str, hint: str = "") -> None:
        self.parts.queries[query.number].complain(code, message, *keys, hint=hint)

    def settle(self) -> list[Query]:
        """Give the table's queries with their common selection, and the implied count if any."""
        self._check_accounting()
        amounts: dict[str, tuple[Query, Fraction]] = {}
        agree = True
        for query, key in product(self.members, ("delta", "epsilon")):
            value: Fraction | None = getattr(query.key_selection, key, None)
            if value is None:
                continue
            first, first_value = amounts.setdefault(key, (query, value))
            if value != first_value:
                message = (
                    f"queries {show(first.name)} and {show(query.name)} share the table "
                    f"{show(self.table)}, but not the {key} of the key selection"
                )
                hint = "keys are selected once for the whole table: write the same in each query"
                self._complain("E238", message, query, _SELECTION, key, hint=hint)
                agree = False
        if not amounts or not agree:
            return self.members
        payer, epsilon = amounts.get("epsilon", (None, None))
        total = self.parts.privacy.model
        if total.rho is not None:
            if payer is not None:
                message = "the total is in rho, and so is what selects keys"
                hint = "leave epsilon out; the count that selects keys has a share of rho"
                self._complain("E225", message, payer, _SELECTION, "epsilon", hint=hint)
            epsilon = None
        selection = KeySelection(amounts["delta"][1], epsilon)
        members = [replace(query, key_selection=selection) for query in self.members]
        people = self.parts.privacy.model.unit == "column"
        statistic = get_key_selector(of_units=people)
        counts = [
            query
            for query in members
            if query.statistic == statistic and query.survey_weight is None
        ]
        if not counts:
            suffix = "units" if people else "rows"
            return [*members, *self._build_implied(f"{self.table}_{suffix}", statistic, selection)]
        count = min(counts, key=lambda query: (query.where is not None, query.number))
        if payer is None or epsilon is None:
            if total.rho is not None:
                self._check_count_in_rho(count)
            elif count.rho is not None:
                message = f"{show(count.name)} selects private keys, which can't be done in rho"
                self._complain("E225", message, count, "rho", hint="state epsilon instead")
            return members
        model = self.parts.queries[count.number].model
        budgeted = model.weight is not None or model.rho is not None
        if budgeted or model.epsilon not in {None, epsilon}:
            message = f"{show(count.name)} selects the keys, but has another budget"
            hint = f"state it once: here, or as the epsilon of {show(count.name)}"
            self._complain("E224", message, payer, _SELECTION, "epsilon", hint=hint)
        selector = replace(count, epsilon=epsilon)
        return [selector if query.name == count.name else query for query in members]

    def _check_accounting(self) -> None:
        total = self.parts.privacy.model
        hint = 'write accounting = "auto" and a total epsilon with a delta'
        if total.accounting == "pure":
            message = 'accounting = "pure" does not allow the delta of private keys'
            self._complain("E225", message, self.members[0], _SELECTION, hint=hint)
        elif total.rho is not None and total.accounting == "pld":
            message = 'accounting = "pld" does not allow private keys under a total in rho'
            hint = 'write accounting = "auto", or a total epsilon with a delta'
            self._complain("E225", message, self.members[0], _SELECTION, hint=hint)
        elif total.rho is None and total.accounting == "zcdp":
            message = 'accounting = "zcdp" without a total rho does not allow private keys'
            self._complain("E225", message, self.members[0], _SELECTION, hint=hint)

    def _check_count_in_rho(self, count: Query) -> None:
        """Complain of a count with a budget that no selection under a total in rho has."""
        for key in ("epsilon", "accuracy"):
            if getattr(count, key) is not None:
                message = f"{show(count.name)} selects private keys under a total in rho"
                hint = f"state rho or weight instead of {key}"
                self._complain("E225", message, count, key, hint=hint)

    def _build_implied(self, name: str, statistic: str, selection: KeySelection) -> list[Query]:
        first = self.members[0]
        shares = any(query.epsilon is None and query.rho is None for query in self.members)
        if selection.epsilon is None and not shares:
            message = f"no budget is stated for selecting the keys of {show(self.table)}"
            hint = (
                f"{_SELECTION} = {{ delta = ..., epsilon = 0.1 }}, or a query with statistic = "
                f'"{statistic}" and the same by'
            )
            self._complain("E223", message, first, _SELECTION, hint=hint)
            return []
        if name.casefold() in self.names:
            other = self.names[name.casefold()]
            message = f"the count that selects the keys of {show(self.table)} is named {show(name)}"
            hint = f"rename the query {show(other)}"
            self._complain("E218", message, first, _SELECTION, hint=hint)
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
