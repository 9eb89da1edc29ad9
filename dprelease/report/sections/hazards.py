"""Hazards gone through: what NIST SP 800-226 asks, and how it stands here."""

from __future__ import annotations

from dprelease.report.document import Paragraph, Section, Status, Table
from dprelease.report.facts.model import PlanFacts


def hazards_section(facts: PlanFacts) -> Section:
    """Go through the hazards of NIST SP 800-226."""
    statuses = [row.status for row in facts.hazards]
    passed, attention, attested = map(statuses.count, ("pass", "attention", "attested"))
    return Section(
        "hazards",
        "Hazards gone through",
        "Hazards",
        (
            Paragraph(
                f"After NIST SP 800-226. Passed: {passed}; to be looked at: {attention}; attested "
                f"by the curator, for they are outside the tool's reach: {attested}."
            ),
            Table(
                "hazard-table",
                "Hazards of NIST SP 800-226",
                ("hazard", "status", "note"),
                tuple((row.hazard, Status(row.status), row.note) for row in facts.hazards),
            ),
        ),
    )
