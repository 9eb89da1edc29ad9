"""Which counts can be planned together: those over the same rows, and conditions on these.

A block holds counts over the rows that pass one filter, each with its groups, and counts over these
rows that meet a condition besides. Groups are completed, so that every table adds up to the same
total, whatever its own labels leave out.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import cached_property
from math import prod

from msgspec import Struct

from dprelease.model import Expression, Group, Query
from dprelease.planning.budgets import Demand, add_up_demand
from dprelease.planning.steps import Draft
from dprelease.statistics.statistic_registry import get_statistic

MOST_CELLS = 10**8
"""A strategy that would have more cells is not tried."""

MOST_JOINED = 10**6
"""Cells of a table into which others are joined."""


class Block(Struct, frozen=True, dict=True):
    """Counts that may be planned together, each a draft of one integer for each cell.

    ``tables`` count rows that pass ``where`` by their groups, perhaps none; ``conditions`` count
    those that meet another filter, in the cells of ``groups``, which all of them have.
    """

    where: Expression | None
    tables: tuple[Draft, ...]
    conditions: tuple[Draft, ...] = ()
    groups: tuple[Group, ...] = ()

    @cached_property
    def drafts(self) -> tuple[Draft, ...]:
        """The tables and the conditions."""
        return (*self.tables, *self.conditions)

    @cached_property
    def first_query(self) -> Query:
        """The first of its queries in the spec."""
        return min((draft.query for draft in self.drafts), key=lambda query: query.number)

    @property
    def budget(self) -> Demand:
        """Return the sum of what its drafts ask for."""
        return add_up_demand([read.query for draft in self.drafts for read in draft.reads])

    @property
    def is_small(self) -> bool:
        """Return True if a table with all groups has no more cells than a joined one may have."""
        groups = {group for draft in self.drafts for group in complete_groups(draft.query.groups)}
        return prod(len(group.labels) for group in groups) <= MOST_JOINED


def complete_groups(groups: Sequence[Group]) -> tuple[Group, ...]:
    """Complete each group with a label for every record."""
    return tuple(group.complete() for group in groups)


def build_blocks(drafts: Sequence[Draft]) -> list[Block]:
    """Gather the drafts that may be planned together for one budget.

    Tables over the same rows are one block. If a filter has no several tables, a count without
    groups is a condition on all rows, and counts with the same groups are conditions in each of
    their cells. Rows of people that are counted by several filters are not the same rows.
    """
    counts = [draft for draft in drafts if _is_plain_count(draft) and not _name_family(draft)]
    # Float sums depend on the order of terms, so it must not depend on the order in the spec.
    counts.sort(key=_canonicalize)
    tables: dict[tuple[Expression | None, str], list[Draft]] = {}
    conditions: dict[tuple[tuple[Group, ...], str], list[Draft]] = {}
    groups_of: dict[Expression | None, set[tuple[Group, ...]]] = {}
    filters_of: dict[tuple[Group, ...], set[Expression | None]] = {}
    for query in (draft.query for draft in counts):
        groups_of.setdefault(query.where, set()).add(query.groups)
        filters_of.setdefault(query.groups, set()).add(query.where)
    for draft in counts:
        query = draft.query
        tables_alike, siblings = groups_of[query.where], filters_of[query.groups]
        if query.where is None or not _is_condition(draft, tables_alike, siblings):
            tables.setdefault((query.where, query.mechanism), []).append(draft)
        else:
            conditions.setdefault((query.groups, query.mechanism), []).append(draft)
    blocks = []
    for (groups, mechanism), members in conditions.items():
        tables.setdefault((None, mechanism), [])
        if groups:
            whole = [d for d in tables[None, mechanism] if d.query.groups == groups]
            tables[None, mechanism] = [d for d in tables[None, mechanism] if d not in whole]
            blocks.append(Block(None, tuple(whole), tuple(members), groups))
    for (where, mechanism), members in tables.items():
        free = conditions.get(((), mechanism), []) if where is None else []
        blocks.append(Block(where, tuple(members), tuple(free)))
    families: dict[tuple[str, Expression | None, str], list[Draft]] = {}
    for draft in sorted(drafts, key=_canonicalize):
        if _is_plain_count(draft) and _name_family(draft):
            query = draft.query
            families.setdefault((_name_family(draft), query.where, query.mechanism), []).append(
                draft
            )
    blocks += [Block(where, tuple(members)) for (_, where, _), members in families.items()]
    return sorted((block for block in blocks if len(block.drafts) > 1), key=_order)


def _canonicalize(draft: Draft) -> tuple[list[tuple[str, tuple[str, ...]]], str, str]:
    query = draft.query
    where = query.where.text if query.where is not None else ""
    return [(group.column, group.labels) for group in query.groups], where, query.statistic


def _order(block: Block) -> tuple[str, list[str], str]:
    where = block.where.text if block.where is not None else ""
    return where, [group.column for group in block.groups], block.drafts[0].query.mechanism


def _is_condition(
    draft: Draft, tables_alike: Set[tuple[Group, ...]], siblings: Set[Expression | None]
) -> bool:
    """Check if a filtered count is one of several conditions rather than one of several tables.

    ``tables_alike``: the groups of all counts with its filter; ``siblings``: the filters of all
    with its groups.
    """
    if len(tables_alike - {()}) > 1 or draft.neighbours.people:
        return False
    return not draft.query.groups or not siblings <= {None, draft.query.where}


def _name_family(draft: Draft) -> str:
    """Name the query with its own budget that this is one of several tables of, or give ""."""
    query = draft.query
    return query.column_name if draft.demand.is_stated and query.is_one_of_several else ""


def _is_plain_count(draft: Draft) -> bool:
    """Check if it counts records by public keys, paid from the total or its block's budget."""
    query, limits = draft.query, draft.neighbours.contribution
    return (
        get_statistic(query.statistic).combines
        and query.survey_weight is None
        and draft.demand.kind in {"weight", "epsilon", "rho"}
        and (draft.demand.kind == "weight" or _name_family(draft) != "")
        and draft.released.transform == ((1,),)
        and not draft.released.axes
        and not (draft.selects or query.private or query.axis)
        # As many rows of a unit are kept, whatever cells they are in.
        and limits.groups == limits.per_group == limits.rows
        and draft.sensitivity.l1 > 0
        and all(not read.rows for read in draft.reads)
    )
