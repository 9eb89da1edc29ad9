"""Reports from a published directory alone: the same bytes; and the schemas of JSON and YAML."""

import math
import re
from decimal import Decimal

import jsonschema
import pytest
import yaml
from msgspec.structs import replace
from pages import ALL_FORMATS, get_tables, render_as, write_files
from registry_schema import find_refusals
from report_specs import DELTA, PEOPLE, SELECTED, spec

from dprelease.errors import Failure
from dprelease.model import ColumnType, OutputColumn, OutputTable
from dprelease.model.source_registry import SOURCES
from dprelease.output.read_back import read_table, round_as_in_file
from dprelease.output.table_files import write_table
from dprelease.planning.planner import make_plan
from dprelease.report_format import REPORT_FORMATS
from dprelease.reports.facts.release_facts import describe_published_table
from dprelease.reports.model.json_form import (
    build_report_json,
    build_report_schema,
    read_report_json,
    to_json,
)
from dprelease.reports.model.json_form import render as render_json
from dprelease.reports.renderers.opendp_registry import build_entry
from dprelease.reports.renderers.opendp_registry import render as render_registry
from dprelease.reports.report_formats import name_report_file
from dprelease.reports.rerender import rerender
from dprelease.specfile import load


@pytest.fixture
def made(planned, published):
    plan = planned(
        {"name": "visits", "statistic": "count", "by": ["region"]},
        {"name": "wait", "statistic": "mean", "column": "days", "by": ["region"]},
        {"name": "commonest", "statistic": "top_k", "k": 2, "column": "region"},
        {"name": "rare", "statistic": "count_units", **SELECTED},
        delta=DELTA,
        **PEOPLE,
    )
    return published(plan, -7, ("=a,b\n", "'-c", '"', "d\U0001f600"))


@pytest.fixture
def folder(made, tmp_path):
    write_files(made, tmp_path)
    return tmp_path


def test_the_schema_knows_every_format_of_data():
    data = build_report_schema()["$defs"]["DataFile"]
    assert data["properties"]["format"]["enum"] == list(SOURCES)


def test_a_design_effect_is_told_beside_weighted_figures(published):
    weighted = spec({"statistic": "mean", "column": "days", "by": ["region"]})
    weight = {"type": "integer", "lower": 0, "upper": 9, "source": "design"}
    weighted["columns"]["w"] = weight
    weighted["data"] |= {"weight": "w"}
    words = "design effect is 1.8, as the spec states"
    assert words not in published(make_plan(load(weighted)), 5).files["report.md"].decode()
    weighted["data"] |= {"design_effect": Decimal("1.8")}
    made = published(make_plan(load(weighted)), 5)
    assert words in made.files["report.md"].decode()
    assert made.report["data"]["design_effect"] == 1.8
    jsonschema.validate(made.report, build_report_schema())


@pytest.mark.one_in(2)
@pytest.mark.parametrize("form", ALL_FORMATS)
def test_the_same_bytes_as_the_run_wrote(made, folder, form):
    again = rerender(str(folder), form)
    assert again == render_as(made.report, get_tables(made), form)
    if REPORT_FORMATS[form].by_default:
        assert again == made.files[name_report_file(form)]


KEYS = ["=x", "'=x", "", None, 'a"b', " pad", "-5", "true", "2\r\n3", "é"]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_table_survives_its_file(form):
    columns = (
        OutputColumn("=key", "key", KEYS, "d", type=ColumnType.STRING),
        OutputColumn("n", "key", [str(each - 5) for each in range(10)], "",
                     type=ColumnType.INTEGER),
        OutputColumn("b", "key", ["true", "false"] * 5, "", type=ColumnType.BOOLEAN),
        OutputColumn("t", "key", [f"2025-01-0{n} 10:00:00" for n in range(1, 10)] + [None], "",
                     type=ColumnType.TIMESTAMP),
        OutputColumn("i", "integer", [0, -1, None, 10**30, 5, 6, 7, 8, 9, 10], "", 0, "i"),
        OutputColumn("x", "number", [0, -1, None, 123456789, 5, -60, 7, 8, 9, 10**17 + 3], "",
                     5, "x"),
        OutputColumn("s", "text", ["ok", None, "", "'", *"abcdef"], "", 0, "x"),
    )  # fmt: skip
    table = OutputTable("t", columns, "title")
    written = write_table(table, form)
    held = round_as_in_file(table, form)
    found = read_table(
        written.content, form, to_json(describe_published_table(table, written.file))
    )
    assert [list(column.values) for column in found.columns] == [
        list(column.values) for column in held.columns
    ]
    assert (form == "parquet") == (held.columns[5].values[9] != 10**17 + 3)
    assert write_table(held, form).content == written.content


@pytest.mark.parametrize(
    ("file", "change", "code"),
    [
        ("report.json", None, "E820"),
        ("report.json", b"{", "E821"),
        ("report.json", b'{"schema": "other"}', "E821"),
        ("report.json", b'{"schema": "dprelease/report/1", "tables": []}', "E821"),
        ("by_region.csv", None, "E822"),
        ("by_region.csv", b"region,visits\n", "E822"),
    ],
)
def test_what_is_not_as_released_is_refused(folder, file, change, code):
    if change is None:
        (folder / file).unlink()
    else:
        (folder / file).write_bytes(change)
    with pytest.raises(Failure) as refused:
        rerender(str(folder), "html")
    assert refused.value.complaints[0].code == code
    assert refused.value.exit_code == 2


def test_report_json_fits_its_schema(made):
    schema = build_report_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    checked = jsonschema.Draft202012Validator(schema)
    assert list(checked.iter_errors(made.report)) == []
    assert set(schema["required"]) == set(made.report) - {"privacy_facts"}
    assert set(schema["properties"]) - set(made.report) == {
        "agreements", "changes", "language", "lists", "perturb", "registry", "review", "strategies",
    }  # fmt: skip
    assert list(checked.iter_errors({**made.report, "queries": [{}]}))


def test_what_is_as_by_default_is_left_out_whichever_object_it_is(made):
    facts = replace(read_report_json(made.report), language="".join(["e", "n"]))
    assert build_report_json(facts) == made.report


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_facts_without_a_finite_number_become_no_json(made, value):
    facts = read_report_json(made.report)
    first, *others = facts.queries
    broken = replace(facts, queries=(replace(first, scale=value), *others))
    with pytest.raises(ValueError, match="Out of range float"):
        render_json(None, broken)


def test_the_registry_entry_is_yaml_and_fits_the_registry(made):
    entry = build_entry(read_report_json(made.report))
    assert yaml.safe_load(render_registry(None, read_report_json(made.report))) == entry
    assert find_refusals(entry) == ["deployment.basic.publication_date: 'now' is not a 'date'"]
    loss = entry["deployment"]["privacy_loss"]["privacy_parameters"]
    assert loss == {"epsilon": made.report["accounting"]["epsilon"], "delta": 1e-8}


def build_registry_entry(report, sector=None, period=None):
    """The entry of a report with another sector and period."""
    basic = {**report["deployment"]["basic"], "sector": sector}
    report = {
        **report,
        "deployment": {**report["deployment"], "basic": basic},
        "provenance": {**report["provenance"], "period": period, "released_at": "2026-02-28T01"},
    }
    entry = build_entry(read_report_json(report))
    assert find_refusals(entry) == []
    return entry["deployment"]


def test_the_registry_refuses_other_words(made):
    entry = build_entry(read_report_json(made.report))
    basic = entry["deployment"]["basic"]
    basic |= {"data_product_type": "Microdata", "publication_date": "2026-02-28"}
    assert find_refusals(entry) == [
        "deployment.basic.data_product_type: 'Microdata' is not one of ['Summary statistics', "
        "'Machine learning model', 'Dataset', 'Synthetic data', 'Interactive API', 'SQL queries']"
    ]


def test_sectors_are_those_of_the_registry_and_others_are_noted(made):
    entry = build_registry_entry(made.report, "healthcare")
    assert entry["basic"]["data_product_sector"] == "Healthcare"
    assert "notes" not in entry["administrative"]
    entry = build_registry_entry(made.report, "health")
    assert "data_product_sector" not in entry["basic"]
    assert entry["administrative"]["notes"] == "The curator states the sector health."


def test_a_release_for_each_period_is_many_releases_of_data_that_come_in(made):
    model = build_registry_entry(made.report)["deployment_model"]
    assert (model["release_type"], model["data_source_type"]) == ("One release", "Static")
    model = build_registry_entry(made.report, period="2026-01")["deployment_model"]
    assert (model["release_type"], model["data_source_type"]) == ("Many releases", "Dynamic")
    assert "this one is of 2026-01" in model["release_type_details"]


def test_zcdp_is_named_and_told_in_rho(published):
    where = {"statistic": "count", "by": ["region"]}
    content = spec(*(where | {"name": f"q{n}", "where": f"days > {n}"} for n in range(5)))
    for query in content["query"]:
        query |= {"mechanism": "gaussian", "rho": Decimal("0.01")}
        del query["epsilon"]
    content["privacy"] |= {"delta": DELTA, "accounting": "zcdp"}
    made = published(make_plan(load(content)))
    assert made.report["accounting"]["method"] == "zcdp"
    entry = build_registry_entry(made.report)
    assert entry["dp_variant"]["variant_name"] == "Zero-concentrated DP"
    loss = entry["privacy_loss"]["privacy_parameters"]
    assert (loss["rho"], loss["epsilon"]) == (
        made.report["accounting"]["rho"], made.report["accounting"]["epsilon"]
    )  # fmt: skip
    assert "gaussian, rho 0.01, " in entry["implementation"]["mechanisms"]
    page = made.files["report.md"].decode()
    (head,) = [line for line in page.splitlines() if line.startswith("| query | statistic |")]
    assert head.endswith("| expected error | rho |")
    assert sum(float(query["rho"]) for query in made.report["queries"]) == loss["rho"]


@pytest.mark.parametrize("total", [True, False])
@pytest.mark.parametrize("language", ["en", "de", "fr"])
def test_a_budget_in_rho_is_named_so_however_it_is_composed(published, total, language):
    content = spec(
        {"name": "a", "statistic": "count", "by": ["region"]}, {"name": "b", "statistic": "count"}
    )
    content["report"] = {**content.get("report", {}), "language": language}
    for query in content["query"]:
        query.pop("epsilon", None)
        query.update({} if total else {"rho": Decimal("0.02")})
    content["privacy"].pop("epsilon", None)
    content["privacy"] |= {"rho": Decimal("0.04")} if total else {}
    made = published(make_plan(load(content)))
    assert made.report["deployment"]["dp_variant"] == "zero-concentrated"
    assert build_registry_entry(made.report)["dp_variant"]["variant_name"] == "Zero-concentrated DP"
    assert re.search(r"rho = 0[.,]04\b", made.report["guarantee"])


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "text", ["a: b", "- x", "# y", "yes", "1e5", "'\"\\", "\x85\u2028\U0001f600", "{{"]
)
def test_no_text_breaks_the_yaml(made, text):
    basic = {**made.report["deployment"]["basic"], "title": text, "data_curator": text}
    report = {**made.report, "deployment": {**made.report["deployment"], "basic": basic}}
    found = yaml.safe_load(render_registry(None, read_report_json(report)))["deployment"]["basic"]
    assert found["name"] == text
    assert found["data_curators"] == [text]
