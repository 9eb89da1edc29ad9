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
                raise build_overlap_failure(
                    figures, figures, "a record in two cells counts in both"
                )
    averaged = [
        Cells(pooled.figures, frozenset(pooled.places), weight > 0) for pooled, weight in means
    ]
    for group in (summed, averaged):
        for left, right in combinations(group, 2):
            if left.positive is right.positive and _share_records(left, right):
                why = "the cells share records"
                raise build_overlap_failure(left.figures, right.figures, why)


def build_overlap_failure(left: Figures, right: Figures, why: str) -> Failure:
    """Refuse cells that overlap."""
    names = f'"{left.table}.{left.name}"'
    if right is not left:
        names += f' and "{right.table}.{right.name}"'
    problem = f"cells of {names} overlap: {why}"
    hint = "add cells that have no records in common; you may subtract a part from its total"
    return Failure(ExitCode.SPEC, Complaint("E841", problem, hint))


def _share_records(left: Cells, right: Cells) -> bool:
    if _identify_subject(left.figures) != _identify_subject(right.figures):
        return False
    # Records of two conditions are not compared: a report can't tell what they share.
    conditions = {left.figures.query.where, right.figures.query.where}
    if len(conditions) > 1 and None not in conditions:
        return False
    common = [
        (left.figures.groups.index(group), right.figures.groups.index(group))
        for group in left.figures.groups
        if group in right.figures.groups and _has_same_labels(left.figures, right.figures, group)
    ]
    seen = {tuple(left.figures.rows[place][a] for a, _ in common) for place in left.places}
    return any(
        tuple(right.figures.rows[place][b] for _, b in common) in seen for place in right.places
    )


def _identify_subject(figures: Figures) -> Sequence[object]:
    """Identify what is counted or summed: a count and the number behind a mean count alike."""
    query = figures.query
    counts = bool(get_statistic(query.statistic).counts) or figures.name != query.name
    counted = query.name if get_statistic(query.statistic).overlaps else "records"
    return (counted,) if counts else (query.statistic, query.column)


def _has_same_labels(left: Figures, right: Figures, group: str) -> bool:
    left_place, right_place = left.groups.index(group), right.groups.index(group)
    return {row[left_place] for row in left.rows} == {row[right_place] for row in right.rows}
