"""Reports from a published directory alone: the same bytes; and the schemas of JSON and YAML."""

import json
from pathlib import Path

import jsonschema
import pytest
import yaml
from pages import rendered_as
from report_specs import DELTA, PEOPLE, SELECTED

import dprelease
from dprelease.errors import Failure
from dprelease.model import ColumnType, OutputColumn, OutputTable
from dprelease.output.read_back import as_in_file, read_table
from dprelease.output.tables import write_table
from dprelease.report.facts.json_form import report_from_json, to_json
from dprelease.report.facts.release_facts import table_facts
from dprelease.report.formats import FORMATS, file_of
from dprelease.report.opendp_registry import SECTORS, registry_entry
from dprelease.report.opendp_registry import render as render_registry
from dprelease.report.rerender import rendered_again

SCHEMA = Path(dprelease.__file__).parent / "report" / "report.schema.json"

# What the registry's schema allows below `deployment`, as of 2026.
REGISTRY = {
    "basic": {"name", "data_curators", "intended_use", "data_product_type", "data_product_region",
              "description", "publication_date", "data_product_sector"},
    "dp_variant": {"variant_name", "data_domain", "unprotected_quantities"},
    "privacy_loss": {"privacy_unit", "privacy_unit_details", "privacy_parameters",
                     "privacy_parameters_details"},
    "deployment_model": {"model_name", "model_name_details", "actors", "release_type",
                         "release_type_details", "data_source_type", "access_type"},
    "accounting": {"post_processing", "composition"},
    "implementation": {"preprocessing_and_hyperparameter_tuning", "mechanisms", "justification"},
    "administrative": {"sources", "notes", "registry_authors"},
}  # fmt: skip


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
    for name, content in made.files.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


@pytest.mark.parametrize("form", FORMATS)
def test_the_same_bytes_as_the_run_wrote(made, folder, form):
    again = rendered_again(str(folder), form)
    shown = {
        each["file"]: table for each, table in zip(made.report["tables"], made.tables, strict=True)
    }
    assert again == rendered_as(made.report, shown, form)
    if form != "registry":
        assert again == made.files[file_of(form)]


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
    held = as_in_file(table, form)
    found = read_table(written.content, form, to_json(table_facts(table, written.file)))
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
        rendered_again(str(folder), "html")
    assert refused.value.complaints[0].code == code
    assert refused.value.exit_code == 2


def test_report_json_fits_its_schema(made):
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    checked = jsonschema.Draft202012Validator(schema)
    assert list(checked.iter_errors(made.report)) == []
    assert set(schema["required"]) == set(made.report)
    assert set(schema["properties"]) - set(made.report) == {
        "language", "lists", "perturb", "review", "strategies",
    }  # fmt: skip
    assert list(checked.iter_errors({**made.report, "queries": [{}]}))


def test_the_registry_entry_is_yaml_and_fits_the_registry(made):
    entry = registry_entry(report_from_json(made.report))
    assert yaml.safe_load(render_registry(None, report_from_json(made.report))) == entry
    assert set(entry) == {"url_slug", "status", "tier", "deployment"}
    assert {name: set(part) - REGISTRY[name] for name, part in entry["deployment"].items()} == {
        name: set() for name in REGISTRY
    }
    loss = entry["deployment"]["privacy_loss"]["privacy_parameters"]
    assert loss == {"epsilon": made.report["accounting"]["epsilon"], "delta": 1e-8}
    assert entry["deployment"]["basic"].get("data_product_sector", "Energy") in SECTORS


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "text", ["a: b", "- x", "# y", "yes", "1e5", "'\"\\", "\x85\u2028\U0001f600", "{{"]
)
def test_no_text_breaks_the_yaml(made, text):
    basic = {**made.report["deployment"]["basic"], "title": text, "data_curator": text}
    report = {**made.report, "deployment": {**made.report["deployment"], "basic": basic}}
    found = yaml.safe_load(render_registry(None, report_from_json(report)))["deployment"]["basic"]
    assert found["name"] == text
    assert found["data_curators"] == [text]
