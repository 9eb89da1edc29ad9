"""Changes of the guarantee: what is protected, how much may be lost, and where that is added up."""

from __future__ import annotations

from collections.abc import Iterator

from dprelease.comparison.spec_changes import (
    Change,
    Kind,
    Pair,
    compare_places,
    describe_change,
    describe_figure_change,
    join_words,
)
from dprelease.ledger.guarantee import (
    OF_NULLS,
    describe_differences,
    describe_unit,
    list_unit_differences,
)
from dprelease.model import Adjacency, Bounding, Privacy

_ADJACENCY = {
    Adjacency.ADD_REMOVE: (
        "whether a unit is in the table is now protected; what its rows say only by twice epsilon"
    ),
    Adjacency.REPLACE_ONE: "whether a unit is in the table, and their number, is now public",
}


def find_guarantee_changes(pair: Pair) -> Iterator[Change]:
    """Find every change that weakens or strengthens the guarantee, or describes it differently."""
    yield from _compare_units(pair)
    yield from _compare_losses(pair)
    yield from _compare_ledgers(pair)
    yield from _compare_private_keys(pair)


def _compare_units(pair: Pair) -> Iterator[Change]:
    old, new = (release.privacy for release in pair.releases)
    if _describe_unit(old) != _describe_unit(new):
        yield _describe_other_unit(old, new)
    else:
        yield from _compare_definitions(pair)
    yield from describe_change(
        "adjacency", str(old.adjacency), str(new.adjacency), _ADJACENCY[new.adjacency],
        "privacy.adjacency", Kind.WEAKER,
    )  # fmt: skip
    yield from describe_change(
        "unit_description", old.unit_description, new.unit_description,
        "check that it is still the same unit", "privacy.unit_description",
    )  # fmt: skip
    yield from describe_change(
        "population", old.population, new.population,
        "the size of delta is judged by it; the guarantee does not change", "privacy.population",
    )  # fmt: skip
    yield from describe_change(
        "bounding", _describe_bounding(old.bounding), _describe_bounding(new.bounding),
        "noise follows it, so the guarantee does not change", "privacy.bounding",
    )  # fmt: skip


def _describe_other_unit(old: Privacy, new: Privacy) -> Change:
    people = old.unit == "row" and new.unit == "column"
    if people:
        why = "all rows of one person are now protected together"
    elif new.unit == "row":
        why = "a person's rows are now protected one by one"
    else:
        why = "other rows are now protected together; the losses can't be compared"
    kind = Kind.STRONGER if people else Kind.WEAKER
    key = "privacy.unit" if old.unit != new.unit else "privacy.unit_column"
    return Change(kind, "unit", _describe_unit(old), _describe_unit(new), why, key)


def _describe_unit(privacy: Privacy) -> str:
    if privacy.unit_column is None:
        return "one row"
    return f"all rows of one {privacy.unit_column}"


def _compare_definitions(pair: Pair) -> Iterator[Change]:
    """Compare how units of the same name are defined, as the ledger does."""
    old, new = (describe_unit(release) for release in pair.releases)
    differences = list_unit_differences(old or {}, new or {})
    if len({release.privacy.adjacency for release in pair.releases}) > 1:
        # Whether these are part of the definition depends on the neighbours.
        differences = [name for name in differences if name not in OF_NULLS]
    if set(differences) - {"nulls"} - OF_NULLS or (differences and "nulls" not in differences):
        person = pair.new.release.privacy.unit_column is not None
        subject = "who counts as one person" if person else "what counts as one record"
        why = (
            f"{subject} is derived in another way ({describe_differences(differences)}); the "
            "losses "
            "can't be compared, and the ledger does not add them up"
        )
        words = ("as the column was defined" if person else "as the file was read", "as it is now")
        key = "privacy.unit_column" if person else "data"
        yield Change(Kind.WEAKER, "unit", *words, why, key)
    elif differences:
        words = ("one unit together", "left out")
        kind, why = Kind.OTHER, "the ledger does not add up the losses of the two"
        if new is not None and new["nulls"] == "one unit":
            words = words[::-1]
            kind = Kind.WEAKER
            why = "they are now used too, as the rows of one more person"
        key = f"columns.{pair.new.release.privacy.unit_column}.nulls"
        yield Change(kind, "rows without a unit", *words, why, key)


def _describe_bounding(limits: Bounding | None) -> str | None:
    if limits is None:
        return None
    return f"rows {limits.rows}, groups {limits.groups}, rows in one group {limits.per_group}"


def _compare_losses(pair: Pair) -> Iterator[Change]:
    old, new = pair.old.loss, pair.new.loss
    yield from describe_figure_change("epsilon", old.epsilon, new.epsilon, "privacy.epsilon")
    yield from describe_figure_change("delta", old.delta, new.delta, "privacy.delta")
    # Only a budget of rho makes rho a promise; else it says how the ledger may add losses up.
    if any(release.privacy.rho is not None for release in pair.releases):
        yield from describe_figure_change("rho", old.rho, new.rho, "privacy.rho")
    else:
        why = "the same loss in zCDP, which the ledger may use to add up"
        yield from describe_change("rho", old.rho, new.rho, why, "privacy")
    # The total that [privacy] states can change while the charge does not.
    for name in ("epsilon", "delta", "rho", "accounting"):
        was, now = (getattr(release.privacy, name) for release in pair.releases)
        if getattr(old, name, None) == getattr(new, name, None):
            yield from describe_change(f"stated {name}", was, now, "", f"privacy.{name}")
    methods = pair.old.method, pair.new.method
    yield from describe_change("method of adding up", *methods, "", "privacy.accounting")


def _compare_ledgers(pair: Pair) -> Iterator[Change]:
    before, after = pair.releases
    old, new = before.ledger, after.ledger
    for cap in ("epsilon_cap", "delta_cap", "rho_cap"):
        yield from describe_figure_change(
            cap, getattr(old, cap), getattr(new, cap), f"ledger.{cap}"
        )
    why = "earlier and later spending are not added up"
    yield from describe_change(
        "dataset", old.dataset, new.dataset, why, "ledger.dataset", Kind.WEAKER
    )
    if books := compare_places(pair, old.path, new.path):
        yield Change(Kind.WEAKER, "ledger", *books, why, "ledger.path")
    witnesses = (settings.witness or f"{settings.path}.witness" for settings in (old, new))
    if (places := compare_places(pair, *witnesses)) and not books:
        why = "move the file too: a run asks the ledger's witness, and refuses without it"
        yield Change(Kind.OTHER, "witness", *places, why, "ledger.witness")
    kind, why = Kind.STRONGER, "the losses of all periods are added up"
    if new.disjoint_periods:
        kind, why = Kind.WEAKER, "true only if no unit has records in two periods"
    was, now = ("disjoint" if book.disjoint_periods else "added up" for book in (old, new))
    yield from describe_change("periods", was, now, why, "ledger.disjoint_periods", kind)


def _compare_private_keys(pair: Pair) -> Iterator[Change]:
    # keys of a column are private to all queries or to none
    old, new = (
        {group.column: group.private for query in release.queries for group in query.groups}
        for release in pair.releases
    )
    opened = sorted(name for name in new.keys() & old.keys() if old[name] and not new[name])
    closed = sorted(name for name in new.keys() & old.keys() if new[name] and not old[name])
    for name in opened:
        why = "check that the list is public, and not taken from the data"
        yield Change(Kind.WEAKER, f"keys of {name}", "private", "public", why, f"columns.{name}")
    if closed:
        why = "which groups are shown now depends on the data, up to delta"
        subject, key = f"keys of {join_words(closed)}", f"columns.{closed[0]}"
        yield Change(Kind.OTHER, subject, "public", "private", why, key)
