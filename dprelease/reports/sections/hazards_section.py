"""The privacy checklist: what NIST SP 800-226 asks, and how it stands here."""

from __future__ import annotations

from dprelease.language import say
from dprelease.reports.facts.hazard_facts import translate_status
from dprelease.reports.model.report_model import PlanFacts
from dprelease.reports.sections.document import Paragraph, Section, Status, Table

STATUS_WORDS = {
    "checked": "hazards.status.checked",
    "see": "hazards.status.see",
    "stated": "hazards.status.stated",
    "not checked": "hazards.status.not_checked",
    "attention": "hazards.status.attention",
}


def build_hazards_section(facts: PlanFacts) -> Section:
    """Go through the hazards of NIST SP 800-226."""
    statuses = [translate_status(row.status) for row in facts.hazards]
    title = say("hazards.title")
    counts = say(
        "hazards.note",
        checked=statuses.count("checked"),
        see=statuses.count("see"),
        stated=statuses.count("stated"),
        unchecked=statuses.count("not checked"),
        attention=statuses.count("attention"),
    )
    rows = zip(facts.hazards, statuses, strict=True)
    return Section(
        "hazards",
        title,
        say("hazards.short_title"),
        (
            Paragraph(counts),
            Table(
                "hazard-table",
                title,
                (
                    say("hazards.columns.hazard"),
                    say("hazards.columns.status"),
                    say("hazards.columns.note"),
                ),
                tuple(
                    (row.hazard, Status(status, say(STATUS_WORDS[status])), row.note)
                    for row, status in rows
                ),
            ),
        ),
    )
