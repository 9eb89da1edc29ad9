"""The first page of a report and of a plan: what a signer has to know, and a line to sign."""

from __future__ import annotations

import re

import pytest
from pages import plan_page, render_as, render_html
from report_specs import PEOPLE, spec

from dprelease.ledger.identity import run_id
from dprelease.model import Plan
from dprelease.planning.planner import make_plan
from dprelease.release.saved_plan import compute_plan_digest
from dprelease.reports.contents import plan_document
from dprelease.reports.facts.approval import build_approval
from dprelease.reports.facts.release_facts import collect_plan_facts
from dprelease.reports.model.json_form import read_report_json
from dprelease.reports.sections.document import Heading
from dprelease.reports.sections.overview_section import build_overview_section
from dprelease.reports.sections.summary_section import build_summary_section, describe_accounting
from dprelease.specfile import load

COUNT = {"statistic": "count", "by": ["region"]}
REVIEW = {
    "reviewer": "A. Person",
    "role": "data protection officer",
    "decision": "approved",
    "date": "2026-03-31",
    "reference": "file 12/2026",
    "legal_basis": "Statistics Act, section 4",
    "necessity": "the yearly report",
}


def plan_spec(review: dict[str, str] | None = None, **privacy: object) -> Plan:
    raw = spec(COUNT, **privacy)
    return make_plan(load(raw if review is None else raw | {"review": review}))


def read_rows(plan: Plan) -> dict[str, str]:
    approval = build_approval(plan, run_id(plan.release), "0" * 64, None)
    table = build_summary_section(collect_plan_facts(plan), approval).parts[0]
    return {str(row[0]): str(row[1]) for row in table.rows}


def test_it_says_what_is_protected_how_strongly_and_what_was_looked_at():
    said = read_rows(plan_spec(REVIEW, **PEOPLE))
    assert said["What is protected"] == 'one person: all rows with the same value of "patient"'
    assert said["How strong: this release"].startswith(
        "epsilon 1, delta 0. A belief of 50% becomes"
    )
    assert "at most 88.08%. It is about what" in said["How strong: this release"]
    assert said["If the cap is used up"].startswith(
        "epsilon 1,000; delta has no cap: what follows is for releases without a delta. A belief"
    )
    assert said["If the cap is used up"].endswith("in the table. That is no protection.")
    assert said["How losses were added"] == "plain sum"
    assert "What the spec declares" in said["What is not protected"]
    assert said["Not checked"].startswith("4: side channels; security and access")
    assert "unit of privacy" in said["To be looked at"]
    assert said["Reviewed by, as the spec states"] == (
        "A. Person, data protection officer; approved on 31 March 2026; reference: file 12/2026"
    )
    assert said["Legal basis"] == "Statistics Act, section 4"
    assert said["Necessity"] == "the yearly report"
    assert "0" * 64 in said["Digest of the plan (SHA-256)"]


def test_nobody_has_reviewed_where_the_spec_names_nobody():
    said = read_rows(plan_spec())
    assert said["Reviewed by, as the spec states"] == "Nobody: the spec names no reviewer."
    assert "Legal basis" not in said
    assert (
        read_rows(plan_spec({"reviewer": "A"}))["Reviewed by, as the spec states"]
        == "A; no decision is stated"
    )


def test_a_plan_has_a_line_to_sign_and_a_published_page_none(published):
    plan = plan_spec(REVIEW)
    report = published(plan).report
    page, text = render_html(report, {}), render_as(report, {}, "md").decode()
    assert page.index('id="overview"') < page.index('id="guarantee"') < page.index('id="summary"')
    assert "Signature" not in page
    assert "## Review" in text
    planned = plan_page(plan)
    assert planned.index('id="summary"') < planned.index('id="guarantee"')
    assert "<dt>Signature</dt><dd>____" in planned
    first = plan_document(
        collect_plan_facts(plan), build_approval(plan, "r", "d" * 64, None)
    ).sections[0]
    assert "d" * 64 in str(first.parts[0])


def test_what_is_signed_stands_beside_the_line_to_sign():
    plan = plan_spec(REVIEW)
    approval = build_approval(plan, run_id(plan.release), "0" * 64, None)
    sign = build_summary_section(collect_plan_facts(plan), approval).parts[-1]
    assert sign.layout == "sign"
    signed = dict(row for part in sign.parts[1:] for row in part.rows)
    assert list(signed.values())[:3] == [
        collect_plan_facts(plan).deployment.basic.title,
        run_id(plan.release),
        "0" * 64,
    ]
    assert "Signature" in signed
    # No sheet ends within it.
    assert re.search(r"\.sign\{[^}]*break-inside:avoid", plan_page(plan))


def test_every_sheet_of_paper_names_title_run_and_number(published):
    plan = plan_spec(REVIEW)
    facts = published(plan).report
    for page, run in (
        (plan_page(plan), run_id(plan.release)),
        (render_html(facts, {}), facts["provenance"]["run_id"]),
    ):
        looks = page.partition("</style>")[0]
        (margins,) = re.findall(r"@page \{ (@top-left.*)\}", looks)
        assert f'@bottom-left {{ content: "Run {run}" }}' in margins
        assert '@bottom-right { content: "Page " counter(page) " of " counter(pages) }' in margins


def test_a_title_is_no_style():
    raw = spec(COUNT)
    raw["release"] = raw["release"] | {"title": 'a"</style><b>\\'}
    looks, style, _ = plan_page(make_plan(load(raw))).partition("</style>")
    assert style
    assert 'content: "a\\22 \\3c \\2f style\\3e \\3c b\\3e \\5c "' in looks


def test_what_changed_since_the_last_release_is_on_the_first_screen(published):
    changes = Heading("What changed")
    facts = read_report_json(published(plan_spec()).report)
    (parts,) = build_overview_section(facts, (), (), None, (changes,)).parts
    assert changes in parts.parts[0].parts


def test_report_json_has_the_words_and_the_digest_of_the_plan(published):
    plan = plan_spec(REVIEW)
    report = published(plan).report
    assert report["review"] == REVIEW
    assert report["provenance"]["plan"] == compute_plan_digest(plan)
    assert "review" not in published(plan_spec()).report


def test_a_headline_is_rounded_up_to_three_digits():
    plan = make_plan(load(spec(COUNT | {"epsilon": 0.999848})))
    assert read_rows(plan)["How strong: this release"].startswith("epsilon 1, delta 0.")
    assert collect_plan_facts(plan).accounting.epsilon == 0.999848


@pytest.mark.parametrize(
    ("method", "word"),
    [("basic", "plain sum"), ("zcdp", "as zCDP"), ("pld", "numerically"), ("mixed", "partly")],
)
def test_how_losses_were_added_is_said_in_words(method, word):
    assert describe_accounting(method).startswith(word)
