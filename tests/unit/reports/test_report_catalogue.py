"""What catalogues and search machines are told: DCAT-AP, schema.org, licence, links, citation."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from shutil import which

import pytest
from pages import render_html
from report_specs import records_spec, spec

from dprelease.model.release import find_contact_address
from dprelease.planning.planner import make_plan
from dprelease.reports.model.json_form import read_report_json
from dprelease.reports.renderers.dcat import build_dataset, render, write_citation
from dprelease.specfile import load

HOSTILE = 'a</script><script>document.title="ran"</script>&\u2028'
BLOCK = re.compile('<script type="application/ld\\+json">(.*?)</script>', re.DOTALL)


def render_page(publication):
    return publication.files["report.html"].decode()


@pytest.fixture
def made(published):
    def make(**about):
        stated = spec({"statistic": "count", "by": ["region"], "title": "Visits", "unit": "visits"})
        stated["release"] |= {"curator": "Agency", "contact": "a&b@c.org"} | about
        stated["columns"]["region"]["labels"] = {"north": "The <b>North</b>"}
        return published(make_plan(load(stated)))

    return make


def test_the_data_set_is_told_in_terms_of_dcat_ap(made):
    publication = made(licence="CC-BY-4.0", region="Here", sector="Health")
    facts = read_report_json(publication.report)
    node = json.loads(render(None, facts))
    assert node["@type"] == "dcat:Dataset"
    # What DCAT-AP 3 has as mandatory, and what it recommends.
    assert {"dct:title", "dct:description"} <= node.keys()
    assert {
        "dcat:contactPoint",
        "dcat:distribution",
        "dcat:keyword",
        "dct:publisher",
    } <= node.keys()
    assert node["dcat:contactPoint"]["vcard:hasEmail"] == {"@id": "mailto:a%26b@c.org"}
    (file,) = node["dcat:distribution"]
    assert file["dcat:accessURL"] == file["dcat:downloadURL"] == {"@id": "by_region.csv"}
    assert file["dct:license"] == {"@id": "https://spdx.org/licenses/CC-BY-4.0"}
    digest = file["spdx:checksum"]["spdx:checksumValue"]["@value"]
    assert digest == publication.report["provenance"]["files"]["by_region.csv"]


@pytest.mark.parametrize("purpose", ["Yearly report", "Yearly report."])
def test_a_description_is_of_whole_sentences(made, purpose):
    node = json.loads(render(None, read_report_json(made(purpose=purpose).report)))
    assert str(node["dct:description"]).count("Yearly report. Everything in this release") == 1


def test_every_prefix_and_every_node_of_dcat_is_declared(made):
    node = json.loads(render(None, read_report_json(made(contact="https://c.org/x").report)))
    prefixes = set(node["@context"])

    def check(inside):
        for key, value in inside.items():
            assert key in {"@id", "@type", "@value"} or key.partition(":")[0] in prefixes, key
            assert value not in (None, "", [], {}), key
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, dict):
                    check(child)

    check({key: value for key, value in node.items() if key != "@context"})
    assert node["dcat:contactPoint"]["vcard:hasURL"] == {"@id": "https://c.org/x"}
    assert "dct:license" not in node["dcat:distribution"][0]


def test_a_table_of_records_is_a_distribution_too(published):
    report = published(make_plan(load(records_spec({"columns": ["region"]})))).report
    node = json.loads(render(None, read_report_json(report)))
    assert [it["dcat:downloadURL"]["@id"] for it in node["dcat:distribution"]] == ["records.csv"]


def test_the_page_holds_a_data_set_of_schema_org(made):
    publication = made(licence="https://l.org/mine")
    page = render_page(publication)
    (block,) = BLOCK.findall(page)
    node = json.loads(block)
    assert node == build_dataset(read_report_json(publication.report))
    assert node["license"] == "https://l.org/mine"
    assert [it["contentUrl"] for it in node["distribution"]] == ["by_region.csv"]
    (variable,) = node["variableMeasured"]
    assert (variable["name"], variable["unitText"]) == ("Visits", "visits")


def test_a_choice_is_told_by_what_is_chosen_not_by_its_noise(published):
    raw = spec({"name": "commonest", "statistic": "top_k", "k": 2, "column": "region"})
    node = build_dataset(read_report_json(published(make_plan(load(raw))).report))
    (variable,) = node["variableMeasured"]
    assert "chosen with noise" in variable["description"]


def test_no_text_ends_the_block_of_data(made):
    report = made().report
    report["deployment"]["basic"]["title"] = HOSTILE
    page = render_html(report, {})
    (block,) = BLOCK.findall(page)
    assert json.loads(block)["name"] == HOSTILE
    assert not re.search("[<>&\u2028]", block)


@pytest.mark.thorough
@pytest.mark.skipif(which("chromium") is None, reason="no browser")
def test_a_browser_runs_nothing_of_it_and_reports_no_breach(made, tmp_path: Path):
    report = made().report
    report["deployment"]["basic"]["title"] = HOSTILE
    page = tmp_path / "report.html"
    page.write_text(render_html(report, {}), encoding="utf-8")
    command = [
        "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
        f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", page.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert "<title>ran</title>" not in done.stdout
    assert "application/ld+json" in done.stdout
    assert "Content Security Policy" not in done.stderr
    # The same browser says so where a script is barred: the check above can fail.
    page.write_text(page.read_text(encoding="utf-8") + "<script>1</script>", encoding="utf-8")
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert "Content Security Policy" in done.stderr


def test_files_contact_and_licence_are_links(made):
    page = render_page(made(licence="CC0-1.0"))
    assert '<a href="by_region.csv">by_region.csv</a>' in page
    assert '<a href="datapackage.json">datapackage.json</a>' in page
    assert '<a href="mailto:a%26b@c.org">a&amp;b@c.org</a>' in page
    assert '<a href="https://spdx.org/licenses/CC0-1.0">CC0-1.0</a>' in page
    text = made(licence="CC0-1.0").files["report.md"].decode()
    assert "[by_region.csv](by_region.csv)" in text
    assert "[CC0-1.0](https://spdx.org/licenses/CC0-1.0)" in text


@pytest.mark.parametrize("text", ["javascript:alert(1)", "data:text/html,x", 'https:"onclick="x'])
def test_a_forged_contact_or_licence_leads_nowhere_else(made, text):
    report = made().report
    report["deployment"]["basic"] |= {"contact": text, "licence": text}
    page = render_html(report, {})
    links = re.findall('href="([^"#]*)"', page)
    assert all(
        re.match("https://spdx.org/licenses/|datapackage.json|figures/privacy-facts.svg", link)
        for link in links
    )


def test_a_release_says_how_it_is_cited(made):
    facts = read_report_json(made(title="Visits, 2025").report)
    run = facts.provenance.run_id[:16]
    assert write_citation(facts) == f"Agency (now): Visits, 2025. Data set, run {run}."
    assert write_citation(facts) in render_page(made(title="Visits, 2025"))


def test_words_stand_in_figures_and_keys_in_files(made):
    publication = made()
    page = render_page(publication)
    assert "Visits (visits)" in page
    assert "The &lt;b&gt;North&lt;/b&gt;" in page
    assert b"\nnorth,0," in publication.files["by_region.csv"]
    fields = json.loads(publication.files["datapackage.json"])["resources"][0]["schema"]["fields"]
    assert fields[0]["labels"] == {"north": "The <b>North</b>"}
    assert [(field.get("title"), field.get("unit")) for field in fields] == [
        (None, None), ("Visits", "visits"), (None, None), (None, None),
    ]  # fmt: skip


def test_a_contact_may_be_written_as_a_link_of_mail() -> None:
    assert find_contact_address("mailto:a&b@c.org") == find_contact_address("a&b@c.org")
    assert find_contact_address("a&b@c.org") == "mailto:a%26b@c.org"
