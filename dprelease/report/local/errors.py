"""What one answer of a record-level table errs, beside what it must, in JSON values."""

from __future__ import annotations

import math
from fractions import Fraction

from dprelease.local.errors import Expected, expected
from dprelease.local.estimates import rounded
from dprelease.local.intervals import quantile
from dprelease.model import RecordStep, Response

Facts = dict[str, object]

SIZES = (100, 1_000, 10_000, 100_000)
"""Numbers of records at which the half-width of an estimate's interval is stated."""


def error_facts(step: RecordStep, interval: Fraction) -> dict[str, Facts]:
    """State of each column, by name, what its answers err, and what estimates from them do.

    ``expected`` and ``floor`` are of one answer, the worst over all true values: with "chance" the
    chance of a wrong label, with "distance" the mean distance from the truth, in units of the
    column. ``floor`` is below what any mechanism of the same epsilon and delta has of it.
    ``deviation`` is that of an estimate from one record, of a label's share or of the mean, the
    worst over all records; from n records it is that over the square root of n. ``halfwidths`` are
    those of its interval, about.
    """
    return {each.column.name: _column(each, interval) for each in step.responses}


def _column(response: Response, interval: Fraction) -> Facts:
    known: Expected = expected(response)
    deviation = math.sqrt(known.variance)
    z = quantile(interval)
    return {
        "of": "chance" if response.column.group is not None else "distance",
        "expected": rounded(known.error),
        "floor": rounded(known.floor),
        "deviation": rounded(deviation),
        "typical_deviation": rounded(math.sqrt(known.typical)),
        "halfwidths": [
            {"records": size, "halfwidth": rounded(z * deviation / math.sqrt(size))}
            for size in SIZES
        ],
        "scale": None if known.scale is None else rounded(known.scale),
        "classical_scale": None if known.classical is None else rounded(known.classical),
    }
