"""Changes of the guarantee: what is protected, how much may be lost, and where that is added up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from dprelease.comparing.changes import Change, Kind, Pair, listed, seen_from_spec
from dprelease.model import Adjacency, Bounding, Privacy, Query, Release

_ADJACENCY = {
    Adjacency.ADD_REMOVE: (
        "whether a unit is in the table is now protected; what its rows say only by twice epsilon"
    ),
    Adjacency.REPLACE_ONE: "whether a unit is in the table, and their number, is now public",
}


def guarantee_changes(pair: Pair) -> Iterator[Change]:
    """Every change that weakens the guarantee, strengthens it, or says otherwise what it is."""
    yield from _unit(pair)
    yield from _losses(pair)
    yield from _caps(pair)
    yield from _books(pair)
    yield from _private_keys(pair)


def _unit(pair: Pair) -> Iterator[Change]:
    old, new = (release.privacy for release in pair.releases)
    if _protected(old) != _protected(new):
        people = old.unit == "row" and new.unit == "column"
        why = "all rows of one person are now protected together"
        if not people:
            why = "a person's rows are now protected one by one" if new.unit == "row" else (
                "other rows are now protected together; the losses can't be compared"
            )  # fmt: skip
        kind = Kind.STRONGER if people else Kind.WEAKER
        yield Change(kind, "unit", _protected(old), _protected(new), why, "privacy.unit")
    elif _defined(pair.releases[0]) != _defined(pair.releases[1]):
        why = "who counts as one person is worked out otherwise; the losses can't be compared"
        yield Change(
            Kind.WEAKER, "unit", "as the column was defined", "as it is now", why,
            "privacy.unit_column",
        )  # fmt: skip
    if old.adjacency is not new.adjacency:
        yield Change(
            Kind.WEAKER, "adjacency", str(old.adjacency), str(new.adjacency),
            _ADJACENCY[new.adjacency], "privacy.adjacency",
        )  # fmt: skip
    if old.unit_description != new.unit_description:
        yield Change(
            Kind.OTHER, "unit_description", old.unit_description, new.unit_description,
            "is it still the same unit?", "privacy.unit_description",
        )  # fmt: skip
    if old.bounding != new.bounding:
        yield Change(
            Kind.OTHER, "bounding", _bounding(old.bounding), _bounding(new.bounding),
            "noise follows it, so the guarantee does not change", "privacy.bounding",
        )  # fmt: skip


def _protected(privacy: Privacy) -> str:
    if privacy.unit_column is None:
        return "one row"
    return f"all rows of one {privacy.unit_column}"


def _defined(release: Release) -> tuple[str, str] | None:
    """How the values that tell people apart come about."""
    column = release.columns.get(release.privacy.unit_column or "")
    if column is None:
        return None
    expression = column.expression.text if column.expression is not None else ""
    return str(column.type), expression


def _bounding(limits: Bounding | None) -> str | None:
    if limits is None:
        return None
    return f"{limits.rows} rows in {limits.groups} groups, {limits.per_group} in one"


def _losses(pair: Pair) -> Iterator[Change]:
    old, new = pair.old.loss, pair.new.loss
    yield from _figure("epsilon", old.epsilon, new.epsilon, "privacy.epsilon")
    yield from _figure("delta", old.delta, new.delta, "privacy.delta")
    in_rho = any(release.privacy.rho is not None for release in pair.releases)
    if in_rho:
        yield from _figure("rho", old.rho, new.rho, "privacy.rho")
    elif old.rho != new.rho:
        why = "the same loss in zCDP, by which the ledger may add up"
        yield Change(Kind.OTHER, "rho", old.rho, new.rho, why, "privacy")
    if pair.old.method != pair.new.method:
        yield Change(
            Kind.OTHER, "method of adding up", pair.old.method, pair.new.method,
            "", "privacy.accounting",
        )  # fmt: skip


def _caps(pair: Pair) -> Iterator[Change]:
    old, new = (release.ledger for release in pair.releases)
    yield from _figure("epsilon_cap", old.epsilon_cap, new.epsilon_cap, "ledger.epsilon_cap")
    yield from _figure("delta_cap", old.delta_cap, new.delta_cap, "ledger.delta_cap")


def _figure(what: str, old: Fraction | None, new: Fraction | None, key: str) -> Iterator[Change]:
    """A figure that is the worse the larger it is; None is larger than all others."""
    if old == new:
        return
    grown = new is None or (old is not None and new > old)
    yield Change(Kind.WEAKER if grown else Kind.STRONGER, what, old, new, "", key)


def _books(pair: Pair) -> Iterator[Change]:
    before, after = pair.releases
    old, new = before.ledger, after.ledger
    elsewhere = "what was spent before is not added up with what is spent from now on"
    if old.dataset != new.dataset:
        yield Change(Kind.WEAKER, "dataset", old.dataset, new.dataset, elsewhere, "ledger.dataset")
    books = seen_from_spec(before, old.path), seen_from_spec(after, new.path)
    if books[0] != books[1]:
        yield Change(Kind.WEAKER, "ledger", *books, elsewhere, "ledger.path")
    if old.disjoint_periods != new.disjoint_periods:
        kind, why = Kind.STRONGER, "the losses of all periods are added up"
        if new.disjoint_periods:
            kind, why = Kind.WEAKER, "only true if no unit has records in two periods"
        words = {True: "disjoint", False: "added up"}
        yield Change(
            kind, "periods", words[old.disjoint_periods], words[new.disjoint_periods], why,
            "ledger.disjoint_periods",
        )  # fmt: skip


def _private_keys(pair: Pair) -> Iterator[Change]:
    old, new = (_keys(plan.release.queries) for plan in (pair.old, pair.new))
    opened = sorted(name for name in new.keys() & old.keys() if old[name] and not new[name])
    closed = sorted(name for name in new.keys() & old.keys() if new[name] and not old[name])
    for name in opened:
        why = "is the list public, and not taken from the data?"
        yield Change(Kind.WEAKER, f"keys of {name}", "private", "public", why, _column(name))
    if closed:
        why = "which groups are shown now depends on the data, up to delta"
        what = f"keys of {listed(closed)}"
        yield Change(Kind.OTHER, what, "public", "private", why, _column(closed[0]))


def _keys(queries: Sequence[Query]) -> dict[str, bool]:
    """Each grouping column, and whether its keys are private: to all queries, or to none."""
    return {group.column: group.private for query in queries for group in query.groups}


def _column(name: str) -> str:
    return f"columns.{name}"
