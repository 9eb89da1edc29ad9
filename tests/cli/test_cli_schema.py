"""The JSON Schema of specs: current, valid, and of one mind with the loader."""

import json
from datetime import date
from pathlib import Path

import pytest
import tomli
from jsonschema import Draft202012Validator

import dprelease
from dprelease.reports.model.json_form import schema_text
from dprelease.specfile.keys.section_reader import Choice
from dprelease.specfile.schema.json_schema import build_spec_schema
from dprelease.specfile.schema.sections import SECTIONS

ROOT = Path(__file__).parents[2]
SPECS = sorted((ROOT / "release_specs").glob("*.toml"))
SCHEMA = build_spec_schema()


def convert_dates(value):
    """What an editor makes of TOML: dates are texts."""
    if isinstance(value, dict):
        return {name: convert_dates(each) for name, each in value.items()}
    if isinstance(value, list):
        return [convert_dates(each) for each in value]
    return value.isoformat() if isinstance(value, date) else value


def find_mistakes(text):
    found = Draft202012Validator(SCHEMA).iter_errors(convert_dates(tomli.loads(text)))
    return {".".join(map(str, error.absolute_path)) for error in found}


def test_it_is_a_schema_and_printed_as_it_is(cli, folder):
    Draft202012Validator.check_schema(SCHEMA)
    answer = cli("schema")
    assert (answer.code, answer.err) == (0, "")
    assert answer.json == SCHEMA
    assert cli("schema", "-o", "a.json").code == cli("schema", "-o", "a.json").code == 0
    assert json.loads((folder / "a.json").read_text()) == SCHEMA
    assert cli("schema", "-o", "nowhere/a.json").code == 2


def test_that_of_reports_is_printed_too(cli, folder):
    answer = cli("schema", "--report")
    assert (answer.code, answer.json) == (0, json.loads(schema_text()))
    Draft202012Validator.check_schema(answer.json)
    assert cli("schema", "-o", "a.json").code == cli("schema", "--report", "-o", "a.json").code == 0
    assert json.loads((folder / "a.json").read_text()) == answer.json


def test_only_a_schema_is_replaced(cli, folder):
    (folder / "old.json").write_text(json.dumps({"title": SCHEMA["title"], "old": 1}))
    assert cli("schema", "-o", "old.json").code == 0
    assert json.loads((folder / "old.json").read_text()) == SCHEMA
    before = (folder / "small.csv").read_bytes()
    answer = cli("schema", "-o", "small.csv")
    assert (answer.code, answer.out) == (2, "")
    assert "E010 small.csv is there already" in answer.err
    assert (folder / "small.csv").read_bytes() == before
    assert not list(folder.glob("*.new-*"))


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.name)
def test_every_example_is_valid(path):
    assert find_mistakes(path.read_text(encoding="utf-8")) == set()


def test_every_key_is_there_with_its_words_and_nothing_else():
    for section in SECTIONS:
        made = SCHEMA["$defs"][section.__name__.removesuffix("Section").lower()]
        assert list(made["properties"]) == list(section.KEYS)
        assert made.get("required", []) == list(section.REQUIRED)
        assert made["additionalProperties"] is False
        for key, fragment in made["properties"].items():
            words = section.KEYS[key].meaning.replace("`", "")
            assert fragment["description"].startswith(words)
            default = section.KEYS[key].default
            if default is not None:
                assert fragment["default"] == default
            if isinstance(section.KEYS[key], Choice):
                assert fragment["enum"] == list(section.KEYS[key].words)


CHANGES = [
    ('unit = "row"', 'unit = "person"', "privacy.unit"),
    ('unit = "row"', "", "privacy"),
    ('unit = "row"', 'unit = "column"', "privacy"),
    ('unit = "row"', 'unit = "row"\nunit_column = "a"', "privacy.unit_column"),
    ("epsilon = 1.0", "epsilon = 0", "privacy.epsilon"),
    ("epsilon = 1.0", 'epsilon = "1"', "privacy.epsilon"),
    ("epsilon = 1.0", "epsilon = 1.0\ndelta = 1.0", "privacy.delta"),
    ("epsilon_cap = 2.5", "epsilon_cup = 2.5", "ledger"),
    ('type = "string"', 'type = "text"', "columns.region.type"),
    ('keys = ["north", "south"]', 'keys = "north"', "columns.region.keys"),
    ('statistic = "count"', 'statistic = "cont"', "query.0.statistic"),
    ('statistic = "count"', 'statistic = "count"\nk = 3', "query.0.k"),
    ('statistic = "count"', 'statistic = "count"\ncolumn = "days"', "query.0.column"),
    ('statistic = "count"', 'statistic = "top_k"', "query.0"),
    ('column = "days"\n', "", "query.1"),
    ('statistic = "mean"', 'statistic = "density"\npoints = 1', "query.1.points"),
    ('name = "visits"', 'name = "a/b"', "query.0.name"),
    ('name = "visits"', 'name = "a..b"', "query.0.name"),
    ('path = "small.csv"', 'path = "small.csv"\nformat = "xls"', "data.format"),
    ('[output]\npath = "out"', "[output]", "output"),
    ('[output]\npath = "out"', '[out]\npath = "out"', ""),
    ("schema = 1", "schema = 2", "schema"),
    ("schema = 1", "schema = true", "schema"),
    ('keys = ["north", "south"]', "keys = []", "columns.region.keys"),
    ("lower = 0", "bins = [0]\nlower = 0", "columns.days.bins"),
    ('path = "out"', 'path = "out"\ninterval = 1', "output.interval"),
    ('path = "out"', 'path = "out"\n[report]\nformats = ["docx"]', "report.formats.0"),
    ('path = "out"', 'path = "out"\n[report]\nformats = ["md", "md"]', "report.formats"),
    ("epsilon = 1.0", "epsilon = 1e18", "privacy.epsilon"),
    ("upper = 100", "upper = 100\nstep = 1e18", "columns.days.step"),
]


LAST = '[output]\npath = "out"'
TABLE = '[[perturb]]\nname = "t"\ncolumns = ["region"]\nepsilon = 0.5\n'
CHANGES += [
    (LAST, TABLE.replace('name = "t"', "") + LAST, "perturb.0"),
    (LAST, TABLE.replace('["region"]', '"region"') + LAST, "perturb.0.columns"),
    (LAST, f'{TABLE}mechanism = "none"\n{LAST}', "perturb.0.mechanism"),
    (LAST, f'{TABLE}mechanism = {{ region = "none" }}\n{LAST}', "perturb.0.mechanism"),
    (LAST, f"{TABLE}weights = {{ region = 0 }}\n{LAST}", "perturb.0.weights.region"),
    (LAST, f"{TABLE}truth = 0.5\n{LAST}", "perturb.0.epsilon"),
    (LAST, f"{TABLE.replace('epsilon', 'truth').replace('0.5', '1')}{LAST}", "perturb.0.truth"),
    (LAST, f"{TABLE}where = 'days > 3'\n{LAST}", "perturb.0"),
    (
        'unit = "row"',
        'unit = "column"\nunit_column = "who"\nbounding = { max_rows_per_unit = 3 }',
        "privacy.bounding",
    ),
]


@pytest.mark.parametrize("bounding", ["", "bounding = { max_rows_per_unit = 3 }\n"])
def test_a_table_of_records_alone_is_valid(spec, folder, bounding):
    text = (folder / spec()).read_text(encoding="utf-8")
    start, end = text.index("[[query]]"), text.index("[output]")
    text = f"{text[:start]}{TABLE}mechanism = {{ region = 'auto' }}\n{text[end:]}"
    if bounding:
        text = text.replace('unit = "row"', f'unit = "column"\nunit_column = "who"\n{bounding}')
    assert find_mistakes(text) == set()
    (folder / "table.toml").write_text(text, encoding="utf-8")
    assert dprelease.load(folder / "table.toml").perturbs


@pytest.mark.parametrize(("old", "new", "place"), CHANGES)
def test_typical_mistakes_are_seen_where_they_are_and_by_the_loader_too(
    spec, folder, old, new, place
):
    file = folder / spec((old, new))
    assert place in find_mistakes(file.read_text(encoding="utf-8"))
    with pytest.raises(dprelease.Failure):
        dprelease.load(file)


def test_the_sound_spec_is_valid(spec, folder):
    assert find_mistakes((folder / spec()).read_text(encoding="utf-8")) == set()
