"""A request for records as what the engines know: groups, quantities, and a bound."""

from __future__ import annotations

from dataclasses import replace

from dprelease.model import (
    AggregateRequest,
    Group,
    Measure,
    MeasureKind,
    Quantity,
    RecordRequest,
)

NO_LABEL = -1
"""The code of a record without a label."""


def aggregate_of(request: RecordRequest) -> AggregateRequest:
    """What reads the same of each record: its groups and quantities are the columns, each in order.

    Raises ValueError, by what is asked alone, for what has no code in every record.
    """
    groups = tuple(each for each in request.columns if isinstance(each, Group))
    quantities = [each for each in request.columns if isinstance(each, Quantity)]
    if not request.columns or any(group.private for group in groups):
        raise ValueError("every column of records has declared labels, or a grid")
    if any(quantity.null_fill is None for quantity in quantities):
        raise ValueError("a grid integer of a record is never missing")
    measures = tuple(Measure(MeasureKind.SUM, each) for each in dict.fromkeys(quantities))
    bound = None if request.bound is None else replace(request.bound, leading=0)
    return AggregateRequest(request.source, request.inputs, groups, measures, bound=bound)
