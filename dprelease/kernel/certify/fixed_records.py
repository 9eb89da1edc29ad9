"""Whether a record is there whatever it holds: only then is their number public under replace-one.

By the source's own facts, which the spec declares: rows of a table are, and so are lines of CSV
that end. What a planner took for granted of them is not believed.
"""

from __future__ import annotations

from collections.abc import Iterator

from dprelease.kernel.certify.rules import Breach, Rule, Rules, find_breaches
from dprelease.model import Adjacency, Plan, Privacy


def is_always_there(privacy: Privacy) -> bool:
    """Whether a unit is one record, and is there whatever that record holds."""
    return privacy.bounding is None and privacy.has_fixed_records


def find_source_breaches(plan: Plan) -> Iterator[Breach]:
    """Give what is taken for granted of the source's records, and does not follow from the spec."""
    yield from find_breaches(SOURCE, plan, "the plan")


def _has_fixed_records(plan: Plan) -> bool:
    """Whether the source says that there are as many, where that is published or relied on."""
    privacy = plan.release.privacy
    replaced = privacy.adjacency is Adjacency.REPLACE_ONE and privacy.unit == "row"
    relied_on = bool(plan.records) or (replaced and privacy.has_fixed_records)
    return plan.release.data.source.has_fixed_records or not relied_on


SOURCE: Rules[Plan] = (
    Rule("the source has as many records, whatever one of them holds", _has_fixed_records),
)
