"""Record-level tables in what people read: the facts, and pages that show nothing else."""

import hashlib
import json
import math
import re
from decimal import Decimal
from fractions import Fraction

import jsonschema
import pytest
import yaml
from pages import (
    ALL_FORMATS,
    HOSTILE,
    describe_in_json,
    find_problems,
    forge_report,
    parse_page,
    plan_page,
    render_as,
    render_page,
    write_files,
)
from registry_schema import find_refusals
from report_specs import PEOPLE, records_spec

from dprelease.errors import Failure
from dprelease.local.estimation.table_estimates import read_steps
from dprelease.planning.planner import make_plan
from dprelease.reports.model.json_form import build_report_schema, read_report_json
from dprelease.reports.plan_facts import describe, describe_alternatives
from dprelease.reports.renderers.opendp_registry import build_entry
from dprelease.reports.renderers.opendp_registry import render as render_registry
from dprelease.reports.report_formats import name_report_file
from dprelease.reports.rerender import rerender
from dprelease.specfile import load

MANY = {"columns": ["region", "days", "job", "urgent", "age"]}
COUNT = {"name": "visits", "statistic": "count", "by": ["region"], "epsilon": 1}


def plan_tables(*perturbs, **more):
    return make_plan(load(records_spec(*perturbs, **more)))


@pytest.fixture
def alone(published):
    return published(plan_tables(MANY))


@pytest.fixture
def mixed(published):
    return published(plan_tables(MANY, queries=(COUNT,)), 7)


def describe_columns(plan, name="records"):
    part = next(each for each in describe_in_json(plan)["perturb"] if each["name"] == name)
    return {column["name"]: " ".join(column["explained"]) for column in part["columns"]}


def test_the_facts_fit_the_schema(alone, mixed):
    schema = build_report_schema()
    checked = jsonschema.Draft202012Validator(schema)
    for made in (alone, mixed):
        assert list(checked.iter_errors(made.report)) == []
        assert json.loads(made.files["report.json"]) == made.report
    for name in schema["$defs"]["RecordTable"]["required"]:
        part = {key: fact for key, fact in alone.report["perturb"][0].items() if key != name}
        assert list(checked.iter_errors({**alone.report, "perturb": [part]})), name


def test_where_noise_is_added(alone, mixed, planned):
    assert alone.report["deployment"]["model"] == "local"
    assert mixed.report["deployment"]["model"] == "central and local"
    central = describe_in_json(planned({"statistic": "count"}))
    assert central["deployment"]["model"] == "central"
    assert "perturb" not in central
    for made, name in ((alone, "Local"), (mixed, "Central")):
        entry = build_entry(read_report_json(made.report))
        assert yaml.safe_load(render_registry(None, read_report_json(made.report))) == entry
        assert entry["deployment"]["deployment_model"]["model_name"] == name
        entry["deployment"]["basic"]["publication_date"] = "2026-02-28"
        assert find_refusals(entry) == []
        assert entry["deployment"]["basic"]["data_product_type"] == "Dataset"


def test_laws_can_be_read_back(alone):
    step = plan_tables(MANY).records[0]
    told = read_steps(alone.report, "records.csv").step
    assert [each.law for each in told.responses] == [each.law for each in step.responses]
    assert told.loss.epsilon == step.loss.epsilon == 3


def test_errors_stand_beside_their_floors(alone):
    columns = {each["name"]: each for each in alone.report["perturb"][0]["columns"]}
    share = math.exp(0.6)
    assert columns["region"]["error"]["expected"] == pytest.approx(1 / (1 + share))
    assert columns["job"]["error"]["floor"] == pytest.approx(29 / (29 + share))
    assert columns["days"]["error"]["floor"] == pytest.approx(180 / (2 * (1 + share)))
    assert columns["days"]["error"]["classical_scale"] == pytest.approx(180 / 0.6)
    for column in columns.values():
        error = column["error"]
        assert 0 < error["floor"] <= error["expected"] * (1 + 1e-9)
        halves = {each["records"]: each["halfwidth"] for each in error["halfwidths"]}
        assert halves[100] == pytest.approx(10 * halves[10_000])
        assert halves[10_000] == pytest.approx(1.959964 * error["deviation"] / 100)
    assert columns["days"]["error"]["of"] == "distance"
    assert columns["region"]["error"]["of"] == "chance"


def describe_column(name, mechanism, epsilon, delta):
    spec = records_spec(
        {
            "columns": [name],
            "mechanism": mechanism,
            "epsilon": Decimal(epsilon),
            "delta": Decimal(delta),
        }
    )
    spec["columns"] |= {
        "code": {"type": "string", "keys": [f"c{n}" for n in range(48)], "source": "list"},
        "weight": {"type": "integer", "lower": 0, "upper": 2996, "source": "rule"},
    }
    return describe_in_json(make_plan(load(spec)))["perturb"][0]["columns"][0]


@pytest.mark.parametrize(
    ("epsilon", "delta", "keep", "floor"),
    [
        ("0.1", "0.1", 0.1207, 0.8793),
        ("2", "0.5", 0.5679, 0.4321),
        ("7", "0.6", 0.9836, 0.0164),
    ],
)
def test_48_categories(epsilon, delta, keep, floor):
    """Known figures of randomised response, and of the floor that it reaches."""
    column = describe_column("code", "randomized-response", epsilon, delta)
    assert column["truth"]["own"] == pytest.approx(keep, abs=6e-5)
    assert column["error"]["floor"] == pytest.approx(floor, abs=6e-5)
    assert column["error"]["expected"] == pytest.approx(column["error"]["floor"])


@pytest.mark.parametrize(
    ("epsilon", "delta", "classical", "floor"),
    [
        ("0.1", "0.1", 14588.98, 640.42),
        ("2", "0.5", 1112.45, 89.28),
        ("11", "0.7", 245.49, 0.0075),
    ],
)
def test_numbers_2996_apart(epsilon, delta, classical, floor):
    """Known figures of the classical bound and the floor; the scale is below the bound."""
    error = describe_column("weight", "laplace", epsilon, delta)["error"]
    assert error["classical_scale"] == pytest.approx(classical, abs=6e-3)
    assert error["floor"] == pytest.approx(floor, rel=1e-3, abs=6e-5)
    assert error["floor"] < error["scale"] < error["classical_scale"]


def test_what_delta_means_is_said_of_each_law():
    plan = plan_tables(
        {
            "columns": ["region", "days", "job", "stars"],
            "mechanism": {"days": "laplace", "stars": "piecewise"},
            "epsilon": 4,
            "delta": Decimal("0.004"),
        }
    )
    said = describe_columns(plan)
    assert "at most 0.001 the answer is the true label outright" in said["region"]
    law = plan.records[0].responses[2].law
    within = Fraction(1, 1000) * (law.labels - 1) / (law.labels - law.size)
    found = re.search(r"at most ([0-9.e-]+) the true label is in the set for certain", said["job"])
    assert law.size > 1
    assert Fraction(found[1]) >= within > Fraction(found[1]) - Fraction(1, 10**6)
    for name in ("days", "stars"):
        assert "no answer shows the number outright" in said[name]
        assert re.search(r"up to e\^1\.0\d+", said[name])
    assert "delta means" not in " ".join(describe_columns(plan_tables(MANY)).values())


def test_randomised_response_with_delta_is_a_mixture_with_the_truth():
    """What is said of delta is true: with that chance the truth, else the law without delta."""
    delta = Fraction(1, 1000)
    with_delta, without = (
        plan_tables({"columns": ["age"], "epsilon": 1, "delta": given}).records[0].responses[0].law
        for given in (Decimal("0.001"), Decimal(0))
    )
    assert with_delta.size == without.size == 1
    mixture = delta + (1 - delta) * without.keep
    assert abs(mixture - with_delta.keep) < Fraction(1, 2**60)


def test_what_has_no_label_or_value_is_said():
    said = describe_columns(plan_tables({"columns": ["region", "age", "urgent", "days"]}))
    assert said["region"].count("Undeclared values, nulls and unreadable values are answered") == 1
    assert "Nulls and unreadable values are answered" in said["age"]
    assert "outside the bins" not in said["age"]
    assert "Nulls count as 90, the middle of the bounds" in said["days"]
    spec = records_spec({"columns": ["region", "days"]})
    spec["columns"]["region"] |= {"other": "elsewhere", "nulls": "elsewhere"}
    spec["columns"]["days"]["nulls"] = 0
    plan = make_plan(load(spec))
    assert "answered as if" not in describe_columns(plan)["region"]
    assert "Nulls count as 0." in describe_columns(plan)["days"]
    hazards = {row["hazard"] for row in describe_in_json(plan)["hazards"]}
    assert not hazards & {"values without a label", "nulls taken for a number"}


def test_trust_and_what_is_public_are_hazards(alone):
    rows = {row["hazard"]: row for row in alone.report["hazards"]}
    assert rows["trust in the local model"]["status"] == "not checked"
    assert "whoever ran dprelease" in rows["trust in the local model"]["note"]
    assert rows["amplification by shuffling"]["status"] == "checked"
    assert "the number of rows of records" in rows["figures without noise"]["note"]
    assert any("How many records" in line for line in alone.report["not_protected"])
    assert "local model" in alone.report["guarantee"]


def test_people_with_many_rows(published):
    several = plan_tables(MANY, **PEOPLE)
    facts = describe_in_json(several)
    assert "as many rows, of the 4 that are kept at most" in facts["guarantee"]
    assert any("How many rows each person has" in line for line in facts["not_protected"])
    assert "at most 4 rows of one person" in facts["bounding"][0]
    part = facts["perturb"][0]
    assert part["rows_per_unit"] == 4
    assert sum(column["epsilon"] for column in part["columns"]) * 4 == pytest.approx(3)
    assert "at most 4 times that: epsilon 3" in part["explained"][0]
    assert find_problems(render_page(published(several))) == []
    once = {"bounding": {"max_rows_per_unit": 1, "max_groups_per_unit": 1}}
    single = describe_in_json(plan_tables(MANY, **PEOPLE | once))
    assert "as many rows" not in single["guarantee"]
    assert not any("How many rows each person" in line for line in single["not_protected"])


def test_the_pages_are_sound(alone, mixed):
    for made in (alone, mixed):
        html = render_page(made)
        assert find_problems(html) == []
        assert '<h2 id="records">' in html
        assert made.files["report.html"].decode() == html
        for chart in ("chart-floors-1", "chart-shares-1-1", "chart-budget"):
            assert f'id="{chart}"' in html
        links = re.findall(r'<a href="#([a-z]+)">', html)
        assert [each for each in links if f'id="{each}"' not in html] == []
    assert '<h2 id="tables">' not in render_page(alone)
    assert '<h2 id="noise">' not in render_page(alone)
    assert '<h2 id="tables">' in render_page(mixed)
    assert "## How the noise was made" not in alone.files["report.md"].decode()
    assert "## How the noise was made" in mixed.files["report.md"].decode()


def test_every_sentence_is_on_the_pages(mixed):
    report = mixed.report
    html = " ".join(parse_page(render_page(mixed)).texts)
    markdown = re.sub(r"\\(.)", r"\1", mixed.files["report.md"].decode())
    part = report["perturb"][0]
    lines = [
        report["guarantee"],
        *report["not_protected"],
        *report["processing"],
        *(row["note"] for row in report["hazards"]),
        *part["explained"],
        *(line for column in part["columns"] for line in column["explained"]),
    ]
    for shown in (html, markdown):
        plain = re.sub(r"[`\s]", "", shown)
        assert [line for line in lines if re.sub(r"[`\s]", "", line) not in plain] == []


def numbers(text):
    text = text.replace(",", "").replace("\u2212", "-")
    return [Fraction(each) for each in re.findall(r"-?[0-9][0-9.]*", text)]


def test_estimates_on_the_pages_are_those_of_the_facts(alone):
    """Every figure is the fact, rounded by less than a tenth of its interval, ends outward."""
    markdown = alone.files["report.md"].decode()
    part = alone.report["perturb"][0]
    seen = 0
    for table in part["estimates"]["frequencies"]:
        section = markdown.partition(f"#### Frequencies of {table['column']}\n")[2]
        rows = section.partition("####")[0].splitlines()[3:]
        for cell, row in zip(table["labels"], rows, strict=False):
            share, ends, number, others = row.split(" | ")[1:]
            for key, said, interval, times in (
                ("share", share, ends, 100),
                ("number", number, others, 1),
            ):
                low, high = numbers(interval)
                assert "-" not in interval
                lower, upper = times * cell[f"{key}_lower"], times * cell[f"{key}_upper"]
                wide = upper - lower
                assert lower - wide / 10 < low <= lower + 1e-9
                assert upper - 1e-9 <= high < upper + wide / 10
                assert abs(numbers(said)[0] - times * cell[key]) < wide / 10
                seen += 1
    assert seen == 2 * sum(len(each["labels"]) for each in part["estimates"]["frequencies"])
    html = render_page(alone)
    mean = part["estimates"]["means"][0]
    assert re.search(rf">{round(mean['mean'])}(\.0+)?<", html)


def test_a_table_without_records_has_no_estimates(published):
    made = published(plan_tables(MANY), rows=0)
    html = render_page(made)
    assert find_problems(html) == []
    assert "The table has no records" in html
    assert "The table has no records" in made.files["report.md"].decode()
    assert "chart-shares" not in html
    schema = jsonschema.Draft202012Validator(build_report_schema())
    assert list(schema.iter_errors(made.report)) == []


def test_a_plan_says_it_before_any_data(mixed):
    plan = plan_tables(MANY, queries=(COUNT,))
    html = plan_page(plan)
    assert find_problems(html) == []
    assert 'id="chart-floors-1"' in html
    assert "chart-shares" not in html
    told = describe(plan)["perturb"][0]
    known = mixed.report["perturb"][0]
    assert told["columns"] == known["columns"]
    assert not {"estimates", "rows", "file"} & set(told)


def test_what_other_budgets_buy():
    options = describe_alternatives(plan_tables(MANY))
    assert [option["epsilon"] for option in options] == [0.75, 1.5, 3, 6, 12]
    errors = [option["perturb"]["records"]["job"] for option in options]
    assert errors == sorted(errors, reverse=True)
    assert (
        describe_alternatives(plan_tables({"columns": ["region"], "truth": Decimal("0.75")})) == []
    )
    weighted = {"name": "visits", "statistic": "count", "by": ["region"]}
    spec = records_spec({"columns": ["region"], "epsilon": 1}, queries=(weighted,), epsilon=2)
    del spec["query"][0]["epsilon"]
    kept = describe_alternatives(make_plan(load(spec)))
    stated = [option["perturb"] for option in kept if option["errors"] is not None]
    assert len(stated) > 1
    assert all(each == stated[0] for each in stated)  # what is stated stays where others share


@pytest.fixture
def folder(alone, tmp_path):
    """The release with a file of records; the report says that it has this digest."""
    write_files(alone, tmp_path)
    (tmp_path / "records.csv").write_bytes(b"region\n")
    digest = hashlib.sha256(b"region\n").hexdigest()
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    report["perturb"][0]["sha256"] = report["provenance"]["files"]["records.csv"] = digest
    text = json.dumps(report, indent=2, ensure_ascii=False) + "\n"
    forge_report(tmp_path, text.encode())
    return tmp_path, report


@pytest.mark.one_in(2)
@pytest.mark.parametrize("form", ALL_FORMATS)
def test_a_report_again_from_its_files(folder, form):
    place, report = folder
    assert rerender(str(place), form) == render_as(report, {}, form)
    assert name_report_file(form)


@pytest.mark.parametrize("content", [None, b"region\nnorth\n"])
def test_another_table_of_records_is_refused(folder, content):
    place, _ = folder
    if content is None:
        (place / "records.csv").unlink()
    else:
        (place / "records.csv").write_bytes(content)
    with pytest.raises(Failure) as refused:
        rerender(str(place), "md")
    assert refused.value.complaints[0].code == "E822"


def test_no_label_gets_out_of_its_place(published):
    spec = records_spec({"columns": ["region", "urgent"]})
    spec["columns"]["region"]["keys"] = [HOSTILE.replace("\x00", ""), "=1+1", "plain"]
    html = render_page(published(make_plan(load(spec))))
    assert find_problems(html) == []
    assert html.count("<script") == 1
    assert "<img" not in html
    left = re.sub("<bdi>[^<]*</bdi>|\u2068[^\u2068\u2069]*\u2069", "", html)
    assert "\u202e" not in left
