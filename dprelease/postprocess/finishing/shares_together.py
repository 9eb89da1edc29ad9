"""Shares of the same records, which are read with one common number of records.

The plan alone proves that the records are the same: the shares have the same groups and filter, and
conditions that are null for the same records. They count the same rows of a person with too many,
because groups and filter decide which are kept.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from operator import attrgetter
from typing import NamedTuple

from dprelease.model import Expression, NoiseFamily, NoisyTable, Plan, Query, Read, Reading
from dprelease.postprocess.intervals.fitted_count import (
    CountTogether,
    FittedCount,
    count_together,
    fit_count,
)

MOST_LAWS = 16
"""Shares with more laws of noise are read apart, as their intervals would take long to compute."""


class SharesTogether(NamedTuple):
    """The names of all queries whose shares are of the same records, and their count."""

    queries: tuple[str, ...]
    fit: FittedCount


def find_joint_shares(plan: Plan) -> dict[str, SharesTogether]:
    """Find the shares of the same records as others, by the name of each query.

    Shares of all records, as versions up to 0.2 released them, are published as they were.
    """
    steps = {step.query.name: step for step in plan.steps}
    alike: dict[Hashable, list[Read]] = {}
    for read in plan.reads:
        query, step = read.query, steps[read.step]
        plain = read.reading is Reading.OWN and step.threshold is None and not step.axes
        log_concave = step.noise.family in {NoiseFamily.LAPLACE, NoiseFamily.GAUSSIAN}
        if query.among is not None and plain and log_concave:
            table = query.table if query.private else None
            rows = query.groups, query.where, query.survey_weight, table
            alike.setdefault(rows, []).append(read)
    shares: dict[str, SharesTogether] = {}
    for members in alike.values():
        by_records: dict[Hashable, list[Read]] = {}
        for read in members if len(members) > 1 else ():
            by_records.setdefault(_identify_records(read.query, plan), []).append(read)
        for reads in by_records.values():
            noises = {
                read.step: steps[read.step].noise for read in sorted(reads, key=attrgetter("step"))
            }
            if len(noises) > 1 and len(set(noises.values())) <= MOST_LAWS:
                queries = tuple(read.query.name for read in reads)
                shares |= dict.fromkeys(queries, SharesTogether(queries, fit_count(noises)))
    return shares


def _identify_records(query: Query, plan: Plan) -> Hashable:
    """Identify the records for which a share's condition is known; equal keys, equal records."""
    # Imported here for start-up: the parser is large.
    from dprelease.expressions import parse_tree
    from dprelease.expressions.canonical import write_canonical
    from dprelease.expressions.nullness import find_null_columns

    condition: Expression | None = None if query.numerator is None else query.numerator.where
    if condition is None:
        raise ValueError("a share has a condition")
    types = {name: column.type for name, column in plan.release.columns.items()}
    columns = find_null_columns(parse_tree(condition.text, types))
    return write_canonical(condition.text, types) if columns is None else columns


def fit_joint_counts(plan: Plan, noisy: NoisyTable) -> Mapping[str, CountTogether]:
    """Fit the counts of shares of the same records, by the name of each query."""
    shares = find_joint_shares(plan)
    counts: dict[tuple[str, ...], CountTogether] = {}
    steps = {read.query.name: read.step for read in plan.reads}
    for name, (queries, fit) in shares.items():
        if queries not in counts:
            counts[queries] = count_together(fit, steps[name], noisy.values)
    return {
        name: counts[together.queries]._replace(own=steps[name])
        for name, together in shares.items()
    }
