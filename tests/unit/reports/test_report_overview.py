"""The first screen of a report: headline figures, one finding, and the privacy facts."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from pages import render_as, render_html
from report_specs import spec

from dprelease.planning.planner import make_plan
from dprelease.reports.model.json_form import read_report_json
from dprelease.reports.renderers.facts_label_svg import render_label
from dprelease.reports.sections.document import FactsLabel, Heading, Meter, Paragraph
from dprelease.reports.sections.overview_section import LABEL_FILE, build_facts_label
from dprelease.specfile import load

TOTAL = {"name": "visits", "statistic": "count", "title": "All visits", "unit": "visits"}
VISITS = {"name": "by_place", "statistic": "count", "title": "Visits", "by": ["region"]}
MEDIAN = {"name": "middle", "statistic": "median", "column": "days"}


@pytest.fixture
def page(published):
    return published(make_plan(load(spec(TOTAL, VISITS))), 5000).files["report.html"].decode()


def list_label(publication):
    """The pairs of the label, by name."""
    facts = read_report_json(publication.report)
    rows = build_facts_label(facts).rows
    return {row[0]: row[1] for row in rows if isinstance(row, tuple) and len(row) == 2}


def test_figures_of_all_records_come_first_with_their_noise(published):
    page = published(make_plan(load(spec(TOTAL, VISITS, MEDIAN))), 5000).files["report.html"]
    first = page.decode().partition('id="tables"')[0]
    assert re.search(r"<b>5,000 visits <i>± \d+</i></b> <span>All visits</span>", first)
    assert re.search(r"<b>0 <i>\(within \d+ ranks\)</i></b> <span>middle</span>", first)
    assert "<h3>Visits: no region can be shown to be highest" in first


def test_a_chart_of_the_first_screen_stands_there_alone(page):
    assert page.count('id="chart-2-1"') == 1
    assert page.index('id="chart-2-1"') < page.index('id="tables"')


def test_a_release_without_a_figure_of_all_records_still_has_its_label(published):
    choice = {"name": "first", "statistic": "mode", "column": "region"}
    page = published(make_plan(load(spec(choice)))).files["report.html"].decode()
    assert "Privacy facts" in page.partition('id="tables"')[0]


def test_five_links_stand_above_the_page(page):
    links = re.search(r"<nav.*?</nav>", page, re.DOTALL)[0]
    assert re.findall(r">([^<]+)</a>", links) == [
        "Figures", "Quote and reuse", "Privacy", "Review", "Annex",
    ]  # fmt: skip
    assert all(f'id="{name}"' in page for name in re.findall(r'href="#([^"]+)"', links))


def test_a_heading_links_the_file_of_its_table(page):
    heading = '<h3 id="table-2">Visits by region <a href="by_region.csv">by_region.csv</a></h3>'
    assert heading in page
    assert page.count("by_region.csv</a>") == 1
    assert '<a href="datapackage.json">datapackage.json</a>: what every file is' in page


def test_the_annex_is_folded_up_under_its_titles(page):
    for name in ("noise", "budget", "data", "provenance"):
        assert f'<details><summary><h2 id="{name}">' in page
    assert '<section aria-labelledby="guarantee">\n<h2' in page


def test_the_page_says_each_belief_and_each_total_once(published):
    """What stands on the label and in the tables of the guarantee is in no review or list."""
    report = published(make_plan(load(spec(TOTAL, VISITS))), 5000).files["report.md"].decode()
    assert report.count("| 50% |") == 1
    assert report.count("epsilon of all releases") == 1
    assert "epsilon" not in report.partition("## Review")[2].partition("## ")[0]


def test_rows_that_a_chart_shows_are_folded_up(published):
    places = {"type": "string", "keys": [f"place {n}" for n in range(12)], "source": "map"}
    given = spec(VISITS | {"by": ["place"]})
    given["columns"]["place"] = places
    page = published(make_plan(load(given)), 5000).files["report.html"].decode()
    assert "<summary>Rows of by_place.csv</summary>" in page
    short = published(make_plan(load(spec(VISITS))), 5000).files["report.html"].decode()
    assert "<summary>Rows of" not in short


def test_report_json_has_the_facts_of_the_label(published):
    report = published(make_plan(load(spec(TOTAL)))).report
    assert report["privacy_facts"]["learnt_at_most"]["this_release"] == [0.1192, 0.8808]
    assert report["privacy_facts"]["plan"] == report["provenance"]["plan"]


def test_a_cap_is_drawn_as_a_meter(published):
    report = published(make_plan(load(spec(TOTAL)))).report
    told = {**report["privacy_facts"], "epsilon_of_all": 2.3, "epsilon_cap": 10}
    facts = read_report_json({**report, "privacy_facts": told})
    rows = build_facts_label(facts).rows
    assert ("All releases of these data", "2.3 of 10") in rows
    (meter,) = [row for row in rows if isinstance(row, Meter)]
    assert meter.text == "1.3 before, 1 now, 7.7 left under the cap"
    assert (meter.before, meter.now) == (pytest.approx(0.13), pytest.approx(0.1))
    assert ("if the cap is used up", "no bound") in rows


def test_reports_of_before_have_the_label_too(published):
    made = published(make_plan(load(spec(TOTAL))), 5000)
    older = {key: value for key, value in made.report.items() if key != "privacy_facts"}
    assert "Privacy facts" in render_html(older, {})
    assert "- Epsilon, this release: 1" in render_as(older, {}, "md").decode()


def test_the_label_is_published_as_a_picture_that_says_the_same(published):
    made = published(make_plan(load(spec(TOTAL, unit_description="<one> & only visit"))))
    picture = made.files[LABEL_FILE].decode()
    root = ElementTree.fromstring(picture)
    texts = " ".join(node.text or "" for node in root.iter() if node.tag.endswith("text"))
    for name, value in list_label(made).items():
        assert name in texts
        assert value in texts
    assert "<one> & only visit" in texts
    width = float(root.attrib["width"])
    boxes = [node for node in root.iter() if node.tag.endswith("rect")]
    assert all(float(box.get("x", 0)) + float(box.attrib["width"]) <= width for box in boxes)


def test_a_long_text_of_the_picture_is_broken_and_keeps_its_letters():
    words = "a" * 300 + " " + "word " * 60
    label = FactsLabel("t", (("name", words), Heading("h" * 90), Paragraph("p"), Meter(0, 1, "m")))
    root = ElementTree.fromstring(render_label(label))
    lines = [node.text or "" for node in root.iter() if node.tag.endswith("text")]
    assert max(map(len, lines)) < 50
    assert "".join(lines).count("a") == 300 + 1  # and the one of "name"
    assert "".join(lines).count("word") == 60
