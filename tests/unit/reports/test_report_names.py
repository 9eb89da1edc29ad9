"""What people read of a published table: titles, labels, and bins in words."""

from __future__ import annotations

import json
from decimal import Decimal

import frictionless
import jsonschema
import pytest
from pages import get_tables, render_as, write_files
from report_specs import SELECTED, records_spec, spec

from dprelease.model import ColumnNames, ColumnType, OutputColumn
from dprelease.planning.planner import make_plan
from dprelease.reports.model.json_form import build_report_schema
from dprelease.reports.rerender import rerender
from dprelease.reports.text.shown_names import (
    get_column_title,
    title_with_unit,
    write_bin,
    write_key,
)
from dprelease.specfile import load

INTEGER, DECIMAL, DATE = ColumnType.INTEGER, ColumnType.DECIMAL, ColumnType.DATE


@pytest.mark.parametrize(
    ("kind", "key", "words"),
    [
        (INTEGER, "[18, 40)", "18 to 39"),
        (INTEGER, "[40, 65]", "40 to 65"),
        (INTEGER, "[-5, -4)", "\u22125"),
        (INTEGER, "[2000, 2010)", "2000 to 2009"),
        (INTEGER, "[10000, 20000)", "10,000 to 19,999"),
        (INTEGER, "rest", "rest"),
        (INTEGER, "[a, b)", "[a, b)"),
        (DATE, "[0001-01-01, 0001-01-01)", "[0001-01-01, 0001-01-01)"),
        (DECIMAL, "[18, 40)", "18 to under 40"),
        (DECIMAL, "[0.5, 1]", "0.5 to 1"),
        (ColumnType.FLOAT, "[-0.5, 0)", "\u22120.5 to under 0"),
        (DATE, "[2025-01-01, 2025-02-01)", "Jan 2025"),
        (DATE, "[2024-02-01, 2024-02-29]", "Feb 2024"),
        (DATE, "[2025-02-01, 2025-02-02)", "1 Feb 2025"),
        (DATE, "[2025-01-01, 2025-04-01)", "Jan to Mar 2025"),
        (DATE, "[2025-11-01, 2026-02-01)", "Nov 2025 to Jan 2026"),
        (DATE, "[2025-01-01, 2026-01-01)", "2025"),
        (DATE, "[2024-01-01, 2026-01-01)", "2024 to 2025"),
        (DATE, "[2025-11-05, 9999-12-31]", "5 Nov 2025 to 31 Dec 9999"),
        (ColumnType.TIMESTAMP, "[2025-01-01 00:00:00, 2025-02-01 00:00:00)", "Jan 2025"),
        (
            ColumnType.TIMESTAMP,
            "[2025-01-01 06:00:00, 2025-01-01 18:00:00)",
            "2025-01-01 06:00:00 to before 2025-01-01 18:00:00",
        ),
        (
            ColumnType.TIMESTAMP,
            "[2025-01-01 00:00:00, 2025-02-01 00:00:00]",
            "2025-01-01 00:00:00 to 2025-02-01 00:00:00",
        ),
    ],
)
def test_bins_are_read_as_words(kind, key, words):
    assert write_bin(kind, key) == words


def test_a_label_comes_before_the_words_of_a_bin_and_a_key_stays_without():
    names = ColumnNames(labels={"[0, 18)": "Children"}, bins=INTEGER)
    keys = ["[0, 18)", "[18, 40)", None]
    column = OutputColumn("age", "key", keys, "", names=names)
    assert [write_key(column, key) for key in keys] == ["Children", "18 to 39", "(none)"]
    assert write_key(OutputColumn("c", "key", ["[0, 18)"], ""), "[0, 18)") == "[0, 18)"


@pytest.mark.parametrize(
    ("part", "title"),
    [
        ("", "Mean wait (days)"),
        ("_noise_moe", "Mean wait: noise half-width (days)"),
        ("_count", "Mean wait: count"),
        ("_p25", "Mean wait: p25 (days)"),
    ],
)
def test_a_title_is_that_of_the_query_and_says_what_stands_beside_it(part, title):
    names = ColumnNames("Mean wait", "days")
    column = OutputColumn(f"wait{part}", "number", [], "", 1, "wait:by_x", names=names)
    assert title_with_unit(column) == title
    assert (
        get_column_title(OutputColumn(f"wait{part}", "number", [], "", 1, "wait")) == f"wait{part}"
    )


AGES = {"type": "integer", "bins": [0, 18, 65], "other": "rest", "source": "law"}
DOSES = {"type": "decimal", "bins": [0, Decimal("0.5"), Decimal("12.25")], "source": "law"}


@pytest.fixture
def named(published):
    """Publish a count by ages and doses, with names for people, or by what else is asked."""

    def make(*queries, value=12, form="csv", **keys):
        asked = queries or ({"statistic": "count", "by": ["age", "dose"], "title": "Visits"},)
        made = spec(*asked)
        made["columns"] |= {"age": AGES | {"label": "Age"}, "dose": DOSES}
        made["columns"]["region"]["labels"] = {"north": "The North"}
        made["columns"]["town"]["labels"] = {"a": "Town A", "z": "Never shown"}
        made["output"] |= {
            "format": form,
            "titles": {"by_age_dose": "By age"} if not queries else {},
        }
        made["release"]["licence"] = "CC0-1.0"
        return published(make_plan(load(made)), value, **keys)

    return make


def test_bins_of_numbers_have_their_edges_in_columns_of_their_own(named):
    lines = named().files["by_age_dose.csv"].decode().splitlines()
    assert lines[0].startswith("age,age_from,age_to,dose,dose_from,dose_to,q,")
    assert lines[1].startswith('"[0, 18)",0,18,"[0, 0.5)",0.00,0.50,12,')
    assert lines[-1].startswith('rest,,,"[0.5, 12.25]",0.50,12.25,12,')


@pytest.mark.parametrize(
    ("title", "heading"), [("Visits", "Visits by Age"), ("Visits by age", "Visits by age")]
)
def test_a_heading_names_no_group_twice(named, title, heading):
    page = named({"statistic": "count", "by": ["age"], "title": title}).files["report.md"].decode()
    headings = [line.strip("# ") for line in page.splitlines() if line.startswith("#")]
    assert any(line.startswith(heading) for line in headings), headings
    assert "by age by" not in page.lower()


def test_edges_give_way_to_a_query_of_their_name(named):
    counts = {"statistic": "count", "by": ["age"]}
    lines = named(counts | {"name": "Age_To"}).files["by_age.csv"].decode().splitlines()
    assert lines[0].split(",")[:3] == ["age", "age_from", "Age_To"]


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("page", ["html", "md", "dcat"])
def test_a_report_with_names_is_the_same_when_it_is_rendered_again(named, tmp_path, form, page):
    made = named(form=form)
    write_files(made, tmp_path)
    assert rerender(str(tmp_path), page) == render_as(made.report, get_tables(made), page)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_names_and_edges_fit_the_standards(named, tmp_path, form):
    made = named(form=form)
    write_files(made, tmp_path)
    package = tmp_path / "datapackage.json"
    if form == "csv":  # of Parquet it needs pandas
        report = frictionless.validate(str(package))
        assert report.valid, report.flatten(["message"])
    stated = json.loads(package.read_bytes())
    licence = {"name": "CC0-1.0", "path": "https://spdx.org/licenses/CC0-1.0"}
    assert stated["licenses"] == [licence]
    types = [field["type"] for field in stated["resources"][0]["schema"]["fields"]]
    assert types[:6] == ["string", "integer", "integer", "string", "number", "number"]
    jsonschema.validate(made.report, build_report_schema())


def test_titles_labels_and_bins_stand_in_both_pages(named):
    for page in ("report.html", "report.md"):
        text = named().files[page].decode()
        assert "Visits" in text
        assert "By age" in text
        assert "0 to under 0.5" in text
        assert "0 to 17" in text
        assert "age_from" not in text


def test_names_that_are_chosen_have_labels(named):
    made = named({"statistic": "mode", "column": "region"}, value=0)
    assert "The North" in made.files["report.md"].decode()
    assert b"north" in made.files["overall.csv"]
    assert b"The North" not in made.files["overall.csv"]


def test_only_private_keys_that_are_shown_have_their_label_in_the_package(named):
    query = {"statistic": "count", **SELECTED}
    made = named(query, value=10**6, keys=("a", "b"))
    assert "Town A" in made.files["report.md"].decode()
    assert b"Never shown" not in made.files["datapackage.json"]


@pytest.mark.parametrize(
    ("decimals", "shown"), [(0, "90 ± 2"), (2, "90.00 ± 1.27"), (12, "90.00000 ± 1.26086")]
)
def test_decimals_are_as_many_as_the_spec_says_and_half_widths_are_rounded_up(
    named, decimals, shown
):
    query = {"statistic": "mean", "column": "days", "decimals": decimals, "epsilon": 50}
    assert f"| {shown} |" in named(query, value=600).files["report.md"].decode()


def test_a_table_of_records_has_its_title_in_the_package(published):
    stated = records_spec({"columns": ["region"]})
    stated["output"]["titles"] = {"records": "Answers"}
    package = published(make_plan(load(stated))).files["datapackage.json"]
    assert json.loads(package)["resources"][0]["title"] == "Answers"
