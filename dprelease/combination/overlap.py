"""Cells that count the same records, which no sum may add up.

Of two cells with weights of one sign that are figures of the same thing, no record may be in both:
a total plus one of its parts counts that part twice. A total less a part is what is left of it.
Records of two conditions, or of two columns, are not compared: a report can't tell what they share.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

from dprelease.combination.combined_figures import Figures, Pooled, Weighted
from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.statistics.statistic_registry import get_statistic


class Cells(NamedTuple):
    """Cells of one column, all with weights of one sign."""

    figures: Figures
    places: frozenset[int]
    positive: bool


def check_overlap(weighted: Weighted, means: Iterable[tuple[Pooled, Fraction]]) -> None:
    """Refuse cells that count the same records. Raises Failure (exit 2)."""
    summed: list[Cells] = []
    for figures, weights in weighted:
        for positive in (True, False):
            places = frozenset(p for p, weight in weights.items() if (weight > 0) is positive)
            if places:
                summed.append(Cells(figures, places, positive))
            if len(places) > 1 and get_statistic(figures.query.statistic).overlaps:
                raise overlapping(figures, figures, "one that is in two cells counts in both")
    averaged = [
        Cells(pooled.figures, frozenset(pooled.places), weight > 0) for pooled, weight in means
    ]
    for group in (summed, averaged):
        for one, other in combinations(group, 2):
            if one.positive is other.positive and _share_records(one, other):
                why = "records of one are in the other too"
                raise overlapping(one.figures, other.figures, why)


def overlapping(one: Figures, other: Figures, why: str) -> Failure:
    """Refuse cells that overlap."""
    names = f'"{one.table}.{one.name}"'
    if other is not one:
        names += f' and "{other.table}.{other.name}"'
    what = f"cells of {names} overlap: {why}"
    hint = "add cells that have no records in common; a total less its part may be written"
    return Failure(ExitCode.SPEC, Complaint("E841", what, hint))


def _share_records(one: Cells, other: Cells) -> bool:
    if _subject(one.figures) != _subject(other.figures):
        return False
    conditions = {one.figures.query.where, other.figures.query.where}
    if len(conditions) > 1 and None not in conditions:
        return False
    common = [
        (one.figures.groups.index(group), other.figures.groups.index(group))
        for group in one.figures.groups
        if group in other.figures.groups and _same_labels(one.figures, other.figures, group)
    ]
    seen = {tuple(one.figures.rows[place][a] for a, _ in common) for place in one.places}
    return any(
        tuple(other.figures.rows[place][b] for _, b in common) in seen for place in other.places
    )


def _subject(figures: Figures) -> Sequence[object]:
    """What is counted or added up: a count and the number behind a mean count the same records."""
    query = figures.query
    counts = bool(get_statistic(query.statistic).counts) or figures.name != query.name
    counted = query.name if get_statistic(query.statistic).overlaps else "records"
    return (counted,) if counts else (query.statistic, query.column)


def _same_labels(one: Figures, other: Figures, group: str) -> bool:
    here, there = one.groups.index(group), other.groups.index(group)
    return {row[here] for row in one.rows} == {row[there] for row in other.rows}
