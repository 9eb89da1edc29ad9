"""The contents of a report, and of the page of a plan: which sections, in which order."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from dprelease.combination.combined_figures import Published
from dprelease.language import say
from dprelease.model import OutputTable
from dprelease.model.release import find_contact_address, find_licence_address
from dprelease.reports.model.report_model import Approval, PlanFacts, ReportFacts
from dprelease.reports.renderers.dcat import build_dataset, write_citation
from dprelease.reports.sections.budget_section import build_budget_section
from dprelease.reports.sections.data_section import build_data_section
from dprelease.reports.sections.document import Document, Link, Section
from dprelease.reports.sections.figures_section import build_figures_section
from dprelease.reports.sections.guarantee_section import (
    build_guarantee_section,
    build_meaning_section,
)
from dprelease.reports.sections.hazards_section import build_hazards_section
from dprelease.reports.sections.how_to_read import (
    build_errata_section,
    build_reading_section,
    build_use_section,
)
from dprelease.reports.sections.noise_section import build_noise_section
from dprelease.reports.sections.provenance_section import (
    build_approval_section,
    build_provenance_section,
)
from dprelease.reports.sections.quotable import build_quotable_section
from dprelease.reports.sections.summary_section import build_changes_parts, build_summary_section

ORIGIN = "title.origin"

REHEARSAL = "title.rehearsal"


def build_report_document(facts: ReportFacts, tables: Mapping[str, OutputTable]) -> Document:
    """Lay out the report of a release; ``tables`` are the published ones by file name.

    Neither has a field for an exact figure or a record: no renderer can show what it isn't given.
    """
    released_at = facts.provenance.released_at.replace("T", " ").replace("+00:00", " UTC")
    return Document(
        facts.deployment.basic.title,
        say("title.report"),
        say("title.report_of_release"),
        (
            *_iter_basics(facts),
            (
                say("title.rehearsed_at") if facts.rehearsal else say("title.released_at"),
                released_at,
            ),
            *(() if facts.rehearsal else ((say("title.cite_as"), write_citation(facts)),)),
        ),
        tuple(_iter_sections(facts, tables)),
        say(ORIGIN),
        "" if facts.rehearsal else json.dumps(build_dataset(facts)),
        say(REHEARSAL) if facts.rehearsal else "",
    )


def plan_document(facts: PlanFacts, approval: Approval) -> Document:
    """Lay out a plan for approval: the parts of a report that need no data.

    Args:
        facts: The facts of the plan.
        approval: What the approval holds and leaves open.

    Returns:
        The document, in the language used now.
    """
    level = float(approval.interval) * 100
    return Document(
        facts.deployment.basic.title,
        say("title.plan"),
        say("title.plan_for_approval"),
        tuple(_iter_basics(facts)),
        (
            build_summary_section(facts, approval.digest),
            build_guarantee_section(facts),
            build_meaning_section(facts),
            *_iter_record_sections(facts, level),
            *((build_noise_section(facts, level, released=False),) if facts.queries else ()),
            build_budget_section(facts, approval.ledger),
            build_data_section(facts),
            build_hazards_section(facts),
            build_approval_section(approval),
        ),
        say(ORIGIN),
    )


def _iter_sections(facts: ReportFacts, tables: Mapping[str, OutputTable]) -> Iterator[Section]:
    level = float(facts.provenance.interval) * 100
    yield build_summary_section(
        facts, facts.provenance.plan, build_changes_parts(facts, tables, level)
    )
    if facts.queries:
        yield build_figures_section(tables, level, facts.deployment.basic.title, facts.columns)
        published = Published(facts, tables)
        yield from filter(None, [build_quotable_section(facts, published, level)])
        yield build_reading_section(facts)
        yield from filter(None, [build_use_section(facts, published, level)])
    yield from _iter_record_sections(facts, level)
    yield build_errata_section(facts)
    yield build_guarantee_section(facts)
    yield build_meaning_section(facts)
    if facts.queries:
        yield build_noise_section(facts, level, released=True)
    yield build_budget_section(facts, facts.ledger)
    yield build_data_section(facts)
    yield build_hazards_section(facts)
    yield build_provenance_section(facts)


def _iter_record_sections(facts: PlanFacts, level: float) -> Iterator[Section]:
    if facts.perturb:
        # Imported here for start-up: most releases have no table of records.
        from dprelease.local.report.record_tables_section import build_records_section

        yield build_records_section(facts, f"{level:g}")


def _iter_basics(facts: PlanFacts) -> Iterator[tuple[str, str | Link]]:
    basic = facts.deployment.basic
    address, licence = find_contact_address(basic.contact or ""), basic.licence
    for label, value in (
        (say("title.release"), basic.name),
        (say("title.curator"), basic.data_curator),
        (
            say("title.contact"),
            Link(basic.contact, address) if basic.contact and address else basic.contact,
        ),
        (say("title.purpose"), basic.intended_use),
        (say("title.region"), basic.region),
        (say("title.sector"), basic.sector),
        (say("title.approved_by"), basic.approved_by),
        (say("title.licence"), licence and Link(licence, find_licence_address(licence))),
    ):
        if value:
            yield label, value
