"""The first screen: the figures that people look for, one finding, and the privacy facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from dprelease.language import say
from dprelease.reports.charts.svg import Chart
from dprelease.reports.facts.privacy_facts import is_protecting, summarize_privacy
from dprelease.reports.model.report_model import Bounds, PrivacyFacts, ReportFacts
from dprelease.reports.sections.document import (
    FactsLabel,
    Group,
    Heading,
    Meter,
    Paragraph,
    Part,
    Section,
    Tile,
    Tiles,
)
from dprelease.reports.sections.guarantee_section import build_meter
from dprelease.reports.sections.quotable import Quotation
from dprelease.reports.text.shown_numbers import format_number, write_belief, write_headline

MOST_HEADLINES = 3
SHOWN_OF_DIGEST = 16
LABEL_FILE = "figures/privacy-facts.svg"


def build_overview_section(
    facts: ReportFacts,
    totals: Iterable[Tile],
    quotations: Sequence[Quotation],
    chart: Chart | None,
    changes: tuple[Part, ...],
) -> Section:
    """Lay out the first screen.

    Args:
        facts: The report.
        totals: Figures of all records, in order.
        quotations: Sentences to quote.
        chart: The chart that stands here, of which there may be a finding among the sentences.
        changes: What changed since the last release.
    """
    title = say("overview.title")
    told: list[Part] = []
    tiles = tuple(islice(totals, MOST_HEADLINES))
    told += [Tiles(tiles)] if tiles else []
    finding = next((said for said in quotations if is_of_chart(said, chart)), None)
    told += [Heading(finding.text)] if finding is not None else []
    told += [chart] if chart is not None else []
    told += changes
    label = build_facts_label(facts)
    if not told:
        return Section("overview", title, title, (label,))
    return Section("overview", title, title, (Group("overview", (Group("", tuple(told)), label)),))


def is_of_chart(said: Quotation, chart: Chart | None) -> bool:
    """Tell if a sentence is about what a chart shows."""
    if chart is None or chart.vega is None:
        return False
    return chart.vega.file.endswith(f"/{said.table}.{said.column}.vl.json")


# --- privacy facts --------------------------------------------------------------------------------


def build_facts_label(facts: ReportFacts) -> FactsLabel:
    """Build the label of privacy facts of a report, of whatever version."""
    told = facts.privacy_facts or summarize_privacy(facts, facts.provenance.plan)
    file = "" if facts.rehearsal else LABEL_FILE
    return FactsLabel(say("privacy_facts.title"), tuple(_iter_label_rows(facts, told)), file)


def _iter_label_rows(
    facts: ReportFacts, told: PrivacyFacts
) -> Iterator[tuple[str, str] | Heading | Paragraph | Meter]:
    of_row = told.unit == "row"
    one = say("privacy_facts.one_row") if of_row else say("privacy_facts.one_person")
    yield say("privacy_facts.protects"), told.protects or one
    if of_row:
        yield say("privacy_facts.protects_not"), say("privacy_facts.several_rows")
    yield say("privacy_facts.noise"), say(_NOISE[told.noise_added_to])
    yield say("privacy_facts.epsilon"), write_headline(told.epsilon)
    if told.delta:
        yield say("privacy_facts.delta"), write_headline(told.delta)
    if told.epsilon_of_all is not None:
        used = write_headline(told.epsilon_of_all)
        if told.epsilon_cap is not None:
            cap = format_number(told.epsilon_cap)
            used = say("privacy_facts.of_cap", used=used, cap=cap)
        yield say("privacy_facts.all_releases"), used
        if told.epsilon_cap:
            yield build_meter(told.epsilon, told.epsilon_of_all, told.epsilon_cap)
    yield Heading(say("privacy_facts.learnt"))
    yield Paragraph(say("privacy_facts.even_odds", about=facts.meaning.beliefs[-1].about))
    learnt = told.learnt_at_most
    yield say("privacy_facts.this_release"), _write_bounds(learnt.this_release)
    if told.epsilon_of_all is not None:
        yield say("privacy_facts.so_far"), _write_bounds(learnt.all_releases)
    if told.epsilon_cap is not None:
        yield say("privacy_facts.at_cap"), _write_bounds(learnt.cap_used_up)
    several = say("privacy_facts.ten_rows") if of_row else say("privacy_facts.ten_people")
    yield several, _write_bounds(learnt.ten_together)
    yield Heading(say("privacy_facts.vouching"))
    checklist = told.checklist
    yield Paragraph(
        say(
            "privacy_facts.checklist",
            ruled_out=checklist.ruled_out,
            to_judge=checklist.to_judge,
            stated=checklist.stated,
            not_checked=checklist.not_checked,
            attention=checklist.attention,
        )
    )
    if told.reviewer is None:
        review = say("privacy_facts.nobody")
    elif told.decision is None:
        review = say("privacy_facts.no_decision", reviewer=told.reviewer)
    else:
        review = say(_DECISIONS[told.decision], reviewer=told.reviewer)
    yield say("privacy_facts.review"), review
    if told.plan is not None:
        yield say("privacy_facts.plan"), _describe_plan(told.plan, facts.provenance.held_to_plan)


def _describe_plan(plan: str, is_held: bool | None) -> str:
    """Shorten the digest of a plan, and say if the run was held to a saved one."""
    digest = f"{plan[:SHOWN_OF_DIGEST]}…"
    if is_held is None:  # a release of before
        return digest
    key = "privacy_facts.held_to_plan" if is_held else "privacy_facts.not_held_to_plan"
    return say(key, digest=digest)


_NOISE = {
    "central": "privacy_facts.noise_of_curator",
    "local": "privacy_facts.noise_of_records",
    "central and local": "privacy_facts.noise_of_both",
}
_DECISIONS = {
    "approved": "privacy_facts.approved",
    "approved with conditions": "privacy_facts.approved_with_conditions",
    "refused": "privacy_facts.refused",
}


def _write_bounds(bounds: Bounds | None) -> str:
    if bounds is None:
        return say("privacy_facts.no_bound")
    if not is_protecting(bounds):
        return say("privacy_facts.no_protection")
    low, high = bounds
    return say(
        "privacy_facts.between", low=write_belief(float(low)), high=write_belief(float(high))
    )
