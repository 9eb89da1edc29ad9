"""What a query asks, as its spec writes it: what the figures of a plan don't show."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from dprelease.diff.changes import Value
from dprelease.model import Accuracy, Column, Part, Query
from dprelease.report.numbers import text


def asked(query: Query) -> dict[str, Value]:
    """What is asked beside statistic, column, groups and filter, in the order of telling."""
    chosen = query.candidates
    told: dict[str, Value] = {
        "quantiles": ", ".join(map(text, query.quantiles)) or None,
        "k": query.picks if query.statistic == "top_k" else None,
        "numerator": _part(query.numerator),
        "denominator": _part(query.denominator),
        "score": None if chosen is None else chosen.score.text,
        "score_upper": None if chosen is None else chosen.grid.upper * chosen.grid.step,
        "score_step": None if chosen is None else chosen.grid.step,
        "budget asked for": _budget(query),
        "mechanism asked for": query.mechanism,
    }
    if query.key_selection is not None:
        told["partition_selection"] = _amounts(
            delta=query.key_selection.delta, epsilon=query.key_selection.epsilon
        )
    return told


def lists(query: Query, columns: Mapping[str, Column]) -> dict[str, tuple[str, ...] | None]:
    """The public lists that the query has for itself: its candidates, and bins of its own."""
    candidates: tuple[str, ...] | None = None
    if query.candidates is not None:
        candidates = query.candidates.texts
    elif query.points is not None and query.column is not None and query.column.grid is not None:
        step = query.column.grid.step
        candidates = tuple(text(point * step) for point in query.points)
    bins = None
    for group in (*query.groups, query.axis):
        if group is not None and group.edges is not None:
            known = columns.get(group.column)
            bins = group.edges if known is None or known.edges != group.edges else bins
    return {"candidates": candidates, "bins": bins}


def _part(part: Part | None) -> str | None:
    if part is None:
        return None
    counted = f"sum of {part.column.name}" if part.column is not None else "records"
    return f"{counted} where {part.where.text}" if part.where is not None else counted


def _budget(query: Query) -> str:
    if query.accuracy is not None:
        return _accuracy(query.accuracy)
    if query.epsilon is None and query.rho is None:
        return f"weight {text(query.weight)}"
    return _amounts(epsilon=query.epsilon, delta=query.delta, rho=query.rho)


def _accuracy(wanted: Accuracy) -> str:
    records = f", at {wanted.records} records" if wanted.records is not None else ""
    return f"within {text(wanted.within)} with confidence {text(wanted.confidence)}{records}"


def _amounts(**amounts: Fraction | None) -> str:
    """Name the amounts that are stated, exactly."""
    return ", ".join(f"{name} {text(each)}" for name, each in amounts.items() if each is not None)
