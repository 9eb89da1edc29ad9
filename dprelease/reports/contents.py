"""The contents of a report, and of the page of a plan: which sections, in which order."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from dprelease.combination.combined_figures import Published
from dprelease.language import say
from dprelease.model import OutputTable
from dprelease.model.release import find_contact_address, find_licence_address
from dprelease.reports.charts.svg import Chart
from dprelease.reports.model.report_model import Approval, PlanFacts, ReportFacts
from dprelease.reports.renderers.dcat import build_dataset, write_citation
from dprelease.reports.sections.budget_section import build_budget_section
from dprelease.reports.sections.data_section import build_data_section
from dprelease.reports.sections.document import Document, Group, Link, Paragraph, Part, Section
from dprelease.reports.sections.figures_section import build_figures_section, iter_totals
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
from dprelease.reports.sections.overview_section import (
    SHOWN_OF_DIGEST,
    build_overview_section,
    is_of_chart,
)
from dprelease.reports.sections.provenance_section import (
    build_approval_section,
    build_provenance_section,
)
from dprelease.reports.sections.quotable import (
    Quotation,
    build_quotable_section,
    iter_quotable,
)
from dprelease.reports.sections.summary_section import (
    build_changes_parts,
    build_review_section,
    build_summary_section,
)

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
        ),
        tuple(_link_sections(_iter_sections(facts, tables))),
        say(ORIGIN),
        "" if facts.rehearsal else json.dumps(build_dataset(facts)),
        say(REHEARSAL) if facts.rehearsal else "",
        facts.provenance.run_id,
    )


def plan_document(facts: PlanFacts, approval: Approval) -> Document:
    """Lay out a plan for approval: the parts of a report that need no data."""
    level = float(approval.interval) * 100
    return Document(
        facts.deployment.basic.title,
        say("title.plan"),
        say("title.plan_for_approval"),
        tuple(_iter_basics(facts)),
        (
            build_summary_section(facts, approval),
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
        run=approval.run,
    )


def _iter_sections(facts: ReportFacts, tables: Mapping[str, OutputTable]) -> Iterator[Section]:
    level = float(facts.provenance.interval) * 100
    changes = build_changes_parts(facts, tables, level)
    if facts.queries:
        published = Published(facts, tables)
        alpha = 1 - Fraction(facts.provenance.interval)
        quotations = tuple(iter_quotable(facts, published, alpha))
        title = facts.deployment.basic.title
        figures = build_figures_section(tables, level, title, facts.columns, facts.queries)
        chart = _choose_chart(figures, quotations)
        yield build_overview_section(facts, iter_totals(tables), quotations, chart, changes)
        yield figures._replace(parts=tuple(_leave_out(figures.parts, chart)))
        yield from filter(None, [build_quotable_section(quotations, level)])
        yield from filter(None, [build_use_section(facts, published, level)])
        yield _cite(build_reading_section(facts), facts)
    else:
        yield build_overview_section(facts, (), (), None, changes)
    yield from _iter_record_sections(facts, level)
    yield build_guarantee_section(facts)
    yield build_meaning_section(facts)
    yield build_hazards_section(facts)
    yield build_review_section(facts)
    errata = build_errata_section(facts)
    yield errata if facts.queries else _cite(errata, facts)
    annex = [
        *((build_noise_section(facts, level, released=True),) if facts.queries else ()),
        build_budget_section(facts, facts.ledger),
        build_data_section(facts),
        build_provenance_section(facts),
    ]
    # few look at it, and then for one thing
    yield from (section._replace(folded=True) for section in annex)


def _cite(section: Section, facts: ReportFacts) -> Section:
    """Add how to cite the release to a section; nobody cites a rehearsal."""
    if facts.rehearsal:
        return section
    cited = say("words.labelled", label=say("title.cite_as"), text=write_citation(facts))
    return section._replace(parts=(*section.parts, Paragraph(cited)))


def _link_sections(sections: Iterable[Section]) -> Iterator[Section]:
    """Leave five links above the page; every other section follows one of them."""
    links = {
        "tables": "figures.short_title",
        "records": "figures.short_title",
        "quotable": "contents.reuse",
        "use": "contents.reuse",
        "guarantee": "contents.privacy",
        "summary": "summary.review.title",
        "noise": "contents.annex",
        "budget": "contents.annex",
    }
    used: set[str] = set()
    for section in sections:
        link = links.get(section.name, "")
        yield section._replace(short="" if not link or link in used else say(link))
        used.add(link)


def _choose_chart(figures: Section, quotations: Sequence[Quotation]) -> Chart | None:
    """Choose the chart of the first screen: the first that a sentence says something of, or any."""
    charts = [
        chart
        for part in figures.parts
        if isinstance(part, Group)
        for chart in part.parts
        if isinstance(chart, Chart)
    ]
    told = (chart for said in quotations for chart in charts if is_of_chart(said, chart))
    return next(told, next(iter(charts), None))


def _leave_out(parts: Sequence[Part], chart: Chart | None) -> Iterator[Part]:
    """Leave out a chart that stands elsewhere."""
    for part in parts:
        if isinstance(part, Group) and chart in part.parts:
            rest = tuple(inner for inner in part.parts if inner is not chart)
            if rest:
                yield part._replace(parts=rest)
        else:
            yield part


def _iter_record_sections(facts: PlanFacts, level: float) -> Iterator[Section]:
    if facts.perturb:
        # Imported here for start-up: most releases have no table of records.
        from dprelease.local.report.record_tables_section import build_records_section

        yield build_records_section(facts, f"{level:g}")


def _iter_basics(facts: PlanFacts) -> Iterator[tuple[str, str | Link]]:
    basic = facts.deployment.basic
    address, licence = find_contact_address(basic.contact or ""), basic.licence
    for label, value in (
        (say("title.curator"), basic.data_curator),
        (
            say("title.contact"),
            Link(basic.contact, address) if basic.contact and address else basic.contact,
        ),
        (say("title.purpose"), basic.intended_use),
        (say("title.region"), basic.region),
        (say("title.sector"), basic.sector),
        (say("title.approved_by"), _describe_approval(facts)),
        (say("title.licence"), licence and Link(licence, find_licence_address(licence))),
        (say("title.release"), basic.name),
    ):
        if value:
            yield label, value


def _describe_approval(facts: PlanFacts) -> str | None:
    """Say who agreed, and to which plan: that of a run that was held to a saved one."""
    approved_by = facts.deployment.basic.approved_by
    if approved_by is None or not isinstance(facts, ReportFacts):
        return approved_by
    digest, held = facts.provenance.plan, facts.provenance.held_to_plan
    if digest is None or held is None:
        return approved_by
    key = "title.approved_plan" if held else "title.approved_without_plan"
    return say(key, name=approved_by, digest=f"{digest[:SHOWN_OF_DIGEST]}\u2026")
