"""What a report says of errors: whom to tell, and that a correction by new noise spends again."""

import pytest
from pages import render_as, render_html
from report_specs import DELTA, PEOPLE

from dprelease.reports.model.json_form import read_report_json
from dprelease.reports.sections.how_to_read import iter_errata_words


@pytest.fixture
def made(planned, published):
    count = {"name": "visits", "statistic": "count_units", "by": ["region"],
             "mechanism": "gaussian"}  # fmt: skip
    return published(planned(count, delta=DELTA, **PEOPLE), 7)


def with_basic(report, **texts):
    basic = {**report["deployment"]["basic"], **texts}
    return {**report, "deployment": {**report["deployment"], "basic": basic}}


def test_a_correction_is_another_release_and_spends_again(made):
    said = " ".join(iter_errata_words(read_report_json(made.report)))
    spent = made.report["accounting"]
    assert f"on top of the epsilon {spent['epsilon']:g} and delta 1e-8 of this one" in said
    assert f"name its run, {made.report['provenance']['run_id']}, so that" in said
    assert "in up to 5 of 100 releases" in said
    other = {**made.report, "provenance": {**made.report["provenance"], "interval": "0.9995"}}
    assert "in up to 0.05 of 100 releases" in " ".join(iter_errata_words(read_report_json(other)))


@pytest.mark.parametrize(
    ("contact", "curator", "said"),
    [
        ("dpo@a.example", "Agency", "Report errors to dpo@a.example."),
        (None, "Agency", "Report errors to Agency."),
        (None, None, "names no contact. Report errors to whoever published these files."),
    ],
)
def test_whom_to_tell_is_what_the_spec_says(made, contact, curator, said):
    report = with_basic(made.report, contact=contact, data_curator=curator)
    assert said in " ".join(iter_errata_words(read_report_json(report)))


def test_page_and_markdown_have_it_and_texts_are_escaped(made):
    report = with_basic(made.report, contact="<b>`*me*`</b>")
    page = render_html(report, {})
    assert '<h2 id="errata">Errors and corrections</h2>' in page
    assert "Report errors to &lt;b&gt;`*me*`&lt;/b&gt;." in page
    text = render_as(report, {}, "md").decode()
    assert "## Errors and corrections\n\n- " in text
    assert "Report errors to \\<b\\>\\`\\*me\\*\\`\\</b\\>." in text
    whole = f"{render_as(made.report, {}, 'md').decode()}\n"
    assert all(
        f"\n- {line}\n" in whole for line in iter_errata_words(read_report_json(made.report))
    )
