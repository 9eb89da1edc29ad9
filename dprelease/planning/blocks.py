"""Which queries can be planned together: counts over the same rows, and features of these.

A block holds counts over the rows that pass one filter, each with its groups, and figures that are
made of a feature of these rows and of their number: counts of those that meet a condition besides,
shares, sums and means. Groups are completed, so that every table adds up to the same total,
whatever its own labels leave out.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import cached_property
from math import prod

from msgspec import Struct
from msgspec.structs import replace

from dprelease.model import Expression, Group, Query
from dprelease.planning.budgets import Demand, add_up_demand
from dprelease.planning.features import find_feature
from dprelease.planning.figure_errors import name_aspects
from dprelease.planning.steps import Draft
from dprelease.statistics.statistic_registry import get_statistic

MOST_CELLS = 10**8
"""A strategy that would have more cells is not tried."""

MOST_JOINED = 10**6
"""Cells of a table into which others are joined."""


class Block(Struct, frozen=True, dict=True):
    """Queries that may be planned together, each a draft.

    ``tables`` count rows that pass ``where`` by their groups, perhaps none; ``others`` are made of
    a feature of these rows, in the cells of their groups.
    """

    where: Expression | None
    tables: tuple[Draft, ...]
    others: tuple[Draft, ...] = ()

    @cached_property
    def drafts(self) -> tuple[Draft, ...]:
        """The tables and the others."""
        return (*self.tables, *self.others)

    @property
    def has_several_groups(self) -> bool:
        """Return True if not all others have the same groups."""
        return len({draft.query.groups for draft in self.others}) > 1

    @property
    def groups(self) -> tuple[Group, ...]:
        """Return the groups of all others, where these are the same."""
        return self.others[0].query.groups if self.others else ()

    def drop_others(self, errors: Sequence[str]) -> Block | None:
        """Leave out others of which one of these errors is, with all of the same feature.

        ``errors`` are names as ``name_aspects`` gives them. None if nothing is left out, or all but
        one.
        """
        features = {
            find_feature(draft.query)
            for draft in self.others
            if not get_statistic(draft.query.statistic).combines
            and not {*errors}.isdisjoint(name_aspects(draft.query))
        }
        totals = {feature.total for feature in features if feature is not None}
        others = tuple(
            draft
            for draft in self.others
            if (feature := find_feature(draft.query)) is None or feature.total not in totals
        )
        rest = replace(self, others=others)
        return rest if totals and len(rest.drafts) > 1 else None

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


def build_blocks(
    drafts: Sequence[Draft], *, counts_only: bool = False, pairs: bool = False, whole: bool = False
) -> list[Block]:
    """Gather the drafts that may be planned together for one budget; ``counts_only`` counts alone.

    Tables over the same rows are one block. If a filter has no several tables, a count without
    groups is a condition on all rows, and counts with the same groups are conditions in each of
    their cells. Rows of people that are counted by several filters are not the same rows. With
    ``pairs`` a single condition stands with the count of all rows by the same groups. ``whole``:
    all of the same rows is one block, whatever its groups, and after it each part by itself.
    """
    counts = [draft for draft in drafts if _is_plain_count(draft) and not _name_family(draft)]
    measured = [] if counts_only else list(filter(is_of_feature, drafts))
    # Float sums depend on the order of terms, so it must not depend on the order in the spec.
    counts.sort(key=_canonicalize)
    measured.sort(key=_canonicalize)
    tables: dict[tuple[Expression | None, str], list[Draft]] = {}
    others: dict[_Rows, list[Draft]] = {}
    groups_of: dict[Expression | None, set[tuple[Group, ...]]] = {}
    filters_of: dict[tuple[Group, ...], set[Expression | None]] = {}
    for query in (draft.query for draft in counts):
        groups_of.setdefault(query.where, set()).add(query.groups)
        filters_of.setdefault(query.groups, set()).add(query.where)
    rows_measured = {_find_rows(draft) for draft in measured}
    for draft in counts:
        query = draft.query
        tables_alike, siblings = groups_of[query.where], filters_of[query.groups]
        needed = query.where is None or _find_rows(draft) in rows_measured
        if needed or not _is_condition(draft, tables_alike, siblings, pairs=pairs):
            tables.setdefault((query.where, query.mechanism), []).append(draft)
        else:
            others.setdefault((query.groups, None, query.mechanism), []).append(draft)
    for draft in measured:
        others.setdefault(_find_rows(draft), []).append(draft)
    blocks: list[Block] = []
    wholes: dict[tuple[Expression | None, str], list[Draft]] = {}
    for (_, where, mechanism), members in others.items() if whole else ():
        wholes.setdefault((where, mechanism), []).extend(members)
    for rows, members in wholes.items():
        blocks.append(Block(rows[0], tuple(tables.get(rows, ())), tuple(members)))
    for (groups, where, mechanism), members in others.items():
        tables.setdefault((where, mechanism), [])
        if groups:
            alike = [d for d in tables[where, mechanism] if d.query.groups == groups]
            tables[where, mechanism] = [d for d in tables[where, mechanism] if d not in alike]
            blocks.append(Block(where, tuple(alike), tuple(members)))
    for (where, mechanism), tables_alone in tables.items():
        free = others.get(((), where, mechanism), [])
        blocks.append(Block(where, tuple(tables_alone), tuple(free)))
    families: dict[tuple[str, Expression | None, str], list[Draft]] = {}
    for draft in sorted(drafts, key=_canonicalize):
        if _is_plain_count(draft) and _name_family(draft):
            query = draft.query
            families.setdefault((_name_family(draft), query.where, query.mechanism), []).append(
                draft
            )
    blocks += [Block(where, tuple(members)) for (_, where, _), members in families.items()]
    mixed = [block for block in blocks if block.has_several_groups]
    parts = [block for block in blocks if not block.has_several_groups]
    several = (block for block in parts if len(block.drafts) > 1)
    return [*sorted(mixed, key=_order), *sorted(several, key=_order)]


_Rows = tuple[tuple[Group, ...], Expression | None, str]
"""Groups, filter and mechanism of figures of the same rows."""


def _find_rows(draft: Draft) -> _Rows:
    return draft.query.groups, draft.query.where, draft.query.mechanism


def _canonicalize(draft: Draft) -> tuple[list[tuple[str, tuple[str, ...]]], str, str, str]:
    query = draft.query
    where = query.where.text if query.where is not None else ""
    of = query.column.name if query.column is not None else ""
    if query.numerator is not None and query.numerator.where is not None:
        of = query.numerator.where.text
    return [(group.column, group.labels) for group in query.groups], where, query.statistic, of


def _order(block: Block) -> tuple[str, list[str], str]:
    where = block.where.text if block.where is not None else ""
    return where, [group.column for group in block.groups], block.drafts[0].query.mechanism


def _is_condition(
    draft: Draft,
    tables_alike: Set[tuple[Group, ...]],
    siblings: Set[Expression | None],
    *,
    pairs: bool,
) -> bool:
    """Check if a filtered count is one of several conditions rather than one of several tables.

    ``tables_alike``: the groups of all counts with its filter; ``siblings``: the filters of all
    with its groups.
    """
    if len(tables_alike - {()}) > 1 or draft.neighbours.people:
        return False
    if pairs and None in siblings:
        return True
    return not draft.query.groups or not siblings <= {None, draft.query.where}


def _name_family(draft: Draft) -> str:
    """Name the query with its own budget that this is one of several tables of, or give ""."""
    query = draft.query
    return query.column_name if draft.demand.is_stated and query.is_one_of_several else ""


def _is_plain_count(draft: Draft) -> bool:
    """Check if it counts records by public keys, paid from the total or its block's budget."""
    return (
        get_statistic(draft.query.statistic).combines
        and draft.demand.kind in {"weight", "epsilon", "rho"}
        and (draft.demand.kind == "weight" or _name_family(draft) != "")
        and draft.released.transform == ((1,),)
        and _is_added_up(draft)
    )


def is_of_feature(draft: Draft) -> bool:
    """Check if it is made of a feature of records by public keys, paid from the total."""
    query = draft.query
    feature = find_feature(query)
    return (
        feature is not None
        and feature.width > 0
        and not get_statistic(query.statistic).combines
        and draft.demand.kind == "weight"
        and not query.is_one_of_several
        # A share of filtered rows would be of two filters, one of which certify could not bound.
        and (query.where is None or query.numerator is None)
        and _is_added_up(draft)
    )


def _is_added_up(draft: Draft) -> bool:
    query, limits = draft.query, draft.neighbours.contribution
    return (
        query.survey_weight is None
        and query.clip is None
        and not draft.released.axes
        and not (draft.selects or query.private or query.axis)
        # As many rows of a unit are kept, whatever cells they are in.
        and limits.groups == limits.per_group == limits.rows
        and draft.sensitivity.l1 > 0
        and all(not read.rows for read in draft.reads)
    )
