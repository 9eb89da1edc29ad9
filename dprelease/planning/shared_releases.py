"""Which queries are read from one release, so that it can have the budget of them all.

In turn: equal queries are released once; count, sum, mean, variance and standard deviation of one
column, over the same rows and groups, come from one release of a few sums; a count that is the sum
of a finer one's cells is added up from those. Each only where the figures together have less noise
than if each had its own share, by the weighted mean of what is left of their variances.

*Sums of a column.* Count, sum and mean follow from the two sums of a mean, and with the three sums
of a variance that as well (``statistics.shared``). One record adds exactly K to the sums together
(K^2 to the three), so the whole joint budget goes to one release.

*Records without a value* add nothing to these sums, but are counted: where the column may hold
nulls, one more sum, the last, adds K (K^2) for each of them, and nothing for the others. A record
still adds exactly K in all, to one sum more. See ``dprelease.statistics.read_release`` for what is
made of it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction
from math import prod

from msgspec.structs import replace

from dprelease.model import AS_RELEASED, Group, Measure, MeasureKind, Query, Read, Reading, Release
from dprelease.planning.budgets import Demand, add_up_demand, compute_root, find_selecting_queries
from dprelease.planning.steps import Draft
from dprelease.privacy.sensitivity import Vector
from dprelease.statistics.shared.statistic import (
    Neighbours,
    Released,
    SharedSums,
    Sharing,
    bound_change,
    build_quantity,
    may_be_outside,
    read_neighbours,
)
from dprelease.statistics.shared.two_sums import define_two_sums
from dprelease.statistics.spread import define_three_sums
from dprelease.statistics.statistic_registry import get_statistic

SCREENED_FROM = Fraction(3, 8)
"""A count that would have no more than this of the joint intensity is screened for records without
a value: its noise is less so, and its interval, which has to allow for such records that pass for
noise, is no wider than at a share of its own. With a larger share it would be."""


def build_drafts(release: Release, *, join_targets: bool = True) -> list[Draft]:
    """Gather the release's queries into drafts, in the order of the spec.

    Without ``join_targets`` queries with accuracy targets share only with equal ones.
    """
    # Whether targets cost less together only the whole plan can tell.
    drafts = _share_equal_queries(release, read_neighbours(release))
    alone = [draft for draft in drafts if draft.demand.targeted and not join_targets]
    drafts = _join_column_statistics(
        [draft for draft in drafts if draft not in alone], _is_pure(release)
    )
    return add_up_counts(release, drafts, alone)


def build_unshared_drafts(release: Release) -> list[Draft]:
    """Gather the drafts before any is read from another's release; equal queries are one."""
    return _share_equal_queries(release, read_neighbours(release))


def join_column_statistics(release: Release, drafts: Sequence[Draft]) -> list[Draft]:
    """Join the statistics of each column; counts are not added up from finer ones yet."""
    return _join_column_statistics(drafts, _is_pure(release))


def add_up_counts(
    release: Release, drafts: Sequence[Draft], alone: Sequence[Draft] = ()
) -> list[Draft]:
    """Add up counts from finer ones where both gain; those ``alone`` stay as they are."""
    # With limits, the rows kept of a unit depend on the groups: finer cells don't add up.
    if release.privacy.bounding is None:
        by_rows: dict[Hashable, list[Draft]] = {}
        for draft in drafts:
            query = draft.query
            rows = query.where, query.mechanism, draft.demand.kind
            # A draft that no neighbour changes stays by itself.
            by_rows.setdefault(rows if draft.sensitivity.l1 else query.name, []).append(draft)
        pure = _is_pure(release)
        drafts = [draft for members in by_rows.values() for draft in _merge_drafts(members, pure)]
    return sorted([*alone, *drafts], key=lambda draft: draft.query.number)


def _is_pure(release: Release) -> bool:
    return release.privacy.delta == 0 and release.privacy.rho is None


# --- equal queries --------------------------------------------------------------------------------


def _share_equal_queries(release: Release, neighbours: Neighbours) -> list[Draft]:
    """Release equal queries once; a query that selects keys leads those that equal it."""
    selecting = find_selecting_queries(release)
    queries_by_request: dict[Hashable, list[Query]] = {}
    for query in release.queries:
        queries_by_request.setdefault((_request(query), add_up_demand([query]).kind), []).append(
            query
        )
    drafts = []
    for members in queries_by_request.values():
        lead = next((query for query in members if query.name in selecting), members[0])
        statistic = get_statistic(lead.statistic)
        drafts.append(
            Draft(
                lead,
                statistic.define_release(lead),
                statistic.bound_sensitivity(lead, neighbours),
                neighbours,
                tuple(Read(query, lead.name, ()) for query in members),
                add_up_demand(members),
                selects=lead.name in selecting,
            )
        )
    return drafts


def _request(query: Query) -> Query:
    """Strip a query to what it asks for, without its name and budget."""
    return replace(
        query,
        name="",
        number=0,
        table=query.table if query.private else "",
        epsilon=None,
        delta=None,
        rho=None,
        accuracy=None,
        weight=Fraction(0),
        implied=False,
        finish=AS_RELEASED,
    )


def find_repeated_queries(queries: Sequence[Query]) -> list[tuple[str, ...]]:
    """List the names of equal queries that are released apart, as their budgets differ in kind."""
    queries_by_request: dict[Query, list[Query]] = {}
    for query in queries:
        queries_by_request.setdefault(_request(query), []).append(query)
    return [
        tuple(query.name for query in members)
        for members in queries_by_request.values()
        if len({add_up_demand([query]).kind for query in members}) > 1
    ]


# --- several statistics of one column -------------------------------------------------------------


def _find_sharing(query: Query) -> Sharing | None:
    """Look up how the query's statistic is read from a shared release; None if it never is."""
    # Weighted figures are released by themselves, and so are sums of totals that are scaled.
    if query.survey_weight is not None or query.clip is not None:
        return None
    return get_statistic(query.statistic).sharing


def _is_row_count(query: Query) -> bool:
    """Check if it is a count of records, which goes with any column and adds up over cells."""
    sharing = _find_sharing(query)
    return sharing is not None and sharing.counts_rows


def _join_column_statistics(drafts: Sequence[Draft], pure: bool) -> list[Draft]:
    """Join the statistics of a column, and the count of the same rows with one of them."""
    sharing = [draft for draft in drafts if _may_share(draft)]
    by_rows: dict[Hashable, list[Draft]] = {}
    for draft in sharing:
        query = draft.query
        table = query.table if query.private else ""
        rows = query.groups, query.where, query.mechanism, draft.demand.kind, table
        by_rows.setdefault(rows, []).append(draft)
    column_drafts = (
        draft for members in by_rows.values() for draft in _join_columns(members, pure)
    )
    names = {draft.name for draft in sharing}
    return [*(draft for draft in drafts if draft.name not in names), *column_drafts]


def _may_share(draft: Draft) -> bool:
    """Check that a draft may share a release of sums."""
    query = draft.query
    # One of several tables of a query is planned with the others, to add up with them.
    if draft.selects or _find_sharing(query) is None or query.is_one_of_several:
        return False
    if not _is_row_count(query) and not build_quantity(query.column).grid.width:
        return False
    # A figure that no neighbour changes needs no noise.
    return draft.sensitivity.l1 > 0


def _join_columns(drafts: Sequence[Draft], pure: bool) -> list[Draft]:
    counts = [draft for draft in drafts if _is_row_count(draft.query)]
    columns: dict[str, list[Draft]] = {}
    for draft in drafts:
        if not _is_row_count(draft.query) and draft.query.column is not None:
            columns.setdefault(draft.query.column.name, []).append(draft)
    columns_by_draft: dict[str, Sequence[Draft]] = dict(columns)
    for name, members in columns.items():
        if len(members) > 1:
            worth, joint = _join_sums(members, pure)
            columns_by_draft[name] = [joint] if worth < 1 else members
    if counts and columns:
        # the count goes with the column from which it gains most
        options = {name: _join_sums([*counts, *members], pure) for name, members in columns.items()}
        best = min(options, key=lambda name: options[name][0])
        worth, joint = options[best]
        if worth < 1:
            columns_by_draft[best], counts = [joint], []
    return [*counts, *(draft for members in columns_by_draft.values() for draft in members)]


def _join_sums(drafts: Sequence[Draft], pure: bool) -> tuple[Fraction, Draft]:
    """Build one release of sums in place of several, and compute how much the figures gain.

    The statistic with the most sums leads: groups, filter and name are its own. The gain is the
    weighted mean of what is left of each member's variance.
    """
    members = sorted(
        (read.query for draft in drafts for read in draft.reads), key=lambda query: query.number
    )
    lead = max(members, key=_lead)
    neighbours, column = drafts[0].neighbours, lead.column
    if column is None:
        raise ValueError("sums are those of a column")
    shares = compute_fractions([add_up_demand([query]) for query in members], pure)
    counts = [_is_row_count(query) for query in members]
    screens = all(
        share <= SCREENED_FROM for share, is_count in zip(shares, counts, strict=True) if is_count
    )
    sharing = _find_sharing(lead)
    sums = SharedSums(
        lead.name,
        build_quantity(column).grid,
        sharing is not None and sharing.squared,
        counts_nulls=column.null_value is None and any(counts),
        screens=screens and not column.nulls_stated,
    )
    released = _build_sums(lead, sums)
    row = Vector(sums.width, sums.width**2, len(released.transform))
    change = bound_change(lead, neighbours, row, outside=may_be_outside(lead, neighbours))
    reads = tuple(get_statistic(query.statistic).plan_shared_read(query, sums) for query in members)
    joint = Draft(lead, released, change, neighbours, reads, add_up_demand(members))
    remaining_variance = Fraction(0)
    for read, share in zip(reads, shares, strict=True):
        own_variance = _compute_own_variance(read.query, neighbours) / (share * share)
        if read.reading is Reading.LINEAR:
            shared_variance = sum((f * f for f in read.factors), Fraction(0)) * change.l1**2
        else:
            shared_variance = _spread(read.query) * Fraction(change.l1, sums.width) ** 2
        remaining_variance += read.query.weight * shared_variance / own_variance
    return remaining_variance / sum((query.weight for query in members), Fraction(0)), joint


def _lead(query: Query) -> tuple[int, int]:
    sharing = _find_sharing(query)
    return -1 if sharing is None else sharing.lead, -query.number


def _build_sums(lead: Query, sums: SharedSums) -> Released:
    """Build the sums as combinations of measures; that of nulls is the last."""
    base = (define_three_sums if sums.squared else define_two_sums)(lead)
    if not sums.counts_nulls:
        return base
    records = Measure(MeasureKind.RECORDS, None, lead.where)
    values = [measure.kind is MeasureKind.VALUES for measure in base.measures]
    nulls = tuple(-sums.width * value for value in values)
    return Released(
        (*base.measures, records),
        (*((*row, 0) for row in base.transform), (*nulls, sums.width)),
        (*base.unit, base.unit[0]),
    )


def _compute_own_variance(query: Query, neighbours: Neighbours) -> Fraction:
    """Compute the variance of a figure released by itself, at noise of scale L1 norm."""
    statistic = get_statistic(query.statistic)
    l1 = statistic.bound_sensitivity(query, neighbours).l1
    sharing = statistic.sharing
    if sharing is None or sharing.linear:
        return (l1 * statistic.define_release(query).unit[0]) ** 2
    # A mean is compared at one record and a share of 1/2.
    width = build_quantity(query.column).grid.width
    return _spread(query) * Fraction(l1, width * width if sharing.squared else width) ** 2


def _spread(query: Query) -> Fraction:
    """Compute the variance of a mean of one record; also the yardstick for variances."""
    grid = build_quantity(query.column).grid
    return (grid.step * grid.width) ** 2 / 2


# --- counts that are sums of finer ones -----------------------------------------------------------


def _merge_drafts(drafts: Sequence[Draft], pure: bool) -> list[Draft]:
    remaining = {draft.name: draft for draft in drafts}
    # Only a draft with all groups of a count, and more, can be finer than it.
    having: dict[Group, dict[str, None]] = {}
    for draft in drafts:
        for group in draft.query.groups:
            having.setdefault(group, {})[draft.name] = None
    for coarse in sorted(drafts, key=lambda draft: len(draft.query.groups)):
        if not _is_row_count(coarse.query) or remaining.get(coarse.name) is not coarse:
            continue
        sets = sorted((having[group] for group in coarse.query.groups), key=len)
        names = sets[0] if sets else remaining
        options = [
            option
            for name in names
            if name in remaining and all(name in others for others in sets)
            if len(remaining[name].query.groups) > len(coarse.query.groups)
            and (option := _merge_pair(coarse, remaining[name], pure)) is not None
            and option[0] < 1
        ]
        if options:
            _, fine, merged = min(options, key=lambda option: option[0])
            remaining[fine.name] = merged
            del remaining[coarse.name]
    return list(remaining.values())


def _merge_pair(coarse: Draft, fine: Draft, pure: bool) -> tuple[Fraction, Draft, Draft] | None:
    """Read a coarser count from a finer draft, and compute how much both gain.

    The gain is the weighted mean of what is left of both variances. None where the coarser count
    isn't a sum over groups of the finer one: every record must have a label in these.
    """
    coarse_query, fine_query = coarse.query, fine.query
    plain = _is_row_count(coarse_query) and not coarse.selects and not coarse_query.private
    # the read of a count over all cells that noise alone disturbs
    counted = next(
        (read for read in fine.reads if _is_row_count(read.query) and not read.screened), None
    )
    if not plain or counted is None or fine_query.private or counted.merged:
        return None
    if any(read.rows for read in coarse.reads):  # it is read from several integers itself
        return None
    extra = tuple(
        place for place, group in enumerate(fine_query.groups) if group not in coarse_query.groups
    )
    common_groups = [group for place, group in enumerate(fine_query.groups) if place not in extra]
    if common_groups != list(coarse_query.groups) or not extra:
        return None
    extra_groups = [fine_query.groups[place] for place in extra]
    if any(group.other is None or group.null_label is None for group in extra_groups):
        return None
    rows, factors = counted.rows or (0,), counted.factors or (Fraction(1),)
    cells = prod(len(group.labels) for group in extra_groups)
    coarse_share, fine_share = compute_fractions([coarse.demand, fine.demand], pure)
    weights = coarse.demand.weight, fine.demand.weight
    variance = weights[0] * len(rows) * cells * coarse_share**2 + weights[1] * fine_share**2
    queries = [read.query for read in coarse.reads]
    reads = (
        Read(query, fine_query.name, rows, Reading.LINEAR, factors, extra) for query in queries
    )
    demand = add_up_demand([*(read.query for read in fine.reads), *queries])
    merged = replace(fine, reads=(*fine.reads, *reads), demand=demand)
    return variance / sum(weights, Fraction(0)), fine, merged


def compute_fractions(demands: Sequence[Demand], pure: bool) -> list[Fraction]:
    """Compute the share of the joint intensity that each request would have by itself."""
    # Intensities add up where losses are pure, their squares where they are concentrated. Stated
    # budgets are these already; weights give cube roots or square roots, for the least weighted
    # variance (``budget_split``).
    kinds = {demand.kind for demand in demands}
    parts = [demand.epsilon or demand.rho or demand.weight for demand in demands]
    are_fractions = kinds <= {"epsilon", "epsilon and delta", "accuracy"}
    if kinds != {"rho"} and not are_fractions:
        parts = [compute_root(part, 3 if pure else 2) for part in parts]
    shares = [part / sum(parts, Fraction(0)) for part in parts]
    return (
        shares
        if are_fractions or (pure and kinds != {"rho"})
        else [compute_root(share, 2) for share in shares]
    )
