"""Tables of records on the command line: check, plan, run, show, report."""

import json

import pytest

RECORDS = """\
schema = 1

[release]
name = "small"
title = "Answers"

[data]
path = "small.csv"

[privacy]
unit = "row"
unit_description = "one visit"
adjacency = "replace-one"

[ledger]
epsilon_cap = 20

[columns.region]
type = "string"
keys = ["north", "south"]
source = "public: map"

[columns.days]
type = "integer"
lower = 0
upper = 100
nulls = 0
source = "public: rule"

[[perturb]]
name = "answers"
columns = ["region", "days"]
epsilon = 4

[output]
path = "out"
"""
QUERY = """
[[query]]
name = "visits"
statistic = "count"
by = ["region"]
epsilon = 1
"""


@pytest.fixture
def folder(folder):
    (folder / "spec.toml").write_text(RECORDS)
    return folder


def test_a_plan_with_queries_too(cli, folder):
    (folder / "spec.toml").write_text(RECORDS + QUERY)
    told = cli("plan", "spec.toml")
    assert told.code == 0
    for part in ("What is published\n", "What is published record by record", "L1 2"):
        assert part in told.out
    facts = json.loads(cli("plan", "--json", "spec.toml").out)
    assert [each["name"] for each in facts["perturb"]] == ["answers"]
    assert facts["total"]["epsilon"] == 5
    assert all(set(each["perturb"]["answers"]) == {"region", "days"} for each in facts["what_if"])
    checked = cli("check", "spec.toml")
    assert "1 query, 2 perturbed columns, 2 tables, epsilon 5" in checked.out


def test_a_plan_as_a_page_and_approved(cli, folder):
    done = cli("plan", "spec.toml", "--html", "p.html", "-o", "p.json", "-q")
    assert (done.code, done.err) == (0, "")
    assert "Records, perturbed one by one" in (folder / "p.html").read_text(encoding="utf-8")
    assert cli("run", "spec.toml", "--plan", "p.json").code == 0
    saved = (folder / "p.json").read_text(encoding="utf-8")
    (folder / "p.json").write_text(saved.replace('"keep": "', '"keep": "1'), encoding="utf-8")
    assert cli("run", "spec.toml", "--plan", "p.json").code == 2


def test_show_begins_a_table_of_records(cli, folder):
    ran = cli("run", "spec.toml")
    assert ran.code == 0
    estimate = "records  200, and estimates: dprelease estimate out/answers.csv\n"
    assert ran.out.endswith(estimate)
    told = cli("show", "out", "--rows", "1")
    assert told.out.startswith("answers: Answers\n\nregion ")
    assert "rows more, of 200; --rows N shows N" in told.out
    assert told.out.endswith(
        "each row is one record, perturbed on its own\n"
        "estimates from all records: dprelease estimate out/answers.csv\n"
    )
    facts = json.loads(cli("show", "--json", "out").out)["tables"]
    assert [(each["rows"], len(each["values"])) for each in facts] == [(200, 10)]
    assert cli("report", "out", "--format", "html").out == (
        folder / "out" / "report.html"
    ).read_text(encoding="utf-8")
    with (folder / "out" / "answers.csv").open("a") as table:
        table.write("north,1.00000\n")
    assert "W801" in cli("show", "out").err
    refused = cli("report", "out")
    assert refused.code == 2
    assert "E822" in refused.err
