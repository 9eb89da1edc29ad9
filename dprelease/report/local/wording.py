"""What record-level tables add to the parts of a report; nothing where there are none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dprelease.model import Plan, StoredTable

Row = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class RecordWords:
    """Sentences, and hazards with status and note."""

    guarantee: str = ""
    mechanisms: tuple[str, ...] = ()
    unprotected: tuple[str, ...] = ()
    bounding: tuple[str, ...] = ()
    processing: tuple[str, ...] = ()
    hazards: tuple[Row, ...] = ()


def record_words(plan: Plan) -> RecordWords:
    """Say what record-level tables add."""
    if not plan.records:
        return RecordWords()
    # Imported here for start-up: most releases have no table of records.
    from dprelease.report.local import parts as local

    return RecordWords(
        local.guarantee_words(plan),
        local.mechanism_words(plan),
        tuple(local.unprotected_words(plan)),
        tuple(local.bounding_lines(plan)),
        tuple(local.processing_words(plan)),
        tuple(local.record_hazards(plan)),
    )


def record_facts(
    plan: Plan, records: Mapping[str, StoredTable] | None = None
) -> dict[str, list[dict[str, object]]]:
    """State the record-level tables; with what was drawn of them, their estimates too."""
    if not plan.records:
        return {}
    from dprelease.report.local.parts import perturb_parts

    return {"perturb": perturb_parts(plan, records)}
