"""What happens to values before and after the noise, in sentences; only what this release does."""

from __future__ import annotations

from collections.abc import Sequence

from dprelease.model import Form, Plan
from dprelease.statistics.shared.read_release import views


def processing(plan: Plan, records: Sequence[str] = ()) -> list[str]:
    """Say how values are bounded, rounded, left out, and how figures are read from noisy ones.

    ``records`` is what there is to say of record-level tables.
    """
    said = [*(_figures(plan) if plan.reads else ()), *records]
    if plan.release.data.source.format == "csv":
        said.append(
            "A CSV record is one line. A line that cannot be read as a record counts as a record "
            "without values."
        )
    return said


def _figures(plan: Plan) -> list[str]:
    used = {step.query.statistic for step in views(plan)}
    said = [
        "Values outside a column's bounds count as the nearest bound; that biases sums and means "
        "where many lie outside.",
        "Values are rounded to the column's step before they are added up.",
        "Nulls and unreadable values follow the column's `nulls`; values outside the declared "
        "groups follow `other`, and are left out of the table where there is none.",
        "Means are read from two noisy sums; they and their counts are post-processing of these.",
    ]
    if used & {"variance", "stddev"}:
        said.append(
            "Variances and standard deviations are those of the population (divided by the number "
            "of values), read with the mean and that number from three noisy sums."
        )
    if used & {"proportion", "ratio"}:
        said.append(
            "Shares and ratios are read from two noisy figures; a record of which a condition is "
            "null does not fulfil it."
        )
    if any(step.form is Form.QUANTILES for step in views(plan)):
        said.append("Quantiles are values of the column's grid; nulls have no rank.")
    if "best" in used:
        said.append("Scores above `score_upper` count as that, scores below 0 and null ones as 0.")
    return said
