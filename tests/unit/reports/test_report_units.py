"""What reports say of the unit: a row, or a person with a bounded number of rows."""

from __future__ import annotations

from fractions import Fraction

from report_specs import PEOPLE

from dprelease.ledger.guarantee import describe_guarantee
from dprelease.reports.plan_facts import describe

COUNT = {"statistic": "count", "by": ["region"]}


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


def test_the_ledger_tells_units_apart(planned):
    rows, people = planned(COUNT).release, planned(COUNT, **PEOPLE).release
    others = planned(COUNT, **(PEOPLE | {"unit_column": "family"})).release
    bounds = {"max_rows_per_unit": 9, "max_groups_per_unit": 9}
    wide = planned(COUNT, **(PEOPLE | {"bounding": bounds})).release
    assert describe_guarantee(rows) == {"unit": "row", "adjacency": "add-remove"}
    assert describe_guarantee(people)["unit"] == "column patient"
    assert describe_guarantee(others)["unit"] == "column family"
    assert describe_guarantee(wide) == describe_guarantee(people)


def test_plan_and_report_state_the_unit(planned, published):
    plan = planned(COUNT, **PEOPLE)
    told, unit = describe(plan), published(plan).report["deployment"]["privacy_unit"]
    bounding = {"max_rows_per_unit": 4, "max_groups_per_unit": 2, "max_rows_per_unit_per_group": 4}
    for stated in (told, unit):
        assert (stated["unit"], stated["unit_column"]) == ("column", "patient")
        assert stated["bounding"] == bounding
    assert told["adjacency"] == "add-remove"
    assert Fraction(str(told["steps"][0]["sensitivity"]["l1"])) == 4
