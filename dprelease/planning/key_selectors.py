"""Which queries select private keys: of every table that has some, one count."""

from __future__ import annotations

from fractions import Fraction

from dprelease.model import Query, Release


def selecting_queries(release: Release) -> frozenset[str]:
    """Name the selecting query of each table with private keys.

    People are counted where the unit is a person, so that one person adds 1 to a key, whatever
    the number of their rows; else rows. A count over all rows is preferred to a filtered one, and
    an earlier one to a later. The spec sees to it that there is one; ValueError otherwise.
    """
    statistic = "count" if release.privacy.bounding is None else "count_units"
    tables = dict.fromkeys(query.table for query in release.queries if query.private)
    chosen = []
    for table in tables:
        counts = [
            query
            for query in release.queries
            if query.table == table and query.private and query.statistic == statistic
        ]
        if not counts:
            raise ValueError("a table with private keys needs a count that selects them")
        chosen.append(min(counts, key=lambda query: (query.where is not None, query.number)))
    return frozenset(query.name for query in chosen)


def selection_delta(query: Query) -> Fraction:
    """Give the delta that a selecting query may spend on showing a key."""
    if query.key_selection is None:
        raise ValueError("a selecting query has the delta of its selection")
    return query.key_selection.delta
