"""What reports say of the unit: a row, or a person with a bounded number of rows."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from report_specs import PEOPLE, spec

from dprelease.ledger.guarantee import describe_guarantee
from dprelease.planning.planner import make_plan
from dprelease.reports.facts.unit_facts import compute_posterior
from dprelease.reports.plan_facts import describe
from dprelease.specfile import load

COUNT = {"statistic": "count", "by": ["region"]}


def report(planned: Any, published: Any, **privacy: Any) -> dict[str, Any]:
    found: dict[str, Any] = published(planned(COUNT, **privacy)).report
    return found


@pytest.mark.parametrize(
    ("described", "said"),
    [
        ("one patient", 'for one person: one patient (all rows with the same value of "patient").'),
        (None, 'for one person: one "patient" (all rows with the same value of "patient").'),
    ],
)
def test_a_person_is_all_rows_of_a_value(planned, published, described, said):
    extra = {"unit_description": described} if described else {}
    found = report(planned, published, **PEOPLE, **extra)
    assert said in found["guarantee"]
    assert "a single person more than the other" in found["guarantee"]
    assert [each["about"] for each in found["meaning"]["beliefs"]] == [
        "whether the person is in the table",
        "what the person's rows say, if they are in the table",
    ]
    assert [each["epsilon"] for each in found["meaning"]["beliefs"]] == [1, 2]
    assert not any("with several rows" in line for line in found["not_protected"])
    assert any('several values of "patient"' in line for line in found["not_protected"])
    unit = found["deployment"]["privacy_unit"]
    assert (unit["unit"], unit["unit_column"]) == ("column", "patient")
    assert unit["bounding"] == {
        "max_rows_per_unit": 4,
        "max_groups_per_unit": 2,
        "max_rows_per_unit_per_group": 4,
    }


def test_people_who_are_replaced(planned, published):
    found = report(planned, published, **(PEOPLE | {"adjacency": "replace-one"}))
    assert "equally many people and differ in the rows of a single person" in found["guarantee"]
    assert [each["about"] for each in found["meaning"]["beliefs"]] == ["what the person's rows say"]
    low = found["meaning"]["beliefs"][0]["rows"][2]["posterior_low"]
    assert low == pytest.approx(compute_posterior(0.5, 1.0)[0], abs=1e-4)
    assert (
        "The number of people of the table, which all neighbouring tables share."
        in (found["not_protected"])
    )


def test_bounding_says_what_it_may_bias(planned, published):
    made = published(planned(COUNT, **PEOPLE))
    said = " ".join(made.report["bounding"])
    for words in ("At most 4 rows", "at most 2 groups", "lower than the truth", "by lot",
                  "not published", 'Rows without a value in "patient" are left out'):  # fmt: skip
        assert words in said
    text = made.files["report.md"].decode()
    assert "## What is left out of the data" in text
    assert "| people together |" in text
    assert "one row" not in text
    assert "What is left out" not in published(planned(COUNT)).files["report.md"].decode()


def test_rows_without_a_unit_may_be_one_person(published):
    raw = spec(COUNT, **PEOPLE)
    raw["columns"]["patient"] = {"type": "string", "nulls": "nobody"}
    plan = make_plan(load(raw))
    assert "taken for those of one person" in published(plan).report["bounding"][-1]


def test_one_word_for_the_unit_in_a_report(planned, published):
    """What derivations, thresholds and remarks say comes and goes is what the guarantee names."""
    queries = [COUNT | {"name": "n"}, {"name": "u", "statistic": "count_units"}]
    queries.append({"name": "most", "statistic": "max", "column": "days"})
    for privacy in ({}, {"adjacency": "replace-one"}):
        people = published(planned(*queries, **(PEOPLE | privacy))).files["report.md"].decode()
        lines = [line for line in people.splitlines() if line.startswith("- because: ")]
        derived = "\n".join(lines)
        assert len(lines) == len(queries)
        assert "person has at most" in derived or "replaced person takes" in derived
        assert "unit" not in derived.replace("count_units", "")
        assert "record" not in derived
        assert "1 cell," not in people
        assert "Do not add up numbers of people" in people
        rows = published(planned(*queries, **privacy)).files["report.md"].decode()
        assert "Do not add up numbers of rows" in rows


def test_hazards_of_the_unit(planned, published):
    rows = {each["hazard"]: each for each in report(planned, published)["hazards"]}
    assert rows["unit of privacy"]["status"] == "attention"
    assert "rows left out by bounding" not in rows
    people = {"unit_description": "one patient", **PEOPLE}
    found = {each["hazard"]: each for each in report(planned, published, **people)["hazards"]}
    assert found["unit of privacy"]["status"] == "stated"
    assert "at most 4 rows in at most 2 groups" in found["rows left out by bounding"]["note"]
    unsaid = {each["hazard"]: each for each in report(planned, published, **PEOPLE)["hazards"]}
    assert unsaid["unit of privacy"]["status"] == "attention"


def test_the_ledger_tells_units_apart(planned):
    rows, people = planned(COUNT).release, planned(COUNT, **PEOPLE).release
    others = planned(COUNT, **(PEOPLE | {"unit_column": "family"})).release
    bounds = {"max_rows_per_unit": 9, "max_groups_per_unit": 9}
    wide = planned(COUNT, **(PEOPLE | {"bounding": bounds})).release
    assert describe_guarantee(rows) == {"unit": "row", "adjacency": "add-remove"}
    assert describe_guarantee(people)["unit"] == "column patient"
    assert describe_guarantee(others)["unit"] == "column family"
    assert describe_guarantee(wide) == describe_guarantee(people)


def test_a_plan_states_the_unit(planned):
    told = describe(planned(COUNT, **PEOPLE))
    assert (told["unit"], told["unit_column"], told["adjacency"]) == (
        "column",
        "patient",
        "add-remove",
    )
    assert told["bounding"]["max_groups_per_unit"] == 2
    assert Fraction(str(told["steps"][0]["sensitivity"]["l1"])) == 4
